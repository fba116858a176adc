"""Operations behind a product, fused into its kernel: what numpy computes, everywhere.

The function as it is written is simulated with bounds of its errors.  Numpy, and what
is made of the function, agree with that within the bounds of both.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.epilogues import KINDS, Array, Fused
from support.native import tiles_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp

import coopc
from coopc.compiler import new_context
from coopc.dialects import simt
from coopc.generate.gemms import Gemm
from coopc.interface import SECOND_ENTRY
from coopc.interface_call import CODED
from coopc.parsing import parse
from coopc.passes.cpu.stages import Stages
from coopc.pipeline import Run, read_passes
from coopc.run.arguments import encode
from coopc.run.opencl import Session as OpenclSession
from coopc.run.vulkan import Session
from coopc.sim.simulate import simulate
from coopc.sim.tracked import Inputs
from coopc.source import Source
from coopc.universe import everything
from coopc.validate.compare import compare

SIZES = {
    "whole": Gemm((32, 32, 32)),
    "ragged": Gemm((19, 21, 37)),
    "dynamic": Gemm((33, 17, 40), dynamic=True),
    "one_column": Gemm((24, 1, 16)),
    "k_0": Gemm((16, 20, 0), dynamic=True),
    "batched": Gemm((16, 24, 16), "bmk", "bnk", "bmn"),
    "transposed": Gemm((17, 35, 21), "km", "nk", "nm", dynamic=True),
}
SHARED = Gemm((226, 130, 24))
"""Of which threads have shares in bands."""
OUTPUTS = {"alpha_beta": ("f16",), "requantised": ("i8",), "saturated": ("i8", "i32")}
"""Element types of outputs, where they are not those of floats."""
CASES = [
    (kind, out) for kind in KINDS for out in OUTPUTS.get(kind, ("f32", "f16", "bf16"))
]
FEW = [
    ("bias_relu", "f16"),
    ("bias_gelu", "f32"),
    ("saturated", "i8"),
    ("zero_point", "f16"),
]
"""Those that run on slow drivers."""
SIMULATED = {
    "coopc-khr{device=lavapipe}": 8,
    "coopc-khr{device=lavapipe staged=true}": 8,
    "coopc-khr{device=intel-cpu pack_b=true}": 16,
    "coopc-lanes{device=bmg}": 16,
    "coopc-xe{device=bmg fallback=true}": 16,
}
"""Pipelines, and lanes of a subgroup."""


def fused(kind: str, out: str, size: str) -> Fused:
    gemm = SHARED if size == "shared" else SIZES[size]
    types = ("i8", "i32") if KINDS[kind].integers else ("f16", "f32")
    return Fused(
        Gemm(gemm.sizes, gemm.a, gemm.b, gemm.c, types, dynamic=gemm.dynamic), kind, out
    )


def compiled(text: str, passes: str) -> ModuleOp:
    source, universe = Source(text, "test"), everything()
    ctx = new_context(universe)
    module = parse(ctx, source)
    Run(ctx, source).apply(module, read_passes(passes, universe.all_passes))
    return module


@cache
def reference(its: Fused) -> tuple[Array, Array | None]:
    """Return what the function makes of its arguments, and bounds of the errors."""
    arrays = its.arrays()
    expected = its.expected(*arrays)
    run = simulate(compiled(its.text, ""), "gemm", arrays, track=Inputs.EXACT)
    bound = run.errors[2]
    if its.out in CODED or arrays[2].dtype.kind == "f":
        expected = encode(expected, its.out)
    else:
        expected = expected.astype(arrays[2].dtype)
    check(its, expected, arrays[2], bound)
    return arrays[2], bound


def check(its: Fused, found: Array, expected: Array, bound: Array | None) -> None:
    both = None if bound is None else 2 * bound
    element = its.out if its.out in CODED else None
    difference = compare(found, expected, bound=both, element=element)
    assert difference.ok, (its.kind, its.out, its.gemm, str(difference))


def launched(its: Fused, **how: object) -> None:
    arrays = its.arrays()
    coopc.launch(its.text, *arrays, **how)  # pyright: ignore[reportArgumentType]
    check(its, arrays[2], *reference(its))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("kind", "out"), CASES)
def test_kernels_of_matrices(kind: str, out: str, size: str) -> None:
    its = fused(kind, out, size)
    arrays = its.arrays()
    module = compiled(its.text, "convert-linalg-to-coopmatrix{tile=16,8,8}")
    simulate(module, "gemm", arrays, subgroup_size=8)
    check(its, arrays[2], *reference(its))


@pytest.mark.parametrize("size", ["ragged", "dynamic", "batched"])
@pytest.mark.parametrize(("kind", "out"), FEW)
@pytest.mark.parametrize("pipeline", SIMULATED)
def test_pipelines(pipeline: str, kind: str, out: str, size: str) -> None:
    its = fused(kind, out, size)
    arrays, module = its.arrays(), compiled(its.text, pipeline)
    names = [x.sym_name.data for x in module.ops if isinstance(x, FuncOp)]
    second = f"gemm{SECOND_ENTRY}"
    entry = second if second in names and its.gemm.dynamic else "gemm"
    if f"{entry}.pack_b" in names:
        pytest.skip("B is packed by another kernel")
    simulate(module, entry, arrays, subgroup_size=SIMULATED[pipeline])
    check(its, arrays[2], *reference(its))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("device", ["lavapipe", "nvidia"])
def test_subgroups_read_only_what_they_store(device: str, size: str) -> None:
    """Those beyond C too, where the epilogue reads what C was."""
    its = fused("alpha_beta", "f16", size)
    launched(its, on="sim", pipeline=f"coopc-khr{{device={device} staged=true}}")


@pytest.mark.parametrize("device", ["nvidia", "arc"])
def test_sums_of_nothing(device: str) -> None:
    """Those of all parts of a subgroup are one matrix."""
    its = Fused(Gemm((64, 64, 0)), "bias_relu")
    launched(its, on="sim", pipeline=f"coopc-khr{{device={device} staged=true}}")


@pytest.mark.parametrize("size", ["dynamic", "batched"])
@pytest.mark.parametrize(("kind", "out"), FEW)
@pytest.mark.parametrize("staged", [False, True])
def test_lavapipe(
    staged: bool, kind: str, out: str, size: str, lavapipe: Session
) -> None:
    assert lavapipe.info.matrix_shapes
    option = " staged=true" if staged else ""
    pipeline = f"coopc-khr{{device=lavapipe{option}}}"
    launched(fused(kind, out, size), on="vulkan", pipeline=pipeline)


@pytest.mark.parametrize(("kind", "out"), FEW)
@pytest.mark.parametrize("device", ["bmg", "intel-cpu"])
def test_opencl(device: str, kind: str, out: str, intel_cpu: OpenclSession) -> None:
    """Blocks and DPAS emulated, and lanes."""
    assert intel_cpu.info
    how = {"device": "bmg"} if device == "bmg" else {"pipeline": LANES}
    launched(fused(kind, out, "ragged"), on="opencl", **how)


LANES = "coopc-lanes{device=intel-cpu subgroup-size=8}"


@pytest.mark.parametrize(("kind", "out"), CASES)
def test_vectors(kind: str, out: str) -> None:
    sizes = ("ragged", "dynamic", "batched") if (kind, out) in FEW else ("dynamic",)
    for size in sizes:
        launched(fused(kind, out, size), on="cpu", tiles="none", threads=2)


@pytest.mark.parametrize(("kind", "out"), FEW)
@pytest.mark.parametrize("size", ["ragged", "dynamic", "batched"])
def test_tiles(kind: str, out: str, size: str) -> None:
    case = fused(kind, out, size)
    tiles = tiles_of(case.gemm.types[0])
    launched(case, on="cpu", pipeline="coopc-amx", tiles=tiles)


@pytest.mark.parametrize(
    ("pipeline", "kind", "out"),
    [
        ("coopc-cpu{threads=4 block=1,1,16}", "bias_gelu", "f32"),
        ("coopc-amx{threads=4 block=1,1,2}", "saturated", "i8"),
    ],
)
def test_shares_of_threads(pipeline: str, kind: str, out: str) -> None:
    """Work-groups come in bands: see `PackedKernel.block`."""
    case = fused(kind, out, "shared")
    tiles = tiles_of("i8") if "amx" in pipeline else "none"
    launched(case, on="cpu", pipeline=pipeline, tiles=tiles, threads=4)


# --- Sums that are an argument -------------------------------------------------------

IN_PLACE = """
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>, %d: memref<?x?xf32>, %beta: f32) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : memref<?x?xf32>) outs(%OUT : memref<?x?xf32>) {
  ^bb0(%x: f32, %z: f32):
    MORE
    %p = arith.mulf %z, %beta : f32
    %s = arith.addf %p, %k : f32
    %t = arith.addf %x, %s : f32
    linalg.yield %t : f32
  }
  func.return
}"""  # noqa: E501

MORE = (
    "%k = arith.constant 1.0 : f32",
    """%i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32""",
)


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("out", ["c", "d"])
@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_sums_in_an_argument(on: str, out: str, index: bool) -> None:
    """They are added to what is there, and stored unless something else is there."""
    generator = np.random.default_rng(0)
    shapes = (35, 300), (300, 19), (35, 19), (35, 19)
    a, b, c, d = (generator.integers(-4, 5, x).astype(np.float32) for x in shapes)
    sums = a @ b + c
    more = np.arange(19, dtype=np.float32) if index else np.float32(1)
    # In place, the sums are read again: z is x.
    expected = sums + ((sums if out == "c" else d) * np.float32(2) + more)
    text = IN_PLACE.replace("%OUT", f"%{out}").replace("MORE", MORE[index])
    coopc.launch(text, a, b, c, d, 2.0, on=on)
    found = {"c": c, "d": d}
    assert compare(found[out], expected).ok
    if out == "d":
        assert compare(c, sums).ok


def test_a_product_with_itself() -> None:
    """Both operands are one argument."""
    text = IN_PLACE.replace("%a, %b", "%b, %b").replace("%OUT", "%d")
    text = text.replace("MORE", MORE[True])
    generator = np.random.default_rng(0)
    b, c, d = (generator.integers(-4, 5, (40, 40)).astype(np.float32) for _ in "bcd")
    sums = b @ b + c
    expected = sums + (d * np.float32(2) + np.arange(40, dtype=np.float32))
    coopc.launch(text, b, b, c, d, 2.0, on="cpu")
    assert compare(d, expected).ok


# --- Groups of columns ---------------------------------------------------------------

GROUPS = """
#id = affine_map<(m, n) -> (m, n)>
#group = affine_map<(m, n) -> (n floordiv 4, n mod 4)>
func.func @f(%a: memref<9x8xf32>, %b: memref<8x35xf32>, %c: memref<9x35xf32>, %s: memref<9x4xf32>) {
  linalg.matmul ins(%a, %b : memref<9x8xf32>, memref<8x35xf32>) outs(%c : memref<9x35xf32>)
  linalg.generic {indexing_maps = [#id, #group, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c, %s : memref<9x35xf32>, memref<9x4xf32>) outs(%c : memref<9x35xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %t = arith.mulf %x, %y : f32
    linalg.yield %t : f32
  }
  func.return
}"""  # noqa: E501


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_quotients_of_columns(on: str) -> None:
    """Neighbours in a row read the same element, or the next one."""
    generator = np.random.default_rng(0)
    shapes = (9, 8), (8, 35), (9, 35), (9, 4)
    a, b, c, s = (generator.integers(-4, 5, x).astype(np.float32) for x in shapes)
    expected = (a @ b + c) * s.ravel()[:35]
    coopc.launch(GROUPS, a, b, c, s, on=on)
    assert compare(c, expected).ok


# --- What it costs -------------------------------------------------------------------


@pytest.mark.parametrize(
    "pipeline",
    [
        "coopc-khr{device=nvidia}",
        "coopc-khr{device=nvidia staged=true}",
        "coopc-lanes{device=bmg}",
        "coopc-xe{device=bmg}",
        "coopc-cpu",
    ],
)
def test_one_kernel(pipeline: str) -> None:
    """As without: kernels, their memory, and the operations of loops along K."""
    types = ("f32", "f32") if pipeline == "coopc-cpu" else ("f16", "f32")
    gemm = Gemm((256, 256, 1024), types=types)
    plain = compiled(gemm.text, pipeline)
    made = compiled(Fused(gemm, "bias_relu").text, pipeline)
    assert in_loops(made) == in_loops(plain)
    for module in (plain, made):
        if pipeline == "coopc-cpu":
            stages = Stages.of(module)["gemm"].functions
            assert [name for name, _ in stages] == ["gemm.pack", "gemm.multiply"]
        else:
            assert len(list(simt.kernels(module))) == 1
        assert not any(op.name == "memref.alloc" for op in module.walk())


def in_loops(module: ModuleOp) -> list[list[str]]:
    """Return the names of operations in loops along K: those that multiply themselves.

    Loops around them, as over tiles of a block, have the epilogue.
    """
    multiplies = {"coopmatrix.mul_add", "xe.dpas", "vector.fma", "arith.mulf"}
    found = [
        sorted(x.name for x in op.walk())
        for op in module.walk()
        if isinstance(op, ForOp) and multiplies & {x.name for x in op.body.block.ops}
    ]
    assert found, module
    return found
