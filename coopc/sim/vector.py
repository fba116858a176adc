"""Simulation of `vector`: vectors of each lane, behind the axes of all values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.dialects import vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr
from xdsl.utils.hints import isa

from coopc.dialects import simt
from coopc.sim.arith import element_type, function_of, reduce_axis
from coopc.sim.errors import SimulationError
from coopc.sim.interpreter import implements
from coopc.sim.machine import Machine
from coopc.sim.memory import MemRef, check_aligned
from coopc.sim.numerics import Numerics
from coopc.sim.values import (
    AXES,
    Array,
    bits_of,
    components,
    leading,
    number,
    shape_of,
    trailing,
    unsigned,
    with_steps,
    wrapped,
)


@implements(vector.BroadcastOp)
def broadcast(machine: Machine, op: vector.BroadcastOp, value: Array) -> Array:
    """Repeat a number or a vector along leading dimensions, and those of size 1."""
    lead, own = value.shape[:AXES], value.shape[AXES:]
    shape = shape_of(op.vector.type)
    spread = value.reshape(lead + (1,) * (len(shape) - len(own)) + own)
    return np.broadcast_to(spread, lead + shape)


@implements(vector.ExtractOp)
def extract(
    machine: Machine, op: vector.ExtractOp, value: Array, *dynamic: Array
) -> Array:
    static = op.static_position.get_values()
    if DYNAMIC_INDEX not in static:
        rest = (slice(None),) * (value.ndim - AXES - len(static))
        return value[(..., *static, *rest)]
    positions = _positions(machine, value, static, iter(dynamic))
    return value[(*leading(value), *positions)]


@implements(vector.InsertOp)
def insert(
    machine: Machine, op: vector.InsertOp, source: Array, dest: Array, *dynamic: Array
) -> Array:
    static = op.static_position.get_values()
    positions = _positions(machine, dest, static, iter(dynamic))
    lead = np.broadcast_shapes(*(x.shape[:AXES] for x in (source, dest, *positions)))
    own = dest.shape[AXES:]
    found = np.array(np.broadcast_to(dest, lead + own))
    part = np.broadcast_to(source, lead + own[len(static) :])
    found[(*leading(found), *positions)] = part
    return found


def _positions(
    machine: Machine, value: Array, static: Sequence[int], dynamic: Iterator[Array]
) -> list[Array]:
    """Return the positions in a vector for each work-item.

    Raises:
        UndefinedBehaviour: one is outside.
    """
    found: list[Array] = []
    for axis, position in enumerate(static):
        if position != DYNAMIC_INDEX:
            found.append(number(position))
            continue
        given, size = next(dynamic), value.shape[AXES + axis]
        wrong = (given < 0) | (given >= size)
        machine.refuse(wrong, f"expected a position below {size}", given)
        found.append(np.where(wrong, 0, given))
    return found


@implements(vector.ShuffleOp)
def shuffle(machine: Machine, op: vector.ShuffleOp, *args: Array) -> Array:
    """Take parts of two vectors by number; -1 is poison."""
    if not shape_of(op.v1.type):
        args = tuple(trailing(x, 1) for x in args)
    lead = np.broadcast_shapes(*(x.shape[:AXES] for x in args))
    both = [np.broadcast_to(x, lead + x.shape[AXES:]) for x in args]
    mask = np.array(op.mask.get_values(), dtype=np.int64)
    found = np.concatenate(both, AXES).take(np.maximum(mask, 0), AXES)
    if (mask >= 0).all():
        return found
    poison = machine.numerics.poison(element_type(op.result))
    chosen = trailing(mask < 0, found.ndim - AXES - 1)
    return np.where(chosen, poison, found)


@implements(vector.CreateMaskOp)
def create_mask(machine: Machine, op: vector.CreateMaskOp, *sizes: Array) -> Array:
    shape = shape_of(op.mask_vector.type)
    found = np.ones((1,) * AXES + shape, dtype=np.bool_)
    for step, size in zip(components(shape), sizes, strict=True):
        found = found & (step < trailing(size, len(shape)))
    return found


@implements(vector.ReductionOp)
def reduction(
    machine: Machine, op: vector.ReductionOp, value: Array, *start: Array
) -> Array:
    """Reduce a vector, one component after the other, from `acc` on."""
    name, is_signed = function_of(op.kind.data)
    first = (trailing(x, 1) for x in start)
    found = reduce_axis(
        machine, name, element_type(op.dest), value, AXES, *first, is_signed=is_signed
    )
    return found[..., 0]


@implements(vector.BitcastOp)
def bitcast(machine: Machine, op: vector.BitcastOp, value: Array) -> Array:
    """Take the bits of the last dimension as another type, lowest bits first."""
    source, result = element_type(op.source), element_type(op.result)
    return recast(machine.numerics, value, source, result)


def recast(
    numerics: Numerics, value: Array, source: Attribute, result: Attribute
) -> Array:
    """Return vectors of another element type, with all bits of their last dimension."""
    if bits_of(source) == bits_of(result):
        return numerics.bitcast(value, source, result)
    before, after = IntegerType(bits_of(source)), IntegerType(bits_of(result))
    integers = unsigned(numerics.bitcast(value, source, before), before)
    shifts = np.arange(before.bitwidth, dtype=np.uint64)
    bits = (integers.astype(np.uint64)[..., None] >> shifts) & np.uint64(1)
    grouped = bits.reshape(*value.shape[:-1], -1, after.bitwidth)
    weights = np.uint64(1) << np.arange(after.bitwidth, dtype=np.uint64)
    whole = (grouped * weights).sum(axis=-1, dtype=np.uint64)
    return numerics.bitcast(wrapped(whole, after), after, result)


# Memory: vectors lie along the last dimensions of the memref.


def _check_aligned(
    machine: Machine, op: Operation, memory: MemRef, indices: Sequence[Array]
) -> None:
    aligned = op.attributes.get(simt.ALIGNMENT, op.properties.get(simt.ALIGNMENT))
    if isinstance(aligned, IntegerAttr):
        check_aligned(memory, indices, machine.mask, aligned.value.data)


@implements(vector.LoadOp)
def load(machine: Machine, op: vector.LoadOp, memory: MemRef, *indices: Array) -> Array:
    shape = shape_of(op.result.type)
    _check_aligned(machine, op, memory, indices)
    where = with_steps(indices, shape)
    return machine.load(memory, where, machine.active(len(shape)))


@implements(vector.StoreOp)
def store(
    machine: Machine, op: vector.StoreOp, value: Array, memory: MemRef, *indices: Array
) -> None:
    shape = shape_of(op.vector.type)
    _check_aligned(machine, op, memory, indices)
    where = with_steps(indices, shape)
    machine.store(memory, where, value, machine.active(len(shape)))


@implements(vector.MaskedLoadOp)
def maskedload(
    machine: Machine, op: vector.MaskedLoadOp, memory: MemRef, *rest: Array
) -> Array:
    *indices, mask, pass_through = rest
    where = with_steps(indices, shape_of(op.result.type))
    found = machine.load(memory, where, machine.and_active(mask))
    return np.where(mask, found, pass_through)


@implements(vector.MaskedStoreOp)
def maskedstore(
    machine: Machine, op: vector.MaskedStoreOp, memory: MemRef, *rest: Array
) -> None:
    *indices, mask, value = rest
    where = with_steps(indices, shape_of(op.value_to_store.type))
    machine.store(memory, where, value, machine.and_active(mask))


@implements(vector.TransferReadOp)
def transfer_read(
    machine: Machine, op: vector.TransferReadOp, memory: MemRef, *rest: Array
) -> Array:
    """Read a vector; what is outside or masked is the padding."""
    *indices, padding = rest[: len(op.indices) + 1]
    shape = shape_of(op.result.type)
    where, allowed = _transfer(machine, op, memory, indices, shape)
    found = machine.load(memory, where, allowed)
    if allowed is not None:
        found = np.where(allowed, found, trailing(padding, len(shape)))
    return np.broadcast_to(found, found.shape[:AXES] + shape)


@implements(vector.TransferWriteOp)
def transfer_write(
    machine: Machine,
    op: vector.TransferWriteOp,
    value: Array,
    memory: MemRef,
    *rest: Array,
) -> None:
    """Write a vector; what is outside or masked is not written."""
    shape, indices = shape_of(op.vector.type), rest[: len(op.indices)]
    where, allowed = _transfer(machine, op, memory, indices, shape)
    machine.store(memory, where, value, allowed)


def _transfer(
    machine: Machine,
    op: vector.TransferReadOp | vector.TransferWriteOp,
    memory: MemRef,
    indices: Sequence[Array],
    shape: tuple[int, ...],
) -> tuple[list[Array], Array | None]:
    """Return the coordinates of a transfer, and what of it is allowed.

    Raises:
        SimulationError: for masks of transfers that permute.
    """
    axes = len(shape)
    where = [trailing(index, axes) for index in indices]
    allowed = machine.active(axes)
    bounds = [isa(x, BoolAttr) and bool(x.value.data) for x in op.in_bounds]
    dimensions: list[int] = []
    exprs = op.permutation_map.data.results
    for expr, step, is_inside in zip(exprs, components(shape), bounds, strict=True):
        if isinstance(expr, AffineConstantExpr):
            continue
        assert isinstance(expr, AffineDimExpr), expr
        place = expr.position
        dimensions.append(place)
        where[place] = where[place] + step
        if not is_inside:
            size = trailing(memory.sizes[place], axes)
            inside = (where[place] >= 0) & (where[place] < size)
            allowed = inside if allowed is None else allowed & inside
    if op.mask is None:
        return where, allowed
    if dimensions != list(range(len(indices) - axes, len(indices))):
        raise SimulationError("no simulation of a mask and a permutation")
    mask: Array = machine.environment[op.mask]
    return where, mask if allowed is None else allowed & mask
