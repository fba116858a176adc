"""What compiling a GEMM from Triton costs, by the number of its DPAS: time and text.

Kernels of one subgroup, 8 to 512 DPAS a step; time of the processor, from the text of
TTGIR to that of SPIR-V, imports aside.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

import coopc
from bench.harness import ROOT, Row
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.source import Source
from coopc.universe import everything

TILES = ((2, 2), (4, 4), (8, 8), (16, 16))
"""Rows and columns of DPAS in C: with 32 of K twice as many DPAS."""
KERNEL = """
#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16,
  opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [1, 1], repCluster = [1, 1]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @gemm(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %c: !tt.ptr<f32>,
                       %m: i32, %n: i32, %k: i32) {
    %zero = arith.constant dense<0.0> : tensor<MxNxf32, #dpas>
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %one = arith.constant 1 : i64
    %kk = arith.extsi %k : i32 to i64
    %nn = arith.extsi %n : i32 to i64
    %ad = tt.make_tensor_descriptor %a, [%m, %k], [%kk, %one] : <f16>, <Mx32xf16>
    %bd = tt.make_tensor_descriptor %b, [%k, %n], [%nn, %one] : <f16>, <32xNxf16>
    %cd = tt.make_tensor_descriptor %c, [%m, %n], [%nn, %one] : <f32>, <MxNxf32>
    %r = scf.for %i = %c0 to %k step %c32 iter_args(%s = %zero)
        -> (tensor<MxNxf32, #dpas>) : i32 {
      %x = tt.descriptor_load %ad[%c0, %i] {ttig.block_io = "row_major"}
           : !tt.tensordesc<Mx32xf16> -> tensor<Mx32xf16, #a>
      %y = tt.descriptor_load %bd[%i, %c0] {ttig.block_io = "row_major"}
           : !tt.tensordesc<32xNxf16> -> tensor<32xNxf16, #b>
      %t = tt.dot %x, %y, %s, inputPrecision = tf32
           : tensor<Mx32xf16, #a> * tensor<32xNxf16, #b> -> tensor<MxNxf32, #dpas>
      scf.yield %t : tensor<MxNxf32, #dpas>
    }
    tt.descriptor_store %cd[%c0, %c0], %r {ttig.block_io = "row_major"}
      : !tt.tensordesc<MxNxf32>, tensor<MxNxf32, #dpas>
    tt.return
  }
}
"""


def kernel(rows: int, cols: int) -> str:
    sizes = {"M": 8 * rows, "N": 16 * cols}
    text = KERNEL
    for old, new in (("MxN", f"{sizes['M']}x{sizes['N']}"), ("Mx", f"{sizes['M']}x")):
        text = text.replace(old, new)
    return text.replace("32xNx", f"32x{sizes['N']}x")


def compiled(text: str) -> tuple[float, int]:
    times: list[float] = []
    size = 0
    for _ in range(3):
        start = time.process_time()
        passes = "coopc-xe{device=bmg}"
        size = len(coopc.compile(text, passes, "spirv").bytes)
        times.append(time.process_time() - start)
    return median(times), size


def planning() -> float:
    universe = everything()
    ctx = new_context(universe)
    path = ROOT / "test" / "inputs" / "ttgir" / "gemm_axb.ttgir"
    source = Source(path.read_text(), path.name)
    module = parse(ctx, source)
    steps = read_passes("plan-block-io{device=bmg}", universe.all_passes)
    start = time.process_time()
    Run(ctx, source, verify=False).apply(module, steps)
    return 1000 * (time.process_time() - start)


def measure() -> Iterator[Row]:
    yield Row("plan-block-io of gemm_axb", planning(), "ms", 100)
    compiled(kernel(1, 1))  # what is imported, is imported
    each: list[float] = []
    for rows, cols in TILES:
        count = 2 * rows * cols
        seconds, size = compiled(kernel(rows, cols))
        each.append(seconds / count)
        yield Row(f"{count} DPAS", 1000 * seconds, "ms", None)
        yield Row(f"text a 32 DPAS, of {count}", size / count * 32 / 1000, "kB", 60)
    most = max(each[1:]) / each[0]
    yield Row("dearest DPAS of more than 8, by one of 8", most, "times", 1.0)
