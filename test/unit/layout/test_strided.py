"""The laws that coopc/layout/strided.py states, on digits of any size and stride."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import ELEMENT_BITS, CoopmatrixLayout, Use
from coopc.layout.distribution import RowSlices
from coopc.layout.linear import LinearLayout
from coopc.layout.strided import Digit, StridedLayout

INS = ("component", "lane")


@st.composite
def layouts(draw: st.DrawFn) -> StridedLayout:
    """Any digits; a digit often continues the one before."""
    ins: dict[str, list[Digit]] = {}
    for name in INS:
        digits: list[Digit] = []
        for _ in range(draw(st.integers(0, 2))):
            strides = draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
            if digits and draw(st.booleans()):
                size, before = digits[-1]
                strides = (before[0] * size, before[1] * size)
            digits.append((draw(st.integers(1, 3)), strides))
        ins[name] = digits
    return StridedLayout.of(
        ins, {"row": draw(st.integers(1, 9)), "col": draw(st.integers(1, 9))}
    )


@st.composite
def disjoint(draw: st.DrawFn) -> LinearLayout:
    """A linear layout whose bases have no bit in common."""
    bits = draw(st.permutations(range(6)))
    columns: list[int] = []
    while bits and len(columns) < 6:
        take = draw(st.integers(0, 2))
        columns.append(sum(1 << bit for bit in bits[:take]))
        bits = bits[take:]
    cut = draw(st.integers(0, len(columns)))
    ins = (("component", tuple(columns[:cut])), ("lane", tuple(columns[cut:])))
    return LinearLayout(ins, (("row", 2), ("col", 4)))


def table(x: StridedLayout) -> list[np.ndarray]:
    """The coordinates of all places, indexed by component and lane."""
    grid = np.indices([x.in_sizes[name] for name in INS])
    values = x.apply(dict(zip(INS, grid, strict=True))).values()
    return [np.broadcast_to(v, grid[0].shape) for v in values]


@given(layouts(), st.data())
def test_digits(x: StridedLayout, data: st.DataObject) -> None:
    total = [0, 0]
    place: dict[str, int] = {}
    for name, digits in x.ins:
        number, weight = 0, 1
        for size, strides in digits:
            value = data.draw(st.integers(0, size - 1))
            number += value * weight
            weight *= size
            total = [t + value * s for t, s in zip(total, strides, strict=True)]
        place[name] = number
    assert list(x.at(**place).values()) == total


@given(disjoint())
def test_linear(x: LinearLayout) -> None:
    strided = StridedLayout.from_linear(x)
    for found, expected in zip(table(strided), x.table().values(), strict=True):
        assert np.array_equal(found, expected)
    assert strided.to_linear() == x


USES: list[Use] = ["a", "b", "acc", "none"]


@given(
    st.integers(1, 70),
    st.integers(1, 40),
    st.sampled_from(ELEMENT_BITS),
    st.sampled_from(USES),
    st.sampled_from([1, 4, 16, 32]),
)
def test_coopmatrix(rows: int, cols: int, bits: int, use: Use, lanes: int) -> None:
    layout = CoopmatrixLayout.of(rows, cols, bits, use, lanes)
    row, col = table(StridedLayout.of_coopmatrix(layout))
    padding = (row >= rows) | (col >= cols)
    expected = layout.table()
    assert np.array_equal(np.where(padding, rows, row), expected[0])
    assert np.array_equal(np.where(padding, cols, col), expected[1])
    slices = RowSlices(rows, cols, lanes)
    flat = StridedLayout.of(
        {"component": [(slices.components, (lanes,))], "lane": [(lanes, (1,))]},
        {"element": rows * cols},
    )
    (element,) = table(flat)
    inside = element < rows * cols
    found = slices.table()
    assert np.array_equal(element[inside], (found[0] * cols + found[1])[inside])
    assert prod(flat.in_sizes.values()) - rows * cols == slices.tail


def test_wrong_calls() -> None:
    three = StridedLayout.of({"lane": [(3, (1,))]}, {"row": 3})
    with pytest.raises(ValueError, match="digit of lane to be a power of two, got 3"):
        three.to_linear()
    carry = StridedLayout.of({"lane": [(2, (1,)), (2, (3,))]}, {"row": 8})
    with pytest.raises(ValueError, match=r"common bit, got lane -> \(3,\)"):
        carry.to_linear()
    padded = StridedLayout.of({"lane": [(4, (1,))]}, {"row": 2})
    with pytest.raises(ValueError, match="below 2 in row, got 2"):
        padded.to_linear()
    with pytest.raises(ValueError, match="lane to be at least 0 and below 3, got 3"):
        three.at(lane=3)
    with pytest.raises(ValueError, match=r"input of \['lane'\], got 'warp'"):
        three.at(warp=0)
    with pytest.raises(ValueError, match="1 strides of at least 0, got 2"):
        StridedLayout.of({"lane": [(2, (1, 1))]}, {"row": 3})
    with pytest.raises(ValueError, match="row to be at least 1, got 0"):
        StridedLayout.of({}, {"row": 0})
