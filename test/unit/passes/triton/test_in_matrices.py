"""Scores and sums in matrices are what they are as tensors.

Each kernel of Triton runs on the simulator as it is, and as two subgroups do it on a
device that reduces rows of matrices: with edges, and with rows that are not aligned.
"""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coopc.compiler import new_context
from coopc.device import device
from coopc.dialects import coopmatrix
from coopc.parsing import parse
from coopc.passes.generic.share_workgroup_memory import shared_bytes
from coopc.passes.triton.convert_tt_to_coopmatrix.convert_tt_to_coopmatrix import (
    bytes_of_parts,
)
from coopc.pipeline import Run, read_passes
from coopc.remarks import remarks_to
from coopc.sim.simulate import Options, simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

REDUCE = """"tt.reduce"({0}) <{{axis = {2} : i32}}> ({{
    ^bb0(%left: f32, %right: f32):
      %both = arith.{1} %left, %right : f32
      tt.reduce.return %both : f32
    }}) : (!f) -> !r"""
HEAD = """
!f = tensor<32x32xf32>
!h = tensor<32x32xELEMENT>
!d = !tt.tensordesc<32x32xELEMENT>
!r = tensor<32xf32>
!c = tensor<32x1xf32>
!p = tensor<32x!tt.ptr<f32>>
tt.func public @f(%a: !tt.ptr<ELEMENT>, %b: !tt.ptr<ELEMENT>, %e: !tt.ptr<ELEMENT>,
    %o: !tt.ptr<f32>, %l: !tt.ptr<f32>, %scale: f32, %n: i32, %pitch: i64) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %unit = arith.constant 1 : i64
  %none = arith.constant dense<0xFF800000> : !f
  %nothing = arith.constant dense<0.0> : !f
  %least = arith.constant dense<0xFF800000> : !r
  %total = arith.constant dense<0.0> : !r
  %ad = tt.make_tensor_descriptor %a, [%n, %step], [%pitch, %unit]
      : <ELEMENT>, <32x32xELEMENT>
  %bd = tt.make_tensor_descriptor %b, [%n, %step], [%pitch, %unit]
      : <ELEMENT>, <32x32xELEMENT>
  %ed = tt.make_tensor_descriptor %e, [%n, %step], [%pitch, %unit]
      : <ELEMENT>, <32x32xELEMENT>
  %od = tt.make_tensor_descriptor %o, [%n, %step], [%pitch, %unit] : <f32>, <32x32xf32>
  %x = tt.descriptor_load %ad[%zero, %zero] : !d -> !h
  %i = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ns = tt.splat %n : i32 -> tensor<32xi32>
  %scales = tt.splat %scale : f32 -> !f
  %ls = tt.splat %l : !tt.ptr<f32> -> !p
  %lp = tt.addptr %ls, %i : !p, tensor<32xi32>
"""
LOOP = """
  %m.T, %s.T, %w.T = scf.for %k = %zero to %n step %step
      iter_args(%m = %m0, %s = %s0, %w = %w0) -> (!r, !r, !f) : i32 {
    LOAD
    %q0 = tt.dot %x, %y, %nothing : !h * !h -> !f
    %q1 = arith.mulf %q0, %scales : !f
    %first = tt.splat %k : i32 -> tensor<32xi32>
    %cols = arith.addi %first, %i : tensor<32xi32>
    %in = arith.cmpi slt, %cols, %ns : tensor<32xi32>
    %in1 = tt.expand_dims %in {axis = 0 : i32} : tensor<32xi1> -> tensor<1x32xi1>
    %in2 = tt.broadcast %in1 : tensor<1x32xi1> -> tensor<32x32xi1>
    %q2 = arith.select %in2, %q1, %none : tensor<32x32xi1>, !f
    %t = MAX
    %next = arith.maxnumf %m, %t : !r
    %less = arith.subf %m, %next : !r
    %alpha = math.exp %less : !r
    %n1 = tt.expand_dims %next {axis = 1 : i32} : !r -> !c
    %n2 = tt.broadcast %n1 : !c -> !f
    %q3 = arith.subf %q2, %n2 : !f
    %p0 = math.exp %q3 : !f
    %l0 = SUM
    %l1 = arith.mulf %s, %alpha : !r
    %l2 = arith.addf %l1, %l0 : !r
    %z = tt.descriptor_load %ed[%k, %zero] : !d -> !h
    %a1 = tt.expand_dims %alpha {axis = 1 : i32} : !r -> !c
    %a2 = tt.broadcast %a1 : !c -> !f
    %w1 = arith.mulf %w, %a2 : !f
    %p1 = arith.truncf %p0 : !f to !h
    %w2 = tt.dot %p1, %z, %w1 : !h * !h -> !f
    scf.yield %next, %l2, %w2 : !r, !r, !f
  }
"""
LOADS = {
    "turned": "%y = tt.descriptor_load %bd[%k, %zero] "
    '{ttig.block_io = "column_major"} : !d -> !h',
    "transposed": """%y0 = tt.descriptor_load %bd[%k, %zero] : !d -> !h
    %y = tt.trans %y0 {order = array<i32: 1, 0>} : !h -> !h""",
}
DIVIDED = """
  %c0 = tt.expand_dims %s.1 {axis = 1 : i32} : !r -> !c
  %c1 = tt.broadcast %c0 : !c -> !f
  %g = arith.divf %w.1, %c1 : !f
"""
STORE = """
  tt.descriptor_store %od[%zero, %zero], %u : !tt.tensordesc<32x32xf32>, !f
"""
ENDS = {
    "divided": DIVIDED + STORE.replace("%u", "%g"),
    "rows": STORE.replace("%u", "%w.1")
    + """
  %g = arith.addf %m.1, %s.1 : !r
  tt.store %lp, %g : !p
""",
    "loaded": DIVIDED
    + """
  %old = tt.descriptor_load %od[%zero, %zero] : !tt.tensordesc<32x32xf32> -> !f
  %u = arith.addf %g, %old : !f
"""
    + STORE,
    "scaled by loads": """
  %v = tt.load %lp : !p
  %v1 = tt.expand_dims %v {axis = 1 : i32} : !r -> !c
  %v2 = tt.broadcast %v1 : !c -> !f
  %u = arith.mulf %w.1, %v2 : !f
"""
    + STORE,
    "reduced": STORE.replace("%u", "%w.1")
    + f"""
  %g = {REDUCE.format("%w.1", "mulf", 1)}
  tt.store %lp, %g : !p
""",
    "chosen": """
  %is = arith.cmpi sgt, %n, %step : i32
  %u = scf.if %is -> (!f) {
    scf.yield %w.1 : !f
  } else {
    scf.yield %nothing : !f
  }
"""
    + STORE,
}


def text(load: str, end: str, element: str, loops: int) -> str:
    found = HEAD
    for number in range(1, 1 + loops):
        before = f"%m.{number - 1}", f"%s.{number - 1}", f"%w.{number - 1}"
        first = ("%least", "%total", "%nothing") if number == 1 else before
        body = LOOP.replace(".T", f".{loops + 1 - number}")
        for name, value in zip(("%m0", "%s0", "%w0"), first, strict=True):
            body = body.replace(name, value.replace(".1", f".{loops}"))
        found += body
    found += ENDS[end] + "  tt.return\n}"
    found = found.replace("LOAD", LOADS[load]).replace("ELEMENT", element)
    found = found.replace("MAX", REDUCE.format("%q2", "maxnumf", 1))
    return found.replace("SUM", REDUCE.format("%p0", "addf", 1))


def parsed(kernel: str, passes: str) -> ModuleOp:
    module, source = parse(new_context(everything()), Source(kernel, "test.mlir")), None
    if passes:
        source = Source(kernel, "test.mlir")
        steps = read_passes(passes, everything().all_passes)
        Run(new_context(everything()), source).apply(module, steps)
    return module


def results(module: ModuleOp, element: str, n: int, pitch: int) -> list[Any]:
    """Return the sums, and what rows have, after a kernel ran."""
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((n, pitch)).astype(np.float32) for _ in range(3)]
    halves = (
        x.astype(np.float16) if element == "f16" else x.view(np.uint16)[:, 1::2]
        for x in given
    )
    sums = rng.standard_normal((n, pitch)).astype(np.float32)
    rows = rng.standard_normal(32).astype(np.float32)
    arrays = [*(x.flatten() for x in halves), sums.ravel(), rows, 0.25, n, pitch]
    simulate(with_functions(module), "f", arrays, Options(grid=(1, 1, 1)))
    return arrays[3:5]


REDUCTIONS = {"scaled by loads": 1, "reduced": 1, "chosen": 1}
"""Of a loop that is cut: none of numbers that nobody needs."""
OPTIONS = "rounds=true shared=true device=nvidia"
PASSES = f"convert-tt-to-coopmatrix{{{OPTIONS}}},share-workgroup-memory"


@pytest.mark.parametrize(
    ("load", "end", "element", "loops", "n", "pitch"),
    [
        ("turned", "divided", "f16", 1, 70, 40),
        ("turned", "divided", "bf16", 2, 64, 32),
        ("transposed", "rows", "f16", 1, 40, 35),
        ("turned", "loaded", "f16", 2, 70, 32),
        ("transposed", "scaled by loads", "bf16", 1, 32, 33),
        ("turned", "reduced", "f16", 1, 70, 40),
        ("transposed", "chosen", "f16", 1, 70, 40),
    ],
)
def test_attention(
    load: str, end: str, element: str, loops: int, n: int, pitch: int
) -> None:
    kernel, remarks = text(load, end, element, loops), list[str]()
    with remarks_to(remarks.append):
        lowered = parsed(kernel, PASSES)
    is_cut = any("2 subgroups compute a part each" in x for x in remarks)
    assert is_cut != (end == "loaded")
    reductions = [x for x in lowered.walk() if isinstance(x, coopmatrix.ReduceOp)]
    assert len(reductions) == REDUCTIONS.get(end, 2) * loops * (1 if is_cut else 2)
    expected = results(parsed(kernel, ""), element, n, pitch)
    for one, other in zip(results(lowered, element, n, pitch), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_memory_of_parts(element: str) -> None:
    """Parts need what is said of them; scores of bf16 go through memory on nvidia."""
    kernel = text("turned", "divided", element, 2)
    parts, legalized = (
        next(x for x in parsed(kernel, passes).walk() if isinstance(x, FuncOp))
        for passes in (PASSES, "coopc-khr{device=nvidia staged=true}")
    )
    assert bytes_of_parts(parts, device("nvidia"), 2) == shared_bytes(legalized)
