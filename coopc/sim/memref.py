"""Simulation of `memref`: views into memory, and single elements of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from coopc.dialects import simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.dialects.memref_forms import PrefetchOp
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import MemorySpace
from coopc.plan.atomic_form import ATOMIC_UPDATES
from coopc.sim.arith import call, from_resource, function_of
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import forward, implements, nothing
from coopc.sim.machine import WORK_ITEM, Machine
from coopc.sim.memory import (
    MemRef,
    check_aligned,
    in_elements,
    memref_type,
    retyped,
    type_strides,
    whole,
    with_dynamic,
)
from coopc.sim.values import (
    GROUP_AXIS,
    Array,
    components,
    memory_dtype,
    number,
    shape_of,
    with_steps,
)

implements(memref.CastOp, memref.MemorySpaceCastOp)(forward)
# A definition does nothing by itself; accesses to freed memory are not noticed.
implements(memref.DeallocOp, memref.GlobalOp, PrefetchOp)(nothing)


@dataclass(eq=False, slots=True)
class MatrixMemory:
    """An array of matrices, which nothing but loads and stores of one has."""

    shape: tuple[int, ...]
    type: MatrixType
    values: dict[int, Array] = field(default_factory=dict[int, Array])
    """Those that something was stored to, by their row-major numbers."""

    def places(
        self, machine: Machine, indices: Sequence[Array]
    ) -> Iterator[tuple[int, Array]]:
        """Yield the numbers of matrices, and for whom they are.

        Raises:
            UndefinedBehaviour: there is no such matrix.
        """
        place = number(0)
        for index, size in zip(indices, self.shape, strict=True):
            machine.refuse(
                (index < 0) | (index >= size), f"expected an index below {size}", index
            )
            place = place * size + index
        for each in np.unique(place):
            if (here := machine.and_active(place == each)) is not None and here.any():
                yield int(each), here

    def load(self, machine: Machine, indices: Sequence[Array]) -> Array:
        found: Array | None = None
        for place, here in self.places(machine, indices):
            if (value := self.values.get(place)) is None:
                raise UndefinedBehaviour(
                    f"expected a matrix that was stored, got number {place} of an array"
                )
            old = value if found is None else found
            found = machine.merge(self.type, here, value, old)
        assert found is not None, indices
        return found

    def store(self, machine: Machine, indices: Sequence[Array], value: Array) -> None:
        for place, here in self.places(machine, indices):
            old = self.values.get(place, value)
            self.values[place] = machine.merge(self.type, here, value, old)


@implements(memref.AllocOp, memref.AllocaOp)
def alloc(
    machine: Machine, op: memref.AllocOp | memref.AllocaOp, *sizes: Array
) -> MemRef | MatrixMemory:
    """Give new memory: a work-group's where its type says so, else a work-item's."""
    value, type = op.memref, memref_type(op.memref.type)
    if isinstance(element := type.get_element_type(), MatrixType):
        return MatrixMemory(type.get_shape(), element)
    shape = with_dynamic(type.get_shape(), sizes)
    pairs = zip(shape, type_strides(type, shape), strict=True)
    last = sum(max(0, size.max() - 1) * stride.max() for size, stride in pairs)
    space = type.memory_space
    shared = isinstance(space, simt.MemoryAttr) and space.data == MemorySpace.WORKGROUP
    axes = (GROUP_AXIS,) if shared else WORK_ITEM
    name = f"%{value.name_hint}" if value.name_hint else str(type)
    width = prod(shape_of(type.get_element_type()))
    buffer = machine.allocate(axes, (int(last) + 1) * width, type, name)
    return whole(buffer, type, shape)


@implements(memref.AssumeAlignmentOp)
def assume_alignment(
    machine: Machine, op: memref.AssumeAlignmentOp, memory: MemRef
) -> MemRef:
    """Give the memory as it is, if its first element is aligned."""
    if all((size > 0).all() for size in memory.sizes):
        first = [np.zeros_like(memory.offset)] * len(memory.sizes)
        check_aligned(memory, first, machine.mask, op.alignment.value.data)
    return memory


@implements(memref.GetGlobalOp)
def get_global(machine: Machine, op: memref.GetGlobalOp) -> MemRef:
    """Give the memory of a global, made and filled the first time.

    Raises:
        SimulationError: there is no such global.
    """
    symbol = op.name_.root_reference.data
    if (known := machine.globals.get(symbol)) is not None:
        return known
    definition = SymbolTable.lookup_symbol(machine.module, op.name_)
    if not isinstance(definition, memref.GlobalOp):
        raise SimulationError(f"no memref.global is called {op.name_}")
    type = memref_type(definition.type)
    element, elements = type.get_element_type(), prod(type.get_shape())
    buffer = machine.allocate((), elements, type, f"@{symbol}")
    value: Attribute = definition.initial_value
    if isinstance(value, DenseResourceAttr):
        value = from_resource(value)
    if isinstance(value, DenseIntOrFPElementsAttr):
        values = list(value.get_values())
        filled = values * elements if len(values) == 1 else values
        numbers = machine.numerics.constant(filled, element)
        buffer.flat[...] = machine.numerics.to_memory(numbers, element)
        if buffer.shadow is not None:
            buffer.shadow.written = None
    found = whole(buffer, type, with_dynamic(type.get_shape()))
    machine.globals[symbol] = found
    return found


@implements(memref.LoadOp)
def load(
    machine: Machine,
    op: memref.LoadOp,
    memory: MemRef | MatrixMemory,
    *indices: Array,
) -> Array:
    if isinstance(memory, MatrixMemory):
        return memory.load(machine, indices)
    where = _element(machine, memory, indices)
    found = machine.load(*where, is_atomic=simt.ORDERING in op.attributes)
    acquire(machine, op, memory)
    return found


@implements(memref.StoreOp)
def store(
    machine: Machine,
    op: memref.StoreOp,
    value: Array,
    memory: MemRef | MatrixMemory,
    *indices: Array,
) -> None:
    if isinstance(memory, MatrixMemory):
        memory.store(machine, indices, value)
        return
    is_atomic = simt.ORDERING in op.attributes
    memory, where, active = _element(machine, memory, indices)
    machine.store(memory, where, value, active, is_atomic=is_atomic)


def _element(
    machine: Machine, memory: MemRef, indices: Sequence[Array]
) -> tuple[MemRef, Sequence[Array], Array | None]:
    """Return where an element is and who is active; of a vector, all components."""
    shape = shape_of(memory.element_type)
    if not shape:
        return memory, indices, machine.mask
    memory = in_elements(memory, element_of(memory.element_type))
    where = with_steps([*indices, number(0)], (prod(shape),))
    return memory, where, machine.active(1)


@implements(memref.AtomicRMWOp)
def atomic_rmw(
    machine: Machine,
    op: memref.AtomicRMWOp,
    value: Array,
    memory: MemRef,
    *indices: Array,
) -> Array:
    """Update an element, once for each work-item."""
    kind = op.kind.value.data
    if kind not in ATOMIC_UPDATES:
        raise SimulationError(f"expected a kind of atomic update, got {kind}")
    name, is_signed = function_of(ATOMIC_UPDATES[kind].name)
    combine = partial(call, machine, name, op.result.type, is_signed=is_signed)
    mask, shape = machine.mask, machine.shape
    old = machine.update(memory, indices, value, mask, combine, shape)
    acquire(machine, op, memory)
    return old


def acquire(machine: Machine, op: Operation, memory: MemRef) -> None:
    """Note an ordering that waits for others."""
    ordering = op.attributes.get(simt.ORDERING)
    if isinstance(ordering, StringAttr):
        machine.acquire(memory.buffer, ordering.data)


@implements(memref.DimOp)
def dim(machine: Machine, op: memref.DimOp, memory: MemRef, index: Array) -> Array:
    dimension = int(index.flat[0])
    if not 0 <= dimension < len(memory.sizes):
        raise SimulationError(
            f"expected a dimension below {len(memory.sizes)}, got {dimension}"
        )
    return memory.sizes[dimension]


@implements(memref.RankOp)
def rank(machine: Machine, op: memref.RankOp, memory: MemRef) -> Array:
    return number(len(memory.sizes))


@implements(memref.CopyOp)
def copy(
    machine: Machine, op: memref.CopyOp, source: MemRef, destination: MemRef
) -> None:
    for one, other in zip(source.sizes, destination.sizes, strict=True):
        if not (one == other).all():
            raise SimulationError(f"cannot copy {source} to {destination}")
    where = components([int(size.max()) for size in source.sizes])
    active = machine.active(len(where))
    values = machine.load(source, where, active)
    machine.store(destination, where, values, active)


# Other views of the same memory change offset, sizes and strides; the buffer stays.


@implements(memref.SubviewOp)
def subview(
    machine: Machine, op: memref.SubviewOp, source: MemRef, *rest: Array
) -> MemRef:
    """Give a part of the memory; dimensions of size 1 may be dropped."""
    offsets, sizes, strides = mixed(
        rest, (op.static_offsets, op.static_sizes, op.static_strides)
    )
    offset = source.offset
    for position, stride in zip(offsets, source.strides, strict=True):
        offset = offset + position * stride
    for dimension, size in enumerate(sizes):
        first = offsets[dimension]
        last = first + (size - 1) * strides[dimension]
        machine.refuse(
            (size > 0) & ((first < 0) | (last >= source.sizes[dimension])),
            f"expected a part of {source}, got one that is outside in dimension "
            f"{dimension}",
        )
    kept = _kept(op)
    return replace(
        source,
        offset=offset,
        sizes=tuple(sizes[n] for n in kept),
        strides=tuple(strides[n] * source.strides[n] for n in kept),
    )


@implements(memref.ReinterpretCastOp)
def reinterpret_cast(
    machine: Machine, op: memref.ReinterpretCastOp, source: MemRef, *rest: Array
) -> MemRef:
    (offset,), sizes, strides = mixed(
        rest, (op.static_offsets, op.static_sizes, op.static_strides)
    )
    return replace(source, offset=offset, sizes=sizes, strides=strides)


@implements(memref.ExtractStridedMetaDataOp)
def extract_strided_metadata(
    machine: Machine, op: memref.ExtractStridedMetaDataOp, source: MemRef
) -> tuple[MemRef | Array, ...]:
    base = replace(source, offset=number(0), sizes=(), strides=())
    return base, source.offset, *source.sizes, *source.strides


@implements(memref.CollapseShapeOp)
def collapse_shape(
    machine: Machine, op: memref.CollapseShapeOp, source: MemRef
) -> MemRef:
    groups, one = reassociated(op), number(1)
    sizes = tuple(prod((source.sizes[n] for n in group), start=one) for group in groups)
    strides = tuple(source.strides[group[-1]] if group else one for group in groups)
    return replace(source, sizes=sizes, strides=strides)


@implements(memref.ExpandShapeOp)
def expand_shape(
    machine: Machine, op: memref.ExpandShapeOp, source: MemRef, *dynamic: Array
) -> MemRef:
    sizes = with_dynamic(op.static_output_shape.get_values(), dynamic)
    strides: list[Array] = [number(1)] * len(sizes)
    for outer, group in enumerate(reassociated(op)):
        stride = source.strides[outer]
        for dimension in reversed(group):
            strides[dimension] = stride
            stride = stride * sizes[dimension]
    return replace(source, sizes=sizes, strides=tuple(strides))


@implements(memref.ViewOp)
def view(
    machine: Machine, op: memref.ViewOp, source: MemRef, shift: Array, *dynamic: Array
) -> MemRef:
    type = memref_type(op.result.type)
    dtype = memory_dtype(type.get_element_type())
    if (shift % dtype.itemsize).any():
        raise SimulationError(f"no view of {source} as {type}: it is not aligned")
    sizes = with_dynamic(type.get_shape(), dynamic)
    offset = (source.offset + shift) // dtype.itemsize
    return replace(whole(retyped(source.buffer, dtype), type, sizes), offset=offset)


def mixed(
    dynamic: Sequence[Array], static: Sequence[DenseArrayBase[Any]]
) -> tuple[tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]]:
    """Return offsets, sizes and strides, static and dynamic ones together."""
    rest = iter(dynamic)
    offsets, sizes, strides = (with_dynamic(x.get_values(), rest) for x in static)
    return offsets, sizes, strides


def reassociated(
    op: memref.CollapseShapeOp
    | memref.ExpandShapeOp
    | tensor.CollapseShapeOp
    | tensor.ExpandShapeOp,
) -> list[list[int]]:
    """Return the dimensions that make one, for each one."""
    return [[int(x.value.data) for x in group] for group in op.reassociation]


def _kept(op: memref.SubviewOp) -> list[int]:
    """Return the dimensions that the result has; of size 1 are those that it drops."""
    source, result = memref_type(op.source.type), memref_type(op.result.type)
    static, wanted = op.static_sizes.get_values(), list(result.get_shape())
    every = range(len(static))
    found = [
        kept
        for kept in combinations(every, len(wanted))
        if [static[each] for each in kept] == wanted
        and all(static[each] == 1 for each in every if each not in kept)
    ]
    # Of several, those with the strides that the result has.
    before, after = source.get_strides(), result.get_strides()
    if before is not None and after is not None:
        steps = op.static_strides.get_values()
        scaled = [
            None if stride is None or step == DYNAMIC_INDEX else stride * step
            for stride, step in zip(before, steps, strict=True)
        ]
        found.sort(key=lambda kept: [scaled[each] for each in kept] != [*after])
    return [*found[0]] if found else [*every]
