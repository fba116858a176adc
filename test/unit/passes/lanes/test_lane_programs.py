"""The kernels that other tests spread over lanes: what they cover."""

from itertools import combinations, product

import pytest
from support.lane_programs import (
    ELEMENTS,
    LANES,
    USES,
    VARIANTS,
    Case,
    kernel,
    pairwise_cases,
    shapes,
)
from support.programs import module_of

from coopc.dialects import coopmatrix
from coopc.layout.coopmatrix import CoopmatrixLayout

CASES = pairwise_cases()
VALUES = {
    "element": ("f16", "bf16", "f32", "f64", "s8", "u8", "s16", "s32", "s64"),
    "lanes": (4, 8, 16, 32, 64),
    "shape": range(len(shapes(4))),
    "use": ("a", "b", "acc"),
    "variant": range(12),
}


def values(case: Case) -> dict[str, object]:
    """What a case has of each kind."""
    shape = shapes(case.lanes).index((case.rows, case.cols, case.depth))
    found = {name: getattr(case, name) for name in VALUES if name != "shape"}
    return {**found, "shape": shape}


def test_there_are_enough() -> None:
    """At least 200, all different, and of the values that are listed here."""
    assert len(set(CASES)) == len(CASES) >= 200
    assert tuple(ELEMENTS) == VALUES["element"]
    assert (VALUES["lanes"], VALUES["use"], 12) == (LANES, USES, VARIANTS)


@pytest.mark.parametrize(("one", "other"), list(combinations(VALUES, 2)))
def test_every_two_values_meet(one: str, other: str) -> None:
    """Each value of a kind is in a case with each value of each other kind."""
    met = {(values(case)[one], values(case)[other]) for case in CASES}
    assert met == set(product(VALUES[one], VALUES[other]))


@pytest.mark.parametrize("lanes", LANES)
def test_shapes(lanes: int) -> None:
    """Odd N, N = 1, more and fewer rows than lanes, padded rows and columns."""
    layouts = [CoopmatrixLayout.of(m, n, 32, "acc", lanes) for m, n, _ in shapes(lanes)]
    assert any(x.cols % 2 and x.cols > 1 for x in layouts)
    assert any(x.cols == 1 for x in layouts)
    assert any(x.rows > lanes for x in layouts)
    assert any(x.rows < lanes for x in layouts)
    assert any(x.needs_mask for x in layouts)
    assert any(x.needs_row_mask for x in layouts)
    depths = [depth for _, _, depth in shapes(lanes)]
    assert min(depths) == 1
    assert max(depths) > lanes


INTEGER_ONLY = {
    coopmatrix.AndOp,
    coopmatrix.OrOp,
    coopmatrix.XorOp,
    coopmatrix.ShlOp,
    coopmatrix.ShrOp,
    coopmatrix.NotOp,
}


@pytest.mark.parametrize("case", CASES[::20], ids=str)
def test_operations(case: Case) -> None:
    """All operations are in one module, but for those that its elements have not."""
    named = {coopmatrix.SpecConstantOp, coopmatrix.SpecValueOp}
    expected = set(coopmatrix.OPERATIONS) - named
    if not case.is_integer:
        expected -= INTEGER_ONLY
    if case.type == "i8":
        expected -= {coopmatrix.BitcastOp}  # to no other type of 8 bits
    module = module_of(kernel(case).text)
    found = {type(op) for op in module.walk() if type(op) in coopmatrix.OPERATIONS}
    expected -= {coopmatrix.YieldOp}
    assert found - {coopmatrix.YieldOp} == expected
