"""coopc-run: compile a kernel, run it, and compare what it did.

    coopc-run examples/gemm.mlir --on vulkan --check
    coopc-run kernel.mlir --on sim --arg a=rand:256x64xf16 --arg n=42 --expect c=c.npy

| the source has   | on vulkan              | on opencl                               |
|------------------|------------------------|-----------------------------------------|
| `coopmatrix`     | `coopc-khr{device=..}` | `coopc-khr{device=..}`                  |
| `tt`, Triton's   | `coopc-khr{device=..}` | `coopc-khr{device=..}`                  |
| `tt` and layouts | `coopc-khr{device=..}` | `coopc-xe{device=.. emulate, fallback}` |
| `xe`             | refused                | `emulate-xe`                            |

On the simulator it runs as it is, on the processor after `coopc-amx` where that has
tiles for it, else after `coopc-cpu`.  `--pipeline` says other passes.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.func import FuncOp

from coopc.compiler import compile, new_context
from coopc.device import DEVICES, device
from coopc.device.factory import options_of_device
from coopc.diagnostic import CompileError, Diagnostic, Kind, Place, near_match
from coopc.explain import explaining, place_of_op
from coopc.interface import SECOND_ENTRY
from coopc.ir.control_flow import uses_dialect
from coopc.parsing import parse
from coopc.pipeline import Observer, Run, read_passes
from coopc.remarks import print_remark, remark
from coopc.sim.triton import simulated_form
from coopc.source import Source, read_source
from coopc.tools.driver import (
    ArgumentParser,
    run_tool,
    usage_errors,
    whole_number,
    write_output,
    wrong_call,
)
from coopc.tools.help import add_list
from coopc.universe import everything

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute
    from xdsl.passes import ModulePass

    from coopc.interface import Interface
    from coopc.interface_call import Call
    from coopc.run.arrays import Array, Outcome
    from coopc.run.bounds_checks import CheckedAccess
    from coopc.run.tiles import Tiles
    from coopc.sim.matrices import Provider
    from coopc.sim.tracked import Inputs
    from coopc.validate.compare import Difference

    Arrays: TypeAlias = list[tuple[Array, Array | None]]
    """What memrefs are, and bounds of the errors of their elements, if tracked."""

TOOL = "coopc-run"
ON = {
    "sim": "intel-cpu",
    "vulkan": "lavapipe",
    "opencl": "intel-cpu",
    "cpu": "intel-cpu",
}
"""Where a kernel can run, and the device that it is compiled for by default."""
XE_DEVICE = "bmg"
"""The one that kernels of Triton are planned for by default."""
MAX_THREADS = 1024
"""More than processors have cores; systems refuse some tens of thousands."""
TOOL_TIMEOUT_SECONDS = 600
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
MARKS = re.compile(r"\[/?(?:bold|green|red|yellow)\]")


# --- The command line. ---


def main(args: Sequence[str] | None = None) -> int:
    return run_tool(TOOL, lambda: body(read_arguments(args)))


def read_arguments(args: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line, and refuse options that would do nothing."""
    known = parser()
    found = known.read(args)
    for name, places in OPTIONS.items():
        if found.on not in places and getattr(found, name) != known.get_default(name):
            where = " or ".join(places)
            message = (
                f"expected --on {where}, which --{name} is for, got --on {found.on}"
            )
            raise wrong_call(TOOL, message)
    return found


def parser() -> ArgumentParser:
    found = ArgumentParser(
        prog=TOOL,
        description="Compile a kernel, run it, and compare what it did.",
        epilog="Values: exact (small integers, whose sums are exact), rand, zeros, "
        "ones, iota, each with an optional :256x64xf16; a file x.npy; a number.",
    )
    add = found.add_argument
    several = partial(add, action="append", default=[])
    count = partial(add, metavar="N", type=whole_number())
    add("file", help="the kernel's module, as coopc-opt reads it")
    add("--on", choices=[*ON], default="sim", help="where it runs (default: sim)")
    add("--device", metavar="NAME", help="a device to compile for, as bmg or lavapipe")
    add_list(add, "devices")
    add(
        "--tiles",
        choices=["auto", "amx", "emulated", "none"],
        default="auto",
        help="of AMX, with --on cpu: the processor's, emulated ones (slow), or none; "
        "auto, the default: the processor's where it has what the kernel needs, else "
        "none",
    )
    threads, what = whole_number(1, MAX_THREADS), "of --on cpu (default: 1)"
    count("--threads", type=threads, default=1, help=what)
    add("--bounds", action="store_true", help="check every access, with --on cpu")
    add("--kernel", metavar="NAME", help="the kernel, if there are several")
    add("--pipeline", "-p", metavar="PASSES", help="passes, instead of the device's")
    add("--grid", metavar="X,Y,Z", help="work-groups, instead of the kernel's grid")
    seconds = partial(add, type=whole_number(1), metavar="SECONDS")
    what = "how long it may take where it is not simulated (default: %(default)s)"
    seconds("--timeout", default=TOOL_TIMEOUT_SECONDS, help=what)
    several("--arg", metavar="NAME=VALUE", help="a value of an argument: see below")
    several("--spec", metavar="NAME=N", help="a value of a specialisation constant")
    count("--size", default=64, help="of dynamic dimensions not given (default: 64)")
    count("--seed", default=0, help="of random arguments (default: 0)")
    what = "how often it runs, for the timing (default: 1)"
    count("--repeat", type=whole_number(1), default=1, help=what)
    add("--check", action="store_true", help="compare with the simulator")
    what = "compare an argument (the last memref) with a file"
    several("--expect", metavar="[NAME=]FILE.npy", help=what)
    what = "write what an argument is afterwards"
    several("--save", metavar="NAME=FILE.npy", help=what)
    return found


# --- The job: compile, make arguments. ---


@dataclass
class Owners(Observer):
    """Notes what was decided first of each kernel, by its text or else by a pass.

    Later passes let one work-item hold all elements.
    """

    distributions: dict[str, Attribute] = field(default_factory=lambda: {})
    """By the kernel's name."""
    lanes: dict[str, int] = field(default_factory=dict[str, int])
    """Of a subgroup, by the kernel's name."""

    def start(self, module: ModuleOp) -> None:
        from xdsl.dialects.builtin import IntegerAttr

        from coopc.dialects import coopmatrix, simt

        for op in module.ops:
            if not isinstance(op, FuncOp):
                continue
            name = op.sym_name.data
            if (found := op.attributes.get(coopmatrix.DISTRIBUTION)) is not None:
                self.distributions.setdefault(name, found)
            if isinstance(lanes := op.attributes.get(simt.SUBGROUP_SIZE), IntegerAttr):
                self.lanes.setdefault(name, lanes.value.data)

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        self.start(module)


@dataclass(frozen=True)
class Job:
    args: argparse.Namespace
    source: Source
    """The text, for diagnostics."""
    module: ModuleOp
    """The source, as the simulator takes it."""
    program: ModuleOp
    """What the simulator or LLVM gets: the source after its passes."""
    binary: bytes
    """What the driver gets; empty on the simulator."""
    call: Call
    spec: Mapping[str, int]
    owners: Owners
    """Who holds which elements, as far as passes decide it."""
    emulated: str | None
    """The device whose instructions are emulated."""
    tiles: Tiles | None
    """Where tiles of AMX are, on the processor."""

    @property
    def interface(self) -> Interface:
        return self.call.interface

    @property
    def subgroup_size(self) -> int:
        """What a pass has decided, or the kernel's, or the device's."""
        decided = self.owners.lanes.get(self.source_name)
        known = (
            decided if self.args.on == "cpu" else 0
        ) or self.interface.subgroup_size
        return known or device(self.args.device or ON[self.args.on]).subgroup_size

    @property
    def source_name(self) -> str:
        return self.interface.name.removesuffix(SECOND_ENTRY)


def prepare(args: argparse.Namespace) -> Job:
    from xdsl.traits import SymbolTable

    from coopc.dialects.simt import KERNEL

    source = read_source(args.file)
    module = parse(new_context(everything()), source)
    Run(new_context(everything()), source).apply(module, ())  # which verifies it
    passes = pipeline(args, module)
    steps = read_passes(passes, everything().all_passes)
    binary, tiles, owners = b"", None, Owners()
    plain = program = simulated_form(module)
    if args.on == "sim":
        if steps:
            program = after(module, source, steps, owners)
        name = args.device or ON["sim"]
        known = interfaces(with_kernels(program, source), source, name)
    elif args.on == "cpu":
        program, tiles, owners = for_processor(args, module, source, steps)
        known = interfaces(with_kernels(plain, source), source, ON["cpu"])
    else:
        artifact = compile(
            source.text,
            passes,
            "spirv-binary",
            name=source.name,
            observers=(owners,),
            on_remark=print_remark,
        )
        binary = artifact.bytes
        known = list(artifact.interface)
    call, spec = called(args, known)
    name = call.interface.name
    func = SymbolTable.lookup_symbol(module, name)
    if args.grid and isinstance(func, FuncOp) and KERNEL not in func.attributes:
        raise wrong_call(
            TOOL,
            f"--grid is not allowed for {name}, got {args.grid}: coopc "
            "made this kernel and chooses its work-groups",
        )
    if args.on == "opencl" and len(known) > 1:
        binary = compiled_alone(module, source, steps, name)
    return Job(
        args=args,
        source=source,
        module=plain,
        program=program,
        binary=binary,
        call=call,
        spec=spec,
        owners=owners,
        emulated=emulated_device(steps, module),
        tiles=tiles,
    )


def called(
    args: argparse.Namespace, known: Sequence[Interface]
) -> tuple[Call, dict[str, int]]:
    from coopc.interface_call import entry_for, pack
    from coopc.run.arguments import make_arguments, read_grid, read_spec, read_words

    with usage_errors(TOOL, OSError):
        interface = choose(known, args.kernel)
        words = read_words(args.arg, interface)
        given = make_arguments(interface, words, args.seed, args.size)
        if args.kernel is None:
            interface = entry_for(known, interface, given)
        return pack(interface, given, read_grid(args.grid)), read_spec(args.spec)


def after(
    module: ModuleOp,
    source: Source,
    steps: Sequence[ModulePass],
    *observers: Observer,
) -> ModuleOp:
    """Return what passes make of a module, which is not changed."""
    program = module.clone()
    run = Run(new_context(everything()), source, observers=observers)
    run.apply(program, steps)
    return simulated_form(program)


def for_processor(
    args: argparse.Namespace,
    module: ModuleOp,
    source: Source,
    steps: Sequence[ModulePass],
) -> tuple[ModuleOp, Tiles, Owners]:
    """Return what passes make of a module for this processor, with its tiles.

    Where none were asked for and tiles cannot do what it does, vectors do it.
    """
    from coopc.dialects.coopmatrix import MulAddOp
    from coopc.emit.llvm.types import features
    from coopc.passes.linalg.match import is_multiplication
    from coopc.run.tiles import Tiles, cpu_flags, lacking

    tiles, owners = tiles_of(args), Owners()
    if args.pipeline is not None or args.tiles != "auto":
        return after(module, source, steps, owners), tiles, owners
    reason = "this processor has no AMX; --tiles emulated is slower"
    if tiles is Tiles.AMX:
        try:
            program = after(module, source, steps, owners)
        except CompileError as error:
            if error.diagnostic.kind is not Kind.PASS:
                raise
            reason = error.diagnostic.message
        else:
            funcs = (op for op in program.walk() if isinstance(op, FuncOp))
            needed = {x for func in funcs for x in features(func)}
            if not (missing := lacking(needed, cpu_flags())):
                return program, tiles, owners
            reason = f"this processor has no {', '.join(missing)}"
        steps = read_passes(by_vectors(args), everything().all_passes)
        owners = Owners()
    program = after(module, source, steps, owners)
    for op in module.walk():
        is_linalg = op.dialect_name() == "linalg"
        is_product = isinstance(op, MulAddOp) or op.name == "tt.dot"
        if is_product or (is_linalg and is_multiplication(op)):
            remark(op, f"done by vectors, not by tiles of AMX: {reason}")
            break
    return program, Tiles.NONE, owners


def compiled_alone(
    module: ModuleOp, source: Source, steps: Sequence[ModulePass], name: str
) -> bytes:
    """Return what passes make of a module, with one of its kernels alone.

    OpenCL's compiler takes all kernels of a module, and long for each that is emulated.
    """
    from xdsl.rewriter import Rewriter

    from coopc.dialects.simt import kernels

    program = after(module, source, steps)
    for kernel in list(kernels(program)):
        if kernel.name != name:
            Rewriter.erase_op(kernel.func)
    return compile(program, "", "spirv-binary", name=source.name).bytes


def interfaces(module: ModuleOp, source: Source, name: str) -> list[Interface]:
    """Return the interfaces of kernels, as the simulator calls them for a device."""
    from coopc.dialects.simt import kernels
    from coopc.emit.interface import interface_of
    from coopc.emit.walker import Facts, refusing

    with usage_errors(TOOL, OSError):
        target = device(name)
        if not target.flavours:
            raise ValueError(f"expected a device that runs kernels, got {name}")
        facts = Facts(target.flavours[0], target)
    found: list[Interface] = []
    with explaining(Kind.VERIFY, source, "the interface of its kernels"):
        for kernel in kernels(module):
            with refusing(kernel.func):
                found.append(interface_of(kernel, module, facts))
    return found


def with_kernels(module: ModuleOp, source: Source) -> ModuleOp:
    """Return a module in which functions of linalg, too, are kernels."""
    if not uses_dialect(module, "linalg"):
        return module
    from coopc.passes.linalg.convert_linalg_to_coopmatrix import (
        ConvertLinalgToCoopmatrixPass,
    )
    from coopc.pipelines import CPU_TILE

    return after(module, source, [ConvertLinalgToCoopmatrixPass((*CPU_TILE, 32))])


def emulated_device(steps: Sequence[ModulePass], module: ModuleOp) -> str | None:
    """Return the device whose instructions the passes write out, or None."""
    from coopc.dialects.simt import target_of
    from coopc.passes.generic.set_target import SetTargetPass

    found = None if (target := target_of(module)) is None else target.device.data
    for step in steps:
        if step.name == "emulate-xe":  # the class is too much to import for the others
            return found or "Xe"
        if isinstance(step, SetTargetPass):
            found = step.device or found
    return None


def choose(known: Sequence[Interface], name: str | None) -> Interface:
    """Return the kernel of a name, or the only one, second entry points aside.

    Raises:
        ValueError: there is none, or there are several and no name.
    """
    names = [interface.name for interface in known]
    first = [
        x
        for x in names
        if not x.endswith(SECOND_ENTRY) or x.removesuffix(SECOND_ENTRY) not in names
    ]
    if not known:
        raise ValueError(
            "expected a kernel: no function has simt.kernel or linalg.matmul, and no "
            "pass made one; -p says the passes"
        )
    if name is None and len(first) > 1:
        raise ValueError(f"expected --kernel, one of {', '.join(names)}")
    if name is not None and name not in names:
        near = near_match(name, names)
        raise ValueError(f"expected a kernel, one of {', '.join(names)}{near}")
    return known[names.index(first[0] if name is None else name)]


def by_vectors(args: argparse.Namespace) -> str:
    """Return the passes for vectors of this processor."""
    from coopc.plan.gemm import VECTOR_TILE, WIDE_VECTOR_TILE
    from coopc.run.tiles import cpu_flags

    tile = WIDE_VECTOR_TILE if "avx512f" in cpu_flags() else VECTOR_TILE
    return f"coopc-cpu{{threads={args.threads} tile={tile[0]},{tile[1]}}}"


def pipeline(args: argparse.Namespace, module: ModuleOp) -> str:
    if args.pipeline is not None:
        return args.pipeline
    if args.on == "sim":
        return ""
    is_triton = uses_dialect(module, "tt")
    has_messages = uses_dialect(module, "xe") and not is_triton
    if args.on == "cpu" and not has_messages:
        if tiles_of(args) == "none":
            return by_vectors(args)
        return f"coopc-amx{{threads={args.threads}}}"
    has_layouts = is_triton and "ttg.num-warps" in module.attributes
    by_xe = has_layouts and args.on == "opencl"
    name = args.device or (XE_DEVICE if by_xe else ON[args.on])
    if not has_messages:
        is_xe = args.on == "opencl" and name in DEVICES and DEVICES[name].family == "xe"
        emulating = f"coopc-xe{{device={name} fallback=true emulate=true}}"
        return emulating if is_xe else f'coopc-khr{{device="{name}"}}'
    if args.on != "opencl":
        what = "expected --on opencl or sim, where kernels of xe can run"
        raise wrong_call(TOOL, what)
    return f"emulate-xe,set-target{{device={ON['opencl']}}}"


def tiles_of(args: argparse.Namespace) -> Tiles:
    """Return which tiles of AMX a kernel runs on: those asked for, or the best."""
    from coopc.run.tiles import Tiles, best

    return best() if args.tiles == "auto" else Tiles(args.tiles)


# --- Run and compare. ---


def body(args: argparse.Namespace) -> None:
    job = prepare(args)
    # Before it runs: a driver may do anything with what is undefined, even hang.
    expected_arrays = reference(job) if args.check else None
    outcome = execute(job)
    names = [each.name for each in job.interface.buffers]
    after = dict(zip(names, outcome.arrays, strict=True))
    differences: dict[str, Difference] = {}
    depends: dict[str, str] = {}
    if expected_arrays is not None:
        differences |= differences_from(job, after, expected_arrays)
        if not all(found.ok for found in differences.values()):
            depends = dependent(job, after, expected_arrays)
            depends = {k: v for k, v in depends.items() if not differences[k].ok}
    for text in args.expect:
        name, difference = expected(text, after)
        differences[name] = difference
        depends.pop(name, None)  # what the driver is to choose is known here
    save(args.save, after)
    show(job, outcome, differences, depends)
    wrong = [
        name
        for name, found in differences.items()
        if not found.ok and name not in depends
    ]
    if wrong:
        raise wrong_call(TOOL, f"{', '.join(wrong)} is not what was expected")


def execute(job: Job) -> Outcome:
    if job.args.on == "sim":
        with usage_errors(TOOL, OSError):
            return on_simulator(job)
    from coopc.run import opencl, vulkan
    from coopc.run.execute import on_opencl, on_vulkan
    from coopc.run.toolchain import ToolMissing
    from coopc.run.worker import RunFailed

    how: dict[str, Any] = {
        "spec": job.spec,
        "repeats": job.args.repeat,
        "seconds": job.args.timeout,
    }
    with usage_errors(TOOL, RunFailed, ToolMissing):
        if job.args.on == "cpu":
            return on_processor(job)
        if job.args.on == "opencl":
            amx = b"SPV_KHR_cooperative_matrix" in job.binary
            with opencl.Session.start(amx=amx) as session:
                return on_opencl(job.binary, job.call, session, **how)
        name = job.args.device or ON["vulkan"]
        given = options_of_device(name)
        loader = given.get("loader", "lavapipe" if name == "lavapipe" else "system")
        with vulkan.Session.start(loader, given.get("index")) as session:
            return on_vulkan(job.binary, job.call, session, **how)


def on_simulator(job: Job) -> Outcome:
    from coopc.run.arrays import Outcome

    times: list[float] = []
    arrays: list[tuple[Array, ...]] = []
    for _ in range(job.args.repeat):
        start = time.perf_counter()
        found = simulated(job, job.program, job.interface.name)
        arrays.append(tuple(array for array, _ in found))
        times.append(1000 * (time.perf_counter() - start))
    return Outcome(arrays[0], tuple(times), "the simulator")


def on_processor(job: Job) -> Outcome:
    """Compile what the passes made for this processor, and run it."""
    from coopc.passes.cpu.stages import Stages
    from coopc.run.bounds_checks import add_bounds_checks
    from coopc.run.cpu import llvm_ir
    from coopc.run.cpu_session import Session
    from coopc.run.execute import on_cpu_session
    from coopc.run.worker import RunFailed

    assert job.tiles is not None, job
    checks: list[CheckedAccess] = []
    if job.args.bounds:
        checks = add_bounds_checks(job.program)
    with explaining(Kind.EMIT, job.source, "target 'llvm-ir'"):
        ir = llvm_ir(job.program)
    try:
        with Session.start() as session:
            return on_cpu_session(
                ir,
                Stages.of(job.program),
                job.call,
                session,
                tiles=job.tiles,
                threads=job.args.threads,
                repeats=job.args.repeat,
                seconds=job.args.timeout,
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

    given = [copied(np.asarray(x)) if np.ndim(x) else x for x in job.call.given]
    options = Options(
        grid=job.call.groups,
        subgroup_size=job.subgroup_size,
        distribution=distribution,
        constants=job.spec,
        track=track,
    )
    try:
        with usage_errors(TOOL):
            run = simulate(module, name, given, options)
    except SimulationError as error:
        place = Place(TOOL) if error.op is None else place_of_op(error.op, job.source)
        raise CompileError(Diagnostic(Kind.USAGE, str(error), place)) from error
    errors = run.errors or (None,) * len(given)
    return [
        (each, error)
        for each, error in zip(given, errors, strict=True)
        if isinstance(each, np.ndarray)
    ]


def reference(job: Job, distribution: Provider | None = None) -> Arrays:
    """Simulate the source, with the owners of elements that ran, or others.

    Through operations of `xe` it tracks no errors: there the order of sums is part of
    what they do, and all is the same.
    """
    from coopc.sim.matrices import named_provider
    from coopc.sim.tracked import Inputs

    real = any("=rand" in word or ".npy" in word for word in job.args.arg)
    track = Inputs.REAL if real else Inputs.EXACT
    if uses_dialect(job.module, "xe"):
        track = None
    decided = job.owners.distributions.get(job.source_name)
    if distribution is None and decided is not None:
        distribution = named_provider(decided)
    return simulated(job, job.module, job.source_name, track, distribution)


def differences_from(
    job: Job, after: Mapping[str, Array], expected: Arrays
) -> dict[str, Difference]:
    """Compare the arrays of the kernel's memrefs with the simulator's.

    What is exact must be the same to the bit; else each side may be off by the bound of
    rounding errors that the simulator tracks.
    """
    from coopc.validate.compare import compare

    return {
        buffer.name: compare(
            after[buffer.name],
            array,
            bound=None if error is None else 2 * error,
            element=buffer.element,
        )
        for buffer, (array, error) in zip(job.interface.buffers, expected, strict=True)
    }


def dependent(job: Job, after: Mapping[str, Array], expected: Arrays) -> dict[str, str]:
    """Return which arrays depend on a choice of the driver, and on what of it.

    Where no pass decides which lane holds which element, the driver does; then these
    are not the same for every choice.
    """
    from coopc.sim.matrices import OTHERS, observers

    telling = next(observers(job.module), None)
    if telling is None or job.source_name in job.owners.distributions:
        return {}
    where = f"{telling.name} at {place_of_op(telling, job.source)}"
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


def expected(text: str, after: Mapping[str, Array]) -> tuple[str, Difference]:
    from coopc.run.arguments import read_array
    from coopc.validate.compare import compare

    with usage_errors(TOOL, OSError):
        name, path = named_file(text, list(after))
        return name, compare(after[name], read_array(path))


def show(
    job: Job,
    outcome: Outcome,
    differences: Mapping[str, Difference],
    depends: Mapping[str, str],
) -> None:
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
    name = name if equals else names[-1]
    if name not in names:
        raise ValueError(f"expected one of {', '.join(names)}, got {name!r}")
    return name, path


def save(texts: Sequence[str], after: Mapping[str, Array]) -> None:
    from io import BytesIO

    import numpy as np

    for text in texts:
        with usage_errors(TOOL, OSError):
            if "=" not in text:
                raise ValueError(f"expected --save NAME=FILE.npy, got {text!r}")
            name, path = named_file(text, list(after))
        content = BytesIO()
        np.save(content, after[name])
        write_output(path, content.getvalue())
