"""What random programs are about, and for whom they are drawn."""

import hashlib
import re
from collections import Counter

import pytest

from coopc.device import DG2, LAVAPIPE, NVIDIA, Device
from coopc.generate.random_programs import (
    AXES,
    BITS,
    MAY_BE_ABSENT,
    PRODUCTS,
    element_types,
    random_program,
)

SEEDS = range(400)


def test_seeds_keep_their_programs() -> None:
    """A seed that a report names is the same program later."""
    texts = "".join(random_program(seed).text for seed in range(50))
    found = hashlib.sha256(texts.encode()).hexdigest()
    assert found.startswith("94593646839e")


def test_axes_have_one_weight() -> None:
    """Each axis is in 2.5 of 24 programs, but for those that can be without effect."""
    count = Counter(axis for seed in SEEDS for axis in random_program(seed).axes)
    assert set(count) == set(AXES)
    expected = len(SEEDS) * 2.5 / len(AXES)
    for axis, found in count.items():
        least = 0.4 if axis in MAY_BE_ABSENT else 0.7
        assert least * expected <= found <= 1.4 * expected, axis


@pytest.mark.parametrize(
    ("axis", "sign"),
    [
        ("work-group", "scope = workgroup"),
        ("columns", "col_major"),
        ("elements", "coopmatrix.extract"),
        ("for", "scf.for"),
        ("if", "scf.if"),
        ("while", "scf.while"),
        ("call", "func.call"),
        ("select", "arith.select %first"),
        ("named", "coopmatrix.matrix<@M x @N x"),
        ("reduce", "coopmatrix.reduce"),
        ("vectors", "xvector<4x"),
    ],
)
def test_an_axis_is_in_its_programs(axis: str, sign: str) -> None:
    programs = [random_program(seed) for seed in SEEDS]
    if axis in ("for", "select"):  # the text of others has it too
        programs = [x for x in programs if axis in x.axes]
        assert all(re.search(re.escape(sign), x.text) for x in programs)
    else:
        assert all((axis in x.axes) == (sign in x.text) for x in programs)


@pytest.mark.parametrize("sign", ["@K x @N", "scope = @S", "= @U", "= @L", "@M x 1 x"])
def test_names(sign: str) -> None:
    """Of what is not the size of the first matrix."""
    named = [x.text for x in map(random_program, SEEDS) if "named" in x.axes]
    assert any(sign in text for text in named)


def test_a_device_draws_its_types() -> None:
    """Nothing of f64 for dg2; where all types are there, what no device draws."""
    for seed in SEEDS:
        text = random_program(seed).text
        assert random_program(seed, NVIDIA).text == text
        assert "f64" not in random_program(seed, DG2).text
    assert any("f64" in random_program(seed).text for seed in SEEDS)


@pytest.mark.parametrize("device", [DG2, LAVAPIPE])
def test_every_type_of_a_device_is_drawn(device: Device) -> None:
    texts = [random_program(seed, device).text for seed in SEEDS]
    drawn = {name for name in BITS if any(f"x{name}" in text for text in texts)}
    assert drawn == set(element_types(device))


def test_products_are_recorded() -> None:
    for seed in SEEDS:
        program = random_program(seed)
        assert len(program.products) == program.text.count("coopmatrix.mul_add")
        for product in program.products:
            assert (product.factor, product.sum) in PRODUCTS
            a, b = f"{product.m}x{product.k}x", f"{product.k}x{product.n}x"
            if product.named:
                a, b = "@M x @K x ", "@K x @N x "
                assert f"@K = {product.k} " in program.text
            assert f"<{a}{product.factor}, a" in program.text
            assert f"<{b}{product.factor}, b" in program.text
