"""Rounding of arrays: as `coopc.rounding` rounds one number; bits there and back."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type

from coopc.rounding import FORMATS
from coopc.sim.numerics import (
    float_bits,
    float_of_bits,
    from_bf16,
    rounded,
    rounded_integers,
    to_bf16,
)
from coopc.sim.values import FloatType

TYPES: dict[str, FloatType] = {
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
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


@given(st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_bf16_from_f32(values: list[float]) -> None:
    found = rounded(np.array(values, np.float32), TYPES["bf16"])
    assert same(found, [FORMATS["bf16"].round(x) for x in values])


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
    dtype = np.dtype(f"i{FORMATS[name].bits // 8}")
    bits = data.draw(numpy_strategies.arrays(dtype, 8))
    type = TYPES[name]
    assert (float_bits(float_of_bits(bits, type), type) == bits).all()
