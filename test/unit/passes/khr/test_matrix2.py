"""`coopc-khr`: what SPV_NV_cooperative_matrix2 has instructions for, on lavapipe."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.checked_kernels import CHECKED, CheckedKernel, with_tensor_addressing
from support.khr_kernels import ANY_F, Array, F, kernel, numbers
from support.programs import module_of

import coopc
from coopc import device as devices
from coopc.run.toolchain import validate_spirv
from coopc.sim.simulate import simulate

LIT = Path(__file__).resolve().parents[3] / "emit"

OnLavapipe = Callable[..., None]


def check(
    body: str,
    instructions: Sequence[str],
    given: Sequence[Array | np.float32 | np.int64],
    expected: Array,
    run: OnLavapipe,
    extra: str = "",
) -> None:
    """Compile a kernel that stores %y, look for instructions, and run it."""
    body += f"""
  coopmatrix.store %y, %r[%0, %0] row_major : {F}, {ANY_F}"""
    rows, cols = expected.shape
    body = body.replace(F, f"!coopmatrix.matrix<{rows}x{cols}xf32, acc>")
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}{extra}")
    made = coopc.compile(text, "coopc-khr{device=lavapipe}", "spirv").text
    for name in instructions:
        assert name in made, made
    assert "OpControlBarrier" not in made
    assert "Workgroup" not in made.replace("WorkgroupId", "")
    run(text, given, {1: expected})


@pytest.mark.parametrize("axis", ["rows", "cols"])
@pytest.mark.parametrize("kind", ["add", "max", "min"])
@pytest.mark.parametrize("shape", [(8, 8), (24, 16)])
def test_reductions(
    axis: str, kind: str, shape: tuple[int, int], on_lavapipe: OnLavapipe
) -> None:
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %y = coopmatrix.reduce {kind} {axis} broadcast %x : {F} -> {F}"""
    a = numbers(*shape)
    function = {"add": np.sum, "max": np.max, "min": np.min}[kind]
    once = function(a, axis=int(axis == "rows"), keepdims=True)
    expected = np.broadcast_to(once, shape).copy()
    check(body, ["OpCooperativeMatrixReduceNV"], [a, 0 * a], expected, on_lavapipe)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_extremes_take_the_number(kind: str, on_lavapipe: OnLavapipe) -> None:
    """Of a number and a NaN; a row of NaN stays one."""
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %y = coopmatrix.reduce {kind} rows broadcast %x : {F} -> {F}"""
    a = numbers(8, 8)
    a[2, :3], a[5, 7], a[6] = np.nan, np.nan, np.nan
    of = {"max": np.fmax, "min": np.fmin}[kind].reduce(a, axis=1, keepdims=True)
    expected = np.broadcast_to(of, a.shape).copy()
    check(body, ["OpCooperativeMatrixReduceNV"], [a, 0 * a], expected, on_lavapipe)


@pytest.mark.parametrize("shape", [(8, 8), (16, 24)])
def test_apply(shape: tuple[int, int], on_lavapipe: OnLavapipe) -> None:
    """Rows and columns of the whole, a loop, and a number from outside."""
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %zero = arith.constant 0.0 : f32
  %g = simt.workgroup_id x : index
  %gi = arith.index_cast %g : index to i32
  %gf = arith.sitofp %gi : i32 to f32
  %three = arith.addf %gf, %s : f32
  %y = coopmatrix.apply (%i, %j, %v) in %x : {F} {{
    %below = arith.cmpi ugt, %i, %j : index
    %w = arith.select %below, %v, %zero : f32
    %sum = scf.for %k = %0 to %j step %1 iter_args(%now = %w) -> (f32) {{
      %next = arith.addf %now, %three : f32
      scf.yield %next : f32
    }}
    coopmatrix.yield %sum : f32
  }}"""
    a = numbers(*shape)
    expected = np.tril(a, -1) + 3 * np.arange(shape[1], dtype=np.float32)
    check(
        body,
        ["OpCooperativeMatrixPerElementOpNV"],
        [a, 0 * a, np.float32(3)],
        expected,
        on_lavapipe,
        ", %s: f32",
    )


def test_apply_with_memory(on_lavapipe: OnLavapipe) -> None:
    """A bias from memory: views of it, with sizes and offsets from outside."""
    view = "memref<8x7xf32, strided<[?, 1], offset: ?>>"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %v = memref.subview %a[%1, %s] [8, 7] [1, 1] : {ANY_F} to {view}
  %y = coopmatrix.apply (%i, %j, %v0) in %x : {F} {{
    %last = memref.load %v[%i, %1] : {view}
    %own = memref.load %a[%j, %i] : {ANY_F}
    %sum = arith.addf %last, %own : f32
    %w = arith.addf %sum, %v0 : f32
    coopmatrix.yield %w : f32
  }}"""
    a = numbers(9, 11)
    expected = a[:8, :8] + a[:8, :8].T + a[1:9, 4:5]
    check(
        body,
        ["OpCooperativeMatrixPerElementOpNV"],
        [a, np.zeros((8, 8), np.float32), np.int64(3)],
        expected,
        on_lavapipe,
        ", %s: index",
    )


@pytest.mark.parametrize("use", ["a", "b"])
def test_conversion_of_use_and_type(
    use: str, on_lavapipe: OnLavapipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of numbers that need no rounding, which lavapipe would leave out."""
    as_if = replace(devices.LAVAPIPE, exact_matrices=True)
    monkeypatch.setitem(devices.DEVICES, "lavapipe", as_if)
    other = f"!coopmatrix.matrix<8x8xf16, {use}>"
    half = "!coopmatrix.matrix<8x8xf16, acc>"
    left, right = ("%p", "%q") if use == "a" else ("%q", "%p")
    types = {"a": other, "b": other} | {
        x: f"!coopmatrix.matrix<8x8xf16, {x}>" for x in "ab" if x != use
    }
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %h = coopmatrix.convert %x : {F} -> {half}
  %d = coopmatrix.add %h, %h : {half}
  %p = coopmatrix.convert %x : {F} -> {other}
  %q = coopmatrix.convert %d : {half} -> {types["b" if use == "a" else "a"]}
  %y = coopmatrix.mul_add {left}, {right}, %x : {types["a"]}, {types["b"]}, {F}"""
    a = numbers(8, 8)
    names = ["OpCooperativeMatrixConvertNV", "OpFConvert"]
    check(body, names, [a, 0 * a], 2 * a @ a + a, on_lavapipe)


@pytest.mark.parametrize("maintenance1", ["yes", "no"])
def test_maintenance1_is_valid(maintenance1: str, tool: Callable[[str], Path]) -> None:
    """What a device with SPV_EXT_cooperative_matrix_maintenance1 runs, and any other.

    No driver that is at hand has it: spirv-val judges.
    """
    tool("spirv-val")
    text = (LIT / "matrix_maintenance1.mlir").read_text()
    of = f"any{{subgroup-size=32 maintenance1={maintenance1}}}"
    made = coopc.compile(text, f"coopc-khr{{device={of}}}", "spirv-binary")
    assert validate_spirv(made.bytes, "vulkan1.3") is None


def reduced(kind: str, axis: str, a: Array) -> Array:
    """What numpy makes one of each row, column, 2 x 2, or of all."""
    rows, cols = a.shape
    height, width = {"rows": (1, cols), "cols": (rows, 1), "all": a.shape}.get(
        axis, (2, 2)
    )
    windows = a.reshape(rows // height, height, cols // width, width)
    function = {"add": np.sum, "max": np.max, "min": np.min}[kind]
    return function(windows, axis=(1, 3)).astype(a.dtype)


@pytest.mark.parametrize("kind", ["add", "max"])
@pytest.mark.parametrize("shape", [(8, 8), (24, 16)])
def test_reduction_of_all(
    kind: str, shape: tuple[int, int], on_lavapipe: OnLavapipe
) -> None:
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %y = coopmatrix.reduce {kind} all broadcast %x : {F} -> {F}"""
    a = numbers(*shape)
    expected = np.broadcast_to(reduced(kind, "all", a), shape).copy()
    names = ["OpCooperativeMatrixReduceNV", "Row|Column"]
    check(body, names, [a, 0 * a], expected, on_lavapipe)


@pytest.mark.parametrize("use", ["a", "b"])
@pytest.mark.parametrize("shape", [(8, 8), (24, 16)])
def test_transposition(
    use: str, shape: tuple[int, int], on_lavapipe: OnLavapipe
) -> None:
    """To b by an instruction, to a through work-group memory."""
    rows, cols = shape
    acc = f"!coopmatrix.matrix<{rows}x{cols}xf16, acc>"
    other = f"!coopmatrix.matrix<{cols}x{rows}xf16, {use}>"
    any_h = "memref<?x?xf16>"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {any_h} -> {acc}
  %y = coopmatrix.transpose %x : {acc} -> {other}
  coopmatrix.store %y, %r[%0, %0] row_major : {other}, {any_h}"""
    text = kernel(body, f"%a: {any_h}, %r: {any_h}")
    made = coopc.compile(text, "coopc-khr{device=lavapipe}", "spirv").text
    assert ("OpCooperativeMatrixTransposeNV" in made) == (use == "b")
    a = numbers(rows, cols, np.float16)
    on_lavapipe(text, [a, np.zeros_like(a.T)], {1: a.T.copy()})


@pytest.mark.parametrize("shape", [(8, 8), (24, 16), (6, 10)])
@pytest.mark.parametrize("axis", ["all", "quads"])
@pytest.mark.parametrize("kind", ["add", "min"])
def test_reductions_in_memory(
    kind: str, axis: str, shape: tuple[int, int], on_lavapipe: OnLavapipe
) -> None:
    """Of what the device has no instruction for: other sizes, and quads."""
    rows, cols = shape
    whole = f"!coopmatrix.matrix<{rows}x{cols}xi32, acc>"
    a = numbers(rows, cols, np.int32)
    expected = reduced(kind, axis, a)
    part = "x".join(map(str, expected.shape))
    one = f"!coopmatrix.matrix<{part}xi32, acc>"
    signed = "" if kind == "add" else "signed "
    reduce = f"coopmatrix.reduce {kind} {axis} {signed}"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x?xi32> -> {whole}
  %y = {reduce} %x : {whole} -> {one}
  %z = {reduce} broadcast %x : {whole} -> {whole}
  coopmatrix.store %y, %r[%0, %0] row_major : {one}, memref<?x?xi32>
  coopmatrix.store %z, %a[%0, %0] row_major : {whole}, memref<?x?xi32>"""
    text = kernel(body, "%a: memref<?x?xi32>, %r: memref<?x?xi32>")
    window = [x // y for x, y in zip(shape, expected.shape, strict=True)]
    spread = np.kron(expected, np.ones(window, np.int32))
    on_lavapipe(text, [a, 0 * expected], {0: spread, 1: expected})


@pytest.mark.parametrize("case", CHECKED, ids=str)
def test_tensor_addressing_is_valid(
    case: CheckedKernel, tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """Instructions, where a device has them; test/device runs them.

    What they are expected to do is what the simulator does.
    """
    tool("spirv-val")
    pipeline = f"coopc-khr{{{with_tensor_addressing(tmp_path)}}}"
    made = coopc.compile(case.text, pipeline, "spirv").text
    assert "OpCooperativeMatrixLoadTensorNV" in made
    assert "OpCooperativeMatrixStoreTensorNV" in made
    assert made.count("TensorView %") == (case.load, case.store).count("col_major")
    assert "OpControlBarrier" not in made
    binary = coopc.compile(case.text, pipeline, "spirv-binary").bytes
    assert validate_spirv(binary, "vulkan1.3") is None
    source, target = case.arrays
    simulate(module_of(case.text), "k", [source, target], grid=(1, 1, 1))
    np.testing.assert_array_equal(target, case.expected)


def test_views_are_checked_by_loops(tmp_path: Path) -> None:
    """A view need not begin where tensor addressing needs memory to begin."""
    case = CheckedKernel("row_major", "row_major", (0, 0))
    view = "memref<?x?xf32, strided<[?, 1], offset: ?>>"
    text = case.text.replace("memref<?x?xf32>", view)
    made = coopc.compile(
        text, f"coopc-khr{{{with_tensor_addressing(tmp_path)}}}", "spirv"
    ).text
    assert "TensorNV" not in made
    assert "OpControlBarrier" in made
