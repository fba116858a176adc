r"""Distributions: which lane holds which element of a matrix, whatever the formula.

An M x N matrix is spread over S lanes; each lane holds V components, all lanes equally
many.  A distribution is the map from a place to the element that is kept there, and one
of its inverses:

    coordinate(lane, component) = (row, col), or (M, N) for padding
    owners(row, col)            = (lane, component)

A place whose element lies beyond the matrix is padding.  Its coordinate is (M, N),
which is out of range in both dimensions.  For example 2 x 3 elements in row-major
order over S = 4 lanes, V = 2:

                     lane 0    lane 1    lane 2    lane 3
    component 0      (0,0)     (0,1)     (0,2)     (1,0)
    component 1      (1,1)     (1,2)     padding   padding

An element may have several owners (a broadcast); `owners` returns the canonical one, of
the least lane, and of the least component there.

A layout with two outputs, rows and columns, is a distribution, too, a
`LayoutDistribution`.  Its components are the values of its input `register` or
`component`; its lanes those of all other inputs, flattened in their order, so that

    lane = lane + |lane| (warp + |warp| block)

which is the local linear id of a work-group, or the lane where there is one subgroup.
The matrix may be smaller than the layout: places beyond it are padding.  For example
5 x 8 elements of an 8 x 8 tile with register -> (1,0) (2,0) and lane -> (0,1) (0,2)
(0,4) (4,0), where the second half of the lanes holds row 4 and padding:

                  lane 0 .. 7        lane 8 .. 15
    register 0    (0,0) .. (0,7)     (4,0) .. (4,7)
    register 1    (1,0) .. (1,7)     padding
    register 2    (2,0) .. (2,7)     padding
    register 3    (3,0) .. (3,7)     padding

Laws (test/unit/layout/test_distribution.py checks each by its name, for every kind of
distribution in this folder):

    cover       every element has an owner
    inverse     coordinate(owners(e)) == e, and no place before it holds e
    padding     coordinate(p) is an element of the matrix, or (M, N)

and of row slices:

    row_major   the elements in the order of (component, lane) are the row-major order
    tail        only the last row slice has padding, V S - M N places at its end
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:  # numpy costs start-up time; the functions import it when called
    import numpy as np
    import numpy.typing as npt

    IntArray: TypeAlias = npt.NDArray[np.int64]
    BoolArray: TypeAlias = npt.NDArray[np.bool_]
    Ints: TypeAlias = int | IntArray


@dataclass(frozen=True, slots=True)
class Distribution(ABC):
    """How `rows` x `cols` elements are spread over `lanes`; a frozen, hashable value.

    A subclass gives `components` and `_place`; this class checks ranges, turns what
    lies beyond the matrix into padding, and looks up owners.
    """

    rows: int
    """M, in elements, at least 1."""
    cols: int
    """N, in elements, at least 1."""
    lanes: int
    """S, the lanes that share the matrix (a subgroup's, or a work-group's), >= 1."""

    def __post_init__(self) -> None:
        if min(self.rows, self.cols, self.lanes) < 1:
            raise ValueError(
                f"expected rows, columns and lanes to be at least 1, got "
                f"{self.rows} x {self.cols} over {self.lanes} lanes"
            )

    @property
    @abstractmethod
    def components(self) -> int:
        """V, the elements that each lane holds, padding included."""

    @property
    def shape(self) -> tuple[int, int]:
        """(M, N)."""
        return self.rows, self.cols

    def coordinate(self, lane: Ints, component: Ints) -> tuple[IntArray, IntArray]:
        """Return the (row, col) kept in each place, (M, N) where that is padding.

        Args:
            lane: lanes in [0, S), a number or an array.
            component: components in [0, V); broadcast against `lane`.

        Raises:
            ValueError: a lane or a component is out of range.
        """
        import numpy as np

        lane, component = np.broadcast_arrays(
            _checked(lane, self.lanes, "lane"),
            _checked(component, self.components, "component"),
        )
        return self._clipped(*self._place(lane, component))

    def owners(self, row: Ints, col: Ints) -> tuple[IntArray, IntArray]:
        """Return the canonical (lane, component) of each element.

        Args:
            row: rows in [0, M), a number or an array.
            col: columns in [0, N); broadcast against `row`.

        Raises:
            ValueError: a row or a column is out of range.
        """
        import numpy as np

        row, col = np.broadcast_arrays(
            _checked(row, self.rows, "row"), _checked(col, self.cols, "column")
        )
        return divmod(_first_places(self)[row * self.cols + col], self.components)

    def element(self, lane: int, component: int) -> tuple[int, int]:
        """Return `coordinate` of one place as numbers."""
        row, col = self.coordinate(lane, component)
        return int(row), int(col)

    def owner(self, row: int, col: int) -> tuple[int, int]:
        """Return `owners` of one element as numbers."""
        lane, component = self.owners(row, col)
        return int(lane), int(component)

    def table(self) -> tuple[IntArray, IntArray]:
        """Return the coordinates of all places: rows and columns, each V x S."""
        return self._clipped(*self.unclipped_table())

    def unclipped_table(self) -> tuple[IntArray, IntArray]:
        """Return `table`, with padding at the coordinates where the formula puts it."""
        import numpy as np

        lane, component = np.broadcast_arrays(
            np.arange(self.lanes, dtype=np.int64),
            np.arange(self.components, dtype=np.int64)[:, None],
        )
        return self._place(lane, component)

    def _clipped(self, row: IntArray, col: IntArray) -> tuple[IntArray, IntArray]:
        """Return coordinates with (M, N) for what is beyond the matrix."""
        import numpy as np

        padding = (row >= self.rows) | (col >= self.cols)
        return np.where(padding, self.rows, row), np.where(padding, self.cols, col)

    @abstractmethod
    def _place(self, lane: IntArray, component: IntArray) -> tuple[IntArray, IntArray]:
        """Return row and column of places in range; beyond the matrix is padding."""


@lru_cache(maxsize=64)
def _first_places(x: Distribution) -> IntArray:
    """Return the least component + lane * V that holds each element, row by row."""
    import numpy as np

    row, col = (table.T for table in x.table())
    number = np.where(row < x.rows, row * x.cols + col, x.rows * x.cols)
    elements, first = np.unique(number, return_index=True)
    return first[elements < x.rows * x.cols]


def _checked(values: Ints, size: int, what: str) -> IntArray:
    """Return the values as an array.

    Raises:
        ValueError: one of them is not in [0, size).
    """
    import numpy as np

    array = np.asarray(values, dtype=np.int64)
    wrong = array[(array < 0) | (array >= size)]
    if wrong.size:
        raise ValueError(
            f"expected {what} to be at least 0 and below {size}, got {wrong.flat[0]}"
        )
    return array


@dataclass(frozen=True, slots=True)
class RowSlices(Distribution):
    """The elements in row-major order over the lanes.

    Element number e = row * N + col of an M x N matrix belongs to lane e mod S:

        coordinate(p, v) = ((p + v S) div N, (p + v S) mod N)
        owners(row, col) = (e mod S, e div S),  e = row N + col
        V                = ceil(M N / S)

    Component v of all lanes together, S consecutive elements, is *row slice* v; it
    belongs to the whole group.  For example 4 x 5 elements over S = 4 lanes make five
    row slices:

                        col 0   col 1   col 2   col 3   col 4
        row 0           W0      W1      W2      W3      W0
        row 1           W1      W2      W3      W0      W1
        row 2           W2      W3      W0      W1      W2
        row 3           W3      W0      W1      W2      W3

    so lane 0 holds (0,0) (0,4) (1,3) (2,2) (3,1).  The last row slice has a tail of
    padding when S does not divide M N.  With the work-group's size as S, this is also
    how a matrix of work-group scope is spread over local linear ids.

    >>> x = RowSlices(rows=4, cols=5, lanes=4)
    >>> x.components
    5
    >>> [x.element(0, v) for v in range(5)]
    [(0, 0), (0, 4), (1, 3), (2, 2), (3, 1)]
    >>> RowSlices(rows=12, cols=12, lanes=16).components
    9
    """

    @property
    def components(self) -> int:
        """V = ceil(M N / S), the number of row slices."""
        return -(-self.rows * self.cols // self.lanes)

    @property
    def tail(self) -> int:
        """The places of padding at the end of the last row slice, below S."""
        return self.components * self.lanes - self.rows * self.cols

    def _place(self, lane: IntArray, component: IntArray) -> tuple[IntArray, IntArray]:
        """See `Distribution`; an element number of M N or more has a row of M."""
        number = lane + component * self.lanes
        return number // self.cols, number % self.cols


class NamedLayout(Protocol):
    """A layout, linear or strided: from named places to named coordinates."""

    @property
    def in_sizes(self) -> dict[str, int]: ...
    @property
    def out_sizes(self) -> dict[str, int]: ...
    @property
    def reached(self) -> int: ...
    def apply(self, places: Mapping[str, Ints]) -> dict[str, IntArray]: ...


COMPONENTS = ("register", "component")
"""The inputs of layouts that number what a lane holds."""


@dataclass(frozen=True, slots=True)
class LayoutDistribution(Distribution):
    """A layout of rows and columns that reaches every element; see the module.

    >>> from coopc.layout.linear import LinearLayout
    >>> tile = LinearLayout.of(
    ...     {"register": [(1, 0)], "lane": [(0, 1), (0, 2)]}, {"dim0": 2, "dim1": 4}
    ... )
    >>> x = LayoutDistribution.of(tile)
    >>> x.lanes, x.components, x.element(3, 1)
    (4, 2, (1, 3))
    """

    layout: NamedLayout

    def __post_init__(self) -> None:
        Distribution.__post_init__(self)
        rows, cols = self.layout.out_sizes.values()
        if self.rows > rows or self.cols > cols:
            raise ValueError(
                f"expected a matrix of {self.rows} x {self.cols} to be within its "
                f"layout, which is of {rows} x {cols}"
            )
        if (reached := self.layout.reached) != rows * cols:
            raise ValueError(
                f"expected a layout that reaches all {rows * cols} elements, "
                f"got {reached}"
            )

    @classmethod
    def of(
        cls, layout: NamedLayout, shape: tuple[int, int] | None = None
    ) -> LayoutDistribution:
        """Return the distribution of a matrix by a layout.

        Args:
            layout: it has two outputs, rows first.
            shape: (rows, columns) of the matrix; None is the layout's size.

        Raises:
            ValueError: the layout has not two outputs, is too small, or does not reach
                every element.
        """
        if len(layout.out_sizes) != 2:
            raise ValueError(
                f"expected a layout with two coordinates, got {list(layout.out_sizes)}"
            )
        sizes = layout.in_sizes.items()
        lanes = prod(size for name, size in sizes if name not in COMPONENTS)
        rows, cols = shape or layout.out_sizes.values()
        return cls(rows, cols, lanes, layout)

    @property
    def components(self) -> int:
        return prod(x for name, x in self.layout.in_sizes.items() if name in COMPONENTS)

    def _place(self, lane: IntArray, component: IntArray) -> tuple[IntArray, IntArray]:
        places: dict[str, Ints] = {}
        for name, size in self.layout.in_sizes.items():
            if name in COMPONENTS:
                component, places[name] = divmod(component, size)
            else:
                lane, places[name] = divmod(lane, size)
        row, col = self.layout.apply(places).values()
        return row, col
