"""Random legal programs on every engine: compiled, or refused by name, and right.

COOPC_RANDOM_PROGRAMS=2000 runs so many; COOPC_RANDOM_FIRST says from which seed on.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.native import best_or_emulated, run_native
from support.random_statements import ANY, BLOCKS, TILES, random_statements
from xdsl.utils.exceptions import PassFailedException

import coopc
from coopc.compiler import new_context
from coopc.diagnostic import CompileError, Kind
from coopc.generate.random_programs import RandomProgram, random_program
from coopc.interface_call import Call, pack
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run import opencl, toolchain, vulkan
from coopc.run.arrays import Outcome
from coopc.run.execute import on_opencl, on_vulkan
from coopc.run.tiles import Tiles
from coopc.sim.simulate import SIMULATED_SUBGROUP_SIZE, simulate
from coopc.source import Source
from coopc.universe import everything

Array = np.ndarray[Any, Any]
COUNT = int(os.environ.get("COOPC_RANDOM_PROGRAMS", "100"))
FIRST = int(os.environ.get("COOPC_RANDOM_FIRST", "0"))
MENDED = (197, 404, 448, 611, 1411)
"""Seeds beyond the first ones that a pass once left as invalid IR."""
UNIVERSE = everything()
SECONDS = 120.0
"""For a driver's compiler on a machine that is busy."""


class Refused(Exception):
    """A program is not compiled, for a reason that names what of it."""


def compiled(program: RandomProgram, pipeline: str) -> coopc.Artifact:
    """Compile a program.

    Raises:
        Refused: it is refused by name.
    """
    try:
        return coopc.compile(program.text, pipeline)
    except CompileError as error:
        refused(error, program, pipeline)
        raise Refused from error


def refused(error: CompileError, program: RandomProgram, pipeline: str) -> None:
    """Check that an error is a refusal of something by name, not a mistake of ours."""
    found = error.diagnostic
    named = any(
        word in str(error)
        for word in ("coopmatrix.", "simt.", "scf.", "func.", "arith.")
    )
    what = f"{pipeline}: {error}\n{program.text}"
    assert found.kind in (Kind.PASS, Kind.EMIT), what
    assert named, what
    assert "mistake in coopc" not in str(error), what


def same(
    program: RandomProgram, lanes: int | None, found: list[Array], engine: str
) -> None:
    """Compare with the simulator."""
    wrong = program.difference(found, lanes)
    assert wrong is None, f"{engine}: {wrong}\n{program.text}"


def on_driver(
    program: RandomProgram,
    pipeline: str,
    env: str,
    run: Callable[[bytes, Call], Outcome] | None = None,
) -> None:
    """Simulate what is compiled, run it on a driver, if it is at hand, and compare."""
    artifact = compiled(program, pipeline)
    assert toolchain.validate_spirv(artifact.bytes, env) is None, program.text
    (interface,) = artifact.interface
    try:
        call = pack(interface, program.copies(), program.grid)
    except ValueError as error:
        if not interface.conditions:
            raise
        raise Refused(str(error)) from error  # its interface says so
    lanes, found = interface.subgroup_size, program.copies()
    text = coopc.compile(program.text, pipeline, "mlir").text
    lowered = parse(new_context(UNIVERSE), Source(text, "lowered"))
    size = lanes or SIMULATED_SUBGROUP_SIZE
    simulate(lowered, "k", found, grid=program.grid, subgroup_size=size)
    same(program, lanes, found, f"{pipeline}, simulated")
    if run is not None:
        same(program, lanes, [*run(artifact.bytes, call).arrays], pipeline)


def on_processor(program: RandomProgram, pipeline: str, tiles: Tiles) -> None:
    """Run a program on this processor and compare."""
    ctx, source = new_context(UNIVERSE), Source(program.text, "program")
    module = parse(ctx, source)
    after = module.clone()
    try:
        Run(ctx, source).apply(after, read_passes(pipeline, UNIVERSE.all_passes))
        found = run_native(module, after, program.copies(), tiles, groups=program.grid)
    except CompileError as error:
        refused(error, program, pipeline)
        raise Refused from error
    except PassFailedException as error:
        if "coopmatrix." not in str(error):
            raise
        raise Refused from error
    same(program, None, found, pipeline)


ENGINES = (
    "coopc-lanes{device=intel-cpu subgroup-size=16}",
    "coopc-lanes{device=intel-cpu subgroup-size=8}",
    "coopc-lanes{device=lavapipe}",
    "coopc-khr{device=lavapipe}",
    "coopc-khr{device=nvidia}",
    "coopc-khr{device=bmg}",
    "coopc-xe{device=bmg emulate=true any=false}",
    "coopc-amx",
    "coopc-cpu",
)


def on_engine(
    program: RandomProgram,
    pipeline: str,
    intel_cpu: opencl.Session,
    lavapipe: vulkan.Session,
) -> None:
    """Compile a program for an engine; run it there, if it is at hand, and compare."""
    if pipeline == "coopc-amx":
        on_processor(program, pipeline, best_or_emulated())
    elif pipeline == "coopc-cpu":
        on_processor(program, pipeline, Tiles.NONE)
    elif "nvidia" in pipeline:
        on_driver(program, pipeline, "vulkan1.3")
    elif "khr{device=bmg" in pipeline:
        on_driver(program, pipeline, "spv1.4")
    elif "lavapipe" in pipeline:
        run = partial(on_vulkan, session=lavapipe)
        on_driver(program, pipeline, "vulkan1.3", run)
    else:
        on_driver(program, pipeline, "spv1.4", partial(on_opencl, session=intel_cpu))


@pytest.mark.parametrize("seed", [*range(FIRST, FIRST + COUNT), *MENDED])
def test_random_program(
    seed: int, intel_cpu: opencl.Session, lavapipe: vulkan.Session
) -> None:
    """One engine for each seed, in turn."""
    program, pipeline = random_program(seed), ENGINES[seed % len(ENGINES)]
    with suppress(Refused):
        on_engine(program, pipeline, intel_cpu, lavapipe)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT // 2))
def test_random_statements(
    seed: int, intel_cpu: opencl.Session, lavapipe: vulkan.Session
) -> None:
    """The same of several statements, which most engines refuse a part of."""
    pipeline = ENGINES[seed % len(ENGINES)]
    kinds = {"coopc-amx": TILES, "coopc-xe": BLOCKS}
    program = random_statements(seed, kinds.get(pipeline.partition("{")[0], ANY))
    with suppress(Refused):
        on_engine(program, pipeline, intel_cpu, lavapipe)
