"""Runs kernels on this processor in a process of their own, which they may crash.

    with Session.start() as session:
        result = session.run(llvm_ir(module), steps, arguments, tiles=best())

`coopc.run.cpu` runs them in this process: faster for programs that call one often, and
without the checks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Self

import numpy as np

from coopc.run.arrays import RunResult
from coopc.run.cpu import Argument, Steps
from coopc.run.frame import Header
from coopc.run.tiles import Tiles
from coopc.run.worker import Served, Worker, serving


class Session(Served):
    """This processor, in a worker process; a context manager."""

    where: str = ""
    """On what the last kernel ran, for people."""

    @classmethod
    def start(cls) -> Self:
        """Start the process on first use."""
        command = serving([sys.executable], "cpu_worker")
        return cls(Worker(command, dict(os.environ), {"do": "open"}))

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
    ) -> RunResult:
        """Compile and run a kernel; the arrays given are left as they are.

        Args:
            ir: LLVM IR, see `coopc.run.cpu.llvm_ir`.
            steps: what a call of the kernel runs.
            arguments: arrays and numpy scalars, as the kernel's function takes them.
            tiles: where tiles of AMX are.
            names: of the arrays, for messages.
            threads: how many run it.
            repeats: how often it is run, each time on the arrays as they were given.
            seconds: how long all of it may take.

        Returns:
            The arrays among the arguments, in their order, and the times.

        Raises:
            RunFailed: LLVM does not take it; or the kernel accesses what is no array,
                divides an integer by zero, crashes otherwise or takes too long.  Of a
                check of bounds its details have the number, "check".
        """
        arrays = [x for x in arguments if isinstance(x, np.ndarray)]
        known = iter(names or [f"array {number}" for number in range(len(arrays))])
        request: Header = {
            "do": "run",
            "tiles": tiles,
            "names": [
                next(known) if isinstance(x, np.ndarray) else None for x in arguments
            ],
            "functions": steps.functions,
            "scratch": steps.scratch,
            "threads": threads,
            "repeats": repeats,
        }
        blobs = [ir.encode(), *(x.tobytes() for x in arguments)]
        answer, contents = self._worker.ask(request, blobs, seconds=seconds)
        self.where = answer["where"]
        return RunResult.of(contents, arrays, answer["milliseconds"])
