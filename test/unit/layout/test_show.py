"""The laws that coopc/layout/show.py states, and the views of their sources."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.distribution import Distribution, RowSlices
from coopc.layout.dpas import DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import BlockedEncoding, cga_bases
from coopc.layout.exchange import plan_exchange
from coopc.layout.linear import LinearLayout
from coopc.layout.show import (
    Comparison,
    Fate,
    Placement,
    comparison_text,
    hardware_view,
    tensor_view,
    work_item_table,
)

POWERS = st.sampled_from([1, 2, 4])
PAIRS = st.tuples(POWERS, POWERS)
NUMBERS = st.integers(1, 30)
LANES = st.sampled_from([4, 8, 16])


@given(st.builds(BlockedEncoding, PAIRS, PAIRS, PAIRS, st.just((1, 0))), PAIRS)
def test_linear(encoding: BlockedEncoding, shape: tuple[int, int]) -> None:
    layout = encoding.linear(shape)
    x = Placement.of_linear(layout)
    assert x.shape == x.extent == shape
    assert x.sizes == layout.in_sizes
    assert x.inside.all()
    for block, warp, register, lane in np.ndindex(x.coordinates.shape[:4]):
        place = layout.at(register=register, lane=lane, warp=warp, block=block)
        found = x.coordinates[block, warp, register, lane]
        assert tuple(found.tolist()) == tuple(place.values())


@given(
    st.one_of(
        st.builds(RowSlices, NUMBERS, NUMBERS, LANES),
        st.builds(
            CoopmatrixLayout.of,
            NUMBERS,
            NUMBERS,
            st.sampled_from([8, 16, 32]),
            st.sampled_from(["a", "b", "acc"]),
            LANES,
        ),
    )
)
def test_distribution(x: Distribution) -> None:
    placement = Placement.of_distribution(x)
    ((registers,),) = placement.lists()
    for component, row in enumerate(registers):
        for lane, found in enumerate(row):
            row_col = x.element(lane, component)
            assert found == (None if row_col == x.shape else list(row_col))
    assert placement.extent >= x.shape


SEED = DpasEncoding(8, 8, 16, 2, 16, (8, 4), (4, 2))

TABLE_4X15 = """\
== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ====
p     0    1    2    3    4    5    6    7    8    9   10   11   12   13   14   15
== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ====
.x 0,0  1,0  2,0  3,0  0,1  1,1  2,1  3,1  0,2  1,2  2,2  3,2  0,3  1,3  2,3  3,3
.y 0,4  1,4  2,4  3,4  0,5  1,5  2,5  3,5  0,6  1,6  2,6  3,6  0,7  1,7  2,7  3,7
.z 0,8  1,8  2,8  3,8  0,9  1,9  2,9  3,9  0,10 1,10 2,10 3,10 0,11 1,11 2,11 3,11
.w 0,12 1,12 2,12 3,12 0,13 1,13 2,13 3,13 0,14 1,14 2,14 3,14 -, - -, - -, - -, -
== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ====
"""

TABLE_1X17 = """\
== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ====
p     0    1    2    3    4    5    6    7    8    9   10   11   12   13   14   15
== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ====
.x 0,0  0,1  0,2  0,3  0,4  0,5  0,6  0,7  0,8  0,9  0,10 0,11 0,12 0,13 0,14 0,15
.y 0,16 -,-  -,-  -,-  -,-  -,-  -,-  -,-  -,-  -,-  -,-  -,-  -,-  -,-  -,-  -,-
== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ==== ====
"""


@st.composite
def layouts(draw: st.DrawFn) -> LinearLayout:
    parts = [draw(st.tuples(POWERS, POWERS)) for _ in range(3)]
    cga = cga_bases([2, 2], [1, 2], [1, 0])
    encoding = BlockedEncoding(
        parts[0], parts[1], parts[2], (1, 0), draw(st.sampled_from([(), cga]))
    )
    return encoding.linear(draw(st.tuples(POWERS, st.sampled_from([1, 4, 16]))))


@given(layouts())
def test_both_views(x: LinearLayout) -> None:
    """Every place of the hardware view is an owner in the tensor view, and back."""
    held: set[tuple[int, ...]] = set()
    block = warp = register = 0
    for line in hardware_view(x).splitlines():
        if header := re.fullmatch(r"(Block|Warp)(\d+):", line):
            block = int(header[2]) if header[1] == "Block" else block
            warp = int(header[2]) if header[1] == "Warp" else warp
            register = 0
            continue
        for lane, cell in enumerate(re.findall(r"\(( *\d+),( *\d+)\)", line)):
            thread = lane + warp * x.in_sizes["lane"]
            held.add((int(cell[0]), int(cell[1]), block, thread, register))
        register += 1
    owned: set[tuple[int, ...]] = set()
    for row, line in enumerate(tensor_view(x).splitlines()):
        for col, cell in enumerate(line.strip("[] ").split(", ")):
            for owner in cell.split("|"):
                match = re.fullmatch(r" *(?:B(\d+):)?T(\d+):(\d+)", owner)
                assert match is not None, owner
                block, thread, register = (int(n or 0) for n in match.groups())
                owned.add((row, col, block, thread, register))
    assert held == owned


@given(
    st.one_of(
        st.builds(
            CoopmatrixLayout.of,
            st.integers(1, 20),
            st.integers(1, 20),
            st.just(32),
            st.just("acc"),
            st.sampled_from([1, 4, 16]),
        ),
        st.builds(RowSlices, st.integers(1, 9), st.integers(1, 20), st.integers(1, 16)),
    )
)
def test_parsed_back(x: RowSlices | CoopmatrixLayout) -> None:
    lines = work_item_table(x).splitlines()
    stops = [match.span() for match in re.finditer("=+", lines[0])]
    assert [int(lines[1][a:b]) for a, b in stops[1:]] == list(range(x.lanes))
    for v, line in enumerate(lines[3:-1]):
        for lane, (start, stop) in enumerate(stops[1:]):
            row, col = line[start:stop].split(",")
            if x.element(lane, v) == x.shape:
                assert (row, col.strip()) == ("-", "-")
            else:
                assert (int(row), int(col)) == x.element(lane, v)


@pytest.mark.parametrize(
    ("rows", "cols", "table"), [(4, 15, TABLE_4X15), (1, 17, TABLE_1X17)]
)
def test_tables_of_the_coopmatrix_document(rows: int, cols: int, table: str) -> None:
    assert work_item_table(CoopmatrixLayout.of(rows, cols, 16, "acc", 16)) == table


def test_hardware_view_of_a() -> None:
    """The document's listing: 32 x 16, and 32 x 16 beside it, a row in each line."""
    lines = ["Warp0:"]
    for left in (0, 16):
        for row in range(32):
            cols = range(left, left + 16)
            lines.append(", ".join(f"({row:3},{col:2})" for col in cols))
    layout = DotOperandEncoding(0, SEED, 1).linear((256, 32))
    view = hardware_view(layout)
    assert view.splitlines()[:65] == lines
    assert view.count("Warp") == 32
    assert hardware_view(layout, [0]) == "\n".join(lines) + "\n"


def test_hardware_view_of_b() -> None:
    """The document's listing: K 16 x N 16, then N, K, and the half 128 columns on."""
    lines = ["Warp0:"]
    for half in (0, 128):
        for top in (0, 16):
            for left in (half, half + 16):
                for row in range(top, top + 16):
                    cols = range(left, left + 16)
                    lines.append(", ".join(f"({row:2},{col:3})" for col in cols))
    layout = DotOperandEncoding(1, SEED, 2).linear((32, 256))
    assert hardware_view(layout).splitlines()[:129] == lines


def test_tensor_view_pads_threads() -> None:
    """As triton-tensor-layout prints blocked 1x4 registers over 4x8 lanes."""
    first, second, *_ = tensor_view(
        BlockedEncoding((1, 4), (4, 8), (1, 1), (1, 0)).linear((4, 32))
    ).splitlines()
    assert first.startswith("[[ T0:0,  T0:1,  T0:2,  T0:3,  T1:0, ")
    assert first.endswith(" T7:3]")
    assert second.startswith("[  T8:0,  T8:1,  T8:2,  T8:3,  T9:0,  T9:1,  T9:2,  T9:3")
    assert second.endswith(", T15:2, T15:3]")


def test_tensor_view_of_several_owners() -> None:
    x = LinearLayout.of({"lane": [(1,), (0,)], "warp": [(0,), (2,), (0,)]}, {"dim0": 4})
    assert tensor_view(x).splitlines() == [
        "[ T0:0| T2:0| T4:0| T6:0|T16:0|T18:0|T20:0|T22:0,  "
        "T1:0| T3:0| T5:0| T7:0|T17:0|T19:0|T21:0|T23:0,  "
        "T8:0|T10:0|T12:0|T14:0|T24:0|T26:0|T28:0|T30:0,  "
        "T9:0|T11:0|T13:0|T15:0|T25:0|T27:0|T29:0|T31:0]"
    ]


def test_tensor_view_of_rank_3() -> None:
    x = LinearLayout.of(
        {"register": [(0, 0, 1), (0, 1, 0), (1, 0, 0)]},
        {"dim0": 2, "dim1": 2, "dim2": 2},
    )
    assert tensor_view(x).splitlines() == [
        "[[[T0:0, T0:1]",
        "[  T0:2, T0:3]]",
        "[[ T0:4, T0:5]",
        "[  T0:6, T0:7]]]",
    ]


def test_elements_without_owner() -> None:
    x = LinearLayout.of({"lane": [(2,)]}, {"dim0": 4})
    with pytest.raises(ValueError, match="rank 1 for 2 bits"):
        tensor_view(x)
    assert hardware_view(x) == "Warp0:\n(0), (2)\n"


SMALL_SIZES = st.integers(1, 12)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Distribution, Distribution]:
    rows, cols = draw(SMALL_SIZES), draw(SMALL_SIZES)
    lanes = draw(st.sampled_from([4, 8]))
    kinds: list[Distribution] = [
        RowSlices(rows, cols, lanes),
        CoopmatrixLayout.of(rows, cols, 16, "a", lanes),
        CoopmatrixLayout.of(rows, cols, 32, "acc", lanes),
    ]
    return draw(st.sampled_from(kinds)), draw(st.sampled_from(kinds))


@given(pairs())
def test_counts(pair: tuple[Distribution, Distribution]) -> None:
    x = Comparison.of(*pair)
    a, b = pair
    for row, fates in enumerate(x.fates()):
        for col, fate in enumerate(fates):
            (lane, register), (other, place) = a.owner(row, col), b.owner(row, col)
            assert (fate is Fate.MOVED) == (lane != other)
            assert (fate is Fate.KEPT) == ((lane, register) == (other, place))
    assert sum(x.counts().values()) == a.rows * a.cols


@given(pairs())
def test_itself(pair: tuple[Distribution, Distribution]) -> None:
    x = Comparison.of(pair[0], pair[0])
    assert x.counts()[Fate.KEPT] == x.source.rows * x.source.cols
    assert [found.kind for found in x.plans] == ["none"]


@given(pairs(), st.sampled_from([8, 16, 32]))
def test_first_plan_is_followed(
    pair: tuple[Distribution, Distribution], bits: int
) -> None:
    x = Comparison.of(*pair, element_bits=bits)
    assert x.plans[0] == plan_exchange(*pair, element_bits=bits)


@given(pairs())
def test_back(pair: tuple[Distribution, Distribution]) -> None:
    there, back = Comparison.of(*pair), Comparison.of(pair[1], pair[0])
    assert there.fates() == back.fates()


def test_text() -> None:
    """The example of the docstring."""
    rows = RowSlices(2, 2, 2)
    by_rows = CoopmatrixLayout(2, 2, 2)
    assert comparison_text(Comparison.of(by_rows, rows)) == (
        "2 x 2 elements over 2 lanes, 2 registers in A, 2 in B\n"
        "2 kept, 0 renamed, 2 moved; a cell is lane:register in A > in B, = if kept\n"
        "\n"
        "=       0:1>1:0\n"
        "1:0>0:1 =\n"
        "\n"
        "exchange: shuffle, 1 word, 4 selects, cost 8\n"
        "    also: memory, cost 64\n"
        "step 0: select\n"
        "  0 1 <- 1 0 if lane & 1, else 0 1\n"
        "step 1: shuffle\n"
        "  1 <- 1 of lane xor 1\n"
        "  0 <- 0\n"
        "step 2: select\n"
        "  0 1 <- 1 0 if lane & 1, else 0 1\n"
        "registers of B: 0 1\n"
    )


def test_painted() -> None:
    """What is said of a lane is painted by its number; padding is not."""

    def paint(text: str, lane: int) -> str:
        return f"<{lane} {text}>"

    bases = {"register": [(0, 1)], "lane": [(0, 2), (1, 0)]}
    x = LinearLayout.of(bases, {"dim0": 2, "dim1": 4})
    first = hardware_view(x, paint=paint).splitlines()[1]
    assert first == "<0 (0,0)>, <1 (0,2)>, <2 (1,0)>, <3 (1,2)>"
    last = tensor_view(x, paint).splitlines()[1]
    assert last == "[ <2 T2:0>, <2 T2:1>, <3 T3:0>, <3 T3:1>]]"
    assert work_item_table(RowSlices(1, 3, 2), paint).splitlines()[1:5] == [
        "p    <0 0>   <1 1>",
        "== === ===",
        ".x <0 0,0> <1 0,1>",
        ".y <0 0,2> -,-",
    ]
