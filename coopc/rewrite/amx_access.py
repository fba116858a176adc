"""Loads and stores of matrices as loads and stores of tiles.

Where memory is as a tile wants it, tiles are read and written there; else through
scratch memory, element by element, once a tile: B is packed on the way in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from coopc.dialects import amx, coopmatrix
from coopc.dialects.amx import element_bytes
from coopc.dialects.coopmatrix import Axis, Layout, MatrixType, Use
from coopc.ir.builder import BoundedIndex, Builder, Built, Values
from coopc.plan.amx_tiles import TileCut, TileGrid, grid, why_staged
from coopc.rewrite.amx_elements import nest
from coopc.rewrite.amx_scratch import Scratch, origin
from coopc.rewrite.index_math import moved
from coopc.rewrite.matrix_cutting import memory_offset
from coopc.rewrite.one_to_many import Splitter

Access = coopmatrix.LoadOp | coopmatrix.StoreOp


def grid_of(type: MatrixType) -> TileGrid:
    """Return the tiles of matrices of a type."""
    is_packed = type.use.data == Use.B
    return grid(*type.shape, element_bytes(type.element_type), is_packed)


def tile_types(type: MatrixType) -> tuple[amx.TileType, ...]:
    """Return the types of the tiles of matrices of a type."""
    element = type.element_type
    return tuple(amx.TileType.of(*cut.shape, element) for cut in grid_of(type).cuts)


@dataclass(slots=True)
class TileAccess:
    """The rules for accesses to memory."""

    scratch: Scratch
    built: Built = field(default_factory=Built)

    def load(self, op: coopmatrix.LoadOp, splitter: Splitter) -> Sequence[Values]:
        """Read each tile of a matrix."""
        staged = reason_to_stage(op) is not None
        parts: list[SSAValue] = []
        cuts = grid_of(op.matrix).cuts
        places = () if staged else [self._place(op, cut) for cut in cuts]
        for part, tile in enumerate(tile_types(op.matrix)):
            if staged:
                memory, where = self._packed_tile(op, cuts[part])
            else:
                memory, where = op.memory, places[part]
            new = splitter.insert(amx.TileLoadOp(memory, where, tile))
            parts.append(new.result)
        return [tuple(parts)]

    def store(self, op: coopmatrix.StoreOp, splitter: Splitter) -> Sequence[Values]:
        """Write each tile of a matrix."""
        staged = reason_to_stage(op) is not None
        cuts = grid_of(op.matrix).cuts
        places = () if staged else [self._place(op, cut) for cut in cuts]
        for part, value in enumerate(splitter.parts(op.value)):
            if not staged:
                splitter.insert(amx.TileStoreOp(op.memory, places[part], value))
                continue
            cut = cuts[part]
            b = Builder.at(op)
            memory = self._memory(b, op, cut)
            b.effect(amx.TileStoreOp(memory, origin(b), value))
            Elements(b, op, cut, memory).store()
        return []

    def _place(self, op: Access, cut: TileCut) -> Values:
        """Return where the first element of a tile is in memory."""
        bits = op.matrix.element_bits
        offset = memory_offset(op.layout.data, cut.row, cut.col, bits)
        *leading, outer, inner = op.positions
        b = Builder.at(op, self.built)
        return (*leading, moved(b, outer, offset[0]), moved(b, inner, offset[1]))

    def _packed_tile(
        self, op: coopmatrix.LoadOp, cut: TileCut
    ) -> tuple[SSAValue, Values]:
        """Gather a tile in scratch memory; return that, and where the tile is in it."""
        b = Builder.at(op)
        memory = self._memory(b, op, cut)
        Elements(b, op, cut, memory).load()
        return memory, origin(b)

    def _memory(self, b: Builder, op: Access, cut: TileCut) -> SSAValue:
        return self.scratch.passing(b, cut.shape, op.matrix.element_type, "tile")


def reason_to_stage(op: Access) -> str | None:
    """Return why an access goes through scratch memory, or None."""
    return why_staged(
        grid_of(op.matrix).cuts,
        str(op.layout.data),
        op.matrix_strides[1],
        op.checked is not None,
    )


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of one tile, in scratch memory and where the access is."""

    b: Builder
    op: Access
    cut: TileCut
    memory: SSAValue
    """The scratch memory, of the shape of the tile."""

    def load(self) -> None:
        """Copy the elements to scratch memory; what is not there is 0."""
        b, cut = self.b, self.cut
        zero = b.constant(self.op.matrix.element_type, 0)
        if cut.is_padded:

            def clear(row: BoundedIndex, col: BoundedIndex) -> None:
                place = b.index(row), b.index(col)
                b.effect(memref.StoreOp.get(zero, self.memory, place))

            nest(b, *cut.shape, clear)

        def copy(row: BoundedIndex, col: BoundedIndex) -> None:
            positions = self._positions(row, col)

            def read() -> Values:
                return (
                    b.effect(memref.LoadOp.get(self.op.memory, positions)).results[0],
                )

            (value,) = b.branch(b.both(*self._checks(positions)), read, (zero,))
            b.effect(memref.StoreOp.get(value, self.memory, self._place(row, col)))

        nest(b, cut.rows, cut.cols, copy)

    def store(self) -> None:
        """Copy the elements from scratch memory, those that are to be written."""
        b = self.b

        def copy(row: BoundedIndex, col: BoundedIndex) -> None:
            positions = self._positions(row, col)

            def write() -> Values:
                place = self._place(row, col)
                value = b.effect(memref.LoadOp.get(self.memory, place)).results[0]
                b.effect(memref.StoreOp.get(value, self.op.memory, positions))
                return ()

            b.branch(b.both(*self._checks(positions)), write)

        nest(b, self.cut.rows, self.cut.cols, copy)

    def _place(self, row: BoundedIndex, col: BoundedIndex) -> Values:
        """Return where an element is in scratch memory."""
        return self._interleaved(row, col, self.cut.packed)

    def _interleaved(self, row: BoundedIndex, col: BoundedIndex, packed: int) -> Values:
        """Return where an element is, where some rows share one."""
        b = self.b
        within = b.remainder(row, packed)
        inner = b.add(b.times(col, packed), within)
        return b.index(b.divided(row, packed)), b.index(inner)

    def _positions(self, row: BoundedIndex, col: BoundedIndex) -> Values:
        """Return where an element is in the coordinates of the memref."""
        b = self.b
        row, col = (
            b.add(row, BoundedIndex(self.cut.row)),
            b.add(col, BoundedIndex(self.cut.col)),
        )
        match self.op.layout.data:
            case Layout.ROW_MAJOR:
                steps = b.index(row), b.index(col)
            case Layout.COL_MAJOR:
                steps = b.index(col), b.index(row)
            case Layout.PACKED:
                packed = coopmatrix.CHANNEL_BITS // self.op.matrix.element_bits
                steps = self._interleaved(row, col, packed)
        *leading, outer, inner = self.op.positions
        return *leading, self._sum(outer, steps[0]), self._sum(inner, steps[1])

    def _sum(self, position: SSAValue, step: SSAValue) -> SSAValue:
        return self.b.pure(arith.AddiOp, position, step)

    def _checks(self, positions: Values) -> list[SSAValue]:
        """Return what has to hold of the positions along the axes that are checked."""
        checked = () if self.op.checked is None else self.op.checked.data
        axes = [Axis.ROWS, Axis.COLS]
        if self.op.layout.data == Layout.COL_MAJOR:
            axes.reverse()
        rank = len(positions)
        return [
            # A negative position is a great number without sign.
            self.b.compare("ult", positions[dimension], self._size(dimension))
            for axis, dimension in zip(axes, (rank - 2, rank - 1), strict=True)
            if axis in checked
        ]

    def _size(self, dimension: int) -> SSAValue:
        """Return a size of the memref."""
        b = self.b
        size = self.op.memory_type.get_shape()[dimension]
        if size != DYNAMIC_INDEX:
            return b.index(BoundedIndex(size))
        number = b.index(BoundedIndex(dimension))
        return b.pure(memref.DimOp, self.op.memory, number)
