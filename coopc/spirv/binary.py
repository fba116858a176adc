"""A SPIR-V module as the bytes of a .spv file.

The header is that of spirv-as, generator word included, so that assembling the text
with numeric ids gives the same bytes.
"""

import struct

from coopc.spirv.grammar import ExtendedInstruction, Instruction
from coopc.spirv.module import Module
from coopc.spirv.order import ordered
from coopc.spirv.statement import Atom, Id, Literal, Selected

MAGIC = 0x07230203
GENERATOR = 7 << 16
"""Khronos SPIR-V Tools Assembler, version 0."""


def binary(module: Module) -> bytes:
    """The module as little-endian words."""
    order = ordered(module)
    major, minor = module.version
    words = [MAGIC, major << 16 | minor << 8, GENERATOR, order.bound, 0]
    for statement, found in order.statements:
        start = len(words)
        words.append(0)
        for atom in found:
            if type(atom) is Id:
                words.append(order.numbers[atom])
            else:
                _encode(atom, words)
        count = len(words) - start
        if count >= 1 << 16:
            raise ValueError(f"expected at most 65535 words, got {count}: {statement}")
        words[start] = count << 16 | statement.facts.opcode
    return struct.pack(f"<{len(words)}I", *words)


def _encode(atom: Atom, words: list[int]) -> None:
    """Append the words of an operand that is no id."""
    match atom:
        case int():
            words.append(atom)
        case str():
            words.extend(_string(atom))
        case Selected():
            words.append(atom.value)
        case Literal():
            words.extend(_number(atom))
        case ExtendedInstruction():
            words.append(atom.number)
        case Instruction():
            words.append(atom.opcode)
        case Id():
            raise AssertionError(f"{atom} has no literal words")


def _string(text: str) -> tuple[int, ...]:
    data = text.encode()
    if b"\0" in data:
        raise ValueError(f"expected a string without NUL, got {text!r}")
    data += b"\0" * (4 - len(data) % 4)
    return struct.unpack(f"<{len(data) // 4}I", data)


def _number(literal: Literal) -> tuple[int, ...]:
    """Low word first; less than a word is extended by the sign of a signed type."""
    width = literal.width
    if width > 32:
        return literal.bits & 0xFFFFFFFF, literal.bits >> 32
    bits = literal.bits
    if literal.signed and bits >> (width - 1):
        bits |= 0xFFFFFFFF << width & 0xFFFFFFFF
    return (bits,)
