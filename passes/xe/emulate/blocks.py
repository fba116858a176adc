"""Emulate 2D block messages: each lane reads and writes what it holds, one by one.

Register k of lane l holds the elements s (k S + l) ... of the sequence G of
`coopc.plan.block_message`, s elements a slot and S lanes.  Where they are in the block
is read from their number, by shifts and masks, as all sizes are powers of two:

    plain       b H W + r W + c                        row r, column b W + c
    transform   (b (H / f) + r) W f + c f + q          row r f + q, column b W + c
    transpose   c H + r                                row r, column c

A surface is counted in elements of the memref it begins at: an element of the block is
several of them, packed low bits first, or a part of one (which cannot be stored).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FixedBitwidthType,
    IntegerType,
    MemRefType,
    StridedLayoutAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import memref_type
from coopc.ir.builder import INDEX, BoundedIndex, Builder
from coopc.passes.xe.convert_to_xe.vectors import cast
from coopc.plan.block_message import CHANNEL_BITS, BlockMode, BlockShape


def element_bits(type: Attribute) -> int:
    """Return the width of a type, 0 where it has none."""
    return type.bitwidth if isinstance(type, FixedBitwidthType) else 0


def resized(b: Builder, value: SSAValue, type: IntegerType) -> SSAValue:
    """Return an integer as one of another width: its low bits, or zeros above."""
    have, want = element_bits(value.type), type.bitwidth
    if have == want:
        return value
    return b.pure(arith.ExtUIOp if have < want else arith.TruncIOp, value, type)


def shifted_down(b: Builder, value: SSAValue, shift: int) -> SSAValue:
    """Return the bits of an integer from some bit on."""
    if not shift:
        return value
    return b.pure(arith.ShRUIOp, value, b.constant(value.type, shift))


def joined(b: Builder, parts: Sequence[SSAValue], bits: int) -> SSAValue:
    """Return the integer that has so many bits of each part, low ones first."""
    found, *rest = parts
    for number, part in enumerate(rest, 1):
        high = b.pure(arith.ShLIOp, part, b.constant(part.type, number * bits))
        found = b.pure(arith.OrIOp, found, high)
    return found


@dataclass(frozen=True, slots=True)
class BlockPiece:
    """What one call moves: a run of the slots of each lane."""

    shape: BlockShape
    type: VectorType
    """Of the piece: its slots."""
    pieces: int
    """How many there are of the block, which decides on the first slot."""
    lanes: int
    """Of a subgroup."""
    base: MemRefType
    """Where the surface begins."""

    @property
    def slots(self) -> int:
        return self.type.get_shape()[0]

    @property
    def slot_bits(self) -> int:
        return element_bits(self.type.get_element_type())

    @property
    def base_bits(self) -> int:
        """Width of an element of the memref, 0 where it has none."""
        return element_bits(self.base.element_type)

    @property
    def name(self) -> str:
        """Of its function, but for a number that makes it the only one."""
        x = self.shape
        size = f"{x.bits}_{x.height}x{x.width}x{x.count}"
        return f"{size}_{x.mode.value}_{self.slots}xi{self.slot_bits}_of_{self.pieces}"


@dataclass(frozen=True, slots=True)
class UnitSurface:
    """A surface in units, elements of the memref that it begins at."""

    b: Builder
    memory: SSAValue
    """All of the memory, in a row."""
    x: SSAValue
    """In elements of the block."""
    y: SSAValue
    width: SSAValue
    """Units of a row."""
    height: SSAValue
    pitch: SSAValue
    """Units from row to row."""
    bits: int
    """Of a unit."""

    @classmethod
    def of(
        cls, b: Builder, piece: BlockPiece, values: Sequence[SSAValue]
    ) -> UnitSurface:
        """Return the surface that the operands of a message say."""
        base, *numbers = values
        # Intel's CPU run-time 2026.2 takes the first value of a loop's counter for all
        # of them where the counter itself is extended, so not it but its broadcast is.
        first = b.constant(INDEX, 0)
        x, y = (b.pure(simt.BroadcastOp, n, first) for n in numbers[:2])
        x, y, width, height, pitch = (
            b.pure(arith.IndexCastOp, n, INDEX) for n in (x, y, *numbers[2:])
        )
        bits = piece.base_bits
        unit = b.constant(INDEX, bits // 8)
        width, pitch = (b.pure(arith.DivUIOp, n, unit) for n in (width, pitch))
        length = b.pure(arith.MuliOp, height, pitch)
        metadata = b.effect(memref.ExtractStridedMetaDataOp(base))
        start = metadata.results[1]
        memory = b.pure(_in_a_row, base, start, length)
        return cls(b, memory, x, y, width, height, pitch, bits)

    def at(self, row: BoundedIndex, col: BoundedIndex) -> tuple[SSAValue, SSAValue]:
        """Return where an element of the block is, in elements of it."""
        add = self.b.pure
        return (
            add(arith.AddiOp, self.y, self.b.index(row)),
            add(arith.AddiOp, self.x, self.b.index(col)),
        )

    def unit_column(self, col: SSAValue, per: int, part: int) -> SSAValue:
        """Return the column of one of so many units of an element."""
        b = self.b
        if per > 1:
            col = b.pure(arith.MuliOp, col, b.constant(INDEX, per))
        return b.pure(arith.AddiOp, col, b.constant(INDEX, part)) if part else col

    def place(self, row: SSAValue, col: SSAValue) -> SSAValue:
        """Return where a unit is in memory."""
        b = self.b
        return b.pure(arith.AddiOp, b.pure(arith.MuliOp, row, self.pitch), col)

    def inside(self, row: SSAValue, col: SSAValue, per: int = 1) -> SSAValue:
        """Return whether a place is in the surface: a negative one is a great one.

        Columns are counted in parts of units, of which a unit has so many.
        """
        b, width = self.b, self.width
        if per > 1:
            width = b.pure(arith.MuliOp, width, b.constant(INDEX, per))
        found = b.both(b.compare("ult", row, self.height), b.compare("ult", col, width))
        assert isinstance(found, SSAValue)
        return found

    def load(self, row: BoundedIndex, col: BoundedIndex, bits: int) -> SSAValue:
        """Return an element of so many bits as an integer, 0 where there is none."""
        b, (at_row, at_col) = self.b, self.at(row, col)
        per = self.bits // bits
        if per > 1:
            ratio = b.constant(INDEX, per)
            inside = self.inside(at_row, at_col, per)
            rest = b.pure(arith.RemUIOp, at_col, ratio)
            bit = b.pure(arith.MuliOp, rest, b.constant(INDEX, bits))
            at_col = b.pure(arith.DivUIOp, at_col, ratio)
            unit = self._unit(self.place(at_row, at_col), inside)
            shift = b.pure(arith.IndexCastOp, bit, unit.type)
            return resized(b, b.pure(arith.ShRUIOp, unit, shift), IntegerType(bits))
        units: list[SSAValue] = []
        for part in range(bits // self.bits):
            column = self.unit_column(at_col, bits // self.bits, part)
            place, inside = self.place(at_row, column), self.inside(at_row, column)
            units.append(resized(b, self._unit(place, inside), IntegerType(bits)))
        return joined(b, units, self.bits)

    def _unit(self, place: SSAValue, inside: SSAValue) -> SSAValue:
        """Return a unit of memory as an integer, 0 where there is none."""
        b, type = self.b, IntegerType(self.bits)

        def read() -> Sequence[SSAValue]:
            op = b.effect(memref.LoadOp.get(self.memory, [place]))
            return (cast(b, op.results[0], type),)

        return b.branch(inside, read, (b.constant(type, 0),))[0]

    def store(
        self, row: BoundedIndex, col: BoundedIndex, bits: int, slot: SSAValue, low: int
    ) -> None:
        """Write an element of so many bits, which a slot has from its bit `low` on."""
        b, (at_row, at_col) = self.b, self.at(row, col)
        size = min(bits, self.bits)
        for part in range(bits // size):
            value = shifted_down(b, slot, low + part * size)
            value = resized(b, value, IntegerType(size))
            column = self.unit_column(at_col, bits // size, part)
            place, inside = self.place(at_row, column), self.inside(at_row, column)
            b.branch(inside, partial(self._write, value, place))

    def _write(self, value: SSAValue, place: SSAValue) -> Sequence[SSAValue]:
        unit = cast(self.b, value, memref_type(self.memory).element_type)
        self.b.effect(memref.StoreOp.get(unit, self.memory, [place]))
        return ()


def load_piece(
    b: Builder, piece: BlockPiece, first: BoundedIndex, values: Sequence[SSAValue]
) -> SSAValue:
    """Return the slots from `first` on, 0 where there is no surface."""
    surface = UnitSurface.of(b, piece, values)

    def slot(t: BoundedIndex, now: Sequence[SSAValue]) -> Sequence[SSAValue]:
        bits, type = piece.shape.bits, IntegerType(piece.slot_bits)
        found = [
            resized(b, surface.load(row, col, bits), type)
            for row, col in elements(b, piece, b.add(first, t))
        ]
        return (b.insert(now[0], t, joined(b, found, bits)),)

    (found,) = b.loop(piece.slots, (b.constant(piece.type, 0),), slot)
    return found


def store_piece(
    b: Builder,
    piece: BlockPiece,
    first: BoundedIndex,
    given: SSAValue,
    values: Sequence[SSAValue],
) -> None:
    """Write the slots from `first` on, except where there is no surface."""
    surface = UnitSurface.of(b, piece, values)

    def slot(t: BoundedIndex, now: Sequence[SSAValue]) -> Sequence[SSAValue]:
        whole, bits = b.extract(given, t), piece.shape.bits
        for number, (row, col) in enumerate(elements(b, piece, b.add(first, t))):
            surface.store(row, col, bits, whole, number * bits)
        return ()

    b.loop(piece.slots, (), slot)


def elements(
    b: Builder, piece: BlockPiece, register: BoundedIndex
) -> list[tuple[BoundedIndex, BoundedIndex]]:
    """Return row and column, in the block, of each element of a slot."""
    per_slot = piece.slot_bits // piece.shape.bits
    slot = b.add(b.times(register, piece.lanes), b.lane(piece.lanes))
    start = b.times(slot, per_slot)
    return [
        _place(b, piece.shape, b.add(start, BoundedIndex(n))) for n in range(per_slot)
    ]


def _place(
    b: Builder, shape: BlockShape, at: BoundedIndex
) -> tuple[BoundedIndex, BoundedIndex]:
    """Return row and column of an element by its number in G."""
    if shape.mode is BlockMode.TRANSPOSE:
        return b.remainder(at, shape.height), b.divided(at, shape.height)
    factor = 1
    if shape.mode is BlockMode.TRANSFORM:
        factor = CHANNEL_BITS // shape.bits
    low, rest = b.remainder(at, factor), b.divided(at, factor)
    col, rest = b.remainder(rest, shape.width), b.divided(rest, shape.width)
    rows = shape.height // factor
    row, block = b.remainder(rest, rows), b.divided(rest, rows)
    return (
        b.add(b.times(row, factor), low),
        b.add(b.times(block, shape.width), col),
    )


def _in_a_row(base: SSAValue, start: SSAValue, length: SSAValue) -> Operation:
    """Return the memory from an element on as one row."""
    old, layout = memref_type(base), StridedLayoutAttr([1], None)
    type = MemRefType(old.element_type, [DYNAMIC_INDEX], layout, old.memory_space)
    return memref.ReinterpretCastOp.from_dynamic(base, [start], [length], [1], type)
