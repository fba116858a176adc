"""Physical storage buffers: kernels of Vulkan that get addresses, on lavapipe."""

import re

import numpy as np
import pytest

import coopc
from coopc.diagnostic import CompileError
from coopc.generate.gemms import Gemm
from coopc.interface import Interface, What
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.toolchain import validate_spirv
from coopc.run.vulkan import TARGET_ENV, Session

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


@pytest.mark.parametrize(
    "gemm",
    [
        Gemm((64, 48, 80)),
        Gemm((33, 35, 37)),
        Gemm((64, 64, 64), types=("i8", "i32")),
        Gemm((64, 64, 64), dynamic=True),
        Gemm((1, 256, 512)),
        Gemm((64, 1, 128)),
    ],
    ids=str,
)
def test_vectors_of_staged_tiles(lavapipe: Session, gemm: Gemm) -> None:
    """Aligned vectors are accessed whole, through pointers that are cast."""
    pipeline = "coopc-khr{device=lavapipe staged=true}"
    artifact = coopc.compile(gemm.text, pipeline, TARGET)
    arrays = gemm.arrays()
    expected = gemm.expected(*arrays)
    call = pack(artifact.interface[0], arrays)
    found = on_vulkan(artifact.bytes, call, lavapipe).arrays[2]
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


LARGE = "memref<70000x70000xf32>"
PART = "memref<8x8xf32, strided<[140000, 1], offset: ?>>"
STRIDED = "memref<8x8xf32, strided<[?, 1], offset: ?>>"
ELEMENTS = {
    # What is known to be small is computed in the 32 bits of an index.
    "memref<8x70000xf32>": ("", "uint 70000", 32),
    LARGE: ("", "ulong 70000", 64),
    "memref<?x?xf32>": ("", "ulong %", 64),
    "memref<4x50000x50000xf32>": ("%i, ", "ulong 2500000000", 64),
    "memref<?x?x?xf32>": ("%i, ", "ulong %", 64),
}


@pytest.mark.parametrize("type", ELEMENTS)
def test_numbers_of_elements(type: str) -> None:
    """Of 64 bits, as addresses are, where 32 may be too few."""
    first, factor, bits = ELEMENTS[type]
    text = f"""
func.func @k(%m: {type}, %i: index, %j: index) attributes {{simt.kernel}} {{
  %f = memref.load %m[{first}%i, %j] : {type}
  memref.store %f, %m[{first}%j, %i] : {type}
  func.return
}}"""
    kind, constant = factor.split()
    found = emitted(text)
    assert re.search(rf"OpIMul %{kind} %\w+ %({kind}_)?{constant.strip('%')}", found)
    assert ("OpIMul %uint" in found) == (bits == 32)


def emitted(text: str) -> str:
    """SPIR-V as text, of a module that is valid."""
    binary, printed = (
        coopc.compile(text, "set-target{device=lavapipe}", target)
        for target in (TARGET, TARGET.replace("-binary", ""))
    )
    assert validate_spirv(binary.bytes, TARGET_ENV) is None
    return printed.bytes.decode()


def test_parts_of_large_memrefs() -> None:
    """Views of a memref, and what is loaded of them, count in 64 bits too."""
    text = f"""
func.func @k(%m: {LARGE}, %p: memref<f32>, %i: index) attributes {{simt.kernel}} {{
  %part = memref.subview %m[%i, %i] [8, 8] [2, 1] : {LARGE}
    to {PART}
  %x = coopmatrix.load %part[%i, %i] row_major
    : {PART} -> !coopmatrix.matrix<8x8xf32, acc>
  %cast = memref.reinterpret_cast %p to offset: [%i], sizes: [8, 8], strides: [%i, 1]
    : memref<f32> to {STRIDED}
  coopmatrix.store %x, %cast[%i, %i] row_major
    : !coopmatrix.matrix<8x8xf32, acc>, {STRIDED}
  %b, %offset, %s:2, %t:2 = memref.extract_strided_metadata %part
    : {PART}
    -> memref<f32>, index, index, index, index, index
  %f = memref.load %part[%offset, %t#0] : {PART}
  memref.store %f, %p[] : memref<f32>
  func.return
}}"""
    found = emitted(text)
    assert "OpIMul %uint" not in found
    assert "OpIMul %ulong" in found


def test_sizes_beyond_an_index() -> None:
    text = """
func.func @k(%m: memref<3000000000xi8>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %d = memref.dim %m, %0 : memref<3000000000xi8>
  %e = memref.load %m[%d] : memref<3000000000xi8>
  func.return
}"""
    with pytest.raises(CompileError, match=r"number of 32 bits.*got 3000000000"):
        emitted(text)


@pytest.mark.parametrize(("type", "least"), [("f32", 4), ("vector<4xf16>", 2)])
def test_low_alignment(type: str, least: int) -> None:
    """At least that of a number, as SPIR-V demands."""
    text = f"""
func.func @k(%m: memref<8x8x{type}>) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %m[%0, %0] row_major alignment = LEAST
    : memref<8x8x{type}> -> !coopmatrix.matrix<8x8xf16, a>
  func.return
}}"""
    emitted(text.replace("LEAST", str(least)))
    with pytest.raises(CompileError, match=f"at least {least} bytes, .* got 1"):
        emitted(text.replace("LEAST", "1"))
