r"""Strided layouts as distributions: mixed-radix digits over lanes and components.

A strided layout with inputs `lane` and `component` and two outputs, rows and columns,
is a distribution where every element has a place.  For example the 4 x 15 elements of
the docstring of `strided`: lanes 4 of (1, 0), 4 of (0, 1), components 4 of (0, 4):

                   lane 0   lane 1  ..  lane 4  ..  lane 15
    component 0    (0,0)    (1,0)       (0,1)       (3,3)
    component 3    (0,12)   (1,12)      (0,13)      padding

There is no formula for the inverse: owners are looked up in the table.  The canonical
owner is the one of the least component, then of the least lane.  The laws of
`distribution` hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coopc.layout.distribution import Distribution
from coopc.layout.strided import StridedLayout

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray

INPUTS = ("lane", "component")
PADDING = -1


@dataclass(frozen=True, slots=True)
class StridedDistribution(Distribution):
    """A strided layout that reaches every element, seen as a distribution.

    >>> columns = StridedLayout.of(
    ...     {"lane": [(2, (0, 1))], "component": [(3, (1, 0))]}, {"row": 3, "col": 2}
    ... )
    >>> StridedDistribution.of(columns).element(1, 2)
    (2, 1)
    """

    layout: StridedLayout
    """Inputs `lane` and `component`, in this order, to two outputs."""

    def __post_init__(self) -> None:
        Distribution.__post_init__(self)
        inputs = [name for name, _ in self.layout.ins]
        if sorted(inputs) != sorted(INPUTS):
            raise ValueError(f"expected inputs {list(INPUTS)}, got {inputs}")
        sizes = tuple(self.layout.out_sizes.values())
        if sizes != self.shape:
            raise ValueError(
                f"expected a matrix of {' x '.join(map(str, sizes))}, as its layout "
                f"is, got {self.rows} x {self.cols}"
            )
        import numpy as np

        held = np.unique(self._numbers())
        reached = held.size - (held[0] == PADDING)
        if reached != self.rows * self.cols:
            raise ValueError(
                f"expected a layout that reaches all {self.rows * self.cols} "
                f"elements, got {reached}"
            )

    @classmethod
    def of(
        cls, layout: StridedLayout, shape: tuple[int, int] | None = None
    ) -> StridedDistribution:
        """Return the distribution of a matrix by a layout.

        Args:
            layout: with inputs `lane` and `component` and two outputs.
            shape: (rows, columns) of the matrix; None is the layout's size.

        Raises:
            ValueError: the inputs or the sizes differ, or an element has no place.
        """
        if len(layout.outs) != 2:
            raise ValueError(
                f"expected a layout with two coordinates, got {list(layout.out_sizes)}"
            )
        rows, cols = shape or layout.out_sizes.values()
        return cls(rows, cols, layout.in_sizes.get("lane", 1), layout)

    @property
    def components(self) -> int:
        """V, the components of a lane."""
        return self.layout.in_sizes["component"]

    def _numbers(self) -> IntArray:
        """Return the number of each place's element, component by component."""
        import numpy as np

        rows, cols = self.table()
        return np.where(rows < self.rows, rows * self.cols + cols, PADDING).ravel()

    def _place(self, lane: IntArray, component: IntArray) -> tuple[IntArray, IntArray]:
        """See `Distribution`."""
        places = {"lane": lane, "component": component}
        row, col = self.layout.apply(places).values()
        return row, col

    def _owner(self, row: IntArray, col: IntArray) -> tuple[IntArray, IntArray]:
        """See `Distribution`."""
        import numpy as np

        elements, first = np.unique(self._numbers(), return_index=True)
        place = first[np.searchsorted(elements, row * self.cols + col)]
        return place % self.lanes, place // self.lanes
