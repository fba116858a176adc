"""Loads by plans of channels: messages, then pieces of what they gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, VectorType, i32, i64
from xdsl.dialects.vector import BitcastOp, ShuffleOp
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import xe
from coopc.dialects.coopmatrix import CHANNEL_BITS
from coopc.dialects.narrow import is_vector
from coopc.ir.builder import Builder
from coopc.passes.xe.channel_plans import ChannelPlan
from coopc.passes.xe.convert_to_xe.registers import bit_width, length_of, vector_type
from coopc.passes.xe.register_layout import MAX_COMPONENTS, RegisterLayout
from coopc.plan.channels import Message

Slot: TypeAlias = tuple[SSAValue, int]
"""A component of what a message gave."""

Place: TypeAlias = Callable[[Message], tuple[SSAValue, SSAValue | None]]
"""From a message to its offset from the base, in bytes, and whether it is inside."""


def load_channels(
    b: Builder,
    plan: ChannelPlan,
    registers: RegisterLayout,
    base: SSAValue,
    place: Place,
    name: str | None,
) -> list[SSAValue]:
    """Load a tensor or a matrix; return its pieces."""
    slots: dict[int, Slot] = {}
    for message in plan.messages:
        offset, guard = place(message)
        load = xe.BlockLoadOp(
            base, offset, len(message.registers), plan.slot_bits, guard
        )
        load.result.name_hint = name
        b.effect(load)
        slots |= {x: (load.result, at) for at, x in enumerate(message.registers)}
    type = registers.types[0]
    return [
        _as(b, _vector(b, [slots[x] for x in range(first, first + plan.slots)]), type)
        for first in range(0, len(slots), plan.slots)
    ]


def _vector(b: Builder, slots: Sequence[Slot]) -> SSAValue:
    """Return slots as one vector of channels, or of what they are."""
    bits = bit_width(vector_type(slots[0][0])) // length_of(slots[0][0])
    parts: list[SSAValue] = []
    for start in range(0, len(slots), MAX_COMPONENTS):
        some = _gathered(b, slots[start : start + MAX_COMPONENTS])
        if bits != CHANNEL_BITS:
            channels = length_of(some) * bits // CHANNEL_BITS
            some = b.effect(BitcastOp(some, VectorType(i32, [channels]))).results[0]
        parts.append(some)
    return _joined(b, parts)


def _gathered(b: Builder, slots: Sequence[Slot]) -> SSAValue:
    """Return components of vectors as one vector: the first two joined, and so on."""
    first = slots[0][0]
    if slots == [(first, at) for at in range(length_of(first))]:
        return first
    if len(slots) == 1 or any(length_of(x) != length_of(first) for x, _ in slots):
        return _joined(b, [_shuffled(b, x, x, [at]) for x, at in slots])
    pairs = zip(slots[::2], slots[1::2], strict=True)
    return _joined(
        b,
        [
            _shuffled(b, one, other, [at, length_of(one) + to])
            for (one, at), (other, to) in pairs
        ],
    )


def _joined(b: Builder, vectors: list[SSAValue]) -> SSAValue:
    """Return the components of vectors as one vector."""
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [
            _shuffled(b, x, y, range(length_of(x) + length_of(y))) for x, y in pairs
        ]
    return vectors[0]


def _shuffled(
    b: Builder, one: SSAValue, other: SSAValue, mask: Sequence[int]
) -> SSAValue:
    if one is other and list(mask) == list(range(length_of(one))):
        return one
    type = VectorType(vector_type(one).get_element_type(), [len(mask)])
    chosen = DenseArrayBase.from_list(i64, list(mask))
    return b.effect(ShuffleOp(one, other, chosen, result_type=type)).results[0]


def _as(b: Builder, value: SSAValue, type: Attribute) -> SSAValue:
    """Return the bits of channels as another vector."""
    assert is_vector(type), type
    if value.type == type:
        return value
    return b.effect(BitcastOp(value, type)).results[0]
