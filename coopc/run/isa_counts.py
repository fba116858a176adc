"""Counts the instructions of an Intel GPU by what they cost and what they mean.

| count          | instructions                                                    |
|----------------|-----------------------------------------------------------------|
| dpas, dpasw    | multiplications of one subgroup, and of a pair                  |
| load2d         | 2D block loads                                                  |
| prefetch2d     | 2D block loads to the null register                             |
| store2d        | 2D block stores                                                 |
| send           | all other messages; `spill_messages` of them are to scratch     |
| mov            | moves, conversions among them                                   |
| alu            | all other arithmetic, comparisons and logic                     |
| sync           | waits for messages and for barriers                             |
| control        | jumps and the like; `calls` of them are calls                   |

`dpas_workaround` is apart: the dummy that the compiler puts before a run of DPAS on
DG2.  `total` is all of them.  `kinds` has the details: dpas.8x8(16) by depth, rows and
lanes, dpas.hf.hf.f by the types of a, b and c, load_block2d.d16v by what the message
does (v: VNNI transform, t: transpose), other messages by their names, alu.add.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from coopc.run.isa_text import CALLS, CONTROL, Instruction

_SENDS = frozenset(
    ("send", "sends", "sendc", "sendsc", "sendg", "sendgc", "sendgx", "sendgxc")
)
_OPERAND_TYPES = {
    32: ("tf32", "f"),
    16: ("hf", "bf"),
    8: ("b", "ub", "s8", "u8", "bf8", "hf8"),
    4: ("s4", "u4", "e2m1"),
    2: ("s2", "u2"),
}
_OPERAND_BITS = {type: bits for bits, types in _OPERAND_TYPES.items() for type in types}
_MAX_LENGTH = 31
"""The field of a message that holds how many registers it returns ends here."""

_SHAPE = re.compile(r"\w+\.(\d+)x(\d+)\s+\((\d+)\|")
_DUMMY = re.compile(r"null:\w+\s+(r\d+):\w+\s+\1\.0:")


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts over a range of instructions; see the description of the module."""

    total: int = 0
    dpas: int = 0
    dpasw: int = 0
    dpas_workaround: int = 0
    load2d: int = 0
    prefetch2d: int = 0
    store2d: int = 0
    send: int = 0
    spill_messages: int = 0
    mov: int = 0
    alu: int = 0
    sync: int = 0
    control: int = 0
    calls: int = 0
    nop: int = 0
    registers_read: int = 0
    """Registers that messages return."""
    registers_written: int = 0
    """Registers that messages send."""
    macs: int = 0
    """Multiply-adds of DPAS, of the whole subgroup."""
    kinds: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def multiplications(self) -> int:
        """DPAS and split DPAS."""
        return self.dpas + self.dpasw


COUNTS = tuple(each.name for each in fields(Counts) if each.name != "kinds")
"""The names of the counts that are numbers."""


def count(instructions: Iterable[Instruction]) -> Counts:
    """Count instructions."""
    numbers: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for instruction in instructions:
        numbers["total"] += 1
        mnemonic = instruction.mnemonic
        if mnemonic in ("dpas", "dpasw", "bdpas"):
            _count_dpas(instruction, numbers, kinds)
        elif mnemonic in _SENDS:
            _count_send(instruction, numbers, kinds)
        elif mnemonic in CONTROL:
            numbers["control"] += 1
            numbers["calls"] += mnemonic in CALLS
        elif mnemonic in ("mov", "nop", "illegal"):
            numbers["mov" if mnemonic == "mov" else "nop"] += 1
        elif mnemonic == "sync":
            numbers["sync"] += 1
            kinds[instruction.opcode] += 1
        else:
            numbers["alu"] += 1
            kinds[f"alu.{mnemonic}"] += 1
    return Counts(**numbers, kinds=dict(sorted(kinds.items())))


def _count_dpas(
    instruction: Instruction, numbers: Counter[str], kinds: Counter[str]
) -> None:
    """Count a multiplication."""
    if "Atomic" in instruction.text and _DUMMY.search(instruction.text):
        numbers["dpas_workaround"] += 1
        return
    numbers["dpasw" if instruction.mnemonic == "dpasw" else "dpas"] += 1
    shape = _SHAPE.match(instruction.text)
    if shape is None:
        kinds[instruction.opcode] += 1
        return
    depth, repeat, lanes = map(int, shape.groups())
    kinds[f"{instruction.opcode}({lanes})"] += 1
    types = re.findall(r":([a-z]\w*)", instruction.text.partition("{")[0])
    if len(types) != 4:
        return
    result, _, b, a = types
    kinds[f"{instruction.mnemonic}.{a}.{b}.{result}"] += 1
    bits = max(_OPERAND_BITS.get(type, 16) for type in (a, b))
    numbers["macs"] += repeat * lanes * depth * (32 // bits)


def _count_send(
    instruction: Instruction, numbers: Counter[str], kinds: Counter[str]
) -> None:
    """Count a message."""
    message = _message(instruction)
    read, written = _lengths(instruction)
    block = re.search(r"(load|store)_block2d", message)
    if block is None:
        name = _name(message)
        numbers["send"] += 1
        is_spill = "scratch" in message or ("ugm" in name and ".ss" in name)
        numbers["spill_messages"] += is_spill
        kinds[name] += 1
    else:
        category = f"{block[1]}2d"
        if category == "load2d" and re.search(r"\)\s+null\b", instruction.text):
            category = "prefetch2d"
        elif category == "load2d" and read == _MAX_LENGTH:
            read += 1
        numbers[category] += 1
        kind = re.search(r"\.(d\d+\w*)", message)
        name = category.replace("2d", "_block2d")
        kinds[f"{name}.{kind[1] if kind else '?'}"] += 1
    numbers["registers_read"] += read
    numbers["registers_written"] += written


def _message(instruction: Instruction) -> str:
    """What the disassembler says that a message is."""
    comment = instruction.comment
    found = comment.split(";", 1)[1] if ";" in comment else comment
    return (found or instruction.opcode).replace("[src0]", "").strip()


def _name(message: str) -> str:
    """The name of a message that is no 2D block's."""
    if "end of thread" in message:
        return "send.eot"
    return f"send.{message.split()[0].partition('[')[0]}"


def _lengths(instruction: Instruction) -> tuple[int, int]:
    """Registers that a message returns and sends."""
    read = re.search(r"rd:(\d+)(?! ?B)", instruction.comment)
    written = re.search(r"wr:(\d+)h?(?:\+(\d+))?", instruction.comment)
    if written is not None:
        sent = int(written[1]) + int(written[2] or 0)
    else:  # sendg has the lengths on its operands
        sent = sum(map(int, re.findall(r"\br\d+:(\d+)", instruction.text)))
    return int(read[1]) if read is not None else 0, sent
