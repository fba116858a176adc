"""Pictures to PNG and SVG, with matplotlib, which is imported here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from itertools import groupby
from textwrap import wrap
from typing import Any, Literal, TypeAlias

from coopc.layout.labels import CHARACTER, Box
from coopc.layout.palette import Rgb, colours
from coopc.layout.picture import Picture, Region
from coopc.layout.picture_grids import NOTHING

Format: TypeAlias = Literal["png", "svg"]

# All sizes are in pixels.
DPI = 100
MARGIN = 14.0
SIDE = 60.0
"""For the names of rows."""
TOP = 40.0
"""For the names of columns."""
LINE = 17.0
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
        self.top = self.start + LINE * len(_title(picture)) + TOP

    def draw(self) -> None:
        """Draw everything, what is above later."""
        for number, line in enumerate(_title(self.picture)):
            y = self.start + LINE * (number + 0.5)
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

    def tag(self, region: Region, below: bool) -> None:
        """Write the name of a region below it, or on it if there is room."""
        box = region.box
        width, height = self.picture.cell
        short = region.name.replace("warps ", "w").replace("warp ", "w")
        if box.rows * height < LINE or box.cols * width < CHARACTER * len(short):
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
    return 2 * MARGIN + LINE * len(_title(picture)) + TOP + cells + LEGEND + 16


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
    rows = slice(box.row, box.row + box.rows)
    cols = slice(box.col, box.col + box.cols)
    lanes = picture.lanes[rows, cols]
    alike = bool((lanes == lanes[0, 0]).all())
    return alike and not picture.padding[rows, cols].any()


def _padding(picture: Picture) -> list[Box]:
    found = zip(*picture.padding.nonzero(), strict=True)
    return [Box(int(row), int(col), 1, 1) for row, col in found]


def _every(ratio: float) -> int:
    """Return the least power of two that is at least a ratio."""
    step = 1
    while step < ratio:
        step *= 2
    return step
