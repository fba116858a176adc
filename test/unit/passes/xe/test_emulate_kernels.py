"""Whole kernels for Xe, emulated on Intel's CPU run-time, against numpy.

What they are planned for decides: the messages, who holds what, the products.  A few
run by default; `COOPC_EMULATE=all` runs every kernel on every device, in 16 and in 32
lanes, and at 256 x 256 x 128.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.interface_call import pack
from coopc.run import opencl
from coopc.run.execute import on_opencl
from coopc.sim.numerics import to_bf16

Array: TypeAlias = npt.NDArray[Any]

INPUTS = Path(__file__).parents[3] / "inputs"
IS_ALL = os.environ.get("COOPC_EMULATE") == "all"
LARGE, RAGGED, SMALL = (256, 256, 128), (200, 208, 80), (16, 64, 64)
"""M, N and K: rows, columns and steps that end within tiles are the second ones."""


@dataclass(frozen=True)
class Gemm:
    """C = A B, or A Bᵀ."""

    name: str
    element: str
    """Of A and B, as numpy writes it, or bf16."""
    result: str
    tile: tuple[int, int]
    """Of a work-group."""
    is_transposed: bool = False

    def __str__(self) -> str:
        """For pytest."""
        return self.name


GEMMS = [
    Gemm("gemm_axb", "f2", "f4", (256, 256)),
    Gemm("gemm_axb_32x32", "f2", "f4", (256, 128)),
    Gemm("gemm_axbt", "f2", "f4", (256, 256), is_transposed=True),
    Gemm("gemm_axbt_32x32", "f2", "f4", (256, 128), is_transposed=True),
    Gemm("gemm_bf16", "bf16", "f4", (256, 256)),
    Gemm("gemm_i8", "i1", "i4", (256, 256)),
    Gemm("gemm_tf32", "f4", "f4", (256, 256)),
]
EVERYTHING = [
    (gemm, device, lanes, sizes)
    for gemm in GEMMS
    for device in ("bmg", "pvc")
    for lanes in (16, 32)
    for sizes in (LARGE, RAGGED, SMALL)
]
SOME = [
    *((gemm, "bmg", 16, RAGGED) for gemm in GEMMS if "32x32" not in gemm.name),
    (GEMMS[0], "bmg", 16, LARGE),
    (GEMMS[2], "pvc", 32, RAGGED),
    (GEMMS[5], "bmg", 32, RAGGED),
]


def of_lanes(name: str, lanes: int) -> str:
    """Return a kernel of Triton's, in subgroups of so many lanes."""
    text = (INPUTS / "ttgir" / f"{name}.ttgir").read_text()
    for what in ("threadsPerWarp = ", '"ttg.threads-per-warp" = '):
        text = text.replace(f"{what}16", f"{what}{lanes}")
    return text


def run(
    text: str,
    device: str,
    arguments: Sequence[Any],
    groups: tuple[int, int, int] | None,
    session: opencl.Session,
    options: str = "",
) -> tuple[Array, ...]:
    """Return what the arrays are after a kernel that is emulated."""
    pipeline = f"coopc-xe{{device={device} {options} emulate=true}}"
    artifact = coopc.compile(text, pipeline, "spirv-binary")
    (interface,) = artifact.interface
    call = pack(interface, arguments, groups)
    return on_opencl(artifact.bytes, call, session, seconds=600).arrays


def stored(numbers: Array, element: str) -> Array:
    """Return integers as an element type."""
    return to_bf16(numbers) if element == "bf16" else numbers.astype(element)


def factors(
    gemm: Gemm, sizes: tuple[int, int, int]
) -> tuple[Array, Array, Array, Array]:
    """Return A and B as they are in memory, a C to be overwritten, and A B."""
    m, n, k = sizes
    random = np.random.default_rng(m + n + k)
    most = 127 if gemm.element == "i1" else 8
    a, b = random.integers(-most, most, (m, k)), random.integers(-most, most, (k, n))
    in_memory = np.ascontiguousarray(b.T if gemm.is_transposed else b)
    c = np.full((m, n), 77, gemm.result)
    return stored(a, gemm.element), stored(in_memory, gemm.element), c, a @ b


@pytest.mark.parametrize(
    ("gemm", "device", "lanes", "sizes"), EVERYTHING if IS_ALL else SOME
)
def test_gemm(
    gemm: Gemm,
    device: str,
    lanes: int,
    sizes: tuple[int, int, int],
    intel_cpu: opencl.Session,
) -> None:
    a, b, c, product = factors(gemm, sizes)
    m, n, k = sizes
    groups = -(-m // gemm.tile[0]), -(-n // gemm.tile[1]), 1
    arguments = [a, b, c, m, n, k]
    text = of_lanes(gemm.name, lanes)
    after = run(text, device, arguments, groups, intel_cpu)
    assert np.array_equal(after[2], product)


@pytest.mark.parametrize("options", ["prefetch=3", "payload=all prefetch=2"])
@pytest.mark.parametrize("gemm", [GEMMS[1], GEMMS[3]], ids=str)
def test_prefetches_and_payloads(
    gemm: Gemm, options: str, intel_cpu: opencl.Session
) -> None:
    a, b, c, product = factors(gemm, RAGGED)
    m, n, k = RAGGED
    groups = -(-m // gemm.tile[0]), -(-n // gemm.tile[1]), 1
    text = of_lanes(gemm.name, 16)
    after = run(text, "bmg", [a, b, c, m, n, k], groups, intel_cpu, options)
    assert np.array_equal(after[2], product)


@pytest.mark.parametrize("sizes", [LARGE, RAGGED] if IS_ALL else [RAGGED])
def test_bias_and_activation(
    sizes: tuple[int, int, int], intel_cpu: opencl.Session
) -> None:
    m, n, k = sizes
    random = np.random.default_rng(n)
    a, b, bias = (random.integers(-3, 4, x).astype("f2") for x in ((m, k), (k, n), n))
    arguments = [a, b, bias, np.zeros((m, n), "f2"), m, n, k]
    groups = -(-m // 256), -(-n // 128), 1
    after = run(of_lanes("gemm_bias_relu", 16), "bmg", arguments, groups, intel_cpu)
    product = a.astype("f4") @ b.astype("f4")
    assert np.array_equal(after[3], np.maximum(product + bias, 0))


@pytest.mark.parametrize("sizes", [LARGE, RAGGED] if IS_ALL else [RAGGED])
def test_pointers(sizes: tuple[int, int, int], intel_cpu: opencl.Session) -> None:
    m, n, k = sizes
    random = np.random.default_rng(k)
    a, b = (random.integers(-3, 4, x).astype("f2") for x in ((m, k), (k, n)))
    arguments = [a, b, np.zeros((m, n), "f4"), m, n, k, k, n, n]
    groups = -(-m // 64), -(-n // 128), 1
    after = run(of_lanes("gemm_ptr", 16), "bmg", arguments, groups, intel_cpu)
    assert np.array_equal(after[2], a.astype("f4") @ b.astype("f4"))


ATTENTION = [
    (device, lanes, heads, length)
    for device in ("bmg", "pvc")
    for lanes in (16, 32)
    for heads, length in ((2, 256), (1, 200))
]


@pytest.mark.parametrize(
    ("device", "lanes", "heads", "length"),
    # Two heads: their memory begins at run-time offsets.
    ATTENTION if IS_ALL else [("bmg", 16, 2, 88), ("pvc", 32, 1, 88)],
)
def test_attention(
    device: str, lanes: int, heads: int, length: int, intel_cpu: opencl.Session
) -> None:
    random = np.random.default_rng(length)
    shape = (heads, length, 64)
    q, k, v = (random.standard_normal(shape).astype("f2") for _ in range(3))
    scale = float(np.log2(np.e) / 8)
    arguments = [q, k, v, np.zeros(shape, "f2"), length, scale]
    text = of_lanes("flash_attention_fwd", lanes)
    groups = -(-length // 128), heads, 1
    found = run(text, device, arguments, groups, intel_cpu)[3].astype("f8")
    scores = q.astype("f8") @ k.astype("f8").transpose(0, 2, 1) / 8
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights @ v.astype("f8") / weights.sum(-1, keepdims=True)
    # As in test_convert_ttgir.py: three roundings to f16.
    assert np.abs(found - expected).max() <= 3 * 2.0**-11 * np.abs(v).max()


MATRICES = [
    gemm for gemm in GEMMS if "32x32" not in gemm.name and "tf" not in gemm.name
]
OF_MATRICES = [
    (gemm, device, sizes)
    for gemm in MATRICES
    for device in ("dg2", "bmg", "pvc")
    for sizes in (LARGE, RAGGED)
]


@pytest.mark.parametrize(
    ("gemm", "device", "sizes"),
    OF_MATRICES if IS_ALL else [(MATRICES[0], "dg2", RAGGED), OF_MATRICES[-3]],
)
def test_matrices(
    gemm: Gemm,
    device: str,
    sizes: tuple[int, int, int],
    intel_cpu: opencl.Session,
) -> None:
    # Subgroups of 8 lanes on dg2, which has no 2D blocks.
    a, b, c, product = factors(gemm, sizes)
    text = (INPUTS / "coopmatrix" / f"{gemm.name}.mlir").read_text()
    after = run(text, device, [a, b, c], None, intel_cpu)
    assert np.array_equal(after[2], product)


@pytest.mark.parametrize(("device", "cols"), [("dg2", 8), ("bmg", 16)])
def test_lanes_that_store_nothing(
    device: str, cols: int, intel_cpu: opencl.Session
) -> None:
    """Their elements of A take part in the product."""
    a, b = "!coopmatrix.matrix<8x16xf16, a>", f"!coopmatrix.matrix<16x{cols}xf16, b>"
    c = f"!coopmatrix.matrix<8x{cols}xf32, acc>"
    text = f"""
func.func @f(%a: memref<8x11xf16>, %b: memref<11x7xf16>, %c: memref<8x7xf32>)
    attributes {{simt.kernel, simt.grid = affine_map<() -> (1)>}} {{
  %0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %at = coopmatrix.load %a[%0, %0] row_major checked(cols) : memref<8x11xf16> -> {a}
  %bt = coopmatrix.load %b[%0, %0] row_major checked(rows, cols)
      : memref<11x7xf16> -> {b}
  %ct = coopmatrix.fill %zero : f32 -> {c}
  %d = coopmatrix.mul_add %at, %bt, %ct : {a}, {b}, {c}
  coopmatrix.store %d, %c[%0, %0] row_major checked(cols) : {c}, memref<8x7xf32>
  func.return
}}"""
    a, b, c, product = factors(GEMMS[0], (8, 7, 11))
    assert np.array_equal(run(text, device, [a, b, c], None, intel_cpu)[2], product)
