"""convert-coopmatrix-to-amx: products of any size, read and written at every edge."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.amx_programs import Array, integers, runs_alike

from coopc.sim.numerics import from_bf16

LAYOUTS = ("row_major", "col_major")


def memref(layout: str, shape: tuple[int, int], element: str) -> tuple[str, Any]:
    rows, cols = shape if layout == "row_major" else shape[::-1]
    if layout == "packed":
        each = 4 // (1 if element == "i8" else 2)
        rows, cols = shape[0] // each, shape[1] * each
    return f"memref<{rows}x{cols}x{element}>", (rows, cols)


@st.composite
def products(draw: st.DrawFn) -> tuple[str, list[Array], tuple[str, bool, bool, str]]:
    """A product in K steps of any size, of any types and layouts."""
    element = draw(st.sampled_from(["bf16", "f16", "i8"]))
    m, n, k = (draw(st.integers(1, high)) for high in (20, 20, 40))
    layout_b = draw(st.sampled_from([*LAYOUTS, "packed"]))
    if layout_b == "packed":
        k = -(-k // 4) * 4
    layouts = (draw(st.sampled_from(LAYOUTS)), layout_b, draw(st.sampled_from(LAYOUTS)))
    acc = "i32" if element == "i8" else "f32"
    signs = (False, False)
    signed = ""
    if element == "i8":
        signs = draw(st.booleans()), draw(st.booleans())
        named = [x for x, sign in zip("ab", signs, strict=True) if sign]
        signed = f"signed({', '.join([*named, 'c', 'result'])})"
    kinds = zip(layouts, ((m, k), (k, n), (m, n)), (element, element, acc), strict=True)
    memories = [memref(*kind) for kind in kinds]
    (ta, sa), (tb, sb), (tc, sc) = memories
    a, b, c = (
        f"!coopmatrix.matrix<{m}x{k}x{element}, a>",
        f"!coopmatrix.matrix<{k}x{n}x{element}, b>",
        f"!coopmatrix.matrix<{m}x{n}x{acc}, acc>",
    )
    text = f"""
    func.func @f(%a: {ta}, %b: {tb}, %c: {tc}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %s = coopmatrix.load %c[%c0, %c0] {layouts[2]} : {tc} -> {c}
      %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%t = %s) -> ({c}) {{
        %x = coopmatrix.load %a[%c0, %c0] {layouts[0]} : {ta} -> {a}
        %y = coopmatrix.load %b[%c0, %c0] {layouts[1]} : {tb} -> {b}
        %u = coopmatrix.mul_add %x, %y, %t {signed} : {a}, {b}, {c}
        scf.yield %u : {c}
      }}
      coopmatrix.store %r, %c[%c0, %c0] {layouts[2]} : {c}, {tc}
      func.return
    }}"""
    seed = draw(st.integers(0, 1 << 20))
    arrays = [
        integers(seed, sa, element),
        integers(seed + 1, sb, element),
        integers(seed + 2, sc, acc),
    ]
    return text, arrays, (element, signs[0], signs[1], " ".join(layouts))


def numbers(array: Array, element: str, signed: bool) -> Array:
    """What is in memory as f64."""
    if element == "bf16":
        return from_bf16(array).astype(np.float64)
    if element == "i8" and not signed:
        array = array.view(np.uint8)
    return array.astype(np.float64)


def plain(array: Array, layout: str) -> Array:
    """A matrix as it is, from its layout in memory."""
    if layout == "packed":
        each = 4 // array.dtype.itemsize
        rows, cols = array.shape
        split = array.reshape(rows, cols // each, each).swapaxes(1, 2)
        return split.reshape(rows * each, cols // each)
    return array if layout == "row_major" else array.T


@given(products())
@settings(max_examples=25, deadline=None)
def test_products_of_any_size(
    case: tuple[str, list[Array], tuple[str, bool, bool, str]],
):
    text, arrays, (element, a_signed, b_signed, layouts) = case
    (found,) = runs_alike(text, arrays, 1)
    la, lb, lc = layouts.split()
    a = numbers(np.ascontiguousarray(plain(arrays[0], la)), element, a_signed)
    b = numbers(np.ascontiguousarray(plain(arrays[1], lb)), element, b_signed)
    expected = plain(arrays[2], lc).astype(np.float64) + 2 * (a @ b)
    np.testing.assert_array_equal(plain(found, lc), expected)


@given(
    st.tuples(st.integers(1, 18), st.integers(1, 20)),
    st.tuples(st.integers(-25, 25), st.integers(-40, 40)),
    st.sampled_from(["f32", "i32", "i8", "bf16"]),
    st.sampled_from(["acc", "a", "b"]),
    st.sampled_from(LAYOUTS),
)
@settings(max_examples=15, deadline=None)
def test_checked_access_at_every_edge(
    shape: tuple[int, int],
    place: tuple[int, int],
    element: str,
    use: str,
    layout: str,
):
    rows, cols = shape
    type = f"!coopmatrix.matrix<{rows}x{cols}x{element}, {use}>"
    memory = f"memref<17x23x{element}>"
    text = f"""
    func.func @f(%m: {memory}, %o: {memory}) {{
      %i = arith.constant {place[0]} : index
      %j = arith.constant {place[1]} : index
      %x = coopmatrix.load %m[%i, %j] {layout} checked(rows, cols) : {memory} -> {type}
      coopmatrix.store %x, %o[%i, %j] {layout} checked(rows, cols) : {type}, {memory}
      func.return
    }}"""
    arrays = [integers(seed, (17, 23), element) for seed in (1, 2)]
    runs_alike(text, arrays, 1)
