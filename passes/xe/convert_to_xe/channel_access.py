"""Loads of tensors as slots that follow each other in memory: `xe.block_load`.

Where a device has no 2D blocks, an operand of DPAS is loaded row by row.  Rows and
columns of the tensor that are outside of the matrix are not read, and are 0: each
message is guarded.  So that all of its columns are inside or none, the width of the
matrix, and where the tensor begins, are to be multiples of what a message spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.hints import isa

from coopc.dialects import simt, tt, xe
from coopc.dialects.coopmatrix import CHANNEL_BITS
from coopc.dialects.tt.names import block_io
from coopc.dialects.tt.types import bits_of
from coopc.ir.builder import Builder, Built
from coopc.passes.xe.conditions import (
    attribute,
    descriptor_of,
    numbers_of,
    together,
)
from coopc.passes.xe.convert_to_xe.block_access import plan_of, spread_of_value
from coopc.passes.xe.convert_to_xe.entry import Entry, constant_of
from coopc.passes.xe.convert_to_xe.layout_to_arith import part
from coopc.passes.xe.convert_to_xe.matrix_channels import (
    MOST_BYTES,
    Slot,
    told,
    vector_of,
)
from coopc.passes.xe.convert_to_xe.surface import Surface
from coopc.passes.xe.register_layout import Spread
from coopc.plan.channels import (
    ALIGNMENT,
    Array,
    Lines,
    Message,
    Reason,
    Refusal,
    plan_slots,
)
from coopc.plan.surface import Rule
from coopc.rewrite.index_polynomial import Polynomial
from coopc.rewrite.lane_facts import multiple_of
from coopc.rewrite.one_to_many import Splitter


@dataclass(frozen=True, slots=True)
class ChannelPlan:
    """How a tensor is loaded."""

    messages: tuple[Message, ...]
    """Their registers are counted through all pieces."""
    slot_bits: int
    slots: int
    """Of a lane, in each piece."""
    span: int
    """Columns that the width of the matrix is a multiple of."""

    def __str__(self) -> str:
        return told(self.messages, self.slot_bits)


def decide_channels(op: tt.DescriptorLoadOp) -> ChannelPlan | Refusal:
    """Return how a tensor is loaded, or why not as slots that follow each other."""
    spread, width = spread_of_value(op.result), bits_of(op.result.type)
    assert width is not None, op
    packed = getattr(getattr(spread.packed, "element_type", None), "bitwidth", 0)
    if packed != CHANNEL_BITS:
        return Refusal(Reason.WIDTH, f"lanes hold elements of {width} bits")
    if block_io(op) == "column_major" or len(op.indices) != 2:
        return Refusal(Reason.STRIDE, "rows are not")
    lines = Lines(None, across=0, element_bytes=width // 8)
    messages, bits = _by_pieces(spread, width, lines), CHANNEL_BITS
    if isinstance(messages, Refusal):
        bits = width
        messages = plan_slots(_elements(spread, width, 1), lines)
    if isinstance(messages, Refusal):
        return messages
    slots = spread.run * width // bits
    lanes = 1 << len(spread.layout.bases("lane"))
    most = max(len(message.registers) for message in messages)
    span = most * lanes * bits // width
    found = ChannelPlan(messages, bits, slots, span)
    return _refused(op, found, spread) or found


def _by_pieces(
    spread: Spread, bits: int, lines: Lines
) -> tuple[Message, ...] | Refusal:
    """Return the messages of channels of 32 bits, piece by piece."""
    per, found = CHANNEL_BITS // bits, list[Message]()
    whole = _elements(spread, bits, per)
    slots = spread.run // per
    for start in range(0, len(whole), slots):
        messages = plan_slots(whole[start : start + slots], lines)
        if isinstance(messages, Refusal):
            return messages
        for each in messages:
            registers = tuple(start + x for x in each.registers)
            found.append(replace(each, registers=registers))
    return tuple(found)


def _elements(spread: Spread, bits: int, per: int) -> Array:
    """Return what the slots of warp 0 hold, as `plan_slots` wants it."""
    lanes = 1 << len(spread.layout.bases("lane"))
    registers = np.array(spread.registers)
    register, lane = np.broadcast_arrays(registers[:, None], np.arange(lanes)[None, :])
    table = spread.layout.apply({"register": register, "lane": lane})
    tags = np.stack(list(table.values()), axis=-1)
    return tags.reshape(-1, per, lanes, 2).transpose(0, 2, 1, 3)


def _refused(
    op: tt.DescriptorLoadOp, plan: ChannelPlan, spread: Spread
) -> Refusal | None:
    """Refuse messages of which a part may be outside, or that are not aligned."""
    size, span = (bits_of(op.result.type) or 8) // 8, plan.span
    columns = [multiple_of(op.indices[1])]
    columns += [message.byte // size for message in plan.messages]
    if "warp" in spread.layout.in_names:
        columns += [basis[1] for basis in spread.layout.bases("warp")]
    if any(column % span for column in columns):
        return Refusal(Reason.CHECKED, f"columns that are no multiples of {span}")
    made = descriptor_of(op)
    if made is None:
        return Refusal(Reason.ALIGNMENT, "there are several descriptors")
    if not isinstance(made.base.owner, Block):
        return Refusal(Reason.ALIGNMENT, "the base is no argument")
    numbers, rules = numbers_of(made), _rules(plan, size)
    for rule in rules:
        value = numbers[rule.part]
        known = constant_of(value)
        if known is not None and known % rule.multiple_of:
            what = f"a {rule.part} of {known}, no multiple of {rule.multiple_of}"
            return Refusal(Reason.CHECKED, what)
        if known is None and not isinstance(value.owner, Block):
            return Refusal(Reason.ALIGNMENT, f"the {rule.part} is no argument")
    return None


def _rules(plan: ChannelPlan, size: int) -> tuple[Rule, ...]:
    """Return what must hold of a matrix, in elements; of its address in bytes."""
    return (
        Rule("base", ALIGNMENT),
        Rule("width", plan.span),
        Rule("pitch", max(1, ALIGNMENT // size)),
    )


def plans_of(func: FuncOp) -> dict[Operation, ChannelPlan]:
    """Return the loads of a kernel that are done so."""
    found: dict[Operation, ChannelPlan] = {}
    for op in func.walk():
        if isinstance(op, tt.DescriptorLoadOp) and plan_of(op) is None:
            decided = decide_channels(op)
            if isinstance(decided, ChannelPlan):
                found[op] = decided
    return found


def demand(func: FuncOp, plans: Mapping[Operation, ChannelPlan]) -> None:
    """Write on a kernel what must hold of its arguments, with what it says already."""
    rules: dict[int, Rule] = {}
    bytes: set[int] = set()
    for op, plan in plans.items():
        assert isinstance(op, tt.DescriptorLoadOp), op
        made = descriptor_of(op)
        assert made is not None, op
        numbers, size = numbers_of(made), (bits_of(op.result.type) or 8) // 8
        for rule in _rules(plan, size):
            value = numbers[rule.part]
            if value.owner is not func.body.blocks[0]:
                continue
            at = func.body.blocks[0].args.index(value)
            rules[at] = together(rules[at], rule) if at in rules else rule
            if rule.part == "base":
                bytes.add(at)
    known = func.attributes.get(simt.CONDITIONS)
    before = known.data if isa(known, ArrayAttr[DictionaryAttr]) else ()
    new = [attribute(at, rules[at]) for at in sorted(rules)]
    new += [_bytes(at) for at in sorted(bytes)]
    if before or new:
        func.attributes[simt.CONDITIONS] = ArrayAttr([*before, *new])


def _bytes(argument: int) -> DictionaryAttr:
    return DictionaryAttr(
        {
            "argument": IntegerAttr(argument, 64),
            "what": StringAttr("bytes"),
            "less_than": IntegerAttr(MOST_BYTES, 64),
            "why": StringAttr("offsets of 32 bits"),
        }
    )


@dataclass(slots=True)
class ChannelAccess:
    """The rule for such loads, in one kernel."""

    entry: Entry
    built: Built
    plans: Mapping[Operation, ChannelPlan] = field(
        default_factory=dict[Operation, ChannelPlan]
    )

    def load(self, op: tt.DescriptorLoadOp, s: Splitter) -> Sequence[SSAValue]:
        """Load a tensor; return its pieces."""
        plan, spread = self.plans[op], spread_of_value(op.result)
        surface = Surface(*s.parts(op.desc))
        size = Polynomial.constant((bits_of(op.result.type) or 8) // 8)
        y, x = self._starts(op, spread)
        b = Builder.at(op, self.built, unroll=True)
        slots: dict[int, Slot] = {}
        for message in plan.messages:
            row = y + Polynomial.constant(message.line)
            byte = x * size + Polynomial.constant(message.byte)
            offset = (row * Polynomial.of(surface.pitch) + byte).build(b)
            guard = b.both(
                b.compare("ult", row.build(b), surface.height),
                b.compare("ult", byte.build(b), surface.width),
            )
            assert isinstance(guard, SSAValue), op
            load = xe.BlockLoadOp(
                surface.base, offset, len(message.registers), plan.slot_bits, guard
            )
            load.result.name_hint = op.result.name_hint
            b.effect(load)
            slots |= {x: (load.result, at) for at, x in enumerate(message.registers)}
        return [
            vector_of(b, [slots[x] for x in range(first, first + plan.slots)])
            for first in range(0, len(slots), plan.slots)
        ]

    def _starts(self, op: tt.DescriptorLoadOp, spread: Spread) -> Iterator[Polynomial]:
        """Yield row and column at which the part of a subgroup begins."""
        for dimension, index in enumerate(op.indices):
            found = Polynomial.of(index)
            warp = part(self.entry, spread.layout, "warp", dimension)
            if warp.value is not None:
                found += Polynomial.of(warp.value)
            yield found
