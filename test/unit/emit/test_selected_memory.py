"""Memory that a kernel chooses when it runs, by `arith.select` of memrefs."""

from typing import Any

import numpy as np
import pytest
from support.programs import module_of

import coopc
from coopc.interface_call import pack
from coopc.run import opencl, vulkan
from coopc.run.execute import on_opencl, on_vulkan
from coopc.sim.simulate import simulate

Array = np.ndarray[Any, np.dtype[Any]]

KERNEL = """
func.func @k(%m: memref<?x8xf16>, %n: memref<?x8xf16>, %r: memref<8x8xf16>, %i: i32)
    attributes {simt.kernel, simt.grid = affine_map<(a, b) -> (1, 1, 1)>} {
  %0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %c = arith.cmpi eq, %i, %z : i32
  %p = arith.select %c, %m, %n : memref<?x8xf16>
  %rows = memref.dim %p, %0 : memref<?x8xf16>
  %eight = arith.constant 8 : index
  %row = arith.subi %rows, %eight : index
  %a = coopmatrix.load %p[%row, %0] row_major
    : memref<?x8xf16> -> !coopmatrix.matrix<8x8xf16, a>
  coopmatrix.store %a, %r[%0, %0] row_major
    : !coopmatrix.matrix<8x8xf16, a>, memref<8x8xf16>
  simt.barrier subgroup
  coopmatrix.store %a, %p[%0, %0] row_major
    : !coopmatrix.matrix<8x8xf16, a>, memref<?x8xf16>
  func.return
}
"""


def compare(artifact: coopc.Artifact, launch: Any, session: Any) -> None:
    (interface,) = artifact.interface
    random = np.random.default_rng(1)
    for which in (0, 1):
        arrays = [random.random((x, 8)).astype(np.float16) for x in (12, 9, 8)]
        call = pack(interface, [*(x.copy() for x in arrays), which], (1, 1, 1))
        found = launch(artifact.bytes, call, session).arrays
        module, lanes = module_of(KERNEL), interface.subgroup_size
        simulate(module, "k", [*arrays, which], subgroup_size=lanes)
        for one, other in zip(found, arrays, strict=True):
            np.testing.assert_array_equal(one, other)


def test_on_lavapipe(lavapipe: vulkan.Session) -> None:
    """By addresses, of matrices."""
    target = "spirv-binary{addresses=true}"
    artifact = coopc.compile(KERNEL, "coopc-khr{device=lavapipe}", target)
    compare(artifact, on_vulkan, lavapipe)


def test_on_intel_cpu(intel_cpu: opencl.Session) -> None:
    """By pointers, of vectors of lanes."""
    artifact = coopc.compile(KERNEL, "coopc-lanes{device=intel-cpu}")
    compare(artifact, on_opencl, intel_cpu)


def test_buffers_of_bindings() -> None:
    with pytest.raises(coopc.CompileError, match="under vulkan with addresses=true"):
        coopc.compile(KERNEL, "coopc-khr{device=lavapipe}")
