"""What Intel's compiler made of a module: resources and instruction counts by kernel.

Nothing runs: this is the proof that a module means to Intel's compiler what it means to
coopc.  A status of success is none: an unknown builtin stays a call, a wrong subgroup
size halves the work.  So tests ask for counts.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from coopc.diagnostic import near_match
from coopc.run.isa_counts import COUNTS, Counts, count
from coopc.run.isa_text import parse

INNER = "inner."
"""Begins the figures of the innermost loop."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel takes, of each hardware thread."""

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
    """One kernel."""

    resources: Resources
    whole: Counts
    loops: tuple[Counts, ...]
    """The innermost loops."""
    assembly: str = field(default="", repr=False)
    """The disassembly."""

    @property
    def inner(self) -> Counts | None:
        """The innermost loop with the most multiplications, of these the longest."""
        return max(
            self.loops,
            key=lambda loop: (loop.multiplications, loop.total),
            default=None,
        )

    def figure(self, name: str) -> int | None:
        """Return a figure by its name; None of a loop where there is none.

        Args:
            name: of a resource, a count, or a kind, which has a dot in it; with
                `inner.` before it, of the innermost loop.

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
    """By name."""
    warnings: tuple[str, ...] = ()
    """What the compiler warned of."""

    def check(
        self, expected: Mapping[str, int], at_most: Mapping[str, int] | None = None
    ) -> tuple[str, ...]:
        """Return in what the kernels differ from what is expected of each of them.

        Args:
            expected: numbers by the names of `KernelIsa.figure`; with a kernel's name
                and a colon before it, `gemm:dpas`, of that kernel alone.
            at_most: the same, as bounds.

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
    """Count the instructions of a disassembled kernel."""
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
    """Return the resources of each kernel that a .ze_info text tells of.

    Reads the few keys of the compiler's YAML that matter, line by line.
    """
    kernels: dict[str, dict[str, int]] = {}
    found: dict[str, int] = {}
    usage = ""
    for section, key, value in _entries(text):
        if section == "name":
            found = kernels[value] = {}
        elif section == "execution_env" and key in _RESOURCE_KEYS:
            found[_RESOURCE_KEYS[key]] = int(value)
        elif section == "per_thread_memory_buffers" and key == "usage":
            usage = value
        elif section == "per_thread_memory_buffers" and key == "size":
            _add_buffer(found, usage, int(value))
    return {name: Resources(**numbers) for name, numbers in kernels.items()}


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield section, key and value of the entries about kernels."""
    section, in_kernels = "", False
    for line in text.splitlines():
        if re.match(r"\S", line):
            in_kernels = line.startswith("kernels:")
        elif not in_kernels:
            continue
        elif name := re.match(r"  - name:\s+(\S+)", line):
            section = ""
            yield "name", "name", name[1]
        elif header := re.match(r"    (\w+):\s*$", line):
            section = header[1]
        elif entry := re.match(r"\s+(?:- )?(\w+):\s+(\S+)", line):
            yield section, entry[1], entry[2]


def _add_buffer(found: dict[str, int], usage: str, size: int) -> None:
    """Add a buffer of each thread: spilled registers, variables, or others."""
    if "private" in usage or "spill" in usage:
        name = "private" if "private" in usage else "spill"
        found[name] = max(found.get(name, 0), size)
    else:
        found["scratch"] = found.get("scratch", 0) + size
