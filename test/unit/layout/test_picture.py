"""The laws that coopc/layout/picture.py states, golden pictures, and their files."""

import re
import struct
import sys
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.distribution import Distribution, RowSlices
from coopc.layout.dpas import DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import BlockedEncoding, SliceEncoding, cga_bases
from coopc.layout.picture import (
    CHARACTER,
    LINE,
    MOST,
    NOTHING,
    Box,
    CellLabel,
    Picture,
    Rgb,
    colours,
    hardware_picture,
    labels,
    render,
    subgroups,
    tensor_picture,
)
from coopc.layout.show import Placement

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

    def label(self, box: Box) -> CellLabel:
        lanes = span(box.col, box.cols)
        text = f"{lanes}:{span(box.row, box.rows)}"
        return CellLabel(box, text, 2 if box.cols == 1 else 1)

    def labels(self, cell: tuple[float, float]) -> list[CellLabel]:
        return labels(self.shape, self.label, cell)


def span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def cells(box: Box) -> list[tuple[int, int]]:
    rows, cols = range(box.row, box.row + box.rows), range(box.col, box.col + box.cols)
    return list(product(rows, cols))


grids = st.builds(Numbers, SIZES, SIZES)


@given(grids, CELLS)
def test_cover(grid: Numbers, cell: tuple[float, float]) -> None:
    covered = [place for x in grid.labels(cell) for place in cells(x.box)]
    assert sorted(covered) == list(product(range(grid.rows), range(grid.cols)))


@given(grids, CELLS)
def test_room(grid: Numbers, cell: tuple[float, float]) -> None:
    found = grid.labels(cell)
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
        (4, 4, (60, 30), CellLabel(Box(0, 0, 1, 1), "0:0"), 16),
        (32, 2, (40, 5), CellLabel(Box(0, 0, 32, 1), "0:0-31"), 2),
        # A column is too narrow: the smallest box with room.
        (32, 64, (6.25, 30), CellLabel(Box(0, 0, 1, 16), "0-15:0"), 128),
        # Nothing has room: one label.
        (1, 2, (5, 5), CellLabel(Box(0, 0, 1, 2), "0-1:0"), 1),
    ],
)
def test_choice(
    rows: int, cols: int, cell: tuple[float, float], first: CellLabel, count: int
) -> None:
    found = Numbers(rows, cols).labels(cell)
    assert (found[0], len(found)) == (first, count)


LANES = (1, 2, 4, 8, 16, 32, 64)


def luminance(colour: Rgb) -> float:
    """The relative luminance of a colour, 0 for black to 1 for white."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("lanes", LANES)
def test_different(lanes: int) -> None:
    found = colours(lanes)
    assert len(found) == lanes
    seen = {tuple(round(255 * part) for part in colour) for colour in found}
    assert len(seen) == min(lanes, MOST)
    for one, other in pairwise(found):
        lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) > 1.35


@pytest.mark.parametrize("lanes", LANES)
def test_readable(lanes: int) -> None:
    assert min((luminance(colour) + 0.05) / 0.05 for colour in colours(lanes)) >= 4.5


SEED = DpasEncoding(8, 8, 16, 2, 16, (8, 4), (4, 2))
POWERS = st.sampled_from([1, 2, 4])
PAIRS = st.tuples(POWERS, POWERS)
SHAPES = st.integers(1, 20)
CGA = cga_bases([2, 2], [1, 2], [1, 0])


def placed(encoding: BlockedEncoding, shape: tuple[int, int]) -> Placement:
    return Placement.of_linear(encoding.linear(shape))


blocked = st.builds(
    placed,
    st.builds(
        BlockedEncoding,
        PAIRS,
        PAIRS,
        PAIRS,
        st.just((1, 0)),
        st.sampled_from([(), CGA]),
    ),
    st.tuples(POWERS, st.sampled_from([2, 8])),
)
slices = st.builds(RowSlices, SHAPES, SHAPES, st.sampled_from([4, 16])).map(
    Placement.of_distribution
)
placements = st.one_of(blocked, slices)


def places(x: Placement) -> dict[tuple[int, ...], list[tuple[int, int, int]]]:
    """(subgroup, lane, register) of each coordinate, padding included."""
    found: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    warps = x.sizes["warp"]
    for block, warp, register, lane in np.ndindex(x.coordinates.shape[:4]):
        at = tuple(x.coordinates[block, warp, register, lane].tolist())
        found.setdefault(at, []).append((warp + block * warps, lane, register))
    return found


@given(placements)
def test_lanes(x: Placement) -> None:
    picture = tensor_picture(x, "")
    held = places(x)
    for (row, col), lane in np.ndenumerate(picture.lanes):
        owners = held.get((row, col), [])
        assert lane == min(owners, default=(0, NOTHING))[1]
        assert picture.padding[row, col] == (
            bool(owners) and (row >= x.shape[0] or col >= x.shape[1])
        )


@given(placements, st.data())
def test_places(x: Placement, data: st.DataObject) -> None:
    warp = data.draw(st.integers(0, x.sizes["warp"] - 1))
    picture = hardware_picture(x, "", warp)
    assert picture.lanes.shape == (x.sizes["register"], x.sizes["lane"])
    assert np.array_equal(picture.padding, ~x.inside[0, warp])
    assert (picture.lanes == np.arange(x.sizes["lane"])).all()


@given(blocked)
def test_regions(x: Placement) -> None:
    picture = tensor_picture(x, "")
    held = places(x)
    warps = x.sizes["warp"]
    for region in picture.regions:
        box = region.box
        for row in range(box.row, box.row + box.rows):
            for col in range(box.col, box.col + box.cols):
                numbers = np.unique([number for number, _, _ in held[row, col]])
                assert region.text == subgroups(numbers, warps)
    cells = sum(region.box.area for region in picture.regions)
    assert cells in (0, picture.lanes.size)


def text(picture: Picture) -> list[str]:
    """A picture as a table: the labels of its rows, padding in brackets."""
    rows: dict[int, list[str]] = {}
    for label in picture.labels:
        hatched = picture.padding[label.box.row, label.box.col]
        name = f"[{label.text}]" if hatched else label.text
        rows.setdefault(label.box.row, []).append(name)
    return [" ".join(row) for row in rows.values()]


def test_coopmatrix_4x15() -> None:
    x = Placement.of_distribution(CoopmatrixLayout(4, 15, 16))
    assert text(tensor_picture(x, "")) == [
        "0:0 4:0 8:0 12:0 0:1 4:1 8:1 12:1 0:2 4:2 8:2 12:2 0:3 4:3 8:3 [12:3]",
        "1:0 5:0 9:0 13:0 1:1 5:1 9:1 13:1 1:2 5:2 9:2 13:2 1:3 5:3 9:3 [13:3]",
        "2:0 6:0 10:0 14:0 2:1 6:1 10:1 14:1 2:2 6:2 10:2 14:2 2:3 6:3 10:3 [14:3]",
        "3:0 7:0 11:0 15:0 3:1 7:1 11:1 15:1 3:2 7:2 11:2 15:2 3:3 7:3 11:3 [15:3]",
    ]
    hardware = hardware_picture(x, "")
    assert hardware.axes == ("register", "lane")
    assert text(hardware)[3] == (
        "0,12 1,12 2,12 3,12 0,13 1,13 2,13 3,13 0,14 1,14 2,14 3,14 [-] [-] [-] [-]"
    )


def test_row_slices_7x9() -> None:
    """Row slice v ends where 16 (v + 1) elements end; the last one has a tail of 1."""
    picture = tensor_picture(Placement.of_distribution(RowSlices(7, 9, 16)), "")
    assert picture.lanes.shape == (8, 9)
    assert text(picture)[1] == "9:0 10:0 11:0 12:0 13:0 14:0 15:0 0:1 1:1"
    assert text(picture)[7] == "[15:3]"
    assert picture.lanes[7].tolist() == [15] + [NOTHING] * 8


def test_seed_a() -> None:
    """256 x 32 elements: a label for each lane and subgroup, not 8,192."""
    layout = DotOperandEncoding(0, SEED, 1).linear((256, 32))
    picture = tensor_picture(Placement.of_linear(layout), "")
    assert len(picture.labels) == 8 * 32
    assert text(picture)[0] == " ".join(
        [f"{p}:0-31" for p in range(16)] + [f"{p}:32-63" for p in range(16)]
    )
    assert picture.regions == tuple(
        CellLabel(Box(32 * n, 0, 32, 32), f"warps {4 * n}-{4 * n + 3}")
        for n in range(8)
    )


def test_rank_1_and_3() -> None:
    """A vector is folded into rows; leading dimensions are rows after each other."""
    parent = BlockedEncoding((1, 4), (8, 4), (1, 1), (1, 0))
    vector = SliceEncoding(1, parent).linear((64,))
    picture = tensor_picture(Placement.of_linear(vector), "")
    assert picture.row_names == ("0", "32")
    assert text(picture)[0].split()[:3] == ["0:0+3", "4:0+3", "8:0+3"]
    cube = BlockedEncoding((1, 1, 2), (1, 4, 2), (1, 1, 1), (2, 1, 0)).linear((2, 2, 4))
    picture = tensor_picture(Placement.of_linear(cube), "")
    assert picture.row_names == ("0,0", "0,1", "1,0", "1,1")
    assert text(hardware_picture(Placement.of_linear(cube), ""))[0].startswith("0,0,0")


PICTURE = tensor_picture(
    Placement.of_distribution(RowSlices(7, 9, 16)), "7x9\n#layout.row_slice"
)


def test_png() -> None:
    content = render([PICTURE], "png")
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    two_width, two_height = struct.unpack(
        ">II", render([PICTURE, PICTURE], "png")[16:24]
    )
    assert width == two_width
    assert 2 * height <= two_height <= 2 * height + 100
    assert content == render([PICTURE], "png")


def test_svg() -> None:
    """Texts are texts, and nothing depends on when or where it is drawn."""
    content = render([PICTURE], "svg").decode()
    for wanted in ("#layout.row_slice", ">15:3<", ">padding<", "lane:register"):
        assert wanted in content, wanted
    assert content == render([PICTURE], "svg").decode()
    assert "<dc:date>" not in content


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="matplotlib"):
        render([PICTURE], "png")
