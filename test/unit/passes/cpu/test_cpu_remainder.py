"""Remainders of floats on this processor: `frem` of LLVM, with tiles and without."""

from typing import Any

import numpy as np
import pytest
from support.native import best_or_emulated, run_native

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, flatten
from coopc.pipelines import CoopcAmxPass, CoopcCpuPass
from coopc.run.tiles import Tiles
from coopc.sim.numerics import from_bf16, to_bf16
from coopc.source import Source
from coopc.universe import everything

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

REMAINDER = """
func.func @f(%a: memref<7x9x{0}>, %b: memref<7x9x{0}>, %c: memref<7x9x{0}>)
    attributes {{simt.kernel, simt.subgroup_size = 16 : i32,
      simt.grid = affine_map<() -> (1)>}} {{
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%c0, %c0] row_major
      : memref<7x9x{0}> -> !coopmatrix.matrix<7x9x{0}, acc>
  %y = coopmatrix.load %b[%c0, %c0] row_major
      : memref<7x9x{0}> -> !coopmatrix.matrix<7x9x{0}, acc>
  %z = coopmatrix.rem %x, %y : !coopmatrix.matrix<7x9x{0}, acc>
  coopmatrix.store %z, %c[%c0, %c0] row_major
      : !coopmatrix.matrix<7x9x{0}, acc>, memref<7x9x{0}>
  func.return
}}
"""


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("tiled", [False, True], ids=["cpu", "amx"])
def test_remainder_is_exact(tiled: bool, element: str) -> None:
    """It has the sign of the dividend; of infinity, and by zero, it is no number."""
    tiles = best_or_emulated() if tiled else Tiles.NONE
    if tiled and tiles is Tiles.NONE:
        pytest.skip("the AMX emulator needs a C compiler")
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-99, 99, (7, 9)).astype(np.float32) / 4 for _ in "ab")
    a[0, :4] = [np.inf, -0.0, 5, np.nan]
    b[0, :4] = [2, 3, 0, 1]
    with np.errstate(invalid="ignore"):
        expected = np.fmod(a, b)
    given: list[Any] = [a, b, np.zeros_like(a)]
    if element == "f16":
        given = [x.astype(np.float16) for x in given]
    elif element == "bf16":
        given = [to_bf16(x) for x in given]
    text = REMAINDER.format(element)
    ctx, source = new_context(everything()), Source(text, "test")
    module = parse(ctx, source)
    program = module.clone()
    step = CoopcAmxPass() if tiled else CoopcCpuPass()
    Run(ctx, source).apply(program, flatten([step]))
    *_, found = run_native(module, program, given, tiles)
    if element == "bf16":
        found = from_bf16(found)
    np.testing.assert_array_equal(found.astype(np.float32), expected)
    assert np.signbit(found[0, 1])
