"""The worker process that runs kernels on this processor, which may crash in it.

`coopc.run.cpu_session` starts it.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence

import numpy as np

from coopc.run.cpu import Argument, Array, Program, Steps
from coopc.run.frame import Blob, Header
from coopc.run.guarded import Memory, catching
from coopc.run.native import define
from coopc.run.service import Refusal, give_up, serve
from coopc.run.tiles import Tiles
from coopc.run.toolchain import ToolMissing
from coopc.run.worker import RunFailed

OUT_OF_BOUNDS = "coopc.out_of_bounds"
"""What `coopc.rewrite.bounds_checks` calls."""


def describe(request: Header, blobs: Sequence[bytes]) -> tuple[Header, Sequence[Blob]]:
    """Say that it is ready."""
    return {}, ()


def run(request: Header, blobs: Sequence[bytes]) -> tuple[Header, Sequence[Blob]]:
    """Compile and run a kernel: the blobs are LLVM IR and arguments.

    Of the arguments those that "names" has a name for are arrays.  An answer of a check
    of bounds has its number, "check".
    """
    ir, *values = blobs

    def out_of_bounds(number: int, first: int, count: int, size: int) -> None:
        last = "" if count == 1 else f" to {first + count - 1}"
        got = f"{first}{last}"
        give_up(f"expected indices from 0 to {size - 1}, got {got}", check=number)

    refusing = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(out_of_bounds)
    define(OUT_OF_BOUNDS, refusing)
    try:
        program = Program.of_text(ir.decode(), Tiles(request["tiles"]))
    except (RunFailed, ToolMissing, ValueError) as error:
        raise Refusal(str(error)) from error
    memory = Memory()
    arguments: list[Argument] = []
    arrays: list[tuple[Array, bytes]] = []
    for value, name in zip(values, request["names"], strict=True):
        if name is None:
            arguments.append(np.void(value))
        else:
            array = memory.allocate(len(value), name)
            arguments.append(array)
            arrays.append((array, value))
    steps = Steps(
        tuple((name, (x, y, z)) for name, (x, y, z) in request["functions"]),
        tuple((size, tuple(numbers)) for size, numbers in request["scratch"]),
    )
    call = program.prepared_steps(
        steps, arguments, threads=request["threads"], allocate=memory.allocate
    )

    def give_up_at(number: int, address: int) -> None:
        give_up(memory.why_fault(number, address))

    times: list[float] = []
    results: list[Blob] = []
    for _ in range(request["repeats"]):
        for array, value in arrays:
            array[:] = np.frombuffer(value, np.uint8)
        with catching(give_up_at):
            begin = time.perf_counter()
            call()
            times.append(1000 * (time.perf_counter() - begin))
        if (reason := memory.why_corrupt()) is not None:
            raise Refusal(reason)
        results = results or [array.tobytes() for array, _ in arrays]
    memory.free()
    return {"milliseconds": times, "where": program.where}, results


def main() -> None:
    """Serve requests until standard input ends."""
    serve({"open": describe, "run": run})
