"""Accesses of matrices lane by lane: each element through an address of its own.

Where an axis is checked and an element is outside of it, the element is 0, or not
stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.arith import AddiOp
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.memref import DimOp, LoadOp, StoreOp
from xdsl.dialects.vector import ExtractOp, InsertOp
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import CHANNEL_BITS, Axis, Layout
from coopc.passes.xe.matrix_pieces import Pieces, Tile
from coopc.passes.xe.positions import fields
from coopc.passes.xe.registers import packed, unpacked
from coopc.rewrite.lane_builder import INDEX, LaneBuilder, Values
from coopc.rewrite.lane_numbers import Num
from coopc.rewrite.one_to_many import Splitter


@dataclass(frozen=True, slots=True)
class Element:
    """A place in a matrix."""

    row: Num
    col: Num


def positions_of(b: LaneBuilder, op: coopmatrix.AccessOp, at: Element) -> Values:
    """Return where an element is, in the coordinates of the memref."""
    *leading, first, second = op.positions
    match op.layout.data:
        case Layout.ROW_MAJOR:
            outer, inner = at.row, at.col
        case Layout.COL_MAJOR:
            outer, inner = at.col, at.row
        case Layout.PACKED:
            count = CHANNEL_BITS // op.matrix.element_bits
            outer = b.divided(at.row, count)
            inner = b.add(b.times(at.col, count), b.remainder(at.row, count))
    return (*leading, _moved(b, first, outer), _moved(b, second, inner))


def _moved(b: LaneBuilder, position: SSAValue, by: Num) -> SSAValue:
    if by.constant:
        position = b.pure(AddiOp, position, b.constant(INDEX, by.constant))
    return position if by.part is None else b.pure(AddiOp, position, by.part)


def checks(
    b: LaneBuilder, op: coopmatrix.AccessOp, positions: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return what has to hold of the positions along the axes that are checked."""
    checked = () if op.checked is None else op.checked.data
    axes = [Axis.ROWS, Axis.COLS]
    if op.layout.data == Layout.COL_MAJOR:
        axes.reverse()
    rank = op.memory_type.get_num_dims()
    return [
        # A negative position is a great number without sign.
        b.compare("ult", positions[dimension], _size(b, op, dimension))
        for axis, dimension in zip(axes, (rank - 2, rank - 1), strict=True)
        if axis in checked
    ]


def _size(b: LaneBuilder, op: coopmatrix.AccessOp, dimension: int) -> SSAValue:
    """Return a size of the memref."""
    size = op.memory_type.get_shape()[dimension]
    if size != DYNAMIC_INDEX:
        return b.constant(INDEX, size)
    return b.pure(DimOp, op.memory, b.constant(INDEX, dimension))


@dataclass(slots=True)
class MatrixLanes:
    """Accesses to matrices of one type."""

    pieces: Pieces

    @property
    def element(self) -> Attribute:
        """The type of an element."""
        return self.pieces.spread.element

    def load(
        self, op: coopmatrix.LoadOp, s: Splitter, b: LaneBuilder
    ) -> list[SSAValue]:
        """Load a matrix; return its tiles."""
        spread, zero = self.pieces.spread, b.constant(self.element, 0)
        found: list[SSAValue] = []
        for tile in self.pieces.tiles:
            vectors: list[SSAValue] = []
            for start in range(0, spread.run, spread.length):
                vector = b.constant(spread.vector, 0)
                for at in range(spread.length):
                    place = self._place(b, tile, spread.registers[start + at])
                    value = self._read(op, b, place, zero)
                    vector = b.effect(InsertOp(value, vector, [at])).results[0]
                vectors.append(vector)
            found += packed(s, spread, vectors)
        return found

    def _read(
        self, op: coopmatrix.LoadOp, b: LaneBuilder, place: Element, zero: SSAValue
    ) -> SSAValue:
        """Read an element; 0 where it is outside of what is checked."""
        positions = positions_of(b, op, place)
        wanted = b.both(*checks(b, op, positions))
        read = partial(LoadOp.get, op.memory, positions)
        return b.effect_where(wanted, read, (zero,))[0]

    def store(self, op: coopmatrix.StoreOp, s: Splitter, b: LaneBuilder) -> None:
        """Store the tiles of a matrix."""
        spread = self.pieces.spread
        for tile, piece in zip(self.pieces.tiles, s.parts(op.value), strict=True):
            vectors = unpacked(s, spread, [piece])
            for number, register in enumerate(spread.registers):
                vector, at = divmod(number, spread.length)
                positions = positions_of(b, op, self._place(b, tile, register))
                wanted = b.both(*checks(b, op, positions))
                value = b.effect(ExtractOp(vectors[vector], [at], spread.element))
                place = value.results[0], op.memory, positions
                b.effect_where(wanted, partial(StoreOp.get, *place))

    def _place(self, b: LaneBuilder, tile: Tile, register: int) -> Element:
        """Return which element of the matrix a lane has in a register of a tile."""
        spread, lanes = self.pieces.spread, self.pieces.encoding.threads_per_warp
        numbers: list[Num] = []
        for dimension, start in enumerate(tile):
            number = Num(start + spread.coordinates[register][dimension])
            bases = [x[dimension] for x in spread.layout.bases("lane")]
            for each in fields(bases):
                part = b.divided(b.lane(lanes), 1 << each.start)
                part = b.remainder(part, 1 << each.width)
                number = b.add(number, b.times(part, 1 << each.to))
            numbers.append(number)
        return Element(*numbers)
