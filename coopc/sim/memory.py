"""Memory in the simulator: buffers, memrefs into them, and checked accesses.

A buffer has the three axes of every value and one of elements: global memory is there
once, (1, 1, 1, N); work-group memory once for each work-group, (G, 1, 1, N); private
memory for each work-item, (G, T, L, N).  All accesses go through one place number, an
index into the buffer as one row.

Memory behind addresses is an `AddressSpace`: an access goes to the allocation that the
address is in.  Where work-items chose between memrefs, it is an `EitherAllocation`.

An access out of bounds, of an index or of the whole buffer, is an `UndefinedBehaviour`.
So is a load from memory that nothing was written to, which has poison there: NaN, or a
pattern of bits.  What else is known of memory is in its shadow.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from coopc.dialects.shaped_arith import element_of
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.undefined import Shadow
from coopc.sim.values import (
    AXES,
    Array,
    memory_dtype,
    number,
    shape_of,
    trailing,
)


@dataclass(frozen=True, eq=False, slots=True)
class Allocation:
    """A piece of memory; its array is what programs change."""

    data: Array
    """(g, t, l, N) elements, as memory holds them; contiguous."""
    name: str
    """For messages."""
    shadow: Shadow | None = None
    """What is known of it."""

    @property
    def flat(self) -> Array:
        """All elements of all work-items in one row."""
        return self.data.reshape(-1)

    @property
    def elements(self) -> int:
        """N, the elements that one work-item sees."""
        return self.data.shape[-1]

    @property
    def address(self) -> int:
        """Of its first byte, as the caller's arrays have it."""
        return int(self.data.__array_interface__["data"][0])


@dataclass(frozen=True, eq=False, slots=True)
class AddressSpace(Allocation):
    """All memory that the caller gives, seen from an address on."""

    data: Array = field(default_factory=lambda: np.zeros(0, np.uint8))
    name: str = "memory at an address"
    known: Sequence[Allocation] = ()
    start: Array = field(default_factory=lambda: number(0))
    """The address, in bytes."""

    def parts(
        self, memory: MemRef, coordinates: Sequence[Array], active: Array | None
    ) -> Generator[tuple[MemRef, Array, Array]]:
        """Yield each allocation, the indices of elements in it, and where these are.

        Raises:
            UndefinedBehaviour: an element is in none of them.
        """
        index = element_index(memory, coordinates, active)
        dtype = memory_dtype(memory.element_type)
        address = trailing(self.start, index.ndim - AXES) + index * dtype.itemsize
        left = np.broadcast_to(np.True_ if active is None else active, address.shape)
        for each in self.known:
            start, size = each.address, each.data.nbytes
            inside = (
                left & (address >= start) & (address + dtype.itemsize <= start + size)
            )
            if not inside.any():
                continue
            left = left & ~inside
            data = each.data.reshape(-1).view(np.uint8)
            data = data[: size // dtype.itemsize * dtype.itemsize].view(dtype)
            buffer = replace(each, data=data.reshape(1, 1, 1, -1))
            sizes, place = (
                (number(buffer.elements),),
                (address - start) // dtype.itemsize,
            )
            part = MemRef(buffer, memory.element_type, number(0), sizes, (number(1),))
            yield part, np.where(inside, place, 0), inside
        if left.any():
            found = int(address[left].flat[0])
            raise UndefinedBehaviour(
                "expected an address of memory that the kernel is given, got "
                f"{found:#x}"
            )


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class EitherAllocation(Allocation):
    """One of two allocations for each work-item, new where a condition holds."""

    condition: Array
    new: Allocation
    old: Allocation

    @classmethod
    def of(cls, condition: Array, new: Allocation, old: Allocation) -> EitherAllocation:
        name, none = f"{new.name} or {old.name}", new.data[..., :0]
        return cls(none, name, condition=condition, new=new, old=old)

    @property
    def elements(self) -> int:
        return max(self.new.elements, self.old.elements)

    def parts(
        self, memory: MemRef, coordinates: Sequence[Array], active: Array | None
    ) -> Generator[tuple[MemRef, Array, Array]]:
        """Yield each allocation, the indices of elements in it, and where these are."""
        index = element_index(memory, coordinates, active)
        chosen = trailing(self.condition, index.ndim - AXES)
        for buffer, where in ((self.new, chosen), (self.old, ~chosen)):
            here = where if active is None else where & active
            if not here.any():
                continue
            sizes = (number(buffer.elements),)
            part = MemRef(buffer, memory.element_type, number(0), sizes, (number(1),))
            yield part, np.where(here, index, 0), here


@dataclass(frozen=True, eq=False, slots=True)
class MemRef:
    """A buffer seen through an offset, sizes and strides: arrays as all indices are."""

    buffer: Allocation
    element_type: Attribute
    offset: Array
    """In elements, as sizes and strides."""
    sizes: tuple[Array, ...]
    strides: tuple[Array, ...]

    def __str__(self) -> str:
        """The buffer and its sizes, as far as they are uniform."""
        sizes = "x".join(
            str(size.flat[0]) if size.size == 1 else "?" for size in self.sizes
        )
        return f"{self.buffer.name} of {sizes or '1'} elements"


def shape_in(value: MemRef | Array) -> tuple[int, ...]:
    """Return the sizes of a memref, or of a tensor; a number has none."""
    if isinstance(value, MemRef):
        return tuple(int(size.flat[0]) for size in value.sizes)
    return value.shape[AXES:]


def memref_type(type: Attribute) -> MemRefType:
    assert isa(type, MemRefType), type
    return type


def type_strides(type: MemRefType, sizes: Sequence[Array]) -> tuple[Array, ...]:
    """Return the strides that a type without dynamic ones gives.

    Raises:
        SimulationError: the type has no strides, or dynamic ones.
    """
    if isinstance(type.layout, NoneAttr):
        # In row-major order.
        strides = [*accumulate(reversed(sizes[1:]), np.multiply, initial=number(1))]
        return tuple(reversed(strides[: len(sizes)]))
    strides = type.get_strides()
    if strides is None or None in strides:
        raise SimulationError(f"the strides of {type} are not known")
    return tuple(number(stride) for stride in strides if stride is not None)


def with_dynamic(
    static: Iterable[int], dynamic: Iterable[Array] = ()
) -> tuple[Array, ...]:
    """Return numbers as arrays, those that are dynamic from others in order."""
    rest = iter(dynamic)
    return tuple(
        next(rest) if size == DYNAMIC_INDEX else number(size) for size in static
    )


def whole(buffer: Allocation, type: MemRefType, sizes: tuple[Array, ...]) -> MemRef:
    """Return a memref of a type to all of a buffer."""
    return MemRef(
        buffer, type.get_element_type(), number(0), sizes, type_strides(type, sizes)
    )


def element_index(
    memory: MemRef, coordinates: Sequence[Array], active: Array | None
) -> Array:
    """Return the index in the buffer of an element, or of many: see `linear_index`.

    It may be outside of the buffer.
    """
    axes = max((x.ndim for x in coordinates), default=AXES) - AXES
    index = trailing(memory.offset, axes)
    for dimension, position in enumerate(coordinates):
        size = trailing(memory.sizes[dimension], axes)
        wrong = (position < 0) | (position >= size)
        if wrong.any() and (active is None or (wrong := wrong & active).any()):
            found = np.broadcast_to(position, wrong.shape)[wrong].flat[0]
            raise UndefinedBehaviour(
                f"expected an index in dimension {dimension} of {memory} to be inside, "
                f"got {found}"
            )
        index = index + position * trailing(memory.strides[dimension], axes)
    return index if active is None else np.where(active, index, 0)


def linear_index(
    memory: MemRef, coordinates: Sequence[Array], active: Array | None
) -> Array:
    """Return the index in the buffer of an element, or of many.

    Args:
        memory: the memref.
        coordinates: one for each dimension, all with as many axes behind the three.
        active: where the access happens; everywhere if None.  Elsewhere the index is 0.

    Raises:
        UndefinedBehaviour: an element is outside the memref or its buffer.
    """
    index = element_index(memory, coordinates, active)
    if index.size and (index.min() < 0 or index.max() >= memory.buffer.elements):
        raise UndefinedBehaviour(
            f"expected an access inside {memory}, whose buffer has "
            f"{memory.buffer.elements} elements, got elements {index.min()} to "
            f"{index.max()} of the buffer"
        )
    return index


def check_aligned(
    memory: MemRef, indices: Sequence[Array], active: Array | None, bytes: int
) -> None:
    """Check the address of an element, in bytes from the beginning of its buffer.

    Raises:
        UndefinedBehaviour: it is no multiple of what an operation says.
    """
    if isinstance(memory.buffer, AddressSpace | EitherAllocation):
        for part, at, here in memory.buffer.parts(memory, indices, active):
            check_aligned(part, [at], here, bytes)
        return
    size = memory.buffer.data.itemsize
    address = linear_index(memory, indices, active) * size
    if (wrong := address % bytes != 0).any():
        raise UndefinedBehaviour(
            f"false alignment: expected an address in {memory.buffer.name} that is a "
            f"multiple of {bytes} bytes, got {address[wrong].flat[0]}"
        )


def addressed(memory: MemRef, space: AddressSpace) -> MemRef:
    """Return a memref as one of all memory, from address 0 on."""
    first = number(memory.buffer.address)
    if isinstance(memory.buffer, AddressSpace):
        first = memory.buffer.start
    first = first // memory_dtype(memory.element_type).itemsize
    return replace(memory, buffer=space, offset=memory.offset + first)


def chosen_memref(
    condition: Array, new: MemRef, old: MemRef, space: AddressSpace | None = None
) -> MemRef:
    """Return one of two memrefs for each work-item.

    Pointers into any memory are in `space`.
    """
    if new.buffer is not old.buffer:
        if condition.all() or not condition.any():
            return new if condition.all() else old
        if space is None:
            either = EitherAllocation.of(condition, new.buffer, old.buffer)
            new, old = replace(new, buffer=either), replace(old, buffer=either)
        else:
            new, old = addressed(new, space), addressed(old, space)
    condition = trailing(condition, max(0, new.offset.ndim - condition.ndim))

    def merged(one: tuple[Array, ...], other: tuple[Array, ...]) -> tuple[Array, ...]:
        pairs = zip(one, other, strict=True)
        return tuple(np.where(condition, x, y) for x, y in pairs)

    return replace(
        new,
        offset=np.where(condition, new.offset, old.offset),
        sizes=merged(new.sizes, old.sizes),
        strides=merged(new.strides, old.strides),
    )


# Memory that holds other numbers than a matrix does, or vectors of numbers.
#
# Positions and strides count what the memref holds; from there on a row of a row-major
# matrix lies without gaps.  `in_elements` gives such memory one dimension more, along
# which the matrix's own elements follow each other.


def retyped(buffer: Allocation, dtype: np.dtype[Any]) -> Allocation:
    """Return the same bytes as elements of another type.

    Raises:
        SimulationError: the size is not a multiple of that of an element.
    """
    if isinstance(buffer, EitherAllocation):
        new, old = retyped(buffer.new, dtype), retyped(buffer.old, dtype)
        return EitherAllocation.of(buffer.condition, new, old)
    if buffer.data.shape[-1] * buffer.data.itemsize % dtype.itemsize:
        raise SimulationError(
            f"expected {buffer.name} to take a multiple of {dtype.itemsize} bytes"
        )
    return replace(buffer, data=np.ascontiguousarray(buffer.data).view(dtype))


def in_elements(memory: MemRef, element: Attribute) -> MemRef:
    """Return a memref of elements, with one dimension more, as long as the buffer.

    Raises:
        SimulationError: elements are wider than what the memref holds.
    """
    scalar = element_of(memory.element_type)
    width, buffer = prod(shape_of(memory.element_type)), memory.buffer
    if scalar != element:
        before, after = memory_dtype(scalar), memory_dtype(element)
        bytes = before.itemsize * width
        if bytes % after.itemsize:
            raise SimulationError(
                f"expected what a memref holds to be a whole number of {element}, got "
                f"{width} of {scalar}"
            )
        buffer, width = retyped(buffer, after), bytes // after.itemsize
    return MemRef(
        buffer,
        element,
        memory.offset * width,
        (*memory.sizes, number(buffer.elements)),
        (*(stride * width for stride in memory.strides), number(1)),
    )
