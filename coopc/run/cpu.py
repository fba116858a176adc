"""Runs kernels on this processor: LLVM compiles them in this process.

    program = Program.of(module, tiles)    # after coopc-amx or coopc-cpu
    program.prepared("gemm", [a, b, c], groups=(4, 4, 1), threads=2)()

A kernel is a function of `convert-simt-to-loops`: threads run parts of its grid.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from coopc.run.arrays import Argument, Array, aligned
from coopc.run.native import (
    KIND,
    PREFIX,
    SLOT,
    Native,
    needed_features,
    processor,
    slots,
    version,
)
from coopc.run.thread_pool import ThreadPool
from coopc.run.tiles import Tiles, prepare

if TYPE_CHECKING:  # the worker process needs none of it, and starts sooner without
    from xdsl.dialects.builtin import ModuleOp

    from coopc.passes.cpu.stages import Stages

Groups: TypeAlias = tuple[int, int, int]
"""Work-groups along x, y, z."""

DEVICE = "amx"
"""What LLVM IR for x86-64 is emitted for."""
ROUND_BYTES = 1 << 20
"""Of memory that steps share, what a thread may fill for a round: it is still in the
second cache of a core, of 2 MiB on Sapphire Rapids, where the next step reads it."""
PARTS = 4
"""Parts of a step for each of several threads, at most.  A thread that is done takes
parts of others, which may be slower: their cores may run other programs, too."""


@dataclass(frozen=True)
class Steps:
    """What one call of a kernel runs: functions, one after the other."""

    functions: tuple[tuple[str, tuple[int, ...]], ...]
    """Their names and grids."""
    scratch: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Their last arguments: memory of so many bytes, each passed with some numbers."""
    matrices: int = 1
    """Of a batch: in each grid, the work-groups of one follow those of the last."""

    def rounds(self, threads: int) -> Iterator[range]:
        """Yield matrices of which all functions run before those of others."""
        size = sum(size for size, _ in self.scratch) // max(1, self.matrices)
        some = threads * max(1, ROUND_BYTES // max(1, size))
        for first in range(0, self.matrices, some):
            yield range(first, min(first + some, self.matrices))


def steps_of(
    staged: Mapping[str, Stages], name: str, sizes: Sequence[int], groups: Groups
) -> Steps:
    """What a call of a kernel runs for some sizes, with the kernel's grid."""
    if (stages := staged.get(name)) is None:
        return Steps(((name, groups),))
    return Steps(
        tuple(
            (name, groups if map is None else (*map.eval(sizes, []), 1, 1)[:3])
            for name, map in stages.functions
        ),
        tuple(
            (prod(factors.eval(sizes, [])), tuple(numbers.eval(sizes, [])))
            for factors, numbers in stages.scratch
        ),
        1 if stages.batch is None else prod(stages.batch.eval(sizes, [])),
    )


@dataclass(frozen=True)
class Program:
    code: Native
    tiles: Tiles
    """Where its tiles are, if it has any."""
    needed: frozenset[str]
    """What of the processor it needs, as LLVM names it."""
    staged: Mapping[str, Stages] = field(default_factory=dict[str, "Stages"])

    @classmethod
    def of(
        cls, module: ModuleOp, tiles: Tiles, *, level: int = 3, cpu: str | None = None
    ) -> Program:
        """Compile a module of functions, for a processor as LLVM names it, or this one.

        Raises:
            PassFailedException: LLVM IR cannot say what it says.
            RunFailed: LLVM does not take it.
            ToolMissing: there is no llvmlite, or no emulator.
            ValueError: the tiles are not what it needs.
        """
        from coopc.passes.cpu.stages import Stages

        found = cls.of_text(llvm_ir(module), tiles, level=level, cpu=cpu)
        return replace(found, staged=Stages.of(module))

    @classmethod
    def of_text(
        cls, ir: str, tiles: Tiles, *, level: int = 3, cpu: str | None = None
    ) -> Program:
        needed = needed_features(ir)
        prepare(tiles, needed)
        return cls(Native.compile(ir, level=level, cpu=cpu), tiles, needed)

    @property
    def where(self) -> str:
        """On what it runs, for people."""
        what = {
            Tiles.AMX: "tiles of AMX",
            Tiles.EMULATED: "tiles emulated",
            Tiles.NONE: "without tiles",
        }[self.tiles if "amx-tile" in self.needed else Tiles.NONE]
        return f"{processor()}, {version()}, {what}"

    def prepared(
        self,
        name: str,
        arguments: Sequence[Argument],
        groups: Groups,
        *,
        sizes: Sequence[int] = (),
        threads: int = 1,
    ) -> Callable[[], None]:
        """What runs a kernel, on the arrays given, each time that it is called.

        Stages may have other work-groups than `groups`, which are along x, y, z: they
        depend on the kernel's `sizes`.

        Raises:
            ValueError: the arguments are not as many as the kernel has.
        """
        steps = steps_of(self.staged, name, sizes, groups)
        return self.prepared_steps(steps, arguments, threads=threads)

    def prepared_steps(
        self,
        steps: Steps,
        arguments: Sequence[Argument],
        *,
        threads: int = 1,
        allocate: Callable[[int], Array] | None = None,
    ) -> Callable[[], None]:
        """What runs the steps of one call each time that it is called.

        `allocate` gives memory of so many bytes that the steps share.

        Raises:
            ValueError: the arguments are not as many as the kernel has.
        """
        found = self.prepared_calls(
            [(steps, arguments)], threads=threads, allocate=allocate
        )

        def run(_: object = (found, arguments)) -> None:  # all are kept
            found.run()

        return run

    def prepared_calls(
        self,
        calls: Sequence[tuple[Steps, Sequence[Argument]]],
        *,
        threads: int = 1,
        allocate: Callable[[int], Array] | None = None,
    ) -> Prepared:
        """What runs calls of kernels, one after the other: see `prepared_steps`.

        The caller keeps the arrays alive.
        """
        packed = bytearray()
        functions: list[tuple[int, list[int]]] = []
        """Of each step of a round, and where the slots of its parts begin."""
        places: list[list[int]] = []
        shared: list[Argument] = []
        for steps, arguments in calls:
            given = [*arguments]
            for size, numbers in steps.scratch:
                given += [(allocate or aligned)(size), *map(np.int64, numbers)]
            shared += given[len(arguments) :]
            arrays = [n for n, x in enumerate(arguments) if isinstance(x, np.ndarray)]
            own: list[list[int]] = [[] for _ in arrays]
            places += own
            for some, (name, groups) in product(steps.rounds(threads), steps.functions):
                self._check_number(name, len(given), len(groups))
                of_one = prod(groups) // steps.matrices
                count = threads * PARTS if threads > 1 else 1
                functions.append((self.code.slots_address(name), []))
                for part in parts(of_one * len(some), count):
                    functions[-1][1].append(len(packed))
                    for n, found in zip(arrays, own, strict=True):
                        found.append(len(packed) // SLOT + n)
                    ends = (of_one * some.start + x for x in (part.start, part.stop))
                    packed += slots([*given, *map(np.int64, (*groups, *ends))])
        memory = np.frombuffer(packed, np.int64)
        start = memory.ctypes.data
        ready = [(entry, [start + x for x in at]) for entry, at in functions]
        if any(len(addresses) > 1 for _, addresses in ready):
            in_threads = ThreadPool.of(threads).prepared(ready)
        else:
            one = [(KIND(entry), address) for entry, (address,) in ready]

            def in_threads() -> None:
                for function, address in one:
                    function(address)

        def run(_: object = (shared, memory, self.code)) -> None:  # all are kept
            in_threads()

        size = sum(x.nbytes for x in shared)
        return Prepared(run, memory, tuple(np.array(x, np.intp) for x in places), size)

    def _check_number(self, name: str, given: int, axes: int) -> None:
        expected = len(self.code.types(name)) - axes - 2
        if given != expected:
            raise ValueError(f"expected {expected} arguments of @{name}, got {given}")


@dataclass(frozen=True, eq=False, slots=True)
class Prepared:
    """Calls whose arrays may be elsewhere in each run."""

    run: Callable[[], None]
    slots: npt.NDArray[np.int64]
    """The arguments of all parts of the calls."""
    places: tuple[npt.NDArray[np.intp], ...]
    """Of each array of each call: where in `slots` its address is."""
    bytes: int
    """Of memory that the steps of each call share."""


def llvm_ir(module: ModuleOp) -> str:
    """The LLVM IR of a module of functions, for x86-64.

    Raises:
        PassFailedException: LLVM IR cannot say what it says.
    """
    from coopc.device import device
    from coopc.emit.llvm.module import emit_module
    from coopc.emit.llvm.types import Facts
    from coopc.llvm.text import text

    return text(emit_module(module, Facts(device(DEVICE), prefix=PREFIX)))


def parts(total: int, threads: int) -> list[range]:
    """Cut the numbers below a total into ranges of about the same length.

    >>> parts(5, 2), parts(1, 4)
    ([range(0, 3), range(3, 5)], [range(0, 1)])
    """
    count = max(1, min(threads, total))
    ends = [-(-total * at // count) for at in range(count + 1)]
    return [range(a, b) for a, b in pairwise(ends)]


def cores() -> list[int]:
    """The processors of Linux that this process may run on, one of each core."""
    first: dict[str, int] = {}
    for number in sorted(os.sched_getaffinity(0)):
        path = Path(f"/sys/devices/system/cpu/cpu{number}/topology/core_cpus_list")
        first.setdefault(path.read_text() if path.exists() else str(number), number)
    return [*first.values()]
