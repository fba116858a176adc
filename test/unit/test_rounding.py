"""Laws of rounding: idempotent, monotone, to the nearest number, as numpy rounds."""

from fractions import Fraction
from itertools import pairwise
from math import copysign, inf, isfinite, isnan, ldexp, nan, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.rounding import FORMATS, FiniteFormat, FloatFormat, odd_float, wrap

NARROW = [FORMATS[name] for name in ("f8E4M3FN", "f8E5M2", "f16", "bf16", "f32")]
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64}

SCALE = FORMATS["f8E8M0FNU"]
SIGNED = [format for format in FORMATS.values() if format is not SCALE]

floats = st.floats(allow_nan=False)
integers = st.integers(-(2**64), 2**64)


def numpy_round(format: FloatFormat, value: float) -> float:
    with np.errstate(over="ignore"):
        return float(NUMPY[format.name](value))


@pytest.mark.parametrize("format", SIGNED, ids=str)
@given(floats)
def test_idempotent(format: FloatFormat, value: float) -> None:
    once = format.round(value)
    assert format.round(once) == once or isnan(once)
    assert copysign(1, once) == copysign(1, value)


@pytest.mark.parametrize("format", FORMATS.values(), ids=str)
@given(floats, floats)
def test_monotone(format: FloatFormat, one: float, other: float) -> None:
    low, high = (format.round(x) for x in sorted((one, other)))
    assert low <= high or isnan(low) or isnan(high)


@pytest.mark.parametrize("format", [FORMATS["f16"], FORMATS["f32"]], ids=str)
@given(floats)
def test_as_numpy(format: FloatFormat, value: float) -> None:
    assert format.round(value) == numpy_round(format, value)


def test_every_f16_stays() -> None:
    patterns = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    numbers = patterns[~np.isnan(patterns)].astype(np.float64)
    assert [FORMATS["f16"].round(x) for x in numbers.tolist()] == numbers.tolist()


def test_every_bf16_stays_and_its_neighbours_round_to_it() -> None:
    """A bf16 is the upper half of an f32; a quarter of a unit away is nearest to it."""
    patterns = np.arange(0, 0x7F80, 7, dtype=np.uint32) << 16
    numbers = patterns.view(np.float32).astype(np.float64)
    near = (patterns + 0x4000).view(np.float32).astype(np.float64)
    assert [FORMATS["bf16"].round(x) for x in numbers.tolist()] == numbers.tolist()
    assert [FORMATS["bf16"].round(x) for x in near.tolist()] == numbers.tolist()


@pytest.mark.parametrize("format", NARROW, ids=str)
def test_ties_go_to_even(format: FloatFormat) -> None:
    """1 + u/2 lies between 1 and 1 + u, u a unit in the last place of 1."""
    unit = ldexp(1.0, -format.fraction_bits)
    assert format.round(1 + unit / 2) == 1
    assert format.round(1 + 3 * unit / 2) == 1 + 2 * unit
    assert format.round(nextafter(1 + unit / 2, inf)) == 1 + unit
    assert format.epsilon == unit / 2


@pytest.mark.parametrize("format", NARROW, ids=str)
def test_greatest_number(format: FloatFormat) -> None:
    """Half a unit more than the greatest number is an infinity, or NaN.

    Of f8E4M3FN it still is 448, which is even; the code after it is NaN.
    """
    half = ldexp(1.0, format.max_exponent - format.fraction_bits - 1)
    assert format.round(format.greatest) == format.greatest
    assert format.round(nextafter(format.greatest + half, 0)) == format.greatest
    if format.has_infinity:
        assert format.round(format.greatest + half) == inf
        assert format.round(-format.greatest - half) == -inf
    else:
        assert format.round(format.greatest + half) == format.greatest == 448
        for value in (nextafter(464.0, inf), -465.0, 1e30):
            assert isnan(format.round(value))
            assert copysign(1, format.round(value)) == copysign(1, value)


@pytest.mark.parametrize("format", NARROW, ids=str)
def test_least_number(format: FloatFormat) -> None:
    """Numbers below the least normal one keep its distance: subnormals."""
    least = ldexp(1.0, format.min_exponent - format.fraction_bits)
    assert format.round(least) == least
    assert format.round(1.25 * least) == least
    assert format.round(least / 2) == 0
    assert copysign(1, format.round(-least / 2)) == -1


@pytest.mark.parametrize("format", FORMATS.values(), ids=str)
def test_no_number_stays(format: FloatFormat) -> None:
    if isinstance(format, FiniteFormat):
        numbers = [format.round(x) for x in (inf, -inf, nan)]
        assert numbers == [format.greatest, -format.greatest, format.greatest]
        return
    for value in (inf, -inf):
        assert format.round(value) == value or not format.has_infinity
        assert format.round(value) != value or format.has_infinity
    assert format.round(nan) != format.round(nan)


@pytest.mark.parametrize("format", SIGNED, ids=str)
@given(integers)
def test_integers_round_to_the_nearest(format: FloatFormat, value: int) -> None:
    """No neighbour in the format is nearer; of two as near, the even one is taken."""
    rounded = format.round(value)
    if not isfinite(rounded):
        assert abs(value) > format.greatest
        return
    if isinstance(format, FiniteFormat) and abs(value) > format.greatest:
        assert abs(rounded) == format.greatest
        return
    unit = ldexp(1.0, max(value.bit_length() - 1 - format.fraction_bits, 0))
    error = abs(Fraction(rounded) - value)
    assert error <= Fraction(unit) / 2
    if error == Fraction(unit) / 2:
        assert Fraction(rounded) / Fraction(unit) % 2 == 0


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E5M2", "f16", "bf16"])
def test_codes(name: str) -> None:
    """Codes ascend with numbers, and are there and back the same but for NaN."""
    format = FORMATS[name]
    sign = 1 << (format.bits - 1)
    numbers = [format.decode(code) for code in range(format.greatest_code + 1)]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 0
    assert numbers[-1] == format.greatest
    for code, number in enumerate(numbers):
        assert format.encode(number) == code
        assert format.encode(-number) == code | sign
        assert format.decode(code | sign) == -number
    rest = [format.decode(code) for code in range(format.greatest_code + 1, sign)]
    assert (rest[0] == inf) == format.has_infinity
    assert all(isnan(x) for x in rest[format.has_infinity :])
    assert isnan(format.decode(format.encode(nan)))
    assert format.encode(inf) == format.greatest_code + 1


@given(st.floats())
def test_codes_as_numpy(value: float) -> None:
    with np.errstate(over="ignore"):
        expected = int(np.array([value]).astype(np.float16).view(np.uint16)[0])
    assert FORMATS["f16"].encode(value) == expected or isnan(value)


@given(integers)
def test_integers_as_numpy(value: int) -> None:
    assert FORMATS["f64"].round(value) == float(value)
    if value.bit_length() <= 53:
        assert FORMATS["f32"].round(value) == numpy_round(FORMATS["f32"], value)


def test_integers_round_once() -> None:
    """As an f64, 2^60 + 2^36 + 1 is a tie between two f32, and goes down."""
    value = 2**60 + 2**36 + 1
    assert FORMATS["f32"].round(value) == 2**60 + 2**37
    assert FORMATS["f32"].round(float(value)) == 2**60


@given(integers)
def test_odd_float_is_a_float(value: int) -> None:
    odd = odd_float(value)
    assert int(float(odd)) == odd
    assert abs(odd - value) < max(1, abs(value) >> 52)


@given(st.integers(), st.sampled_from((4, 8, 16, 32, 64)), st.booleans())
def test_wrap(value: int, bits: int, signed: bool) -> None:
    wrapped = wrap(value, bits, signed)
    assert (wrapped - value) % (1 << bits) == 0
    low = -(1 << bits - 1) if signed else 0
    assert low <= wrapped < low + (1 << bits)
    if bits > 4:
        kind = np.dtype(f"{'i' if signed else 'u'}{bits // 8}")
        unsigned = np.array([value % (1 << 64)], dtype=np.uint64)
        assert wrapped == int(unsigned.astype(kind)[0])


def test_powers_of_two() -> None:
    """Each number goes to the nearest power; what has a sign, or is none, is NaN."""
    powers = [SCALE.decode(code) for code in range(255)]
    assert powers == [ldexp(1.0, code - 127) for code in range(255)]
    assert [SCALE.encode(x) for x in powers] == list(range(255))
    for code, (x, y) in enumerate(pairwise(powers)):
        middle = (x + y) / 2
        assert SCALE.encode(nextafter(middle, 0)) == code
        assert SCALE.encode(middle) == code + 1
    assert [SCALE.encode(x) for x in (0.0, -0.0, 1e-300)] == [0, 0, 0]
    for value in (-1.0, -1e-300, inf, -inf, nan, ldexp(1.5, 127)):
        assert isnan(SCALE.decode(SCALE.encode(value)))
