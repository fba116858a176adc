"""What every measurement is made of: medians of times, and rows of a table.

A module of `bench/` has a function `measure()` that yields rows.  Nothing here fails:
machines are noisy, and a bound that is missed is shown, not asserted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.remarks import remarks_to
from coopc.run.tiles import Tiles
from coopc.source import Source
from coopc.universe import everything

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    value: float
    unit: str
    bound: float | None = None
    """The most that is wanted, in `unit`; None where there is no bound."""
    least: float | None = None
    """The least that is wanted; None where there is no such bound."""

    @property
    def verdict(self) -> str:
        if self.bound is None and self.least is None:
            return ""
        most = self.value if self.bound is None else self.bound
        least = self.value if self.least is None else self.least
        return "ok" if least <= self.value <= most else "missed"

    @property
    def wanted(self) -> str:
        """The bounds, for people."""
        bounds = (("at most", self.bound), ("at least", self.least))
        return ", ".join(f"{x} {of:.4g}" for x, of in bounds if of is not None)


def line(row: Row) -> str:
    wanted = f"{row.wanted}: {row.verdict}" if row.wanted else ""
    return f"{row.name:64} {row.value:10.4g} {row.unit:5} {wanted}".rstrip()


def seconds(action: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time of `action` in seconds, after one run to warm up."""
    action()
    return median(once(action) for _ in range(repeats))


def interleaved(
    actions: Sequence[Callable[[], object]],
    repeats: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, ...]:
    """Return the median times of several actions, run in turn.

    What slows the machine down for a while slows all of them: their ratios hold.
    """
    for action in actions:
        action()
    rounds = [[once(action, clock) for action in actions] for _ in range(repeats)]
    return tuple(median(times) for times in zip(*rounds, strict=True))


def command(*arguments: str) -> Callable[[], object]:
    """Return an action that runs a tool of this environment, in the root folder.

    From its second run on it has the bytecode of modules, as an installed package has.
    """
    tool = str(Path(sys.executable).parent / arguments[0])
    env = {x: y for x, y in os.environ.items() if x != "PYTHONDONTWRITEBYTECODE"}

    def run() -> None:
        subprocess.run(
            [tool, *arguments[1:]],
            cwd=ROOT,
            env=env,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    return run


def processor_time() -> float:
    """Return the seconds that this process and those it waited for have computed."""
    used = map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def once(
    action: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return what a clock says that one run took."""
    start = clock()
    action()
    return clock() - start


def lowered(text: str, passes: str) -> ModuleOp:
    """Return a program after passes."""
    ctx, source = new_context(everything()), Source(text, "<bench>")
    found = parse(ctx, source)
    Run(ctx, source).apply(found, read_passes(passes, everything().all_passes))
    return found


def kernel(
    text: str, arrays: Sequence[Any], tiles: Tiles = Tiles.NONE
) -> Callable[[], None]:
    """Return what runs the only kernel of a program on this processor."""
    from coopc.launcher import LaunchTarget, build
    from coopc.run.cpu import Program

    with remarks_to(lambda _: None):
        built = build(Source(text, "f"), LaunchTarget("cpu", tiles=tiles))
    call = built.executable.call(arrays)
    program = Program.of(built.program, tiles)
    return program.prepared("f", call.opencl_arguments, call.groups)


def kept_rows(path: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, and end its last line if that was cut off."""
    if path is None or not path.exists():
        return
    text = path.read_text(encoding="utf-8")
    if text and not text.endswith("\n"):
        path.write_text(f"{text}\n", encoding="utf-8")  # what follows is a line
    for line in text.splitlines():
        with suppress(ValueError):
            yield json.loads(line)


def keep(path: Path | None, row: DataclassInstance) -> None:
    """Add a row to a file, if there is one."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            print(json.dumps(asdict(row)), file=file)


def pytorch() -> Any | None:
    """Return PyTorch; None where it is not installed."""
    with suppress(ImportError):
        return import_module("torch")
    return None


def cuda_milliseconds(
    torch: Any, action: Callable[[], object], runs: int
) -> list[float]:
    """Return the time of each run of an action of PyTorch, by events of its GPU."""
    times: list[float] = []
    for _ in range(runs):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        action()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return times
