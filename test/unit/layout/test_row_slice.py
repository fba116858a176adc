"""The laws that coopc/layout/row_slice.py states, and the example of its source."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.row_slice import RowSlices

row_slices = st.builds(
    RowSlices, st.integers(1, 20), st.integers(1, 20), st.integers(1, 64)
)


@given(row_slices)
def test_row_major(x: RowSlices) -> None:
    row, col = x.table()
    number = (row * x.cols + col).ravel()[: x.rows * x.cols]
    assert np.array_equal(number, np.arange(x.rows * x.cols))


@given(row_slices)
def test_tail(x: RowSlices) -> None:
    row, _ = x.table()
    padding = (row == x.rows).ravel()
    assert x.tail < x.lanes
    assert not padding[: padding.size - x.tail].any()
    assert padding[padding.size - x.tail :].all()


def test_five_row_slices_of_4x5() -> None:
    x = RowSlices(4, 5, lanes=4)
    slices = [[x.element(lane, v) for lane in range(4)] for v in range(5)]
    assert slices == [
        [(0, 0), (0, 1), (0, 2), (0, 3)],
        [(0, 4), (1, 0), (1, 1), (1, 2)],
        [(1, 3), (1, 4), (2, 0), (2, 1)],
        [(2, 2), (2, 3), (2, 4), (3, 0)],
        [(3, 1), (3, 2), (3, 3), (3, 4)],
    ]


@pytest.mark.parametrize(
    ("rows", "cols", "lanes", "length", "tail"),
    [(12, 12, 16, 9, 0), (7, 9, 16, 4, 1), (5, 5, 16, 2, 7), (4, 5, 8, 3, 4)],
)
def test_length(rows: int, cols: int, lanes: int, length: int, tail: int) -> None:
    x = RowSlices(rows, cols, lanes)
    assert (x.length, x.tail) == (length, tail)
