"""Names for ids in text: the debug name where there is one, else what the id is.

Types and constants are named as spirv-dis does (`%v4float`, `%uint_0`), other values
by their number.  Names are made of letters, digits and `_`, and no two are equal.
"""

import re
from collections.abc import Mapping

from coopc.spirv.literal import float_text
from coopc.spirv.module import float_format
from coopc.spirv.statement import Id, Literal, Statement

_PLAIN = {"OpTypeVoid": "void", "OpTypeBool": "bool", "OpConstantTrue": "true"} | {
    "OpConstantFalse": "false"
}
_INTS = {8: "char", 16: "short", 32: "int", 64: "long"}
_FLOATS = {16: "half", 32: "float", 64: "double"}


def friendly_names(numbers: Mapping[Id, int]) -> dict[Id, str]:
    """A name for each id, without the leading %."""
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
    statement = id.definition
    assert statement is not None, f"{id} is not defined"
    name = statement.facts.name
    if name in _PLAIN:
        return _PLAIN[name]
    if name.startswith("OpType"):
        return _type(statement, number, names)
    if name == "OpConstant":
        return _constant(statement, names)
    if name == "OpConstantNull":
        return f"{_of(statement.type, names)}_null"
    return str(number)


def _type(statement: Statement, number: int, names: Mapping[Id, str]) -> str:
    match (statement.facts.name, *statement.operands):
        case "OpTypeInt", int(bits), signed:
            stem = _INTS.get(bits, f"int{bits}")
            return stem if signed else f"u{stem}"
        case "OpTypeFloat", int(bits):
            return _FLOATS.get(bits, f"float{bits}")
        case "OpTypeFloat", _, "BFloat16KHR":
            return "bfloat16"
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


def _constant(statement: Statement, names: Mapping[Id, str]) -> str:
    assert statement.type is not None, f"{statement} has no type"
    (bits,) = statement.operands
    assert isinstance(bits, int), f"{statement} has no bits"
    literal = Literal(bits, statement.type)
    if literal.is_float:
        value = float_text(bits, float_format(statement.type))
    elif literal.signed and bits >> (literal.width - 1):
        value = str(bits - (1 << literal.width))
    else:
        value = str(bits)
    spelt = value.replace("-", "n").replace("+", "").replace(".", "_")
    return f"{_of(statement.type, names)}_{spelt}"


def _of(id: Id | None, names: Mapping[Id, str]) -> str:
    """The name of an operand, which is mostly named already."""
    if id is None or id.definition is None:
        return "unknown"
    return names.get(id) or _describe(id, 0, names)
