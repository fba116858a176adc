"""What `bench.cpu_gemm` measures is right: it compares rows with numpy first."""

import pytest

from bench.cpu_gemm import Case, check, in_turn, ours
from coopc.run.tiles import Tiles

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

CASES = [
    Case("bf16", "bf16", (3, 70, 101), passes="coopc-cpu"),
    Case("bf16", "bf16", (3, 70, 2048), threads=4, passes="coopc-cpu"),
    Case("i8", "f32", (33, 70, 101), passes="coopc-cpu", prepacked=True),
]
"""Epilogues, of few rows, of parts of their sums and of packed B."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cases_are_right(case: Case) -> None:
    assert case.tiles is Tiles.NONE
    ours(case)()
    with pytest.raises(ValueError, match="expected what numpy computes"):
        check(case, *case.arrays())


def test_sides_take_turns() -> None:
    order: list[str] = []

    def side(name: str, seconds: float) -> float:
        order.append(name)
        return seconds

    found = in_turn([lambda: side("a", 2.0), lambda: side("b", 3.0)])
    assert found == (2.0, 3.0)
    assert order == ["a", "b"] * (len(order) // 2)
