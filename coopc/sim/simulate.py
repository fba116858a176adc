"""Runs a kernel or a function on numpy arrays.

run = simulate(module, "gemm", [a, b, c])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coopc.rounding import PrecisionName
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import run_region
from coopc.sim.launch import (
    Argument,
    all_errors,
    bind,
    launch_of,
    released,
    write_back,
)
from coopc.sim.machine import Machine, Watch
from coopc.sim.matrices import MatrixTypes, Provider, constants_of, provider_of
from coopc.sim.memory import MemRef
from coopc.sim.numerics import Numerics
from coopc.sim.tracked import Inputs, Tracked
from coopc.sim.undefined import Shadows, written_arguments
from coopc.sim.values import Array

DIALECTS: Mapping[str, str] = {
    "affine": "arith",
    "amx": "amx",
    "arith": "arith",
    "avx512": "amx",
    "bufferization": "tensor",
    "cf": "scf",
    "coopmatrix": "coopmatrix",
    "func": "scf",
    "linalg": "linalg",
    "llvm": "tt",
    "math": "arith",
    "memref": "memref",
    "row_slice": "row_slice",
    "scf": "scf",
    "simt": "simt",
    "tensor": "tensor",
    "tt": "tt",
    "ttg": "tt",
    "ttig": "tt",
    "ub": "arith",
    "vector": "vector",
    "xe": "xe",
}
"""By dialect, the module of functions; imported when a module has its operations."""


def import_functions(dialect: str) -> None:
    if (name := DIALECTS.get(dialect)) is not None:
        import_module(f"coopc.sim.{name}")


CHUNK_VALUES = 1 << 20
"""How many numbers one value may be, about: so many work-groups run together."""
SIMULATED_SUBGROUP_SIZE = 16
"""Lanes, where neither the kernel nor the caller says."""


WAITING = ("tt.atomic_cas", "tt.atomic_poll", "simt.compare_exchange")
"""By what work-groups wait for each other: such run one after the other."""


@dataclass(frozen=True)
class SimulatedRun:
    """What a simulation did."""

    errors: tuple[Array | None, ...]
    """For each argument, bounds of the errors of its elements, if they are tracked; in
    place of addresses those of the arrays."""
    results: tuple[Array, ...]
    """Of a function that is no kernel: arrays as in memory."""
    result_errors: tuple[Array | None, ...]
    """Bounds of their errors, if they are tracked."""
    lost_errors: bool
    """Whether bounds got lost on the way, as floats went on as bits."""


@dataclass(frozen=True)
class Options:
    """How to simulate."""

    grid: tuple[int, ...] | None = None
    """Work-groups along x, y, z; what `simt.grid` says if it is None."""
    subgroup_size: int = SIMULATED_SUBGROUP_SIZE
    """Lanes, where the kernel does not say."""
    distribution: Provider | None = None
    """Who owns which element; what the kernel says if it is None."""
    constants: Mapping[str, int] = field(default_factory=dict[str, int])
    """Values of specialization constants, by name."""
    track: Inputs | None = None
    """Whether errors are tracked, and for which kind of input."""
    precision: PrecisionName = "ieee"
    """As what errors take products of f32 to be multiplied."""
    races: bool = True
    """Whether races are found; otherwise the last one to write wins."""
    chunk: int | None = None
    """Work-groups that run together, at least 1; chosen by their size if None."""
    ran: set[Operation] | None = None
    """Gets each operation that runs, if it is given."""
    most_operations: int | None = None
    """How many may run before the simulation is given up."""


def simulate(
    module: ModuleOp,
    name: str,
    arguments: Sequence[Argument],
    options: Options | None = None,
    **settings: Any,
) -> SimulatedRun:
    """Run a kernel for all work-groups of a grid, or a function for one work-item.

    The arrays of arguments are changed in place.  A memref of bf16 or f8 is an array of
    bits, see `coopc.sim.numerics.encoded`; of i4 or f4E2M1FN an array of bytes, two in
    each, see `coopc.dialects.narrow.in_bytes`; of f16, f32, f64 and integers what one
    would expect, signed or unsigned.  Strides are the array's.

    Args:
        module: the program, verified.
        name: of the kernel or function.
        arguments: arrays for memrefs and tensors, and numbers.
        options: how to simulate.
        settings: fields of `Options`, instead of it.

    Raises:
        SimulationError: the program does what is undefined, or what is not known here,
            or runs too many operations.
        ValueError: the call does not fit the kernel.
    """
    options = options or Options(**settings)
    func = _function(module, name)
    launch = launch_of(func, arguments, options.grid, options.subgroup_size)
    numerics = Numerics()
    if options.track is not None:
        numerics = Tracked(options.track, options.precision)
    matrices = MatrixTypes(
        options.distribution or provider_of(func),
        launch.subgroup_size,
        launch.subgroups * launch.subgroup_size,
        constants_of(module, options.constants),
    )
    waited = np.zeros(launch.work_groups, np.bool_)
    shadows = Shadows(waited, options.races, options.track is not None)
    several = launch.work_groups * prod(launch.work_group_size) > 1
    dialects = {op.dialect_name() for op in module.walk()}
    if "linalg" in dialects:  # its named operations are run as generic ones
        dialects |= {"arith", "math", "tensor"}
    for dialect in sorted(dialects):
        import_functions(dialect)
    may_race = written_arguments(func) if several and options.races else ()
    bound, space = bind(func, arguments, numerics, shadows, may_race)
    watch = Watch(options.ran, options.most_operations)
    globals: dict[str, MemRef] = {}
    results: tuple[Any, ...] = ()
    with np.errstate(all="ignore"):
        work_items = launch.subgroups * max(launch.subgroup_size, 256)
        chunk = options.chunk or max(1, CHUNK_VALUES // work_items)
        if any(op.name in WAITING for op in module.walk()):
            chunk = 1
        for start in range(0, launch.work_groups, chunk):
            groups = range(start, min(start + chunk, launch.work_groups))
            machine = Machine(
                *(module, launch, numerics, matrices, groups, shadows, globals),
                *(watch, space),
            )
            results = run_region(machine, func.body, *bound)
            if any(arrived.any() for arrived in machine.arrived.values()):
                raise UndefinedBehaviour(
                    f"@{name} ends between simt.barrier_arrive and simt.barrier_wait"
                )
        for pair in zip(bound, arguments, strict=True):
            write_back(*pair)
        errors = tuple(all_errors(bound, arguments, space, numerics))
    pairs = [
        released(value, type, numerics)
        for value, type in zip(results, func.function_type.outputs, strict=True)
    ]
    return SimulatedRun(
        errors,
        tuple(value for value, _ in pairs),
        tuple(error for _, error in pairs),
        isinstance(numerics, Tracked) and numerics.lost,
    )


def _function(module: ModuleOp, name: str) -> FuncOp:
    """Return the function of that name.

    Raises:
        ValueError: there is none with a body.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    if name not in functions or not functions[name].body.blocks:
        raise ValueError(
            f"expected a function with a body, one of {sorted(functions)}, got {name}"
        )
    return functions[name]
