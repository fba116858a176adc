"""One module, several specialisations: constants set when it is run, not compiled."""

import re

import numpy as np
import pytest

import coopc
from coopc.interface_call import pack
from coopc.run import opencl, vulkan
from coopc.run.execute import on_opencl, on_vulkan
from coopc.run.worker import RunFailed

ONE = (1, 1, 1)

KERNEL = """
coopmatrix.spec_constant @M = 16 : i32
coopmatrix.spec_constant @N = 16 : i32
coopmatrix.spec_constant @K = 32 : i32
coopmatrix.spec_constant @L = 32 : i32
coopmatrix.spec_constant @S = 3 : i32
coopmatrix.spec_constant @order = 0 : i32
func.func @k(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %x = coopmatrix.load %a[%0, %0] row_major = @order : memref<?x?xf16>
    -> !coopmatrix.matrix<@M x @K x f16, a, scope = @S>
  %y = coopmatrix.load %b[%0, %0] LAYOUT : memref<?x?xf16>
    -> !coopmatrix.matrix<@L x @N x f16, b, scope = @S>
  %s = coopmatrix.fill %z : f32 -> !coopmatrix.matrix<@M x @N x f32, acc, scope = @S>
  %r = coopmatrix.mul_add %x, %y, %s
    : !coopmatrix.matrix<@M x @K x f16, a, scope = @S>,
      !coopmatrix.matrix<@L x @N x f16, b, scope = @S>,
      !coopmatrix.matrix<@M x @N x f32, acc, scope = @S>
  coopmatrix.store %r, %c[%0, %0] row_major
    : !coopmatrix.matrix<@M x @N x f32, acc, scope = @S>, memref<?x?xf32>
  func.return
}
"""

Array = np.ndarray[tuple[int, int], np.dtype[np.float16]]


def inputs(m: int, n: int, k: int) -> tuple[Array, Array]:
    """Small integers, so that every sum is exact."""
    generator = np.random.default_rng(m + n + k)
    a, b = (generator.integers(-9, 10, size) for size in ((m, k), (k, n)))
    return a.astype(np.float16), b.astype(np.float16)


def sizes_only() -> str:
    """The kernel for Intel's run-time, which takes constants for sizes only."""
    text = KERNEL.replace("LAYOUT", "packed").replace(", scope = @S", "")
    return text.replace(" = @order", "")


def of_lavapipe(layout: str) -> str:
    """The kernel with sizes by default that lavapipe lists."""
    return re.sub("= (16|32) : i32", "= 8 : i32", KERNEL).replace("LAYOUT", layout)


DEFAULTS = {
    "no 8 x 8 matrices by default of f64 as a": ("f(16|32)", "f64"),
    "no 8 x 4 matrices by default of f16 as a": ("@([KL]) = 8", r"@\1 = 4"),
    "scope subgroup, .* got workgroup, the default of @S": ("@S = 3", "@S = 2"),
}


@pytest.mark.parametrize("message", DEFAULTS)
def test_defaults(message: str) -> None:
    """What the constants are unless they are set is checked as numbers are."""
    text = re.sub(*DEFAULTS[message], of_lavapipe("row_major"))
    with pytest.raises(coopc.CompileError, match=message):
        coopc.compile(text, "set-target{device=lavapipe}")


def test_sizes(intel_amx: opencl.Session) -> None:
    """M, N and K, all of them such as Intel's run-time has."""
    text = sizes_only()
    artifact = coopc.compile(text, "coopc-khr{device=intel-cpu}")
    for m, n, k in ((16, 16, 32), (8, 16, 16), (5, 8, 32), (1, 16, 16)):
        a, b = inputs(m, n, k)
        packed = b.reshape(k // 2, 2, n).transpose(0, 2, 1).reshape(k // 2, 2 * n)
        c = np.zeros((m, n), np.float32)
        call = pack(artifact.interface[0], [a, packed.copy(), c], ONE)
        spec = {"M": m, "N": n, "K": k, "L": k}
        found = on_opencl(artifact.bytes, call, intel_amx, spec=spec).arrays[2]
        expected = a.astype(np.float32) @ b.astype(np.float32)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("order", [0, 1])
def test_layouts(order: int, lavapipe: vulkan.Session) -> None:
    """By rows and by columns; of sizes the driver lists one for each type."""
    text = of_lavapipe("col_major")
    artifact = coopc.compile(text, "coopc-khr{device=lavapipe}")
    a, b = inputs(8, 8, 8)
    call = pack(artifact.interface[0], [a, b, np.zeros((8, 8), np.float32)], ONE)
    spec = {**dict.fromkeys("MNKL", 8), "order": order}
    found = on_vulkan(artifact.bytes, call, lavapipe, spec=spec).arrays[2]
    left = a.T if order else a
    expected = left.astype(np.float32) @ b.T.astype(np.float32)
    np.testing.assert_array_equal(found, expected)


MISFITS = {"M": 8, "N": 8, "K": 8, "L": 16}
MESSAGE = "M x K as a and K x N as b.*got 8x8 f16 as a.*16x8 f16 as b"


def test_sizes_that_do_not_fit(lavapipe: vulkan.Session) -> None:
    """Refused before the driver sees them."""
    artifact = coopc.compile(of_lavapipe("row_major"), "coopc-khr{device=lavapipe}")
    a, b = inputs(8, 8, 8)
    call = pack(artifact.interface[0], [a, b, np.zeros((8, 8), np.float32)], ONE)
    with pytest.raises(RunFailed, match=MESSAGE):
        on_vulkan(artifact.bytes, call, lavapipe, spec=MISFITS)
    with pytest.raises(ValueError, match="which has M, N, K, L, S, order, got Q"):
        on_vulkan(artifact.bytes, call, lavapipe, spec={"Q": 8})


def test_sizes_that_do_not_fit_opencl(intel_amx: opencl.Session) -> None:
    artifact = coopc.compile(sizes_only(), "coopc-khr{device=intel-cpu}")
    a, b = inputs(8, 8, 8)
    call = pack(artifact.interface[0], [a, b, np.zeros((8, 8), np.float32)], ONE)
    with pytest.raises(RunFailed, match=MESSAGE):
        on_opencl(artifact.bytes, call, intel_amx, spec=MISFITS)
    with pytest.raises(ValueError, match="which has M, N, K, L, S, order, got Q"):
        on_opencl(artifact.bytes, call, intel_amx, spec={"Q": 8})


ROWS = """
coopmatrix.spec_constant @M = 16 : i32
coopmatrix.spec_constant @N = 16 : i32
func.func @k(%a: memref<32xCOLUMNSxi32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major
    : memref<32xCOLUMNSxi32> -> !coopmatrix.matrix<@M x @N x i32, acc>
  coopmatrix.store %x, %a[%0, COLUMN] row_major
    : !coopmatrix.matrix<@M x @N x i32, acc>, memref<32xCOLUMNSxi32>
  func.return
}
"""


@pytest.mark.parametrize(
    ("columns", "column", "staged"),
    [(20, "%0", False), (18, "%0", True), (20, "%x", True)],
)
def test_rows_that_are_not_aligned(columns: int, column: str, staged: bool) -> None:
    """Are accessed by lanes, as are those of matrices whose sizes are numbers."""
    text = ROWS.replace("COLUMNS", str(columns)).replace("COLUMN", column)
    if column == "%x":
        text = text.replace("%x]", "%three]")
        text = text.replace("  %x =", "  %three = arith.constant 3 : index\n  %x =")
    for one in (text, text.replace("@M x @N x ", "16x16x")):
        found = coopc.compile(one, "coopc-khr{device=nvidia}", "spirv")
        whole = re.findall("OpCooperativeMatrix(?:Load|Store)KHR", found.text)
        by_lanes = re.findall("OpAccessChain %ptr_StorageBuffer_uint", found.text)
        assert len(whole) == 2
        assert len(by_lanes) == 2
        assert any("16-byte aligned" in str(x) for x in found.remarks) == staged
        assert ("OpControlBarrier" in found.text) == staged
