"""How long passes over lanes take.

Python's collector looks at all that lives; what other measurements left is frozen, so
that it looks at the kernel's operations alone.
"""

import gc
from collections.abc import Iterator

from xdsl.context import Context

from bench.harness import Row, interleaved, seconds
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.passes.cpu.vectorize_subgroup.vectorize_subgroup import VectorizeSubgroupPass
from coopc.passes.lanes.distribute_coopmatrix.distribute_coopmatrix import (
    DistributeCoopmatrixPass,
)
from coopc.source import Source
from coopc.universe import everything

A = "!coopmatrix.matrix<32x32xf16, a>"
B = "!coopmatrix.matrix<32x32xf16, b>"
C = "!coopmatrix.matrix<32x32xf32, acc>"
HALVES, FLOATS = "memref<?x?xf16>", "memref<?x?xf32>"
TILE = f"""
func.func @gemm(%a: {HALVES}, %b: {HALVES}, %c: {FLOATS}) attributes {{simt.kernel}} {{
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : {HALVES} -> {A}
  %y = coopmatrix.load %b[%z, %z] row_major : {HALVES} -> {B}
  %v = coopmatrix.load %c[%z, %z] row_major : {FLOATS} -> {C}
  %w = coopmatrix.mul_add %x, %y, %v : {A}, {B}, {C}
  coopmatrix.store %w, %c[%z, %z] row_major : {C}, {FLOATS}
  func.return
}}
"""
"""A tile of a GEMM, with everything that is loaded and stored."""
SIZES = (200, 800)
"""Of kernels that `vectorize-subgroup` takes, in thirds of their operations."""


def work_item_steps(size: int) -> str:
    """Return a kernel that does steps one by one, on an element of each work-item."""
    steps = "".join(
        f"""
  %v{at} = memref.load %m[%x] : memref<16xf32>
  %w{at} = arith.addf %v{at}, %a{at} : f32
  %a{at + 1} = arith.mulf %w{at}, %v{at} : f32"""
        for at in range(size)
    )
    return f"""
func.func @f(%m: memref<16xf32>, %a0: f32) attributes {{
    simt.kernel, simt.subgroup_size = 16 : i32,
    simt.work_group_size = array<i32: 16>, simt.grid = affine_map<() -> (1)>}} {{
  %x = simt.local_id x : index{steps}
  memref.store %a{size}, %m[%x] : memref<16xf32>
  func.return
}}"""


def measure() -> Iterator[Row]:
    ctx = new_context(everything())
    module = parse(ctx, Source(TILE, "tile.mlir"))
    spread = DistributeCoopmatrixPass(16)
    yield Row(
        "distribute-coopmatrix of a 32x32x32 f16 tile",
        seconds(lambda: spread.apply(Context(), module.clone())),
        "s",
        0.5,
    )

    sources = [Source(work_item_steps(size), "steps.mlir") for size in SIZES]
    modules = [parse(ctx, source) for source in sources]
    step = VectorizeSubgroupPass()
    gc.collect()
    gc.freeze()
    short, long = interleaved(
        [lambda x=x: step.apply(Context(), x.clone()) for x in modules], 5
    )
    gc.unfreeze()
    yield Row(f"vectorize-subgroup of {3 * SIZES[0]} operations", short, "s")
    growth = long / short / (SIZES[1] / SIZES[0])
    yield Row("its time for an operation, of four times as many", growth, "times", 1.5)
