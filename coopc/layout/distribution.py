r"""Distributions: which lane holds which element of a matrix, whatever the formula.

An M x N matrix is spread over S lanes; each lane holds V components, all lanes equally
many.  A distribution is the map from a place to the element that is kept there, and one
of its inverses:

    coordinate(lane, component) = (row, col), or (M, N) for padding
    owners(row, col)            = (lane, component), the canonical owner

A place whose element lies beyond the matrix is padding.  Its coordinate is (M, N),
which is out of range in both dimensions.  For example 2 x 3 elements in row-major
order over S = 4 lanes, V = 2:

                     lane 0    lane 1    lane 2    lane 3
    component 0      (0,0)     (0,1)     (0,2)     (1,0)
    component 1      (1,1)     (1,2)     padding   padding

An element may have several owners (a broadcast); `all_owners` lists them, least lane
first, and the canonical owner is one of them.

Laws (test/unit/layout/test_distribution.py checks each by its name, for every kind of
distribution in this folder):

    cover       every element has an owner
    inverse     coordinate(owners(e)) == e
    padding     is_padding(p) if and only if coordinate(p) == (M, N); every other
                coordinate is an element of the matrix
    all_owners  lists exactly the places whose coordinate is the element

and of row slices:

    row_major   the elements in the order of (component, lane) are the row-major order
    tail        only the last row slice has padding, V S - M N places at its end
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # numpy costs start-up time; the functions import it when called
    import numpy as np
    import numpy.typing as npt

    IntArray: TypeAlias = npt.NDArray[np.int64]
    BoolArray: TypeAlias = npt.NDArray[np.bool_]
    Ints: TypeAlias = int | IntArray


@dataclass(frozen=True, slots=True)
class Distribution(ABC):
    """How `rows` x `cols` elements are spread over `lanes`; a frozen, hashable value.

    A subclass gives `components`, `_place` and `_owner`; this class checks ranges and
    turns what lies beyond the matrix into padding.
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

    @property
    def length(self) -> int:
        """The length of a work-item's slice: V, the same in every lane."""
        return self.components

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
        row, col = self._place(lane, component)
        padding = (row >= self.rows) | (col >= self.cols)
        return np.where(padding, self.rows, row), np.where(padding, self.cols, col)

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
        return self._owner(row, col)

    def element(self, lane: int, component: int) -> tuple[int, int]:
        """Return `coordinate` of one place as numbers."""
        row, col = self.coordinate(lane, component)
        return int(row), int(col)

    def owner(self, row: int, col: int) -> tuple[int, int]:
        """Return `owners` of one element as numbers."""
        lane, component = self.owners(row, col)
        return int(lane), int(component)

    def is_padding(self, lane: Ints, component: Ints) -> BoolArray:
        """Return, for each place, whether it holds no element of the matrix."""
        row, _ = self.coordinate(lane, component)
        return row >= self.rows

    def table(self) -> tuple[IntArray, IntArray]:
        """Return the coordinates of all places: rows and columns, each V x S."""
        import numpy as np

        component = np.arange(self.components, dtype=np.int64)[:, None]
        return self.coordinate(np.arange(self.lanes, dtype=np.int64), component)

    def unclipped_table(self) -> tuple[IntArray, IntArray]:
        """Return `table`, with padding at the coordinates where the formula puts it."""
        import numpy as np

        lane, component = np.broadcast_arrays(
            np.arange(self.lanes, dtype=np.int64),
            np.arange(self.components, dtype=np.int64)[:, None],
        )
        return self._place(lane, component)

    def all_owners(self, row: int, col: int) -> list[tuple[int, int]]:
        """Return every (lane, component) that holds the element, least lane first."""
        import numpy as np

        _checked(row, self.rows, "row")
        _checked(col, self.cols, "column")
        rows, cols = self.table()
        component, lane = np.nonzero((rows == row) & (cols == col))
        return sorted(zip(lane.tolist(), component.tolist(), strict=True))

    @abstractmethod
    def _place(self, lane: IntArray, component: IntArray) -> tuple[IntArray, IntArray]:
        """Return row and column of places in range; beyond the matrix is padding."""

    @abstractmethod
    def _owner(self, row: IntArray, col: IntArray) -> tuple[IntArray, IntArray]:
        """Return lane and component of elements in range."""


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
    >>> RowSlices(rows=12, cols=12, lanes=16).length
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

    def _owner(self, row: IntArray, col: IntArray) -> tuple[IntArray, IntArray]:
        number = row * self.cols + col
        return number % self.lanes, number // self.lanes
