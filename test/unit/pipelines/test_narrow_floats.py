"""Floats of 8 and 4 bits on drivers and processors: all codes, and what is between."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coopc.rounding import FORMATS
from coopc.sim.numerics import decoded
from coopc.tools.coopc_run import main

Array = npt.NDArray[Any]

TYPES = ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN")
ENGINES = {
    "khr": ("--on", "vulkan", "-p", "coopc-khr{device=lavapipe}"),
    "lanes": ("--on", "vulkan", "-p", "coopc-lanes{device=lavapipe}"),
    "opencl": ("--on", "opencl", "-p", "coopc-lanes{device=intel-cpu}"),
    "cpu": ("--on", "cpu", "--tiles", "none"),
}


def kernel(element: str, source: str, rows: int) -> str:
    """Return a kernel that widens all codes, and narrows some floats."""
    cols = 16 * 8 // FORMATS[element].bits
    codes, wide = f"memref<16x{cols}x{element}>", f"memref<16x{cols}xf32>"
    floats, narrow = f"memref<{rows}x16x{source}>", f"memref<{rows}x16x{element}>"
    matrix = f"!coopmatrix.matrix<{rows}x16x"
    return f"""
    func.func @k(%a: {codes}, %b: {wide}, %c: {floats}, %d: {narrow})
        attributes {{simt.kernel, simt.subgroup_size = 8 : i32,
                    simt.work_group_size = array<i32: 8, 1, 1>}} {{
      %0 = arith.constant 0 : index
      %x = coopmatrix.load %a[%0, %0] row_major
          : {codes} -> !coopmatrix.matrix<16x{cols}x{element}, acc>
      %y = coopmatrix.convert %x : !coopmatrix.matrix<16x{cols}x{element}, acc>
          -> !coopmatrix.matrix<16x{cols}xf32, acc>
      coopmatrix.store %y, %b[%0, %0] row_major
          : !coopmatrix.matrix<16x{cols}xf32, acc>, {wide}
      %v = coopmatrix.load %c[%0, %0] row_major : {floats} -> {matrix}{source}, acc>
      %w = coopmatrix.convert %v : {matrix}{source}, acc> -> {matrix}{element}, acc>
      coopmatrix.store %w, %d[%0, %0] row_major : {matrix}{element}, acc>, {narrow}
      func.return
    }}"""


def tried(element: str, source: type[np.floating[Any]]) -> Array:
    """Return codes as numbers, what is half-way between two, and its neighbours."""
    codes = np.arange(1 << FORMATS[element].bits, dtype=np.uint8)
    numbers = decoded(codes, element).astype(np.float64)
    finite = np.unique(numbers[np.isfinite(numbers)])
    ends = [464.0, 480.0, 61440.0, 65536.0, np.inf, np.nan, 2.0**-10, 2.0**-17]
    middle = np.concatenate([(finite[1:] + finite[:-1]) / 2, ends])
    with np.errstate(over="ignore"):
        near = np.concatenate([numbers, middle]).astype(source)
    up, down = (np.nextafter(near, source(x)) for x in (np.inf, -np.inf))
    found = np.concatenate([near, up, down, -near])
    rows = -(-found.size // 16)
    return np.resize(found, (rows, 16))


def elements(bytes: Array, per_byte: int) -> list[int]:
    """Return the codes in bytes, of two in one the lower first."""
    if per_byte == 1:
        return bytes.ravel().tolist()
    return [x >> shift & 15 for x in bytes.ravel().tolist() for shift in (0, 4)]


@pytest.mark.parametrize("source", [np.float32, np.float16], ids=["f32", "f16"])
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("engine", ENGINES)
def test_conversions(
    engine: str,
    element: str,
    source: type[np.floating[Any]],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    if engine != "cpu":
        request.getfixturevalue("intel_cpu" if engine == "opencl" else "lavapipe")
    floats = tried(element, source)
    codes = np.arange(256, dtype=np.uint8).reshape(16, 16)
    np.save(tmp_path / "codes.npy", codes)
    np.save(tmp_path / "floats.npy", floats)
    path = tmp_path / "k.mlir"
    name = {np.float32: "f32", np.float16: "f16"}[source]
    path.write_text(kernel(element, name, len(floats)))
    format = FORMATS[element]
    per_byte = 8 // format.bits
    given = {
        "a": tmp_path / "codes.npy",
        "b": f"zeros:16x{16 * per_byte}",
        "c": tmp_path / "floats.npy",
        "d": f"zeros:{len(floats)}x{16 // per_byte}",
    }
    arguments = [x for n, text in given.items() for x in ("--arg", f"{n}={text}")]
    saved = [x for n in "bd" for x in ("--save", f"{n}={tmp_path / n}.npy")]
    assert main([str(path), *ENGINES[engine], "--grid", "1", *arguments, *saved]) == 0
    widened = np.load(tmp_path / "b.npy").ravel()
    expected = [format.decode(x) for x in elements(codes, per_byte)]
    assert np.array_equal(widened, np.array(expected, np.float32), equal_nan=True)
    assert np.array_equal(np.signbit(widened), np.signbit(expected))
    narrowed = elements(np.load(tmp_path / "d.npy"), per_byte)
    assert narrowed == [format.encode(x) for x in floats.ravel().tolist()]
