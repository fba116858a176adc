"""GEMM on tiles of AMX, against oneDNN through PyTorch in the same run.

Both multiply matrices as they are in memory, packing included.  PyTorch rounds sums of
bf16 to bf16, coopc stores them as f32.  Without AMX, or without PyTorch, there are no
times: the instructions of the innermost loop are counted anyway.
"""

import importlib.util
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bench.harness import Row, interleaved, seconds
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.cpu import Program, cores, llvm_ir
from coopc.run.native import optimised
from coopc.run.tiles import Tiles, best
from coopc.source import Source
from coopc.universe import everything

SIZES = (512, 1024, 2048, 4096)
SUMS = {"bf16": "f32", "i8": "i32"}
PROCESSOR = "sapphirerapids"


def source(element: str, size: int | None = None) -> str:
    sum = SUMS[element]
    n = "?" if size is None else size
    memory, total = f"memref<{n}x{n}x{element}>", f"memref<{n}x{n}x{sum}>"
    zero = "0.0" if sum == "f32" else "0"
    return f"""func.func @gemm(%a: {memory}, %b: {memory}, %c: {total}) {{
      %z = arith.constant {zero} : {sum}
      linalg.fill ins(%z : {sum}) outs(%c : {total})
      linalg.matmul ins(%a, %b : {memory}, {memory}) outs(%c : {total})
      func.return
    }}"""


def module(element: str, size: int | None, passes: str) -> Any:
    ctx, text = new_context(everything()), Source(source(element, size), "gemm")
    found = parse(ctx, text)
    Run(ctx, text).apply(found, read_passes(passes, everything().all_passes))
    return found


def program(element: str, size: int, threads: int) -> Program:
    return Program.of(
        module(element, size, f"coopc-amx{{threads={threads}}}"), Tiles.AMX
    )


def instructions(element: str) -> float:
    """Count the instructions of the innermost loop, for four products of tiles."""
    ir = llvm_ir(module(element, None, "coopc-amx"))
    compiled, machine = optimised(ir, 3, PROCESSOR)
    blocks = re.split(r"^(?=\.LBB)", machine.emit_assembly(compiled), flags=re.M)
    loops: list[tuple[int, int]] = []
    for block in blocks:
        lines = [x.strip() for x in block.splitlines() if x.startswith("\t")]
        code = [x for x in lines if not x.startswith((".", "#"))]
        loops.append((sum(x.startswith("tdp") for x in code), len(code)))
    products, count = max(loops)
    return 4 * count / products


def actions(
    element: str, size: int, threads: int
) -> tuple[Callable[[], object], Callable[[], object]]:
    import torch  # pyright: ignore[reportMissingImports]

    torch_: Any = torch
    torch_.set_num_threads(threads)
    if element == "bf16":
        given = [torch_.randn(size, size).to(torch_.bfloat16) for _ in range(2)]
        arrays = [x.view(torch_.int16).numpy().view(np.uint16) for x in given]
        multiply, sum = torch_.mm, np.float32
    else:
        given = [torch_.randint(-128, 128, (size, size)).to(torch_.int8) for _ in "ab"]
        arrays = [x.numpy() for x in given]
        multiply, sum = torch_._int_mm, np.int32
    c = np.zeros((size, size), sum)
    mine = program(element, size, threads).prepared(
        "gemm", [*arrays, c], (1, 1, 1), threads=threads
    )
    mine()
    expected = multiply(*given).to(torch_.float64).numpy()
    scale = float(np.abs(expected).max())
    error = float(np.abs(c - expected).max())
    assert error <= (2**-7 * scale if element == "bf16" else 0), (error, scale)
    return mine, lambda: multiply(*given)


def apart(actions: Sequence[Callable[[], object]]) -> tuple[float, ...]:
    """Return the median times of actions, one after the other.

    The threads of OpenMP spin for a while after each action, in the way of others.
    """
    found: list[float] = []
    for action in actions:
        time.sleep(0.5)
        found.append(seconds(action, 11))
    return tuple(found)


def measure() -> Iterator[Row]:
    for element in SUMS:
        name = f"{element}: instructions for 4 products of tiles, innermost loop"
        yield Row(name, instructions(element), "", 13.5)
    if best() is not Tiles.AMX or importlib.util.find_spec("torch") is None:
        return
    for threads in sorted({1, cores()}):
        for element in SUMS:
            for size in SIZES:
                measured = interleaved if threads == 1 else apart
                mine, theirs = measured(actions(element, size, threads))
                name = f"{element} {size}^3, {threads} threads"
                rate = 2e-9 * size**3 / mine
                yield Row(f"{name}: coopc", rate, "Gop/s")
                yield Row(f"{name}: oneDNN", 2e-9 * size**3 / theirs, "Gop/s")
                bound = 1.0 if threads == 1 else None
                yield Row(f"{name}: time / oneDNN's", mine / theirs, "", bound)
