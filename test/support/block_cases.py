"""Layouts that DPAS knows, and the 2D blocks that bring them: cases of the planner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from coopc.device import BMG, Device
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encodings import Operand
from coopc.layout.linear import LinearLayout
from coopc.plan.block2d import BlockPlan
from coopc.plan.search import Request, plan

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
        """Of tiles of 8 rows, 16 columns and 8 channels of K."""
        warps, cluster, _ = GRIDS[self.grid]
        ops = ELEMENTS[self.element][1]
        return DpasEncoding(8, 8, 16, ops, self.lanes, warps, cluster)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the tensor, those of batches first."""
        *batch, m, n = GRIDS[self.grid][2]
        depth = DEPTHS.get(self.grid, 2 if batch else 1)
        k = depth * self.encoding.tile_shape("b")[0]
        last = {"a": (m, k), "b": (k, n), "c": (m, n)}[self.operand]
        return (*batch, *last)

    @property
    def bits(self) -> int:
        """Of an element in memory."""
        return ELEMENTS[self.element][0]

    @property
    def layout(self) -> LinearLayout:
        """Which lane holds which element."""
        return self.encoding.operand_linear(self.operand, self.shape)

    @property
    def request(self) -> Request:
        """What the planner is asked."""
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


def messages(case: Case, device: Device = BMG) -> BlockPlan:
    """Return the plan of a case."""
    found = plan(case.request, device.block_io)
    assert isinstance(found, BlockPlan), f"{case}: {found}"
    return found
