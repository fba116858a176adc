"""What every measurement is made of: medians of times, and rows of a table.

A module of `bench/` has a function `measure()` that yields rows.  Nothing here fails:
machines are noisy, and a bound that is missed is shown, not asserted.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    value: float
    unit: str
    bound: float | None = None
    """The most that is wanted, in `unit`; None where there is no bound."""

    @property
    def verdict(self) -> str:
        if self.bound is None:
            return ""
        return "ok" if self.value <= self.bound else "missed"


def seconds(action: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time of `action` in seconds, after one run to warm up."""
    action()
    return median(_once(action) for _ in range(repeats))


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
    rounds = [[_once(action, clock) for action in actions] for _ in range(repeats)]
    return tuple(median(times) for times in zip(*rounds, strict=True))


def command(*arguments: str) -> Callable[[], object]:
    """Return an action that runs a tool of this environment, in the root folder."""
    tool = str(Path(sys.executable).parent / arguments[0])

    def run() -> None:
        subprocess.run(
            [tool, *arguments[1:]], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )

    return run


def processor_time() -> float:
    """Return the seconds that this process and those it waited for have computed."""
    used = map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _once(
    action: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    start = clock()
    action()
    return clock() - start
