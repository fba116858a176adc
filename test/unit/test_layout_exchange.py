"""The laws that coopc/layout/exchange.py states, between distributions of any kind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import ELEMENT_BITS, CoopmatrixLayout, Use
from coopc.layout.distribution import Distribution
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encodings import BlockedEncoding
from coopc.layout.exchange import (
    ABSENT,
    Costs,
    Exchange,
    Kind,
    Round,
    candidates,
    exchange,
)
from coopc.layout.linear import LinearLayout
from coopc.layout.linear_distribution import LinearDistribution
from coopc.layout.row_slice import RowSlices

USES: list[Use] = ["a", "b", "acc", "none"]


@st.composite
def of_shape(draw: st.DrawFn, rows: int, cols: int, lanes: int) -> Distribution:
    """Row slices, a coopmatrix layout, or registers and lanes with broadcasts."""
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return RowSlices(rows, cols, lanes)
    if kind == 1:
        bits, use = draw(st.sampled_from(ELEMENT_BITS)), draw(st.sampled_from(USES))
        return CoopmatrixLayout.of(rows, cols, bits, use, lanes)
    tall = draw(st.sampled_from([1, 2, lanes]))
    order = draw(st.sampled_from([(0, 1), (1, 0)]))
    registers = draw(st.sampled_from([(1, 1), (2, 1), (1, 4)]))
    blocked = BlockedEncoding(registers, (tall, lanes // tall), (1, 1), order)
    padded = [1 << (size - 1).bit_length() for size in (rows, cols)]
    return LinearDistribution.of(blocked.linear(padded), (rows, cols))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Distribution, Distribution, int]:
    """Two distributions of one matrix, and the size of the subgroups."""
    lanes = draw(st.sampled_from([2, 4, 8, 16]))
    rows, cols = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    both = of_shape(rows, cols, lanes)
    group = draw(st.sampled_from([lanes, lanes, lanes // 2]))
    return draw(both), draw(both), group


@given(pairs())
def test_tags(pair: tuple[Distribution, Distribution, int]) -> None:
    source, target, group = pair
    row, col = source.table()
    wanted_row, wanted_col = target.table()
    inside = wanted_row < target.rows
    for x in candidates(source, target, group):
        assert np.array_equal(x.simulate(row)[inside], wanted_row[inside])
        assert np.array_equal(x.simulate(col)[inside], wanted_col[inside])


SMALL = st.integers(0, 9)


@given(pairs(), st.builds(Costs, SMALL, SMALL, SMALL, SMALL))
def test_cheapest(pair: tuple[Distribution, Distribution, int], costs: Costs) -> None:
    best = exchange(*pair, costs=costs)
    others = candidates(*pair)
    assert best in others
    assert all(best.cost(costs) <= x.cost(costs) for x in others)


@given(pairs())
def test_identity(pair: tuple[Distribution, Distribution, int]) -> None:
    source, _, group = pair
    x = exchange(source, source, group)
    assert x.kind is Kind.NONE
    assert x.cost() == 0


@given(pairs())
def test_local(pair: tuple[Distribution, Distribution, int]) -> None:
    source, target, group = pair
    for x in candidates(*pair):
        assert (x.kind is Kind.SHUFFLE) == bool(x.rounds)
        for step in x.rounds:
            for lane, origin in enumerate(step.origin):
                assert origin == ABSENT or origin // group == lane // group
    lacking = [
        element
        for lane in range(target.lanes)
        for v in range(target.components)
        if (element := target.element(lane, v)) != target.shape
        and lane not in {p for p, _ in source.all_owners(*element)}
    ]
    kinds = {x.kind for x in candidates(*pair)}
    assert bool(kinds & {Kind.NONE, Kind.RENAME}) == (not lacking)


def test_rows_to_columns() -> None:
    """The example: one round beside the diagonal."""
    source = LinearDistribution.of(
        LinearLayout.of({"register": [(0, 1)], "lane": [(1, 0)]}, {"r": 2, "c": 2})
    )
    target = LinearDistribution.of(
        LinearLayout.of({"register": [(1, 0)], "lane": [(0, 1)]}, {"r": 2, "c": 2})
    )
    x = exchange(source, target)
    assert x.kind is Kind.SHUFFLE
    assert x.own == ((0, ABSENT), (ABSENT, 1))
    assert x.rounds == (Round(send=(1, 0), origin=(1, 0), receive=(1, 0)),)
    assert x.rounds[0].xor_mask == 1
    assert [y.kind for y in candidates(source, target, 1)] == [Kind.MEMORY]
    # Two selections around the shuffle, and one for each component of the target.
    assert x.cost(Costs(select=1, shuffle=10)) == 14
    uniform, mixed, memory = candidates(source, target)
    assert mixed == x
    assert uniform.cost(Costs(select=1, shuffle=10)) == 22
    assert memory.cost(Costs(access=3, barrier=20)) == 32


def test_k1_of_b_is_renamed() -> None:
    """`convert` of b between i8 and i32 permutes the components of each lane."""
    i8 = CoopmatrixLayout.of(32, 2, 8, "b", lanes=16)
    i32 = CoopmatrixLayout.of(32, 2, 32, "b", lanes=16)
    x = exchange(i8, i32)
    assert x.kind is Kind.RENAME
    assert x.cost() == 0
    assert [set(own) for own in x.own] == [{0}, {2}, {1}, {3}]


def test_channels_of_a_are_shuffled() -> None:
    """`convert` of a from f32 to f16 with I < S moves columns between lanes."""
    f32 = CoopmatrixLayout.of(4, 16, 32, "a", lanes=16)
    f16 = CoopmatrixLayout.of(4, 16, 16, "a", lanes=16)
    assert exchange(f32, f16).kind is Kind.SHUFFLE


def test_between_subgroups_goes_through_memory() -> None:
    encoding = DpasEncoding(8, 8, 16, 2, 16, (2, 1), (1, 1))
    source = encoding.distribution("c", 16, 16)
    target = RowSlices(16, 16, lanes=32)
    assert exchange(source, target, 16).kind is Kind.MEMORY


def test_padding_is_not_wanted() -> None:
    """A target that differs only where it has padding needs nothing."""
    wide = LinearDistribution.of(
        LinearLayout.of({"register": [(0, 2)], "lane": [(0, 1)]}, {"r": 1, "c": 4}),
        (1, 3),
    )
    copy = RowSlices(1, 3, lanes=2)
    assert wide.is_padding(1, 1)
    assert exchange(wide, copy).kind is Kind.NONE


def test_a_wrong_schedule_is_a_bug() -> None:
    x, y = RowSlices(2, 2, lanes=2), CoopmatrixLayout.of(2, 2, 32, "acc", lanes=2)
    with pytest.raises(AssertionError):
        Exchange(x, y, Kind.NONE)


def test_wrong_calls() -> None:
    x = RowSlices(4, 4, lanes=4)
    with pytest.raises(ValueError, match="of 4 x 4 over 4 lanes, got 4 x 5 over 4"):
        exchange(x, RowSlices(4, 5, lanes=4))
    with pytest.raises(ValueError, match="got 4 x 4 over 8"):
        exchange(x, RowSlices(4, 4, lanes=8))
    with pytest.raises(ValueError, match="divides 4 lanes, got 3"):
        exchange(x, x, 3)
