"""The laws that coopc/layout/encodings.py states, on encodings with any parameters."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.dpas import DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import (
    INPUTS,
    Bases,
    BlockedEncoding,
    Encoding,
    LinearEncoding,
    SliceEncoding,
    cga_bases,
    check_shape,
    fit,
    walk,
)
from coopc.layout.linear import Echelon, LinearLayout, rename_outs, select_outs

shapes = st.tuples(*[st.sampled_from([1, 2, 4, 8, 16])] * 2)


@st.composite
def tiles(draw: st.DrawFn) -> LinearLayout:
    """Any surjective tile, with swizzles and broadcasts, dimensions in any order."""
    bits = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    total = sum(bits)
    columns: list[int] = draw(st.lists(st.integers(0, (1 << total) - 1), max_size=2))
    while Echelon.of(columns).rank < total:
        rank = Echelon.of(columns).rank
        free = [v for v in range(1 << total) if Echelon.of([*columns, v]).rank > rank]
        columns.append(draw(st.sampled_from(free)))
    cut = draw(st.integers(0, len(columns)))
    outs = draw(st.permutations(list(zip(("dim0", "dim1"), bits, strict=True))))
    ins = (("register", tuple(columns[:cut])), ("lane", tuple(columns[cut:])))
    return LinearLayout(ins, tuple(outs))


@given(tiles(), shapes)
def test_fit(tile: LinearLayout, shape: tuple[int, int]) -> None:
    x = fit(tile, shape)
    assert x.out_sizes == {"dim0": shape[0], "dim1": shape[1]}
    assert x.is_surjective
    assert x.in_names == ("register", "lane", "warp", "block")
    assert x.in_sizes["lane"] == tile.in_sizes["lane"]


@given(tiles())
def test_unchanged(tile: LinearLayout) -> None:
    sizes = tile.out_sizes
    x = fit(tile, (sizes["dim0"], sizes["dim1"]))
    assert x.bases("register") == select_outs(tile, ["dim0", "dim1"]).bases("register")
    assert fit(x, (sizes["dim0"], sizes["dim1"])) == x


CGAS: list[Bases] = [((1, 0),), ((0, 1), (0, 0)), ((0, 0), (2, 0), (1, 0))]


@given(tiles(), shapes, st.sampled_from(CGAS))
def test_blocks(tile: LinearLayout, shape: tuple[int, int], cga: Bases) -> None:
    x = fit(tile, shape, cga)
    assert x.in_sizes["block"] == 1 << len(cga)
    assert x.is_surjective
    table = x.table()
    number = table["dim0"] * shape[1] + table["dim1"]
    parts: dict[int, set[int]] = {}
    for block in range(1 << len(cga)):
        elements = set(number[..., block].ravel().tolist())
        origin = int(number[0, 0, 0, block])
        assert parts.setdefault(origin, elements) == elements
    assert sum(map(len, parts.values())) == shape[0] * shape[1]


def test_worked_example_of_fit() -> None:
    tile = LinearLayout.of(
        {"register": [(1, 0), (2, 0)], "lane": [(0, 1), (0, 2)]},
        {"dim0": 4, "dim1": 4},
    )
    x = fit(tile, (2, 8))
    assert x.bases("register") == ((1, 0), (0, 0), (0, 4))
    assert x.bases("lane") == ((0, 1), (0, 2))


def test_cga_bases() -> None:
    assert cga_bases([1, 1], [1, 1], [1, 0]) == ()
    assert cga_bases([2, 4], [2, 2], [1, 0]) == ((0, 1), (0, 0), (1, 0))
    assert cga_bases([2, 4], [2, 2], [0, 1]) == ((1, 0), (0, 1), (0, 0))
    with pytest.raises(ValueError, match=r"2 blocks along dim0 .* over 4 parts"):
        cga_bases([2, 1], [4, 1], [1, 0])


def test_walk() -> None:
    x = walk("lane", (2, 4), (1, 0))
    assert x.out_names == ("dim1", "dim0")
    assert x.at(lane=5) == {"dim1": 1, "dim0": 1}


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="rank 2, got 3 in 4x4x4"):
        check_shape((4, 4, 4), 2)
    with pytest.raises(ValueError, match="dim1 to be a power of two, got 12"):
        check_shape((4, 12), 2)


SEED = DpasEncoding(8, 8, 16, 2, 16, (8, 4), (4, 2))


def sizes(rank: int, largest: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    powers = [1 << bit for bit in range(largest.bit_length())]
    return st.tuples(*[st.sampled_from(powers)] * rank)


@st.composite
def blocked(draw: st.DrawFn, rank: int) -> BlockedEncoding:
    order = tuple(draw(st.permutations(range(rank))))
    registers, lanes, warps = (draw(sizes(rank)) for _ in range(3))
    cga = cga_bases((2,) * rank, (1,) * (rank - 1) + (2,), order)
    shared = draw(st.sampled_from([(), cga]))
    return BlockedEncoding(registers, lanes, warps, order, shared)


@given(blocked(3), sizes(3, 16))
def test_blocked(x: BlockedEncoding, shape: tuple[int, ...]) -> None:
    """On a tensor of just the tile's size, against mixed-radix digits."""
    tile = [
        prod(s)
        for s in zip(
            x.size_per_thread, x.threads_per_warp, x.warps_per_cta, strict=True
        )
    ]
    alone = BlockedEncoding(
        x.size_per_thread, x.threads_per_warp, x.warps_per_cta, x.order
    )
    table = alone.linear(tile).table()
    place = np.indices(
        [prod(x.size_per_thread), prod(x.threads_per_warp), prod(x.warps_per_cta), 1]
    )
    expected = {d: np.zeros(place[0].shape, dtype=np.int64) for d in range(3)}
    stride = dict.fromkeys(range(3), 1)
    for values, counts in zip(
        place, (x.size_per_thread, x.threads_per_warp, x.warps_per_cta), strict=False
    ):
        rest = values
        for d in x.order:
            expected[d] = expected[d] + rest % counts[d] * stride[d]
            rest = rest // counts[d]
            stride[d] *= counts[d]
    for d in range(3):
        assert np.array_equal(table[f"dim{d}"], expected[d])
    fitted = x.linear(shape)
    assert fitted.is_surjective
    assert tuple(fitted.out_sizes.values()) == shape


@given(blocked(3), sizes(2, 16), st.integers(0, 2))
def test_slice(parent: BlockedEncoding, shape: tuple[int, int], dim: int) -> None:
    x = SliceEncoding(dim, parent).linear(shape)
    whole = parent.linear((*shape[:dim], 1, *shape[dim:]))
    kept = [name for d, name in enumerate(("dim0", "dim1", "dim2")) if d != dim]
    part = rename_outs(
        select_outs(whole, kept), dict(zip(kept, ("dim0", "dim1"), strict=True))
    )
    for name in ("lane", "warp", "block"):
        assert x.bases(name) == part.bases(name)
    copies = [basis for basis in part.bases("register") if not any(basis)]
    assert len(copies) + len(x.bases("register")) == len(part.bases("register"))
    assert [b for b in part.bases("register") if any(b)] == list(x.bases("register"))
    assert x.is_surjective


@given(blocked(2), sizes(2, 16), sizes(2, 16))
def test_linear(
    x: BlockedEncoding, shape: tuple[int, ...], other: tuple[int, ...]
) -> None:
    layout = x.linear(shape)
    encoding = LinearEncoding(layout)
    assert encoding.linear(shape) == layout
    fitted = encoding.linear(other)
    assert tuple(fitted.out_sizes.values()) == other
    assert fitted.is_surjective
    assert fitted.in_sizes["lane"] == layout.in_sizes["lane"]


DOTS: list[DpasEncoding | BlockedEncoding] = [
    SEED,
    DpasEncoding(8, 8, 16, 2, 32, (2, 2), (2, 1)),
    BlockedEncoding((2, 2), (4, 4), (2, 1), (1, 0)),
    BlockedEncoding((1, 4), (2, 8), (1, 4), (0, 1)),
]


def held(x: Encoding, shape: tuple[int, int], place: str) -> list[set[int]]:
    """The flattened elements that each lane and subgroup holds, or each subgroup."""
    table = x.linear(shape).table()
    number = table["dim0"] * shape[1] + table["dim1"]
    axes = (0, 3) if place == "lane" else (0, 1, 3)
    kept = [axis for axis in range(4) if axis not in axes]
    number = number.transpose(*kept, *axes)
    number = number.reshape(prod(number.shape[: len(kept)]), -1)
    return [set(row.tolist()) for row in number]


@pytest.mark.parametrize("parent", DOTS, ids=str)
def test_dot_op(parent: DpasEncoding | BlockedEncoding) -> None:
    """DPAS lanes share within a subgroup; FMA lanes need all of K themselves."""
    m, n, k = 64, 128, 32
    dpas = isinstance(parent, DpasEncoding)
    place = "warp" if dpas else "lane"
    a = DotOperandEncoding(0, parent, 1 if dpas else 0)
    b = DotOperandEncoding(1, parent, 2 if dpas else 0)
    results = held(parent, (m, n), place)
    rows = [{e // n for e in elements} for elements in results]
    cols = [{e % n for e in elements} for elements in results]
    for row, elements in zip(rows, held(a, (m, k), place), strict=True):
        assert {r * k + kk for r in row for kk in range(k)} <= elements
    for col, elements in zip(cols, held(b, (k, n), place), strict=True):
        assert {kk * n + c for c in col for kk in range(k)} <= elements


def test_worked_example() -> None:
    x = BlockedEncoding((1, 2), (2, 2), (1, 1), (1, 0)).linear((2, 8))
    assert x.bases("register") == ((0, 1), (0, 4))
    assert x.bases("lane") == ((0, 2), (1, 0))


def test_two_blocks() -> None:
    x = BlockedEncoding(
        (1, 1), (2, 2), (1, 1), (1, 0), cga_bases([1, 2], [1, 2], [1, 0])
    ).linear((2, 8))
    assert x.bases("block") == ((0, 4),)
    assert x.bases("register") == ((0, 2),)


def test_dot_op_of_blocked_holds_all_of_k() -> None:
    parent = BlockedEncoding((1, 1), (2, 2), (1, 1), (1, 0))
    a = DotOperandEncoding(0, parent).linear((2, 4))
    assert a.bases("register") == ((0, 1), (0, 2))
    assert a.bases("lane") == ((0, 0), (1, 0))
    b = DotOperandEncoding(1, parent).linear((4, 2))
    assert b.bases("register") == ((1, 0), (2, 0))
    assert b.bases("lane") == ((0, 1), (0, 0))


def test_linear_encoding_of_bases() -> None:
    x = LinearEncoding.of(((1, 0), (0, 4)), ((0, 1), (0, 2)), (), ((0, 0),))
    assert x.layout.out_sizes == {"dim0": 2, "dim1": 8}
    assert x.layout.in_names == INPUTS
    assert x.order == (0, 1)
    assert x.linear((4, 4)).bases("register") == ((1, 0), (2, 0))


def test_wrong_parameters() -> None:
    with pytest.raises(ValueError, match=r"permute 2 dimensions, got \[1, 1\]"):
        BlockedEncoding((1, 1), (2, 2), (1, 1), (1, 1))
    with pytest.raises(ValueError, match=r"2 numbers in threadsPerWarp, got \[4\]"):
        BlockedEncoding((1, 1), (4,), (1, 1), (1, 0))
    with pytest.raises(ValueError, match="warpsPerCTA to be a power of two, got 3"):
        BlockedEncoding((1, 1), (2, 2), (3, 1), (1, 0))
    with pytest.raises(ValueError, match=r"below the parent's rank 2, .* got 2"):
        SliceEncoding(2, SEED)
    with pytest.raises(ValueError, match=r"kWidth = 2, .* opIdx 1 .* got 1"):
        DotOperandEncoding(1, SEED, 1)
    with pytest.raises(ValueError, match="opIdx 0 or 1, got 2"):
        DotOperandEncoding(2, SEED, 1)
    with pytest.raises(ValueError, match=r"one rank, got ranks \[1, 2\]"):
        LinearEncoding.of(((1, 0),), ((1,),), ())
    with pytest.raises(ValueError, match="rank 1 for 2 bits"):
        LinearEncoding.of(((2, 0),), (), ())
    with pytest.raises(ValueError, match=r"bases for \['register', .* got \['lane'\]"):
        LinearEncoding(LinearLayout.identity(4, "lane", "dim0"))
