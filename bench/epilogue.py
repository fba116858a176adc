"""What operations behind a product cost, fused into its kernel, over the product.

Each is also done by a second kernel, which reads sums from memory: the unfused pair.
One pass over memory is a second kernel that only copies.  Bias, ReLU, scale and
conversion may cost 5% of the product, GELU and residual what the pair costs less one.

    cpu     f32 1024^3 by vectors of this processor, in one thread
    amx     bf16 1024^3 by its tiles, if it has any
    vulkan  f16 256^3 on lavapipe, and 4096^3 on the first GPU of the system's loader

Times are medians of rounds in which each kernel runs once; those of processors count
the time that the process computed.  Those of lavapipe are the least: its threads share
the processor with others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any

import numpy as np

import coopc
from bench.harness import Row, interleaved
from bench.vulkan_gemm import PIPELINE, matrix_gpu
from coopc.interface_call import pack
from coopc.launcher import Target, build
from coopc.remarks import remarks_to
from coopc.run.cpu import Program
from coopc.run.execute import on_vulkan
from coopc.run.tiles import Tiles, best
from coopc.run.toolchain import ToolMissing
from coopc.run.vulkan import Session
from coopc.source import Source

ROUNDS = 15
GPU_RUNS = 300
GELU = """%s = arith.addf %x, %y : f32
    %u = arith.mulf %s, %root : f32
    %e = math.erf %u : f32
    %p = arith.addf %e, %one : f32
    %h = arith.mulf %s, %half : f32
    %r = arith.mulf %h, %p : f32"""
BODIES = {
    "bias": "%r = arith.addf %x, %y : f32",
    "ReLU": "%r = arith.maximumf %x, %zero : f32",
    "scale": "%r = arith.mulf %x, %half : f32",
    "conversion": "%r = arith.truncf %x : f32 to f16",
    "bias, GELU": GELU,
    "residual": "%r = arith.addf %x, %y : f32",
    "copy": "%r = arith.addf %x, %minus : f32",
}
"""%r of a sum %x, and of %y: an element of a row, or of a matrix for a residual."""
CHEAP = 1.05
"""What all but the last may cost, over the product."""


def kernels() -> Iterator[tuple[str, str]]:
    """Yield which functions are measured: a body, and whether a product precedes it."""
    yield "plain", "product"
    for name in BODIES:
        yield name, "alone"
        if name != "copy":
            yield name, "fused"


def source(name: str, part: str, element: str, size: int) -> str:
    """Return a function of a product, of what is behind one, or of both."""
    out = "f16" if name == "conversion" else "f32"
    factor, sums = (f"memref<{size}x{size}x{x}>" for x in (element, "f32"))
    result, whole = f"memref<{size}x{size}x{out}>", name == "residual"
    read = sums if whole else f"memref<{size}xf32>"
    body = BODIES.get(name, "").replace("%y", "%y_")
    y, read_at = (f", %y: {read}", ", #read") if "%y_" in body else ("", "")
    memory = f"  %c = memref.alloc() : {sums}\n" if part == "fused" else ""
    product = f"""
  linalg.fill ins(%zero : f32) outs(%c : {sums})
  linalg.matmul ins(%a, %b : {factor}, {factor}) outs(%c : {sums})"""
    behind = f"""
  linalg.generic {{indexing_maps = [#id{read_at}, #id],
      iterator_types = ["parallel", "parallel"]}}
      ins(%c{", %y" * bool(y)} : {sums}{f", {read}" * bool(y)}) outs(%d : {result}) {{
  ^bb0(%x: f32{", %y_: f32" * bool(y)}, %old: {out}):
    {body}
    linalg.yield %r : {out}
  }}"""
    arguments = {
        "product": f"%a: {factor}, %b: {factor}, %c: {sums}",
        "fused": f"%a: {factor}, %b: {factor}{y}, %d: {result}",
        "alone": f"%c: {sums}{y}, %d: {result}",
    }
    return f"""
#id = affine_map<(m, n) -> (m, n)>
#read = affine_map<(m, n) -> ({"m, n" if whole else "n"})>
func.func @f({arguments[part]}) {{
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -0.0 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %root = arith.constant 0.70710678 : f32
{memory}{"" if part == "alone" else product}{"" if part == "product" else behind}
  func.return
}}"""


def arrays(name: str, part: str, element: str, size: int) -> list[Any]:
    random = np.random.default_rng(0)
    a, b, c, r = (random.standard_normal((size, size), np.float32) for _ in range(4))
    if element == "f16":
        factors: list[Any] = [x.astype(np.float16) for x in (a, b)]
    elif element == "bf16":
        factors = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)]
    else:
        factors = [a, b]
    if part == "product":
        return [*factors, c]
    given = factors if part == "fused" else [c]
    out = np.float16 if name == "conversion" else np.float32
    read = [r if name == "residual" else r[0]] if "%y" in BODIES[name] else []
    return [*given, *read, np.zeros((size, size), out)]


def on_processor(element: str, size: int, tiles: Tiles) -> dict[tuple[str, str], float]:
    """Return milliseconds of each kernel, in one thread of this process."""
    actions: dict[tuple[str, str], Callable[[], None]] = {}
    programs: list[Program] = []  # whose code is kept
    for each in kernels():
        text = Source(source(*each, element, size), "f")
        with remarks_to(lambda _: None):
            built = build(text, Target("cpu", tiles=tiles))
        call = built.executable.call(arrays(*each, element, size))
        programs.append(Program.of(built.program, tiles))
        actions[each] = programs[-1].prepared("f", call.opencl_arguments, call.groups)
    times = interleaved([*actions.values()], ROUNDS, time.process_time)
    return {each: 1000 * x for each, x in zip(actions, times, strict=True)}


def by_vulkan(
    session: Session, pipeline: str, size: int, runs: int, rounds: int = 3
) -> dict[tuple[str, str], list[float]]:
    """Return milliseconds of each kernel on a device, by its timestamps.

    They are those of the second half of the runs of each round.
    """
    calls: dict[tuple[str, str], tuple[bytes, Any]] = {}
    for each in kernels():
        text = source(*each, "f16", size)
        with remarks_to(lambda _: None):
            artifact = coopc.compile(text, pipeline, "spirv-binary")
        call = pack(artifact.interface[0], arrays(*each, "f16", size))
        calls[each] = artifact.bytes, call
    times: dict[tuple[str, str], list[float]] = {each: [] for each in calls}
    for _ in range(rounds):
        for each, (binary, call) in calls.items():
            outcome = on_vulkan(binary, call, session, repeats=runs)
            times[each] += outcome.milliseconds[runs // 2 :]
    return times


def rows(where: str, times: Mapping[tuple[str, str], float]) -> Iterator[Row]:
    plain, one_pass = times["plain", "product"], times["copy", "alone"]
    yield Row(f"{where}: plain", plain, "ms")
    yield Row(f"{where}: one pass over memory", one_pass, "ms")
    for name in BODIES:
        if name == "copy":
            continue
        pair = plain + times[name, "alone"]
        is_cheap = name not in ("bias, GELU", "residual")
        bound = CHEAP if is_cheap else (pair - one_pass) / plain
        yield Row(f"{where}: {name}, fused", times[name, "fused"], "ms")
        yield Row(f"{where}: {name}, unfused pair", pair, "ms")
        ratio = times[name, "fused"] / plain
        yield Row(f"{where}: {name}, fused over plain", ratio, "", bound)


def measure() -> Iterator[Row]:
    yield from rows("cpu, f32 1024^3", on_processor("f32", 1024, Tiles.NONE))
    if best() is Tiles.AMX:
        yield from rows("amx, bf16 1024^3", on_processor("bf16", 1024, Tiles.AMX))
    try:
        with Session.start("lavapipe") as session:
            times = by_vulkan(session, "coopc-khr{device=lavapipe}", 256, 6, 8)
            least = {each: min(found) for each, found in times.items()}
            yield from rows("lavapipe, f16 256^3", least)
    except ToolMissing:
        pass
    if (session := matrix_gpu()) is not None:
        with session:
            times = by_vulkan(session, PIPELINE, 4096, GPU_RUNS)
            medians = {each: median(found) for each, found in times.items()}
            yield from rows(f"vulkan, f16 4096^3, {session.info.name}", medians)
