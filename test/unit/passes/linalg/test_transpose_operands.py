"""Products in any order of dimensions: what they compute, and that matrices can."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.linalg_programs import module_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from coopc.passes.linalg import transpose_operands as the_pass
from coopc.passes.linalg.collapse_linalg import CollapseLinalgPass
from coopc.passes.linalg.fuse_linalg import is_product
from coopc.passes.linalg.match import window_of
from coopc.passes.linalg.transpose_operands import (
    Loops,
    TransposeOperandsPass,
    channels_last,
    decide,
    groups_of,
    is_ordered,
    maps_by,
)
from coopc.pipeline import verify
from coopc.sim.simulate import simulate

SIZES = dict(b=2, c=3, m=4, p=2, n=5, q=1, k=3, r=2)
"""Of the loops of a batch, of M, N and K, two of each."""


def text_of(a: str, b: str, c: str, dynamic: str = "", *, fills: bool = True) -> str:
    """A product of operands whose dimensions are named, as of numpy's einsum."""
    loops = "".join(dict.fromkeys(c + a + b))

    def type_of(names: str) -> str:
        sizes = ["?" if x in dynamic else str(SIZES[x]) for x in names]
        return f"tensor<{'x'.join([*sizes, 'f32'])}>"

    maps = ", ".join(
        f"affine_map<({', '.join(loops)}) -> ({', '.join(x)})>" for x in (a, b, c)
    )
    kinds = ", ".join('"parallel"' if x in c else '"reduction"' for x in loops)
    begin = f"linalg.fill ins(%zero : f32) outs(%c : {type_of(c)}) -> {type_of(c)}"
    return f"""
func.func @k(%a: {type_of(a)}, %b: {type_of(b)}, %c: {type_of(c)}) -> {type_of(c)} {{
  %zero = arith.constant 0.0 : f32
  %f = {begin}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
       ins(%a, %b : {type_of(a)}, {type_of(b)})
       outs(%{"f" if fills else "c"} : {type_of(c)}) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.mulf %x, %y : f32
    %s = arith.addf %o, %z : f32
    linalg.yield %s : f32
  }} -> {type_of(c)}
  func.return %r : {type_of(c)}
}}"""


def lowered(text: str) -> ModuleOp:
    module = module_of(text)
    for each in (TransposeOperandsPass(every=True), CollapseLinalgPass()):
        each.apply(Context(), module)
        verify(module)
    return module


@st.composite
def products(draw: st.DrawFn) -> tuple[str, str, str]:
    """The dimensions of A, B and C, in any order."""
    batch = draw(st.sampled_from(("", "b", "bc")))
    rows, cols, along_k = (draw(st.sampled_from((x, x[0]))) for x in ("mp", "nq", "kr"))
    groups = (batch + rows + along_k, batch + along_k + cols, batch + rows + cols)
    a, b, c = ("".join(draw(st.permutations(x))) for x in groups)
    return a, b, c


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(the_pass, "LEAST_WORK", 0)


@settings(max_examples=60)
@given(products(), st.sampled_from(("", "bm", "bcmpnqkr")), st.booleans())
def test_any_order(names: tuple[str, str, str], dynamic: str, fills: bool) -> None:
    """It computes what numpy does, and is one product of matrices."""
    a, b, c = names
    text = text_of(a, b, c, dynamic, fills=fills)
    random = np.random.default_rng(0)
    x, y, z = (
        random.integers(-9, 9, [SIZES[n] for n in each]).astype(np.float32)
        for each in names
    )
    expected = np.einsum(f"{a},{b}->{c}", x, y) + (0 if fills else z)
    module = lowered(text)
    for each in (module_of(text), module):
        (found,) = simulate(each, "k", [x.copy(), y.copy(), z.copy()]).results
        np.testing.assert_array_equal(found, expected)
    generics = [x for x in module.walk() if isinstance(x, linalg.GenericOp)]
    assert sum(map(is_product, generics)) == 1


@given(products())
def test_laws(names: tuple[str, str, str]) -> None:
    """What is decided is in order, has the same loops, and needs no other order."""
    letters = "".join(SIZES)
    a, b, c = (tuple(map(letters.index, x)) for x in names)
    sizes = {n: SIZES[x] for n, x in enumerate(letters)}
    found = decide((a, b, c), sizes)
    groups = groups_of((a, b, c))
    assert groups is not None
    if found is None:
        assert is_ordered((a, b, c), groups)
        return
    new = groups_of(found.operands)
    assert new is not None
    assert is_ordered(found.operands, new)
    assert decide(found.operands, sizes) is None
    for own, other in zip((a, b, c), found.operands, strict=True):
        assert {*own} - found.units == {*other}
    assert all(sizes[x] == 1 for x in found.units)


@given(products())
def test_no_other_order_copies_less(names: tuple[str, str, str]) -> None:
    letters = "".join(SIZES)
    a, b, c = operands = tuple(tuple(map(letters.index, x)) for x in names)
    sizes = {n: SIZES[x] + 1 for n, x in enumerate(letters)}  # none of one step
    found = decide((a, b, c), sizes)
    if found is None:
        return

    def cost(new: tuple[Loops, ...]) -> int:
        pairs = zip(operands, new, strict=True)
        return sum(
            int(np.prod([sizes[x] for x in own])) for own, each in pairs if own != each
        )

    groups = groups_of(operands)
    assert groups is not None
    parts = (groups.batch, groups.rows, groups.cols, groups.along_k)
    batches, rows, cols, ks = (list(permutations(x)) for x in parts)
    for e in batches:
        for m in rows:
            for n in cols:
                for k in ks:
                    ways = zip(((m, k), (k, n), (m, n)), operands, strict=True)
                    new = tuple(
                        own if own in (e + x + y, e + y + x) else e + x + y
                        for (x, y), own in ways
                    )
                    assert cost(found.operands) <= cost(new)


@pytest.mark.parametrize(
    "names", [("mk", "kn", "mn"), ("bmk", "kn", "bmn"), ("mpk", "knq", "mpnq")]
)
def test_what_is_in_order_stays(names: tuple[str, str, str]) -> None:
    module = module_of(text_of(*names))
    before = str(module)
    TransposeOperandsPass(every=True).apply(Context(), module)
    assert str(module) == before


@pytest.mark.parametrize(
    "names",
    [
        *(("mk", "k", "m"), ("mn", "mn", "mn"), ("mkb", "kn", "mn")),
        *(("mk", "kn", "mnb"), ("qcm", "mnc", "cnq")),  # q has one step
        *(("m", "", "m"), ("mk", "", "m")),
    ],
)
def test_what_is_no_product_of_matrices_stays(names: tuple[str, str, str]) -> None:
    module = module_of(text_of(*names))
    before = str(module)
    TransposeOperandsPass(every=True).apply(Context(), module)
    assert str(module) == before


def test_a_batch_may_be_within_a_and_b() -> None:
    """If kernels read them so; C has it first."""
    module = module_of(text_of("mbk", "bkn", "bmn"))
    before = str(module)
    TransposeOperandsPass(inner_batch=True).apply(Context(), module)
    assert str(module) == before
    TransposeOperandsPass().apply(Context(), module)
    assert str(module) != before


def test_rows_of_a_static_size() -> None:
    """What is transposed has them, if kernels need them."""
    for dynamic, changes in (("m", True), ("k", False)):
        module = module_of(text_of("mbk", "bkn", "bmn", dynamic))
        before = str(module)
        TransposeOperandsPass(static_rows=True).apply(Context(), module)
        assert (str(module) != before) == changes


@pytest.mark.parametrize("element", ["i4", "i8", "i16", "i32", "f64", "bf16"])
def test_types(element: str) -> None:
    """Those that tiles multiply; single elements of 4 bits are not stored."""
    text = text_of("mbk", "bkn", "bmn").replace("f32", element)
    if element[0] == "i":
        text = text.replace("mulf", "muli").replace("addf", "addi")
        text = text.replace("constant 0.0", "constant 0")
    module = module_of(text)
    before = str(module)
    TransposeOperandsPass().apply(Context(), module)
    assert (str(module) != before) == (element in ("f64", "bf16"))


def test_sizes_that_one_operand_knows() -> None:
    """A loop that is dynamic in one operand is not one of one step."""
    text = text_of("qmk", "kn", "mqn")
    text = text.replace("%a: tensor<1x", "%a: tensor<?x")
    text = text.replace("ins(%a, %b : tensor<1x", "ins(%a, %b : tensor<?x")
    x, y = np.ones((1, 4, 3), np.float32), np.ones((3, 5), np.float32)
    z = np.zeros((4, 1, 5), np.float32)
    (found,) = simulate(lowered(text), "k", [x, y, z]).results
    np.testing.assert_array_equal(found, np.full((4, 1, 5), 3))


@pytest.mark.parametrize("sizes", [{"m": 0}, {"k": 0}, {"m": 0, "p": 0}])
def test_no_steps(monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int]) -> None:
    for loop, size in sizes.items():
        monkeypatch.setitem(SIZES, loop, size)
    names = ("kmbp", "knb", "nbpm")
    for dynamic in ("", "b", "p"):
        module = lowered(text_of(*names, dynamic))
        x, y, z = (np.ones([SIZES[n] for n in each], np.float32) for each in names)
        (found,) = simulate(module, "k", [x, y, z]).results
        np.testing.assert_array_equal(found, np.einsum("kmbp,knb->nbpm", x, y))


# --- Convolutions. ---

LOOPS = "nyxfijc"
"""A batch, the rows, columns and filters of a result, those of a window, channels."""


def map_by(loops: Sequence[str], results: Sequence[str]) -> AffineMap:
    """The map of results that are loops, or a pair of them: a window's."""
    dims = {loop: AffineDimExpr(n) for n, loop in enumerate(loops)}
    exprs: list[AffineExpr] = []
    for result in results:
        first, *others = (dims[x] for x in result)
        exprs.append(sum((x * 2 for x in others), first))
    return AffineMap(len(loops), 0, tuple(exprs))


@given(
    st.permutations(LOOPS),
    st.permutations(("n", "yi", "xj", "c")),
    st.permutations("ijcf"),
    st.permutations("nyxf"),
)
def test_convolutions_get_channels_last(
    loops: list[str], image: list[str], weights: list[str], out: list[str]
) -> None:
    """Any order of dimensions becomes one that `window_of` knows, once."""
    maps = [map_by(loops, each) for each in (image, weights, out)]
    found = channels_last(maps)
    if found is None:
        assert window_of(maps) is not None
        return
    assert window_of(maps) is None
    new = maps_by(found, maps)
    assert window_of(new) is not None
    assert channels_last(new) is None


@pytest.mark.parametrize(
    ("image", "weights", "out"),
    [
        (("n", "c", "yi", "x"), "ijcf", "nyxf"),  # a window along one axis
        (("n", "c", "yi", "xj"), "ijcf", "nyxx"),
        (("n", "c", "yi", "xi"), "ijcf", "nyxf"),
        (("n", "f", "yi", "xj"), "ijcf", "nyxf"),
    ],
)
def test_what_is_no_convolution_stays(
    image: tuple[str, ...], weights: str, out: str
) -> None:
    maps = [map_by(LOOPS, each) for each in (image, weights, out)]
    assert channels_last(maps) is None
