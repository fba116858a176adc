"""check-bounds: rejects accesses that are out of bounds for all arguments.

Before:  any IR that verifies.
After:   the same.
Fails:   if an access at constant indices, which runs whenever its function does, is
         outside a memref of static shape.

Accesses under a condition may never run, and are left to the simulator.  Nothing is out
of bounds along a checked dimension.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import BLOCKED, Axis, Layout
from coopc.dialects.narrow import is_memref, is_vector
from coopc.ir.facts import constant_number


def check_bounds(module: ModuleOp) -> None:
    """Check all accesses of `module`.

    Raises:
        VerifyException: Blaming an access of what no memory is.
    """
    for op in module.walk():
        if (found := accessed(op)) is None:
            continue
        memory, positions, extents = found
        if not is_memref(memory.type):
            continue
        reason = why_outside(memory.type, positions, extents)
        if reason is not None and always_runs(op):
            op.emit_error(reason, VerifyException(reason))


def accessed(
    op: Operation,
) -> tuple[SSAValue, Sequence[SSAValue], Sequence[int | None]] | None:
    """The memref, positions and, along each dimension, elements of an access.

    A number of elements that is None is not checked.
    """
    match op:
        case (
            memref.LoadOp()
            | memref.StoreOp()
            | memref.AtomicRMWOp()
            | simt.CompareExchangeOp()
        ):
            return op.memref, op.indices, [1] * len(op.indices)
        case vector.LoadOp():
            return _consecutive(op.base, op.indices, op.result)
        case vector.StoreOp():
            return _consecutive(op.base, op.indices, op.vector)
        case coopmatrix.AccessOp():
            return op.memory, op.positions, _of_matrix(op)
        case _:
            return None


def _consecutive(
    base: SSAValue, indices: Sequence[SSAValue], value: SSAValue
) -> tuple[SSAValue, Sequence[SSAValue], Sequence[int | None]]:
    """Elements one after the other: of a memref of rank 1 all must be in it."""
    extents: list[int | None] = [1] * len(indices)
    if len(indices) == 1 and is_vector(type := value.type):
        extents = [type.element_count()]
    return base, indices, extents


def _of_matrix(op: coopmatrix.AccessOp) -> Sequence[int | None]:
    """How far a matrix reaches in memory, where that is known and not checked."""
    type, memory = op.matrix, op.memory_type
    rows, cols = (size if isinstance(size, int) else 1 for size in type.sizes)
    other = (Layout.PACKED, *BLOCKED)
    if memory.element_type != type.element_type or op.layout.data in other:
        rows = cols = 1  # an element of the memref is not one of the matrix
    checked = () if op.checked is None else op.checked.data
    extents = [
        None if axis in checked else size
        for axis, size in ((Axis.ROWS, rows), (Axis.COLS, cols))
    ]
    if op.layout.data is Layout.COL_MAJOR:
        extents.reverse()
    return [*[1] * (memory.get_num_dims() - 2), *extents]


def why_outside(
    type: MemRefType, positions: Sequence[SSAValue], extents: Sequence[int | None]
) -> str | None:
    """Why elements are surely not in a memref, or None."""
    for number, (size, position, extent) in enumerate(
        zip(type.get_shape(), positions, extents, strict=True)
    ):
        first = constant_number(position)
        if first is None or extent is None or size < 0:
            continue
        if first < 0 or first + extent > size:
            found = f"{first}" if extent == 1 else f"{first} to {first + extent - 1}"
            return (
                f"position {number} is out of bounds: expected 0 to {size - 1} in "
                f"{type}, got {found}"
            )
    return None


def always_runs(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        match parent:
            case scf.ExecuteRegionOp():
                pass
            case scf.ForOp():
                first, end = constant_number(parent.lb), constant_number(parent.ub)
                if first is None or end is None or first >= end:
                    return False
            case _:
                return False
        parent = parent.parent_op()
    return parent is not None and len(parent.body.blocks) == 1


class CheckBoundsPass(ModulePass):
    name = "check-bounds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_bounds(op)
