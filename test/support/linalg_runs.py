"""Runs of programs of linalg on the engines, which go on where they ended.

    cd test; python -m support.linalg_runs --jobs 8 --log FILE --on khr,xe mlp conv-f16

runs programs (all, or those whose names begin so) on each engine (or on all, and on the
simulator, which is compared with numpy), each in a process of its own.  FILE gets a
line for each, and what it has is not run again.  Fields are between tabs: the program,
the engine, the outcome (matrix engine, lanes, vectors or equal where it is right, else
refused, wrong, failed, crashed or timed out), how many instructions the driver gets
(of SPIR-V, or lines of LLVM IR), seconds of processor time of coopc and of the driver,
seconds that passed, and the reason.  The exit status is 1 if any is bad.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

from support.linalg_engines import ENGINES, SECONDS, Cell, cell
from support.linalg_programs import check, entry, module_of, names, text_of

Case: TypeAlias = tuple[str, str]
"""A program, with its half after a dash, and an engine."""
BAD = {"wrong", "failed", "crashed", "timed out"}


def titles() -> dict[str, tuple[str, str | None]]:
    return {
        name if half is None else f"{name}-{half}": (name, half)
        for name, half in names()
    }


def report(title: str, engine: str, seconds: float) -> None:
    """Print a line of a log without the case, and with no time that passed."""
    name, half = titles()[title]
    found = Cell("crashed")

    def line() -> None:
        used = os.times()
        own, driver = used.user + used.system, used.children_user + used.children_system
        fields = found.ran, found.instructions, f"{own:.1f}", f"{driver:.1f}"
        print(*fields, " ".join(found.reason.split()), sep="\t")

    atexit.register(line)  # before drivers are: their time is known when they end
    if engine != "sim":
        found = cell(name, half, engine, seconds)
        return
    module = module_of(text_of(name, half))
    try:
        check(name, module, entry(module))
        found = Cell("equal")
    except AssertionError as error:
        found = Cell("wrong", reason=str(error))


def run_alone(case: Case, seconds: float) -> str:
    """Run a program in another process, and return its line of a log."""
    start, most = time.monotonic(), 3 * seconds
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, "--alone", *case, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, errors = process.communicate(timeout=most)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        printed, errors = f"timed out\t0\t\t\tcoopc and driver took {most:g} s", ""
    fields = printed.rstrip("\n").split("\t")
    if len(fields) != 5 or fields[0] == "crashed":
        fields = ["crashed", "0", "", "", " ".join(errors.split()[-60:])]
    if fields[0] == "failed" and "no answer within" in fields[4]:
        fields[0] = "timed out"
    passed = f"{time.monotonic() - start:.1f}"
    return "\t".join((*case, *fields[:4], passed, fields[4]))


def run_all(cases: Sequence[Case], log: Path, jobs: int, seconds: float) -> bool:
    """Run what a log lacks, print how often each outcome is in it; True if none is bad.

    Raises:
        OSError: the log cannot be read or written.
    """
    lines = log.read_text().splitlines() if log.exists() else []
    done = {tuple(line.split("\t")[:2]) for line in lines}
    with log.open("a") as file, ThreadPoolExecutor(jobs) as pool:

        def run(case: Case) -> str:
            line = run_alone(case, seconds)
            print(line, file=file, flush=True)
            return line

        lines += pool.map(run, [case for case in cases if case not in done])
    fields = [line.split("\t") for line in lines]
    found = [(x[1], x[2]) for x in fields if (x[0], x[1]) in set(cases)]
    for (engine, ran), count in sorted(Counter(found).items()):
        print(f"{engine}: {ran} {count}")
    return not BAD & {ran for _, ran in found}


def main() -> int:
    if sys.argv[1:2] == ["--alone"]:
        title, engine, seconds = sys.argv[2:]
        report(title, engine, float(seconds))
        return 0
    parser = ArgumentParser(prog=__spec__.name, description="Run programs of linalg.")
    parser.add_argument("programs", nargs="*", help="beginnings of names")
    parser.add_argument("--on", default=",".join((*ENGINES, "sim")))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for a driver")
    parser.add_argument("--log", type=Path, default=Path("linalg-runs.tsv"))
    given = parser.parse_args()
    engines = given.on.split(",")
    if unknown := sorted({*engines} - {*ENGINES, "sim"}):
        parser.error(f"--on: expected {', '.join((*ENGINES, 'sim'))}, got {unknown[0]}")
    begins = tuple(given.programs) or ("",)
    chosen = [title for title in titles() if title.startswith(begins)]
    cases = [(title, engine) for title in chosen for engine in engines]
    return 0 if run_all(cases, given.log, given.jobs, given.seconds) else 1


if __name__ == "__main__":
    sys.exit(main())
