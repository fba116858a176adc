"""Pictures of layouts: labels and colours, drawn as PNG and SVG by matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from io import BytesIO
from itertools import groupby, pairwise, product
from math import cos, prod, radians, sin
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

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


@dataclass(frozen=True, slots=True)
class CellLabel:
    """A text for all cells of a box."""

    box: Box
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What the cells of a box have in common."""

    text: str
    complete: bool
    """Whether its ranges list exactly what the cells have."""
    pure: bool
    """Whether the cells are one lane's, or in one line."""


class CellGrid(Protocol):
    """Cells that can be summarised."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        ...

    def summary(self, box: Box) -> Summary:
        """Return what the cells of a box have in common."""
        ...


def labels(grid: CellGrid, cell: tuple[float, float]) -> tuple[CellLabel, ...]:
    """Return the labels of a grid.

    Args:
        grid: the cells.
        cell: the width and the height of a cell, in pixels.
    """
    rows, cols = grid.shape
    if rows * cols <= MOST_SINGLE:
        single = _boxes(grid, 1, 1)
        if _has_room(single, cell, LEGIBLE):
            return _texts(single)
    sizes = sorted(product(_steps(rows), _steps(cols)), key=lambda s: (s[0] * s[1], s))
    pure: list[tuple[Box, Summary]] = []
    mixed: list[list[tuple[Box, Summary]]] = []
    for height, width in sizes:
        first = Box(0, 0, height, width), grid.summary(Box(0, 0, height, width))
        may_be_pure = first[1].pure and first[1].complete
        least = (0.0, 0.0) if may_be_pure else SPACIOUS
        wanted = may_be_pure or (not pure and not _all_complete(mixed[-1:]))
        if not wanted or not _has_room([first], cell, least):
            continue
        found = _boxes(grid, height, width)
        if all(x.pure and x.complete for _, x in found):
            pure = found if _has_room(found, cell, least) else pure
        elif _has_room(found, cell, SPACIOUS):
            mixed.append(found)
    if pure:
        return _texts(pure)
    if _all_complete(mixed[-1:]):
        return _texts(mixed[-1])
    return _texts(mixed[0] if mixed else _boxes(grid, rows, cols))


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


def _boxes(grid: CellGrid, height: int, width: int) -> list[tuple[Box, Summary]]:
    rows, cols = grid.shape
    found: list[tuple[Box, Summary]] = []
    for row, col in product(range(0, rows, height), range(0, cols, width)):
        box = Box(row, col, min(height, rows - row), min(width, cols - col))
        found.append((box, grid.summary(box)))
    return found


def _has_room(
    found: Sequence[tuple[Box, Summary]],
    cell: tuple[float, float],
    least: tuple[float, float],
) -> bool:
    return all(
        box.cols * cell[0] >= max(least[0], CHARACTER * len(summary.text))
        and box.rows * cell[1] >= max(least[1], LINE)
        for box, summary in found
    )


def _all_complete(found: Sequence[Sequence[tuple[Box, Summary]]]) -> bool:
    return any(all(summary.complete for _, summary in boxes) for boxes in found)


def _texts(found: Sequence[tuple[Box, Summary]]) -> tuple[CellLabel, ...]:
    return tuple(CellLabel(box, summary.text) for box, summary in found)


def _steps(size: int) -> Iterator[int]:
    """Yield the powers of two below a size, and the size.

    >>> list(_steps(9))
    [1, 2, 4, 8, 9]
    """
    step = 1
    while step < size:
        yield step
        step *= 2
    yield size


# Colours for lanes: neighbours differ, all are light enough for black text.
#
# Lane p of n has, in the OKLCH space, in which equal steps look equally large,
#
#     hue        START + 360 p / n degrees
#     lightness  0.84 for even p, 0.70 for odd p
#     chroma     0.10
#
# so the hue shows the order of the lanes, and the lightness tells neighbours apart,
# also for who does not see the hue.  More than 32 lanes repeat the colours of 32.
#
# Source of the matrices: Ottosson, "A perceptual color space for image processing",
# 2020.
#
# Laws (test/unit/layout/test_picture.py checks each by its name):
#
#     different   the colours of up to 32 lanes are all different, neighbours clearly
#     readable    black on each of them has a contrast of at least 4.5 (WCAG AA)

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
    """Return the colour of each lane.

    Args:
        lanes: how many, at least 1.
    """
    count = min(lanes, MOST)
    wheel = [
        of_oklch(LIGHTNESS[p % 2], CHROMA, START + 360 * p / count)
        for p in range(count)
    ]
    return tuple(wheel[p % count] for p in range(lanes))


def hexadecimal(colour: Rgb) -> str:
    """Return a colour as terminals and SVG have it.

    >>> hexadecimal((1.0, 0.5, 0.0))
    '#ff8000'
    """
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def of_oklch(lightness: float, chroma: float, hue: float) -> Rgb:
    """Return the colour at a place of the OKLCH space, clipped to what screens have.

    >>> hexadecimal(of_oklch(1.0, 0.0, 0.0)), hexadecimal(of_oklch(0.0, 0.0, 0.0))
    ('#ffffff', '#000000')
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


def luminance(colour: Rgb) -> float:
    """Return the relative luminance of a colour, 0 for black to 1 for white."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _encoded(linear: float) -> float:
    """Return a linear part as sRGB has it, within 0 to 1."""
    linear = min(1.0, max(0.0, linear))
    if linear <= 0.0031308:
        return 12.92 * linear
    return 1.055 * linear ** (1 / 2.4) - 0.055


# Grids of cells for pictures: who owns each element, and what each place points to.
#
#     OwnerGrid    by row and column of a tensor: the first owner, and how many others
#     PlaceGrid    by register and lane of a subgroup: the coordinates
#
# Both can summarise the cells of a box, as labels need it.  The first owner is the one
# of the least block, subgroup, lane and register.

NOTHING = -1
"""In a grid: there is no place for this cell."""
FOLDED = 32
"""The cells of a row of a tensor of rank 1."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnerGrid:
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
        rows, cols = self.lane.shape
        return rows, cols

    def summary(self, box: Box) -> Summary:
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
class PlaceGrid:
    """The grid of a subgroup: the coordinates of each place, registers by lanes."""

    values: IntArray
    """By register, lane and dimension."""
    padding: BoolArray

    @property
    def shape(self) -> tuple[int, int]:
        rows, cols = self.padding.shape
        return rows, cols

    def summary(self, box: Box) -> Summary:
        cut = _cut(box)
        if self.padding[cut].all():
            return Summary("-", True, True)
        found = [ranges(values) for values in self.values[cut].reshape(box.area, -1).T]
        counts = [count for _, count in found]
        complete = prod(counts) == box.area and not self.padding[cut].any()
        text = ",".join(text for text, _ in found)
        lines = sum(count != 1 for count in counts)
        return Summary(_loose(text, complete), complete, lines <= 1)


def owners_of(x: Placement, extent: Sequence[int]) -> tuple[OwnerGrid, list[IntArray]]:
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

    owners = OwnerGrid(
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


# Pictures of layouts as data: the colour, text, outline and hatching of each cell.
#
#     tensor_picture     a cell for each element, in the colour of its lane
#     hardware_picture   a cell for each place of a subgroup, with its coordinates
#
# `render` draws them; everything worth a test is in the value.  For example 2 x 3
# elements as row slices over 4 lanes, in the tensor picture (`lane:register`) and in
# the hardware picture, with padding hatched (###):
#
#     cells       0      1      2             cells         0      1      2      3
#     row 0       0:0    1:0    2:0           register 0    0,0    0,1    0,2    1,0
#     row 1       3:0    0:1    1:1           register 1    1,1    1,2    ###    ###
#     row 2       ###    ###
#
# Elements that several lanes or registers of a subgroup hold show the first, and `+n`
# for n others.  Parts that different subgroups hold are outlined, and named.
#
# Laws (test/unit/layout/test_picture.py checks each by its name):
#
#     lanes      the colour of an element's cell is a lane that holds it
#     places     the hardware picture has every place of the subgroup, once
#     regions    a region names exactly the subgroups that hold each of its elements

CANVAS = (1600.0, 1280.0)
"""The width and height that cells share, in pixels."""
LARGEST = (60.0, 30.0)
SMALLEST = (5.0, 5.0)
"""The width and height of a cell, in pixels, at most and at least."""
AXES = {1: ("index", "offset"), 2: ("row", "column")}
"""What rows and columns are, by the rank of the tensor."""


@dataclass(frozen=True, slots=True)
class SubgroupRegion:
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
    labels: tuple[CellLabel, ...]
    regions: tuple[SubgroupRegion, ...]
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
    grid = PlaceGrid(values, ~inside)
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


def _drawn(grid: CellGrid, cell: tuple[float, float]) -> tuple[CellLabel, ...]:
    return tuple(label for label in labels(grid, cell) if label.text)


def _regions(
    group: IntArray, groups: list[IntArray], warps: int
) -> tuple[SubgroupRegion, ...]:
    """Return the boxes between the lines at which groups change."""
    import numpy as np

    def edges(changes: BoolArray) -> list[int]:
        inner: list[int] = (np.flatnonzero(changes) + 1).tolist()
        return [0, *inner, changes.size + 1]

    rows = edges(np.any(group[1:] != group[:-1], axis=1))
    cols = edges(np.any(group[:, 1:] != group[:, :-1], axis=0))
    found: list[SubgroupRegion] = []
    for top, bottom in pairwise(rows):
        for left, right in pairwise(cols):
            number = int(group[top, left])
            if number != NOTHING:
                box = Box(top, left, bottom - top, right - left)
                found.append(SubgroupRegion(box, subgroups(groups[number], warps)))
    return tuple(found)


def _cell(shape: tuple[int, int]) -> tuple[float, float]:
    """Return the width and the height of a cell so that all of them fill the canvas."""
    sizes = zip(SMALLEST, CANVAS, reversed(shape), LARGEST, strict=True)
    width, height = (
        max(least, min(most, space / count)) for least, space, count, most in sizes
    )
    return width, height


# Pictures to PNG and SVG, with matplotlib, which is imported here and nowhere else.

Format: TypeAlias = Literal["png", "svg"]

# All sizes are in pixels.
DPI = 100
MARGIN = 14.0
SIDE = 60.0
"""For the names of rows."""
TOP = 40.0
"""For the names of columns."""
LINE_POINTS = 17.0
"""The height of a line of the title."""
LEGEND = 64.0
"""The height of the legend with one row of colours."""
SWATCH = (36.0, 20.0)
"""The width and height of a colour in the legend."""
PER_ROW = 32
"""Colours in a row of the legend."""
NARROWEST = 560.0
TICK = (26.0, 14.0)
"""The width and height that the name of a column or of a row needs."""
BESIDE = 100.0
"""The width for names of regions beside the cells."""

SMALL, MEDIUM = 6.5, 8.0
"""Sizes of letters, in points."""
INK, GREY, LIGHT, PAPER = "#000000", "#666666", "#999999", "#ffffff"
BACKGROUND = {"facecolor": PAPER, "alpha": 0.7, "linewidth": 0.0, "pad": 0.8}
"""Of a label on several colours, or on hatching."""


def render(pictures: Sequence[Picture], format: Format) -> bytes:
    """Return the pictures below each other, as the bytes of a file.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height = max(map(_width, pictures)), sum(map(_height, pictures))
    # matplotlib's type hints are partial.
    mpl: Any = import_module("matplotlib")
    figure: Any = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    top = 0.0
    for picture in pictures:
        _Pen(axes, picture, top).draw()
        top += _height(picture)
    # The same layout is the same file: no dates, no random names.
    metadata = {"Date": None} if format == "svg" else {"Software": None}
    out = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "coopc", "svg.fonttype": "none"}):
        figure.savefig(out, format=format, metadata=metadata)
    return out.getvalue()


class _Pen:
    """Draws one picture."""

    def __init__(self, axes: Any, picture: Picture, top: float):
        self.axes, self.picture, self.start = axes, picture, top + MARGIN
        self.left = MARGIN + SIDE
        self.top = self.start + LINE_POINTS * len(_title(picture)) + TOP

    def draw(self) -> None:
        """Draw everything, what is above later."""
        for number, line in enumerate(_title(self.picture)):
            y = self.start + LINE_POINTS * (number + 0.5)
            self.write(MARGIN, y, line, ha="left", fontsize=MEDIUM)
        self.colour_cells()
        self.write_labels()
        self.name_rows_and_columns()
        self.outline_regions()
        self.draw_legend()

    def colour_cells(self) -> None:
        """Fill cells with the colours of lanes, and hatch padding."""
        palette = colours(self.picture.lane_count)
        boxes = [(box, palette[lane]) for box, lane in _strips(self.picture)]
        self.fill([box for box, _ in boxes], [colour for _, colour in boxes])
        hatched = _padding(self.picture)
        self.fill(hatched, PAPER, alpha=0.6)
        style = {"hatch": "////", "edgecolors": LIGHT, "linewidths": 0.0}
        self.fill(hatched, "none", **style)

    def write_labels(self) -> None:
        """Write the labels, and draw lines between their boxes."""
        found = self.picture.labels
        self.fill([x.box for x in found], "none", edgecolors=PAPER, linewidths=0.8)
        for label in found:
            box = label.box
            x, y = self.place(box.row + box.rows / 2, box.col + box.cols / 2)
            style = {} if _is_plain(self.picture, box) else {"bbox": BACKGROUND}
            self.write(x, y, label.text, **style)

    def name_rows_and_columns(self) -> None:
        """Write the names of rows and columns, as many as there is room for."""
        picture = self.picture
        width, height = picture.cell
        for number in range(0, len(picture.row_names), _every(TICK[1] / height)):
            _, y = self.place(number + 0.5, 0)
            self.write(self.left - 5, y, picture.row_names[number], ha="right")
        for number in range(0, len(picture.col_names), _every(TICK[0] / width)):
            x, _ = self.place(0, number + 0.5)
            self.write(x, self.top - 8, picture.col_names[number])
        rows, cols = picture.axes
        style = {"fontsize": MEDIUM, "color": GREY}
        self.write(self.left, self.top - 24, f"{cols} →", ha="left", **style)
        self.write(self.left - 5, self.top - 24, f"{rows} ↓", ha="right", **style)

    def outline_regions(self) -> None:
        """Draw lines around regions, and name them."""
        regions = self.picture.regions
        boxes = [region.box for region in regions]
        self.fill(boxes, "none", edgecolors=INK, linewidths=1.6)
        rows, cols = self.picture.lanes.shape
        bands = all(region.box.cols == cols for region in regions)
        for region in regions:
            box = region.box
            if bands:
                x, y = self.place(box.row + box.rows / 2, cols)
                self.write(x + 8, y, region.name, ha="left", fontsize=MEDIUM)
            else:
                self.tag(region, below=box.rows == rows)

    def tag(self, region: SubgroupRegion, below: bool) -> None:
        """Write the name of a region below it, or on it if there is room."""
        box = region.box
        width, height = self.picture.cell
        short = region.name.replace("warps ", "w").replace("warp ", "w")
        if box.rows * height < LINE_POINTS or box.cols * width < CHARACTER * len(short):
            return
        row = box.row + (box.rows if below else box.rows / 2)
        x, y = self.place(row, box.col + box.cols / 2)
        roomy = box.cols * width >= 1.3 * CHARACTER * len(region.name)
        name = region.name if roomy else short
        if below:
            self.write(x, y + 10, name, fontsize=MEDIUM)
        else:
            frame = {"facecolor": PAPER, "edgecolor": INK, "pad": 1.5, "linewidth": 0.6}
            self.write(x, y, name, fontsize=MEDIUM, bbox=frame)

    def draw_legend(self) -> None:
        """Draw the colours of the lanes, what hatching is, and how to read labels."""
        picture = self.picture
        count = min(picture.lane_count, PER_ROW)
        palette = colours(count)
        y = self.top + picture.lanes.shape[0] * picture.cell[1] + 26
        width, height = SWATCH
        for lane, colour in enumerate(palette):
            x = self.left + lane * width
            self.rectangle(x, y, facecolor=colour, edgecolor=PAPER)
            self.write(x + width / 2, y + height / 2, str(lane))
        self.write(self.left - 5, y + height / 2, "lane", ha="right", color=GREY)
        more = f"; lane p has the colour of p mod {PER_ROW}"
        note = picture.note + (more if picture.lane_count > PER_ROW else "")
        y += height + 8
        x = self.left
        if picture.padding.any():
            style = {"hatch": "////", "edgecolor": LIGHT, "linewidth": 0.0}
            self.rectangle(x, y, facecolor=PAPER, **style)
            self.write(x + width + 6, y + height / 2, "padding", ha="left", color=GREY)
            x += width + 70
        self.write(x, y + height / 2, note, ha="left", color=GREY)

    def place(self, row: float, col: float) -> tuple[float, float]:
        """Return x and y of the upper left corner of a cell."""
        width, height = self.picture.cell
        return self.left + col * width, self.top + row * height

    def fill(self, boxes: Sequence[Box], colour: str | list[Rgb], **style: Any) -> None:
        """Draw boxes of cells."""
        from matplotlib.collections import PolyCollection

        corners = [
            [
                self.place(box.row, box.col),
                self.place(box.row, box.col + box.cols),
                self.place(box.row + box.rows, box.col + box.cols),
                self.place(box.row + box.rows, box.col),
            ]
            for box in boxes
        ]
        style = {"linewidths": 0.0, **style}
        self.axes.add_collection(PolyCollection(corners, facecolors=colour, **style))

    def rectangle(self, x: float, y: float, **style: Any) -> None:
        """Draw a colour of the legend."""
        from matplotlib.patches import Rectangle

        self.axes.add_patch(Rectangle((x, y), *SWATCH, **style))

    def write(self, x: float, y: float, text: str, **style: Any) -> None:
        """Write a text, in the middle of a place."""
        style = {"ha": "center", "va": "center", "fontsize": SMALL, **style}
        self.axes.text(x, y, text, **style)


def _title(picture: Picture) -> list[str]:
    room = int((_width(picture) - 2 * MARGIN) / (CHARACTER + 0.8))
    return [part for line in picture.title.splitlines() for part in wrap(line, room)]


def _width(picture: Picture) -> float:
    cells = picture.lanes.shape[1] * picture.cell[0]
    legend = min(picture.lane_count, PER_ROW) * SWATCH[0]
    beside = BESIDE if picture.regions else 0.0
    return 2 * MARGIN + SIDE + max(cells + beside, legend, NARROWEST)


def _height(picture: Picture) -> float:
    cells = picture.lanes.shape[0] * picture.cell[1]
    return 2 * MARGIN + LINE_POINTS * len(_title(picture)) + TOP + cells + LEGEND + 16


def _strips(picture: Picture) -> list[tuple[Box, int]]:
    """Return the cells that have a colour, neighbours in a column joined."""
    found: list[tuple[Box, int]] = []
    for col, lanes in enumerate(picture.lanes.T.tolist()):
        row = 0
        for lane, cells in groupby(lanes):
            rows = sum(1 for _ in cells)
            if lane != NOTHING:
                found.append((Box(row, col, rows, 1), lane))
            row += rows
    return found


def _is_plain(picture: Picture, box: Box) -> bool:
    """Whether all cells of a box have the same colour, and none is hatched."""
    cut = _cut(box)
    return _alike(picture.lanes[cut]) and not picture.padding[cut].any()


def _padding(picture: Picture) -> list[Box]:
    found = zip(*picture.padding.nonzero(), strict=True)
    return [Box(int(row), int(col), 1, 1) for row, col in found]


def _every(ratio: float) -> int:
    """Return the least power of two that is at least a ratio."""
    step = 1
    while step < ratio:
        step *= 2
    return step
