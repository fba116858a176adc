"""Runs kernels on this processor in a process of their own, which they may crash.

    with Session.start() as session:
        result = session.run(llvm_ir(module), steps, arguments, tiles=best())

`coopc.run.cpu` runs them in this process: faster for programs that call one often, and
without the checks.  Here the memory of a kernel is between pages that none can access:

    inaccessible | what is unused of the first page, array | inaccessible
                                                           ^ the end of a page

So an access beyond the end of an array is a fault, and so is one far before it.  What a
kernel writes shortly before it changes what is unused, which is looked at afterwards.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from coopc.run.arrays import Argument, Array, Outcome, start_of, to_memories
from coopc.run.cpu import Program, Steps
from coopc.run.native import define
from coopc.run.tiles import Tiles
from coopc.run.toolchain import ToolMissing
from coopc.run.worker import TIMEOUT_SECONDS, RunFailed, Worker, give_up, serve, serving

OUT_OF_BOUNDS = "coopc.out_of_bounds"
"""What `coopc.run.bounds_checks` calls."""

STACK_BYTES = 64 << 20
"""The stack of each thread; that of the first one is at most the system's hard limit.
A kernel keeps its private memory there: a long row of a Triton kernel takes several
MiB.  Pages that it does not touch are not allocated."""


class Session(Worker):
    """This processor, in a worker process; a context manager."""

    @classmethod
    def start(cls) -> Self:
        return cls(serving([sys.executable], "cpu_session"), os.environ, "open")

    def run(
        self,
        ir: str,
        steps: Steps,
        arguments: Sequence[Argument],
        *,
        tiles: Tiles,
        names: Sequence[str] = (),
        pointers: Mapping[int, Sequence[int]] | None = None,
        threads: int = 1,
        repeats: int = 1,
        seconds: float = TIMEOUT_SECONDS,
    ) -> Outcome:
        """Compile and run LLVM IR; the arrays given are left as they are.

        Every run is on the arrays as they were given; the result holds those of the
        first.  `names` of arrays are for messages, `seconds` is how long all of it may
        take.  `pointers` are the numbers of arrays that hold addresses of others, which
        are behind the arguments of the kernel.

        Raises:
            RunFailed: LLVM does not take it; or the kernel accesses what is no array,
                divides an integer by zero, crashes otherwise or takes too long.  Of a
                check of bounds its details have the number, "check".
        """
        arrays = [x for x in arguments if isinstance(x, np.ndarray)]
        known = names or [f"array {number}" for number in range(len(arrays))]
        memories, given = to_memories(arguments)
        places = [x for x in given if type(x) is int]
        named = [(known[places.index(n)], data) for n, data in enumerate(memories)]
        call = ("run", ir, steps, named, given, tiles, threads, repeats, pointers or {})
        return Outcome.of(arrays, given, *self.call(*call, seconds=seconds))


# --- The worker's side: memory, and what faults there mean. ---

GUARDS = (1 << 36, 1 << 24)
"""Bytes that cannot be accessed on each side: more than an i32 can number elements of 8
bytes; less where a limit on addresses forbids that."""
UNUSED = 0xA5
"""What is in bytes that belong to no array."""
ANYWHERE = 0x4000 | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
"""Flags of a mapping, of which 0x4000 is Linux's MAP_NORESERVE."""
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE)
ADDRESS = 16
"""Where Linux's siginfo_t has the address of a fault, in bytes."""
SA_SIGINFO = 4


@dataclass(frozen=True)
class Region:
    """An array and what is around it."""

    name: str
    start: int
    """The address of the first page that can be accessed."""
    pages: Array
    """All bytes that can be accessed; the array is at their end."""
    size: int
    """Of the array, in bytes."""
    guard: int
    """Bytes on each side that cannot be accessed."""

    def place(self, address: int) -> str | None:
        end = self.start + len(self.pages)
        if end <= address < end + self.guard:
            return f"{address - end} bytes beyond the end of {self.name}"
        if self.start - self.guard <= address < self.start:
            first = end - self.size
            return f"{first - address} bytes before the beginning of {self.name}"
        return None


@dataclass
class GuardedMemory:
    regions: list[Region] = field(default_factory=list[Region])

    def allocate(self, size: int, name: str = "memory that its steps share") -> Array:
        """Bytes of an array; an array of any element type is aligned for it.

        Raises:
            MemoryError: there is no room.
        """
        page = mmap.PAGESIZE
        used = max(1, -(-size // page)) * page
        for guard in GUARDS:
            base = _libc().mmap(None, used + 2 * guard, 0, ANYWHERE, -1, 0)
            if base != ctypes.c_void_p(-1).value:
                break
        else:
            raise MemoryError(f"expected room for {used} bytes of {name}")
        start = base + guard
        if _libc().mprotect(start, used, mmap.PROT_READ | mmap.PROT_WRITE):
            raise MemoryError(f"expected {used} bytes of memory for {name}")
        _libc().madvise(start, used, mmap.MADV_HUGEPAGE)  # as numpy does
        pages = _bytes_at(start, used)
        pages[: used - size] = UNUSED
        self.regions.append(Region(name, start, pages, size, guard))
        return _bytes_at(start + used - size, size)

    def free(self) -> None:
        """Give all memory back: its arrays cannot be used any more."""
        for each in self.regions:
            size = len(each.pages) + 2 * each.guard
            _libc().munmap(each.start - each.guard, size)
        self.regions.clear()

    def why_corrupt(self) -> str | None:
        for each in self.regions:
            unused = each.pages[: len(each.pages) - each.size]
            wrong = np.flatnonzero(unused != UNUSED)
            if wrong.size:
                before = len(unused) - int(wrong[0])
                return outside(f"{before} bytes before the beginning of {each.name}")
        return None

    def why_fault(self, number: int, address: int) -> str:
        if number == signal.SIGFPE:
            return (
                "the kernel divides an integer by zero, or the least one by -1; "
                "--on sim says which operation"
            )
        places = (each.place(address) for each in self.regions)
        near = next((place for place in places if place is not None), None)
        return outside(near or f"at the address {address:#x}")


def _bytes_at(address: int, size: int) -> Array:
    """Memory as an array, at that address even if it is empty."""
    memory = (ctypes.c_char * max(1, size)).from_address(address)
    return np.frombuffer(memoryview(memory), np.uint8)[:size]


def outside(where: str) -> str:
    return (
        f"expected accesses inside the kernel's arrays, got one {where}; "
        "coopc-run --bounds says which operation"
    )


class _Action(ctypes.Structure):
    """Linux's `struct sigaction`, as the C library has it."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


@contextmanager
def catching(told: Callable[[int, int], object]) -> Generator[None]:
    """Call a function with the number and the address of a fault, while this holds.

    It must not return: what caused the fault would run again.  Compiled code causes
    faults, and Python is not running then, so that it can be called.
    """

    def handle(number: int, info: int, context: int) -> None:
        told(number, ctypes.c_uint64.from_address(info + ADDRESS).value)

    kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    handler = kind(handle)
    ours = _Action(ctypes.cast(handler, ctypes.c_void_p), flags=SA_SIGINFO)
    before = {number: _Action() for number in FAULTS}
    for number, old in before.items():
        _libc().sigaction(number, ctypes.byref(ours), ctypes.byref(old))
    try:
        yield
    finally:
        for number, old in before.items():
            _libc().sigaction(number, ctypes.byref(old), None)


def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        ctypes.c_long,
    ]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    for function in (library.mprotect, library.madvise):
        function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


# --- The worker's side: calls. ---


@ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)
def _out_of_bounds(number: int, first: int, count: int, size: int) -> None:
    last = "" if count == 1 else f" to {first + count - 1}"
    got = f"{first}{last}"
    give_up(f"expected indices from 0 to {size - 1}, got {got}", check=number)


@functools.lru_cache(maxsize=32)
def _compiled(ir: str, tiles: Tiles) -> Program:
    define(OUT_OF_BOUNDS, _out_of_bounds)
    return Program.of_text(ir, tiles)


def _run(
    ir: str,
    steps: Steps,
    memories: Sequence[tuple[str, bytes]],
    given: Sequence[np.generic | int],
    tiles: Tiles,
    threads: int,
    repeats: int,
    pointers: Mapping[int, Sequence[int]],
) -> tuple[list[bytes], list[float], str]:
    """Compile and run a kernel; of its arguments, an int is the number of a memory.

    The error of a check of bounds has its number, "check".
    """
    try:
        program = _compiled(ir, tiles)
    except (ToolMissing, ValueError) as error:
        raise RunFailed(str(error)) from error
    memory = GuardedMemory()
    arrays = [memory.allocate(len(data), name) for name, data in memories]
    arguments = [x if isinstance(x, np.generic) else arrays[x] for x in given]
    count = len(arguments) - sum(map(len, pointers.values()))
    call = program.prepared_steps(
        steps, arguments[:count], threads=threads, allocate=memory.allocate
    )

    def give_up_at(number: int, address: int) -> None:
        give_up(memory.why_fault(number, address))

    times: list[float] = []
    contents: list[bytes] = []
    for _ in range(repeats):
        for array, (_, data) in zip(arrays, memories, strict=True):
            array[:] = np.frombuffer(data, np.uint8)
        for number, parts in pointers.items():
            starts = np.array([start_of(np.asarray(arguments[x])) for x in parts])
            np.asarray(arguments[number]).view(np.int64)[:] = starts
        with catching(give_up_at):
            begin = time.perf_counter()
            call()
            times.append(1000 * (time.perf_counter() - begin))
        if (reason := memory.why_corrupt()) is not None:
            raise RunFailed(reason)
        contents = contents or [x.tobytes() for x in arrays]
    memory.free()
    return contents, times, program.where


def main() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    endless = resource.RLIM_INFINITY
    if soft != endless and soft < STACK_BYTES:
        wanted = STACK_BYTES if hard == endless else min(hard, STACK_BYTES)
        resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))
    threading.stack_size(STACK_BYTES)
    serve({"open": lambda: None, "run": _run})
