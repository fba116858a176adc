"""The bits of floats as text that spirv-as reads back.

Text is decimal where that is exact and hexadecimal where it is not: infinities and NaNs
are written as the exponent after the largest, `0x1.8p+128`.

| value       | binary32   | text          |
|-------------|------------|---------------|
| 1.0         | 0x3f800000 | 1             |
| -0.0        | 0x80000000 | -0            |
| infinity    | 0x7f800000 | 0x1p+128      |
| quiet NaN   | 0x7fc00000 | 0x1.8p+128    |
| 2**-149     | 0x00000001 | 0x1p-149      |

Law: what spirv-as makes of `float_text(bits)` is `bits`.
"""

from coopc.rounding import FORMATS, FloatFormat


def float_text(bits: int, form: FloatFormat) -> str:
    """The text of a float literal, which reads back as exactly these bits.

    >>> f16 = FORMATS["f16"]
    >>> float_text(0x7E00, f16), float_text(0x3E00, f16), float_text(0x0001, f16)
    ('0x1.8p+16', '1.5', '0x1p-24')
    """
    fraction_bits = form.fraction_bits
    minus = "-" if bits >> (form.bits - 1) else ""
    magnitude = bits & ((1 << (form.bits - 1)) - 1)
    exponent, mantissa = divmod(magnitude, 1 << fraction_bits)
    if exponent == 0 or magnitude > form.greatest_code:
        return minus + _hex_text(exponent, mantissa, form)
    value = form.decode(magnitude)
    if form.bits == 64:
        return minus + repr(value).removesuffix(".0")
    # spirv-as reads shorter floats as binary32 and cuts off, so the text is exact there
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if FORMATS["f32"].round(float(text)) == value:
            return minus + text
    raise AssertionError(f"no decimal text for {bits:#x}")


def _hex_text(exponent: int, mantissa: int, form: FloatFormat) -> str:
    """Zero, denormal, infinity and NaN, without the sign."""
    if exponent == 0:
        if mantissa == 0:
            return "0"
        power = form.min_exponent - form.fraction_bits + mantissa.bit_length() - 1
        fraction = mantissa ^ (1 << (mantissa.bit_length() - 1))
        fraction_bits = mantissa.bit_length() - 1
    else:
        power = form.max_exponent + form.has_infinity
        fraction, fraction_bits = mantissa, form.fraction_bits
    digits = -(-fraction_bits // 4)
    shifted = fraction << (digits * 4 - fraction_bits)
    text = f".{shifted:0{digits}x}".rstrip("0").rstrip(".") if digits else ""
    return f"0x1{text}p{power:+d}"
