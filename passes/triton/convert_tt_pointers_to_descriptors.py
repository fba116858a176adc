"""`convert-tt-pointers-to-descriptors`: find the matrices behind pointers.

Before: loads, stores and prefetches of Triton GPU IR through tensors of pointers that
        say `ttig.block_io`, and through block pointers; loads of 2D blocks.
After:  each whose index arithmetic was understood is one of a block of a descriptor,
        with the masks as the sizes of its matrix; what only it needed is gone.
Fails:  never; what is not understood stays, with the reason as `xe.no_matrix`, and as a
        remark with `explain=true`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from coopc.dialects import tt, ttig
from coopc.passes.triton.access_rewriting import AccessWriter
from coopc.passes.triton.affine_tensors import Indices
from coopc.passes.triton.block_pointers import block_matrix, is_block_pointer
from coopc.passes.triton.given_matrix import given_matrix
from coopc.passes.triton.pointer_matrix import (
    AccessOp,
    Matrix,
    is_pointers,
    matrix_of,
)
from coopc.passes.xe.accesses import LANE_BY_LANE, NO_MATRIX
from coopc.plan.refusal import Refusal
from coopc.remarks import remark
from coopc.rewrite.dead_values import remove_dead


@dataclass(slots=True)
class Decisions:
    """What is decided about the accesses of a function."""

    promised: bool
    """Whether `ttig.block_io` is believed."""
    indices: Indices = field(default_factory=Indices)
    through: Indices = field(default_factory=lambda: Indices(through=True))

    def of(self, op: AccessOp) -> Matrix | Refusal | None:
        """Return the matrix of an access; None if there is nothing to decide."""
        if isinstance(op, ttig.BlockLoad2DOp):
            return given_matrix(op, self.indices)
        if is_block_pointer(op):
            return block_matrix(op, self.indices)
        # What is a load of 2D blocks already has nothing else that it could become.
        is_block = isinstance(op, ttig.BlockLoad2DFromPtrOp)
        if not is_pointers(op) or not (self.promised or is_block):
            return None
        first = matrix_of(op, self.indices)
        if isinstance(first, Matrix):
            return first
        # What scalar pointers were moved by may be rows and columns, too.
        second = matrix_of(op, self.through)
        return second if isinstance(second, Matrix) else first


def convert(func: tt.FuncOp, explain: bool) -> None:
    """Convert the accesses of a function."""
    decisions = Decisions(LANE_BY_LANE not in func.attributes)
    found: list[tuple[AccessOp, Matrix]] = []
    for op in func.body.walk():
        if not isinstance(op, AccessOp):
            continue
        decided = decisions.of(op)
        if isinstance(decided, Matrix):
            found.append((op, decided))
        elif decided is not None:
            refuse(op, decided, explain)
    if not found:
        return
    writer = AccessWriter(func.body.block)
    for op, matrix in found:
        writer.rewrite(op, matrix)
    remove_dead(func)


def refuse(op: Operation, reason: Refusal, explain: bool) -> None:
    """Write why an access stays as it is."""
    op.attributes[NO_MATRIX] = StringAttr(str(reason))
    if explain:
        remark(op, f"no matrix: {reason}")


@dataclass(frozen=True)
class ConvertTtPointersToDescriptorsPass(ModulePass):
    """Find the matrices behind pointers."""

    name = "convert-tt-pointers-to-descriptors"

    explain: bool = False
    """Whether it is said why accesses stay as they are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert the functions of `op`."""
        for each in op.ops:
            if isinstance(each, tt.FuncOp) and each.body.blocks:
                convert(each, self.explain)
