"""Instructions of SPV_KHR_cooperative_matrix on lavapipe, and where each one is shown.

`SHOWN` lists what is to be shown on lavapipe against numpy, and the tests that do.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session

Array = npt.NDArray[Any]
HERE = Path(__file__).parent

SHOWN = {
    "GEMM with ragged M, N and K through checked access": "products: test_ragged_gemm",
    "linalg.matmul: static, dynamic, transposed, batched": "matmul: test_on_lavapipe",
    "element loop": "elements: test_arithmetic",
    "negate, add, sub, mul, div": "elements: test_arithmetic",
    "remainder of floats": "instructions: test_remainder",
    "FConvert": "instructions: test_conversions",
    "scale": "elements: test_scale_and_fill_by_numbers_known_at_run_time",
    "min and max": "elements: test_arithmetic",
    "reductions": "whole: test_reductions",
    "apply": "whole: test_apply",
    "conversion of the use": "whole: test_conversion_of_the_use",
    "one module, two specialisations": "products: test_one_module_two_specialisations",
    "specialised sizes": "specialised: test_sizes",
    "specialised layouts": "specialised: test_layouts",
    "column-major store": "instructions: test_column_major_store",
    "staging by several subgroups": "instructions: test_work_group_staging",
    "a vec4 pointee, its stride in pointees": "memory: test_vectors_in_memory",
    "stride 0": "memory: test_stride_0_is_one_row_for_all",
    "fill by a run-time scalar": (
        "elements: test_scale_and_fill_by_numbers_known_at_run_time"
    ),
    "insert in a divergent branch": "elements: test_insertion_in_a_divergent_branch",
    "saturating integers": "products: test_products_that_the_device_lacks",
    "mixed signs": "products: test_products_that_the_device_lacks",
    "physical storage buffers": "addresses: test_matmul",
    "coordinates of elements": "coord: test_coordinates",
}
"""What is shown: `module: test`, the module without `test_khr_`."""


def on_drivers(module: str) -> Iterator[str]:
    """The names of the tests of a module that run on a driver."""
    tree = ast.parse((HERE / f"test_{module}.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            given = {argument.arg for argument in node.args.args}
            if given & {"lavapipe", "on_lavapipe", "intel_amx"}:
                yield node.name


@pytest.mark.parametrize("what", SHOWN)
def test_is_shown(what: str) -> None:
    """The test is there, and runs on a driver."""
    module, test = SHOWN[what].split(": ")
    assert test in on_drivers(module)


def run(session: Session, text: str, arrays: list[Array]) -> tuple[Array, ...]:
    """Compile and run a kernel of one work-group."""
    artifact = coopc.compile(text, "coopc-khr{device=lavapipe}")
    call = pack(artifact.interface[0], arrays, (1, 1, 1))
    return on_vulkan(artifact.bytes, call, session).arrays


CONVERSIONS: dict[str, tuple[str, str, str, str, Callable[[Array], Array]]] = {
    # use, type before and after, and the words between
    "FConvert to f16": ("acc", "f32", "f16", "", lambda x: x.astype("f2")),
    "FConvert to f32": ("acc", "f16", "f32", "", lambda x: x.astype("f4")),
    "ConvertFToS": ("acc", "f32", "i32", " signed", lambda x: x.astype("i4")),
    "ConvertSToF": ("acc", "i32", "f32", " signed", lambda x: x.astype("f4")),
    "ConvertUToF": (
        "acc",
        "i32",
        "f32",
        "",
        lambda x: x.view("u4").astype("f4"),
    ),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions(name: str, lavapipe: Session) -> None:
    """One instruction for the whole matrix."""
    use, before, after, signed, function = CONVERSIONS[name]
    dtypes = {"f16": "f2", "f32": "f4", "i32": "i4"}
    source, target = (f"!coopmatrix.matrix<8x8x{t}, {use}>" for t in (before, after))
    text = f"""
func.func @k(%a: memref<8x8x{before}>, %r: memref<8x8x{after}>)
    attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<8x8x{before}> -> {source}
  %y = coopmatrix.convert{signed} %x : {source} -> {target}
  coopmatrix.store %y, %r[%0, %0] row_major : {target}, memref<8x8x{after}>
  func.return
}}
"""
    opcode = "Op" + name.removesuffix(" to f16").removesuffix(" to f32")
    spirv = coopc.compile(text, "coopc-khr{device=lavapipe}", "spirv").text
    opcode = opcode if opcode.startswith("OpConvert") else "OpFConvert"
    assert spirv.count(f"{opcode} ") == 1
    step = 0.37 if before == "f32" and after == "f16" else 1
    a = (np.arange(-30, 34).reshape(8, 8) * step).astype(dtypes[before])
    found = run(lavapipe, text, [a, np.zeros((8, 8), dtypes[after])])[1]
    np.testing.assert_array_equal(found, function(a))


@pytest.mark.parametrize("type", ["f16", "f32", "i32"])
def test_column_major_store(type: str, lavapipe: Session) -> None:
    """Of a row-major load: the transpose, at a place within a larger memref."""
    matrix, memory = f"!coopmatrix.matrix<8x8x{type}, acc>", f"memref<?x?x{type}>"
    text = f"""
func.func @k(%a: {memory}, %r: {memory}) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %3 = arith.constant 3 : index
  %x = coopmatrix.load %a[%0, %0] row_major : {memory} -> {matrix}
  coopmatrix.store %x, %r[%0, %3] col_major : {matrix}, {memory}
  func.return
}}
"""
    dtype = {"f16": "f2", "f32": "f4", "i32": "i4"}[type]
    a = np.arange(64).reshape(8, 8).astype(dtype)
    expected = np.zeros((9, 13), dtype)
    expected[:8, 3:11] = a.T
    found = run(lavapipe, text, [a, np.zeros_like(expected)])[1]
    np.testing.assert_array_equal(found, expected)


def test_work_group_staging(lavapipe: Session) -> None:
    """Four subgroups bring A to work-group memory, wait, and multiply by their B."""
    half, local = "memref<?x?xf16>", "memref<8x32xf16, #simt.memory<workgroup>>"
    a_type, b_type = (f"!coopmatrix.matrix<8x8xf16, {use}>" for use in "ab")
    c_type, out = "!coopmatrix.matrix<8x8xf32, acc>", "memref<?x?xf32>"
    text = f"""
func.func @k(%a: {half}, %b: {half}, %c: {out}) attributes {{simt.kernel,
    simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 32>}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %s = memref.alloca() : {local}
  %item = simt.local_id x : index
  scf.for %i = %0 to %8 step %1 {{
    %e = memref.load %a[%i, %item] : {half}
    memref.store %e, %s[%i, %item] : {local}
  }}
  simt.barrier workgroup
  %subgroup = simt.subgroup_id : index
  %col = arith.muli %subgroup, %8 : index
  %init = coopmatrix.fill %zero : f32 -> {c_type}
  %sum = scf.for %k = %0 to %32 step %8 iter_args(%acc = %init) -> ({c_type}) {{
    %x = coopmatrix.load %s[%0, %k] row_major : {local} -> {a_type}
    %y = coopmatrix.load %b[%k, %col] row_major : {half} -> {b_type}
    %next = coopmatrix.mul_add %x, %y, %acc : {a_type}, {b_type}, {c_type}
    scf.yield %next : {c_type}
  }}
  coopmatrix.store %sum, %c[%0, %col] row_major : {c_type}, {out}
  func.return
}}
"""
    generator = np.random.default_rng(0)
    a = generator.integers(-9, 10, (8, 32)).astype(np.float16)
    b = generator.integers(-9, 10, (32, 32)).astype(np.float16)
    found = run(lavapipe, text, [a, b, np.zeros((8, 32), np.float32)])[2]
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


SPECIAL = (0.0, -0.0, 1.0, -5.5, 3.0, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("type", ["f16", "f32"])
def test_remainder(type: str, lavapipe: Session) -> None:
    """Exactly what fmod is: of special numbers, and of numbers far apart."""
    matrix, memory = f"!coopmatrix.matrix<8x8x{type}, acc>", f"memref<8x8x{type}>"
    text = f"""
func.func @k(%a: {memory}, %b: {memory}, %r: {memory}) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : {memory} -> {matrix}
  %y = coopmatrix.load %b[%0, %0] row_major : {memory} -> {matrix}
  %z = coopmatrix.rem %x, %y : {matrix}
  coopmatrix.store %z, %r[%0, %0] row_major : {matrix}, {memory}
  func.return
}}
"""
    dtype = {"f16": np.float16, "f32": np.float32}[type]
    special = np.array(SPECIAL, dtype)
    apart = {np.float16: (-10, 14), np.float32: (-30, 30)}[dtype]
    generator = np.random.default_rng(0)
    x, y = (
        (generator.uniform(-1, 1, (8, 8)) * 2.0 ** generator.integers(*apart, (8, 8)))
        for _ in range(2)
    )
    with np.errstate(invalid="ignore"):
        for a, b in (
            (np.repeat(special[:, None], 8, 1), np.repeat(special[None], 8, 0)),
            (x.astype(dtype), y.astype(dtype)),
        ):
            found = run(lavapipe, text, [a, b, np.zeros_like(a)])[2]
            expected = np.fmod(a, b)
            np.testing.assert_array_equal(found, expected)
            known = ~np.isnan(expected)
            signs = np.signbit(found)[known]
            np.testing.assert_array_equal(signs, np.signbit(expected)[known])
