"""Runs operations one after the other, each by the function of its class.

    @implements(simt.ShuffleOp)
    def shuffle(
        machine: Machine, op: simt.ShuffleOp, value: Array, offset: Array
    ) -> Array: ...

A function takes the machine, the operation and the values of its operands.  It returns
the value of its result; None if there is no result, a tuple if there are several.

Kernels do not call themselves: a value has one meaning at a time, and a dictionary is
enough of an environment.  It is several times faster than the scopes of xDSL's
interpreter, whose functions compute one number at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.ir import Operation, Region

from coopc.sim.errors import SimulationError
from coopc.sim.machine import Machine

Implementation: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Implementation)

MAX_DEPTH = 200
"""Regions within each other, through calls too: more is taken to be recursion."""

IMPLEMENTATIONS: dict[type[Operation], Implementation] = {}
"""By class of operations, for the dialects that were imported."""


def implements(*op_types: type[Operation]) -> Callable[[F], F]:
    """Register a function for classes of operations."""

    def register(function: F) -> F:
        IMPLEMENTATIONS.update(dict.fromkeys(op_types, function))
        return function

    return register


def end_region(machine: Machine, op: Operation, *values: Any) -> tuple[Any, ...]:
    """Give values to the operation around a region, or to the caller of a function."""
    return values


def nothing(machine: Machine, op: Operation, *values: Any) -> None:
    """Do nothing that a program sees."""


def forward(machine: Machine, op: Operation, value: Any) -> Any:
    return value


def run_region(machine: Machine, region: Region, *args: Any) -> tuple[Any, ...]:
    """Run a region of one block and return what its terminator gives.

    Raises:
        SimulationError: by an operation, or for several blocks or recursion.
    """
    if not region.blocks:
        return ()
    if region.first_block is not region.last_block:
        raise SimulationError("expected structured control flow, got several blocks")
    if machine.depth >= MAX_DEPTH:
        raise SimulationError(f"expected at most {MAX_DEPTH} nested regions")
    environment, poisons = machine.environment, machine.poisons
    environment.update(zip(region.block.args, args, strict=True))
    machine.depth += 1
    try:
        for op in region.block.ops:
            if (function := IMPLEMENTATIONS.get(op.__class__)) is None:
                raise SimulationError("the simulator does not know this operation", op)
            machine.note(op)
            inputs = tuple([environment[value] for value in op.operands])
            run = partial(_results, function, machine, op)
            try:
                spread = poisons.through(op, inputs, run, machine.mask)
                values = run(*inputs)
            except SimulationError as error:
                if error.op is None:
                    error.op = op
                raise
            poisons.settle(op, spread)
            if function is end_region:
                return values
            environment.update(zip(op.results, values, strict=True))
        return ()
    finally:
        machine.depth -= 1


def _results(
    function: Implementation, machine: Machine, op: Operation, *inputs: Any
) -> tuple[Any, ...]:
    found = function(machine, op, *inputs)
    if isinstance(found, tuple):
        return cast("tuple[Any, ...]", found)
    return () if found is None else (found,)
