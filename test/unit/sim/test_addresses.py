"""Memory behind addresses, in the simulator: of arguments, and of arrays in them."""

import numpy as np
import pytest

from coopc.compiler import new_context
from coopc.interface_call import Addresses
from coopc.parsing import parse
from coopc.sim.errors import SimulationError
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

KERNEL = """
func.func @f(%a: memref<f16>, %p: memref<i64>, %n: i64) attributes {simt.kernel,
    simt.subgroup_size = 4 : i32, simt.work_group_size = array<i32: 4>} {
  %lane = simt.lane_id : index
  %parts = memref.reinterpret_cast %p to offset: [0], sizes: [4], strides: [1]
    : memref<i64> to memref<4xi64>
  %address = memref.load %parts[%lane] : memref<4xi64>
  %own = simt.memory_at %address : memref<f16>
  %v = memref.load %own[] : memref<f16>
  %w = arith.addf %v, %v : f16
  memref.store %w, %own[] : memref<f16>
  %start = simt.address_of %a : memref<f16>
  %at = arith.addi %start, %n : i64
  %one = simt.memory_at %at : memref<f16>
  %seven = arith.constant 7.0 : f16
  memref.store %seven, %one[] : memref<f16>
  func.return
}
"""


def run(offset: int) -> list[float]:
    module = parse(new_context(everything()), Source(KERNEL, "addresses.mlir"))
    a = np.zeros(4, np.float16)
    parts = tuple(np.full(1, n + 1, np.float16) for n in range(4))
    simulate(module, "f", [a, Addresses(parts), offset], grid=(1,))
    return [*a.tolist(), *(x.item() for x in parts)]


def test_each_lane_has_its_own_memory() -> None:
    assert run(6) == [0, 0, 0, 7, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("offset", "what"),
    [
        (1 << 40, "expected an address of memory that the kernel is given"),
        (3, "expected an address that is a multiple of 2"),
    ],
)
def test_other_addresses_are_refused(offset: int, what: str) -> None:
    with pytest.raises(SimulationError, match=what):
        run(offset)
