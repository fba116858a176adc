"""distribute-coopmatrix on the simulator: the same bits before and after.

The numbers 7.x are those of the defects of an existing implementation.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix
from coopc.passes.lanes.distribute_coopmatrix import DistributeCoopmatrixPass
from coopc.sim.simulate import simulate
from coopc.testing.lane_cases import Case, pairwise_cases
from coopc.testing.lane_programs import kernel
from coopc.testing.programs import kernel as program
from coopc.testing.programs import module_of
from coopc.validate.compare import compare

CASES = pairwise_cases()[::9]


def spread(module: ModuleOp, lanes: int, **options: Any) -> ModuleOp:
    """A module after the pass, which leaves no matrix and no long vector."""
    new = module.clone()
    DistributeCoopmatrixPass(lanes, **options).apply(Context(), new)
    new.verify()
    for op in new.walk():
        assert not isinstance(op, tuple(coopmatrix.OPERATIONS)), op
        for type in op.result_types:
            if isinstance(type, VectorType):
                assert type.element_count() <= 16
    return new


def check(case: Case, only: Sequence[str] | None = None, **options: Any) -> None:
    """Run a kernel before and after the pass."""
    text = kernel(case, only)
    module = module_of(text.text)
    before, after = text.copies(), text.copies()
    simulate(module, "k", before, subgroup_size=case.lanes)
    simulate(spread(module, case.lanes, **options), "k", after)
    for name, x, y in zip(text.arguments, after, before, strict=True):
        difference = compare(x, y)
        assert difference.ok, f"{name}: {difference}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_before_and_after(case: Case) -> None:
    """Every operation, in loops."""
    check(case)


@pytest.mark.parametrize("options", [{"unroll": True}, {"max_vector": 4}], ids=str)
def test_forms(options: dict[str, Any]) -> None:
    """Loops written out, and short vectors."""
    check(Case("s8", 8, 16, 5, 8, "b"), **options)
    check(Case("f16", 16, 8, 8, 8, "a"), **options)


def ones(rows: int, cols: int) -> Any:
    """An array that says where it was written: numbers from 1."""
    return np.arange(1, rows * cols + 1, dtype=np.float32).reshape(rows, cols)


def test_padding_is_masked_by_the_matrix() -> None:
    """7.1: a 4 x 15 matrix does not touch column 15 of an 8 x 32 memref."""
    held = "!coopmatrix.matrix<4x15xf32, acc>"
    module = program(
        "%a: memref<8x32xf32>, %b: memref<8x32xf32>",
        f"""%z = arith.constant 0 : index
        %x = coopmatrix.load %a[%z, %z] row_major : memref<8x32xf32> -> {held}
        coopmatrix.store %x, %b[%z, %z] row_major : {held}, memref<8x32xf32>""",
    )
    given, found = ones(8, 32), np.zeros((8, 32), np.float32)
    simulate(spread(module, 16), "f", [given, found])
    expected = np.zeros_like(found)
    expected[:4, :15] = given[:4, :15]
    assert np.array_equal(found, expected)


def test_reduction_of_columns_beyond_the_lanes() -> None:
    """7.1, 7.2, 7.8: 16 x 32 to 1 x 32 over 16 lanes, and nothing beside it."""
    x, y = "!coopmatrix.matrix<16x32xf32, acc>", "!coopmatrix.matrix<1x32xf32, acc>"
    module = program(
        "%a: memref<16x32xf32>, %b: memref<2x40xf32>",
        f"""%z = arith.constant 0 : index
        %x = coopmatrix.load %a[%z, %z] row_major : memref<16x32xf32> -> {x}
        %y = coopmatrix.reduce add cols %x : {x} -> {y}
        coopmatrix.store %y, %b[%z, %z] row_major : {y}, memref<2x40xf32>""",
    )
    given, found = ones(16, 32), np.zeros((2, 40), np.float32)
    simulate(spread(module, 16), "f", [given, found])
    expected = np.zeros_like(found)
    expected[0, :32] = given.sum(0)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("element", ["f16", "bf16", "s8", "u8"])
@pytest.mark.parametrize("cols", [15, 6, 16])
def test_packed_a(element: str, cols: int) -> None:
    """7.3, 7.5, 7.6: stores, odd columns and fills of `a` with narrow elements."""
    check(Case(element, 16, 16, cols, 4, "a"), ["memory", "conversions"])


@pytest.mark.parametrize("element", ["f16", "bf16", "s8", "s16"])
def test_result_of_another_type(element: str) -> None:
    """7.7: the type of the result is not that of c."""
    check(Case(element, 16, 16, 4, 8, "acc"), ["products"])


@pytest.mark.parametrize("element", ["bf16", "f16", "f64", "s8"])
def test_reductions_of_every_type(element: str) -> None:
    """7.8: columns of types that are not 32 bits wide."""
    for variant in range(3):
        check(Case(element, 16, 16, 5, 4, "acc", variant), ["reductions"])


def test_long_matrices_are_several_vectors() -> None:
    """7.13: no vector of more than 16 components; `spread` looks."""
    check(Case("f32", 4, 16, 9, 4, "acc"), ["memory", "elementwise"])


def test_quotients_are_multiples_of_nothing() -> None:
    """7.9: what divides x and y says nothing of x / y."""
    from xdsl.dialects import arith
    from xdsl.dialects.builtin import IntegerAttr
    from xdsl.dialects.test import TestOp

    from coopc.rewrite.lane_builder import INDEX
    from coopc.rewrite.lane_facts import multiple_of

    some = TestOp(result_types=[INDEX]).results[0]
    number = arith.ConstantOp(IntegerAttr(32, INDEX))
    x = arith.MuliOp(some, number)
    assert multiple_of(x.result) == 32
    assert multiple_of(arith.DivUIOp(x, number).result) == 1


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("!coopmatrix.matrix<8x8xf32, acc, scope = workgroup>", "got scope workgroup"),
        ("!coopmatrix.matrix<8x8xi4, acc>", "8, 16, 32 or 64 bits, got i4"),
    ],
)
def test_refused(type: str, message: str) -> None:
    """What lanes cannot hold is refused, and nothing is changed."""
    element = "i4" if "i4" in type else "f32"
    module = program(f"%v: {element}", f"%x = coopmatrix.fill %v : {element} -> {type}")
    text = str(module)
    with pytest.raises(PassFailedException, match=message):
        spread(module, 16)
    assert str(module) == text
