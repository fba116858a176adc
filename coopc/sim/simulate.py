"""Runs a kernel or a function on numpy arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ModuleOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter, OpCounter, PythonValues
from xdsl.ir import Operation

from coopc.sim.errors import TooLong, UndefinedBehaviour
from coopc.sim.interpreter import Simulator, SimulatorFunctions
from coopc.sim.launch import Argument, Launch, bind, chunks, launch_of, released
from coopc.sim.machine import Machine
from coopc.sim.matrices import Matrices, Provider, constants_of, provider_of
from coopc.sim.memory import MemRef
from coopc.sim.numerics import Numerics
from coopc.sim.tracked import Inputs, Tracked
from coopc.sim.undefined import Shadows, written_arguments
from coopc.sim.values import Array

FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "affine": ("coopc.sim.affine:AffineFunctions",),
    "amx": ("coopc.sim.amx:AmxFunctions",),
    "arith": ("coopc.sim.arith:ArithFunctions",),
    "coopmatrix": (
        "coopc.sim.coopmatrix:CoopmatrixElementFunctions",
        "coopc.sim.coopmatrix:CoopmatrixElementwiseFunctions",
        "coopc.sim.coopmatrix:CoopmatrixMemoryFunctions",
        "coopc.sim.coopmatrix:CoopmatrixMultiplyFunctions",
        "coopc.sim.coopmatrix:CoopmatrixWholeFunctions",
    ),
    "func": ("coopc.sim.scf:FuncFunctions",),
    "linalg": ("coopc.sim.linalg:LinalgFunctions",),
    "llvm": ("coopc.sim.arith:LlvmFunctions",),
    "math": ("coopc.sim.math:MathFunctions",),
    "memref": (
        "coopc.sim.memref:MemrefFunctions",
        "coopc.sim.memref:MemrefViewFunctions",
    ),
    "row_slice": ("coopc.sim.row_slice:RowSliceFunctions",),
    "scf": ("coopc.sim.scf:ScfFunctions",),
    "simt": ("coopc.sim.simt:SimtFunctions",),
    "tt": (
        "coopc.sim.tt:TtFunctions",
        "coopc.sim.tt:TtMathFunctions",
        "coopc.sim.tt:TtMemoryFunctions",
    ),
    "ttg": ("coopc.sim.ttg:TtgFunctions",),
    "ttig": (
        "coopc.sim.ttg:TtigFunctions",
        "coopc.sim.tt:TtigMemoryFunctions",
    ),
    "ub": ("coopc.sim.arith:UbFunctions",),
    "vector": (
        "coopc.sim.vector:VectorFunctions",
        "coopc.sim.vector:VectorMemoryFunctions",
    ),
    "xe": (
        "coopc.sim.xe:XeFunctions",
        "coopc.sim.xe:XeChannelFunctions",
        "coopc.sim.xe:XeMultiplyFunctions",
    ),
}
"""By dialect, the classes of functions; imported when a module has its operations."""


def new_simulator(module: ModuleOp, machine: Machine) -> Simulator:
    """Return an interpreter that knows the dialects of a module."""
    simulator = Simulator(module, machine=machine)
    for dialect in sorted({op.dialect_name() for op in module.walk()}):
        for functions in functions_of(dialect):
            simulator.register_implementations(functions(machine))
    return simulator


def functions_of(dialect: str) -> Iterator[type[SimulatorFunctions]]:
    """Import the functions of a dialect; one without any has none."""
    for path in FUNCTIONS.get(dialect, ()):
        module, _, name = path.partition(":")
        found = getattr(import_module(module), name)
        assert issubclass(found, SimulatorFunctions), path
        yield found


# Run a kernel, or a function, on numpy arrays.
#
#     run = simulate(module, "gemm", [a, b, c])
#
# The arrays of arguments are changed in place.  A memref of bf16 is an array of uint16,
# see `coopc.sim.numerics.to_bf16`; of i4 an array of int8; of f16, f32, f64 and
# integers
# what one would expect, signed or unsigned.  Strides are those of the array.

DEFAULT_SUBGROUP_SIZE = 16
"""Lanes, where neither the kernel nor the caller says."""


@dataclass(frozen=True)
class Run:
    """What a simulation did."""

    counts: Counter[str]
    """How often each operation ran, each time for a chunk of work-groups."""
    launch: Launch
    errors: tuple[Array | None, ...] = ()
    """For each argument, bounds of the errors of its elements, if they are tracked."""
    results: tuple[Array | None, ...] = ()
    """Of a function that is no kernel: arrays as in memory, None for memrefs."""
    result_errors: tuple[Array | None, ...] = ()
    """Bounds of their errors, if they are tracked."""
    lost_errors: bool = False
    """Whether bounds got lost on the way, as floats went on as bits."""


@dataclass(frozen=True)
class Options:
    """How to simulate."""

    grid: tuple[int, ...] | None = None
    """Work-groups along x, y, z; what `simt.grid` says if it is None."""
    subgroup_size: int = DEFAULT_SUBGROUP_SIZE
    """Lanes, where the kernel does not say."""
    distribution: Provider | None = None
    """Who owns which element; what the kernel says if it is None."""
    constants: Mapping[str, int] = field(default_factory=dict[str, int])
    """Values of specialisation constants, by name."""
    track: Inputs | None = None
    """Whether errors are tracked, and for which kind of input."""
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
) -> Run:
    """Run a kernel for all work-groups of a grid, or a function for one work-item.

    Args:
        module: the program, verified.
        name: of the kernel or function.
        arguments: arrays for memrefs, changed in place, and numbers.
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
    numerics = Numerics() if options.track is None else Tracked(options.track)
    matrices = _matrices(module, func, launch, options)
    waited = np.zeros(launch.work_groups, np.bool_)
    shadows = Shadows(waited, options.races, options.track is not None)
    several = launch.work_groups * prod(launch.work_group_size) > 1
    may_race = written_arguments(func) if several and options.races else ()
    bound = bind(func, arguments, numerics, shadows, may_race)
    values = tuple(each.value for each in bound)
    counter = OpCounter()
    listeners: list[Interpreter.Listener] = [counter]
    if options.ran is not None or options.most_operations is not None:
        listeners.append(_Ran(options.ran, options.most_operations))
    results: tuple[Any, ...] = ()
    globals: dict[str, MemRef] = {}
    for groups in chunks(launch, options.chunk):
        machine = Machine.start(module, launch, numerics, matrices, groups, shadows)
        machine.globals = globals
        results = _run(module, func, machine, values, listeners)
    with np.errstate(all="ignore"):
        errors = tuple(each.errors(numerics) for each in bound)
    types = func.function_type.outputs
    pairs = [
        released(value, type, numerics)
        for value, type in zip(results, types, strict=True)
    ]
    return Run(
        counter.ops,
        launch,
        errors,
        tuple(value for value, _ in pairs),
        tuple(error for _, error in pairs),
        isinstance(numerics, Tracked) and numerics.lost,
    )


@dataclass
class _Ran(Interpreter.Listener):
    """Notes which operations run, and ends a simulation of too many."""

    found: set[Operation] | None
    left: int | None

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        """Note one."""
        if self.found is not None:
            self.found.add(op)
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise TooLong("more operations run than are allowed")


def _matrices(
    module: ModuleOp, func: FuncOp, launch: Launch, options: Options
) -> Matrices:
    """Return who owns which elements of matrices."""
    return Matrices(
        options.distribution or provider_of(func),
        launch.subgroup_size,
        launch.subgroups * launch.subgroup_size,
        constants_of(module, options.constants),
    )


def _run(
    module: ModuleOp,
    func: FuncOp,
    machine: Machine,
    values: tuple[Any, ...],
    listeners: Sequence[Interpreter.Listener],
) -> tuple[Any, ...]:
    """Run a function for the work-groups of a machine, and return its results.

    Raises:
        SimulationError: as `simulate` does.
    """
    simulator = new_simulator(module, machine)
    simulator.listeners = tuple(listeners)
    with np.errstate(all="ignore"):
        results = simulator.run_ssacfg_region(func.body, values)
    if any(arrived.any() for arrived in machine.arrived.values()):
        raise UndefinedBehaviour(
            f"@{func.sym_name.data} ends between simt.barrier_arrive and "
            "simt.barrier_wait"
        )
    return results


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
