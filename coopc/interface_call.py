"""Packs arguments as a kernel's interface asks, and computes its grid from them.

    call = pack(interface, [a, b, c])
    session.run(binary, interface.name, call.buffers, groups=call.groups,
                push_constants=call.push_constants)
    c = call.unpack(result.arrays)[2]

Arrays may be strided views where the memref has strides: a buffer is the memory from
the first element of an array to its last.  For a memref in row-major order they are
copied.  A memref of rank 0 is a pointer, to the memory of an array of any shape.  A
wrong argument is a ValueError that names it.  A pointer to integers of 64 bits takes
the addresses of arrays, too.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from coopc.interface import (
    SCALAR_BYTES,
    SECOND_ENTRY,
    Argument,
    Buffer,
    Condition,
    Field,
    Interface,
    Scalar,
    What,
    evaluate,
)

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, slots=True)
class Addresses:
    """Arrays of which a kernel is given an array of the addresses, each an i64."""

    arrays: tuple[Array, ...]

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        starts = [x.__array_interface__["data"][0] for x in self.arrays]
        return np.array(starts, np.int64)


Given: TypeAlias = "Array | Addresses | np.generic | float | int | bool"
"""An argument as the caller gives it."""

DTYPES: dict[str, tuple[str, ...]] = {
    "i1": ("bool", "uint8", "int8"),
    "i8": ("int8", "uint8", "bool"),
    "i16": ("int16", "uint16"),
    "i32": ("int32", "uint32"),
    "i64": ("int64", "uint64"),
    "f16": ("float16",),
    "bf16": ("uint16", "int16", "bfloat16"),
    "f8E4M3FN": ("uint8", "int8", "float8_e4m3fn"),
    "f8E5M2": ("uint8", "int8", "float8_e5m2"),
    "f8E8M0FNU": ("uint8", "int8", "float8_e8m0fnu"),
    "f32": ("float32",),
    "f64": ("float64",),
}
"""Element type to the numpy types that hold it; floats that numpy lacks as bits."""
CODED = ("bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU")
"""Those."""


FIELD = re.compile(r"(.+)(?:\.|_)(shape|stride)\.?(\d+)")
"""The name of a size or a stride of a descriptor that the host makes."""


def with_fields(interface: Interface, arguments: Sequence[Given]) -> list[Given]:
    """Put sizes and strides of arrays, in elements, behind those of descriptors.

    A caller gives them either all or not at all.
    """
    if len(arguments) == len(interface.arguments):
        return list(arguments)
    found: list[Given] = []
    arrays: dict[str, Given] = {}
    given = iter(arguments)
    for argument in interface.arguments:
        field = FIELD.fullmatch(argument.name)
        value = None
        if field is not None and field[1] in arrays:
            value = field_of(arrays[field[1]], field[2], int(field[3]))
        if value is None:
            value = next(given, None)
        if value is None:
            break
        arrays[argument.name] = value
        found.append(value)
    return [*found, *given]


def field_of(value: Given, name: str, dimension: int) -> int | None:
    """Return a size or a stride, in elements, of an array behind a descriptor."""
    if not isinstance(value, np.ndarray) or dimension >= value.ndim:
        return None
    strides = [each // value.itemsize for each in value.strides]
    return (value.shape if name == "shape" else strides)[dimension]


def element_strides(array: Array) -> tuple[int, ...] | None:
    """The strides of an array in elements; None if they are no whole numbers."""
    if any(stride % array.itemsize for stride in array.strides):
        return None
    return tuple(stride // array.itemsize for stride in array.strides)


def value_of(interface: Interface, given: Sequence[Given], field: Field) -> Any:
    argument, each = interface.arguments[field.argument], given[field.argument]
    if field.what == What.VALUE:
        return each
    if field.what == What.ADDRESS:
        return 0  # the runtime writes it: see `Interface.addresses`
    if field.what == What.OFFSET:
        return argument.offset or 0 if isinstance(argument, Buffer) else 0
    array = np.asarray(each)
    if field.what == What.SIZE:
        return array.shape[field.dimension]
    strides = element_strides(array)
    assert strides is not None, array.strides
    return strides[field.dimension]


def why_no_integer(number: float, bits: int) -> str | None:
    """Return why a number is no integer of so many bits, with or without a sign."""
    if isinstance(number, float) and not number.is_integer():
        return "it is not an integer"
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        return f"it has more than {bits} bits"
    return None


def bytes_of(interface: Interface, given: Sequence[Given], field: Field) -> bytes:
    """The bytes of a field.

    A float is rounded to a type that numpy lacks, to nearest even; an int is its bits.

    Raises:
        ValueError: the number does not fit.
    """
    value = np.asarray(value_of(interface, given, field))
    number = float(value) if value.dtype.kind == "f" else value.item()
    type, size = field.type, SCALAR_BYTES[field.type]
    name = interface.arguments[field.argument].name
    if not isinstance(number, int | float):
        raise ValueError(
            f"expected {field.what} of {name} to be an {type}, got {number!r}"
        )
    if type in CODED and isinstance(number, float):
        from coopc.rounding import FORMATS

        return FORMATS[type].encode(float(number)).to_bytes(size, "little")
    try:
        if type in CODED and isinstance(number, int):
            return number.to_bytes(size, "little")
        if type in ("i1", "f16", "f32", "f64"):
            return struct.pack(f"<{dtype_of(type).char}", number)
        if (reason := why_no_integer(number, 8 * size)) is not None:
            raise ValueError(reason)
        return int(number % (1 << 8 * size)).to_bytes(size, "little")
    except (ValueError, TypeError, OverflowError, struct.error) as error:
        raise ValueError(
            f"expected {field.what} of {name} to be an {type}, got {number!r}: {error}"
        ) from error


def element_of(dtype: np.dtype[Any]) -> str:
    """The first type whose elements a numpy type holds."""
    return next(type for type, known in DTYPES.items() if str(dtype) in known)


def dtype_of(type: str) -> np.dtype[Any]:
    """The numpy type of elements of a type, the first of those that hold it."""
    return np.dtype(DTYPES["i64" if type == "index" else type][0])


def entry_for(
    known: Sequence[Interface], first: Interface, given: Sequence[Given]
) -> Interface:
    """Return the entry point of a kernel that takes some arguments.

    The first, or its second one where a condition of the first is violated.
    """
    names = {each.name: each for each in known}
    second = names.get(first.name + SECOND_ENTRY)
    if second is None or violated_condition(first, given) is None:
        return first
    return second


def violated_condition(interface: Interface, given: Sequence[Given]) -> str | None:
    """Return which condition arguments violate, that the host can check, or None.

    Addresses are the runtime's.
    """
    for condition in interface.conditions:
        if condition.what == "address":
            continue
        is_of_two = condition.what == "memory"
        why_violated = _why_overlapping if is_of_two else _why_violated
        reason = why_violated(interface, given, condition)
        if reason is not None:
            argument = interface.arguments[condition.argument]
            number = "" if is_of_two else f" {condition.dimension}"
            return f"{condition.what}{number} of {argument.name}: {reason}"
    return None


def overlap(one: Given, other: Given) -> bool:
    """Whether arrays have an element in common, or it takes too long to find out."""
    try:
        steps = 1 << 16  # numpy's types know no number but 0
        return np.shares_memory(one, other, max_work=steps)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return True


def _why_overlapping(
    interface: Interface, given: Sequence[Given], x: Condition
) -> str | None:
    assert x.apart_from_argument is not None, x
    if not overlap(given[x.argument], given[x.apart_from_argument]):
        return None
    name = interface.arguments[x.apart_from_argument].name
    return f"expected memory apart from that of {name} ({x.why})"


def _why_violated(
    interface: Interface, given: Sequence[Given], x: Condition
) -> str | None:
    if x.what == "bytes":
        array = np.asarray(given[x.argument])
        steps = zip(array.shape, array.strides, strict=True)
        value = array.itemsize + sum((size - 1) * step for size, step in steps)
    else:
        field = Field(What(x.what), x.argument, x.dimension, "", 0)
        value = int(value_of(interface, given, field))
    why = f" ({x.why})" if x.why else ""
    if (other := x.at_least_argument) is not None:
        name = interface.arguments[other].name
        if value < int(np.asarray(given[other]).item()):
            return f"expected at least {name} = {given[other]} ({x.why}), got {value}"
    if (other := x.like_argument) is not None:
        dimension, name = x.like_dimension, interface.arguments[other].name
        if value != (wanted := np.asarray(given[other]).shape[dimension]):
            return (
                f"expected {wanted}, which is size {dimension} of {name}, got {value}"
            )
    if value % x.multiple_of:
        return f"expected a multiple of {x.multiple_of}{why}, got {value}"
    if x.at_least is not None and value < x.at_least:
        return f"expected at least {x.at_least}{why}, got {value}"
    if x.less_than is not None and value >= x.less_than:
        return f"expected less than {x.less_than}{why}, got {value}"
    return None


INDEX_LIMIT = 1 << 31
"""Elements of memory that an i32 can number."""


@dataclass(frozen=True, eq=False, slots=True)
class Content:
    """An array of the caller, and where it is."""

    name: str
    """Of the argument; `a[0]` of the first array whose address is in `a`."""
    element: str
    """A key of `SCALAR_BYTES`."""
    array: Array
    buffer: int
    """The number of the buffer."""
    offset: int = 0
    """Of the first element there."""
    holder: int | None = None
    """The buffer that holds its address, if one does."""


@dataclass(frozen=True)
class Call:
    interface: Interface
    given: tuple[Given, ...]
    buffers: tuple[Array, ...]
    """The memory of each memref, one dimension each: that of its array, or a copy; then
    that of arrays whose addresses the kernel gets."""
    push_constants: bytes
    """The block of push constants; empty under OpenCL."""
    groups: tuple[int, int, int]
    """Work-groups along x, y, z."""

    @property
    def contents(self) -> list[Content]:
        """What the buffers hold for the caller: arrays, also those of addresses."""
        found: list[Content] = []
        last, numbers = len(self.interface.buffers), count()
        for argument, given in zip(self.interface.arguments, self.given, strict=True):
            if not isinstance(argument, Buffer):
                continue
            number, name = next(numbers), argument.name
            if not isinstance(given, Addresses):
                array, offset = np.asarray(given), argument.offset or 0
                found.append(Content(name, argument.element, array, number, offset))
                continue
            for at, array in enumerate(given.arrays):
                known = element_of(array.dtype)
                each = Content(f"{name}[{at}]", known, array, last, holder=number)
                found.append(each)
                last += 1
        return found

    @property
    def pointers(self) -> dict[int, list[int]]:
        """For each buffer of addresses, the buffers that these are of."""
        found: dict[int, list[int]] = {}
        for each in self.contents:
            if each.holder is not None:
                found.setdefault(each.holder, []).append(each.buffer)
        return found

    @property
    def driver_arguments(self) -> tuple[tuple[Any, ...], dict[int, list[int]]]:
        """The arguments of a function, then the buffers that addresses are of.

        With them `pointers`, by the numbers of arguments.
        """
        found = (*self.opencl_arguments, *self.buffers[len(self.interface.buffers) :])
        at = [n for n, x in enumerate(found) if isinstance(x, np.ndarray)]
        pointers = self.pointers.items()
        return found, {at[n]: [at[x] for x in parts] for n, parts in pointers}

    @property
    def opencl_arguments(self) -> tuple[Any, ...]:
        """The arguments of an OpenCL kernel: arrays and numpy scalars, in order."""
        found: list[Any] = []
        buffers = iter(self.buffers)
        for position, argument in enumerate(self.interface.arguments):
            if isinstance(argument, Buffer):
                found.append(next(buffers))
            for field in self.interface.fields:
                if field.argument == position:
                    data = bytes_of(self.interface, self.given, field)
                    found.append(np.frombuffer(data, dtype_of(field.type))[0])
        return tuple(found)

    def unpack(self, buffers: Sequence[Array]) -> tuple[Array, ...]:
        """The arrays of `contents`, from what the buffers hold now."""
        return tuple(
            strided(
                buffers[each.buffer][each.offset :].view(each.array.dtype),
                each.array.shape,
                each.array.strides,
            )
            for each in self.contents
        )


def checked(interface: Interface, arguments: Sequence[Given]) -> list[Given]:
    """Return arguments as a kernel takes them, whatever its conditions say.

    An array that has to be copied is copied once, however often it is an argument.

    Raises:
        ValueError: one is missing, or of another type, shape or stride.
    """
    if len(arguments) != len(interface.arguments):
        names = ", ".join(argument.name for argument in interface.arguments)
        raise ValueError(
            f"expected {len(interface.arguments)} arguments of {interface.name} "
            f"({names}), got {len(arguments)}"
        )
    copies: dict[object, Given] = {}
    found: list[Given] = []
    for argument, each in zip(interface.arguments, arguments, strict=True):
        new = _checked(argument, each)
        if isinstance(each, np.ndarray) and isinstance(new, np.ndarray):
            start = each.__array_interface__["data"][0]
            place = start, each.shape, each.strides, str(each.dtype), new.shape
            new = copies.setdefault(place, new)
        found.append(new)
    return found


def pack(
    interface: Interface,
    arguments: Sequence[Given],
    groups: tuple[int, int, int] | None = None,
) -> Call:
    """Check arguments against an interface, and pack them.

    `groups` are work-groups along x, y, z, instead of those of the kernel's grid.

    Raises:
        ValueError: an argument is missing, of another type, shape or stride, or
            violates a condition; or there is no grid.
    """
    given = checked(interface, arguments)
    if (reason := violated_condition(interface, given)) is not None:
        raise ValueError(reason)
    buffers: list[Array] = []
    for argument, each in zip(interface.arguments, given, strict=True):
        if not isinstance(argument, Buffer):
            continue
        array = np.asarray(each)
        memory = memory_of(array)
        extent = memory.size + (argument.offset or 0)
        if interface.flavour == "vulkan" and extent > INDEX_LIMIT:
            raise ValueError(
                f"expected {argument.name} to take at most {INDEX_LIMIT} elements "
                f"of memory, as an index of Vulkan is an i32, got {extent}"
            )
        if not memory.size:  # drivers have no empty buffers
            memory = np.zeros(1, array.dtype)
        memory = np.require(memory, requirements="W")  # kernels may run on it
        if argument.offset:
            before = np.zeros(argument.offset, array.dtype)
            memory = np.concatenate([before, memory])
        buffers.append(memory)
    for each in given:
        if isinstance(each, Addresses):
            buffers += [x if x.size else np.zeros(1, x.dtype) for x in each.arrays]
    block = bytearray(interface.push_constant_bytes)
    for field in interface.fields if block else ():
        data = bytes_of(interface, given, field)
        block[field.byte_offset : field.byte_offset + len(data)] = data
    chosen = groups or groups_of(interface, given)
    return Call(interface, tuple(given), tuple(buffers), bytes(block), chosen)


def sizes_of(interface: Interface, arguments: Sequence[Given]) -> list[int]:
    return [int(value_of(interface, arguments, each)) for each in interface.sizes]


def groups_of(interface: Interface, arguments: Sequence[Given]) -> tuple[int, int, int]:
    """The work-groups along x, y, z that arguments ask for; one without a grid.

    There are none where there is nothing to do, as for matrices without rows.

    Raises:
        ValueError: a number of work-groups is negative.
    """
    if interface.grid is None:
        return (1, 1, 1)
    sizes = sizes_of(interface, arguments)
    x, y, z = (*(evaluate(each, sizes) for each in interface.grid), 1, 1)[:3]
    if min(x, y, z) < 0:
        raise ValueError(
            f"the number of work-groups of {interface.name} must not be "
            f"negative along any axis, got {x} x {y} x {z} for sizes "
            f"{sizes}"
        )
    return x, y, z


def _checked(argument: Argument, given: Given) -> Given:
    """An argument, if it is what the kernel takes."""
    if isinstance(argument, Scalar):
        if np.ndim(given) != 0:
            raise ValueError(
                f"expected {argument.name} to be one {argument.type}, "
                f"got an array of shape {np.shape(given)}"
            )
        return given[()] if isinstance(given, np.ndarray) else given
    if isinstance(given, Addresses):
        if argument.element != "i64" or argument.shape:
            what = "a pointer to i64, which addresses of arrays are"
            raise ValueError(f"expected {argument.name} to be {what}")
        for array in given.arrays:
            check_strides(argument, array)
        return Addresses(tuple(map(memory_of, given.arrays)))
    array = np.asarray(given)
    if argument.shape:
        check_shape(argument, array.shape)
    known = DTYPES[argument.element]
    if str(array.dtype) not in known:
        raise ValueError(
            f"expected {argument.name} to hold {argument.element} ({known[0]}), "
            f"got {array.dtype}"
        )
    if argument.strides is not None or not argument.shape:
        check_strides(argument, array)
    if array.flags.c_contiguous or argument.strides is not None:
        return array
    return array.copy(order="C") if argument.shape else memory_of(array)


def check_shape(argument: Buffer, found: Sequence[int]) -> None:
    """Refuse a shape that a memref does not have.

    Raises:
        ValueError: the shape is not that of the argument.
    """
    if len(argument.shape) != len(found) or any(
        size not in (None, other)
        for size, other in zip(argument.shape, found, strict=True)
    ):
        sizes = " x ".join("?" if n is None else str(n) for n in argument.shape)
        wanted = f"have shape {sizes}" if sizes else "be a number"
        got = " x ".join(map(str, found)) or "a number"
        raise ValueError(f"expected {argument.name} to {wanted}, got {got}")


def check_strides(argument: Buffer, array: Array) -> None:
    """Refuse strides that a memref does not have, where there are several elements.

    Raises:
        ValueError: they are not those of the argument, or of no whole elements.
    """
    if array.size == 0:
        return
    strides = element_strides(array)
    if strides is None or min(strides, default=0) < 0:
        raise ValueError(
            f"expected {argument.name} to have strides of whole elements that are not "
            f"negative, got {array.strides} bytes"
        )
    expected = argument.strides or (None,) * array.ndim
    for wanted, found, size in zip(expected, strides, array.shape, strict=True):
        if wanted is not None and wanted != found and size > 1:
            raise ValueError(
                f"expected {argument.name} to have strides of "
                f"{', '.join('?' if n is None else str(n) for n in expected)} "
                f"elements, got {', '.join(map(str, strides))}"
            )


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of an array in row-major order.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides[: len(shape)])


def extent_of(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements of memory from the first element of an array to its last."""
    ends = ((n - 1) * step for n, step in zip(shape, strides, strict=True))
    return 1 + sum(ends) if all(shape) else 0


def strided_zeros(
    shape: Sequence[int], strides: Sequence[int], dtype: np.dtype[Any]
) -> Array:
    """An array of zeros with some strides, in elements."""
    memory = np.zeros(extent_of(shape, strides), dtype)
    return strided(memory, shape, [stride * dtype.itemsize for stride in strides])


def memory_of(array: Array) -> Array:
    """The memory of an array, from its first element to its last, gaps included."""
    strides = element_strides(array)
    assert strides is not None, array.strides
    return strided(array, (extent_of(array.shape, strides),), (array.itemsize,))


def strided(array: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """View the memory of an array with another shape, and strides in bytes.

    numpy's `as_strided` refuses types that it does not know, such as float8_e5m2.
    """
    memory = array.view(f"V{array.itemsize}")
    return as_strided(memory, shape, strides).view(array.dtype)
