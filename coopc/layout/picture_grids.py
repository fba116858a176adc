r"""Grids of cells for pictures: who owns each element, and what each place points to.

    Owners         by row and column of a tensor: the first owner, and how many others
    Coordinates    by register and lane of a subgroup: the coordinates

Both can summarise the cells of a box, as labels need it.  The first owner is the one of
the least block, subgroup, lane and register.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from coopc.layout.labels import Box, Summary, ranges
from coopc.layout.placement import Placement

if TYPE_CHECKING:
    from coopc.layout.distribution import BoolArray, IntArray

NOTHING = -1
"""In a grid: there is no place for this cell."""
FOLDED = 32
"""The cells of a row of a tensor of rank 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """The grid of a tensor: the first owner of each cell."""

    lane: IntArray
    register: IntArray
    others: IntArray
    """How many other places of the same subgroup hold the element."""
    group: IntArray
    """Which set of subgroups holds it."""
    padding: BoolArray

    @property
    def shape(self) -> tuple[int, int]:
        """See `Grid`."""
        rows, cols = self.lane.shape
        return rows, cols

    def summary(self, box: Box) -> Summary:
        """See `Grid`."""
        cut = _cut(box)
        held = self.lane[cut] != NOTHING
        if not held.any():
            return Summary("", True, True)
        lanes, lane_count = ranges(self.lane[cut][held])
        registers, register_count = ranges(self.register[cut][held])
        others = self.others[cut][held]
        alike = all(
            _alike(values[cut][held])
            for values in (self.others, self.group, self.padding)
        )
        complete = alike and lane_count * register_count == held.sum()
        text = f"{lanes}:{registers}" + (f"+{others.max()}" if others.any() else "")
        return Summary(_loose(text, complete), complete, lane_count == 1)


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """The grid of a subgroup: the coordinates of each place, registers by lanes."""

    values: IntArray
    """By register, lane and dimension."""
    padding: BoolArray

    @property
    def shape(self) -> tuple[int, int]:
        """See `Grid`."""
        rows, cols = self.padding.shape
        return rows, cols

    def summary(self, box: Box) -> Summary:
        """See `Grid`."""
        cut = _cut(box)
        if self.padding[cut].all():
            return Summary("-", True, True)
        found = [ranges(values) for values in self.values[cut].reshape(box.area, -1).T]
        counts = [count for _, count in found]
        complete = prod(counts) == box.area and not self.padding[cut].any()
        text = ",".join(text for text, _ in found)
        lines = sum(count != 1 for count in counts)
        return Summary(_loose(text, complete), complete, lines <= 1)


def owners_of(x: Placement, extent: Sequence[int]) -> tuple[Owners, list[IntArray]]:
    """Return the grid of a tensor, and the subgroups of each group."""
    import numpy as np

    blocks, warps, registers, lanes = x.coordinates.shape[:4]
    by_lane = x.coordinates.transpose(0, 1, 3, 2, 4).reshape(-1, len(extent))
    number = np.ravel_multi_index(tuple(by_lane.T), tuple(extent))
    cells, first, counts = np.unique(number, return_index=True, return_counts=True)
    place = first % (lanes * registers)
    warp = np.arange(number.size) // (lanes * registers)
    pairs = np.unique(number * (blocks * warps) + warp)
    held, starts = np.unique(pairs // (blocks * warps), return_index=True)
    sets = np.split(pairs % (blocks * warps), starts[1:])
    group_of: dict[bytes, int] = {}
    group = [group_of.setdefault(each.tobytes(), len(group_of)) for each in sets]
    assert np.array_equal(held, cells)
    holders = np.array([each.size for each in sets])
    padding = np.any(
        np.stack(np.unravel_index(cells, tuple(extent)), axis=-1) >= x.shape, axis=-1
    )

    def grid(values: IntArray | list[int] | BoolArray) -> IntArray:
        flat = np.full(prod(extent), NOTHING, dtype=np.int64)
        flat[cells] = values
        return _folded(flat, extent)

    owners = Owners(
        grid(place // registers),
        grid(place % registers),
        grid(counts // holders - 1),
        grid(group),
        grid(padding) == 1,
    )
    return owners, [np.frombuffer(key, dtype=np.int64) for key in group_of]


def _folded(flat: IntArray, extent: Sequence[int]) -> IntArray:
    """Return cells in rows of the last dimension, folded where it is the only one."""
    import numpy as np

    if len(extent) > 1:
        return flat.reshape(-1, extent[-1])
    cols = min(FOLDED, flat.size)
    rest = -flat.size % cols
    return np.pad(flat, (0, rest), constant_values=NOTHING).reshape(-1, cols)


def subgroups(numbers: IntArray, warps: int) -> str:
    """Return the name of some subgroups.

    Args:
        numbers: warp + block * warps of each, in order.
        warps: the subgroups of a block.

    >>> import numpy as np
    >>> subgroups(np.array([4, 5, 6]), 8), subgroups(np.array([0, 4, 8]), 16)
    ('warps 4-6', 'warps 0,4..8')
    >>> subgroups(np.array([3, 7]), 4)
    'blocks 0-1, warp 3'
    """
    import numpy as np

    within, blocks = np.unique(numbers % warps), np.unique(numbers // warps)
    if within.size * blocks.size != numbers.size:
        return "subgroups " + ",".join(map(str, numbers.tolist()))
    name = _counted("warp", within)
    return name if not blocks.any() else f"{_counted('block', blocks)}, {name}"


def _counted(what: str, numbers: IntArray) -> str:
    import numpy as np

    first, *rest = numbers.tolist()
    steps: list[int] = np.unique(np.diff(numbers)).tolist()
    if not rest:
        return f"{what} {first}"
    if steps == [1]:
        return f"{what}s {first}-{rest[-1]}"
    if len(steps) == 1 and len(rest) > 1:
        return f"{what}s {first},{rest[0]}..{rest[-1]}"
    return f"{what}s {','.join(map(str, (first, *rest)))}"


def _cut(box: Box) -> tuple[slice, slice]:
    return slice(box.row, box.row + box.rows), slice(box.col, box.col + box.cols)


def _loose(text: str, complete: bool) -> str:
    return text if complete else text.replace("-", "..")


def _alike(values: IntArray | BoolArray) -> bool:
    return bool((values == values.flat[0]).all())
