"""Plans of loads as slots that follow each other in memory: `xe.block_load`.

They need no surface, so devices without 2D blocks have them.  Offsets are of 32 bits,
as the messages of dg2 take them: memory is of less than 4 GiB.

Slots are channels, where memory has what a channel holds as it is, and are loaded piece
by piece.  Else they are single elements: those of all pieces are loaded together, and
packed in registers.

A tensor of Triton has rows and columns outside of its matrix, which are not read, and
are 0: each message is guarded.  So that all of its columns are inside or none, the
width of the matrix, and where the tensor begins, are to be multiples of what a message
spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from coopc.dialects import simt, tt, xe_plans
from coopc.dialects.coopmatrix import CHANNEL_BITS
from coopc.dialects.tt.types import bits_of, block_io
from coopc.ir.facts import ValueFacts, constant_number
from coopc.passes.triton.origins import made_by
from coopc.passes.xe.conditions import Demands, HostNumber, arguments_of, numbers_of
from coopc.passes.xe.register_layout import RegisterLayout, registers_of
from coopc.plan.block_message import Rule
from coopc.plan.channels import (
    ALIGNMENT,
    ChannelReason,
    MemoryLines,
    SlotLoad,
    plan_slots,
)
from coopc.plan.refusal import Refusal

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray

MOST_BYTES = 1 << 32
"""Of memory that offsets of 32 bits reach."""


@dataclass(frozen=True, slots=True)
class ChannelPlan:
    """How a tensor or a matrix is loaded."""

    messages: tuple[SlotLoad, ...]
    """Their registers are counted through all pieces."""
    slot_bits: int
    slots: int
    """Of a lane, in each piece."""

    def __str__(self) -> str:
        """Return in one line which messages there are.

        >>> str(ChannelPlan((SlotLoad((0, 1), 0, 0),), 32, 2))
        '1 block load of 2 x 32 bits a lane'
        """
        sizes = sorted({len(x.registers) for x in self.messages}, reverse=True)
        lengths = " or ".join(map(str, sizes))
        count, many = len(self.messages), "s" * (len(self.messages) > 1)
        return f"{count} block load{many} of {lengths} x {self.slot_bits} bits a lane"


def plan_channels(
    registers: RegisterLayout, bits: int, lines: MemoryLines
) -> ChannelPlan | Refusal:
    """Return how what lanes hold is loaded, or why not as slots that follow each other.

    `registers` are of rank 2, and `lines` is how the elements lie in memory.
    """
    packed = registers.packed
    channel = bits if packed is None else bits_of(packed.get_element_type())
    if channel != CHANNEL_BITS:
        return Refusal(ChannelReason.WIDTH, f"lanes hold channels of {channel} bits")
    elements = registers.elements(1 << len(registers.layout.bases("lane")))
    channels = _by_pieces(elements, registers.run, CHANNEL_BITS // bits, lines)
    if not isinstance(channels, Refusal) or bits == CHANNEL_BITS:
        return channels
    found = plan_slots(_slots(elements, 1), lines)
    if isinstance(found, Refusal):
        return channels
    return ChannelPlan(found, bits, registers.run)


def _by_pieces(
    elements: IntArray, run: int, per: int, lines: MemoryLines
) -> ChannelPlan | Refusal:
    """Return how channels of so many elements are loaded, piece by piece."""
    whole, slots = _slots(elements, per), run // per
    found: list[SlotLoad] = []
    for start in range(0, len(whole), slots):
        messages = plan_slots(whole[start : start + slots], lines)
        if isinstance(messages, Refusal):
            return messages
        for each in messages:
            registers = tuple(start + x for x in each.registers)
            found.append(replace(each, registers=registers))
    return ChannelPlan(tuple(found), CHANNEL_BITS, slots)


def _slots(elements: IntArray, per: int) -> IntArray:
    """Return what slots of so many elements hold, as `plan_slots` wants it."""
    lanes = elements.shape[1]
    return elements.reshape(-1, per, lanes, 2).transpose(0, 2, 1, 3)


def decide_channels(op: tt.DescriptorLoadOp) -> ChannelPlan | Refusal:
    """Return how a tensor is loaded, or why not as slots that follow each other."""
    registers, width = registers_of(op.result), bits_of(op.result.type)
    assert width is not None, op
    packed = registers.packed
    if packed is None or bits_of(packed.get_element_type()) != CHANNEL_BITS:
        return Refusal(ChannelReason.WIDTH, f"lanes hold elements of {width} bits")
    if block_io(op) == "column_major" or len(op.indices) != 2:
        return Refusal(ChannelReason.STRIDE, "rows are not")
    found = plan_channels(registers, width, MemoryLines(None, 0, width // 8))
    if isinstance(found, Refusal):
        return found
    return _refuse_edges(op, found, registers) or found


def _span(plan: ChannelPlan, registers: RegisterLayout, bits: int) -> int:
    """Return the columns that the longest message of a plan has of a row."""
    most = max(len(message.registers) for message in plan.messages)
    lanes = 1 << len(registers.layout.bases("lane"))
    return most * lanes * plan.slot_bits // bits


def _rules(op: tt.DescriptorLoadOp, plan: ChannelPlan) -> tuple[Rule, ...]:
    """Return what must hold of a matrix, in elements; of its address in bytes."""
    bits = bits_of(op.result.type) or 8
    return (
        Rule("base", ALIGNMENT),
        Rule("width", _span(plan, registers_of(op.result), bits)),
        Rule("pitch", max(1, ALIGNMENT * 8 // bits)),
    )


def _refuse_edges(
    op: tt.DescriptorLoadOp, plan: ChannelPlan, registers: RegisterLayout
) -> Refusal | None:
    """Refuse messages of which a part may be outside, or that are not aligned."""
    bits = bits_of(op.result.type) or 8
    span = _span(plan, registers, bits)
    columns = [ValueFacts().divisor(op.indices[1])]
    columns += [message.byte * 8 // bits for message in plan.messages]
    columns += [basis[1] for basis in registers.layout.bases("warp")]
    if any(column % span for column in columns):
        return Refusal(
            ChannelReason.CHECKED, f"columns that are not multiples of {span}"
        )
    made = made_by(op.desc)
    if made is None:
        return Refusal(ChannelReason.ALIGNMENT, "there are several descriptors")
    if not isinstance(made.base.owner, Block):
        return Refusal(ChannelReason.ALIGNMENT, "the base is not a kernel argument")
    numbers = numbers_of(made)
    for rule in _rules(op, plan):
        value = numbers[rule.part]
        known = constant_number(value)
        if known is not None and known % rule.multiple_of:
            what = f"a {rule.part} of {known}, not a multiple of {rule.multiple_of}"
            return Refusal(ChannelReason.CHECKED, what)
        if known is None and not isinstance(value.owner, Block):
            return Refusal(
                ChannelReason.ALIGNMENT, f"the {rule.part} is not a kernel argument"
            )
    return None


def channel_plans(func: FuncOp) -> dict[Operation, ChannelPlan]:
    """Return how the loads of a kernel are done that have no plan of 2D blocks."""
    loads = (op for op in func.walk() if isinstance(op, tt.DescriptorLoadOp))
    decided = {
        op: decide_channels(op) for op in loads if xe_plans.PLAN not in op.attributes
    }
    return {op: x for op, x in decided.items() if isinstance(x, ChannelPlan)}


def demand_channels(func: FuncOp, plans: Mapping[Operation, ChannelPlan]) -> None:
    """Write on a kernel what must hold of its arguments, with what it says already."""
    demands, sizes = Demands(), Demands()
    for op, plan in plans.items():
        assert isinstance(op, tt.DescriptorLoadOp), op
        made = made_by(op.desc)
        assert made is not None, op
        arguments = arguments_of(func, made)
        for rule in _rules(op, plan):
            demands.add_part(arguments, rule)
        if "base" in arguments:
            demand_reach(sizes, arguments["base"])
    every = (*demands.conditions(), *sizes.conditions())
    simt.add_conditions(func, every)


def demand_reach(demands: Demands, argument: int) -> None:
    """Demand that offsets of 32 bits reach all of the memory of an argument."""
    reached = Rule("height", less_than=MOST_BYTES)
    demands.add(HostNumber(argument, "bytes"), reached)
