"""`coopc-khr`: products whose sums are multiplied again, where N and K differ.

Tiles of the sums are then M x N, and those of the operand that they become M x K.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.khr_kernels import Array
from support.programs import module_of

import coopc
from coopc.interface_call import pack
from coopc.run import opencl
from coopc.run.execute import on_opencl
from coopc.run.offline_compiler import compile_kernel
from coopc.run.toolchain import validate_spirv
from coopc.sim.simulate import simulate

TEXT = """
func.func @k(%q: memref<16x64xT>, %k: memref<?x64xT>, %v: memref<?x32xT>,
             %o: memref<16x32xS>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %64 = arith.constant 64 : index
  %end = memref.dim %k, %0 : memref<?x64xT>
  %zero = arith.constant Z : S
  %none = coopmatrix.fill %zero : S -> !coopmatrix.matrix<16x64xS, acc>
  %first = coopmatrix.fill %zero : S -> !coopmatrix.matrix<16x32xS, acc>
  %x = coopmatrix.load %q[%0, %0] row_major
    : memref<16x64xT> -> !coopmatrix.matrix<16x64xT, a>
  %sum = scf.for %i = %0 to %end step %64
      iter_args(%old = %first) -> (!coopmatrix.matrix<16x32xS, acc>) {
    %y = coopmatrix.load %k[%i, %0] row_major
      : memref<?x64xT> -> !coopmatrix.matrix<64x64xT, b>
    %s = coopmatrix.mul_add %x, %y, %none SIGNS
      : !coopmatrix.matrix<16x64xT, a>, !coopmatrix.matrix<64x64xT, b>,
        !coopmatrix.matrix<16x64xS, acc>
    %p = coopmatrix.convert SIGNED %s
      : !coopmatrix.matrix<16x64xS, acc> -> !coopmatrix.matrix<16x64xT, a>
    %w = coopmatrix.load %v[%i, %0] row_major
      : memref<?x32xT> -> !coopmatrix.matrix<64x32xT, b>
    %new = coopmatrix.mul_add %p, %w, %old SIGNS
      : !coopmatrix.matrix<16x64xT, a>, !coopmatrix.matrix<64x32xT, b>,
        !coopmatrix.matrix<16x32xS, acc>
    scf.yield %new : !coopmatrix.matrix<16x32xS, acc>
  }
  coopmatrix.store %sum, %o[%0, %0] row_major
    : !coopmatrix.matrix<16x32xS, acc>, memref<16x32xS>
  func.return
}
"""


def chain(element: str) -> str:
    """Attention without its softmax, of i8 or f16."""
    words = {"T": element, "S": "f32", "Z": "0.0", "SIGNS": "", "SIGNED": ""}
    if element == "i8":
        signs = "signed(a, b, c, result)"
        words |= {"S": "i32", "Z": "0", "SIGNS": signs, "SIGNED": "signed"}
    text = TEXT
    for word in ("SIGNED", "SIGNS", "T", "S", "Z"):
        text = text.replace(f" {word} ", f" {words[word]} ")
        for end in (">", ","):
            text = text.replace(f"x{word}{end}", f"x{words[word]}{end}")
        text = text.replace(f" {word}\n", f" {words[word]}\n")
    return text


def operands(element: str) -> tuple[list[Array], Array]:
    """Arguments whose sums are numbers of the element type, and the result."""
    rng = np.random.default_rng(2)
    type, wide = (np.int8, np.int32) if element == "i8" else (np.float16, np.float32)
    q, k, v = (
        rng.integers(-1, 2, shape).astype(type)
        for shape in ((16, 64), (128, 64), (128, 32))
    )
    expected = sum(
        q.astype(wide) @ k[i : i + 64].astype(wide) @ v[i : i + 64].astype(wide)
        for i in (0, 64)
    )
    return [q, k, v, np.zeros((16, 32), wide)], np.asarray(expected)


@pytest.mark.parametrize(
    ("device", "element", "products"),
    [
        ("nvidia", "i8", 8 + 4),  # 16 x 16 x 32
        ("arc", "f16", 64 + 32),  # 8 x 8 x 16
        ("xe2", "i8", 16 + 8),  # 8 x 16 x 32
        ("bmg", "i8", 16 + 8),
        ("dg2", "f16", 64 + 32),
        ("lavapipe", "f16", 128 + 64),  # 8 x 8 x 8, which needs nothing
    ],
)
def test_products_stay_instructions(
    device: str, element: str, products: int, tool: Callable[[str], Path]
) -> None:
    """They are valid, and simulated as numpy computes them, before and after."""
    tool("spirv-val")
    text, pipeline = chain(element), f"coopc-khr{{device={device}}}"
    made = coopc.compile(text, pipeline, "spirv").text
    assert made.count("OpCooperativeMatrixMulAddKHR") == products
    environment = "vulkan1.3" if "Vulkan" in made else "spv1.4"
    assert validate_spirv(coopc.compile(text, pipeline).bytes, environment) is None
    for program in (text, coopc.compile(text, pipeline, "mlir").text):
        arrays, expected = operands(element)
        simulate(module_of(program), "k", arrays, grid=(1, 1, 1))
        np.testing.assert_array_equal(arrays[3], expected)


@pytest.mark.parametrize(
    ("device", "element", "products"), [("bmg", "i8", 24), ("dg2", "f16", 96)]
)
def test_intels_compiler_makes_dpas_of_them(
    device: str, element: str, products: int, tool: Callable[[str], Path]
) -> None:
    tool("ocloc")
    binary = coopc.compile(chain(element), f"coopc-khr{{device={device}}}").bytes
    (found,) = compile_kernel(binary, device).kernels.values()
    assert found.whole.dpas == products


def test_on_a_processor_with_amx(intel_amx: opencl.Session) -> None:
    """Intel's run-time for CPUs multiplies i8 by 16 x 16 x 64 at most."""
    text, (arrays, expected) = chain("i8"), operands("i8")
    made = coopc.compile(text, "coopc-khr{device=intel-cpu}")
    call = pack(made.interface[0], arrays, (1, 1, 1))
    found = on_opencl(made.bytes, call, intel_amx).arrays
    np.testing.assert_array_equal(found[3], expected)
