"""xDSL's interpreter, with a flat environment and errors that name the operation.

Kernels do not call themselves: a value has one meaning at a time, and a dictionary
does for the environment.  It is also several times faster than a chain of scopes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    OpImplResult,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl_terminator,
)
from xdsl.ir import Operation, Region, SSAValue

from coopc.sim.errors import SimulationError
from coopc.sim.machine import Machine
from coopc.sim.undefined import Poison, Poisons

Implementation: TypeAlias = Callable[
    [InterpreterFunctions, Interpreter, Operation, PythonValues], OpImplResult
]

MAX_DEPTH = 200
"""Regions within each other, through calls too: more is taken to be recursion."""


@dataclass
class SimulatorFunctions(InterpreterFunctions):
    """Functions of a dialect, on the state of a simulation."""

    machine: Machine


def ending(op_type: type[Operation]) -> Implementation:
    """Return the simulation of an operation that ends a region: it gives its operands.

    To the operation around, or to the caller of a function.
    """

    @impl_terminator(op_type)
    def run(
        self: InterpreterFunctions,
        interpreter: Interpreter,
        op: Operation,
        args: PythonValues,
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    return run


@dataclass
class Simulator(Interpreter):
    """An interpreter of single blocks, as kernels of structured control flow are."""

    environment: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    table: dict[type[Operation], tuple[InterpreterFunctions, Implementation]] = field(
        default_factory=dict[
            type[Operation], tuple[InterpreterFunctions, Implementation]
        ]
    )
    machine: Machine | None = None
    """Whose poison is followed."""
    depth: int = 0

    def register_implementations(
        self, impls: InterpreterFunctions, /, override: bool = False
    ) -> None:
        """Register the functions of a dialect."""
        super().register_implementations(impls, override)
        for op_type, function in impls._impls():  # pyright: ignore[reportPrivateUsage]
            self.table[op_type] = (impls, function)

    def get_values(self, values: Iterable[SSAValue]) -> PythonValues:
        """Return what values are now."""
        environment = self.environment
        return tuple(environment[value] for value in values)

    def set_values(self, pairs: Iterable[tuple[SSAValue, Any]]) -> None:
        """Say what values are from now on."""
        self.environment.update(pairs)

    @contextmanager
    def replacing(self, values: Mapping[SSAValue, Any]) -> Generator[None]:
        """Run with other meanings of some values."""
        before = {value: self.environment[value] for value in values}
        self.environment.update(values)
        try:
            yield
        finally:
            self.environment.update(before)

    def run_ssacfg_region(
        self, region: Region, args: PythonValues, name: str = "unknown"
    ) -> PythonValues:
        """Run a region of one block and return what its terminator does.

        Raises:
            SimulationError: by an operation, or for several blocks or recursion.
        """
        if not region.blocks:
            return ()
        if region.first_block is not region.last_block:
            raise SimulationError(
                "expected structured control flow, got several blocks"
            )
        if self.depth >= MAX_DEPTH:
            raise SimulationError(f"expected at most {MAX_DEPTH} nested regions")
        block = region.block
        self.environment.update(zip(block.args, args, strict=True))
        self.depth += 1
        try:
            return self._run_ops(block.first_op)
        finally:
            self.depth -= 1

    def _run_ops(self, op: Operation | None) -> PythonValues:
        """Run operations until one ends the block."""
        environment, table = self.environment, self.table
        poisons = Poisons() if self.machine is None else self.machine.poisons
        while op is not None:
            if (found := table.get(type(op))) is None:
                raise SimulationError("the simulator does not know this operation", op)
            functions, function = found
            inputs = tuple([environment[value] for value in op.operands])
            for listener in self.listeners:
                listener.will_interpret_op(op, inputs)
            spread = self._spread(op, found) if poisons.values else None
            try:
                values, terminator = function(functions, self, op, inputs)
            except SimulationError as error:
                if error.op is None:
                    error.op = op
                raise
            if spread is not None or poisons.made is not None:
                poisons.settle(op, spread or (None,) * len(op.results))
            if terminator is not None:
                assert isinstance(terminator, ReturnedValues), terminator
                return terminator.values
            environment.update(zip(op.results, values, strict=True))
            for listener in self.listeners:
                listener.did_interpret_op(op, values)
            op = op.next_op
        return ()

    def _spread(
        self, op: Operation, found: tuple[InterpreterFunctions, Implementation]
    ) -> tuple[Poison | None, ...]:
        """Return the poison of the results, by that of the operands: see `Poisons`."""
        assert self.machine is not None
        functions, function = found

        def run(values: Mapping[SSAValue, Any]) -> PythonValues:
            with self.replacing(values):
                inputs = self.get_values(op.operands)
                return function(functions, self, op, inputs)[0]

        return self.machine.poisons.through(
            op, self.environment, run, self.machine.mask
        )
