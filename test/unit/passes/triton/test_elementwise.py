"""Operations of arith that xDSL lacks, on tensors of Triton."""

from typing import Any

import numpy as np
import pytest

import coopc

REMAINDER = """
tt.func @remainder(%p: !tt.ptr<f32>) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32LAYOUT>
  %three = arith.constant dense<3.0> : tensor<16xf32LAYOUT>
  %base = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>LAYOUT>
  %ps = tt.addptr %base, %at : tensor<16x!tt.ptr<f32>LAYOUT>, tensor<16xi32LAYOUT>
  %x = tt.load %ps : tensor<16x!tt.ptr<f32>LAYOUT>
  %y = arith.remf %x, %three : tensor<16xf32LAYOUT>
  tt.store %ps, %y : tensor<16x!tt.ptr<f32>LAYOUT>
  tt.return
}
"""
BLOCKED = """
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [16], warpsPerCTA = [1], order = [0]}>
module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 16 : i32} {
TEXT
}
"""  # noqa: E501
WITH_LAYOUTS = BLOCKED.replace("TEXT", REMAINDER.replace("LAYOUT", ", #blocked"))
PLACES: dict[str, tuple[str, dict[str, Any]]] = {
    on: (REMAINDER.replace("LAYOUT", ""), {"on": on})
    for on in ("sim", "cpu", "vulkan", "opencl")
}
PLACES["xe"] = WITH_LAYOUTS, {"on": "opencl"}


@pytest.mark.parametrize("place", PLACES)
def test_remainder(place: str) -> None:
    text, where = PLACES[place]
    x = (np.arange(16, dtype="f4") - 8) * np.float32(1.7)
    expected = np.fmod(x, np.float32(3))
    coopc.launch(text, x, grid=1, **where)
    assert np.array_equal(x, expected)
