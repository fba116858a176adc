"""Loads of matrices as channels that follow each other: `xe.block_load`.

They need no surface, so devices without 2D blocks have them; and memory may have more
than two dimensions, as where a matrix lies in tiles.  Offsets are of 32 bits, as the
messages of dg2 take them: memory is of less than 4 GiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import DimOp
from xdsl.dialects.vector import BitcastOp, ShuffleOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix, simt, xe
from coopc.dialects.coopmatrix import CHANNEL_BITS, Layout
from coopc.dialects.narrow import is_memref, is_vector
from coopc.passes.xe.matrix_pieces import Pieces
from coopc.passes.xe.matrix_plans import kernel_argument
from coopc.passes.xe.registers import length_of
from coopc.plan.channels import (
    CHANNEL_BYTES,
    Array,
    Lines,
    Message,
    Reason,
    Refusal,
    plan_channels,
)
from coopc.plan.surface import Part
from coopc.rewrite.index_polynomial import Polynomial
from coopc.rewrite.lane_facts import multiple_of
from coopc.rewrite.nested_builder import Builders, NestedBuilder


@dataclass(frozen=True, slots=True)
class Channels:
    """How a matrix is loaded: the messages of each tile."""

    tiles: tuple[tuple[Message, ...], ...]

    def __str__(self) -> str:
        messages = [message for tile in self.tiles for message in tile]
        sizes = sorted({message.channels for message in messages}, reverse=True)
        many = "s" * (len(messages) > 1)
        lengths = " or ".join(map(str, sizes))
        return f"{len(messages)} block load{many} of {lengths} channels a lane"


def decide_channels(op: coopmatrix.LoadOp, pieces: Pieces) -> Channels | Refusal:
    """Return how a matrix is loaded, or why not as channels."""
    if (refusal := _refused_access(op) or _refused_alignment(op)) is not None:
        return refusal
    elements = tile_elements(pieces)
    if isinstance(elements, Refusal):
        return elements
    lines = lines_of(op)
    found: list[tuple[Message, ...]] = []
    for tile in pieces.tiles:
        messages = plan_channels(elements + np.array(tile), lines)
        if isinstance(messages, Refusal):
            return messages
        found.append(messages)
    return Channels(tuple(found))


def tile_elements(pieces: Pieces) -> Array | Refusal:
    """Return what the channels of a tile hold, as `plan_channels` wants it."""
    bits = pieces.type.element_bits
    width = CHANNEL_BITS if pieces.spread.packed is None else 0
    if pieces.spread.packed is not None:
        width = getattr(pieces.spread.packed.get_element_type(), "bitwidth", 0)
    if width != CHANNEL_BITS or (pieces.spread.packed is None and bits != width):
        return Refusal(Reason.CHANNEL, f"lanes hold elements of {bits} bits")
    table = pieces.encoding.tile(pieces.operand).table()
    row, col = table.values()
    per, lanes = CHANNEL_BITS // bits, row.shape[1]
    tags = np.stack([row, col], axis=-1)
    return tags.reshape(-1, per, lanes, 2).transpose(0, 2, 1, 3)


def lines_of(op: coopmatrix.LoadOp) -> Lines:
    """Return how the matrix of a load lies in memory."""
    size, outer = op.matrix.element_bits // 8, op.matrix_strides[0]
    order = op.layout.data
    return Lines(
        row_bytes=None if outer in (None, DYNAMIC_INDEX) else outer * size,
        across=1 if order is Layout.COL_MAJOR else 0,
        element_bytes=size,
        packed=CHANNEL_BYTES // size if order is Layout.PACKED else 1,
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
            if unknown or (stride or 0) * size % CHANNEL_BYTES:
                what = "not known" if unknown else f"{stride} elements"
                return Refusal(Reason.ALIGNMENT, f"a stride is {what}")
    elif (last := type.get_shape()[-1]) != DYNAMIC_INDEX and (
        len(strides) > 1 and last * size % CHANNEL_BYTES
    ):
        return Refusal(Reason.ALIGNMENT, f"rows are of {last} elements")
    said = 1 if op.alignment is None else op.alignment.value.data
    known = multiple_of(op.positions[-1])
    if said % CHANNEL_BYTES and known * size % CHANNEL_BYTES:
        return Refusal(Reason.ALIGNMENT, f"a position is a multiple of {known}")
    return None


def demands(op: coopmatrix.LoadOp) -> Iterator[tuple[str, int, Part, int]]:
    """Yield what the host has to check of the memref.

    That is what, of which dimension, for which part of its lines, and what it has to be
    a multiple of.
    """
    yield "address", 0, "base", CHANNEL_BYTES
    type, size = op.memory_type, op.matrix.element_bits // 8
    last = len(type.get_shape()) - 1
    is_open = type.get_shape()[last] == DYNAMIC_INDEX
    if is_open and isinstance(type.layout, NoneAttr) and size < CHANNEL_BYTES:
        yield "size", last, "pitch", CHANNEL_BYTES // size


@dataclass(slots=True)
class MatrixChannels:
    """The loads of one module."""

    builders: dict[FuncOp, Builders] = field(default_factory=dict[FuncOp, Builders])

    def load(
        self, op: coopmatrix.LoadOp, pieces: Pieces, channels: Channels
    ) -> list[SSAValue]:
        """Load a matrix; return its tiles."""
        b = self._builder(op)
        size = op.matrix.element_bits // 8
        strides = strides_of(b, op.memory)
        start = Polynomial()
        for position, stride in zip(op.positions, strides, strict=True):
            start += Polynomial.of(position) * stride
        found: list[SSAValue] = []
        for messages in channels.tiles:
            loads: list[SSAValue] = []
            for message in messages:
                at = start + strides[-2] * Polynomial.constant(message.line)
                bytes = at * Polynomial.constant(size)
                bytes += Polynomial.constant(message.byte)
                load = xe.BlockLoadOp(op.memory, bytes.build(b), message.channels)
                load.result.name_hint = op.result.name_hint
                b.effect(load)
                loads.append(load.result)
            found.append(_as(b, _joined(b, loads), pieces.spread.types[0]))
        return found

    def _builder(self, op: Operation) -> NestedBuilder:
        func = op.parent_op()
        while not isinstance(func, FuncOp):
            assert func is not None, op
            func = func.parent_op()
        if func not in self.builders:
            self.builders[func] = Builders.of(func)
        return self.builders[func].at(op)


def strides_of(b: NestedBuilder, memory: SSAValue) -> list[Polynomial]:
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


def _joined(b: NestedBuilder, vectors: list[SSAValue]) -> SSAValue:
    """Return the components of vectors of channels as one vector."""
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [_both(b, one, other) for one, other in pairs]
    return vectors[0]


def _both(b: NestedBuilder, one: SSAValue, other: SSAValue) -> SSAValue:
    length = length_of(one) + length_of(other)
    mask = DenseArrayBase.from_list(i64, list(range(length)))
    shuffle = ShuffleOp(one, other, mask, result_type=VectorType(i32, [length]))
    return b.effect(shuffle).results[0]


def _as(b: NestedBuilder, value: SSAValue, type: Attribute) -> SSAValue:
    """Return the bits of channels as another vector."""
    assert is_vector(type), type
    if value.type == type:
        return value
    return b.effect(BitcastOp(value, type)).results[0]
