"""A sweep of layouts that DPAS knows: each planned, proven again, and counted.

`test/inputs/block_plans.txt` has a line for each layout: what it is, the messages that
bring it, and how many the rules of Triton's Intel back end take, which
`test/support/triton_blocks.py` models.  `python test/unit/plan/test_block2d_sweep.py`
prints the table; what changes in it is to be looked at.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.block_cases import CASES, Case, messages
from support.triton_blocks import triton_messages

from coopc.device import PVC
from coopc.plan.block2d import BlockPlan
from coopc.plan.search import Request

TABLE = Path(__file__).parents[2] / "inputs" / "block_plans.txt"


def how(found: BlockPlan, request: Request) -> str:
    """Return what is to be done with what arrives."""
    text = "" if found.row_step == 1 else f"rows/{found.row_step} "
    if found.swaps:
        return text + "exchanged"
    run = range(min(request.run.bit_length() - 1, len(found.bits)))
    in_order = all(found.bits[bit] == bit for bit in run) and not found.swaps
    direct = in_order and request.channel_bits in (0, found.slot_bits)
    return text + ("direct" if direct else "moved")


def why(request: Request, count: int) -> str:
    """Return in one word how a number of messages compares with Triton's."""
    theirs = triton_messages(request)
    if theirs is None:
        return "new"
    if count == theirs:
        return "equal"
    if count > theirs:
        return "operands"
    return "once"


def line(case: Case) -> str:
    """Return the line of a case in the table."""
    found, theirs = messages(case), triton_messages(case.request)
    said = "-" if theirs is None else str(theirs)
    count = len(found.firsts)
    return (
        f"{case} | {count:2} of {found.shape!s:26} "
        f"{how(found, case.request):16} | {said:>2} {why(case.request, count)}"
    )


def table() -> dict[str, str]:
    """Return the lines of the table, by what they are about."""
    lines = TABLE.read_text().splitlines()
    kept = [x for x in lines if x and not x.startswith("#")]
    return {x.split(" | ")[0]: x for x in kept}


def test_the_table_has_all() -> None:
    assert len(CASES) >= 300
    assert set(table()) == {str(case) for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_messages(case: Case) -> None:
    assert line(case) == table()[str(case)]
    assert messages(case, PVC).shape == messages(case).shape


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_more_than_triton(case: Case) -> None:
    request, count = case.request, len(messages(case).firsts)
    default, single = (triton_messages(request, x) for x in (False, True))
    match why(request, count):
        case "new":
            assert default is None
        case "equal":
            assert count == default
        case "once":
            # What it loads again is what registers of a zero basis hold.
            bases = request.layout.bases("register")
            assert default is not None
            assert count < default <= count << sum(not any(x) for x in bases)
        case _:
            # One message an operand, as its own rule for that has it.
            assert count == single
            assert how(messages(case), request) == "direct"


GOLDENS = [
    # What the facts name for Triton: default, and one operand a message.
    (Case("seed", "a", "f16", 16, "row"), 1, 1),
    (Case("seed", "a", "f16", 16, "col"), 2, 4),
    (Case("seed", "b", "f16", 16, "row"), 2, 2),
    (Case("seed", "b", "f16", 16, "col"), 4, 8),
    (Case("seed", "c", "f32", 16, "row"), 4, 4),
    (Case("lit", "a", "f16", 16, "row"), 2, 2),
    (Case("lit", "b", "f16", 16, "row"), 2, 2),
    (Case("lit", "b", "f16", 16, "col"), 4, 4),
    (Case("words", "a", "tf32", 16, "row"), 2, 2),
    (Case("words", "b", "tf32", 16, "row"), 1, 1),
    (Case("words", "b", "tf32", 16, "col"), 4, 4),
    (Case("deep", "b", "f16", 16, "col"), 4, 8),
    (Case("seed", "a", "i8", 16, "col"), None, None),
    (Case("seed", "a", "f16", 32, "col"), None, None),
    (Case("seed", "b", "fp8", 32, "col"), None, None),
]


@pytest.mark.parametrize(("case", "default", "single"), GOLDENS, ids=str)
def test_the_model_of_triton(
    case: Case, default: int | None, single: int | None
) -> None:
    assert triton_messages(case.request) == default
    assert triton_messages(case.request, one_matrix=True) == single


if __name__ == "__main__":
    for each in CASES:
        print(line(each))
