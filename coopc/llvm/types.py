"""The types of LLVM IR, as values that compare and print.

>>> str(Vector(8, Int(16))), str(Pointer(1)), str(Struct((Int(1), FLOAT)))
('<8 x i16>', 'ptr addrspace(1)', '{ i1, float }')
"""

from __future__ import annotations

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
