"""Atomic accesses of whole matrices, among them a multiplication split along K.

Several work-groups add to the same elements of C.  Inputs are small integers, whose
sums are exact in any order.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.native import run_native
from support.programs import module_of

import coopc
from coopc.compiler import Artifact
from coopc.device import BMG, DEVICES, DG2, INTEL_CPU, LAVAPIPE, PVC, Device
from coopc.interface_call import pack
from coopc.run import toolchain, vulkan
from coopc.run.execute import on_opencl, on_vulkan
from coopc.run.offline_compiler import compile_kernel
from coopc.run.tiles import Tiles, cpu_flags
from coopc.sim.numerics import to_bf16
from coopc.sim.simulate import simulate

Array = npt.NDArray[Any]

EXACT = 2048
"""Integers up to here are f16; each sum in any order is below."""
SPLITS = 3
"""Work-groups that compute parts of the same elements."""

SPLIT_K = """
func.func @k(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?x{t}>)
    attributes {{simt.kernel, simt.subgroup_size = {lanes} : i32,
    simt.work_group_size = array<i32: {lanes}>}} {{
  %m = arith.constant {m} : index
  %n = arith.constant {n} : index
  %k = arith.constant {k} : index
  %part = arith.constant {part} : index
  %zero = arith.constant 0.0 : f32
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %z = simt.workgroup_id z : index
  %row = arith.muli %y, %m : index
  %col = arith.muli %x, %n : index
  %from = arith.muli %z, %part : index
  %to = arith.addi %from, %part : index
  %none = coopmatrix.fill %zero : f32 -> {C}
  %sum = scf.for %at = %from to %to step %k iter_args(%s = %none) -> ({C}) {{
    %p = coopmatrix.load %a[%row, %at] row_major checked(rows, cols)
      : memref<?x?xf16> -> {A}
    %q = coopmatrix.load %b[%at, %col] row_major checked(rows, cols)
      : memref<?x?xf16> -> {B}
    %d = coopmatrix.mul_add %p, %q, %s : {A}, {B}, {C}
    scf.yield %d : {C}
  }}
  {convert}
  %old = coopmatrix.atomic_add %r, %c[%row, %col] row_major checked(rows, cols)
    relaxed : {R}, memref<?x?x{t}> -> {R}
  func.return
}}
"""


def split_k(device: Device, element: str, tile: tuple[int, int, int]) -> str:
    """A kernel in which `SPLITS` work-groups add to each tile of C."""
    m, n, k = tile
    c, r = (f"!coopmatrix.matrix<{m}x{n}x{x}, acc>" for x in ("f32", element))
    convert = f"%r = coopmatrix.convert %sum : {c} -> {r}"
    return SPLIT_K.format(
        t=element,
        m=m,
        n=n,
        k=k,
        part=2 * k,
        lanes=device.subgroup_size,
        A=f"!coopmatrix.matrix<{m}x{k}xf16, a>",
        B=f"!coopmatrix.matrix<{k}x{n}xf16, b>",
        C=c,
        R=r,
        convert=convert,
    )


def numbers(rows: int, cols: int, dtype: Any) -> Array:
    """Numbers from -3 to 3."""
    return ((np.arange(rows * cols).reshape(rows, cols) * 5) % 7 - 3).astype(dtype)


def operands(tile: tuple[int, int, int], dtype: Any) -> tuple[list[Array], Any]:
    """A, B and C, none a multiple of tiles, and the grid."""
    m, n, k = tile
    rows, cols, depth = 2 * m - 3, 3 * n - 1, 2 * k * SPLITS - 5
    arrays = [numbers(rows, depth, np.float16), numbers(depth, cols, np.float16)]
    a, b = (np.abs(x).astype(np.float32) for x in arrays)
    assert (a @ b).max() + 3 < EXACT
    return [*arrays, numbers(rows, cols, dtype)], (3, 2, SPLITS)


def run(artifact: Artifact, arrays: list[Array], grid: Any, session: Any) -> list[Any]:
    """Run a kernel that takes any arguments on one of the run-times; its arrays."""
    interface = next(x for x in artifact.interface if not x.conditions)
    call = pack(interface, arrays, grid)
    if isinstance(session, vulkan.Session):
        return list(on_vulkan(artifact.bytes, call, session).arrays)
    return list(on_opencl(artifact.bytes, call, session).arrays)


def compiled(text: str, pipeline: str, device: Device) -> Artifact:
    """A module through a pipeline, which spirv-val takes."""
    artifact = coopc.compile(text, pipeline)
    environment = "vulkan1.3" if device.family == "vulkan" else "spv1.4"
    assert toolchain.validate_spirv(artifact.bytes, environment) is None
    return artifact


ON_DPAS = ("f16", "f32", "i8", "i16", "i32")
"""Elements of operands of DPAS."""
EMULATED = "coopc-xe{device=bmg emulate=true fallback=true}"
PLACES = {
    "khr-lavapipe": ("coopc-khr{device=lavapipe}", LAVAPIPE, "lavapipe"),
    "khr-amx": ("coopc-khr{device=intel-cpu}", INTEL_CPU, "intel_amx"),
    "lanes-lavapipe": ("coopc-lanes{device=lavapipe}", LAVAPIPE, "lavapipe"),
    "lanes-intel": ("coopc-lanes{device=intel-cpu}", INTEL_CPU, "intel_cpu"),
    "xe-emulated": (EMULATED, BMG, "intel_cpu"),
}


def session_of(where: str, element: str, request: pytest.FixtureRequest) -> Any:
    """The session of a place.

    To have tiles Intel's run-time is told that the processor is one with AVX512-FP16,
    in whose instructions it computes f16: those are not emulated, only tiles are.
    """
    fixture = PLACES[where][-1]
    if (element, fixture) == ("f16", "intel_amx") and (
        "avx512_fp16" not in cpu_flags()
    ):
        pytest.skip("the processor has no AVX512-FP16")
    return request.getfixturevalue(fixture)


def everywhere(*elements: str) -> list[tuple[str, str]]:
    """Each place with each type of elements that it has."""
    return [
        (where, element)
        for where in PLACES
        for element in elements
        if where != "xe-emulated" or element in ON_DPAS
    ]


TILES = {"lavapipe": (8, 8, 8), "intel-cpu": (16, 16, 32), "bmg": (8, 16, 16)}


@pytest.mark.parametrize(("where", "element"), everywhere("f32", "f64", "f16"))
def test_split_along_k(
    where: str, element: str, request: pytest.FixtureRequest
) -> None:
    pipeline, device, _ = PLACES[where]
    session = session_of(where, element, request)
    tile = TILES[device.name]
    text = split_k(device, element, tile)
    arrays, grid = operands(tile, f"f{int(element[1:]) // 8}")
    a, b, c = arrays
    product = a.astype(np.float64) @ b.astype(np.float64)
    expected = (product + c).astype(c.dtype)
    found = run(compiled(text, pipeline, device), arrays, grid, session)[2]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("element", ["f32", "f64", "f16", "bf16"])
def test_split_along_k_on_this_processor(element: str) -> None:
    """Two threads add to the same elements."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    tile = TILES["lavapipe"]
    text = split_k(LAVAPIPE, element, tile)
    dtype = np.float32 if element == "bf16" else f"f{int(element[1:]) // 8}"
    (a, b, c), grid = operands(tile, dtype)
    expected = (a.astype(np.float32) @ b.astype(np.float32) + c).astype(dtype)
    assert (np.abs(a) @ np.abs(b)).max() + 3 < 256  # integers up to here are bf16
    narrow = to_bf16 if element == "bf16" else np.asarray
    made = module_of(coopc.compile(text, "coopc-cpu", "mlir").text)
    arrays = [a, b, narrow(c)]
    module = module_of(text)
    found = run_native(module, made, arrays, Tiles.NONE, groups=grid, threads=2)[2]
    np.testing.assert_array_equal(found, narrow(expected))


def test_simulated_split_along_k() -> None:
    """Before the pipeline and after it."""
    tile = TILES["lavapipe"]
    text = split_k(LAVAPIPE, "f32", tile)
    for pipeline in ("", "coopc-khr{device=lavapipe}", "coopc-lanes{device=lavapipe}"):
        arrays, grid = operands(tile, np.float32)
        a, b, c = arrays
        expected = a.astype(np.float32) @ b.astype(np.float32) + c
        module = module_of(coopc.compile(text, pipeline, "mlir").text)
        simulate(module, "k", arrays, grid=grid)
        np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("device", [BMG, DG2, PVC], ids=lambda d: d.name)
@pytest.mark.parametrize("flow", ["coopc-khr", "coopc-lanes", "coopc-xe"])
def test_split_along_k_compiles(
    flow: str, device: Device, tool: Callable[[str], Path]
) -> None:
    """One message for each element that a lane adds; neither calls nor spills."""
    tool("ocloc")
    n = device.subgroup_size
    pipeline = f"{flow}{{device={device.name}}}"
    text = split_k(device, "f32", (8, n, 16))
    binary = compiled(text, pipeline, device).bytes
    for kernel in compile_kernel(binary, device.name).kernels.values():
        assert kernel.whole.calls == kernel.resources.spill == 0
        (adds,) = (x for x in kernel.whole.kinds if "atomic_fadd" in x)
        in_loop = flow == "coopc-khr"  # which the compiler may have unrolled
        assert kernel.whole.kinds[adds] == 8 or in_loop, kernel.whole.kinds


# --- every operation on every type ------------------------------------------------

EACH = """
func.func @k(%a: memref<?x?x{t}>, %add: memref<?x?x{t}>, %max: memref<?x?x{t}>,
             %min: memref<?x?x{t}>, %r: memref<?x?x{t}>, %s: memref<?x?x{t}>)
    attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %2 = arith.constant 2 : index
  %m3 = arith.constant -3 : index
  %x = coopmatrix.atomic_load %a[%0, %0] row_major acquire : {memory} -> {M}
  %old = coopmatrix.atomic_add %x, %add[%0, %0] row_major checked(rows) relaxed
    : {M}, {memory} -> {M}
  %b = coopmatrix.atomic_max {signed} %x, %max[%m3, %2] row_major
    checked(rows, cols) relaxed : {M}, {memory} -> {M}
  %c = coopmatrix.atomic_min {signed} %x, %min[%0, %0] col_major relaxed
    : {M}, {memory} -> {M}
  coopmatrix.atomic_store %old, %r[%0, %0] col_major release : {M}, {memory}
  coopmatrix.store %b, %s[%0, %0] row_major : {M}, {memory}
  func.return
}}
"""


@pytest.mark.parametrize(
    ("where", "element"),
    everywhere("f16", "f32", "f64", "i8", "i16", "i32", "i64"),
)
def test_each_operation(
    where: str, element: str, request: pytest.FixtureRequest
) -> None:
    """Old values, and 0 of what a check leaves out."""
    pipeline, device, _ = PLACES[where]
    session = session_of(where, element, request)
    m, n, _ = TILES[device.name]
    signed = "signed" if element[0] == "i" else ""
    matrix, memory = f"!coopmatrix.matrix<{m}x{n}x{element}, acc>", "memref<?x?x{t}>"
    text = EACH.format(
        t=element, M=matrix, memory=memory.format(t=element), signed=signed
    )
    dtype = f"{element[0]}{int(element[1:]) // 8}"
    a, low, high, turned = (
        numbers(*shape, dtype) * factor
        for shape, factor in (
            ((m, n), 5),
            ((m - 2, n), 1),
            ((m, n - 1), 2),
            ((n, m), 3),
        )
    )
    arrays = [a, low, high, turned, np.zeros((n, m), dtype), np.ones((m, n), dtype)]
    added = low + a[: m - 2]
    greater, before = high.copy(), np.zeros((m, n), dtype)
    greater[: m - 3, 2:] = np.maximum(high[: m - 3, 2:], a[3:, : n - 3])
    before[3:, : n - 3] = high[: m - 3, 2:]
    old = np.pad(low, ((0, 2), (0, 0))).T
    found = run(compiled(text, pipeline, device), arrays, (1, 1, 1), session)
    expected = [a, added, greater, np.minimum(turned, a.T), old, before]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_lavapipe_has_what_its_data_say(lavapipe: vulkan.Session) -> None:
    """The features of the extensions, by their names."""
    names = {"access": "Atomics", "add": "AtomicAdd", "min_max": "AtomicMinMax"}
    listed = {
        f"f{bits} {access}"
        for bits in (32, 64)
        for access, name in names.items()
        if f"shaderBufferFloat{bits}{name}" in lavapipe.info.features
        and f"shaderSharedFloat{bits}{name}" in lavapipe.info.features
    }
    assert listed == LAVAPIPE.atomics


def test_devices_have_the_types_of_their_instructions() -> None:
    for device in DEVICES.values():
        types = {name.split()[0] for name in device.atomics} - {"f32"}
        assert types <= device.scalars, device.name
