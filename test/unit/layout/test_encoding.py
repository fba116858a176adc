"""The laws that coopc/layout/encoding.py states, on tiles with any bases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.algebra import sublayout
from coopc.layout.encoding import Bases, cga_bases, check_shape, fit, identity_nd
from coopc.layout.linear import Echelon, LinearLayout

shapes = st.tuples(*[st.sampled_from([1, 2, 4, 8, 16])] * 2)


@st.composite
def tiles(draw: st.DrawFn) -> LinearLayout:
    """Any surjective tile, with swizzles and broadcasts, dimensions in any order."""
    bits = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    total = sum(bits)
    columns: list[int] = draw(st.lists(st.integers(0, (1 << total) - 1), max_size=2))
    while Echelon.of(columns).rank < total:
        free = [v for v in range(1 << total) if not Echelon.of(columns).spans(v)]
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
    assert x.bases("register") == sublayout(tile, outs=["dim0", "dim1"]).bases(
        "register"
    )
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


def test_worked_example() -> None:
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


def test_identity_nd() -> None:
    x = identity_nd("lane", (2, 4), (1, 0))
    assert x.out_names == ("dim1", "dim0")
    assert x.at(lane=5) == {"dim1": 1, "dim0": 1}


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="rank 2, got 3 in 4x4x4"):
        check_shape((4, 4, 4), 2)
    with pytest.raises(ValueError, match="dim1 to be a power of two, got 12"):
        check_shape((4, 12), 2)
