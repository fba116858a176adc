"""Row slices of KHR matrices: through work-group memory, whatever its layout."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.programs import module_of

import coopc
from coopc.compiler import Artifact
from coopc.device import BMG, DG2, INTEL_CPU, LAVAPIPE, NVIDIA, PVC, Device
from coopc.interface_call import pack
from coopc.run import toolchain
from coopc.run.execute import on_opencl, on_vulkan
from coopc.run.offline_compiler import compile_kernel
from coopc.sim.simulate import simulate

Array = npt.NDArray[Any]

LENGTH = 11
"""Elements of a slice."""
MASK = (1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1)

TEXT = """
func.func @k(%a: memref<?x?x{t}>, %r: memref<?x?x{t}>, %s: memref<?x?x{t}>,
             %from: index, %to: index) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %mask = arith.constant dense<[{mask}]> : vector<{n}xi1>
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x?x{t}> -> {M}
  %v = coopmatrix.extract_row_slice %x[%from] : {M} -> vector<{n}x{t}>
  %w = {add} %v, %v : vector<{n}x{t}>
  %y = coopmatrix.insert_row_slice %w, %x[%to] : vector<{n}x{t}>, {M}
  %z = coopmatrix.insert_row_slice %v, %y[%from] mask %mask : vector<{n}xi1>
    : vector<{n}x{t}>, {M}
  coopmatrix.store %z, %r[%0, %0] row_major : {M}, memref<?x?x{t}>
  coopmatrix.store %x, %s[%0, %0] row_major : {M}, memref<?x?x{t}>
  func.return
}}
"""


def text_of(rows: int, cols: int, element: str, use: str = "acc") -> str:
    return TEXT.format(
        t=element,
        n=LENGTH,
        M=f"!coopmatrix.matrix<{rows}x{cols}x{element}, {use}>",
        mask=", ".join(map(str, MASK)),
        add="arith.addi" if element[0] == "i" else "arith.addf",
    )


def expected(x: Array, start: int, to: int) -> Array:
    """The matrix with what the kernel inserts."""
    flat, count = x.reshape(-1), x.size
    found = flat.copy()
    inside = [0 <= start + at < count for at in range(LENGTH)]
    slice = [flat[start + at] if inside[at] else 0 for at in range(LENGTH)]
    for at, value in enumerate(slice):
        if 0 <= to + at < count:
            found[to + at] = 2 * value
    for at, value in enumerate(slice):
        if inside[at] and MASK[at]:
            found[start + at] = value
    return found.reshape(x.shape)


def compiled(text: str, device: Device) -> Artifact:
    """A module through the pipeline, which spirv-val takes."""
    artifact = coopc.compile(text, f"coopc-khr{{device={device.name}}}")
    environment = "vulkan1.3" if device.family == "vulkan" else "spv1.4"
    assert toolchain.validate_spirv(artifact.bytes, environment) is None
    return artifact


PLACES = [(0, 5), (3, 40), (13, 8), (57, 2), (2, 60), (-4, 20), (30, -7), (900, 1)]
"""Where slices begin: in rows, beyond the end, in front of the beginning."""
CASES = [
    (LAVAPIPE, 8, 8, "f32", "acc"),
    (LAVAPIPE, 8, 8, "f16", "a"),
    (LAVAPIPE, 12, 12, "i32", "none"),
    (LAVAPIPE, 3, 24, "f64", "acc"),
    (INTEL_CPU, 8, 16, "f32", "acc"),
    (INTEL_CPU, 8, 32, "i8", "a"),
    (INTEL_CPU, 12, 12, "i32", "none"),
    (INTEL_CPU, 3, 24, "f64", "acc"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda x: f"{x[0].name}-{x[1:]}")
def test_slices(
    case: tuple[Device, int, int, str, str], request: pytest.FixtureRequest
) -> None:
    device, rows, cols, element, _ = case
    text = text_of(*case[1:])
    fixture = "lavapipe" if device is LAVAPIPE else "intel_amx"
    session = request.getfixturevalue(fixture)
    artifact = compiled(text, device)
    x = (1 + np.arange(rows * cols) % 61).reshape(rows, cols)
    x = x.astype(f"{element[0]}{int(element[1:]) // 8}")
    for start, to in PLACES:
        arrays = [x, np.zeros_like(x), np.zeros_like(x), start, to]
        wanted = expected(x, start, to)
        simulated = [np.array(y) if isinstance(y, np.ndarray) else y for y in arrays]
        simulate(module_of(text), "k", simulated, subgroup_size=8, grid=(1, 1, 1))
        np.testing.assert_array_equal(simulated[1], wanted)
        call = pack(artifact.interface[0], arrays, (1, 1, 1))
        on: Any = on_vulkan if device is LAVAPIPE else on_opencl
        found = on(artifact.bytes, call, session).arrays
        np.testing.assert_array_equal(found[1], wanted)
        np.testing.assert_array_equal(found[2], x)


def test_valid_for_nvidia() -> None:
    for element, use in (("f32", "acc"), ("f16", "b"), ("bf16", "a")):
        compiled(text_of(16, 16, element, use), NVIDIA)


@pytest.mark.parametrize("device", [BMG, DG2, PVC], ids=lambda d: d.name)
def test_compiles(device: Device, tool: Callable[[str], Path]) -> None:
    """Neither calls nor spills."""
    tool("ocloc")
    for rows, cols, element in ((8, device.subgroup_size, "f32"), (8, 16, "i8")):
        binary = compiled(text_of(rows, cols, element), device).bytes
        (kernel,) = compile_kernel(binary, device.name).kernels.values()
        assert kernel.whole.calls == kernel.resources.spill == 0, element
