"""split-coopmatrix: which of the shapes that a device offers are taken, and when."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f16

from coopc.device import (
    DEVICES,
    LAVAPIPE,
    Device,
    MatrixShape,
)
from coopc.dialects import coopmatrix
from coopc.passes.coopmatrix.supported_tiles import Product, SupportedTiles


@st.composite
def products(draw: st.DrawFn) -> tuple[Device, Product]:
    """A product of types that a device multiplies, of sizes that may not divide."""
    device = draw(st.sampled_from([x for x in DEVICES.values() if x.matrix_shapes]))
    shapes = [x for x in device.matrix_shapes if x.c == x.result]
    shape = draw(st.sampled_from(shapes))
    sizes = (
        draw(st.sampled_from([1, 2, 3, 4])) * draw(st.sampled_from([size, 1, 4, 8]))
        for size in (shape.m, shape.n, shape.k)
    )
    m, n, k = sizes
    return device, Product(m, n, k, shape.elements)


@given(products())
def test_the_best_offer_takes_the_fewest_multiplications(case: tuple[Device, Product]):
    device, product = case
    counts = {
        product.m // x.m * (product.n // x.n) * (product.k // x.k)
        for x in device.multiplications(*product.elements)
        if product.divides_into(x)
    }
    offers = SupportedTiles(device).product(product)
    assert bool(offers) == bool(counts)
    if offers:
        best = offers[0]
        volume = product.m * product.n * product.k
        assert volume // (best.m * best.n * best.k) == min(counts)


def saturating(a: str, b: str, c: str, result: str) -> Device:
    shape = MatrixShape(8, 8, 8, a, b, c, result, saturating=True)
    return replace(LAVAPIPE, matrix_shapes=(shape,))


@pytest.mark.parametrize(
    ("types", "k", "cut"),
    [
        (("u8", "u8", "u32", "u32"), 16, True),
        (("u8", "u8", "s32", "s32"), 16, True),
        (("s8", "u8", "s32", "s32"), 8, True),
        (("s8", "u8", "s32", "s32"), 16, False),
        (("u8", "s8", "s32", "s32"), 16, False),
        (("u8", "u8", "u32", "u16"), 8, True),
        (("u8", "u8", "u32", "u16"), 16, False),
    ],
)
def test_a_saturating_sum_is_cut_only_where_all_products_are_positive(
    types: tuple[str, str, str, str], k: int, cut: bool
):
    offers = SupportedTiles(saturating(*types))
    product = Product(8, 8, k, types, saturating=True)
    assert bool(offers.product(product)) == cut
    if not cut:
        assert "several steps along K, and it would saturate at each" in (
            offers.why_no_product(product)
        )


def test_the_sums_between_steps_are_of_the_wider_type():
    """f32 -> f16 in two steps needs f32 -> f32 too, which dg2 and not lavapipe has."""
    mixed = MatrixShape(8, 8, 8, "f16", "f16", "f32", "f16")
    both = replace(LAVAPIPE, matrix_shapes=(*LAVAPIPE.matrix_shapes, mixed))
    alone = replace(LAVAPIPE, matrix_shapes=(mixed,))
    product = Product(8, 8, 16, mixed.elements)
    assert SupportedTiles(both).product(product) == (mixed,)
    assert not SupportedTiles(alone).product(product)
    assert "the accumulators between them would be f32" in SupportedTiles(
        alone
    ).why_no_product(product)
    assert SupportedTiles(alone).product(replace(product, k=8)) == (mixed,)


def test_channels_of_a_packed_matrix_are_not_split():
    narrow = MatrixShape(8, 8, 1, "f16", "f16", "f32", "f32")
    offers = SupportedTiles(
        replace(LAVAPIPE, matrix_shapes=(narrow, *LAVAPIPE.matrix_shapes))
    )
    b = coopmatrix.MatrixType.of(16, 8, f16, coopmatrix.Use.B)
    layout = coopmatrix.Layout
    assert offers.matrix(b, frozenset({layout.ROW_MAJOR})) == ((8, 8), (1, 8))
    assert offers.matrix(b, frozenset({layout.PACKED})) == ((8, 8),)
