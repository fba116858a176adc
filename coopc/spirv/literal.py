"""Numbers as the bits of SPIR-V literals, and the text that spirv-as reads back.

Floats are rounded to nearest, ties to even, as IEEE 754 says; the bits of a NaN that
fit are kept.  Text is decimal where that is exact and hexadecimal where it is not:
infinities and NaNs are written as the exponent after the largest, `0x1.8p+128`.

| value       | binary32   | text          |
|-------------|------------|---------------|
| 1.0         | 0x3f800000 | 1             |
| -0.0        | 0x80000000 | -0            |
| infinity    | 0x7f800000 | 0x1p+128      |
| quiet NaN   | 0x7fc00000 | 0x1.8p+128    |
| 2**-149     | 0x00000001 | 0x1p-149      |

Laws: `decode_float(encode_float(x)) == x` for each x that the format holds, and what
spirv-as makes of `float_text(bits)` is `bits`.
"""

import math
import struct

from coopc.rounding import FORMATS, FloatFormat


def encode_int(value: int, bits: int, signed: bool) -> int:
    """The two's complement bits of an integer of a type of that width.

    A type without sign (OpTypeInt N 0) takes both -1 and 2**N - 1.

    Raises:
        ValueError: the value does not fit.

    >>> hex(encode_int(-1, 8, signed=True))
    '0xff'
    """
    high = 1 << (bits - 1 if signed else bits)
    low = -(1 << (bits - 1))
    if not low <= value < high:
        raise ValueError(
            f"expected an integer from {low} to {high - 1} for {bits} bits, got {value}"
        )
    return value & ((1 << bits) - 1)


def encode_float(value: float, form: FloatFormat) -> int:
    """The bits of a float, rounded to nearest even.

    Raises:
        ValueError: a finite value rounds to infinity.

    >>> hex(encode_float(1.0, FORMATS["bf16"]))
    '0x3f80'
    """
    rounded = form.round(value)
    if math.isinf(rounded) and not math.isinf(value):
        raise ValueError(f"expected a finite float of {form.bits} bits, got {value}")
    wide: int = struct.unpack("<Q", struct.pack("<d", rounded))[0]
    sign = wide >> 63 << (form.bits - 1)
    if math.isnan(value):
        payload = (wide & ((1 << 52) - 1)) >> (52 - form.fraction_bits)
        return sign | _infinity(form) | (payload or 1 << (form.fraction_bits - 1))
    if math.isinf(value):
        return sign | _infinity(form)
    if rounded == 0:
        return sign
    _, exponent = math.frexp(rounded)  # rounded = m * 2**exponent, 1/2 <= |m| < 1
    scale = max(exponent - 1, form.min_exponent)
    # The leading one of a normal number adds one to the exponent field.
    units = int(math.ldexp(abs(rounded), form.fraction_bits - scale))
    return sign | units + ((scale - form.min_exponent) << form.fraction_bits)


def decode_float(bits: int, form: FloatFormat) -> float:
    """The value of the bits, exact.

    >>> decode_float(0x3C00, FORMATS["f16"])
    1.0
    """
    sign, exponent, mantissa = _split(bits, form)
    if exponent == _infinity(form) >> form.fraction_bits:
        size = mantissa << (52 - form.fraction_bits) | 0x7FF << 52
        wide: float = struct.unpack("<d", struct.pack("<Q", size | sign << 63))[0]
        return wide
    leading = mantissa | (1 << form.fraction_bits if exponent else 0)
    scale = max(exponent, 1) - form.max_exponent - form.fraction_bits
    return math.copysign(math.ldexp(leading, scale), -1 if sign else 1)


def float_text(bits: int, form: FloatFormat) -> str:
    """The text of a float literal, which reads back as exactly these bits.

    >>> f16 = FORMATS["f16"]
    >>> float_text(0x7E00, f16), float_text(0x3E00, f16), float_text(0x0001, f16)
    ('0x1.8p+16', '1.5', '0x1p-24')
    """
    sign, exponent, mantissa = _split(bits, form)
    minus = "-" if sign else ""
    if exponent in (0, _infinity(form) >> form.fraction_bits):
        return minus + _hex_text(exponent, mantissa, form)
    value = abs(decode_float(bits, form))
    if form.bits == 64:
        return minus + repr(value).removesuffix(".0")
    # spirv-as reads 16-bit floats as binary32 and cuts off, so the text is exact there
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if FORMATS["f32"].round(float(text)) == value:
            return minus + text
    raise AssertionError(f"no decimal text for {bits:#x}")


def _infinity(form: FloatFormat) -> int:
    return (1 << (form.bits - 1)) - (1 << form.fraction_bits)


def _split(bits: int, form: FloatFormat) -> tuple[int, int, int]:
    """Sign, exponent and mantissa fields."""
    magnitude = bits & ((1 << (form.bits - 1)) - 1)
    mantissa = magnitude & ((1 << form.fraction_bits) - 1)
    return bits >> (form.bits - 1), magnitude >> form.fraction_bits, mantissa


def _hex_text(exponent: int, mantissa: int, form: FloatFormat) -> str:
    """Zero, denormal, infinity and NaN, without the sign."""
    if exponent == 0:
        if mantissa == 0:
            return "0"
        power = form.min_exponent - form.fraction_bits + mantissa.bit_length() - 1
        fraction = mantissa ^ (1 << (mantissa.bit_length() - 1))
        fraction_bits = mantissa.bit_length() - 1
    else:
        power = form.max_exponent + 1
        fraction, fraction_bits = mantissa, form.fraction_bits
    digits = -(-fraction_bits // 4)
    shifted = fraction << (digits * 4 - fraction_bits)
    text = f".{shifted:0{digits}x}".rstrip("0").rstrip(".") if digits else ""
    return f"0x1{text}p{power:+d}"
