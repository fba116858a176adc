"""How long emission takes, by itself: the example, and kernels of many operations."""

import gc
from collections.abc import Iterator

from bench.harness import ROOT, Row, interleaved, seconds
from coopc.compiler import new_context
from coopc.device import device
from coopc.emit.spirv.module import emit_module
from coopc.emit.walker import Facts
from coopc.parsing import parse
from coopc.source import Source
from coopc.spirv.writer import binary, text
from coopc.universe import everything

A, B = ("!coopmatrix.matrix<8x8xf16, a>", "!coopmatrix.matrix<8x8xf16, b>")
C = "!coopmatrix.matrix<8x8xf32, acc>"


def module_of(operations: int) -> str:
    steps = operations // 3
    lines = [
        f"""  %k{n} = arith.constant {8 * n} : index
  %a{n} = coopmatrix.load %m[%0, %k{n}] row_major : memref<?x?xf16> -> {A}
  %b{n} = coopmatrix.load %m[%k{n}, %0] row_major : memref<?x?xf16> -> {B}
  %c{n + 1} = coopmatrix.mul_add %a{n}, %b{n}, %c{n} : {A}, {B}, {C}"""
        for n in range(steps)
    ]
    body = "\n".join(lines)
    return f"""
func.func @many(%m: memref<?x?xf16>, %r: memref<?x?xf32>) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %c0 = coopmatrix.fill %zero : f32 -> {C}
{body}
  coopmatrix.store %c{steps}, %r[%0, %0] row_major : {C}, memref<?x?xf32>
  func.return
}}
"""


def measure() -> Iterator[Row]:
    ctx = new_context(everything())
    facts = Facts("vulkan", device("lavapipe"))
    few, many = (parse(ctx, Source(module_of(n), f"{n}.mlir")) for n in (1_000, 10_000))
    # As timeit does: what the collector costs depends on all that lives beside.
    gc.collect()
    gc.disable()
    one, ten = interleaved(
        (lambda: emit_module(few, facts), lambda: emit_module(many, facts)), repeats=5
    )
    gc.enable()
    yield Row("emission of 10,000 operations", ten, "s")
    yield Row("emission of 10,000 operations / 1,000", ten / one, "x", 11)
    emitted = emit_module(many, facts)
    yield Row("their text", seconds(lambda: text(emitted)), "s")
    yield Row("their binary", seconds(lambda: binary(emitted)), "s")
    example = (ROOT / "examples" / "gemm.mlir").read_text()
    intel = Facts("opencl", device("bmg"))
    module = parse(ctx, Source(example, "gemm.mlir"))
    yield Row(
        "emission of the example", seconds(lambda: emit_module(module, intel)), "s"
    )
