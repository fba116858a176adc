"""Simulation of `scf`: what is uniform runs once, what is not runs under a mask.

A region runs if anybody executes it.  Where only some do, the others keep the values
that they had, and what the region does to memory it does for those that execute it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func, scf
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute, Region

from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions, ending
from coopc.sim.machine import MAX_ITERATIONS
from coopc.sim.values import Array


@register_impls
class ScfFunctions(SimulatorFunctions):
    """Structured control flow."""

    yield_values = ending(scf.YieldOp)
    condition = ending(scf.ConditionOp)

    @impl(scf.ExecuteRegionOp)
    def execute_region(
        self, interpreter: Interpreter, op: scf.ExecuteRegionOp, args: PythonValues
    ) -> PythonValues:
        """Run the region."""
        return interpreter.run_ssacfg_region(op.region, ())

    @impl(scf.IfOp)
    def run_if(
        self, interpreter: Interpreter, op: scf.IfOp, args: PythonValues
    ) -> PythonValues:
        """Run one region, or both under masks."""
        (condition,) = args
        branches = [(condition, op.true_region), (~condition, op.false_region)]
        return self._choose(interpreter, branches, op.result_types)

    @impl(scf.IndexSwitchOp)
    def index_switch(
        self, interpreter: Interpreter, op: scf.IndexSwitchOp, args: PythonValues
    ) -> PythonValues:
        """Run the regions whose case somebody has."""
        (index,) = args
        rest = np.ones_like(index, dtype=np.bool_)
        branches: list[tuple[Array, Region]] = []
        for case, region in zip(op.cases.get_values(), op.case_regions, strict=True):
            branches.append((rest & (index == case), region))
            rest = rest & (index != case)
        branches.append((rest, op.default_region))
        return self._choose(interpreter, branches, op.result_types)

    def _choose(
        self,
        interpreter: Interpreter,
        branches: Sequence[tuple[Array, Region]],
        types: Sequence[Attribute],
    ) -> PythonValues:
        """Run each region where its condition holds; together they cover everybody."""
        machine = self.machine
        found: PythonValues | None = None
        for condition, region in branches:
            active = machine.and_active(condition)
            assert active is not None
            if not active.any():
                continue
            if _covers(active, machine.mask):
                return interpreter.run_ssacfg_region(region, ())
            with machine.under(condition):
                values = interpreter.run_ssacfg_region(region, ())
            found = (
                values
                if found is None
                else self._merge(condition, types, values, found)
            )
        assert found is not None, "nobody executes this"
        return found

    def _merge(
        self,
        condition: Array,
        types: Sequence[Attribute],
        new: Sequence[Any],
        old: Sequence[Any],
    ) -> PythonValues:
        """Return the new values where a condition holds."""
        triples = zip(types, new, old, strict=True)
        return tuple(
            self.machine.merge(type, condition, x, y) for type, x, y in triples
        )

    @impl(scf.ForOp)
    def run_for(
        self, interpreter: Interpreter, op: scf.ForOp, args: PythonValues
    ) -> PythonValues:
        """Run the body as often as anybody does."""
        lower, upper, step, *carried = args
        machine = self.machine
        trips = _trips(lower, upper, step, machine.mask)
        most, least = _extremes(trips, machine.mask)
        types = [value.type for value in op.iter_args]
        values = tuple(carried)
        for trip in range(most):
            here = (lower + step * step.dtype.type(trip), *values)
            if trip < least:
                values = interpreter.run_ssacfg_region(op.body, here)
                continue
            going = trips > trip
            with machine.under(going):
                new = interpreter.run_ssacfg_region(op.body, here)
            values = self._merge(going, types, new, values)
        return values

    @impl(scf.WhileOp)
    def run_while(
        self, interpreter: Interpreter, op: scf.WhileOp, args: PythonValues
    ) -> PythonValues:
        """Run both regions until the condition holds for nobody."""
        machine = self.machine
        before_types = [value.type for value in op.arguments]
        types = list(op.result_types)
        values, results = args, None
        going: Array | None = None
        for _ in range(MAX_ITERATIONS):
            with machine.under(going):
                condition, *forwarded = interpreter.run_ssacfg_region(
                    op.before_region, values
                )
                results = (
                    tuple(forwarded)
                    if going is None or results is None
                    else self._merge(going, types, forwarded, results)
                )
                active = machine.and_active(condition)
                assert active is not None
                if not active.any():
                    return results
                inside = condition
                if _covers(active, machine.mask):
                    new = interpreter.run_ssacfg_region(op.after_region, results)
                    inside = None
                else:
                    with machine.under(condition):
                        new = interpreter.run_ssacfg_region(op.after_region, results)
            if inside is not None:
                going = inside if going is None else going & inside
            values = (
                new if going is None else self._merge(going, before_types, new, values)
            )
        raise UndefinedBehaviour(
            f"expected an end of the loop in {MAX_ITERATIONS} trips"
        )


def _covers(active: Array, mask: Array | None) -> bool:
    """Whether all who are active by the mask are active."""
    return bool(active.all() if mask is None else (active | ~mask).all())


def _trips(lower: Array, upper: Array, step: Array, mask: Array | None) -> Array:
    """Return how often each work-item runs the body of `scf.for`.

    Raises:
        UndefinedBehaviour: the step is not positive.
    """
    wrong = step <= 0 if mask is None else (step <= 0) & mask
    if wrong.any():
        raise UndefinedBehaviour(f"expected a positive step, got {step.min()}")
    distance = upper.astype(np.int64) - lower.astype(np.int64)
    positive = np.maximum(step.astype(np.int64), 1)
    return np.maximum(-(-distance // positive), 0)


def _extremes(trips: Array, mask: Array | None) -> tuple[int, int]:
    """Return the most and the least trips of those who are active.

    Raises:
        SimulationError: more than the simulator makes.
    """
    if mask is not None:
        trips, chosen = np.broadcast_arrays(trips, mask)
        trips = trips[chosen]
    if not trips.size:
        return 0, 0
    most = int(trips.max())
    if most > MAX_ITERATIONS:
        raise SimulationError(f"expected at most {MAX_ITERATIONS} trips, got {most}")
    return most, int(trips.min())


# Simulation of `func`: calls and returns.


@register_impls
class FuncFunctions(SimulatorFunctions):
    """Those who are active call together; the callee has one exit, its end."""

    @impl(func.CallOp)
    def call(
        self, interpreter: Interpreter, op: func.CallOp, args: PythonValues
    ) -> PythonValues:
        """Run the function that is called."""
        callee = interpreter.get_op_for_symbol(op.callee)
        if not isinstance(callee, func.FuncOp) or not callee.body.blocks:
            raise SimulationError(f"no function with a body is called {op.callee}")
        return interpreter.run_ssacfg_region(callee.body, args)

    leave = ending(func.ReturnOp)
