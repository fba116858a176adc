"""GEMMs for Intel GPUs: instructions of a step of K, and what compiling costs.

Instructions are those of the innermost loop, for 32 of K, f16 to f32 and 256 registers,
in kernels of Triton, of dg2 and at `xe` level.  The bounds are what experts reach by
hand; on dg2 where A lies in tiles of 8 x 16 and B is packed: with split DPAS a subgroup
loads half of A.  Time is that of the processor, from text to SPIR-V, imports aside.

Kernels of `test/inputs/triton` are compared with the SPIR-V of triton-xpu 3.3.0b1:
NAME.bmg.spv where that is short, else its counts, by the same compiler, in a table.
They are the IR of Triton, without layouts; those without products also with the
layouts that triton-xpu gave them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from itertools import product
from math import inf
from pathlib import Path
from statistics import median

import coopc
from bench.harness import ROOT, Row, command, seconds
from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.isa import CLEAN, Counts, KernelIsa
from coopc.run.offline_compiler import compile_kernel
from coopc.source import Source
from coopc.universe import everything

TRITON = ROOT / "test" / "inputs" / "ttgir"
TRITON_BOUNDS = {
    # name, options: at most on bmg, on pvc
    ("gemm_axb_32x32", ""): (26, 26),
    ("gemm_axb", ""): (43, 44),
    ("gemm_axbt_32x32", ""): (30, 33),
    ("gemm_axbt", ""): (50, 57),
    ("gemm_axb", " prefetch=1"): (50, 55),
    ("gemm_axb_32x32", " prefetch=3"): (32, 35),
    ("gemm_axb", " prefetch=3"): (51, 55),
}
KERNELS = ROOT / "test" / "inputs" / "triton"
WITHOUT_DOT = (
    "masked_copy",
    "softmax",
    "layer_norm_forward",
    "layer_norm_backward",
    "layer_norm_backward_sum",
    "rms_norm_rope",
    "cross_entropy",
    "embedding",
    "top_k",
    "cumsum",
    "linear_recurrence",
    "dropout",
    "argmax",
)
LONGER = 1.2
"""Of triton-xpu's instructions, the most that a kernel without a dot may have."""
DOTS = {
    # kernel: instructions of triton-xpu's K loop on bmg, bytes that it spills
    "matmul_block_pointer": (43, 0),
    "matmul": (1366, 7104),
    "matmul_bf16": (1925, 0),
    "matmul_abt": (423, 0),
    "matmul_batched": (472, 0),
    "matmul_int8": (1913, 4224),
    "matmul_split_k": (821, 448),
    "matmul_persistent": (882, 0),
    "matmul_runtime_strides": (1310, 0),
    "matmul_int4": (588, 0),
    "matmul_fp8": (3996, 3904),
    "linear_bias_gelu": (573, 0),
    "flash_attention_pointer": (1689, 4544),
    "grouped_gemm": (1853, 8896),
    # It has no SPIR-V of descriptors: no more than of pointers.
    "matmul_device_descriptor": (None, 0),
    "flash_attention_descriptor": (None, 0),
}
XE = ROOT / "test" / "emit" / "xe"
XE_BOUNDS = {
    # kernel, device: at most for 32 x 32 and for 32 x 64 of C a subgroup
    ("gemm_ab", "bmg"): (26, 43),
    ("gemm_ab", "pvc"): (26, 44),
    ("gemm_abt", "bmg"): (31, 52),
    ("gemm_abt", "pvc"): (36, 68),
    ("gemm_abt_payload", "bmg"): (30, 50),
    ("gemm_abt_payloads", "pvc"): (33, 57),
    ("gemm_ab_prefetch", "bmg"): (32, 51),
    ("gemm_ab_prefetch", "pvc"): (35, 55),
}
DG2 = ROOT / "test" / "inputs" / "dg2"
DG2_BOUNDS = {
    # file, options: at most, where matrices are not row-major
    ("gemm_tiled.mlir", ""): 89,
    ("gemm_tiled.mlir", " split=true"): 77,
    ("gemm_rows.mlir", ""): None,
    ("gemm_rows.mlir", " split=true"): None,
    ("gemm_axb.ttgir", ""): None,
    ("gemm_axb.ttgir", " split=true"): None,
}
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


def inner_loop(path: Path, passes: str, device: str) -> Counts:
    """Count the instructions of the innermost loop of a file's first kernel."""
    target = f"spirv-binary{{device={device}}}"
    made = coopc.compile(path.read_text(), passes, target, name=path.name)
    isa = compile_kernel(made.bytes, device, registers=256)
    name, kernel = next((x, y) for x, y in isa.kernels.items() if "." not in x)
    wrong = isa.check({f"{name}:{key}": number for key, number in CLEAN.items()})
    assert not wrong, (path, wrong)
    assert kernel.inner is not None, path
    return kernel.inner


def loops() -> Iterator[Row]:
    for (name, options), bounds in TRITON_BOUNDS.items():
        for device, bound in zip(("bmg", "pvc"), bounds, strict=True):
            passes = f"coopc-xe{{device={device}{options}}}"
            found = inner_loop(TRITON / f"{name}.ttgir", passes, device).total
            what = f"{name} {options.strip()}, {device}"
            yield Row(what, found, "instructions", bound)
    for (name, device), bounds in XE_BOUNDS.items():
        for tile, bound in zip(("32x32", "32x64"), bounds, strict=True):
            found = inner_loop(XE / f"{name}_{tile}.mlir", "", device)
            what = f"{found.dpas} DPAS, {found.load2d} loads, {found.mov} moves"
            label = f"{name}_{tile} on {device} ({what})"
            yield Row(label, found.total, "instructions", bound)
    for (name, options), bound in DG2_BOUNDS.items():
        found = inner_loop(DG2 / name, f"coopc-xe{{device=dg2{options}}}", "dg2")
        what = (
            f"{found.multiplications} {'DPAS' if found.dpas else 'split DPAS'}, "
            f"{found.send} loads of {found.registers_read} registers"
        )
        yield Row(f"{name} on dg2 ({what})", found.total, "instructions", bound)


def compiled_dump(name: str, device: str, ending: str) -> KernelIsa | str:
    """Return what becomes of a kernel of Triton's, or why nothing does."""
    if not (path := KERNELS / f"{name}.{ending}").exists():
        path = KERNELS / f"{name}.bmg.ttgir"
    text = path.read_text()
    passes, target = f"coopc-xe{{device={device}}}", f"spirv-binary{{device={device}}}"
    try:
        made = coopc.compile(text, passes, target, name=name, on_remark=lambda _: None)
    except CompileError as error:
        return error.diagnostic.message
    return longest(made.bytes, device)


def longest(binary: bytes, device: str) -> KernelIsa:
    """Return the kernel of a module: beside it there may be a table of symbols."""
    kernels = compile_kernel(binary, device, registers=256).kernels.values()
    return max(kernels, key=lambda each: each.whole.total)


def messages(counts: Counts) -> int:
    return counts.send + counts.load2d + counts.prefetch2d + counts.store2d


def against_triton() -> Iterator[Row]:
    """Yield whole kernels without a dot, and the K loops of the others."""
    endings = "ttir", "bmg.ttgir"
    for name, device, ending in product(WITHOUT_DOT, ("bmg", "pvc"), endings):
        if (KERNELS / f"{name}.{ending}").exists():
            theirs = longest((KERNELS / f"{name}.bmg.spv").read_bytes(), device).whole
            ours = compiled_dump(name, device, ending)
            what = f"{name}.{ending} on {device}"
            if isinstance(ours, str):
                yield Row(f"{what}: {ours}", inf, "instructions", 0)
                continue
            label = (
                f"{what}, {messages(ours.whole)} messages (triton-xpu: "
                f"{theirs.total}, {messages(theirs)} messages)"
            )
            bound = LONGER * theirs.total
            yield Row(label, ours.whole.total, "instructions", bound)
    for name, (theirs, spilled) in DOTS.items():
        ours = compiled_dump(name, "bmg", "ttir")
        if isinstance(ours, str) or ours.inner is None:
            what = "no loop" if not isinstance(ours, str) else ours
            yield Row(f"{name} on bmg: {what}", inf, "instructions", theirs)
            continue
        label = (
            f"{name} on bmg, {ours.inner.dpas} DPAS, {ours.inner.load2d} 2D loads, "
            f"{ours.inner.prefetch2d} prefetches, "
            f"{ours.resources.spill} bytes spilled (triton-xpu: {theirs}, {spilled})"
        )
        yield Row(label, ours.inner.total, "instructions", theirs)


def kernel(rows: int, cols: int) -> str:
    """Return the kernel with so many DPAS along M and N."""
    m, n = 8 * rows, 16 * cols
    text = KERNEL.replace("MxN", f"{m}x{n}").replace("Mx", f"{m}x")
    return text.replace("32xNx", f"32x{n}x")


def compiled(text: str) -> tuple[float, int]:
    """Return the time to compile a kernel, in seconds, and the size of its text."""
    times: list[float] = []
    size = 0
    for _ in range(3):
        start = time.process_time()
        size = len(coopc.compile(text, "coopc-xe{device=bmg}", "spirv").bytes)
        times.append(time.process_time() - start)
    return median(times), size


def planning() -> float:
    """Return the time that plan-block-io takes for the document's GEMM, in ms."""
    universe = everything()
    ctx = new_context(universe)
    source = Source((TRITON / "gemm_axb.ttgir").read_text(), "gemm_axb.ttgir")
    module = parse(ctx, source)
    steps = read_passes("plan-block-io{device=bmg}", universe.all_passes)
    start = time.process_time()
    Run(ctx, source, verify=False).apply(module, steps)
    return 1000 * (time.process_time() - start)


def costs() -> Iterator[Row]:
    """Yield what compiling costs by the number of DPAS: it grows no faster."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "gemm.spvasm"
        device = "coopc-xe{device=bmg}"
        gemm = str(TRITON / "gemm_axb.ttgir")
        action = command("coopc-opt", gemm, "-p", device, "-t", "spirv", "-o", str(out))
        yield Row("gemm_axb.ttgir to SPIR-V", seconds(action), "s", 1.0)
        # Two entry points, each with its own.
        products = out.read_text().count(" = OpSubgroupMatrixMultiplyAccumulateINTEL")
        size = out.stat().st_size / products * 32 / 1000
        yield Row("its text, a 32 DPAS of both entry points", size, "kB", 60)
    yield Row("plan-block-io of gemm_axb", planning(), "ms", 100)
    compiled(kernel(1, 1))  # what is imported, is imported
    each: list[float] = []
    for rows, cols in TILES:
        count = 2 * rows * cols
        taken, size = compiled(kernel(rows, cols))
        each.append(taken / count)
        yield Row(f"{count} DPAS", 1000 * taken, "ms", None)
        yield Row(f"text a 32 DPAS, of {count}", size / count * 32 / 1000, "kB", 60)
    most = max(each[1:]) / each[0]
    yield Row("dearest DPAS of more than 8, by one of 8", most, "times", 1.0)


def measure() -> Iterator[Row]:
    yield from loops()
    yield from against_triton()
    yield from costs()
