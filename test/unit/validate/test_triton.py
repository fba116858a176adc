"""Passes on Triton's kernels compared before and after: what is wrong is found."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.compiler import new_context
from coopc.dialects import tt
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything
from coopc.validate.step import Validator, first_mismatch

INPUTS = Path(__file__).parents[2] / "inputs" / "ttgir"


def module(name: str, pipeline: str) -> ModuleOp:
    universe = everything()
    ctx = new_context(universe)
    source = Source((INPUTS / f"{name}.ttgir").read_text(), name)
    found = parse(ctx, source)
    Run(ctx, source).apply(found, read_passes(pipeline, universe.all_passes))
    return found


@pytest.mark.parametrize("name", ["gemm_ptr", "gemm_axbt_32x32"])
def test_the_pipeline_is_right(name: str) -> None:
    told: list[str] = []
    before = module(name, "")
    after = module(name, "coopc-xe{device=bmg}")
    assert first_mismatch(before, after, report=told.append) is None
    assert told == []


def test_a_mistake_is_found() -> None:
    before = module("gemm_ptr", "")
    after = module("gemm_ptr", "convert-tt-pointers-to-descriptors")
    load = next(op for op in after.walk() if isinstance(op, tt.DescriptorLoadOp))
    load.operands[1], load.operands[2] = load.operands[2], load.operands[1]
    found = first_mismatch(before, after, report=lambda _: None)
    assert found is not None
    assert found.function == "gemm_ptr"
    assert found.argument == "argument 2 (%c)"


class Wrong(ModulePass):
    name = "wrong"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


def test_the_function_is_blamed() -> None:
    before = module("gemm_ptr", "")
    after = module("gemm_ptr", "convert-tt-pointers-to-descriptors")
    store = next(op for op in after.walk() if isinstance(op, tt.DescriptorStoreOp))
    store.operands[2] = store.operands[3]
    with pytest.raises(PassFailedException, match="wrong changed what the program"):
        Validator(before).check(after, Wrong(), lambda _: None)


CALLS = """
#t = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func private @twice(%v: tensor<256xi32, #t>) -> tensor<256xi32, #t> {
    %0 = arith.addi %v, %v : tensor<256xi32, #t>
    tt.return %0 : tensor<256xi32, #t>
  }
  tt.func public @kernel(%p: !tt.ptr<i32>) {
    %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #t>
    %s = tt.splat %p : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>, #t>
    %at = tt.addptr %s, %i : tensor<256x!tt.ptr<i32>, #t>, tensor<256xi32, #t>
    %0 = tt.call @twice(%i) : (tensor<256xi32, #t>) -> tensor<256xi32, #t>
    %1 = tt.call @twice(%0) : (tensor<256xi32, #t>) -> tensor<256xi32, #t>
    tt.store %at, %1 : tensor<256x!tt.ptr<i32>, #t>
    tt.return
  }
}
"""  # noqa: E501


def test_calls_are_simulated_as_they_are_inlined() -> None:
    universe = everything()
    ctx = new_context(universe)
    source = Source(CALLS, "calls")
    before, after = parse(ctx, source), parse(ctx, source)
    Run(ctx, source).apply(after, read_passes("inline-calls", universe.all_passes))
    for program in (before, after):
        found = np.zeros(256, "i4")
        simulate(with_functions(program), "kernel", [found], grid=(1,))
        assert np.array_equal(found, 4 * np.arange(256))
