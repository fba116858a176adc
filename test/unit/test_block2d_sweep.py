"""A sweep of layouts that DPAS knows: each planned, proven again, and counted.

`test/inputs/block_plans.txt` has a line for each layout: what it is, the messages that
bring it, and how many the rules of Triton's Intel back end take, which are modelled
here.  `python test/unit/test_block2d_sweep.py` prints the table; what changes in it is
to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from coopc.device import BMG, PVC, Device
from coopc.layout.dpas import DpasEncoding, Operand
from coopc.layout.linear import LinearLayout
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_shape import BlockMode, BlockShape
from coopc.plan.search import Request, plan

TABLE = Path(__file__).parents[1] / "inputs" / "block_plans.txt"
Order: TypeAlias = Literal["row", "col"]
ELEMENTS = {
    "f16": (16, 2),
    "i8": (8, 4),
    "tf32": (32, 1),
    "fp8": (8, 2),
    "f32": (32, 2),
}
"""Width, and operands of a channel: fp8 is what a device without it widens to f16."""
GRIDS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    # name: subgroups, clusters, (batch,) M and N
    "seed": ((8, 4), (4, 2), (256, 256)),
    "lit": ((4, 2), (1, 1), (64, 64)),
    "tall": ((8, 1), (2, 2), (128, 64)),
    "one": ((1, 1), (1, 1), (8, 16)),
    "alone": ((1, 1), (4, 4), (32, 64)),
    "chained": ((8, 1), (1, 4), (64, 64)),
    "over": ((2, 1), (4, 2), (16, 16)),  # clusters larger than the tensor
    "words": ((8, 4), (1, 1), (64, 64)),
    "deep": ((8, 1), (2, 2), (128, 32)),
    "batch": ((1, 4, 2), (1, 2, 2), (1, 64, 64)),
    "batches": ((2, 2, 1), (1, 2, 2), (4, 32, 32)),
}
DEPTHS = {"seed": 2, "lit": 2, "tall": 4, "chained": 4, "words": 4, "deep": 4}
"""K, in DPAS; 1 elsewhere, and 2 in rank 3."""


@dataclass(frozen=True)
class Case:
    """A layout, and the order of memory."""

    grid: str
    operand: Operand
    element: str
    lanes: int
    order: Order

    @property
    def encoding(self) -> DpasEncoding:
        warps, cluster, _ = GRIDS[self.grid]
        ops = ELEMENTS[self.element][1]
        return DpasEncoding(8, 8, 16, ops, self.lanes, warps, cluster)

    @property
    def shape(self) -> tuple[int, ...]:
        *batch, m, n = GRIDS[self.grid][2]
        depth = DEPTHS.get(self.grid, 2 if batch else 1)
        k = depth * self.encoding.tile_shape("b")[0]
        last = {"a": (m, k), "b": (k, n), "c": (m, n)}[self.operand]
        return (*batch, *last)

    @property
    def bits(self) -> int:
        return ELEMENTS[self.element][0]

    @property
    def layout(self) -> LinearLayout:
        return self.encoding.operand_linear(self.operand, self.shape)

    @property
    def request(self) -> Request:
        rows, cols = self.encoding.tile_shape(self.operand)
        rank, run, channel = len(self.shape), rows * cols // self.lanes, 0
        if self.operand != "c":
            channel = 32 if self.operand == "b" else max(16, self.bits)
            if self.element == "fp8":  # widened before it is multiplied
                run, channel = 1, 0
        return Request(
            self.layout,
            rank - 1 if self.order == "row" else rank - 2,
            self.bits,
            run=run,
            channel_bits=channel,
        )

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape))
        return (
            f"{self.grid:8} {self.operand} {size:9} {self.element:5} {self.lanes} "
            f"{self.order}"
        )


def cases() -> Iterator[Case]:
    """Yield the layouts of the sweep."""
    lanes = (16, 32)
    orders: tuple[Order, ...] = ("row", "col")
    for grid, size, order in product(GRIDS, lanes, orders):
        for operand, element in product(("a", "b"), ("f16", "i8", "tf32", "fp8")):
            yield Case(grid, operand, element, size, order)
        for element in ("f32", "f16"):
            yield Case(grid, "c", element, size, order)


CASES = tuple(cases())


@dataclass
class Tile:
    """The tile that Triton's rules choose, growing from the lanes."""

    request: Request
    one_matrix: bool = False
    size: dict[int, int] = field(default_factory=dict[int, int])
    packed: int = 1
    vnni: bool = False
    used: set[int] = field(default_factory=set[int])

    def grow(self, bases: Sequence[tuple[int, ...]], d: int, most: int) -> None:
        """Take register bases that are the next stride of a dimension."""
        grown = True
        while grown and self.size[d] < most:
            grown = False
            for bit, basis in enumerate(bases):
                if bit not in self.used and basis == self.step(d):
                    self.used.add(bit)
                    self.size[d] *= 2
                    grown = True
                    break

    def step(self, d: int) -> tuple[int, ...]:
        """Return the next stride of a dimension, as a basis."""
        return tuple(self.size[d] if x == d else 0 for x in range(self.request.rank))

    def pack(self, bases: Sequence[tuple[int, ...]], d: int, bits: int) -> None:
        """Take leading register bases along a dimension as one wider element."""
        for bit, basis in enumerate(bases):
            wide = self.packed * self.request.element_bits >= bits
            if wide or basis != self.step(d):
                return
            self.used.add(bit)
            self.size[d] *= 2
            self.packed *= 2


def triton_messages(request: Request, one_matrix: bool = False) -> int | None:
    """Return how many messages Triton's rules take; None where they refuse.

    `LowerTo2DBlockLoad` of intel/intel-xpu-backend-for-triton at 6c1649935d.
    """
    c, bits = request.contiguous, request.element_bits
    registers, lanes = (request.layout.bases(x) for x in ("register", "lane"))
    tile = Tile(request, one_matrix, dict.fromkeys(range(request.rank), 1))
    fast = [d for d, x in enumerate(lanes[0]) if x]
    if len(fast) != 1:
        return None
    f = fast[0]
    transposed = f != c
    tile.pack(registers, c, 32 if transposed else 64)
    if transposed and tile.packed * bits != 32:
        return None
    if not _lanes(tile, registers, lanes, f):
        return None
    row = c if transposed else 2 * request.rank - 3 - c
    most_rows = 32 if not transposed else 8 * tile.packed
    if transposed:
        if tile.size[f] > 32 or tile.size[c] > most_rows:
            return None
        if not one_matrix and tile.size[c] == tile.packed:
            tile.grow(registers, f, 32)
    elif tile.size[f] * bits > 512 or tile.size[row] > 32:
        return None
    tile.grow(registers, row, most_rows)
    if transposed and not _same_order(tile, registers, lanes, f, c):
        return None
    blocks = 1 if transposed else _blocks(tile, registers, f, row)
    taken = prod(tile.size.values()) * blocks
    return max(1, (1 << len(registers)) // max(1, taken // (1 << len(lanes))))


def _lanes(
    tile: Tile,
    registers: Sequence[tuple[int, ...]],
    lanes: Sequence[tuple[int, ...]],
    fast: int,
) -> bool:
    """Let the lanes make the tile; False where they leave gaps."""
    start = tile.packed
    for basis in lanes:
        (d,) = (d for d, x in enumerate(basis) if x)
        if basis != tile.step(d) and tile.packed == 1 and d != fast:
            tile.vnni = True
            tile.pack(registers, d, 32)
        if basis != tile.step(d):
            return False
        tile.size[d] *= 2
    dense = prod(tile.size.values()) // max(start, tile.packed) == 1 << len(lanes)
    return dense and sum(x > 1 for x in tile.size.values()) <= 2


def _blocks(tile: Tile, registers: Sequence[tuple[int, ...]], f: int, row: int) -> int:
    """Return how many blocks lie side by side."""
    width = tile.size[f]
    row_bytes = width * tile.request.element_bits // 8
    most = min(4, 64 // row_bytes)
    if tile.size[row] * row_bytes < 64:
        most = 1
    tile.grow(registers, f, width * most)
    return 1


def _same_order(
    tile: Tile,
    registers: Sequence[tuple[int, ...]],
    lanes: Sequence[tuple[int, ...]],
    f: int,
    c: int,
) -> bool:
    """Whether the hardware's order of a transposed tile is the layout's."""
    height, packed = tile.size[f], tile.packed
    width = tile.size[c] // packed
    hardware = [(f, 1 << x) for x in range(height.bit_length() - 1)]
    hardware += [(c, packed << x) for x in range(width.bit_length() - 1)]
    found = [next((d, x) for d, x in enumerate(basis) if x) for basis in lanes]
    return found == hardware[: len(lanes)]


def messages(case: Case, device: Device = BMG) -> BlockPlan:
    """Return the plan of a case."""
    found = plan(case.request, device.block_io)
    assert isinstance(found, BlockPlan), f"{case}: {found}"
    return found


def how(found: BlockPlan, request: Request) -> str:
    """Return what is to be done with what arrives."""
    text = "" if found.row_step == 1 else f"rows/{found.row_step} "
    if found.swaps:
        return text + "exchanged"
    direct = found.is_direct(request.run, request.channel_bits)
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


def sequence(shape: BlockShape) -> list[tuple[int, int]]:
    """Return the elements of a message, (row, column), as hardware sends them."""
    height, width = shape.height, shape.width
    match shape.mode:
        case BlockMode.TRANSPOSE:
            return [(r, c) for c in range(width) for r in range(height)]
        case BlockMode.PLAIN:
            group = 1
        case BlockMode.TRANSFORM:
            group = 32 // shape.bits
    return [
        (r + q, b * width + c)
        for b in range(shape.count)
        for r in range(0, height, group)
        for c in range(width)
        for q in range(group)
    ]


def arrived(found: BlockPlan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and column in the tensor of each value and lane of a message."""
    lanes, per_slot = found.lanes, found.slot_bits // found.shape.bits
    values: list[list[tuple[int, int]]] = [[] for _ in range(lanes)]
    for at, (row, col) in enumerate(sequence(found.shape)):
        lane = at // per_slot % lanes
        for part in range(found.packed):
            values[lane].append((row * found.row_step, col * found.packed + part))
    for lane_bit, value_bit in found.swaps:
        old = [list(each) for each in values]
        for lane, value in product(range(lanes), range(found.values)):
            if lane >> lane_bit & 1 != value >> value_bit & 1:
                other = old[lane ^ 1 << lane_bit][value ^ 1 << value_bit]
                values[lane][value] = other
    tags = np.array(values).transpose(1, 0, 2)
    return tags[..., 0], tags[..., 1]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_placement(case: Case) -> None:
    found, layout = messages(case), case.layout
    rows, cols = arrived(found)
    warps = np.arange(layout.in_sizes["warp"])
    origins = found.origins(np.array(found.firsts), warps)
    message, value = np.array(found.sources).T
    for number, wanted in enumerate(layout.table().values()):
        have = np.repeat(origins[message][:, None, :, number], found.lanes, axis=1)
        if number == found.rows:
            have = have + rows[value][:, :, None]
        if number == found.cols:
            have = have + cols[value][:, :, None]
        assert (have == wanted.reshape(have.shape)).all()


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
