"""Simulation of `simt`: who a work-item is, barriers, and exchange between lanes.

Work-items run in step, so that a barrier has nothing to wait for; that everybody
reaches it is checked.  What a shuffle takes from a lane that does not exist is poison.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import Dimension, FenceScope, ReduceKind, ShuffleMode
from coopc.layout.exchange import ABSENT, sources, subgroup_size
from coopc.sim.arith import element_type
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import MemRef, in_elements, memref_type, type_sizes
from coopc.sim.numerics import Numerics
from coopc.sim.values import (
    AXES,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    as_integers,
    is_float,
    number,
    shape_of,
    trailing,
    wrapped,
)

_FLOAT_REDUCTIONS = {
    ReduceKind.ADD: "add",
    ReduceKind.MUL: "mul",
    ReduceKind.MAX: "maxnum",
    ReduceKind.MIN: "minnum",
}
_INTEGER_REDUCTIONS: dict[ReduceKind, Any] = {
    ReduceKind.ADD: np.add,
    ReduceKind.MUL: np.multiply,
    ReduceKind.MAX: np.maximum,
    ReduceKind.MIN: np.minimum,
    ReduceKind.AND: np.bitwise_and,
    ReduceKind.OR: np.bitwise_or,
    ReduceKind.XOR: np.bitwise_xor,
}


def reduce_axis(
    numerics: Numerics,
    kind: ReduceKind,
    value: Array,
    axis: int,
    type: Attribute,
    is_signed: bool,
) -> Array:
    """Return the reduction of numbers along an axis, which gets size 1.

    Floats are reduced one after the other, each step rounded to the type.
    """
    if not is_float(type):
        plain = as_integers(value, type, is_signed)
        reduce = _INTEGER_REDUCTIONS[kind].reduce
        return wrapped(reduce(plain, axis=axis, keepdims=True, dtype=plain.dtype), type)
    parts = np.split(value, value.shape[axis], axis)
    found = parts[0]
    for part in parts[1:]:
        found = numerics.call(_FLOAT_REDUCTIONS[kind], type, found, part)
    return found


@register_impls
class SimtFunctions(SimulatorFunctions):
    """Work-items and what they do together."""

    def _position(self, id: Array, dimension: Dimension, sizes: Any) -> Array:
        """Return one coordinate of a number that counts x fastest."""
        for each, size in zip(Dimension, sizes, strict=True):
            if each == dimension:
                return id % size if size > 1 else number(0)
            id = id // size
        raise AssertionError(dimension)

    @impl(simt.WorkgroupIdOp)
    def workgroup_id(
        self, interpreter: Interpreter, op: simt.WorkgroupIdOp, args: PythonValues
    ) -> PythonValues:
        """Give the position in the grid."""
        machine = self.machine
        sizes = machine.launch.grid
        return (self._position(machine.group, op.dimension.data, sizes),)

    @impl(simt.LocalIdOp)
    def local_id(
        self, interpreter: Interpreter, op: simt.LocalIdOp, args: PythonValues
    ) -> PythonValues:
        """Give the position in the work-group."""
        machine = self.machine
        id = machine.subgroup * machine.launch.subgroup_size + machine.lane
        sizes = machine.launch.work_group_size
        return (self._position(id, op.dimension.data, sizes),)

    @impl(simt.NumWorkgroupsOp)
    def num_workgroups(
        self, interpreter: Interpreter, op: simt.NumWorkgroupsOp, args: PythonValues
    ) -> PythonValues:
        """Give the size of the grid."""
        return (_size(self.machine.launch.grid, op.dimension.data),)

    @impl(simt.WorkgroupSizeOp)
    def workgroup_size(
        self, interpreter: Interpreter, op: simt.WorkgroupSizeOp, args: PythonValues
    ) -> PythonValues:
        """Give the size of a work-group."""
        return (_size(self.machine.launch.work_group_size, op.dimension.data),)

    @impl(simt.SubgroupIdOp)
    def subgroup_id(
        self, interpreter: Interpreter, op: simt.SubgroupIdOp, args: PythonValues
    ) -> PythonValues:
        """Give the number of the subgroup."""
        return (self.machine.subgroup,)

    @impl(simt.NumSubgroupsOp)
    def num_subgroups(
        self, interpreter: Interpreter, op: simt.NumSubgroupsOp, args: PythonValues
    ) -> PythonValues:
        """Give the number of subgroups of a work-group."""
        return (number(self.machine.launch.subgroups),)

    @impl(simt.LaneIdOp)
    def lane_id(
        self, interpreter: Interpreter, op: simt.LaneIdOp, args: PythonValues
    ) -> PythonValues:
        """Give the number of the lane."""
        return (self.machine.lane,)

    @impl(simt.SubgroupSizeOp)
    def subgroup_size(
        self, interpreter: Interpreter, op: simt.SubgroupSizeOp, args: PythonValues
    ) -> PythonValues:
        """Give the number of lanes."""
        return (number(self.machine.launch.subgroup_size),)

    @impl(simt.BarrierOp)
    def barrier(
        self, interpreter: Interpreter, op: simt.BarrierOp, args: PythonValues
    ) -> PythonValues:
        """Check that everybody is there."""
        scope = op.scope.data
        here, _ = self._waiting(scope)
        memory = None if op.memory is None else op.memory.data
        self.machine.pass_barrier(scope == FenceScope.WORKGROUP, here, memory)
        return ()

    @impl(simt.BarrierArriveOp)
    def barrier_arrive(
        self, interpreter: Interpreter, op: simt.BarrierArriveOp, args: PythonValues
    ) -> PythonValues:
        """Note who arrived."""
        here, arrived = self._waiting(op.scope.data)
        if (here & arrived).any():
            raise UndefinedBehaviour(
                "expected simt.barrier_wait before another arrival"
            )
        arrived |= here
        return ()

    @impl(simt.BarrierWaitOp)
    def barrier_wait(
        self, interpreter: Interpreter, op: simt.BarrierWaitOp, args: PythonValues
    ) -> PythonValues:
        """Check that those who wait have arrived."""
        here, arrived = self._waiting(op.scope.data)
        if (here & ~arrived).any():
            raise UndefinedBehaviour("expected simt.barrier_arrive before this")
        arrived &= ~here
        self.machine.pass_barrier(op.scope.data == FenceScope.WORKGROUP, here)
        return ()

    def _waiting(self, scope: FenceScope) -> tuple[Array, Array]:
        """Return who executes a barrier, and who has arrived at the last one.

        Raises:
            UndefinedBehaviour: only a part of a scope executes it.
        """
        machine = self.machine
        machine.refuse_in_element()
        whole = scope == FenceScope.WORKGROUP
        mask = (
            machine.uniform_mask(LANE_AXIS, SUBGROUP_AXIS)
            if whole
            else machine.uniform_mask(LANE_AXIS)
        )
        groups, subgroups, _ = machine.shape
        shape = (groups, 1 if whole else subgroups, 1)
        arrived = machine.arrived.setdefault(scope, np.zeros(shape, np.bool_))
        here = np.broadcast_to(np.True_ if mask is None else mask, shape)
        return here, arrived

    def _all_lanes(self, value: Array) -> Array:
        """Return a value with all lanes on their axis.

        Raises:
            UndefinedBehaviour: only some of the lanes are active.
        """
        self.machine.refuse_in_element()
        self.machine.uniform_mask(LANE_AXIS)
        shape = list(value.shape)
        shape[LANE_AXIS] = self.machine.launch.subgroup_size
        return np.broadcast_to(value, shape)

    @impl(simt.BroadcastOp)
    def broadcast(
        self, interpreter: Interpreter, op: simt.BroadcastOp, args: PythonValues
    ) -> PythonValues:
        """Give the value of one lane to all."""
        value, lane = args
        lane = self._uniform(lane, "the lane of a broadcast")
        active = self.machine.mask
        lanes = self.machine.launch.subgroup_size
        outside = (lane < 0) | (lane >= lanes)
        if (outside if active is None else outside & active).any():
            raise UndefinedBehaviour(
                f"expected a lane below {lanes}, got {lane[outside].flat[0]}"
            )
        return (_take_lane(self._all_lanes(value), np.where(outside, 0, lane)),)

    @impl(simt.ShuffleOp)
    def shuffle(
        self, interpreter: Interpreter, op: simt.ShuffleOp, args: PythonValues
    ) -> PythonValues:
        """Give the values of other lanes."""
        value, offset = args
        lane = self.machine.lane
        match op.mode.data:
            case ShuffleMode.IDX:
                source = np.broadcast_arrays(offset, lane)[0]
            case ShuffleMode.XOR:
                source = lane ^ offset
            case ShuffleMode.UP:
                source = lane - offset
            case ShuffleMode.DOWN:
                source = lane + offset
        outside = (source < 0) | (source >= self.machine.launch.subgroup_size)
        found = _take_lane(self._all_lanes(value), np.where(outside, 0, source))
        if not outside.any():
            return (found,)
        poison = self.machine.numerics.poison(element_type(op.value))
        return (np.where(trailing(outside, found.ndim - AXES), poison, found),)

    @impl(simt.ExchangeOp)
    def exchange(
        self, interpreter: Interpreter, op: simt.ExchangeOp, args: PythonValues
    ) -> PythonValues:
        """Give each component from the lane of the subgroup that holds it."""
        source, target = op.layouts
        launch = self.machine.launch
        size = subgroup_size(source)
        places = sources(source, target, size)
        assert places is not None, op
        if size != launch.subgroup_size or places.shape[1] // size not in (
            1,
            launch.subgroups,
        ):
            raise UndefinedBehaviour(
                f"expected a layout for {launch.subgroups} subgroups of "
                f"{launch.subgroup_size} lanes, got one of {places.shape[1]} lanes in "
                f"subgroups of {size}"
            )
        # By subgroup, lane and component of the target, as values are.
        places = places.T.reshape(-1, size, places.shape[0])
        component, lane = places // (places.shape[0] * size), places % size
        held = np.concatenate([self._all_lanes(x) for x in args], axis=-1)
        whole = (held.shape[0], max(held.shape[1], places.shape[0]))
        held = np.broadcast_to(held, (*whole, *held.shape[2:]))
        group, subgroup = np.ix_(*map(np.arange, whole))
        found = held[group[..., None, None], subgroup[..., None, None], lane, component]
        poison = self.machine.numerics.poison(element_type(op.values[0]))
        found = np.where(places == ABSENT, poison, found)
        widths = [shape_of(x.type)[0] for x in op.outputs]
        extra = np.full((*found.shape[:-1], sum(widths) - found.shape[-1]), poison)
        found = np.concatenate([found, extra.astype(found.dtype)], axis=-1)
        return tuple(np.split(found, np.cumsum(widths)[:-1], axis=-1))

    @impl(simt.ReduceOp)
    def reduce(
        self, interpreter: Interpreter, op: simt.ReduceOp, args: PythonValues
    ) -> PythonValues:
        """Reduce the values of all lanes."""
        value = self._all_lanes(args[0])
        type, is_signed = element_type(op.value), op.signed is not None
        kind = op.kind.data
        return (
            reduce_axis(self.machine.numerics, kind, value, LANE_AXIS, type, is_signed),
        )

    @impl(simt.ViewElementsOp)
    def view_elements(
        self, interpreter: Interpreter, op: simt.ViewElementsOp, args: PythonValues
    ) -> PythonValues:
        """Give the memory as elements of another type, from a position on."""
        memory, *positions = args
        type = memref_type(op.result.type)
        assert isinstance(memory, MemRef)
        found = in_elements(memory, type.element_type)
        *steps, outer, inner, one = found.strides
        offset = found.offset
        for at, stride in zip(positions, (*steps, outer, inner), strict=True):
            offset = offset + at * stride
        sizes = type_sizes(type, ())
        view = MemRef(found.buffer, found.element_type, offset, sizes, (outer, one))
        return (view,)

    @impl(simt.BlockReadOp)
    def block_read(
        self, interpreter: Interpreter, op: simt.BlockReadOp, args: PythonValues
    ) -> PythonValues:
        """Read consecutive elements, lane after lane."""
        memory, *positions = interpreter.get_values((op.memory, *op.positions))
        coordinates, active = self._block(op.result, positions)
        return (self.machine.load(memory, coordinates, active),)

    @impl(simt.BlockWriteOp)
    def block_write(
        self, interpreter: Interpreter, op: simt.BlockWriteOp, args: PythonValues
    ) -> PythonValues:
        """Write consecutive elements, lane after lane."""
        operands = (op.value, op.memory, *op.positions)
        value, memory, *positions = interpreter.get_values(operands)
        assert isinstance(memory, MemRef)
        coordinates, active = self._block(op.value, positions)
        self.machine.store(memory, coordinates, value, active)
        return ()

    def _block(
        self, value: SSAValue, positions: list[Array]
    ) -> tuple[list[Array], Array | None]:
        """Return the coordinates of a block access, and who is active.

        Raises:
            UndefinedBehaviour: lanes are not all active or give different positions.
        """
        machine = self.machine
        machine.refuse_in_element()
        machine.uniform_mask(LANE_AXIS)
        starts = [self._uniform(x, "the position of a block") for x in positions]
        shape = shape_of(value.type)
        axes, components = len(shape), prod(shape)
        step = np.arange(components, dtype=np.int64) if axes else np.int64(0)
        lanes = trailing(machine.lane, axes) + step * machine.launch.subgroup_size
        *outer, last = (trailing(x, axes) for x in starts)
        active = None if machine.mask is None else trailing(machine.mask, axes)
        return [*outer, last + lanes], active

    def _uniform(self, value: Array, what: str) -> Array:
        """Return an index that the lanes of each subgroup agree on.

        Raises:
            UndefinedBehaviour: they do not agree.
        """
        if value.shape[LANE_AXIS] == 1:
            return value
        first = value.take([0], LANE_AXIS)
        wrong = value != first
        if self.machine.mask is not None:
            wrong = wrong & self.machine.mask
        if wrong.any():
            raise UndefinedBehaviour(f"expected {what} to be the same in all lanes")
        return first


def _size(sizes: tuple[int, int, int], dimension: Dimension) -> Array:
    """Return the size along one dimension."""
    return number(sizes[list(Dimension).index(dimension)])


def _take_lane(value: Array, lane: Array) -> Array:
    """Return what lanes have; `lane` is a lane of its subgroup for each work-item."""
    axes = value.ndim - AXES
    shape = np.broadcast_shapes(
        (*value.shape[:LANE_AXIS], 1), (*lane.shape[:LANE_AXIS], lane.shape[LANE_AXIS])
    )
    source = np.broadcast_to(value, (*shape[:LANE_AXIS], *value.shape[LANE_AXIS:]))
    index = trailing(np.broadcast_to(lane, shape), axes)
    return np.take_along_axis(source, index, LANE_AXIS)
