"""Laws of products by lanes: which elements the factors of each component are."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import CoopmatrixLayout, Use
from coopc.plan.lane_product import (
    BUDGET,
    MOST_DEPTH,
    MOST_SUMS,
    MOST_WRITTEN,
    TILE_BUDGET,
    ProductPlan,
    number_of,
    plan_columns,
    plan_product,
    plan_registers,
    plan_tile,
)

SIZES = st.sampled_from((1, 2, 3, 4, 5, 8, 15, 16, 32))
SUMS: tuple[Use, ...] = ("a", "b", "acc")


@st.composite
def plans(draw: st.DrawFn) -> ProductPlan:
    lanes = draw(st.sampled_from((1, 4, 8, 16, 32, 64)))
    bits = draw(st.sampled_from((8, 16, 32, 64)))
    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    a = CoopmatrixLayout.of(m, k, bits, "a", lanes)
    b = CoopmatrixLayout.of(k, n, bits, "b", lanes)
    result = CoopmatrixLayout.of(m, n, 32, "acc", lanes)
    budget = draw(st.sampled_from((None, 0, BUDGET)))
    slow = draw(st.booleans())
    width = draw(st.sampled_from((1, 4, 16)))
    return plan_product(a, b, result, width, budget, slow)


@given(plans(), st.integers(1, 500))
def test_a_lane_that_has_all(plan: ProductPlan, most: int) -> None:
    """Its sums fit the registers, and elements are where they are read."""
    a, b, result, width = plan.a, plan.b, plan.result, plan.width
    tile = plan_registers(result, width, most)
    assert (tile is None) == (result.lanes > 1 or result.cols % width > 0)
    if tile is None:
        return
    assert tile.rows * tile.vectors * width <= max(most, width)
    for row, k, col in product(*map(range, (a.rows, a.cols, b.cols))):
        assert a.element(0, row * a.cols + k) == (row, k)
        assert b.element(0, number_of(b, k, col)) == (k, col)
        assert result.element(0, row * result.cols + col) == (row, col)


@given(plans(), st.data())
def test_factors(plan: ProductPlan, data: st.DataObject) -> None:
    """The factors of a component are a(row, k) and b(k, column), for every lane."""
    x = plan.result
    lane = data.draw(st.integers(0, x.lanes - 1))
    v = data.draw(st.integers(0, x.components - 1))
    k = data.draw(st.integers(0, plan.depth - 1))
    row, col = x.element(lane, v)
    if (row, col) == x.shape:
        return
    vector, at = divmod(v, plan.width)
    version, numbers = plan.of_a(k, vector)
    source = lane % x.block_rows + version * x.block_rows
    assert plan.a.element(source, numbers[at]) == (row, k)
    own = max(own for own in plan.owns if own <= lane // x.block_rows)
    (found,) = (y for y in plan.of_b(k, vector, own) if y.numbers[at] is not None)
    number = found.numbers[at]
    assert number is not None
    more = 0 if plan.is_selected else lane // x.block_rows % plan.dynamic
    source = k % plan.b.block_rows + found.lane + more * plan.b.block_rows
    assert plan.b.element(source, number) == (k, col)


@given(plans())
def test_rounds(plan: ProductPlan) -> None:
    """A round uses whole columns of all versions, and whole blocks of b or a part."""
    if plan.step < plan.depth:
        assert plan.step % (plan.a.channels * plan.versions) == 0
        rows = plan.b.block_rows
        assert plan.step % rows == 0 or rows % plan.step == 0


@pytest.mark.parametrize("lanes", [4, 8, 16, 32, 64])
def test_budget(lanes: int) -> None:
    """What is written out is within the budget, and half of it where it is a loop."""
    a, b, acc = (CoopmatrixLayout.of(32, 32, 32, x, lanes) for x in SUMS)
    plan = plan_product(a, b, acc, 16)
    cost = plan.step * plan.step_cost
    assert cost <= BUDGET
    assert plan.step == plan.depth or 2 * cost > BUDGET


WIDTHS = [(4, 16), (8, 8), (8, 16), (16, 8), (16, 16), (32, 8), (32, 16), (64, 4)]


@pytest.mark.parametrize(("lanes", "width"), WIDTHS)
def test_tiles(lanes: int, width: int) -> None:
    """The vectors of the tiles are those of the result, in order, with its elements."""
    whole = CoopmatrixLayout.of(32, 32, 32, "acc", lanes)
    tile = plan_tile(whole, 32, width, 256)
    assert tile is not None
    assert tile.depth <= MOST_DEPTH
    assert tile.depth * whole.components <= TILE_BUDGET * width
    part = CoopmatrixLayout.of(tile.rows, tile.cols, 32, "acc", lanes)
    assert part.components == tile.vectors * width
    corners = product(range(0, 32, tile.rows), range(0, 32, tile.cols))
    for number, (row, col) in enumerate(corners):
        for lane, v in product(range(lanes), range(part.components)):
            found = whole.element(lane, number * part.components + v)
            i, j = part.element(lane, v)
            assert found == (row + i, col + j)


@given(
    st.sampled_from((4, 8, 16, 32, 64)), SIZES, st.sampled_from((16, 32, 40, 64)), SIZES
)
def test_columns(lanes: int, rows: int, cols: int, depth: int) -> None:
    """Each component is added up once; all lanes' sums of a few columns fit."""
    whole = CoopmatrixLayout.of(rows, cols, 32, "acc", lanes)
    plan = plan_columns(whole, depth)
    if plan is None:
        return
    assert depth % plan.step == 0
    numbers = [n for _, some in plan.groups for n in some]
    assert sorted(numbers) == list(range(whole.components))
    for steps, some in plan.groups:
        assert len(some) * lanes <= MOST_SUMS
        assert len(some) * plan.step <= max(len(some), MOST_WRITTEN)
        places = product(steps, range(whole.blocks))
        for n, (step, block) in zip(some, places, strict=True):
            for lane in range(lanes):
                own = lane // whole.block_rows + step * whole.lanes_per_row
                row = lane % whole.block_rows + block * whole.block_rows
                assert whole.element(lane, n) == (row, own)


def test_no_columns() -> None:
    """Padding, few columns or lanes, and many components."""
    for rows, cols, lanes in ((12, 32, 16), (16, 16, 16), (32, 32, 4), (32, 64, 8)):
        layout = CoopmatrixLayout.of(rows, cols, 32, "acc", lanes)
        assert plan_columns(layout, 16) is None


def test_no_tiles() -> None:
    """Padding, and what does not divide."""
    padded = CoopmatrixLayout.of(12, 16, 32, "acc", 16)
    assert plan_tile(padded, 16, 16, 256) is None
    assert plan_tile(CoopmatrixLayout.of(16, 16, 32, "acc", 16), 24, 16, 256) is None


def test_numbers() -> None:
    """Blocks, steps and channels of components are those of the layout."""
    for x in (
        CoopmatrixLayout.of(32, 8, 16, "a", 8),
        CoopmatrixLayout.of(32, 6, 8, "b", 8),
    ):
        for block in range(x.blocks):
            for col in range(x.cols):
                step, channel = divmod(col, x.channels)
                found = number_of(x, block, step, channel)
                assert x.element(0, found) == (block * x.block_rows, col)
