"""Compiles a module for where it is to run, and runs it: `coopc.launch`.

| the source has   | on vulkan                | on opencl                        |
|------------------|--------------------------|----------------------------------|
| `coopmatrix`     | `coopc-khr{device=..}`   | `coopc-khr{device=..}`           |
| `tt`, Triton's   | `coopc-khr{.. fallback}` | `coopc-khr{.. fallback}`         |
| `tt` and layouts | `coopc-khr{.. fallback}` | `coopc-xe{.. emulate, fallback}` |
| `xe`             | refused                  | `emulate-xe`                     |

If subgroups of the device share tiles of products (`shares_gemm`), `coopc-khr` is
staged. On a CPU without AVX-512, Intel's runtime has no matrices, and on one without
AVX512-FP16 none for a module that computes f16: `coopc-lanes` is used instead. On the
simulator a module runs as it is, on the CPU after `coopc-amx` if AMX has tiles for it,
else after `coopc-cpu`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp, f16
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir.affine import AffineMap
from xdsl.traits import SymbolTable

from coopc.compiler import compile, new_context
from coopc.device import DEVICES, device
from coopc.diagnostic import CompileError, Diagnostic, Kind, Place
from coopc.explain import explaining, place_of_op, usage_errors
from coopc.interface import SECOND_ENTRY
from coopc.parsing import parse
from coopc.pipeline import Observer, Run, checks, read_passes
from coopc.remarks import current_sink, remark, remarks_to
from coopc.run.executable import (
    LAUNCH,
    LAUNCH_SECONDS,
    Executable,
    Grid,
    check_run_options,
    check_texts,
    failures,
)
from coopc.sim.triton import simulated_form
from coopc.source import Source, read_source
from coopc.universe import everything

if TYPE_CHECKING:
    from xdsl.ir import Attribute, Operation
    from xdsl.passes import ModulePass

    from coopc.interface import Interface
    from coopc.interface_call import Call
    from coopc.run.arrays import Array, Outcome
    from coopc.run.bounds_checks import CheckedAccess
    from coopc.run.tiles import Tiles
    from coopc.sim.matrices import Provider
    from coopc.sim.tracked import Inputs

    Arrays: TypeAlias = list[tuple[Array, Array | None]]
    """What memrefs are, and bounds of the errors of their elements, if tracked."""

LOAD, RUN = "coopc.load", "Executable.run"
PLACES: Mapping[str, str] = {
    "sim": "intel-cpu",
    "vulkan": "lavapipe",
    "opencl": "intel-cpu",
    "cpu": "intel-cpu",
}
"""Where a kernel can run, and the device that it is compiled for by default."""
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "bounds": ("cpu",),
    "device": ("sim", "vulkan", "opencl"),
    "spec": ("sim", "vulkan", "opencl"),
    "threads": ("cpu",),
    "tiles": ("cpu",),
    "timeout": ("vulkan", "opencl", "cpu"),
}
"""Options of coopc-run that are for some places only."""
TILES = ("auto", "amx", "emulated", "none")
MAX_THREADS = 1024
"""More than processors have cores; systems refuse some tens of thousands."""
RAISING = "convert-gpu-mma-to-coopmatrix", "convert-spirv-to-coopmatrix"
"""Passes that make kernels, of modules of other dialects."""
XE_DEVICE = "bmg"
"""The one that kernels of Triton with layouts are planned for by default."""


Dialect: TypeAlias = Literal["coopmatrix", "tt", "ttg", "xe"]
"""What kernels are written in; ttg where Triton's tensors have layouts, a GPU's."""


@dataclass
class Owners(Observer):
    """Notes what was decided first of each kernel, by its text or else by a pass.

    Later passes let one work-item hold all elements.
    """

    distributions: dict[str, Attribute] = field(default_factory=lambda: {})
    """By the kernel's name."""
    lanes: dict[str, int] = field(default_factory=dict[str, int])
    """Of a subgroup, by the kernel's name."""
    grids: dict[str, Attribute] = field(default_factory=lambda: {})
    """By the kernel's name; a processor's functions have none at the end."""
    linalg_steps: list[ModulePass] = field(default_factory=lambda: [])
    """The steps of `from_linalg` that ran, with sequences."""
    lowered: ModuleOp | None = None
    """The module after the last pass."""

    def start(self, module: ModuleOp) -> None:
        from xdsl.dialects.builtin import IntegerAttr

        from coopc.dialects import coopmatrix, simt

        for op in module.ops:
            if not isinstance(op, FuncOp):
                continue
            name = op.sym_name.data
            if (found := op.attributes.get(coopmatrix.DISTRIBUTION)) is not None:
                self.distributions.setdefault(name, found)
            if (found := op.attributes.get(simt.GRID)) is not None:
                self.grids[name] = found
            if isinstance(lanes := op.attributes.get(simt.SUBGROUP_SIZE), IntegerAttr):
                self.lanes.setdefault(name, lanes.value.data)

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        from coopc.pipelines import with_sequence

        self.start(module)
        if (found := with_sequence(step)) is not None:
            self.linalg_steps.append(found)
        if last:
            self.lowered = module


def check_options(on: str, given: Iterable[str]) -> None:
    """Refuse options that would do nothing at a place.

    Raises:
        ValueError: there is one.
    """
    for name in given:
        if on not in (places := OPTIONS[name]):
            where = " or ".join(places)
            raise ValueError(
                f"expected --on {where}, which --{name} is for, got --on {on}"
            )


@dataclass(frozen=True)
class LaunchTarget:
    """Where a module is to run, and how it is compiled for that.

    Raises:
        ValueError: there is no such place, or it does not take the options.
    """

    on: str = "sim"
    """One of `PLACES`."""
    device: str | None = None
    pipeline: str | None = None
    """Passes, instead of the device's."""
    tiles: str = "auto"
    """Of AMX, on cpu: auto or one of `Tiles`."""
    threads: int = 1
    """Of cpu."""
    bounds: bool = False
    """Whether every access is checked, on cpu."""

    def __post_init__(self) -> None:
        check_texts(
            on=self.on, device=self.device, pipeline=self.pipeline, tiles=self.tiles
        )
        if self.on not in PLACES:
            raise ValueError(f"expected on={'|'.join(PLACES)}, got {self.on!r}")
        if self.tiles not in TILES:
            raise ValueError(f"expected tiles={'|'.join(TILES)}, got {self.tiles!r}")
        threads: object = self.threads
        is_number = not isinstance(threads, bool) and isinstance(threads, Integral)
        if not is_number or not 1 <= self.threads <= MAX_THREADS:
            raise ValueError(
                f"expected threads to be a number, 1 to {MAX_THREADS}, got {threads!r}"
            )
        if self.on == "cpu" and self.device is not None:
            raise ValueError(
                f"expected no device with on='cpu', which compiles for this CPU, "
                f"got {self.device!r}"
            )
        given = {
            "tiles": self.tiles != "auto",
            "threads": self.threads != 1,
            "bounds": self.bounds,
        }
        check_options(self.on, [name for name in given if given[name]])

    @property
    def device_name(self) -> str:
        return self.device or PLACES[self.on]

    def passes(self, dialect: Dialect, *, computes_f16: bool = False) -> str:
        """Return the passes for a module of some dialect, which may compute f16.

        Raises:
            ValueError: nothing runs it there.
        """
        if self.pipeline is not None:
            return self.pipeline
        if self.on == "sim":
            return ""
        if self.on == "cpu" and dialect != "xe":
            if self.tiles_used == "none":
                return self.vectors
            return f"coopc-amx{{threads={self.threads}{self.features}}}"
        has_layouts = dialect == "ttg" and self.on == "opencl"
        name = self.device or (XE_DEVICE if has_layouts else PLACES[self.on])
        if dialect != "xe":
            known = name in DEVICES and DEVICES[name].family == "xe"
            emulating = f"coopc-xe{{device={name} fallback=true emulate=true}}"
            is_xe = self.on == "opencl" and known
            if is_xe:
                return emulating
            options = "" if dialect == "coopmatrix" else " fallback=true"
            if self.why_no_matrices(computes_f16=computes_f16):
                return f'coopc-lanes{{device="{name}"{options}}}'
            if name in DEVICES and DEVICES[name].shares_gemm:
                options += " staged=true"
            return f'coopc-khr{{device="{name}"{options}}}'
        if self.on != "opencl":
            raise ValueError("expected --on opencl or sim, where kernels of xe can run")
        on_cpu = f"set-target{{device={PLACES['opencl']}}}"
        return f"emulate-xe,{on_cpu},converge-subgroup"

    def why_no_matrices(self, *, computes_f16: bool = False) -> str | None:
        """Why Intel's runtime has no matrices on this processor; None if it has."""
        from coopc.run.tiles import cpu_flags, why_impossible

        if self.on != "opencl" or self.device not in (None, PLACES["opencl"]):
            return None
        return why_impossible(cpu_flags(), computes_f16=computes_f16)

    @property
    def tiles_used(self) -> Tiles:
        """Which tiles of AMX a kernel runs on: those asked for, or the best."""
        from coopc.run.tiles import Tiles, best

        return best() if self.tiles == "auto" else Tiles(self.tiles)

    @property
    def vectors(self) -> str:
        """The passes for vectors of this processor."""
        from coopc.device.cpu import VECTOR_TILE, WIDE_VECTOR_TILE
        from coopc.run.tiles import cpu_flags

        is_wide = "avx512f" in cpu_flags()
        rows, cols = WIDE_VECTOR_TILE if is_wide else VECTOR_TILE
        return f"coopc-cpu{{threads={self.threads} tile={rows},{cols}{self.features}}}"

    @property
    def features(self) -> str:
        """The option of pipelines that says how this processor multiplies vectors."""
        from coopc.plan.core_gemm import DOT_FEATURES
        from coopc.run.tiles import cpu_flags, lacking

        found = [x for x in DOT_FEATURES if not lacking([x], cpu_flags())]
        return f" features={','.join(found)}" if found else ""


@dataclass(frozen=True)
class Build:
    """A module compiled for a place, with what it was."""

    target: LaunchTarget
    source: Source
    """The text, for diagnostics."""
    given: ModuleOp
    module: ModuleOp
    """What was given, as the simulator takes it."""
    dialect: Dialect
    program: ModuleOp
    """What the simulator or LLVM gets."""
    owners: Owners
    """Who holds which elements, as far as passes decide it."""
    steps: Sequence[ModulePass]
    binary: bytes
    """What a driver gets; empty elsewhere."""
    interface: tuple[Interface, ...]
    tiles: Tiles | None
    """Where tiles of AMX are, on the processor."""

    @cached_property
    def executable(self) -> Executable:
        """What runs it."""
        from coopc.dialects.simt import KERNEL

        funcs = (op for op in self.given.ops if isinstance(op, FuncOp))
        chosen = frozenset(x.sym_name.data for x in funcs if KERNEL not in x.attributes)
        on, device = self.target.on, self.target.device_name
        run = {"sim": self.on_simulator, "cpu": self.on_processor}.get(on)
        if run is not None:
            return Executable(self.interface, run, chosen)
        from coopc.run.execute import executable_on_driver

        return executable_on_driver(self.interface, on, device, self.binary_of, chosen)

    @property
    def executable_in_process(self) -> Executable:
        """What runs it in this process, on the processor."""
        from coopc.passes.cpu.stages import Stages
        from coopc.run.cpu import Program
        from coopc.run.in_process import InProcess

        assert self.tiles is not None, self
        program = Program.of_text(self.llvm_ir[0], self.tiles)
        staged = replace(program, staged=Stages.of(self.program))
        runner = InProcess(staged, self.target.threads)
        run = runner.execute
        return replace(self.executable, execute_kernel=run, in_process=runner)

    def binary_of(self, kernel: str) -> bytes:
        """Return the module that has a kernel.

        OpenCL's compiler takes all kernels of a module, and long for each that is
        emulated: there it has no others.
        """
        if self.target.on != "opencl" or len(self.interface) == 1:
            return self.binary
        lowered = self.owners.lowered or self.given
        return emitted_alone(lowered, self.source, kernel)

    @property
    def lowered(self) -> str:
        """The text of what the passes made."""
        return str(self.owners.lowered or self.program)

    @property
    def text(self) -> str:
        """What a driver or a processor's compiler gets, to read."""
        if self.target.on == "cpu":
            return self.llvm_ir[0]
        return compile(self.owners.lowered or self.program, "", "spirv").text

    @property
    def code(self) -> bytes:
        """What is executed: SPIR-V, LLVM IR, or what the simulator takes."""
        if self.binary:
            return self.binary
        return (self.llvm_ir[0] if self.target.on == "cpu" else self.lowered).encode()

    @property
    def emulated(self) -> str | None:
        """The device whose instructions are emulated, or None."""
        from coopc.dialects.simt import target_of
        from coopc.passes.generic.set_target import SetTargetPass

        target = target_of(self.module)
        found = None if target is None else target.device.data
        for step in self.steps:
            if step.name == "emulate-xe":  # the class takes long to import
                return found or "Xe"
            if isinstance(step, SetTargetPass):
                found = step.device or found
        return None

    def subgroup_size(self, call: Call) -> int:
        """Return what a pass has decided, or the kernel's, or the device's."""
        decided = self.owners.lanes.get(source_name(call.interface))
        known = (
            decided if self.target.on == "cpu" else 0
        ) or call.interface.subgroup_size
        return known or device(self.target.device_name).subgroup_size

    def module_of(self, kernel: str) -> ModuleOp:
        """Return the module in which the simulator finds a kernel.

        It is what passes before a pipeline made where they made the kernel.
        """
        if SymbolTable.lookup_symbol(self.module, kernel) is not None:
            return self.module
        first = takewhile(lambda step: step not in checks(), self.steps)
        return after(self.given, self.source, [*first])

    def simulated(
        self,
        call: Call,
        module: ModuleOp,
        name: str,
        spec: Mapping[str, int],
        track: Inputs | None = None,
        distribution: Provider | None = None,
    ) -> Arrays:
        """Simulate a module.

        Raises:
            CompileError: the program is undefined, or the simulator does not know it.
            ValueError: the call does not fit the kernel.
        """
        import numpy as np

        from coopc.dialects.coopmatrix import precision_of
        from coopc.run.arrays import copied, each_array
        from coopc.sim.errors import SimulationError
        from coopc.sim.simulate import Options, simulate

        given = copied(call.given)
        lowered = self.owners.lowered
        precision = "ieee" if lowered is None else precision_of(lowered)
        options = Options(
            grid=call.groups,
            subgroup_size=self.subgroup_size(call),
            distribution=distribution,
            constants=spec,
            track=track,
            precision=precision,
        )
        count = len(given) - len(call.interface.results)
        is_function = isinstance(SymbolTable.lookup_symbol(module, name), FuncOp)
        inputs = given[:count] if is_function else given
        try:
            run = simulate(module, name, inputs, options)
        except SimulationError as error:
            place, what = Place(LAUNCH), error.reason
            op = error.op or SymbolTable.lookup_symbol(module, name)
            if op is not None:
                place = place_of_op(op, self.source)
                what = f"{op.name}: {what}"
            raise CompileError(Diagnostic(Kind.USAGE, what, place)) from error
        for result, found in zip(given[count:], run.results, strict=True):
            np.asarray(result)[...] = found.view(np.asarray(result).dtype)
        errors = (*run.errors, *run.result_errors)
        return [
            (each, error)
            for each, error in zip(each_array(given), errors, strict=True)
            if isinstance(each, np.ndarray)
        ]

    def on_simulator(
        self, call: Call, *, spec: Mapping[str, int], repeats: int, seconds: float
    ) -> Outcome:
        """Simulate what the passes made."""
        from coopc.run.arrays import Outcome

        times: list[float] = []
        arrays: list[tuple[Array, ...]] = []
        for _ in range(repeats):
            start = time.perf_counter()
            found = self.simulated(call, self.program, call.interface.name, spec)
            arrays.append(tuple(array for array, _ in found))
            times.append(1000 * (time.perf_counter() - start))
        return Outcome(arrays[0], tuple(times), "the simulator")

    def on_processor(
        self, call: Call, *, spec: Mapping[str, int], repeats: int, seconds: float
    ) -> Outcome:
        """Compile what the passes made for this processor, and run it."""
        from coopc.passes.cpu.stages import Stages
        from coopc.run.cpu_session import Session
        from coopc.run.execute import kept, on_cpu_session
        from coopc.run.worker import RunFailed

        assert self.tiles is not None, self
        ir, checks = self.llvm_ir
        try:
            with kept(Session.start) as session:
                return on_cpu_session(
                    ir,
                    Stages.of(self.program),
                    call,
                    session,
                    tiles=self.tiles,
                    threads=self.target.threads,
                    repeats=repeats,
                    seconds=seconds,
                )
        except RunFailed as error:
            number: int | None = error.details.get("check")
            if number is None:
                raise
            op, dimension, memory = checks[number]
            name = "its memref" if memory.name_hint is None else f"%{memory.name_hint}"
            what = f"{op.name}: in dimension {dimension} of {name}: {error}"
            place = place_of_op(op, self.source)
            raise CompileError(Diagnostic(Kind.USAGE, what, place)) from error

    @cached_property
    def llvm_ir(self) -> tuple[str, Sequence[CheckedAccess]]:
        """What the processor's compiler gets, and the accesses that it checks."""
        from coopc.run.bounds_checks import add_bounds_checks
        from coopc.run.cpu import llvm_ir

        with explaining(Kind.EMIT, self.source, "target 'llvm-ir'"):
            check_calls(self.program)  # before functions of whoever runs it are added
            checks = add_bounds_checks(self.program) if self.target.bounds else []
            return llvm_ir(self.program), checks


# --- Compile. ---


def build(given: Source | ModuleOp, target: LaunchTarget) -> Build:
    """Compile a module for a place; the module given is not changed.

    Raises:
        CompileError: anything about the text, the passes or the device is wrong.
        ValueError: nothing runs such a module there.
    """
    source = given if isinstance(given, Source) else Source("", "<module>")
    ctx = new_context(everything())
    module = parse(ctx, source) if isinstance(given, Source) else given.clone()
    Run(ctx, source).apply(module, ())  # which verifies it
    dialect = dialect_of(module)
    has_f16 = computes_f16(module)
    passes = target.passes(dialect, computes_f16=has_f16)
    steps = read_passes(passes, everything().all_passes)
    binary, tiles, owners = b"", None, Owners()
    plain = program = simulated_form(module)
    if target.on == "sim":
        if steps:
            program = after(module, source, steps, owners)
        kernels = with_kernels(program, source)
        device(target.device_name)  # refuses an unknown one
        # Those of linalg are for lanes of a CPU, whatever the device.
        name = target.device_name if kernels is program else PLACES["sim"]
        known = interfaces(kernels, source, name)
        known = [x for each in known if (x := as_simulated(each, program)) is not None]
        if not known and any(step.name == "convert-simt-to-loops" for step in steps):
            raise ValueError(
                "expected --on cpu, which runs what coopc-cpu and coopc-amx make of "
                "kernels, got --on sim"
            )
    elif target.on == "cpu":
        program, tiles, owners = for_processor(target, module, source, steps)
        if raising := [n for n, step in enumerate(steps) if step.name in RAISING]:
            with remarks_to(lambda _: None):  # made already
                plain = after(module, source, steps[: raising[-1] + 1])
        kernels = with_kernels(plain, source, owners)
        known = prepacked(interfaces(kernels, source, PLACES["cpu"]), program)
    else:
        reason = target.why_no_matrices(computes_f16=has_f16)
        if target.pipeline is None and reason is not None:
            remark_product(module, f"computed by lanes, not by matrices: {reason}")
        artifact = compile(
            source.text or module,
            passes,
            "spirv-binary",
            name=source.name,
            observers=(owners,),
            on_remark=current_sink(),
        )
        binary, known = artifact.bytes, artifact.interface
        for each in known:
            if each.flavour != target.on:
                raise ValueError(
                    f"expected passes and a device for {target.on}, got some for "
                    f"{each.flavour}: the device is {target.device_name}"
                )
    return Build(
        target=target,
        source=source,
        given=module,
        module=plain,
        dialect=dialect,
        program=program,
        binary=binary,
        interface=tuple(known),
        owners=owners,
        steps=steps,
        tiles=tiles,
    )


def source_name(interface: Interface) -> str:
    """Return the name of a kernel in the text, which second entry points extend."""
    return interface.name.removesuffix(SECOND_ENTRY)


COMPUTES = frozenset(
    {
        *("linalg.softmax", "memref.atomic_rmw", "simt.reduce"),
        *("tt.atomic_rmw", "tt.clampf", "tt.descriptor_reduce", "tt.fp_to_fp"),
        *("tt.extern_elementwise", "tt.precise_divf", "tt.precise_sqrt"),
        *("vector.fma", "vector.reduction"),
    }
)
"""Operations that compute, beside those of `arith` and `math` and of matrices."""


def computes_f16(module: ModuleOp) -> bool:
    """Whether a module computes numbers of f16, beside those that tiles multiply.

    Numbers of f8, and factors with scales, are converted to f16 for that.  A product of
    linalg has a body that computes: lanes are faster than tiles that are emulated.
    """
    return any(map(_computes_f16, module.walk()))


def _computes_f16(op: Operation) -> bool:
    values = op.results if is_product(op) else (*op.operands, *op.results)
    elements = [getattr(x.type, "element_type", x.type) for x in values]
    if op.name == "tt.dot_scaled" or any(str(x).startswith("f8") for x in elements):
        return True
    return f16 in elements and is_arithmetic(op)


def is_arithmetic(op: Operation) -> bool:
    """Whether an operation does more with numbers than to choose them."""
    from coopc.dialects import coopmatrix

    if isinstance(op, arith.ConstantOp | arith.SelectOp):
        return False
    of_matrices = (
        *(coopmatrix.ElementwiseOp, coopmatrix.ConvertOp, coopmatrix.ReduceOp),
        coopmatrix.AtomicUpdateOp,
    )
    if isinstance(op, of_matrices) or op.name in COMPUTES or is_product(op):
        return True
    return op.dialect_name() in ("arith", "math")


def is_product(op: Operation) -> bool:
    """Whether an operation multiplies matrices of a subgroup or blocks of Triton."""
    return op.name in ("coopmatrix.mul_add", "tt.dot")


def dialect_of(module: ModuleOp) -> Dialect:
    dialects = {op.dialect_name() for op in module.walk()}
    if "tt" in dialects:
        return "ttg" if "ttg.threads-per-warp" in module.attributes else "tt"
    return "xe" if "xe" in dialects else "coopmatrix"


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
    target: LaunchTarget,
    module: ModuleOp,
    source: Source,
    steps: Sequence[ModulePass],
) -> tuple[ModuleOp, Tiles, Owners]:
    """Return what passes make of a module for this processor, with its tiles.

    Where none were asked for and tiles cannot do what it does, vectors do it.
    """
    from coopc.emit.llvm.types import features
    from coopc.run.tiles import Tiles, cpu_flags, lacking

    tiles, owners = target.tiles_used, Owners()
    if target.pipeline is not None or target.tiles != "auto":
        return after(module, source, steps, owners), tiles, owners
    reason = "this CPU has no AMX; --tiles emulated is slower"
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
            reason = f"this CPU has no {', '.join(missing)}"
        steps = read_passes(target.vectors, everything().all_passes)
        owners = Owners()
    program = after(module, source, steps, owners)
    remark_product(module, f"computed by vectors, not by AMX tiles: {reason}")
    return program, Tiles.NONE, owners


def check_calls(program: ModuleOp) -> None:
    """Refuse calls of functions that the processor's code does not have.

    Raises:
        PassFailedException: a function that is called has no body.
    """
    from coopc.emit.walker import refuse
    from coopc.ir.control_flow import functions, reached

    known = functions(program)
    entries = [
        x
        for x in known.values()
        if x.sym_visibility is None or x.sym_visibility.data != "private"
    ]
    for op in (y for x in entries for each in reached(x, known) for y in each.walk()):
        if isinstance(op, CallOp):
            name = op.callee.root_reference.data
            if name not in known or known[name].is_declaration:
                refuse(op, f"expected a function @{name} with a body in the module")


def remark_product(module: ModuleOp, text: str) -> None:
    """Say something of the first product of a module."""
    from coopc.passes.linalg.match import is_multiplication

    for op in module.walk():
        is_linalg = op.dialect_name() == "linalg"
        if is_product(op) or (is_linalg and is_multiplication(op)):
            remark(op, text)
            return


def emitted_alone(module: ModuleOp, source: Source, name: str) -> bytes:
    """Return the binary of one kernel of a module that passes have lowered."""
    from xdsl.rewriter import Rewriter

    from coopc.dialects.simt import SequenceOp, kernels

    program = module.clone()
    for op in list(program.ops):
        if isinstance(op, SequenceOp):
            Rewriter.erase_op(op)
    for kernel in list(kernels(program)):
        if kernel.name != name:
            Rewriter.erase_op(kernel.func)
    return compile(program, "", "spirv-binary", name=source.name).bytes


def interfaces(module: ModuleOp, source: Source, name: str) -> list[Interface]:
    """Return the interfaces of kernels, as the simulator calls them for a device.

    Raises:
        ValueError: the device is unknown, or runs no kernels.
    """
    from coopc.dialects.simt import kernels
    from coopc.emit.sequence import interfaces_of
    from coopc.emit.walker import Facts

    target = device(name)
    if not target.flavours:
        raise ValueError(f"expected a device that runs kernels, got {name}")
    facts = Facts(target.flavours[0], target)
    with explaining(Kind.VERIFY, source, "the interface of its kernels"):
        return interfaces_of(kernels(module), module, facts)


def prepacked(known: Sequence[Interface], program: ModuleOp) -> list[Interface]:
    """Return the interfaces of a program, in which kernels may take B packed.

    Raises:
        ValueError: a launch sequence has such a kernel, which nobody packs B for.
    """
    from coopc.emit.interface import expression_of
    from coopc.emit.sequence import product
    from coopc.interface import packing_before
    from coopc.passes.cpu.stages import Stages

    staged = Stages.of(program)
    found: list[Interface] = []
    for each in known:
        stages = staged.get(each.name)
        if stages is None or (packed := stages.packed) is None:
            found.append(each)
            continue
        if any(step.kernel == each.name for x in known for step in x.steps):
            raise ValueError(
                "expected a function of one product for prepack=b, got one of several "
                f"kernels, of which {each.name} is one"
            )
        elements = product([*map(expression_of, packed.elements.results)])
        element = str(packed.type.element_type)
        found += packing_before(each, packed.argument, element, elements)
    return found


def as_simulated(interface: Interface, program: ModuleOp) -> Interface | None:
    """Return the interface of a function that the simulator runs as a whole.

    None for a kernel that is none of the program, but of what engines make of it.
    """
    op = SymbolTable.lookup_symbol(program, interface.name)
    if isinstance(op, FuncOp):
        return replace(interface, steps=(), temporaries=())
    return None if op is None else interface


def with_kernels(
    module: ModuleOp, source: Source, owners: Owners | None = None
) -> ModuleOp:
    """Return a module in which functions of linalg, too, are kernels.

    Their grids are those that passes have chosen, as far as these are known.
    """
    from coopc.pipelines import CPU_TILE, from_linalg, has_functions_of_tensors, step

    if not has_functions_of_tensors(module):
        return module
    from coopc.dialects.simt import GRID, kernel_sizes

    products = step("convert-linalg-to-coopmatrix", tile=(*CPU_TILE, 32))
    rows = step("convert-linalg-to-simt", device="amx")
    steps = (owners and owners.linalg_steps) or from_linalg()
    # Steps that have run before have made their remarks.
    with nullcontext() if owners is None else remarks_to(lambda _: None):
        found = after(module, source, (*steps, products, rows, step("expand-nibbles")))
    grids = {} if owners is None else owners.grids
    for op in found.ops:
        if not isinstance(op, FuncOp):
            continue
        grid = grids.get(op.sym_name.data)
        if isinstance(grid, AffineMapAttr):  # arguments that passes add are the last
            sizes = len(kernel_sizes(op))
            op.attributes[GRID] = AffineMapAttr(AffineMap(sizes, 0, grid.data.results))
    return found


# --- From Python. ---


def launch(
    module: str | Path | ModuleOp,
    *arguments: object,
    on: str = "sim",
    device: str | None = None,
    pipeline: str | None = None,
    grid: Grid | None = None,
    kernel: str | None = None,
    tiles: str = "auto",
    threads: int = 1,
    spec: Mapping[str, int] | None = None,
    seconds: float = LAUNCH_SECONDS,
) -> Outcome:
    """Compile a module, and run a kernel on arrays, which it changes in place.

    Args:
        module: Text, the path of a file, or IR, which is not changed.
        arguments: Those of the kernel: numbers, and for memrefs, pointers and
            descriptors arrays of numpy or what has `__array_interface__`,
            `__dlpack__`, or `data_ptr` as tensors of PyTorch, in this processor's
            memory.  The sizes and strides of descriptors are those of their arrays.
        on: sim, vulkan, opencl or cpu.
        device: What it is compiled for; lavapipe on vulkan, or else a processor.
        pipeline: Passes, instead of the device's.
        grid: Work-groups, or programs of Triton, along x, y, z.
        kernel: Its name, where there are several.
        tiles: Of AMX, on cpu: auto, amx, emulated or none.
        threads: Of cpu.
        spec: Values of specialization constants.
        seconds: How long it may take.

    Raises:
        CompileError: Anything is wrong, in the words of coopc-run.
    """
    with usage_errors(LAUNCH):
        check_launch(on, module, kernel, spec, seconds)
    given = _read(module)
    with usage_errors(LAUNCH, OSError):
        target = LaunchTarget(on, device, pipeline, tiles, threads)
        executable = build(given, target).executable
    return executable.run(
        *arguments, grid=grid, kernel=kernel, spec=spec, seconds=seconds
    )


def load(
    module: str | Path | ModuleOp,
    *,
    on: str,
    device: str | None = None,
    pipeline: str | None = None,
    tiles: str = "auto",
    threads: int = 1,
) -> Executable:
    """Compile a module once, for many launches: `load(module, on="cpu").run(a, b, c)`.

    The arguments are those of `launch`.  On cpu, kernels run in this process: an access
    out of bounds crashes it, and `seconds` has no effect.  What a launch computed from
    the types, shapes and strides of its arguments is kept for the next.

    Raises:
        CompileError: Anything is wrong, in the words of coopc-run.
    """
    with usage_errors(LOAD):
        check_launch(on, module)
    given = _read(module)
    with usage_errors(LOAD, OSError, *failures()):
        found = build(given, LaunchTarget(on, device, pipeline, tiles, threads))
        made = found.executable_in_process if on == "cpu" else found.executable
    return replace(made, caller=RUN)


def _read(module: str | Path | ModuleOp) -> Source | ModuleOp:
    if isinstance(module, ModuleOp):
        return module
    if isinstance(module, str) and ("\n" in module or "{" in module):
        return Source(module, "<input>")
    return read_source(str(module))


def check_launch(
    on: str,
    module: object,
    kernel: object = None,
    spec: object = None,
    seconds: object = LAUNCH_SECONDS,
) -> None:
    """Refuse arguments of `launch` of types that it does not take.

    Raises:
        ValueError: there is one.
    """
    if not isinstance(module, str | PathLike | ModuleOp):
        raise ValueError(
            "expected a module: text, the path of a file or IR, got "
            f"{type(module).__name__}"
        )
    check_texts(on=on)
    check_run_options(kernel, spec, seconds)
    if spec and on in PLACES:
        check_options(on, ["spec"])
