"""Accesses of matrices lane by lane: each element through an address of its own.

Where an axis is checked and an element is outside of it, the element is 0, or not
stored or updated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.arith import AddiOp
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.memref import DimOp
from xdsl.dialects.vector import ExtractOp, InsertOp
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import CHANNEL_BITS, Axis, Layout
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.passes.xe.convert_to_xe.layout_to_arith import fields
from coopc.passes.xe.convert_to_xe.matrix_pieces import Pieces, Tile
from coopc.passes.xe.convert_to_xe.registers import packed, unpacked
from coopc.rewrite import element_access
from coopc.rewrite.one_to_many import Splitter


@dataclass(frozen=True, slots=True)
class Element:
    """A place in a matrix."""

    row: BoundedIndex
    col: BoundedIndex


def positions_of(b: Builder, op: coopmatrix.AccessOp, at: Element) -> Values:
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


def _moved(b: Builder, position: SSAValue, by: BoundedIndex) -> SSAValue:
    if by.constant:
        position = b.pure(AddiOp, position, b.constant(INDEX, by.constant))
    return position if by.part is None else b.pure(AddiOp, position, by.part)


def checks(
    b: Builder, op: coopmatrix.AccessOp, positions: Sequence[SSAValue]
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


def _size(b: Builder, op: coopmatrix.AccessOp, dimension: int) -> SSAValue:
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
        self,
        op: coopmatrix.LoadOp | coopmatrix.AtomicLoadOp,
        s: Splitter,
        b: Builder,
    ) -> list[SSAValue]:
        """Load a matrix; return its tiles."""

        def read(tile: Tile, number: int) -> SSAValue:
            wanted, positions = self._guarded(op, b, tile, number)
            read = partial(element_access.load, op, positions)
            return b.effect_where(wanted, read, (b.constant(self.element, 0),))[0]

        return [x for tile in self.pieces.tiles for x in self._tile(s, b, tile, read)]

    def store(
        self,
        op: coopmatrix.StoreOp | coopmatrix.AtomicStoreOp,
        s: Splitter,
        b: Builder,
    ) -> None:
        """Store the tiles of a matrix."""
        for tile, piece in zip(self.pieces.tiles, s.parts(op.value), strict=True):
            elements = self._elements(s, b, piece)
            for number, value in enumerate(elements):
                wanted, positions = self._guarded(op, b, tile, number)
                write = partial(element_access.store, op, value, positions)
                b.effect_where(wanted, write)

    def update(
        self, op: coopmatrix.AtomicUpdateOp, s: Splitter, b: Builder
    ) -> list[SSAValue]:
        """Update memory by a matrix; return the tiles of what was there.

        Each element is updated once: `test_one_lane_has_an_element`.
        """
        found: list[SSAValue] = []
        for tile, piece in zip(self.pieces.tiles, s.parts(op.value), strict=True):
            values = self._elements(s, b, piece)

            def change(tile: Tile, number: int, values: Values = values) -> SSAValue:
                wanted, positions = self._guarded(op, b, tile, number)
                change = partial(element_access.update, op, values[number], positions)
                zero = b.constant(self.element, 0)
                return b.effect_where(wanted, change, (zero,))[0]

            found += self._tile(s, b, tile, change)
        return found

    def _tile(
        self,
        s: Splitter,
        b: Builder,
        tile: Tile,
        element: Callable[[Tile, int], SSAValue],
    ) -> list[SSAValue]:
        """Return a tile of elements, by their numbers among those of a lane."""
        spread = self.pieces.spread
        vectors: list[SSAValue] = []
        for start in range(0, spread.run, spread.length):
            vector = b.constant(spread.vector, 0)
            for at in range(spread.length):
                value = element(tile, start + at)
                vector = b.effect(InsertOp(value, vector, [at])).results[0]
            vectors.append(vector)
        return packed(s, spread, vectors)

    def _elements(self, s: Splitter, b: Builder, piece: SSAValue) -> Values:
        """Return the elements of a tile that a lane has."""
        spread = self.pieces.spread
        vectors = unpacked(s, spread, [piece])
        return tuple(
            b.effect(ExtractOp(vectors[vector], [at], spread.element)).results[0]
            for vector, at in (
                divmod(number, spread.length) for number in range(spread.run)
            )
        )

    def _guarded(
        self, op: coopmatrix.AccessOp, b: Builder, tile: Tile, number: int
    ) -> tuple[SSAValue | bool, Values]:
        """Return whether an element of a tile is accessed, and where it is."""
        place = self._place(b, tile, self.pieces.spread.registers[number])
        positions = positions_of(b, op, place)
        return b.both(*checks(b, op, positions)), positions

    def _place(self, b: Builder, tile: Tile, register: int) -> Element:
        """Return which element of the matrix a lane has in a register of a tile."""
        spread, lanes = self.pieces.spread, self.pieces.encoding.threads_per_warp
        numbers: list[BoundedIndex] = []
        for dimension, start in enumerate(tile):
            number = BoundedIndex(start + spread.coordinates[register][dimension])
            bases = [x[dimension] for x in spread.layout.bases("lane")]
            for each in fields(bases):
                part = b.divided(b.lane(lanes), 1 << each.start)
                part = b.remainder(part, 1 << each.width)
                number = b.add(number, b.times(part, 1 << each.to))
            numbers.append(number)
        return Element(*numbers)
