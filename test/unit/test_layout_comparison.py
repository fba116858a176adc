"""The laws that coopc/layout/comparison.py states, and its text."""

from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.comparison import Comparison, Fate, comparison_text
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.distribution import Distribution
from coopc.layout.exchange import Kind
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
    assert [found.kind for found in x.exchanges] == [Kind.NONE]


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
        "exchange: shuffle in 1 round, cost 8\n"
        "    also: shuffle in 2 rounds, cost 10\n"
        "    also: memory, cost 64\n"
        "own registers, for each register of B a line, for each lane a column:\n"
        "  0 <- 0 -\n"
        "  1 <- - 1\n"
        "round 0: lane xor 1\n"
        "  offers 1 0\n"
        "  reads  1 0\n"
        "  fills  1 0\n"
    )
