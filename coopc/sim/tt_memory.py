"""Simulation of `tt`: memory through pointers and descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.dialects import tt
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.enums import Padding
from coopc.dialects.tt.names import block_io
from coopc.dialects.tt.types import TensorDescType, shape_of
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import MemRef
from coopc.sim.tt import moved
from coopc.sim.values import AXES, Array, trailing


@dataclass(frozen=True, eq=False, slots=True)
class Descriptor:
    """A tensor in memory."""

    base: MemRef
    shape: tuple[Array, ...]
    """In elements, as the strides."""
    strides: tuple[Array, ...]
    padding: Padding
    """What is read outside."""


@register_impls
class TtMemoryFunctions(SimulatorFunctions):
    """Loads and stores of tensors."""

    @impl(tt.LoadOp)
    def load(
        self, interpreter: Interpreter, op: tt.LoadOp, args: PythonValues
    ) -> PythonValues:
        """Read where the mask is true."""
        pointer, mask, other = (*args, None, None)[:3]
        assert isinstance(pointer, MemRef), pointer
        found = self.machine.load(pointer, (), mask)
        if mask is None or other is None:
            return (found,)
        return (np.where(mask, found, other),)

    @impl(tt.StoreOp)
    def store(
        self, interpreter: Interpreter, op: tt.StoreOp, args: PythonValues
    ) -> PythonValues:
        """Write where the mask is true."""
        pointer, value, *masks = args
        assert isinstance(pointer, MemRef), pointer
        mask = masks[0] if masks else None
        self.machine.store(pointer, (), value, mask)
        return ()

    @impl(tt.MakeTensorDescriptorOp)
    def make_descriptor(
        self,
        interpreter: Interpreter,
        op: tt.MakeTensorDescriptorOp,
        args: PythonValues,
    ) -> PythonValues:
        """Keep what describes a tensor."""
        base, *rest = args
        rank = len(rest) // 2
        sizes = tuple(x.astype(np.int64) for x in rest)
        return (Descriptor(base, sizes[:rank], sizes[rank:], op.padding_option),)

    @impl(tt.DescriptorLoadOp)
    def descriptor_load(
        self, interpreter: Interpreter, op: tt.DescriptorLoadOp, args: PythonValues
    ) -> PythonValues:
        """Read a block; outside of the tensor is zero, or NaN."""
        descriptor, *indices = args
        pointers, inside = block(descriptor, op.desc.type, indices)
        found = self.machine.load(pointers, (), inside)
        if descriptor.padding is Padding.NAN:
            element = element_of(op.result.type)
            nan = self.machine.numerics.constant(float("nan"), element)
            found = np.where(inside, found, nan)
        if block_io(op) == "column_major":
            found = found.swapaxes(-1, -2)
        shape = found.shape[:AXES] + shape_of(op.result.type)
        return (found.reshape(shape),)

    @impl(tt.DescriptorStoreOp)
    def descriptor_store(
        self, interpreter: Interpreter, op: tt.DescriptorStoreOp, args: PythonValues
    ) -> PythonValues:
        """Write what is inside of the tensor."""
        descriptor, value, *indices = args
        if block_io(op) == "column_major":
            value = value.swapaxes(-1, -2)
        pointers, inside = block(descriptor, op.desc.type, indices)
        value = value.reshape(value.shape[:AXES] + inside.shape[AXES:])
        self.machine.store(pointers, (), value, inside)
        return ()


def block(
    descriptor: Descriptor, type: object, indices: Sequence[Array]
) -> tuple[MemRef, Array]:
    """Return pointers to a block, and which of them are inside of the tensor."""
    assert isinstance(type, TensorDescType), type
    shape = type.shape
    rank = len(shape)
    offset = trailing(descriptor.base.offset, rank)
    inside = np.ones((1,) * (AXES + rank), np.bool_)
    for axis, size in enumerate(shape):
        steps = np.arange(size).reshape([-1 if x == axis else 1 for x in range(rank)])
        place = trailing(indices[axis].astype(np.int64), rank) + steps
        limit = trailing(descriptor.shape[axis], rank)
        inside = inside & (place >= 0) & (place < limit)
        offset = offset + place * trailing(descriptor.strides[axis], rank)
    inside = np.broadcast_to(inside, np.broadcast_shapes(inside.shape, offset.shape))
    return moved(descriptor.base, offset), inside
