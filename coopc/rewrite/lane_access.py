"""Where the elements of a matrix are in memory, in code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import CHANNEL_BITS, Axis, Layout
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.rewrite.lane_places import Element, digits, element, inside
from coopc.rewrite.lane_values import Held


@dataclass(frozen=True, slots=True)
class Access:
    """Where the elements of one matrix are in memory."""

    b: Builder
    op: coopmatrix.AccessOp
    held: Held

    def guarded(self, at: BoundedIndex) -> tuple[SSAValue | bool, Values]:
        """Return whether a component is to be accessed, and its positions."""
        b, x = self.b, self.held.layout
        place = element(b, x, digits(b, x, at))
        positions = self.positions(place)
        return b.both(inside(b, x, place), *self.checks(positions)), positions

    def positions(self, place: Element) -> Values:
        """Return where an element is, in the coordinates of the memref."""
        *leading, first, second = self.op.positions
        rows, cols = self._steps(place)
        return (*leading, self._moved(first, rows), self._moved(second, cols))

    def _steps(self, place: Element) -> tuple[BoundedIndex, BoundedIndex]:
        b = self.b
        match self.op.layout.data:
            case Layout.ROW_MAJOR:
                return place.row, place.col
            case Layout.COL_MAJOR:
                return place.col, place.row
            case Layout.PACKED:
                packed = CHANNEL_BITS // self.op.matrix.element_bits
                channel = b.remainder(place.row, packed)
                return b.divided(place.row, packed), b.add(
                    b.times(place.col, packed), channel
                )

    def _moved(self, position: SSAValue, by: BoundedIndex) -> SSAValue:
        b = self.b
        if by.constant:
            step = b.constant(INDEX, by.constant)
            position = b.pure(arith.AddiOp, position, step)
        return position if by.part is None else b.pure(arith.AddiOp, position, by.part)

    def checks(self, positions: Sequence[SSAValue]) -> list[SSAValue]:
        """Return what has to hold of the positions along the axes that are checked."""
        checked = () if self.op.checked is None else self.op.checked.data
        axes = [Axis.ROWS, Axis.COLS]
        if self.op.layout.data == Layout.COL_MAJOR:
            axes.reverse()
        rank = self.op.memory_type.get_num_dims()
        return [
            # A negative position is a great number without sign.
            self.b.compare("ult", positions[dimension], self.size(dimension))
            for axis, dimension in zip(axes, (rank - 2, rank - 1), strict=True)
            if axis in checked
        ]

    def size(self, dimension: int) -> SSAValue:
        """Return a size of the memref."""
        size = self.op.memory_type.get_shape()[dimension]
        if size != DYNAMIC_INDEX:
            return self.b.constant(INDEX, size)
        number = self.b.constant(INDEX, dimension)
        return self.b.pure(memref.DimOp, self.op.memory, number)
