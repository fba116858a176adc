"""Simulation of `vector`: loads, stores and transfers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import vector
from xdsl.dialects.builtin import BoolAttr, IntegerAttr
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Operation
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr
from xdsl.utils.hints import isa

from coopc.sim.errors import SimulationError
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import MemRef, check_aligned
from coopc.sim.values import AXES, Array, choose, shape_of, trailing

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
