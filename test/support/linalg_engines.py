"""Programs of linalg on the engines: what ran, and whether it is right.

    cell("linear_relu", None, "khr")      Cell("matrix engine", 1)

`ENGINES` says how each is started.  An engine that cannot take a program refuses it,
and the reason is the cell.

    cd test; python -m support.linalg_engines > ../docs/linalg.md

writes what the pipelines make of each program; with names of programs, their rows.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
from support.linalg_programs import (
    arguments,
    entry,
    module_of,
    names,
    text_of,
)

from coopc.compiler import compile, new_context
from coopc.diagnostic import CompileError
from coopc.launcher import Build, LaunchTarget, build
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.pipelines import from_linalg
from coopc.remarks import remarks_to
from coopc.run.arrays import Array
from coopc.run.executable import failures
from coopc.sim.simulate import simulate
from coopc.sim.tracked import Inputs
from coopc.source import Source
from coopc.universe import everything
from coopc.validate.compare import compare

ENGINES: dict[str, LaunchTarget] = {
    "khr": LaunchTarget("vulkan"),
    "lanes": LaunchTarget("opencl", pipeline="coopc-lanes{device=intel-cpu}"),
    "xe": LaunchTarget(
        "opencl", pipeline="coopc-xe{device=bmg emulate=true fallback=true}"
    ),
    "amx": LaunchTarget("cpu", tiles="emulated"),
    "cpu": LaunchTarget("cpu", tiles="none"),
}
MARKS = {
    "khr": ("coopmatrix.mul_add", "lanes"),
    "nvidia": ("coopmatrix.mul_add", "lanes"),
    "lanes": ("coopmatrix.mul_add", "lanes"),
    "xe": ("xe.dpas", "lanes"),
    "amx": ("amx.", "vectors"),
    "cpu": ("amx.", "vectors"),
}
"""An operation of the matrix engine, and what does without it."""
SECONDS = 120
PIPELINES = {
    "khr": "coopc-khr{device=nvidia}",
    "lanes": "coopc-lanes{device=intel-cpu}",
    "xe": "coopc-xe{device=bmg}",
    "amx": "coopc-amx",
    "cpu": "coopc-cpu",
}
"""The columns of the table in the documentation."""
HEAD = """\
# linalg programs on each engine

How each pipeline compiles the programs in `test/inputs/linalg`: the unit that computes
matrix products (or everything, if there are none), or why the program is refused.
Floats are f32, or the type that follows the name; *kernels* is their number, except
that `cpu` and `amx` compute attention of static sizes in three.
`khr` is compiled for nvidia, `xe` for bmg.  `coopc.launch` with `on="cpu"` uses `cpu`
if `amx` has no tiles for the products.  Regenerate with
`python -m support.linalg_engines` in `test`; `test/unit/passes/linalg/test_engines.py`
checks this page.

| program | kernels | khr | lanes | xe | amx | cpu |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Cell:
    """What became of a program."""

    ran: str
    """matrix engine, lanes, vectors, refused, failed or wrong."""
    launches: int = 0
    reason: str = ""
    """Why it was refused, what is wrong, or how the driver failed."""
    instructions: int = 0
    """Of all kernels, as a driver gets them: of SPIR-V, or lines of LLVM IR."""


def cell(name: str, half: str | None, engine: str, seconds: float = SECONDS) -> Cell:
    """Run a program, and compare it with the simulator, which runs it as given.

    Integers are equal; floats differ by no more than the errors of both sides.
    """
    text = text_of(name, half)
    with remarks_to(lambda _: None):
        try:
            built = build(Source(text, f"{name}.mlir"), ENGINES[engine])
            count = instructions(built)
            found = _run(name, text, built, engine, seconds)
            return replace(found, instructions=count)
        except CompileError as error:
            return Cell("refused", reason=error.diagnostic.message)


def instructions(built: Build) -> int:
    """Return how many instructions of all kernels of a module its driver gets."""
    if not built.binary:
        return built.llvm_ir[0].count("\n")
    kernels = (x.name for x in built.interface if not x.steps)
    count = 0
    for binary in {built.binary_of(kernel) for kernel in kernels}:
        words, at = np.frombuffer(binary, np.uint32), 5
        while at < len(words):
            at += int(words[at]) >> 16
            count += 1
    return count


def _run(name: str, text: str, built: Build, engine: str, seconds: float) -> Cell:
    module = module_of(text)
    func = entry(module)
    given = arguments(name, func)
    interface = built.executable.kernel()
    try:
        outcome = built.executable.run(*arguments(name, func), seconds=seconds)
    except failures() as error:
        return Cell("failed", reason=str(error))
    cell = Cell(_what(text, built, engine), max(1, len(interface.steps)))
    after = list(outcome.arrays)
    run = simulate(module, func.sym_name.data, given, track=Inputs.EXACT)
    memories: list[Array] = [x for x in given if isinstance(x, np.ndarray)]
    pairs = zip(given, run.errors, strict=True)
    errors = [error for x, error in pairs if isinstance(x, np.ndarray)]
    wanted = [*memories, *run.results]
    bounds = [*errors, *run.result_errors]
    for found, reference, bound, buffer in zip(
        after, wanted, bounds, interface.buffers, strict=True
    ):
        limit = None if bound is None else 2 * bound
        difference = compare(found, reference, bound=limit, element=buffer.element)
        if not difference.ok:
            return replace(cell, ran="wrong", reason=f"{buffer.name}: {difference}")
    return cell


def _what(text: str, built: Build, engine: str) -> str:
    """Return whether products are done by a matrix engine."""
    lowered, (mark, other) = built.lowered, MARKS[engine]
    if engine == "xe":
        lowered = compile(text, "coopc-xe{device=bmg}", "mlir").text
    return "matrix engine" if mark in lowered else other


def made(text: str, engine: str) -> str:
    """Return which unit does the products of a program, or why none does."""
    ctx = new_context(everything())
    mark, other = MARKS[engine]
    with remarks_to(lambda _: None):
        try:
            source = Source(text, "<linalg>")
            module = parse(ctx, source)
            Run(ctx, source).apply(
                module, read_passes(PIPELINES[engine], everything().all_passes)
            )
        except CompileError as error:
            return f"refused: {error.diagnostic.message.splitlines()[0]}"
    used = any(op.name.startswith(mark) for op in module.walk())
    return UNITS[engine] if used else other


def kernels(text: str) -> int:
    """Return how many kernels a program is, the same for every engine."""
    ctx, source = new_context(everything()), Source(text, "<linalg>")
    module = parse(ctx, source)
    Run(ctx, source).apply(module, from_linalg())
    launches = [op for op in module.walk() if op.name == "simt.launch"]
    return len(launches) or 1


UNITS = {"khr": "KHR matrices", "lanes": "lanes", "xe": "DPAS", "amx": "AMX tiles"}
UNITS["cpu"] = "vectors"


def row(name: str, half: str | None) -> str:
    """Return the line of a program in the table."""
    cells = (made(text_of(name, half), engine) for engine in PIPELINES)
    title = name if half is None else f"{name} {half}"
    count = kernels(text_of(name, half))
    return f"| {title} | {count} | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    words = sys.argv[1:]
    if not words:
        print(HEAD, end="")
    for name, half in names():
        if not words or (name if half is None else f"{name}-{half}") in words:
            print(row(name, half), end="", flush=True)
