"""GEMM on tiles of AMX, against oneDNN through PyTorch in the same run.

Cubes and other shapes, in one thread and on all cores; B packed before on both sides;
transposed operands and batches against plain products of ours.  How it is measured, and
in which types, says `bench.cpu_gemm`.  Without AMX there are no times: the instructions
of the innermost loop are counted anyway.

A ladder says what limits a product of one thread: as many instructions `tdp` alone,
then with loads of packed tiles and stores of sums, the epilogue, and the packing of B.

    python -m bench.amx_gemm --threads 1 --seconds 110
    python -m bench.amx_gemm --ladder
"""

import os
import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing import get_context

import numpy as np

from bench.cpu_gemm import PROCESSES, Case, in_turn, ours, rows, timed
from bench.harness import Row, line, lowered
from coopc.generate.gemms import Gemm
from coopc.run.arrays import aligned
from coopc.run.cpu import cores, llvm_ir
from coopc.run.native import Native, optimised
from coopc.run.tiles import Tiles, best, prepare

SIZES = (512, 1024, 2048, 4096)
LADDER = (512, 1024, 2048)
SHAPES = (
    *((16, 4096, 4096), (1, 4096, 4096), (128, 4096, 4096)),
    *((1000, 1000, 1000), (4096, 256, 64)),
)
"""M, N and K of the others."""
SUMS = {"bf16": "f32", "i8": "i32"}
STORED = {"bf16": "bf16", "i8": "i32"}
"""The types of C that oneDNN has, too, by those of A and B."""
CONVERTED = {"bf16": "bf16", "i8": "f32"}
"""Those of C where B is packed before."""
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
    """Count the innermost loop's instructions for four products, without prefetches."""
    gemm = Gemm((1, 1, 1), types=(element, SUMS[element]), first=0, dynamic=True)
    ir = llvm_ir(lowered(gemm.text, "coopc-amx"))
    compiled, machine = optimised(ir, 3, PROCESSOR)
    blocks = re.split(r"^(?=\.LBB)", machine.emit_assembly(compiled), flags=re.M)
    loops: list[tuple[int, int]] = []
    for block in blocks:
        lines = [x.strip() for x in block.splitlines() if x.startswith("\t")]
        code = [x for x in lines if not x.startswith((".", "#", "prefetch"))]
        loops.append((sum(x.startswith("tdp") for x in code), len(code)))
    products, count = max(loops)
    return 4 * count / products


def against_onednn(threads: int, tiles: Tiles, sizes: Sequence[int]) -> Iterator[Case]:
    def case(a: str, c: str, shape: tuple[int, int, int], least: float) -> Case:
        return Case(a, c, shape, threads, passes="coopc-amx", tiles=tiles, least=least)

    for size in sizes:
        least = EQUAL if threads > 1 and size == SIZES[0] else FAST
        for a, c in STORED.items():
            yield case(a, c, (size, size, size), least)
    for shape in SHAPES:
        for a, c in STORED.items():
            yield case(a, c, shape, EQUAL)
    for shape in PREPACKED_SHAPES:
        for a, c in CONVERTED.items():
            yield replace(case(a, c, shape, PREPACKED), prepacked=True)


def against_ours(tiles: Tiles) -> Iterator[Case]:
    for element, sum in SUMS.items():
        plain = Case(element, sum, (1024, 1024, 1024), passes="coopc-amx", tiles=tiles)
        for maps in (("km", "kn"), ("mk", "nk")):
            yield replace(plain, maps=maps, beside=plain, least=TURNED)
        half = replace(plain, sizes=(512, 512, 512))
        yield replace(half, batch=BATCH, beside=half, least=BATCHED)


TDP = {"bf16": "tdpbf16ps", "i8": "tdpbssd"}
FEATURES = {"bf16": "+amx-tile,+amx-bf16", "i8": "+amx-tile,+amx-int8"}
ALONE = 64
"""Products of a round of `alone`: four sums grow by sixteen each."""


def alone(element: str, products: int) -> Callable[[], object]:
    """Return what multiplies tiles that stay in registers."""
    tile, shape = "call x86_amx @llvm.x86.{}.internal", "i16 16, i16 64"
    load, product = map(tile.format, ("tileloadd64", TDP[element]))
    loads = [f"%t{n} = {load}({shape}, ptr %p, i64 64)" for n in range(8)]
    phis = [
        f"%r0_{n} = phi x86_amx [ %t{n}, %entry ], [ %r{ALONE // 4}_{n}, %again ]"
        for n in range(4)
    ]
    steps = [
        f"%r{step + 1}_{n} = {product}({shape}, i16 64, x86_amx %r{step}_{n}, "
        f"x86_amx %t{4 + n // 2}, x86_amx %t{6 + n % 2})"
        for step in range(ALONE // 4)
        for n in range(4)
    ]
    stores = [
        "call void @llvm.x86.tilestored64.internal"
        f"({shape}, ptr %p, i64 64, x86_amx %r{ALONE // 4}_{n})"
        for n in range(4)
    ]
    lines, tiles = "\n".join, ", ".join(["x86_amx"] * 3)
    text = f"""
declare x86_amx @llvm.x86.tileloadd64.internal(i16, i16, ptr, i64)
declare void @llvm.x86.tilestored64.internal(i16, i16, ptr, i64, x86_amx)
declare x86_amx @llvm.x86.{TDP[element]}.internal(i16, i16, i16, {tiles})
define void @program.alone(ptr %p, i64 %rounds) "target-features"="{FEATURES[element]}"
{{
entry:
{lines(loads)}
  br label %again
again:
  %i = phi i64 [ 0, %entry ], [ %j, %again ]
{lines(phis)}
{lines(steps)}
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %rounds
  br i1 %more, label %again, label %end
end:
{lines(stores)}
  ret void
}}"""
    code, memory = Native.compile(text), aligned(1 << 10)
    prepare(Tiles.AMX, ["amx-tile"])
    rounds = np.int64(-(-products // ALONE))
    return lambda: code.call("program.alone", [memory, rounds])


def rungs(element: str, size: int) -> list[Row]:
    """Return the speeds of a ladder of cubes of multiples of 64, in turn."""
    os.sched_setaffinity(0, cores()[:1])
    shape, made = (size, size, size), dict[str, Callable[[], object]]()
    products = (size // 16) ** 2 * (size // {"bf16": 32, "i8": 64}[element])
    made["products alone"] = alone(element, products)
    whole = Case(
        element, CONVERTED[element], shape, passes="coopc-amx", tiles=Tiles.AMX
    )
    packed = replace(whole, prepacked=True)
    made["packed tiles, sums stored"] = ours(replace(packed, c=SUMS[element]))
    made["and converted"] = ours(packed)
    made["and B packed: all"] = ours(whole)
    times = in_turn([timed(whole, x) for x in made.values()])
    return [
        Row(f"{element} {size}^3, {name}", 2e-9 * size**3 / time, "Gop/s")
        for name, time in zip(made, times, strict=True)
    ]


def ladder(sizes: Sequence[int]) -> Iterator[Row]:
    if best() is not Tiles.AMX:
        return
    for element in SUMS:
        for size in sizes:
            with get_context("spawn").Pool(1) as pool:
                yield from pool.apply(rungs, (element, size))


def measure(
    threads: Sequence[int] | None = None,
    processes: int = PROCESSES,
    tiles: Tiles = Tiles.AMX,
    sizes: Sequence[int] = SIZES,
    seconds: float = BUDGET,
) -> Iterator[Row]:
    for element in SUMS:
        name = f"{element}: instructions for 4 products of tiles, innermost loop"
        yield Row(name, instructions(element), "", 18.5)
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
    parser.add_argument("--ladder", action="store_true", help="what limits products")
    parser.add_argument("--seconds", type=float, default=BUDGET)
    given = parser.parse_args()
    sizes, most = given.size or SIZES, given.seconds
    found = measure(given.threads, given.processes, sizes=sizes, seconds=most)
    for row in ladder(given.size or LADDER) if given.ladder else found:
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
