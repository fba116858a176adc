"""The Python entry: `coopc.compile(text, "coopc-khr{device=lavapipe}", "spirv")`.

coopc's tools are made of the same parts: `parse`, `Run.apply` and `emit`.
"""

from __future__ import annotations

import builtins
import gc
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from io import StringIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

from coopc.diagnostic import CompileError, Kind
from coopc.explain import explaining, wrong_call
from coopc.options import make, read_specs, wrong
from coopc.parsing import parse
from coopc.pipeline import Observer, Run, read_passes
from coopc.remarks import Sink, print_remark, remark_line, remarks_to
from coopc.source import Source, read_source
from coopc.universe import everything

if TYPE_CHECKING:
    from coopc.interface import Interface
    from coopc.run.arrays import Outcome
    from coopc.run.executable import Grid

SPIRV = b"\x03\x02\x23\x07"
"""How a binary module of SPIR-V begins."""

PLANNING = "plan-block-io"
"""The pass whose decisions are attributes until a conversion has followed them."""


@dataclass(frozen=True)
class Artifact:
    """What a compilation gives."""

    bytes: builtins.bytes = field(repr=False)
    """The output of the target."""
    interface: tuple[Interface, ...] = ()
    """How the kernels in it are called: what `-t abi-json` prints, read.

    Empty for targets that are not coopc's.
    """
    plans: tuple[str, ...] = ()
    """The plans that the passes followed, as attributes are printed."""
    remarks: tuple[str, ...] = ()
    """What passes said without failing: first what follows from plans."""
    planned: int = 0
    """How many of the remarks follow from plans."""
    device: tuple[str, str] | None = None
    """Flavour and device of SPIR-V that a driver runs; None where nothing runs it."""

    def run(self, *arguments: object, grid: Grid | None = None, **how: Any) -> Outcome:
        """Run the kernel, or that of the name `kernel=`: see `coopc.launch`.

        Raises:
            CompileError: The arguments are wrong, or the kernel cannot be run.
        """
        if self.device is None:
            message = (
                "expected what spirv-binary gave, which a driver runs: coopc.load "
                "compiles for CPUs, too"
            )
            raise wrong_call("Artifact.run", message)
        from coopc.run.execute import executable_on_driver

        executable = executable_on_driver(
            self.interface, *self.device, lambda _: self.bytes
        )
        executable = replace(executable, caller="Artifact.run")
        return executable.run(*arguments, grid=grid, **how)

    @property
    def text(self) -> str:
        """The output of a target that gives text.

        Raises:
            CompileError: It is another one.
        """
        try:
            return self.bytes.decode("utf-8")
        except UnicodeDecodeError as error:
            message = "expected the output of a target of text, got that of a binary"
            raise wrong_call("Artifact.text", message) from error


@dataclass
class Decisions(Observer):
    """Collects plans and remarks for `compile`, while passes run."""

    plans: list[str] = field(default_factory=list[str])
    """As attributes are printed."""
    remarks: list[str] = field(default_factory=list[str])

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        if step.name != PLANNING:
            return
        # Too much to import for what does not plan.
        from coopc.dialects import xe_plans
        from coopc.passes.triton.access_attributes import FOR_ANY

        for op in module.walk():
            plan = op.attributes.get(xe_plans.PLAN)
            refusal = op.attributes.get(xe_plans.REFUSAL)
            if plan is not None:
                self.plans.append(str(plan))
            if isinstance(refusal, StringAttr) and refusal.data != str(FOR_ANY):
                text = f"moved lane by lane: {refusal.data}"
                self.remarks.append(remark_line(op, text))


def new_context(universe: Universe) -> Context:
    """A context with all dialects of `universe`, imported when they are used."""
    ctx = Context()
    for name, factory in universe.all_dialects.items():
        ctx.register_dialect(name, factory)
    return ctx


def read_target(text: str, known: Mapping[str, Callable[[], type[Target]]]) -> Target:
    """The target that `text` names, with its options.

    Raises:
        CompileError: `text` does not name one of the `known` targets.
    """
    source = Source(text, "target")
    specs = read_specs(source)
    if len(specs) != 1:
        raise wrong(source, f"expected one target, got {len(specs)}", 0)
    offset, spec = specs[0]
    return make(source, spec, known, "target", offset)


def emit(ctx: Context, module: ModuleOp, target: Target, source: Source) -> bytes:
    """What `target` writes for `module`, which came from `source`.

    Raises:
        CompileError: The target cannot say what the module says.
    """
    with explaining(Kind.EMIT, source, f"target '{target}'", target):
        if (emit_bytes := getattr(target, "emit_bytes", None)) is not None:
            return emit_bytes(ctx, module)
        output = StringIO()
        target.emit(ctx, module, output)
        return output.getvalue().encode("utf-8")


def compile(
    text_or_module: str | Path | ModuleOp,
    pipeline: str = "",
    target: str = "spirv-binary",
    *,
    name: str = "<input>",
    observers: Sequence[Observer] = (),
    on_remark: Sink | None = None,
) -> Artifact:
    """Compile IR; the module given is not changed.

    Args:
        text_or_module: The IR, or a file of it.
        pipeline: Passes with their options, as for `coopc-opt -p`.
        target: A target with its options, as for `coopc-opt -t`.
        name: What diagnostics call a text.
        observers: What looks at the module after each pass.
        on_remark: Also receives each remark of a pass, when the pass emits it.
            Without it those of a compilation that fails are printed.

    Raises:
        CompileError: Anything about the text, the pipeline or the target is wrong.
    """
    given: list[tuple[str, object, tuple[type, ...]]] = [
        ("text, a Path or a module", text_or_module, (str, Path, ModuleOp)),
        ("a pipeline as text", pipeline, (str,)),
        ("a target as text", target, (str,)),
    ]
    for what, found, types in given:
        if not isinstance(found, types):
            kind = type(found).__name__
            raise wrong_call("coopc.compile", f"expected {what}, got {kind}")
    if isinstance(text_or_module, Path):
        source = read_source(str(text_or_module))
        text_or_module, name = source.text, source.name
    if isinstance(text_or_module, str) and not observers and caching():
        return _cached(text_or_module, pipeline, target, name, on_remark)
    return _compiled(text_or_module, pipeline, target, name, observers, on_remark)


def caching() -> bool:
    """Return whether there is a folder of compiled artifacts: see `coopc.cache`."""
    return bool(os.environ.get("COOPC_CACHE"))


def _cached(
    text: str, pipeline: str, target: str, name: str, on_remark: Sink | None
) -> Artifact:
    """Compile, or take what is stored."""
    from coopc.cache import entry_path, find, store
    from coopc.device import noting_asked

    path = entry_path(text, pipeline, target, name)
    if (found := find(path)) is None:
        with noting_asked() as asked:
            made = _compiled(text, pipeline, target, name, (), on_remark)
        store(path, {x.name: getattr(made, x.name) for x in fields(made)}, asked)
        return made
    artifact = Artifact(**found)
    if on_remark is not None:
        for line in artifact.remarks[artifact.planned :]:
            on_remark(line)
    return artifact


_thresholds: list[tuple[int, int, int]] = []
"""Those of the collector when each compilation began that has not ended."""
_collecting = Lock()


@contextmanager
def collecting_rarely() -> Generator[None]:
    """Collect garbage as rarely as coopc's tools do.

    The collector is the process's: the last of several threads to end restores it.
    """
    with _collecting:
        _thresholds.append(gc.get_threshold())
        gc.set_threshold(100_000, 20, 20)
    try:
        yield
    finally:
        with _collecting:
            before = _thresholds.pop()  # the first one's, where it is the last
            if not _thresholds:
                gc.set_threshold(*before)


@collecting_rarely()
def _compiled(
    text_or_module: str | ModuleOp,
    pipeline: str,
    target: str,
    name: str,
    observers: Sequence[Observer],
    on_remark: Sink | None,
) -> Artifact:
    universe = everything()
    ctx = new_context(universe)
    steps = read_passes(pipeline, universe.all_passes)
    writer = read_target(target, universe.all_targets)
    is_text = isinstance(text_or_module, str)
    source = Source(text_or_module if is_text else "", name)
    module = parse(ctx, source) if is_text else text_or_module.clone()
    decided = Decisions()
    heard: list[str] = []

    def hear(line: str) -> None:
        heard.append(line)
        if on_remark is not None:
            on_remark(line)

    try:
        with remarks_to(hear):
            Run(ctx, source, observers=(decided, *observers)).apply(module, steps)
    except CompileError:
        for line in heard if on_remark is None else ():
            print_remark(line)  # there is no artifact that could hold it
        raise
    plans, remarks = tuple(decided.plans), (*decided.remarks, *heard)
    said = plans, remarks, len(decided.remarks)
    content = emit(ctx, module, writer, source)
    from coopc.emit.targets import DeviceTarget

    if not isinstance(writer, DeviceTarget):
        # Functions of LLVM IR are called as their types say.
        return Artifact(content, (), *said)
    from coopc.emit.interface import kernels_of
    from coopc.emit.sequence import interfaces_of

    with explaining(Kind.EMIT, source, f"target '{writer}'", writer):
        facts = writer.facts(module)
        interface = tuple(interfaces_of(kernels_of(module), module, facts))
    runs = content.startswith(SPIRV)
    device = (facts.flavour, facts.device.name) if runs else None
    return Artifact(content, interface, *said, device)
