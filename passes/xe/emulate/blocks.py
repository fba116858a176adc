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

from collections.abc import Callable, Sequence
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
from coopc.dialects.narrow import is_memref
from coopc.ir.builder import INDEX, BoundedIndex, Builder
from coopc.passes.xe.emulate.values import (
    bits_to,
    cast_to_index,
    element_bits,
    element_of,
    replaced,
    resized,
    shifted_down,
)
from coopc.plan.block_message import CHANNEL_BITS, BlockMode, BlockShape

Condition = SSAValue | bool


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
        """Slots of the piece."""
        return self.type.get_shape()[0]

    @property
    def slot_bits(self) -> int:
        """Width of a slot."""
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
        x, y, width, height, pitch = (cast_to_index(b, n) for n in (x, y, *numbers[2:]))
        bits = piece.base_bits
        unit = b.constant(INDEX, bits // 8)
        width, pitch = (b.pure(arith.DivUIOp, n, unit) for n in (width, pitch))
        length = b.pure(arith.MuliOp, height, pitch)
        metadata = b.effect(memref.ExtractStridedMetaDataOp(base))
        start = metadata.results[1]
        memory = b.pure(_in_a_row, base, start, length)
        return cls(b, memory, x, y, width, height, pitch, bits)

    def unit(
        self, row: BoundedIndex, col: BoundedIndex, per: int, part: int
    ) -> tuple[SSAValue, SSAValue]:
        """Return a unit's place in memory, and whether it is in the surface.

        Args:
            row: of the element in the block.
            col: of the element in the block.
            per: units of an element.
            part: which of them.
        """
        b = self.b
        at_row = self._moved(self.y, row)
        at_col = self._moved(self.x, col)
        if per > 1:
            at_col = b.pure(arith.MuliOp, at_col, b.constant(INDEX, per))
        if part:
            at_col = b.pure(arith.AddiOp, at_col, b.constant(INDEX, part))
        return self._place(at_row, at_col), self._inside(at_row, at_col)

    def part(
        self, row: BoundedIndex, col: BoundedIndex, bits: int
    ) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Return place and presence of the unit that holds an element, and its bit."""
        b = self.b
        at_row = self._moved(self.y, row)
        at_col = self._moved(self.x, col)
        ratio = b.constant(INDEX, self.bits // bits)
        inside = self._inside(at_row, at_col, self.bits // bits)
        rest = b.pure(arith.RemUIOp, at_col, ratio)
        at_col = b.pure(arith.DivUIOp, at_col, ratio)
        bit = b.pure(arith.MuliOp, rest, b.constant(INDEX, bits))
        return self._place(at_row, at_col), inside, bit

    def _moved(self, position: SSAValue, by: BoundedIndex) -> SSAValue:
        """Return a position further on."""
        return self.b.pure(arith.AddiOp, position, self.b.index(by))

    def _place(self, row: SSAValue, col: SSAValue) -> SSAValue:
        return self.b.pure(
            arith.AddiOp, self.b.pure(arith.MuliOp, row, self.pitch), col
        )

    def _inside(self, row: SSAValue, col: SSAValue, per: int = 1) -> SSAValue:
        """Return whether a place is in the surface: a negative one is a great one."""
        b, width = self.b, self.width
        if per > 1:
            width = b.pure(arith.MuliOp, width, b.constant(INDEX, per))
        found = b.both(b.compare("ult", row, self.height), b.compare("ult", col, width))
        assert isinstance(found, SSAValue)
        return found


def load_piece(
    b: Builder, piece: BlockPiece, first: BoundedIndex, values: Sequence[SSAValue]
) -> SSAValue:
    """Return the slots from `first` on, 0 where there is no surface."""
    surface = UnitSurface.of(b, piece, values)

    def slot(t: BoundedIndex, now: Sequence[SSAValue]) -> Sequence[SSAValue]:
        found: SSAValue | None = None
        slot_type = IntegerType(piece.slot_bits)
        for number, (row, col) in enumerate(elements(b, piece, b.add(first, t))):
            one = resized(b, _load(surface, row, col, piece.shape.bits), slot_type)
            found = _packed(b, found, one, number * piece.shape.bits)
        assert found is not None
        return (replaced(b, now[0], t, found),)

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
    bits = min(piece.shape.bits, surface.bits)

    def slot(t: BoundedIndex, now: Sequence[SSAValue]) -> Sequence[SSAValue]:
        whole = element_of(b, given, t)
        for number, (row, col) in enumerate(elements(b, piece, b.add(first, t))):
            per = piece.shape.bits // bits
            for part in range(per):
                shift = number * piece.shape.bits + part * bits
                one = resized(b, shifted_down(b, whole, shift), IntegerType(bits))
                place, inside = surface.unit(row, col, per, part)
                b.branch(inside, _storing(surface, piece, one, place))
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


def _load(
    surface: UnitSurface, row: BoundedIndex, col: BoundedIndex, bits: int
) -> SSAValue:
    """Return an element of a block as an integer."""
    b = surface.b
    if surface.bits > bits:
        place, inside, bit = surface.part(row, col, bits)
        unit = _unit(surface, place, inside)
        shift = b.pure(arith.IndexCastOp, bit, unit.type)
        return resized(b, b.pure(arith.ShRUIOp, unit, shift), IntegerType(bits))
    found: SSAValue | None = None
    per = bits // surface.bits
    for part in range(per):
        unit = _unit(surface, *surface.unit(row, col, per, part))
        wide = resized(b, unit, IntegerType(bits))
        found = _packed(b, found, wide, part * surface.bits)
    assert found is not None
    return found


def _unit(surface: UnitSurface, place: SSAValue, inside: SSAValue) -> SSAValue:
    """Return a unit of memory as an integer, 0 where there is none."""
    b, type = surface.b, IntegerType(surface.bits)

    def read() -> Sequence[SSAValue]:
        op = b.effect(memref.LoadOp.get(surface.memory, [place]))
        return (bits_to(b, op.results[0], type),)

    return b.branch(inside, read, (b.constant(type, 0),))[0]


def _storing(
    surface: UnitSurface, piece: BlockPiece, value: SSAValue, place: SSAValue
) -> Callable[[], Sequence[SSAValue]]:
    """Return what writes a unit."""

    def write() -> Sequence[SSAValue]:
        b = surface.b
        unit = bits_to(b, value, piece.base.element_type)
        b.effect(memref.StoreOp.get(unit, surface.memory, [place]))
        return ()

    return write


def _packed(b: Builder, low: SSAValue | None, high: SSAValue, shift: int) -> SSAValue:
    """Return bits, and others above them."""
    if low is None:
        return high
    moved = b.pure(arith.ShLIOp, high, b.constant(high.type, shift))
    return b.pure(arith.OrIOp, low, moved)


def _in_a_row(base: SSAValue, start: SSAValue, length: SSAValue) -> Operation:
    """Return the memory from an element on as one row."""
    assert is_memref(base.type)
    layout = StridedLayoutAttr([1], None)
    space = base.type.memory_space
    type = MemRefType(base.type.element_type, [DYNAMIC_INDEX], layout, space)
    return memref.ReinterpretCastOp.from_dynamic(base, [start], [length], [1], type)
