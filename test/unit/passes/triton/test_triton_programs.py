"""Everyday kernels of Triton: simulated, on a run-time, by Intel's compiler."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.compiler import new_context
from coopc.interface_call import pack
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run import opencl
from coopc.run.execute import on_opencl
from coopc.run.isa import CLEAN
from coopc.run.offline_compiler import compile_kernel
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

Array = npt.NDArray[Any]

INPUTS = Path(__file__).parents[3] / "inputs" / "ttgir"
F32, F16 = 2.0**-24, 2.0**-11
"""Half a unit in the last place of 1."""


@dataclass
class Call:
    """Arguments of a kernel, and what becomes of them."""

    arguments: list[Any]
    grid: tuple[int, int, int]
    check: Callable[[list[Any]], None]
    """On the arguments afterwards."""


def softmax(rows: int, cols: int) -> Call:
    """Rows in a matrix with gaps; four work-groups for them all."""
    x = np.random.default_rng(rows).standard_normal((rows, cols + 3)).astype("f4")
    out = np.full((rows, cols + 16), 7, "f4")

    def check(after: list[Any]) -> None:
        wide = x[:, :cols].astype("f8")
        weights = np.exp(wide - wide.max(1, keepdims=True))
        expected = weights / weights.sum(1, keepdims=True)
        # A function of 3 units, a quotient of 2.5, ten additions, and what they are of.
        error = abs(after[0][:, :cols] - expected)
        assert (error <= 32 * F32 * expected).all()
        assert (after[0][:, cols:] == 7).all()

    arguments = [out, x, x.shape[1], out.shape[1], rows, cols]
    return Call(arguments, (4, 1, 1), check)


def layer_norm(rows: int, cols: int) -> Call:
    """Rows of more than one block, with a scale and a bias for each column."""
    random = np.random.default_rng(cols)
    x = (random.standard_normal((rows, cols)) * 2 + 1).astype("f2")
    w, b = (random.standard_normal(cols).astype("f2") for _ in range(2))
    y, mean, rstd = np.zeros_like(x), np.zeros(rows, "f4"), np.zeros(rows, "f4")

    def check(after: list[Any]) -> None:
        wide = x.astype("f8")
        centre = wide.mean(1, keepdims=True)
        scale = 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        expected = (wide - centre) * scale * w + b
        assert np.allclose(after[4], centre[:, 0], rtol=64 * F32, atol=64 * F32)
        assert np.allclose(after[5], scale[:, 0], rtol=64 * F32, atol=0)
        error = abs(after[1] - expected)
        assert (error <= F16 * abs(expected) + 1e-5).all()

    arguments = [x, y, w, b, mean, rstd, cols, cols, 1e-5]
    return Call(arguments, (rows, 1, 1), check)


def gemm_dequant_gelu(m: int, n: int, k: int) -> Call:
    """Integers of 8 bits, whose sums are exact, with a scale for each column."""
    random = np.random.default_rng(m + n)
    a = random.integers(-4, 5, (m, k)).astype("f2")
    w = random.integers(-128, 128, (k, n)).astype("i1")
    scale = random.uniform(0.5, 1.5, n).astype("f4") / 256
    bias = random.standard_normal(n).astype("f2")
    c = np.zeros((m, n), "f2")

    def check(after: list[Any]) -> None:
        x = (a.astype("f8") @ w.astype("f8")) * scale + bias
        erf = np.vectorize(math.erf)(x / math.sqrt(2))
        expected = 0.5 * x * (1 + erf)
        error = abs(after[4] - expected)
        assert (error <= F16 * abs(expected) + 32 * F32 * abs(x) + 2.0**-25).all()

    tiles = -(-m // 128) * -(-n // 128)
    return Call([a, w, scale, bias, c, m, n, k], (tiles, 1, 1), check)


def dropout(size: int) -> Call:
    """Random numbers are those of Philox, to the bit."""
    random = np.random.default_rng(size)
    x = random.standard_normal(size).astype("f4")
    keep = random.integers(0, 2, size).astype("i1")
    out, seed, p = np.zeros_like(x), 12345, 0.3

    def check(after: list[Any]) -> None:
        number = philox(np.arange(size), seed).astype("u4").view("i4")
        positive = np.where(number < 0, -1 - number, number)
        uniform = positive.astype("f4") * np.float32(4.6566127342e-10)
        kept = (uniform >= np.float32(p)) | (keep != 0)
        scaled = x / (np.float32(1) - np.float32(p))
        assert np.array_equal(after[2], np.where(kept, scaled, np.float32(0)))
        assert 0.2 < np.mean(uniform < p) < 0.4

    arguments = [x, keep, out, size, p, seed]
    return Call(arguments, (-(-size // 512), 1, 1), check)


def philox(positions: Array, seed: int) -> Array:
    """Return the first words of Philox-4x32, of 4 rounds."""
    low = (1 << 32) - 1
    c0, k0, k1 = positions.astype("u8"), seed, 0
    c1 = c2 = c3 = np.zeros_like(c0)
    for _ in range(4):
        a, b = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c2 = (b >> 32) ^ c1 ^ k0, (a >> 32) ^ c3 ^ k1
        c1, c3 = b & low, a & low
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    return c0 & low


def gemm_split_k(m: int, n: int, k: int) -> Call:
    """Parts of K added up by several work-groups; a count of all of them."""
    random = np.random.default_rng(k)
    a, b = (random.integers(-4, 5, x).astype("f2") for x in ((m, k), (k, n)))
    c, done = np.zeros((m, n), "f4"), np.zeros(1, "i4")
    grid = (-(-m // 64), -(-n // 64), -(-k // 64))

    def check(after: list[Any]) -> None:
        assert np.array_equal(after[2], a.astype("f4") @ b.astype("f4"))
        assert after[3] == math.prod(grid)

    return Call([a, b, c, done, m, n, k, 64], grid, check)


def gemm_tutorial(m: int, n: int, k: int) -> Call:
    """Tiles that end behind the matrices, whose rows wrap around there."""
    random = np.random.default_rng(m)
    a, b = (random.integers(-4, 5, x).astype("f2") for x in ((m, k), (k, n)))
    c = np.full((m, n), 7, "f4")

    def check(after: list[Any]) -> None:
        product = a.astype("f4") @ b.astype("f4")
        leak = product * np.float32(0.01)
        assert np.array_equal(after[2], np.where(product >= 0, product, leak))

    tiles = -(-m // 64) * -(-n // 128)
    return Call([a, b, c, m, n, k, k, n, n], (tiles, 1, 1), check)


CASES: dict[str, tuple[Callable[..., Call], list[tuple[int, ...]]]] = {
    "softmax": (softmax, [(13, 781), (3, 1024)]),
    "layer_norm": (layer_norm, [(3, 2512), (2, 1024)]),  # multiples of 16, as it says
    "gemm_dequant_gelu": (gemm_dequant_gelu, [(200, 144, 80), (128, 128, 64)]),
    "dropout": (dropout, [(1000,)]),
    "gemm_tutorial": (gemm_tutorial, [(600, 264, 72), (40, 64, 64), (64, 128, 32)]),
    "gemm_split_k": (gemm_split_k, [(100, 80, 208), (64, 64, 128)]),
}
SIZES = [(name, sizes) for name, (_, found) in CASES.items() for sizes in found]
FIRST = [(name, found[0]) for name, (_, found) in CASES.items()]


def text(name: str) -> str:
    return (INPUTS / f"{name}.ttgir").read_text()


@pytest.mark.parametrize("device", [None, "bmg", "pvc"])
@pytest.mark.parametrize(("name", "sizes"), SIZES)
def test_simulated(name: str, sizes: tuple[int, ...], device: str | None) -> None:
    """As Triton has it, and as lanes execute it."""
    universe = everything()
    ctx, source = new_context(universe), Source(text(name), name)
    module = parse(ctx, source)
    call = CASES[name][0](*sizes)
    if device is None:
        simulate(with_functions(module), name, call.arguments, grid=call.grid)
    else:
        passes = f"coopc-xe{{device={device}}}"
        Run(ctx, source).apply(module, read_passes(passes, universe.all_passes))
        simulate(module, name, call.arguments, grid=call.grid)
    call.check(call.arguments)


@pytest.mark.parametrize("size", [2500, 2504])
def test_sizes_that_break_a_promise(size: int, intel_cpu: opencl.Session) -> None:
    """Rows are to be multiples of a vector: others are refused, or have no vectors."""
    pipeline = "coopc-xe{device=bmg emulate=true fallback=true}"
    artifact = coopc.compile(text("layer_norm"), pipeline, "spirv-binary")
    first, second = artifact.interface
    call, is_kept = layer_norm(3, size), size % 8 == 0
    if not is_kept:
        with pytest.raises(ValueError, match="stride: expected a multiple of 8"):
            pack(first, call.arguments, call.grid)
    packed = pack(first if is_kept else second, call.arguments, call.grid)
    found = iter(on_opencl(artifact.bytes, packed, intel_cpu, seconds=600).arrays)
    is_array = [isinstance(x, np.ndarray) for x in call.arguments]
    call.check([next(found) if each else None for each in is_array])


@pytest.mark.parametrize(("name", "sizes"), FIRST)
def test_emulated(name: str, sizes: tuple[int, ...], intel_cpu: opencl.Session) -> None:
    """As Intel's run-time for CPUs executes it."""
    call = CASES[name][0](*sizes)
    pipeline = "coopc-xe{device=bmg emulate=true}"
    artifact = coopc.compile(text(name), pipeline, "spirv-binary")
    (interface,) = artifact.interface
    packed = pack(interface, call.arguments, call.grid)
    found = iter(on_opencl(artifact.bytes, packed, intel_cpu, seconds=600).arrays)
    is_array = [isinstance(x, np.ndarray) for x in call.arguments]
    call.check([next(found) if each else None for each in is_array])


COUNTS = {
    # lanes of a subgroup, DPAS, 2D loads and stores of the kernel
    "softmax": (32, 0, 0, 0),
    "layer_norm": (32, 0, 0, 0),
    "gemm_dequant_gelu": (16, 16, 2, 8),
    "dropout": (32, 0, 0, 0),
    "gemm_tutorial": (16, 16, 2, 8),
    "gemm_split_k": (16, 8, 2, 0),
}


def back_end() -> Callable[[str], bytes]:
    """Return what makes SPIR-V of LLVM IR, as another test has it."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    path = Path(__file__).parents[2] / "emit" / "test_llvm_spir64.py"
    spec = spec_from_file_location("test_llvm_spir64", path)
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found.spirv


@pytest.mark.parametrize("device", ["bmg", "pvc"])
@pytest.mark.parametrize("name", COUNTS)
def test_by_intels_compiler(
    name: str, device: str, tool: Callable[[str], Path]
) -> None:
    """Both emitters give what was planned, without spills and calls."""
    tool("ocloc")
    simd, dpas, load2d, store2d = COUNTS[name]
    expected = {**CLEAN, "simd": simd, "dpas": dpas}
    expected |= {"load2d": load2d, "store2d": store2d}
    pipeline = f"coopc-xe{{device={device}}}"
    binary = coopc.compile(text(name), pipeline, "spirv-binary").bytes
    llvm = coopc.compile(text(name), pipeline, f"llvm-ir{{device={device}}}").text
    for each in (binary, back_end()(llvm)):
        isa = compile_kernel(each, device, registers=256)
        assert isa.check({f"{name}:{key}": x for key, x in expected.items()}, {}) == ()


PRODUCT = """
tt.func public @product(%a: !tt.ptr<IN>, %b: !tt.ptr<IN>, %c: !tt.ptr<OUT>) {
  %zero = arith.constant dense<ZERO> : tensor<16x16xOUT>
  %side = arith.constant dense<16> : tensor<16x1xi32>
  %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %down = tt.expand_dims %range {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %right = tt.expand_dims %range {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %rows = arith.muli %down, %side : tensor<16x1xi32>
  %x = tt.broadcast %rows : tensor<16x1xi32> -> tensor<16x16xi32>
  %y = tt.broadcast %right : tensor<1x16xi32> -> tensor<16x16xi32>
  %at = arith.addi %x, %y : tensor<16x16xi32>
  %a_all = tt.splat %a : !tt.ptr<IN> -> tensor<16x16x!tt.ptr<IN>>
  %b_all = tt.splat %b : !tt.ptr<IN> -> tensor<16x16x!tt.ptr<IN>>
  %c_all = tt.splat %c : !tt.ptr<OUT> -> tensor<16x16x!tt.ptr<OUT>>
  %a_at = tt.addptr %a_all, %at : tensor<16x16x!tt.ptr<IN>>, tensor<16x16xi32>
  %b_at = tt.addptr %b_all, %at : tensor<16x16x!tt.ptr<IN>>, tensor<16x16xi32>
  %c_at = tt.addptr %c_all, %at : tensor<16x16x!tt.ptr<OUT>>, tensor<16x16xi32>
  %one = tt.load %a_at : tensor<16x16x!tt.ptr<IN>>
  %other = tt.load %b_at : tensor<16x16x!tt.ptr<IN>>
  %d = tt.dot %one, %other, %zero, inputPrecision = ieee
    : tensor<16x16xIN> * tensor<16x16xIN> -> tensor<16x16xOUT>
  tt.store %c_at, %d : tensor<16x16x!tt.ptr<OUT>>
  tt.return
}
"""


@pytest.mark.parametrize(
    ("element", "sum", "zero", "scale"),
    [("f32", "f32", "0.0", 1 + 2**-11), ("i8", "i32", "0", 1)],
)
def test_products_that_dpas_does_not(
    element: str, sum: str, zero: str, scale: float, intel_cpu: opencl.Session
) -> None:
    """Exact products of f32, of more bits than tf32 has, and 16 of K in bytes."""
    kernel = PRODUCT.replace("IN", element).replace("OUT", sum).replace("ZERO", zero)
    types = {"f32": np.float32, "i8": np.int8, "i32": np.int32}
    random = np.random.default_rng(3)
    a, b = (
        (random.integers(-9, 10, (16, 16)) * each).astype(types[element])
        for each in (scale, 1)
    )
    c = np.zeros((16, 16), types[sum])
    passes = "coopc-xe{device=bmg emulate=true}"
    coopc.launch(kernel, a, b, c, on="opencl", pipeline=passes, grid=1)
    assert np.array_equal(c, a.astype(np.float64) @ b.astype(np.float64))
