"""Loop counters of matrices in 32 bits, and in the units of transposed loads.

Positions in memory are of type index, 64 bits; those of 2D block messages have 32.  A
loop whose counter is nothing but a position of messages, and that ends at a size of a
surface or at a constant, counts in 32 bits:

    scf.for %k = %a to %b step %s           scf.for %k = %a to %b32 step %s : i32

Intel's compiler then needs one register and no casts.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import IndexType, i32
from xdsl.dialects.memref import DimOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import coopmatrix
from coopc.passes.xe.convert_to_xe.entry import Entry, constant_of
from coopc.passes.xe.convert_to_xe.matrix_plans import Moves
from coopc.passes.xe.convert_to_xe.scale_loop_iv import count_loop, is_counter
from coopc.plan.block2d import BlockPlan

MOST = 1 << 24
"""Rows of a surface, and bytes of one of its rows, are less."""


def narrow_loops(
    root: Operation, moves: Mapping[Operation, Moves], entry: Entry
) -> None:
    """Let the loops of a function count in 32 bits where only messages need them."""
    surfaces = {op.memory for op in moves if isinstance(op, coopmatrix.AccessOp)}
    for op in list(root.walk()):
        if isinstance(op, ForOp) and can_be_narrow(op, moves, surfaces):
            narrow(op, moves, entry)


def can_be_narrow(
    loop: ForOp, moves: Mapping[Operation, Moves], surfaces: set[SSAValue]
) -> bool:
    """Whether a counter of 32 bits does for a loop."""
    counter = loop.body.block.args[0]
    if not isinstance(counter.type, IndexType) or not counter.uses:
        return False
    if not all(use.operation in moves for use in counter.uses):
        return False
    bounds = [constant_of(x) for x in (loop.lb, loop.step)]
    if any(x is None or not 0 <= x < MOST for x in bounds):
        return False
    if (end := constant_of(loop.ub)) is not None:
        return 0 <= end < MOST
    size = loop.ub.owner
    return isinstance(size, DimOp) and size.source in surfaces


def narrow(loop: ForOp, moves: Mapping[Operation, Moves], entry: Entry) -> None:
    """Let a loop count in 32 bits, in the units that its loads want."""
    counter = loop.body.block.args[0]
    shifts = [shift_of(use.operation, counter, moves) for use in counter.uses]
    for operand in range(3):
        value = loop.operands[operand]
        if (known := constant_of(value)) is not None:
            loop.operands[operand] = entry.number(known)
        else:
            # The loop names it: the lambda is called at once.
            cast = entry.after(value, i32, lambda value=value: IndexCastOp(value, i32))
            loop.operands[operand] = cast
    counter = Rewriter.replace_value_with_new_type(counter, i32)
    assert isinstance(counter, BlockArgument), loop
    wide = IndexCastOp(counter, IndexType())
    wide.result.name_hint = counter.name_hint
    for use in tuple(counter.uses):
        if use.operation is not wide:
            use.operation.operands[use.index] = wide.result
    Rewriter.insert_op(wide, InsertPoint.at_start(loop.body.block))
    shift = max(shifts)
    if shift and is_counter(counter, shift):
        count_loop(counter, shift, entry)
    entry.made[wide.result, i32] = wide.input


def shift_of(op: Operation, value: SSAValue, moves: Mapping[Operation, Moves]) -> int:
    """Return by what an access divides a position, as a power of two."""
    assert isinstance(op, coopmatrix.AccessOp), op
    if op.positions[-1] is not value:
        return 0
    plans = [part.plan for part in moves[op]]
    shifts = [x.packed.bit_length() - 1 for x in plans if isinstance(x, BlockPlan)]
    return max(shifts, default=0)
