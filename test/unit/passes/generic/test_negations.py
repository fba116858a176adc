"""Negations across a barrier: Intel's CPU run-time keeps those of the last subgroup.

The case for another device is expected to fail: when it passes, the run-time is better,
and `keeps_negations` is not needed.
"""

import numpy as np
import pytest

import coopc
from coopc.interface_call import pack
from coopc.run import execute, opencl

KERNEL = """
func.func @k(%a: memref<32xf32>, %r: memref<32xf32>) attributes {{simt.kernel,
    simt.work_group_size = array<i32: 32>, simt.subgroup_size = 16 : i32,
    simt.grid = affine_map<() -> (1)>}} {{
  %minus_one = arith.constant dense<-1.0> : vector<1xf32>
  %code = vector.bitcast %minus_one : vector<1xf32> to vector<1xi32>
  %factor = vector.bitcast %code : vector<1xi32> to vector<1xf32>
  %at = simt.local_id x : index
  %x = memref.load %a[%at] : memref<32xf32>
  %v = vector.broadcast %x : f32 to vector<1xf32>
  %n = {} : vector<1xf32>
  %y = vector.extract %n[0] : f32 from vector<1xf32>
  simt.barrier workgroup
  memref.store %y, %r[%at] : memref<32xf32>
  func.return
}}
"""


@pytest.mark.parametrize("negation", ["arith.negf %v", "arith.mulf %v, %factor"])
@pytest.mark.parametrize(
    "device",
    [
        "intel-cpu",
        pytest.param("bmg", marks=pytest.mark.xfail(strict=True, reason="of the last")),
    ],
)
def test_each_subgroup_keeps_its_own(
    negation: str, device: str, intel_cpu: opencl.Session
) -> None:
    artifact = coopc.compile(KERNEL.format(negation), f"set-target{{device={device}}}")
    numbers = np.arange(32, dtype=np.float32)
    call = pack(artifact.interface[0], [numbers, np.zeros_like(numbers)])
    found = execute.on_opencl(artifact.bytes, call, intel_cpu).arrays[1]
    assert np.array_equal(found, -numbers)
