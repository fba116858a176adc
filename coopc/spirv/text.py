"""A SPIR-V module as text that spirv-as takes, laid out as spirv-dis does.

Ids are written by name, or with `numeric_ids` by the number that they have in the
binary.  Either text assembles to `binary(module)`, the second with
`--preserve-numeric-ids` as well.
"""

from coopc.spirv.grammar import ExtendedInstruction, Instruction
from coopc.spirv.literal import float_text
from coopc.spirv.module import Module, float_format
from coopc.spirv.names import friendly_names
from coopc.spirv.order import Ordered, ordered
from coopc.spirv.statement import Atom, Id, Literal, Selected, Statement

_COLUMN = 15
"""Where the opcodes stand, in characters."""


def text(module: Module, *, numeric_ids: bool = False) -> str:
    """The module as text, one instruction a line."""
    order = ordered(module)
    major, minor = module.version
    if numeric_ids:
        names = {id: str(number) for id, number in order.numbers.items()}
    else:
        names = friendly_names(order.numbers)
    lines = ["; SPIR-V", f"; Version: {major}.{minor}", f"; Bound: {order.bound}"]
    lines.extend(_lines(order, names))
    return "\n".join(lines) + "\n"


def _lines(order: Ordered, names: dict[Id, str]) -> list[str]:
    lines: list[str] = []
    for statement, found in order.statements:
        if statement.facts.name == "OpFunction":
            lines.append("")
        lines.append(_line(statement, found, names))
    return lines


def _line(statement: Statement, found: list[Atom], names: dict[Id, str]) -> str:
    result = statement.result
    head = ("" if result is None else f"%{names[result]} = ").rjust(_COLUMN)
    words = [statement.facts.name]
    for atom in found:
        if atom is result:
            result = None  # an OpPhi may name itself again
        elif type(atom) is Id:
            words.append("%" + names[atom])
        else:
            words.append(_word(atom))
    return head + " ".join(words)


def _word(atom: Atom) -> str:
    """The text of an operand that is no id."""
    match atom:
        case int():
            return str(atom)
        case str():
            return _quoted(atom)
        case Selected():
            return _selected(atom)
        case Literal():
            return _number(atom)
        case ExtendedInstruction():
            return atom.name
        case Instruction():
            return atom.name.removeprefix("Op")
        case Id():
            raise AssertionError(f"{atom} is written by name")


def _quoted(string: str) -> str:
    escaped = string.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _selected(atom: Selected) -> str:
    return "|".join(member.name for member in atom.members) or "None"


def _number(literal: Literal) -> str:
    if literal.is_float:
        return float_text(literal.bits, float_format(literal.type))
    if literal.signed and literal.bits >> (literal.width - 1):
        return str(literal.bits - (1 << literal.width))
    return str(literal.bits)
