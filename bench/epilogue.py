"""What operations behind a product cost, fused into its kernel, over the product.

Each is also done by a second kernel, which reads sums from memory: the unfused pair.
One pass over memory is half of a second kernel that only copies, which reads sums and
writes them.  Bias, ReLU, scale and conversion may cost 5% of the product, GELU and
residual what the pair costs less one pass.  Less a copy, the bound of GELU would be
below the product alone: the kernel that does only GELU is as fast as one that copies.

    python -m bench.epilogue --on vulkan --size 4096

    cpu       f32 1024^3 by vectors of this processor, in one thread
    amx       bf16 1024^3 by its tiles, if it has any
    lavapipe  f16 256^3
    vulkan    f16 4096^3 on the first GPU of the system's loader

`python -m bench epilogue` measures all of these.  Times of a process are medians of
rounds in which each kernel runs once; those of processors count the time that the
process computed.  Those of lavapipe are the least: its threads share the processor with
others.  Of several processes the median is shown, of times and of ratios within one.
What kernels computed on Vulkan devices is compared with numpy, in some rows.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import erf
from multiprocessing import get_context
from statistics import median
from typing import Any, TypeAlias

import numpy as np

import coopc
from bench.harness import Row, interleaved, kernel, line
from bench.vulkan_gemm import FLOAT_ERROR, PIPELINE, Array, error, matrix_gpu
from coopc.interface_call import pack
from coopc.remarks import remarks_to
from coopc.run.execute import on_vulkan, shader_of
from coopc.run.tiles import Tiles, best
from coopc.run.vulkan import Session
from coopc.run.vulkan_device import Shader

Kernel: TypeAlias = tuple[str, str]
"""A body, and whether a product precedes it."""
Times: TypeAlias = Mapping[Kernel, float]
"""Milliseconds of each kernel in a process."""

SIZES = {"cpu": 1024, "amx": 1024, "lavapipe": 256, "vulkan": 4096}
"""Of all matrices, by where kernels run."""
ELEMENTS = {"cpu": "f32", "amx": "bf16", "lavapipe": "f16", "vulkan": "f16"}
PROCESSES = 3
ROUNDS = 15
GPU_WARM, GPU_ROUNDS = 300, 101
"""Rounds until the clocks are up, and rounds that are measured."""
LIMIT = 600
"""Seconds that all rounds may take, where others use the processor."""
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
ROOT = np.float32(0.70710678)
WANTED: Mapping[str, Callable[[Any, Any], Any]] = {
    "bias": lambda x, y: x + y,
    "ReLU": lambda x, _: np.maximum(x, 0),
    "scale": lambda x, _: x * 0.5,
    "conversion": lambda x, _: x,
    "bias, GELU": lambda x, y: 0.5 * (x + y) * (1 + np.vectorize(erf)(ROOT * (x + y))),
    "residual": lambda x, y: x + y,
    "copy": lambda x, _: x,
    "plain": lambda x, _: x,
}
"""The same by numpy."""
ROWS = 8
"""How many of a result are compared."""
ROUNDING = {"float32": FLOAT_ERROR, "float16": 2**-11}
"""The error of a result, relative, in the Frobenius norm."""
CHEAP = 1.05
"""What all but the last may cost, over the product."""


def kernels() -> Iterator[Kernel]:
    """Yield what is measured."""
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


@cache
def matrices(element: str, size: int) -> tuple[Any, ...]:
    """Return two factors, sums and what is read behind them, the same at each call."""
    random = np.random.default_rng(0)
    a, b, c, r = (random.standard_normal((size, size), np.float32) for _ in range(4))
    if element == "f16":
        return *(x.astype(np.float16) for x in (a, b)), c, r
    if element == "bf16":
        return *((x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)), c, r
    return a, b, c, r


def arrays(name: str, part: str, element: str, size: int) -> list[Any]:
    """Return arguments of a kernel."""
    *factors, c, r = matrices(element, size)
    if part == "product":
        return [*factors, np.zeros_like(c)]
    given = factors if part == "fused" else [c]
    out = np.float16 if name == "conversion" else np.float32
    read = [r if name == "residual" else r[0]] if "%y" in BODIES[name] else []
    return [*given, *read, np.zeros((size, size), out)]


@cache
def sampled(element: str, size: int) -> tuple[Any, Any]:
    """Return the numbers of some rows, and those of the product."""
    rows = np.unique(np.linspace(0, size - 1, ROWS, dtype=int))
    a, b, *_ = matrices(element, size)
    return rows, a[rows].astype(np.float64) @ b.astype(np.float64)


def check(name: str, part: str, element: str, size: int, found: Any) -> None:
    """Compare some rows of what a kernel computed with numpy.

    Raises:
        ValueError: they differ.
    """
    rows, sums = sampled(element, size)
    *_, c, r = matrices(element, size)
    x = c[rows].astype(np.float64) if part == "alone" else sums
    y = r[rows] if name == "residual" else r[0]
    wrong = error(found[rows], WANTED[name](x, y))
    if not wrong <= ROUNDING[found.dtype.name]:
        raise ValueError(
            f"{name}, {part}: expected what numpy computes, off by {wrong}"
        )


def on_processor(element: str, size: int, tiles: Tiles) -> Times:
    """Return milliseconds of each kernel, in one thread of this process."""
    given = element, size
    actions = {
        each: kernel(source(*each, *given), arrays(*each, *given), tiles)
        for each in kernels()
    }
    times = interleaved([*actions.values()], ROUNDS, time.process_time)
    return {each: 1000 * x for each, x in zip(actions, times, strict=True)}


def by_vulkan(
    session: Session, pipeline: str, size: int, warm: int, rounds: int
) -> dict[Kernel, list[float]]:
    """Return milliseconds of each kernel on a device, by its timestamps.

    In a round each kernel runs once; times are those of rounds behind some that warm up
    the clocks.

    Raises:
        ValueError: a kernel computed something wrong.
    """
    shaders: dict[Kernel, Shader] = {}
    memories: dict[Hashable, Array] = {}
    for each in kernels():
        text = source(*each, "f16", size)
        with remarks_to(lambda _: None):
            artifact = coopc.compile(text, pipeline, "spirv-binary")
        given = arrays(*each, "f16", size)
        call = pack(artifact.interface[0], given)
        outcome = on_vulkan(artifact.bytes, call, session)
        check(*each, "f16", size, outcome.arrays[-1])
        keys = [(x.ctypes.data, x.shape) for x in given[:-1]]
        keys.append((given[-1].dtype, given[-1].shape))
        memories |= zip(keys, given, strict=True)
        places = [[*memories].index(key) for key in keys]
        shaders[each] = shader_of(session, artifact.bytes, call, places)
    outcome = session.run_sequence(
        [*shaders.values()],
        [*memories.values()],
        0,
        repeats=warm + rounds,
        seconds=LIMIT,
    )
    count = len(shaders)
    times = outcome.milliseconds[warm * count :]
    return {each: [*times[at::count]] for at, each in enumerate(shaders)}


def measured(on: str, size: int) -> tuple[str, Times] | None:
    """Return where kernels ran in this process, and their times; None if nowhere."""
    if on in ("cpu", "amx"):
        tiles = Tiles.AMX if on == "amx" else Tiles.NONE
        return on, on_processor(ELEMENTS[on], size, tiles)
    if on == "lavapipe":
        with Session.start("lavapipe") as session:
            times = by_vulkan(session, "coopc-khr{device=lavapipe}", size, 1, 24)
            return on, {each: min(found) for each, found in times.items()}
    if (session := matrix_gpu()) is None:
        return None
    with session:
        times = by_vulkan(session, PIPELINE, size, GPU_WARM, GPU_ROUNDS)
        name = f"vulkan, {session.info.name}"
        return name, {each: median(found) for each, found in times.items()}


def rows(where: str, times: Times) -> Iterator[Row]:
    plain, one_pass = times["plain", "product"], times["copy", "alone"] / 2
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


def medians(runs: Sequence[Sequence[Row]]) -> Iterator[Row]:
    """Yield the rows of several processes as one."""
    for same in zip(*runs, strict=True):
        bounds = [row.bound for row in same if row.bound is not None]
        yield replace(
            same[0],
            value=median(row.value for row in same),
            bound=median(bounds) if bounds else None,
        )


def measure(
    places: Sequence[str] | None = None, size: int | None = None, processes: int = 1
) -> Iterator[Row]:
    """Yield the rows of each place that this machine has, or of some."""
    for on in places or SIZES:
        if on == "amx" and best() is not Tiles.AMX:
            print("this processor has no tiles", file=sys.stderr)
            continue
        used = size or SIZES[on]
        with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            tasks = pool.starmap(measured, [(on, used)] * processes, chunksize=1)
        found = [each for each in tasks if each is not None]
        if found:
            where = f"{found[0][0]}, {ELEMENTS[on]} {used}^3"
            yield from medians([[*rows(where, times)] for _, times in found])


def main() -> None:
    parser = ArgumentParser(prog="bench.epilogue", description="Costs of epilogues.")
    parser.add_argument("--on", choices=SIZES, action="append")
    parser.add_argument("--size", type=int)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    given = parser.parse_args()
    for row in measure(given.on, given.size, given.processes):
        print(line(row))


if __name__ == "__main__":
    main()
