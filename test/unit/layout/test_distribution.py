"""The laws that coopc/layout/distribution.py states, on every kind of distribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import ELEMENT_BITS, CoopmatrixLayout, Use
from coopc.layout.distribution import Distribution, LayoutDistribution, RowSlices
from coopc.layout.linear import Echelon, LinearLayout, product
from coopc.layout.strided import StridedLayout

row_slices = st.builds(
    RowSlices, st.integers(1, 20), st.integers(1, 20), st.integers(1, 64)
)

USES: list[Use] = ["a", "b", "acc", "none"]

coopmatrices = st.builds(
    CoopmatrixLayout.of,
    st.integers(1, 70),
    st.integers(1, 40),
    st.sampled_from(ELEMENT_BITS),
    st.sampled_from(USES),
    st.sampled_from([1, 4, 8, 16, 32]),
)


@st.composite
def linears(draw: st.DrawFn) -> LayoutDistribution:
    """Any surjective layout of 5 bits, up to 2 broadcasts, and any tensor within."""
    columns: list[int] = []
    while Echelon.of(columns).rank < 5:
        rank = Echelon.of(columns).rank
        free = [v for v in range(1, 32) if Echelon.of([*columns, v]).rank > rank]
        columns.append(draw(st.sampled_from(free)))
    columns += draw(st.lists(st.integers(0, 31), max_size=2))
    cut, warp = draw(st.integers(0, 5)), draw(st.integers(5, 6))
    layout = LinearLayout(
        (
            ("register", tuple(columns[:cut])),
            ("lane", tuple(columns[cut:warp])),
            ("warp", tuple(columns[warp:])),
        ),
        (("dim0", 2), ("dim1", 3)),
    )
    return LayoutDistribution.of(
        layout, (draw(st.integers(1, 4)), draw(st.integers(1, 8)))
    )


def strided(x: CoopmatrixLayout) -> LayoutDistribution:
    """The coopmatrix layout as digits of lane and component."""
    rows, packed, k1 = x.block_rows, x.channels, x.k1
    digits = {
        "lane": [(rows, (1, 0)), (x.lanes_per_row, (0, packed))],
        "component": [
            (packed, (0, 1)),
            (k1, (rows, 0)),
            (x.steps, (0, packed * x.lanes_per_row)),
            (x.blocks // k1, (rows * k1, 0)),
        ],
    }
    return LayoutDistribution.of(
        StridedLayout.of(digits, {"row": x.rows, "col": x.cols})
    )


strideds = coopmatrices.map(strided)

distributions = st.one_of(row_slices, coopmatrices, linears(), strideds)


def grid(x: Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of all elements."""
    row, col = np.divmod(np.arange(x.rows * x.cols), x.cols)
    return row, col


@given(distributions)
def test_cover(x: Distribution) -> None:
    row, col = x.table()
    held = np.unique((row * (x.cols + 1) + col)[row < x.rows])
    assert held.size == x.rows * x.cols


@given(distributions)
def test_inverse(x: Distribution) -> None:
    row, col = grid(x)
    lanes, components = x.owners(row, col)
    assert np.array_equal(x.coordinate(lanes, components), (row, col))
    rows, cols = x.table()
    for element, place in zip(
        zip(row, col, strict=True), zip(lanes, components, strict=True), strict=True
    ):
        found = np.argwhere((element[0] == rows.T) & (element[1] == cols.T))
        assert tuple(found[0]) == place


@given(distributions)
def test_padding(x: Distribution) -> None:
    row, col = x.table()
    padding = row == x.rows
    assert np.array_equal(padding, col == x.cols)
    assert np.all(row[~padding] < x.rows)
    assert np.all(col[~padding] < x.cols)
    assert min(row.min(), col.min()) >= 0


@given(distributions)
def test_unclipped(x: Distribution) -> None:
    """What is padding lies beyond the matrix; the rest is the table."""
    (row, col), (far_row, far_col) = x.table(), x.unclipped_table()
    padding = row == x.rows
    assert np.array_equal(padding, (far_row >= x.rows) | (far_col >= x.cols))
    assert np.array_equal(row[~padding], far_row[~padding])
    assert np.array_equal(col[~padding], far_col[~padding])


@given(distributions)
def test_value(x: Distribution) -> None:
    """Equal distributions are one key."""
    assert len({x, x.__class__(*(getattr(x, n) for n in x.__match_args__))}) == 1
    assert x.shape == (x.rows, x.cols)


def test_out_of_range() -> None:
    x = RowSlices(4, 5, lanes=4)
    with pytest.raises(ValueError, match="lane to be at least 0 and below 4, got 4"):
        x.coordinate(4, 0)
    with pytest.raises(ValueError, match=r"component .* below 5, got -1"):
        x.coordinate(np.arange(4), -1)
    with pytest.raises(ValueError, match=r"row .* below 4, got 9"):
        x.owners(np.array([3, 9]), 0)
    with pytest.raises(ValueError, match=r"column .* below 5, got 5"):
        x.owner(0, 5)


def test_inputs_in_any_order() -> None:
    """Lane, then warp, make the lanes, wherever `register` stands."""
    x = LinearLayout.of(
        {"lane": [(0, 1)], "register": [(1, 0)], "warp": [(0, 2)]}, {"r": 2, "c": 4}
    )
    places = LayoutDistribution.of(x)
    assert (places.lanes, places.components) == (4, 2)
    assert [places.element(lane, 1) for lane in range(4)] == [
        (1, 0),
        (1, 1),
        (1, 2),
        (1, 3),
    ]


def test_linear_distribution_rejects() -> None:
    lanes = LinearLayout.identity(8, "lane", "dim1")
    with pytest.raises(ValueError, match=r"two coordinates, got \['dim1'\]"):
        LayoutDistribution.of(lanes)
    rows = product(lanes, LinearLayout.zeros(1, "register", "dim0"))
    with pytest.raises(ValueError, match=r"1 x 16 .* of 8 x 1"):
        LayoutDistribution.of(rows, (1, 16))
    sparse = LinearLayout.of({"lane": [(2, 0)]}, {"dim0": 4, "dim1": 1})
    with pytest.raises(ValueError, match="reaches all 4 elements, got 2"):
        LayoutDistribution.of(sparse)


@given(coopmatrices)
def test_strided_is_coopmatrix(x: CoopmatrixLayout) -> None:
    assert np.array_equal(strided(x).table(), x.table())


def test_strided_distribution_rejects() -> None:
    def layout(*digits: int, rows: int = 1) -> StridedLayout:
        lane, component = ((size, (0, 1 if d else 2)) for d, size in enumerate(digits))
        return StridedLayout.of(
            {"lane": [lane], "component": [component]}, {"row": rows, "col": 6}
        )

    assert LayoutDistribution.of(layout(3, 2)).owner(0, 5) == (2, 1)
    assert LayoutDistribution.of(layout(3, 2), (1, 5)).element(2, 1) == (1, 5)
    with pytest.raises(ValueError, match="reaches all 6 elements, got 4"):
        LayoutDistribution.of(layout(2, 2))
    with pytest.raises(ValueError, match=r"1 x 7 .* of 1 x 6"):
        LayoutDistribution.of(layout(3, 2), (1, 7))
    with pytest.raises(ValueError, match=r"two coordinates, got \['col'\]"):
        LayoutDistribution.of(StridedLayout.of({"lane": [(6, (1,))]}, {"col": 6}))


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
    assert (x.components, x.tail) == (length, tail)
