"""Values of LLVM IR: constants, and what instructions and parameters define."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from coopc.llvm.types import Float, Int, Pointer, Type, Vector


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

    >>> from coopc.llvm.types import FLOAT, HALF
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
