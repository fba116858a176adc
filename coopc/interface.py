"""How a kernel is called: its arguments, its grid, what the host must check first.

A kernel's arguments are memrefs and scalars.  What the run-time gets depends on the
flavour of the module:

| flavour | memref                                         | scalar              |
|---------|------------------------------------------------|---------------------|
| opencl  | a pointer, then its `Field`s, an i64 each       | as it is            |
| vulkan  | binding n of set 0 for the n-th memref, and     | in the block of     |
|         | its `Field`s in the block of push constants     | push constants      |
| vulkan, | its address, an i64, before its other `Field`s, | the same            |
| by addresses | in the block of push constants             |                     |

The fields of a memref are its dynamic offset, sizes and strides, in that order; what
the type says is left out, and a memref without a layout has dynamic sizes only.  The
push constants are in the order of the arguments, each at the next multiple of its own
size; `index` is an i32 there, and an i64 in OpenCL.

Memory of elements below 32 bits that are accessed atomically begins and ends at a
multiple of 4 bytes: so wide are the narrowest atomic instructions.

`-t abi-json` prints interfaces, `Interface.from_json` reads them;
`coopc.interface` packs arguments as they ask.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

Json: TypeAlias = Any
"""What `json` reads and writes."""

FORMAT = 1
"""The version of what `-t abi-json` prints.  A reader of one version reads what is of
the same; it changes where a member changes its meaning or goes."""

SCALAR_BYTES = {
    "i1": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
}
"""Sizes in memory, in bytes; an i1 is a byte that is 0 or 1."""

SECOND_ENTRY = ".fallback"
"""What the name of a kernel's second entry point ends in: it has no conditions but that
sizes are the same, and is called where one of the first's is violated."""

PACKING_ENTRY = ".pack_b"
"""What the name of the entry point ends in that packs a kernel's B before it runs."""


class What(StrEnum):
    """What a field holds."""

    VALUE = auto()
    """A scalar argument."""
    OFFSET = auto()
    """Of a memref's first element, in elements."""
    SIZE = auto()
    """Of a dimension of a memref, in elements."""
    STRIDE = auto()
    """Of a dimension of a memref, in elements."""
    ADDRESS = auto()
    """Of a memref's memory, where Vulkan binds no buffers."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """An argument that is a memref."""

    name: str
    element: str
    """A key of `SCALAR_BYTES`."""
    shape: tuple[int | None, ...]
    """Elements along each dimension; None where it is dynamic."""
    strides: tuple[int | None, ...] | None = None
    """Elements from one to the next along each dimension; None for row-major order."""
    offset: int | None = 0
    """Of the first element, in elements."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """An argument that is a number."""

    name: str
    type: str
    """A key of `SCALAR_BYTES`, or index."""


Argument: TypeAlias = Buffer | Scalar


@dataclass(frozen=True, slots=True)
class Field:
    """A number that is passed beside the buffers."""

    what: What
    argument: int
    """Which argument it belongs to, from 0."""
    dimension: int
    """Of a size or a stride, from 0; else 0."""
    type: str
    """How it is passed: a key of `SCALAR_BYTES`."""
    byte_offset: int
    """In the block of push constants, in bytes; 0 under OpenCL."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A number of work-groups, computed from the kernel's sizes.

    >>> Expression.from_json(["floordiv", ["add", ["size", 0], 15], 16]).of([100])
    7
    """

    kind: str
    """size, constant, add, mul, mod, floordiv or ceildiv."""
    number: int = 0
    """The value of a constant; of a size, which one of `Interface.sizes`."""
    operands: tuple["Expression", ...] = ()

    def of(self, sizes: Sequence[int]) -> int:
        """The value for these sizes.

        Raises:
            ValueError: it divides by something that is not positive.
        """
        if self.kind == "constant":
            return self.number
        if self.kind == "size":
            return sizes[self.number]
        left, right = (operand.of(sizes) for operand in self.operands)
        if self.kind in ("mod", "floordiv", "ceildiv") and right <= 0:
            raise ValueError(f"expected to divide by a positive size, got {right}")
        match self.kind:
            case "add":
                return left + right
            case "mul":
                return left * right
            case "mod":
                return left % right
            case "floordiv":
                return left // right
            case _:
                return -(-left // right)

    def to_json(self) -> Json:
        """A number, or a list of the kind and its operands."""
        if self.kind == "constant":
            return self.number
        if self.kind == "size":
            return ["size", self.number]
        return [self.kind, *(operand.to_json() for operand in self.operands)]

    @classmethod
    def from_json(cls, json: Json) -> "Expression":
        """What `to_json` gave."""
        if isinstance(json, int):
            return cls("constant", json)
        kind, *operands = json
        if kind == "size":
            return cls("size", operands[0])
        return cls(kind, operands=tuple(map(cls.from_json, operands)))


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of the arguments for the kernel to be right."""

    what: str
    """address, in bytes; bytes, of a memref's memory; or a member of `What`."""
    argument: int
    dimension: int = 0
    multiple_of: int = 1
    """What it must be a multiple of, in its own unit."""
    at_least: int | None = None
    less_than: int | None = None
    why: str = ""
    """For people."""
    at_least_argument: int | None = None
    """Another argument, a scalar, that it must not be less than."""
    like_argument: int | None = None
    """Another memref, of which it must be the size of a dimension."""
    like_dimension: int = 0
    """Which dimension of that one."""

    def violated(self, value: int) -> str | None:
        """Why a value is not allowed, or None.

        >>> Condition("size", 0, 1, multiple_of=16, why="tiles").violated(40)
        'expected a multiple of 16 (tiles), got 40'
        """
        why = f" ({self.why})" if self.why else ""
        if value % self.multiple_of:
            return f"expected a multiple of {self.multiple_of}{why}, got {value}"
        if self.at_least is not None and value < self.at_least:
            return f"expected at least {self.at_least}{why}, got {value}"
        if self.less_than is not None and value >= self.less_than:
            return f"expected less than {self.less_than}{why}, got {value}"
        return None


@dataclass(frozen=True, slots=True)
class SpecConstant:
    """A number that may be set when the module is loaded."""

    name: str
    id: int
    """Its SpecId."""
    default: int


@dataclass(frozen=True, slots=True)
class Interface:
    """How one kernel is called."""

    name: str
    """The entry point."""
    flavour: str
    """opencl or vulkan."""
    arguments: tuple[Argument, ...]
    fields: tuple[Field, ...]
    """In the order in which they are passed."""
    work_group_size: tuple[int, int, int]
    """Work-items along x, y, z."""
    subgroup_size: int | None
    """Lanes; None where the device may choose."""
    grid: tuple[Expression, ...] | None
    """Work-groups along x, y, z, from `sizes`."""
    work_group_memory_bytes: int = 0
    registers: int | None = None
    """General registers of a thread that the kernel was compiled for."""
    conditions: tuple[Condition, ...] = ()
    spec_constants: tuple[SpecConstant, ...] = ()

    @property
    def sizes(self) -> tuple[Field, ...]:
        """What the grid is computed from, in the order of the arguments.

        The dynamic sizes of memrefs and the index arguments.
        """
        return tuple(x for x in self.fields if self._is_size(x))

    def _is_size(self, field: Field) -> bool:
        argument = self.arguments[field.argument]
        is_index = isinstance(argument, Scalar) and argument.type == "index"
        return field.what is What.SIZE or is_index

    @property
    def push_constant_bytes(self) -> int:
        """Size of the block of push constants."""
        if self.flavour != "vulkan":
            return 0
        ends = [field.byte_offset + SCALAR_BYTES[field.type] for field in self.fields]
        return max(ends, default=0)

    @property
    def addresses(self) -> tuple[int, ...]:
        """Where in the push constants the addresses of buffers are, in bytes.

        There are none where buffers are bound.
        """
        found = (x for x in self.fields if x.what is What.ADDRESS)
        return tuple(field.byte_offset for field in found)

    def binding(self, argument: int) -> int:
        """The binding of an argument that is a memref."""
        return sum(isinstance(each, Buffer) for each in self.arguments[:argument])

    def to_json(self) -> dict[str, Json]:
        """As JSON: what `from_json` reads, and what follows from it.

        That is the binding of each buffer, and `sizes`: `["size", n]` in the grid is
        the n-th of these.
        """
        arguments: list[Json] = []
        for position, argument in enumerate(self.arguments):
            json = _plain(argument)
            bound = self.flavour == "vulkan" and not self.addresses
            if isinstance(argument, Buffer) and bound:
                json["binding"] = self.binding(position)
            arguments.append(json)
        return {
            "name": self.name,
            "flavour": self.flavour,
            "arguments": arguments,
            "fields": [_plain(field) for field in self.fields],
            "push_constant_bytes": self.push_constant_bytes,
            "work_group_size": list(self.work_group_size),
            "sizes": [
                {"what": x.what, "argument": x.argument, "dimension": x.dimension}
                for x in self.sizes
            ],
            "subgroup_size": self.subgroup_size,
            "grid": None if self.grid is None else [e.to_json() for e in self.grid],
            "work_group_memory_bytes": self.work_group_memory_bytes,
            "registers": self.registers,
            "conditions": [_plain(condition) for condition in self.conditions],
            "spec_constants": [_plain(each) for each in self.spec_constants],
        }

    @classmethod
    def from_json(cls, json: Mapping[str, Json]) -> "Interface":
        """What `to_json` gave."""
        grid = json["grid"]
        x, y, z = json["work_group_size"]
        return cls(
            name=json["name"],
            flavour=json["flavour"],
            arguments=tuple(map(_argument, json["arguments"])),
            fields=tuple(
                Field(
                    What(each["what"]),
                    each["argument"],
                    each["dimension"],
                    each["type"],
                    each["byte_offset"],
                )
                for each in json["fields"]
            ),
            work_group_size=(x, y, z),
            subgroup_size=json["subgroup_size"],
            grid=None if grid is None else tuple(map(Expression.from_json, grid)),
            work_group_memory_bytes=json["work_group_memory_bytes"],
            registers=json["registers"],
            conditions=tuple(Condition(**each) for each in json["conditions"]),
            spec_constants=tuple(
                SpecConstant(**each) for each in json["spec_constants"]
            ),
        )


def fields_of(
    arguments: Sequence[Argument], flavour: str, addresses: bool = False
) -> tuple[Field, ...]:
    """The fields of a kernel with these arguments, in the order of the arguments.

    Args:
        arguments: of the kernel.
        flavour: opencl or vulkan.
        addresses: whether memrefs are passed by their addresses.
    """
    index = "i32" if flavour == "vulkan" else "i64"
    fields: list[Field] = []
    end = 0
    for position, argument in enumerate(arguments):
        parts = _dynamic(argument, index)
        if addresses and isinstance(argument, Buffer):
            parts.insert(0, (What.ADDRESS, 0, "i64"))
        for what, dimension, type in parts:
            size = SCALAR_BYTES[type]
            start = -(-end // size) * size if flavour == "vulkan" else 0
            fields.append(Field(what, position, dimension, type, start))
            end = start + size
    return tuple(fields)


def _dynamic(argument: Argument, index: str) -> list[tuple[What, int, str]]:
    """What of an argument is passed as numbers: what, dimension and type."""
    if isinstance(argument, Scalar):
        type = index if argument.type == "index" else argument.type
        return [(What.VALUE, 0, type)]
    found: list[tuple[What, int, str]] = []
    if argument.offset is None:
        found.append((What.OFFSET, 0, index))
    for what, numbers in (
        (What.SIZE, argument.shape),
        (What.STRIDE, argument.strides or ()),
    ):
        found += [(what, at, index) for at, n in enumerate(numbers) if n is None]
    return found


def _plain(
    value: Buffer | Scalar | Field | Condition | SpecConstant,
) -> dict[str, Json]:
    """The fields of a dataclass with slots, tuples as lists."""
    found: dict[str, Json] = {}
    for name in value.__slots__:
        member: Json = getattr(value, name)
        found[name] = [*member] if type(member) is tuple else member
    return found


def _argument(json: Mapping[str, Json]) -> Argument:
    """The argument that `Interface.to_json` gave."""
    if "type" in json:
        return Scalar(json["name"], json["type"])
    strides = json["strides"]
    return Buffer(
        json["name"],
        json["element"],
        tuple(json["shape"]),
        None if strides is None else tuple(strides),
        json["offset"],
    )


# What the fields of a kernel's interface hold for some arguments: numbers, and bytes.
#
# A field is a size, a stride, an offset or an address of a memref, or a number that is
# an argument itself: see `coopc.interface`.

Array: TypeAlias = npt.NDArray[Any]
Given: TypeAlias = "Array | np.generic | float | int | bool"
"""An argument as the caller gives it."""

DTYPES: dict[str, tuple[str, ...]] = {
    "i1": ("bool", "uint8", "int8"),
    "i8": ("int8", "uint8"),
    "i16": ("int16", "uint16"),
    "i32": ("int32", "uint32"),
    "i64": ("int64", "uint64"),
    "f16": ("float16",),
    "bf16": ("uint16", "int16", "bfloat16"),
    "f32": ("float32",),
    "f64": ("float64",),
}
"""Element type to the numpy types that hold it; bf16 as its bits."""

_FORMATS = {
    "i1": "<?",
    "i8": "<b",
    "i16": "<h",
    "i32": "<i",
    "i64": "<q",
    "f16": "<e",
    "f32": "<f",
    "f64": "<d",
}


def element_strides(array: Array) -> tuple[int, ...] | None:
    """The strides of an array in elements; None if they are no whole numbers."""
    if any(stride % array.itemsize for stride in array.strides):
        return None
    return tuple(stride // array.itemsize for stride in array.strides)


def value_of(interface: Interface, given: Sequence[Given], field: Field) -> Any:
    """The number that a field holds."""
    argument, each = interface.arguments[field.argument], given[field.argument]
    if field.what == What.VALUE:
        return each
    if field.what == What.ADDRESS:
        return 0  # the run-time writes it: see `Interface.addresses`
    if field.what == What.OFFSET:
        return argument.offset or 0 if isinstance(argument, Buffer) else 0
    array = np.asarray(each)
    if field.what == What.SIZE:
        return array.shape[field.dimension]
    strides = element_strides(array)
    assert strides is not None, array.strides
    return strides[field.dimension]


def bytes_of(interface: Interface, given: Sequence[Given], field: Field) -> bytes:
    """The bytes of a field.

    Raises:
        ValueError: the number does not fit.
    """
    value = value_of(interface, given, field)
    name = interface.arguments[field.argument].name
    if field.type == "bf16":
        return _bf16(value)
    number = np.asarray(value).item()
    try:
        if field.type.startswith("i") and field.type != "i1":
            bits = 8 * struct.calcsize(_FORMATS[field.type])
            if number != int(number):
                raise ValueError("it is no whole number")
            if not -(1 << (bits - 1)) <= number < 1 << bits:
                raise ValueError(f"it has more than {bits} bits")
            return int(number % (1 << bits)).to_bytes(bits // 8, "little")
        return struct.pack(_FORMATS[field.type], number)
    except (ValueError, TypeError, OverflowError, struct.error) as error:
        raise ValueError(
            f"expected {field.what} of {name} to be an {field.type}, "
            f"got {number!r}: {error}"
        ) from error


def _bf16(value: Any) -> bytes:
    """A float rounded to bf16, to nearest even; or the bits, given as an int."""
    number = np.asarray(value).item()
    if isinstance(number, int):
        return number.to_bytes(2, "little")
    from coopc.rounding import FORMATS

    rounded = FORMATS["bf16"].round(float(number))
    return struct.pack("<f", rounded)[2:]


def dtype_of(type: str) -> str:
    """The numpy type of elements of a type, the first of those that hold it."""
    return DTYPES[type][0]


# Which entry point of a kernel takes some arguments: its conditions, on the host.
#
# chosen = entry_for(interfaces, first, [a, b, c])    # `.fallback`, if they ask for it


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

    Addresses are the run-time's.
    """
    for condition in interface.conditions:
        if condition.what == "address":
            continue
        reason = _why_violated(interface, given, condition)
        if reason is not None:
            argument = interface.arguments[condition.argument]
            return (
                f"{condition.what} {condition.dimension} of {argument.name}: {reason}"
            )
    return None


def _why_violated(
    interface: Interface, given: Sequence[Given], condition: Condition
) -> str | None:
    """Return why arguments violate a condition, or None."""
    value = _demanded(interface, given, condition)
    if (other := condition.at_least_argument) is not None:
        name, why = interface.arguments[other].name, condition.why
        if value < int(_scalar(given[other])):
            return f"expected at least {name} = {given[other]} ({why}), got {value}"
    if (other := condition.like_argument) is not None:
        dimension, name = condition.like_dimension, interface.arguments[other].name
        if value != (wanted := np.asarray(given[other]).shape[dimension]):
            return (
                f"expected {wanted}, which is size {dimension} of {name}, got {value}"
            )
    return condition.violated(value)


def _scalar(given: Given) -> Any:
    """Return an argument that is a number."""
    return np.asarray(given).item()


def _demanded(
    interface: Interface, given: Sequence[Given], condition: Condition
) -> int:
    """Return the number that a condition is about."""
    if condition.what == "bytes":
        array = np.asarray(given[condition.argument])
        steps = zip(array.shape, array.strides, strict=True)
        return array.itemsize + sum((size - 1) * step for size, step in steps)
    field = Field(What(condition.what), condition.argument, condition.dimension, "", 0)
    return int(value_of(interface, given, field))


# Packs arguments as a kernel's interface asks, and computes its grid from them.
#
#     call = pack(interface, [a, b, c])
#     session.run(binary, interface.name, call.buffers, groups=call.groups,
#                 push_constants=call.push_constants)
#     c = call.unpack(result.buffers)[2]
#
# Arrays may be strided views where the memref has strides: a buffer is the memory from
# the first element of an array to its last.  For a memref in row-major order they are
# copied.  A memref of rank 0 is a pointer, to all of an array of any shape.  A wrong
# argument is a ValueError that names it.

INDEX_LIMIT = 1 << 31
"""Elements of memory that an i32 can number."""


@dataclass(frozen=True)
class Call:
    """One call of a kernel."""

    interface: Interface
    given: tuple[Given, ...]
    """The arguments, as they were given."""
    buffers: tuple[Array, ...]
    """What each memref's memory holds, one dimension each."""
    push_constants: bytes
    """The block of push constants; empty under OpenCL."""
    groups: tuple[int, int, int]
    """Work-groups along x, y, z."""

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
        """The arrays of the memrefs, in order, from what the buffers hold now."""
        arrays: list[Array] = []
        found = iter(buffers)
        for argument, given in zip(self.interface.arguments, self.given, strict=True):
            if isinstance(argument, Buffer):
                array = np.asarray(given)
                flat = next(found)[argument.offset or 0 :]
                view = as_strided(flat.view(array.dtype), array.shape, array.strides)
                arrays.append(view)
        return tuple(arrays)


def pack(
    interface: Interface,
    arguments: Sequence[Given],
    groups: tuple[int, int, int] | None = None,
) -> Call:
    """Check arguments against an interface, and pack them.

    Args:
        interface: of the kernel.
        arguments: arrays for memrefs, numbers for scalars.
        groups: work-groups along x, y, z, instead of those of the kernel's grid.

    Raises:
        ValueError: an argument is missing, of another type, shape or stride, or
            violates a condition; or there is no grid.
    """
    if len(arguments) != len(interface.arguments):
        names = ", ".join(argument.name for argument in interface.arguments)
        raise ValueError(
            f"expected {len(interface.arguments)} arguments of {interface.name} "
            f"({names}), got {len(arguments)}"
        )
    given: list[Given] = []
    for argument, each in zip(interface.arguments, arguments, strict=True):
        given.append(_checked(argument, each))
    if (reason := violated_condition(interface, given)) is not None:
        raise ValueError(reason)
    if interface.flavour == "vulkan":
        _check_extents(interface, given)
    buffers = tuple(
        _flat(argument, np.asarray(each))
        for argument, each in zip(interface.arguments, given, strict=True)
        if isinstance(argument, Buffer)
    )
    block = _push_constants(interface, given)
    chosen = groups or groups_of(interface, given)
    return Call(interface, tuple(given), buffers, block, chosen)


def sizes_of(interface: Interface, arguments: Sequence[Given]) -> list[int]:
    """The sizes that the grid is computed from."""
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
    x, y, z = (*(each.of(sizes) for each in interface.grid), 1, 1)[:3]
    if min(x, y, z) < 0:
        raise ValueError(
            f"expected no negative number of work-groups along an axis of "
            f"{interface.name}, got {x} x {y} x {z} for sizes {sizes}"
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
        return given
    array = np.asarray(given)
    known = DTYPES[argument.element]
    if str(array.dtype) not in known:
        raise ValueError(
            f"expected {argument.name} to hold {argument.element} ({known[0]}), "
            f"got {array.dtype}"
        )
    if argument.shape and not _fits(argument.shape, array.shape):
        shape = " x ".join("?" if n is None else str(n) for n in argument.shape)
        got = " x ".join(map(str, array.shape))
        raise ValueError(f"expected {argument.name} to be {shape or '()'}, got {got}")
    if argument.strides is None and not array.flags.c_contiguous:
        return array.copy(order="C")
    _check_strides(argument, array)
    return array


def _fits(expected: Sequence[int | None], found: Sequence[int]) -> bool:
    return len(expected) == len(found) and all(
        size is None or size == other
        for size, other in zip(expected, found, strict=True)
    )


def _check_strides(argument: Buffer, array: Array) -> None:
    """Check the strides along dimensions of which there is more than one element."""
    if array.size == 0:
        return
    strides = element_strides(array)
    if strides is None or min(strides, default=0) < 0:
        raise ValueError(
            f"expected {argument.name} to have strides of whole elements that are not "
            f"negative, got {array.strides} bytes"
        )
    expected = argument.strides or row_major(array.shape)
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


def _check_extents(interface: Interface, given: Sequence[Given]) -> None:
    """Check that every element has a number that is an i32."""
    for argument, each in zip(interface.arguments, given, strict=True):
        if isinstance(argument, Buffer):
            extent = _extent(np.asarray(each)) + (argument.offset or 0)
            if extent > INDEX_LIMIT:
                raise ValueError(
                    f"expected {argument.name} to take at most {INDEX_LIMIT} elements "
                    f"of memory, as an index of Vulkan is an i32, got {extent}"
                )


def _extent(array: Array) -> int:
    """Elements of memory from the first element of an array to its last."""
    strides = element_strides(array)
    assert strides is not None, array.strides
    ends = ((n - 1) * step for n, step in zip(array.shape, strides, strict=True))
    return 1 + sum(ends) if array.size else 0


def _flat(argument: Buffer, array: Array) -> Array:
    """The memory of an array, from its first element to its last, after the offset.

    It has an element where the array has none: drivers have no empty buffers.
    """
    memory = as_strided(array, (_extent(array),), (array.itemsize,))
    if array.size == 0:
        memory = np.zeros(1, array.dtype)
    return np.concatenate([np.zeros(argument.offset or 0, array.dtype), memory])


def _push_constants(interface: Interface, given: Sequence[Given]) -> bytes:
    """The block of push constants."""
    block = bytearray(interface.push_constant_bytes)
    if interface.flavour == "vulkan":
        for field in interface.fields:
            data = bytes_of(interface, given, field)
            block[field.byte_offset : field.byte_offset + len(data)] = data
    return bytes(block)
