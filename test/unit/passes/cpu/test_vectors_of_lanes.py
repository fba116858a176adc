"""Vectors that lanes hold, on the simulator and on this processor."""

import numpy as np
import pytest

import coopc

KERNEL = """
func.func @k(%x: memref<16x4xf32>, %at: memref<16xi32>, %y: memref<16x4xf32>,
             %z: memref<16xf32>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 16, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %limit = arith.constant 0.0 : f32
  %numbers = arith.constant dense<[1.0, -2.0, 3.0, 0.5]> : vector<4xf32>
  %twos = arith.constant dense<2.0> : vector<4xf32>
  %i = simt.local_id x : index
  %number = memref.load %at[%i] : memref<16xi32>
  %n = arith.index_cast %number : i32 to index
  %v = vector.load %x[%i, %c0] : memref<16x4xf32>, vector<4xf32>
  %f = vector.fma %v, %numbers, %twos : vector<4xf32>
  %e = vector.extract %f[%n] : f32 from vector<4xf32>
  %w = vector.insert %e, %v [%n] : f32 into vector<4xf32>
  %u = vector.insert %e, %w [2] : f32 into vector<4xf32>
  %is = arith.cmpf olt, %u, %f : vector<4xf32>
  %s = arith.select %is, %u, %f : vector<4xi1>, vector<4xf32>
  %bits = vector.bitcast %s : vector<4xf32> to vector<4xi32>
  %same = vector.bitcast %bits : vector<4xi32> to vector<4xf32>
  %lane = simt.shuffle xor %same, %c1 : vector<4xf32>
  %first = vector.extract %v[0] : f32 from vector<4xf32>
  %positive = arith.cmpf ogt, %first, %limit : f32
  %r = scf.if %positive -> (vector<4xf32>) {
    %both = vector.shuffle %lane, %s [0, 5, 2, 7] : vector<4xf32>, vector<4xf32>
    scf.yield %both : vector<4xf32>
  } else {
    %spread = vector.broadcast %e : f32 to vector<4xf32>
    scf.yield %spread : vector<4xf32>
  }
  %chosen = arith.select %positive, %r, %lane : vector<4xf32>
  %t = scf.for %k = %c0 to %n step %c1 iter_args(%o = %chosen) -> (vector<4xf32>) {
    %d = arith.addf %o, %r : vector<4xf32>
    scf.yield %d : vector<4xf32>
  }
  %sum = vector.reduction <add>, %t, %first : vector<4xf32> into f32
  vector.store %t, %y[%i, %c0] : memref<16x4xf32>, vector<4xf32>
  memref.store %sum, %z[%i] : memref<16xf32>
  func.return
}
"""


@pytest.mark.parametrize("pipeline", ["coopc-cpu", "coopc-amx"])
def test_vectors(pipeline: str) -> None:
    random = np.random.default_rng(1)
    x = random.integers(-9, 10, (16, 4)).astype(np.float32)
    at = random.integers(0, 4, 16).astype(np.int32)
    found: list[list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]] = []
    for on, passes in (("sim", None), ("cpu", pipeline)):
        y, z = np.zeros((16, 4), np.float32), np.zeros(16, np.float32)
        tiles = "none" if on == "cpu" else "auto"
        coopc.launch(KERNEL, x, at, y, z, on=on, pipeline=passes, grid=1, tiles=tiles)
        found.append([y, z])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    f = x * np.array([1, -2, 3, 0.5], np.float32) + 2
    e = np.take_along_axis(f, at[:, None], 1)
    u = x.copy()
    np.put_along_axis(u, at[:, None], e, 1)
    u[:, 2:3] = e
    s = np.where(u < f, u, f)
    lane = s.reshape(-1, 2, 4)[:, ::-1].reshape(s.shape)
    both = np.where([True, False] * 2, lane, s)
    r = np.where(x[:, :1] > 0, both, e)
    t = np.where(x[:, :1] > 0, r, lane) + at[:, None] * r
    np.testing.assert_array_equal(found[0][0], t)
    np.testing.assert_array_equal(found[0][1], t.sum(axis=1) + x[:, 0])


WHERE = """
func.func private @scaled(%v: vector<2xf32>, %by: f32) -> vector<2xf32> {
  %b = vector.broadcast %by : f32 to vector<2xf32>
  %r = arith.mulf %v, %b : vector<2xf32>
  return %r : vector<2xf32>
}
func.func @k(%x: memref<32xf32>, %y: memref<32xf32>, %n: memref<16xi32>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 16, 1, 1>} {
  %two = arith.constant 2 : index
  %three = arith.constant 3.0 : f32
  %numbers = arith.constant dense<[5, 7]> : vector<2xi32>
  %zeros = arith.constant dense<0.0> : vector<2xf32>
  %i = simt.local_id x : index
  %at = arith.muli %i, %two : index
  vector.store %zeros, %y[%at] : memref<32xf32>, vector<2xf32>
  %odd = arith.remui %i, %two : index
  %number = vector.extract %numbers[%odd] : i32 from vector<2xi32>
  %most = vector.reduction <maxsi>, %numbers, %number : vector<2xi32> into i32
  %sum = arith.addi %number, %most : i32
  memref.store %sum, %n[%i] : memref<16xi32>
  %v = vector.load %x[%at] : memref<32xf32>, vector<2xf32>
  %by = arith.uitofp %number : i32 to f32
  %s = func.call @scaled(%v, %by) : (vector<2xf32>, f32) -> vector<2xf32>
  %t = func.call @scaled(%s, %three) : (vector<2xf32>, f32) -> vector<2xf32>
  vector.store %t, %x[%at] : memref<32xf32>, vector<2xf32>
  func.return
}
"""


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_vectors_at_places_of_lanes(on: str) -> None:
    """Uniform vectors that lanes access at places of their own, and calls."""
    x = np.arange(32, dtype=np.float32)
    y, n = np.ones(32, np.float32), np.zeros(16, np.int32)
    expected = x * np.resize([5, 5, 7, 7], 32) * 3
    tiles = "none" if on == "cpu" else "auto"
    coopc.launch(WHERE, x, y, n, on=on, kernel="k", grid=1, tiles=tiles)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(y, 0)
    np.testing.assert_array_equal(n, np.resize([12, 14], 16))


def test_what_is_kept() -> None:
    """Volatile accesses stay; what cannot be split is refused as before."""
    text = """
    func.func @k(%x: memref<32xf32>)
        attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
      %i = simt.local_id x : index
      %v = vector.load %x[%i] {simt.volatile} : memref<32xf32>, vector<2xf32>
      func.return
    }"""
    printed = coopc.compile(text, "vectorize-subgroup", "mlir").text
    assert printed.count("{simt.volatile}") == 2
    wrong = text.replace(
        "func.return",
        "%s = vector.broadcast %v : vector<2xf32> to vector<3x2xf32>\n func.return",
    )
    with pytest.raises(
        coopc.CompileError, match="expected operands that are the same for all lanes"
    ):
        coopc.compile(wrong, "vectorize-subgroup", "mlir")


CLAMPED = """
func.func @k(%x: memref<32xf32>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 16, 1, 1>} {
  %two = arith.constant 2 : index
  %zeros = arith.constant dense<0.0> : vector<2xf32>
  %ones = arith.constant dense<1.0> : vector<2xf32>
  %i = simt.local_id x : index
  %at = arith.muli %i, %two : index
  %v = vector.load %x[%at] : memref<32xf32>, vector<2xf32>
  %is_nan = math.isnan %v : vector<2xf32>
  %clamped = math.clampf %v to [%zeros, %ones] : vector<2xf32>
  %r = arith.select %is_nan, %zeros, %clamped : vector<2xi1>, vector<2xf32>
  vector.store %r, %x[%at] : memref<32xf32>, vector<2xf32>
  func.return
}
"""


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_functions_that_xdsl_lacks(on: str) -> None:
    x = np.linspace(-1, 2, 32, dtype=np.float32)
    x[5::7] = np.nan
    expected = np.clip(np.nan_to_num(x), 0, 1)
    coopc.launch(CLAMPED, x, on=on, grid=1)
    np.testing.assert_array_equal(x, expected)
