"""Simulation of `tensor` and `bufferization`: values of arrays, by one work-item."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import bufferization, tensor
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Region

from coopc.dialects.narrow import as_tensor, kept_dimensions, memref_type
from coopc.dialects.tensor_forms import GenerateOp, ParallelInsertSliceOp
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import end_region, forward, implements, run_region
from coopc.sim.machine import WORK_ITEM, Machine
from coopc.sim.memory import MemRef, shape_in, whole, with_dynamic
from coopc.sim.memref import mixed, reassociated
from coopc.sim.values import AXES, Array, components, number

SliceOp = tensor.ExtractSliceOp | tensor.InsertSliceOp | ParallelInsertSliceOp
FIRST = (0,) * AXES
LEADING = (1,) * AXES

implements(tensor.CastOp)(forward)
implements(tensor.YieldOp)(end_region)


def sizes_of(type: Attribute, dynamic: Sequence[Array]) -> tuple[int, ...]:
    found = with_dynamic(as_tensor(type).get_shape(), dynamic)
    return tuple(int(size.flat[0]) for size in found)


@implements(tensor.DimOp)
def dim(machine: Machine, op: tensor.DimOp, value: Array, index: Array) -> Array:
    machine.refuse(
        (index < 0) | (index >= value.ndim - AXES), "expected a dimension", index
    )
    return number(shape_in(value)[int(index.flat[0])])


@implements(tensor.EmptyOp)
def empty(machine: Machine, op: tensor.EmptyOp, *sizes: Array) -> Array:
    return _poison(machine, op.tensor.type, sizes)


def _poison(machine: Machine, type: Attribute, sizes: Sequence[Array]) -> Array:
    poison = machine.numerics.poison(as_tensor(type).get_element_type())
    return np.full((*LEADING, *sizes_of(type, sizes)), poison.flat[0], poison.dtype)


@implements(tensor.SplatOp)
def splat(machine: Machine, op: tensor.SplatOp, value: Array, *sizes: Array) -> Array:
    return np.full((*LEADING, *sizes_of(op.result.type, sizes)), value.flat[0])


@implements(tensor.FromElementsOp)
def from_elements(machine: Machine, op: tensor.FromElementsOp, *x: Array) -> Array:
    shape = as_tensor(op.result.type).get_shape()
    return np.concatenate([each.reshape(1) for each in x]).reshape(*LEADING, *shape)


@implements(tensor.ConcatOp)
def concat(machine: Machine, op: tensor.ConcatOp, *parts: Array) -> Array:
    return np.concatenate(parts, op.dim.value.data + AXES)


def place_in(
    machine: Machine, value: Array, indices: Sequence[Array]
) -> tuple[Any, ...]:
    """Return where elements of a tensor are.

    Raises:
        UndefinedBehaviour: some are outside.
    """
    for dimension, (index, size) in enumerate(
        zip(indices, shape_in(value), strict=True)
    ):
        what = f"expected an index below {size} in dimension {dimension} of a tensor"
        machine.refuse((index < 0) | (index >= size), what, index)
    return FIRST + tuple(np.broadcast_arrays(*indices)) if indices else (...,)


@implements(tensor.ExtractOp)
def extract(
    machine: Machine, op: tensor.ExtractOp, value: Array, *indices: Array
) -> Array:
    return value[place_in(machine, value, indices)]


@implements(tensor.InsertOp)
def insert(
    machine: Machine, op: tensor.InsertOp, element: Array, value: Array, *indices: Array
) -> Array:
    found = value.copy()
    found[place_in(machine, value, indices)] = element
    return found


def chosen(
    machine: Machine, op: SliceOp, value: Array, rest: Sequence[Array]
) -> tuple[slice, ...]:
    """Return which part of a tensor an operation names."""
    static = op.static_offsets, op.static_sizes, op.static_strides
    lists = [[int(x.flat[0]) for x in each] for each in mixed(rest, static)]
    slices: list[slice] = []
    for offset, size, stride, whole_size in zip(*lists, shape_in(value), strict=True):
        last = offset + (size - 1) * stride
        wrong = size < 0 or (size > 0 and not (offset >= 0 and last < whole_size))
        reason = f"expected a part of a tensor of {whole_size}, got {offset} to {last}"
        machine.refuse(np.full(LEADING, wrong), reason)
        slices.append(slice(offset, offset + size * stride, stride))
    return tuple(slices)


@implements(tensor.ExtractSliceOp)
def extract_slice(
    machine: Machine, op: tensor.ExtractSliceOp, value: Array, *rest: Array
) -> Array:
    part = value[(..., *chosen(machine, op, value, rest))]
    shape = shape_in(part)
    kept = kept_dimensions(op.static_sizes.get_values(), op.result.type.get_shape())
    return part.reshape(*LEADING, *(shape[at] for at in kept))


@implements(tensor.InsertSliceOp)
def insert_slice(
    machine: Machine,
    op: tensor.InsertSliceOp | ParallelInsertSliceOp,
    part: Array,
    value: Array,
    *rest: Array,
) -> Array:
    found = value.copy()
    where = (..., *chosen(machine, op, value, rest))
    found[where] = in_shape(part, found[where].shape)
    return found


def in_shape(value: Array, shape: tuple[int, ...]) -> Array:
    """Return the elements of a tensor in another shape.

    Raises:
        UndefinedBehaviour: these are not as many.
    """
    if value.size != prod(shape):
        sizes = "x".join(map(str, shape[AXES:]))
        raise UndefinedBehaviour(f"expected {sizes or 1} elements, got {value.size}")
    return value.reshape(shape)


@implements(tensor.CollapseShapeOp)
def collapse_shape(machine: Machine, op: tensor.CollapseShapeOp, value: Array) -> Array:
    shape = shape_in(value)
    sizes = [prod(shape[at] for at in group) for group in reassociated(op)]
    return value.reshape(*LEADING, *sizes)


@implements(tensor.ExpandShapeOp)
def expand_shape(
    machine: Machine, op: tensor.ExpandShapeOp, value: Array, *dynamic: Array
) -> Array:
    sizes = with_dynamic(op.static_output_shape.get_values(), dynamic)
    return in_shape(value, (*LEADING, *(int(size.flat[0]) for size in sizes)))


@implements(tensor.ReshapeOp)
def reshape(
    machine: Machine, op: tensor.ReshapeOp, value: Array, sizes: Array
) -> Array:
    return in_shape(value, (*LEADING, *(int(size) for size in sizes.flat)))


@implements(GenerateOp)
def generate(machine: Machine, op: GenerateOp, *sizes: Array) -> Array:
    return _generated(machine, op.body, sizes_of(op.result.type, sizes))


def _generated(machine: Machine, body: Region, shape: Sequence[int]) -> Array:
    """Return a tensor of what a region computes of the indices."""
    grid = [x.reshape(1, 1, -1) for x in np.indices(shape, dtype=np.int64)]
    (found,) = run_region(machine, body, *grid)
    found = np.broadcast_to(found, (1, 1, prod(shape)))
    return found.reshape(*LEADING, *shape).copy()


@implements(tensor.PadOp)
def pad(machine: Machine, op: tensor.PadOp, value: Array, *rest: Array) -> Array:
    """Put a number around, or cut off; the region may compute it of the indices."""
    dynamic = iter(rest)
    low, high = (
        [int(x.flat[0]) for x in with_dynamic(each.get_values(), dynamic)]
        for each in (op.static_low, op.static_high)
    )
    inside = shape_in(value)
    shape = [a + n + b for a, n, b in zip(low, inside, high, strict=True)]
    if min(shape, default=0) < 0:
        raise UndefinedBehaviour(f"expected sizes that are not negative, got {shape}")
    found = _generated(machine, op.region, shape)
    edges = list(zip(low, inside, shape, strict=True))
    to = (slice(max(a, 0), max(min(a + n, size), 0)) for a, n, size in edges)
    of = (slice(max(-a, 0), max(min(n, size - a), 0)) for a, n, size in edges)
    found[(..., *to)] = value[(..., *of)]
    return found


def load_all(machine: Machine, memory: MemRef) -> Array:
    return machine.load(memory, components(shape_in(memory)), None)


def store_all(machine: Machine, memory: MemRef, values: Array) -> None:
    if (found := shape_in(values)) != (shape := shape_in(memory)):
        wanted, got = ("x".join(map(str, x)) or "1" for x in (shape, found))
        raise UndefinedBehaviour(f"expected {wanted} elements for {memory}, got {got}")
    machine.store(memory, components(shape), values, None)


@implements(bufferization.ToTensorOp)
def to_tensor(machine: Machine, op: bufferization.ToTensorOp, memory: MemRef) -> Array:
    return load_all(machine, memory)


@implements(bufferization.ToBufferOp, bufferization.CloneOp)
def to_buffer(
    machine: Machine,
    op: bufferization.ToBufferOp | bufferization.CloneOp,
    value: Array | MemRef,
) -> MemRef:
    """Give new memory, without gaps, with the elements."""
    if isinstance(value, MemRef):
        value = load_all(machine, value)
    type = memref_type(op.results[0])
    plain = MemRefType(type.get_element_type(), type.shape)
    buffer = machine.allocate(WORK_ITEM, value.size, plain, str(type))
    found = whole(buffer, plain, tuple(map(number, shape_in(value))))
    store_all(machine, found, value)
    return found


@implements(bufferization.MaterializeInDestinationOp)
def materialize(
    machine: Machine,
    op: bufferization.MaterializeInDestinationOp,
    value: Array,
    target: MemRef | Array,
) -> Array | None:
    if not isinstance(target, MemRef):
        return value
    store_all(machine, target, value)
    return None


@implements(bufferization.AllocTensorOp)
def alloc_tensor(
    machine: Machine, op: bufferization.AllocTensorOp, *rest: Array
) -> Array:
    if op.copy is not None:
        return rest[0]
    return _poison(machine, op.tensor.type, rest[: len(op.dynamic_sizes)])
