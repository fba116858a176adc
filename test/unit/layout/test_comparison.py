"""The laws that coopc/layout/comparison.py states, and its text."""

from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.comparison import Comparison, Fate, comparison_text
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.distribution import Distribution
from coopc.layout.exchange import plan_exchange
from coopc.layout.row_slice import RowSlices

SIZES = st.integers(1, 12)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Distribution, Distribution]:
    rows, cols = draw(SIZES), draw(SIZES)
    lanes = draw(st.sampled_from([4, 8]))
    kinds: list[Distribution] = [
        RowSlices(rows, cols, lanes),
        CoopmatrixLayout.of(rows, cols, 16, "a", lanes),
        CoopmatrixLayout.of(rows, cols, 32, "acc", lanes),
    ]
    return draw(st.sampled_from(kinds)), draw(st.sampled_from(kinds))


@given(pairs())
def test_counts(pair: tuple[Distribution, Distribution]) -> None:
    x = Comparison.of(*pair)
    a, b = pair
    for row, fates in enumerate(x.fates()):
        for col, fate in enumerate(fates):
            (lane, register), (other, place) = a.owner(row, col), b.owner(row, col)
            assert (fate is Fate.MOVED) == (lane != other)
            assert (fate is Fate.KEPT) == ((lane, register) == (other, place))
    assert sum(x.counts().values()) == a.rows * a.cols


@given(pairs())
def test_itself(pair: tuple[Distribution, Distribution]) -> None:
    x = Comparison.of(pair[0], pair[0])
    assert x.counts()[Fate.KEPT] == x.source.rows * x.source.cols
    assert [found.kind for found in x.plans] == ["none"]


@given(pairs(), st.sampled_from([8, 16, 32]))
def test_first_plan_is_followed(
    pair: tuple[Distribution, Distribution], bits: int
) -> None:
    x = Comparison.of(*pair, element_bits=bits)
    assert x.plans[0] == plan_exchange(*pair, element_bits=bits)


@given(pairs())
def test_back(pair: tuple[Distribution, Distribution]) -> None:
    there, back = Comparison.of(*pair), Comparison.of(pair[1], pair[0])
    assert there.fates() == back.fates()


def test_text() -> None:
    """The example of the docstring."""
    rows = RowSlices(2, 2, 2)
    by_rows = CoopmatrixLayout(2, 2, 2)
    assert comparison_text(Comparison.of(by_rows, rows)) == (
        "2 x 2 elements over 2 lanes, 2 registers in A, 2 in B\n"
        "2 kept, 0 renamed, 2 moved; a cell is lane:register in A > in B, = if kept\n"
        "\n"
        "=       0:1>1:0\n"
        "1:0>0:1 =\n"
        "\n"
        "exchange: shuffle, 1 word, 4 selects, cost 8\n"
        "    also: memory, cost 64\n"
        "step 0: select\n"
        "  0 1 <- 1 0 if lane & 1, else 0 1\n"
        "step 1: shuffle\n"
        "  1 <- 1 of lane xor 1\n"
        "  0 <- 0\n"
        "step 2: select\n"
        "  0 1 <- 1 0 if lane & 1, else 0 1\n"
        "registers of B: 0 1\n"
    )
