"""Loads of matrices as slots that follow each other in memory: `xe.block_load`.

They need no surface, so devices without 2D blocks have them; and memory may have more
than two dimensions, as where a matrix lies in tiles.  Offsets are of 32 bits, as the
messages of dg2 take them: memory is of less than 4 GiB.

Slots are channels, where memory has what a channel holds as it is, and are loaded tile
by tile.  Else they are single elements: those of all tiles are loaded together, and
packed in registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    NoneAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.memref import DimOp
from xdsl.dialects.vector import BitcastOp, ShuffleOp
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import coopmatrix, simt, xe
from coopc.dialects.coopmatrix import CHANNEL_BITS, Layout
from coopc.dialects.narrow import is_memref, is_vector
from coopc.ir.builder import Builder, Built
from coopc.passes.xe.convert_to_xe.matrix_pieces import Pieces, Tile
from coopc.passes.xe.convert_to_xe.matrix_plans import kernel_argument
from coopc.passes.xe.convert_to_xe.registers import bit_width, length_of, vector_type
from coopc.passes.xe.register_layout import MAX_COMPONENTS
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

MOST_BYTES = 1 << 32
"""Of memory that offsets of 32 bits reach."""

Slot: TypeAlias = tuple[SSAValue, int]
"""A component of what a message gave."""


@dataclass(frozen=True, slots=True)
class Channels:
    """How a matrix is loaded."""

    messages: tuple[Message, ...]
    """Their registers are counted through all tiles."""
    slot_bits: int
    slots: int
    """Of a lane, in each tile."""

    def __str__(self) -> str:
        return told(self.messages, self.slot_bits)


def told(messages: Sequence[Message], slot_bits: int) -> str:
    """Return in one line which messages there are.

    >>> told([Message((0, 1), 0, 0)], 32)
    '1 block load of 2 x 32 bits a lane'
    """
    sizes = sorted({len(x.registers) for x in messages}, reverse=True)
    lengths = " or ".join(map(str, sizes))
    many = "s" * (len(messages) > 1)
    return f"{len(messages)} block load{many} of {lengths} x {slot_bits} bits a lane"


def decide_channels(op: coopmatrix.LoadOp, pieces: Pieces) -> Channels | Refusal:
    """Return how a matrix is loaded, or why not as slots that follow each other."""
    if (refusal := _refused_access(op) or _refused_alignment(op)) is not None:
        return refusal
    bits, width = pieces.type.element_bits, _channel_bits(pieces)
    if width != CHANNEL_BITS:
        return Refusal(Reason.WIDTH, f"lanes hold channels of {width} bits")
    channels = _by_tiles(pieces, lines_of(op))
    if not isinstance(channels, Refusal) or bits == width:
        return channels
    found = plan_slots(_elements(pieces, bits, pieces.tiles), lines_of(op))
    if isinstance(found, Refusal):
        return channels
    return Channels(found, bits, pieces.spread.run)


def _by_tiles(pieces: Pieces, lines: Lines) -> Channels | Refusal:
    """Return how channels of 32 bits are loaded, tile by tile."""
    slots = pieces.spread.run * pieces.type.element_bits // CHANNEL_BITS
    found: list[Message] = []
    for number, tile in enumerate(pieces.tiles):
        messages = plan_slots(_elements(pieces, CHANNEL_BITS, (tile,)), lines)
        if isinstance(messages, Refusal):
            return messages
        for each in messages:
            registers = tuple(number * slots + x for x in each.registers)
            found.append(replace(each, registers=registers))
    return Channels(tuple(found), CHANNEL_BITS, slots)


def _channel_bits(pieces: Pieces) -> int:
    """Return the width of the integers that lanes hold, or of their elements."""
    packed = pieces.spread.packed
    if packed is None:
        return pieces.type.element_bits
    return getattr(packed.get_element_type(), "bitwidth", 0)


def _elements(pieces: Pieces, slot_bits: int, tiles: Sequence[Tile]) -> Array:
    """Return what the slots of tiles hold, as `plan_slots` wants it."""
    row, col = pieces.encoding.tile(pieces.operand).table().values()
    per, lanes = slot_bits // pieces.type.element_bits, row.shape[1]
    tags = np.stack([row, col], axis=-1)
    one = tags.reshape(-1, per, lanes, 2).transpose(0, 2, 1, 3)
    return np.concatenate([one + np.array(tile) for tile in tiles])


def lines_of(op: coopmatrix.LoadOp) -> Lines:
    """Return how the matrix of a load lies in memory."""
    size, outer = op.matrix.element_bits // 8, op.matrix_strides[0]
    order = op.layout.data
    return Lines(
        row_bytes=None if outer in (None, DYNAMIC_INDEX) else outer * size,
        across=1 if order is Layout.COL_MAJOR else 0,
        element_bytes=size,
        packed=CHANNEL_BITS // 8 // size if order is Layout.PACKED else 1,
    )


def _refused_access(op: coopmatrix.LoadOp) -> Refusal | None:
    type = op.memory_type
    if type.memory_space not in (
        NoneAttr(),
        simt.MemoryAttr.of(simt.MemorySpace.GLOBAL),
    ):
        return Refusal(Reason.SPACE, f"it is in {type.memory_space}")
    if op.volatile is not None or op.nontemporal is not None:
        return Refusal(Reason.SPECIAL, "it is one of them")
    if op.checked is not None:
        return Refusal(Reason.CHECKED, "along " + ", ".join(op.checked.data))
    if type.element_type != op.matrix.element_type:
        return Refusal(Reason.POINTEE, str(type.element_type))
    if op.matrix_strides[1] != 1:
        return Refusal(Reason.STRIDE, f"{type} has no last stride of 1")
    if kernel_argument(op.memory) is None:
        what = "only an argument of a kernel can be checked by the host"
        return Refusal(Reason.ALIGNMENT, what)
    return None


def _refused_alignment(op: coopmatrix.LoadOp) -> Refusal | None:
    """Refuse memory whose lines may begin in the middle of 4 bytes."""
    type, size = op.memory_type, op.matrix.element_bits // 8
    strides = type.get_strides()
    assert strides is not None, type
    if not isinstance(type.layout, NoneAttr):
        for stride in strides[:-1]:
            unknown = stride in (None, DYNAMIC_INDEX)
            if unknown or (stride or 0) * size % ALIGNMENT:
                what = "not known" if unknown else f"{stride} elements"
                return Refusal(Reason.ALIGNMENT, f"a stride is {what}")
    elif (last := type.get_shape()[-1]) != DYNAMIC_INDEX and (
        len(strides) > 1 and last * size % ALIGNMENT
    ):
        return Refusal(Reason.ALIGNMENT, f"rows are of {last} elements")
    said = 1 if op.alignment is None else op.alignment.value.data
    known = multiple_of(op.positions[-1])
    if said % ALIGNMENT and known * size % ALIGNMENT:
        return Refusal(Reason.ALIGNMENT, f"a position is a multiple of {known}")
    return None


def demands(op: coopmatrix.LoadOp) -> Iterator[tuple[str, int, Rule]]:
    """Yield what the host has to check of the memref: what, of which dimension, how."""
    yield "address", 0, Rule("base", ALIGNMENT)
    yield "bytes", 0, Rule("height", less_than=MOST_BYTES)
    type, size = op.memory_type, op.matrix.element_bits // 8
    last = len(type.get_shape()) - 1
    is_open = type.get_shape()[last] == DYNAMIC_INDEX
    if is_open and isinstance(type.layout, NoneAttr) and size < ALIGNMENT:
        yield "size", last, Rule("pitch", ALIGNMENT // size)


@dataclass(slots=True)
class MatrixChannels:
    """The loads of one module."""

    built: Built = field(default_factory=Built)

    def load(
        self, op: coopmatrix.LoadOp, pieces: Pieces, channels: Channels
    ) -> list[SSAValue]:
        """Load a matrix; return its tiles."""
        b = Builder.at(op, self.built, unroll=True)
        size = op.matrix.element_bits // 8
        strides = strides_of(b, op.memory)
        start = Polynomial()
        for position, stride in zip(op.positions, strides, strict=True):
            start += Polynomial.of(position) * stride
        slots: dict[int, Slot] = {}
        for message in channels.messages:
            at = start + strides[-2] * Polynomial.constant(message.line)
            bytes = at * Polynomial.constant(size) + Polynomial.constant(message.byte)
            load = xe.BlockLoadOp(
                op.memory, bytes.build(b), len(message.registers), channels.slot_bits
            )
            load.result.name_hint = op.result.name_hint
            b.effect(load)
            for number, register in enumerate(message.registers):
                slots[register] = load.result, number
        count, type = channels.slots, pieces.spread.types[0]
        return [
            _as(b, vector_of(b, [slots[x] for x in range(first, first + count)]), type)
            for first in range(0, len(slots), count)
        ]


def strides_of(b: Builder, memory: SSAValue) -> list[Polynomial]:
    """Return the strides of a memref, in elements."""
    type = memory.type
    assert is_memref(type), memory
    if not isinstance(type.layout, NoneAttr):
        known = type.get_strides()
        assert known is not None, type
        return [Polynomial.constant(x or 0) for x in known]
    found = [Polynomial.constant(1)]
    for dimension in range(len(type.get_shape()) - 1, 0, -1):
        size = type.get_shape()[dimension]
        step = Polynomial.constant(size)
        if size == DYNAMIC_INDEX:
            number = b.constant(IndexType(), dimension)
            step = Polynomial.of(b.pure(DimOp, memory, number))
        found.insert(0, found[0] * step)
    return found


def vector_of(b: Builder, slots: Sequence[Slot]) -> SSAValue:
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
