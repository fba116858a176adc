"""Loop counters in the units of transposed loads: columns of 32 bits, not elements.

A transposed load of 16-bit elements counts columns in pairs.  Half of a loop's counter,
computed anew in each step, hides from Intel's compiler that offsets of it are constant:
it writes the whole address for each load.  So the loop counts in these units, from
which the constants are plain offsets, and the others use twice the counter:

    scf.for %x = %a to %b step %s
    scf.for %h = %a / 2 to (%b + 1) / 2 step %s / 2 { %x = %h * 2 .. }

which costs Intel's compiler two instructions a step less than a second counter.

Positions in memory are of type index, 64 bits; those of 2D block messages have 32.  A
loop whose counter is nothing but a position of messages, and that ends at a size of a
surface or at a constant, counts in 32 bits:

    scf.for %k = %a to %b step %s           scf.for %k = %a to %b32 step %s : i32

Intel's compiler then needs one register and no casts.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.arith import AddiOp, AndIOp, IndexCastOp, ShLIOp, ShRSIOp
from xdsl.dialects.builtin import IndexType, i32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import DimOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import coopmatrix, tt, xe_plans
from coopc.ir.builder import Builder
from coopc.ir.facts import constant_number
from coopc.passes.xe.convert_to_xe.layout_to_arith import narrowed
from coopc.passes.xe.convert_to_xe.vectors import constant_i32


def is_counter(value: SSAValue, shift: int) -> bool:
    """Whether a value is the counter of a loop over multiples of a power of two."""
    if not isinstance(value, BlockArgument) or value.index or value.type != i32:
        return False
    loop = value.block.parent_op()
    if not isinstance(loop, ForOp):
        return False
    start, step = constant_number(loop.lb), constant_number(loop.step)
    unit = 1 << shift
    return None not in (start, step) and (start or 0) % unit == (step or 0) % unit == 0


def scale_loop_ivs(func: FuncOp) -> None:
    """Make loops count in the units that their transposed loads want."""
    shifts: dict[SSAValue, int] = {}
    for op in func.walk():
        plan = op.attributes.get(xe_plans.PLAN)
        if isinstance(op, tt.DescriptorLoadOp) and isinstance(plan, xe_plans.PlanAttr):
            shift = plan.data.packed.bit_length() - 1
            if shift and is_counter(op.indices[-1], shift):
                shifts.setdefault(op.indices[-1], shift)
    for counter, shift in shifts.items():
        assert isinstance(counter, BlockArgument)
        scale_loop_iv(counter, shift)


def scale_loop_iv(counter: BlockArgument, shift: int) -> None:
    """Make one loop count in units of two to a power."""
    loop = counter.block.parent_op()
    assert isinstance(loop, ForOp), loop
    start, step = constant_number(loop.lb), constant_number(loop.step)
    assert start is not None, loop
    assert step is not None, loop
    before, uses = Builder.at(loop), [*counter.uses]
    amount = constant_i32(before, shift)
    whole = ShLIOp(counter, amount)
    whole.result.name_hint = counter.name_hint
    Rewriter.insert_op(whole, InsertPoint.at_start(counter.block))
    for use in uses:
        use.operation.operands[use.index] = whole.result
    for operand, value in ((0, start >> shift), (2, step >> shift)):
        loop.operands[operand] = constant_i32(before, value)
    # The end in units, rounded up without overflow: end / 2 + ((end & 1) + 1) / 2.
    mask = constant_i32(before, (1 << shift) - 1)
    rest = before.pure(AddiOp, before.pure(AndIOp, loop.ub, mask), mask)
    floor, more = (before.pure(ShRSIOp, x, amount) for x in (loop.ub, rest))
    loop.operands[1] = before.pure(AddiOp, floor, more)


MOST = 1 << 24
"""Rows of a surface, and bytes of one of its rows, are less."""


def narrow_loops(root: Operation, messages: Mapping[Operation, int]) -> None:
    """Let the loops of a function count in 32 bits where only messages need them.

    The accesses of `messages` are messages of 2D blocks, with the power of two by which
    they divide their columns.
    """
    surfaces = {op.memory for op in messages if isinstance(op, coopmatrix.AccessOp)}
    for op in list(root.walk()):
        if isinstance(op, ForOp) and can_be_narrow(op, messages, surfaces):
            narrow(op, messages)


def can_be_narrow(
    loop: ForOp, messages: Mapping[Operation, int], surfaces: set[SSAValue]
) -> bool:
    """Whether a counter of 32 bits does for a loop."""
    counter = loop.body.block.args[0]
    if not isinstance(counter.type, IndexType) or not counter.uses:
        return False
    if not all(use.operation in messages for use in counter.uses):
        return False
    bounds = [constant_number(x) for x in (loop.lb, loop.step)]
    if any(x is None or not 0 <= x < MOST for x in bounds):
        return False
    if (end := constant_number(loop.ub)) is not None:
        return 0 <= end < MOST
    size = loop.ub.owner
    return isinstance(size, DimOp) and size.source in surfaces


def narrow(loop: ForOp, messages: Mapping[Operation, int]) -> None:
    """Let a loop count in 32 bits, in the units that its loads want."""
    counter = loop.body.block.args[0]
    columns = [
        op
        for op in (use.operation for use in counter.uses)
        if isinstance(op, coopmatrix.AccessOp) and op.positions[-1] is counter
    ]
    shift = max((messages[op] for op in columns), default=0)
    before = Builder.at(loop)
    for operand in range(3):
        loop.operands[operand] = narrowed(before, loop.operands[operand])
    counter = Rewriter.replace_value_with_new_type(counter, i32)
    assert isinstance(counter, BlockArgument), loop
    wide = IndexCastOp(counter, IndexType())
    wide.result.name_hint = counter.name_hint
    for use in tuple(counter.uses):
        if use.operation is not wide:
            use.operation.operands[use.index] = wide.result
    Rewriter.insert_op(wide, InsertPoint.at_start(loop.body.block))
    if shift and is_counter(counter, shift):
        scale_loop_iv(counter, shift)
