"""Matrix multiplications on a GPU that the system's Vulkan loader offers, exactly.

Run it where there is one: `pytest test/device`.  Elsewhere a test says what it lacks.
"""

import numpy as np
import pytest

import coopc
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session

TYPES = {
    "f16_f32": ("f16", "f32", ""),
    "f16_f16": ("f16", "f16", ""),
    "bf16_f32": ("bf16", "f32", ""),
    "s8_s32": ("i8", "i32", "signed(a, b, c, result)"),
    "u8_u32": ("i8", "i32", ""),
}
NUMPY = {"f16": "f2", "bf16": "u2", "f32": "f4", "i8": "i1", "i32": "i4"}


def kernel(types: str, k: int) -> str:
    ab, c, keywords = TYPES[types]
    matrix = "!coopmatrix.matrix<32x32x"
    grid = "affine_map<(m, n, m1, n1) -> (n floordiv 32, m floordiv 32)>"
    return f"""
func.func @gemm(%a: memref<?x{k}x{ab}>, %b: memref<{k}x?x{ab}>, %c: memref<?x?x{c}>)
    attributes {{simt.kernel, simt.grid = {grid}}} {{
  %c0 = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant {k} : index
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %step : index
  %col = arith.muli %x, %step : index
  %zero = arith.constant 0{".0" if c[0] == "f" else ""} : {c}
  %init = coopmatrix.fill %zero : {c} -> {matrix}{c}, acc>
  %sum = scf.for %k = %c0 to %end step %step iter_args(%acc = %init)
      -> ({matrix}{c}, acc>) {{
    %at = coopmatrix.load %a[%row, %k] row_major
        : memref<?x{k}x{ab}> -> {matrix}{ab}, a>
    %bt = coopmatrix.load %b[%k, %col] row_major
        : memref<{k}x?x{ab}> -> {matrix}{ab}, b>
    %next = coopmatrix.mul_add %at, %bt, %acc {keywords}
        : {matrix}{ab}, a>, {matrix}{ab}, b>, {matrix}{c}, acc>
    scf.yield %next : {matrix}{c}, acc>
  }}
  coopmatrix.store %sum, %c[%row, %col] row_major : {matrix}{c}, acc>, memref<?x?x{c}>
  func.return
}}
"""


def bits(values: np.ndarray, element: str) -> np.ndarray:
    if element == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(NUMPY[element])


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize(
    ("m", "n", "k"), [(32, 32, 32), (96, 64, 128), (512, 512, 512)]
)
def test_gemm(types: str, m: int, n: int, k: int, gpu: Session) -> None:
    ab, c, _ = TYPES[types]
    generator = np.random.default_rng(m + n + k)
    low, high = (-128, 128) if types == "s8_s32" else (0, 128)
    if ab != "i8":
        low, high = -1, 2
    a = generator.integers(low, high, (m, k))
    b = generator.integers(low, high, (k, n))
    artifact = coopc.compile(
        kernel(types, k), "coopc-khr{device=nvidia}", "spirv-binary"
    )
    out = np.zeros((m, n), NUMPY[c])
    call = pack(artifact.interface[0], [bits(a, ab), bits(b, ab), out])
    outcome = on_vulkan(artifact.bytes, call, gpu, repeats=5)
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(NUMPY[c])
    assert (outcome.arrays[2] == expected).all()
    rate = 2e-9 * m * n * k / outcome.median_milliseconds
    print(f"{types} {m}x{n}x{k}: {outcome.median_milliseconds:.4f} ms, {rate:.2f} TF/s")
