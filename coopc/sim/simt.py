"""Simulation of `simt`: who a work-item is, barriers, and exchange between lanes.

Work-items run in step, so that a barrier has nothing to wait for; that everybody
reaches it is checked.  What a shuffle takes from a lane that does not exist is poison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import FenceScope, ShuffleMode, bits_of
from coopc.layout.exchange import ABSENT, sources, subgroup_size
from coopc.sim.arith import element_type, reduce_axis
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import implements
from coopc.sim.machine import Machine
from coopc.sim.memory import (
    MemRef,
    addressed,
    in_elements,
    memref_type,
    with_dynamic,
)
from coopc.sim.memref import acquire
from coopc.sim.values import (
    AXES,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    is_float,
    memory_dtype,
    number,
    shape_of,
    trailing,
)


def coordinate(id: Array, axis: int, sizes: Sequence[int]) -> Array:
    """Return one coordinate of a number that counts x fastest."""
    return id // prod(sizes[:axis]) % sizes[axis] if sizes[axis] > 1 else number(0)


IDS: dict[type[Operation], Callable[[Machine, int], Array]] = {
    simt.LocalIdOp: lambda m, x: coordinate(m.local_id, x, m.launch.work_group_size),
    simt.WorkgroupIdOp: lambda m, x: coordinate(m.group, x, m.launch.grid),
    simt.WorkgroupSizeOp: lambda m, x: number(m.launch.work_group_size[x]),
    simt.NumWorkgroupsOp: lambda m, x: number(m.launch.grid[x]),
    simt.LaneIdOp: lambda m, _: m.lane,
    simt.SubgroupIdOp: lambda m, _: m.subgroup,
    simt.SubgroupSizeOp: lambda m, _: number(m.launch.subgroup_size),
    simt.NumSubgroupsOp: lambda m, _: number(m.launch.subgroups),
}
"""The value of each, along an axis if it has a dimension."""


@implements(*IDS)
def id_or_size(machine: Machine, op: Operation) -> Array:
    return IDS[type(op)](machine, op.axis if isinstance(op, simt.DimensionOp) else 0)


@implements(simt.BarrierOp)
def barrier(machine: Machine, op: simt.BarrierOp) -> None:
    """Check that everybody is there."""
    scope = op.scope.data
    here, _ = _waiting(machine, scope)
    memory = None if op.memory is None else op.memory.data
    machine.pass_barrier(scope == FenceScope.WORKGROUP, here, memory)


@implements(simt.BarrierArriveOp)
def barrier_arrive(machine: Machine, op: simt.BarrierArriveOp) -> None:
    here, arrived = _waiting(machine, op.scope.data)
    if (here & arrived).any():
        raise UndefinedBehaviour("expected simt.barrier_wait before another arrival")
    arrived |= here


@implements(simt.BarrierWaitOp)
def barrier_wait(machine: Machine, op: simt.BarrierWaitOp) -> None:
    """Check that those who wait have arrived."""
    here, arrived = _waiting(machine, op.scope.data)
    if (here & ~arrived).any():
        raise UndefinedBehaviour("expected simt.barrier_arrive before this")
    arrived &= ~here
    machine.pass_barrier(op.scope.data == FenceScope.WORKGROUP, here)


def _waiting(machine: Machine, scope: FenceScope) -> tuple[Array, Array]:
    """Return who executes a barrier, and who has arrived at the last one.

    Raises:
        UndefinedBehaviour: only a part of a scope executes it.
    """
    whole = scope == FenceScope.WORKGROUP
    mask = machine.uniform_mask(LANE_AXIS, *((SUBGROUP_AXIS,) if whole else ()))
    groups, subgroups, _ = machine.shape
    shape = (groups, 1 if whole else subgroups, 1)
    arrived = machine.arrived.setdefault(scope, np.zeros(shape, np.bool_))
    here = np.broadcast_to(np.True_ if mask is None else mask, shape)
    return here, arrived


def _all_lanes(machine: Machine, value: Array) -> Array:
    """Return a value with all lanes on their axis.

    Raises:
        UndefinedBehaviour: only some of the lanes are active.
    """
    machine.uniform_mask(LANE_AXIS)
    shape = list(value.shape)
    shape[LANE_AXIS] = machine.launch.subgroup_size
    return np.broadcast_to(value, shape)


def _of_lanes(value: Array, lane: Array) -> Array:
    """Return what lanes have; `lane` is a lane of its subgroup for each work-item."""
    whole = np.broadcast_shapes(value.shape[:LANE_AXIS], lane.shape[:LANE_AXIS])
    value = np.broadcast_to(value, (*whole, *value.shape[LANE_AXIS:]))
    lane = np.broadcast_to(lane, (*whole, lane.shape[LANE_AXIS]))
    index = trailing(lane, value.ndim - AXES)
    return np.take_along_axis(value, index, LANE_AXIS)


@implements(simt.BroadcastOp)
def broadcast(
    machine: Machine, op: simt.BroadcastOp, value: Array, lane: Array
) -> Array:
    lane = machine.agreed(lane, "the lane of a broadcast", LANE_AXIS)
    lanes = machine.launch.subgroup_size
    outside = (lane < 0) | (lane >= lanes)
    machine.refuse(outside, f"expected a lane below {lanes}", lane)
    return _of_lanes(_all_lanes(machine, value), np.where(outside, 0, lane))


@implements(simt.ShuffleOp)
def shuffle(machine: Machine, op: simt.ShuffleOp, value: Array, offset: Array) -> Array:
    lane = machine.lane
    match op.mode.data:
        case ShuffleMode.IDX:
            source = np.broadcast_arrays(offset, lane)[0]
        case ShuffleMode.XOR:
            source = lane ^ offset
        case ShuffleMode.UP:
            source = lane - offset
        case ShuffleMode.DOWN:
            source = lane + offset
    outside = (source < 0) | (source >= machine.launch.subgroup_size)
    found = _of_lanes(_all_lanes(machine, value), np.where(outside, 0, source))
    if not outside.any():
        return found
    poison = machine.numerics.poison(element_type(op.value))
    return np.where(trailing(outside, found.ndim - AXES), poison, found)


@implements(simt.ExchangeOp)
def exchange(machine: Machine, op: simt.ExchangeOp, *args: Array) -> tuple[Array, ...]:
    """Give each component from the lane of the subgroup that holds it."""
    source, target = op.layouts
    launch = machine.launch
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
    held = np.concatenate([_all_lanes(machine, x) for x in args], axis=-1)
    whole = (held.shape[0], max(held.shape[1], places.shape[0]))
    held = np.broadcast_to(held, (*whole, *held.shape[2:]))
    group, subgroup = np.ix_(*map(np.arange, whole))
    found = held[group[..., None, None], subgroup[..., None, None], lane, component]
    poison = machine.numerics.poison(element_type(op.values[0]))
    found = np.where(places == ABSENT, poison, found)
    widths = [shape_of(x.type)[0] for x in op.outputs]
    extra = np.full((*found.shape[:-1], sum(widths) - found.shape[-1]), poison)
    found = np.concatenate([found, extra.astype(found.dtype)], axis=-1)
    return tuple(np.split(found, np.cumsum(widths)[:-1], axis=-1))


@implements(simt.ReduceOp)
def reduce(machine: Machine, op: simt.ReduceOp, value: Array) -> Array:
    type, is_signed = element_type(op.value), op.signed is not None
    value = _all_lanes(machine, value)
    return reduce_axis(
        machine, op.kind.data, type, value, LANE_AXIS, is_signed=is_signed
    )


@implements(simt.ViewElementsOp)
def view_elements(
    machine: Machine, op: simt.ViewElementsOp, memory: MemRef, *positions: Array
) -> MemRef:
    """Give the memory as elements of another type, from a position on."""
    type = memref_type(op.result.type)
    found = in_elements(memory, type.element_type)
    offset, strides = found.offset, found.strides
    for at, stride in zip(positions, strides[:-1], strict=True):
        offset = offset + at * stride
    sizes, kept = with_dynamic(type.get_shape()), (*strides[-3:-2], strides[-1])
    return MemRef(found.buffer, found.element_type, offset, sizes, kept)


@implements(simt.AddressOfOp)
def address_of(machine: Machine, op: simt.AddressOfOp, memory: MemRef) -> Array:
    return address(machine, memory)


def address(machine: Machine, memory: MemRef) -> Array:
    """Return the address of the first element of a memref, in bytes."""
    size = memory_dtype(memory.element_type).itemsize
    return addressed(memory, machine.space).offset * size


@implements(simt.MemoryAtOp)
def memory_at(machine: Machine, op: simt.MemoryAtOp, address: Array) -> MemRef:
    element = memref_type(op.result.type).element_type
    check_address(machine, address, element)
    space = replace(machine.space, start=address)
    return MemRef(space, element, number(0), (), ())


def check_address(machine: Machine, address: Array, element: Attribute) -> None:
    """Check the address of an element.

    Raises:
        UndefinedBehaviour: it is not aligned.
    """
    size = memory_dtype(element).itemsize
    wrong = address % size != 0
    machine.refuse(wrong, f"expected an address that is a multiple of {size}", address)


@implements(simt.BlockReadOp)
def block_read(
    machine: Machine, op: simt.BlockReadOp, memory: MemRef, *positions: Array
) -> Array:
    coordinates, active = _block(machine, op.result, positions)
    return machine.load(memory, coordinates, active)


@implements(simt.BlockWriteOp)
def block_write(
    machine: Machine,
    op: simt.BlockWriteOp,
    value: Array,
    memory: MemRef,
    *positions: Array,
) -> None:
    coordinates, active = _block(machine, op.value, positions)
    machine.store(memory, coordinates, value, active)


def _block(
    machine: Machine, value: SSAValue, positions: Sequence[Array]
) -> tuple[list[Array], Array | None]:
    """Return the coordinates of a block access, and who is active.

    Raises:
        UndefinedBehaviour: lanes are not all active or give different positions.
    """
    machine.uniform_mask(LANE_AXIS)
    starts = [
        machine.agreed(x, "the position of a block", LANE_AXIS) for x in positions
    ]
    shape = shape_of(value.type)
    axes, count = len(shape), prod(shape)
    step = np.arange(count, dtype=np.int64) if axes else np.int64(0)
    lanes = trailing(machine.lane, axes) + step * machine.launch.subgroup_size
    *outer, last = (trailing(x, axes) for x in starts)
    return [*outer, last + lanes], machine.active(axes)


@implements(simt.CompareExchangeOp)
def compare_exchange(
    machine: Machine,
    op: simt.CompareExchangeOp,
    expected: Array,
    value: Array,
    memory: MemRef,
    *indices: Array,
) -> Array:
    """Replace an element that is equal bit for bit, once for each work-item."""
    pairs, replaced = replacement(machine, op.result.type, expected, value)
    mask, shape = machine.mask, machine.shape
    old = machine.update(memory, indices, pairs, mask, replaced, shape)
    acquire(machine, op, memory)
    return old


def replacement(
    machine: Machine, type: Attribute, expected: Array, value: Array
) -> tuple[Array, Callable[[Array, Array], Array]]:
    """Return pairs of numbers, and what updates memory by one of them."""
    shape = np.broadcast_shapes(expected.shape, value.shape)
    pairs = np.empty(shape, [("if", expected.dtype), ("then", value.dtype)])
    pairs["if"], pairs["then"] = expected, value
    number = IntegerType(bits_of(type))

    def bits(x: Array) -> Array:
        return machine.numerics.bitcast(x, type, number) if is_float(type) else x

    def replaced(old: Array, pair: Array) -> Array:
        return np.where(bits(old) == bits(pair["if"]), pair["then"], old)

    return pairs, replaced
