"""What SPIR-V's instructions and enumerations are: the one table, by name.

`instruction("OpLoad")` and `enumeration("StorageClass")` read their lines of the text
tables `CORE`, `EXTENSION`, `ENUMERANTS` and `CAPABILITIES` on first use.  Writers,
checks and the derivation of capabilities know instructions only through these facts.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from coopc.spirv.capability_table import CAPABILITIES
from coopc.spirv.enumerants import ENUMERANTS
from coopc.spirv.instructions import CORE
from coopc.spirv.instructions_extension import EXTENSION

Version = tuple[int, int]
"""A version of SPIR-V, (major, minor)."""

ID_KINDS = ("id", "scope", "semantics")
"""The kinds of operands that are ids."""


class Needs(NamedTuple):
    """What an instruction or enumerant needs to be there."""

    capabilities: tuple[str, ...] = ()
    """Any one of these; the preferred comes first.  Empty: none."""
    extension: str | None = None
    """The extension that brings it, where the core version does not."""
    since: Version | None = None
    """The core version that has it; None: no core version if there is an extension."""

    def extension_in(self, version: Version) -> str | None:
        """The extension that a module of this version must name, if any."""
        if self.since is not None and version >= self.since:
            return None
        assert self.extension or not self.since, f"{self} is not in {version}"
        return self.extension


class Operand(NamedTuple):
    """One operand of a signature: its kinds (two for a pair) and how often."""

    kinds: tuple[str, ...]
    repeat: str
    """"" for once, "?" for optional, "*" for any number."""


class Instruction(NamedTuple):
    """The facts of one instruction."""

    name: str
    opcode: int
    has_type: bool
    has_result: bool
    operands: tuple[Operand, ...]
    """What follows type and result."""
    needs: Needs
    id_count: int | None
    """How many ids the operands are, if they are always that many ids."""


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


@cache
def instruction(name: str) -> Instruction:
    """The facts of the instruction of that name.

    >>> instruction("OpIAdd").opcode
    128
    """
    assert name in _instruction_lines(), f"unknown instruction {name}"
    opcode, words, needs = _parse(_instruction_lines()[name])
    has_type = "type" in words
    has_result = "result" in words
    operands = tuple(map(_operand, words[has_type + has_result :]))
    fixed = all(not o.repeat and o.kinds[0] in ID_KINDS for o in operands)
    id_count = len(operands) if fixed else None
    return Instruction(name, opcode, has_type, has_result, operands, needs, id_count)


@cache
def enumeration(name: str) -> Enumeration:
    """The enumeration of that name, as "StorageClass" or "Capability"."""
    is_mask, lines = _enumeration_lines()[name]
    members: dict[str, Enumerant] = {}
    for line in lines:
        member, _, rest = line.partition(" ")
        value, words, needs = _parse(rest)
        members[member] = Enumerant(member, value, tuple(words), needs)
    return Enumeration(name, is_mask, members)


@cache
def is_enumeration(kind: str) -> bool:
    """Whether an operand kind names an enumeration (others are lower-case)."""
    return kind[0].isupper()


def instruction_names() -> tuple[str, ...]:
    """The names of all instructions, core ones first."""
    return tuple(_instruction_lines())


def enumeration_names() -> tuple[str, ...]:
    """The names of all enumerations."""
    return tuple(_enumeration_lines())


@cache
def _instruction_lines() -> dict[str, str]:
    """Instruction name to the rest of its line, the opcode first."""
    lines: dict[str, str] = {}
    for line in _lines(CORE + EXTENSION):
        opcode, name, *rest = line.split()
        assert name not in lines, f"{name} is listed twice"
        lines[name] = " ".join([opcode, *rest])
    return lines


@cache
def _enumeration_lines() -> dict[str, tuple[bool, list[str]]]:
    """Enumeration name to whether it is a mask, and its lines."""
    found: dict[str, tuple[bool, list[str]]] = {}
    current: list[str] = []
    for line in _lines(ENUMERANTS + CAPABILITIES):
        word, _, name = line.partition(" ")
        if word in ("enum", "mask"):
            current = []
            found[name] = (word == "mask", current)
        else:
            current.append(line)
    return found


def _lines(table: str) -> Iterator[str]:
    return (line for line in table.splitlines() if line)


def _parse(line: str) -> tuple[int, list[str], Needs]:
    """Split ``value operands... tags...``."""
    value, *words = line.split()
    tags = dict(word.split("=") for word in words if "=" in word)
    since = tags.get("since")
    major, _, minor = since.partition(".") if since else ("", "", "")
    needs = Needs(
        tuple(tags["cap"].split("|")) if "cap" in tags else (),
        tags.get("ext"),
        (int(major), int(minor)) if since else None,
    )
    return int(value, 0), [word for word in words if "=" not in word], needs


def _operand(word: str) -> Operand:
    repeat = word[-1] if word[-1] in "?*" else ""
    return Operand(tuple(word.removesuffix(repeat).split(":")), repeat)
