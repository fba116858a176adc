"""What Intel's compiler made of a module: resources and instruction counts by kernel.

Nothing runs: this is the proof that a module means to Intel's compiler what it means to
coopc.  A status of success is none: an unknown builtin stays a call, a wrong subgroup
size halves the work.  So tests ask for counts, of a disassembly by `ocloc disasm`:

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

from coopc.diagnostic import near_match

# --- Disassembly. ---

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
class IsaInstruction:
    text: str
    """Opcode and operands."""
    comment: str
    """What the disassembler adds."""

    @property
    def opcode(self) -> str:
        return self.text.split()[0]

    @property
    def mnemonic(self) -> str:
        return self.opcode.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Disassembly:
    instructions: tuple[IsaInstruction, ...]
    labels: dict[str, int]
    """Labels by name: how many instructions come before each."""

    def innermost_loops(self) -> tuple[tuple[IsaInstruction, ...], ...]:
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


def parse(text: str) -> Disassembly:
    """Read a disassembly.

        L1968:
        (W&f0.0) jmpi     L1616
                 dpas.8x8 (16|M0)  r38:f  r38:f  r104:hf  r5.0:hf  {Atomic,$1.dst}
                 send.ugm (1|M0)  r5  r4  null:0  0x0  0x3F00203  // wr:1+0, rd:31; ...

    A line is a label or an instruction: predicate, opcode, operands, and in a comment
    what a message is.  Padding after the end of the thread is no part of the program.
    """
    instructions: list[IsaInstruction] = []
    labels: dict[str, int] = {}
    for raw in text.splitlines():
        line, _, comment = raw.partition("//")
        line = line.strip()
        if label := _LABEL.fullmatch(line):
            labels[label[1]] = len(instructions)
            continue
        line = _PREDICATE.sub("", line, count=1) if line.startswith("(") else line
        if line and not line.startswith("."):
            instructions.append(IsaInstruction(line, comment.strip()))
    return Disassembly(tuple(_without_padding(instructions)), labels)


def _without_padding(instructions: list[IsaInstruction]) -> list[IsaInstruction]:
    """Drop what comes after the last end of the thread, if it does nothing."""
    ends = [
        at
        for at, each in enumerate(instructions)
        if "EOT" in each.text or "end of thread" in each.comment
    ]
    if not ends:
        return instructions
    if all(
        " null" in x.text if x.mnemonic == "mov" else x.mnemonic in ("illegal", "nop")
        for x in instructions[ends[-1] + 1 :]
    ):
        return instructions[: ends[-1] + 1]
    return [each for each in instructions if each.mnemonic != "illegal"]


# --- Counts. ---

_SENDS = frozenset(
    ("send", "sends", "sendc", "sendsc", "sendg", "sendgc", "sendgx", "sendgxc")
)
_OPERAND_BITS = {
    **dict.fromkeys(("tf32", "f"), 32),
    **dict.fromkeys(("hf", "bf"), 16),
    **dict.fromkeys(("b", "ub", "s8", "u8", "bf8", "hf8"), 8),
    **dict.fromkeys(("s4", "u4", "e2m1"), 4),
    **dict.fromkeys(("s2", "u2"), 2),
}
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
        return self.dpas + self.dpasw


COUNTS = tuple(each.name for each in fields(Counts) if each.name != "kinds")
"""The names of the counts that are numbers."""


def count(instructions: Iterable[IsaInstruction]) -> Counts:
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
    instruction: IsaInstruction, numbers: Counter[str], kinds: Counter[str]
) -> None:
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
    instruction: IsaInstruction, numbers: Counter[str], kinds: Counter[str]
) -> None:
    message = _message(instruction)
    read, written = _lengths(instruction)
    block = re.search(r"(load|store)_block2d", message)
    if block is None:
        name = f"send.{message.split()[0].partition('[')[0]}"
        name = "send.eot" if "end of thread" in message else name
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


def _message(instruction: IsaInstruction) -> str:
    comment = instruction.comment
    found = comment.split(";", 1)[1] if ";" in comment else comment
    return (found or instruction.opcode).replace("[src0]", "").strip()


def _lengths(instruction: IsaInstruction) -> tuple[int, int]:
    """Registers that a message returns and sends."""
    read = re.search(r"rd:(\d+)(?! ?B)", instruction.comment)
    written = re.search(r"wr:(\d+)h?(?:\+(\d+))?", instruction.comment)
    if written is not None:
        sent = int(written[1]) + int(written[2] or 0)
    else:  # sendg has the lengths on its operands
        sent = sum(map(int, re.findall(r"\br\d+:(\d+)", instruction.text)))
    return int(read[1]) if read is not None else 0, sent


# --- Kernels. ---

INNER = "inner."
"""Begins the figures of the innermost loop."""


@dataclass(frozen=True, slots=True)
class Resources:
    simd: int = 0
    """Lanes of a subgroup."""
    registers: int = 0
    """General registers."""
    threads: int = 0
    """Hardware threads that an execution unit then has."""
    spill: int = 0
    """Bytes of registers that went to memory."""
    scratch: int = 0
    """Bytes of other memory of the thread."""
    private: int = 0
    """Bytes of variables that are in memory."""
    slm: int = 0
    """Bytes of work-group memory."""
    barriers: int = 0


RESOURCES = tuple(each.name for each in fields(Resources))
CLEAN = {"spill": 0, "spill_messages": 0, "private": 0, "calls": 0}
"""What every kernel is expected to have."""


@dataclass(frozen=True, slots=True)
class KernelIsa:
    resources: Resources
    whole: Counts
    loops: tuple[Counts, ...]
    """The innermost loops."""
    assembly: str = field(default="", repr=False)

    @property
    def inner(self) -> Counts | None:
        """The innermost loop with the most multiplications, of these the longest."""
        return max(
            self.loops,
            key=lambda loop: (loop.multiplications, loop.total),
            default=None,
        )

    def figure(self, name: str) -> int | None:
        """Return a resource, a count, or a kind, which has a dot in it, by its name.

        With `inner.` before it, it is of the innermost loop, None where there is none.

        Raises:
            ValueError: there is no such figure.
        """
        counts = self.whole
        bare = name.removeprefix(INNER)
        if bare != name:
            if self.inner is None:
                return None
            counts = self.inner
        elif bare in RESOURCES:
            return getattr(self.resources, bare)
        if bare in COUNTS:
            return getattr(counts, bare)
        if "." in bare:
            return counts.kinds.get(bare, 0)
        known = [*RESOURCES, *COUNTS, *(INNER + each for each in COUNTS)]
        raise ValueError(
            f"unknown figure {name!r}{near_match(name, known)}: expected one of "
            f"{', '.join((*RESOURCES, *COUNTS))}, {INNER} before a count, or a kind of "
            "instruction as in load_block2d.d16"
        )

    def check(
        self, expected: Mapping[str, int], at_most: Mapping[str, int] | None = None
    ) -> tuple[str, ...]:
        """Return in what the figures differ from those that are expected."""
        reasons: list[str] = []
        for name, number in expected.items():
            if (found := self.figure(name)) != number:
                reasons.append(f"expected {name} = {number}, got {_told(found)}")
        for name, number in (at_most or {}).items():
            if (found := self.figure(name)) is None or found > number:
                reasons.append(f"expected {name} <= {number}, got {_told(found)}")
        return tuple(reasons)


@dataclass(frozen=True, slots=True)
class Isa:
    """A module, compiled for one device."""

    device: str
    kernels: Mapping[str, KernelIsa]
    warnings: tuple[str, ...] = ()

    def check(
        self, expected: Mapping[str, int], at_most: Mapping[str, int] | None = None
    ) -> tuple[str, ...]:
        """Return in what the kernels differ from what is expected of each of them.

        Names are those of `KernelIsa.figure`; with a kernel's name and a colon before
        it, `gemm:dpas`, of that kernel alone.

        Raises:
            ValueError: there is no such figure or kernel.
        """
        for name in (*expected, *(at_most or {})):
            kernel, colon, _ = name.rpartition(":")
            if colon and kernel not in self.kernels:
                raise ValueError(
                    f"expected a kernel of {', '.join(self.kernels)}, got {kernel!r}"
                )
        return tuple(
            f"{self.device}: {name}: {reason}"
            for name, kernel in self.kernels.items()
            for reason in kernel.check(
                _of_kernel(name, expected), _of_kernel(name, at_most or {})
            )
        )


def _of_kernel(name: str, expected: Mapping[str, int]) -> dict[str, int]:
    """Return what is expected of a kernel: of all, and then of it alone."""
    mine = {
        each.removeprefix(f"{name}:"): number
        for each, number in expected.items()
        if each.startswith(f"{name}:")
    }
    return {each: n for each, n in expected.items() if ":" not in each} | mine


def _told(found: int | None) -> str:
    return "no loop" if found is None else str(found)


def analyse(disassembly: str, resources: Resources) -> KernelIsa:
    program = parse(disassembly)
    loops = tuple(map(count, program.innermost_loops()))
    return KernelIsa(resources, count(program.instructions), loops, disassembly)


# --- .ze_info, the compiler's own account. ---

_RESOURCE_KEYS = {
    "simd_size": "simd",
    "grf_count": "registers",
    "eu_thread_count": "threads",
    "slm_size": "slm",
    "barrier_count": "barriers",
    "spill_size": "spill",
    "private_size": "private",
}


def read_ze_info(text: str) -> dict[str, Resources]:
    """Return the resources of each kernel that a .ze_info text, YAML, tells of."""
    found: dict[str, Resources] = {}
    section = re.search(r"^kernels:\n((?: .*\n?)*)", text, re.MULTILINE)
    kernels = re.split(r"^  - name:", section[1] if section else "", flags=re.MULTILINE)
    for kernel in kernels[1:]:
        numbers = Counter(
            {
                _RESOURCE_KEYS[key]: int(value)
                for key, value in re.findall(r"(\w+):\s+(\d+)", kernel)
                if key in _RESOURCE_KEYS
            }
        )
        for usage, size in re.findall(r"usage:\s+(\S+)\n\s+size:\s+(\d+)", kernel):
            kind = next((x for x in ("private", "spill") if x in usage), "scratch")
            known = numbers[kind]
            numbers[kind] = (
                known + int(size) if kind == "scratch" else max(known, int(size))
            )
        found[kernel.split()[0]] = Resources(**numbers)
    return found
