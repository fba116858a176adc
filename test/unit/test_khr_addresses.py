"""Physical storage buffers: kernels of Vulkan that get addresses, on lavapipe."""

import numpy as np
import pytest

import coopc
from coopc.diagnostic import CompileError
from coopc.interface import Interface, What
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session

PIPELINE = "coopc-khr{device=lavapipe}"
TARGET = "spirv-binary{addresses=true}"

MATMUL = """
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>)
    outs(%c : memref<?x?xf32>)
  func.return
}
"""

OTHERS = """
func.func @k(%n: i32, %v: memref<?x4xvector<4xf32>>, %i: memref<?xi1>,
             %h: memref<?xf16>, %t: memref<?xi32>,
             %m: memref<8x8xf32, strided<[16, 1], offset: 3>>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %lane = simt.lane_id : index
  %x = coopmatrix.load %v[%1, %1] row_major
    : memref<?x4xvector<4xf32>> -> !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %x, %m[%0, %0] col_major
    : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32, strided<[16, 1], offset: 3>>
  %b = memref.load %i[%lane] : memref<?xi1>
  scf.if %b {
    %e = memref.load %h[%lane] : memref<?xf16>
    %f = arith.addf %e, %e : f16
    memref.store %f, %h[%lane] : memref<?xf16>
    %old = "memref.atomic_rmw"(%n, %t, %0) <{kind = 1 : i64}>
      : (i32, memref<?xi32>, index) -> i32
  }
  func.return
}
"""


def test_matmul(lavapipe: Session) -> None:
    """The whole way from linalg, with checks at the edges."""
    artifact = coopc.compile(MATMUL, PIPELINE, TARGET)
    generator = np.random.default_rng(0)
    a = generator.integers(-9, 10, (19, 11)).astype(np.float16)
    b = generator.integers(-9, 10, (11, 21)).astype(np.float16)
    c = generator.integers(-9, 10, (19, 21)).astype(np.float32)
    call = pack(artifact.interface[0], [a, b, c])
    found = on_vulkan(artifact.bytes, call, lavapipe).arrays[2]
    expected = a.astype(np.float32) @ b.astype(np.float32) + c
    np.testing.assert_array_equal(found, expected)


def test_vectors_bytes_atomics_and_offsets(lavapipe: Session) -> None:
    artifact = coopc.compile(OTHERS, PIPELINE, TARGET)
    generator = np.random.default_rng(0)
    v = generator.integers(-9, 10, (9, 4, 4)).astype(np.float32)
    i = np.arange(8) % 3 == 0
    h = np.arange(8, dtype=np.float16)
    t = np.array([5], np.int32)
    flat = np.zeros(128, np.float32)
    m = np.lib.stride_tricks.as_strided(flat, (8, 8), (64, 4))
    call = pack(artifact.interface[0], [7, v, i, h, t, m], (1, 1, 1))
    found = on_vulkan(artifact.bytes, call, lavapipe).arrays
    np.testing.assert_array_equal(found[4], v.reshape(9, 16)[1:, 4:12].T)
    np.testing.assert_array_equal(found[2], np.where(i, 2 * h, h))
    np.testing.assert_array_equal(found[3], [5 + 7 * i.sum()])


def test_addresses_are_fields() -> None:
    """Each at a multiple of 8, before the sizes; JSON keeps them."""
    (interface,) = coopc.compile(OTHERS, PIPELINE, TARGET).interface
    first = {x.argument: x for x in reversed(interface.fields)}
    assert [x.what for x in first.values()].count(What.ADDRESS) == 5
    assert all(at % 8 == 0 for at in interface.addresses)
    assert Interface.from_json(interface.to_json()) == interface
    assert coopc.compile(OTHERS, PIPELINE).interface[0].addresses == ()


def test_opencl_has_none() -> None:
    with pytest.raises(CompileError, match="expected the flavour vulkan"):
        coopc.compile(MATMUL, "coopc-khr{device=bmg}", TARGET)
