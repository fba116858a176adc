"""The search of `coopc-tune`: measures candidates, and keeps the fastest.

A candidate is a tuning file, with the built-in choice for each product but one.  It is
compiled as a user's is, and runs in the worker process of its engine, where it may
crash or hang alone; what it computed is compared before it is timed.  The built-in
plans are a candidate, too, and in the end the fastest are timed by turns with them.

Each result is written to a log at once, by which a search goes on where it was
interrupted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from coopc.compiler import new_context
from coopc.device.cpu import VECTOR_TILE, WIDE_VECTOR_TILE
from coopc.device.file import record, written
from coopc.diagnostic import CompileError
from coopc.explain import summary
from coopc.interface_call import Given
from coopc.ir.device_option import device_for
from coopc.launcher import (
    PLACES,
    Build,
    LaunchTarget,
    build,
    computes_f16,
    source_name,
)
from coopc.parsing import parse
from coopc.passes.linalg.match import matches
from coopc.pipeline import Run, read_passes
from coopc.plan.candidates import candidates, next_choice
from coopc.plan.gemm import Problem
from coopc.plan.tuning import (
    Choice,
    Engine,
    PipelineName,
    TunedProduct,
    Tuning,
    described,
)
from coopc.remarks import remarks_to
from coopc.run.arguments import make_arguments, read_words
from coopc.run.arrays import Array
from coopc.run.executable import failures
from coopc.run.machine import HostMachine, machine_of
from coopc.run.tiles import Tiles, best, cpu_flags
from coopc.sim.tracked import Inputs
from coopc.source import Source
from coopc.universe import everything
from coopc.validate.compare import compare
from coopc.validate.product import expected_product
from coopc.versions import installed, source_hash

MEASURED_SECONDS = 0.25
"""How long the runs of a candidate take that are timed, about."""
RUNS = (5, 2000)
"""How many these are, at least and at most."""
SEQUENCE_SECONDS = 3.0
"""How long runs of a launch sequence may take, with the copies of its memory."""
FINAL_SHARE = 0.15
"""Of the time, for the fastest candidates and the built-in plans, by turns."""
FINALISTS, TURNS = 3, 3
GAIN = 0.01
"""By how much a candidate has to be faster than the built-in plan, to replace it."""
SLOW = 3.0
"""A pipeline is left for last whose built-in plan takes so many times as long."""


@dataclass(frozen=True)
class TunedPipeline:
    """A pipeline that a program may be compiled by."""

    pipeline: PipelineName
    options: str

    def text(self, file: str) -> str:
        """Return it with a tuning file."""
        return f'{self.pipeline}{{{self.options} tuning="{file}"}}'


@dataclass(frozen=True)
class TunedProgram:
    """What is tuned, and where."""

    source: Source
    on: str
    """vulkan, opencl or cpu."""
    device: str | None = None
    kernel: str | None = None
    words: tuple[str, ...] = ()
    """Values of arguments, as coopc-run reads them."""
    size: int = 64
    """Of dynamic dimensions that no word gives."""
    seed: int = 0
    threads: int = 1
    seconds: float = 20.0
    """How long compiling and running a candidate may take."""

    @property
    def target(self) -> str:
        """The device of the pipelines' options."""
        return "" if self.on == "cpu" else self.device or PLACES[self.on]

    @property
    def ways(self) -> tuple[TunedPipeline, ...]:
        """The pipelines for where it runs, the default first."""
        if self.on == "cpu":
            names: tuple[PipelineName, ...] = ("coopc-amx", "coopc-cpu")
            threads = f"threads={self.threads}"
            return tuple(
                TunedPipeline(x, threads) for x in names[best() is not Tiles.AMX :]
            )
        device, staged = f'device="{self.target}"', " staged=true"
        khr = TunedPipeline("coopc-khr", device + staged * (self.on == "vulkan"))
        lanes = TunedPipeline("coopc-lanes", device)
        has_f16 = computes_f16(parse(new_context(everything()), self.source))
        target = LaunchTarget(self.on, self.device)
        reason = target.why_no_matrices(computes_f16=has_f16)
        return (khr, lanes)[reason is not None :]

    def machine(self) -> HostMachine:
        return machine_of(self.on, self.target)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What a log is for, by name."""
        return {
            "program": sha256(self.source.text.encode()).hexdigest()[:16],
            "kernel": self.kernel,
            "arguments": [*self.words],
            "size": self.size,
            "seed": self.seed,
            "coopc": source_hash()[:16],
            "on": self.on,
            "target": self.target,
            "threads": self.threads,
        }

    def problems(self, way: TunedPipeline) -> tuple[Engine, dict[str, Problem]]:
        """Return what multiplies, and what, by name, where a file would be applied.

        Raises:
            CompileError: the program, or the pipeline, is wrong.
        """
        ctx = new_context(everything())
        module = parse(ctx, self.source)
        steps = read_passes(way.text("x"), everything().all_passes)
        before = takewhile(lambda x: x.name != "apply-tuning", steps)
        Run(ctx, self.source).apply(module, [*before])
        wide = way.pipeline == "coopc-cpu" and "avx512f" in cpu_flags()
        engine = Engine(
            way.pipeline,
            device_for(self.target, module) if self.target else None,
            "staged=true" in way.options,
            self.threads,
            WIDE_VECTOR_TILE if wide else VECTOR_TILE,
        )
        return engine, {described(x.problem): x.problem for _, x in matches(module)}


@dataclass(frozen=True)
class Trial:
    """A candidate: what is chosen of products, by their names."""

    way: TunedPipeline
    choices: tuple[tuple[str, Choice], ...]

    def tuning(self, program: TunedProgram, machine: HostMachine) -> Tuning:
        return Tuning(
            installed("coopc"),
            self.way.pipeline,
            machine.device,
            machine.driver,
            tuple(TunedProduct(*x) for x in self.choices),
            program.target,
            program.threads,
            program.words,
        )


@dataclass(frozen=True)
class Measured:
    milliseconds: float | None = None
    """None where it failed."""
    failure: str = ""


# --- one candidate --------------------------------------------------------------------


def measure(program: TunedProgram, trial: Trial, machine: HostMachine) -> Measured:
    """Compile a candidate, compare what it computes, and time it."""
    try:
        with TemporaryDirectory() as folder, remarks_to(lambda _: None):
            file = Path(folder) / "candidate.toml"
            file.write_text(written(trial.tuning(program, machine)))
            target = LaunchTarget(
                program.on,
                program.device,
                trial.way.text(str(file)),
                threads=program.threads,
            )
            return _run(program, build(program.source, target))
    except CompileError as error:
        return Measured(failure=error.diagnostic.message)
    except (*failures(), ValueError) as error:
        return Measured(failure=str(error))
    except Exception as error:  # of whatever kind: others go on
        return Measured(failure=summary(error))


def _run(program: TunedProgram, built: Build) -> Measured:
    given, expected = reference(program)
    executable = built.executable
    call = executable.call(given, None, program.kernel)

    def run(repeats: int) -> Any:
        return executable.execute(
            call, spec={}, repeats=repeats, seconds=program.seconds
        )

    begin = time.perf_counter()
    outcome = run(1)
    took = time.perf_counter() - begin
    for content, array, (right, bound) in zip(
        call.contents, outcome.arrays, expected, strict=True
    ):
        found = compare(array, right, bound=bound, element=content.element)
        if not found.ok:
            return Measured(failure=f"computes {content.name} wrong: {found}")
    count = 1000 * MEASURED_SECONDS / max(outcome.milliseconds[0], 1e-3)
    if call.interface.steps:
        count = min(count, SEQUENCE_SECONDS / took)
    times = run(int(min(max(count, RUNS[0]), RUNS[1]))).milliseconds
    return Measured(median(times[len(times) // 2 :]))


def prepare(program: TunedProgram) -> None:
    """Compute what is expected, which may take long, or raise what `reference` does."""
    reference(program)


@lru_cache(maxsize=1)
def reference(
    program: TunedProgram,
) -> tuple[list[Given], list[tuple[Array, Array | None]]]:
    """Return arguments, and what their arrays are to be afterwards, with bounds.

    Raises:
        CompileError: the program is wrong, or undefined.
        ValueError: the arguments are not what it takes.
    """
    built = build(program.source, LaunchTarget("sim", program.target or None))
    interface = built.executable.kernel(program.kernel)
    words = read_words(program.words, interface)
    given = make_arguments(interface, words, program.seed, program.size)
    name = source_name(interface)
    if (found := expected_product(built.given, name, given)) is not None:
        number, result, bound = found
        bounds = {number: None if bound is None else 2 * bound}
        after = [result if n == number else x for n, x in enumerate(given)]
        arrays = [
            (np.asarray(x), bounds.get(n))
            for n, x in enumerate(after)
            if isinstance(x, np.ndarray)
        ]
        return given, arrays
    real = any("=rand" in word or ".npy" in word for word in program.words)
    call = built.executable.call(given, None, program.kernel)
    inputs = Inputs.REAL if real else Inputs.EXACT
    arrays = built.simulated(call, built.module, name, {}, inputs)
    return given, [(np.asarray(x), None if e is None else 2 * e) for x, e in arrays]


# --- the log --------------------------------------------------------------------------


@dataclass
class Log:
    """What was measured, in a file of JSON lines behind one that says what it is of."""

    path: Path
    identity: Mapping[str, Any]
    """What it is of, by name."""
    measured: dict[Trial, Measured] = field(default_factory=dict[Trial, Measured])

    @classmethod
    def of(cls, path: Path, identity: Mapping[str, Any]) -> Log:
        """Read a log, or begin one, of which the first result makes a file.

        Raises:
            ValueError: the log is of another search: which name differs.
        """
        found = cls(path, identity)
        if not path.exists():
            return found
        with path.open("a") as file:
            file.write("\n")  # behind a line that was cut off
        lines = list(_lines(path))
        has = lines[0] if lines else {}
        for name, value in identity.items():
            if has.get(name) != value:
                raise ValueError(
                    f"{path}: expected the log of a search with {name} {value!r}, got "
                    f"{has.get(name)!r}: remove it, or write to another file"
                )
        for line in lines[1:]:
            trial = Trial(
                TunedPipeline(**line["way"]),
                tuple((x, record(Choice, y)) for x, y in line["choices"]),
            )
            found.measured[trial] = Measured(line["milliseconds"], line["failure"])
        return found

    def add(self, trial: Trial, measured: Measured) -> None:
        self.measured[trial] = measured
        with self.path.open("a") as file:
            if not file.tell():
                file.write(json.dumps(self.identity) + "\n")
            file.write(json.dumps({**asdict(trial), **asdict(measured)}) + "\n")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a log that are whole."""
    for line in path.read_text().splitlines():
        with suppress(ValueError):
            yield json.loads(line)


# --- the search -----------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """What a search found."""

    chosen: Trial
    final: Mapping[Trial, float]
    """The milliseconds of the fastest and of the built-in plans, by turns."""
    before: float
    """Those of the built-in plans of the default pipeline."""


@dataclass
class Search:
    program: TunedProgram
    executor: Executor
    """Runs measurements, here or on a cluster."""
    slots: int
    """How many at a time."""
    log: Log
    machine: HostMachine
    spaces: dict[TunedPipeline, dict[str, tuple[Choice, ...]]] = field(
        default_factory=lambda: {}
    )
    """The candidates of each pipeline and product, the built-in one first."""

    def prepare(self) -> None:
        """Find the candidates, and compute what is expected.

        Raises:
            CompileError: the program is wrong.
            ValueError: there is nothing to choose; arguments are wrong.
        """
        errors: dict[str, CompileError] = {}
        for way in self.program.ways:
            try:
                engine, problems = self.program.problems(way)
            except CompileError as error:
                errors[way.pipeline] = error
                continue
            every = {x: candidates(problem, engine) for x, problem in problems.items()}
            if every := {name: x for name, x in every.items() if x}:
                self.spaces[way] = every
        if not self.spaces:
            if len(errors) == len(self.program.ways):
                raise next(iter(errors.values()))
            others = (f"; {x}: {y.diagnostic.message}" for x, y in errors.items())
            raise ValueError(
                f"{self.program.source.name}: expected a linalg matmul whose plan "
                f"can be chosen, got none{''.join(others)}"
            )
        self.executor.submit(prepare, self.program).result()

    def run(self, seconds: float, report: Callable[[], None]) -> Found:
        """Measure until the time is over, or nothing is left; report each time.

        Raises:
            ValueError: all candidates fail.
        """
        end = time.monotonic() + seconds * (1 - FINAL_SHARE)
        running: dict[Future[Measured], Trial] = {}
        while True:
            while len(running) < self.slots and time.monotonic() < end:
                if (trial := self._next({*running.values()})) is None:
                    break
                running[self._submit(trial)] = trial
            if not running:
                return self._final(end + seconds * FINAL_SHARE)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                self.log.add(running.pop(future), _result(future))
                report()

    def built_in(self, way: TunedPipeline) -> Trial:
        return Trial(way, tuple((name, x[0]) for name, x in self.spaces[way].items()))

    def _submit(self, trial: Trial) -> Future[Measured]:
        return self.executor.submit(measure, self.program, trial, self.machine)

    def _with(self, way: TunedPipeline, name: str, choice: Choice) -> Trial:
        """Return the built-in plans with another one for one product."""
        choices = self.built_in(way).choices
        return Trial(way, tuple((x, choice if x == name else y) for x, y in choices))

    def _times(
        self, way: TunedPipeline, name: str, running: Iterable[Trial] = ()
    ) -> dict[Choice, float | None]:
        """Return what was measured of a product, without those that run yet."""
        known = {x: y.milliseconds for x, y in self.log.measured.items()}
        found: dict[Choice, float | None] = {}
        for trial, took in {**known, **dict.fromkeys(running)}.items():
            choice = dict(trial.choices).get(name)
            if choice is not None and trial == self._with(way, name, choice):
                found[choice] = took
        return found

    def _next(self, running: set[Trial]) -> Trial | None:
        """Return the next candidate, of where fewest were measured."""
        every = [(way, name) for way, of in self.spaces.items() for name in of]
        times = {key: self._times(*key, running) for key in every}
        least = min((x for of in times.values() for x in of.values() if x), default=0.0)

        def rank(key: tuple[TunedPipeline, str]) -> tuple[bool, bool, int]:
            way, name = key
            first = times[key].get(self.spaces[way][name][0])
            is_slow = first is None or first > SLOW * least
            return bool(times[key]), is_slow, len(times[key])

        for way, name in sorted(every, key=rank):
            choice = next_choice(self.spaces[way][name], times[way, name])
            if choice is not None:
                return self._with(way, name, choice)
        return None

    def _final(self, end: float) -> Found:
        """Time the fastest candidates and the built-in plans by turns, and choose."""
        known = self.log.measured
        works = {x: y.milliseconds for x, y in known.items() if y.milliseconds}
        default, *_ = self.spaces
        best_way = min(works, key=lambda x: works[x]).way if works else default
        built_in = [*map(self.built_in, dict.fromkeys((default, best_way)))]
        ranked = {x: self._ranked(best_way, x) for x in self.spaces[best_way]}
        fastest: list[Trial] = []
        for n in range(FINALISTS if all(ranked.values()) else 0):
            choices = ((name, x[min(n, len(x) - 1)]) for name, x in ranked.items())
            fastest.append(Trial(best_way, tuple(choices)))
        times: dict[Trial, list[float]] = {}
        for turn in range(TURNS):
            for trial in dict.fromkeys((*built_in, *fastest)):
                if turn and time.monotonic() > end:
                    break
                if took := _result(self._submit(trial)).milliseconds:
                    times.setdefault(trial, []).append(took)
        final = {x: median(y) for x, y in times.items()}
        if not final:
            reasons = "; ".join(sorted({x.failure for x in known.values()}))
            raise ValueError(f"expected a plan that works, got none: {reasons}")
        chosen = min(final, key=lambda x: final[x] * (1 + GAIN * (x not in built_in)))
        before = next((final[x] for x in built_in if x in final), 0.0)
        return Found(chosen, final, before)

    def _ranked(self, way: TunedPipeline, name: str) -> Sequence[Choice]:
        times = {x: y for x, y in self._times(way, name).items() if y is not None}
        return sorted(times, key=lambda x: times[x])


def _result(future: Future[Measured]) -> Measured:
    """Return what came of a measurement; of one whose process ended, that it did."""
    if (error := future.exception()) is not None:
        return Measured(failure=f"no answer: {error}")
    return future.result()
