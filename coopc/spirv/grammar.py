"""The grammar of SPIR-V: instructions, enumerations, extended instructions by name.

`instruction_facts("OpLoad")` and `enumeration("StorageClass")` read their rows of the
generated `grammar_table` on first use.  Operands have the kinds of the grammar of
SPIRV-Headers: "IdRef", "LiteralInteger", ..., or the name of an enumeration.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from coopc.spirv.grammar_table import (
    ENUMERATIONS,
    EXTENDED_INSTRUCTIONS,
    INSTRUCTIONS,
    MASKS,
)

Version = tuple[int, int]
"""A version of SPIR-V, (major, minor)."""

ID_KINDS = ("IdRef", "IdScope", "IdMemorySemantics")
"""The kinds of operands that are ids."""


class Needs(NamedTuple):
    """What an instruction or enumerant needs to be there."""

    capabilities: tuple[str, ...] = ()
    """Any one of these; empty: none."""
    extension: str | None = None
    """The extension that brings it, where the core version does not."""
    since: Version | None = None
    """The core version that has it; None: no core version if there is an extension."""

    def is_core(self, version: Version) -> bool:
        if self.since is None:
            return self.extension is None
        return version >= self.since

    def extension_in(self, version: Version) -> str | None:
        """The extension that a module of this version must name, if any."""
        if self.is_core(version):
            return None
        assert self.extension, f"{self} is not in {version}"
        return self.extension


class Parameter(NamedTuple):
    """What an instruction takes as an operand: its kinds, two for a pair; how often."""

    kinds: tuple[str, ...]
    quantifier: str
    """"" for once, "?" for optional, "*" for any number."""


class InstructionFacts(NamedTuple):
    name: str
    opcode: int
    has_type: bool
    has_result: bool
    parameters: tuple[Parameter, ...]
    """What follows type and result."""
    needs: Needs
    id_counts: range
    """How many ids the operands may be, where all of them are ids."""


class Enumerant(NamedTuple):
    """One value of an enumeration, or one bit of a mask."""

    name: str
    value: int
    operands: tuple[str, ...]
    """Kinds of the operands that follow it."""
    needs: Needs


class Enumeration(NamedTuple):
    """An enumeration; `is_mask` says that its values are bits to be combined."""

    name: str
    is_mask: bool
    members: Mapping[str, Enumerant]

    def select(self, text: str) -> list[Enumerant]:
        """The enumerants that an operand names: one, or a mask's bits in order.

        >>> [e.name for e in enumeration("MemoryAccess").select("Aligned|Volatile")]
        ['Volatile', 'Aligned']
        """
        if not self.is_mask:
            return [self._member(text)]
        if text == "None":
            return []
        return sorted(map(self._member, text.split("|")), key=lambda e: e.value)

    def value(self, text: str) -> int:
        """The number of an enumerant, or the sum of a mask's bits.

        >>> enumeration("MemorySemantics").value("AcquireRelease|WorkgroupMemory")
        264
        """
        return sum(member.value for member in self.select(text))

    def _member(self, name: str) -> Enumerant:
        assert name in self.members, f"{self.name} has no {name}"
        return self.members[name]


class ExtendedInstruction(NamedTuple):
    """A member of an extended instruction set."""

    name: str
    number: int
    operand_count: int | None
    """How many ids it takes; None for one or more."""

    def takes(self, count: int) -> bool:
        """Whether it can be given so many operands."""
        return count > 0 if self.operand_count is None else count == self.operand_count


@cache
def instruction_facts(name: str) -> InstructionFacts:
    """The facts of the instruction of that name.

    >>> instruction_facts("OpIAdd").opcode
    128
    """
    assert name in INSTRUCTIONS, f"unknown instruction {name}"
    row = INSTRUCTIONS[name]
    words = row[1].split()
    has_type = "IdResultType" in words
    has_result = "IdResult" in words
    parameters = tuple(map(_parameter, words[has_type + has_result :]))
    return InstructionFacts(
        name,
        row[0],
        has_type,
        has_result,
        parameters,
        Needs(*row[2:]),
        id_counts=_id_counts(parameters),
    )


def _id_counts(parameters: tuple[Parameter, ...]) -> range:
    least = most = 0
    for kinds, quantifier in parameters:
        are_ids = all(kind in ID_KINDS for kind in kinds)
        if quantifier == "*" and are_ids:
            return range(least, 1 << 16, len(kinds)) if most == least else range(0)
        if not quantifier and not are_ids:
            return range(0)
        least += not quantifier
        most += are_ids
    return range(least, most + 1)


def _parameter(word: str) -> Parameter:
    quantifier = word[-1] if word[-1] in "?*" else ""
    return Parameter(tuple(word.removesuffix(quantifier).split(":")), quantifier)


@cache
def enumeration(name: str) -> Enumeration:
    """The enumeration of that name, as "StorageClass" or "Capability"."""
    rows = MASKS[name] if name in MASKS else ENUMERATIONS[name]
    members = {
        member: Enumerant(member, row[0], tuple(row[1].split()), Needs(*row[2:]))
        for member, row in rows.items()
    }
    return Enumeration(name, name in MASKS, members)


@cache
def is_enumeration(kind: str) -> bool:
    return kind in ENUMERATIONS or kind in MASKS


@cache
def extended_instruction(set_name: str, name: str) -> ExtendedInstruction:
    """The member of an extended instruction set.

    >>> extended_instruction("OpenCL.std", "fma").number
    26
    """
    assert set_name in EXTENDED_INSTRUCTIONS, f"unknown instruction set {set_name}"
    members = EXTENDED_INSTRUCTIONS[set_name]
    assert name in members, f"{set_name} has no {name}"
    return ExtendedInstruction(name, *members[name])
