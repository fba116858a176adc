"""Laws of number literals, with numpy as the other opinion on rounding."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.rounding import FORMATS, FloatFormat
from coopc.spirv.literal import decode_float, encode_float, encode_int, float_text

F16, BF16, F32 = (FORMATS[name] for name in ("f16", "bf16", "f32"))


@st.composite
def encodings(draw: st.DrawFn) -> tuple[int, FloatFormat]:
    form = draw(st.sampled_from(list(FORMATS.values())))
    return draw(st.integers(0, (1 << form.bits) - 1)), form


@given(encodings())
def test_encode_inverts_decode(encoding: tuple[int, FloatFormat]):
    bits, form = encoding
    assert encode_float(decode_float(bits, form), form) == bits


@pytest.mark.parametrize("form", [F16, BF16])
def test_encode_inverts_decode_for_all_of_16_bits(form: FloatFormat):
    for bits in range(1 << 16):
        assert encode_float(decode_float(bits, form), form) == bits


@given(st.floats(allow_nan=False, width=64))
def test_f16_and_f32_round_as_numpy(value: float):
    for form, kind, word in (
        (F16, np.float16, np.uint16),
        (F32, np.float32, np.uint32),
    ):
        with np.errstate(over="ignore"):
            rounded = kind(value)
        if np.isinf(rounded) and math.isfinite(value):
            with pytest.raises(ValueError, match=f"finite float of {form.bits} bits"):
                encode_float(value, form)
        else:
            assert encode_float(value, form) == int(rounded.view(word))


@given(st.floats(allow_nan=False, width=32))
def test_bf16_is_the_upper_half_of_f32_rounded_to_even(value: float):
    single: int = struct.unpack("<I", struct.pack("<f", value))[0]
    upper = (single + 0x7FFF + (single >> 16 & 1)) >> 16
    if upper & 0x7FFF == 0x7F80 and math.isfinite(value):
        with pytest.raises(ValueError, match="finite float of 16 bits"):
            encode_float(value, BF16)
    else:
        assert encode_float(value, BF16) == upper


@given(encodings())
def test_decimal_text_is_the_value(encoding: tuple[int, FloatFormat]):
    bits, form = encoding
    word = float_text(bits, form)
    if "x" not in word:
        assert encode_float(float(word), form) == bits


@given(st.integers(1, 64), st.booleans(), st.integers(-(1 << 65), 1 << 65))
def test_integers_wrap_within_their_width(bits: int, signed: bool, value: int):
    high = 1 << (bits - signed)
    if -(1 << (bits - 1)) <= value < high:
        assert encode_int(value, bits, signed) == value % (1 << bits)
    else:
        with pytest.raises(ValueError, match=f"for {bits} bits, got"):
            encode_int(value, bits, signed)
