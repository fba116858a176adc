"""Arrays of matrices: blocks of sums in loops, on the simulator and every engine."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.native import tiles_of
from support.programs import module_of

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate
from coopc.tools.coopc_run import main

Array = npt.NDArray[Any]

ENGINES = {
    "sim": ("--on", "sim"),
    "khr": ("--on", "vulkan", "-p", "coopc-khr{device=lavapipe}"),
    "lanes": ("--on", "vulkan", "-p", "coopc-lanes{device=lavapipe}"),
    "opencl": ("--on", "opencl", "-p", "coopc-lanes{device=intel-cpu}"),
    "xe": ("--on", "opencl", "-p", "coopc-xe{device=bmg emulate=true}"),
    "cpu": ("--on", "cpu", "--tiles", "none"),
    "amx": ("--on", "cpu", "--tiles"),
}

KERNEL = """
!acc = !coopmatrix.matrix<8x16xf32, acc>
func.func @k(%a: memref<16x64xf16>, %b: memref<64x32xf16>, %c: memref<16x32xf32>)
    attributes {simt.kernel, simt.grid = affine_map<() -> (1)>} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %8 = arith.constant 8 : index
  %16 = arith.constant 16 : index
  %64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloca() : memref<2x2x!acc>
  scf.for %i = %0 to %2 step %1 {
    scf.for %j = %0 to %2 step %1 {
      %start = coopmatrix.fill %zero : f32 -> !acc
      memref.store %start, %sums[%i, %j] : memref<2x2x!acc>
    }
  }
  scf.for %k = %0 to %64 step %16 {
    scf.for %i = %0 to %2 step %1 {
      %row = arith.muli %i, %8 : index
      %x = coopmatrix.load %a[%row, %k] row_major
          : memref<16x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
      scf.for %j = %0 to %2 step %1 {
        %col = arith.muli %j, %16 : index
        %y = coopmatrix.load %b[%k, %col] row_major
            : memref<64x32xf16> -> !coopmatrix.matrix<16x16xf16, b>
        %before = memref.load %sums[%i, %j] : memref<2x2x!acc>
        %after = coopmatrix.mul_add %x, %y, %before
            : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !acc
        memref.store %after, %sums[%i, %j] : memref<2x2x!acc>
      }
    }
  }
  scf.for %i = %0 to %2 step %1 {
    %row = arith.muli %i, %8 : index
    %is_second = arith.cmpi eq, %i, %1 : index
    scf.if %is_second {
      %last = memref.load %sums[%1, %1] : memref<2x2x!acc>
      %more = coopmatrix.add %last, %last : !acc
      memref.store %more, %sums[%1, %1] : memref<2x2x!acc>
    }
    scf.for %j = %0 to %2 step %1 {
      %col = arith.muli %j, %16 : index
      %sum = memref.load %sums[%i, %j] : memref<2x2x!acc>
      coopmatrix.store %sum, %c[%row, %col] row_major : !acc, memref<16x32xf32>
    }
  }
  func.return
}
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_sums(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if engine in ("khr", "lanes"):
        request.getfixturevalue("lavapipe")
    if engine in ("opencl", "xe"):
        request.getfixturevalue("intel_cpu")
    random = np.random.default_rng(5)
    a, b = (
        random.integers(-3, 4, shape).astype(np.float16)
        for shape in ((16, 64), (64, 32))
    )
    program = tmp_path / "k.mlir"
    program.write_text(KERNEL)
    for name, array in (("a", a), ("b", b)):
        np.save(tmp_path / f"{name}.npy", array)
    arguments = [x for n in "ab" for x in ("--arg", f"{n}={tmp_path / n}.npy")]
    arguments += ["--arg", "c=zeros", "--save", f"c={tmp_path / 'c'}.npy"]
    words = [*ENGINES[engine], *([tiles_of("f16")] if engine == "amx" else [])]
    assert main([str(program), *words, *arguments]) == 0
    expected = a.astype(np.float32) @ b.astype(np.float32)
    expected[8:, 16:] *= 2
    found: Array = np.load(tmp_path / "c.npy")
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("index", "reason"),
    [(1, "expected a matrix that was stored, got number 1"), (2, "an index below 2")],
)
def test_undefined(index: int, reason: str) -> None:
    module = module_of(f"""
        !m = !coopmatrix.matrix<2x2xf32, acc>
        func.func @k(%x: memref<2x2xf32>) attributes {{simt.kernel}} {{
          %0 = arith.constant 0 : index
          %i = arith.constant {index} : index
          %t = memref.alloca() : memref<2x!m>
          %v = coopmatrix.load %x[%0, %0] row_major : memref<2x2xf32> -> !m
          memref.store %v, %t[%0] : memref<2x!m>
          %w = memref.load %t[%i] : memref<2x!m>
          coopmatrix.store %w, %x[%0, %0] row_major : !m, memref<2x2xf32>
          func.return
        }}
    """)
    with pytest.raises(UndefinedBehaviour, match=reason):
        simulate(module, "k", [np.zeros((2, 2), np.float32)], grid=(1,))
