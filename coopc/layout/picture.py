"""Pictures of layouts: labels and colours, drawn as PNG and SVG by matplotlib.

    tensor_picture     a cell for each element, in the colour of its lane
    hardware_picture   a cell for each place of a subgroup, with its coordinates

`render` draws them; everything worth a test is in the value.  For example 2 x 3
elements as row slices over 4 lanes, in the tensor picture (`lane:register`) and in
the hardware picture, with padding hatched (###):

    cells       0      1      2             cells         0      1      2      3
    row 0       0:0    1:0    2:0           register 0    0,0    0,1    0,2    1,0
    row 1       3:0    0:1    1:1           register 1    1,1    1,2    ###    ###
    row 2       ###    ###

Elements that several lanes or registers of a subgroup hold show the first (of the least
block, subgroup, lane and register), and `+n` for n others.  Parts that different
subgroups hold are outlined, and named.

Neighbours have colours that differ, all of them light enough for black text.  Lane p of
n has, in the OKLCH space, in which equal steps look equally large,

    hue        START + 360 p / n degrees
    lightness  0.84 for even p, 0.70 for odd p
    chroma     0.10

so the hue shows the order of the lanes, and the lightness tells neighbours apart, also
for who does not see the hue.  More than 32 lanes repeat the colours of 32.

Source of the matrices: Ottosson, "A perceptual color space for image processing", 2020.

Laws (test/unit/layout/test_picture.py checks each by its name):

    lanes       the colour of an element's cell is a lane that holds it
    places      the hardware picture has every place of the subgroup, once
    regions     a region names exactly the subgroups that hold each of its elements
    different   the colours of up to 32 lanes are all different, neighbours clearly
    readable    black on each of them has a contrast of at least 4.5 (WCAG AA)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from io import BytesIO
from itertools import pairwise, product
from math import ceil, cos, prod, radians, sin
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from coopc.layout.linear import powers
from coopc.layout.show import Placement

if TYPE_CHECKING:
    from coopc.layout.distribution import BoolArray, IntArray

MOST_SINGLE = 1100
"""The cells of a picture in which each can have its own label."""
CHARACTER = 6.0
"""The width of a character of a label, in pixels."""
LINE = 13.0
"""The height of a label, in pixels."""
LEGIBLE = (28.0, 14.0)
"""The width and height of a cell with a label of its own, in pixels."""
SPACIOUS = (72.0, 24.0)
"""The width and height of a box that holds more than one lane, in pixels."""


@dataclass(frozen=True, slots=True)
class Box:
    """Some cells of a grid."""

    row: int
    col: int
    rows: int
    cols: int

    @property
    def area(self) -> int:
        return self.rows * self.cols

    @property
    def cut(self) -> tuple[slice, slice]:
        """The indices of its cells in an array of all cells."""
        return slice(self.row, self.row + self.rows), slice(
            self.col, self.col + self.cols
        )


Clarity: TypeAlias = Literal[0, 1, 2]
"""2 where a text lists exactly what some cells have, and these are one lane's, or in
one line; 1 where it lists exactly what they have; 0 where cells lack some of it."""


@dataclass(frozen=True, slots=True)
class CellLabel:
    """A text for all cells of a box."""

    box: Box
    text: str
    clarity: Clarity = field(default=2, compare=False)


def labels(
    shape: tuple[int, int],
    label: Callable[[Box], CellLabel],
    cell: tuple[float, float],
) -> list[CellLabel]:
    """Return labels for all cells of a grid: small boxes, but clear and with room.

    Args:
        shape: rows and columns of cells.
        label: what the cells of a box have in common.
        cell: the width and the height of a cell, in pixels.
    """
    rows, cols = shape

    def boxes(height: int, width: int) -> list[CellLabel]:
        corners = product(range(0, rows, height), range(0, cols, width))
        return [
            label(Box(row, col, min(height, rows - row), min(width, cols - col)))
            for row, col in corners
        ]

    def has_room(found: Iterable[CellLabel], least: tuple[float, float]) -> bool:
        return all(
            x.box.cols * cell[0] >= max(least[0], CHARACTER * len(x.text))
            and x.box.rows * cell[1] >= max(least[1], LINE)
            for x in found
        )

    if rows * cols <= MOST_SINGLE and has_room(single := boxes(1, 1), LEGIBLE):
        return single
    best: tuple[int, list[CellLabel]] = -1, boxes(rows, cols)
    sizes = product((*powers(1, rows), rows), (*powers(1, cols), cols))
    for height, width in sorted(sizes, key=lambda size: (prod(size), size)):
        # Of the clearest boxes the largest are taken, of others the smallest.
        wanted = min(best[0] + 1, 2)
        first = label(Box(0, 0, height, width))
        if first.clarity < wanted or not has_room([first], (0.0, 0.0)):
            continue
        found = boxes(height, width)
        clarity = min(x.clarity for x in found)
        if clarity >= wanted and has_room(found, (0, 0) if clarity == 2 else SPACIOUS):
            best = clarity, found
    return best[1]


def ranges(values: IntArray) -> tuple[str, int]:
    """Return numbers as a range, and how many there are if it is complete, else 0.

    >>> import numpy as np
    >>> ranges(np.array([3, 2, 3])), ranges(np.array([0, 2])), ranges(np.array([7]))
    (('2-3', 2), ('0..2', 0), ('7', 1))
    """
    import numpy as np

    low, high, count = int(values.min()), int(values.max()), np.unique(values).size
    if low == high:
        return str(low), 1
    if high - low + 1 == count:
        return f"{low}-{high}", count
    return f"{low}..{high}", 0


def _label(box: Box, text: str, complete: bool, one_line: bool) -> CellLabel:
    """Return the label of a box; ranges that are not complete are written so."""
    if not complete:
        return CellLabel(box, text.replace("-", ".."), 0)
    return CellLabel(box, text, 2 if one_line else 1)


# --- colours --------------------------------------------------------------------------

Rgb: TypeAlias = tuple[float, float, float]
"""Red, green and blue, 0 to 1, as screens take them (sRGB)."""

START = 20.0
"""The hue of lane 0, in degrees: red."""
LIGHTNESS = (0.84, 0.70)
CHROMA = 0.10
MOST = 32
"""The lanes that have different colours."""


@cache
def colours(lanes: int) -> tuple[Rgb, ...]:
    count = min(lanes, MOST)
    wheel = [
        of_oklch(LIGHTNESS[p % 2], CHROMA, START + 360 * p / count)
        for p in range(count)
    ]
    return tuple(wheel[p % count] for p in range(lanes))


def of_oklch(lightness: float, chroma: float, hue: float) -> Rgb:
    """Return the colour at a place of the OKLCH space, clipped to what screens have.

    >>> [round(part, 3) for part in of_oklch(0.5, 0.0, 0.0)]
    [0.389, 0.389, 0.389]
    """
    a, b = chroma * cos(radians(hue)), chroma * sin(radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _encoded(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short),
        _encoded(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short),
        _encoded(-0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short),
    )


def _encoded(linear: float) -> float:
    """Return a linear part as sRGB has it, within 0 to 1."""
    linear = min(1.0, max(0.0, linear))
    if linear <= 0.0031308:
        return 12.92 * linear
    return 1.055 * linear ** (1 / 2.4) - 0.055


# --- who owns each element ------------------------------------------------------------

NOTHING = -1
"""In a grid: there is no place for this cell."""
FOLDED = 32
"""The cells of a row of a tensor of rank 1."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnerGrid:
    """By row and column of a tensor: the first owner, and how many others."""

    lane: IntArray
    register: IntArray
    others: IntArray
    """How many other places of the same subgroup hold the element."""
    group: IntArray
    """Which set of subgroups holds it."""
    padding: BoolArray

    def label(self, box: Box) -> CellLabel:
        held = self.lane[box.cut] != NOTHING
        if not held.any():
            return CellLabel(box, "")
        lanes, lane_count = ranges(self.lane[box.cut][held])
        registers, register_count = ranges(self.register[box.cut][held])
        others = self.others[box.cut][held]
        complete = lane_count * register_count == held.sum() and all(
            _alike(values[box.cut][held])
            for values in (self.others, self.group, self.padding)
        )
        text = f"{lanes}:{registers}" + (f"+{others.max()}" if others.any() else "")
        return _label(box, text, complete, lane_count == 1)


def owners_of(
    x: Placement, extent: tuple[int, ...]
) -> tuple[OwnerGrid, list[IntArray]]:
    """Return the grid of a tensor, and the subgroups of each group."""
    import numpy as np

    blocks, warps, registers, lanes = x.coordinates.shape[:4]
    number = x.elements(extent)
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
        np.stack(np.unravel_index(cells, extent), axis=-1) >= x.shape, axis=-1
    )
    # Rows of the last dimension, folded where it is the only one.
    cols = extent[-1] if len(extent) > 1 else min(FOLDED, *extent)

    def grid(values: IntArray | list[int] | BoolArray) -> IntArray:
        flat = np.full(-(-prod(extent) // cols) * cols, NOTHING, dtype=np.int64)
        flat[cells] = values
        return flat.reshape(-1, cols)

    owners = OwnerGrid(
        grid(place // registers),
        grid(place % registers),
        grid(counts // holders - 1),
        grid(group),
        grid(padding) == 1,
    )
    return owners, [np.frombuffer(key, dtype=np.int64) for key in group_of]


def subgroups(numbers: IntArray, warps: int) -> str:
    """Return the name of some subgroups.

    A number is warp + block * warps.

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
    first, *rest = numbers.tolist()
    steps = {high - low for low, high in pairwise((first, *rest))}
    if not rest:
        return f"{what} {first}"
    if steps == {1}:
        return f"{what}s {first}-{rest[-1]}"
    if len(steps) == 1 and len(rest) > 1:
        return f"{what}s {first},{rest[0]}..{rest[-1]}"
    return f"{what}s {','.join(map(str, (first, *rest)))}"


def _alike(values: IntArray | BoolArray) -> bool:
    return bool((values == values.flat[0]).all())


# --- pictures as data -----------------------------------------------------------------

CANVAS = (1600.0, 1280.0)
"""The width and height that cells share, in pixels."""
LARGEST = (60.0, 30.0)
SMALLEST = (5.0, 5.0)
"""The width and height of a cell, in pixels, at most and at least."""
AXES = {1: ("index", "offset"), 2: ("row", "column")}
"""What rows and columns are, by the rank of the tensor."""


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
    labels: tuple[CellLabel, ...]
    regions: tuple[CellLabel, ...]
    """Elements that the same subgroups hold, and the names of these, in the order of
    rows; empty where there is one subgroup."""
    lane_count: int
    cell: tuple[float, float]
    """The width and height of a cell, in pixels."""
    note: str
    """How to read a label."""


def tensor_picture(
    x: Placement, title: str, cell: tuple[float, float] | None = None
) -> Picture:
    """Return the picture of who holds each element.

    A cell is width and height in pixels; None is what fits.
    """
    import numpy as np

    extent = x.extent
    owners, groups = owners_of(x, extent)
    rows, cols = owners.lane.shape
    cell = cell or _cell(rows, cols)
    note = "labels are lane:register, a-b is a to b"
    if (owners.others > 0).any():
        note += ", +n is n other places of the subgroup"
    if len(extent) == 1:
        row_names = [str(row * cols) for row in range(rows)]
    else:
        row_names = [",".join(map(str, at)) for at in np.ndindex(extent[:-1])]
    found = labels((rows, cols), owners.label, cell)
    return Picture(
        title,
        AXES.get(len(extent), ("indices", "last index")),
        tuple(row_names),
        tuple(map(str, range(cols))),
        owners.lane,
        owners.padding,
        tuple(label for label in found if label.text),
        _regions(owners.group, groups, x.sizes["warp"]) if len(groups) > 1 else (),
        x.sizes["lane"],
        cell,
        note,
    )


def hardware_picture(x: Placement, title: str, warp: int = 0) -> Picture:
    """Return the picture of what a subgroup of the first block holds."""
    import numpy as np

    values, padding = x.coordinates[0, warp], ~x.inside[0, warp]
    registers, lanes = padding.shape
    cell = _cell(registers, lanes)

    def label(box: Box) -> CellLabel:
        if padding[box.cut].all():
            return CellLabel(box, "-")
        found = [ranges(values) for values in values[box.cut].reshape(box.area, -1).T]
        counts = [count for _, count in found]
        complete = prod(counts) == box.area and not padding[box.cut].any()
        one_line = sum(count != 1 for count in counts) <= 1
        return _label(box, ",".join(text for text, _ in found), complete, one_line)

    return Picture(
        title,
        ("register", "lane"),
        tuple(map(str, range(registers))),
        tuple(map(str, range(lanes))),
        np.tile(np.arange(lanes, dtype=np.int64), (registers, 1)),
        padding,
        tuple(labels((registers, lanes), label, cell)),
        (),
        lanes,
        cell,
        "labels are coordinates in the tensor",
    )


def _regions(
    group: IntArray, groups: list[IntArray], warps: int
) -> tuple[CellLabel, ...]:
    """Return the boxes between the lines at which groups change."""
    import numpy as np

    def edges(changes: BoolArray) -> list[int]:
        inner: list[int] = (np.flatnonzero(changes) + 1).tolist()
        return [0, *inner, changes.size + 1]

    rows = edges(np.any(group[1:] != group[:-1], axis=1))
    cols = edges(np.any(group[:, 1:] != group[:, :-1], axis=0))
    found: list[CellLabel] = []
    for (top, bottom), (left, right) in product(pairwise(rows), pairwise(cols)):
        number = int(group[top, left])
        if number != NOTHING:
            box = Box(top, left, bottom - top, right - left)
            found.append(CellLabel(box, subgroups(groups[number], warps)))
    return tuple(found)


def _cell(rows: int, cols: int) -> tuple[float, float]:
    """Return the width and the height of a cell so that all of them fill the canvas."""
    sizes = zip(SMALLEST, CANVAS, (cols, rows), LARGEST, strict=True)
    width, height = (
        max(least, min(most, space / count)) for least, space, count, most in sizes
    )
    return width, height


# --- to PNG and SVG -------------------------------------------------------------------

Format: TypeAlias = Literal["png", "svg"]

# All sizes are in pixels.
DPI = 100
TITLE_LINE = 17.0
"""The height of a line of the title."""
AROUND = 120.0
"""The height of what is above and below the cells, the title aside."""
TICK = (26.0, 14.0)
"""The width and height that the name of a column or of a row needs."""
TITLE_COLUMNS = 180
"""Characters of a line of the title."""

SMALL, MEDIUM = 6.5, 8.0
"""Sizes of letters, in points."""
INK, GREY, LIGHT, PAPER = "#000000", "#666666", "#999999", "#ffffff"
HATCHED: dict[str, Any] = {
    "facecolor": "#ffffff99",
    "hatch": "////",
    "hatchcolor": LIGHT,
}
"""Of padding."""
ON_COLOURS = {"facecolor": PAPER, "alpha": 0.7, "linewidth": 0.0, "pad": 0.8}
"""Behind a label on several colours, or on hatching."""
FRAMED = {"facecolor": PAPER, "edgecolor": INK, "linewidth": 0.6, "pad": 1.5}
"""Behind the name of a region."""
LEGEND: dict[str, Any] = {
    **{"loc": "upper left", "bbox_to_anchor": (0, 0), "borderaxespad": 2},
    **{"ncols": MOST + 1, "handlelength": 1.2, "columnspacing": 1.0},
    **{"fontsize": SMALL, "title_fontsize": SMALL, "labelcolor": GREY},
    **{"alignment": "left", "frameon": False},
}


def render(pictures: Sequence[Picture], format: Format) -> bytes:
    """Return the pictures below each other, as the bytes of a file.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    # matplotlib's type hints are partial.
    mpl: Any = import_module("matplotlib")
    sizes = [
        (x.lanes.shape[1] * x.cell[0], x.lanes.shape[0] * x.cell[1]) for x in pictures
    ]
    titles = [
        [part for line in x.title.splitlines() for part in wrap(line, TITLE_COLUMNS)]
        for x in pictures
    ]
    above = [AROUND + TITLE_LINE * len(title) for title in titles]
    width, height = max(x for x, _ in sizes), sum(above) + sum(y for _, y in sizes)
    figure: Any = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    bottom = height
    for picture, title, over, (x, y) in zip(
        pictures, titles, above, sizes, strict=True
    ):
        bottom -= over + y
        axes = figure.add_axes((0, bottom / height, x / width, y / height))
        axes.set_title("\n".join(title), loc="left", fontsize=MEDIUM, linespacing=1.5)
        _draw(picture, axes)
    # The same layout is the same file: no dates, no random names.
    metadata = {"Date": None} if format == "svg" else {"Software": None}
    out = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "coopc", "svg.fonttype": "none"}):
        figure.savefig(out, format=format, metadata=metadata, bbox_inches="tight")
    return out.getvalue()


def _draw(picture: Picture, axes: Any) -> None:
    import numpy as np
    from matplotlib.patches import Patch

    rows, cols = picture.lanes.shape
    palette = np.array([*colours(picture.lane_count), (1.0, 1.0, 1.0)])  # of NOTHING
    axes.pcolormesh(palette[picture.lanes])
    axes.set(xlim=(0, cols), ylim=(rows, 0), frame_on=False)
    hatched = [Box(int(x), int(y), 1, 1) for x, y in np.argwhere(picture.padding)]
    _outline(axes, hatched, linewidth=0.0, **HATCHED)
    _outline(axes, [x.box for x in picture.labels], edgecolor=PAPER, linewidth=0.8)
    for label in picture.labels:
        cut = label.box.cut
        plain = _alike(picture.lanes[cut]) and not picture.padding[cut].any()
        _write(axes, label, SMALL, bbox=None if plain else ON_COLOURS)
    _name_regions(axes, picture)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0, labelsize=SMALL)
    for axis, names, size, least in (
        (axes.xaxis, picture.col_names, picture.cell[0], TICK[0]),
        (axes.yaxis, picture.row_names, picture.cell[1], TICK[1]),
    ):
        shown = range(0, len(names), 1 << (ceil(least / size) - 1).bit_length())
        axis.set_ticks([x + 0.5 for x in shown], [names[x] for x in shown])
    of_rows, of_cols = picture.axes
    axes.set_xlabel(f"{of_cols} →", loc="left", fontsize=MEDIUM, color=GREY)
    axes.set_ylabel(f"← {of_rows}", loc="top", fontsize=MEDIUM, color=GREY)
    count = min(picture.lane_count, MOST)
    handles = [Patch(color=palette[x], label=str(x)) for x in range(count)]
    if hatched:
        handles.append(Patch(linewidth=0.0, label="padding", **HATCHED))
    more = f"; lane p has the colour of p mod {MOST}"
    note = picture.note + (more if picture.lane_count > MOST else "")
    axes.legend(handles=handles, title=f"lanes; {note}", **LEGEND)


def _name_regions(axes: Any, picture: Picture) -> None:
    """Outline regions; name them beside bands, else on them, if that fits."""
    cols = picture.lanes.shape[1]
    _outline(axes, [x.box for x in picture.regions], edgecolor=INK, linewidth=1.6)
    bands = all(region.box.cols == cols for region in picture.regions)
    for region in picture.regions:
        box, name = region.box, region.text
        width, height = box.cols * picture.cell[0], box.rows * picture.cell[1]
        if bands:
            at = CellLabel(Box(box.row, cols, box.rows, 0), f"  {name}")
            _write(axes, at, MEDIUM, ha="left")
            continue
        if width < 1.3 * CHARACTER * len(name):
            name = name.replace("warps ", "w").replace("warp ", "w")
        if height >= TITLE_LINE and width >= CHARACTER * len(name):
            _write(axes, CellLabel(box, name), MEDIUM, bbox=FRAMED)


def _outline(axes: Any, boxes: Iterable[Box], **style: Any) -> None:
    from matplotlib.collections import PolyCollection

    corners = [
        [(x, y), (x + box.cols, y), (x + box.cols, y + box.rows), (x, y + box.rows)]
        for box in boxes
        for x, y in ((box.col, box.row),)
    ]
    style = {"facecolor": "none", "clip_on": False, **style}
    axes.add_collection(PolyCollection(corners, **style), autolim=False)


def _write(axes: Any, label: CellLabel, size: float, **style: Any) -> None:
    """Write a text in the middle of its box."""
    box = label.box
    x, y = box.col + box.cols / 2, box.row + box.rows / 2
    style = {"ha": "center", "va": "center", "fontsize": size, **style}
    axes.text(x, y, label.text, **style)
