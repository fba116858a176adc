"""What goes through work-group memory on Intel's devices: compiled, or run on AMX."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.device import BMG, DEVICES, DG2, Device, Use, signless
from coopc.interface_call import pack
from coopc.run import toolchain
from coopc.run.execute import on_opencl
from coopc.run.offline_compiler import compile_kernel
from coopc.run.opencl import Session


def compiled(text: str, device: Device) -> bytes:
    """A module through the pipeline, which spirv-val takes."""
    binary = coopc.compile(text, f"coopc-khr{{device={device.name}}}").bytes
    assert toolchain.validate_spirv(binary, "spv1.4") is None
    return binary


STAGED = {
    "checked load": """
  %y = coopmatrix.load %m[%i, %j] {l} checked(rows, cols) : {memory} -> {matrix}""",
    "checked store": """
  coopmatrix.store %x, %m[%i, %j] {l} checked(rows, cols) : {matrix}, {memory}
  %y = coopmatrix.load %m[%i, %j] {l} : {memory} -> {matrix}""",
    "reduce": """
  %r = coopmatrix.reduce add rows %x : {matrix} -> {column}
  coopmatrix.store %r, %m[%i, %j] row_major checked(rows) : {column}, {memory}
  %y = coopmatrix.load %m[%i, %j] {l} : {memory} -> {matrix}""",
    "apply": """
  %y = coopmatrix.apply (%p, %q, %v) in %x : {matrix} {{
    %below = arith.cmpi ult, %p, %q : index
    %w = arith.select %below, %v, %n : {t}
    coopmatrix.yield %w : {t}
  }}""",
    "fill": """
  %y = coopmatrix.fill %n : {t} -> {matrix}""",
    "strided": """
  %s = memref.reinterpret_cast %m to offset: [0], sizes: [64, 64], strides: [256, 2]
    : {memory} to memref<64x64x{t}, strided<[256, 2]>>
  %y = coopmatrix.load %s[%i, %j] {l}
    : memref<64x64x{t}, strided<[256, 2]>> -> {matrix}""",
    "atomic": """
  coopmatrix.atomic_store %x, %m[%i, %j] row_major relaxed : {matrix}, {memory}
  %y = coopmatrix.atomic_load %m[%i, %j] row_major relaxed : {memory} -> {matrix}""",
    "coord": """
  %p, %q = coopmatrix.coord %x[%i] : {matrix}
  %e = arith.cmpi eq, %p, %q : index
  %f = coopmatrix.extract %x[%i] : {matrix}
  %g = arith.select %e, %f, %n : {t}
  %y = coopmatrix.insert %g, %x[%i] : {matrix}""",
    "max": """
  %y = coopmatrix.max %x, %x : {matrix}""",
}
"""What goes through work-group memory, on a matrix %x."""


def staged(name: str, device: Device, use: Use, element: str) -> str:
    """One such operation on the largest matrix of a use and an element type."""
    t = signless(element)
    rows, cols = max(device.held(use, t))
    layout = device.layouts(use, t, rows, cols)[0]
    body = STAGED[name].format(
        t=t,
        l=layout,
        memory=f"memref<?x?x{t}>",
        matrix=f"!coopmatrix.matrix<{rows}x{cols}x{t}, {use}>",
        column=f"!coopmatrix.matrix<{rows}x1x{t}, {use}>",
    )
    return f"""
func.func @k(%m: memref<?x?x{t}>, %n: {t}, %i: index, %j: index)
    attributes {{simt.kernel}} {{
  %x = coopmatrix.load %m[%i, %j] {layout}
    : memref<?x?x{t}> -> !coopmatrix.matrix<{rows}x{cols}x{t}, {use}>{body}
  coopmatrix.store %y, %m[%j, %i] {layout}
    : !coopmatrix.matrix<{rows}x{cols}x{t}, {use}>, memref<?x?x{t}>
  func.return
}}
"""


def staged_cases(device: Device) -> Iterator[tuple[str, Use, str]]:
    operands: list[tuple[Use, str]] = [
        ("a", "f16"),
        ("b", "f16"),
        ("b", "s8"),
        ("acc", "f32"),
        ("acc", "s32"),
    ]
    for name in STAGED:
        if name == "atomic":  # of 32 bits
            yield name, "acc", "f32"
            continue
        for use, element in operands:
            yield name, use, element


@pytest.mark.parametrize("name", STAGED)
@pytest.mark.parametrize("device", [BMG, DG2], ids=lambda d: d.name)
def test_what_is_staged_compiles(
    name: str, device: Device, tool: Callable[[str], Path]
):
    """Through work-group memory, in the layouts that the compiler has there."""
    tool("ocloc")
    for case, use, element in staged_cases(device):
        if case != name:
            continue
        binary = compiled(staged(name, device, use, element), device)
        (each,) = compile_kernel(binary, device.name).kernels.values()
        assert each.whole.calls == 0, (name, use, element)


# --- every matrix --------------------------------------------------------------

THROUGH = """
func.func @k{number}(%m: memref<?x?x{t}>, %r: memref<?x?x{t}>)
    attributes {{simt.kernel, simt.subgroup_size = {lanes} : i32,
    simt.work_group_size = array<i32: {lanes}>}} {{
  %0 = arith.constant 0 : index
  %l = simt.lane_id : index
  %s = memref.alloca() : {local}
  %v = memref.load %r[%0, %l] : memref<?x?x{t}>
  memref.store %v, %s[%0, %l] : {local}
  simt.barrier workgroup
  %x = coopmatrix.load %s[%0, %0] {layout} : {local} -> {matrix}
  simt.barrier workgroup
  coopmatrix.store %x, %s[%0, %0] {layout} : {matrix}, {local}
  simt.barrier workgroup
  %w = memref.load %s[%0, %l] : {local}
  memref.store %w, %r[%0, %l] : memref<?x?x{t}>
  func.return
}}
"""


def through_local(device: Device) -> Iterator[str]:
    """A kernel for each matrix and layout of a device, by way of work-group memory."""
    held: dict[tuple[Use, str, int, int], None] = {
        (use, signless(element), rows, cols): None
        for shape in device.matrix_shapes
        for use, element, rows, cols in shape.operands
    }
    number = 0
    for use, t, rows, cols in held:
        for layout in device.layouts(use, t, rows, cols):
            shape = (cols, rows) if layout == "col_major" else (rows, cols)
            if layout == "packed":
                channel = 4 if t == "i8" else 2
                shape = rows // channel, cols * channel
            yield THROUGH.format(
                number=number,
                t=t,
                lanes=device.subgroup_size,
                layout=layout,
                local=f"memref<{shape[0]}x{shape[1]}x{t}, #simt.memory<workgroup>>",
                matrix=f"!coopmatrix.matrix<{rows}x{cols}x{t}, {use}>",
            )
            number += 1


@pytest.mark.parametrize("device", [BMG, DG2], ids=lambda d: d.name)
def test_every_matrix_compiles(device: Device, tool: Callable[[str], Path]):
    """All sizes, types and layouts load from and store to work-group memory."""
    tool("ocloc")
    texts = list(through_local(device))
    kernels = compile_kernel(compiled("\n".join(texts), device), device.name).kernels
    assert len(kernels) == len(texts)
    for name, each in kernels.items():
        assert each.whole.calls == 0, name


# --- run -----------------------------------------------------------------------

RUN: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("%z = coopmatrix.add %x, %y : {m}", lambda x, y: x + y),
    "sub itself": ("%z = coopmatrix.sub %x, %x : {m}", lambda x, y: x - x),
    "max": ("%z = coopmatrix.max %x, %y : {m}", np.maximum),
    "rem": (
        """%f = coopmatrix.fill %n : f32 -> {m}
  %z = coopmatrix.rem %x, %f : {m}""",
        lambda x, y: np.fmod(x, np.float32(3)),
    ),
    "neg": ("%z = coopmatrix.neg %x : {m}", lambda x, y: -x),
    "scale": ("%z = coopmatrix.scale %x, %n : {m}, f32", lambda x, y: 3 * x),
    "fill": ("%z = coopmatrix.fill %n : f32 -> {m}", lambda x, y: 0 * x + 3),
    "chain": (
        """%p = coopmatrix.mul %x, %y : {m}
  %q = coopmatrix.sub %p, %x : {m}
  %z = coopmatrix.min %q, %y : {m}""",
        lambda x, y: np.minimum(x * y - x, y),
    ),
    "checked": (
        "%z = coopmatrix.load %a[%m3, %5] row_major checked(rows, cols) "
        ": memref<?x?xf32> -> {m}",
        lambda x, y: np.pad(x, ((3, 0), (0, 5)))[: len(x), 5:],
    ),
    "apply": (
        """%z = coopmatrix.apply (%i, %j, %v) in %x : {m} {{
    %below = arith.cmpi ugt, %i, %j : index
    %w = arith.select %below, %v, %n : f32
    coopmatrix.yield %w : f32
  }}""",
        lambda x, y: np.tril(x, -1) + np.triu(0 * x + 3),
    ),
    "use": (
        """%p = coopmatrix.convert %x : {m} -> !coopmatrix.matrix<{r}x16xf32, none>
  %z = coopmatrix.convert %p : !coopmatrix.matrix<{r}x16xf32, none> -> {m}""",
        lambda x, y: x,
    ),
    "reduce": (
        """%c = coopmatrix.reduce max rows %x
    : {m} -> !coopmatrix.matrix<{r}x1xf32, acc>
  coopmatrix.store %y, %s[%0, %0] row_major : {m}, memref<?x?xf32>
  coopmatrix.store %c, %s[%0, %5] row_major
    : !coopmatrix.matrix<{r}x1xf32, acc>, memref<?x?xf32>
  %z = coopmatrix.load %s[%0, %0] row_major : memref<?x?xf32> -> {m}""",
        lambda x, y: y + (np.arange(16) == 5) * (x.max(1, keepdims=True) - y),
    ),
}


@pytest.mark.parametrize("rows", [16, 7])
@pytest.mark.parametrize("name", RUN)
def test_what_is_staged_runs(name: str, rows: int, intel_amx: Session):
    """On Intel's run-time for CPUs, whose matrices have no elements to get at."""
    matrix = f"!coopmatrix.matrix<{rows}x16xf32, acc>"
    body, function = RUN[name]
    text = f"""
func.func @k(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %r: memref<?x?xf32>,
             %s: memref<?x?xf32>, %n: f32) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %5 = arith.constant 5 : index
  %m3 = arith.constant -3 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x?xf32> -> {matrix}
  %y = coopmatrix.load %b[%0, %0] row_major : memref<?x?xf32> -> {matrix}
  {body.format(m=matrix, r=rows)}
  coopmatrix.store %z, %r[%0, %0] row_major checked(rows) : {matrix}, memref<?x?xf32>
  func.return
}}
"""
    generator = np.random.default_rng(0)
    x, y = generator.integers(-9, 10, (2, rows, 16)).astype(np.float32)
    artifact = coopc.compile(text, "coopc-khr{device=intel-cpu}")
    arrays = [x, y, np.zeros((rows - 1, 16), np.float32), np.zeros_like(x), 3.0]
    call = pack(artifact.interface[0], arrays, (1, 1, 1))
    found: npt.NDArray[Any] = on_opencl(artifact.bytes, call, intel_amx).arrays[2]
    np.testing.assert_array_equal(found, function(x, y)[: rows - 1])


def test_sizes_are_whole_shares_of_a_subgroup():
    """What `coord` relies on: no element is beyond the matrix where lanes have any."""
    for device in (x for x in DEVICES.values() if x.flavours):
        for shape in device.matrix_shapes:
            for use, _, rows, cols in shape.operands:
                assert max(rows, cols) < 128, (device.name, use)
                if device.element_access:
                    assert rows * cols % device.subgroup_size == 0, (device.name, use)


def test_ragged_b_is_not_packed() -> None:
    """Rows that do not fill channels: no matrix of the device divides them."""
    matrix = "!coopmatrix.matrix<5x3xf16, b>"
    text = f"""
func.func @k(%m: memref<?x?xf16>) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %m[%0, %0] row_major : memref<?x?xf16> -> {matrix}
  %y = coopmatrix.add %x, %x : {matrix}
  coopmatrix.store %y, %m[%0, %0] row_major : {matrix}, memref<?x?xf16>
  func.return
}}"""
    emitted = coopc.compile(text, "coopc-khr{device=intel-cpu}", "spirv").bytes
    assert b"OpTypeCooperativeMatrixKHR" not in emitted


def test_a_kernel_has_memory_for_its_own_subgroups() -> None:
    """Of 1 and 2 subgroups: 16x16 of f32 each, whatever else the module has."""
    kernel = """
func.func @{name}(%m: memref<16x17xf32>) attributes {{simt.kernel,
    simt.work_group_size = array<i32: {items}, 1, 1>, simt.subgroup_size = 32 : i32}} {{
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %m[%c0, %c0] row_major checked(rows)
    : memref<16x17xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.store %x, %m[%c0, %c0] row_major checked(rows)
    : !coopmatrix.matrix<16x16xf32, acc>, memref<16x17xf32>
  func.return
}}"""
    text = "".join(kernel.format(name=f"k{n}", items=32 * n) for n in (1, 2))
    artifact = coopc.compile(text, "coopc-khr{device=nvidia}", "abi-json")
    found = [x.work_group_memory_bytes for x in artifact.interface]
    assert found == [1024, 2048]
