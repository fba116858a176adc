"""The laws that coopc/layout/algebra.py states, on layouts with any bases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.algebra import (
    compose,
    divide_left,
    divide_right,
    invert,
    movement,
    product,
    pseudo_invert,
)
from coopc.layout.linear import Echelon, LinearLayout


@st.composite
def layouts(
    draw: st.DrawFn,
    ins: tuple[str, ...] = ("register", "lane"),
    outs: tuple[tuple[str, int], ...] | None = None,
    in_bits: tuple[int, ...] | None = None,
) -> LinearLayout:
    """Any bases; sizes drawn unless they are given."""
    if outs is None:
        outs = tuple((name, draw(st.integers(0, 3))) for name in ("dim0", "dim1"))
    basis = st.integers(0, (1 << sum(bits for _, bits in outs)) - 1)
    sizes = in_bits or tuple(draw(st.integers(0, 3)) for _ in ins)
    return LinearLayout(
        tuple(
            (name, tuple(draw(basis) for _ in range(bits)))
            for name, bits in zip(ins, sizes, strict=True)
        ),
        outs,
    )


@st.composite
def bijections(draw: st.DrawFn) -> LinearLayout:
    """Any invertible layout of 6 bits: columns are drawn until they are independent."""
    columns: list[int] = []
    while len(columns) < 6:
        free = [v for v in range(1, 64) if not Echelon.of(columns).spans(v)]
        columns.append(draw(st.sampled_from(free)))
    ins = (("register", tuple(columns[:2])), ("lane", tuple(columns[2:])))
    return LinearLayout(ins, (("dim0", 3), ("dim1", 3)))


def identity_of(x: LinearLayout) -> LinearLayout:
    """The identity on the coordinates of x."""
    return product(*(LinearLayout.identity(s, n, n) for n, s in x.out_sizes.items()))


@given(layouts(), layouts(), st.data())
def test_product(f: LinearLayout, g: LinearLayout, data: st.DataObject) -> None:
    h = product(f, g)
    low = {n: data.draw(st.integers(0, s - 1)) for n, s in f.in_sizes.items()}
    high = {n: data.draw(st.integers(0, s - 1)) for n, s in g.in_sizes.items()}
    place = {n: low[n] + f.in_sizes[n] * high[n] for n in low}
    at_f, at_g = f.at(**low), g.at(**high)
    assert h.at(**place) == {n: at_f[n] + f.out_sizes[n] * at_g[n] for n in at_f}


@given(
    layouts(("register", "lane"), (("dim0", 2),)),
    layouts(("lane", "warp"), (("dim1", 2), ("dim0", 1))),
    layouts(("warp", "register"), (("dim0", 1), ("dim2", 2))),
)
def test_associativity_of_product(
    f: LinearLayout, g: LinearLayout, h: LinearLayout
) -> None:
    assert product(product(f, g), h) == product(f, product(g, h)) == product(f, g, h)


MIDDLE = (("x", 2), ("y", 1))
OUTER = (("u", 1), ("v", 3))


@given(
    layouts(("u", "v"), in_bits=(1, 3)),
    layouts(("x", "y"), OUTER, (2, 1)),
    layouts(outs=MIDDLE),
)
def test_associativity_of_compose(
    f: LinearLayout, g: LinearLayout, h: LinearLayout
) -> None:
    assert compose(compose(f, g), h) == compose(f, compose(g, h))


@given(layouts(("y", "x"), in_bits=(2, 2)), layouts(outs=MIDDLE), st.data())
def test_compose(f: LinearLayout, g: LinearLayout, data: st.DataObject) -> None:
    """The outer inputs may come in another order, and may be larger."""
    place = {n: data.draw(st.integers(0, s - 1)) for n, s in g.in_sizes.items()}
    assert compose(f, g).at(**place) == f.at(**g.at(**place))


@given(bijections())
def test_invert(f: LinearLayout) -> None:
    back = invert(f)
    assert invert(back) == f
    assert compose(f, back) == identity_of(f)
    assert compose(back, f) == identity_of(back)


@given(layouts())
def test_pseudo_invert(f: LinearLayout) -> None:
    back = pseudo_invert(f)
    assert compose(f, compose(back, f)) == f
    assert compose(back, compose(f, back)) == back
    free = f.free_masks()
    for place in back.table().items():
        name, values = place
        assert not (values & free[name]).any()


@given(layouts(), layouts())
def test_divide_left(f: LinearLayout, g: LinearLayout) -> None:
    assert divide_left(product(f, g), f) == g


@given(layouts(), layouts())
def test_divide_right(f: LinearLayout, g: LinearLayout) -> None:
    assert divide_right(product(f, g), g) == f


@given(layouts(), layouts())
def test_no_quotient(whole: LinearLayout, part: LinearLayout) -> None:
    """A quotient is given only if it multiplies to the whole."""
    left, right = divide_left(whole, part), divide_right(whole, part)
    assert left is None or product(part, left) == whole
    assert right is None or product(right, part) == whole


@given(bijections(), layouts(outs=(("dim1", 3), ("dim0", 3))))
def test_movement(f: LinearLayout, g: LinearLayout) -> None:
    """Onto g's element from f's place of it, whatever the order of coordinates."""
    moved = compose(f, movement(f, g))
    for name, values in moved.table().items():
        assert (values == g.table()[name]).all()


def test_uneven_quotients() -> None:
    x = LinearLayout.of({"lane": [(2,), (1,)]}, {"dim0": 4})
    y = LinearLayout.identity(2, "lane", "dim0")
    assert divide_left(x, y) is None
    assert divide_right(x, y) is None
    assert divide_left(y, x) is None


def test_wrong_calls() -> None:
    x = LinearLayout.identity(8, "lane", "dim0")
    flat = LinearLayout.of({"lane": [(1,), (0,)]}, {"dim0": 2})
    with pytest.raises(ValueError, match="2 bits to 1 of rank 1"):
        invert(flat)
    with pytest.raises(ValueError, match=r"inputs \['lane'\], got \['dim0'\]"):
        compose(x, x)
    with pytest.raises(ValueError, match="at most 4 values, got 8"):
        compose(LinearLayout.identity(4, "dim0", "out"), x)
    with pytest.raises(ValueError, match=r"coordinates of \{'dim0': 8\}, got"):
        movement(x, flat)
    sparse = LinearLayout.of({"lane": [(1,)]}, {"dim0": 8})
    with pytest.raises(ValueError, match=r"holds \(2,\), a basis of the target's lane"):
        movement(sparse, x)
