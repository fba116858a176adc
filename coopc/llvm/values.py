"""Types and values of LLVM IR, as data that compares and prints.

Values are constants, and what instructions and parameters define.

>>> str(Vector(8, Int(16))), str(Pointer(1)), str(Struct((Int(1), FLOAT)))
('<8 x i16>', 'ptr addrspace(1)', '{ i1, float }')
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Int:
    """An integer without sign."""

    bits: int

    def __str__(self) -> str:
        return f"i{self.bits}"


@dataclass(frozen=True, slots=True)
class Float:
    """A float by LLVM's name of it."""

    name: str
    bits: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Named:
    """A type that is a word: void, x86_amx, metadata."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer into an address space."""

    space: int = 0

    def __str__(self) -> str:
        return f"ptr addrspace({self.space})" if self.space else "ptr"


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector of a fixed length."""

    length: int
    element: Int | Float | Pointer

    def __str__(self) -> str:
        return f"<{self.length} x {self.element}>"


@dataclass(frozen=True, slots=True)
class Array:
    """An array."""

    length: int
    element: Type

    def __str__(self) -> str:
        return f"[{self.length} x {self.element}]"


@dataclass(frozen=True, slots=True)
class Struct:
    """A literal struct."""

    fields: tuple[Type, ...]

    def __str__(self) -> str:
        return f"{{ {', '.join(map(str, self.fields))} }}"


Type: TypeAlias = Int | Float | Named | Pointer | Vector | Array | Struct

VOID = Named("void")
HALF = Float("half", 16)
BFLOAT = Float("bfloat", 16)
FLOAT = Float("float", 32)
DOUBLE = Float("double", 64)
I1, I8, I16, I32, I64 = map(Int, (1, 8, 16, 32, 64))


def component(type: Type) -> Type:
    """The type of a component of a vector; of anything else, the type."""
    return type.element if isinstance(type, Vector) else type


def width(type: Type) -> int:
    """How many components a vector has; anything else is one."""
    return type.length if isinstance(type, Vector) else 1


def like(shape: Type, element: Int | Float | Pointer) -> Type:
    """A type of as many components as another, of another element."""
    return Vector(shape.length, element) if isinstance(shape, Vector) else element


def overload(type: Type) -> str:
    """How the name of an intrinsic spells a type.

    >>> overload(Vector(8, FLOAT)), overload(Pointer(1)), overload(BFLOAT)
    ('v8f32', 'p1', 'bf16')
    """
    match type:
        case Int(bits=bits):
            return f"i{bits}"
        case Float(name="bfloat"):
            return "bf16"
        case Float(bits=bits):
            return f"f{bits}"
        case Pointer(space=space):
            return f"p{space}"
        case Vector(length=length, element=element):
            return f"v{length}{overload(element)}"
        case _:
            raise ValueError(f"expected a type of an overloaded intrinsic, got {type}")


# Values.


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant, a global or a function, by its text."""

    type: Type
    text: str
    number: int | None = None
    """Its value, where it is a known integer; as signed."""


@dataclass(eq=False, slots=True)
class Local:
    """What an instruction or a parameter defines; equal to itself alone."""

    type: Type
    hint: str | None = None
    """The name that it prints under, where that is free."""


Value: TypeAlias = Constant | Local


def integer(type: Type, number: int) -> Constant:
    """An integer, wrapped around into its type; of a vector type, in every component.

    >>> integer(Int(8), 255).text, integer(Int(1), 1).text
    ('-1', 'true')
    """
    if isinstance(type, Vector):
        return splat(type, integer(type.element, number))
    assert isinstance(type, Int), type
    half = 1 << (type.bits - 1)
    wrapped = (number + half) % (2 * half) - half
    if type.bits == 1:
        return Constant(type, "true" if wrapped else "false", wrapped)
    return Constant(type, str(wrapped), wrapped)


def floating(type: Type, number: int) -> Constant:
    """A float by its bits; of a vector type, in every component.

    >>> floating(HALF, 0x3C00).text, floating(FLOAT, 0x3F800000).text
    ('0xH3C00', '0x3FF0000000000000')
    """
    if isinstance(type, Vector):
        return splat(type, floating(type.element, number))
    assert isinstance(type, Float), type
    match type.name:
        case "half":
            return Constant(type, f"0xH{number:04X}")
        case "bfloat":
            return Constant(type, f"0xR{number:04X}")
        case "float":
            return Constant(type, f"0x{_as_double(number):016X}")
        case _:
            return Constant(type, f"0x{number:016X}")


def _as_double(number: int) -> int:
    """The bits of the double that an f32 is, as LLVM writes it; NaNs by their bits."""
    if number & 0x7F800000 == 0x7F800000:
        sign, payload = number >> 31, number & 0x7FFFFF
        return sign << 63 | 0x7FF << 52 | payload << 29
    (value,) = struct.unpack("<f", number.to_bytes(4, "little"))
    return int.from_bytes(struct.pack("<d", value), "little")


def splat(type: Vector, one: Constant) -> Constant:
    return composite(type, [one] * type.length)


def composite(type: Vector, elements: Sequence[Constant]) -> Constant:
    inner = ", ".join(f"{each.type} {each.text}" for each in elements)
    return Constant(type, f"<{inner}>")


def poison(type: Type) -> Constant:
    """Any value at all."""
    return Constant(type, "poison")


def symbol(name: str, type: Type | None = None) -> Constant:
    """A global or a function, as a pointer.

    >>> symbol("llvm.exp.f32").text, symbol("a b").text
    ('@llvm.exp.f32', '@"a b"')
    """
    return Constant(Pointer() if type is None else type, f"@{quoted(name)}")


def quoted(name: str) -> str:
    """A name as the text has it: in quotes unless it is a plain word."""
    plain = name.replace(".", "_").replace("$", "_").replace("-", "_")
    if plain.isascii() and plain.isidentifier():
        return name
    body = "".join(
        c if c.isascii() and c.isprintable() and c not in '"\\' else _escaped(c)
        for c in name
    )
    return f'"{body}"'


def _escaped(character: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in character.encode())
