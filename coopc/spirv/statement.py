"""One placed SPIR-V instruction, the ids that it uses, and its operands one by one.

A statement keeps its operands as the caller gave them: ids as `Id`, literals as int or
str, enumerants by name (`"Workgroup"`, `"Volatile|Aligned"`).  `atoms` resolves them
with the facts of the grammar; both writers and the derivation of capabilities read
atoms, so an operand means the same to all three.
"""

from collections.abc import Sequence
from typing import NamedTuple

from coopc.rounding import FORMATS, FloatFormat
from coopc.spirv.grammar import (
    ID_KINDS,
    Enumerant,
    ExtendedInstruction,
    Instruction,
    Operand,
    enumeration,
    extended_instruction,
    instruction,
    is_enumeration,
)
from coopc.spirv.literal import encode_float, encode_int, float_text


class Id:
    """One result of a module; its number is chosen when the module is written."""

    __slots__ = ("definition", "name")

    definition: "Statement | None"
    """The instruction whose result this is; None until that is emitted."""
    name: str | None
    """The debug name, if any."""

    def __init__(self, name: str | None = None):
        self.definition = None
        self.name = name

    @property
    def type(self) -> "Id":
        """The type of the value.

        Raises:
            ValueError: the id is not (yet) a value.
        """
        if self.definition is None or self.definition.type is None:
            raise ValueError(f"expected a value with a type, got {self!r}")
        return self.definition.type

    def __repr__(self) -> str:
        opcode = self.definition.facts.name if self.definition else "not defined"
        return f"%{self.name or '?'} ({opcode})"


Value = Id | int | str
"""What an operand is given as."""


class Statement:
    """One instruction with its operands."""

    __slots__ = ("facts", "operands", "result", "type")

    def __init__(
        self,
        facts: Instruction,
        operands: Sequence[Value],
        type: Id | None = None,
        result: Id | None = None,
    ):
        self.facts = facts
        self.operands = operands
        self.type = type
        self.result = result

    def __repr__(self) -> str:
        return f"{self.facts.name} {self.operands}"


class Literal(NamedTuple):
    """A number literal: its bits, and the type that says width and form."""

    bits: int
    type: Id

    @classmethod
    def of(cls, type: Id, value: float | bytes) -> "Literal":
        """The literal of a number of an OpTypeInt or OpTypeFloat.

        Args:
            type: of the number.
            value: a number, rounded to the type if it is a float; or the bits as
                little-endian bytes, for a NaN that must keep its payload.

        Raises:
            ValueError: the type is another, or the value is not of it or does not fit.
        """
        definition = type.definition
        kind = None if definition is None else definition.facts.name
        if definition is None or kind not in ("OpTypeInt", "OpTypeFloat"):
            raise ValueError(f"expected a type of numbers, got {type}")
        width = cls(0, type).width
        if isinstance(value, bytes):
            if len(value) * 8 != width:
                raise ValueError(f"expected {width // 8} bytes, got {len(value)}")
            return cls(int.from_bytes(value, "little"), type)
        if kind == "OpTypeFloat":
            return cls(encode_float(float(value), _float_format(definition)), type)
        if not isinstance(value, int):
            raise ValueError(f"expected an integer, got {value}")
        signed = definition.operands[1] == 1
        return cls(encode_int(value, width, signed), type)

    @property
    def width(self) -> int:
        """Size of the type in bits."""
        width = self._definition.operands[0]
        assert isinstance(width, int), f"{self.type} has no width"
        return width

    @property
    def signed(self) -> bool:
        """Whether the type is one of signed integers."""
        return not self._is_float and self._definition.operands[1] == 1

    @property
    def text(self) -> str:
        """The number as spirv-as reads it."""
        if self._is_float:
            return float_text(self.bits, _float_format(self._definition))
        if self.signed and self.bits >> (self.width - 1):
            return str(self.bits - (1 << self.width))
        return str(self.bits)

    @property
    def _is_float(self) -> bool:
        return self._definition.facts.name == "OpTypeFloat"

    @property
    def _definition(self) -> Statement:
        assert self.type.definition is not None, f"{self.type} is not defined"
        return self.type.definition


def _float_format(definition: Statement) -> FloatFormat:
    """The format of an OpTypeFloat."""
    match tuple(definition.operands):
        case (16, "BFloat16KHR"):
            return FORMATS["bf16"]
        case (16 | 32 | 64 as bits,):
            return FORMATS[f"f{bits}"]
        case other:
            raise ValueError(f"expected a float of 16, 32 or 64 bits, got {other}")


class Selected(NamedTuple):
    """One enumerant of an enumeration, or some bits of a mask."""

    members: tuple[Enumerant, ...]

    @property
    def value(self) -> int:
        """The number of the enumerant, or the sum of the bits."""
        return sum(bit.value for bit in self.members)


Atom = Id | int | str | Literal | Selected | Instruction | ExtendedInstruction
"""One operand resolved: str is a string; Instruction an opcode as an operand."""


def atoms(statement: Statement) -> list[Atom]:
    """Type, result and operands in the order of the binary.

    Raises:
        AssertionError: the operands are not those of the instruction.
    """
    facts = statement.facts
    found: list[Atom] = []
    for has, id, word in (
        (facts.has_type, statement.type, "a type"),
        (facts.has_result, statement.result, "a result"),
    ):
        assert has == (id is not None), f"{statement} with or without {word}"
        if id is not None:
            found.append(id)
    if facts.id_count is None:
        _Reader(statement, found).read(facts.operands)
    else:
        operands = statement.operands
        assert len(operands) == facts.id_count, f"{statement} has other operands"
        for operand in operands:
            assert isinstance(operand, Id), f"{statement}: expected an id"
            found.append(operand)
    return found


class _Reader:
    """Reads the operands of one statement by a signature."""

    def __init__(self, statement: Statement, found: list[Atom]):
        self.statement = statement
        self.found = found
        self.position = 0
        self.count = len(statement.operands)

    def read(self, signature: tuple[Operand, ...]) -> None:
        """Resolve all operands; they must be exactly as many as the signature asks."""
        self._signature(signature)
        assert self.position == self.count, (
            f"{self.statement}: {self.count - self.position} operands too many"
        )

    def _signature(self, signature: tuple[Operand, ...]) -> None:
        for kinds, repeat in signature:
            if repeat == "*":
                while self.position < self.count:
                    self._one_of_each(kinds)
            elif not repeat or self.position < self.count:
                self._one_of_each(kinds)

    def _one_of_each(self, kinds: tuple[str, ...]) -> None:
        for kind in kinds:
            self._one(kind)

    def _one(self, kind: str) -> None:
        assert self.position < self.count, f"{self.statement}: expected {kind} next"
        value = self.statement.operands[self.position]
        self.position += 1
        if kind in ID_KINDS:
            assert isinstance(value, Id), self._wrong(kind, value)
            self.found.append(value)
        elif kind == "LiteralInteger":
            assert isinstance(value, int), self._wrong(kind, value)
            assert 0 <= value < 1 << 32, self._wrong(kind, value)
            self.found.append(value)
        else:
            self._special(kind, value)

    def _special(self, kind: str, value: Value) -> None:
        if kind == "LiteralContextDependentNumber":
            assert isinstance(value, int), self._wrong(kind, value)
            self.found.append(Literal(value, self._number_type()))
            return
        assert isinstance(value, str), self._wrong(kind, value)
        if is_enumeration(kind):
            self._enumerants(kind, value)
        elif kind == "LiteralExtInstInteger":
            self._ext_inst(value)
        elif kind == "LiteralSpecConstantOpInteger":
            facts = instruction(value)
            self.found.append(facts)
            self._signature(facts.operands)
        else:
            assert kind == "LiteralString", f"unknown operand kind {kind}"
            self.found.append(value)

    def _enumerants(self, kind: str, value: str) -> None:
        selected = Selected(tuple(enumeration(kind).select(value)))
        self.found.append(selected)
        for chosen in selected.members:
            self._one_of_each(chosen.operands)

    def _ext_inst(self, name: str) -> None:
        imported = self.statement.operands[0]
        assert isinstance(imported, Id), self._wrong("LiteralExtInstInteger", name)
        assert imported.definition is not None, f"{imported} is no instruction set"
        set_name = imported.definition.operands[0]
        assert isinstance(set_name, str), self._wrong("LiteralExtInstInteger", name)
        entry = extended_instruction(set_name, name)
        given = self.count - self.position
        assert entry.takes(given), f"{name} does not take {given} operands"
        self.found.append(entry)
        while self.position < self.count:
            self._one("IdRef")

    def _number_type(self) -> Id:
        if self.statement.type is not None:
            return self.statement.type
        selector = self.statement.operands[0]
        assert isinstance(selector, Id), f"{self.statement} has no selector"
        return selector.type

    def _wrong(self, kind: str, value: Value) -> str:
        at = self.position - 1
        return f"{self.statement}: expected {kind} as operand {at}, got {value!r}"
