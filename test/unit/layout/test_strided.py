"""The laws that coopc/layout/strided.py states, on digits of any size and stride."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(layouts())
def test_reached(x: StridedLayout) -> None:
    grid = np.indices([x.in_sizes[name] for name in INS])
    places = x.apply(dict(zip(INS, grid, strict=True))).values()
    row, col = (np.broadcast_to(v, grid[0].shape).ravel().tolist() for v in places)
    rows, cols = x.out_sizes.values()
    elements = {(r, c) for r, c in zip(row, col, strict=True) if r < rows and c < cols}
    assert x.reached == len(elements)


def test_wrong_calls() -> None:
    three = StridedLayout.of({"lane": [(3, (1,))]}, {"row": 3})
    with pytest.raises(ValueError, match="lane to be at least 0 and below 3, got 3"):
        three.at(lane=3)
    with pytest.raises(ValueError, match=r"input of \['lane'\], got 'warp'"):
        three.at(warp=0)
    with pytest.raises(ValueError, match="1 strides of at least 0, got 2"):
        StridedLayout.of({"lane": [(2, (1, 1))]}, {"row": 3})
    with pytest.raises(ValueError, match="row to be at least 1, got 0"):
        StridedLayout.of({}, {"row": 0})
