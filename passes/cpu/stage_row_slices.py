"""stage-row-slices: row slices of matrices go through memory on the stack.

Before:  coopmatrix.extract_row_slice and coopmatrix.insert_row_slice
After:   a matrix with row slices is stored once, and slices are vectors of memory; one
         that a loop only takes slices from and inserts them into is in memory for it;
         matrices of a work-group that is one work-item are those of its subgroup
Fails:   for matrices whose sizes are specialisation constants

It is for kernels of one work-item, which holds its matrices alone: no distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType, Scope, ScopeAttr, matrix_type
from coopc.passes.cpu.convert_coopmatrix_to_amx.refusal import core_scopes
from coopc.passes.cpu.convert_coopmatrix_to_amx.row_slices import Scratch, Slices


@dataclass(frozen=True)
class StageRowSlicesPass(ModulePass):
    """Make accesses to memory of row slices."""

    name = "stage-row-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all row slices of `op`, then replace them."""
        for each in op.walk():
            if isinstance(
                each, coopmatrix.ExtractRowSliceOp | coopmatrix.InsertRowSliceOp
            ):
                type = matrix_type(each.matrix)
                if not type.is_static:
                    reason = f"expected numbers for sizes and scope, got {type}"
                    each.emit_error(reason, PassFailedException(reason))
        Slices(Scratch()).run(op)
        if len(core_scopes(op)) > 1:
            narrow_scopes(op)
        for kernel in simt.kernels(op):
            kernel.func.attributes.pop(coopmatrix.DISTRIBUTION, None)


def narrow_scopes(op: ModuleOp) -> None:
    """Let subgroups hold the matrices of work-groups."""
    for inner in op.walk():
        arguments = (
            argument
            for region in inner.regions
            for block in region.blocks
            for argument in block.args
        )
        for value in (*inner.results, *arguments):
            type = narrowed(value.type)
            if type != value.type:
                Rewriter.replace_value_with_new_type(value, type)
        if isinstance(inner, FuncOp):
            types = inner.function_type
            inner.function_type = FunctionType.from_lists(
                [narrowed(type) for type in types.inputs],
                [narrowed(type) for type in types.outputs],
            )


def narrowed(type: Attribute) -> Attribute:
    """Return a type, or that of a matrix that a subgroup holds, not its work-group."""
    if isinstance(type, MatrixType) and type.scope == ScopeAttr(Scope.WORKGROUP):
        rows, cols, element, use, _, use_name = type.parameters
        own = ScopeAttr(Scope.SUBGROUP)
        return MatrixType.new([rows, cols, element, use, own, use_name])
    return type
