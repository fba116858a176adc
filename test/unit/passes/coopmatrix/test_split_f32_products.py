"""f32 multiplied by parts: within its bound, and nothing less exact is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.native import tiles_of
from support.programs import module_of
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix
from coopc.passes.coopmatrix.split_f32_products import SplitF32ProductsPass
from coopc.rounding import PRECISIONS, PrecisionName
from coopc.sim.numerics import rounded
from coopc.sim.simulate import Options, simulate
from coopc.sim.tracked import Inputs
from coopc.sim.values import Array
from coopc.tools.coopc_run import main
from coopc.validate.compare import compare
from coopc.validate.step import first_mismatch

SPLIT: tuple[PrecisionName, ...] = ("bf16x3", "f16x3")
TYPES = {"bf16": BFloat16Type(), "f16": Float16Type()}
KERNEL = """
func.func @k(%a: memref<16x16xf32>, %b: memref<16x16xf32>, %c: memref<16x16xf32>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major
      : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, a>
  %y = coopmatrix.load %b[%0, %0] row_major
      : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, b>
  %z = coopmatrix.load %c[%0, %0] row_major
      : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  %r = coopmatrix.mul_add %x, %y, %z : !coopmatrix.matrix<16x16xf32, a>,
      !coopmatrix.matrix<16x16xf32, b>, !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.store %r, %c[%0, %0] row_major
      : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  func.return
}"""
MATMUL = """
func.func @k(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>)
      outs(%c : memref<?x?xf32>)
  func.return
}"""


def split(precision: PrecisionName) -> ModuleOp:
    module = module_of(KERNEL)
    SplitF32ProductsPass(precision, "amx").apply(cast("Any", None), module)
    module.verify()
    assert coopmatrix.precision_of(module) == precision
    return module


def run(module: ModuleOp, a: Array, b: Array) -> Array:
    c = np.zeros((16, 16), np.float32)
    simulate(module, "k", [a.copy(), b.copy(), c], grid=(1,))
    return c


def expected(a: Array, b: Array, precision: PrecisionName) -> tuple[Array, Array]:
    """Return the product in f32, and the bound for a way to compute it."""
    c = np.zeros((16, 16), np.float32)
    module = module_of(KERNEL)
    options = Options(track=Inputs.REAL, precision=precision, grid=(1,))
    errors = simulate(module, "k", [a.copy(), b.copy(), c], options).errors[2]
    assert errors is not None
    return c, errors


def normal(seed: int, scale: float = 1.0) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    a, b = (random.standard_normal((16, 16)) * scale for _ in "ab")
    return a.astype(np.float32), b.astype(np.float32)


# The law of `PRECISIONS`: a product of parts is within its error.


def parts(x: Array, precision: PrecisionName) -> list[Array]:
    its, found = PRECISIONS[precision], list[Array]()
    rest = x.astype(np.float64)
    for _ in range(its.parts):
        scale = 2.0 ** (its.shift * len(found))
        found.append(rounded(rest * scale, TYPES[its.format]).astype(np.float64))
        found[-1] = found[-1] / scale
        rest = rest - found[-1]
    return found


@pytest.mark.parametrize("precision", ["bf16x3", "f16x3", "bf16", "f16"])
@given(st.floats(2**-13, 2**15, width=32), st.floats(2**-13, 2**15, width=32))
def test_error_of_a_product(precision: PrecisionName, x: float, y: float) -> None:
    a, b = (parts(np.array([each]), precision) for each in (x, y))
    pairs = [(0, 0)] if len(a) == 1 else [(0, 0), (0, 1), (1, 0)]
    found = sum(a[i] * b[j] for i, j in pairs)
    assert abs(found - x * y) <= PRECISIONS[precision].error * abs(x * y)


# Programs


@pytest.mark.parametrize("scale", [1.0, 2.0**-9, 2.0**9])
@pytest.mark.parametrize("precision", ["bf16x3", "f16x3", "bf16", "f16"])
def test_within_its_bound(precision: PrecisionName, scale: float) -> None:
    for seed in range(4):
        a, b = normal(seed, scale)
        want, bound = expected(a, b, precision)
        assert compare(run(split(precision), a, b), want, bound=2 * bound).ok


@pytest.mark.parametrize(
    ("less", "more", "least"),
    [("bf16", "bf16x3", 64), ("f16", "bf16x3", 8), ("bf16x3", "f16x3", 1)],
)
def test_what_is_less_exact_fails(
    less: PrecisionName, more: PrecisionName, least: int
) -> None:
    a, b = normal(0)
    want, bound = expected(a, b, more)
    found = compare(run(split(less), a, b), want, bound=2 * bound)
    assert found.wrong >= least


def drop(module: ModuleOp, which: int) -> None:
    """Leave out a product."""
    op = [x for x in module.walk() if isinstance(x, coopmatrix.MulAddOp)][which]
    Rewriter.replace_op(op, [], [op.c])


def swap(module: ModuleOp, which: int) -> None:
    """Convert hi where lo is to be."""
    ops = [x for x in module.walk() if isinstance(x, coopmatrix.ConvertOp)]
    ops[which].operands[0] = ops[which - 1].value


FAULTS: dict[str, Callable[[ModuleOp], None]] = {
    "no hi lo": lambda module: drop(module, 0),
    "no lo hi": lambda module: drop(module, 1),
    "no hi hi": lambda module: drop(module, 2),
    "lo is hi": lambda module: swap(module, 1),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("precision", SPLIT)
def test_faults_are_found(precision: PrecisionName, fault: str) -> None:
    """In the step that splits, and in a later one, which only sees the parts."""
    before, right = module_of(KERNEL), split(precision)
    wrong = right.clone()
    FAULTS[fault](wrong)
    for earlier in (before, right):
        assert first_mismatch(earlier, right) is None
        assert first_mismatch(earlier, wrong) is not None


SPECIAL = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -3.3, 1e-3, 60000.1, -65535.5)


@pytest.mark.parametrize("precision", SPLIT)
def test_infinities_and_nan(precision: PrecisionName) -> None:
    """Every pair of special numbers gives what f32 gives."""
    more = (3.4e38, -3.4e38, 2.5**40) if precision == "bf16x3" else ()
    values = np.array([*SPECIAL, *more], np.float32)
    a, b = (np.zeros((16, 16), np.float32) for _ in "ab")
    a[: len(values), 0], b[0, : len(values)] = values, values
    with np.errstate(all="ignore"):
        want = np.zeros((16, 16), np.float32) + a[:, :1] * b[:1]
    found = run(split(precision), a, b)
    bound = np.where(np.isfinite(want), 2.0**-15 * np.abs(want.astype(float)), 0.0)
    assert compare(found, want, bound=bound + 2.0**-120).ok


@pytest.mark.parametrize("value", [65536.0, -1e9, 3e38])
@pytest.mark.parametrize("precision", ["f16x3", "f16"])
def test_overflow_of_f16_is_no_number(precision: PrecisionName, value: float) -> None:
    a, b = normal(0)
    a[3, 5] = value
    found = run(split(precision), a, b)
    assert not np.isfinite(found[3]).any()
    assert np.isfinite(np.delete(found, 3, 0)).all()


# Engines

ENGINES = {
    "khr": "--on vulkan -p coopc-khr{device=lavapipe:precision=f16x3}",
    "khr, one": "--on vulkan -p coopc-khr{device=lavapipe:precision=f16}",
    "xe": "--on opencl -p coopc-xe{device=bmg:emulate=true:precision=bf16x3}",
    "xe, tf32": "--on opencl -p coopc-xe{device=bmg:emulate=true:precision=tf32}",
    "amx": "--on cpu -p coopc-amx{precision=bf16x3}",
    "amx, f16": "--on cpu -p coopc-amx{precision=f16x3}",
    "amx, one": "--on cpu -p coopc-amx{precision=bf16}",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_engines(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A product of ragged sizes agrees with the simulator, within the bound."""
    words = [x.replace(":", " ") for x in ENGINES[engine].split()]
    for place, fixture in (("vulkan", "lavapipe"), ("opencl", "intel_cpu")):
        if place in words:
            request.getfixturevalue(fixture)
    if "cpu" in words:
        words += ["--tiles", tiles_of("f16" if "f16x3" in words[-1] else "bf16")]
    (tmp_path / "k.mlir").write_text(MATMUL)
    random, given = np.random.default_rng(3), list[str]()
    for name, shape in {"a": (20, 36), "b": (36, 28), "c": (20, 28)}.items():
        path = tmp_path / f"{name}.npy"
        np.save(path, random.standard_normal(shape).astype(np.float32))
        given += ["--arg", f"{name}={path}"]
    assert main([str(tmp_path / "k.mlir"), *words, *given, "--check"]) == 0
