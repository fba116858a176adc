"""The laws that coopc/layout/family.py states."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.distribution import Distribution
from coopc.layout.dpas import DpasEncoding
from coopc.layout.family import linear_of
from coopc.layout.linear_distribution import LinearDistribution
from coopc.layout.row_slice import RowSlices
from coopc.layout.strided import StridedDistribution, StridedLayout

POWERS = st.sampled_from([1, 2, 4, 8, 16, 32])
LANES = st.sampled_from([4, 8, 16])
coopmatrices = st.builds(
    CoopmatrixLayout.of,
    POWERS,
    POWERS,
    st.sampled_from([8, 16, 32]),
    st.sampled_from(["a", "b", "acc"]),
    LANES,
)


@given(st.one_of(coopmatrices, st.builds(RowSlices, POWERS, POWERS, LANES)))
def test_same(x: Distribution) -> None:
    assume(x.lanes * x.components == x.rows * x.cols)
    found = LinearDistribution.of(linear_of(x))
    assert np.array_equal(found.table(), x.table())
    assert linear_of(found) == linear_of(x)
    if isinstance(x, CoopmatrixLayout):
        strided = StridedDistribution.of(StridedLayout.of_coopmatrix(x))
        assert linear_of(strided) == linear_of(x)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (RowSlices(7, 9, 16), "size of rows to be a power of two, got 7"),
        (CoopmatrixLayout(4, 15, 16), "size of columns to be a power of two, got 15"),
        (RowSlices(4, 4, 12), "size of lanes to be a power of two, got 12"),
        (RowSlices(2, 4, 16), "2 x 4 over 16 lanes with 8 places of it"),
        (CoopmatrixLayout(2, 4, 16), "2 x 4 over 16 lanes with 8 places of it"),
        (
            DpasEncoding.of(16, 16).distribution("a", 4, 16),
            "matrix of 8 x 16, as the layout is, got 4 x 16 with padding",
        ),
    ],
)
def test_refuses(x: Distribution, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        linear_of(x)
