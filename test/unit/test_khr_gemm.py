"""Tiles of a multiplication under Vulkan: which are right, and their layout."""

from dataclasses import replace

import pytest

from coopc.device import LAVAPIPE, NVIDIA, Device
from coopc.plan.khr_gemm import (
    DEFAULTS,
    GemmPlan,
    GemmTiles,
    Panel,
    defaults,
    panel,
    plan,
    slots,
)

HALVES = ("f16", "f16", "f32")
BYTES = ("s8", "s8", "s32")
DEVICES = {"nvidia": NVIDIA, "lavapipe": LAVAPIPE}
BANKS, BANK_BYTES = 32, 4


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("elements", [HALVES, BYTES])
@pytest.mark.parametrize("transposed", [(a, b) for a in (0, 1) for b in (0, 1)])
def test_a_default_suits(
    name: str, elements: tuple[str, str, str], transposed: tuple[bool, bool]
) -> None:
    device = DEVICES[name]
    plans = [
        plan(tiles, device, elements, transposed)
        for tiles in defaults(device, elements)
    ]
    found = [x for x in plans if isinstance(x, GemmPlan)]
    assert found
    for each in found:
        a_copies, b_copies = each.copies
        local = a_copies * each.a.size + b_copies * each.b.size
        assert local <= device.limits.local_bytes
        assert each.work_items <= device.limits.work_items


def test_nvidia() -> None:
    (first, *_) = defaults(NVIDIA, HALVES)
    found = plan(first, NVIDIA, HALVES, (False, False))
    assert isinstance(found, GemmPlan)
    assert (found.shape.m, found.shape.n, found.shape.k) == (16, 16, 16)
    assert found.a == Panel(128, 64, 2, 16, True)
    assert found.b == Panel(16, 256, 2, 16, True)
    assert (found.a.stride, found.b.stride) == (9, 33)
    assert (found.copies, found.slots) == ((1, 3), [0, 1, 2, 1])
    assert found.parts == (2, 1, 1)
    assert found.work_items == 256


def test_the_step_is_of_as_many_bytes() -> None:
    assert [x.step for x in defaults(NVIDIA, HALVES)] == [64, 32, 32, 32]
    assert [x.step for x in defaults(NVIDIA, BYTES)] == [128, 64, 64, 64]


@pytest.mark.parametrize("slices", range(3, 9))
def test_a_slot_is_not_written_while_it_is_read(slices: int) -> None:
    """Two steps, as `SlicedKernel` does it: what is between two barriers."""
    where = slots(slices) * 2
    for number in range(slices):
        stored, read = where[number + 2], [where[number + 1]]
        if number == 0:
            read.append(where[0])
        if number == slices - 1:
            read = []
        assert stored not in read
        # Nor before it is read: the slices between were stored, and are still there.
        assert stored != where[number + 1]


@pytest.mark.parametrize("pieces", range(1, 40))
def test_eight_rows_begin_in_different_banks(pieces: int) -> None:
    """What a matrix of 8 x 8 of f16 reads at once, 16 bytes of each of 8 rows."""
    found = Panel(64, pieces * 8, 2, 16, gaps=True)
    starts = {row * found.stride * 16 % (BANKS * BANK_BYTES) for row in range(8)}
    assert len(starts) == 8


@pytest.mark.parametrize("pieces", [1, 2, 4, 8, 16, 32])
def test_eight_work_items_write_to_different_banks(pieces: int) -> None:
    """Eight work-items that follow each other store 16 bytes each at once."""
    found = Panel(64, pieces * 8, 2, 16, gaps=True)
    rows, whole = found.interleaved, 8 * pieces
    for number in range(0, found.rows * pieces, 8):
        banks: set[int] = set()
        for each in range(number, number + 8):
            row, piece = divmod(each, pieces)
            if rows > 1:
                eight, within = divmod(each, whole)
                first, within = divmod(within, 8)
                across, piece = divmod(within, pieces)
                row = 8 * eight + first + pieces * across
            banks.add((row * found.stride + piece) * 16 % (BANKS * BANK_BYTES))
        assert len(banks) == 8


@pytest.mark.parametrize(
    ("sizes", "grain", "element", "items", "width"),
    [
        ((128, 32), 16, "f16", 256, 16),
        ((16, 16), 8, "f16", 32, 16),
        ((8, 8), 8, "f16", 8, 16),
        ((8, 8), 8, "f16", 16, 8),
        ((16, 64), 8, "s8", 32, 8),
        ((8, 8), 8, "s8", 16, 4),
    ],
)
def test_pieces_are_as_wide_as_they_can_be(
    sizes: tuple[int, int], grain: int, element: str, items: int, width: int
) -> None:
    found = panel(sizes, grain, element, items, gaps=True)
    assert found is not None
    assert found.width == width
    assert found.rows * found.pieces % items == 0


TILES = GemmTiles((32, 32), (16, 16), 16)
REFUSED: list[tuple[GemmTiles, Device, str]] = [
    (replace(TILES, subgroup=(12, 16)), LAVAPIPE, "expected the M of a work-group"),
    (replace(TILES, subgroup=(16, 0)), LAVAPIPE, "expected the N of a work-group"),
    (replace(TILES, step=4), LAVAPIPE, "expected a subgroup's tile and a step"),
    (replace(TILES, stages=0), LAVAPIPE, "expected 1 or 2 stages, got 0"),
    (
        GemmTiles((128, 256), (64, 64), 32),
        NVIDIA,
        "expected at most 49152 bytes of work-group memory on nvidia, got 54272",
    ),
    (
        GemmTiles((48, 16), (8, 16), 8),
        LAVAPIPE,
        "expected a tile of B that 48 work-items copy in equal pieces of 16, 8, 4 "
        "bytes, got 8 x 16 of f16",
    ),
]


@pytest.mark.parametrize(("tiles", "device", "reason"), REFUSED)
def test_refused(tiles: GemmTiles, device: Device, reason: str) -> None:
    found = plan(tiles, device, HALVES, (False, False))
    assert isinstance(found, str)
    assert found.startswith(reason)
