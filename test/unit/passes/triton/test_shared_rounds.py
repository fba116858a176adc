"""Programs that the subgroups of a work-group share compute what they are to compute.

Products of 32 x 32 on lavapipe's four subgroups of eight lanes, with edges, beginnings
before the first element, loops that do not reach the end of K or go beyond it, and all
that is stored of the sums; on the simulator, which sees races, and on lavapipe.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.remarks import remarks_to
from coopc.sim.simulate import Options, simulate
from coopc.source import Source
from coopc.universe import everything

SHARED = "convert-tt-to-coopmatrix{rounds=true shared=true device=%s}"
TYPES = """
!tc = !tt.tensordesc<32x32xf32>
!c = tensor<32x32xf32>
!th = !tt.tensordesc<32x16xf32>
!h = tensor<32x16xf32>
!ta = !tt.tensordesc<32x16xf16>
!a = tensor<32x16xf16>
!tb = !tt.tensordesc<16x32xf16>
!b = tensor<16x32xf16>
!s = tensor<32x16x2xf32>
!t = tensor<32x2x16xf32>
"""
SCALED = """
    %q = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %sp = tt.splat %scales : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %sq = tt.addptr %sp, %q : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %s = tt.load %sq : tensor<32x!tt.ptr<f32>>
    %s1 = tt.expand_dims %s {axis = 0 : i32} : tensor<32xf32> -> tensor<1x32xf32>
    %s2 = tt.broadcast %s1 : tensor<1x32xf32> -> !c
    %out = arith.mulf %sums, %s2 : !c
    tt.descriptor_store %c[%row, %col], %out : !tc, !c"""
HALVES = """
    %h0 = tt.reshape %sums : !c -> !t
    %h1 = tt.trans %h0 {order = array<i32: 0, 2, 1>} : !t -> !s
    %h2, %h3 = tt.split %h1 : !s -> !h
    %ch = tt.make_tensor_descriptor %r, [%m, %n], [%pitch, %unit] : <f32>, <32x16xf32>
    %c16 = arith.constant 16 : i32
    %col1 = arith.addi %col, %c16 : i32
    tt.descriptor_store %ch[%row, %col], %h2 : !th, !h
    tt.descriptor_store %ch[%row, %col1], %h3 : !th, !h"""
PLAIN = """
    tt.descriptor_store %c[%row, %col], %sums : !tc, !c"""


@dataclass(frozen=True)
class Case:
    """C (m x n) = A (m x k) B in programs of 32 x 32, from a row and a column on."""

    sizes: tuple[int, int, int]
    steps: int | None = None
    """Of the loop, 16 of K each; as many as K has without."""
    start: tuple[int, int] = (0, 0)
    init: float = 0
    transposed: bool = False
    moved: bool = False
    """Whether the loop moves the memory of A."""
    stored: str = PLAIN

    @property
    def trips(self) -> int:
        return -(-self.sizes[2] // 16) if self.steps is None else self.steps

    def text(self) -> str:
        shape, block = "%k, %n", "16x32"
        load = """%y = tt.descriptor_load %b[%at, %col] : !tb -> !b"""
        if self.transposed:
            shape, block = "%n, %k", "32x16"
            load = """%z = tt.descriptor_load %b[%col, %at] : !ta -> !a
      %y = tt.trans %z {order = array<i32: 1, 0>} : !a -> !b"""
        first = "%x = tt.descriptor_load %a[%row, %at] : !ta -> !a"
        if self.moved:
            first = """%p1 = tt.addptr %p, %at : !tt.ptr<f16>, i32
      %a1 = tt.make_tensor_descriptor %p1, [%m, %c16k], [%pa, %unit]
        : <f16>, <32x16xf16>
      %x = tt.descriptor_load %a1[%row, %zero] : !ta -> !a"""
        return f"""{TYPES}
  tt.func @f(%p: !tt.ptr<f16>, %q_: !tt.ptr<f16>, %r: !tt.ptr<f32>,
      %scales: !tt.ptr<f32>,
      %m: i32, %n: i32, %k: i32, %row0: i32, %col0: i32, %trips: i32) {{
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c16k = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %unit = arith.constant 1 : i64
    %x_id = tt.get_program_id x : i32
    %y_id = tt.get_program_id y : i32
    %down = arith.muli %y_id, %c32 : i32
    %right = arith.muli %x_id, %c32 : i32
    %row = arith.addi %down, %row0 : i32
    %col = arith.addi %right, %col0 : i32
    %pa = arith.extsi %k : i32 to i64
    %pitch = arith.extsi %n : i32 to i64
    %pb = arith.extsi {"%k" if self.transposed else "%n"} : i32 to i64
    %init = arith.constant dense<{self.init}> : !c
    %a = tt.make_tensor_descriptor %p, [%m, %k], [%pa, %unit] : <f16>, <32x16xf16>
    %b = tt.make_tensor_descriptor %q_, [{shape}], [%pb, %unit] : <f16>, <{block}xf16>
    %c = tt.make_tensor_descriptor %r, [%m, %n], [%pitch, %unit] : <f32>, <32x32xf32>
    %sums = scf.for %t = %zero to %trips step %one
        iter_args(%acc = %init) -> (!c) : i32 {{
      %at = arith.muli %t, %c16k : i32
      {first}
      {load}
      %next = tt.dot %x, %y, %acc : !a * !b -> !c
      scf.yield %next : !c
    }}{self.stored}
    tt.return
  }}"""

    def arguments(self) -> list[Any]:
        m, n, k = self.sizes
        random = np.random.default_rng(m + n + k)
        a, b = (random.integers(-2, 3, x).astype(np.float16) for x in ((m, k), (k, n)))
        b = np.ascontiguousarray(b.T) if self.transposed else b
        scales = random.integers(1, 4, 32).astype(np.float32)
        c = np.full((m, n), 7, np.float32)
        return [a, b, c, scales, m, n, k, *self.start, self.trips]

    @property
    def grid(self) -> tuple[int, int, int]:
        m, n, _ = self.sizes
        row, col = self.start
        return -(-(n - col) // 32), -(-(m - row) // 32), 1

    def wanted(self) -> Any:
        a, b, c, scales, _, n, k, row, col, trips = self.arguments()
        b = b.T if self.transposed else b
        k = min(k, 16 * trips)
        sums = a[:, :k].astype(np.float32) @ b[:k].astype(np.float32) + self.init
        if self.stored is SCALED:
            sums = sums * scales[(np.arange(n) - col) % 32]
        first = max(row, 0), max(col, 0)
        c[first[0] :, first[1] :] = sums[first[0] :, first[1] :]
        return c


CASES = {
    "whole": Case((64, 64, 64)),
    "ragged": Case((50, 41, 37)),
    "one": Case((1, 1, 1)),
    "a short loop": Case((40, 64, 64), steps=2),
    "a long loop": Case((32, 32, 32), steps=4),
    "no step": Case((32, 33, 32), steps=0, init=3),
    "from before": Case((40, 40, 32), start=(-5, -11)),
    "from within": Case((70, 64, 32), start=(3, 8)),
    "transposed": Case((64, 40, 48), transposed=True),
    "transposed, from before": Case((64, 40, 50), transposed=True, start=(-1, -2)),
    "moved": Case((33, 64, 48), moved=True),
    "scaled": Case((50, 64, 32), stored=SCALED),
    "halves": Case((64, 72, 32), stored=HALVES),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("device", ["lavapipe", "nvidia"])
def test_simulated(name: str, device: str) -> None:
    case = CASES[name]
    source = Source(case.text(), "shared.mlir")
    module = parse(new_context(everything()), source)
    steps = read_passes(SHARED % device, everything().all_passes)
    remarks: list[str] = []
    with remarks_to(remarks.append):
        Run(new_context(everything()), source).apply(module, steps)
    assert not remarks
    arguments = case.arguments()
    simulate(module, "f", arguments, Options(grid=case.grid))
    np.testing.assert_array_equal(arguments[2], case.wanted())


@pytest.mark.parametrize("name", ["whole", "ragged", "from before", "halves"])
def test_on_lavapipe(name: str) -> None:
    case = CASES[name]
    artifact = coopc.compile(
        case.text(), "coopc-khr{device=lavapipe staged=true}", "spirv-binary"
    )
    arguments = case.arguments()
    artifact.run(*arguments, grid=case.grid)
    np.testing.assert_array_equal(arguments[2], case.wanted())
