"""Messages that take every second row: a surface of their own.

A transposed load of 8-bit elements gives lanes one row of memory each, in 32 bits; A of
DPAS wants two neighbours in each lane.  So one message takes the even rows, one the odd
ones, and nothing is exchanged:

    rows       base    width            height              pitch        x
    even       base    width            (height + 1) / 2    2 pitch      x
    odd        base    pitch + width    height / 2          2 pitch      x + pitch

The odd rows begin in the middle of a row of their surface, as a base is aligned to 64
bytes, which a pitch need not be.  What is left of the matrix is then no longer outside
of the surface: x must not be negative, and y must be even.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.arith import AddiOp, ShLIOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, SSAValue

from coopc.dialects import simt, tt
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.layout_to_arith import origin
from coopc.passes.xe.convert_to_xe.surface import Surface
from coopc.plan.block2d import BlockPlan
from coopc.plan.refusal import Reason, Refusal
from coopc.rewrite.lane_facts import multiple_of
from coopc.rewrite.one_to_many import Splitter

IDS = (
    simt.WorkgroupIdOp,
    simt.SubgroupIdOp,
    tt.GetProgramIdOp,
    tt.GetNumProgramsOp,
)


def refuse_steps(plan: BlockPlan, y: SSAValue, x: SSAValue) -> Refusal | None:
    """Return why the messages of a plan cannot begin at a position, or None.

    Args:
        plan: of any step.
        y: the row of memory, a number or an index.
        x: the column.
    """
    step = plan.row_step
    if step == 1:
        return None
    if (known := multiple_of(y)) % step:
        what = f"a row that is a multiple of {known}, as far as is known, of every"
        return Refusal(Reason.POSITION, f"{what} {step}nd row")
    if not is_positive(x):
        return Refusal(Reason.POSITION, f"a column that may be negative, of {plan}")
    return None


def is_positive(value: SSAValue) -> bool:
    """Whether a number is known to be 0 or more."""
    match value.owner:
        case Block() as block:
            loop = block.parent_op()
            if not isinstance(loop, ForOp) or value is not block.args[0]:
                return False
            return is_positive(loop.lb) and is_positive(loop.step)
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return number.data >= 0
        case arith.IndexCastOp(input=source) | arith.ExtSIOp(input=source):
            return is_positive(source)
        case arith.MuliOp(lhs=lhs, rhs=rhs) | arith.AddiOp(lhs=lhs, rhs=rhs):
            return is_positive(lhs) and is_positive(rhs)
        case op:
            return isinstance(op, IDS)


def place(
    entry: Entry,
    s: Splitter,
    plan: BlockPlan,
    surface: Surface,
    first: int,
    position: tuple[SSAValue, SSAValue],
) -> tuple[Surface, tuple[SSAValue, SSAValue]]:
    """Return the surface of a message, and x and y in it.

    Args:
        entry: of the kernel.
        s: in front of the access.
        plan: of the messages.
        surface: of the tensor.
        first: the first register of the message.
        position: row and column in memory where the tensor begins.
    """
    row, col = position
    shift, down = plan.packed.bit_length() - 1, plan.row_step.bit_length() - 1
    x = origin(entry, plan.layout, plan.cols, first, col, shift)
    y = origin(entry, plan.layout, plan.rows, first, row, down)
    if plan.row_step == 1:
        return surface, (x, y)
    rest = plan.origin(first)[plan.rows] % plan.row_step
    pitch = _shifted(entry, surface.pitch, down)
    rows = entry.plus(surface.height, plan.row_step - 1 - rest)
    height = entry.divided(rows, down)
    if rest == 0:
        return Surface(surface.base, surface.width, height, pitch), (x, y)
    before = entry.times(surface.pitch, rest)
    width = s.insert(AddiOp(surface.width, before)).result
    elements = entry.divided(before, (plan.shape.bits // 8).bit_length() - 1)
    x = s.insert(AddiOp(x, elements)).result
    return Surface(surface.base, width, height, pitch), (x, y)


def _shifted(entry: Entry, value: SSAValue, bits: int) -> SSAValue:
    """Return a number times two to some power."""
    amount = entry.number(bits)
    return entry.after(value, ("<<", bits), lambda: ShLIOp(value, amount))
