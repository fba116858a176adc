"""distribute-coopmatrix on the simulator: the same bits before and after."""

from typing import Any

import pytest
from support.lane_programs import Case, check, pairwise_cases, spread
from xdsl.utils.exceptions import PassFailedException

from coopc.generate.programs import kernel as program

CASES = pairwise_cases()[::9]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_before_and_after(case: Case) -> None:
    """Every operation, in loops."""
    check(case)


@pytest.mark.parametrize("options", [{"unroll": True}, {"max_vector": 4}], ids=str)
def test_forms(options: dict[str, Any]) -> None:
    """Loops written out, and short vectors."""
    check(Case("s8", 8, 16, 5, 8, "b"), **options)
    check(Case("f16", 16, 8, 8, 8, "a"), **options)


@pytest.mark.parametrize("use", ["acc", "none"])
def test_padding_is_not_stored(use: str) -> None:
    """Stores that no lane does are not even made; `spread` looks for their traces."""
    held, memory = f"!coopmatrix.matrix<17x17xf32, {use}>", "memref<20x20xf32>"
    module = program(
        f"%a: {memory}, %m: i32",
        f"""%zero = arith.constant 0 : index
        %n = arith.index_cast %m : i32 to index
        %x = coopmatrix.load %a[%zero, %zero] row_major : {memory} -> {held}
        %y = coopmatrix.add %x, %x : {held}
        coopmatrix.store %y, %a[%n, %zero] col_major checked(cols) : {held}, {memory}
        %z = coopmatrix.atomic_add %y, %a[%zero, %zero] row_major relaxed
             : {held}, {memory} -> {held}""",
        lanes=8,
    )
    spread(module, 8, unroll=True)
    spread(module, 8)


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
