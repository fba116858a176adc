"""Loop counters in the units of transposed loads: columns of 32 bits, not elements.

A transposed load of 16-bit elements counts columns in pairs.  Half of a loop's counter,
computed anew in each step, hides from Intel's compiler that offsets of it are constant:
it writes the whole address for each load.  So the loop counts in these units, from
which the constants are plain offsets, and the others use twice the counter:

    scf.for %x = %a to %b step %s
    scf.for %h = %a / 2 to (%b + 1) / 2 step %s / 2 { %x = %h * 2 .. }

which costs Intel's compiler two instructions a step less than a second counter.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.arith import AddiOp, AndIOp, ConstantOp, ShLIOp, ShRSIOp
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import tt
from coopc.passes.xe.convert_to_xe.block_access import plan_of
from coopc.passes.xe.convert_to_xe.entry import Entry, constant_of


def wanted(func: FuncOp) -> Iterator[tuple[BlockArgument, int]]:
    """Yield counters of loops and by what loads divide them, as a power of two."""
    seen: set[SSAValue] = set()
    for op in func.walk():
        if not isinstance(op, tt.DescriptorLoadOp) or (plan := plan_of(op)) is None:
            continue
        index, shift = op.indices[-1], plan.packed.bit_length() - 1
        if shift and index not in seen and is_counter(index, shift):
            seen.add(index)
            assert isinstance(index, BlockArgument)
            yield index, shift


def is_counter(value: SSAValue, shift: int) -> bool:
    """Whether a value is the counter of a loop over multiples of a power of two."""
    if not isinstance(value, BlockArgument) or value.index or value.type != i32:
        return False
    loop = value.block.parent_op()
    if not isinstance(loop, ForOp):
        return False
    start, step = constant_of(loop.lb), constant_of(loop.step)
    unit = 1 << shift
    return None not in (start, step) and (start or 0) % unit == (step or 0) % unit == 0


def count_in_units(func: FuncOp, entry: Entry) -> None:
    """Make loops count in the units that their transposed loads want."""
    for counter, shift in list(wanted(func)):
        count_loop(counter, shift, entry)


def count_loop(counter: BlockArgument, shift: int, entry: Entry) -> None:
    """Make one loop count in units of two to a power."""
    loop = counter.block.parent_op()
    assert isinstance(loop, ForOp), loop
    start, step = constant_of(loop.lb), constant_of(loop.step)
    assert start is not None, loop
    assert step is not None, loop
    uses, amount = [*counter.uses], entry.number(shift)
    whole = ShLIOp(counter, amount)
    whole.result.name_hint = counter.name_hint
    Rewriter.insert_op(whole, InsertPoint.at_start(counter.block))
    for use in uses:
        use.operation.operands[use.index] = whole.result
    for operand, value in ((0, start >> shift), (2, step >> shift)):
        loop.operands[operand] = entry.number(value)
    loop.operands[1] = rounded_up(loop, shift, entry)
    entry.made[whole.result, ("/", shift)] = counter


def rounded_up(loop: ForOp, shift: int, entry: Entry) -> SSAValue:
    """Return the end of a loop in units, without overflow: end / 2 + (end & 1)."""
    end, amount = loop.ub, entry.number(shift)
    floor = ShRSIOp(end, amount)
    mask = ConstantOp(IntegerAttr((1 << shift) - 1, i32))
    rest = AndIOp(end, mask.result)
    up = AddiOp(rest.result, mask.result)
    more = ShRSIOp(up.result, amount)
    total = AddiOp(floor.result, more.result)
    Rewriter.insert_op([floor, mask, rest, up, more, total], InsertPoint.before(loop))
    return total.result
