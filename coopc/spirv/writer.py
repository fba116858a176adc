"""Writes a SPIR-V module as the bytes of a .spv file or as text that spirv-as takes.

Both are one list of instructions in the order that the specification asks for:
capabilities, extensions, imports, the memory model, entry points, execution modes,
debug information, annotations, then types, constants and variables, then functions:
those only declared first.  Ids are numbered in the order of their appearance, as
spirv-as numbers symbolic ids.

In text, ids are written by name, or with `numeric_ids` by the number that they have in
the binary.  Either text assembles to `binary(module)`, the second with
`--preserve-numeric-ids` as well: the header is that of spirv-as, generator included.
"""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from coopc.spirv.capabilities import capabilities, extensions
from coopc.spirv.grammar import ExtendedInstruction, InstructionFacts
from coopc.spirv.instruction import (
    Id,
    Instruction,
    Literal,
    ResolvedOperand,
    Selected,
    resolve_operands,
    width_of,
)
from coopc.spirv.module import Module

_MAGIC = 0x07230203
_GENERATOR = 7 << 16
"""Khronos SPIR-V Tools Assembler, version 0."""
_COLUMN = 15
"""Where the opcodes stand in text, in characters."""


@dataclass(frozen=True)
class NumberedModule:
    """What the writers write."""

    instructions: tuple[tuple[Instruction, list[ResolvedOperand]], ...]
    """Each instruction with its operands."""
    numbers: dict[Id, int]
    """The number of each id, from 1."""

    @property
    def bound(self) -> int:
        """All numbers are less."""
        return len(self.numbers) + 1


def ordered(module: Module) -> NumberedModule:
    """All instructions of a module, with the derived ones."""
    placed = [
        (instruction, resolve_operands(instruction)) for instruction in _given(module)
    ]
    body = [found for _, found in placed]
    declared = capabilities(module, placed)
    derived = [
        *(Instruction("OpCapability", (name,)) for name in declared),
        *(
            Instruction("OpExtension", (name,))
            for name in extensions(module, placed, declared)
        ),
    ]
    head = [(instruction, resolve_operands(instruction)) for instruction in derived]
    return NumberedModule((*head, *placed), _numbers(body))


def _given(module: Module) -> list[Instruction]:
    functions = sorted(module.functions, key=lambda function: bool(function.body))
    return [
        *module.imports,
        module.memory_model,
        *module.entry_points,
        *module.execution_modes,
        *_symbols(module),
        *module.annotations,
        *module.globals,
        *(instruction for f in functions for instruction in f.instructions()),
    ]


def _symbols(module: Module) -> list[Instruction]:
    """The debug names, in which no two global ids have one name.

    Upstream's deserializer makes symbols of them.  An entry point keeps its own.
    """
    entries = {entry.operands[1] for entry in module.entry_points}
    shared = {i.result for i in module.globals} | {f.id for f in module.functions}
    shared -= entries
    taken = {str(entry.operands[2]): 0 for entry in module.entry_points}
    found: list[Instruction] = []
    for instruction in module.names:
        id, name = instruction.operands[0], instruction.operands[-1]
        if id in shared and instruction.facts.name == "OpName":
            instruction = Instruction("OpName", (id, _unique(str(name), taken)))
        found.append(instruction)
    return found


def _numbers(body: list[list[ResolvedOperand]]) -> dict[Id, int]:
    numbers: dict[Id, int] = {}
    for found in body:
        for operand in found:
            if type(operand) is Id and operand not in numbers:
                numbers[operand] = len(numbers) + 1
    for id in numbers:
        assert id.definition is not None, f"{id} is used and nowhere defined"
    return numbers


def binary(module: Module) -> bytes:
    """The module as little-endian words."""
    order = ordered(module)
    major, minor = module.version
    words = [_MAGIC, major << 16 | minor << 8, _GENERATOR, order.bound, 0]
    for instruction, found in order.instructions:
        start = len(words)
        words.append(0)
        for operand in found:
            if type(operand) is Id:
                words.append(order.numbers[operand])
            else:
                _encode(operand, words)
        count = len(words) - start
        if count >= 1 << 16:
            raise ValueError(
                f"expected at most 65535 words, got {count}: {instruction}"
            )
        words[start] = count << 16 | instruction.facts.opcode
    return struct.pack(f"<{len(words)}I", *words)


def _encode(operand: ResolvedOperand, words: list[int]) -> None:
    """Append the words of an operand that is no id."""
    match operand:
        case int():
            words.append(operand)
        case str():
            words.extend(_string_words(operand))
        case Selected():
            words.append(operand.value)
        case Literal():
            words.extend(_number_words(operand))
        case ExtendedInstruction():
            words.append(operand.number)
        case InstructionFacts():
            words.append(operand.opcode)
        case Id():
            raise AssertionError(f"{operand} has no literal words")


def _string_words(text: str) -> tuple[int, ...]:
    data = text.encode()
    if b"\0" in data:
        raise ValueError(f"expected a string without NUL, got {text!r}")
    data += b"\0" * (4 - len(data) % 4)
    return struct.unpack(f"<{len(data) // 4}I", data)


def _number_words(literal: Literal) -> tuple[int, ...]:
    """Low word first; less than a word is extended by the sign of a signed type."""
    width = width_of(literal.type)
    if width > 32:
        return literal.bits & 0xFFFFFFFF, literal.bits >> 32
    bits = literal.bits
    if literal.signed and bits >> (width - 1):
        bits |= 0xFFFFFFFF << width & 0xFFFFFFFF
    return (bits,)


def text(module: Module, *, numeric_ids: bool = False) -> str:
    """The module as text, one instruction a line."""
    order = ordered(module)
    major, minor = module.version
    if numeric_ids:
        names = {id: str(number) for id, number in order.numbers.items()}
    else:
        names = friendly_names(order.numbers)
    lines = ["; SPIR-V", f"; Version: {major}.{minor}", f"; Bound: {order.bound}"]
    for instruction, found in order.instructions:
        if instruction.facts.name == "OpFunction":
            lines.append("")
        lines.append(_line(instruction, found, names))
    return "\n".join(lines) + "\n"


def _line(
    instruction: Instruction, found: list[ResolvedOperand], names: dict[Id, str]
) -> str:
    result = instruction.result
    head = ("" if result is None else f"%{names[result]} = ").rjust(_COLUMN)
    words = [instruction.facts.name]
    for operand in found:
        if operand is result:
            result = None  # an OpPhi may name itself again
        elif type(operand) is Id:
            words.append("%" + names[operand])
        else:
            words.append(_word(operand))
    return head + " ".join(words)


def _word(operand: ResolvedOperand) -> str:
    """The text of an operand that is no id."""
    match operand:
        case int():
            return str(operand)
        case str():
            escaped = operand.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case Selected():
            return "|".join(member.name for member in operand.members) or "None"
        case Literal():
            return operand.text
        case ExtendedInstruction():
            return operand.name
        case InstructionFacts():
            return operand.name.removeprefix("Op")
        case Id():
            raise AssertionError(f"{operand} is written by name")


# --- names of ids in text ---

_PLAIN = {
    "OpTypeVoid": "void",
    "OpTypeBool": "bool",
    "OpConstantTrue": "true",
    "OpConstantFalse": "false",
}
_INTS = {8: "char", 16: "short", 32: "int", 64: "long"}
_FLOATS = {16: "half", 32: "float", 64: "double"}


def friendly_names(numbers: Mapping[Id, int]) -> dict[Id, str]:
    """A name for each id, without the leading %: its debug name, else what it is.

    Types and constants are named as spirv-dis does (`%v4float`, `%uint_0`), other
    values by their number.  Names are made of letters, digits and `_`, and no two are
    equal.
    """
    names: dict[Id, str] = {}
    taken: dict[str, int] = {}
    # debug names first, so that they are changed least
    for named in (True, False):
        for id, number in numbers.items():
            if (id.name is not None) == named:
                described = None if named else _describe(id, number, names)
                names[id] = _unique(described or _legal(id.name or ""), taken)
    return names


def _legal(name: str) -> str:
    """The name in characters that spirv-as takes; digits alone would be a number."""
    legal = re.sub(r"[^A-Za-z0-9_]", "_", name) or "_"
    return f"_{legal}" if legal.isdigit() else legal


def _unique(name: str, taken: dict[str, int]) -> str:
    """The name, or with the next suffix that makes it new; `taken` holds that."""
    unique = name
    while unique in taken:
        unique = f"{name}_{taken[name]}"
        taken[name] += 1
    taken[unique] = 0
    return unique


def _describe(id: Id, number: int, names: Mapping[Id, str]) -> str:
    instruction = id.definition
    assert instruction is not None, f"{id} is not defined"
    name = instruction.facts.name
    if name in _PLAIN:
        return _PLAIN[name]
    if name.startswith("OpType"):
        return _type(instruction, number, names)
    if name == "OpConstant":
        return _constant(instruction, names)
    if name == "OpConstantNull":
        return f"{_of(instruction.type, names)}_null"
    return str(number)


def _type(instruction: Instruction, number: int, names: Mapping[Id, str]) -> str:
    match (instruction.facts.name, *instruction.operands):
        case "OpTypeInt", int(bits), signed:
            stem = _INTS.get(bits, f"int{bits}")
            return stem if signed else f"u{stem}"
        case "OpTypeFloat", int(bits):
            return _FLOATS.get(bits, f"float{bits}")
        case "OpTypeFloat", _, str() as encoding:
            return encoding[: -len("KHR")].lower()
        case "OpTypeVector", Id() as element, int(count):
            return f"v{count}{_of(element, names)}"
        case "OpTypePointer", str(storage), Id() as pointee:
            return f"ptr_{storage}_{_of(pointee, names)}"
        case "OpTypeArray", Id() as element, Id() as length:
            return f"arr_{_of(element, names)}_{_of(length, names)}"
        case "OpTypeRuntimeArray", Id() as element:
            return f"runtimearr_{_of(element, names)}"
        case "OpTypeCooperativeMatrixKHR", Id() as element, *_:
            return f"coopmat_{_of(element, names)}_{number}"
        case kind, *_:
            return f"{kind.removeprefix('OpType').lower()}_{number}"


def _constant(instruction: Instruction, names: Mapping[Id, str]) -> str:
    assert instruction.type is not None, f"{instruction} has no type"
    (bits,) = instruction.operands
    assert isinstance(bits, int), f"{instruction} has no bits"
    value = Literal(bits, instruction.type).text
    spelt = value.replace("-", "n").replace("+", "").replace(".", "_")
    return f"{_of(instruction.type, names)}_{spelt}"


def _of(id: Id | None, names: Mapping[Id, str]) -> str:
    """The name of an operand, which is mostly named already."""
    if id is None or id.definition is None:
        return "unknown"
    return names.get(id) or _describe(id, 0, names)
