"""A stored K x M, from Triton's IR: what its own back end gathers lane by lane."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

INPUTS = Path(__file__).parents[3] / "inputs" / "ttgir"
KERNELS = {"gemm_axb": ("f2", "f4"), "gemm_i8": ("i1", "i4"), "gemm_tf32": ("f4", "f4")}
TILE = 256


def text(name: str, lanes: int) -> str:
    """Return an input with A stored K x M."""
    found = (INPUTS / f"{name}.ttgir").read_text()
    for of_lanes in ("threadsPerWarp = ", '"ttg.threads-per-warp" = '):
        found = found.replace(f"{of_lanes}16", f"{of_lanes}{lanes}")
    made = r"%a, \[%m, %k\], \[%k_i64, %c1_i64\] : <(\w+)>, <256x(\d+)x"
    found = re.sub(made, r"%a, [%k, %m], [%m_i64, %c1_i64] : <\1>, <\2x256x", found)
    loaded = r"%a_desc\[%row, %step\] .*?tensordesc<256x(\d+)x"
    wanted = r'%a_desc[%step, %row] {ttig.block_io = "column_major"} : '
    found = re.sub(loaded, wanted + r"!tt.tensordesc<\1x256x", found)
    extended = "%k_i64 = arith.extsi %k : i32 to i64"
    return found.replace(extended, f"{extended}\n%m_i64 = arith.extsi %m : i32 to i64")


@cache
def module(name: str, lanes: int, pipeline: str) -> ModuleOp:
    universe = everything()
    ctx = new_context(universe)
    source = Source(text(name, lanes), name)
    found = parse(ctx, source)
    Run(ctx, source).apply(found, read_passes(pipeline, universe.all_passes))
    return found


MESSAGES = {
    # a step: the messages of A, and whether lanes exchange what arrives
    ("gemm_axb", 16): (2, False),
    ("gemm_axb", 32): (2, True),
    ("gemm_i8", 16): (2, False),
    ("gemm_i8", 32): (2, True),
    ("gemm_tf32", 16): (8, False),
    ("gemm_tf32", 32): (8, False),
}


@pytest.mark.parametrize("lanes", [16, 32])
@pytest.mark.parametrize("name", KERNELS)
def test_messages(name: str, lanes: int) -> None:
    found = module(name, lanes, "coopc-xe{device=bmg payload=none}")
    loads = [op for op in found.walk() if op.name == "xe.block_load_2d"]
    of_a = [op for op in loads if op.operands[0].name_hint == "a"]
    shuffles = any(op.name == "simt.shuffle" for op in found.walk())
    assert (len(of_a), shuffles) == MESSAGES[name, lanes]
    assert not any(op.name == "memref.load" for op in found.walk())


@pytest.mark.parametrize("sizes", [(512, 256, 128), (304, 272, 144), (48, 64, 81)])
@pytest.mark.parametrize("device", [None, "bmg", "pvc"])
@pytest.mark.parametrize("lanes", [16, 32])
@pytest.mark.parametrize("name", KERNELS)
def test_gemm(
    name: str, lanes: int, device: str | None, sizes: tuple[int, int, int]
) -> None:
    """Sizes that nothing divides, and an odd number of rows of A in memory."""
    element, result = KERNELS[name]
    m, n, k = sizes
    if name == "gemm_i8":
        m = max(m, 64)
    random = np.random.default_rng(m + k)
    a, b = random.integers(-4, 5, (m, k)), random.integers(-4, 5, (k, n))
    c = np.full((m, n), 77, result)
    arguments: list[Any] = [
        np.ascontiguousarray(a.T.astype(element)),
        b.astype(element),
        c,
        m,
        n,
        k,
    ]
    grid = (-(-m // TILE), -(-n // TILE))
    if device is None:
        simulate(with_functions(module(name, lanes, "")), name, arguments, grid=grid)
    else:
        pipeline = f"coopc-xe{{device={device}}}"
        simulate(module(name, lanes, pipeline), name, arguments, grid=grid)
    assert np.array_equal(c, a @ b)


@pytest.mark.parametrize(
    ("row", "col", "reason"),
    [
        (
            "%row",
            "%odd",
            "cannot prove that the row is a multiple of 2: it is known to be one of 1",
        ),
        ("%back", "%step", "the column may be negative"),
    ],
)
def test_refused(row: str, col: str, reason: str) -> None:
    """Bytes in pairs need an even row to begin at, and nothing left of the matrix."""
    found = text("gemm_i8", 16).replace(
        "%a_desc[%step, %row]", f"%a_desc[{col}, {row}]"
    )
    new = "%back = arith.subi %row, %c64_i32 : i32\n%sum = scf.for"
    found = found.replace("%sum = scf.for", new, 1)
    found = found.replace(
        "%a_tile =", "%odd = arith.addi %step, %pid_m : i32\n%a_tile ="
    )
    universe = everything()
    ctx = new_context(universe)
    source = Source(found, "test")
    parsed = parse(ctx, source)
    passes = read_passes("plan-block-io{device=bmg}", universe.all_passes)
    Run(ctx, source).apply(parsed, passes)
    refusals = [str(op.attributes.get("xe.no_plan")) for op in parsed.walk()]
    assert any(reason in refusal for refusal in refusals)
