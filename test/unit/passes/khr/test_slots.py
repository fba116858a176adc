"""Single elements of KHR matrices where the device has no access to them.

On Intel's run-time for processors that is all matrices; elsewhere those of types that
no multiplication has.
"""

from typing import Any

import numpy as np
import pytest
from support.programs import module_of
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp

import coopc
from coopc.device import INTEL_CPU, LAVAPIPE, Device
from coopc.dialects.coopmatrix import MatrixType, Use
from coopc.interface_call import pack
from coopc.ir.builder import Builder
from coopc.passes.coopmatrix.supported_tiles import HeldMatrices
from coopc.passes.khr.legalize_coopmatrix_khr.staged_matrices import (
    SharedMemory,
)
from coopc.run import toolchain
from coopc.run.execute import on_opencl, on_vulkan
from coopc.run.offline_compiler import compile_kernel
from coopc.sim.simulate import simulate

BEGIN = """
func.func @k(%a: memref<?x?x{t}>, %r: memref<?x?x{t}>, %s: memref<?x?x{t}>,
             %p: memref<?xi32>) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %lane = simt.lane_id : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x?x{t}> -> {M}
  %n = coopmatrix.length {M} : index
  %rows, %cols = coopmatrix.coord %x[%n] : {M}
  %c = arith.index_cast %rows : index to i32
  memref.store %c, %p[%lane] : memref<?xi32>
"""
END = """\
  %z = coopmatrix.apply (%i, %j, %v) in %y : {M} {{
    %w = {add} %v, %v : {t}
    coopmatrix.yield %w : {t}
  }}
  coopmatrix.store %y, %r[%0, %0] row_major : {M}, memref<?x?x{t}>
  coopmatrix.store %z, %s[%0, %0] row_major : {M}, memref<?x?x{t}>
  func.return
}}
"""

LOOP = """\
  %y = scf.for %i = %0 to %n step %1 iter_args(%m = %x) -> ({M}) {{
    %row, %col = coopmatrix.coord %m[%i] : {M}
    %e = coopmatrix.extract %x[%i] : {M}
    %above = arith.cmpi ult, %row, %col : index
    %f = {add} %e, %e : {t}
    %g = arith.select %above, %e, %f : {t}
    %h = coopmatrix.insert %g, %m[%i] : {M}
    scf.yield %h : {M}
  }}
"""
TEXT = BEGIN + LOOP + END

ONE = """\
  %e = coopmatrix.extract %x[%0] : {M}
  %f = {add} %e, %e : {t}
  %y = coopmatrix.insert %f, %x[%0] : {M}
"""
STEP = BEGIN + ONE + END
"""Without a loop that carries the matrix, which memory cannot pass on."""


def text_of(text: str, rows: int, cols: int, element: str, use: str) -> str:
    return text.format(
        t=element,
        M=f"!coopmatrix.matrix<{rows}x{cols}x{element}, {use}>",
        add="arith.addi" if element[0] == "i" else "arith.addf",
    )


CASES = [
    (INTEL_CPU, TEXT, 7, 16, "f32", "acc"),
    (INTEL_CPU, TEXT, 16, 16, "i32", "acc"),
    (INTEL_CPU, TEXT, 3, 32, "i8", "a"),
    (INTEL_CPU, STEP, 3, 7, "f64", "none"),
    (LAVAPIPE, STEP, 3, 7, "f64", "none"),
    (LAVAPIPE, STEP, 12, 12, "i32", "none"),
    (LAVAPIPE, STEP, 1, 5, "f16", "none"),
]


@pytest.mark.parametrize(
    "case", CASES, ids=lambda x: "-".join(map(str, (x[0].name, *x[2:])))
)
def test_slots(
    case: tuple[Device, str, int, int, str, str], request: pytest.FixtureRequest
) -> None:
    """As the simulator says of what the pipeline made, and as numpy says."""
    device, text, rows, cols, element, use = case
    text = text_of(text, rows, cols, element, use)
    pipeline = f"coopc-khr{{device={device.name}}}"
    artifact = coopc.compile(text, pipeline)
    is_vulkan = device is LAVAPIPE
    environment = "vulkan1.3" if is_vulkan else "spv1.4"
    assert toolchain.validate_spirv(artifact.bytes, environment) is None
    x = (1 + np.arange(rows * cols) % 29).reshape(rows, cols)
    x = x.astype(f"{element[0]}{int(element[1:]) // 8}")
    lanes = device.subgroup_size
    if "scf.for" in text:
        i, j = np.indices(x.shape)
        changed = np.where(i < j, x, 2 * x)
    else:  # the first elements, one for each lane
        changed = x.copy()
        changed.reshape(-1)[:lanes] *= 2
    count = np.full(lanes, rows, np.int32)
    arrays = [x, 0 * x, 0 * x, 0 * count]
    expected = [x, changed, 2 * changed, count]
    made = module_of(coopc.compile(text, pipeline, "mlir").text)
    simulated = [y.copy() for y in arrays]
    simulate(made, "k", simulated, grid=(1, 1, 1))
    session = request.getfixturevalue("lavapipe" if is_vulkan else "intel_amx")
    call = pack(artifact.interface[0], arrays, (1, 1, 1))
    on: Any = on_vulkan if is_vulkan else on_opencl
    found = on(artifact.bytes, call, session).arrays
    for y, z, wanted in zip(simulated, found, expected, strict=True):
        np.testing.assert_array_equal(y, wanted)
        np.testing.assert_array_equal(z, wanted)


def test_compiles_for_xe(tool: Any) -> None:
    """A type that no multiplication has: neither calls nor spills."""
    tool("ocloc")
    text = text_of(STEP, 3, 7, "f64", "none")
    binary = coopc.compile(text, "coopc-khr{device=bmg}").bytes
    assert toolchain.validate_spirv(binary, "spv1.4") is None
    (kernel,) = compile_kernel(binary, "bmg").kernels.values()
    assert kernel.whole.calls == kernel.resources.spill == 0


def test_every_element_has_a_slot() -> None:
    """One of one lane; the rest of the slots is padding."""

    for rows, cols, lanes in ((3, 7, 8), (8, 16, 16), (1, 1, 4), (5, 5, 32)):
        func = FuncOp("k", ((), ()))
        shared = SharedMemory(func, HeldMatrices(LAVAPIPE, {}), lanes, subgroups=1)
        b = Builder(func.body.block, None, func.location)
        slots = shared.slots(b, MatrixType.of(rows, cols, f32, Use.NONE))
        assert isinstance(slots, int)
        held = [i * lanes + lane for i in range(slots) for lane in range(lanes)]
        assert sorted(held)[: rows * cols] == list(range(rows * cols))
        assert len(held) - rows * cols < lanes
