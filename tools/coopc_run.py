"""coopc-run: compile a kernel, run it, and compare what it did.

coopc-run examples/gemm.mlir --on vulkan --check
coopc-run kernel.mlir --on sim --arg a=rand:256x64xf16 --arg n=42 --expect c=c.npy
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coopc.diagnostic import near_match
from coopc.tools.driver import ArgumentParser, run_tool, write_output, wrong_call

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from coopc.emit.facts import Facts
    from coopc.interface import Interface
    from coopc.interface_call import Call, Given
    from coopc.run.execute import Array, Outcome
    from coopc.sim.tracked import Inputs
    from coopc.validate.compare import Difference

TOOL = "coopc-run"
ON = {"sim": "intel-cpu", "vulkan": "lavapipe", "opencl": "intel-cpu"}
"""Where a kernel can run, and the device that it is compiled for by default."""


@dataclass(frozen=True)
class Job:
    """A kernel, ready to run."""

    module: ModuleOp
    """The source."""
    program: ModuleOp
    """What the simulator runs: the source after the passes that were asked for."""
    binary: bytes
    """What the driver gets; empty on the simulator."""
    interface: Interface
    given: tuple[Given, ...]
    call: Call
    spec: Mapping[str, int]


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
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = found.add_argument
    add("file", help="the kernel's module, as coopc-opt reads it")
    add("--on", choices=[*ON], default="sim", help="where it runs")
    add("--device", metavar="NAME", help="what it is compiled for")
    add("--kernel", metavar="NAME", help="which kernel, if there are several")
    add("--pipeline", "-p", metavar="PASSES", help="passes, instead of the device's")
    add("--grid", metavar="X,Y,Z", help="work-groups, instead of the kernel's grid")
    add("--arg", action="append", default=[], metavar="NAME=VALUE", help="an argument")
    add("--spec", action="append", default=[], metavar="NAME=N", help="a constant")
    add("--size", type=int, default=64, help="of dynamic dimensions not given")
    add("--seed", type=int, default=0, help="of random arguments")
    add("--repeat", type=int, default=1, help="how often it runs, for the timing")
    add("--check", action="store_true", help="compare with the simulator")
    add(
        "--expect",
        action="append",
        default=[],
        metavar="[NAME=]FILE.npy",
        help="compare an argument (the last memref) with a file",
    )
    add(
        "--save",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="write what an argument is afterwards",
    )
    return found


def body(args: argparse.Namespace) -> None:
    """Do what the arguments ask for."""
    job = prepare(args)
    outcome = execute(args, job)
    buffers = names_of_buffers(job.interface)
    after = dict(zip(buffers, outcome.arrays, strict=True))
    differences: dict[str, Difference] = {}
    if args.check:
        differences |= check(args, job, after)
    for text in args.expect:
        name, difference = expected(text, job.interface, after)
        differences[name] = difference
    save(args.save, after)
    show(args, job, outcome, differences)
    wrong = [name for name, found in differences.items() if not found.ok]
    if wrong:
        raise wrong_call(TOOL, f"{', '.join(wrong)} is not what was expected")


def prepare(args: argparse.Namespace) -> Job:
    """Read, compile, and make the arguments."""
    from coopc.compiler import compile, new_context
    from coopc.emit.interface import interface_of
    from coopc.interface_call import pack
    from coopc.parsing import parse
    from coopc.run.arguments import make_arguments, read_grid, read_spec, read_words
    from coopc.source import read_source
    from coopc.universe import everything

    source = read_source(args.file)
    ctx = new_context(everything())
    module = program = parse(ctx, source)
    binary = b""
    if args.on == "sim":
        from coopc.dialects.simt import kernels
        from coopc.emit.structured import Refusal
        from coopc.pipeline import Run, read_passes

        if args.pipeline is not None:
            program = module.clone()
            steps = read_passes(args.pipeline, everything().all_passes)
            Run(ctx, source).apply(program, steps)
        try:
            facts = simulated_facts(args.device or ON["sim"])
            known = [interface_of(each, module, facts) for each in kernels(module)]
        except (Refusal, ValueError) as error:
            raise wrong_call(TOOL, str(error)) from error
    else:
        passes = pipeline(args)
        artifact = compile(source.text, passes, "spirv-binary", name=source.name)
        binary = artifact.bytes
        known = list(artifact.interface)
    with usage():
        interface = choose(known, args.kernel)
        words = read_words(args.arg, interface)
        given = make_arguments(interface, words, args.seed, args.size)
        call = pack(interface, given, read_grid(args.grid))
        spec = read_spec(args.spec)
    return Job(module, program, binary, interface, tuple(given), call, spec)


def simulated_facts(name: str) -> Facts:
    """Return the facts of a device that the simulator stands for.

    Raises:
        ValueError: there is no such device, or it runs no kernels.
    """
    from coopc.device import device
    from coopc.emit.facts import Facts

    found = device(name)
    if not found.flavours:
        raise ValueError(f"expected a device that runs kernels, got {name}")
    return Facts(found.flavours[0], found)


@contextmanager
def usage() -> Generator[None]:
    """Take a `ValueError` for a mistake on the command line."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise wrong_call(TOOL, str(error)) from error


def choose(known: Sequence[Interface], name: str | None) -> Interface:
    """Return the kernel of a name, or the only one.

    Raises:
        ValueError: there is none, or there are several and no name.
    """
    names = [interface.name for interface in known]
    if not known:
        raise ValueError("expected a kernel: no function has simt.kernel")
    if name is None and len(known) > 1:
        raise ValueError(f"expected --kernel, one of {', '.join(names)}")
    if name is not None and name not in names:
        near = near_match(name, names)
        raise ValueError(f"expected a kernel, one of {', '.join(names)}{near}")
    return known[0 if name is None else names.index(name)]


def pipeline(args: argparse.Namespace) -> str:
    """Return the passes that make the module what its driver takes."""
    if args.pipeline is not None:
        return args.pipeline
    if args.on == "sim":
        return ""
    return f"coopc-khr{{device={args.device or ON[args.on]}}}"


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
        if args.on == "opencl":
            amx = b"SPV_KHR_cooperative_matrix" in job.binary
            with opencl.Session.start(amx=amx) as session:
                return on_opencl(job.binary, job.call, session, repeats=repeats)
        lavapipe = (args.device or ON["vulkan"]) == "lavapipe"
        with vulkan.Session.start("lavapipe" if lavapipe else "system") as session:
            return on_vulkan(
                job.binary, job.call, session, spec=job.spec, repeats=repeats
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
        arrays.append(simulated(args, job, job.program)[0])
        times.append(1000 * (time.perf_counter() - start))
    return Outcome(arrays[0], tuple(times), "the simulator")


def simulated(
    args: argparse.Namespace, job: Job, module: ModuleOp, track: Inputs | None = None
) -> tuple[tuple[Array, ...], tuple[Array | None, ...]]:
    """Simulate a module.

    Returns:
        The arrays of the memrefs afterwards, and bounds of the errors of their elements
        where errors are tracked.
    """
    import numpy as np

    from coopc.sim.errors import SimulationError
    from coopc.sim.simulate import Options, simulate

    given = [np.array(each) if np.ndim(each) else each for each in job.given]
    numbers = [x if isinstance(x, np.ndarray) else np.asarray(x).item() for x in given]
    options = Options(
        grid=job.call.groups,
        subgroup_size=subgroup_size(args, job.interface),
        constants=job.spec,
        track=track,
    )
    try:
        run = simulate(module, job.interface.name, numbers, options)
    except (SimulationError, ValueError) as error:
        raise wrong_call(TOOL, str(error)) from error
    kept = [n for n, each in enumerate(given) if isinstance(each, np.ndarray)]
    errors = run.errors or (None,) * len(given)
    return tuple(np.asarray(given[n]) for n in kept), tuple(errors[n] for n in kept)


def check(
    args: argparse.Namespace, job: Job, after: Mapping[str, Array]
) -> dict[str, Difference]:
    """Compare the arrays of the kernel's memrefs with the simulator's.

    What is exact must be the same to the bit; else each side may be off by the bound of
    rounding errors that the simulator tracks.
    """
    from coopc.interface import Buffer
    from coopc.sim.tracked import Inputs
    from coopc.validate.compare import compare

    real = any("=rand" in word or ".npy" in word for word in args.arg)
    track = Inputs.REAL if real else Inputs.EXACT
    expected, errors = simulated(args, job, job.module, track)
    buffers = [each for each in job.interface.arguments if isinstance(each, Buffer)]
    return {
        buffer.name: compare(
            after[buffer.name],
            array,
            bound=None if error is None else 2 * error,
            bf16=buffer.element == "bf16",
        )
        for buffer, array, error in zip(buffers, expected, errors, strict=True)
    }


def expected(
    text: str, interface: Interface, after: Mapping[str, Array]
) -> tuple[str, Difference]:
    """Compare one array with a file, to the bit."""
    import numpy as np

    from coopc.validate.compare import compare

    with usage():
        name, path = named_file(text, names_of_buffers(interface))
        return name, compare(after[name], np.load(path, allow_pickle=False))


def show(
    args: argparse.Namespace,
    job: Job,
    outcome: Outcome,
    differences: Mapping[str, Difference],
) -> None:
    """Print what ran, where, how long, and how it compares."""
    from rich.console import Console

    say = Console(highlight=False, soft_wrap=True).print
    groups = " x ".join(map(str, job.call.groups))
    items = " x ".join(map(str, job.interface.work_group_size))
    say(f"[bold]{job.interface.name}[/bold] on {outcome.where}")
    say(f"  {groups} work-groups of {items} work-items")
    runs = len(outcome.milliseconds)
    what = f"median of {runs - 1} after the first" if runs > 1 else "one run"
    say(f"  {outcome.median_milliseconds:.3f} ms, {what}")
    for name, difference in differences.items():
        colour = "green" if difference.ok else "red"
        against = "simulator" if args.check else "file"
        say(f"  [{colour}]{name}[/{colour}] against the {against}: {difference}")


def subgroup_size(args: argparse.Namespace, interface: Interface) -> int:
    """Return the subgroup size: the kernel's, or the device's."""
    from coopc.device import device

    return interface.subgroup_size or device(args.device or ON[args.on]).subgroup_size


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
            name, path = named_file(text, list(after))
        content = BytesIO()
        np.save(content, after[name])
        write_output(path, content.getvalue())
