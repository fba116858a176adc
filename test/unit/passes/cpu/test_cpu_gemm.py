"""coopc-cpu of linalg.matmul: exact for sizes of all kinds, and what LLVM writes."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.native import run_program
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.device import device
from coopc.emit.llvm.module import emit_module
from coopc.emit.llvm.types import Facts
from coopc.llvm.text import text
from coopc.parsing import parse
from coopc.pipeline import Run, flatten
from coopc.pipelines import CoopcAmxPass, CoopcCpuPass
from coopc.run.cpu import Program
from coopc.run.native import optimised
from coopc.run.tiles import Tiles
from coopc.sim.numerics import to_bf16
from coopc.source import Source
from coopc.universe import everything

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

TYPES = {"f32": "f32", "f64": "f64", "f16": "f32", "bf16": "f32"}
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.float32}
MAPS = {
    "plain": ("m, k", "k, n"),
    "transposed A": ("k, m", "k, n"),
    "transposed B": ("m, k", "n, k"),
}


def program(
    element: str,
    fill: bool = True,
    maps: str = "plain",
    batched: bool = False,
    size: str = "?",
) -> str:
    """`C = A * B`, or `C += A * B`, as a linalg.generic."""
    sum, b = TYPES[element], "b, " * batched
    dims = "x".join([size] * (2 + batched))
    memory, total = f"memref<{dims}x{element}>", f"memref<{dims}x{sum}>"
    loops = f"({b}m, n, k)"
    reads = [f"affine_map<{loops} -> ({b}{x})>" for x in (*MAPS[maps], "m, n")]
    kinds = ['"parallel"'] * (2 + batched) + ['"reduction"']
    wide = [f"%{x}_ = arith.extf %{x} : {element} to {sum}" for x in "xy"]
    x, y = ("%x_", "%y_") if sum != element else ("%x", "%y")
    filled = f"linalg.fill ins(%z : {sum}) outs(%c : {total})" if fill else ""
    return f"""func.func @mm(%a: {memory}, %b: {memory}, %c: {total}) {{
      %z = arith.constant 0.5 : {sum}
      {filled}
      linalg.generic {{indexing_maps = [{", ".join(reads)}],
          iterator_types = [{", ".join(kinds)}]}}
          ins(%a, %b : {memory}, {memory}) outs(%c : {total}) {{
        ^bb0(%x: {element}, %y: {element}, %s: {sum}):
          {" ".join(wide) if sum != element else ""}
          %p = arith.mulf {x}, {y} : {sum}
          %t = arith.addf %s, %p : {sum}
          linalg.yield %t : {sum}
      }}
      func.return
    }}"""


def compiled(source: str, pipeline: CoopcCpuPass | CoopcAmxPass) -> ModuleOp:
    ctx, text = new_context(everything()), Source(source, "test")
    module = parse(ctx, text)
    Run(ctx, text).apply(module, flatten([pipeline]))
    assert ".multiply" in str(module)
    return module


def check(
    found: Program, element: str, fill: bool, maps: str, shape: tuple[int, ...]
) -> None:
    """Run a program on whole numbers, whose sums are exact, and compare."""
    *batch, m, n, k = shape
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(-4, 5, (*batch, *x)) for x in ((m, k), (k, n)))
    c = np.full((*batch, m, n), 7, DTYPES[TYPES[element]])
    stored: list[Any] = []
    for x, name in ((a, "A"), (b, "B")):
        array = x.swapaxes(-1, -2) if name in maps else x
        array = np.ascontiguousarray(array).astype(DTYPES[element])
        stored.append(to_bf16(array) if element == "bf16" else array)
    sizes = [size for x in (*stored, c) for size in x.shape]
    given = [y for x in (*stored, c) for y in (x, *map(np.int64, x.shape))]
    for threads in (1, 3):
        after = run_program(found, "mm", given, sizes=sizes, threads=threads)
        expected = a @ b + (0.5 if fill else 7)
        np.testing.assert_array_equal(after[2], expected, f"{shape} {threads}")


SHAPES = [
    (64, 64, 64),
    (33, 70, 100),
    (1, 1, 1),
    (13, 96, 67),
    (6, 16, 4),
    (5, 40, 0),
    (0, 40, 9),
    (40, 0, 9),
]
"""M, N and K."""


@pytest.mark.parametrize("maps", MAPS)
@pytest.mark.parametrize("element", TYPES)
def test_sizes_of_all_kinds(element: str, maps: str) -> None:
    """Whole tiles and edges, one block and several, along M, N and K."""
    for fill, batched in product((True, False), (True, False)):
        source = program(element, fill, maps, batched)
        module = compiled(source, CoopcCpuPass(block=(3, 2, 9)))
        found = Program.of(module, Tiles.NONE, level=1)
        for shape in SHAPES:
            check(found, element, fill, maps, (3, *shape) if batched else shape)


@pytest.mark.parametrize("tile", [(12, 32), (1, 2), (5, 8)])
def test_tiles(tile: tuple[int, int]) -> None:
    found = Program.of(
        compiled(program("f32"), CoopcCpuPass(tile=tile)), Tiles.NONE, level=2
    )
    for shape in SHAPES:
        check(found, "f32", True, "plain", shape)


def test_what_amx_does_not_multiply_is_tiled_by_vectors() -> None:
    found = Program.of(compiled(program("f32"), CoopcAmxPass()), Tiles.NONE, level=2)
    check(found, "f32", True, "plain", (33, 70, 100))


def innermost_loop(processor: str, tile: tuple[int, int]) -> list[str]:
    """The block of the kernel with the most multiplications, as LLVM writes it."""
    module = compiled(program("f32", size="512"), CoopcCpuPass(tile=tile))
    ir = text(emit_module(module, Facts(device("amx"))))
    llvm, machine = optimised(ir, 3, processor)
    blocks = re.split(r"^(?=\.LBB)", machine.emit_assembly(llvm), flags=re.MULTILINE)
    block = max(blocks, key=lambda x: x.count("vfmadd"))
    lines = [x.strip() for x in block.splitlines() if x.startswith("\t")]
    code = [x for x in lines if not x.startswith((".", "#"))]
    end = next(n for n, x in enumerate(code) if x.startswith("j"))
    return code[: end + 1]


@pytest.mark.parametrize(
    ("processor", "tile", "register"),
    [("haswell", (6, 16), "ymm"), ("icelake-server", (12, 32), "zmm")],
)
def test_instructions_of_the_innermost_loop(
    processor: str, tile: tuple[int, int], register: str
) -> None:
    """Sums stay in registers: per step of K, 2 loads of B and a broadcast a row."""
    rows = tile[0]
    lines = innermost_loop(processor, tile)
    products = [x for x in lines if x.startswith("vfmadd")]
    assert all(register in x for x in products)
    steps = len(products) // (2 * rows)
    assert len(products) == steps * 2 * rows
    assert not any("(%rsp)" in x or "(%rbp)" in x for x in lines), "a spill"
    other = len(lines) - len(products)
    assert other <= steps * (2 + rows) + 12, lines
