"""`coopmatrix` run on lavapipe, and on Intel's run-time for CPUs with emulated AMX."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from coopc.run import opencl, vulkan

Array: TypeAlias = npt.NDArray[Any]

GEMM = """
func.func @gemm(%a: {a_type}, %b: {b_type}, %c: memref<?x?x{acc}>)
    attributes {{simt.kernel, simt.grid = affine_map<({sizes}, m, n)
                  -> (n floordiv {n}, m floordiv {m})>}} {{
  %c0 = arith.constant 0 : index
  %k = arith.constant {k} : index
  %m = arith.constant {m} : index
  %n = arith.constant {n} : index
  %zero = arith.constant {zero} : {acc}
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %m : index
  %col = arith.muli %x, %n : index
  %a_cols = arith.constant {a_cols} : index
  %end = memref.dim %a, %a_cols : {a_type}
  %init = coopmatrix.fill %zero : {acc} -> !coopmatrix.matrix<{m}x{n}x{acc}, acc>
  %sum = scf.for %i = %c0 to %end step %k
      iter_args(%acc = %init) -> (!coopmatrix.matrix<{m}x{n}x{acc}, acc>) {{
    %a_tile = coopmatrix.load %a[{a_place}] {a_layout}
        : {a_type} -> !coopmatrix.matrix<{m}x{k}x{element}, a>
    {b_row}
    %b_tile = coopmatrix.load %b[{b_place}] {b_layout}
        : {b_type} -> !coopmatrix.matrix<{k}x{n}x{element}, b>
    %next = coopmatrix.mul_add %a_tile, %b_tile, %acc {signs}
        : !coopmatrix.matrix<{m}x{k}x{element}, a>,
          !coopmatrix.matrix<{k}x{n}x{element}, b>,
          !coopmatrix.matrix<{m}x{n}x{acc}, acc>
    scf.yield %next : !coopmatrix.matrix<{m}x{n}x{acc}, acc>
  }}
  coopmatrix.store %sum, %c[%row, %col] row_major
      : !coopmatrix.matrix<{m}x{n}x{acc}, acc>, memref<?x?x{acc}>
  func.return
}}
"""

ALL_SIGNED = "signed(a, b, c, result)"

TYPES: dict[str, tuple[str, str, str, Any, Any]] = {
    "f16 -> f32": ("f16", "f32", "", np.float16, np.float32),
    "f16 -> f16": ("f16", "f16", "", np.float16, np.float16),
    "s8 -> s32": ("i8", "i32", ALL_SIGNED, np.int8, np.int32),
    "u8 -> u32": ("i8", "i32", "", np.uint8, np.uint32),
}


def gemm_text(
    element: str,
    acc: str,
    signs: str,
    tile: tuple[int, int, int],
    a_layout: str = "row_major",
    b_layout: str = "row_major",
) -> str:
    """A GEMM of one tile a work-group."""
    m, n, k = tile
    memory = f"memref<?x?x{element}>"
    a_row, b_row = a_layout == "row_major", b_layout != "col_major"
    packed = b_layout == "packed"
    per_channel = {"f16": 2, "i8": 4}[element]
    packing = ""
    if packed:
        packing = f"""%w = arith.constant {per_channel} : index
    %packed_row = arith.divui %i, %w : index
    %packed_col = arith.muli %col, %w : index"""
    b_place = "%packed_row, %packed_col" if packed else "%i, %col"
    return GEMM.format(
        m=m,
        n=n,
        k=k,
        element=element,
        acc=acc,
        signs=signs,
        zero="0" if acc.startswith("i") else "0.0",
        a_type=memory,
        b_type=memory,
        sizes="a0, a1, b0, b1",
        a_cols=int(a_row),
        a_place="%row, %i" if a_row else "%i, %row",
        a_layout=a_layout,
        b_row=packing,
        b_place=b_place if b_row else "%col, %i",
        b_layout=b_layout,
    )


def matrices(dtype: Any, m: int, n: int, k: int) -> tuple[Array, Array]:
    """Small integers, whose sums are exact in each accumulator."""
    random = np.random.default_rng(0)
    low = 0 if np.dtype(dtype).kind == "u" else -3
    a, b = random.integers(low, 4, (m, k)), random.integers(low, 4, (k, n))
    return a.astype(dtype), b.astype(dtype)


def stored(x: Array, layout: str, per_channel: int = 2) -> Array:
    """A matrix as it is in memory."""
    if layout == "col_major":
        return np.ascontiguousarray(x.T)
    if layout == "packed":
        k, n = x.shape
        rows = x.reshape(k // per_channel, per_channel, n).transpose(0, 2, 1)
        return np.ascontiguousarray(rows.reshape(k // per_channel, n * per_channel))
    return x


@pytest.fixture
def on_vulkan(lavapipe: vulkan.Session, make_runner: Any) -> Any:
    return make_runner("vulkan", "lavapipe", lavapipe)


@pytest.fixture
def on_amx(intel_amx: opencl.Session, make_runner: Any) -> Any:
    return make_runner("opencl", "intel-cpu", intel_amx)


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("layouts", ["row row", "row col", "col row", "col col"])
def test_gemm_on_vulkan(on_vulkan: Any, types: str, layouts: str):
    element, acc, signs, dtype, out = TYPES[types]
    a_layout, b_layout = (f"{each}_major" for each in layouts.split())
    a, b = matrices(dtype, 24, 16, 40)
    text = gemm_text(element, acc, signs, (8, 8, 8), a_layout, b_layout)
    arguments = [stored(a, a_layout), stored(b, b_layout), np.zeros((24, 16), out)]
    found = on_vulkan.run(text, arguments)[2]
    np.testing.assert_array_equal(found, a.astype(out) @ b.astype(out))


@pytest.mark.parametrize("types", ["f16 -> f32", "s8 -> s32", "u8 -> u32"])
def test_gemm_on_amx(on_amx: Any, types: str):
    element, acc, signs, dtype, out = TYPES[types]
    k = 16 if element == "f16" else 32
    a, b = matrices(dtype, 16, 32, 2 * k)
    text = gemm_text(element, acc, signs, (8, 16, k), b_layout="packed")
    memory = stored(b, "packed", 2 if element == "f16" else 4)
    # The columns of C come from C, not from the packed B.
    arguments = [a, memory, np.zeros((16, 32), out)]
    found = on_amx.run(text, arguments)[2]
    np.testing.assert_array_equal(found, a.astype(out) @ b.astype(out))


def test_strided_memory(on_vulkan: Any):
    """A leading dimension, an offset, and strides that make a row a column."""
    matrix = "!coopmatrix.matrix<8x8xf32, acc>"
    text = f"""
func.func @k(%a: memref<?x?x?xf32>, %t: memref<8x8xf32, strided<[1, 8]>>,
             %o: memref<?x?xf32, strided<[?, 1]>>) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %m = coopmatrix.load %a[%1, %0, %2] row_major : memref<?x?x?xf32> -> {matrix}
  coopmatrix.store %m, %t[%0, %0] row_major
    : {matrix}, memref<8x8xf32, strided<[1, 8]>>
  coopmatrix.store %m, %o[%1, %2] col_major
    : {matrix}, memref<?x?xf32, strided<[?, 1]>>
  func.return
}}
"""
    a = np.arange(2 * 8 * 12, dtype=np.float32).reshape(2, 8, 12)
    out = np.zeros((10, 16), np.float32)[:, :12]
    transposed = np.zeros((8, 8), np.float32).T
    _, t, o = on_vulkan.run(text, [a, transposed, out])
    expected = np.zeros((10, 12), np.float32)
    expected[1:9, 2:10] = a[1, :, 2:10].T
    np.testing.assert_array_equal(t, a[1, :, 2:10])
    np.testing.assert_array_equal(o, expected)


def test_work_group_memory(on_vulkan: Any):
    """A matrix is staged through work-group memory."""
    shared = "memref<8x8xf16, #simt.memory<workgroup>>"
    matrix = "!coopmatrix.matrix<8x8xf16, a>"
    text = f"""
func.func @k(%a: memref<8x8xf16>, %r: memref<8x8xf16>) attributes {{simt.kernel}} {{
  %s = memref.alloca() : {shared}
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<8x8xf16> -> {matrix}
  coopmatrix.store %x, %s[%0, %0] col_major : {matrix}, {shared}
  simt.barrier workgroup
  %y = coopmatrix.load %s[%0, %0] row_major nontemporal : {shared} -> {matrix}
  coopmatrix.store %y, %r[%0, %0] row_major alignment = 16
    : {matrix}, memref<8x8xf16>
  func.return
}}
"""
    a = np.arange(64).astype(np.float16).reshape(8, 8)
    found = on_vulkan.run(text, [a, np.zeros_like(a)])[1]
    np.testing.assert_array_equal(found, a.T)


def elementwise(body: str, element: str) -> str:
    matrix = f"!coopmatrix.matrix<8x8x{element}, acc>"
    return f"""
func.func @k(%a: memref<8x8x{element}>, %b: memref<8x8x{element}>,
             %r: memref<8x8x{element}>, %n: {element}, %p: memref<{element}>)
    attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<8x8x{element}> -> {matrix}
  %y = coopmatrix.load %b[%0, %0] row_major : memref<8x8x{element}> -> {matrix}
{body.replace("MATRIX", matrix)}
  coopmatrix.store %z, %r[%0, %0] row_major : {matrix}, memref<8x8x{element}>
  func.return
}}
"""


FLOATS: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "add": ("  %z = coopmatrix.add %x, %y : MATRIX", lambda x, y: x + y),
    "sub": ("  %z = coopmatrix.sub %x, %y : MATRIX", lambda x, y: x - y),
    "mul": ("  %z = coopmatrix.mul %x, %y : MATRIX", lambda x, y: x * y),
    "div": ("  %z = coopmatrix.div %x, %y : MATRIX", lambda x, y: x / y),
    "neg": ("  %z = coopmatrix.neg %x : MATRIX", lambda x, y: -x),
    "scale": ("  %z = coopmatrix.scale %x, %n : MATRIX, f32", lambda x, y: 3 * x),
    "fill": ("  %z = coopmatrix.fill %n : f32 -> MATRIX", lambda x, y: 0 * x + 3),
    "fill from a pointer": (
        "  %z = coopmatrix.fill %p : memref<f32> -> MATRIX",
        lambda x, y: 0 * x + 5,
    ),
    "fill from an integer": (
        "  %c = arith.constant -7 : i8\n  %z = coopmatrix.fill %c : i8 -> MATRIX",
        lambda x, y: 0 * x - 7,
    ),
    "convert": (
        "  %h = coopmatrix.convert %x : MATRIX -> !coopmatrix.matrix<8x8xf16, acc>\n"
        "  %z = coopmatrix.convert %h : !coopmatrix.matrix<8x8xf16, acc> -> MATRIX",
        lambda x, y: x,
    ),
    "select": (
        "  %c = arith.constant true\n  %z = arith.select %c, %y, %x : MATRIX",
        lambda x, y: y,
    ),
    "if": (
        "  %l = simt.workgroup_id x : index\n"
        "  %c = arith.cmpi eq, %l, %0 : index\n"
        "  %z = scf.if %c -> (MATRIX) {\n"
        "    %s = coopmatrix.add %x, %x : MATRIX\n"
        "    scf.yield %s : MATRIX\n"
        "  } else {\n"
        "    scf.yield %y : MATRIX\n"
        "  }",
        lambda x, y: 2 * x,
    ),
}


@pytest.mark.parametrize("name", FLOATS)
def test_floats(on_vulkan: Any, name: str):
    body, function = FLOATS[name]
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    b = np.exp2(a % 4).astype(np.float32)
    given = [a, b, np.zeros_like(a), 3.0, np.array(5, np.float32)]
    found = on_vulkan.run(elementwise(body, "f32"), given)[2]
    np.testing.assert_array_equal(found, function(a, b))


INTEGERS: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "add": ("  %z = coopmatrix.add %x, %y : MATRIX", lambda x, y: x + y),
    "mul": ("  %z = coopmatrix.mul %x, %y : MATRIX", lambda x, y: x * y),
    "div": (
        "  %z = coopmatrix.div signed %x, %y : MATRIX",
        lambda x, y: np.trunc(x / y).astype(np.int32),
    ),
    "neg": ("  %z = coopmatrix.neg %x : MATRIX", lambda x, y: -x),
    "convert": (
        "  %f = coopmatrix.convert signed %x"
        " : MATRIX -> !coopmatrix.matrix<8x8xf32, acc>\n"
        "  %z = coopmatrix.convert signed %f"
        " : !coopmatrix.matrix<8x8xf32, acc> -> MATRIX",
        lambda x, y: x,
    ),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(on_vulkan: Any, name: str):
    body, function = INTEGERS[name]
    a = np.arange(-32, 32, dtype=np.int32).reshape(8, 8)
    b = (a * 7) % 5 + 1
    given = [a, b, np.zeros_like(a), 3, np.array(5, np.int32)]
    found = on_vulkan.run(elementwise(body, "i32"), given)[2]
    np.testing.assert_array_equal(found, function(a, b))


def test_length(on_vulkan: Any):
    """64 elements over the 8 lanes of lavapipe."""
    text = """
func.func @k(%r: memref<1xi32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %n = coopmatrix.length !coopmatrix.matrix<8x8xf32, acc> : index
  %i = arith.index_cast %n : index to i32
  memref.store %i, %r[%0] : memref<1xi32>
  func.return
}
"""
    assert on_vulkan.run(text, [np.zeros(1, np.int32)])[0] == [8]


def test_example(on_vulkan: Any, root: Any):
    """examples/gemm.mlir, cut into what lavapipe multiplies."""
    text = (root / "examples" / "gemm.mlir").read_text()
    a, b = matrices(np.float16, 48, 32, 64)
    arguments = [a, b, np.zeros((48, 32), np.float32)]
    found = on_vulkan.run(text, arguments, None, "split-coopmatrix{device=lavapipe}")
    np.testing.assert_array_equal(found[2], a.astype(np.float32) @ b.astype(np.float32))
