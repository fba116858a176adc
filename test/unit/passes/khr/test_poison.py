"""Matrices of `ub.poison`, which programs pass on but do not read."""

from typing import Any

import numpy as np
import pytest
from support.programs import module_of

import coopc
from coopc.interface_call import pack
from coopc.run import opencl, vulkan
from coopc.run.execute import on_opencl, on_vulkan
from coopc.run.toolchain import why_invalid
from coopc.sim.simulate import simulate

Array = np.ndarray[Any, np.dtype[Any]]

KERNEL = """
func.func @k(%m: memref<24x24xELEMENT>) attributes {
    simt.kernel, simt.grid = affine_map<() -> (1, 1, 1)>} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %any = ub.poison : TYPE
  %number = ub.poison : index
  %group = simt.workgroup_id x : index
  %first = arith.cmpi eq, %group, %0 : index
  %at = arith.select %first, %0, %number : index
  %x = coopmatrix.load %m[%at, %0] row_major : memref<24x24xELEMENT> -> TYPE
  %y = arith.select %first, %x, %any : TYPE
  %sum = scf.for %k = %0 to %2 step %1 iter_args(%old = %any) -> (TYPE) {
    %is = arith.cmpi eq, %k, %0 : index
    %now = scf.if %is -> (TYPE) {
      scf.yield %y : TYPE
    } else {
      %twice = coopmatrix.add %old, %y : TYPE
      scf.yield %twice : TYPE
    }
    scf.yield %now : TYPE
  }
  coopmatrix.store %sum, %m[%0, %0] row_major : TYPE, memref<24x24xELEMENT>
  func.return
}
"""
TYPES = ("8x8xf16, acc", "16x16xf16, a", "5x7xf32, acc", "16x8xf64, none")


def text_of(type: str) -> str:
    text = KERNEL.replace("TYPE", f"!coopmatrix.matrix<{type}>")
    return text.replace("ELEMENT", type.partition(",")[0].rpartition("x")[2])


def compare(type: str, pipeline: str, launch: Any, session: Any) -> None:
    text = text_of(type)
    artifact = coopc.compile(text, pipeline, on_remark=print)
    (interface,) = artifact.interface
    dtype = type.partition(",")[0].rpartition("x")[2].replace("f", "float")
    array = np.arange(576).reshape(24, 24).astype(dtype)
    call = pack(interface, [array.copy()], (1, 1, 1))
    (found,) = launch(artifact.bytes, call, session).arrays
    simulate(module_of(text), "k", [array], subgroup_size=interface.subgroup_size)
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("type", TYPES)
def test_on_lavapipe(type: str, lavapipe: vulkan.Session) -> None:
    compare(type, "coopc-khr{device=lavapipe}", on_vulkan, lavapipe)


@pytest.mark.parametrize("type", TYPES)
def test_lanes_on_intel_cpu(type: str, intel_cpu: opencl.Session) -> None:
    compare(type, "coopc-lanes{device=intel-cpu}", on_opencl, intel_cpu)


@pytest.mark.parametrize("device", ["nvidia", "xe2", "bmg"])
@pytest.mark.parametrize("type", TYPES[:3])
def test_valid(type: str, device: str) -> None:
    pipeline = f"coopc-khr{{device={device}}}"
    found = coopc.compile(text_of(type), pipeline, on_remark=print)
    env = "spv1.4" if device == "bmg" else "vulkan1.3"
    assert why_invalid(found.bytes, env) is None
