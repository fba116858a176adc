"""Kernels of Triton that return in the middle do so on every engine."""

import numpy as np
import pytest

import coopc

SIZE, BLOCK = 200, 64
KERNEL = """
tt.func public @scaled(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32, %programs: i32) {
  %c64 = arith.constant 64 : i32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %two = arith.constant dense<2.0> : tensor<64xf32>
  %pid = tt.get_program_id x : i32
  %beyond = arith.cmpi sge, %pid, %programs : i32
  cf.cond_br %beyond, ^end, ^rest
^end:
  tt.return
^rest:
  %first = arith.muli %pid, %c64 : i32
  %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %firsts = tt.splat %first : i32 -> tensor<64xi32>
  %at = arith.addi %firsts, %range : tensor<64xi32>
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %mask = arith.cmpi slt, %at, %ns : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %from = tt.addptr %xs, %at : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %from, %mask, %none : tensor<64x!tt.ptr<f32>>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %to = tt.addptr %ys, %at : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %most = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %m = arith.maxnumf %l, %r : f32
    tt.reduce.return %m : f32
  }) : (tensor<64xf32>) -> f32
  %negative = arith.cmpf olt, %most, %zero : f32
  cf.cond_br %negative, ^doubled, ^squared
^doubled:
  %d = arith.mulf %v, %two : tensor<64xf32>
  tt.store %to, %d, %mask : tensor<64x!tt.ptr<f32>>
  tt.return
^squared:
  %s = arith.mulf %v, %v : tensor<64xf32>
  tt.store %to, %s, %mask : tensor<64x!tt.ptr<f32>>
  tt.return
}
"""


@pytest.mark.parametrize("on", ["sim", "cpu", "opencl", "vulkan"])
def test_programs_return_early(on: str) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal(SIZE + BLOCK).astype(np.float32)
    x[BLOCK : 2 * BLOCK] = -abs(x[BLOCK : 2 * BLOCK])
    y, expected = np.zeros_like(x), np.zeros_like(x)
    for first in range(0, SIZE, BLOCK):
        part = slice(first, min(first + BLOCK, SIZE))
        v = x[part]
        # What is masked is 0, and so the greatest of the last program.
        is_negative = v.max() < 0 and len(v) == BLOCK
        expected[part] = 2 * v if is_negative else v * v
    coopc.launch(KERNEL, x, y, np.int32(SIZE), np.int32(4), on=on, grid=(5,))
    np.testing.assert_allclose(y, expected, rtol=1e-6)
