"""Plans of prefetches: which part of a tile each subgroup brings into the caches.

Nothing arrives in registers, so subgroups need not fetch what they will use: together
they fetch the tile once, each an equal share, in rows of 64 bytes where it has them.

    256 x 32 of f16 by 32 subgroups    one message of 8 x 32 each
     32 x 256                          the same, 8 subgroups side by side

As with loads, a linear layout says where messages begin: register bits number those of
a subgroup, warp bits the subgroups.  Where there are more subgroups than messages of
one row, some fetch the same again.

Laws (test/unit/plan/test_prefetch.py): the messages cover the tile and no more; each
subgroup has as many; no two of a subgroup begin at one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from coopc.device.block_io import MAX_BLOCK_WIDTH_BYTES, BlockIO
from coopc.layout.linear import LinearLayout, powers
from coopc.plan.block_message import BlockShape
from coopc.plan.refusal import Reason, Refusal

MOST_ROWS = 32


@dataclass(frozen=True)
class PrefetchPlan:
    """The messages that fetch a tile, for each warp."""

    layout: LinearLayout
    """From register (the message) and warp to where it begins, rows and columns."""
    shape: BlockShape
    """Of every message."""

    def __post_init__(self) -> None:
        rows, cols = sizes = [*self.layout.out_sizes.values()]
        of_warps, own = self.layout.images("warp"), self.layout.images("register")
        found = {tuple(self.layout.unpack(x ^ y)) for x in of_warps for y in own}
        wanted = (range(0, rows, self.shape.height), range(0, cols, self.shape.columns))
        if not found.issuperset(product(*wanted)):
            raise ValueError(f"expected messages that cover a tile of {sizes}")

    @property
    def messages(self) -> int:
        """How many each subgroup sends."""
        return self.layout.in_sizes["register"]


def plan_prefetch(
    rows: int, cols: int, element_bits: int, warps: int, io: BlockIO | None
) -> PrefetchPlan | Refusal:
    """Return how the subgroups of a work-group fetch a tile.

    Args:
        rows: of the tile, as memory has them; a power of two as all sizes.
        cols: of the tile, in elements, contiguous in memory.
        element_bits: width of an element.
        warps: subgroups of the work-group.
        io: the messages of the device.
    """
    if io is None:
        return Refusal(Reason.NO_BLOCK_IO, "the device has no prefetch messages")
    width = min(cols, MAX_BLOCK_WIDTH_BYTES * 8 // element_bits)
    across = min(cols // width, warps)
    down = max(1, rows * across // warps)
    height = min(down, MOST_ROWS)
    counts = (  # as few blocks as there are
        x
        for x in (1, 2, 4)
        if width % x == 0 and io.has("prefetch", element_bits, width // x, height, x)
    )
    count = next(counts, None)
    if count is None:
        return Refusal(Reason.ELEMENT, f"rows of {width} of {element_bits} bits")
    warp = [(0, col) for col in powers(width, width * across)]
    warp += [(row, 0) for row in powers(down, rows)]
    missing = warps.bit_length() - 1 - len(warp)
    warp += [(0, 0)] * missing
    register = [(row, 0) for row in powers(height, down)]
    register += [(0, col) for col in powers(width * across, cols)]
    ins = {"register": register, "warp": warp}
    shape = BlockShape(element_bits, height, width // count, count)
    return PrefetchPlan(LinearLayout.of(ins, {"dim0": rows, "dim1": cols}), shape)
