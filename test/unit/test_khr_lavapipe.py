"""What `legalize-coopmatrix-khr` makes of operations, on lavapipe and on the simulator.

Each kernel runs through `coopc-khr` on the driver, and on the simulator as it is
written and as it is after the pipeline; all must give what numpy gives.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

import coopc
from coopc.compiler import new_context
from coopc.interface_call import pack
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session
from coopc.run.worker import RunFailed
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array: TypeAlias = npt.NDArray[Any]
Groups: TypeAlias = tuple[int, int, int]
ONE: Groups = (1, 1, 1)

PIPELINE = "coopc-khr{device=lavapipe}"
F = "!coopmatrix.matrix<8x8xf32, acc>"
INT = "!coopmatrix.matrix<8x8xi32, acc>"
ANY_F, ANY_I = "memref<?x?xf32>", "memref<?x?xi32>"


def kernel(body: str, arguments: str, size: int | None = None) -> str:
    """A kernel of one subgroup, or of a work-group of `size` work-items."""
    sizes = "" if size is None else f", simt.work_group_size = array<i32: {size}>"
    sizes += "" if size is None else ", simt.subgroup_size = 8 : i32"
    return f"""
func.func @k({arguments}) attributes {{simt.kernel{sizes}}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  %m3 = arith.constant -3 : index
{body}
  func.return
}}
"""


def read(text: str, pipeline: str) -> ModuleOp:
    """A module after some passes."""
    universe = everything()
    source, context = Source(text, "test"), new_context(universe)
    module = parse(context, source)
    Run(context, source).apply(module, read_passes(pipeline, universe.all_passes))
    return module


def check(
    session: Session,
    text: str,
    arrays: Sequence[Array],
    expected: dict[int, Array],
    groups: Groups = ONE,
) -> None:
    """Compare a kernel on the driver and on the simulator with numpy."""
    artifact = coopc.compile(text, PIPELINE, "spirv-binary")
    call = pack(artifact.interface[0], [x.copy() for x in arrays], groups)
    found = on_vulkan(artifact.bytes, call, session=session).arrays
    for at, array in expected.items():
        np.testing.assert_array_equal(found[at], array)
    for pipeline in ("", PIPELINE):
        given = [x.copy() for x in arrays]
        simulate(read(text, pipeline), "k", given, grid=groups, subgroup_size=8)
        for at, array in expected.items():
            np.testing.assert_array_equal(given[at], array, err_msg=pipeline)


def numbers(rows: int, cols: int, dtype: Any = np.float32) -> Array:
    """Small numbers, all sums exact."""
    return ((np.arange(rows * cols).reshape(rows, cols) * 7) % 23 - 11).astype(dtype)


# --- element loops and whole arithmetic ----------------------------------------

FLOATS: dict[str, Callable[[Array, Array], Array]] = {
    "neg %x": lambda x, y: -x,
    "add %x, %y": lambda x, y: x + y,
    "sub %x, %y": lambda x, y: x - y,
    "mul %x, %y": lambda x, y: x * y,
    "div %x, %y": lambda x, y: x / y,
    "abs %x": lambda x, y: np.abs(x),
    "min %x, %y": np.minimum,
    "max %x, %y": np.maximum,
    "rem %x, %y": np.fmod,
}
INTEGERS: dict[str, Callable[[Array, Array], Array]] = {
    "neg %x": lambda x, y: -x,
    "not %x": lambda x, y: ~x,
    "abs %x": lambda x, y: np.abs(x),
    "and %x, %y": lambda x, y: x & y,
    "or %x, %y": lambda x, y: x | y,
    "xor %x, %y": lambda x, y: x ^ y,
    "shl %x, %y": lambda x, y: x << y,
    "shr %x, %y": lambda x, y: (x.view(np.uint32) >> y).astype(np.uint32).view("i4"),
    "shr signed %x, %y": lambda x, y: x >> y,
    "div signed %x, %y": lambda x, y: np.trunc(x / y).astype(np.int32),
    "div %x, %y": lambda x, y: (x.view(np.uint32) // y.view(np.uint32)).view("i4"),
    "rem signed %x, %y": lambda x, y: np.fmod(x, y),
    "rem %x, %y": lambda x, y: (x.view(np.uint32) % y.view(np.uint32)).view("i4"),
    "min signed %x, %y": np.minimum,
    "max %x, %y": lambda x, y: np.maximum(x.view("u4"), y.view("u4")).view("i4"),
}


@pytest.mark.parametrize(
    ("op", "type"), [*((x, "f32") for x in FLOATS), *((x, "i32") for x in INTEGERS)]
)
def test_arithmetic(op: str, type: str, lavapipe: Session) -> None:
    memory, matrix = f"memref<8x8x{type}>", f"!coopmatrix.matrix<8x8x{type}, acc>"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {memory} -> {matrix}
  %y = coopmatrix.load %b[%0, %0] row_major : {memory} -> {matrix}
  %z = coopmatrix.{op} : {matrix}
  coopmatrix.store %z, %r[%0, %0] row_major : {matrix}, {memory}"""
    text = kernel(body, f"%a: {memory}, %b: {memory}, %r: {memory}")
    dtype = np.float32 if type == "f32" else np.int32
    x = numbers(8, 8, dtype)
    y = (2 ** (np.arange(64) % 4)).reshape(8, 8).astype(dtype)
    function = (FLOATS if type == "f32" else INTEGERS)[op]
    check(lavapipe, text, [x, y, np.zeros_like(x)], {2: function(x, y)})


def test_scale_and_fill_by_numbers_known_at_run_time(lavapipe: Session) -> None:
    body = f"""
  %s = memref.load %a[%0, %1] : {ANY_F}
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %y = coopmatrix.scale %x, %s : {F}, f32
  %c = coopmatrix.fill %s : f32 -> {F}
  %z = coopmatrix.sub %y, %c : {F}
  coopmatrix.store %z, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(8, 8)
    check(lavapipe, text, [a, 0 * a], {1: a * a[0, 1] - a[0, 1]})


def test_integer_scale_is_a_loop(lavapipe: Session) -> None:
    body = f"""
  %s = memref.load %a[%0, %1] : {ANY_I}
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_I} -> {INT}
  %y = coopmatrix.scale %x, %s : {INT}, i32
  coopmatrix.store %y, %r[%0, %0] col_major : {INT}, {ANY_I}"""
    text = kernel(body, f"%a: {ANY_I}, %r: {ANY_I}")
    a = numbers(8, 8, np.int32)
    check(lavapipe, text, [a, 0 * a], {1: (a * a[0, 1]).T})


# --- memory --------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["row_major", "col_major"])
@pytest.mark.parametrize("checked", ["rows", "cols", "rows, cols"])
@pytest.mark.parametrize("place", [(-3, 4), (5, -2), (0, 0), (20, 30), (-9, -9)])
def test_checked_access(
    layout: str, checked: str, place: tuple[int, int], lavapipe: Session
) -> None:
    rows_first = layout == "row_major"
    checks = ["rows" in checked, "cols" in checked]
    on = checks if rows_first else checks[::-1]
    row, col = (p if c else 1 for p, c in zip(place, on, strict=True))
    body = f"""
  %i = arith.constant {row} : index
  %j = arith.constant {col} : index
  %x = coopmatrix.load %a[%i, %j] {layout} checked({checked}) : {ANY_F} -> {F}
  coopmatrix.store %x, %r[%0, %0] {layout} : {F}, {ANY_F}
  %y = coopmatrix.load %b[%0, %0] {layout} : {ANY_F} -> {F}
  coopmatrix.store %y, %s[%i, %j] {layout} checked({checked}) : {F}, {ANY_F}"""
    text = kernel(body, ", ".join(f"%{n}: {ANY_F}" for n in "abrs"))
    a, b, s = numbers(9, 11), numbers(8, 8) + 100, numbers(9, 11)
    r = np.zeros((8, 8), np.float32)
    stored = s.copy()
    for i, j in np.ndindex(8, 8):
        if 0 <= row + i < 9 and 0 <= col + j < 11:
            r[i, j] = a[row + i, col + j]
            stored[row + i, col + j] = b[i, j]
    check(lavapipe, text, [a, b, np.zeros((8, 8), np.float32), s], {2: r, 3: stored})


def test_strides_of_which_none_is_1(lavapipe: Session) -> None:
    source, target = (
        "memref<8x8xf32, strided<[32, 2]>>",
        "memref<8x8xf32, strided<[3, 32]>>",
    )
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {source} -> {F}
  coopmatrix.store %x, %r[%0, %0] row_major : {F}, {target}"""
    text = kernel(body, f"%a: {source}, %r: {target}")
    a = numbers(8, 32)[:, :16:2]
    flat = np.zeros(256, np.float32)
    r = np.lib.stride_tricks.as_strided(flat, (8, 8), (12, 128))
    artifact = coopc.compile(text, PIPELINE)
    found = on_vulkan(
        artifact.bytes, pack(artifact.interface[0], [a, r], ONE), lavapipe
    )
    np.testing.assert_array_equal(found.arrays[1], a)


def test_stride_0_is_one_row_for_all(lavapipe: Session) -> None:
    same = "memref<8x8xf32, strided<[0, 1]>>"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {same} -> {F}
  coopmatrix.store %x, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {same}, %r: {ANY_F}")
    row = np.arange(8, dtype=np.float32)
    a = np.lib.stride_tricks.as_strided(row, (8, 8), (0, 4))
    artifact = coopc.compile(text, PIPELINE)
    call = pack(artifact.interface[0], [a, np.zeros((8, 8), np.float32)], ONE)
    found = on_vulkan(artifact.bytes, call, lavapipe).arrays[1]
    np.testing.assert_array_equal(found, a)


def test_vectors_in_memory(lavapipe: Session) -> None:
    """Positions and strides count vectors of four."""
    memory = "memref<?x?xvector<4xf32>>"
    body = f"""
  %x = coopmatrix.load %a[%1, %1] row_major : {memory} -> {F}
  coopmatrix.store %x, %r[%0, %1] col_major : {F}, {memory}"""
    text = kernel(body, f"%a: {memory}, %r: {memory}")
    a, r = numbers(9, 16).reshape(9, 4, 4), np.zeros((8, 3, 4), np.float32)
    expected = r.copy()
    expected.reshape(8, 12)[:, 4:] = a.reshape(9, 16)[1:, 4:12].T
    check(lavapipe, text, [a, r], {1: expected})


def test_other_numbers_in_work_group_memory(lavapipe: Session) -> None:
    """f16 through an array of i32, transposed on the way."""
    half, shared = (
        "!coopmatrix.matrix<8x8xf16, acc>",
        "memref<8x4xi32, #simt.memory<workgroup>>",
    )
    body = f"""
  %s = memref.alloca() : {shared}
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x?xf16> -> {half}
  coopmatrix.store %x, %s[%0, %0] row_major : {half}, {shared}
  simt.barrier workgroup
  %y = coopmatrix.load %s[%0, %0] col_major : {shared} -> {half}
  coopmatrix.store %y, %r[%0, %0] row_major : {half}, memref<?x?xf16>"""
    text = kernel(body, "%a: memref<?x?xf16>, %r: memref<?x?xf16>")
    a = numbers(8, 8, np.float16)
    artifact = coopc.compile(text, PIPELINE)
    call = pack(artifact.interface[0], [a, 0 * a], ONE)
    np.testing.assert_array_equal(
        on_vulkan(artifact.bytes, call, lavapipe).arrays[1], a.T
    )
    given = [a.copy(), 0 * a]
    simulate(read(text, ""), "k", given, grid=ONE, subgroup_size=8)
    np.testing.assert_array_equal(given[1], a.T)


def test_atomic_accesses(lavapipe: Session) -> None:
    body = f"""
  %x = coopmatrix.atomic_load %a[%0, %0] row_major acquire : {ANY_I} -> {INT}
  %y = coopmatrix.atomic_max signed %x, %r[%0, %0] row_major checked(rows) relaxed
    : {INT}, {ANY_I} -> {INT}
  coopmatrix.atomic_store %y, %s[%0, %0] col_major release scope = workgroup
    : {INT}, {ANY_I}
  %z = coopmatrix.atomic_add %x, %t[%m3, %0] row_major checked(rows, cols) relaxed
    : {INT}, {ANY_I} -> {INT}"""
    text = kernel(body, ", ".join(f"%{n}: {ANY_I}" for n in "arst"))
    a = numbers(8, 8, np.int32)
    r, t = (a * 3) % 17, numbers(6, 7, np.int32)
    added = t.copy()
    added[:5] += a[3:, :7]
    expected = {1: np.maximum(a, r), 2: r.T, 3: added}
    check(lavapipe, text, [a, r, 0 * a, t], expected)


# --- whole matrices ------------------------------------------------------------


@pytest.mark.parametrize("axis", ["rows", "cols"])
@pytest.mark.parametrize("kind", ["add", "max", "min"])
@pytest.mark.parametrize("shape", [(8, 8), (24, 16)])
def test_reductions(
    axis: str, kind: str, shape: tuple[int, int], lavapipe: Session
) -> None:
    m, n = shape
    matrix = f"!coopmatrix.matrix<{m}x{n}xf32, acc>"
    p, q = (m, 1) if axis == "rows" else (1, n)
    result = f"!coopmatrix.matrix<{p}x{q}xf32, acc>"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {matrix}
  %y = coopmatrix.reduce {kind} {axis} %x : {matrix} -> {result}
  coopmatrix.store %y, %r[%0, %0] row_major : {result}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(m, n)
    function = {"add": np.sum, "max": np.max, "min": np.min}[kind]
    expected = function(a, axis=int(axis == "rows"), keepdims=True)
    check(lavapipe, text, [a, np.zeros((p, q), np.float32)], {1: expected})


def test_apply(lavapipe: Session) -> None:
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %zero = arith.constant 0.0 : f32
  %y = coopmatrix.apply (%i, %j, %v) in %x : {F} {{
    %below = arith.cmpi ugt, %i, %j : index
    %w = arith.select %below, %v, %zero : f32
    coopmatrix.yield %w : f32
  }}
  coopmatrix.store %y, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(8, 8)
    check(lavapipe, text, [a, 0 * a], {1: np.tril(a, -1)})


def test_conversion_of_the_use(lavapipe: Session) -> None:
    """The result of one multiplication is an operand of the next."""
    a_type, b_type = (f"!coopmatrix.matrix<8x8xf16, {use}>" for use in "ab")
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %p = coopmatrix.convert %x : {F} -> {a_type}
  %q = coopmatrix.convert %x : {F} -> {b_type}
  %y = coopmatrix.mul_add %p, %q, %x : {a_type}, {b_type}, {F}
  coopmatrix.store %y, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(8, 8)
    check(lavapipe, text, [a, 0 * a], {1: a @ a + a})


def test_matrices_that_the_device_has_none_of(lavapipe: Session) -> None:
    matrix = "!coopmatrix.matrix<7x9xf32, none>"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {matrix}
  %y = coopmatrix.add %x, %x : {matrix}
  coopmatrix.store %y, %r[%0, %0] col_major : {matrix}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(7, 9)
    check(lavapipe, text, [a, np.zeros((9, 7), np.float32)], {1: 2 * a.T})


def test_each_subgroup_has_its_own_scratch(lavapipe: Session) -> None:
    body = f"""
  %s = simt.subgroup_id : index
  %i = arith.muli %s, %8 : index
  %x = coopmatrix.load %a[%i, %4] row_major checked(rows, cols) : {ANY_F} -> {F}
  %y = coopmatrix.max %x, %x : {F}
  coopmatrix.store %y, %r[%i, %0] row_major checked(rows) : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}", size=32)
    a = numbers(29, 9)
    expected = np.zeros((29, 8), np.float32)
    expected[:, :5] = a[:, 4:]
    check(lavapipe, text, [a, np.zeros_like(expected)], {1: expected})


# --- single elements -----------------------------------------------------------


def test_insertion_in_a_divergent_branch(lavapipe: Session) -> None:
    """Which element a lane has is the driver's: one of each lane's changes."""
    body = f"""
  %lane = simt.lane_id : index
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %first = arith.cmpi ult, %lane, %4 : index
  %y = scf.if %first -> ({F}) {{
    %e = coopmatrix.extract %x[%lane] : {F}
    %f = arith.constant 100.0 : f32
    %g = arith.addf %e, %f : f32
    %p = coopmatrix.insert %g, %x[%lane] : {F}
    scf.yield %p : {F}
  }} else {{
    scf.yield %x : {F}
  }}
  %z = coopmatrix.sub %y, %x : {F}
  coopmatrix.store %z, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(8, 8)
    artifact = coopc.compile(text, PIPELINE)
    call = pack(artifact.interface[0], [a, 0 * a], ONE)
    found = on_vulkan(artifact.bytes, call, lavapipe).arrays[1]
    values, counts = np.unique(found, return_counts=True)
    assert dict(zip(values, counts, strict=True)) == {0: 60, 100: 4}


# --- GEMM ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [(5, 3, 2), (17, 9, 13), (24, 16, 40), (1, 40, 8)])
def test_ragged_gemm(size: tuple[int, int, int], lavapipe: Session) -> None:
    m, n, k = size
    half = "memref<?x?xf16>"
    a_type, b_type = (f"!coopmatrix.matrix<8x8xf16, {use}>" for use in "ab")
    text = f"""
func.func @k(%a: {half}, %b: {half}, %c: {ANY_F}) attributes {{simt.kernel,
    simt.grid = affine_map<(d0, d1, d2, d3, m, n) -> (n ceildiv 8, m ceildiv 8)>}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %8 : index
  %col = arith.muli %x, %8 : index
  %end = memref.dim %a, %1 : {half}
  %init = coopmatrix.fill %zero : f32 -> {F}
  %sum = scf.for %i = %0 to %end step %8 iter_args(%acc = %init) -> ({F}) {{
    %p = coopmatrix.load %a[%row, %i] row_major checked(rows, cols) : {half} -> {a_type}
    %q = coopmatrix.load %b[%i, %col] row_major checked(rows, cols) : {half} -> {b_type}
    %next = coopmatrix.mul_add %p, %q, %acc : {a_type}, {b_type}, {F}
    scf.yield %next : {F}
  }}
  coopmatrix.store %sum, %c[%row, %col] row_major checked(rows, cols) : {F}, {ANY_F}
  func.return
}}
"""
    a, b = numbers(m, k, np.float16), numbers(k, n, np.float16)
    groups = (-(-n // 8), -(-m // 8), 1)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    check(lavapipe, text, [a, b, np.zeros((m, n), np.float32)], {2: expected}, groups)


SPECIALISED = """
coopmatrix.spec_constant @M = 16 : i32
coopmatrix.spec_constant @N = 16 : i32
coopmatrix.spec_constant @K = 16 : i32
coopmatrix.spec_constant @S = 3 : i32
func.func @k(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x?xf16> -> A
  %y = coopmatrix.load %b[%0, %0] row_major : memref<?x?xf16> -> B
  %s = coopmatrix.fill %z : f32 -> C
  %r = coopmatrix.mul_add %x, %y, %s : A, B, C
  coopmatrix.store %r, %c[%0, %0] row_major : C, memref<?x?xf32>
  func.return
}
"""
TYPES = {
    " A": "@M x @K x f16, a",
    " B": "@K x @N x f16, b",
    " C": "@M x @N x f32, acc",
}


def specialised() -> str:
    text = SPECIALISED
    for name, sizes in TYPES.items():
        text = text.replace(name, f" !coopmatrix.matrix<{sizes}, scope = @S>")
    return text


def test_one_module_two_specialisations(lavapipe: Session) -> None:
    """On the simulator both; the driver lists one, and the other is refused."""
    artifact = coopc.compile(specialised(), PIPELINE)
    for size, spec in ((8, {"M": 8, "N": 8, "K": 8}), (16, dict[str, int]())):
        a, b = numbers(size, size, np.float16), numbers(size, size, np.float16)[::-1]
        arrays = [a, b.copy(), np.zeros((size, size), np.float32)]
        expected = a.astype(np.float32) @ b.astype(np.float32)
        call = pack(artifact.interface[0], arrays, ONE)
        if size == 8:
            found = on_vulkan(artifact.bytes, call, lavapipe, spec=spec)
            np.testing.assert_array_equal(found.arrays[2], expected)
        else:
            with pytest.raises(RunFailed, match="listed matrix shape, got 16x16x16"):
                on_vulkan(artifact.bytes, call, lavapipe, spec=spec)
        module = read(specialised(), PIPELINE)
        simulate(module, "k", arrays, grid=ONE, subgroup_size=8, constants=spec)
        np.testing.assert_array_equal(arrays[2], expected)


PRODUCTS = {
    # a, b, c, result, how
    "s8 u8": ("i8", "i8", "i32", "signed(a, c, result)"),
    "u8 s8": ("i8", "i8", "i32", "signed(b, c, result)"),
    "s8 saturating": ("i8", "i8", "i32", "signed(a, b, c, result) saturating"),
    "u8 saturating": ("i8", "i8", "i32", "saturating"),
    "s16": ("i16", "i16", "i32", "signed(a, b, c, result)"),
    "f32": ("f32", "f32", "f32", ""),
}


@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_that_the_device_lacks(
    name: str, size: int, lavapipe: Session
) -> None:
    a_type, b_type, c_type, how = PRODUCTS[name]
    types = [
        f"!coopmatrix.matrix<{size}x{size}x{type}, {use}>"
        for type, use in ((a_type, "a"), (b_type, "b"), (c_type, "acc"))
    ]
    memories = [f"memref<?x?x{type}>" for type in (a_type, b_type, c_type)]
    loads = "".join(
        f"  %t{x} = coopmatrix.load %{x}[%0, %0] row_major : {m} -> {t}\n"
        for x, m, t in zip("abc", memories, types, strict=True)
    )
    body = f"""{loads}
  %z = coopmatrix.mul_add %ta, %tb, %tc {how} : {", ".join(types)}
  coopmatrix.store %z, %c[%0, %0] row_major : {types[2]}, {memories[2]}"""
    text = kernel(
        body, ", ".join(f"%{x}: {m}" for x, m in zip("abc", memories, strict=True))
    )
    signs = {x: "u" if a_type.startswith("i") else "f" for x in "abc"}
    if "signed" in how:
        inside = how[how.index("(") + 1 : how.index(")")].split(", ")
        signs |= dict.fromkeys((x for x in inside if x in "abc"), "i")
    bytes = {"i8": 1, "i16": 2, "i32": 4, "f32": 4}
    random = np.random.default_rng(0)
    arrays: list[Array] = []
    for x, type in zip("abc", (a_type, b_type, c_type), strict=True):
        dtype = np.dtype(f"{signs[x]}{bytes[type]}")
        low, high = (-9, 10) if signs[x] == "f" else (0, 0)
        if signs[x] != "f":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        arrays.append(random.integers(low, high, (size, size)).astype(dtype))
    if "saturating" in how:
        arrays[2][0] = np.iinfo(arrays[2].dtype).max
    wide = [x.astype(np.float64 if name == "f32" else np.int64) for x in arrays]
    exact = wide[0] @ wide[1] + wide[2]
    result = arrays[2].dtype
    if "saturating" in how:
        limits = np.iinfo(result)
        assert (exact > limits.max).any()
        exact = np.clip(exact, limits.min, limits.max)
    check(lavapipe, text, arrays, {2: exact.astype(result)})
