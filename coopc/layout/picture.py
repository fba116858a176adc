r"""Pictures of layouts as data: the colour, text, outline and hatching of each cell.

    tensor_picture     a cell for each element, in the colour of the lane that holds it
    hardware_picture   a cell for each place of a subgroup, with its coordinates

`render` draws them; everything worth a test is in the value.  For example 2 x 3
elements as row slices over 4 lanes, in the tensor picture (`lane:register`) and in the
hardware picture, with padding hatched (###):

    cells       0      1      2             cells         0      1      2      3
    row 0       0:0    1:0    2:0           register 0    0,0    0,1    0,2    1,0
    row 1       3:0    0:1    1:1           register 1    1,1    1,2    ###    ###
    row 2       ###    ###

Elements that several lanes or registers of a subgroup hold show the first, and `+n`
for n others.  Parts that different subgroups hold are outlined, and named.

Laws (test/unit/test_layout_picture.py checks each by its name):

    lanes      the colour of an element's cell is a lane that holds it
    places     the hardware picture has every place of the subgroup, once
    regions    a region names exactly the subgroups that hold each of its elements
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from coopc.layout.labels import Box, Grid, Label, labels
from coopc.layout.picture_grids import NOTHING, Coordinates, owners_of, subgroups
from coopc.layout.placement import Placement

if TYPE_CHECKING:
    from coopc.layout.distribution import BoolArray, IntArray

CANVAS = (1600.0, 1280.0)
"""The width and height that cells share, in pixels."""
LARGEST = (60.0, 30.0)
SMALLEST = (5.0, 5.0)
"""The width and height of a cell, in pixels, at most and at least."""
AXES = {1: ("index", "offset"), 2: ("row", "column")}
"""What rows and columns are, by the rank of the tensor."""


@dataclass(frozen=True, slots=True)
class Region:
    """Elements that the same subgroups hold."""

    box: Box
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """What is drawn."""

    title: str
    axes: tuple[str, str]
    """What rows and columns are."""
    row_names: tuple[str, ...]
    col_names: tuple[str, ...]
    lanes: IntArray
    """The lane whose colour each cell has, or NOTHING."""
    padding: BoolArray
    """Which cells are hatched."""
    labels: tuple[Label, ...]
    regions: tuple[Region, ...]
    """In the order of rows; empty where there is one subgroup."""
    lane_count: int
    cell: tuple[float, float]
    """The width and height of a cell, in pixels."""
    note: str
    """How to read a label."""


def tensor_picture(
    x: Placement, title: str, cell: tuple[float, float] | None = None
) -> Picture:
    """Return the picture of who holds each element.

    Args:
        x: the layout.
        title: what stands above, some lines.
        cell: the width and height of a cell, in pixels; None is what fits.
    """
    import numpy as np

    extent = x.extent
    owners, groups = owners_of(x, extent)
    cell = cell or _cell(owners.shape)
    rows, cols = owners.shape
    note = "labels are lane:register, a-b is a to b"
    if (owners.others > 0).any():
        note += ", +n is n other places of the subgroup"
    if len(extent) == 1:
        row_names = [str(row * cols) for row in range(rows)]
    else:
        row_names = [",".join(map(str, at)) for at in np.ndindex(extent[:-1])]
    return Picture(
        title,
        AXES.get(len(extent), ("indices", "last index")),
        tuple(row_names),
        tuple(map(str, range(cols))),
        owners.lane,
        owners.padding,
        _drawn(owners, cell),
        _regions(owners.group, groups, x.sizes["warp"]) if len(groups) > 1 else (),
        x.sizes["lane"],
        cell,
        note,
    )


def hardware_picture(x: Placement, title: str, warp: int = 0) -> Picture:
    """Return the picture of what a subgroup of the first block holds."""
    import numpy as np

    values, inside = x.coordinates[0, warp], x.inside[0, warp]
    registers, lanes = inside.shape
    grid = Coordinates(values, ~inside)
    cell = _cell(grid.shape)
    return Picture(
        title,
        ("register", "lane"),
        tuple(map(str, range(registers))),
        tuple(map(str, range(lanes))),
        np.tile(np.arange(lanes, dtype=np.int64), (registers, 1)),
        grid.padding,
        _drawn(grid, cell),
        (),
        lanes,
        cell,
        "labels are coordinates in the tensor",
    )


def _drawn(grid: Grid, cell: tuple[float, float]) -> tuple[Label, ...]:
    return tuple(label for label in labels(grid, cell) if label.text)


def _regions(group: IntArray, groups: list[IntArray], warps: int) -> tuple[Region, ...]:
    """Return the boxes between the lines at which groups change."""
    import numpy as np

    def edges(changes: BoolArray) -> list[int]:
        inner: list[int] = (np.flatnonzero(changes) + 1).tolist()
        return [0, *inner, changes.size + 1]

    rows = edges(np.any(group[1:] != group[:-1], axis=1))
    cols = edges(np.any(group[:, 1:] != group[:, :-1], axis=0))
    found: list[Region] = []
    for top, bottom in pairwise(rows):
        for left, right in pairwise(cols):
            number = int(group[top, left])
            if number != NOTHING:
                box = Box(top, left, bottom - top, right - left)
                found.append(Region(box, subgroups(groups[number], warps)))
    return tuple(found)


def _cell(shape: tuple[int, int]) -> tuple[float, float]:
    """Return the width and the height of a cell so that all of them fill the canvas."""
    sizes = zip(SMALLEST, CANVAS, reversed(shape), LARGEST, strict=True)
    width, height = (
        max(least, min(most, space / count)) for least, space, count, most in sizes
    )
    return width, height
