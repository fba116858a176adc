"""The laws that coopc/layout/picture.py states, golden pictures, and their files."""

import struct
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encoding import cga_bases
from coopc.layout.encodings import BlockedEncoding, DotOperandEncoding, SliceEncoding
from coopc.layout.picture import (
    NOTHING,
    Box,
    Picture,
    Region,
    hardware_picture,
    render,
    subgroups,
    tensor_picture,
)
from coopc.layout.placement import Placement
from coopc.layout.row_slice import RowSlices

SEED = DpasEncoding(8, 8, 16, 2, 16, (8, 4), (4, 2))
POWERS = st.sampled_from([1, 2, 4])
PAIRS = st.tuples(POWERS, POWERS)
SIZES = st.integers(1, 20)
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
slices = st.builds(RowSlices, SIZES, SIZES, st.sampled_from([4, 16])).map(
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
                assert region.name == subgroups(numbers, warps)
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
        Region(Box(32 * n, 0, 32, 32), f"warps {4 * n}-{4 * n + 3}") for n in range(8)
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
    assert abs(two_height - 2 * height) <= 1
    assert content == render([PICTURE], "png")


def test_svg() -> None:
    """Texts are texts, and nothing depends on when or where it is drawn."""
    content = render([PICTURE], "svg").decode()
    for wanted in ("#layout.row_slice", ">15:3<", ">padding<", ">lane<"):
        assert wanted in content, wanted
    assert content == render([PICTURE], "svg").decode()
    assert "<dc:date>" not in content


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="matplotlib"):
        render([PICTURE], "png")
