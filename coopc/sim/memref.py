"""Simulation of `memref`: views into memory, and single elements of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import MemorySpace
from coopc.sim.atomic import ACQUIRING, combination, update
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import (
    MemRef,
    check_aligned,
    in_elements,
    memref_type,
    type_sizes,
    type_strides,
    whole,
)
from coopc.sim.values import (
    AXES,
    GROUP_AXIS,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    element_of,
    memory_dtype,
    number,
    scalar_of,
    shape_of,
    trailing,
)

_ATOMICS: tuple[tuple[str, bool], ...] = (
    ("add", True),
    ("add", True),
    ("assign", True),
    ("maximum", True),
    ("max", True),
    ("max", False),
    ("minimum", True),
    ("min", True),
    ("min", False),
    ("mul", True),
    ("mul", True),
    ("or", True),
    ("and", True),
    ("maxnum", True),
    ("minnum", True),
    ("xor", True),
)
"""By the numbers of MLIR's AtomicRMWKind: what is done, and whether it is signed."""

_WORK_ITEM = (GROUP_AXIS, SUBGROUP_AXIS, LANE_AXIS)


@register_impls
class MemrefFunctions(SimulatorFunctions):
    """Memory is a work-group's where its type says so, else a work-item's own."""

    def _allocated(self, value: SSAValue, dynamic: Sequence[Array]) -> MemRef:
        """Return new memory of the type of a value."""
        type = memref_type(value.type)
        sizes = type_sizes(type, dynamic)
        pairs = zip(sizes, type_strides(type, sizes), strict=True)
        last = sum(max(0, size.max() - 1) * stride.max() for size, stride in pairs)
        space = type.memory_space
        shared = isinstance(space, simt.MemoryAttr) and (
            space.data == MemorySpace.WORKGROUP
        )
        axes = (GROUP_AXIS,) if shared else _WORK_ITEM
        name = f"%{value.name_hint}" if value.name_hint else str(type)
        components = prod(shape_of(type.get_element_type()))
        buffer = self.machine.allocate(axes, (int(last) + 1) * components, type, name)
        return whole(buffer, type, sizes)

    @impl(memref.AllocaOp)
    def alloca(
        self, interpreter: Interpreter, op: memref.AllocaOp, args: PythonValues
    ) -> PythonValues:
        """Give new memory."""
        return (self._allocated(op.memref, args[: len(op.dynamic_sizes)]),)

    @impl(memref.AllocOp)
    def alloc(
        self, interpreter: Interpreter, op: memref.AllocOp, args: PythonValues
    ) -> PythonValues:
        """Give new memory."""
        return (self._allocated(op.memref, args[: len(op.dynamic_sizes)]),)

    @impl(memref.DeallocOp)
    def dealloc(
        self, interpreter: Interpreter, op: memref.DeallocOp, args: PythonValues
    ) -> PythonValues:
        """Keep the memory: accesses to it later are not noticed."""
        return ()

    @impl(memref.AssumeAlignmentOp)
    def assume_alignment(
        self, interpreter: Interpreter, op: memref.AssumeAlignmentOp, args: PythonValues
    ) -> PythonValues:
        """Give the memory as it is, if its first element is aligned."""
        (memory,) = args
        mask, bytes = self.machine.mask, op.alignment.value.data
        if all((size > 0).all() for size in memory.sizes):
            first = [np.zeros_like(memory.offset)] * len(memory.sizes)
            check_aligned(memory, first, mask, bytes)
        return args

    @impl(memref.CastOp)
    def cast(
        self, interpreter: Interpreter, op: memref.CastOp, args: PythonValues
    ) -> PythonValues:
        """Give the memory as it is: its sizes and strides are known anyway."""
        return args

    @impl(memref.MemorySpaceCastOp)
    def memory_space_cast(
        self, interpreter: Interpreter, op: memref.MemorySpaceCastOp, args: PythonValues
    ) -> PythonValues:
        """Give the memory as it is."""
        return args

    @impl(memref.GlobalOp)
    def define_global(
        self, interpreter: Interpreter, op: memref.GlobalOp, args: PythonValues
    ) -> PythonValues:
        """A definition does nothing by itself."""
        return ()

    @impl(memref.GetGlobalOp)
    def get_global(
        self, interpreter: Interpreter, op: memref.GetGlobalOp, args: PythonValues
    ) -> PythonValues:
        """Give the memory of a global, made and filled the first time."""
        name = op.name_.root_reference.data
        machine = self.machine
        if (found := machine.globals.get(name)) is None:
            found = machine.globals[name] = self._global(interpreter, op.name_)
        return (found,)

    def _global(self, interpreter: Interpreter, symbol: SymbolRefAttr) -> MemRef:
        """Return the memory of a global with its first contents.

        Raises:
            SimulationError: there is no such global.
        """
        definition = interpreter.get_op_for_symbol(symbol)
        if not isinstance(definition, memref.GlobalOp):
            raise SimulationError(f"no memref.global is called {symbol}")
        type = definition.type
        assert isinstance(type, MemRefType)
        element = element_of(type)
        elements = prod(type.get_shape())
        name = f"@{symbol.root_reference.data}"
        buffer = self.machine.allocate((), elements, type, name)
        value = definition.initial_value
        if isinstance(value, DenseIntOrFPElementsAttr):
            values = list(value.get_values())
            filled = values * elements if len(values) == 1 else values
            numbers = self.machine.numerics.constant(filled, element)
            buffer.flat[...] = self.machine.numerics.to_memory(numbers, element)
            if buffer.shadow is not None:
                buffer.shadow.written = None
        return whole(buffer, type, type_sizes(type, ()))

    @impl(memref.LoadOp)
    def load(
        self, interpreter: Interpreter, op: memref.LoadOp, args: PythonValues
    ) -> PythonValues:
        """Read an element."""
        memory, *indices = args
        memory, indices, active = self._whole(memory, indices)
        is_atomic = simt.ORDERING in op.attributes
        found = self.machine.load(memory, indices, active, is_atomic=is_atomic)
        self._acquire(op, memory)
        return (found,)

    @impl(memref.StoreOp)
    def store(
        self, interpreter: Interpreter, op: memref.StoreOp, args: PythonValues
    ) -> PythonValues:
        """Write an element."""
        value, memory, *indices = args
        memory, indices, active = self._whole(memory, indices)
        is_atomic = simt.ORDERING in op.attributes
        self.machine.store(memory, indices, value, active, is_atomic=is_atomic)
        return ()

    def _whole(
        self, memory: MemRef, indices: Sequence[Array]
    ) -> tuple[MemRef, list[Array], Array | None]:
        """Return where an element is and who is active; of a vector, all components."""
        mask = self.machine.mask
        shape = shape_of(memory.element_type)
        if not shape:
            return memory, [*indices], mask
        steps = np.arange(prod(shape), dtype=np.int64)
        component = steps.reshape((1,) * AXES + (-1,))
        return (
            in_elements(memory, scalar_of(memory.element_type)),
            [*(trailing(index, 1) for index in indices), component],
            None if mask is None else trailing(mask, 1),
        )

    @impl(memref.AtomicRMWOp)
    def atomic_rmw(
        self, interpreter: Interpreter, op: memref.AtomicRMWOp, args: PythonValues
    ) -> PythonValues:
        """Update an element, once for each work-item."""
        value, memory, *indices = args
        kind = op.kind.value.data
        if not 0 <= kind < len(_ATOMICS):
            raise SimulationError(f"expected a kind of atomic update, got {kind}")
        combine = combination(self.machine.numerics, *_ATOMICS[kind], op.result.type)
        mask, shape = self.machine.mask, self.machine.shape
        old = update(self.machine, memory, indices, value, mask, combine, shape)
        self._acquire(op, memory)
        return (old,)

    def _acquire(self, op: Operation, memory: MemRef) -> None:
        """Note an ordering that waits for others."""
        ordering = op.attributes.get(simt.ORDERING)
        if isinstance(ordering, StringAttr) and ordering.data in ACQUIRING:
            self.machine.acquire(memory.buffer)

    @impl(memref.DimOp)
    def dim(
        self, interpreter: Interpreter, op: memref.DimOp, args: PythonValues
    ) -> PythonValues:
        """Give a size."""
        memory, index = args
        assert isinstance(memory, MemRef)
        dimension = int(index.flat[0])
        if not 0 <= dimension < len(memory.sizes):
            raise SimulationError(
                f"expected a dimension below {len(memory.sizes)}, got {dimension}"
            )
        return (memory.sizes[dimension],)

    @impl(memref.RankOp)
    def rank(
        self, interpreter: Interpreter, op: memref.RankOp, args: PythonValues
    ) -> PythonValues:
        """Give the number of dimensions."""
        return (number(len(args[0].sizes)),)

    @impl(memref.CopyOp)
    def copy(
        self, interpreter: Interpreter, op: memref.CopyOp, args: PythonValues
    ) -> PythonValues:
        """Copy all elements."""
        source, destination = args
        for sizes in zip(source.sizes, destination.sizes, strict=True):
            if not (sizes[0] == sizes[1]).all():
                raise SimulationError(f"cannot copy {source} to {destination}")
        shape = [int(size.max()) for size in source.sizes]
        axes = len(shape)
        grid = np.indices(shape, dtype=np.int64)
        coordinates = [x.reshape((1,) * AXES + x.shape) for x in grid]
        mask = self.machine.mask
        active = None if mask is None else mask.reshape(mask.shape + (1,) * axes)
        values = self.machine.load(source, coordinates, active)
        self.machine.store(destination, coordinates, values, active)
        return ()


# Simulation of `memref`: other views of the same memory.


@register_impls
class MemrefViewFunctions(SimulatorFunctions):
    """Views change offset, sizes and strides; the buffer stays."""

    @impl(memref.SubviewOp)
    def subview(
        self, interpreter: Interpreter, op: memref.SubviewOp, args: PythonValues
    ) -> PythonValues:
        """Give a part of the memory; dimensions of size 1 may be dropped."""
        source, *rest = args
        assert isinstance(source, MemRef)
        offsets, sizes, strides = _mixed(
            rest, (op.static_offsets, op.static_sizes, op.static_strides)
        )
        offset = source.offset
        for position, stride in zip(offsets, source.strides, strict=True):
            offset = offset + position * stride
        steps = [
            step * stride for step, stride in zip(strides, source.strides, strict=True)
        ]
        for dimension, size in enumerate(sizes):
            last = offsets[dimension] + (size - 1) * strides[dimension]
            wrong = (size > 0) & (
                (offsets[dimension] < 0) | (last >= source.sizes[dimension])
            )
            if self.machine.mask is not None:
                wrong = wrong & self.machine.mask
            if wrong.any():
                raise UndefinedBehaviour(
                    f"expected a part of {source}, got one that is outside in "
                    f"dimension {dimension}"
                )
        kept = _kept(op)
        return (
            MemRef(
                source.buffer,
                source.element_type,
                offset,
                tuple(sizes[dimension] for dimension in kept),
                tuple(steps[dimension] for dimension in kept),
            ),
        )

    @impl(memref.ReinterpretCastOp)
    def reinterpret_cast(
        self, interpreter: Interpreter, op: memref.ReinterpretCastOp, args: PythonValues
    ) -> PythonValues:
        """Give the buffer another offset, sizes and strides."""
        source, *rest = args
        offsets, sizes, strides = _mixed(
            rest, (op.static_offsets, op.static_sizes, op.static_strides)
        )
        view = MemRef(
            source.buffer,
            source.element_type,
            offsets[0],
            tuple(sizes),
            tuple(strides),
        )
        return (view,)

    @impl(memref.ExtractStridedMetaDataOp)
    def extract_strided_metadata(
        self,
        interpreter: Interpreter,
        op: memref.ExtractStridedMetaDataOp,
        args: PythonValues,
    ) -> PythonValues:
        """Give the buffer, the offset, sizes and strides."""
        (source,) = args
        assert isinstance(source, MemRef)
        base = MemRef(source.buffer, source.element_type, number(0), (), ())
        return base, source.offset, *source.sizes, *source.strides

    @impl(memref.CollapseShapeOp)
    def collapse_shape(
        self, interpreter: Interpreter, op: memref.CollapseShapeOp, args: PythonValues
    ) -> PythonValues:
        """Make one dimension of several that are contiguous."""
        (source,) = args
        sizes: list[Array] = []
        strides: list[Array] = []
        for group in _groups(op):
            size = number(1)
            for dimension in group:
                size = size * source.sizes[dimension]
            sizes.append(size)
            strides.append(source.strides[group[-1]] if group else number(1))
        return (_reshaped(source, sizes, strides),)

    @impl(memref.ExpandShapeOp)
    def expand_shape(
        self, interpreter: Interpreter, op: memref.ExpandShapeOp, args: PythonValues
    ) -> PythonValues:
        """Make several dimensions of one."""
        source, *dynamic = args
        shape = _filled(op.static_output_shape.get_values(), iter(dynamic))
        strides: list[Array] = [number(1)] * len(shape)
        for outer, group in enumerate(_groups(op)):
            stride = source.strides[outer]
            for dimension in reversed(group):
                strides[dimension] = stride
                stride = stride * shape[dimension]
        return (_reshaped(source, shape, strides),)

    @impl(memref.ViewOp)
    def view(
        self, interpreter: Interpreter, op: memref.ViewOp, args: PythonValues
    ) -> PythonValues:
        """Take bytes as elements of another type."""
        source, shift, *dynamic = args
        assert isinstance(source, MemRef)
        type = memref_type(op.result.type)
        dtype = memory_dtype(element_of(type))
        elements, rest = divmod(source.buffer.elements, dtype.itemsize)
        if (shift % dtype.itemsize).any():
            raise SimulationError(f"no view of {source} as {type}: it is not aligned")
        data = source.buffer.data[..., : elements * dtype.itemsize]
        if rest:
            raise SimulationError(f"expected {source} in whole elements of {type}")
        buffer = replace(source.buffer, data=data.view(dtype))
        sizes = type_sizes(type, dynamic)
        offset = (source.offset + shift) // dtype.itemsize
        strides = type_strides(type, sizes)
        return (MemRef(buffer, element_of(type), offset, sizes, strides),)


def _reshaped(
    source: MemRef, sizes: Sequence[Array], strides: Sequence[Array]
) -> MemRef:
    """Return the memory with other sizes and strides."""
    return MemRef(
        source.buffer,
        source.element_type,
        source.offset,
        tuple(sizes),
        tuple(strides),
    )


def _filled(static: Sequence[int], dynamic: Iterator[Array]) -> list[Array]:
    """Return static numbers with the dynamic ones in their places."""
    return [
        next(dynamic) if value == DYNAMIC_INDEX else number(value) for value in static
    ]


def _mixed(
    dynamic: Sequence[Array], static: Sequence[DenseArrayBase[Any]]
) -> tuple[list[Array], list[Array], list[Array]]:
    """Return offsets, sizes and strides, static and dynamic ones together."""
    rest = iter(dynamic)
    offsets, sizes, strides = (_filled(each.get_values(), rest) for each in static)
    return offsets, sizes, strides


def _groups(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> list[list[int]]:
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
