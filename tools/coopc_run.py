"""coopc-run: compile a kernel, run it, and compare what it did.

coopc-run examples/gemm.mlir --on vulkan --check
coopc-run kernel.mlir --on sim --arg a=rand:256x64xf16 --arg n=42 --expect c=c.npy
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from coopc.diagnostic import CompileError, Diagnostic, Kind, Place
from coopc.explain import place_of_op
from coopc.tools.driver import (
    ArgumentParser,
    run_tool,
    whole_number,
    write_output,
    wrong_call,
)
from coopc.tools.run_job import ON, TOOL, Job, Level, explained, prepare, usage

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from coopc.interface import Interface
    from coopc.rewrite.bounds_checks import Access
    from coopc.run.execute import Array, Outcome
    from coopc.sim.matrices import Provider
    from coopc.sim.tracked import Inputs
    from coopc.validate.compare import Difference

    Arrays: TypeAlias = list[tuple[Array, Array | None]]
    """What memrefs are, and bounds of the errors of their elements, if tracked."""

MAX_THREADS = 1024
"""More than processors have cores; systems refuse some tens of thousands."""
SECONDS = 600
"""How long a driver's compiler and a kernel may take: emulated ones are long."""
OPTIONS = {
    "bounds": ("cpu",),
    "device": ("sim", "vulkan", "opencl"),
    "spec": ("sim", "vulkan", "opencl"),
    "threads": ("cpu",),
    "tiles": ("cpu",),
    "timeout": ("vulkan", "opencl", "cpu"),
}
"""Those that are for some places only."""


class Help(argparse.ArgumentDefaultsHelpFormatter):
    """Help that says a default where there is one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is False or action.default in (None, []):
            return action.help
        return super()._get_help_string(action)


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool on `args`, by default the command line's."""
    return run_tool(TOOL, lambda: body(parser().read(args)))


def parser() -> ArgumentParser:
    """Return the parser of the command line."""
    found = ArgumentParser(
        prog=TOOL,
        description="Compile a kernel, run it, and compare what it did.",
        epilog="Values: exact (small integers, whose sums are exact), rand, zeros, "
        "ones, iota, each with an optional :256x64xf16; a file x.npy; a number.",
        formatter_class=Help,
    )
    add_places(found)
    add_values(found)
    add_comparisons(found)
    return found


def add_places(parser: ArgumentParser) -> None:
    """Add what is run, and where."""
    add = parser.add_argument
    add("file", help="the kernel's module, as coopc-opt reads it")
    add("--on", choices=[*ON], default="sim", help="where it runs")
    add("--device", metavar="NAME", help="a device to compile for, as bmg or lavapipe")
    add(
        "--tiles",
        choices=["auto", "amx", "emulated", "none"],
        default="auto",
        help="of AMX, with --on cpu: the processor's, emulated ones (slow), or none; "
        "auto: the processor's where it has what the kernel needs, else none",
    )
    threads = whole_number(1, MAX_THREADS)
    add("--threads", type=threads, metavar="N", default=1, help="of --on cpu")
    add("--bounds", action="store_true", help="check every access, with --on cpu")
    add("--kernel", metavar="NAME", help="the kernel, if there are several")
    add("--pipeline", "-p", metavar="PASSES", help="passes, instead of the device's")
    add("--grid", metavar="X,Y,Z", help="work-groups, instead of the kernel's grid")
    seconds = whole_number(1)
    what = "how long it may take where it is not simulated"
    add("--timeout", type=seconds, metavar="SECONDS", default=SECONDS, help=what)


def add_values(parser: ArgumentParser) -> None:
    """Add what the kernel is given."""
    add = parser.add_argument
    several = partial(add, action="append", default=[])
    several("--arg", metavar="NAME=VALUE", help="a value of an argument: see below")
    several("--spec", metavar="NAME=N", help="a value of a specialisation constant")
    size = whole_number()
    what = "of dynamic dimensions not given"
    add("--size", type=size, metavar="N", default=64, help=what)
    seed = whole_number()
    add("--seed", type=seed, metavar="N", default=0, help="of random arguments")


def add_comparisons(parser: ArgumentParser) -> None:
    """Add how often it runs, and what it is compared with."""
    add, repeat = parser.add_argument, whole_number(1)
    several = partial(add, action="append", default=[])
    add(
        "--repeat",
        type=repeat,
        metavar="N",
        default=1,
        help="how often it runs, for the timing",
    )
    add("--check", action="store_true", help="compare with the simulator")
    several(
        "--expect",
        metavar="[NAME=]FILE.npy",
        help="compare an argument (the last memref) with a file",
    )
    several(
        "--save",
        metavar="NAME=FILE.npy",
        help="write what an argument is afterwards",
    )


def body(args: argparse.Namespace) -> None:
    """Do what the arguments ask for."""
    check_options(args)
    job = prepare(args)
    # Before it runs: a driver may do anything with what is undefined, even hang.
    expected_arrays = reference(args, job) if args.check else None
    outcome = execute(args, job)
    buffers = names_of_buffers(job.interface)
    after = dict(zip(buffers, outcome.arrays, strict=True))
    differences: dict[str, Difference] = {}
    depends: dict[str, str] = {}
    if expected_arrays is not None:
        differences |= differences_from(job, after, expected_arrays)
        if not all(found.ok for found in differences.values()):
            depends = dependent(args, job, after, expected_arrays)
            depends = {k: v for k, v in depends.items() if not differences[k].ok}
    for text in args.expect:
        name, difference = expected(text, job.interface, after)
        differences[name] = difference
        depends.pop(name, None)  # what the driver is to choose is known here
    save(args.save, after)
    show(args, job, outcome, differences, depends)
    wrong = [
        name
        for name, found in differences.items()
        if not found.ok and name not in depends
    ]
    if wrong:
        raise wrong_call(TOOL, f"{', '.join(wrong)} is not what was expected")


def check_options(args: argparse.Namespace) -> None:
    """Refuse options that would do nothing."""
    default = parser().get_default
    for name, places in OPTIONS.items():
        if args.on not in places and getattr(args, name) != default(name):
            where = " or ".join(places)
            message = (
                f"expected --on {where}, which --{name} is for, got --on {args.on}"
            )
            raise wrong_call(TOOL, message)


def execute(args: argparse.Namespace, job: Job) -> Outcome:
    """Run the kernel where the arguments say."""
    from coopc.run import opencl, vulkan
    from coopc.run.execute import on_opencl, on_vulkan
    from coopc.run.toolchain import ToolMissing
    from coopc.run.worker import RunFailed

    repeats = args.repeat
    try:
        if args.on == "sim":
            return on_simulator(args, job)
        if args.on == "cpu":
            return on_processor(args, job)
        if args.on == "opencl":
            amx = b"SPV_KHR_cooperative_matrix" in job.binary
            with opencl.Session.start(amx=amx) as session:
                return on_opencl(
                    job.binary,
                    job.call,
                    session,
                    spec=job.spec,
                    repeats=repeats,
                    seconds=args.timeout,
                )
        lavapipe = (args.device or ON["vulkan"]) == "lavapipe"
        with vulkan.Session.start("lavapipe" if lavapipe else "system") as session:
            return on_vulkan(
                job.binary,
                job.call,
                session,
                spec=job.spec,
                repeats=repeats,
                seconds=args.timeout,
            )
    except (RunFailed, ToolMissing, ValueError) as error:
        raise wrong_call(TOOL, str(error)) from error


def on_simulator(args: argparse.Namespace, job: Job) -> Outcome:
    """Run the source on the simulator."""
    from coopc.run.execute import Outcome

    times: list[float] = []
    arrays: list[tuple[Array, ...]] = []
    for _ in range(args.repeat):
        start = time.perf_counter()
        found = simulated(args, job, job.program, job.interface.name)
        arrays.append(tuple(array for array, _ in found))
        times.append(1000 * (time.perf_counter() - start))
    return Outcome(arrays[0], tuple(times), "the simulator")


def on_processor(args: argparse.Namespace, job: Job) -> Outcome:
    """Compile what the passes made for this processor, and run it."""
    from coopc.rewrite.bounds_checks import add_bounds_checks
    from coopc.run.cpu import Stages, llvm_ir
    from coopc.run.cpu_session import Session
    from coopc.run.execute import on_cpu_session
    from coopc.run.worker import RunFailed

    assert job.tiles is not None, job
    checks: list[Access] = []
    if args.bounds:
        checks = add_bounds_checks(job.program)
    with explained(job.source, Kind.EMIT, "target 'llvm-ir'"):
        ir = llvm_ir(job.program)
    try:
        with Session.start() as session:
            return on_cpu_session(
                ir,
                Stages.of(job.program),
                job.call,
                session,
                tiles=job.tiles,
                threads=args.threads,
                repeats=args.repeat,
                seconds=args.timeout,
            )
    except RunFailed as error:
        number: int | None = error.details.get("check")
        if number is None:
            raise
        op, dimension, memory = checks[number]
        name = "its memref" if memory.name_hint is None else f"%{memory.name_hint}"
        what = f"{op.name}: in dimension {dimension} of {name}: {error}"
        place = place_of_op(op, job.source)
        raise CompileError(Diagnostic(Kind.USAGE, what, place)) from error


def simulated(
    args: argparse.Namespace,
    job: Job,
    module: ModuleOp,
    name: str,
    track: Inputs | None = None,
    distribution: Provider | None = None,
) -> Arrays:
    """Simulate a module.

    Raises:
        CompileError: the program is undefined, or the simulator does not know it.
    """
    import numpy as np

    from coopc.run.arguments import copied
    from coopc.sim.errors import SimulationError
    from coopc.sim.simulate import Options, simulate

    given = [copied(np.asarray(x)) if np.ndim(x) else x for x in job.given]
    options = Options(
        grid=job.call.groups,
        subgroup_size=subgroup_size(args, job),
        distribution=distribution,
        constants=job.spec,
        track=track,
    )
    try:
        run = simulate(module, name, given, options)
    except SimulationError as error:
        place = Place(TOOL) if error.op is None else place_of_op(error.op, job.source)
        raise CompileError(Diagnostic(Kind.USAGE, str(error), place)) from error
    except ValueError as error:
        raise wrong_call(TOOL, str(error)) from error
    errors = run.errors or (None,) * len(given)
    return [
        (each, error)
        for each, error in zip(given, errors, strict=True)
        if isinstance(each, np.ndarray)
    ]


def reference(
    args: argparse.Namespace, job: Job, distribution: Provider | None = None
) -> Arrays:
    """Return what the simulator makes of the source, with the owners that ran.

    Through operations of `xe` it tracks no errors: there the order of sums is part of
    what they do, and all is the same.

    Args:
        args: the command line's.
        job: what runs.
        distribution: who holds which elements, instead.
    """
    from coopc.sim.matrices import named_provider
    from coopc.sim.tracked import Inputs

    real = any("=rand" in word or ".npy" in word for word in args.arg)
    track = Inputs.REAL if real else Inputs.EXACT
    if job.level is Level.XE:
        track = None
    decided = job.owners.distributions.get(job.source_name)
    if distribution is None and decided is not None:
        distribution = named_provider(decided)
    return simulated(args, job, job.module, job.source_name, track, distribution)


def differences_from(
    job: Job, after: Mapping[str, Array], expected: Arrays
) -> dict[str, Difference]:
    """Compare the arrays of the kernel's memrefs with the simulator's.

    What is exact must be the same to the bit; else each side may be off by the bound of
    rounding errors that the simulator tracks.
    """
    from coopc.interface import Buffer
    from coopc.validate.compare import compare

    buffers = [each for each in job.interface.arguments if isinstance(each, Buffer)]
    return {
        buffer.name: compare(
            after[buffer.name],
            array,
            bound=None if error is None else 2 * error,
            bf16=buffer.element == "bf16",
        )
        for buffer, (array, error) in zip(buffers, expected, strict=True)
    }


def dependent(
    args: argparse.Namespace, job: Job, after: Mapping[str, Array], expected: Arrays
) -> dict[str, str]:
    """Return which arrays depend on a choice of the driver, and on what of it.

    Where no pass decides which lane holds which element, the driver does; then these
    are not the same for every choice.
    """
    from coopc.validate.ownership import OTHERS, observers

    telling = next(observers(job.module), None)
    if telling is None or job.source_name in job.owners.distributions:
        return {}
    where = f"{telling.name} at {place_of_op(telling, job.source)}"
    found: dict[str, str] = {}
    for what, distribution in OTHERS.items():
        try:
            arrays = reference(args, job, distribution)
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


def expected(
    text: str, interface: Interface, after: Mapping[str, Array]
) -> tuple[str, Difference]:
    """Compare one array with a file, to the bit."""
    from coopc.run.arguments import read_array
    from coopc.validate.compare import compare

    with usage():
        name, path = named_file(text, names_of_buffers(interface))
        return name, compare(after[name], read_array(path))


def show(
    args: argparse.Namespace,
    job: Job,
    outcome: Outcome,
    differences: Mapping[str, Difference],
    depends: Mapping[str, str],
) -> None:
    """Print what ran, where, how long, and how it compares."""
    from rich.console import Console

    say = Console(highlight=False, soft_wrap=True).print
    groups = " x ".join(map(str, job.call.groups))
    items = " x ".join(map(str, job.interface.work_group_size))
    how = "" if job.emulated is None else f", {job.emulated} emulated"
    say(f"[bold]{job.interface.name}[/bold] on {outcome.where}{how}")
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
        against = "simulator" if args.check else "file"
        say(f"  [{colour}]{name}[/{colour}] against the {against}: {difference}")


def subgroup_size(args: argparse.Namespace, job: Job) -> int:
    """Return the subgroup size: what a pass has decided, the kernel's, the device's."""
    from coopc.device import device

    decided = job.owners.lanes.get(job.source_name) if args.on == "cpu" else None
    known = decided or job.interface.subgroup_size
    return known or device(args.device or ON[args.on]).subgroup_size


def names_of_buffers(interface: Interface) -> list[str]:
    """Return the names of the kernel's memrefs, in order."""
    from coopc.interface import Buffer

    return [each.name for each in interface.arguments if isinstance(each, Buffer)]


def named_file(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Read `name=file`; the last name of all where it is left out.

    Raises:
        ValueError: there is no such name.
    """
    name, equals, path = text.rpartition("=")
    name = name if equals else names[-1]
    if name not in names:
        raise ValueError(f"expected one of {', '.join(names)}, got {name!r}")
    return name, path


def save(texts: Sequence[str], after: Mapping[str, Array]) -> None:
    """Write what arguments are to files."""
    from io import BytesIO

    import numpy as np

    for text in texts:
        with usage():
            if "=" not in text:
                raise ValueError(f"expected --save NAME=FILE.npy, got {text!r}")
            name, path = named_file(text, list(after))
        content = BytesIO()
        np.save(content, after[name])
        write_output(path, content.getvalue())
