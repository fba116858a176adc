"""Laws of `coopc.dialects.tt.types`, and that encodings are values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerAttr, IntegerType, TensorType, f16, f32, i32
from xdsl.ir import Attribute
from xdsl.parser import Parser

from coopc.compiler import new_context
from coopc.dialects import encodings
from coopc.dialects.tt.types import (
    ModuleFacts,
    dpas_of,
    encoding_in,
    encoding_of,
    layout_of,
    reshaped,
    transposed,
    wrong_layout,
)
from coopc.layout.dpas import DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import (
    BlockedEncoding,
    Encoding,
    LinearEncoding,
    SliceEncoding,
)
from coopc.layout.linear import LinearLayout
from coopc.universe import everything

CONTEXT = new_context(everything())
SIZES = st.sampled_from([1, 2, 4])


def parse_attribute(text: str) -> Attribute:
    return Parser(CONTEXT, text).parse_attribute()


@st.composite
def blocked(draw: st.DrawFn, rank: int = 2) -> BlockedEncoding:
    grids = [tuple(draw(SIZES) for _ in range(rank)) for _ in range(3)]
    order = tuple(draw(st.permutations(range(rank))))
    return BlockedEncoding(*grids, order=order)


@st.composite
def dpas(draw: st.DrawFn) -> DpasEncoding:
    rank = draw(st.sampled_from([2, 3]))
    return DpasEncoding(
        8,
        8,
        16,
        draw(SIZES),
        draw(st.sampled_from([16, 32])),
        tuple(draw(SIZES) for _ in range(rank)),
        tuple(draw(SIZES) for _ in range(rank)),
    )


@st.composite
def dot_operand(draw: st.DrawFn) -> DotOperandEncoding:
    parent, index = draw(dpas()), draw(st.sampled_from([0, 1]))
    ops = parent.ops_per_chan
    return DotOperandEncoding(index, parent, ops if index else max(1, ops // 2))


@st.composite
def linear(draw: st.DrawFn) -> LinearEncoding:
    layout = draw(blocked()).linear((4, 8))
    return LinearEncoding.of(
        *(layout.bases(name) for name in ("register", "lane", "warp", "block"))
    )


BASE = st.one_of(blocked(), blocked(3), dpas(), dot_operand(), linear())
ENCODINGS: st.SearchStrategy[Encoding] = st.one_of(
    BASE,
    BASE.map(lambda parent: SliceEncoding(0, parent)),
    BASE.map(lambda parent: SliceEncoding(parent.rank - 1, parent)),
)


@given(ENCODINGS)
def test_attributes_are_values(encoding: Encoding) -> None:
    """What is printed is read as an equal attribute, around an equal encoding."""
    attr = encodings.attribute_of(encoding)
    again = parse_attribute(str(attr))
    assert again == attr
    assert hash(again) == hash(attr)
    assert encoding_in(again) == encoding
    assert isinstance(again, encodings.EncodingAttr)
    shape = (4, 8, 16)[: encoding.rank]
    assert again.layout(shape) == encoding.linear(shape)


@given(ENCODINGS, st.sampled_from([f16, f32, i32]))
def test_layout_of_a_type(encoding: Encoding, element: Attribute) -> None:
    shape = (16, 8, 4)[: encoding.rank]
    type = TensorType(element, shape, encodings.attribute_of(encoding))
    assert encoding_of(type) == encoding
    assert layout_of(type) == encoding.linear(shape)


@pytest.mark.parametrize(
    "type",
    [f32, TensorType(f32, [8]), TensorType(f32, [8], IntegerAttr(1, IntegerType(8)))],
    ids=str,
)
def test_types_without_a_layout(type: Attribute) -> None:
    assert encoding_of(type) is None
    with pytest.raises(ValueError, match="expected a tensor with an encoding, got"):
        layout_of(type)


@given(dpas())
def test_dpas_of(encoding: DpasEncoding) -> None:
    shape = (8, 16, 32)[-encoding.rank :]
    width = max(1, encoding.ops_per_chan // 2)
    a = encodings.attribute_of(DotOperandEncoding(0, encoding, width))
    c = encodings.attribute_of(encoding)
    sliced = encodings.attribute_of(SliceEncoding(0, encoding))
    assert dpas_of(TensorType(f16, shape, a)) == encoding
    assert dpas_of(TensorType(f16, shape, c)) == encoding
    assert dpas_of(TensorType(f16, shape[1:], sliced)) is None


@given(ENCODINGS)
def test_agree(encoding: Encoding) -> None:
    """An encoding that contradicts the module is refused, with both numbers."""
    shape = (16, 8, 4)[: encoding.rank]
    type = TensorType(f16, shape, encodings.attribute_of(encoding))
    sizes = encoding.linear(shape).in_sizes
    lanes, warps = sizes["lane"], sizes["warp"]
    assert wrong_layout(type, ModuleFacts(warps, lanes, 1, True)) is None
    assert wrong_layout(type, ModuleFacts(None, lanes, 1, True)) is None
    for facts, numbers in (
        (ModuleFacts(warps, 2 * lanes, 1, True), (2 * lanes, lanes)),
        (ModuleFacts(2 * warps, lanes, 1, True), (2 * warps, warps)),
        (ModuleFacts(warps, lanes, 2, True), (2, 1)),
    ):
        reason = wrong_layout(type, facts)
        assert reason is not None
        wanted, found = numbers
        assert reason.startswith(f"expected {wanted} ")
        assert f" {found} in #" in reason


def indices(layout: LinearLayout, shape: tuple[int, ...]) -> np.ndarray:
    """Return for every place the row-major index of the element that it holds."""
    table = layout.table()
    coordinates = tuple(table[name] for name in layout.out_names)
    return np.arange(np.prod(shape)).reshape(shape)[coordinates]


@given(blocked(3), st.permutations(range(3)))
def test_views_transposed(encoding: BlockedEncoding, order: list[int]) -> None:
    shape = (4, 8, 16)
    layout = encoding.linear(shape)
    found = transposed(layout, order)
    target = tuple(shape[dim] for dim in order)
    elements = np.arange(4 * 8 * 16).reshape(shape).transpose(order)
    coordinates = found.table()
    held = elements[tuple(coordinates[name] for name in found.out_names)]
    assert tuple(found.out_sizes.values()) == target
    np.testing.assert_array_equal(held, indices(layout, shape))


@given(
    blocked(), st.sampled_from([(128,), (2, 64), (16, 8), (4, 2, 16), (1, 8, 16, 1)])
)
def test_views_reshaped(encoding: BlockedEncoding, target: tuple[int, ...]) -> None:
    shape = (8, 16)
    layout = encoding.linear(shape)
    found = reshaped(layout, target)
    assert tuple(found.out_sizes.values()) == target
    np.testing.assert_array_equal(indices(found, target), indices(layout, shape))
