"""How long the simulator takes: the kernels that its speed is judged by."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import ROOT, Row, seconds

SIZE = 256
"""Of the square matrices, in elements."""
LOOP_TRIPS = 2_000

LOOP = f"""
func.func @f(%x: memref<16xf32>, %y: memref<512x16xf32>) attributes {{simt.kernel,
    simt.subgroup_size = 16 : i32, simt.grid = affine_map<() -> (512)>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {LOOP_TRIPS} : index
  %lane = simt.lane_id : index
  %group = simt.workgroup_id x : index
  %start = memref.load %x[%lane] : memref<16xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %start) -> (f32) {{
    %a = arith.addf %s, %start : f32
    %b = arith.mulf %a, %start : f32
    %j = arith.addi %i, %lane : index
    %k = arith.muli %j, %lane : index
    scf.yield %b : f32
  }}
  memref.store %sum, %y[%group, %lane] : memref<512x16xf32>
  func.return
}}
"""
"""Four operations of lanes in a loop, in 512 work-groups of 16 lanes."""


def measure() -> Iterator[Row]:
    import numpy as np

    from coopc.compiler import new_context
    from coopc.parsing import parse
    from coopc.sim.simulate import simulate
    from coopc.sim.tracked import Inputs
    from coopc.source import Source
    from coopc.universe import everything
    from coopc.validate.step import first_mismatch

    ctx, path = new_context(everything()), Path(ROOT / "examples" / "gemm.mlir")
    gemm = parse(ctx, Source(path.read_text(), "gemm.mlir"))
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, SIZE, SIZE)).astype(np.float16)
    c = np.zeros((SIZE, SIZE), np.float32)

    def run(**settings: Any) -> None:
        simulate(gemm, "gemm", [a, b, c], **settings)

    name = f"{SIZE}x{SIZE}x{SIZE} f16, tiles of 16"
    yield Row(name, seconds(run), "s", 2)
    yield Row(f"{name}, with errors", seconds(lambda: run(track=Inputs.REAL)), "s")

    loop = parse(ctx, Source(LOOP, "loop.mlir"))
    x, y = np.ones(16, np.float32), np.zeros((512, 16), np.float32)
    whole = seconds(lambda: simulate(loop, "f", [x, y]), repeats=3)
    yield Row("an operation of 8,192 lanes", whole / (4 * LOOP_TRIPS) * 1e6, "us")
    whole = seconds(lambda: first_mismatch(gemm, gemm))
    yield Row("examples/gemm.mlir compared with itself", whole, "s")
