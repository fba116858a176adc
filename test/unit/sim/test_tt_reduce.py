"""Reductions of Triton whose operands vary between programs, or do not."""

import numpy as np

import coopc

ARGMIN = """
tt.func @argmin(%p: !tt.ptr<i32>, %out: !tt.ptr<i32>) {
  %four = arith.constant 4 : i32
  %program = tt.get_program_id x : i32
  %start = arith.muli %program, %four : i32
  %at = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %begin = tt.splat %start : i32 -> tensor<4xi32>
  %places = arith.addi %begin, %at : tensor<4xi32>
  %base = tt.splat %p : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
  %ps = tt.addptr %base, %places : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
  %x = tt.load %ps : tensor<4x!tt.ptr<i32>>
  %least, %where = "tt.reduce"(%x, %at) <{axis = 0 : i32}> ({
  ^bb0(%a: i32, %i: i32, %b: i32, %j: i32):
    %less = arith.cmpi sle, %a, %b : i32
    %c = arith.select %less, %a, %b : i32
    %k = arith.select %less, %i, %j : i32
    tt.reduce.return %c, %k : i32, i32
  }) : (tensor<4xi32>, tensor<4xi32>) -> (i32, i32)
  %to = tt.addptr %out, %program : !tt.ptr<i32>, i32
  tt.store %to, %where : !tt.ptr<i32>
  tt.return
}
"""


def test_argmin() -> None:
    """Numbers differ between programs, their places do not."""
    x = np.random.default_rng(3).permutation(12).astype("i4")
    out = np.full(3, 77, "i4")
    coopc.launch(ARGMIN, x, out, on="sim", grid=3)
    assert np.array_equal(out, x.reshape(3, 4).argmin(1))


CAPTURED = """
tt.func @captured(%out: !tt.ptr<i32>) {
  %four = arith.constant 4 : i32
  %at = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %program = tt.get_program_id x : i32
  %x = "tt.map_elementwise"(%at) <{pack = 1 : i32}> ({
  ^bb0(%a: i32):
    %sum = arith.addi %a, %program : i32
    tt.map_elementwise.return %sum : i32
  }) : (tensor<4xi32>) -> tensor<4xi32>
  %most = "tt.reduce"(%at) <{axis = 0 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    %larger = arith.maxsi %a, %b : i32
    %c = arith.maxsi %larger, %program : i32
    tt.reduce.return %c : i32
  }) : (tensor<4xi32>) -> i32
  %tops = tt.splat %most : i32 -> tensor<4xi32>
  %y = arith.muli %x, %tops : tensor<4xi32>
  %start = arith.muli %program, %four : i32
  %begin = tt.addptr %out, %start : !tt.ptr<i32>, i32
  %base = tt.splat %begin : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
  %ps = tt.addptr %base, %at : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
  tt.store %ps, %y : tensor<4x!tt.ptr<i32>>
  tt.return
}
"""


def test_captured_numbers_that_differ_between_programs() -> None:
    out = np.zeros(24, "i4")
    coopc.launch(CAPTURED, out, on="sim", grid=6)
    program = np.arange(6)[:, None]
    expected = (np.arange(4) + program) * np.maximum(3, program)
    assert np.array_equal(out.reshape(6, 4), expected)
