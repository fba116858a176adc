"""Attributes of layouts hold the layouts; kernels get distributions from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.layout_attributes import attribute_of
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, StringAttr, f16, i8, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser

from coopc.dialects import layout
from coopc.dialects.coopmatrix.elements import distribution_of
from coopc.dialects.coopmatrix.types import MatrixType, Use
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.distribution import Distribution, RowSlices
from coopc.layout.dpas import DpasEncoding
from coopc.layout.family import CoopmatrixFamily, DpasFamily, RowSliceFamily, Rule
from coopc.layout.linear import LinearLayout
from coopc.layout.strided import StridedLayout

SIZES = st.integers(1, 40)
LANES = st.sampled_from([4, 8, 16, 32])


def parse(text: str) -> Attribute:
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(layout.Layout)
    return Parser(ctx, text).parse_attribute()


coopmatrices = st.builds(
    CoopmatrixLayout.of,
    SIZES,
    SIZES,
    st.sampled_from([8, 16, 32]),
    st.sampled_from(["a", "b", "acc"]),
    LANES,
)


def linear(columns: list[int], cut: int) -> LinearLayout:
    return LinearLayout(
        (("register", tuple(columns[:cut])), ("lane", tuple(columns[cut:]))),
        (("dim0", 2), ("dim1", 3)),
    )


digits = st.lists(
    st.tuples(st.integers(1, 9), st.tuples(st.integers(0, 9), st.integers(0, 9))),
    max_size=3,
)
strideds = st.builds(
    StridedLayout.of,
    st.fixed_dictionaries({"lane": digits, "component": digits}),
    st.fixed_dictionaries({"row": SIZES, "col": SIZES}),
)
linears = st.builds(linear, st.lists(st.integers(0, 31), max_size=6), st.integers(0, 6))
rules = st.one_of(
    st.sampled_from([CoopmatrixFamily(), RowSliceFamily()]),
    st.builds(
        DpasFamily, st.sampled_from([1, 2, 4, 8]), st.sampled_from([None, 8, 16])
    ),
    coopmatrices,
    st.builds(RowSlices, SIZES, SIZES, LANES),
    linears,
    strideds,
)


@given(rules)
def test_text_is_the_value(rule: Rule) -> None:
    attr = attribute_of(rule)
    again = parse(str(attr))
    assert again == attr
    assert layout.rule_in(again) == rule


def test_what_is_no_layout() -> None:
    assert layout.rule_in(StringAttr("coopmatrix")) is None
    assert layout.rule_in(i8) is None


A = MatrixType.of(16, 16, f16, Use.A)


@pytest.mark.parametrize(
    ("text", "type", "found"),
    [
        ("#layout.coopmatrix", A, CoopmatrixLayout(16, 16, 16, 2)),
        (
            "#layout.coopmatrix",
            MatrixType.of(32, 2, i8, Use.B),
            CoopmatrixLayout(32, 2, 16, 1, 2),
        ),
        ("#layout.row_slice", MatrixType.of(7, 9, i64, Use.NONE), RowSlices(7, 9, 16)),
        ("#layout.row_slice<16x16, lanes = 16>", A, RowSlices(16, 16, 16)),
        (
            "#layout.dpas",
            MatrixType.of(8, 16, f16, Use.A),
            DpasEncoding.of(16, 16).distribution("a", 8, 16),
        ),
    ],
)
def test_distribution_of(text: str, type: MatrixType, found: Distribution) -> None:
    assert distribution_of(parse(text), type, 16) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"coopmatrix"', 'expected a distribution .* got "coopmatrix"'),
        ("#layout.row_slice<4x4, lanes = 16>", "matrix of 4 x 4, .* got 16 x 16"),
        ("#layout.row_slice<16x16, lanes = 8>", "expected 8 lanes, .* got 16"),
    ],
)
def test_distribution_of_refuses(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        distribution_of(parse(text), A, 16)
