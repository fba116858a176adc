"""The laws that coopc/layout/linear.py states, on layouts with any bases."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.linear import (
    Echelon,
    LinearLayout,
    image,
    product,
    rename_outs,
    reshape_outs,
    select_outs,
    transpose_outs,
)

INS = ("register", "lane", "warp")
OUTS = ("dim0", "dim1")


@st.composite
def layouts(draw: st.DrawFn) -> LinearLayout:
    """Any bases: broadcasts, swizzles, and layouts that are not surjective."""
    outs = tuple((name, draw(st.integers(0, 4))) for name in OUTS)
    basis = st.integers(0, (1 << sum(bits for _, bits in outs)) - 1)
    ins = tuple((name, tuple(draw(st.lists(basis, max_size=3)))) for name in INS)
    return LinearLayout(ins, outs)


def places(x: LinearLayout) -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries(
        {name: st.integers(0, size - 1) for name, size in x.in_sizes.items()}
    )


@given(layouts(), st.data())
def test_linearity(layout: LinearLayout, data: st.DataObject) -> None:
    x, y = data.draw(places(layout)), data.draw(places(layout))
    both = layout.at(**{name: x[name] ^ y[name] for name in INS})
    at_x, at_y = layout.at(**x), layout.at(**y)
    assert both == {name: at_x[name] ^ at_y[name] for name in OUTS}
    assert layout.at() == dict.fromkeys(OUTS, 0)


@given(layouts(), st.data())
def test_bases(layout: LinearLayout, data: st.DataObject) -> None:
    x = data.draw(places(layout))
    expected = [0, 0]
    for name in INS:
        for bit, basis in enumerate(layout.bases(name)):
            if x[name] >> bit & 1:
                expected = [e ^ b for e, b in zip(expected, basis, strict=True)]
    assert list(layout.at(**x).values()) == expected
    bases = {name: layout.bases(name) for name in INS}
    assert LinearLayout.of(bases, layout.out_sizes) == layout
    assert layout.bases("block") == ()  # of an input that the layout lacks


@given(layouts())
def test_table(layout: LinearLayout) -> None:
    table = layout.table()
    grid = np.indices(tuple(layout.in_sizes.values()))
    values = layout.apply(dict(zip(INS, grid, strict=True)))
    for name in OUTS:
        assert np.array_equal(table[name], values[name])


@given(layouts(), st.permutations(OUTS), st.data())
def test_reshape(x: LinearLayout, outs: list[str], data: st.DataObject) -> None:
    y = transpose_outs(x, outs)
    place = data.draw(places(x))
    at = x.at(**place)
    assert y.at(**place) == at
    assert transpose_outs(y, OUTS) == x
    flat = reshape_outs(x, {"out": 1 << x.out_bits})
    assert flat.columns == x.columns
    assert reshape_outs(flat, x.out_sizes) == x
    assert flat.at(**place) == {"out": at["dim0"] + x.out_sizes["dim0"] * at["dim1"]}


@given(layouts(), st.data())
def test_select(x: LinearLayout, data: st.DataObject) -> None:
    place = data.draw(places(x))
    assert select_outs(x, ["dim1"]).at(**place) == {"dim1": x.at(**place)["dim1"]}


@given(layouts(), st.data())
def test_free(x: LinearLayout, data: st.DataObject) -> None:
    free = x.free_masks()
    place = data.draw(places(x))
    # Flipping a free bit is undone by flipping bits before it that are not free.
    held = {tuple(x.at(**{n: place[n] for n in INS}).values())}
    without = [
        [v for v in range(size) if not v & free[name]]
        for name, size in x.in_sizes.items()
    ]
    kept = prod(map(len, without))
    assert kept == 1 << x.rank
    table = x.table()
    corner = np.ix_(*without)
    elements = set(
        zip(
            table["dim0"][corner].ravel().tolist(),
            table["dim1"][corner].ravel().tolist(),
            strict=True,
        )
    )
    assert len(elements) == kept
    assert held <= elements


@given(layouts())
def test_kinds(x: LinearLayout) -> None:
    table = x.table()
    elements = table["dim0"].ravel() + (table["dim1"].ravel() << 4)
    different = np.unique(elements).size
    assert x.reached == different
    assert x.is_surjective == (different == 1 << x.out_bits)


def test_identity_and_zeros() -> None:
    x = LinearLayout.identity(8, "lane", "dim1")
    assert x.at(lane=5) == {"dim1": 5}
    y = LinearLayout.zeros(4, "warp", "dim1")
    assert y.at(warp=3) == {"dim1": 0}
    assert y.out_sizes == {"dim1": 1}


def test_rename() -> None:
    x = LinearLayout.identity(8, "lane", "dim1")
    y = rename_outs(x, {"dim1": "dim0"})
    assert y == LinearLayout.identity(8, "lane", "dim0")


def test_text() -> None:
    x = LinearLayout.of(
        {"register": [(1, 1)], "lane": [(0, 1), (0, 2)]}, {"dim0": 2, "dim1": 4}
    )
    assert str(x).splitlines() == [
        "register = 1 -> (1, 1)",
        "lane = 1 -> (0, 1)",
        "lane = 2 -> (0, 2)",
        "of (dim0 = 2, dim1 = 4)",
    ]


def test_wrong_calls() -> None:
    with pytest.raises(ValueError, match="dim0 to be a power of two, got 12"):
        LinearLayout.of({"lane": [(1,)]}, {"dim0": 12})
    with pytest.raises(ValueError, match="below 2 in dim0, got 2"):
        LinearLayout.of({"lane": [(2,)]}, {"dim0": 2})
    with pytest.raises(ValueError, match=r"2 coordinates, got \(1,\)"):
        LinearLayout.of({"lane": [(1,)]}, {"dim0": 2, "dim1": 2})
    with pytest.raises(ValueError, match=r"below 2, got \(2,\)"):
        LinearLayout((("lane", (2,)),), (("dim0", 1),))
    with pytest.raises(ValueError, match="different output dimensions"):
        LinearLayout((), (("dim0", 1), ("dim0", 1)))
    x = LinearLayout.identity(8, "lane", "dim1")
    with pytest.raises(ValueError, match="lane to be at least 0 and below 8, got 8"):
        x.at(lane=8)
    with pytest.raises(ValueError, match=r"input of \['lane'\], got 'warp'"):
        x.at(warp=0)
    with pytest.raises(ValueError, match="of 8 outputs in all, got 16"):
        reshape_outs(x, {"dim0": 4, "dim1": 4})
    with pytest.raises(ValueError, match=r"outputs \['dim1'\], got \['dim0'\]"):
        transpose_outs(x, ["dim0"])
    with pytest.raises(ValueError, match=r"outputs of \['dim1'\], got \['dim0'\]"):
        select_outs(x, ["dim0"])


@st.composite
def layouts_of(
    draw: st.DrawFn,
    ins: tuple[str, ...] = ("register", "lane"),
    outs: tuple[tuple[str, int], ...] | None = None,
) -> LinearLayout:
    """Any bases; sizes drawn unless they are given."""
    if outs is None:
        outs = tuple((name, draw(st.integers(0, 3))) for name in ("dim0", "dim1"))
    basis = st.integers(0, (1 << sum(bits for _, bits in outs)) - 1)
    sizes = tuple(draw(st.integers(0, 3)) for _ in ins)
    return LinearLayout(
        tuple(
            (name, tuple(draw(basis) for _ in range(bits)))
            for name, bits in zip(ins, sizes, strict=True)
        ),
        outs,
    )


@given(layouts_of(), layouts_of(), st.data())
def test_product(f: LinearLayout, g: LinearLayout, data: st.DataObject) -> None:
    h = product(f, g)
    low = {n: data.draw(st.integers(0, s - 1)) for n, s in f.in_sizes.items()}
    high = {n: data.draw(st.integers(0, s - 1)) for n, s in g.in_sizes.items()}
    place = {n: low[n] + f.in_sizes[n] * high[n] for n in low}
    at_f, at_g = f.at(**low), g.at(**high)
    assert h.at(**place) == {n: at_f[n] + f.out_sizes[n] * at_g[n] for n in at_f}


@given(
    layouts_of(("register", "lane"), (("dim0", 2),)),
    layouts_of(("lane", "warp"), (("dim1", 2), ("dim0", 1))),
    layouts_of(("warp", "register"), (("dim0", 1), ("dim2", 2))),
)
def test_associativity_of_product(
    f: LinearLayout, g: LinearLayout, h: LinearLayout
) -> None:
    assert product(product(f, g), h) == product(f, product(g, h)) == product(f, g, h)


columns_of_9_bits = st.lists(st.integers(0, 511), max_size=7)
vectors = st.integers(0, 511)


@given(columns_of_9_bits)
def test_solution(columns: list[int]) -> None:
    echelon = Echelon.of(columns)
    for value in range(1 << len(columns)):
        vector = image(columns, value)
        solution = echelon.solve(vector)
        assert image(columns, solution) == vector
        assert not solution & echelon.dependent


@given(columns_of_9_bits, vectors, vectors)
def test_projection(columns: list[int], x: int, y: int) -> None:
    echelon = Echelon.of(columns)
    assert echelon.solve(x ^ y) == echelon.solve(x) ^ echelon.solve(y)


@given(columns_of_9_bits, vectors)
def test_rank(columns: list[int], vector: int) -> None:
    echelon = Echelon.of(columns)
    images = {image(columns, value) for value in range(1 << len(columns))}
    assert len(images) == 1 << echelon.rank
    assert echelon.rank + echelon.dependent.bit_count() == len(columns)
    wider = Echelon.of([*columns, vector])
    assert (wider.rank == echelon.rank) == (vector in images)
