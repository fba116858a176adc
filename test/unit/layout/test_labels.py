"""The laws that coopc/layout/picture.py states."""

import re
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.distribution import Distribution
from coopc.layout.picture import (
    CHARACTER,
    LINE,
    Box,
    Label,
    Summary,
    labels,
    tensor_picture,
)
from coopc.layout.placement import Placement
from coopc.layout.row_slice import RowSlices

SIZES = st.integers(1, 40)
CELLS = st.tuples(st.floats(5, 60), st.floats(5, 30))


@dataclass(frozen=True)
class Numbers:
    """A grid of lane = column, register = row."""

    rows: int
    cols: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    def summary(self, box: Box) -> Summary:
        lanes = span(box.col, box.cols)
        return Summary(f"{lanes}:{span(box.row, box.rows)}", True, box.cols == 1)


def span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def cells(box: Box) -> list[tuple[int, int]]:
    rows, cols = range(box.row, box.row + box.rows), range(box.col, box.col + box.cols)
    return list(product(rows, cols))


grids = st.builds(Numbers, SIZES, SIZES)


@given(grids, CELLS)
def test_cover(grid: Numbers, cell: tuple[float, float]) -> None:
    covered = [place for x in labels(grid, cell) for place in cells(x.box)]
    assert sorted(covered) == list(product(range(grid.rows), range(grid.cols)))


@given(grids, CELLS)
def test_room(grid: Numbers, cell: tuple[float, float]) -> None:
    found = labels(grid, cell)
    if len(found) > 1:
        for x in found:
            assert x.box.cols * cell[0] >= CHARACTER * len(x.text)
            assert x.box.rows * cell[1] >= LINE


@given(
    st.one_of(
        st.builds(RowSlices, SIZES, SIZES, st.sampled_from([4, 16])),
        st.builds(
            CoopmatrixLayout.of,
            SIZES,
            SIZES,
            st.sampled_from([8, 32]),
            st.sampled_from(["a", "b", "acc"]),
            st.sampled_from([4, 16]),
        ),
    ),
    CELLS,
)
def test_complete(x: Distribution, cell: tuple[float, float]) -> None:
    """On layouts: what a label lists is what the lanes of its cells hold."""
    rows, cols = x.unclipped_table()
    place_of = {
        (int(rows[v, p]), int(cols[v, p])): (p, v)
        for v, p in product(range(x.components), range(x.lanes))
    }
    picture = tensor_picture(Placement.of_distribution(x), "", cell)
    for label in picture.labels:
        held = {place_of[at] for at in cells(label.box) if at in place_of}
        if ".." not in label.text:
            lanes, registers = map(numbers, label.text.split(":"))
            assert held == set(product(lanes, registers))


def numbers(text: str) -> range:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    assert match is not None, text
    return range(int(match[1]), int(match[2] or match[1]) + 1)


@pytest.mark.parametrize(
    ("rows", "cols", "cell", "first", "count"),
    [
        (4, 4, (60, 30), Label(Box(0, 0, 1, 1), "0:0"), 16),
        (32, 2, (40, 5), Label(Box(0, 0, 32, 1), "0:0-31"), 2),
        # A column is too narrow: the smallest box with room.
        (32, 64, (6.25, 30), Label(Box(0, 0, 1, 16), "0-15:0"), 128),
        # Nothing has room: one label.
        (1, 2, (5, 5), Label(Box(0, 0, 1, 2), "0-1:0"), 1),
    ],
)
def test_choice(
    rows: int, cols: int, cell: tuple[float, float], first: Label, count: int
) -> None:
    found = labels(Numbers(rows, cols), cell)
    assert (found[0], len(found)) == (first, count)
