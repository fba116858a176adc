"""Matrices in memory that holds other numbers, or vectors of numbers.

One kernel reads a matrix from inside such memory, by rows or by columns, and writes it
into such memory; numpy says what is where.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from support.native import run_native
from support.programs import module_of

import coopc
from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.interface_call import pack
from coopc.parsing import parse
from coopc.pipeline import Run, flatten
from coopc.pipelines import CoopcAmxPass, CoopcCpuPass
from coopc.run import execute, opencl, toolchain, vulkan
from coopc.run.tiles import Tiles, best
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array = np.ndarray[Any, Any]

CASES = [
    ("f32", "vector<4xf32>", np.float32, 4),
    ("f16", "f32", np.float16, 2),
    ("f16", "vector<4xi32>", np.float16, 8),
    ("i8", "vector<2xi16>", np.int8, 4),
    ("i32", "vector<2xi64>", np.int32, 4),
]
"""Elements, what memory holds, and how many elements that is."""
ROWS, COLS, ROOM = 8, 16, (20, 20)
"""Sizes of the matrix, and of memory in pointees."""
NAMES = [f"{each[0]}-{each[1]}" for each in CASES]


def text_of(element: str, pointee: str) -> str:
    """A kernel: rows to rows, columns to columns, at positions of their own."""
    memory = f"memref<{ROOM[0]}x{ROOM[1]}x{pointee}>"
    matrix = f"!coopmatrix.matrix<{ROWS}x{COLS}x{element}, acc>"
    return f"""
func.func @k(%a: {memory}, %r: {memory}, %s: {memory})
    attributes {{simt.kernel, simt.grid = affine_map<() -> (1)>}} {{
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %3 = arith.constant 3 : index
  %x = coopmatrix.load %a[%2, %1] row_major : {memory} -> {matrix}
  coopmatrix.store %x, %r[%3, %2] row_major : {matrix}, {memory}
  %y = coopmatrix.load %a[%1, %3] col_major : {memory} -> {matrix}
  coopmatrix.store %y, %s[%2, %2] col_major : {matrix}, {memory}
  func.return
}}"""


def data(dtype: Any, per_pointee: int) -> list[Array]:
    """Arguments; memory is an array of the matrix's elements."""
    given = np.arange(ROOM[0] * ROOM[1] * per_pointee) % 61
    a = given.astype(dtype).reshape(ROOM[0], -1)
    return [a, np.zeros_like(a), np.zeros_like(a)]


def expected(arrays: list[Array], n: int) -> list[Array]:
    """What the arguments are afterwards; n elements are a pointee."""
    a, r, s = (each.copy() for each in arrays)
    r[3 : 3 + ROWS, 2 * n : 2 * n + COLS] = a[2 : 2 + ROWS, n : n + COLS]
    s[2 : 2 + COLS, 2 * n : 2 * n + ROWS] = a[1 : 1 + COLS, 3 * n : 3 * n + ROWS]
    return [a, r, s]


def given_as(arrays: list[Array], pointee: str) -> list[Array]:
    """The same memory as arrays of what it holds."""
    scalar = pointee.removeprefix("vector<").rstrip(">")
    width, _, scalar = scalar.rpartition("x")
    names = {"f32": np.float32, "i16": np.int16, "i32": np.int32, "i64": np.int64}
    shape = (*ROOM, int(width)) if width else ROOM
    return [each.view(names[scalar]).reshape(shape) for each in arrays]


Ran = Callable[[str, list[Array]], Sequence[Array]]


def check(ran: Ran, element: str, pointee: str, dtype: Any, per_pointee: int) -> None:
    arrays = data(dtype, per_pointee)
    wanted = expected(arrays, per_pointee)
    found = ran(text_of(element, pointee), given_as(arrays, pointee))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.reshape(-1).view(dtype), other.reshape(-1))


@pytest.mark.parametrize("case", CASES, ids=NAMES)
@pytest.mark.parametrize("spread", [False, True])
def test_simulated(spread: bool, case: Any) -> None:
    def ran(text: str, arrays: list[Array]) -> Sequence[Array]:
        if spread:
            text = coopc.compile(text, "coopc-lanes{device=bmg}", "mlir").text
        simulate(module_of(text), "k", arrays, subgroup_size=16)
        return arrays

    check(ran, *case)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_opencl(case: Any, intel_cpu: opencl.Session) -> None:
    def ran(text: str, arrays: list[Array]) -> Sequence[Array]:
        artifact = coopc.compile(text, "coopc-lanes{device=intel-cpu}")
        call = pack(artifact.interface[0], arrays, (1, 1, 1))
        return execute.on_opencl(artifact.bytes, call, intel_cpu).arrays

    check(ran, *case)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_vulkan(case: Any, lavapipe: vulkan.Session) -> None:
    def ran(text: str, arrays: list[Array]) -> Sequence[Array]:
        artifact = coopc.compile(text, "coopc-lanes{device=lavapipe}")
        assert toolchain.validate_spirv(artifact.bytes, "vulkan1.3") is None
        call = pack(artifact.interface[0], arrays, (1, 1, 1))
        return execute.on_vulkan(artifact.bytes, call, lavapipe).arrays

    check(ran, *case)


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_processor(case: Any, tiled: bool) -> None:
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    tiles = best() if tiled else Tiles.NONE
    if tiled and tiles is Tiles.NONE:
        pytest.skip("the AMX emulator needs a C compiler")

    def ran(text: str, arrays: list[Array]) -> Sequence[Array]:
        ctx, source = new_context(everything()), Source(text, "test")
        module = parse(ctx, source)
        program = module.clone()
        steps = flatten([CoopcAmxPass() if tiled else CoopcCpuPass()])
        Run(ctx, source).apply(program, steps)
        return run_native(module, program, arrays, tiles)

    check(ran, *case)


def test_physical_addresses() -> None:
    """They are cast, where buffers are addresses."""
    text = text_of("f16", "vector<4xi32>")
    pipeline, target = "coopc-lanes{device=lavapipe}", "spirv-binary{addresses=true}"
    binary = coopc.compile(text, pipeline, target).bytes
    assert toolchain.validate_spirv(binary, "vulkan1.3") is None


@pytest.mark.parametrize("pointee", ["i32", "vector<2xi64>"])
def test_work_group_memory(pointee: str) -> None:
    """Only OpenCL sees it as elements of another type."""
    memory = f"memref<20x20x{pointee}, #simt.memory<workgroup>>"
    matrix = "!coopmatrix.matrix<8x8xi8, a>"
    text = f"""
func.func @k(%r: memref<8x8xi8>) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %a = memref.alloca() : {memory}
  %x = coopmatrix.load %a[%0, %0] row_major : {memory} -> {matrix}
  coopmatrix.store %x, %r[%0, %0] row_major : {matrix}, memref<8x8xi8>
  func.return
}}"""
    binary = coopc.compile(text, "coopc-lanes{device=intel-cpu}").bytes
    assert toolchain.validate_spirv(binary, "spv1.4") is None
    with pytest.raises(CompileError, match="expected memory of i8"):
        coopc.compile(text, "coopc-lanes{device=lavapipe}")
