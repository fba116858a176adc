"""GEMM by vector registers, against OpenBLAS through numpy and oneDNN through PyTorch.

Both sides multiply matrices as they are in memory, packing included, in turn and in one
process; speeds over the peer's are medians and the worst of three processes.  With one
thread the time that the process computed counts.  Where the rows say bf16 -> bf16 both
sides store bf16; PyTorch knows no other sums of it.  Without PyTorch there are no rows
of oneDNN.

    python -m bench.cpu_gemm --size 512 --size 2048 --threads 1
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.harness import Row, interleaved, line
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.cpu import Program, cores
from coopc.run.thread_pool import ThreadPool
from coopc.run.tiles import Tiles
from coopc.source import Source
from coopc.universe import everything

SIZES = (512, 1024, 2048)
PROCESSES = 3
SECONDS = 0.4
"""How long both sides of a row are measured, about, in each process."""
PAUSE = 0.02
"""Before a side of several threads: those of the other spin for a while."""
BOUNDS = {"f32": 0.9, "bf16": 0.85, "i8": 0.85}
"""The least speed over the peer's, by the type of A and B."""
WIDE = {"SkylakeX", "Cooperlake", "Sapphirerapids"}
"""Cores of OpenBLAS with kernels for AVX-512; on others the bound is `NARROW_BOUND`."""
NARROW_BOUND = 1.5
HASWELL = "coopc-cpu"


@dataclass(frozen=True)
class Case:
    """A product that is measured."""

    a: str
    """The type of A and B: f32, bf16 or i8."""
    c: str
    sizes: tuple[int, int, int]
    """M, N and K."""
    threads: int = 1
    processor: str | None = None
    """What LLVM and OpenBLAS are to compile for; None for this one."""
    passes: str | None = None
    """The pipeline; None for that of `coopc.launch` without AMX."""
    tiles: Tiles = Tiles.NONE
    maps: tuple[str, str] = ("m, k", "k, n")
    batch: int = 0
    least: float | None = None
    """The least speed over the peer's that is wanted."""
    beside: Case | None = None
    """A product of ours that is the peer, as often as the batch has matrices."""

    def __str__(self) -> str:
        m, n, k = self.sizes
        shape = f"{m}^3" if m == n == k else f"{m}x{n}x{k}"
        shape += f", batch of {self.batch}" * bool(self.batch)
        for name, map, plain in zip("AB", self.maps, ("m, k", "k, n"), strict=True):
            shape += f", {name} transposed" * (map != plain)
        where = f", {self.processor}" if self.processor else ""
        return f"{self.a} -> {self.c} {shape}, {self.threads} threads{where}"

    def shape(self, map: str) -> tuple[int, ...]:
        sizes = dict(zip("mnk", self.sizes, strict=True))
        lead = (self.batch,) if self.batch else ()
        return *lead, *(sizes[x] for x in map.split(", "))

    @property
    def source(self) -> str:
        """A function that fills C with zeros, multiplies, and converts the sums."""
        sum = "i32" if self.a == "i8" else "f32"
        a, b, sums = (
            f"memref<{'x'.join(map(str, (*self.shape(x), of)))}>"
            for x, of in zip((*self.maps, "m, n"), (self.a, self.a, sum), strict=True)
        )
        c, kind = sums.replace(sum, self.c), "si" if self.a == "i8" else "f"
        add, one = ("i", "0") if self.a == "i8" else ("f", "0.0")
        b_, lead = ("b, ", ["parallel"]) if self.batch else ("", [])
        reads = ", ".join(
            f"affine_map<({b_}m, n, k) -> ({b_}{x})>" for x in (*self.maps, "m, n")
        )
        kinds = ", ".join(f'"{x}"' for x in (*lead, *["parallel"] * 2, "reduction"))
        wide, x, y = "", "%x", "%y"
        if self.a != sum:
            x, y = "%v", "%w"
            wide = f"""%v = arith.ext{kind} %x : {self.a} to {sum}
            %w = arith.ext{kind} %y : {self.a} to {sum}"""
        memory, behind = "", ""
        if self.c != sum:
            memory = f"%s = memref.alloc() : {sums}"
            id = "affine_map<(m, n) -> (m, n)>"
            behind = f"""linalg.generic {{indexing_maps = [{id}, {id}],
              iterator_types = ["parallel", "parallel"]}}
              ins(%s : {sums}) outs(%c : {c}) {{
            ^bb0(%x: {sum}, %y: {self.c}):
              %r = arith.truncf %x : {sum} to {self.c}
              linalg.yield %r : {self.c}
            }}"""
        to = "%s" if memory else "%c"
        return f"""func.func @gemm(%a: {a}, %b: {b}, %c: {c}) {{
          %z = arith.constant {one} : {sum}
          {memory}
          linalg.fill ins(%z : {sum}) outs({to} : {sums})
          linalg.generic {{indexing_maps = [{reads}], iterator_types = [{kinds}]}}
              ins(%a, %b : {a}, {b}) outs({to} : {sums}) {{
          ^bb0(%x: {self.a}, %y: {self.a}, %t: {sum}):
            {wide}
            %p = arith.mul{add} {x}, {y} : {sum}
            %u = arith.add{add} %t, %p : {sum}
            linalg.yield %u : {sum}
          }}
          {behind}
          func.return
        }}"""

    def module(self) -> Any:
        """The function after the passes."""
        from coopc.launcher import Target

        passes = self.passes
        if passes is None:
            passes = Target("cpu", tiles="none", threads=self.threads).vectors
        else:
            passes += f"{{threads={self.threads}}}"
        ctx, text = new_context(everything()), Source(self.source, "gemm")
        found = parse(ctx, text)
        Run(ctx, text).apply(found, read_passes(passes, everything().all_passes))
        return found

    def arrays(self) -> tuple[list[Any], Any]:
        """A, B and C, and the numbers of A and B, small enough for exact sums."""
        rng = np.random.default_rng(0)
        least, most = (-128, 128) if self.a == "i8" else (-4, 5)
        numbers = [rng.integers(least, most, self.shape(x)) for x in self.maps]
        to = {"f32": np.float32, "bf16": np.float32, "i8": np.int8}[self.a]
        given = [x.astype(to) for x in numbers]
        c = {"f32": np.float32, "bf16": np.uint16, "i32": np.int32}[self.c]
        if self.a == "bf16":
            given = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in given]
        return [*given, np.zeros(self.shape("m, n"), c)], numbers


def in_turn(case: Case, actions: Sequence[Callable[[], object]]) -> tuple[float, ...]:
    """Return the median times of what does the same, alternating."""
    if case.threads == 1:
        rounds = rounds_of(case, actions)
        return interleaved(actions, rounds, time.process_time)
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds_of(case, actions)):
        for action, found in zip(actions, times, strict=True):
            time.sleep(PAUSE)
            action()
            begin = time.perf_counter()
            action()
            found.append(time.perf_counter() - begin)
    return tuple(map(median, times))


def rounds_of(case: Case, actions: Sequence[Callable[[], object]]) -> int:
    begin = time.perf_counter()
    for action in actions:
        action()
    return max(5, min(31, int(SECONDS / (time.perf_counter() - begin))))


def ours(case: Case) -> Callable[[], object]:
    """Return what multiplies, after a comparison of some rows with numpy.

    Raises:
        ValueError: they differ.
    """
    given, numbers = case.arrays()
    program = Program.of(case.module(), case.tiles, cpu=case.processor)
    run = program.prepared("gemm", given, (1, 1, 1), threads=case.threads)
    run()
    check(case, given[-1], numbers)
    return run


def check(case: Case, found: Any, numbers: Sequence[Any]) -> None:
    """Compare the first and the last row of C; what is rounded to bf16, to that."""
    a, b = (
        x.swapaxes(-1, -2) if map in ("k, m", "n, k") else x
        for x, map in zip(numbers, case.maps, strict=True)
    )
    rows = [0, -1]
    wanted = a[..., rows, :].astype(np.float64) @ b.astype(np.float64)
    got = found[..., rows, :]
    if case.c == "bf16":
        got = (got.astype(np.uint32) << 16).view(np.float32)
    error = float(np.abs(got - wanted).max())
    if error > (2**-8 * float(np.abs(wanted).max()) if case.c == "bf16" else 0):
        raise ValueError(f"{case}: expected what numpy computes, off by {error}")


def theirs(case: Case) -> Callable[[], object] | None:
    """Return what a library does instead; None where it is not installed."""
    if case.beside is not None:
        once, count = ours(case.beside), max(1, case.batch)
        return lambda: [once() for _ in range(count)]
    *given, c = case.arrays()[0]
    given = [
        x.swapaxes(-1, -2) if map in ("k, m", "n, k") else x
        for x, map in zip(given, case.maps, strict=True)
    ]
    if case.a == "f32":
        return lambda: np.matmul(*given, out=c)
    if importlib.util.find_spec("torch") is None:
        return None
    import torch  # pyright: ignore[reportMissingImports]

    torch_: Any = torch
    torch_.set_num_threads(case.threads)
    views = [torch_.from_numpy(x) for x in given]
    if case.a == "bf16":
        views = [
            torch_.from_numpy(x.view(np.int16)).view(torch_.bfloat16) for x in given
        ]
        return lambda: torch_.matmul(*views)
    if case.batch:
        return lambda: [torch_._int_mm(x, y) for x, y in zip(*views, strict=True)]
    return lambda: torch_._int_mm(*views)


def measured(cases: Sequence[Case]) -> tuple[str, list[Sequence[float]]]:
    """Return OpenBLAS's core; seconds of each case, and the peer's if there is one."""
    found: list[Sequence[float]] = []
    mine = cores()
    if importlib.util.find_spec("torch") is not None:
        import_module("torch")  # OpenMP asks for processors before any thread is pinned
    for case in cases:
        peer = theirs(case)
        if case.threads > 1:
            ThreadPool.of(case.threads).pin(mine[: case.threads])
        actions = [ours(case)] if peer is None else [ours(case), peer]
        found.append(in_turn(case, actions))
    return openblas(), found


def openblas() -> str:
    """Return which kernels numpy's OpenBLAS has; empty where it is another library."""
    folder = Path(np.__file__).parent.with_name("numpy.libs")
    for path in folder.glob("*openblas*"):
        core = ctypes.CDLL(str(path)).scipy_openblas_get_corename64_
        core.restype = ctypes.c_char_p
        return core().decode()
    return ""


def in_processes(
    cases: Sequence[Case], processes: int
) -> Iterator[tuple[str, list[Sequence[float]]]]:
    """Measure cases of one processor and number of threads, in new processes."""
    first = cases[0]
    places = ",".join(f"{{{n}}}" for n in cores()[: first.threads])
    settings = {
        "OPENBLAS_NUM_THREADS": str(first.threads),
        "OMP_PROC_BIND": "true",
        "OMP_PLACES": places,
    }
    if first.processor is not None:
        settings["OPENBLAS_CORETYPE"] = first.processor.capitalize()
    before = dict(os.environ)
    os.environ.update(settings)  # which libraries read when they are loaded
    try:
        for _ in range(processes):
            with get_context("spawn").Pool(1) as pool:
                yield pool.apply(measured, (cases,))
    finally:
        os.environ.clear()
        os.environ.update(before)


def rows(cases: Sequence[Case], processes: int) -> Iterator[Row]:
    """Yield speeds, and that over the peer's: the median and the worst."""
    runs = [*in_processes(cases, processes)]
    core = runs[0][0]
    for case, *times in zip(cases, *(found for _, found in runs), strict=True):
        m, n, k = case.sizes
        products = 2e-9 * m * n * k * max(1, case.batch)
        peer = f"OpenBLAS {core}" if case.a == "f32" else "oneDNN"
        peer = peer if case.beside is None else "plain"
        for name, seconds in zip(
            ("coopc", peer), zip(*times, strict=True), strict=False
        ):
            yield Row(f"{case}: {name}", products / median(seconds), "Gop/s")
        ratios = [x[1] / x[0] for x in times if len(x) > 1]
        if not ratios:
            continue
        least = case.least
        if case.a == "f32" and case.processor is None and core not in WIDE:
            least = NARROW_BOUND
        yield Row(f"{case}: speed / {peer}'s", median(ratios), "", least=least)
        yield Row(f"{case}: the worst of {len(ratios)}", min(ratios), "")


def cases(sizes: Sequence[int], threads: int) -> Iterator[Case]:
    for size in sizes:
        cube = (size, size, size)
        for a, c in (("f32", "f32"), ("bf16", "f32"), ("bf16", "bf16"), ("i8", "i32")):
            yield Case(a, c, cube, threads, least=BOUNDS[a])


def measure(
    sizes: Sequence[int] = SIZES,
    threads: Sequence[int] | None = None,
    processes: int = PROCESSES,
) -> Iterator[Row]:
    for count in threads or sorted({1, min(2, len(cores()))}):
        yield from rows([*cases(sizes, count)], processes)
        haswell = [
            Case("f32", "f32", (x, x, x), count, "haswell", HASWELL, least=0.9)
            for x in sizes
        ]
        yield from rows(haswell, processes)


def main() -> None:
    parser = ArgumentParser(prog="bench.cpu_gemm", description="GEMM by vectors.")
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--threads", type=int, action="append")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    given = parser.parse_args()
    for row in measure(given.size or SIZES, given.threads, given.processes):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
