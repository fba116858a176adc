"""A multiplication of linalg reaches every pipeline, and is what numpy computes."""

from dataclasses import replace

import numpy as np
import pytest
from support.native import best_or_emulated, has, run_call
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coopc.compiler import new_context
from coopc.generate.gemms import Gemm
from coopc.interface import PACKING_ENTRY, SECOND_ENTRY
from coopc.interface_call import pack
from coopc.launcher import interfaces, with_kernels
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.cpu import Program
from coopc.run.tiles import Tiles
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

DEVICES = {
    "coopc-lanes{device=bmg}": 16,
    "coopc-xe{device=bmg fallback=true}": 16,
    "coopc-xe{device=dg2 fallback=true}": 8,
    "coopc-khr{device=lavapipe}": 8,
    "coopc-khr{device=lavapipe staged=true}": 8,
    "coopc-khr{device=intel-cpu pack_b=true}": 16,
}
"""Pipelines whose result is simulated, and lanes of a subgroup."""
GEMMS = {
    "whole": Gemm((32, 64, 32)),
    "ragged": Gemm((19, 21, 37)),
    "dynamic": Gemm((33, 17, 40), dynamic=True, fill=False),
    "one_column": Gemm((24, 1, 16)),
    "one_row_dynamic": Gemm((1, 40, 9), dynamic=True),
    "k_1": Gemm((16, 16, 1), fill=False),
    "k_0": Gemm((16, 20, 0), dynamic=True),
    "b_transposed": Gemm((32, 32, 64), b="nk"),
    "all_transposed": Gemm((17, 35, 21), "km", "nk", "nm", dynamic=True),
    "batched": Gemm((32, 32, 64), "bmk", "bkn", "bmn"),
    "batched_transposed": Gemm((32, 32, 64), "bmk", "bnk", "bmn", fill=False),
    "bf16": Gemm((32, 32, 32), types=("bf16", "f32")),
    "s8": Gemm((32, 48, 64), types=("i8", "i32")),
    "s8_batched": Gemm((32, 32, 64), "bmk", "bkn", "bmn", types=("i8", "i32")),
    "u8_ragged": Gemm((9, 23, 33), types=("i8", "i32"), extended=("extui", "extui")),
}


def compiled(gemm: Gemm, passes: str) -> ModuleOp:
    source, universe = Source(gemm.text, "test"), everything()
    context = new_context(universe)
    module = parse(context, source)
    Run(context, source).apply(module, read_passes(passes, universe.all_passes))
    return module


def simulated(gemm: Gemm, pipeline: str) -> None:
    """Compare what a pipeline makes of a multiplication with numpy, exactly."""
    module, arrays = compiled(gemm, pipeline), gemm.arrays()
    expected, lanes = gemm.expected(*arrays), DEVICES[pipeline]
    names = [x.sym_name.data for x in module.ops if isinstance(x, FuncOp)]
    a, b, c = arrays
    if f"gemm{PACKING_ENTRY}" in names:
        channel = 4 // b.itemsize
        rows, cols = (b.shape[gemm.b.index(x)] for x in "kn")
        packed = np.ones((*b.shape[:-2], -(-rows // channel), cols * channel), b.dtype)
        simulate(module, f"gemm{PACKING_ENTRY}", [b, packed], subgroup_size=lanes)
        b = packed
    # What holds of sizes that are not known is not asked here: see `coopc.interface`.
    second = f"gemm{SECOND_ENTRY}"
    entry = second if gemm.dynamic and second in names else "gemm"
    simulate(module, entry, [a, b, c], subgroup_size=lanes)
    np.testing.assert_array_equal(c, expected)


def run(gemm: Gemm, pipeline: str, tiles: Tiles) -> ModuleOp:
    """Compare what runs on this processor with numpy, exactly."""
    module, source = compiled(gemm, pipeline), Source(gemm.text, "test")
    arrays = gemm.arrays()
    kernels = with_kernels(compiled(gemm, "canonicalize"), source)
    (interface,) = interfaces(kernels, source, "intel-cpu")
    found = run_call(Program.of(module, tiles), pack(interface, arrays))
    np.testing.assert_array_equal(found[2], gemm.expected(*arrays))
    return module


@pytest.mark.parametrize("name", GEMMS)
@pytest.mark.parametrize("pipeline", DEVICES)
def test_simulated(pipeline: str, name: str) -> None:
    simulated(GEMMS[name], pipeline)


@pytest.fixture(scope="module")
def tiles() -> Tiles:
    if (found := best_or_emulated()) is Tiles.NONE:
        pytest.skip("the AMX emulator needs a C compiler")
    return found


@pytest.mark.parametrize("name", GEMMS)
def test_without_tiles(name: str) -> None:
    run(GEMMS[name], "coopc-cpu", Tiles.NONE)


@pytest.mark.parametrize("name", GEMMS)
def test_on_tiles(name: str, tiles: Tiles) -> None:
    gemm = GEMMS[name]
    if gemm.types[0] == "f16":  # of which few processors have tiles
        gemm = replace(gemm, types=("bf16", "f32"))
    run(gemm, "coopc-amx", tiles)


@pytest.mark.parametrize("element", ["f16", "bf16", "i8"])
@pytest.mark.parametrize(
    ("b", "m"), [("bkn", 32), ("bnk", 32), ("nk", 288), ("nk", 32)]
)
def test_b_that_is_packed(b: str, m: int, element: str, tiles: Tiles) -> None:
    """By a kernel before, except where each of its panels has one work-group."""
    if element == "f16" and not has(tiles, "amx-fp16"):
        pytest.skip("the processor has no amx-fp16")
    a, c = ("bmk", "bmn") if b[0] == "b" else ("mk", "mn")
    types = element, "i32" if element == "i8" else "f32"
    gemm = Gemm((m, 64, 128), a, b, c, types, fill=False)
    module = run(gemm, "coopc-amx", tiles)
    names = [x.sym_name.data for x in module.ops if isinstance(x, FuncOp)]
    assert ("gemm.pack" in names) == ((b, m) != ("nk", 32))
