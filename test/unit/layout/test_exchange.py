"""The laws that coopc/layout/exchange.py states, between layouts of any kind."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import ELEMENT_BITS, CoopmatrixLayout, Use
from coopc.layout.distribution import Distribution, LayoutDistribution, RowSlices
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encodings import BlockedEncoding
from coopc.layout.exchange import (
    ABSENT,
    ExchangePlan,
    Layout,
    Select,
    Shuffle,
    candidates,
    plan_exchange,
)
from coopc.layout.family import (
    CoopmatrixFamily,
    DpasFamily,
    MatrixSpec,
    RowSliceFamily,
)
from coopc.layout.linear import LinearLayout

USES: list[Use] = ["a", "b", "acc", "none"]


@st.composite
def of_shape(draw: st.DrawFn, rows: int, cols: int, lanes: int) -> Distribution:
    """Row slices, a coopmatrix layout, or registers and lanes with broadcasts."""
    kind = 0 if lanes == 3 else draw(st.integers(0, 2))
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
    return LayoutDistribution.of(blocked.linear(padded), (rows, cols))


@st.composite
def bases(draw: st.DrawFn, bits: int, lanes: int, warps: int) -> LinearLayout:
    """A linear layout of `bits` bits, maybe with registers that repeat others."""
    basis = [1 << bit for bit in range(bits)]
    basis = draw(st.permutations(basis))
    for _ in range(draw(st.integers(0, 4))):
        one, other = draw(st.permutations(range(bits)))[:2]
        basis[one] ^= basis[other]
    free = [0] * draw(st.integers(0, 1))
    lane, warp, register = (
        basis[:lanes],
        basis[lanes : lanes + warps],
        [*basis[lanes + warps :], *free],
    )
    ins = (("register", tuple(register)), ("lane", tuple(lane)), ("warp", tuple(warp)))
    return LinearLayout(ins, (("dim0", bits // 2), ("dim1", bits - bits // 2)))


Pair = tuple[Layout, Layout, int, int]


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Two layouts, the size of the subgroups, and the bits of an element."""
    width = draw(st.sampled_from([1, 8, 16, 32, 64]))
    if draw(st.booleans()):
        lanes, warps = draw(st.sampled_from([(2, 0), (3, 1), (4, 0)]))
        bits = lanes + warps + draw(st.integers(1, 3))
        both = bases(bits, lanes, warps)
        return draw(both), draw(both), 1 << lanes, width
    lanes = draw(st.sampled_from([2, 3, 4, 8, 16]))
    rows, cols = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    shaped = of_shape(rows, cols, lanes)
    group = draw(st.sampled_from([lanes, lanes, max(1, lanes // 2)]))
    group = lanes if lanes % group else group
    return draw(shaped), draw(shaped), group, width


def numbers(x: Layout) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The number of the element in each place, components x lanes, -1 for padding."""
    if isinstance(x, Distribution):
        row, col = x.table()
        return np.where(row < x.rows, row * x.cols + col, ABSENT)
    parts = [each.T for each in x.table().values()]
    sizes = list(x.out_sizes.values())
    whole = parts[0] * sizes[1] + parts[1]
    return whole.reshape(-1, x.in_sizes["register"]).T


@given(pairs())
def test_placement(pair: Pair) -> None:
    held, wanted = numbers(pair[0]), numbers(pair[1])
    inside = wanted != ABSENT
    for plan in candidates(*pair):
        if plan.through_memory:
            continue
        # Of padding nothing is read.
        found = plan.execute(np.where(held == ABSENT, -99, held))
        assert np.array_equal(found[inside], wanted[inside])


@given(pairs())
def test_cheapest(pair: Pair) -> None:
    best, others = plan_exchange(*pair), candidates(*pair)
    assert best in others
    assert all(best.cost <= x.cost for x in others)


@given(pairs())
def test_identity(pair: Pair) -> None:
    plan = plan_exchange(pair[0], *(pair[0], *pair[2:]))
    assert plan.kind == "none"
    assert plan.cost == 0


@given(pairs())
def test_local(pair: Pair) -> None:
    source, target, group, _ = pair
    held, wanted = numbers(source), numbers(target)
    lacking = [
        element
        for lane in range(wanted.shape[1])
        for element in set(wanted[:, lane].tolist()) - {ABSENT}
        if element not in held[:, lane]
    ]
    for plan in candidates(*pair):
        reads = [
            (lane, other)
            for step in plan.steps
            if isinstance(step, Shuffle)
            for origins in step.groups()
            for lane, other in enumerate(origins)
        ]
        assert (plan.kind == "shuffle") == bool(reads)
        assert all(0 <= other < group for _, other in reads)
        assert not (lacking and plan.kind in ("none", "rename"))


@pytest.mark.parametrize("lanes", [3, 4, 5])
@given(data=st.data())
def test_lacking(data: st.DataObject, lanes: int) -> None:
    both = bases(lanes + data.draw(st.integers(1, 3)), lanes, 0)
    source, target = data.draw(both), data.draw(both)
    held, wanted = numbers(source), numbers(target)
    least = max(
        len(set(wanted[:, lane].tolist()) - set(held[:, lane].tolist()))
        for lane in range(1 << lanes)
    )
    best = min(x.words for x in candidates(source, target) if x.kind != "memory")
    assert least <= best <= len(set(wanted[:, 0].tolist()))


SIZES = [(1, 1), (4, 15), (5, 7), (8, 16), (16, 2), (33, 3), (20, 64)]


@pytest.mark.parametrize("lanes", [1, 8, 16, 32])
def test_coopmatrix_layouts_stay_in_the_subgroup(lanes: int) -> None:
    """Between any two there are stages: no rounds, and nothing goes through memory."""
    for rows, cols in SIZES:
        layouts = {
            CoopmatrixLayout.of(rows, cols, bits, use, lanes)
            for bits, use in product(ELEMENT_BITS, USES)
        }
        for source, target in product(layouts, layouts):
            plan = plan_exchange(source, target)
            assert plan.kind != "memory"
            assert len(plan.steps) <= 2 * lanes.bit_length()
            lacked = target.components - (plan.kind in ("none", "rename"))
            assert plan.words <= lacked


def test_transposition() -> None:
    """The example of the docstring."""
    source = LinearLayout.of(
        {"register": [(0, 1), (0, 2)], "lane": [(1, 0), (2, 0)]}, {"r": 4, "c": 4}
    )
    target = LinearLayout.of(
        {"register": [(1, 0), (2, 0)], "lane": [(0, 1), (0, 2)]}, {"r": 4, "c": 4}
    )
    plan = plan_exchange(source, target)
    odd, high = (False, True) * 2, (False, False, True, True)
    stages = [
        Select((odd,) * 4, (1, 0, 3, 2), (0, 1, 2, 3)),
        Select((high,) * 4, (2, 3, 0, 1), (0, 1, 2, 3)),
    ]
    turns = ((1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0))
    assert plan.steps == (*stages, Shuffle((0, 1, 2, 3), (None, *turns)), *stages)
    assert plan.places == (0, 1, 2, 3)
    assert (plan.kind, plan.words, plan.selects) == ("shuffle", 3, 16)


def test_k1_of_b_is_renamed() -> None:
    """`convert` of b between i8 and i32 permutes the components of each lane."""
    i8 = CoopmatrixLayout.of(32, 2, 8, "b", lanes=16)
    i32 = CoopmatrixLayout.of(32, 2, 32, "b", lanes=16)
    plan = plan_exchange(i8, i32)
    assert plan.kind == "rename"
    assert plan.cost == 0
    assert plan.places == (0, 2, 1, 3)


@pytest.mark.parametrize(
    ("rows", "cols", "bits", "words"), [(8, 16, 16, 2), (4, 64, 8, 3)]
)
def test_packed_words(rows: int, cols: int, bits: int, words: int) -> None:
    """Half of the f16, three quarters of the i8 move, in words of two and of four."""
    a = CoopmatrixLayout.of(rows, cols, bits, "a", lanes=16)
    acc = CoopmatrixLayout.of(rows, cols, bits, "acc", lanes=16)
    for source, target in ((a, acc), (acc, a)):
        plan = plan_exchange(source, target, element_bits=bits)
        assert plan.words == words
        assert (
            plan_exchange(source, target, element_bits=32).words == words * 32 // bits
        )


@pytest.mark.parametrize(
    ("source", "target", "lanes", "bits", "words"),
    [
        ("a", "acc", 16, 8, 0),
        ("slices", "b", 16, 8, 15),  # an element of each other lane
        ("A", "acc", 32, 16, 8),  # two of each lane
        ("acc", "B", 8, 8, 7),
        ("acc", "slices", 32, 32, 8),
        ("A", "acc", 16, 8, 15),  # 8 would do: half of the lanes hold padding
    ],
)
def test_words_of_matrices(
    source: str, target: str, lanes: int, bits: int, words: int
) -> None:
    """Between layouts of 16 x 16; `python -m bench exchanges` compares all of them."""

    def layout(name: str) -> Distribution:
        use = {"slices": "acc", "A": "a", "B": "b"}.get(name, name)
        family = {"slices": RowSliceFamily(), "A": DpasFamily(), "B": DpasFamily()}
        assert use in ("a", "b", "acc")
        spec = MatrixSpec(16, 16, bits, use)
        return family.get(name, CoopmatrixFamily()).distribution(spec, lanes)

    plan = plan_exchange(layout(source), layout(target), element_bits=bits)
    assert plan.words == words


def test_between_subgroups_goes_through_memory() -> None:
    encoding = DpasEncoding(8, 8, 16, 2, 16, (2, 1), (1, 1))
    source = encoding.distribution("c", 16, 16)
    target = RowSlices(16, 16, lanes=32)
    plan = plan_exchange(source, target, 16)
    assert plan.kind == "memory"
    assert plan.cost == 8 * (source.components + target.components) + 32


def linear(registers: list[int], lanes: list[int], warps: list[int]) -> LinearLayout:
    ins = (
        ("register", tuple(registers)),
        ("lane", tuple(lanes)),
        ("warp", tuple(warps)),
    )
    return LinearLayout(ins, (("x", 6),))


LANES = [1, 2, 4, 8]


def test_what_all_subgroups_have_stays() -> None:
    source = linear([16, 32], LANES, [0, 0])
    target = linear([1, 32], [16, 2, 4, 8], [0, 0])
    assert plan_exchange(source, target).kind == "shuffle"


def test_each_subgroup_takes_its_part_of_what_all_have() -> None:
    source, target = linear([16, 32], LANES, [0]), linear([16], LANES, [32])
    plan = plan_exchange(source, target)
    assert (plan.kind, plan.selects) == ("rename", 2)
    assert plan_exchange(target, source).kind == "memory"


@pytest.mark.parametrize("zero", [0, 1, 3])
def test_repeated_lanes(zero: int) -> None:
    """Lanes that repeat others, in the source or in the target."""
    lanes = list(LANES)
    lanes[zero] = 0
    full, less = linear([16, 32], LANES, []), linear([16, 32, 1 << zero], lanes, [])
    assert plan_exchange(less, full).kind in ("rename", "shuffle")
    assert plan_exchange(full, less).kind == "shuffle"


def test_padding_is_not_wanted() -> None:
    """A target that differs only where it has padding needs nothing."""
    wide = LayoutDistribution.of(
        LinearLayout.of({"register": [(0, 2)], "lane": [(0, 1)]}, {"r": 1, "c": 4}),
        (1, 3),
    )
    copy = RowSlices(1, 3, lanes=2)
    assert wide.element(1, 1) == wide.shape
    assert plan_exchange(wide, copy).kind == "none"


def test_rounds_where_nothing_is_linear() -> None:
    """7 columns over 8 lanes, from rows to columns: no stages, but shuffles."""
    plan = plan_exchange(RowSlices(5, 7, 8), CoopmatrixLayout.of(5, 7, 32, "acc", 8))
    assert plan.kind == "shuffle"
    assert plan.words <= 7


def test_a_wrong_plan_is_a_bug() -> None:
    x, y = RowSlices(2, 2, lanes=2), CoopmatrixLayout.of(2, 2, 32, "acc", lanes=2)
    plan = plan_exchange(x, y)
    with pytest.raises(AssertionError):
        ExchangePlan(x, y, 2, 32, places=(0, 1))
    with pytest.raises(AssertionError):
        replace(plan, places=plan.places[::-1])
    with pytest.raises(AssertionError):
        replace(plan, steps=plan.steps[1:])


def test_wrong_calls() -> None:
    x = RowSlices(4, 4, lanes=4)
    with pytest.raises(ValueError, match="of 4 x 4 over 4 lanes, got 4 x 5 over 4"):
        plan_exchange(x, RowSlices(4, 5, lanes=4))
    with pytest.raises(ValueError, match="got 4 x 4 over 8"):
        plan_exchange(x, RowSlices(4, 4, lanes=8))
    with pytest.raises(ValueError, match="divides 4 lanes, got 3"):
        plan_exchange(x, x, 3)
    with pytest.raises(
        ValueError, match="got none of the one in component 1 of lane 0"
    ):
        plan_exchange(linear([], LANES, []), linear([16], LANES, []))
