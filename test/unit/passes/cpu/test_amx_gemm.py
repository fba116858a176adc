"""coopc-amx of linalg.matmul: exact for sizes of all kinds, and what LLVM writes."""

import re
from typing import Any

import numpy as np
import pytest
from support.native import FEATURES, best_or_emulated, has, run_program
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.device import device
from coopc.emit.llvm.module import emit_module
from coopc.emit.llvm.types import Facts
from coopc.generate.gemms import Gemm
from coopc.launcher import LaunchTarget, build
from coopc.llvm.text import text
from coopc.parsing import parse
from coopc.passes.cpu.stages import Stages
from coopc.pipeline import Run, flatten
from coopc.pipelines import CoopcAmxPass
from coopc.run.cpu import Program
from coopc.run.native import optimised
from coopc.run.tiles import Tiles
from coopc.sim.numerics import to_bf16
from coopc.source import Source
from coopc.universe import everything

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

Array = np.ndarray[Any, Any]
SUMS = {"bf16": "f32", "f16": "f32", "i8": "i32"}
INSTRUCTIONS = 18.5
"""Of the innermost loop for four products of tiles, at most, without prefetches but
with their addresses; upstream has 15, and prefetches nothing."""


def compiled(
    element: str, fill: bool, block: tuple[int, ...] = (), size: int | None = None
) -> ModuleOp:
    """`C = A * B`, or `C += A * B`, as functions; of any size, or square matrices."""
    sum = SUMS[element]
    n = "?" if size is None else size
    memory, total = f"memref<{n}x{n}x{element}>", f"memref<{n}x{n}x{sum}>"
    zero = "0.0" if sum == "f32" else "0"
    filled = f"linalg.fill ins(%z : {sum}) outs(%c : {total})" if fill else ""
    source = Source(
        f"""func.func @mm(%a: {memory}, %b: {memory}, %c: {total}) {{
          %z = arith.constant {zero} : {sum}
          {filled}
          linalg.matmul ins(%a, %b : {memory}, {memory}) outs(%c : {total})
          func.return
        }}""",
        "test",
    )
    ctx = new_context(everything())
    module = parse(ctx, source)
    Run(ctx, source).apply(module, flatten([CoopcAmxPass(block=block)]))
    return module


def matrix(rng: np.random.Generator, shape: tuple[int, int], element: str) -> Any:
    """A matrix as it is in memory, and as whole numbers."""
    if element == "i8":
        numbers = rng.integers(-128, 128, shape)
        return numbers.astype(np.int8), numbers
    numbers = rng.integers(-4, 5, shape)
    memory = numbers.astype(np.float16 if element == "f16" else np.float32)
    return to_bf16(memory) if element == "bf16" else memory, numbers


@pytest.fixture(scope="module")
def tiles() -> Tiles:
    if (found := best_or_emulated()) is Tiles.NONE:
        pytest.skip("the AMX emulator needs a C compiler")
    return found


SHAPES = [
    (64, 64, 64),
    (33, 70, 100),
    (1, 1, 1),
    (128, 96, 257),
    (5, 40, 0),
    (0, 40, 9),
]
"""M, N and K."""


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize("element", SUMS)
def test_sizes_of_all_kinds(element: str, fill: bool, tiles: Tiles) -> None:
    """Whole panels and edges, one block and several, along M, N and K."""
    if not has(tiles, FEATURES[element]):
        pytest.skip(f"the processor has no {FEATURES[element]}")
    program = Program.of(compiled(element, fill, (2, 2, 2)), tiles, level=2)
    rng = np.random.default_rng(0)
    for m, n, k in SHAPES:
        a, whole_a = matrix(rng, (m, k), element)
        b, whole_b = matrix(rng, (k, n), element)
        c = np.full((m, n), 7, np.int32 if element == "i8" else np.float32)
        given = [x for array in (a, b, c) for x in (array, *map(np.int64, array.shape))]
        sizes = [m, k, k, n, m, n]
        for threads in (1, 3):
            found = run_program(program, "mm", given, sizes=sizes, threads=threads)
            expected = whole_a @ whole_b + (0 if fill else 7)
            np.testing.assert_array_equal(found[2], expected, f"{m} {n} {k}")


@pytest.mark.parametrize("element", ["bf16", "i8"])
@pytest.mark.parametrize("size", [5, 16, 33, 64, 96, 100, 128, 200])
def test_rows_of_a_as_they_are(element: str, size: int, tiles: Tiles) -> None:
    """A is not packed, whether or not panels and steps are whole; B is."""
    module = compiled(element, True, (2, 2, 3), size)
    code, steps = str(module), 32 if element == "bf16" else 64
    whole = size % (16 if size <= 16 else 32) == 0
    assert ("amx.tile_load %a[" in code) == whole
    assert ("amx.tile_load %panel[" in code) == (not whole)
    assert ("amx.tile_load %last_step[" in code) == (size % steps > 0)
    program = Program.of(module, tiles, level=2)
    scratch = [bytes.eval([], []) for bytes, _ in program.staged["mm"].scratch]
    assert 0 in scratch[0]
    rng = np.random.default_rng(1)
    (a, whole_a), (b, whole_b) = (matrix(rng, (size, size), element) for _ in "ab")
    c = np.full((size, size), 7, np.int32 if element == "i8" else np.float32)
    found = run_program(program, "mm", [a, b, c], threads=2)
    np.testing.assert_array_equal(found[2], whole_a @ whole_b)


@pytest.mark.parametrize("b", ["kn", "nk"])
@pytest.mark.parametrize("element", ["bf16", "i8"])
def test_panels_of_b_that_a_work_group_packs(
    element: str, b: str, tiles: Tiles
) -> None:
    """Where one row of work-groups has all of C: some steps at a time, and edges."""
    for sizes, batch in (
        ((33, 70, 100), "b"),
        ((200, 300, 1100), ""),
        ((9, 40, 0), ""),
    ):
        types = element, SUMS[element]
        gemm = Gemm(sizes, f"{batch}mk", batch + b, f"{batch}mn", types)
        how = LaunchTarget("cpu", pipeline="coopc-amx", tiles=tiles)
        built = build(Source(gemm.text, "gemm"), how)
        assert len(Stages.of(built.program)["gemm"].scratch) == 1
        arrays = gemm.arrays()
        expected = gemm.expected(*arrays)
        built.executable.run(*arrays)
        np.testing.assert_array_equal(arrays[2], expected, str(sizes))


def assembly(element: str, size: int | None = None) -> str:
    """What the function that multiplies is compiled to, for a processor with AMX."""
    module = compiled(element, True, size=size)
    ir = text(emit_module(module, Facts(device("amx"))))
    module, machine = optimised(ir, 3, "graniterapids")
    found = str(machine.emit_assembly(module))
    body = found[re.search(r'^"?mm\.multiply"?:$', found, re.MULTILINE).end() :]  # pyright: ignore
    return body[: body.index("\tretq")]


@pytest.mark.parametrize("element", SUMS)
def test_instructions_of_the_innermost_loop(element: str) -> None:
    """At most 18.5 for four products of tiles, and no tile is spilled anywhere."""
    body = assembly(element)
    blocks = re.split(r"^(?=\.LBB)", body, flags=re.MULTILINE)
    loops: list[tuple[int, int]] = []
    for block in blocks:
        lines = [x.strip() for x in block.splitlines() if x.startswith("\t")]
        code = [x for x in lines if not x.startswith((".", "#", "prefetch"))]
        products = sum(x.startswith("tdp") for x in code)
        if products:
            loops.append((products, len(code)))
    products, instructions = max(loops)
    assert products == 16
    assert 4 * instructions / products <= INSTRUCTIONS
    # Loads: the sums, and A and B of each step of both loops; stores: the sums.
    assert body.count("tileloadd") == 4 + 4 * sum(n // 4 for n, _ in loops)
    assert body.count("tilestored") == 4
    assert "tilezero" not in body


@pytest.mark.parametrize("size", [512, 2048])
@pytest.mark.parametrize("element", ["bf16", "i8"])
def test_no_tile_is_spilled_where_sizes_are_known(element: str, size: int) -> None:
    """Sums are loaded and stored once for each version of the loops that LLVM makes.

    They begin as zero, and are not loaded, where all of K is one slab.
    """
    body = assembly(element, size)
    versions, rest = divmod(body.count("tilestored"), 4)
    assert versions in (1, 2)
    assert rest == 0
    products = len(re.findall(r"^\ttdp", body, re.MULTILINE))
    zeros = body.count("tilezero")
    assert zeros == (4 * versions if size == 512 else 0)
    assert body.count("tileloadd") == products + 4 * versions - zeros
