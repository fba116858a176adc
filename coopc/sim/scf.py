"""Simulation of `scf` and `func`: what is not uniform runs under a mask.

What is uniform runs once.  A region runs if anybody executes it.  Where only some do,
the others keep the values that they had, and what the region does to memory it does for
those that execute it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects import cf, func, scf
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.traits import SymbolTable

from coopc.dialects.scf_forms import ForallOp, InParallelOp
from coopc.dialects.tensor_forms import ParallelInsertSliceOp
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import end_region, implements, run_region
from coopc.sim.machine import MAX_ITERATIONS, Machine
from coopc.sim.memory import with_dynamic
from coopc.sim.tensor import insert_slice
from coopc.sim.values import Array, number

implements(func.ReturnOp, scf.ConditionOp, scf.YieldOp)(end_region)


@implements(cf.AssertOp)
def check(machine: Machine, op: cf.AssertOp, condition: Array) -> None:
    machine.refuse(~condition, op.msg.data)


@implements(scf.ExecuteRegionOp)
def execute_region(machine: Machine, op: scf.ExecuteRegionOp) -> tuple[Any, ...]:
    return run_region(machine, op.region)


@implements(scf.IfOp)
def run_if(machine: Machine, op: scf.IfOp, condition: Array) -> tuple[Any, ...]:
    """Run one region, or both under masks."""
    branches = [(condition, op.true_region), (~condition, op.false_region)]
    return _choose(machine, branches, op.result_types)


@implements(scf.IndexSwitchOp)
def index_switch(
    machine: Machine, op: scf.IndexSwitchOp, index: Array
) -> tuple[Any, ...]:
    """Run each region for the work-items that select it."""
    rest = np.ones_like(index, dtype=np.bool_)
    branches: list[tuple[Array, Region]] = []
    for case, region in zip(op.cases.get_values(), op.case_regions, strict=True):
        branches.append((rest & (index == case), region))
        rest = rest & (index != case)
    branches.append((rest, op.default_region))
    return _choose(machine, branches, op.result_types)


def _choose(
    machine: Machine,
    branches: Sequence[tuple[Array, Region]],
    types: Sequence[Attribute],
) -> tuple[Any, ...]:
    """Run each region where its condition holds; together they cover everybody."""
    found: tuple[Any, ...] | None = None
    for condition, region in branches:
        active = machine.and_active(condition)
        assert active is not None
        if not active.any():
            continue
        if _covers(active, machine.mask):
            return run_region(machine, region)
        with machine.under(condition):
            values = run_region(machine, region)
        found = (
            values
            if found is None
            else _merge(machine, condition, types, values, found)
        )
    assert found is not None, "nobody executes this"
    return found


def _merge(
    machine: Machine,
    condition: Array,
    types: Sequence[Attribute],
    new: Sequence[Any],
    old: Sequence[Any],
) -> tuple[Any, ...]:
    """Return the new values where a condition holds."""
    triples = zip(types, new, old, strict=True)
    return tuple(machine.merge(type, condition, x, y) for type, x, y in triples)


@implements(scf.ForOp)
def run_for(
    machine: Machine,
    op: scf.ForOp,
    lower: Array,
    upper: Array,
    step: Array,
    *values: Any,
) -> tuple[Any, ...]:
    """Run the body as often as anybody does.

    Raises:
        UndefinedBehaviour: the step is not positive.
        SimulationError: more trips than the simulator makes.
    """
    machine.refuse(step <= 0, "expected a positive step", step)
    distance = upper.astype(np.int64) - lower.astype(np.int64)
    positive = np.maximum(step.astype(np.int64), 1)
    trips = np.maximum(-(-distance // positive), 0)
    active = trips
    if machine.mask is not None:
        active, chosen = np.broadcast_arrays(trips, machine.mask)
        active = active[chosen]
    most, least = (int(active.max()), int(active.min())) if active.size else (0, 0)
    if most > MAX_ITERATIONS:
        raise SimulationError(f"expected at most {MAX_ITERATIONS} trips, got {most}")
    types = [value.type for value in op.iter_args]
    for trip in range(most):
        here = (lower + step * step.dtype.type(trip), *values)
        if trip < least:
            values = run_region(machine, op.body, *here)
            continue
        going = trips > trip
        with machine.under(going):
            new = run_region(machine, op.body, *here)
        values = _merge(machine, going, types, new, values)
    return values


@implements(ForallOp)
def forall(machine: Machine, op: ForallOp, *rest: Array) -> tuple[Array, ...]:
    """Run the points one after the other; each sees the outputs as they were."""
    dynamic = iter(rest)
    bounds = [
        [int(x.flat[0]) for x in with_dynamic(each.get_values(), dynamic)]
        for each in (op.static_lower, op.static_upper, op.static_step)
    ]
    outputs = [*dynamic]
    count = len(bounds[0])
    names = op.body.block.args[count:]
    found: dict[SSAValue, Array] = dict(zip(names, outputs, strict=True))
    last = op.body.block.last_op
    assert isinstance(last, InParallelOp), op
    ranges = (range(*each) for each in zip(*bounds, strict=True))
    for point in product(*ranges):
        run_region(machine, op.body, *map(number, point), *outputs)
        for each in last.body.block.ops:
            assert isinstance(each, ParallelInsertSliceOp), each
            part, _, *place = (machine.environment[x] for x in each.operands)
            found[each.dest] = insert_slice(
                machine, each, part, found[each.dest], *place
            )
    return tuple(found[name] for name in names)


implements(InParallelOp)(end_region)


@implements(scf.WhileOp)
def run_while(machine: Machine, op: scf.WhileOp, *values: Any) -> tuple[Any, ...]:
    """Run both regions until the condition holds for nobody."""
    before_types = [value.type for value in op.arguments]
    types = list(op.result_types)
    results: tuple[Any, ...] | None = None
    going: Array | None = None
    for _ in range(MAX_ITERATIONS):
        with machine.under(going):
            condition, *forwarded = run_region(machine, op.before_region, *values)
            results = (
                tuple(forwarded)
                if going is None or results is None
                else _merge(machine, going, types, forwarded, results)
            )
            active = machine.and_active(condition)
            assert active is not None
            if not active.any():
                return results
            inside = None if _covers(active, machine.mask) else condition
            with machine.under(inside):
                new = run_region(machine, op.after_region, *results)
        if inside is not None:
            going = inside if going is None else going & inside
        values = (
            new if going is None else _merge(machine, going, before_types, new, values)
        )
    raise UndefinedBehaviour(f"expected an end of the loop in {MAX_ITERATIONS} trips")


def _covers(active: Array, mask: Array | None) -> bool:
    """Whether all who are active by the mask are active."""
    return bool(active.all() if mask is None else (active | ~mask).all())


@implements(func.CallOp)
def call(machine: Machine, op: func.CallOp, *args: Any) -> tuple[Any, ...]:
    """Run the function that is called, by all who are active; it ends at its end."""
    callee = SymbolTable.lookup_symbol(machine.module, op.callee)
    if not isinstance(callee, func.FuncOp) or not callee.body.blocks:
        raise SimulationError(f"no function with a body is called {op.callee}")
    return run_region(machine, callee.body, *args)
