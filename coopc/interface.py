"""How a kernel is called: its arguments, its grid, what the host must check first.

A kernel's arguments are memrefs and scalars.  What the runtime gets depends on the
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

`-t abi-json` prints interfaces, and as `requires` what a host has to find for them
(`coopc.emit.spirv.requirements`).  `Interface.from_json` reads them, and
`coopc.interface_call` packs arguments as they ask.

A *launch sequence* is what a function of several kernels becomes: steps, each a kernel
and the memory and numbers that it is given.  The host allocates the temporaries, and
the results, whose shapes are expressions of the sizes of the other arguments.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum, auto
from typing import Any, TypeAlias, cast

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
    "f8E4M3FN": 1,
    "f8E5M2": 1,
    "f8E8M0FNU": 1,
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

    @property
    def is_pointer(self) -> bool:
        """Whether it points to any number of elements.

        A memref of one element has strides, of which there are none: ().
        """
        return not self.shape and self.strides is None


@dataclass(frozen=True, slots=True)
class Scalar:
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


Expression: TypeAlias = "int | tuple[str, *tuple[Expression, ...]]"
"""A number of work-groups, computed from the kernel's sizes: a constant; `("size", n)`,
the n-th of `Interface.sizes`; or a key of `OPERATIONS` and its two operands."""

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "min": min,
    "max": max,
    "mod": lambda x, y: x % y,
    "floordiv": lambda x, y: x // y,
    "ceildiv": lambda x, y: -(-x // y),
    "truncdiv": lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
    "truncmod": lambda x, y: abs(x) % abs(y) * (1 if x >= 0 else -1),
}
"""Quotients are rounded down, up or towards 0; the remainders are mod and truncmod."""
DIVISIONS = ("mod", "floordiv", "ceildiv", "truncdiv", "truncmod")


def evaluate(expression: Expression, sizes: Sequence[int]) -> int:
    """The value of an expression for these sizes.

    Raises:
        ValueError: it divides by 0, or has a remainder of something negative.

    >>> evaluate(("floordiv", ("add", ("size", 0), 15), 16), [100])
    7
    """
    if isinstance(expression, int):
        return expression
    kind, *operands = expression
    if kind == "size":
        assert isinstance(operands[0], int), expression
        return sizes[operands[0]]
    left, right = (evaluate(each, sizes) for each in operands)
    if kind in DIVISIONS and (right == 0 or (kind == "mod" and right < 0)):
        raise ValueError(f"expected to divide by a positive size, got {right}")
    return OPERATIONS[kind](left, right)


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of the arguments for the kernel to be right."""

    what: str
    """address, in bytes; bytes, of a memref's memory; memory, that of a memref; or a
    member of `What`."""
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
    apart_from_argument: int | None = None
    """Another memref, whose memory it must not overlap."""


@dataclass(frozen=True, slots=True)
class SpecConstant:
    name: str
    id: int
    """Its SpecId."""
    default: int
    equal_to: tuple[str | int, ...] = ()
    """Other constants, by name, and numbers that it must be equal to."""
    multiple_of: int = 1

    def why_not(self, values: Mapping[str, int]) -> str | None:
        """Why constants cannot have these values, by name; None if they can.

        >>> SpecConstant("K", 0, 16, ("L",)).why_not({"K": 8, "L": 16})
        'expected K to be equal to L = 16, as matrices of the kernel need, got 8'
        """
        value = values[self.name]
        for other in self.equal_to:
            if value != (wanted := values[other] if isinstance(other, str) else other):
                text = f"{other} = {wanted}" if isinstance(other, str) else wanted
                return (
                    f"expected {self.name} to be equal to {text}, as matrices of the "
                    f"kernel need, got {value}"
                )
        if value % self.multiple_of:
            return (
                f"expected {self.name} to be a multiple of {self.multiple_of}, as "
                f"memory of the kernel needs, got {value}"
            )
        return None


@dataclass(frozen=True, slots=True)
class Temporary:
    """Memory that the host allocates for a launch sequence."""

    element: str
    """A key of `SCALAR_BYTES`."""
    elements: Expression
    """How many; under Vulkan at least one."""
    steps: tuple[int, int]
    """The first and the last step that uses it."""
    data: str | None = None
    """What it holds at the beginning, in base64; None for anything."""


@dataclass(frozen=True, slots=True)
class View:
    """Memory that a step gives a kernel: that of an argument or of a temporary."""

    memory: str
    """argument or temporary."""
    number: int
    """Which of them, from 0."""
    offset: Expression
    """Of the first element, in elements, after that of the argument."""
    shape: tuple[Expression, ...]
    strides: tuple[Expression, ...] | None
    """In elements; None for an argument as it is."""


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar that a step gives a kernel."""

    argument: int | None
    """The scalar argument of the sequence, from 0; None for an expression."""
    value: Expression = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One launch of a sequence."""

    kernel: str
    arguments: tuple[View | Number, ...]


@dataclass(frozen=True, slots=True)
class Interface:
    """How one kernel is called, or a launch sequence."""

    name: str
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
    steps: tuple[Step, ...] = ()
    """Of a launch sequence: each begins when the one before it has ended."""
    temporaries: tuple[Temporary, ...] = ()
    """Of a launch sequence."""
    results: tuple[tuple[Expression, ...], ...] = ()
    """The shapes of the last arguments of a launch sequence, which it only writes, or
    of what a kernel packs."""

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The memrefs among the arguments."""
        return tuple(x for x in self.arguments if isinstance(x, Buffer))

    @property
    def sizes(self) -> tuple[Field, ...]:
        """What the grid is computed from, in the order of the arguments.

        The dynamic sizes of memrefs and the index arguments.
        """
        return tuple(
            field
            for field in self.fields
            if field.what is What.SIZE
            or getattr(self.arguments[field.argument], "type", "") == "index"
        )

    @property
    def push_constant_bytes(self) -> int:
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
        return sum(isinstance(each, Buffer) for each in self.arguments[:argument])

    def to_json(self) -> dict[str, Json]:
        """As JSON: what `from_json` reads, and what follows from it.

        That is the binding of each buffer, and `sizes`: `["size", n]` in the grid is
        the n-th of these.
        """
        json = asdict(self)
        if self.flavour == "vulkan" and not self.addresses:
            for position, argument in enumerate(self.arguments):
                if isinstance(argument, Buffer):
                    json["arguments"][position]["binding"] = self.binding(position)
        json["sizes"] = [
            {"what": x.what, "argument": x.argument, "dimension": x.dimension}
            for x in self.sizes
        ]
        json["push_constant_bytes"] = self.push_constant_bytes
        members = SEQUENCE_MEMBERS if self.steps else MEMBERS
        members += ("results",) * bool(self.results and not self.steps)
        return {name: json[name] for name in members}

    @classmethod
    def from_json(cls, json: Mapping[str, Json]) -> "Interface":
        found = {x.name: _tuples(json[x.name]) for x in fields(cls) if x.name in json}
        for name, kind in PARTS.items():
            if name in found:
                found[name] = tuple(kind(**_members(each)) for each in json[name])
        found["arguments"] = arguments = tuple(map(_argument, json["arguments"]))
        if "steps" not in json:
            pairs = ((x, What(x.what)) for x in found["fields"])
            found["fields"] = tuple(replace(x, what=what) for x, what in pairs)
            return cls(**found)
        found["fields"] = fields_of(arguments, json["flavour"])
        found["steps"] = tuple(
            Step(each["kernel"], tuple(map(_given, each["arguments"])))
            for each in json["steps"]
        )
        return cls(work_group_size=(1, 1, 1), subgroup_size=None, grid=None, **found)


PARTS: Mapping[str, type[Any]] = {
    "fields": Field,
    "conditions": Condition,
    "spec_constants": SpecConstant,
    "temporaries": Temporary,
}
"""Members of an interface that are lists of what has members of its own."""
SEQUENCE_MEMBERS = (
    *("name", "flavour", "arguments", "sizes", "results", "temporaries", "steps"),
)
"""Of what `Interface.to_json` gives of a launch sequence, in this order."""
MEMBERS = (
    *("name", "flavour", "arguments", "fields", "push_constant_bytes"),
    *("work_group_size", "sizes", "subgroup_size", "grid", "work_group_memory_bytes"),
    *("registers", "conditions", "spec_constants"),
)
"""Of what `Interface.to_json` gives, in this order."""


def packing_before(
    interface: Interface, argument: int, element: str, elements: Expression
) -> tuple[Interface, Interface]:
    """Return how a kernel is called that takes an argument packed, and what packs it.

    Args:
        interface: how it is called that takes the argument as it is.
        argument: which one, a memref.
        element: the type of what is packed.
        elements: how many there are, by the sizes of the argument.
    """
    plain, name = interface.arguments[argument], interface.name
    packed = Buffer(f"{plain.name}_packed", element, (None,))
    given = [*interface.arguments]
    given[argument] = packed
    kept = [
        x
        for x in interface.conditions
        if argument not in (x.argument, x.like_argument, x.apart_from_argument)
    ]
    if isinstance(elements, int):
        why = f"as {name}{PACKING_ENTRY} packs it"
        least, end = elements, elements + 1
        kept.append(Condition("size", argument, 0, 1, least, end, why=why))
    first, second = (plain, packed), tuple(given)
    return (
        replace(
            interface,
            arguments=second,
            fields=fields_of(second, interface.flavour),
            grid=(1, 1, 1),
            conditions=tuple(kept),
        ),
        replace(
            interface,
            name=name + PACKING_ENTRY,
            arguments=first,
            fields=fields_of(first, interface.flavour),
            grid=(1, 1, 1),
            conditions=(),
            results=((elements,),),
        ),
    )


def fields_of(
    arguments: Sequence[Argument], flavour: str, addresses: bool = False
) -> tuple[Field, ...]:
    """The fields of a kernel; with `addresses` memrefs are passed by these."""
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
    return [
        (what, at, index)
        for what, numbers in (
            (What.OFFSET, (argument.offset,)),
            (What.SIZE, argument.shape),
            (What.STRIDE, argument.strides or ()),
        )
        for at, number in enumerate(numbers)
        if number is None
    ]


def _tuples(json: Json) -> Json:
    """Lists as tuples, also those in them."""
    if not isinstance(json, list):
        return json
    return tuple(map(_tuples, cast("list[Json]", json)))


def _members(json: Mapping[str, Json]) -> dict[str, Json]:
    return {name: _tuples(x) for name, x in json.items() if name != "binding"}


def _given(json: Mapping[str, Json]) -> View | Number:
    return (View if "memory" in json else Number)(**_members(json))


def _argument(json: Mapping[str, Json]) -> Argument:
    return (Scalar if "type" in json else Buffer)(**_members(json))
