"""One placed SPIR-V instruction, the ids that it uses, and its operands one by one.

An instruction keeps its operands as the caller gave them: ids as `Id`, literals as int
or str, enumerants by name (`"Workgroup"`, `"Volatile|Aligned"`).  `resolve_operands`
says by the grammar what they are, for both writers and the derivation of capabilities.
"""

from collections.abc import Sequence
from typing import NamedTuple

from coopc.rounding import FORMATS, FloatFormat
from coopc.spirv.grammar import (
    ID_KINDS,
    Enumerant,
    ExtendedInstruction,
    InstructionFacts,
    Parameter,
    enumeration,
    extended_instruction,
    instruction_facts,
    is_enumeration,
)


class Id:
    """One result of a module; its number is chosen when the module is written."""

    __slots__ = ("definition", "name")

    definition: "Instruction | None"
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


Operand = Id | int | str
"""What an operand is given as."""


class Instruction:
    __slots__ = ("facts", "operands", "result", "type")

    def __init__(
        self,
        opcode: str,
        operands: Sequence[Operand],
        type: Id | None = None,
        result: Id | None = None,
    ):
        self.facts = instruction_facts(opcode)
        self.operands = operands
        self.type = type
        self.result = result

    def __repr__(self) -> str:
        return f"{self.facts.name} {self.operands}"


def width_of(type: Id) -> int:
    """Size of a number of an OpTypeInt or OpTypeFloat, in bits."""
    assert type.definition is not None, f"{type} is not defined"
    width = type.definition.operands[0]
    assert isinstance(width, int), f"{type} has no width"
    return width


class Literal(NamedTuple):
    """A number literal: its bits, and the type that says width and form."""

    bits: int
    type: Id

    @property
    def signed(self) -> bool:
        """Whether the type is one of signed integers."""
        definition = self.type.definition
        assert definition is not None, f"{self.type} is not defined"
        return definition.facts.name == "OpTypeInt" and definition.operands[1] == 1

    @property
    def text(self) -> str:
        """The number as spirv-as reads it."""
        definition, width = self.type.definition, width_of(self.type)
        if definition is not None and definition.facts.name == "OpTypeFloat":
            encoding = next((x for x in definition.operands if isinstance(x, str)), "")
            name = _ENCODINGS.get(encoding, f"f{width}")
            return float_text(self.bits, FORMATS[name])
        if self.signed and self.bits >> (width - 1):
            return str(self.bits - (1 << width))
        return str(self.bits)


_ENCODINGS = {
    "BFloat16KHR": "bf16",
    "Float8E4M3EXT": "f8E4M3FN",
    "Float8E5M2EXT": "f8E5M2",
}
"""Floats by SPIR-V's names."""


class Selected(NamedTuple):
    """One enumerant of an enumeration, or some bits of a mask."""

    members: tuple[Enumerant, ...]

    @property
    def value(self) -> int:
        """The number of the enumerant, or the sum of the bits."""
        return sum(bit.value for bit in self.members)


ResolvedOperand = (
    Id | int | str | Literal | Selected | InstructionFacts | ExtendedInstruction
)
"""A str is a string; `InstructionFacts` are an opcode as an operand."""


ONLY_IDS = {Id}


def resolve_operands(instruction: Instruction) -> list[ResolvedOperand]:
    """Type, result and operands in the order of the binary.

    Raises:
        AssertionError: the operands are not those of the instruction.
    """
    facts = instruction.facts
    found: list[ResolvedOperand] = []
    for has, id, word in (
        (facts.has_type, instruction.type, "a type"),
        (facts.has_result, instruction.result, "a result"),
    ):
        assert has == (id is not None), f"{instruction} with or without {word}"
        if id is not None:
            found.append(id)
    operands = instruction.operands
    if len(operands) in facts.id_counts and ONLY_IDS.issuperset(map(type, operands)):
        found += operands
    else:
        _Reader(instruction, found).read(facts.parameters)
    return found


_NUMBERS = ("LiteralInteger", "LiteralContextDependentNumber")
"""Kinds of operands that are numbers; the others are ids and words."""


class _Reader:
    """Reads the operands of one instruction by a signature."""

    def __init__(self, instruction: Instruction, found: list[ResolvedOperand]):
        self.instruction = instruction
        self.found = found
        self.position = 0
        self.count = len(instruction.operands)

    def read(self, signature: tuple[Parameter, ...]) -> None:
        """Resolve all operands; they must be exactly as many as the signature asks."""
        self._signature(signature)
        assert self.position == self.count, (
            f"{self.instruction}: {self.count - self.position} operands too many"
        )

    def _signature(self, signature: tuple[Parameter, ...]) -> None:
        for kinds, quantifier in signature:
            if quantifier == "*":
                while self.position < self.count:
                    self._one_of_each(kinds)
            elif not quantifier or self.position < self.count:
                self._one_of_each(kinds)

    def _one_of_each(self, kinds: tuple[str, ...]) -> None:
        for kind in kinds:
            assert self.position < self.count, (
                f"{self.instruction}: expected {kind} next"
            )
            value = self.instruction.operands[self.position]
            self.position += 1
            expected = Id if kind in ID_KINDS else int if kind in _NUMBERS else str
            assert isinstance(value, expected), (
                f"{self.instruction}: expected {kind} as operand {self.position - 1}, "
                f"got {value!r}"
            )
            if isinstance(value, str):
                self._word(kind, value)
            elif kind == "LiteralContextDependentNumber":
                assert isinstance(value, int), value
                self.found.append(Literal(value, self._number_type()))
            else:
                in_range = isinstance(value, Id) or 0 <= value < 1 << 32
                assert in_range, f"{self.instruction}: {value} has more than 32 bits"
                self.found.append(value)

    def _word(self, kind: str, value: str) -> None:
        if is_enumeration(kind):
            selected = Selected(tuple(enumeration(kind).select(value)))
            self.found.append(selected)
            for chosen in selected.members:
                self._one_of_each(chosen.operands)
        elif kind == "LiteralExtInstInteger":
            imported = self.instruction.operands[0]
            assert isinstance(imported, Id), f"{self.instruction} has no set"
            assert imported.definition is not None, f"{imported} is no instruction set"
            entry = extended_instruction(str(imported.definition.operands[0]), value)
            given = self.count - self.position
            assert entry.takes(given), f"{value} does not take {given} operands"
            self.found.append(entry)
        elif kind == "LiteralSpecConstantOpInteger":
            facts = instruction_facts(value)
            self.found.append(facts)
            self._signature(facts.parameters)
        else:
            assert kind == "LiteralString", f"unknown operand kind {kind}"
            self.found.append(value)

    def _number_type(self) -> Id:
        if self.instruction.type is not None:
            return self.instruction.type
        selector = self.instruction.operands[0]
        assert isinstance(selector, Id), f"{self.instruction} has no selector"
        return selector.type


def float_text(bits: int, form: FloatFormat) -> str:
    """The text of a float literal, which spirv-as reads back as exactly these bits.

    It is decimal where that is exact and hexadecimal where it is not: infinities and
    NaNs are written as the exponent after the largest, `0x1.8p+128`.

    | value       | binary32   | text          |
    |-------------|------------|---------------|
    | 1.0         | 0x3f800000 | 1             |
    | -0.0        | 0x80000000 | -0            |
    | infinity    | 0x7f800000 | 0x1p+128      |
    | quiet NaN   | 0x7fc00000 | 0x1.8p+128    |
    | 2**-149     | 0x00000001 | 0x1p-149      |

    Law: what spirv-as makes of `float_text(bits)` is `bits`.

    >>> f16 = FORMATS["f16"]
    >>> float_text(0x7E00, f16), float_text(0x3E00, f16), float_text(0x0001, f16)
    ('0x1.8p+16', '1.5', '0x1p-24')
    """
    fraction_bits = form.fraction_bits
    minus = "-" if bits >> (form.bits - 1) else ""
    magnitude = bits & ((1 << (form.bits - 1)) - 1)
    exponent, mantissa = divmod(magnitude, 1 << fraction_bits)
    if exponent == 0 or magnitude > form.greatest_code:
        return minus + _hex_text(exponent, mantissa, form)
    value = form.decode(magnitude)
    if form.bits == 64:
        return minus + repr(value).removesuffix(".0")
    # spirv-as reads shorter floats as binary32 and cuts off, so the text is exact there
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if FORMATS["f32"].round(float(text)) == value:
            return minus + text
    raise AssertionError(f"no decimal text for {bits:#x}")


def _hex_text(exponent: int, mantissa: int, form: FloatFormat) -> str:
    """Zero, denormal, infinity and NaN, without the sign."""
    if exponent == 0:
        if mantissa == 0:
            return "0"
        power = form.min_exponent - form.fraction_bits + mantissa.bit_length() - 1
        fraction = mantissa ^ (1 << (mantissa.bit_length() - 1))
        fraction_bits = mantissa.bit_length() - 1
    else:
        power = form.max_exponent + form.has_infinity
        fraction, fraction_bits = mantissa, form.fraction_bits
    digits = -(-fraction_bits // 4)
    shifted = fraction << (digits * 4 - fraction_bits)
    text = f".{shifted:0{digits}x}".rstrip("0").rstrip(".") if digits else ""
    return f"0x1{text}p{power:+d}"
