"""coopc-run: compile a kernel, run it, and compare what it did.

    coopc-run examples/gemm.mlir --on vulkan --check
    coopc-run kernel.mlir --on sim --arg a=rand:256x64xf16 --arg n=42 --expect c=c.npy

What it is compiled by, where --pipeline does not say it: see `coopc.launcher`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coopc.diagnostic import CompileError
from coopc.explain import place_of_op, usage_errors, wrong_call
from coopc.interface import PACKING_ENTRY
from coopc.launcher import (
    MAX_THREADS,
    OPTIONS,
    PLACES,
    TILES,
    Build,
    LaunchTarget,
    build,
    check_options,
    source_name,
)
from coopc.run.executable import LAUNCH_SECONDS, failures
from coopc.source import read_source
from coopc.tools.driver import ArgumentParser, run_tool, whole_number, write_output
from coopc.tools.help import add_about

if TYPE_CHECKING:
    from coopc.interface import Interface
    from coopc.interface_call import Call
    from coopc.launcher import Arrays
    from coopc.run.arrays import Array, Outcome
    from coopc.sim.matrices import Provider
    from coopc.validate.compare import Difference

TOOL = "coopc-run"
MARKS = re.compile(r"\[/?(?:bold|green|red|yellow)\]")


# --- The command line. ---


class Help(argparse.ArgumentDefaultsHelpFormatter):
    """Help that says a default where there is one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is False or action.default in (None, []):
            return action.help
        return super()._get_help_string(action)


def main(args: Sequence[str] | None = None) -> int:
    return run_tool(TOOL, lambda: body(read_arguments(args)))


def read_arguments(args: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line, and refuse options that would do nothing.

    Also refuse a `--save` or `--expect` that names no file, and two `--save` to one.
    """
    known = parser()
    found = known.read(args)
    given = [x for x in OPTIONS if getattr(found, x) != known.get_default(x)]
    with usage_errors(TOOL):
        check_options(found.on, given)
    for text in found.save:
        if not all(text.rpartition("=")):
            raise wrong_call(TOOL, f"expected --save NAME=FILE.npy, got {text!r}")
    for text in found.expect:
        if not text.rpartition("=")[2]:
            message = f"expected --expect [NAME=]FILE.npy, got {text!r}"
            raise wrong_call(TOOL, message)
    files = [text.rpartition("=")[2] for text in found.save]
    known_files = [Path(file).resolve() for file in files]
    for number, file in enumerate(known_files):
        if file in known_files[:number]:
            message = f"expected one array to --save in {files[number]}, got several"
            raise wrong_call(TOOL, message)
    return found


def parser() -> ArgumentParser:
    found = ArgumentParser(
        prog=TOOL,
        description="Compile a kernel, run it, and compare its results.",
        epilog="VALUE is exact (the default: small integers, whose sums are exact), "
        "rand, zeros, ones or iota, optionally with a shape, as in rand:256x64xf16; or "
        "a .npy file; or a number that fills all elements.",
        formatter_class=Help,
    )
    add = found.add_argument
    several = partial(add, action="append", default=[])

    def number(flag: str, default: int, range: Callable[[str], int], **rest: Any):
        add(flag, type=range, default=default, **rest)

    add("file", help="the module, as coopc-opt reads it")
    add("--on", choices=[*PLACES], default="sim", help="where it runs")
    add("--device", metavar="NAME", help="compile for this device, such as lavapipe")
    add_about(add, "devices")
    add(
        "--tiles",
        choices=TILES,
        default="auto",
        help="AMX tiles, with --on cpu: the CPU's, emulated ones (slow), or "
        "none; auto: the CPU's if it supports the kernel's types, else none",
    )
    threads = whole_number(1, MAX_THREADS)
    number("--threads", 1, threads, metavar="N", help="threads, with --on cpu")
    add(
        "--bounds",
        action="store_true",
        help="check the bounds of every access, with --on cpu",
    )
    add("--kernel", metavar="NAME", help="the kernel to run, if there are several")
    add("--pipeline", "-p", metavar="PASSES", help="run these passes, not the device's")
    add("--grid", metavar="X,Y,Z", help="work-groups to run, not the kernel's grid")
    what = "how long a run may take, except with --on sim"
    number("--timeout", LAUNCH_SECONDS, whole_number(1), metavar="SECONDS", help=what)
    several(
        "--arg", metavar="NAME=VALUE", help="set an argument; VALUE is described below"
    )
    several("--spec", metavar="NAME=N", help="set a specialization constant")
    what = "size of the dynamic dimensions that no --arg gives"
    number("--size", 64, whole_number(), metavar="N", help=what)
    number("--seed", 0, whole_number(), metavar="N", help="seed of random arguments")
    what = "how many times to run, for timing"
    number("--repeat", 1, whole_number(1), metavar="N", help=what)
    add("--check", action="store_true", help="compare with the simulator")
    what = "compare an argument (default: the last memref) with a file"
    several("--expect", metavar="[NAME=]FILE.npy", help=what)
    what = "write an argument to a file after the run"
    several("--save", metavar="NAME=FILE.npy", help=what)
    return found


# --- The job: compile, make arguments. ---


@dataclass(frozen=True)
class Job:
    args: argparse.Namespace
    build: Build
    call: Call
    spec: Mapping[str, int]

    @property
    def interface(self) -> Interface:
        return self.call.interface


def prepare(args: argparse.Namespace) -> Job:
    from coopc.run.arguments import make_arguments, read_grid, read_spec, read_words

    source = read_source(args.file)
    with usage_errors(TOOL, OSError):
        target = LaunchTarget(
            args.on, args.device, args.pipeline, args.tiles, args.threads, args.bounds
        )
        built = build(source, target)
        interface = built.executable.kernel(args.kernel)
        words = read_words(args.arg, interface)
        given = make_arguments(interface, words, args.seed, args.size)
        call = built.executable.call(given, read_grid(args.grid), args.kernel)
        return Job(args, built, call, read_spec(args.spec))


# --- Run and compare. ---


def body(args: argparse.Namespace) -> None:
    from coopc.validate.compare import compare

    job = prepare(args)
    given = {x.name: x.array for x in job.call.contents}
    with usage_errors(TOOL, OSError):
        wanted = [read_expected(text, given) for text in args.expect]
        saved = [named_file(text, list(given)) for text in args.save]
    # Before it runs: a driver may do anything with what is undefined, even hang.
    expected_arrays = reference(job) if args.check else None
    outcome = execute(job)
    names = [each.name for each in job.call.contents]
    after = dict(zip(names, outcome.arrays, strict=True))
    differences: dict[str, Difference] = {}
    depends: dict[str, str] = {}
    if expected_arrays is not None:
        differences |= differences_from(job, after, expected_arrays)
        if not all(found.ok for found in differences.values()):
            depends = dependent(job, after, expected_arrays)
            depends = {k: v for k, v in depends.items() if not differences[k].ok}
    for name, array in wanted:
        differences[name] = compare(after[name], array)
        depends.pop(name, None)  # what the driver is to choose is known here
    save(saved, after)
    show(job, outcome, differences, depends)
    wrong = [
        name
        for name, found in differences.items()
        if not found.ok and name not in depends
    ]
    if wrong:
        raise wrong_call(TOOL, f"{', '.join(wrong)} is not what was expected")


def execute(job: Job) -> Outcome:
    run, args = job.build.executable.execute, job.args
    with usage_errors(TOOL, OSError, *(() if args.on == "sim" else failures())):
        return run(job.call, spec=job.spec, repeats=args.repeat, seconds=args.timeout)


def reference(job: Job, distribution: Provider | None = None) -> Arrays:
    """Simulate the source, with the owners of elements that ran, or others.

    Through operations of `xe` it tracks no errors: there the order of sums is part of
    what they do, and all is the same.
    """
    from coopc.sim.matrices import named_provider
    from coopc.sim.tracked import Inputs

    real = any("=rand" in word or ".npy" in word for word in job.args.arg)
    track = Inputs.REAL if real else Inputs.EXACT
    built, name = job.build, source_name(job.interface)
    stem = name.removesuffix(PACKING_ENTRY)
    if any(each.name == stem + PACKING_ENTRY for each in built.interface):
        message = f"expected no --check of {name}, whose caller packs B (prepack=b)"
        raise wrong_call(TOOL, message)
    if built.dialect == "xe":
        track = None
    decided = built.owners.distributions.get(name)
    if distribution is None and decided is not None:
        distribution = named_provider(decided)
    with usage_errors(TOOL):
        return built.simulated(
            job.call, built.module_of(name), name, job.spec, track, distribution
        )


def differences_from(
    job: Job, after: Mapping[str, Array], expected: Arrays
) -> dict[str, Difference]:
    """Compare the arrays of the kernel's memrefs with the simulator's.

    What is exact must be the same to the bit; else each side may be off by the bound of
    rounding errors that the simulator tracks.
    """
    from coopc.validate.compare import compare

    return {
        content.name: compare(
            after[content.name],
            array,
            bound=None if error is None else 2 * error,
            element=content.element,
        )
        for content, (array, error) in zip(job.call.contents, expected, strict=True)
    }


def dependent(job: Job, after: Mapping[str, Array], expected: Arrays) -> dict[str, str]:
    """Return which arrays depend on a choice of the driver, and on what of it.

    Where no pass decides which lane holds which element, the driver does; then these
    are not the same for every choice.
    """
    from coopc.sim.matrices import OTHERS, observers

    built, kernel = job.build, source_name(job.interface)
    telling = next(observers(built.module_of(kernel)), None)
    if telling is None or kernel in built.owners.distributions:
        return {}
    where = f"{telling.name} at {place_of_op(telling, built.source)}"
    found: dict[str, str] = {}
    for what, distribution in OTHERS.items():
        try:
            arrays = reference(job, distribution)
        except CompileError:  # with fewer elements a lane than the program asks for
            continue
        other = dict(zip(after, (array for array, _ in arrays), strict=True))
        same = differences_from(job, after, arrays)
        for name, difference in differences_from(job, other, expected).items():
            if not difference.ok and same[name].ok:
                found[name] = f"{where}; the same as the simulator's with {what}"
            elif not difference.ok:
                found.setdefault(name, where)
    return found


def read_expected(text: str, given: Mapping[str, Array]) -> tuple[str, Array]:
    """Read what an argument is to be after the run.

    Raises:
        ValueError: there is no such argument, or the file holds no array like it.
    """
    from coopc.run.arguments import read_array

    name, path = named_file(text, list(given))
    array, own = read_array(path), given[name]
    if (array.shape, array.dtype) != (own.shape, own.dtype):
        raise ValueError(
            f"expected {path} to hold {name}, {own.dtype} of shape {own.shape}, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return name, array


def show(
    job: Job,
    outcome: Outcome,
    differences: Mapping[str, Difference],
    depends: Mapping[str, str],
) -> None:
    groups = " x ".join(map(str, job.call.groups))
    items = " x ".join(map(str, job.interface.work_group_size))
    emulated = job.build.emulated
    how = "" if emulated is None else f", {emulated} emulated"
    say(f"[bold]{job.interface.name}[/bold] on {outcome.where}{how}")
    if steps := job.interface.steps:
        say(f"  {len(steps)} launches")
    else:
        say(f"  {groups} work-groups of {items} work-items")
    runs = len(outcome.milliseconds)
    what = f"median of {runs - 1} after the first" if runs > 1 else "one run"
    say(f"  {outcome.median_milliseconds:.3f} ms, {what}")
    for name, difference in differences.items():
        if (where := depends.get(name)) is not None:
            what = "depends on which lane holds which element, the driver's choice"
            say(f"  [yellow]{name}[/yellow] {what}: {where}")
            continue
        colour = "green" if difference.ok else "red"
        against = "simulator" if job.args.check else "file"
        say(f"  [{colour}]{name}[/{colour}] against the {against}: {difference}")


def say(text: str) -> None:
    """Print a line; its marks, as `[red]..[/red]`, are colours on a terminal."""
    if not sys.stdout.isatty():
        print(MARKS.sub("", text))
        return
    from rich.console import Console  # takes long to import

    Console(highlight=False, soft_wrap=True).print(text)


def named_file(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Read `name=file`; the last name of all where it is left out.

    Raises:
        ValueError: there is no such name.
    """
    name, equals, path = text.rpartition("=")
    if not names:
        raise ValueError(
            f"expected an array argument for {text!r}, got a kernel of none"
        )
    name = name if equals else names[-1]
    if name not in names:
        raise ValueError(
            f"expected an argument, one of {', '.join(names)}, got {name!r}"
        )
    return name, path


def save(files: Sequence[tuple[str, str]], after: Mapping[str, Array]) -> None:
    from io import BytesIO

    import numpy as np

    for name, path in files:
        content = BytesIO()
        np.save(content, after[name])
        write_output(path, content.getvalue())
