"""Products in any DPAS encoding, of any sizes, simulated before and after, in numpy.

Twelve are tried by default for each device; COOPC_RANDOM_KERNELS=400 tries as many.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coopc.compiler import new_context
from coopc.device import device
from coopc.dialects import simt
from coopc.emit.interface import interface_of
from coopc.emit.walker import Facts
from coopc.interface_call import violated_condition
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

COUNT = int(os.environ.get("COOPC_RANDOM_KERNELS", "12"))
OPTIONS = ("device=bmg", "device=pvc prefetch=2 payload=all", "device=dg2")
TYPES = {"f16": ("f32", 2), "i8": ("i32", 4), "f32": ("f32", 1)}
DTYPES = {"f16": "f2", "f32": "f4", "i8": "i1", "i32": "i4"}


@dataclass(frozen=True)
class Case:
    """A product: its encoding, its tile, how matrices are in memory, their sizes."""

    element: str
    repeat: int
    lanes: int
    warps: tuple[int, int]
    cluster: tuple[int, int]
    tile: tuple[int, int, int]
    transposed: tuple[bool, bool]
    sizes: tuple[int, int, int]
    start: tuple[int, int]

    @property
    def encodings(self) -> str:
        """The encodings, and the beginning of the module."""
        width, channel = min(self.lanes, 16), TYPES[self.element][1]
        return f"""#c = #ttig.dpas<{{repeatCount = {self.repeat}, systolicDepth = 8, executionSize = {width}, opsPerChan = {channel}, threadsPerWarp = {self.lanes}, warpsPerCTA = {list(self.warps)}, repCluster = {list(self.cluster)}}}>
#a = #ttg.dot_op<{{opIdx = 0, parent = #c, kWidth = {max(1, channel // 2)}}}>
#b = #ttg.dot_op<{{opIdx = 1, parent = #c, kWidth = {channel}}}>
module attributes {{"ttg.num-warps" = {self.warps[0] * self.warps[1]} : i32, "ttg.threads-per-warp" = {self.lanes} : i32}} {{"""  # noqa: E501

    @property
    def text(self) -> str:
        """The kernel: both the counter and the descriptor of A are carried."""
        sum, _ = TYPES[self.element]
        m, n, k = self.tile
        e, (ta, tb) = self.element, self.transposed
        a_block, b_block = (k, m) if ta else (m, k), (n, k) if tb else (k, n)
        a_desc = f"!tt.tensordesc<{a_block[0]}x{a_block[1]}x{e}>"
        b_desc = f"!tt.tensordesc<{b_block[0]}x{b_block[1]}x{e}>"
        c_desc, c = f"!tt.tensordesc<{m}x{n}x{sum}>", f"tensor<{m}x{n}x{sum}, #c>"
        a, b = f"tensor<{m}x{k}x{e}, #a>", f"tensor<{k}x{n}x{e}, #b>"
        orders = [f'{{ttig.block_io = "{x}_major"}}' for x in ("row", "column")]
        return f"""{self.encodings}
  tt.func public @g(%p: !tt.ptr<{e}>, %q: !tt.ptr<{e}>, %r: !tt.ptr<{sum}>, %m: i32, %n: i32, %k: i32, %lda: i64, %ldb: i64, %ldc: i64) {{
    %zero = arith.constant dense<{"0.0" if sum == "f32" else "0"}> : {c}
    %c0 = arith.constant 0 : i32
    %km = arith.constant {m} : i32
    %kn = arith.constant {n} : i32
    %kk = arith.constant {k} : i32
    %om = arith.constant {self.start[0]} : i32
    %on = arith.constant {self.start[1]} : i32
    %one = arith.constant 1 : i64
    %x = tt.get_program_id x : i32
    %y = tt.get_program_id y : i32
    %x0 = arith.muli %x, %km : i32
    %y0 = arith.muli %y, %kn : i32
    %row = arith.addi %x0, %om : i32
    %col = arith.addi %y0, %on : i32
    %a = tt.make_tensor_descriptor %p, [{"%k, %m" if ta else "%m, %k"}], [%lda, %one] : <{e}>, <{a_block[0]}x{a_block[1]}x{e}>
    %b = tt.make_tensor_descriptor %q, [{"%n, %k" if tb else "%k, %n"}], [%ldb, %one] : <{e}>, <{b_block[0]}x{b_block[1]}x{e}>
    %c = tt.make_tensor_descriptor %r, [%m, %n], [%ldc, %one] : <{sum}>, <{m}x{n}x{sum}>
    %s:3 = scf.for %i = %c0 to %k step %kk iter_args(%d = %zero, %at = %c0, %ad = %a) -> ({c}, i32, {a_desc}) : i32 {{
      %l = tt.descriptor_load %ad[{"%i, %row" if ta else "%row, %i"}] {orders[ta]} : {a_desc} -> {a}
      %h = tt.descriptor_load %b[{"%col, %at" if tb else "%at, %col"}] {orders[tb]} : {b_desc} -> {b}
      %next = tt.dot %l, %h, %d, inputPrecision = tf32 : {a} * {b} -> {c}
      %then = arith.addi %at, %kk : i32
      scf.yield %next, %then, %ad : {c}, i32, {a_desc}
    }}
    tt.descriptor_store %c[%row, %col], %s#0 {orders[0]} : {c_desc}, {c}
    tt.return
  }}
}}
"""  # noqa: E501


def case(random: Random, options: str) -> Case:
    """Return one of those that Triton's rules allow."""
    lanes = 8 if "dg2" in options else random.choice((16, 16, 32))
    width = min(lanes, 16)
    element = random.choice(("f16", "i8") if lanes == 8 else ("f16", "i8", "f32"))
    channel = TYPES[element][1]
    # Lanes hold whole rows of A and of C at a time.
    least = max(lanes // min(lanes, 8 if channel == 1 else 16), lanes // width)
    repeat = random.choice([x for x in (1, 2, 4, 8, 8) if x >= least])
    warps = random.choice((1, 2, 4)), random.choice((1, 2, 4))
    cluster = random.choice((1, 1, 2, 4)), random.choice((1, 2))
    high = repeat * random.choice((1, 2, cluster[0] * warps[0]))
    wide = width * random.choice((1, 2, cluster[1] * warps[1]))
    tile = min(high, 128), min(wide, 128), 8 * channel * random.choice((1, 2))
    long = random.random() < 0.7  # rows of 64 bytes, which blocks want
    sizes = (64, 72, 100, 128) if long else (1, 7, 33)
    m, n, k = (random.choice(sizes) for _ in range(3))
    start = random.choice((0, 0, -4, 20)), random.choice((0, 0, -16, 4))
    flags = random.random() < 0.4, random.random() < 0.5
    depth = random.choice((k, k, k, 0))
    return Case(
        element, repeat, lanes, warps, cluster, tile, flags, (m, n, depth), start
    )


def compiled(text: str, pipeline: str) -> ModuleOp:
    universe = everything()
    ctx = new_context(universe)
    source = Source(text, "kernel")
    found = parse(ctx, source)
    Run(ctx, source).apply(found, read_passes(pipeline, universe.all_passes))
    return found


def padded(numbers: Any, type: str) -> tuple[Any, int]:
    """Return a matrix with rows of 64 bytes or more, and their length."""
    size = np.dtype(DTYPES[type]).itemsize
    width = max(64, -(-numbers.shape[1] * size // 16) * 16) // size
    found = np.full((max(1, numbers.shape[0]), width), 3, DTYPES[type])
    found[: numbers.shape[0], : numbers.shape[1]] = numbers
    return found, width


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seed", range(COUNT))
def test_products(seed: int, options: str) -> None:
    given = case(Random(f"{seed} {options}"), options)
    m, n, k = given.sizes
    random = np.random.default_rng(seed)
    a, b = random.integers(-4, 5, (m, k)), random.integers(-4, 5, (k, n))
    left, lda = padded(a.T if given.transposed[0] else a, given.element)
    right, ldb = padded(b.T if given.transposed[1] else b, given.element)
    before, ldc = padded(np.zeros((m, n)), TYPES[given.element][0])
    before[:] = 77
    row, col = (max(0, x) for x in given.start)
    expected = before.copy()
    expected[row:m, col:n] = (a @ b)[row:, col:]
    grid = tuple(
        -(-(size - min(0, start)) // step)
        for size, start, step in zip((m, n), given.start, given.tile, strict=False)
    )
    found = compiled(given.text, f"coopc-xe{{{options} fallback=true}}")
    kernels = [x for x in found.ops if isinstance(x, FuncOp)]
    facts = Facts("opencl", device(options.split()[0].removeprefix("device=")))
    assert kernels
    for func in (None, *kernels):
        sum = before.copy()
        arguments = [left, right, sum, m, n, k, lda, ldb, ldc]
        if func is None:
            simulate(
                with_functions(compiled(given.text, "")), "g", arguments, grid=grid
            )
        else:
            interface = interface_of(simt.kernel_of(func), found, facts)
            if violated_condition(interface, arguments) is not None:
                continue
            simulate(found, func.sym_name.data, arguments, grid=grid)
        assert np.array_equal(sum, expected), func
