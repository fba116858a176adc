"""Simulation of `memref`: other views of the same memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import (
    MemRef,
    memref_type,
    type_sizes,
    type_strides,
)
from coopc.sim.values import Array, element_of, memory_dtype, number


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
