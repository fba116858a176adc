"""GEMM on tiles of AMX, against oneDNN through PyTorch in the same run.

Cubes and other shapes, in one thread and on all cores; B packed before on both sides;
transposed operands and batches against plain products of ours.  How it is measured, and
in which types, says `bench.cpu_gemm`.  Without AMX there are no times: the instructions
of the innermost loop are counted anyway.

    python -m bench.amx_gemm --threads 1 --seconds 110
"""

import re
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bench.cpu_gemm import PROCESSES, Case, rows
from bench.harness import Row, line, lowered
from coopc.generate.gemms import Gemm
from coopc.run.cpu import cores, llvm_ir
from coopc.run.native import optimised
from coopc.run.tiles import Tiles, best

SIZES = (512, 1024, 2048, 4096)
SHAPES = (
    *((16, 4096, 4096), (1, 4096, 4096), (128, 4096, 4096)),
    *((1000, 1000, 1000), (4096, 256, 64)),
)
"""M, N and K of the others."""
SUMS = {"bf16": "f32", "i8": "i32"}
PROCESSOR = "sapphirerapids"
FAST, PREPACKED, EQUAL = 1.2, 1.1, 1.0
"""The least speed over oneDNN's: of cubes, of B packed before, and of other shapes."""
PREPACKED_SHAPES = ((512, 512, 512), (2048, 2048, 2048), (16, 4096, 4096))
BUDGET = 200.0
"""Seconds that all rows take, about, at most: else fewer processes measure them."""
TURNED, BATCHED = 0.95, 1 / 1.1
"""The least speed over plain products of ours: transposed, and of a batch."""
BATCH = 8


def instructions(element: str) -> float:
    """Count the instructions of the innermost loop, for four products of tiles."""
    gemm = Gemm((1, 1, 1), types=(element, SUMS[element]), first=0, dynamic=True)
    ir = llvm_ir(lowered(gemm.text, "coopc-amx"))
    compiled, machine = optimised(ir, 3, PROCESSOR)
    blocks = re.split(r"^(?=\.LBB)", machine.emit_assembly(compiled), flags=re.M)
    loops: list[tuple[int, int]] = []
    for block in blocks:
        lines = [x.strip() for x in block.splitlines() if x.startswith("\t")]
        code = [x for x in lines if not x.startswith((".", "#"))]
        loops.append((sum(x.startswith("tdp") for x in code), len(code)))
    products, count = max(loops)
    return 4 * count / products


def against_onednn(threads: int, tiles: Tiles, sizes: Sequence[int]) -> Iterator[Case]:
    def case(a: str, c: str, shape: tuple[int, int, int], least: float) -> Case:
        return Case(a, c, shape, threads, passes="coopc-amx", tiles=tiles, least=least)

    for size in sizes:
        least = EQUAL if threads > 1 and size == SIZES[0] else FAST
        yield case("bf16", "bf16", (size, size, size), least)
        yield case("i8", "i32", (size, size, size), least)
    for shape in SHAPES:
        yield case("bf16", "bf16", shape, EQUAL)
        yield case("i8", "i32", shape, EQUAL)
    for shape in PREPACKED_SHAPES:
        for a, c in (("bf16", "bf16"), ("i8", "f32")):
            yield replace(case(a, c, shape, PREPACKED), prepacked=True)


def against_ours(tiles: Tiles) -> Iterator[Case]:
    for element, sum in SUMS.items():
        plain = Case(element, sum, (1024, 1024, 1024), passes="coopc-amx", tiles=tiles)
        for maps in (("km", "kn"), ("mk", "nk")):
            yield replace(plain, maps=maps, beside=plain, least=TURNED)
        half = replace(plain, sizes=(512, 512, 512))
        yield replace(half, batch=BATCH, beside=half, least=BATCHED)


def measure(
    threads: Sequence[int] | None = None,
    processes: int = PROCESSES,
    tiles: Tiles = Tiles.AMX,
    sizes: Sequence[int] = SIZES,
    seconds: float = BUDGET,
) -> Iterator[Row]:
    for element in SUMS:
        name = f"{element}: instructions for 4 products of tiles, innermost loop"
        yield Row(name, instructions(element), "", 13.5)
    if best() is not tiles:
        return
    counts = threads or sorted({1, len(cores())})
    for count in counts:
        asked = [*against_onednn(count, tiles, sizes)]
        if count == 1:
            asked += against_ours(tiles)
        yield from rows(asked, processes, seconds / len(counts))


def main() -> None:
    parser = ArgumentParser(prog="bench.amx_gemm", description="GEMM on tiles of AMX.")
    parser.add_argument("--size", type=int, action="append", help="of cubes")
    parser.add_argument("--threads", type=int, action="append")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--seconds", type=float, default=BUDGET)
    given = parser.parse_args()
    sizes, most = given.size or SIZES, given.seconds
    for row in measure(given.threads, given.processes, sizes=sizes, seconds=most):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
