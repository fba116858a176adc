"""What Triton's operations mean: simulated before they are converted, against numpy."""

from typing import Any

import numpy as np
import pytest

from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

HEAD = """
#b = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [16], warpsPerCTA = [1],
                   order = [0]}>
module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @k(%x: !tt.ptr<T>, %n: !tt.ptr<i32>, %o: !tt.ptr<T>) {
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #b>
    %xs = tt.splat %x : !tt.ptr<T> -> tensor<32x!tt.ptr<T>, #b>
    %xp = tt.addptr %xs, %r : tensor<32x!tt.ptr<T>, #b>, tensor<32xi32, #b>
    %ns = tt.splat %n : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>, #b>
    %np = tt.addptr %ns, %r : tensor<32x!tt.ptr<i32>, #b>, tensor<32xi32, #b>
    %os = tt.splat %o : !tt.ptr<T> -> tensor<32x!tt.ptr<T>, #b>
    %op = tt.addptr %os, %r : tensor<32x!tt.ptr<T>, #b>, tensor<32xi32, #b>
    %v = tt.load %xp : tensor<32x!tt.ptr<T>, #b>
    %i = tt.load %np : tensor<32x!tt.ptr<i32>, #b>
"""
TAIL = """
    tt.store %op, %y : tensor<32x!tt.ptr<T>, #b>
    tt.return
  }
}
"""
SCAN = """%y = "tt.scan"(%v) <{axis = 0 : i32, reverse = REVERSE}> ({
^bb0(%a: T, %b: T):
  %c = arith.maximumf %a, %b : T
  tt.scan.return %c : T
}) : (tensor<32xT, #b>) -> tensor<32xT, #b>"""
GATHER = """%y = tt.gather %v[%i] {axis = 0 : i32}
  : (tensor<32xT, #b>, tensor<32xi32, #b>) -> tensor<32xT, #b>"""
SWAP = """%p = tt.addptr %xs, %i : tensor<32x!tt.ptr<T>, #b>, tensor<32xi32, #b>
%zero = arith.constant dense<0.0> : tensor<32xT, #b>
%y = tt.atomic_cas acq_rel, gpu, %p, %zero, %v
   : (tensor<32x!tt.ptr<T>, #b>, tensor<32xT, #b>, tensor<32xT, #b>)
   -> tensor<32xT, #b>"""
COUNT = "%y = tt.histogram %i : tensor<32xi32, #b> -> tensor<32xi32, #b>"
COUNT_SOME = """%few = arith.constant dense<5> : tensor<32xi32, #b>
%m = arith.cmpi sgt, %v, %few : tensor<32xi32, #b>
%y = tt.histogram %i, %m : tensor<32xi32, #b> -> tensor<32xi32, #b>"""
ASSEMBLY = """%y = tt.elementwise_inline_asm "mov $0, $1" {constraints = "=r,r",
  packed_element = 1 : i32, pure = true} %v
  : tensor<32xi32, #b> -> tensor<32xi32, #b>"""


def kernel(body: str, type: str) -> str:
    text = (HEAD + body + TAIL).replace("xT,", f"x{type},").replace("<T>", f"<{type}>")
    return text.replace(": T", f": {type}")


def run(body: str, x: Any, numbers: Any, type: str = "f32") -> Any:
    """Return the last array that a kernel writes."""
    module = parse(new_context(everything()), Source(kernel(body, type), "kernel"))
    module.verify()
    out = np.zeros_like(x)
    simulate(with_functions(module), "k", [x, np.array(numbers, "i4"), out], grid=(1,))
    return out


X = np.random.default_rng(3).integers(-99, 99, 32).astype("f4")
NUMBERS = np.random.default_rng(4).integers(0, 32, 32)


def test_scan() -> None:
    forth, back = (SCAN.replace("REVERSE", x) for x in ("false", "true"))
    assert np.array_equal(run(forth, X.copy(), NUMBERS), np.maximum.accumulate(X))
    found = run(back, X.copy(), NUMBERS)
    assert np.array_equal(found[::-1], np.maximum.accumulate(X[::-1]))


def test_gather() -> None:
    assert np.array_equal(run(GATHER, X.copy(), NUMBERS), X[NUMBERS])
    with pytest.raises(UndefinedBehaviour, match="expected indices of 0 to 31"):
        run(GATHER, X.copy(), NUMBERS + 20)


@pytest.mark.parametrize("body", [COUNT, COUNT_SOME])
def test_histogram(body: str) -> None:
    """Numbers without a bin are not counted, nor are those that are masked."""
    x, numbers = np.arange(32, dtype="i4"), NUMBERS.copy()
    numbers[::9] = [-1, 32, 1 << 30, -(1 << 31)]
    counted = [n for n in numbers[6 * (body == COUNT_SOME) :] if 0 <= n < 32]
    expected = np.bincount(counted, minlength=32)
    assert np.array_equal(run(body, x, numbers, "i32"), expected)


def test_atomic_cas() -> None:
    """One after the other: the first of those that find 0 at a place replaces it."""
    x = np.where(np.arange(32) % 4 == 0, 0, np.arange(32)).astype("f4")
    x[8] = -0.0  # which is no 0, bit for bit
    expected, old, given = x.copy(), np.zeros(32, "f4"), x.copy()
    for lane, place in enumerate(NUMBERS):
        old[lane] = expected[place]
        if expected[place : place + 1].view("i4")[0] == 0:
            expected[place] = given[lane]
    found = run(SWAP, x, NUMBERS)
    assert np.array_equal(x.view("i4"), expected.view("i4"))
    assert np.array_equal(found.view("i4"), old.view("i4"))


def test_not_by_layouts(capsys: pytest.CaptureFixture[str]) -> None:
    """A pass that plans layouts refuses what has none; the pipeline does without."""
    universe = everything()
    source = Source(kernel(GATHER, "f32"), "kernel")
    module = parse(ctx := new_context(universe), source)
    planned = "plan-block-io{device=bmg},convert-ttgir-to-xe"
    alone = read_passes(planned, universe.all_passes)
    with pytest.raises(
        CompileError, match=r"tt\.gather: it is not converted to xe"
    ) as it:
        Run(ctx, source).apply(module.clone(), alone)
    assert it.value.diagnostic.place is not None
    capsys.readouterr()
    passes = read_passes("coopc-xe{device=bmg}", universe.all_passes)
    Run(ctx, source).apply(module, passes)
    remark = (
        "remark: tt.gather: the kernel runs on one subgroup: not lowered by layouts"
    )
    assert remark in capsys.readouterr().err
    out = np.zeros_like(X)
    simulate(module, "k", [X.copy(), NUMBERS.astype("i4"), out], grid=(1,))
    assert np.array_equal(out, X[NUMBERS])


def test_refused_by_name() -> None:
    with pytest.raises(SimulationError, match=r"tt\.elementwise_inline_asm"):
        run(ASSEMBLY, NUMBERS.astype("i4"), NUMBERS, "i32")
