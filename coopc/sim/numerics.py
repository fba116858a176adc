"""How numbers are computed: plainly, each with the rounding of its type."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, reduce
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float64Type
from xdsl.ir import Attribute

from coopc.rounding import FORMATS, FiniteFormat, FloatFormat, ScaleFormat, is_scale
from coopc.sim.undefined import StoredErrors
from coopc.sim.values import (
    CODED,
    Array,
    CodedType,
    DType,
    FloatType,
    bits_of,
    bounds,
    is_float,
    value_dtype,
    wrapped,
)


def fused_multiply_add(x: Array, y: Array, z: Array) -> Array:
    """Return `x * y + z` of f64 arrays that hold values of f32 or narrower types.

    The result is rounded to odd: the caller rounds it to the type.
    """
    product = x * y
    total = product + z
    # Two-sum: what the addition lost.
    shadow = total - product
    lost = (product - (total - shadow)) + (z - shadow)
    even = (total.view(np.int64) & 1) == 0
    inexact = np.isfinite(total) & (lost != 0) & even
    return np.where(inexact, np.nextafter(total, np.copysign(np.inf, lost)), total)


def fused_multiply_add_f64(x: Array, y: Array, z: Array) -> Array:
    """Return `x * y + z` of f64 arrays, rounded once, one element at a time."""
    x, y, z = np.broadcast_arrays(x, y, z)
    plain = x * y + z
    usable = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    found = plain.copy()
    for place in zip(*np.nonzero(usable), strict=True):
        a, b, c = (Fraction(float(each[place])) for each in (x, y, z))
        exact = a * b + c
        if exact == 0:
            continue  # the sign of the zero is that of the float operations
        try:
            found[place] = float(exact)
        except OverflowError:
            found[place] = math.inf if exact > 0 else -math.inf
    return found


# Rounding of arrays to the formats of floats, to nearest even, and their bits.
#
# Laws (test/unit/sim/test_formats.py): as `coopc.rounding` rounds one number, from f32,
# f64 and integers alike; bits there and back are the identity.


def rounded(array: Array, type: Attribute) -> Array:
    """Return floats of any format rounded to the values of a type."""
    if isinstance(type, BFloat16Type) and array.dtype != np.float64:
        return _bf16(array)
    if isinstance(type, CodedType):
        return _nearest(array.astype(np.float64), FORMATS[type.name])
    return array.astype(value_dtype(type), copy=False)


def rounded_integers(array: Array, type: Attribute) -> Array:
    """Return integers rounded to the floats of a type, once."""
    if isinstance(type, Float64Type):
        return array.astype(np.float64)
    if array.dtype == np.bool_:
        array = array.astype(np.uint8)
    return rounded(_sticky(array), type)


def encoded(numbers: Array, format: str) -> Array:
    """Return floats as memory holds those of a format: rounded, as their bits.

    >>> encoded(np.array([1.0, -2.0]), "bf16").tolist()
    [16256, 49152]
    >>> encoded(np.array([1.0, -1e9, 1e-9]), "f8E4M3FN").tolist()
    [56, 255, 0]
    """
    return np.asarray(
        _codes(rounded(np.asarray(numbers), CODED[format]), CODED[format])
    )


def decoded(bits: Array, format: str) -> Array:
    """Return the numbers of which memory holds the bits, as float32.

    >>> decoded(np.array([16256, 49152], dtype=np.uint16), "bf16").tolist()
    [1.0, -2.0]
    """
    if format == "bf16":
        return (np.asarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32)
    return _numbers(format)[np.asarray(bits).view(np.uint8)]


def _codes(array: Array, type: CodedType) -> Array:
    """Return the bits of numbers that are values of a type."""
    if isinstance(type, BFloat16Type):
        words = array.astype(np.float32, copy=False).view(np.uint32)
        return (words >> np.uint32(16)).astype(np.uint16)
    format = FORMATS[type.name]
    if isinstance(format, ScaleFormat):
        codes = np.frexp(array)[1] - 1 - format.min_exponent
        return np.where(np.isnan(array), format.greatest_code + 1, codes).astype("u1")
    # Codes ascend with numbers.
    known = _numbers(type.name)[: format.greatest_code + 1 + format.has_infinity]
    codes = np.searchsorted(known, np.abs(array))
    codes = np.where(np.isnan(array), format.encode(math.nan), codes)
    sign = 1 << (format.bits - 1)
    return (codes | np.where(np.signbit(array), sign, 0)).astype(np.uint8)


@cache
def _numbers(format: str) -> Array:
    codes = range(1 << FORMATS[format].bits)
    return np.array([FORMATS[format].decode(x) for x in codes], np.float32)


def to_bf16(numbers: Array) -> Array:
    return encoded(numbers, "bf16")


def from_bf16(bits: Array) -> Array:
    return decoded(bits, "bf16")


def float_bits(array: Array, type: FloatType) -> Array:
    """Return the bits of floats of a type, as signed integers of its width."""
    if isinstance(type, CodedType):
        codes = _codes(array, type)
        return codes.view(np.dtype(f"i{codes.dtype.itemsize}"))
    return array.view(np.dtype(f"i{array.dtype.itemsize}"))


def float_of_bits(bits: Array, type: Attribute) -> Array:
    """Return the floats of a type that integers of its width are the bits of.

    Integers of 4 bits are signed bytes here.
    """
    if isinstance(type, CodedType):
        codes = bits.view(np.dtype(f"u{type.size}"))
        return decoded(codes & ((1 << FORMATS[type.name].bits) - 1), type.name)
    return bits.view(value_dtype(type))


def truncated(array: Array, type: Attribute, is_signed: bool) -> Array:
    """Return floats as integers of a type, rounded towards zero.

    What does not fit is undefined in every dialect; here it is the nearest integer that
    fits, and 0 for NaN.
    """
    low, high = bounds(type, is_signed)
    whole = np.trunc(array.astype(np.float64))
    inside = np.where((whole > float(low)) & (whole < float(high)), whole, 0.0)
    # Only what is inside is converted: numpy's result is undefined for the rest.
    wide = inside.astype(np.int64 if is_signed else np.uint64)
    wide = np.where(whole >= float(high), wide.dtype.type(high), wide)
    return np.where(whole <= float(low), wide.dtype.type(low), wide)


def _bf16(array: Array) -> Array:
    """Round f16 or f32 to bf16."""
    bits = array.astype(np.float32, copy=False).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    up = (bits + np.uint32(0x7FFF) + odd) & np.uint32(0xFFFF0000)
    quiet = (bits | np.uint32(0x00400000)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(array), quiet, up).view(np.float32)


def _nearest(array: Array, format: FloatFormat) -> Array:
    """Round f64 to a narrower format, not by way of f32, which would round twice."""
    half, exponent = np.frexp(array)
    if isinstance(format, ScaleFormat):
        exponent = np.maximum(exponent - (half < 0.75), format.min_exponent)
        exponent = np.where(array == 0, format.min_exponent, exponent)
        wrong = ~np.isfinite(array) | (array < 0) | (exponent > format.max_exponent)
        scale = np.ldexp(1.0, np.minimum(exponent, format.max_exponent))
        return np.where(wrong, np.nan, scale).astype(np.float32)
    if isinstance(format, FiniteFormat):
        array = np.where(np.isnan(array), format.greatest, array)
        array = np.clip(array, -format.greatest, format.greatest)
        exponent = np.frexp(array)[1]
    unit = np.maximum(exponent - 1, format.min_exponent) - format.fraction_bits
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.ldexp(np.rint(np.ldexp(array, -unit)), unit)
        near = np.where(np.isfinite(array), near, array)
        beyond = np.copysign(format.overflow, array)
        return np.where(np.abs(near) > format.greatest, beyond, near).astype(np.float32)


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


# The functions on floats that operations are made of: one table.
#
# Each says how it is computed on arrays, and how errors of its operands reach the
# result (`spread`), for runs that track them: see `coopc.sim.tracked`.

Compute: TypeAlias = Callable[..., Array]
Spread: TypeAlias = Callable[[Sequence[Array], Sequence[Array]], Array]
"""From operands and the bounds of their errors to the bound of the result's."""


@dataclass(frozen=True, slots=True)
class FloatFunction:
    """A function of one to three floats of a type to one of that type."""

    compute: Compute
    """On arrays of the type, narrow floats as f32; of f64 where `wide`."""
    spread: Spread
    wide: bool = False
    """Computed in f64 and then rounded: more exact than any device's library."""
    exact: bool = False
    """The result is an operand, or one without its sign: nothing is rounded."""
    either_zero: bool = False
    """Of 0.0 and -0.0 an implementation gives one or the other."""
    ulps: float = 0.5
    """The greatest error of an implementation, in units in the last place; of library
    functions as in OpenCL C 3.0, table "ULP values for single precision"."""
    compute_f64: Compute | None = None
    """On f64, if rounding what `compute` gives would round twice."""


def _sum_of_errors(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of `x + y`, `x - y`: the sum."""
    return sum(e[1:], e[0])


def _greatest_error(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of a choice between operands."""
    return reduce(np.maximum, e)


def _product(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of `x * y`, and of `x * y + z`."""
    found = np.abs(x[0]) * e[1] + np.abs(x[1]) * e[0] + e[0] * e[1]
    return sum(e[2:], found)


def _quotient(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of `x / y`; unbounded where the error of y reaches zero."""
    room = np.abs(x[1]) - e[1]
    error = (e[0] + np.abs(x[0] / x[1]) * e[1]) / room
    return np.where((e[0] == 0) & (e[1] == 0), 0.0, np.where(room > 0, error, np.inf))


def _by_slope(slope: float) -> Spread:
    """Of a function whose slope is at most that."""
    return lambda x, e: slope * e[0]


def _by_values(compute: Compute) -> Spread:
    """Of a function that is monotone near x: by its values at x - e and x + e.

    Unbounded where it is not defined there.
    """

    def spread(x: Sequence[Array], e: Sequence[Array]) -> Array:
        here = compute(*x)
        found = np.zeros_like(here)
        for sign in (-1.0, 1.0):
            for position, error in enumerate(e):
                moved = list(x)
                moved[position] = x[position] + sign * error
                change = np.abs(compute(*moved) - here)
                change = np.where(error == 0, 0.0, change)
                found = found + np.where(np.isnan(change), np.inf, change)
        return np.where(np.isnan(here), 0.0, found)

    return spread


def _extreme(
    choose: np.ufunc, is_least: bool, either_zero: bool = False
) -> FloatFunction:
    """Return the function that gives one of two floats; -0 is less than +0 here."""

    def compute(x: Array, y: Array) -> Array:
        zero = np.where(np.signbit(x) == is_least, x, y)
        return np.where((x == 0) & (y == 0), zero, choose(x, y))

    return replace(_chosen(compute), either_zero=either_zero)


def _round_away(x: Array) -> Array:
    """Round to the nearest whole number, and away from zero of two."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole)


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


def _chosen(compute: Compute, spread: Spread = _greatest_error) -> FloatFunction:
    """Return a function that gives an operand, or one with another sign."""
    return FloatFunction(compute, spread, exact=True)


def _whole(compute: Compute) -> FloatFunction:
    """Return a function to whole numbers, whose error is the steps that x's reaches."""

    def spread(x: Sequence[Array], e: Sequence[Array]) -> Array:
        below, above = compute(x[0] - e[0]), compute(x[0] + e[0])
        return np.where(e[0] == 0, 0.0, np.abs(above - below))

    return FloatFunction(compute, spread, exact=True)


def _library(
    compute: Compute, ulps: float = 0.5, spread: Spread | None = None
) -> FloatFunction:
    """Return a function of a mathematical library."""
    spread = spread or _by_values(compute)
    return FloatFunction(compute, spread, wide=True, ulps=ulps)


FLOAT_FUNCTIONS: dict[str, FloatFunction] = {
    "add": FloatFunction(np.add, _sum_of_errors),
    "sub": FloatFunction(np.subtract, _sum_of_errors),
    "mul": FloatFunction(np.multiply, _product),
    "div": FloatFunction(np.divide, _quotient, ulps=2.5),
    "precise_div": FloatFunction(np.divide, _quotient),
    "precise_sqrt": _library(np.sqrt),
    "rem": FloatFunction(np.fmod, _by_values(np.fmod)),
    "fma": FloatFunction(
        fused_multiply_add, _product, wide=True, compute_f64=fused_multiply_add_f64
    ),
    "neg": _chosen(np.negative),
    "abs": _chosen(np.abs),
    "copysign": _chosen(np.copysign, _by_slope(1.0)),
    # NaN if one is.
    "minimum": _extreme(np.minimum, is_least=True),
    "maximum": _extreme(np.maximum, is_least=False),
    # Of a number and a NaN, the number.
    "minnum": _extreme(np.fmin, is_least=True, either_zero=True),
    "maxnum": _extreme(np.fmax, is_least=False, either_zero=True),
    "ceil": _whole(np.ceil),
    "floor": _whole(np.floor),
    "trunc": _whole(np.trunc),
    "roundeven": _whole(np.rint),
    "round": _whole(_round_away),
    "acos": _library(np.arccos, 4),
    "acosh": _library(np.arccosh, 4),
    "asin": _library(np.arcsin, 4),
    "asinh": _library(np.arcsinh, 4),
    "atan": _library(np.arctan, 5),
    "atanh": _library(np.arctanh, 5),
    "atan2": _library(np.arctan2, 6),
    "cbrt": _library(np.cbrt, 2),
    "cos": _library(np.cos, 4, _by_slope(1.0)),
    "cosh": _library(np.cosh, 4),
    "erf": _library(
        np.vectorize(math.erf, otypes=[np.float64]),
        16,
        _by_slope(2 / math.sqrt(math.pi)),
    ),
    "erfc": _library(
        np.vectorize(math.erfc, otypes=[np.float64]),
        16,
        _by_slope(2 / math.sqrt(math.pi)),
    ),
    "exp": _library(np.exp, 3),
    "exp2": _library(np.exp2, 3),
    "expm1": _library(np.expm1, 3),
    "log": _library(np.log, 3),
    "log10": _library(np.log10, 3),
    "log1p": _library(np.log1p, 2),
    "log2": _library(np.log2, 3),
    "powf": _library(np.power, 16),
    "rsqrt": _library(_rsqrt, 2),
    "sin": _library(np.sin, 4, _by_slope(1.0)),
    "sinh": _library(np.sinh, 4),
    "sqrt": _library(np.sqrt, 3),
    "tan": _library(np.tan, 5),
    "tanh": _library(np.tanh, 5),
}


# How numbers are computed: plainly, each with the rounding of its type.
#
# Everything that the simulator does with floats goes through a `Numerics`.  This one
# computes floats as they are; `coopc.sim.tracked` gives each one a bound of its error
# beside it, and overrides what has to know.
#
# A product of matrices of floats is `c`, to which the products of elements are added
# one after the other, by ascending k, in f32 (in f64 if any of the four types is f64),
# and is then rounded to the type of the result.  Products of f16 and of narrower floats
# are exact in f32.

Matrices: TypeAlias = tuple[Array, Array, Array]
"""a, b and c, their last two axes rows and columns."""
Types: TypeAlias = tuple[Attribute, Attribute, Attribute, Attribute]
"""The element types of a, b, c and the result."""


class Numerics:
    """Floats as they are."""

    in_product = False
    """Whether what is multiplied is summed, by `linalg`."""

    def value_dtype(self, type: Attribute) -> DType:
        return value_dtype(type)

    def from_memory(self, array: Array, type: Attribute) -> Array:
        if isinstance(type, CodedType):
            return decoded(array, type.name)
        return array if is_float(type) else wrapped(array, type)

    def to_memory(self, array: Array, type: Attribute) -> Array:
        return _codes(array, type) if isinstance(type, CodedType) else array

    def with_stored_errors(
        self,
        values: Array,
        type: Attribute,
        errors: StoredErrors,
        cells: Array,
        active: Array | None,
    ) -> Array:
        """Return values from memory with the bounds of their errors there.

        `cells` is (..., parts): where the elements are in memory.
        """
        return values

    def errors(self, array: Array, type: Attribute) -> Array | None:
        """Return bounds of the errors of values, as f64; None where there are none."""
        return None

    def plain(self, array: Array, type: Attribute) -> Array:
        """Return values without anything beside them."""
        return array

    def compared(self, x: Array, y: Array, type: Attribute) -> tuple[Array, Array]:
        return self.plain(x, type), self.plain(y, type)

    def given(self, array: Array, type: Attribute) -> Array:
        """Return plain values as values: constants, and what is exact."""
        return array

    def constant(self, value: Any, type: Attribute) -> Array:
        """Return Python numbers as values of a type: rounded, or wrapped around."""
        if is_float(type):
            floats = np.asarray(value, dtype=np.float64)
            return self.given(rounded(floats, type), type)
        bits = (1 << bits_of(type)) - 1
        if isinstance(value, np.generic):
            value = cast("Any", value).item()  # whose width `bits` may not fit
        integers = np.asarray(value, dtype=object) & bits
        return wrapped(np.asarray(integers, dtype=np.uint64), type)

    def poison(self, type: Attribute) -> Array:
        """Return what is read where nothing was written: NaN, or a pattern of bits."""
        value = float("nan") if is_float(type) else 0x5A5A5A5A5A5A5A5A
        return self.constant(value, type)

    def call(self, name: str, type: Attribute, *args: Array) -> Array:
        """Return a function of floats of a type, rounded to it."""
        function = FLOAT_FUNCTIONS[name]
        if function.compute_f64 is not None and isinstance(type, Float64Type):
            return function.compute_f64(*args)
        if function.wide:
            args = tuple(x.astype(np.float64) for x in args)
        found = function.compute(*args)
        if function.exact and not is_scale(type.name):  # which has no sign
            return found.astype(value_dtype(type), copy=False)
        return rounded(found, type)

    def convert(self, array: Array, source: Attribute, result: Attribute) -> Array:
        return rounded(array, result)

    def of_integers(self, array: Array, result: Attribute) -> Array:
        """Return integers, signed or unsigned as their arrays are, as floats."""
        return self.given(rounded_integers(array, result), result)

    def to_integers(
        self, array: Array, source: Attribute, result: Attribute, is_signed: bool
    ) -> Array:
        """Return floats as integers of a type, rounded towards zero."""
        plain = self.plain(array, source)
        return wrapped(truncated(plain, result, is_signed), result)

    def bitcast(self, array: Array, source: Attribute, result: Attribute) -> Array:
        """Return the values of another type of the same width that have these bits."""
        bits = array
        if is_float(source):
            assert isinstance(source, FloatType)
            bits = float_bits(self.plain(array, source), source)
        if is_float(result):
            return self.given(float_of_bits(bits, result), result)
        return wrapped(bits, result)

    def cut(self, array: Array, bits: int) -> Array:
        """Return f32 with so many low bits zero."""
        return (array.view(np.int32) & np.int32(-1 << bits)).view(np.float32)

    def multiply_add(self, matrices: Matrices, types: Types) -> Array:
        """Return `a * b + c` of matrices of floats: see above."""
        wide = any(isinstance(type, Float64Type) for type in types)
        dtype = np.dtype(np.float64 if wide else np.float32)
        a, b, c = (x.astype(dtype, copy=False) for x in matrices)
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
        total = np.empty((*batch, *c.shape[-2:]), dtype)
        total[...] = c
        product = np.empty_like(total)
        for k in range(a.shape[-1]):
            np.multiply(a[..., :, k, None], b[..., None, k, :], out=product)
            total += product
        return rounded(total, types[3])

    def product(
        self, result: Array, matrices: Matrices, types: Types, least: float = 0.0
    ) -> Array:
        """Return a product that hardware sums in a way of its own, given its result.

        What is smaller than `least`, of operands, products or sums, may count as zero.
        """
        return result
