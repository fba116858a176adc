"""Kernels say who owns which element: `coopmatrix.distribution` in the simulator."""

import numpy as np
import pytest

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.sim.errors import SimulationError
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

KERNEL = """
func.func @length(%out: memref<1xi32>) attributes {{
    simt.kernel, simt.subgroup_size = 16 : i32,
    simt.work_group_size = array<i32: 16, 1, 1>,
    coopmatrix.distribution = {distribution}}} {{
  %zero = arith.constant 0 : index
  %length = coopmatrix.length !coopmatrix.matrix<12x12xi32, none> : index
  %value = arith.index_cast %length : index to i32
  memref.store %value, %out[%zero] : memref<1xi32>
  func.return
}}
"""


def length(distribution: str) -> int:
    """The slots that a lane has for 12 x 12 elements."""
    source = Source(KERNEL.format(distribution=distribution), "length.mlir")
    module = parse(new_context(everything()), source)
    out = np.zeros(1, dtype=np.int32)
    simulate(module, "length", [out], grid=(1, 1, 1))
    return int(out[0])


@pytest.mark.parametrize(
    ("distribution", "slots"),
    [
        ("#layout.coopmatrix", 12),  # 12 rows are padded to 16
        ("#layout.row_slice", 9),
        ("#layout.dpas", 16),  # two tiles of 8 x 16
        ("#layout.row_slice<12x12, lanes = 16>", 9),
        (
            "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 4], "
            "warpsPerCTA = [1, 1], order = [1, 0]}>",
            16,
        ),
    ],
)
def test_length(distribution: str, slots: int) -> None:
    assert length(distribution) == slots


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (
            "#layout.row_slice<12x12, lanes = 8>",
            "expected 8 lanes, as the layout has, got 16, for "
            "!coopmatrix.matrix<12x12xi32, none> by #layout.row_slice",
        ),
        ("42 : i32", "expected coopmatrix.distribution to be an attribute of layout"),
    ],
)
def test_refuses(distribution: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        length(distribution)
