"""How long matrices take to be spread over lanes, and how much code that makes."""

from collections.abc import Iterator

from xdsl.context import Context

import coopc
from bench.harness import Row, seconds
from coopc.generate.programs import module_of
from coopc.passes.lanes.distribute_coopmatrix.distribute_coopmatrix import (
    DistributeCoopmatrixPass,
)

SIZE = 32
A = f"!coopmatrix.matrix<{SIZE}x{SIZE}xf16, a>"
B = f"!coopmatrix.matrix<{SIZE}x{SIZE}xf16, b>"
C = f"!coopmatrix.matrix<{SIZE}x{SIZE}xf32, acc>"
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


def instructions_in_bodies(text: str) -> int:
    lines = [line.split(";")[0].strip() for line in text.splitlines()]
    first = next(n for n, line in enumerate(lines) if "OpFunction " in line)
    return sum(bool(line) for line in lines[first:])


def measure() -> Iterator[Row]:
    module = module_of(TILE)
    step = DistributeCoopmatrixPass(16)
    yield Row(
        "distribute-coopmatrix of a 32x32x32 f16 tile",
        seconds(lambda: step.apply(Context(), module.clone())),
        "s",
        0.5,
    )
    pipeline = "coopc-lanes{subgroup-size=16 device=intel-cpu}"
    text = coopc.compile(TILE, pipeline, "spirv").text
    count = instructions_in_bodies(text)
    yield Row("SPIR-V instructions in its functions", count, "", 400)
