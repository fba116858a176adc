"""Laws of float literals, with numpy as the other opinion on what they are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coopc.rounding import FORMATS, FloatFormat
from coopc.spirv.instruction import float_text


@st.composite
def encodings(draw: st.DrawFn) -> tuple[int, FloatFormat]:
    # SPIR-V has no floats of an exponent alone.
    forms = [form for form in FORMATS.values() if form.fraction_bits]
    form = draw(st.sampled_from(forms))
    return draw(st.integers(0, (1 << form.bits) - 1)), form


@given(encodings())
def test_decimal_text_is_the_value(encoding: tuple[int, FloatFormat]):
    """What f32 makes of the text of shorter floats is what they are."""
    bits, form = encoding
    word = float_text(bits, form)
    if "x" not in word:
        kind = {"f16": np.float16, "f64": np.float64}.get(form.name, np.float32)
        above = 16 if form.name == "bf16" else 0
        value = np.array(bits << above, f"u{kind().itemsize}").view(kind)
        if form.bits <= 8:
            value = np.float32(form.decode(bits))
        read = np.float64 if form.bits == 64 else np.float32
        assert read(word) == value
