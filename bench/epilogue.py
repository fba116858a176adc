"""What operations behind a product cost, fused into its kernel, over the product alone.

Times are medians of rounds in which each kernel runs once: of f32 by vectors of this
processor, of f16 on lavapipe, and on the first GPU of the system's Vulkan loader, where
there are such.  A product is the same in all of them; only its sums are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

import coopc
from bench.harness import Row
from bench.vulkan_gemm import PIPELINE, matrix_gpu
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.toolchain import ToolMissing
from coopc.run.vulkan import Session

ROUNDS = 5
GPU_RUNS = 300
BODIES = {
    "plain": ("f32", ""),
    "bias, ReLU": (
        "f32",
        "%s = arith.addf %x, %y : f32\n%r = arith.maximumf %s, %zero",
    ),
    "bias, f16": ("f16", "%r = arith.addf %x, %y"),
    "bias, GELU": (
        "f32",
        """%s = arith.addf %x, %y : f32
    %u = arith.mulf %s, %root : f32
    %e = math.erf %u : f32
    %p = arith.addf %e, %one : f32
    %h = arith.mulf %s, %half : f32
    %r = arith.mulf %h, %p""",
    ),
    "residual": ("f32", "%r = arith.addf %x, %y"),
}
BOUND = {"bias, ReLU": 1.05, "bias, f16": 1.05}


def source(name: str, element: str, size: int) -> str:
    """Return a function of a product, and one operation behind it."""
    out, body = BODIES[name]
    factor, sums = (f"memref<{size}x{size}x{x}>" for x in (element, "f32"))
    result, whole = f"memref<{size}x{size}x{out}>", name == "residual"
    read = sums if whole else f"memref<{size}xf32>"
    text = f"""
#id = affine_map<(m, n) -> (m, n)>
#read = affine_map<(m, n) -> ({"m, n" if whole else "n"})>
func.func @gemm(%a: {factor}, %b: {factor}, %d: {result}, %bias: {read}) {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %root = arith.constant 0.70710678 : f32
  %c = memref.alloc() : {sums}
  linalg.fill ins(%zero : f32) outs(%c : {sums})
  linalg.matmul ins(%a, %b : {factor}, {factor}) outs(%c : {sums})
"""
    if not body:
        text = text.replace(f"  %c = memref.alloc() : {sums}\n", "").replace("%c", "%d")
        return f"{text}  func.return\n}}"
    narrow = "%t = arith.truncf %r : f32 to f16" if out == "f16" else ""
    return f"""{text}
  linalg.generic {{indexing_maps = [#id, #read, #id],
      iterator_types = ["parallel", "parallel"]}}
      ins(%c, %bias : {sums}, {read}) outs(%d : {result}) {{
  ^bb0(%x: f32, %y: f32, %old: {out}):
    {body} : f32
    {narrow}
    linalg.yield {"%t" if narrow else "%r"} : {out}
  }}
  func.return
}}"""


def arrays(name: str, element: str, size: int) -> list[Any]:
    random = np.random.default_rng(0)
    types = {"f16": np.float16, "f32": np.float32}
    given = [random.standard_normal((size, size), np.float32) for _ in "ab"]
    shape = (size, size) if name == "residual" else (size,)
    return [
        *(x.astype(types[element]) for x in given),
        np.zeros((size, size), types[BODIES[name][0]]),
        random.standard_normal(shape, np.float32),
    ]


def on_processor(size: int) -> dict[str, float]:
    """Return milliseconds by vectors."""
    given = {x: (source(x, "f32", size), arrays(x, "f32", size)) for x in BODIES}
    times: dict[str, list[float]] = {x: [] for x in BODIES}
    for _ in range(ROUNDS + 1):
        for name, (text, values) in given.items():
            outcome = coopc.launch(text, *values, on="cpu", tiles="none")
            times[name] += outcome.milliseconds
    return {x: median(found[1:]) for x, found in times.items()}


def by_vulkan(
    session: Session, pipeline: str, size: int, runs: int
) -> dict[str, float]:
    """Return milliseconds on a device, by its timestamps."""
    calls: dict[str, tuple[bytes, Any]] = {}
    for name in BODIES:
        artifact = coopc.compile(source(name, "f16", size), pipeline, "spirv-binary")
        call = pack(artifact.interface[0], arrays(name, "f16", size))
        calls[name] = artifact.bytes, call
    times: dict[str, list[float]] = {x: [] for x in BODIES}
    for _ in range(3):
        for name, (binary, call) in calls.items():
            outcome = on_vulkan(binary, call, session, repeats=runs)
            times[name].append(median(outcome.milliseconds[runs // 2 :]))
    return {x: median(found) for x, found in times.items()}


def rows(
    where: str, times: dict[str, float], bounds: dict[str, float]
) -> Iterator[Row]:
    plain = times["plain"]
    yield Row(f"{where}: plain", plain, "ms")
    for name, time in times.items():
        if name != "plain":
            yield Row(
                f"{where}: {name}, over plain", time / plain, "", bounds.get(name)
            )


def measure() -> Iterator[Row]:
    yield from rows("f32 1024^3, vectors", on_processor(1024), BOUND)
    try:
        with Session.start("lavapipe") as session:
            times = by_vulkan(session, "coopc-khr{device=lavapipe}", 256, 2)
            yield from rows("f16 256^3, lavapipe", times, {})
    except ToolMissing:
        pass
    if (session := matrix_gpu()) is not None:
        with session:
            times = by_vulkan(session, PIPELINE, 4096, GPU_RUNS)
            yield from rows(f"f16 4096^3, {session.info.name}", times, BOUND)
