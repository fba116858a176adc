"""The laws that coopc/layout/coopmatrix.py states, and the tables of its source."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import ELEMENT_BITS, CoopmatrixLayout, Use

USES: list[Use] = ["a", "b", "acc", "none"]


@st.composite
def layouts(draw: st.DrawFn) -> CoopmatrixLayout:
    """Any matrix over 1 to 64 lanes; half of the column counts take channels."""
    cols = draw(st.integers(1, 40))
    return CoopmatrixLayout.of(
        draw(st.integers(1, 130)),
        cols * 4 if draw(st.booleans()) else cols,
        draw(st.sampled_from(ELEMENT_BITS)),
        draw(st.sampled_from(USES)),
        1 << draw(st.integers(0, 6)),
    )


def columns(x: CoopmatrixLayout, lane: int) -> list[tuple[int, int]]:
    """The elements of one lane, component by component."""
    return [x.element(lane, v) for v in range(x.components)]


@given(layouts())
def test_bijection(x: CoopmatrixLayout) -> None:
    row, col = x.table()
    inside = row < x.rows
    elements = np.sort((row * x.cols + col)[inside])
    assert np.array_equal(elements, np.arange(x.rows * x.cols))


@given(layouts())
def test_linearised(x: CoopmatrixLayout) -> None:
    """The document's L, on the layouts that its section on L is about: unpacked."""
    plain = CoopmatrixLayout(x.rows, x.cols, x.lanes, channels=1, k1=x.k1)
    i_size, k1_size, j_size = plain.block_rows, plain.k1, plain.padded_cols
    row, col = np.divmod(np.arange(x.rows * x.cols), x.cols)
    i, block = row % i_size, row // i_size
    k1, k2 = block % k1_size, block // k1_size
    number = i + k1 * i_size + col * i_size * k1_size + k2 * i_size * k1_size * j_size
    lane, component = plain.owners(row, col)
    assert np.array_equal(number, lane + component * x.lanes)


@given(layouts())
def test_combined(x: CoopmatrixLayout) -> None:
    """i = p mod I, k1 = w1, j = p/I + u S/I, k2 = w2, for every place."""
    per_block = x.components // x.channels // x.blocks
    assert per_block * x.lanes == x.block_rows * (x.padded_cols // x.channels)
    w1, u, w2, lane = np.ogrid[
        : x.k1, :per_block, : x.blocks // x.k1, : x.lanes
    ]  # every place that holds channel 0
    v = x.channels * (w1 + u * x.k1 + w2 * x.k1 * per_block)
    row = lane % x.block_rows + (w1 + w2 * x.k1) * x.block_rows
    col = (lane // x.block_rows + u * x.lanes_per_row) * x.channels
    row, col, lane, v = np.broadcast_arrays(row, col, lane, v)
    inside = (row < x.rows) & (col < x.cols)
    owner, component = x.owners(row[inside], col[inside])
    assert np.array_equal(owner, lane[inside])
    assert np.array_equal(component, v[inside])


@given(layouts())
def test_channels(x: CoopmatrixLayout) -> None:
    row, col = x.table()
    row = row.reshape(-1, x.channels, x.lanes)
    col = col.reshape(-1, x.channels, x.lanes)
    assert np.all(row == row[:, :1])
    step = np.arange(x.channels)[None, :, None]
    assert np.all((col == col[:, :1] + step) | (row == x.rows))


@given(layouts())
def test_mask_is_exact(x: CoopmatrixLayout) -> None:
    padding = x.components * x.lanes > x.rows * x.cols
    assert (x.needs_mask or x.needs_row_mask) == padding


def test_table_4x15() -> None:
    x = CoopmatrixLayout.of(4, 15, 32, "acc", lanes=16)
    assert x.components == 4
    for lane in range(16):
        row, col = lane % 4, lane // 4
        expected = [(row, col + 4 * v) for v in range(4)]
        if lane >= 12:
            expected[3] = (4, 15)
        assert columns(x, lane) == expected


def test_table_1x17() -> None:
    x = CoopmatrixLayout.of(1, 17, 32, "acc", lanes=16)
    assert columns(x, 0) == [(0, 0), (0, 16)]
    for lane in range(1, 16):
        assert columns(x, lane) == [(0, lane), (1, 17)]


def test_k1_of_b() -> None:
    x = CoopmatrixLayout.of(32, 2, 8, "b", lanes=16)
    assert columns(x, 0) == [(0, 0), (16, 0), (0, 1), (16, 1)]
    y = CoopmatrixLayout.of(64, 2, 8, "b", lanes=16)
    lane_3 = [(3, 0), (19, 0), (3, 1), (19, 1), (35, 0), (51, 0), (35, 1), (51, 1)]
    assert columns(y, 3) == lane_3
    assert CoopmatrixLayout.of(16, 2, 8, "b", lanes=16).k1 == 1
    assert CoopmatrixLayout.of(32, 2, 16, "b", lanes=16).k1 == 1


@pytest.mark.parametrize(("bits", "packed"), [(8, 4), (16, 2), (32, 1), (64, 1)])
def test_channels_of_a(bits: int, packed: int) -> None:
    """M < S, where the channels of a lane are neighbours, not S / I apart."""
    x = CoopmatrixLayout.of(4, 16, bits, "a", lanes=16)
    assert x.channels == packed
    assert columns(x, 5)[:packed] == [(1, packed + c) for c in range(packed)]
    odd = CoopmatrixLayout.of(4, 15, bits, "a", lanes=16)
    assert odd == CoopmatrixLayout.of(4, 15, 32, "acc", lanes=16)


def test_packed_columns_are_padded_to_whole_steps() -> None:
    """Two packed columns of 4 x 4 halves become four, so that 16 lanes share them."""
    x = CoopmatrixLayout.of(4, 4, 16, "a", lanes=16)
    assert (x.steps, x.padded_cols, x.components) == (1, 8, 2)
    assert columns(x, 8) == [(4, 4), (4, 4)]


def test_inverse_with_k1_k2_and_channels() -> None:
    for packed in (4, 2, 1):
        x = CoopmatrixLayout(64, 8, 16, channels=packed, k1=2)
        assert x.blocks == 4
        lane, component = np.meshgrid(np.arange(16), np.arange(x.components))
        back = x.owners(*x.coordinate(lane, component))
        assert np.array_equal(back, (lane, component))


def test_length_of_12x12() -> None:
    assert CoopmatrixLayout.of(12, 12, 32, "none", lanes=16).components == 12


def test_wrong_sizes() -> None:
    with pytest.raises(ValueError, match="power of two, got 12"):
        CoopmatrixLayout.of(4, 4, 32, "acc", lanes=12)
    with pytest.raises(ValueError, match="at least 1, got 0 x 4"):
        CoopmatrixLayout.of(0, 4, 32, "acc", lanes=8)
    with pytest.raises(ValueError, match="64 bits, got 7"):
        CoopmatrixLayout.of(4, 4, 7, "acc", lanes=8)
    with pytest.raises(ValueError, match="divide the 4 row blocks, got 3"):
        CoopmatrixLayout(32, 4, 8, k1=3)
    with pytest.raises(ValueError, match="divides the 6 columns, got 4"):
        CoopmatrixLayout(32, 6, 8, channels=4)
