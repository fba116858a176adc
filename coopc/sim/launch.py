"""How a kernel is started: its arguments, its grid, work-groups and subgroups."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    MemRefType,
    NoneAttr,
    TensorType,
    f16,
    f32,
    f64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from coopc.dialects import simt
from coopc.dialects.narrow import (
    in_bytes,
    is_memref,
    is_nibble,
    is_tensor,
    packed_dimension,
)
from coopc.dialects.shaped_arith import element_of
from coopc.interface import Buffer
from coopc.interface_call import (
    DTYPES,
    Addresses,
    check_shape,
    check_strides,
    memory_of,
    row_major,
    why_no_integer,
)
from coopc.sim.memory import (
    AddressSpace,
    Allocation,
    MemRef,
    linear_index,
    shape_in,
)
from coopc.sim.numerics import Numerics, decoded
from coopc.sim.undefined import Shadows
from coopc.sim.values import (
    AXES,
    Array,
    CodedType,
    bits_of,
    components,
    is_float,
    is_integer,
    memory_dtype,
    nibbles,
    number,
    shape_of,
)

Argument: TypeAlias = "Array | Addresses | np.generic | float | int"
"""An array for a memref or tensor, a number for a number; of bf16 and f8, its bits."""


def bind(
    func: FuncOp,
    arguments: Sequence[Argument],
    numerics: Numerics,
    shadows: Shadows,
    may_race: Collection[int],
) -> tuple[list[Any], AddressSpace]:
    """Return arguments as values of the simulation, and memory as addresses show it.

    Arrays are shared, not copied.

    `may_race` has the positions of memrefs that several work-items see, and some write.

    Raises:
        ValueError: they do not fit the function.
    """
    types = func.function_type.inputs.data
    if len(arguments) != len(types):
        raise ValueError(
            f"expected {len(types)} arguments, as @{func.sym_name.data} has, "
            f"got {len(arguments)}"
        )
    found: list[Any] = []
    known: list[Allocation] = []
    for position, (type, argument) in enumerate(zip(types, arguments, strict=True)):
        if is_integer(type) or is_float(type):
            found.append(_scalar(type, argument, position, numerics))
            continue
        if not isa(type, MemRefType | TensorType):
            raise ValueError(
                f"expected argument {position} to be simulated, got a {type}"
            )
        if isinstance(argument, Addresses):
            parts = [memory_of(x).reshape(1, 1, 1, -1) for x in argument.arrays]
            for at, data in enumerate(parts):
                name = f"part {at} of argument {position}"
                shadow = shadows.of(data, name, axes=0, may_race=bool(may_race))
                known.append(Allocation(data, name, shadow))
            argument = np.asarray(argument)
        memory = _memref(type, argument, position)
        if is_tensor(type):
            elements = memory.buffer.flat[linear_index(memory, every(memory), None)]
            found.append(numerics.from_memory(elements, type.get_element_type()))
            continue
        buffer = memory.buffer
        shadow = shadows.of(
            buffer.data, buffer.name, axes=0, may_race=position in may_race
        )
        known.append(replace(buffer, shadow=shadow))
        found.append(replace(memory, buffer=known[-1]))
    return found, AddressSpace(known=known)


def _scalar(
    type: Attribute, argument: Argument, position: int, numerics: Numerics
) -> Array:
    """Return a number as all work-items have it.

    Raises:
        ValueError: it is not a value of the type.
    """
    if isinstance(argument, np.ndarray) and argument.ndim:
        raise ValueError(
            f"expected a number for argument {position}, a {type}, got an array"
        )
    bits = np.asarray(argument)
    if is_integer(type) and (reason := why_no_integer(bits.item(), bits_of(type))):
        raise ValueError(
            f"expected argument {position} to be an {type}, got {argument}: {reason}"
        )
    if isinstance(type, CodedType) and bits.dtype == memory_dtype(type):
        argument = decoded(bits, type.name)
    return numerics.constant(argument, type).reshape((1,) * AXES)


def every(memory: MemRef) -> list[Array]:
    """Return the places of all elements."""
    return components(shape_in(memory))


def _unpacked(type: MemRefType, argument: Argument, position: int) -> MemRef:
    """Return memory of i4 or f4E2M1FN, a copy with one element in each byte.

    Raises:
        ValueError: the array has not the bytes of the type.
    """
    bytes, packed = _memref(in_bytes(type), argument, position), packed_dimension(type)
    sizes = [2 * size if n == packed else size for n, size in enumerate(bytes.sizes)]
    if (static := type.get_shape()[packed]) != DYNAMIC_INDEX:
        sizes[packed] = number(static)
    steps = enumerate(bytes.strides)
    element = type.get_element_type()
    codes = nibbles(bytes.buffer.flat, -1, is_integer(element))
    return MemRef(
        replace(
            bytes.buffer, data=codes.view(memory_dtype(element)).reshape(1, 1, 1, -1)
        ),
        element,
        number(0),
        tuple(sizes),
        tuple(number(1) if n == packed else 2 * stride for n, stride in steps),
    )


def write_back(value: Any, argument: Argument) -> None:
    """Pack what a kernel has stored to memory of i4 or f4E2M1FN into its array."""
    if isinstance(value, MemRef) and is_nibble(value.element_type):
        assert isinstance(argument, np.ndarray)
        bytes = memory_of(argument)
        codes = value.buffer.flat.view(np.uint8)
        packed = codes[::2] & np.uint8(15) | codes[1::2] << np.uint8(4)
        bytes[...] = packed.view(bytes.dtype)


def _memref(type: MemRefType | TensorType, argument: Argument, position: int) -> MemRef:
    """Return an array as a memref; one of rank 0 points to all of a longer array.

    Raises:
        ValueError: its type, shape or strides are not those of the memref's type.
    """
    if is_nibble(element := type.get_element_type()):
        memory = type if is_memref(type) else MemRefType(element, type.get_shape())
        return _unpacked(memory, argument, position)
    what = f"argument {position}, a {type}"
    if not isinstance(argument, np.ndarray):
        raise ValueError(f"expected an array for {what}, got {argument!r}")
    array, scalar = argument, element_of(type.get_element_type())
    dtype = memory_dtype(scalar)
    if array.dtype != dtype:
        if str(array.dtype) not in DTYPES.get(str(scalar), DTYPES["i64"]):
            raise ValueError(
                f"expected elements of {dtype} for {what}, got {array.dtype}"
            )
        array = array.view(dtype)
    rank, inner = type.get_num_dims(), shape_of(type.get_element_type())
    wanted = (*type.get_shape(), *inner)
    if not wanted and array.ndim:
        if not array.flags.c_contiguous:
            raise ValueError(f"expected an array without gaps for {what}")
    else:
        sizes = tuple(None if size == DYNAMIC_INDEX else size for size in wanted)
        strides = None
        if not is_tensor(type):
            is_plain = isinstance(type.layout, NoneAttr)
            strides = row_major(array.shape) if is_plain else type.get_strides()
            if strides is None:
                raise ValueError(f"expected a layout of strides for {what}")
        expected = Buffer(what, "", sizes, None if strides is None else (*strides,))
        check_shape(expected, array.shape)
        check_strides(expected, array)
    width, item = prod(inner), array.itemsize
    return MemRef(
        Allocation(memory_of(array).reshape(1, 1, 1, -1), f"argument {position}"),
        type.get_element_type(),
        number(0),
        tuple(number(size) for size in array.shape[:rank]),
        tuple(number(stride // item // width) for stride in array.strides[:rank]),
    )


def all_errors(
    bound: Sequence[Any],
    arguments: Sequence[Argument],
    space: AddressSpace,
    numerics: Numerics,
) -> list[Array | None]:
    """Return `errors_in` of each argument, and in place of addresses of each array."""
    found: list[Array | None] = []
    known = {x.address: x for x in space.known}
    for value, argument in zip(bound, arguments, strict=True):
        if not isinstance(argument, Addresses):
            found.append(errors_in(value, argument, numerics))
            continue
        for array in argument.arrays:
            buffer = known[array.__array_interface__["data"][0]]
            type = FLOAT_TYPES.get(array.dtype.name)
            part = None if type is None else MemRef(buffer, type, number(0), (), ())
            found.append(errors_in(part, array, numerics))
    return found


FLOAT_TYPES: dict[str, Attribute] = {"float16": f16, "float32": f32, "float64": f64}
"""What arrays hold of which only the address is known, where errors are tracked."""


def errors_in(value: Any, argument: Argument, numerics: Numerics) -> Array | None:
    """Return a bound of the error of each element of an argument.

    It is None of a number, where errors are not tracked, and of numbers of 4 bits.
    """
    if not isinstance(value, MemRef) or not isinstance(argument, np.ndarray):
        return None
    if is_nibble(value.element_type):
        return None
    buffer, type = value.buffer, element_of(value.element_type)
    if buffer.shadow is None or buffer.shadow.errors is None:
        return None
    values = _stored(buffer, np.arange(buffer.elements), type, numerics)
    if (errors := numerics.errors(values, type)) is None:
        return None
    strides = [x // argument.itemsize * errors.itemsize for x in argument.strides]
    return np.lib.stride_tricks.as_strided(errors, argument.shape, strides)


def _stored(
    buffer: Allocation, places: Array, type: Attribute, numerics: Numerics
) -> Array:
    """Return what is in memory, with the bounds of errors that are known there."""
    found = numerics.from_memory(buffer.flat[places], type)
    if buffer.shadow is None or buffer.shadow.errors is None:
        return found
    cells = buffer.shadow.cells(places, buffer.data.itemsize)
    return numerics.with_stored_errors(found, type, buffer.shadow.errors, cells, None)


def released(
    value: Any, type: Attribute, numerics: Numerics
) -> tuple[Array, Array | None]:
    """Return a result as an array, as it would be in memory, and bounds of its errors.

    Of a memref it has the elements that are there at the end.
    """
    element = element_of(type)
    if isinstance(value, MemRef):
        element = value.element_type
        places = linear_index(value, every(value), None)
        value = _stored(value.buffer, places, element, numerics)
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
            sizes.append(int(np.asarray(argument)))
    return sizes


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is started."""

    grid: tuple[int, int, int]
    """Work-groups along x, y, z."""
    work_group_size: tuple[int, int, int]
    """Work-items along x, y, z; their product is a multiple of the subgroup size."""
    subgroup_size: int
    """Lanes."""

    @property
    def work_groups(self) -> int:
        return prod(self.grid)

    @property
    def subgroups(self) -> int:
        """Subgroups of a work-group."""
        return prod(self.work_group_size) // self.subgroup_size


def launch_of(
    func: FuncOp,
    arguments: Sequence[Argument],
    grid: tuple[int, ...] | None,
    subgroup_size: int,
) -> Launch:
    """Return how a kernel is started; other functions have one work-item.

    The grid is what `simt.grid` says if it is None; the subgroup size is for kernels
    that do not say theirs.

    Raises:
        ValueError: there is no grid, or the work-group has no whole subgroups.
    """
    if simt.KERNEL not in func.attributes:
        return Launch((1, 1, 1), (1, 1, 1), 1)
    kernel = simt.kernel_of(func)
    lanes = kernel.subgroup_size or subgroup_size
    size = kernel.work_group_size
    if simt.WORK_GROUP_SIZE not in func.attributes:
        size = (lanes, 1, 1)
    if prod(size) % lanes:
        raise ValueError(
            f"expected a work-group size that is a multiple of the subgroup size "
            f"{lanes}, got {size}"
        )
    if grid is None:
        if kernel.grid is None:
            raise ValueError(f"expected a grid: @{kernel.name} has no {simt.GRID}")
        grid = kernel.grid.eval(grid_sizes(func, arguments), [])
    x, y, z = (*grid, 1, 1)[:3]
    return Launch((x, y, z), size, lanes)
