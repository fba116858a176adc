r"""Labels: what is written into the cells of a picture, so that it stays readable.

A label covers a box of cells.  Where one cell has room for its own text, every cell has
a label; else boxes of one size cover the grid, and say what all their cells have in
common as ranges, `0-15:0-7` being lanes 0 to 15, each with registers 0 to 7.  Ranges
with dashes are complete; `0..15:0..2` says only what is first and last.

Which size of boxes: of those with room for their text

    1. the largest where each box is one lane, or one line of coordinates
    2. else the smallest whose ranges are all complete
    3. else the smallest

For example 32 x 2 elements, lane = column, register = row, in cells of 40 x 5 pixels:
one cell is too low for text; the boxes of 32 x 1 cells are one lane each, `0:0-31` and
`1:0-31`.

Laws (test/unit/test_layout_labels.py checks each by its name):

    cover      every cell is in exactly one label
    room       every label has room for its text, or there is only one
    complete   a dash range lists exactly what the cells of its box have
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray

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
        """How many cells there are."""
        return self.rows * self.cols


@dataclass(frozen=True, slots=True)
class Label:
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


class Grid(Protocol):
    """Cells that can be summarised."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        ...

    def summary(self, box: Box) -> Summary:
        """Return what the cells of a box have in common."""
        ...


def labels(grid: Grid, cell: tuple[float, float]) -> tuple[Label, ...]:
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


def _boxes(grid: Grid, height: int, width: int) -> list[tuple[Box, Summary]]:
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


def _texts(found: Sequence[tuple[Box, Summary]]) -> tuple[Label, ...]:
    return tuple(Label(box, summary.text) for box, summary in found)


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
