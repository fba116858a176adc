"""Rounding of arrays: as `coopc.rounding` rounds one number; bits there and back."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies
from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type

from coopc.rounding import FORMATS
from coopc.sim.numerics import (
    decoded,
    encoded,
    float_bits,
    float_of_bits,
    from_bf16,
    rounded,
    rounded_integers,
    to_bf16,
)
from coopc.sim.values import CODED, FloatType

TYPES: dict[str, FloatType] = {
    **CODED,
    "f16": Float16Type(),
    "f32": Float32Type(),
    "f64": Float64Type(),
}


def same(found: Any, expected: list[float]) -> bool:
    return np.array_equal(found.astype(np.float64), np.array(expected), equal_nan=True)


@pytest.mark.parametrize("name", TYPES)
@given(st.lists(st.floats(), min_size=1, max_size=20))
def test_rounded(name: str, values: list[float]) -> None:
    with np.errstate(over="ignore"):
        found = rounded(np.array(values), TYPES[name])
    assert same(found, [FORMATS[name].round(x) for x in values])


@pytest.mark.parametrize("name", TYPES)
@given(st.integers(0, 2**16 - 1), st.integers(-160, 140), st.sampled_from([0, 1, -1]))
def test_rounded_near_the_middle(name: str, units: int, exponent: int, by: int) -> None:
    """Numbers half-way between two of a format, and their neighbours."""
    middle = math.ldexp(units + 0.5, exponent)
    value = middle if by == 0 else math.nextafter(middle, by * math.inf)
    with np.errstate(over="ignore", under="ignore"):
        assert same(
            rounded(np.array([value]), TYPES[name]), [FORMATS[name].round(value)]
        )


@pytest.mark.parametrize("name", CODED)
@given(st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_from_f32(name: str, values: list[float]) -> None:
    found = rounded(np.array(values, np.float32), TYPES[name])
    assert same(found, [FORMATS[name].round(x) for x in values])


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E5M2", "f8E8M0FNU"])
def test_codes_and_ties(name: str) -> None:
    """All 256 codes, all numbers half-way between two, and the neighbours of those."""
    format = FORMATS[name]
    numbers = decoded(np.arange(256, dtype=np.uint8), name).astype(np.float64)
    finite = np.unique(numbers[np.isfinite(numbers)])
    ends = [np.inf, np.nan, 464.0, 480.0, 61440.0, 65536.0, 1e300, 5e-324]
    tried = np.concatenate([numbers, (finite[1:] + finite[:-1]) / 2, ends])
    for dtype in (np.float64, np.float32):
        with np.errstate(over="ignore"):
            some = tried.astype(dtype)
        for at in (some, np.nextafter(some, dtype("inf")), -some):
            assert encoded(at, name).tolist() == [format.encode(x) for x in at.tolist()]


@pytest.mark.parametrize("name", ["f16", "bf16", "f32"])
@given(st.integers(2**52, 2**64 - 1))
def test_large_integers_round_once(name: str, value: int) -> None:
    with np.errstate(over="ignore"):
        found = float(rounded_integers(np.array([value], np.uint64), TYPES[name])[0])
    format = FORMATS[name]
    if math.isinf(found):
        assert value > format.greatest
        return
    up, down = (
        np.float64(found) * (1 + sign * 2.0**-format.fraction_bits) for sign in (1, -1)
    )
    for other in (up, down):
        neighbour = format.round(float(other))
        if math.isfinite(neighbour):
            assert abs(value - int(found)) <= abs(value - int(neighbour))


@pytest.mark.parametrize(("name", "half"), [("bf16", 54), ("f32", 38)])
@pytest.mark.parametrize("by", [-1, 0, 1])
def test_integers_next_to_the_middle(name: str, half: int, by: int) -> None:
    """2^62 + 2^half is half-way to the next number; f64 cannot tell it from + 1."""
    for start, up in ((1 << 62, by > 0), ((1 << 62) + (2 << half), by >= 0)):
        found = rounded_integers(np.array([start + (1 << half) + by]), TYPES[name])
        assert int(found[0]) == start + ((2 << half) if up else 0)


@given(numpy_strategies.arrays(np.uint16, 20))
def test_bf16_bits(bits: Any) -> None:
    values = from_bf16(bits)
    nan = np.isnan(values)
    assert (to_bf16(values)[~nan] == bits[~nan]).all()
    assert np.isnan(from_bf16(to_bf16(values))[nan]).all()


@pytest.mark.parametrize("name", TYPES)
@given(st.data())
def test_bits(name: str, data: st.DataObject) -> None:
    dtype = np.dtype(f"i{-(-FORMATS[name].bits // 8)}")
    bits = data.draw(numpy_strategies.arrays(dtype, 8))
    if name == "f4E2M1FN":  # whose other bits are 0
        bits &= 15
    type, numbers = TYPES[name], float_of_bits(bits, TYPES[name])
    if name in ("f8E4M3FN", "f8E5M2"):  # which keep no payload of NaN
        bits[np.isnan(numbers)] = float_bits(numbers, type)[np.isnan(numbers)]
    assert (float_bits(numbers, type) == bits).all()
