"""Kernels through pointers simulated before and after their matrices are found."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

HEAD = """
#t = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4],
                   warpsPerCTA = [2, 1], order = [1, 0]}>
#r = #ttg.slice<{dim = 1, parent = #t}>
#c = #ttg.slice<{dim = 0, parent = #t}>
module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @k(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %m: i32, %n: i32, %lda: i32) {
    %c16 = arith.constant 16 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %pid = tt.get_program_id x : i32
    %first = arith.muli %pid, %c16 : i32
    %rows = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #r>
    %cols = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #c>
    %base = tt.splat %first : i32 -> tensor<16xi32, #r>
    %row = arith.addi %base, %rows : tensor<16xi32, #r>
    %i = tt.expand_dims %row {axis = 1 : i32}
      : tensor<16xi32, #r> -> tensor<16x1xi32, #t>
    %j = tt.expand_dims %cols {axis = 0 : i32}
      : tensor<16xi32, #c> -> tensor<1x16xi32, #t>
    %ld = tt.splat %lda : i32 -> tensor<16x1xi32, #t>
    %down = arith.muli %i, %ld : tensor<16x1xi32, #t>
    %y = tt.broadcast %down : tensor<16x1xi32, #t> -> tensor<16x16xi32, #t>
    %x = tt.broadcast %j : tensor<1x16xi32, #t> -> tensor<16x16xi32, #t>
    %at = arith.addi %y, %x : tensor<16x16xi32, #t>
    %from = tt.splat %a : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #t>
    %to = tt.splat %b : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #t>
    %pa = tt.addptr %from, %at : tensor<16x16x!tt.ptr<f32>, #t>, tensor<16x16xi32, #t>
    %pb = tt.addptr %to, %at : tensor<16x16x!tt.ptr<f32>, #t>, tensor<16x16xi32, #t>
    %mm = tt.splat %m : i32 -> tensor<16x1xi32, #t>
    %in_rows = arith.cmpi slt, %i, %mm : tensor<16x1xi32, #t>
    %rm = tt.broadcast %in_rows : tensor<16x1xi1, #t> -> tensor<16x16xi1, #t>
    %step = arith.constant dense<16> : tensor<16x16xi32, #t>
"""
LOOP = """
    %r:2 = scf.for %k = %c0 to %n step %c16 iter_args(%p = %pa, %q = %pb)
        -> (tensor<16x16x!tt.ptr<f32>, #t>, tensor<16x16x!tt.ptr<f32>, #t>) : i32 {{
      %left = arith.subi %n, %k : i32
      %nn = tt.splat %left : i32 -> tensor<1x16xi32, #t>
      %in = arith.cmpi slt, %j, %nn : tensor<1x16xi32, #t>
      %cm = tt.broadcast %in : tensor<1x16xi1, #t> -> tensor<16x16xi1, #t>
      %mask = arith.andi %rm, %cm : tensor<16x16xi1, #t>
      {body}
      %p2 = tt.addptr %p, %step : tensor<16x16x!tt.ptr<f32>, #t>, tensor<16x16xi32, #t>
      %q2 = tt.addptr %q, %step : tensor<16x16x!tt.ptr<f32>, #t>, tensor<16x16xi32, #t>
      scf.yield %p2, %q2
        : tensor<16x16x!tt.ptr<f32>, #t>, tensor<16x16x!tt.ptr<f32>, #t>
    }}
"""
END = "    tt.return\n  }\n}\n"
BLOCK = '{ttig.block_io = "row_major"} : tensor<16x16x!tt.ptr<f32>, #t>'
COPY = f"%v = tt.load %p, %mask {BLOCK}\n      tt.store %q, %v, %mask {BLOCK}"
OTHER = f"""%other = arith.constant dense<7.0> : tensor<16x16xf32, #t>
      %v = tt.load %p, %mask, %other {BLOCK}
      tt.store %q, %v, %rm : tensor<16x16x!tt.ptr<f32>, #t>"""
GUARDED = f"""%even = arith.cmpi slt, %k, %c64 : i32
      %flag = tt.splat %even : i1 -> tensor<16x16xi1, #t>
      %both = arith.andi %mask, %flag : tensor<16x16xi1, #t>
      %zero = arith.constant dense<0.0> : tensor<16x16xf32, #t>
      %v = tt.load %p, %both, %zero {BLOCK}
      tt.store %q, %v, %mask {BLOCK}"""
DPAS_HEAD = HEAD.replace(
    HEAD[HEAD.index("#ttg.blocked") : HEAD.index("#r = ")],
    "#ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, "
    "opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 1], "
    "repCluster = [1, 1]}>\n",
)
BODIES = {"copy": COPY, "other": OTHER, "guarded": GUARDED}


def module(text: str, pipeline: str) -> ModuleOp:
    universe = everything()
    ctx = new_context(universe)
    source = Source(text, "kernel")
    found = parse(ctx, source)
    Run(ctx, source).apply(found, read_passes(pipeline, universe.all_passes))
    return found


def names(found: ModuleOp) -> set[str]:
    return {op.name for op in found.walk()}


def outputs(text: str, arguments: Sequence[Any], grid: tuple[int]) -> list[Any]:
    """Return what the second argument is: as Triton has it, with matrices, on bmg."""
    found: list[Any] = []
    for pipeline in ("", "convert-tt-pointers-to-descriptors", "coopc-xe{device=bmg}"):
        a, b, *rest = arguments
        out = b.copy()
        kernel = module(text, pipeline)
        if "coopc" in pipeline:
            simulate(kernel, "k", [a, out, *rest], grid=grid)
        else:
            simulate(with_functions(kernel), "k", [a, out, *rest], grid=grid)
        found.append(out)
    return found


@pytest.mark.parametrize("sizes", [(32, 64), (27, 41), (5, 100)])
@pytest.mark.parametrize("body", BODIES)
def test_loops(body: str, sizes: tuple[int, int]) -> None:
    m, n = sizes
    text = HEAD + LOOP.format(body=BODIES[body]) + END
    found = names(module(text, "convert-tt-pointers-to-descriptors"))
    assert "tt.descriptor_load" in found
    assert "tt.load" not in found
    assert ("tt.addptr" in found) == (body == "other")
    a = np.random.default_rng(m).standard_normal((m, 128)).astype("f4")
    first, *others = outputs(
        text, [a, np.full((m + 16, 128), -1, "f4"), m, n, 128], (2,)
    )
    rows, cols = slice(0, m), slice(0, n)
    if body == "copy":
        assert np.array_equal(first[rows, cols], a[rows, cols])
        assert (first[m:] == -1).all()
    for other in others:
        assert np.array_equal(first, other)


def test_without_masks_the_base_moves() -> None:
    body = f"%v = tt.load %p {BLOCK}\n      tt.store %q, %v {BLOCK}"
    text = HEAD + LOOP.format(body=body) + END
    found = module(text, "convert-tt-pointers-to-descriptors")
    assert "tt.descriptor_load" in names(found)
    a = np.random.default_rng(1).standard_normal((32, 128)).astype("f4")
    first, *others = outputs(text, [a, np.zeros((32, 128), "f4"), 32, 64, 128], (2,))
    assert np.array_equal(first[:, :64], a[:, :64])
    for other in others:
        assert np.array_equal(first, other)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            COPY.replace('{ttig.block_io = "row_major"} ', ""),
            "the pointers are not known to form a 2D block: a pointer for each element",
        ),
        (
            COPY.replace("row_major", "column_major"),
            # The stride that is to be 1 is %lda, so rows of m - %first are left.
            "the height is computed in the kernel, so the caller cannot check it",
        ),
        (
            "%eq = arith.cmpi eq, %x, %y : tensor<16x16xi32, #t>\n"
            + COPY.replace("%mask", "%eq"),
            "a mask is where coordinates are equal, or are not",
        ),
        (
            "%lt = arith.cmpi slt, %x, %y : tensor<16x16xi32, #t>\n"
            + COPY.replace("%mask", "%lt"),
            "a mask compares 2 coordinates at once",
        ),
        (
            "%half = arith.divsi %n, %c16 : i32\n"
            "%hh = tt.splat %half : i32 -> tensor<1x16xi32, #t>\n"
            "%lt = arith.cmpi slt, %j, %hh : tensor<1x16xi32, #t>\n"
            "%hm = tt.broadcast %lt : tensor<1x16xi1, #t> -> tensor<16x16xi1, #t>\n"
            + COPY.replace("%mask", "%hm"),
            "the width is computed in the kernel, so the caller cannot check it",
        ),
    ],
)
def test_refusals(body: str, reason: str) -> None:
    text = HEAD + LOOP.format(body=body) + END
    found = module(text, "convert-tt-pointers-to-descriptors")
    loads = [op for op in found.walk() if op.name == "tt.load"]
    assert len(loads) == 1
    assert reason in str(loads[0].attributes["xe.no_matrix"])


def test_pointers_that_a_loop_swaps() -> None:
    text = (
        HEAD + LOOP.format(body=COPY).replace("yield %p2, %q2", "yield %q2, %p2") + END
    )
    found = module(text, "convert-tt-pointers-to-descriptors")
    (load,) = (op for op in found.walk() if op.name == "tt.load")
    reason = "a loop carries it, not as a sum of equal steps"
    assert reason in str(load.attributes["xe.no_matrix"])


def test_what_is_dead_is_gone() -> None:
    text = HEAD + LOOP.format(body=COPY) + END
    found = module(text, "convert-tt-pointers-to-descriptors")
    (loop,) = (op for op in found.walk() if op.name == "scf.for")
    assert not loop.results
    assert not names(found) & {"tt.splat", "tt.make_range", "arith.cmpi", "tt.addptr"}


@pytest.mark.parametrize("start", [0, 4, 12])
def test_a_base_that_is_not_aligned(start: int) -> None:
    """The surface begins at the last aligned address before it."""
    # Every program begins some elements further on, in all steps.
    body = f"""%cs = arith.constant {start} : i32
      %by = arith.muli %pid, %cs : i32
      %far = tt.splat %by : i32 -> tensor<16x16xi32, #t>
      %u = tt.addptr %p, %far : tensor<16x16x!tt.ptr<f32>, #t>, tensor<16x16xi32, #t>
      %w = tt.addptr %q, %far : tensor<16x16x!tt.ptr<f32>, #t>, tensor<16x16xi32, #t>
      %v = tt.load %u {BLOCK}
      tt.store %w, %v {BLOCK}"""
    text = DPAS_HEAD + LOOP.format(body=body) + END
    found = module(text, "convert-tt-pointers-to-descriptors,normalize-tt-descriptors")
    assert ("arith.subi" in names(found)) == (start != 0)
    on_bmg = module(text, "coopc-xe{device=bmg}")
    assert {"xe.block_load_2d", "xe.block_store_2d"} <= names(on_bmg)
    a = np.random.default_rng(1).standard_normal((33, 128)).astype("f4")
    first, *others = outputs(text, [a, np.zeros((33, 128), "f4"), 32, 64, 128], (2,))
    cols = slice(start, 64 + start)
    assert np.array_equal(first[16:32, cols], a[16:32, cols])
    for other in others:
        assert np.array_equal(first, other)


def test_arguments_that_move_a_base_keep_it_aligned() -> None:
    body = f"""%v = tt.load %p {BLOCK}
      tt.store %q, %v {BLOCK}"""
    text = DPAS_HEAD.replace("%pid, %c16", "%pid, %m") + LOOP.format(body=body) + END
    (first,) = coopc.compile(text, "coopc-xe{device=bmg}").interface
    # %pid * %m rows of %lda elements of 4 bytes: one of both is to be a multiple of 16.
    (move,) = (x for x in first.conditions if "which it moves" in x.why)
    assert move.what == "value"
    assert move.argument in (2, 4)
    assert move.multiple_of == 16
