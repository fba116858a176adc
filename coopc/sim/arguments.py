"""Numpy arrays and numbers as the arguments of a kernel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    IndexType,
    MemRefType,
    NoneAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from coopc.sim.formats import from_bf16
from coopc.sim.memory import Buffer, MemRef
from coopc.sim.numerics import Numerics
from coopc.sim.shadow import Shadows
from coopc.sim.values import (
    AXES,
    Array,
    element_of,
    is_float,
    is_integer,
    memory_dtype,
    number,
    scalar_of,
    shape_of,
)

Argument: TypeAlias = "Array | np.generic | float | int"
"""An array for a memref, a number for a number; of bf16, its bits as a np.uint16."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An argument as a value of the simulation."""

    value: Any
    array: Array | None = None
    """What the caller gave for a memref."""

    def errors(self, numerics: Numerics) -> Array | None:
        """Return a bound of the error of each element, if errors were tracked."""
        if (array := self.array) is None:
            return None
        assert isinstance(self.value, MemRef)
        buffer, type = self.value.buffer, scalar_of(self.value.element_type)
        if buffer.shadow is None or (stored := buffer.shadow.errors) is None:
            return None
        cells = buffer.shadow.cells(np.arange(buffer.elements), buffer.data.itemsize)
        values = numerics.from_memory(buffer.flat, type)
        values = numerics.with_stored_errors(values, type, stored, cells, None)
        if (errors := numerics.errors(values, type)) is None:
            return None
        strides = [x // array.itemsize * errors.itemsize for x in array.strides]
        return np.lib.stride_tricks.as_strided(errors, array.shape, strides)


def bind(
    func: FuncOp,
    arguments: Sequence[Argument],
    numerics: Numerics,
    shadows: Shadows,
    may_race: Collection[int],
) -> tuple[Bound, ...]:
    """Return arguments as values of the simulation; arrays are shared, not copied.

    Args:
        func: the function.
        arguments: of the caller.
        numerics: how numbers are computed.
        shadows: what shadows memory has.
        may_race: the positions of memrefs that several work-items see, and some write.

    Raises:
        ValueError: they do not fit the function.
    """
    types = func.function_type.inputs.data
    if len(arguments) != len(types):
        raise ValueError(
            f"expected {len(types)} arguments, as @{func.sym_name.data} has, "
            f"got {len(arguments)}"
        )
    found: list[Bound] = []
    for position, (type, argument) in enumerate(zip(types, arguments, strict=True)):
        if not isa(type, MemRefType):
            found.append(_value(type, argument, position, numerics))
            continue
        memory, array = _memref(type, argument, position)
        buffer = memory.buffer
        shadow = shadows.of(
            buffer.data,
            buffer.name,
            is_new=False,
            axes=0,
            may_race=position in may_race,
        )
        shadowed = replace(memory, buffer=replace(buffer, shadow=shadow))
        found.append(Bound(shadowed, array))
    return tuple(found)


def _value(
    type: Attribute, argument: Argument, position: int, numerics: Numerics
) -> Bound:
    """Return one argument as a value."""
    if is_integer(type) or is_float(type):
        if isinstance(argument, np.ndarray) and argument.ndim:
            raise ValueError(
                f"expected a number for argument {position}, a {type}, got an array"
            )
        if type == BFloat16Type() and np.asarray(argument).dtype == np.uint16:
            argument = from_bf16(np.asarray(argument))
        return Bound(numerics.constant(argument, type).reshape((1,) * AXES))
    raise ValueError(f"expected argument {position} to be simulated, got a {type}")


def _memref(
    type: MemRefType, argument: Argument, position: int
) -> tuple[MemRef, Array]:
    """Return an array as a memref; one of rank 0 points to all of a longer array.

    Raises:
        ValueError: its type, shape or strides are not those of the memref's type.
    """
    what = f"argument {position}, a {type}"
    if not isinstance(argument, np.ndarray):
        raise ValueError(f"expected an array for {what}, got {argument!r}")
    element_type = scalar_of(element_of(type))
    array = _as_stored(argument, element_type, what)
    components = shape_of(element_of(type))
    wanted = (*type.get_shape(), *components)
    is_pointer = not wanted and array.ndim > 0
    strides = [stride // array.itemsize for stride in array.strides]
    if not is_pointer:
        _check_shape(wanted, array, what)
        _check_strides(type, array, strides, what)
    elif not array.flags.c_contiguous:
        raise ValueError(f"expected an array without gaps for {what}")
    flat = _flat(array, strides)
    memory = MemRef(
        Buffer(flat, f"argument {position}"),
        element_type,
        number(0),
        () if is_pointer else tuple(number(size) for size in array.shape),
        () if is_pointer else tuple(number(stride) for stride in strides),
    )
    if components:
        memory = replace(
            memory,
            element_type=element_of(type),
            sizes=memory.sizes[:-1],
            strides=tuple(x // components[0] for x in memory.strides[:-1]),
        )
    return memory, array


def _flat(array: Array, strides: Sequence[int]) -> Array:
    """Return the memory of an array, from its first element to its last."""
    last = sum(
        (size - 1) * stride for size, stride in zip(array.shape, strides, strict=True)
    )
    elements = last + 1 if array.size else 0
    return np.lib.stride_tricks.as_strided(
        array, (1, 1, 1, elements), (0, 0, 0, array.itemsize)
    )


def _as_stored(array: Array, element_type: Attribute, what: str) -> Array:
    """Return an array with the type that memory has; unsigned integers are the same.

    Raises:
        ValueError: its elements are of another type.
    """
    expected = memory_dtype(element_type)
    if array.dtype == expected:
        return array
    if expected.kind == "i" and array.dtype == np.dtype(f"u{expected.itemsize}"):
        return array.view(expected)
    raise ValueError(f"expected elements of {expected} for {what}, got {array.dtype}")


def _check_shape(wanted: Sequence[int], array: Array, what: str) -> None:
    """Check the shape of an array against that of a type.

    Raises:
        ValueError: they differ.
    """
    fits = len(wanted) == array.ndim and all(
        size in (DYNAMIC_INDEX, found)
        for size, found in zip(wanted, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"expected an array shaped like {what}, got {array.shape}")


def _check_strides(
    type: MemRefType, array: Array, strides: Sequence[int], what: str
) -> None:
    """Check the strides of an array against those of a type.

    Raises:
        ValueError: they differ, or are negative.
    """
    if any(stride < 0 for stride in strides):
        raise ValueError(f"expected strides of at least 0 for {what}, got {strides}")
    if isinstance(type.layout, NoneAttr):
        fits = array.flags.c_contiguous or not array.size
    else:
        fixed = type.get_strides()
        if fixed is None:
            raise ValueError(f"expected a layout of strides for {what}")
        fits = all(
            size <= 1 or stride is None or stride == found
            for size, stride, found in zip(array.shape, fixed, strides, strict=True)
        )
    if not fits:
        raise ValueError(f"expected the strides of {what}, got {strides} elements")


def released(
    value: Any, type: Attribute, numerics: Numerics
) -> tuple[Array | None, Array | None]:
    """Return a result as an array, as it would be in memory, and bounds of its errors.

    A memref is None: it is memory that the caller cannot see, or has already.
    """
    if isinstance(value, MemRef):
        return None, None
    element = scalar_of(type)
    here: Array = value.reshape(value.shape[AXES:])
    stored = Numerics().to_memory(numerics.plain(here, element), element)
    return stored, numerics.errors(here, element)


def grid_sizes(func: FuncOp, arguments: Sequence[Argument]) -> list[int]:
    """Return what `simt.grid` maps: dynamic sizes and index arguments, in order."""
    sizes: list[int] = []
    for type, argument in zip(func.function_type.inputs.data, arguments, strict=True):
        if isinstance(type, MemRefType):
            assert isinstance(argument, np.ndarray)
            pairs = zip(type.get_shape(), argument.shape, strict=False)
            sizes += [found for size, found in pairs if size == DYNAMIC_INDEX]
        elif isinstance(type, IndexType):
            sizes.append(int(argument))
    return sizes
