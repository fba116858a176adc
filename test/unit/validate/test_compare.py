"""The one comparison of floats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.sim.numerics import to_bf16
from coopc.validate.compare import compare

VALUES = np.array([1.0, -0.0, np.inf, np.nan, 3.5], np.float32)


@given(st.lists(st.floats(width=32)))
def test_same_bits_are_the_same(values: list[float]) -> None:
    array = np.array(values, np.float32)
    assert compare(array, array.copy()).ok


def test_zeros_of_other_sign_differ() -> None:
    found = compare(np.array([0.0, 1.0]), np.array([-0.0, 1.0]))
    assert not found.ok
    assert found.index == (0,)


def test_nan_is_where_nan_is() -> None:
    other = VALUES.copy()
    other[3] = 1.0
    assert compare(other, VALUES, bound=1.0).index == (3,)
    assert compare(VALUES, other, bound=1.0).index == (3,)
    other[3] = -np.nan
    assert compare(other, VALUES).ok


def test_infinities_have_their_sign() -> None:
    other = VALUES.copy()
    other[2] = -np.inf
    assert compare(other, VALUES, bound=1e30).index == (2,)


def test_bound() -> None:
    expected = np.zeros((2, 3))
    found = expected.copy()
    found[1, 2] = 0.25
    assert compare(found, expected, bound=0.25).ok
    assert not compare(found, expected, bound=0.2).ok
    bounds = np.full((2, 3), 1.0)
    bounds[1, 2] = 0.125
    difference = compare(found, expected, bound=bounds)
    assert difference.index == (1, 2)
    assert (difference.found, difference.expected) == (0.25, 0.0)
    assert str(difference) == (
        "at [1, 2] expected 0.0, to within 0.125, got 0.25; 1 of 6 elements are wrong"
    )


def test_no_bound_is_counted() -> None:
    bound = np.array([np.inf, 0.0])
    difference = compare(np.array([5.0, 1.0]), np.array([1.0, 1.0]), bound=bound)
    assert difference.ok
    assert difference.unbounded == 1
    assert difference.largest == 4.0


def test_what_may_be_anything_is_said() -> None:
    expected, bounds = np.zeros(3), np.array([0.0, np.inf, 1.0])
    assert str(compare(expected, expected, bound=bounds)) == "the same, largest error 0"
    found = np.array([0.0, 4.0, 0.5])
    assert str(compare(found, expected, bound=bounds)) == (
        "within rounding, largest error 4; 1 of 3 may differ by anything"
    )


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64])
def test_integers_are_compared_exactly(dtype: type[np.generic]) -> None:
    expected = np.ones(3, dtype)
    found = expected.copy()
    assert compare(found, expected, bound=10.0).ok
    found[1] = 0
    assert compare(found, expected, bound=10.0).index == (1,)


def test_bf16() -> None:
    one, other = to_bf16(np.array([1.0])), to_bf16(np.array([1.0078125]))
    assert not compare(other, one, element="bf16").ok
    assert compare(other, one, bound=0.0078125, element="bf16").ok


def test_arrays_that_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match=r"expected an array of \(2,\) float32"):
        compare(np.zeros(3, np.float32), np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="float32, got"):
        compare(np.zeros(2), np.zeros(2, np.float32))
