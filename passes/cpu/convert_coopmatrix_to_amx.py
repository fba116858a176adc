"""convert-coopmatrix-to-amx: matrices become tiles of a processor with AMX.

Before:  coopmatrix operations on matrices of a subgroup, which is one core
After:   each matrix is tiles of at most 16 rows of 64 bytes, through loops and
         branches; zero fills, products, loads and stores are operations of amx; what
         tiles cannot do is done in scratch memory on the stack
Fails:   for types that AMX does not hold or multiply, saturation, volatile access,
         other scopes, matrices passed to functions or selected, atomics, reductions,
         and elements that work-items own.  Nothing is changed then
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import amx, coopmatrix
from coopc.dialects.coopmatrix import MatrixType, Operand, matrix_type
from coopc.rewrite.amx_access import TileAccess, grid_of, tile_types
from coopc.rewrite.amx_elements import is_staged, stage_elements
from coopc.rewrite.amx_refusal import refusal
from coopc.rewrite.amx_scratch import Scratch
from coopc.rewrite.amx_slices import Slices
from coopc.rewrite.element_views import view_elements
from coopc.rewrite.one_to_many import Parts, Rule, Splitter, split_values

Values = tuple[SSAValue, ...]


def fill(op: coopmatrix.FillOp, splitter: Splitter) -> Sequence[Values]:
    """Zero each tile: a register for each, as accumulators need one of their own."""
    types = tile_types(matrix_type(op.result))
    return [tuple(splitter.insert(amx.TileZeroOp(type)).result for type in types)]


def mul_add(op: coopmatrix.MulAddOp, splitter: Splitter) -> Sequence[Values]:
    """Multiply tile by tile; products that do not wait for each other are in a row."""
    a, b, c = (splitter.parts(x) for x in (op.a, op.b, op.c))
    rows, cols = grid_of(matrix_type(op.c)).shape
    depth = grid_of(matrix_type(op.b)).shape[0]
    totals = list(c)
    for step in range(depth):
        for number in range(rows * cols):
            p, q = divmod(number, cols)
            operands = a[p * depth + step], b[step * cols + q], totals[number]
            totals[number] = splitter.insert(product(op, operands)).results[0]
    return [tuple(totals)]


def product(
    op: coopmatrix.MulAddOp, operands: tuple[SSAValue, SSAValue, SSAValue]
) -> Operation:
    """Return the product of tiles that is part of one of matrices."""
    if matrix_type(op.a).element_bits == 16:
        return amx.TileMulFOp(*operands)
    signs = (op.is_signed(Operand.A), op.is_signed(Operand.B))
    return amx.TileMulIOp(*operands, not signs[0], not signs[1])


def parts_of(root: Operation) -> dict[SSAValue, Parts]:
    """Return the tiles that each matrix in `root` becomes."""
    known: dict[Attribute, Parts] = {}
    found: dict[SSAValue, Parts] = {}
    for op in root.walk():
        arguments = (
            argument
            for region in op.regions
            for block in region.blocks
            for argument in block.args
        )
        for value in (*op.results, *arguments):
            if not isinstance(type := value.type, MatrixType):
                continue
            if type not in known:
                known[type] = Parts(tile_types(type), grid_of(type).suffixes)
            found[value] = known[type]
    return found


def through_memory(root: Operation, scratch: Scratch) -> None:
    """Replace what tiles cannot do by loads and stores of matrices, and loops."""
    Slices(scratch).run(root)
    for op in tuple(root.walk()):
        if isinstance(op, coopmatrix.PrefetchOp):
            Rewriter.erase_op(op)
        elif is_staged(op):
            stage_elements(op, scratch)


@dataclass(frozen=True)
class ConvertCoopmatrixToAmxPass(ModulePass):
    """Cut matrices into tiles of AMX."""

    name = "convert-coopmatrix-to-amx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide on all of `op`, then rewrite it."""
        if (found := refusal(op)) is not None:
            where, reason = found
            where.emit_error(reason, PassFailedException(reason))
        view_elements(op)
        scratch = Scratch()
        through_memory(op, scratch)
        access = TileAccess(scratch)
        rules: dict[type[Operation], Rule] = {
            coopmatrix.FillOp: fill,
            coopmatrix.LoadOp: access.load,
            coopmatrix.MulAddOp: mul_add,
            coopmatrix.StoreOp: access.store,
        }
        split_values(op, parts_of(op), rules)
        for func in op.walk():
            if isinstance(func, FuncOp):
                func.attributes.pop(coopmatrix.DISTRIBUTION, None)
