"""Emulate 2D block messages: each lane reads and writes what it holds, one by one.

Register k of lane l holds the elements s (k S + l) ... of the sequence G of
`coopc.plan.block_message`, s elements a slot and S lanes.  Where they are in the block
is read from their number, by shifts and masks, as all sizes are powers of two:

    plain       b H W + r W + c                        row r, column b W + c
    transform   (b (H / f) + r) W f + c f + q          row r f + q, column b W + c
    transpose   c H + r                                row r, column c

A surface is counted in units: elements of the block, or of the memref it begins at
where these are narrower.  An element of the block is then several units, low bits
first.  Memory of wider elements is seen as units by its address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerType,
    MemRefType,
    StridedLayoutAttr,
    VectorType,
)
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import memref_type
from coopc.dialects.simt import bits_of
from coopc.ir.builder import INDEX, BoundedIndex, Builder
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.generic.number import Num
from coopc.passes.triton.memory import cast_memory
from coopc.passes.xe.convert_to_xe.vectors import cast
from coopc.plan.block_message import CHANNEL_BITS, BlockMode, BlockShape


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
        return bits_of(self.type.get_element_type())

    @property
    def unit(self) -> IntegerType:
        """What memory is read and written in."""
        return IntegerType(min(self.shape.bits, bits_of(self.base.element_type)))

    @property
    def name(self) -> str:
        """Of its function, but for a number that makes it the only one."""
        x = self.shape
        size = f"{x.bits}_{x.height}x{x.width}x{x.count}"
        return f"{size}_{x.mode.value}_{self.slots}xi{self.slot_bits}_of_{self.pieces}"


@dataclass(frozen=True, slots=True)
class UnitSurface:
    """A surface in units."""

    b: Builder
    piece: BlockPiece
    memory: SSAValue
    """All of the memory, in a row."""
    x: SSAValue
    """Of the block, in units."""
    y: SSAValue
    width: SSAValue
    """Units of a row."""
    height: SSAValue
    pitch: SSAValue
    """Units from row to row."""

    @classmethod
    def of(
        cls, b: Builder, piece: BlockPiece, values: Sequence[SSAValue]
    ) -> UnitSurface:
        """Return the surface that the operands of a message say."""
        base, *numbers = values
        # Intel's CPU runtime 2026.2 takes the first value of a loop's counter for all
        # of them where the counter itself is extended, so not it but its broadcast is.
        first = b.constant(INDEX, 0)
        x, y = (b.pure(simt.BroadcastOp, n, first) for n in numbers[:2])
        x, y, width, height, pitch = (
            b.pure(arith.IndexCastOp, n, INDEX) for n in (x, y, *numbers[2:])
        )
        bits = piece.unit.bitwidth
        unit = b.constant(INDEX, bits // 8)
        width, pitch = (b.pure(arith.DivUIOp, n, unit) for n in (width, pitch))
        if (per := piece.shape.bits // bits) > 1:
            x = b.pure(arith.MuliOp, x, b.constant(INDEX, per))
        length = b.pure(arith.MuliOp, height, pitch)
        if bits_of(piece.base.element_type) > bits:
            start = b.effect(memref.ExtractStridedMetaDataOp(base)).results[1]
            address = b.pure(simt.AddressOfOp, b.pure(cast_memory, base, start, None))
            base = b.pure(simt.MemoryAtOp, address, MemRefType(piece.unit, []))
        start = b.effect(memref.ExtractStridedMetaDataOp(base)).results[1]
        memory = b.pure(_in_a_row, base, start, length)
        return cls(b, piece, memory, x, y, width, height, pitch)

    def units(self, slot: BoundedIndex) -> list[tuple[SSAValue, SSAValue]]:
        """Return where in memory each unit of a slot is, and whether it is inside.

        A negative row or column is a great number without sign.
        """
        b, bits = self.b, self.piece.shape.bits
        per = bits // self.piece.unit.bitwidth
        found: list[tuple[SSAValue, SSAValue]] = []
        for row, col in elements(b, self.piece, slot):
            at_row = b.pure(arith.AddiOp, self.y, b.index(row))
            for part in range(per):
                unit = b.add(b.times(col, per), BoundedIndex(part))
                at_col = b.pure(arith.AddiOp, self.x, b.index(unit))
                below = b.compare("ult", at_row, self.height)
                inside = b.both(below, b.compare("ult", at_col, self.width))
                assert isinstance(inside, SSAValue)
                start = b.pure(arith.MuliOp, at_row, self.pitch)
                found.append((b.pure(arith.AddiOp, start, at_col), inside))
        return found

    def load(self, place: SSAValue, inside: SSAValue) -> SSAValue:
        """Return a unit of memory as an integer, 0 where there is none."""
        b, type = self.b, self.piece.unit

        def read() -> Sequence[SSAValue]:
            op = b.effect(memref.LoadOp.get(self.memory, [place]))
            return (cast(b, op.results[0], type),)

        return b.branch(inside, read, (b.constant(type, 0),))[0]

    def store(self, place: SSAValue, inside: SSAValue, value: SSAValue) -> None:
        """Write a unit of memory, where there is one."""

        def write() -> Sequence[SSAValue]:
            unit = cast(self.b, value, memref_type(self.memory).element_type)
            self.b.effect(memref.StoreOp.get(unit, self.memory, [place]))
            return ()

        self.b.branch(inside, write)


def load_piece(
    b: Builder, piece: BlockPiece, first: BoundedIndex, values: Sequence[SSAValue]
) -> SSAValue:
    """Return the slots from `first` on, 0 where there is no surface."""
    surface = UnitSurface.of(b, piece, values)
    type = IntegerType(piece.slot_bits)

    def slot(t: BoundedIndex, now: Sequence[SSAValue]) -> Sequence[SSAValue]:
        units = (surface.load(*unit) for unit in surface.units(b.add(first, t)))
        parts = [converted(b, unit, type, signed=False) for unit in units]
        return (b.insert(now[0], t, joined(b, parts, piece.unit.bitwidth)),)

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
        whole = b.extract(given, t)
        for number, unit in enumerate(surface.units(b.add(first, t))):
            part = Num(b, whole)
            if number:
                part = part >> number * piece.unit.bitwidth
            surface.store(*unit, part.to(piece.unit, signed=False).value)
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
