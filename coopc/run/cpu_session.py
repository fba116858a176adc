"""Runs kernels on this processor in a process of their own, which they may crash.

    with Session.start() as session:
        result = session.run(llvm_ir(module), steps, arguments, tiles=best())

`coopc.run.cpu` runs them in this process: faster for programs that call one often, and
without the checks.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Sequence
from typing import Self

import numpy as np

from coopc.run.arrays import Argument, Array, Outcome
from coopc.run.cpu import Program, Steps
from coopc.run.guarded import GuardedMemory, catching
from coopc.run.native import define
from coopc.run.tiles import Tiles
from coopc.run.toolchain import ToolMissing
from coopc.run.worker import RunFailed, Worker, give_up, serve, serving

OUT_OF_BOUNDS = "coopc.out_of_bounds"
"""What `coopc.run.bounds_checks` calls."""


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
        threads: int = 1,
        repeats: int = 1,
        seconds: float = 60.0,
    ) -> Outcome:
        """Compile and run LLVM IR; the arrays given are left as they are.

        Every run is on the arrays as they were given; the result holds those of the
        first.  `names` of arrays are for messages, `seconds` is how long all of it may
        take.

        Raises:
            RunFailed: LLVM does not take it; or the kernel accesses what is no array,
                divides an integer by zero, crashes otherwise or takes too long.  Of a
                check of bounds its details have the number, "check".
        """
        arrays = [x for x in arguments if isinstance(x, np.ndarray)]
        known = iter(names or [f"array {number}" for number in range(len(arrays))])
        given = [
            (next(known), x.tobytes()) if isinstance(x, np.ndarray) else x
            for x in arguments
        ]
        call = ("run", ir, steps, given, tiles, threads, repeats)
        return Outcome.of(arrays, *self.call(*call, seconds=seconds))


# --- The worker's side. ---


def _run(
    ir: str,
    steps: Steps,
    given: Sequence[tuple[str, bytes] | np.generic],
    tiles: Tiles,
    threads: int,
    repeats: int,
) -> tuple[list[bytes], list[float], str]:
    """Compile and run a kernel, whose arrays are given as names and bytes.

    The error of a check of bounds has its number, "check".
    """

    def out_of_bounds(number: int, first: int, count: int, size: int) -> None:
        last = "" if count == 1 else f" to {first + count - 1}"
        got = f"{first}{last}"
        give_up(f"expected indices from 0 to {size - 1}, got {got}", check=number)

    refusing = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(out_of_bounds)
    define(OUT_OF_BOUNDS, refusing)
    try:
        program = Program.of_text(ir, tiles)
    except (ToolMissing, ValueError) as error:
        raise RunFailed(str(error)) from error
    memory = GuardedMemory()
    arguments: list[Argument] = []
    arrays: list[tuple[Array, bytes]] = []
    for each in given:
        if isinstance(each, tuple):
            name, value = each
            arrays.append((memory.allocate(len(value), name), value))
            arguments.append(arrays[-1][0])
        else:
            arguments.append(each)
    call = program.prepared_steps(
        steps, arguments, threads=threads, allocate=memory.allocate
    )

    def give_up_at(number: int, address: int) -> None:
        give_up(memory.why_fault(number, address))

    times: list[float] = []
    contents: list[bytes] = []
    for _ in range(repeats):
        for array, value in arrays:
            array[:] = np.frombuffer(value, np.uint8)
        with catching(give_up_at):
            begin = time.perf_counter()
            call()
            times.append(1000 * (time.perf_counter() - begin))
        if (reason := memory.why_corrupt()) is not None:
            raise RunFailed(reason)
        contents = contents or [array.tobytes() for array, _ in arrays]
    memory.free()
    return contents, times, program.where


def main() -> None:
    serve({"open": lambda: None, "run": _run})
