"""Simulation of `coopmatrix.apply`: elements take the place of lanes.

The body runs once, on an axis of all elements where otherwise the lanes are.  What it
uses from outside is what the owner of each element has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Region, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, Scope, matrix_type
from coopc.sim.coopmatrix_memory import together
from coopc.sim.interpreter import Simulator, SimulatorFunctions, ending
from coopc.sim.memory import MemRef
from coopc.sim.values import LANE_AXIS, SUBGROUP_AXIS, Array


@register_impls
class CoopmatrixWholeFunctions(SimulatorFunctions):
    """`apply` and its end."""

    yield_element = ending(coopmatrix.YieldOp)

    @impl(coopmatrix.ApplyOp)
    def apply(
        self, interpreter: Interpreter, op: coopmatrix.ApplyOp, args: PythonValues
    ) -> PythonValues:
        """Run the body for all elements at once."""
        assert isinstance(interpreter, Simulator)
        machine, matrix = self.machine, matrix_type(op.value)
        together(machine, matrix)
        value = self._with_own_elements(matrix, args[0])
        rows, cols = machine.matrices.shape(matrix)
        subgroup, lane = self._owners(matrix)
        outside = captured_values(op.body)
        captured = {
            name: _of_owners(found, subgroup, lane)
            for name, found in zip(
                outside, interpreter.get_values(outside), strict=True
            )
        }
        number = np.arange(lane.shape[LANE_AXIS], dtype=np.int64) % (rows * cols)
        arguments = (
            (number // cols).reshape(1, 1, -1),
            (number % cols).reshape(1, 1, -1),
            value.reshape(*value.shape[:LANE_AXIS], -1),
        )
        before = machine.subgroup, machine.lane
        mask = machine.mask
        machine.subgroup, machine.lane, machine.in_element = subgroup, lane, True
        machine.mask = None if mask is None else _of_owners(mask, subgroup, lane)
        try:
            with interpreter.replacing(captured):
                (found,) = interpreter.run_ssacfg_region(op.body, arguments)
        finally:
            machine.subgroup, machine.lane = before
            machine.in_element, machine.mask = False, mask
        groups, subgroups, _ = found.shape
        whole = np.broadcast_to(found, (groups, subgroups, lane.shape[LANE_AXIS]))
        return (whole.reshape(groups, subgroups, -1, rows, cols),)

    def _with_own_elements(self, matrix: MatrixType, value: Array) -> Array:
        """Return a matrix; one of each work-item's own with all lanes on their axis."""
        if self.machine.matrices.scope(matrix) != Scope.INVOCATION:
            return value
        shape = list(value.shape)
        shape[LANE_AXIS] = self.machine.launch.subgroup_size
        return np.broadcast_to(value, shape)

    def _owners(self, matrix: MatrixType) -> tuple[Array, Array]:
        """Return subgroup and lane of the owner of each element, on the lanes' axis."""
        machine = self.machine
        rows, cols = machine.matrices.shape(matrix)
        owners = machine.matrices.ownership(matrix).lanes.reshape(1, 1, -1)
        match machine.matrices.scope(matrix):
            case Scope.WORKGROUP:
                lanes = machine.launch.subgroup_size
                return owners // lanes, owners % lanes
            case Scope.INVOCATION:
                lane = np.repeat(machine.lane, rows * cols, LANE_AXIS)
                return machine.subgroup, lane
            case _:
                return machine.subgroup, owners


def captured_values(region: Region) -> list[SSAValue]:
    """Return what a region uses from outside."""
    inside: set[SSAValue] = set()
    blocks = [*region.blocks]
    for op in region.walk():
        inside.update(op.results)
        blocks += (block for nested in op.regions for block in nested.blocks)
    for block in blocks:
        inside.update(block.args)
    used = (value for op in region.walk() for value in op.operands)
    return list(dict.fromkeys(value for value in used if value not in inside))


def _of_owners(value: Any, subgroup: Array, lane: Array) -> Any:
    """Return a value with elements on the axis of lanes: what their owners have."""
    if isinstance(value, MemRef):
        return replace(
            value,
            offset=_of_owners(value.offset, subgroup, lane),
            sizes=_all_of_owners(value.sizes, subgroup, lane),
            strides=_all_of_owners(value.strides, subgroup, lane),
        )
    array: Array = value
    if array.shape[LANE_AXIS] == 1 and (
        array.shape[SUBGROUP_AXIS] == 1 or subgroup.shape[LANE_AXIS] == 1
    ):
        return array
    if subgroup.shape[LANE_AXIS] == 1:
        return array[:, :, lane[0, 0]]
    own = lane[0, 0] if array.shape[LANE_AXIS] > 1 else np.zeros_like(lane[0, 0])
    one = subgroup[0, 0] if array.shape[SUBGROUP_AXIS] > 1 else np.zeros_like(own)
    return array[:, one, own][:, None]


def _all_of_owners(
    values: Iterable[Array], subgroup: Array, lane: Array
) -> tuple[Array, ...]:
    return tuple(_of_owners(value, subgroup, lane) for value in values)
