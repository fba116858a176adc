"""Rows that have no room in work-group memory: each lane keeps its own elements."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.passes.generic.share_workgroup_memory import shared_bytes
from coopc.passes.triton.convert_tt_to_coopmatrix import own_elements as own
from coopc.pipeline import Run, read_passes
from coopc.sim.simulate import Options, simulate
from coopc.source import Source
from coopc.universe import everything

REDUCE = """"tt.reduce"(%{0}) <{{axis = 0 : i32}}> ({{
  ^bb0(%p: f32, %q: f32):
    %both = arith.{1} %p, %q : f32
    tt.reduce.return %both : f32
  }}) : (!t) -> f32"""
KERNEL = """
!t = tensor<SIZExf32>
!p = tensor<SIZEx!tt.ptr<f32>>
tt.func public @f(%x: !tt.ptr<f32>, %n: i32) {
  %at = tt.make_range {start = 0 : i32, end = SIZE : i32} : tensor<SIZExi32>
  %ns = tt.splat %n : i32 -> tensor<SIZExi32>
  %m = arith.cmpi slt, %at, %ns : tensor<SIZExi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> !p
  %xp = tt.addptr %xs, %at : !p, tensor<SIZExi32>
  %low = arith.constant dense<-1.0> : !t
  %v = tt.load %xp, %m, %low : !p
  %top = MAX
  %tops = tt.splat %top : f32 -> !t
  %d = arith.subf %tops, %v : !t
  %sum = SUM
  %sums = tt.splat %sum : f32 -> !t
  %w = arith.addf %v, %sums : !t
  MORE
  tt.store %xp, %u, %m : !p
  tt.return
}"""
ALONE = "%u = arith.addf %w, %d : !t"
FLIPPED = """%last = arith.constant dense<LAST> : tensor<SIZExi32>
  %back = arith.subi %last, %at : tensor<SIZExi32>
  %u = tt.gather %w[%back] {axis = 0 : i32} : (!t, tensor<SIZExi32>) -> !t"""


def text(size: int, more: str = ALONE) -> str:
    """Return a kernel that stores a row to where it is from, plus a sum of it."""
    found = KERNEL.replace("MORE", more).replace("LAST", str(size - 1))
    words = {"MAX": ("v", "maxnumf"), "SUM": ("d", "addf")}
    for name, how in words.items():
        found = found.replace(name, REDUCE.format(*how))
    return found.replace("SIZE", str(size))


def expected(x: Any, size: int) -> Any:
    row = np.full(size, -1.0)
    row[: len(x)] = x
    d = row.max() - row
    return (row + d.sum() + d)[: len(x)]


def subgroup_of_8(source: str) -> tuple[ModuleOp, FuncOp]:
    given = Source(source, "row.mlir")
    module = parse(new_context(everything()), given)
    passes = "convert-tt-to-coopmatrix{subgroup-size=8}"
    Run(new_context(everything()), given).apply(
        module, read_passes(passes, everything().all_passes)
    )
    (func,) = module.ops
    assert isinstance(func, FuncOp)
    return module, func


def test_own_elements() -> None:
    """A row takes no work-group memory, and the kernel does the same."""
    module, func = subgroup_of_8(text(64))
    assert shared_bytes(func) > 0
    assert own.own_elements(func, 8)
    module.verify()
    assert shared_bytes(func) == 0
    x = np.random.default_rng(0).integers(-9, 9, 50).astype(np.float32)
    given: list[Any] = [x.copy(), len(x)]
    simulate(module, "f", given, Options(grid=(1, 1, 1)))
    np.testing.assert_array_equal(given[0], expected(x, 64))


@pytest.mark.parametrize("size", [4, 64])
def test_elements_of_others(size: int) -> None:
    """What other lanes load, or what is no multiple of lanes, is shared."""
    _, func = subgroup_of_8(text(size, FLIPPED))
    own.own_elements(func, 8)
    assert shared_bytes(func) >= 4 * size


def test_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    _, func = subgroup_of_8(text(64))
    before = str(func)
    monkeypatch.setattr(own, "MOST_PRIVATE_BYTES", 4)
    assert not own.own_elements(func, 8)
    assert str(func) == before


@pytest.mark.parametrize("device", ["lavapipe", "nvidia"])
def test_long_row(device: str) -> None:
    pipeline = f"coopc-khr{{device={device}}}"
    remarks = coopc.compile(text(32768), pipeline, "spirv-binary").remarks
    assert any("lanes keep their elements in private memory" in x for x in remarks)


def test_on_lavapipe() -> None:
    pipeline = "coopc-khr{device=lavapipe}"
    artifact = coopc.compile(text(32768), pipeline, "spirv-binary")
    x = np.random.default_rng(0).integers(-9, 9, 20001).astype(np.float32)
    wanted = expected(x, 32768)
    artifact.run(x, len(x), grid=(1, 1, 1))
    np.testing.assert_array_equal(x, wanted)
