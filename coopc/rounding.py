"""Rounding of numbers to the formats that matrices hold, exactly and one at a time.

A binary format keeps `fraction_bits` behind the leading one; its least normal exponent
is `min_exponent`, its greatest `max_exponent`.  A number x rounds to the nearest
multiple of 2^(max(e, min_exponent) - fraction_bits), e its exponent, and to the even
one of two; what is greater than any finite number of the format becomes an infinity.

    format  fraction_bits  min_exponent  max_exponent
    f16     10             -14           15
    bf16     7             -126          127
    f32     23             -126          127
    f64     52             -1022         1023

Laws (test/unit/test_rounding.py): idempotent, monotone, and as numpy rounds.
"""

from dataclasses import dataclass
from math import frexp, inf, isfinite, ldexp


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating-point format of IEEE 754's kind.

    >>> FORMATS["f16"].round(65519.0), FORMATS["f16"].round(65520.0)
    (65504.0, inf)
    >>> FORMATS["bf16"].round(1 + 2**-8)
    1.0
    """

    name: str
    bits: int
    """Width in memory."""
    fraction_bits: int
    """Behind the leading one, which is not stored."""
    min_exponent: int
    """Of the least normal number."""
    max_exponent: int

    @property
    def greatest(self) -> float:
        """The greatest finite number."""
        return ldexp(2.0 - ldexp(1.0, -self.fraction_bits), self.max_exponent)

    @property
    def epsilon(self) -> float:
        """Half a unit in the last place of 1: the greatest relative rounding error."""
        return ldexp(1.0, -self.fraction_bits - 1)

    def round(self, value: float) -> float:
        """Return the number of this format nearest to `value`, the even one of two.

        Zeros, infinities and NaN stay as they are.  An `int` is rounded once, however
        many bits it has.
        """
        if isinstance(value, int):
            value = float(value if self.bits == 64 else odd_float(value))
        if value == 0 or not isfinite(value) or self.bits == 64:
            return value
        if abs(value) >= 2 * self.greatest:
            return inf if value > 0 else -inf
        exponent = max(frexp(value)[1] - 1, self.min_exponent) - self.fraction_bits
        units = round(ldexp(value, -exponent))
        if units == 0:
            return 0.0 if value > 0 else -0.0
        if units.bit_length() + exponent > self.max_exponent + 1:
            return inf if value > 0 else -inf
        return ldexp(units, exponent)


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
        FloatFormat("f16", 16, 10, -14, 15),
        FloatFormat("bf16", 16, 7, -126, 127),
        FloatFormat("f32", 32, 23, -126, 127),
        FloatFormat("f64", 64, 52, -1022, 1023),
    )
}


def wrap(value: int, bits: int, signed: bool) -> int:
    """Return the integer of `bits` bits that `value` wraps around to.

    >>> wrap(200, 8, signed=True), wrap(-1, 8, signed=False)
    (-56, 255)
    """
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value
