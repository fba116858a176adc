"""coopc-tune: find the fastest plans for the products of a program on this machine.

    coopc-tune examples/matmul.mlir --on vulkan --device nvidia
    coopc-tune examples/matmul.mlir --on cpu --threads 8 --seconds 60 -o cpu.toml
    coopc-opt examples/matmul.mlir -p "coopc-cpu{tuning=cpu.toml}" -t llvm-ir

It tries tiles, stages, blocks and pipelines, starting with the built-in plans.
Each candidate is compiled, run in a separate process, checked and timed.
Candidates that are wrong, crash or hang are reported and dropped. The tuning
file is only valid for this device, driver and coopc version, and these sizes.

Run the same command again to resume an interrupted search or to extend it;
FILE.log keeps the measurements.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from coopc.device import device
from coopc.device.file import SUFFIXES, written
from coopc.explain import usage_errors, wrong_call
from coopc.source import read_source
from coopc.tools.driver import (
    ArgumentParser,
    RawHelpFormatter,
    run_tool,
    whole_number,
    write_output,
)
from coopc.tools.help import add_about

if TYPE_CHECKING:
    from rich.console import Console

    from coopc.tuner import Found, Search, Trial

TOOL = "coopc-tune"
PLACES = ("vulkan", "opencl", "cpu")
ROWS = 10
"""Candidates in the table, at most, and failures below it."""


def parser() -> ArgumentParser:
    found = ArgumentParser(
        prog=TOOL, description=__doc__, formatter_class=RawHelpFormatter
    )
    add = found.add_argument

    def number(flag: str, default: int, unit: str, text: str) -> None:
        range = whole_number(0 if flag == "--seed" else 1)
        text = f"{text} (default: {default})"
        add(flag, type=range, default=default, metavar=unit, help=text)

    add("file", metavar="PROGRAM", help="a module with a linalg function")
    add("--on", choices=PLACES, required=True, help="where it runs")
    what = "compile for this device (default with --on vulkan: lavapipe)"
    add("--device", metavar="NAME", help=what)
    add_about(add, "devices")
    number("--threads", 1, "N", "threads that share a product, with --on cpu")
    number("--seconds", 300, "SECONDS", "how long the search may take")
    number("--timeout", 20, "SECONDS", "how long one candidate may run")
    add("--kernel", metavar="NAME", help="the function to tune, if there are several")
    what = "set an argument, as with coopc-run: a=exact:128x4096xf16"
    add("--arg", metavar="NAME=VALUE", action="append", default=[], help=what)
    number("--size", 64, "N", "size of the dynamic dimensions that no --arg gives")
    number("--seed", 0, "N", "seed of random arguments")
    what = "measure on the workers of a Dask scheduler (needs coopc[dask])"
    add("--dask", metavar="ADDRESS", help=what)
    what = "the tuning file, .toml (default: PROGRAM.tuning.toml)"
    add("--output", "-o", metavar="FILE", help=what)
    return found


@contextmanager
def executor_of(address: str | None) -> Generator[tuple[Executor, int]]:
    """Open what runs measurements, and say how many at a time.

    Raises:
        CompileError: there is no Dask, or no such scheduler.
    """
    if address is None:
        with ThreadPoolExecutor(1) as pool:
            yield pool, 1
        return
    try:
        distributed: Any = import_module("dask.distributed")
    except ImportError as error:
        message = (
            f"expected Dask for --dask, pip install coopc[dask], got none: {error}"
        )
        raise wrong_call(TOOL, message) from error
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        message = f"expected the address of a Dask scheduler, got {address}: {error}"
        raise wrong_call(TOOL, message) from error
    with client:
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        yield client.get_executor(pure=False), max(1, workers)


def body(args: argparse.Namespace) -> None:
    from rich.console import Console

    from coopc.run.executable import failures
    from coopc.tuner import Log, Search, TunedProgram

    source = read_source(args.file)
    stem = "program" if args.file == "-" else str(Path(args.file).with_suffix(""))
    output: str = args.output or f"{stem}.tuning.toml"
    if Path(output).suffix != SUFFIXES[0]:
        raise wrong_call(TOOL, f"expected a {SUFFIXES[0]} file, got {output}")
    if args.on != "cpu" and args.threads != 1:
        raise wrong_call(TOOL, f"expected --on cpu with --threads, got {args.on}")
    if args.on == "cpu" and args.device is not None:
        what = "expected --on vulkan or opencl, which --device is for, got --on cpu"
        raise wrong_call(TOOL, what)
    if args.device is not None:
        with usage_errors(TOOL):
            device(args.device)
    if not (folder := Path(output).parent).is_dir():
        raise wrong_call(TOOL, f"{output}: expected a folder {folder}, got none")
    if Path(output).is_dir():
        raise wrong_call(TOOL, f"expected a file to write, got the folder {output}")
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    program = TunedProgram(
        source,
        args.on,
        args.device,
        args.kernel,
        tuple(args.arg),
        args.size,
        args.seed,
        args.threads,
        args.timeout,
    )
    with (
        usage_errors(TOOL, OSError, *failures()),
        executor_of(args.dask) as (executor, slots),
    ):
        machine = executor.submit(program.machine).result()
        names = {"device": machine.device, "driver": machine.driver}
        log = Log.of(Path(f"{output}.log"), {**program.identity, **names})
        console.print(f"{machine.device}, {machine.driver}")
        if log.measured:
            console.print(
                f"continues after {len(log.measured)} candidates of {log.path}"
            )
        search = Search(program, executor, slots, log, machine)
        found = watched(search, args.seconds)
    tuning = replace(
        found.chosen.tuning(program, machine),
        milliseconds=found.final[found.chosen],
        before=found.before,
    )
    write_output(output, written(tuning).encode())
    show(search, found, console)
    passes = found.chosen.way.text(output)
    console.print(f"wrote {output}; use it by")
    console.print(f"  coopc-opt {shlex.quote(args.file)} -p {shlex.quote(passes)}")


def watched(search: Search, seconds: int) -> Found:
    """Run a search, with its progress on the standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("computes what is expected", total=seconds)
        search.prepare()
        begin = monotonic()

        def report() -> None:
            known = search.log.measured.values()
            times = [x.milliseconds for x in known if x.milliseconds is not None]
            best = f"best {1000 * min(times):.1f} us" if times else "none works yet"
            text = f"{len(known)} tried, {len(known) - len(times)} failed, {best}"
            done = min(monotonic() - begin, seconds)
            progress.update(task, description=text, completed=done)

        return search.run(seconds, report)


def show(search: Search, found: Found, console: Console) -> None:
    """Print the fastest candidates, and those that failed."""
    from rich.table import Table

    def plan(trial: Trial) -> str:
        """Return what is not built in."""
        built_in = search.built_in(trial.way)
        others = [x for x in trial.choices if x not in built_in.choices]
        several = len(built_in.choices) > 1
        texts = (f"{x}: {y}" if several else str(y) for x, y in others or trial.choices)
        return "; ".join(texts) + " (built in)" * (trial == built_in)

    measured = search.log.measured
    times = {x: y.milliseconds for x, y in measured.items() if y.milliseconds}
    fastest = sorted(times, key=lambda x: times[x])[:ROWS]
    table = Table("pipeline", "plan", "us", "us by turns", box=None, pad_edge=False)
    for trial in dict.fromkeys(
        (*sorted(found.final, key=lambda x: found.final[x]), *fastest)
    ):
        both = times.get(trial), found.final.get(trial)
        cells = ("" if x is None else f"{1000 * x:.1f}" for x in both)
        table.add_row(trial.way.pipeline, plan(trial), *cells)
    console.print(table)
    failed = {x: y.failure for x, y in measured.items() if y.failure}
    console.print(f"{len(measured)} candidates, {len(failed)} failed")
    for trial in [*failed][:ROWS]:
        line = f"  {trial.way.pipeline}, {plan(trial)}: {failed[trial]}"
        console.print(line, markup=False)
    took = found.final[found.chosen]
    gain = f", {found.before / took:.2f} times as fast as built in"
    console.print(f"{1000 * took:.1f} us{gain if found.before else ''}")


def main(args: Sequence[str] | None = None) -> int:
    return run_tool(TOOL, lambda: body(parser().read(args)))


if __name__ == "__main__":
    sys.exit(main())
