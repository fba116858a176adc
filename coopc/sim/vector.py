"""Simulation of `vector`: vectors of each lane, behind the axes of all values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.dialects import vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, IntegerAttr, IntegerType
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr
from xdsl.utils.hints import isa

from coopc.sim.arith import element_type, float_function
from coopc.sim.atomic import combination
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import MemRef, check_aligned
from coopc.sim.numerics import Numerics
from coopc.sim.values import (
    AXES,
    Array,
    bits_of,
    choose,
    shape_of,
    trailing,
    unsigned,
    wrapped,
)

_KINDS: dict[CombiningKindFlag, tuple[str, bool]] = {
    CombiningKindFlag.ADD: ("add", True),
    CombiningKindFlag.MUL: ("mul", True),
    CombiningKindFlag.MINUI: ("min", False),
    CombiningKindFlag.MINSI: ("min", True),
    CombiningKindFlag.MINNUMF: ("minnum", True),
    CombiningKindFlag.MAXUI: ("max", False),
    CombiningKindFlag.MAXSI: ("max", True),
    CombiningKindFlag.MAXNUMF: ("maxnum", True),
    CombiningKindFlag.AND: ("and", True),
    CombiningKindFlag.OR: ("or", True),
    CombiningKindFlag.XOR: ("xor", True),
    CombiningKindFlag.MAXIMUMF: ("maximum", True),
    CombiningKindFlag.MINIMUMF: ("minimum", True),
}


@register_impls
class VectorFunctions(SimulatorFunctions):
    """Operations on values; those on memory are in `vector_memory`."""

    fma = float_function(vector.FMAOp, "fma")

    @impl(vector.BroadcastOp)
    def broadcast(
        self, interpreter: Interpreter, op: vector.BroadcastOp, args: PythonValues
    ) -> PythonValues:
        """Repeat a number or a vector along leading dimensions, and those of size 1."""
        (value,) = args
        lead, own = value.shape[:AXES], value.shape[AXES:]
        shape = shape_of(op.vector.type)
        spread = value.reshape(lead + (1,) * (len(shape) - len(own)) + own)
        return (np.broadcast_to(spread, lead + shape),)

    @impl(vector.ExtractOp)
    def extract(
        self, interpreter: Interpreter, op: vector.ExtractOp, args: PythonValues
    ) -> PythonValues:
        """Take a number or a part from a vector."""
        value, *dynamic = interpreter.get_values((op.vector, *op.dynamic_position))
        static = op.static_position.get_values()
        if DYNAMIC_INDEX not in static:
            return (value[(..., *static, *_rest(value, len(static)))],)
        positions = self._positions(value, static, iter(dynamic))
        return (value[(*_leading(value.shape), *positions)],)

    @impl(vector.InsertOp)
    def insert(
        self, interpreter: Interpreter, op: vector.InsertOp, args: PythonValues
    ) -> PythonValues:
        """Replace a number or a part of a vector."""
        operands = (op.source, op.dest, *op.dynamic_position)
        source, dest, *dynamic = interpreter.get_values(operands)
        static = op.static_position.get_values()
        positions = self._positions(dest, static, iter(dynamic))
        shapes = (source.shape[:AXES], dest.shape[:AXES], *(x.shape for x in positions))
        lead = np.broadcast_shapes(*shapes)
        own = dest.shape[AXES:]
        found = np.array(np.broadcast_to(dest, lead + own))
        part = np.broadcast_to(source, lead + own[len(static) :])
        found[(*_leading(found.shape), *positions)] = part
        return (found,)

    def _positions(
        self, value: Array, static: Sequence[int], dynamic: Iterator[Array]
    ) -> list[Array]:
        """Return the positions in a vector for each work-item.

        Raises:
            UndefinedBehaviour: one is outside.
        """
        found: list[Array] = []
        for axis, position in enumerate(static):
            if position != DYNAMIC_INDEX:
                found.append(np.full((1,) * AXES, position))
                continue
            given, size = next(dynamic), value.shape[AXES + axis]
            wrong = (given < 0) | (given >= size)
            mask = self.machine.mask
            if (wrong if mask is None else wrong & mask).any():
                raise UndefinedBehaviour(
                    f"expected a position below {size}, got {given[wrong].flat[0]}"
                )
            found.append(np.where(wrong, 0, given))
        return found

    @impl(vector.ShuffleOp)
    def shuffle(
        self, interpreter: Interpreter, op: vector.ShuffleOp, args: PythonValues
    ) -> PythonValues:
        """Take parts of two vectors by number; -1 is poison."""
        if not shape_of(op.v1.type):
            args = tuple(trailing(x, 1) for x in args)
        lead = np.broadcast_shapes(*(x.shape[:AXES] for x in args))
        x, y = (np.broadcast_to(v, lead + v.shape[AXES:]) for v in args)
        mask = np.array(op.mask.get_values(), dtype=np.int64)
        found = np.concatenate((x, y), AXES).take(np.maximum(mask, 0), AXES)
        if (mask >= 0).all():
            return (found,)
        poison = self.machine.numerics.poison(element_type(op.result))
        chosen = trailing(mask < 0, found.ndim - AXES - 1)
        return (np.where(chosen, poison, found),)

    @impl(vector.CreateMaskOp)
    def create_mask(
        self, interpreter: Interpreter, op: vector.CreateMaskOp, args: PythonValues
    ) -> PythonValues:
        """Give 1 before a size in each dimension."""
        shape = shape_of(op.mask_vector.type)
        found = np.ones((1,) * AXES + shape, dtype=np.bool_)
        for axis, size in enumerate(args):
            count = np.arange(shape[axis], dtype=np.int64)
            count = count.reshape([-1 if x == axis else 1 for x in range(len(shape))])
            found = found & (count < trailing(size, len(shape)))
        return (found,)

    @impl(vector.ReductionOp)
    def reduction(
        self, interpreter: Interpreter, op: vector.ReductionOp, args: PythonValues
    ) -> PythonValues:
        """Reduce a vector, one component after the other, from `acc` on."""
        value, *start = interpreter.get_values(op.operands)
        type = element_type(op.dest)
        combine = combination(self.machine.numerics, *_KINDS[op.kind.data], type)
        parts = [value[..., n] for n in range(value.shape[-1])]
        found = start[0] if start else parts.pop(0)
        for part in parts:
            found = combine(found, part)
        return (found,)

    @impl(vector.BitcastOp)
    def bitcast(
        self, interpreter: Interpreter, op: vector.BitcastOp, args: PythonValues
    ) -> PythonValues:
        """Take the bits of the last dimension as another type, lowest bits first."""
        source, result = element_type(op.source), element_type(op.result)
        return (recast(self.machine.numerics, args[0], source, result),)


def recast(
    numerics: Numerics, value: Array, source: Attribute, result: Attribute
) -> Array:
    """Return vectors of another element type, with all bits of their last dimension."""
    if bits_of(source) == bits_of(result):
        return numerics.bitcast(value, source, result)
    width = bits_of(result)
    bits = _to_bits(numerics, value, source)
    grouped = bits.reshape(*bits.shape[:-1], -1, width)
    weights = np.uint64(1) << np.arange(width, dtype=np.uint64)
    whole = (grouped * weights).sum(axis=-1, dtype=np.uint64)
    signless = wrapped(whole, IntegerType(width))
    return numerics.bitcast(signless, IntegerType(width), result)


def _to_bits(numerics: Numerics, value: Array, type: Attribute) -> Array:
    """Return all bits of the last dimension in a row, as numbers 0 and 1."""
    width = bits_of(type)
    integer = IntegerType(width)
    plain = numerics.bitcast(value, type, integer)
    whole = unsigned(plain, integer).astype(np.uint64)
    shifts = np.arange(width, dtype=np.uint64)
    bits = (whole[..., None] >> shifts) & np.uint64(1)
    return bits.reshape(*value.shape[:-1], -1)


def _rest(value: Array, positions: int) -> tuple[slice, ...]:
    """Return slices for the dimensions behind some positions."""
    return (slice(None),) * (value.ndim - AXES - positions)


def _leading(shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Return indices of the three leading axes, to index together with others."""
    return tuple(
        np.arange(size, dtype=np.int64).reshape(
            [-1 if each == axis else 1 for each in range(AXES)]
        )
        for axis, size in enumerate(shape[:AXES])
    )


# Simulation of `vector`: loads, stores and transfers.

ALIGNMENT = "alignment"
"""On a load or a store: bytes that divide the address of its first element."""


def component(shape: tuple[int, ...], axis: int) -> Array:
    """Return the position of each component of vectors along one of their axes."""
    sizes = [-1 if each == axis else 1 for each in range(len(shape))]
    steps = np.arange(shape[axis], dtype=np.int64)
    return steps.reshape((1,) * AXES + tuple(sizes))


def consecutive(indices: Sequence[Array], shape: tuple[int, ...]) -> list[Array]:
    """Return the coordinates of a vector that starts at some indices."""
    axes = len(shape)
    found = [trailing(index, axes) for index in indices]
    for axis in range(axes):
        found[axis - axes] = found[axis - axes] + component(shape, axis)
    return found


@register_impls
class VectorMemoryFunctions(SimulatorFunctions):
    """Vectors in memory: along the last dimensions of the memref."""

    def _active(self, axes: int) -> Array | None:
        """Return who is active, with axes of a vector."""
        mask = self.machine.mask
        return None if mask is None else trailing(mask, axes)

    def _check_aligned(
        self, op: Operation, memory: MemRef, indices: Sequence[Array]
    ) -> None:
        """Check the address of the first element, if the operation says something."""
        aligned = op.attributes.get(ALIGNMENT, op.properties.get(ALIGNMENT))
        if isinstance(aligned, IntegerAttr):
            check_aligned(memory, indices, self.machine.mask, aligned.value.data)

    @impl(vector.LoadOp)
    def load(
        self, interpreter: Interpreter, op: vector.LoadOp, args: PythonValues
    ) -> PythonValues:
        """Read a vector."""
        memory, *indices = interpreter.get_values((op.base, *op.indices))
        shape = shape_of(op.result.type)
        where = consecutive(indices, shape)
        self._check_aligned(op, memory, indices)
        return (self.machine.load(memory, where, self._active(len(shape))),)

    @impl(vector.StoreOp)
    def store(
        self, interpreter: Interpreter, op: vector.StoreOp, args: PythonValues
    ) -> PythonValues:
        """Write a vector."""
        operands = (op.vector, op.base, *op.indices)
        value, memory, *indices = interpreter.get_values(operands)
        shape = shape_of(op.vector.type)
        where = consecutive(indices, shape)
        self._check_aligned(op, memory, indices)
        self.machine.store(memory, where, value, self._active(len(shape)))
        return ()

    @impl(vector.MaskedLoadOp)
    def maskedload(
        self, interpreter: Interpreter, op: vector.MaskedLoadOp, args: PythonValues
    ) -> PythonValues:
        """Read the components that a mask allows."""
        operands = (op.mask, op.pass_thru, op.base, *op.indices)
        mask, rest, memory, *indices = interpreter.get_values(operands)
        shape = shape_of(op.result.type)
        active = self._active(1)
        allowed = mask if active is None else mask & active
        found = self.machine.load(memory, consecutive(indices, shape), allowed)
        return (choose(mask, found, rest),)

    @impl(vector.MaskedStoreOp)
    def maskedstore(
        self, interpreter: Interpreter, op: vector.MaskedStoreOp, args: PythonValues
    ) -> PythonValues:
        """Write the components that a mask allows."""
        operands = (op.mask, op.value_to_store, op.base, *op.indices)
        mask, value, memory, *indices = interpreter.get_values(operands)
        where = consecutive(indices, shape_of(op.value_to_store.type))
        active = self._active(1)
        allowed = mask if active is None else mask & active
        self.machine.store(memory, where, value, allowed)
        return ()

    @impl(vector.TransferReadOp)
    def transfer_read(
        self, interpreter: Interpreter, op: vector.TransferReadOp, args: PythonValues
    ) -> PythonValues:
        """Read a vector; what is outside or masked is the padding."""
        operands = (op.source, op.padding, *op.indices)
        memory, padding, *indices = interpreter.get_values(operands)
        shape = shape_of(op.result.type)
        where, allowed = self._transfer(interpreter, op, memory, indices, shape)
        found = self.machine.load(memory, where, allowed)
        if allowed is None:
            return (np.broadcast_to(found, found.shape[:AXES] + shape),)
        found = choose(allowed, found, trailing(padding, len(shape)))
        return (np.broadcast_to(found, found.shape[:AXES] + shape),)

    @impl(vector.TransferWriteOp)
    def transfer_write(
        self, interpreter: Interpreter, op: vector.TransferWriteOp, args: PythonValues
    ) -> PythonValues:
        """Write a vector; what is outside or masked is not written."""
        operands = (op.vector, op.source, *op.indices)
        value, memory, *indices = interpreter.get_values(operands)
        shape = shape_of(op.vector.type)
        where, allowed = self._transfer(interpreter, op, memory, indices, shape)
        self.machine.store(memory, where, value, allowed)
        return ()

    def _transfer(
        self,
        interpreter: Interpreter,
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
        allowed = self._active(axes)
        bounds = [isa(x, BoolAttr) and bool(x.value.data) for x in op.in_bounds]
        dimensions: list[int] = []
        for axis, expr in enumerate(op.permutation_map.data.results):
            if isinstance(expr, AffineConstantExpr):
                continue
            assert isinstance(expr, AffineDimExpr), expr
            place = expr.position
            dimensions.append(place)
            where[place] = where[place] + component(shape, axis)
            if not bounds[axis]:
                size = trailing(memory.sizes[place], axes)
                inside = (where[place] >= 0) & (where[place] < size)
                allowed = inside if allowed is None else allowed & inside
        if op.mask is None:
            return where, allowed
        if dimensions != list(range(len(indices) - axes, len(indices))):
            raise SimulationError("no simulation of a mask and a permutation")
        (mask,) = interpreter.get_values((op.mask,))
        return where, mask if allowed is None else allowed & mask
