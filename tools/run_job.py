"""What coopc-run runs: a kernel that is compiled, its arguments, and how it is called.

| the source has | on vulkan              | on opencl                               |
|----------------|------------------------|-----------------------------------------|
| `coopmatrix`   | `coopc-khr{device=..}` | `coopc-khr{device=..}`                  |
| `tt`, Triton's | refused                | `coopc-xe{device=.. emulate, fallback}` |
| `xe`           | refused                | `emulate-xe`                            |

On the simulator it runs as it is, on the processor after `coopc-amx` where that has
tiles for it, else after `coopc-cpu`.  `--pipeline` says other passes.
"""

from __future__ import annotations

import argparse
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from coopc.diagnostic import CompileError, Kind, near_match
from coopc.interface import SECOND_ENTRY
from coopc.tools.driver import wrong_call

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation
    from xdsl.passes import ModulePass

    from coopc.emit.facts import Facts
    from coopc.interface import Interface
    from coopc.interface_call import Call
    from coopc.interface_fields import Given
    from coopc.pipeline import Observer
    from coopc.run.tiles import Tiles
    from coopc.source import Source
    from coopc.tools.observers import Owners

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


class Level(Enum):
    """How far down the kernels of a source are written."""

    COOPMATRIX = auto()
    TRITON = auto()
    XE = auto()


@dataclass(frozen=True)
class Job:
    """A kernel, ready to run."""

    source: Source
    """The text, for diagnostics."""
    module: ModuleOp
    """The source, as the simulator takes it."""
    level: Level
    program: ModuleOp
    """What the simulator or LLVM gets: the source after its passes."""
    binary: bytes
    """What the driver gets; empty on the simulator."""
    interface: Interface
    given: tuple[Given, ...]
    call: Call
    spec: Mapping[str, int]
    owners: Owners
    """Who holds which elements, as far as passes decide it."""
    emulated: str | None = None
    """The device whose instructions are emulated."""
    tiles: Tiles | None = None
    """Where tiles of AMX are, on the processor."""

    @property
    def source_name(self) -> str:
        """The name of the kernel in the source."""
        return self.interface.name.removesuffix(SECOND_ENTRY)


def prepare(args: argparse.Namespace) -> Job:
    """Read, compile, and make the arguments."""
    from coopc.compiler import compile, new_context
    from coopc.parsing import parse
    from coopc.pipeline import Run, read_passes
    from coopc.remarks import print_remark
    from coopc.source import read_source
    from coopc.tools.observers import Owners
    from coopc.universe import everything

    source = read_source(args.file)
    module = parse(new_context(everything()), source)
    Run(new_context(everything()), source).apply(module, ())  # which verifies it
    level = level_of(module)
    passes = pipeline(args, level)
    steps = read_passes(passes, everything().all_passes)
    binary, tiles, owners = b"", None, Owners()
    plain = program = simulated_form(module, level)
    if args.on == "sim":
        if steps:
            program = after(module, source, steps, owners)
        device = args.device or ON["sim"]
        known = interfaces(with_kernels(program, source), source, device)
    elif args.on == "cpu":
        program, tiles, owners = for_processor(args, module, source, steps)
        known = interfaces(with_kernels(module, source), source, ON["cpu"])
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
    interface = call.interface
    check_grid(args, module, interface.name)
    if args.on == "opencl" and len(known) > 1:
        binary = compiled_alone(module, source, steps, interface.name)
    emulated = emulated_device(steps, module)
    return Job(
        source,
        plain,
        level,
        program,
        binary,
        interface,
        call.given,
        call,
        spec,
        owners,
        emulated,
        tiles,
    )


def called(
    args: argparse.Namespace, known: Sequence[Interface]
) -> tuple[Call, dict[str, int]]:
    """Choose the entry point, and make its arguments and its constants."""
    from coopc.interface_call import pack
    from coopc.interface_conditions import entry_for
    from coopc.run.arguments import make_arguments, read_grid, read_spec, read_words

    with usage():
        interface = choose(known, args.kernel)
        words = read_words(args.arg, interface)
        given = make_arguments(interface, words, args.seed, args.size)
        if args.kernel is None:
            interface = entry_for(known, interface, given)
        return pack(interface, given, read_grid(args.grid)), read_spec(args.spec)


def check_grid(args: argparse.Namespace, module: ModuleOp, name: str) -> None:
    """Refuse a grid of a function that the source has not as a kernel."""
    from xdsl.dialects.func import FuncOp
    from xdsl.traits import SymbolTable

    from coopc.dialects.simt import KERNEL

    func = SymbolTable.lookup_symbol(module, name)
    if args.grid and isinstance(func, FuncOp) and KERNEL not in func.attributes:
        raise wrong_call(
            TOOL,
            f"expected no --grid for {name}, which is no kernel in the source: coopc "
            f"chooses its work-groups, got {args.grid}",
        )


def level_of(module: ModuleOp) -> Level:
    """Return how far down the kernels of a module are written."""
    dialects = {op.dialect_name() for op in module.walk()}
    if "tt" in dialects:
        return Level.TRITON
    return Level.XE if "xe" in dialects else Level.COOPMATRIX


def simulated_form(module: ModuleOp, level: Level) -> ModuleOp:
    """Return a module as the simulator takes it: Triton's kernels are functions."""
    if level is not Level.TRITON:
        return module
    from coopc.sim.triton import with_functions

    return with_functions(module)


def after(
    module: ModuleOp,
    source: Source,
    steps: Sequence[ModulePass],
    *observers: Observer,
) -> ModuleOp:
    """Return what passes make of a module, which is not changed."""
    from coopc.compiler import new_context
    from coopc.pipeline import Run
    from coopc.universe import everything

    program = module.clone()
    run = Run(new_context(everything()), source, observers=observers)
    run.apply(program, steps)
    return simulated_form(program, level_of(program))


def for_processor(
    args: argparse.Namespace,
    module: ModuleOp,
    source: Source,
    steps: Sequence[ModulePass],
) -> tuple[ModuleOp, Tiles, Owners]:
    """Return what passes make of a module for this processor, with its tiles.

    Where none were asked for and tiles cannot do what it does, vectors do it.
    """
    from coopc.pipeline import read_passes
    from coopc.remarks import remark
    from coopc.run.tiles import Tiles
    from coopc.tools.observers import Owners
    from coopc.universe import everything

    tiles, owners = tiles_of(args), Owners()
    if args.pipeline is not None or args.tiles != "auto":
        return after(module, source, steps, owners), tiles, owners
    reason: str | None = "this processor has no AMX; --tiles emulated is slower"
    if tiles is Tiles.AMX:
        try:
            program = after(module, source, steps, owners)
            reason = lacking_of(program)
        except CompileError as error:
            if error.diagnostic.kind is not Kind.PASS:
                raise
            reason = error.diagnostic.message
        else:
            if reason is None:
                return program, tiles, owners
        steps = read_passes("coopc-cpu", everything().all_passes)
        owners = Owners()
    program = after(module, source, steps, owners)
    if (product := first_product(module)) is not None:
        remark(product, f"done by vectors, not by tiles of AMX: {reason}")
    return program, Tiles.NONE, owners


def lacking_of(program: ModuleOp) -> str | None:
    """Return what of AMX functions need and this processor has not, or None."""
    from xdsl.dialects.func import FuncOp

    from coopc.emit.llvm.amx_features import features
    from coopc.run.tiles import cpu_flags, lacking

    funcs = [op for op in program.walk() if isinstance(op, FuncOp)]
    missing = lacking({x for func in funcs for x in features(func)}, cpu_flags())
    return f"this processor has no {', '.join(missing)}" if missing else None


def first_product(module: ModuleOp) -> Operation | None:
    """Return the first multiplication of matrices, or None."""
    from coopc.dialects.coopmatrix import MulAddOp
    from coopc.rewrite.multiplication import recognised

    return next(
        (
            op
            for op in module.walk()
            if isinstance(op, MulAddOp)
            or (op.dialect_name() == "linalg" and not isinstance(recognised(op), str))
        ),
        None,
    )


def compiled_alone(
    module: ModuleOp, source: Source, steps: Sequence[ModulePass], name: str
) -> bytes:
    """Return what passes make of a module, with one of its kernels alone.

    OpenCL's compiler takes all kernels of a module, and long for each that is emulated.
    """
    from xdsl.rewriter import Rewriter

    from coopc.compiler import compile
    from coopc.dialects.simt import kernels

    program = after(module, source, steps)
    for kernel in list(kernels(program)):
        if kernel.name != name:
            Rewriter.erase_op(kernel.func)
    return compile(program, "", "spirv-binary", name=source.name).bytes


def interfaces(module: ModuleOp, source: Source, device: str) -> list[Interface]:
    """Return the interfaces of the kernels that are simulated."""
    from xdsl.utils.exceptions import PassFailedException

    from coopc.dialects.simt import kernels
    from coopc.emit.interface import interface_of
    from coopc.emit.structured import Refusal

    with usage():
        facts = simulated_facts(device)
    found: list[Interface] = []
    with explained(source, Kind.VERIFY, "the interface of its kernels"):
        for kernel in kernels(module):
            try:
                found.append(interface_of(kernel, module, facts))
            except Refusal as error:
                refused = PassFailedException(str(error))
                kernel.func.emit_error(str(error), refused)
    return found


@contextmanager
def explained(source: Source, kind: Kind, step: str) -> Generator[None]:
    """Raise what is wrong with a module as the diagnostic that says where.

    Raises:
        CompileError: Any exception of a step.
    """
    from coopc.explain import of_step
    from coopc.xdsl_gaps import blaming

    try:
        with blaming():
            yield
    except Exception as error:
        raise CompileError(of_step(error, kind, source, step)) from error


def with_kernels(module: ModuleOp, source: Source) -> ModuleOp:
    """Return a module in which functions of linalg, too, are kernels."""
    if not any(op.dialect_name() == "linalg" for op in module.walk()):
        return module
    from xdsl.context import Context

    from coopc.passes.front.convert_linalg_to_coopmatrix import (
        ConvertLinalgToCoopmatrixPass,
    )
    from coopc.pipelines import CPU_TILE

    found = module.clone()
    step = ConvertLinalgToCoopmatrixPass((*CPU_TILE, 32))
    with explained(source, Kind.PASS, f"pass '{step}'"):
        step.apply(Context(), found)
    return found


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


def emulated_device(steps: Sequence[ModulePass], module: ModuleOp) -> str | None:
    """Return the device whose instructions the passes write out, or None."""
    from coopc.dialects.simt import target_of
    from coopc.passes.set_target import SetTargetPass
    from coopc.passes.xe.emulate_xe import EmulateXePass

    found = None if (target := target_of(module)) is None else target.device.data
    for step in steps:
        if isinstance(step, EmulateXePass):
            return found or "Xe"
        if isinstance(step, SetTargetPass):
            found = step.device or found
    return None


@contextmanager
def usage() -> Generator[None]:
    """Take a `ValueError` for a mistake on the command line."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise wrong_call(TOOL, str(error)) from error


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


def family_of(name: str) -> str | None:
    """Return what a device is programmed by; None if there is no such device."""
    from coopc.device import DEVICES

    return DEVICES[name].family if name in DEVICES else None


def pipeline(args: argparse.Namespace, level: Level) -> str:
    """Return the passes that make the module what its driver takes."""
    if args.pipeline is not None:
        return args.pipeline
    if args.on == "sim":
        return ""
    if args.on == "cpu" and level is Level.COOPMATRIX:
        return "coopc-cpu" if tiles_of(args) == "none" else "coopc-amx"
    device = args.device or (XE_DEVICE if level is Level.TRITON else ON[args.on])
    emulating = f"coopc-xe{{device={device} fallback=true emulate=true}}"
    if level is Level.COOPMATRIX:
        is_xe = args.on == "opencl" and family_of(device) == "xe"
        return emulating if is_xe else f"coopc-khr{{device={device}}}"
    if args.on != "opencl":
        what = "Triton's kernels" if level is Level.TRITON else "kernels of xe"
        raise wrong_call(TOOL, f"expected --on opencl or sim, where {what} can run")
    if level is Level.TRITON:
        return emulating
    return f"emulate-xe,set-target{{device={ON['opencl']}}}"


def tiles_of(args: argparse.Namespace) -> Tiles:
    """Return which tiles of AMX a kernel runs on: those asked for, or the best."""
    from coopc.run.tiles import Tiles, best

    return best() if args.tiles == "auto" else Tiles(args.tiles)
