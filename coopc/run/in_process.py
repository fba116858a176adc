"""Runs kernels in this process, on the memory that their arguments are in.

    runner = InProcess(program, threads=2)
    Executable(interface, runner.execute, in_process=runner).run(a, b, c)

Kernels run unprotected: an access out of bounds corrupts or crashes this process, and
there is no timeout.

A launch checks arguments against the interface and evaluates the sizes of a sequence,
which takes a millisecond for a few kernels.  So what was found for arguments of some
types, shapes and strides is kept: a later launch of such arguments writes addresses
into the slots of the functions, and calls these.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from coopc.interface import Interface
from coopc.interface_call import (
    Addresses,
    Call,
    Given,
    element_strides,
    memory_of,
    sizes_of,
)
from coopc.run.arrays import Array, Outcome, start_of, zeros
from coopc.run.cpu import Groups, Prepared, Program, Steps, steps_of

KEPT = 64
"""Forms of arguments whose launches are kept."""
KEPT_BYTES = 256 << 20
"""Memory that these have, unless one has more: temporaries, and what steps share."""


@dataclass(frozen=True, slots=True)
class LaunchForm:
    """What launches have in common that one check is enough for."""

    kernel: str | None
    groups: Groups | None
    arguments: tuple[Hashable, ...]
    shared: tuple[int, ...]
    """Of each array, the first that begins where it does."""


def _form(given: Given) -> Hashable:
    """Return what decides how an argument is passed, except where its memory is."""
    if isinstance(given, np.ndarray):
        flags = given.flags.writeable, given.flags.aligned
        return given.dtype, given.shape, given.strides, flags
    if isinstance(given, np.generic):
        return given.dtype, given.tobytes()
    if isinstance(given, float):
        return float, given.hex()  # which tells 0.0 from -0.0
    return type(given), given


@dataclass(frozen=True, eq=False, slots=True)
class KeptLaunch:
    """A launch that was checked: calls of kernels on memory that may be elsewhere."""

    prepared: Prepared
    kept: tuple[Array, ...]
    """Temporaries, and placeholders of empty arrays: slots hold their addresses."""
    results: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]
    """Shapes and types of results that callers do not give."""
    sizes: tuple[int, ...]
    """Bytes of the memory of each array, with gaps between elements."""
    at: npt.NDArray[np.intp]
    """Indices into `prepared.slots` that hold addresses."""
    of: npt.NDArray[np.intp]
    """For each, the number of the array."""
    offsets: npt.NDArray[np.int64]
    """For each, the offset from the array's start, in bytes."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def bytes(self) -> int:
        """The memory that it has."""
        return self.prepared.bytes + sum(x.nbytes for x in self.kept)

    def run(self, given: Sequence[Given], where: str) -> Outcome | None:
        """Run it on arguments of its form; None if some overlap otherwise."""
        arrays = [x for x in given if isinstance(x, np.ndarray)]
        arrays += [zeros(*x) for x in self.results]
        starts = np.array([start_of(x) for x in arrays], np.int64)
        if not _apart(starts.tolist(), self.sizes):
            return None
        with self.lock:
            begin = time.perf_counter()
            self.prepared.slots[self.at] = starts[self.of] + self.offsets
            self.prepared.run()
            taken = 1000 * (time.perf_counter() - begin)
        return Outcome(tuple(arrays), (taken,), where)


def _apart(starts: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether memory begins at the same place or does not overlap."""
    places = sorted((x, size) for x, size in zip(starts, sizes, strict=True) if size)
    return all(x == y or x + size <= y for (x, size), (y, _) in pairwise(places))


@dataclass(frozen=True)
class InProcess:
    """Compiled functions, and launches of them that were checked."""

    program: Program
    threads: int = 1
    launches: dict[LaunchForm, KeptLaunch | None] = field(
        default_factory=dict[LaunchForm, "KeptLaunch | None"]
    )
    """In the order in which they were used; None of those that cannot be kept."""

    def __getstate__(self) -> NoReturn:
        raise TypeError(
            "cannot pickle or copy what coopc.load gives with on='cpu', as its code is "
            "in this process: load it in each"
        )

    def execute(
        self,
        call: Call,
        *,
        spec: Mapping[str, int] | None = None,
        repeats: int = 1,
        seconds: float | None = None,
    ) -> Outcome:
        """Run a `Call`; `seconds` has no effect.

        Raises:
            ValueError: `spec` is given: compiled code has no specialization constants.
        """
        if spec:
            raise ValueError(
                "expected no spec, as kernels on cpu have no specialization constants, "
                f"got {dict(spec)}"
            )
        run = self.program.prepared_calls([self._steps(call)], threads=self.threads).run
        times: list[float] = []
        for _ in range(repeats):
            begin = time.perf_counter()
            run()
            times.append(1000 * (time.perf_counter() - begin))
        arrays = call.unpack(call.buffers)
        return Outcome(arrays, tuple(times), self.program.where)

    def _steps(self, call: Call) -> tuple[Steps, tuple[Any, ...]]:
        name, sizes = call.interface.name, sizes_of(call.interface, call.given)
        found = steps_of(self.program.staged, name, sizes, call.groups)
        return found, call.opencl_arguments

    def _writes(self, calls: Sequence[Call]) -> Iterator[bool]:
        """Yield whether calls write to each of their buffers, as far as is known."""
        for steps, arguments in map(self._steps, calls):
            for number, argument in enumerate(arguments):
                if isinstance(argument, np.ndarray):
                    names = (name for name, _ in steps.functions)
                    reads = (self.program.code.only_reads(x, number) for x in names)
                    yield not all(reads)

    def _on_read_only(self, call: Call) -> Call:
        """Let functions read read-only arrays where they are, if they only read them.

        A call is packed with copies of these.
        """
        buffers = [*call.buffers]
        for writes, content in zip(self._writes([call]), call.contents, strict=True):
            array = content.array
            if array.size and not array.flags.writeable and not writes:
                buffers[content.buffer] = memory_of(array)
        return replace(call, buffers=tuple(buffers))

    def _evict(self) -> None:
        """Make room for one launch more."""
        for first in [*self.launches]:
            kept = [*self.launches.values()]
            size = sum(x.bytes for x in kept if x is not None)
            if len(kept) < KEPT and size < KEPT_BYTES:
                return
            self.launches.pop(first, None)  # another thread may have done it

    @staticmethod
    def form(
        given: Sequence[Given], groups: Groups | None, kernel: str | None
    ) -> LaunchForm | None:
        """Return the form of arguments, as the caller gives them.

        None of those with addresses of others.
        """
        if any(isinstance(x, Addresses) for x in given):
            return None
        starts = [start_of(x) for x in given if isinstance(x, np.ndarray)]
        shared = tuple(map(starts.index, starts))
        return LaunchForm(kernel, groups, tuple(map(_form, given)), shared)

    def again(self, form: LaunchForm, given: Sequence[Given]) -> Outcome | None:
        """Run a launch that was kept; None if there is none for these arguments."""
        if (found := self.launches.get(form)) is None:
            return None
        self.launches.pop(form, None)  # it is the last one used
        self.launches[form] = found
        return found.run(given, self.program.where)

    def keep(
        self,
        form: LaunchForm,
        given: Sequence[Given],
        interface: Interface,
        whole: Sequence[Given],
        calls: Sequence[Call],
        temporaries: Sequence[Given],
    ) -> None:
        """Keep a launch for others of its form, if it runs on memory of the arguments.

        Args:
            form: of the arguments.
            given: the arguments, as the caller gave them.
            interface: how they are called.
            whole: all arguments, with sizes and results that the caller did not give.
            calls: the kernels.
            temporaries: what they have between them.
        """
        arrays = [x for x in given if isinstance(x, np.ndarray)]
        known = {id(x) for x in arrays}
        made = [x for x in whole if isinstance(x, np.ndarray) and id(x) not in known]
        arrays += made
        self._evict()
        self.launches[form] = None
        if len(arrays) != len(interface.buffers) or not all(map(_is_plain, arrays)):
            return
        starts, sizes = [*map(start_of, arrays)], [memory_of(x).nbytes for x in arrays]
        if not _apart(starts, sizes):
            self.launches.pop(form, None)  # others of the form may be
            return
        calls = [self._on_read_only(call) for call in calls]
        between = [np.asarray(x) for x in temporaries]
        places = _places(calls, [*arrays, *between])
        if places is None:
            return
        written = {x[0] for x in compress(places, self._writes(calls)) if x is not None}
        if interface.steps and any(
            starts.count(starts[n]) > 1 for n in written if n < len(arrays)
        ):
            return  # a step would overwrite what a later one reads
        steps = [self._steps(call) for call in calls]
        prepared = self.program.prepared_calls(steps, threads=self.threads)
        moved = [
            (at, *place)
            for at, place in zip(prepared.places, places, strict=True)
            if place is not None and place[0] < len(arrays)
        ]
        columns = [np.broadcast_arrays(*x) for x in moved] or [[np.zeros(0, int)] * 3]
        at, of, offsets = (np.concatenate(x) for x in zip(*columns, strict=True))
        buffers = (x for call in calls for x in call.buffers)
        empty = [x for x, y in zip(buffers, places, strict=True) if y is None]
        self.launches[form] = KeptLaunch(
            prepared=prepared,
            kept=(*between, *empty),
            results=tuple((x.shape, x.dtype) for x in made),
            sizes=tuple(sizes),
            at=at,
            of=of,
            offsets=offsets,
        )


def _is_plain(array: Array) -> bool:
    """Whether the first element is the first in memory, and strides are of elements."""
    strides = element_strides(array)
    return strides is not None and min(strides, default=0) >= 0


def _places(
    calls: Sequence[Call], memories: Sequence[Array]
) -> list[tuple[int, int] | None] | None:
    """Return in which memory each buffer of calls is, and how many bytes behind.

    None of those without elements; no list if one is a copy.
    """
    regions = [(start_of(x), memory_of(x).nbytes) for x in memories]
    found: list[tuple[int, int] | None] = []
    for call in calls:
        for buffer, content in zip(call.buffers, call.contents, strict=True):
            if not content.array.size:
                found.append(None)
                continue
            at = start_of(buffer)
            here = [n for n, (x, size) in enumerate(regions) if x <= at < x + size]
            if not here:
                return None
            found.append((here[0], at - regions[here[0]][0]))
    return found
