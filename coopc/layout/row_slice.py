r"""Row slices: a matrix spread over the lanes in row-major order.

Element number e = row * N + col of an M x N matrix belongs to lane e mod S:

    coordinate(p, v) = ((p + v S) div N, (p + v S) mod N)
    owners(row, col) = (e mod S, e div S),  e = row N + col
    V                = ceil(M N / S)

Component v of all lanes together, S consecutive elements, is *row slice* v; it belongs
to the whole group.  For example 4 x 5 elements over S = 4 lanes make five row slices:

                    col 0   col 1   col 2   col 3   col 4
    row 0           W0      W1      W2      W3      W0
    row 1           W1      W2      W3      W0      W1
    row 2           W2      W3      W0      W1      W2
    row 3           W3      W0      W1      W2      W3

so lane 0 holds (0,0) (0,4) (1,3) (2,2) (3,1).  The last row slice has a tail of padding
when S does not divide M N.  With the work-group's size as S, this is also how a matrix
of work-group scope is spread over local linear ids.

Laws (test/unit/layout/test_row_slice.py checks each by its name):

    row_major   the elements in the order of (component, lane) are the row-major order
    tail        only the last row slice has padding, V S - M N places at its end
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coopc.layout.distribution import Distribution

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray


@dataclass(frozen=True, slots=True)
class RowSlices(Distribution):
    """The elements in row-major order over the lanes.

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
        """See `Distribution`."""
        number = row * self.cols + col
        return number % self.lanes, number // self.lanes
