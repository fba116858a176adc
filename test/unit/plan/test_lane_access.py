"""Plans of block accesses: their laws, each reason against them, exact messages."""

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.plan.lane_access import AccessFacts, BlockAccess, BlockReason, plan_block
from coopc.plan.refusal import Refusal

BLOCK = AccessFacts(rows_last=True, strides=(64, 1), element_bytes=4)
ROWS = CoopmatrixLayout.of(16, 8, 32, "acc", lanes=16)
LAYOUTS = [
    CoopmatrixLayout.of(m, n, 8 * size, use, lanes)
    for m, n, size, use, lanes in product(
        (1, 4, 8, 16, 32, 64), (1, 2, 3, 8, 20, 32), (1, 2, 4, 8), ("acc", "b"), (4, 16)
    )
]


def planned(x: CoopmatrixLayout, size: int, **known: Any) -> BlockAccess | None:
    """The plan for a matrix in aligned memory, if there is one."""
    rows_last = x.block_rows == x.lanes
    pitch = known.pop("pitch", 1024)
    memory = AccessFacts(rows_last, (pitch, 1), size, alignment=1024, **known)
    found = plan_block(x, memory)
    return found if isinstance(found, BlockAccess) else None


def elements(x: CoopmatrixLayout, plan: BlockAccess, pitch: int) -> list[int]:
    """What each message starts at and holds, checked: the components, in order."""
    places = list(plan.places(x))
    found: list[int] = []
    for run, (start, length) in product(
        range(plan.runs), zip(plan.starts, plan.lengths, strict=True)
    ):
        numbers: list[int] = []
        for block, step in places[start : start + length]:
            row, col = block * x.block_rows, (step + run) * x.lanes_per_row
            _, number = x.owners(row, col)
            numbers.append(int(number))
        addresses = [
            address(x, lane, number, pitch)
            for number in numbers
            for lane in range(x.lanes)
        ]
        first = addresses[0]
        assert addresses == list(range(first, first + length * x.lanes))
        found += numbers
    return found


def address(x: CoopmatrixLayout, lane: int, number: int, pitch: int) -> int:
    """Where in memory a lane's component is, in elements."""
    row, col = x.element(lane, number)
    return row + col * pitch if x.block_rows == x.lanes else col


@pytest.mark.parametrize("joins", [False, True])
def test_laws(joins: bool) -> None:
    """Every component is in one message; lanes and components follow one another."""
    seen: Counter[str] = Counter()
    for x in LAYOUTS:
        size = 4
        pitch = x.lanes * x.blocks if joins else 1024
        plan = planned(x, size, pitch=pitch, is_placed=joins)
        if plan is None:
            seen["refused"] += 1
            continue
        seen["joined" if plan.joined else "runs"] += 1
        assert sorted(elements(x, plan, pitch)) == list(range(x.components))
    assert seen["refused"]
    assert seen["runs"] > 20
    assert (seen["joined"] > 20) == joins


MESSAGES: list[tuple[int, int, int, dict[str, Any], Any]] = [
    # One column of one block of rows is one component.
    (16, 8, 4, {}, (8, (1,), False)),
    (32, 8, 4, {}, (8, (2,), False)),
    (128, 2, 4, {}, (2, (8,), False)),
    (256, 2, 4, {}, (2, (8, 8), False)),
    (256, 2, 1, {}, (2, (16,), False)),
    # Columns that follow one another are read together...
    (16, 8, 4, {"pitch": 16, "is_placed": True}, (1, (8,), True)),
    (32, 7, 2, {"pitch": 32, "is_placed": True}, (1, (8, 4, 2), True)),
    (16, 16, 1, {"pitch": 16, "is_placed": True}, (1, (16,), True)),
    # ... unless they are checked, or the memref is not known.
    (
        16,
        8,
        4,
        {"pitch": 16, "is_placed": True, "checked_cols": True},
        (8, (1,), False),
    ),
    (16, 8, 4, {"pitch": 16}, (8, (1,), False)),
    # The only row.
    (1, 48, 4, {}, (1, (2, 1), False)),
    (1, 256, 1, {}, (1, (16,), False)),
    (1, 256, 2, {}, (1, (8, 8), False)),
]


@pytest.mark.parametrize(("rows", "cols", "size", "known", "expected"), MESSAGES)
def test_messages(
    rows: int, cols: int, size: int, known: dict[str, Any], expected: Any
) -> None:
    """How many runs there are, the lengths of their messages, whether they go on."""
    plan = planned(CoopmatrixLayout.of(rows, cols, 8 * size, "acc", 16), size, **known)
    assert plan is not None
    assert (plan.runs, plan.lengths, plan.joined) == expected


def test_short_vectors() -> None:
    """No message is longer than the vectors of a device."""
    x = CoopmatrixLayout.of(128, 2, 32, "acc", lanes=16)
    plan = plan_block(x, BLOCK, max_vector=4)
    assert isinstance(plan, BlockAccess)
    assert plan.lengths == (4, 4)
    assert plan.messages == 4
    assert str(plan) == "by 4 blocks: 2 x (4 + 4) components"


def test_long_messages_are_aligned() -> None:
    """8 bytes of 8 lanes are no block that can be written; 16 of two blocks are."""
    memory = AccessFacts(True, (1024, 1), 1, alignment=64, is_write=True)
    one = plan_block(CoopmatrixLayout.of(8, 2, 8, "acc", 8), memory)
    two = plan_block(CoopmatrixLayout.of(16, 2, 8, "acc", 8), memory)
    assert one == BlockAccess(2, (1,), False, False)
    assert two == BlockAccess(2, (2,), False, False)
    odd = replace(memory, strides=(1032, 1))
    assert isinstance(plan_block(CoopmatrixLayout.of(16, 2, 8, "acc", 8), odd), Refusal)
    # Of 3 blocks the message of 1 comes last, 16 bytes on.
    row = AccessFacts(False, (1024, 1), 1, alignment=16, is_write=True)
    plan = plan_block(CoopmatrixLayout.of(1, 24, 8, "acc", 8), row)
    assert plan == BlockAccess(1, (2, 1), False, False)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"is_global": False}, BlockReason.SPACE),
        ({"is_atomic": True}, BlockReason.ATOMIC),
        ({"is_special": True}, BlockReason.VOLATILE),
        ({"is_packed": True}, BlockReason.PACKED),
        ({"strides": (1, 64)}, BlockReason.STRIDE),
        ({"strides": (1, None)}, BlockReason.STRIDE),
        ({"rows_last": False}, BlockReason.LANES),
        ({"checked_rows": True}, BlockReason.CHECKED),
        ({"is_write": True}, BlockReason.ALIGNMENT),
        (
            {"is_write": True, "alignment": 16, "strides": (None, 1)},
            BlockReason.ALIGNMENT,
        ),
        ({"element_bytes": 2}, BlockReason.ALIGNMENT),
    ],
    ids=str,
)
def test_why_no_blocks(change: dict[str, Any], reason: BlockReason) -> None:
    """Each reason against blocks; alignment has to be known."""
    found = plan_block(ROWS, replace(BLOCK, **change))
    assert isinstance(found, Refusal)
    assert found.reason == reason
    assert str(found).startswith(f"{reason.value}: ")


def test_padding_has_no_blocks() -> None:
    """Padded rows are not read, nor are packed channels taken apart."""
    found = plan_block(CoopmatrixLayout.of(15, 8, 32, "acc", 16), BLOCK)
    assert isinstance(found, Refusal)
    assert found.reason == BlockReason.PADDING
    packed = CoopmatrixLayout.of(16, 8, 16, "a", 16)
    found = plan_block(packed, replace(BLOCK, element_bytes=2))
    assert isinstance(found, Refusal)
    assert found.reason == BlockReason.PACKED
