"""Rounding of numbers to the formats that matrices hold, exactly and one at a time.

A binary format keeps `fraction_bits` behind the leading one; its least normal exponent
is `min_exponent`, its greatest `max_exponent`.  A number x rounds to the nearest
multiple of 2^(max(e, min_exponent) - fraction_bits), e its exponent, and to the even
one of two.  What is greater than any finite number of the format becomes an infinity,
or NaN in a format without infinities, as of `arith.truncf` in MLIR: only a format that
has neither saturates.

    format    fraction_bits  min_exponent  max_exponent
    f4E2M1FN   1             0             2, numbers alone: `FiniteFormat`
    f8E4M3FN   3             -6            8, no infinities: the last code is NaN
    f8E5M2     2             -14           15
    f8E8M0FNU  0             -127          127, powers of two: `ScaleFormat`
    f16       10             -14           15
    bf16       7             -126          127
    f32       23             -126          127
    f64       52             -1022         1023

Laws (test/unit/test_rounding.py): idempotent, monotone, and as numpy rounds.
"""

from dataclasses import dataclass
from math import copysign, frexp, inf, isfinite, isnan, ldexp, nan
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating-point format of IEEE 754's kind.

    >>> FORMATS["f16"].round(65519.0), FORMATS["f16"].round(65520.0)
    (65504.0, inf)
    >>> FORMATS["bf16"].round(1 + 2**-8)
    1.0
    >>> FORMATS["f8E4M3FN"].round(464.0), FORMATS["f8E4M3FN"].round(465.0)
    (448.0, nan)
    """

    name: str
    bits: int
    """Width in memory."""
    fraction_bits: int
    """Behind the leading one, which is not stored."""
    min_exponent: int
    """Of the least normal number."""
    max_exponent: int
    has_infinity: bool = True
    """Whether the greatest exponent stands for infinities and NaN; else it stands for
    numbers, and its last code for NaN."""

    @property
    def greatest_code(self) -> int:
        """The bits of the greatest finite number; the next are of `overflow`."""
        last = (1 << (self.bits - 1)) - 1
        return last - (1 << self.fraction_bits if self.has_infinity else 1)

    @property
    def greatest(self) -> float:
        """The greatest finite number."""
        return self.decode(self.greatest_code)

    @property
    def overflow(self) -> float:
        """What greater numbers become."""
        return inf if self.has_infinity else nan

    @property
    def epsilon(self) -> float:
        """Half a unit in the last place of 1: the greatest relative rounding error."""
        return ldexp(1.0, -self.fraction_bits - 1)

    def round(self, value: float) -> float:
        """Return the number of this format nearest to `value`, the even one of two.

        Zeros and NaN stay as they are, and infinities where there are any.  An `int` is
        rounded once, however many bits it has.
        """
        if isinstance(value, int):
            value = float(value if self.bits == 64 else odd_float(value))
        if value == 0 or isnan(value) or self.bits == 64:
            return value
        if abs(value) >= 2 * self.greatest:
            return copysign(self.overflow, value)
        exponent = max(frexp(value)[1] - 1, self.min_exponent) - self.fraction_bits
        near = copysign(ldexp(round(ldexp(value, -exponent)), exponent), value)
        return near if abs(near) <= self.greatest else copysign(self.overflow, value)

    def encode(self, value: float) -> int:
        """Return the bits of the number nearest to `value`; of NaN, a quiet one's.

        >>> hex(FORMATS["f16"].encode(1.5)), hex(FORMATS["f8E4M3FN"].encode(-448.0))
        ('0x3e00', '0xfe')
        """
        value, special = self.round(value), self.greatest_code + 1
        if value == 0:
            code = 0
        elif isnan(value):
            code = special + (1 << self.fraction_bits - 1) * self.has_infinity
        elif not isfinite(value):
            code = special
        else:
            exponent = max(frexp(value)[1] - 1, self.min_exponent)
            code = int(ldexp(abs(value), self.fraction_bits - exponent))
            code += exponent - self.min_exponent << self.fraction_bits
        return code | (copysign(1.0, value) < 0) << (self.bits - 1)

    def decode(self, bits: int) -> float:
        """Return the number that has these bits."""
        sign, code = divmod(bits, 1 << (self.bits - 1))
        exponent, units = divmod(code, 1 << self.fraction_bits)
        if code > self.greatest_code:
            found = self.overflow if code == self.greatest_code + 1 else nan
        elif exponent:
            units += 1 << self.fraction_bits
            found = ldexp(units, exponent - 1 + self.min_exponent - self.fraction_bits)
        else:
            found = ldexp(units, self.min_exponent - self.fraction_bits)
        return -found if sign else found


@dataclass(frozen=True, slots=True)
class FiniteFormat(FloatFormat):
    """A format without infinities and NaN, which saturates, as MX asks of elements.

    MX leaves open what NaN becomes.  Here it is the greatest number, as it is where
    MLIR expands `arith.truncf`.

    >>> [FORMATS["f4E2M1FN"].round(x) for x in (0.25, 5.0, -9.0, nan)]
    [0.0, 4.0, -6.0, 6.0]
    """

    @property
    def greatest_code(self) -> int:
        return (1 << (self.bits - 1)) - 1

    def round(self, value: float) -> float:
        if isnan(value):
            return self.greatest
        clamped = max(-self.greatest, min(self.greatest, value))
        return FloatFormat.round(self, clamped)


@dataclass(frozen=True, slots=True)
class ScaleFormat(FloatFormat):
    """Powers of two, without a sign, zero or infinities: scales of MX formats.

    Of two that are as near it rounds to the greater, as both are one unit; zeros become
    the least, negative numbers and what is too great NaN.

    >>> [FORMATS["f8E8M0FNU"].round(x) for x in (1.4, 1.5, 0.0, -1.0)]
    [1.0, 2.0, 5.877471754111438e-39, nan]
    """

    @property
    def greatest_code(self) -> int:
        return (1 << self.bits) - 2

    def round(self, value: float) -> float:
        if isinstance(value, int):
            value = float(odd_float(value))
        if not isfinite(value) or value < 0:
            return nan
        half, exponent = frexp(value)
        exponent = max(exponent - (half < 0.75), self.min_exponent) if value else -127
        return ldexp(1.0, exponent) if exponent <= self.max_exponent else nan

    def encode(self, value: float) -> int:
        value = self.round(value)
        if isnan(value):
            return self.greatest_code + 1
        return frexp(value)[1] - 1 - self.min_exponent

    def decode(self, bits: int) -> float:
        return (
            ldexp(1.0, bits + self.min_exponent) if bits <= self.greatest_code else nan
        )


def odd_float(value: int) -> int:
    """Return an integer of 53 bits, a float, that a narrower format rounds as `value`.

    The last bit also stands for those that are cut: it makes no tie, and breaks none.

    >>> odd_float(2**60 + 1) - 2**60
    256
    """
    excess = value.bit_length() - 53
    if excess <= 0:
        return value
    sticky = value & ((1 << excess) - 1) != 0
    return (value >> excess | sticky) << excess


FORMATS = {
    format.name: format
    for format in (
        FiniteFormat("f4E2M1FN", 4, 1, 0, 2, has_infinity=False),
        FloatFormat("f8E4M3FN", 8, 3, -6, 8, has_infinity=False),
        FloatFormat("f8E5M2", 8, 2, -14, 15),
        ScaleFormat("f8E8M0FNU", 8, 0, -127, 127, has_infinity=False),
        FloatFormat("f16", 16, 10, -14, 15),
        FloatFormat("bf16", 16, 7, -126, 127),
        FloatFormat("f32", 32, 23, -126, 127),
        FloatFormat("f64", 64, 52, -1022, 1023),
    )
}


PrecisionName: TypeAlias = Literal["ieee", "tf32", "bf16x3", "f16x3", "bf16", "f16"]
"""As what matrices of f32 are multiplied; ieee is f32 itself."""


@dataclass(frozen=True, slots=True)
class SplitPrecision:
    """A way to multiply f32 by parts in a narrower format, summed in f32."""

    format: str
    """Of the parts."""
    bits: int
    """Significant bits of a part."""
    error: float
    """Of a product, at most, in units of |a| |b|."""
    least: float
    """What is smaller, of operands, may count as zero."""
    parts: int = 1
    """Of an operand: with two, x = hi + lo, and of the four products lo * lo is left
    out."""
    shift: int = 0
    """The second part is in units of 2^-shift."""


PRECISIONS: dict[str, SplitPrecision] = {
    "bf16x3": SplitPrecision("bf16", 8, 2.0**-15, 2.0**-126, 2),
    "f16x3": SplitPrecision("f16", 11, 2.0**-20, 2.0**-36, 2, shift=11),
    "bf16": SplitPrecision("bf16", 8, 2.0**-7 + 2.0**-16, 2.0**-126),
    "f16": SplitPrecision("f16", 11, 2.0**-10 + 2.0**-22, 2.0**-25),
    "tf32": SplitPrecision("tf32", 11, 2.0**-9 + 2.0**-20, 2.0**-126),
}
"""But for ieee.

One rounding to p bits is off by 2^-p |x| at most, a product of two by 2^(1-p) + 2^-2p;
tf32 drops 13 bits of f32, which is twice that.  Of two roundings to nearest, |lo| is at
most 2^-p |x| and what is left of x at most 2^-(2p+1) |x|: lo * lo and the rest of
either operand are 2^-2p + 2 * 2^-(2p+1) = 2^(1-2p) of a product: 2^-15 of bf16, and
2^-21 of f16."""


def wrap(value: int, bits: int, signed: bool) -> int:
    """Return the integer of `bits` bits that `value` wraps around to.

    >>> wrap(200, 8, signed=True), wrap(-1, 8, signed=False)
    (-56, 255)
    """
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def is_scale(name: str) -> bool:
    """Whether a format has powers of two only."""
    return isinstance(FORMATS.get(name), ScaleFormat)
