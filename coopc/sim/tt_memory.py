"""Simulation of `tt`: memory through pointers and descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Attribute

from coopc.dialects import tt, ttig
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.enums import Padding, member
from coopc.dialects.tt.names import block_io
from coopc.dialects.tt.types import TensorDescType, bits_of, shape_of
from coopc.sim.atomic import combination, update
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import MemRef
from coopc.sim.tt import moved
from coopc.sim.values import (
    AXES,
    GROUP_AXIS,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    is_float,
    trailing,
    wrapped,
)

UPDATES: dict[tt.Update, tuple[str, bool]] = {
    tt.Update.AND: ("and", True),
    tt.Update.OR: ("or", True),
    tt.Update.XOR: ("xor", True),
    tt.Update.ADD: ("add", True),
    tt.Update.FADD: ("add", True),
    tt.Update.MAX: ("max", True),
    tt.Update.MIN: ("min", True),
    tt.Update.UMAX: ("max", False),
    tt.Update.UMIN: ("min", False),
    tt.Update.EXCH: ("assign", True),
}
"""What an update does, and whether integers are signed."""


AS_ONE = (GROUP_AXIS, SUBGROUP_AXIS, LANE_AXIS)
"""A program is executed as if by one work-item."""


@dataclass(frozen=True, eq=False, slots=True)
class Descriptor:
    """A tensor in memory."""

    base: MemRef
    shape: tuple[Array, ...]
    """In elements, as the strides."""
    strides: tuple[Array, ...]
    padding: Padding
    """What is read outside."""


@dataclass(frozen=True, eq=False, slots=True)
class BlockPointer:
    """A block of a tensor in memory."""

    tensor: Descriptor
    offsets: tuple[Array, ...]
    """Where the block begins."""
    shape: tuple[int, ...]
    """Of the block."""

    def pointers(self, checked: Sequence[int]) -> tuple[MemRef, Array]:
        """Return pointers to the block, and which of them are inside of the tensor.

        Raises:
            UndefinedBehaviour: some are outside where that is not checked.
        """
        pointers, inside = block(self.tensor, self.shape, self.offsets)
        if not inside.all() and len(checked) < len(self.shape):
            for axis in range(len(self.shape)):
                within = along(self.tensor, self.shape, self.offsets, axis)
                if axis not in checked and not within.all():
                    raise UndefinedBehaviour(
                        f"expected a block that is inside of its tensor along "
                        f"dimension {axis}, which boundaryCheck does not have"
                    )
        return pointers, inside


class WholeMemoryFunctions(SimulatorFunctions):
    """Accesses to many elements at once, by the work-groups that are active."""

    def _load(self, pointers: MemRef, mask: Array | None) -> Array:
        """Read where a mask is true; elsewhere is 0."""
        active = self._active(pointers, mask)
        return self.machine.load(pointers, (), active, AS_ONE)

    def _store(self, pointers: MemRef, value: Array, mask: Array | None) -> None:
        """Write where a mask is true."""
        active = self._active(pointers, mask)
        self.machine.store(pointers, (), value, active, AS_ONE)

    def _active(self, pointers: MemRef, mask: Array | None) -> Array | None:
        """Return where a mask is true in work-groups that are active."""
        if (here := self.machine.mask) is None:
            return mask
        here = trailing(here, pointers.offset.ndim - AXES)
        return here if mask is None else mask & here


@register_impls
class TtMemoryFunctions(WholeMemoryFunctions):
    """Loads and stores of tensors."""

    @impl(tt.LoadOp)
    def load(
        self, interpreter: Interpreter, op: tt.LoadOp, args: PythonValues
    ) -> PythonValues:
        """Read where the mask is true."""
        pointer, mask, other = (*args, None, None)[:3]
        if isinstance(pointer, BlockPointer):
            pointers, inside = pointer.pointers(op.boundary_check.get_values())
            found = self._load(pointers, inside)
            if op.padding_option is Padding.NAN:
                found = self._padded(found, inside, op.result.type)
            return (found,)
        assert isinstance(pointer, MemRef), pointer
        found = self._load(pointer, mask)
        found = self._as(found, pointer.element_type, element_of(op.result.type))
        if mask is None or other is None:
            return (found,)
        return (np.where(mask, found, other),)

    @impl(tt.StoreOp)
    def store(
        self, interpreter: Interpreter, op: tt.StoreOp, args: PythonValues
    ) -> PythonValues:
        """Write where the mask is true."""
        pointer, value, *masks = args
        if isinstance(pointer, BlockPointer):
            pointers, inside = pointer.pointers(op.boundary_check.get_values())
            self._store(pointers, value, inside)
            return ()
        assert isinstance(pointer, MemRef), pointer
        mask = masks[0] if masks else None
        value = self._as(value, element_of(op.value.type), pointer.element_type)
        self._store(pointer, value, mask)
        return ()

    @impl(tt.AtomicRMWOp)
    def atomic_rmw(
        self, interpreter: Interpreter, op: tt.AtomicRMWOp, args: PythonValues
    ) -> PythonValues:
        """Update where the mask is true, one element after the other."""
        pointer, value, *masks = args
        assert isinstance(pointer, MemRef), pointer
        type, kept = element_of(op.result.type), pointer.element_type
        numerics = self.machine.numerics
        mask = self._active(pointer, masks[0] if masks else None)
        combine = combination(numerics, *UPDATES[op.kind], type)
        old = update(
            self.machine,
            pointer,
            (),
            value,
            mask,
            lambda x, y: self._as(combine(self._as(x, kept, type), y), type, kept),
            self.machine.shape[:1] + (1,) * (pointer.offset.ndim - 1),
            AS_ONE,
        )
        if op.order in (tt.Order.ACQUIRE, tt.Order.ACQ_REL):
            self.machine.acquire(pointer.buffer)
        return (self._as(old, kept, type),)

    @impl(tt.AtomicCASOp)
    def atomic_cas(
        self, interpreter: Interpreter, op: tt.AtomicCASOp, args: PythonValues
    ) -> PythonValues:
        """Replace what is equal bit for bit, one element after the other."""
        pointer, expected, value = args
        assert isinstance(pointer, MemRef), pointer
        type, kept = element_of(op.result.type), pointer.element_type
        numerics = self.machine.numerics
        expected, value = (self._as(x, type, kept) for x in (expected, value))
        shape = np.broadcast_shapes(expected.shape, value.shape)
        pairs = np.empty(shape, [("if", expected.dtype), ("then", value.dtype)])
        pairs["if"], pairs["then"] = expected, value

        number = IntegerType(bits_of(kept) or 8)

        def bits(x: Array) -> Array:
            return numerics.bitcast(x, kept, number) if is_float(kept) else x

        def replaced(old: Array, pair: Array) -> Array:
            return np.where(bits(old) == bits(pair["if"]), pair["then"], old)

        mask = self._active(pointer, None)
        executions = self.machine.shape[:1] + (1,) * (pointer.offset.ndim - 1)
        old = update(
            self.machine, pointer, (), pairs, mask, replaced, executions, AS_ONE
        )
        if member(tt.Order, op.sem) in (tt.Order.ACQUIRE, tt.Order.ACQ_REL):
            self.machine.acquire(pointer.buffer)
        return (self._as(old, kept, type),)

    def _as(self, value: Array, source: Attribute, result: Attribute) -> Array:
        """Return what memory holds as what a pointer that was cast points to.

        Raises:
            SimulationError: elements have another width.
        """
        if source == result:
            return value
        widths = [bits_of(x) or 0 for x in (source, result)]
        if widths in ([1, 8], [8, 1]):
            return wrapped(value, result)
        if widths[0] != widths[1]:
            raise SimulationError(
                f"expected elements of {source} through a pointer, got {result}"
            )
        return self.machine.numerics.bitcast(value, source, result)

    def _padded(self, found: Array, inside: Array, type: Attribute) -> Array:
        """Return what was read, and NaN outside."""
        nan = self.machine.numerics.constant(float("nan"), element_of(type))
        return np.where(inside, found, nan)

    @impl(tt.MakeTensorPtrOp)
    def make_block_pointer(
        self, interpreter: Interpreter, op: tt.MakeTensorPtrOp, args: PythonValues
    ) -> PythonValues:
        """Keep what describes a block."""
        base, *rest = args
        rank = len(rest) // 3
        sizes = tuple(x.astype(np.int64) for x in rest)
        tensor = Descriptor(base, sizes[:rank], sizes[rank : 2 * rank], Padding.ZERO)
        return (BlockPointer(tensor, sizes[2 * rank :], shape_of(op.block)),)

    @impl(tt.AdvanceOp)
    def advance(
        self, interpreter: Interpreter, op: tt.AdvanceOp, args: PythonValues
    ) -> PythonValues:
        """Move a block."""
        pointer, *steps = args
        assert isinstance(pointer, BlockPointer), pointer
        pairs = zip(pointer.offsets, steps, strict=True)
        offsets = tuple(x + y.astype(np.int64) for x, y in pairs)
        return (BlockPointer(pointer.tensor, offsets, pointer.shape),)

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
        pointers, inside = block(descriptor, block_of(op.desc.type), indices)
        found = self._load(pointers, inside)
        if descriptor.padding is Padding.NAN:
            found = self._padded(found, inside, op.result.type)
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
        pointers, inside = block(descriptor, block_of(op.desc.type), indices)
        value = value.reshape(value.shape[:AXES] + inside.shape[AXES:])
        self._store(pointers, value, inside)
        return ()


@register_impls
class TtigMemoryFunctions(WholeMemoryFunctions):
    """Loads of 2D blocks, and what descriptors are made of."""

    @impl(ttig.ExtractDescOp)
    def extract(
        self, interpreter: Interpreter, op: ttig.ExtractDescOp, args: PythonValues
    ) -> PythonValues:
        """Give one of the numbers of a descriptor."""
        descriptor: Descriptor = args[0]
        fields = (*descriptor.shape, *descriptor.strides, descriptor.base)
        return (fields[op.index.value.data],)

    @impl(ttig.BlockLoad2DOp)
    def load(
        self, interpreter: Interpreter, op: ttig.BlockLoad2DOp, args: PythonValues
    ) -> PythonValues:
        """Read a block of a matrix; outside of it is zero, or NaN."""
        base, width, height, pitch, x, y = args
        size = (bits_of(op.result.type) or 8) // 8
        numbers = [each.astype(np.int64) for each in (width, height, pitch)]
        cols, rows, step = numbers[0] // size, numbers[1], numbers[2] // size
        one = np.ones_like(step)
        matrix = Descriptor(base, (rows, cols), (step, one), Padding.ZERO)
        shape = shape_of(op.result.type)
        is_columns = op.layout is ttig.MemoryLayout.COLUMN_MAJOR
        tile = shape[::-1] if is_columns else shape
        pointers, inside = block(matrix, tile, (y, x))
        found = self._load(pointers, inside)
        if op.pad_nan is not None:
            nan = self.machine.numerics.constant(
                float("nan"), element_of(op.result.type)
            )
            found = np.where(inside, found, nan)
        return (found.swapaxes(-1, -2) if is_columns else found,)

    @impl(ttig.BlockLoad2DFromPtrOp)
    def load_from(
        self,
        interpreter: Interpreter,
        op: ttig.BlockLoad2DFromPtrOp,
        args: PythonValues,
    ) -> PythonValues:
        """Read where the mask is true."""
        pointer, _, *masked = args
        if not masked:
            return (self._load(pointer, None),)
        mask, other = masked
        return (np.where(mask, self._load(pointer, mask), other),)


def block_of(type: object) -> tuple[int, ...]:
    """Return the shape of the blocks of a descriptor."""
    assert isinstance(type, TensorDescType), type
    return type.shape


def along(
    tensor: Descriptor, shape: Sequence[int], indices: Sequence[Array], axis: int
) -> Array:
    """Return which coordinates of a block are inside along one dimension."""
    place = trailing(indices[axis].astype(np.int64), 1) + np.arange(shape[axis])
    return (place >= 0) & (place < trailing(tensor.shape[axis], 1))


def block(
    descriptor: Descriptor, shape: Sequence[int], indices: Sequence[Array]
) -> tuple[MemRef, Array]:
    """Return pointers to a block, and which of them are inside of the tensor."""
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
