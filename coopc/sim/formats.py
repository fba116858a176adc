"""Rounding of arrays to the formats of floats, to nearest even, and their bits.

Laws (test/unit/test_sim_formats.py): as `coopc.rounding` rounds one number, from f32,
f64 and integers alike; bits there and back are the identity.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float64Type
from xdsl.ir import Attribute

from coopc.rounding import FORMATS
from coopc.sim.values import BFLOAT16, Array, FloatType, bits_of, value_dtype


def rounded(array: Array, type: Attribute) -> Array:
    """Return floats of any format rounded to the values of a type."""
    if isinstance(type, BFloat16Type):
        return _bf16_of_f64(array) if array.dtype == np.float64 else _bf16(array)
    return array.astype(value_dtype(type), copy=False)


def rounded_integers(array: Array, type: Attribute) -> Array:
    """Return integers rounded to the floats of a type, once."""
    if isinstance(type, Float64Type):
        return array.astype(np.float64)
    if array.dtype == np.bool_:
        array = array.astype(np.uint8)
    return rounded(_sticky(array), type)


def bits_from_bf16(array: Array) -> Array:
    """Return the 16 bits of each bf16, as uint16."""
    return (array.astype(np.float32, copy=False).view(np.uint32) >> 16).astype(
        np.uint16
    )


def bf16_from_bits(bits: Array) -> Array:
    """Return the bf16 that each uint16 is, as float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(numbers: Array) -> Array:
    """Return floats as an array of bf16 in memory: rounded, and the bits as uint16.

    >>> to_bf16(np.array([1.0, -2.0])).tolist()
    [16256, 49152]
    """
    return bits_from_bf16(rounded(np.asarray(numbers), BFLOAT16))


def from_bf16(bits: Array) -> Array:
    """Return the numbers in an array of bf16 in memory, as float32.

    >>> from_bf16(np.array([16256, 49152], dtype=np.uint16)).tolist()
    [1.0, -2.0]
    """
    return bf16_from_bits(np.asarray(bits))


def float_bits(array: Array, type: FloatType) -> Array:
    """Return the bits of floats of a type, as signed integers of its width."""
    if isinstance(type, BFloat16Type):
        return bits_from_bf16(array).view(np.int16)
    return array.view(np.dtype(f"i{array.dtype.itemsize}"))


def float_of_bits(bits: Array, type: Attribute) -> Array:
    """Return the floats of a type that integers of its width are the bits of."""
    if isinstance(type, BFloat16Type):
        return bf16_from_bits(bits.view(np.uint16))
    return bits.view(value_dtype(type))


def truncated(array: Array, type: Attribute, is_signed: bool) -> Array:
    """Return floats as integers of a type, rounded towards zero.

    What does not fit is undefined in every dialect; here it is the nearest integer that
    fits, and 0 for NaN.
    """
    bits = bits_of(type)
    low = -(1 << (bits - 1)) if is_signed else 0
    high = (1 << (bits - (1 if is_signed else 0))) - 1
    whole = np.trunc(array.astype(np.float64))
    inside = np.where((whole > float(low)) & (whole < float(high)), whole, 0.0)
    # Only what is inside is converted: numpy's result is undefined for the rest.
    wide = inside.astype(np.int64 if is_signed else np.uint64)
    wide = np.where(whole >= float(high), wide.dtype.type(high), wide)
    return np.where(whole <= float(low), wide.dtype.type(low), wide)


def fits(array: Array, type: Attribute, is_signed: bool) -> Array:
    """Return which floats, rounded towards zero, are integers of a type."""
    bits = bits_of(type)
    low = -(2.0 ** (bits - 1)) if is_signed else 0.0
    whole = np.trunc(array.astype(np.float64))
    return (whole >= low) & (whole < low + 2.0**bits)


def _bf16(array: Array) -> Array:
    """Round f16 or f32 to bf16."""
    bits = array.astype(np.float32, copy=False).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    up = (bits + np.uint32(0x7FFF) + odd) & np.uint32(0xFFFF0000)
    quiet = (bits | np.uint32(0x00400000)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(array), quiet, up).view(np.float32)


def _bf16_of_f64(array: Array) -> Array:
    """Round f64 to bf16, not by way of f32, which would round twice."""
    format = FORMATS["bf16"]
    _, exponent = np.frexp(array)
    unit = np.maximum(exponent - 1, format.min_exponent) - format.fraction_bits
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.ldexp(np.rint(np.ldexp(array, -unit)), unit)
        near = np.where(
            np.abs(near) > format.greatest, np.copysign(np.inf, array), near
        )
        return np.where(np.isfinite(array), near, array).astype(np.float32)


def _sticky(array: Array) -> Array:
    """Return integers as f64, such that rounding them once more rounds rightly.

    What f64 has no room for is kept as one bit that says whether there is anything.
    """
    magnitude = array.astype(np.uint64)
    if negative := array.dtype.kind == "i":
        magnitude = np.where(array < 0, np.uint64(0) - magnitude, magnitude)
    low = magnitude & np.uint64(0xFFF)
    large = magnitude >> np.uint64(52) != 0
    kept = (magnitude ^ low) | (low != 0).astype(np.uint64) << np.uint64(12)
    floats = np.where(large, kept, magnitude).astype(np.float64)
    return np.where(array < 0, -floats, floats) if negative else floats
