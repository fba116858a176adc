"""The rules of Triton's Intel back end for 2D block loads, to count its messages.

They are those of `LowerTo2DBlockLoad` of intel/intel-xpu-backend-for-triton at
6c1649935d: a tile grows from the lanes, along the registers while they continue it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from coopc.plan.search import Request


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
