"""Laws of cutting matrices into tiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.plan.amx_tiles import TileCut, grid, why_staged

SIZES = st.integers(1, 70)
BYTES = st.sampled_from([1, 2, 4])


@given(SIZES, SIZES, BYTES, st.booleans())
def test_every_element_is_in_one_place(rows: int, cols: int, size: int, packed: bool):
    found = {
        (cut.row + row, cut.col + col): (number, cut.place(row, col))
        for number, cut in enumerate(grid(rows, cols, size, packed).cuts)
        for row in range(cut.rows)
        for col in range(cut.cols)
    }
    assert found.keys() == {(row, col) for row in range(rows) for col in range(cols)}
    assert len(set(found.values())) == rows * cols


@given(SIZES, SIZES, BYTES, st.booleans())
def test_tiles_keep_the_limits(rows: int, cols: int, size: int, packed: bool):
    for cut in grid(rows, cols, size, packed).cuts:
        tile_rows, tile_cols = cut.shape
        assert tile_rows <= 16
        assert tile_cols * size <= 64
        assert tile_cols * size % 4 == 0
        place = cut.place(cut.rows - 1, cut.cols - 1)
        assert place[0] < tile_rows
        assert place[1] < tile_cols
        assert cut.is_padded == (tile_rows * tile_cols > cut.rows * cut.cols)


@given(SIZES, SIZES, SIZES, st.sampled_from([1, 2]))
def test_tiles_of_a_product_fit(m: int, n: int, k: int, size: int):
    a, b, c = grid(m, k, size, False), grid(k, n, size, True), grid(m, n, 4, False)
    assert (a.shape[0], b.shape[1]) == c.shape
    assert a.shape[1] == b.shape[0]
    packed = 4 // size
    for number, cut in enumerate(c.cuts):
        p, q = divmod(number, c.shape[1])
        for step in range(a.shape[1]):
            left = a.cuts[p * a.shape[1] + step].shape
            right = b.cuts[step * b.shape[1] + q].shape
            assert (left[0], right[1]) == (cut.shape[0], cut.shape[1] * packed)
            assert left[1] == right[0] * packed


@pytest.mark.parametrize(
    ("layout", "stride", "checked", "reason"),
    [
        ("row_major", 1, False, None),
        ("col_major", 1, False, "rows of the matrix are not rows in memory"),
        ("row_major", None, False, "the stride is dynamic"),
        ("row_major", 2, False, "the stride is 2"),
        ("row_major", 1, True, "elements out of bounds are left out"),
    ],
)
def test_what_memory_can_be(
    layout: str, stride: int | None, checked: bool, reason: str | None
):
    found = why_staged(grid(16, 16, 4, False).cuts, layout, stride, checked)
    assert found is reason is None or (found and reason and reason in found)


def test_packed_memory_is_read_as_it_is_unless_a_channel_is_not_full():
    assert why_staged(grid(32, 16, 2, True).cuts, "packed", 1, False) is None
    assert why_staged(grid(31, 16, 2, True).cuts, "packed", 1, False) == (
        "rows are not multiples of 4 bytes"
    )


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ((0, 0, 4, 4, 8), "expected elements of 1, 2 or 4 bytes, got 8"),
        ((0, 0, 0, 4, 4), "expected a part, got 0 x 4"),
    ],
)
def test_a_wrong_call(part: tuple[int, int, int, int, int], message: str):
    with pytest.raises(ValueError, match=message):
        TileCut(*part)
