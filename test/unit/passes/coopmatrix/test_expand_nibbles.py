"""Numbers of 4 bits, two in a byte, on the simulator and on every engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.native import tiles_of
from support.nibbles import halves, signed

from coopc.sim.numerics import decoded
from coopc.tools.coopc_run import main

Array = npt.NDArray[Any]

XE = ("--on", "opencl", "-p", "coopc-xe{device=bmg emulate=true}")
ENGINES = {
    "sim": ("--on", "sim"),
    "khr": ("--on", "vulkan", "-p", "coopc-khr{device=lavapipe}"),
    "lanes": ("--on", "vulkan", "-p", "coopc-lanes{device=lavapipe}"),
    "opencl": ("--on", "opencl", "-p", "coopc-lanes{device=intel-cpu}"),
    "cpu": ("--on", "cpu", "--tiles", "none"),
    "amx": ("--on", "cpu", "--tiles"),
    "xe": XE,
}
EXAMPLE = Path(__file__).parents[4] / "examples" / "mxfp4_gemm.mlir"


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name in ("khr", "lanes"):
        request.getfixturevalue("lavapipe")
    if name in ("opencl", "xe"):
        request.getfixturevalue("intel_cpu")
    return name


def run(
    folder: Path,
    program: Path,
    engine: str,
    given: Mapping[str, Array],
    *results: str,
    element: str = "i8",
) -> list[Array]:
    """Return what arguments are after a kernel has run.

    Args:
        folder: where arrays are saved.
        program: with the kernel.
        engine: in `ENGINES`.
        given: its arrays, by their names.
        results: names of those that are returned.
        element: what tiles of AMX multiply.
    """
    words = [*ENGINES[engine], *([tiles_of(element)] if engine == "amx" else [])]
    arguments: list[str] = []
    for name, array in given.items():
        np.save(folder / f"{name}.npy", array)
        arguments += ["--arg", f"{name}={folder / name}.npy"]
    for name in results:
        arguments += ["--save", f"{name}={folder / name}.out.npy"]
    assert main([str(program), *words, *arguments]) == 0
    return [np.load(folder / f"{name}.out.npy") for name in results]


def product(m: int, n: int, k: int, b_layout: str, checked: str) -> str:
    """Return a kernel that multiplies two matrices of i4; b is in rows or columns."""
    width = k + k % 2
    shape = (n, k) if b_layout == "col_major" else (k, n)
    wide = shape[1] + shape[1] % 2
    a = f"memref<{m}x{k}xi4, strided<[{width}, 1]>>"
    b = f"memref<{shape[0]}x{shape[1]}xi4, strided<[{wide}, 1]>>"
    c = f"memref<{m}x{n}xi32>"
    # More than is there, where it is checked.
    more = 1 if checked else 0
    types = (
        f"!coopmatrix.matrix<{m + more}x{k + more}xi4, a>",
        f"!coopmatrix.matrix<{k + more}x{n + more}xi4, b>",
        f"!coopmatrix.matrix<{m + more}x{n + more}xi32, acc>",
    )
    return f"""
    func.func @k(%a: {a}, %b: {b}, %c: {c}) attributes {{simt.kernel,
        simt.grid = affine_map<() -> (1)>}} {{
      %0 = arith.constant 0 : index
      %zero = arith.constant 0 : i32
      %x = coopmatrix.load %a[%0, %0] row_major {checked} : {a} -> {types[0]}
      %y = coopmatrix.load %b[%0, %0] {b_layout} {checked} : {b} -> {types[1]}
      %z = coopmatrix.fill %zero : i32 -> {types[2]}
      %s = coopmatrix.mul_add %x, %y, %z signed(a, c, result)
          : {types[0]}, {types[1]}, {types[2]}
      coopmatrix.store %s, %c[%0, %0] row_major {checked} : {types[2]}, {c}
      func.return
    }}"""


@pytest.mark.parametrize("b_layout", ["row_major", "col_major"])
@pytest.mark.parametrize(
    ("m", "n", "k", "checked"),
    [(8, 16, 64, ""), (5, 7, 9, "checked(rows, cols)")],
    ids=["whole", "ragged"],
)
def test_products(
    engine: str, m: int, n: int, k: int, checked: str, b_layout: str, tmp_path: Path
) -> None:
    """Signed a, unsigned b; odd sizes are in rows of whole bytes."""
    if engine == "xe" and checked:
        pytest.skip("no matrix of DPAS")
    random = np.random.default_rng(m)
    shape = (n, k) if b_layout == "col_major" else (k, n)
    a, b = (
        random.integers(0, 256, (rows, -(-cols // 2)), dtype=np.uint8)
        for rows, cols in ((m, k), shape)
    )
    program = tmp_path / "k.mlir"
    program.write_text(product(m, n, k, b_layout, checked))
    given = {"a": a, "b": b, "c": np.zeros((m, n), np.int32)}
    (found,) = run(tmp_path, program, engine, given, "c")
    left, right = signed(halves(a)[:, :k]), halves(b)[:, : shape[1]].astype(np.int32)
    expected = left @ (right.T if b_layout == "col_major" else right)
    assert np.array_equal(found, expected)


CHANGES = """
    func.func @k(%a: memref<6x8xi4>, %c: memref<6x8xi4>, %d: memref<8x3xi8>,
                 %e: memref<6x8xi4>, %f: memref<6x8xf32>,
                 %g: memref<6x8xf16>, %h: memref<6x8xi4>) attributes {simt.kernel,
        simt.grid = affine_map<() -> (1)>} {
      %0 = arith.constant 0 : index
      %2 = arith.constant 2 : index
      %six = arith.constant 6 : i4
      %x = coopmatrix.load %a[%0, %0] row_major
          : memref<6x8xi4> -> !coopmatrix.matrix<6x8xi4, acc>
      %y = coopmatrix.add %x, %x : !coopmatrix.matrix<6x8xi4, acc>
      %z = coopmatrix.scale %y, %six : !coopmatrix.matrix<6x8xi4, acc>, i4
      coopmatrix.store %z, %c[%0, %0] row_major
          : !coopmatrix.matrix<6x8xi4, acc>, memref<6x8xi4>
      coopmatrix.store %x, %d[%0, %0] col_major
          : !coopmatrix.matrix<6x8xi4, acc>, memref<8x3xi8>
      %part = coopmatrix.load %a[%2, %2] row_major
          : memref<6x8xi4> -> !coopmatrix.matrix<4x6xi4, acc>
      %by = arith.constant 3 : i4
      %three = coopmatrix.fill %by : i4 -> !coopmatrix.matrix<4x6xi4, acc>
      %q = coopmatrix.div %part, %three : !coopmatrix.matrix<4x6xi4, acc>
      coopmatrix.store %q, %e[%2, %2] row_major
          : !coopmatrix.matrix<4x6xi4, acc>, memref<6x8xi4>
      %w = coopmatrix.convert %x
          : !coopmatrix.matrix<6x8xi4, acc> -> !coopmatrix.matrix<6x8xf32, acc>
      coopmatrix.store %w, %f[%0, %0] row_major
          : !coopmatrix.matrix<6x8xf32, acc>, memref<6x8xf32>
      %s = coopmatrix.convert signed %x
          : !coopmatrix.matrix<6x8xi4, acc> -> !coopmatrix.matrix<6x8xf16, acc>
      coopmatrix.store %s, %g[%0, %0] row_major
          : !coopmatrix.matrix<6x8xf16, acc>, memref<6x8xf16>
      %t = coopmatrix.convert signed %s
          : !coopmatrix.matrix<6x8xf16, acc> -> !coopmatrix.matrix<6x8xi4, acc>
      coopmatrix.store %t, %h[%0, %0] row_major
          : !coopmatrix.matrix<6x8xi4, acc>, memref<6x8xi4>
      func.return
    }"""


def test_arithmetic_and_stores(engine: str, tmp_path: Path) -> None:
    """Sums wrap around in 4 bits; unsigned quotients and conversions have no sign."""
    if engine == "xe":
        pytest.skip("no matrices of DPAS")
    program = tmp_path / "k.mlir"
    program.write_text(CHANGES)
    a = np.random.default_rng(3).integers(0, 256, (6, 4), dtype=np.uint8)
    given = {
        "a": a,
        "c": np.zeros_like(a),
        "d": np.zeros((8, 3), np.uint8),
        "e": np.full_like(a, 0xA5),
        "f": np.zeros((6, 8), np.float32),
        "g": np.zeros((6, 8), np.float16),
        "h": np.zeros_like(a),
    }
    c, d, e, f, g, h = run(tmp_path, program, engine, given, *"cdefgh")
    x = halves(a)
    assert np.array_equal(halves(c), x * 12 & 15)
    assert np.array_equal(halves(d), x.T)
    rest = halves(given["e"])
    rest[2:, 2:] = x[2:, 2:] // 3
    assert np.array_equal(halves(e), rest)
    assert np.array_equal(f, x)
    assert np.array_equal(g, signed(x))
    assert np.array_equal(h, a)


def test_block_scaled_product(engine: str, tmp_path: Path) -> None:
    """MX: elements f4E2M1FN, scales f8E8M0FNU of 32 each; all sums are exact."""
    random = np.random.default_rng(1)
    a, b = (random.integers(0, 256, (32, 64), dtype=np.uint8) for _ in range(2))
    s, t = (random.integers(126, 129, (32, 4), dtype=np.uint8) for _ in range(2))
    c = np.zeros((32, 32), np.float32)
    given = {"a": a, "scale_a": s, "b": b, "scale_b": t, "c": c}
    (found,) = run(tmp_path, EXAMPLE, engine, given, "c", element="f16")
    numbers = (
        decoded(halves(x), "f4E2M1FN") * np.repeat(decoded(y, "f8E8M0FNU"), 32, axis=1)
        for x, y in ((a, s), (b, t))
    )
    left, right = (x.astype(np.float64) for x in numbers)
    assert np.array_equal(found, left @ right.T)
