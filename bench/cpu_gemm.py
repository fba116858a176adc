"""GEMM by vector registers, against OpenBLAS through numpy and oneDNN through PyTorch.

Both sides multiply matrices as they are in memory, packing included, in turn; speeds
over the peer's are medians and the worst of three processes.  With one thread the time
that the process computed counts.  Where the rows say bf16 -> bf16 both sides store
bf16; PyTorch knows no other sums of it.  It runs in a process beside, by the Python
that `COOPC_BENCH_PYTHON` names, this one, or the system's, the first that has it.
Without PyTorch there are no rows of oneDNN.

    python -m bench.cpu_gemm --size 512 --size 2048 --threads 1
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from math import prod
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.harness import Row, line, lowered
from coopc.generate.gemms import Gemm
from coopc.passes.cpu.stages import Stages
from coopc.run.arrays import aligned
from coopc.run.cpu import Program, cores, llvm_ir
from coopc.run.thread_pool import ThreadPool
from coopc.run.tiles import Tiles

SIZES = (512, 1024, 2048)
PLAIN = ("mk", "kn")
PROCESSES = 3
SECONDS = 0.4
"""How long both sides of a row are measured, about, in each process."""
PAUSE = 0.02
"""Before a side of several threads: those of the other spin for a while."""
WARM = 0.003
"""How long a side multiplies before it is measured: after other work, and after a
pause, units of AMX take a while until they are as fast as they get."""
BOUNDS = {"f32": 0.9, "bf16": 0.85, "i8": 0.85}
"""The least speed over the peer's, by the type of A and B."""
WIDE = {"SkylakeX", "Cooperlake", "Sapphirerapids"}
"""Cores of OpenBLAS with kernels for AVX-512; on others the bound is `NARROW_BOUND`."""
NARROW_BOUND = 1.5
HASWELL = "coopc-cpu"
PYTHON = "COOPC_BENCH_PYTHON"
"""The variable that names a Python with PyTorch; the one that has it, in processes."""


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
    maps: tuple[str, str] = PLAIN
    """The dimensions of A and B in memory."""
    batch: int = 0
    least: float | None = None
    """The least speed over the peer's that is wanted."""
    beside: Case | None = None
    """A product of ours that is the peer, of as many matrices as the batch has."""
    prepacked: bool = False
    """Whether B is packed before, on both sides."""

    def __str__(self) -> str:
        m, n, k = self.sizes
        shape = f"{m}^3" if m == n == k else f"{m}x{n}x{k}"
        shape += f", batch of {self.batch}" * bool(self.batch)
        for name, map, plain in zip("AB", self.maps, PLAIN, strict=True):
            shape += f", {name} transposed" * (map != plain)
        shape += ", B packed before" * self.prepacked
        where = f", {self.processor}" if self.processor else ""
        return f"{self.a} -> {self.c} {shape}, {self.threads} threads{where}"

    @property
    def gemm(self) -> Gemm:
        """What is measured: C is zeros at first, and the sums are converted."""
        sums = "i32" if self.a == "i8" else "f32"
        a, b, c = ("b" * bool(self.batch) + x for x in (*self.maps, "mn"))
        stored = None if self.c == sums else self.c
        types, batch = (self.a, sums), self.batch
        return Gemm(self.sizes, a, b, c, types, first=0, batch=batch, stored=stored)

    def module(self) -> Any:
        """The function after the passes."""
        from coopc.launcher import LaunchTarget

        target = LaunchTarget("cpu", tiles="none", threads=self.threads)
        passes = self.passes
        if passes is None:
            passes = target.vectors
        elif passes == "coopc-amx":
            passes += f"{{threads={self.threads}{target.features}}}"
        else:
            passes += f"{{threads={self.threads}}}"
        if self.prepacked:
            passes = passes.replace("{", "{prepack=b ")
        return lowered(self.gemm.text, passes)

    @functools.cached_property
    def compiled(self) -> tuple[str, Mapping[str, Stages]]:
        """LLVM IR, and how its kernels run."""
        found = self.module()
        return llvm_ir(found), Stages.of(found)

    def arrays(self) -> list[Any]:
        """A, B and C; of A and B numbers that are small enough for exact sums."""
        return [_aligned(x) for x in self.gemm.arrays()]


def _aligned(array: Any) -> Any:
    """Return a copy that begins where those of PyTorch do."""
    found = aligned(array.nbytes).view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def in_turn(actions: Sequence[Callable[[], float]]) -> tuple[float, ...]:
    """Return the median times of what does the same, alternating."""
    begin = time.perf_counter()
    for action in actions:
        action()
    rounds = max(5, min(31, int(SECONDS / (time.perf_counter() - begin))))
    times = [[action() for action in actions] for _ in range(rounds)]
    return tuple(map(median, zip(*times, strict=True)))


def timed(case: Case, action: Callable[[], object]) -> Callable[[], float]:
    """Return what runs once, and returns the seconds that counts."""
    clock = time.process_time if case.threads == 1 else time.perf_counter

    def run() -> float:
        if case.threads > 1:
            time.sleep(PAUSE)
        until = time.perf_counter() + WARM
        while time.perf_counter() < until:
            action()
        begin = clock()
        action()
        return clock() - begin

    return run


def ours(case: Case) -> Callable[[], object]:
    """Return what multiplies, after a comparison of some rows with numpy.

    Raises:
        ValueError: they differ.
    """
    given = case.arrays()
    a, b, c = given
    ir, stages = case.compiled
    program = Program.of_text(ir, case.tiles, cpu=case.processor)
    program, one = replace(program, staged=stages), (1, 1, 1)
    how: dict[str, Any] = {"threads": case.threads}
    if case.prepacked:
        found = stages["gemm"].packed
        assert found is not None, case
        count = prod(found.elements.eval([0], []))
        packed = aligned(4 * count)
        how["sizes"] = [count]
        pack = [b, packed, np.int64(count)]
        program.prepared("gemm.pack_b", pack, one, **how)()
        given[1:2] = [packed, np.int64(count)]
    run = program.prepared("gemm", given, one, **how)
    run()
    check(case, a, b, c)
    return run


def check(case: Case, a: Any, b: Any, c: Any) -> None:
    """Compare the first and the last row of C; what is rounded to bf16, to that."""
    pair = enumerate(zip((a, b), case.maps, PLAIN, strict=True))
    a, b = (
        case.gemm.values(x if map == plain else x.swapaxes(-1, -2), n)
        for n, (x, map, plain) in pair
    )
    rows = [0, -1]
    wanted, got = a[..., rows, :] @ b, c[..., rows, :]
    if case.c == "bf16":
        got = (got.astype(np.uint32) << 16).view(np.float32)
    error = float(np.abs(got - wanted).max())
    if error > (2**-8 * float(np.abs(wanted).max()) if case.c == "bf16" else 0):
        raise ValueError(f"{case}: expected what numpy computes, off by {error}")


@functools.cache
def python() -> str | None:
    """Return a Python that has PyTorch; None where there is none."""
    system = ("/usr/bin/python3", "/usr/local/bin/python3")
    for each in (os.environ.get(PYTHON, ""), sys.executable, *system):
        if not Path(each).is_file():
            continue
        asked = [each, "-c", "import torch"]
        done = subprocess.run(asked, env=environment(each), capture_output=True)
        if done.returncode == 0:
            return each
    return None


def environment(python: str) -> dict[str, str]:
    """Return the variables for a Python: packages of this one are not for others."""
    own = python == sys.executable
    return {x: y for x, y in os.environ.items() if own or x != "PYTHONPATH"}


@functools.cache
def peer() -> subprocess.Popen[str] | None:
    """Return the process that multiplies by PyTorch, for all cases of this one."""
    if (name := python()) is None:
        return None
    command = [name, str(Path(__file__).with_name("_torch_peer.py"))]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env=environment(name)
    )


def ask(line: str) -> str:
    """Return what the peer answers to a line."""
    process = peer()
    assert process is not None
    assert process.stdin is not None
    assert process.stdout is not None
    print(line, file=process.stdin, flush=True)
    return process.stdout.readline()


def theirs(case: Case) -> tuple[str, Callable[[], float] | None]:
    """Return what a library does instead, and its name, or why it does not."""
    if case.beside is not None:
        calls = [ours(case.beside) for _ in range(max(1, case.batch))]
        return "plain", timed(case, lambda: [call() for call in calls])
    if case.a == "f32":
        *given, c = case.arrays()
        return f"OpenBLAS {openblas()}", timed(case, lambda: np.matmul(*given, out=c))
    if peer() is None:
        return "", None
    said = {x: y for x, y in asdict(case).items() if x not in ("beside", "tiles")}
    said |= {"pause": PAUSE, "warm": WARM}
    answer = json.loads(ask(json.dumps(said)) or '{"error": "end"}')
    if "error" in answer:
        return f"no oneDNN: {answer['error']}", None
    return answer["name"], lambda: float(ask("run"))


def measured(cases: Sequence[Case]) -> list[tuple[str, Sequence[float]]]:
    """Return the peer of each case, and the seconds of both or of one."""
    found: list[tuple[str, Sequence[float]]] = []
    mine = cores()
    for case in cases:
        name, other = theirs(case)
        run = timed(case, ours(case))
        if case.threads > 1:
            ThreadPool.of(case.threads).pin(mine[: case.threads])
        else:
            os.sched_setaffinity(0, mine[:1])
        found.append((name, in_turn([run] if other is None else [run, other])))
    if (process := peer()) is not None:
        process.kill()
        process.wait()
    return found


def openblas() -> str:
    """Return which kernels numpy's OpenBLAS has; empty where it is another library."""
    folder = Path(np.__file__).parent.with_name("numpy.libs")
    for path in folder.glob("*openblas*"):
        core = ctypes.CDLL(str(path)).scipy_openblas_get_corename64_
        core.restype = ctypes.c_char_p
        return core().decode()
    return ""


def in_processes(
    cases: Sequence[Case], processes: int, seconds: float
) -> Iterator[list[tuple[str, Sequence[float]]]]:
    """Measure cases of one processor and number of threads, in new processes.

    Not as often as asked where that would take longer than some seconds.
    """
    first = cases[0]
    places = ",".join(f"{{{n}}}" for n in cores()[: first.threads])
    settings = {
        "OPENBLAS_NUM_THREADS": str(first.threads),
        "OMP_NUM_THREADS": str(first.threads),
        "OMP_PROC_BIND": "true",
        "OMP_PLACES": places,
    }
    if first.processor is not None:
        settings["OPENBLAS_CORETYPE"] = first.processor.capitalize()
    if any(x.a != "f32" for x in cases) and (found := python()) is not None:
        settings[PYTHON] = found
    end, took = time.monotonic() + seconds, 0.0
    with ProcessPoolExecutor(len(cores()), get_context("spawn")) as pool:
        made = [*pool.map(compiled, cases)]
    before = dict(os.environ)
    os.environ.update(settings)  # which libraries read when they are loaded
    try:
        for number in range(processes):
            begin = time.monotonic()
            if number and begin + took > end:
                return
            with get_context("spawn").Pool(1) as pool:
                yield pool.apply(measured, (made,))
            took = time.monotonic() - begin
    finally:
        os.environ.clear()
        os.environ.update(before)


def compiled(case: Case) -> Case:
    """Return a case that is compiled, and so is what it is compared with."""
    found = replace(case, beside=case.beside and compiled(case.beside))
    _ = found.compiled  # is kept
    return found


def rows(
    cases: Sequence[Case], processes: int, seconds: float = float("inf")
) -> Iterator[Row]:
    """Yield speeds, and that over the peer's: the median and the worst."""
    runs = [*in_processes(cases, processes, seconds)]
    for case, *found in zip(cases, *runs, strict=True):
        m, n, k = case.sizes
        products = 2e-9 * m * n * k * max(1, case.batch)
        name, times = found[0][0], [x for _, x in found]
        for who, each in zip(("coopc", name), zip(*times, strict=True), strict=False):
            yield Row(f"{case}: {who}", products / median(each), "Gop/s")
        ratios = [x[1] / x[0] for x in times if len(x) > 1]
        if not ratios:
            if name:
                yield Row(f"{case}: {name}", 0, "")
            continue
        least = case.least
        if case.a == "f32" and case.processor is None and name.split()[-1] not in WIDE:
            least = NARROW_BOUND
        yield Row(f"{case}: speed / {name}'s", median(ratios), "", least=least)
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
