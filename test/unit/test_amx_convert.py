"""convert-coopmatrix-to-amx: programs compute what they did, on tiles."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from coopc.passes.check_dominance import CheckDominancePass
from coopc.passes.cpu.convert_coopmatrix_to_amx import ConvertCoopmatrixToAmxPass
from coopc.sim.formats import from_bf16, to_bf16
from coopc.sim.simulate import simulate
from coopc.testing.programs import module_of

Array = np.ndarray[Any, Any]
LAYOUTS = ("row_major", "col_major")


def converted(text: str) -> ModuleOp:
    """A program on tiles, with nothing of coopmatrix left."""
    module = module_of(text)
    ConvertCoopmatrixToAmxPass().apply(Context(), module)
    module.verify()
    CheckDominancePass().apply(Context(), module)
    assert not [op for op in module.walk() if op.dialect_name() == "coopmatrix"]
    assert "coopmatrix" not in str(module)
    return module


def runs_alike(text: str, arrays: list[Array], outputs: int) -> list[Array]:
    """The last arrays, after a program and after it on tiles, which agree."""
    before = [array.copy() for array in arrays]
    after = [array.copy() for array in arrays]
    simulate(module_of(text), "f", before, subgroup_size=1)
    simulate(converted(text), "f", after, subgroup_size=1)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    return after[-outputs:]


def integers(seed: int, shape: tuple[int, ...], element: str) -> Array:
    """Numbers whose sums are exact in every order."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-8, 9, shape)
    if element == "i8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    if element == "bf16":
        return to_bf16(numbers.astype(np.float32))
    return numbers.astype({"f16": np.float16, "f32": np.float32}.get(element, np.int32))


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


ELEMENTS = {
    "neg f32": "coopmatrix.neg %x : T",
    "abs i32": "coopmatrix.abs %x : T",
    "not i8": "coopmatrix.not %x : T",
    "add i8": "coopmatrix.add %x, %y : T",
    "mul bf16": "coopmatrix.mul %x, %y : T",
    "max i32": "coopmatrix.max signed %x, %y : T",
    "shr i8": "coopmatrix.shr %x, %seven : T",
    "div i32": "coopmatrix.div signed %x, %seven : T",
    "scale f16": "coopmatrix.scale %x, %s : T, E",
}


@pytest.mark.parametrize("use", ["acc", "a", "b"])
@pytest.mark.parametrize("case", ELEMENTS)
def test_arithmetic_of_elements(case: str, use: str):
    element = case.split()[1]
    literal = "7" if element.startswith("i") else "7.0"
    operation = ELEMENTS[case].replace("E", element).replace("T", "!t")
    text = f"""
    !t = !coopmatrix.matrix<17x5x{element}, {use}>
    func.func @f(%m: memref<17x5x{element}>, %n: memref<17x5x{element}>) {{
      %c0 = arith.constant 0 : index
      %s = arith.constant {literal} : {element}
      %seven = coopmatrix.fill %s : {element} -> !t
      %x = coopmatrix.load %m[%c0, %c0] row_major : memref<17x5x{element}> -> !t
      %y = coopmatrix.load %n[%c0, %c0] row_major : memref<17x5x{element}> -> !t
      %z = {operation}
      coopmatrix.store %z, %n[%c0, %c0] row_major : !t, memref<17x5x{element}>
      func.return
    }}"""
    arrays = [integers(seed, (17, 5), element) for seed in (3, 4)]
    runs_alike(text, arrays, 1)


def test_conversion_and_places():
    """An odd number of columns of a, rows of b: padding is not multiplied."""
    text = """
    !a = !coopmatrix.matrix<5x7xbf16, a>
    !b = !coopmatrix.matrix<7x3xbf16, b>
    !c = !coopmatrix.matrix<5x3xf32, acc>
    func.func @f(%c: memref<5x3xf32>) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1.0 : bf16
      %zero = arith.constant 0.0 : f32
      %x = coopmatrix.fill %one : bf16 -> !a
      %y = coopmatrix.fill %one : bf16 -> !b
      %s = coopmatrix.add %y, %y : !b
      %z = coopmatrix.fill %zero : f32 -> !c
      %t = coopmatrix.mul_add %x, %s, %z : !a, !b, !c
      %i = coopmatrix.convert signed %t : !c -> !coopmatrix.matrix<5x3xi32, acc>
      %g = coopmatrix.convert signed %i : !coopmatrix.matrix<5x3xi32, acc> -> !c
      %h = coopmatrix.apply (%p, %q, %v) in %g : !c {
        %k = arith.addi %p, %q : index
        %l = arith.index_cast %k : index to i32
        %m = arith.sitofp %l : i32 to f32
        %w = arith.addf %v, %m : f32
        coopmatrix.yield %w : f32
      }
      coopmatrix.store %h, %c[%c0, %c0] row_major : !c, memref<5x3xf32>
      func.return
    }"""
    (found,) = runs_alike(text, [np.zeros((5, 3), np.float32)], 1)
    np.testing.assert_array_equal(found, 14 + np.add.outer(np.arange(5), np.arange(3)))


@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20)),
    st.sampled_from(["i32", "f32", "i8", "bf16"]),
    st.sampled_from(["none", "acc", "b"]),
    st.sampled_from([4, 8, 16]),
)
@settings(max_examples=15, deadline=None)
def test_row_slices_in_a_loop(
    shape: tuple[int, int], element: str, use: str, lanes: int
):
    """Each slice is doubled in memory: one store before the loop, one load after it."""
    rows, cols = shape
    memory = f"memref<{rows}x{cols}x{element}>"
    add = "arith.addi" if element.startswith("i") else "arith.addf"
    text = f"""
    !t = !coopmatrix.matrix<{rows}x{cols}x{element}, {use}>
    func.func @f(%m: {memory}) {{
      %c0 = arith.constant 0 : index
      %step = arith.constant {lanes} : index
      %end = arith.constant {rows * cols} : index
      %x = coopmatrix.load %m[%c0, %c0] row_major : {memory} -> !t
      %r = scf.for %k = %c0 to %end step %step iter_args(%t = %x) -> (!t) {{
        %s = coopmatrix.extract_row_slice %t[%k] : !t -> vector<{lanes}x{element}>
        %d = {add} %s, %s : vector<{lanes}x{element}>
        %u = coopmatrix.insert_row_slice %d, %t[%k] : vector<{lanes}x{element}>, !t
        scf.yield %u : !t
      }}
      coopmatrix.store %r, %m[%c0, %c0] row_major : !t, {memory}
      func.return
    }}"""
    runs_alike(text, [integers(5, shape, element)], 1)
    (loop,) = [
        op
        for op in converted(text).walk()
        if op.name == "scf.for"
        and any(x.name == "vector.maskedload" for x in op.walk())
    ]
    assert not [op for op in loop.walk() if op.dialect_name() == "amx"]


def test_old_matrices_are_kept():
    """A loop that needs a matrix as it was before an insertion, masks, and no loop."""
    text = """
    !t = !coopmatrix.matrix<5x5xi32, none>
    func.func @f(%m: memref<5x5xi32>, %o: memref<5x5xi32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %mask = arith.constant dense<[true, false, true, true]> : vector<4xi1>
      %x = coopmatrix.load %m[%c0, %c0] row_major : memref<5x5xi32> -> !t
      %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%t = %x) -> (!t) {
        %s = coopmatrix.extract_row_slice %t[%k] : !t -> vector<4xi32>
        %u = coopmatrix.insert_row_slice %s, %t[%c4] : vector<4xi32>, !t
        %v = coopmatrix.extract_row_slice %t[%c4] : !t -> vector<4xi32>
        %w = coopmatrix.insert_row_slice %v, %u[%k] mask %mask : vector<4xi1> :
             vector<4xi32>, !t
        scf.yield %w : !t
      }
      %a = coopmatrix.extract_row_slice %x[%c0] : !t -> vector<4xi32>
      %b = coopmatrix.insert_row_slice %a, %r[%c1] : vector<4xi32>, !t
      coopmatrix.store %r, %m[%c0, %c0] row_major : !t, memref<5x5xi32>
      coopmatrix.store %b, %o[%c0, %c0] row_major : !t, memref<5x5xi32>
      func.return
    }"""
    arrays = [integers(7, (5, 5), "i32"), integers(8, (5, 5), "i32")]
    runs_alike(text, arrays, 2)


FILLS = {
    "0.0 : f32": True,
    "-0.0 : f32": False,
    "1.5 : f32": False,
    "0 : i32": True,
    "-7 : i32": False,
}


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("value", FILLS)
def test_only_plus_zero_is_native(value: str, lanes: int):
    """The other values go through memory, which each lane has for itself."""
    element = value.split()[-1]
    text = f"""
    !t = !coopmatrix.matrix<17x5x{element}, acc>
    func.func @f(%m: memref<17x5x{element}>) attributes {{
      simt.kernel, simt.work_group_size = array<i32: {lanes}, 1, 1>,
      simt.subgroup_size = {lanes} : i32
    }} {{
      %c0 = arith.constant 0 : index
      %v = arith.constant {value}
      %x = coopmatrix.fill %v : {element} -> !t
      coopmatrix.store %x, %m[%c0, %c0] row_major : !t, memref<17x5x{element}>
      func.return
    }}"""
    module = converted(text)
    names = [op.name for op in module.walk()]
    assert ("amx.tile_zero" in names) == FILLS[value]
    assert ("memref.alloca" in names) != FILLS[value]
    found = integers(1, (17, 5), element)
    simulate(module, "f", [found], grid=(1, 1, 1))
    expected = np.full_like(found, float(value.split()[0]))
    np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))


def test_a_zero_of_another_type_is_a_zero():
    text = """
    func.func @f(%m: memref<4x4xbf16>, %i: index) {
      %v = arith.constant 0 : i32
      %x = coopmatrix.fill %v : i32 -> !coopmatrix.matrix<4x4xbf16, a>
      coopmatrix.store %x, %m[%i, %i] row_major :
        !coopmatrix.matrix<4x4xbf16, a>, memref<4x4xbf16>
      func.return
    }"""
    assert "amx.tile_zero : !amx.tile<4x4xbf16>" in str(converted(text))


@pytest.mark.parametrize("chosen", [True, False])
def test_slices_in_nested_control_flow(chosen: bool):
    """Of what the loop carries, of what an outer loop does, and of what is outside."""
    text = """
    !t = !coopmatrix.matrix<5x7xi32, none>
    func.func @f(%m: memref<5x7xi32>, %o: memref<5x7xi32>, %p: i1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c35 = arith.constant 35 : index
      %x = coopmatrix.load %m[%c0, %c0] row_major : memref<5x7xi32> -> !t
      %y = coopmatrix.load %o[%c0, %c0] row_major : memref<5x7xi32> -> !t
      %r, %q = scf.for %i = %c0 to %c2 step %c1 iter_args(%t = %x, %w = %y)
          -> (!t, !t) {
        %u = scf.for %k = %c0 to %c35 step %c4 iter_args(%v = %t) -> (!t) {
          %s = coopmatrix.extract_row_slice %v[%k] : !t -> vector<4xi32>
          %h = coopmatrix.extract_row_slice %y[%k] : !t -> vector<4xi32>
          %g = coopmatrix.extract_row_slice %w[%k] : !t -> vector<4xi32>
          %d = arith.addi %s, %h : vector<4xi32>
          %e = arith.addi %d, %g : vector<4xi32>
          %z = coopmatrix.insert_row_slice %e, %v[%k] : vector<4xi32>, !t
          scf.yield %z : !t
        }
        %a = scf.if %p -> (!t) {
          %s2 = coopmatrix.extract_row_slice %u[%i] : !t -> vector<4xi32>
          %b = coopmatrix.insert_row_slice %s2, %w[%c4] : vector<4xi32>, !t
          scf.yield %b : !t
        } else {
          scf.yield %u : !t
        }
        scf.yield %a, %u : !t, !t
      }
      %sum = coopmatrix.add %r, %q : !t
      coopmatrix.store %sum, %m[%c0, %c0] row_major : !t, memref<5x7xi32>
      coopmatrix.store %q, %o[%c0, %c0] row_major : !t, memref<5x7xi32>
      func.return
    }
    """
    arrays = [integers(1, (5, 7), "i32"), integers(2, (5, 7), "i32")]
    before: list[Any] = [*(x.copy() for x in arrays), chosen]
    after: list[Any] = [*arrays, chosen]
    simulate(module_of(text), "f", before, subgroup_size=1)
    simulate(converted(text), "f", after, subgroup_size=1)
    for one, other in zip(before[:2], after[:2], strict=True):
        np.testing.assert_array_equal(one, other)
