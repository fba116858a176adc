"""Laws of constants and of conversions in a row, against numpy.

`Values` are numbers of one type with a mask: where it is False the number is undefined,
and any number is right.
"""

from dataclasses import dataclass
from itertools import product
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.test_value import create_ssa_value

from coopc.dialects.coopmatrix import ConvertOp, MatrixType, Use
from coopc.dialects.coopmatrix.arithmetic import combined_sign
from coopc.dialects.coopmatrix.fill import bitcast, converted
from coopc.dialects.narrow import is_integer
from coopc.rounding import FORMATS

INTEGERS = (i8, i16, i32, i64)
FLOATS = (f16, bf16, f32, f64)
TYPES: tuple[Attribute, ...] = (*INTEGERS, *FLOATS)
SIGNS = (False, True)
RANDOM = np.random.default_rng(2)


@dataclass(frozen=True)
class Values:
    """Numbers of a type: float64 for floats, signed int64 for integers."""

    type: Attribute
    data: NDArray[np.float64] | NDArray[np.int64]
    defined: NDArray[np.bool_]


def all_values(type: Attribute) -> Values:
    """Every number of a type of 8 or 16 bits but NaN; of a wider one, some."""
    if is_integer(type):
        bits = type.width.data
        if bits <= 16:
            data = np.arange(-(1 << bits - 1), 1 << bits - 1, dtype=np.int64)
        else:
            edges = [0, 1, -1, -(1 << bits - 1), (1 << bits - 1) - 1, 127, 128, -129]
            some = RANDOM.integers(-(1 << bits - 1), 1 << bits - 1, 2000)
            data = np.concatenate([np.array(edges, np.int64), some])
        return Values(type, data, np.ones(len(data), np.bool_))
    if type == f16:
        numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    elif type == bf16:
        numbers = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    else:
        numbers = RANDOM.integers(0, 1 << 32, 4000, dtype=np.uint32).view(np.float32)
    data = numbers[~np.isnan(numbers)].astype(np.float64)
    return Values(type, data, np.ones(len(data), np.bool_))


def rounded(data: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Round to a format: to multiples of a unit that grows with the number."""
    format = FORMATS[name]
    _, exponent = np.frexp(data)
    unit = np.ldexp(1.0, np.maximum(exponent - 1, format.min_exponent))
    unit = np.ldexp(unit, -format.fraction_bits)
    with np.errstate(invalid="ignore", over="ignore"):
        result = np.rint(data / unit) * unit
    result = np.where(np.isfinite(data), result, data)
    beyond = np.abs(result) > format.greatest
    return np.where(beyond, np.copysign(np.inf, result), result)


def wrapped(data: NDArray[np.int64], bits: int, signed: bool) -> NDArray[np.int64]:
    """Keep the low bits, as a number that is signed or not."""
    if bits == 64:
        return data
    low = data & ((1 << bits) - 1)
    return low - ((low >> (bits - 1)) << bits) if signed else low


def convert(values: Values, type: Attribute, signed: bool) -> Values:
    """Convert as `coopmatrix.convert` says."""
    data, defined = values.data, values.defined
    if is_integer(values.type):
        integers = cast("NDArray[np.int64]", data)
        integers = wrapped(integers, values.type.width.data, signed)
        if is_integer(type):
            cut = wrapped(integers, type.width.data, signed=True)
            return Values(type, cut, defined)
        # No integer here has more than 53 bits and a sign that is not its own.
        data = integers.astype(np.float64)
    floats = cast("NDArray[np.float64]", data)
    if isinstance(type, AnyFloat):
        return Values(type, rounded(floats, type.name), defined)
    assert is_integer(type)
    bits = type.width.data
    whole = np.trunc(floats)
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if signed else (0, 2.0**bits)
    fits = (low <= whole) & (whole < high) & defined
    # An unsigned 64-bit number is stored by its bits.
    shifted = np.where(whole >= 2.0**63, whole - 2.0**64, whole)
    stored = np.where(fits, shifted, 0.0).astype(np.int64)
    return Values(type, wrapped(stored, bits, signed=True), fits)


def matrix(type: Attribute) -> MatrixType:
    return MatrixType.of(4, 4, type, Use.NONE)


def conversion(value: SSAValue, type: Attribute, signed: bool) -> ConvertOp:
    return ConvertOp(value, matrix(type), signed)


def is_wide_unsigned(type: Attribute, signed: bool) -> bool:
    """Whether numpy's int64 does not have all the integers that are converted."""
    return type == i64 and not signed


@pytest.mark.parametrize("start", [i8, i16, i32, f16, bf16, f32], ids=str)
def test_combined_sign(start: Attribute) -> None:
    """Where a chain may become one conversion, that gives the same numbers."""
    values = all_values(start)
    combined = 0
    for middle, first_signed in product(TYPES, SIGNS):
        between = convert(values, middle, first_signed)
        for end, second_signed in product(TYPES, SIGNS):
            source = create_ssa_value(matrix(start))
            first = conversion(source, middle, first_signed)
            second = conversion(first.result, end, second_signed)
            signed = combined_sign(first, second)
            if signed is None or is_wide_unsigned(middle, second_signed):
                continue
            combined += 1
            chain = convert(between, end, second_signed)
            single = convert(values, end, signed)
            label = f"{start} {middle} {first_signed} {end} {second_signed}"
            assert np.all(single.defined[chain.defined]), label
            np.testing.assert_array_equal(
                single.data[chain.defined], chain.data[chain.defined], label
            )
    assert combined > 30


def number(type: Attribute, value: float) -> IntegerAttr | FloatAttr:
    if isinstance(type, AnyFloat):
        return FloatAttr(value, type)
    assert is_integer(type)
    return IntegerAttr(int(value), type)


@pytest.mark.parametrize("source", [i8, f16, bf16, f32, i32], ids=str)
@pytest.mark.parametrize("target", TYPES, ids=str)
@pytest.mark.parametrize("signed", SIGNS, ids=("unsigned", "signed"))
def test_converted(source: Attribute, target: Attribute, signed: bool) -> None:
    """A constant is converted as numpy does it, and not where that is undefined."""
    values = all_values(source)
    keep = np.flatnonzero(values.defined)[:: max(1, len(values.data) // 1000)]
    expected = convert(values, target, signed)
    for index in keep.tolist():
        found = converted(number(source, values.data[index].item()), target, signed)
        if not expected.defined[index]:
            assert found is None, values.data[index]
            continue
        assert found is not None, values.data[index]
        assert found.type == target
        assert found.value.data == expected.data[index], values.data[index]


@given(st.integers(-(2**63), 2**63 - 1))
def test_converted_index(value: int) -> None:
    """An index is a signed integer of 64 bits, and rounds once."""
    found = converted(IntegerAttr(value, IndexType()), f32)
    assert isinstance(found, FloatAttr)
    assert found.value.data == FORMATS["f32"].round(value)
    cut = converted(IntegerAttr(value, IndexType()), i8)
    assert cut == IntegerAttr((value + 128) % 256 - 128, i8)


@pytest.mark.parametrize("float_type", [f16, bf16], ids=str)
def test_bitcast(float_type: AnyFloat) -> None:
    """Every pattern of 16 bits that is no NaN comes back as it went."""
    for pattern in range(-(1 << 15), 1 << 15, 13):
        bits = IntegerAttr(pattern, i16)
        found = bitcast(bits, float_type)
        if found is not None:
            assert bitcast(found, i16) == bits


def test_bitcast_keeps_no_nan() -> None:
    assert bitcast(IntegerAttr(0x7E00, i16), f16) is None
    assert bitcast(FloatAttr(float("nan"), f32), i32) is None
    assert bitcast(IntegerAttr(0x7C00, i16), f16) == FloatAttr(float("inf"), f16)
    assert bitcast(FloatAttr(-0.0, f32), i32) == IntegerAttr(-(1 << 31), i32)
