"""Reads the disassembly of a kernel for an Intel GPU, as `ocloc disasm` writes it.

    L1968:
    (W&f0.0) jmpi      L1616
             dpas.8x8 (16|M0)  r38:f  r38:f  r104:hf  r5.0:hf  {Atomic,$1.dst}
             send.ugm (1|M0)   r5  r4  null:0  0x0  0x3F00203  // wr:1+0, rd:31; load...

A line is a label or an instruction: predicate, opcode, operands, and in a comment what
a message is.  Padding after the end of the thread is no part of the program.
"""

import re
from dataclasses import dataclass

CALLS = frozenset(("call", "calla", "callx"))
CONTROL = CALLS | {
    *("jmpi", "goto", "join", "brc", "brd", "ret"),
    *("if", "else", "endif", "while", "break", "cont", "halt"),
}
"""Mnemonics of instructions that choose which one is next."""

_LABEL = re.compile(r"([A-Za-z_.$][\w.$]*):")
_PREDICATE = re.compile(r"\([^)]*\)\s*")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of the disassembly, without its predicate."""

    text: str
    """Opcode and operands."""
    comment: str
    """What the disassembler adds."""

    @property
    def opcode(self) -> str:
        """The whole opcode, `dpas.8x8`."""
        return self.text.split()[0]

    @property
    def mnemonic(self) -> str:
        """The opcode up to its first dot, `dpas`."""
        return self.opcode.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Program:
    """A disassembled kernel."""

    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    """Labels by name: how many instructions come before each."""

    def innermost_loops(self) -> tuple[tuple[Instruction, ...], ...]:
        """Return the instructions of each loop that holds no other.

        A loop is what the furthest jump back to one label spans.
        """
        ends: dict[int, int] = {}
        for at, instruction in enumerate(self.instructions):
            if instruction.mnemonic not in CONTROL:
                continue
            for word in _WORD.findall(instruction.text[len(instruction.opcode) :]):
                start = self.labels.get(word)
                if start is not None and start <= at:
                    ends[start] = at
        spans = sorted(ends.items())
        inner = [
            (first, last)
            for first, last in spans
            if not any(
                first <= start and end <= last and (start, end) != (first, last)
                for start, end in spans
            )
        ]
        return tuple(self.instructions[first : last + 1] for first, last in inner)


def parse(text: str) -> Program:
    """Read a disassembly."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    for raw in text.splitlines():
        line, _, comment = raw.partition("//")
        line = line.strip()
        if label := _LABEL.fullmatch(line):
            labels[label[1]] = len(instructions)
            continue
        line = _PREDICATE.sub("", line, count=1) if line.startswith("(") else line
        if line and not line.startswith("."):
            instructions.append(Instruction(line, comment.strip()))
    return Program(tuple(_without_padding(instructions)), labels)


def _without_padding(instructions: list[Instruction]) -> list[Instruction]:
    """Drop what comes after the last end of the thread, if it does nothing."""
    ends = [at for at, each in enumerate(instructions) if _ends_thread(each)]
    if not ends:
        return instructions
    if all(map(_does_nothing, instructions[ends[-1] + 1 :])):
        return instructions[: ends[-1] + 1]
    return [each for each in instructions if each.mnemonic != "illegal"]


def _ends_thread(instruction: Instruction) -> bool:
    return "EOT" in instruction.text or "end of thread" in instruction.comment


def _does_nothing(instruction: Instruction) -> bool:
    if instruction.mnemonic == "mov":
        return " null" in instruction.text
    return instruction.mnemonic in ("illegal", "nop")
