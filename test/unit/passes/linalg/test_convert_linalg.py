"""What linalg multiplies, against numpy: the kernels that are made of it, simulated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.utils.exceptions import PassFailedException

from coopc.compiler import new_context
from coopc.dialects import coopmatrix
from coopc.parsing import parse
from coopc.passes.linalg.convert_linalg_to_coopmatrix import (
    ConvertLinalgToCoopmatrixPass,
)
from coopc.pipeline import Run, read_passes
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

TILES = ("8,8,8", "16,32,8", "5,3,2")
SIZES = st.integers(1, 40)


def run(
    text: str, passes: str, arguments: list[np.ndarray], subgroup_size: int = 8
) -> None:
    source = Source(text, "test")
    universe = everything()
    ctx = new_context(universe)
    module = parse(ctx, source)
    Run(ctx, source).apply(module, read_passes(passes, universe.all_passes))
    simulate(module, "f", arguments, subgroup_size=subgroup_size)


def memref(array: np.ndarray, dynamic: bool) -> str:
    element = {"float16": "f16", "float32": "f32", "int8": "i8", "int32": "i32"}
    sizes = "x".join("?" if dynamic else str(size) for size in array.shape)
    return f"memref<{sizes}x{element[str(array.dtype)]}>"


def test_a_context_without_what_kernels_are_written_in() -> None:
    f32 = "memref<8x8xf32>"
    text = f"""
func.func @f(%a: {f32}, %b: {f32}, %c: {f32}) {{
  linalg.matmul ins(%a, %b : {f32}, {f32}) outs(%c : {f32})
  func.return
}}"""
    module = parse(new_context(everything()), Source(text))
    ConvertLinalgToCoopmatrixPass(tile=(8, 8, 8)).apply(Context(), module)
    assert any(isinstance(op, coopmatrix.MulAddOp) for op in module.walk())


@settings(deadline=None, max_examples=40)
@given(SIZES, SIZES, SIZES, st.booleans(), st.sampled_from(TILES), st.booleans())
def test_matmul(m: int, n: int, k: int, dynamic: bool, tile: str, floats: bool) -> None:
    generator = np.random.default_rng(m + 41 * n + 41 * 41 * k)
    narrow, wide = (np.float16, np.float32) if floats else (np.int8, np.int32)
    a = generator.integers(-4, 5, (m, k)).astype(narrow)
    b = generator.integers(-4, 5, (k, n)).astype(narrow)
    c = generator.integers(-4, 5, (m, n)).astype(wide)
    types = [memref(x, dynamic) for x in (a, b, c)]
    expected = a.astype(wide) @ b.astype(wide) + c
    run(
        f"""
func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {{
  linalg.matmul ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]})
  func.return
}}""",
        f"convert-linalg-to-coopmatrix{{tile={tile}}}",
        [a, b, c],
    )
    assert (c == expected).all()


@pytest.mark.parametrize("a_map", ["m, k", "k, m"])
@pytest.mark.parametrize("b_map", ["k, n", "n, k"])
@pytest.mark.parametrize("c_map", ["m, n", "n, m"])
@pytest.mark.parametrize("batch", [0, 3])
def test_generic(a_map: str, b_map: str, c_map: str, batch: int) -> None:
    sizes = {"m": 19, "n": 7, "k": 11}
    loops = ["m", "n", "k"]
    maps = [a_map, b_map, c_map]
    kinds = ["parallel", "parallel", "reduction"]
    if batch:
        sizes["b"] = batch
        loops, kinds = ["b", *loops], ["parallel", *kinds]
        maps = [f"b, {x}" for x in maps]
    generator = np.random.default_rng(0)
    shapes = [tuple(sizes[x] for x in map.split(", ")) for map in maps]
    a = generator.integers(-128, 128, shapes[0]).astype(np.int8)
    b = generator.integers(-128, 128, shapes[1]).astype(np.int8)
    c = generator.integers(-128, 128, shapes[2]).astype(np.int32)
    names = [map.replace(", ", "") for map in maps]
    expected = c + np.einsum(
        f"{names[0]},{names[1]}->{names[2]}",
        a.view(np.uint8).astype(np.int64),
        b.astype(np.int64),
    )
    types = [memref(x, dynamic=True) for x in (a, b, c)]
    affine = ", ".join(f"affine_map<({', '.join(loops)}) -> ({x})>" for x in maps)
    iterators = ", ".join(f'"{kind}"' for kind in kinds)
    run(
        f"""
func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {{
  linalg.generic {{indexing_maps = [{affine}], iterator_types = [{iterators}]}}
      ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]}) {{
  ^bb0(%x: i8, %y: i8, %z: i32):
    %xe = arith.extui %x : i8 to i32
    %ye = arith.extsi %y : i8 to i32
    %p = arith.muli %xe, %ye : i32
    %s = arith.addi %z, %p : i32
    linalg.yield %s : i32
  }}
  func.return
}}""",
        "convert-linalg-to-coopmatrix{tile=8,4,4}",
        [a, b, c],
    )
    assert (c == expected).all()


@pytest.mark.parametrize("pipeline", ["coopc-lanes", "coopc-xe", "coopc-khr"])
def test_pipelines_begin_with_it(pipeline: str) -> None:
    generator = np.random.default_rng(0)
    a = generator.integers(-4, 5, (40, 48)).astype(np.float16)
    b = generator.integers(-4, 5, (48, 24)).astype(np.float16)
    c = np.zeros((40, 24), np.float32)
    text = """
func.func @f(%a: memref<40x48xf16>, %b: memref<48x24xf16>, %c: memref<40x24xf32>) {
  linalg.matmul ins(%a, %b : memref<40x48xf16>, memref<48x24xf16>)
                outs(%c : memref<40x24xf32>)
  func.return
}"""
    run(text, f"{pipeline}{{device=bmg}}", [a, b, c], subgroup_size=16)
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()


@pytest.mark.parametrize("a_map", ["m, k", "k, m"])
@pytest.mark.parametrize("b_map", ["k, n", "n, k"])
@pytest.mark.parametrize("batch", [0, 3])
def test_named(a_map: str, b_map: str, batch: int) -> None:
    """`matmul` and `batch_matmul`, without maps where they are the usual ones.

    They are printed and read, converted, and simulated as they are.
    """
    sizes = {"m": 19, "n": 7, "k": 11, "b": batch}
    prefix = "b, " if batch else ""
    maps = [f"{prefix}{x}" for x in (a_map, b_map, "m, n")]
    generator = np.random.default_rng(0)
    shapes = [tuple(sizes[x] for x in map.split(", ")) for map in maps]
    a = generator.integers(-128, 128, shapes[0]).astype(np.int8)
    b = generator.integers(-128, 128, shapes[1]).astype(np.int8)
    c = generator.integers(-128, 128, shapes[2]).astype(np.int32)
    names = [map.replace(", ", "") for map in maps]
    subscripts = f"{names[0]},{names[1]}->{names[2]}"
    expected = c + np.einsum(subscripts, a.astype(np.int32), b.astype(np.int32))
    types = [memref(x, dynamic=True) for x in (a, b, c)]
    affine = ", ".join(f"affine_map<({prefix}m, n, k) -> ({x})>" for x in maps)
    usual = (a_map, b_map) == ("m, k", "k, n")
    given = "" if usual else f"indexing_maps = [{affine}]"
    name = "batch_matmul" if batch else "matmul"
    text = f"""
func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {{
  linalg.{name} {given} ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]})
  func.return
}}"""
    module = parse(new_context(everything()), Source(text))
    assert ("indexing_maps" in str(module)) != usual
    assert module.is_structurally_equivalent(
        parse(new_context(everything()), Source(str(module)))
    )
    before = c.copy()
    simulate(module, "f", [a, b, before])
    assert (before == expected).all()
    run(text, "convert-linalg-to-coopmatrix{tile=8,4,4}", [a, b, c])
    assert (c == expected).all()


def test_branches() -> None:
    """A function with branches is none that multiplies, or is refused by name."""
    text = """
func.func @f(%a: memref<8x8xf32>) {
  cf.br ^next
^next:
  BODY
  func.return
}"""
    run_pass = ConvertLinalgToCoopmatrixPass().apply
    ctx = new_context(everything())
    module = parse(ctx, Source(text.replace("BODY", "")))
    run_pass(ctx, module)
    (func,) = module.body.block.ops
    assert len(func.regions[0].blocks) == 2
    named = "linalg.matmul ins(%a, %a : T, T) outs(%a : T)".replace(
        "T", "memref<8x8xf32>"
    )
    module = parse(ctx, Source(text.replace("BODY", named)))
    with pytest.raises(PassFailedException, match="a function of one block, without"):
        run_pass(ctx, module)


def test_convolutions_are_read() -> None:
    """Of f16 into f32, too; they are no products of matrices, and stay."""
    text = """
func.func @f(
    %a: memref<1x8x8x4xf16>, %b: memref<3x3x4x8xf16>, %c: memref<1x6x6x8xf32>) {
  linalg.conv_2d_nhwc_hwcf
    {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%a, %b : memref<1x8x8x4xf16>, memref<3x3x4x8xf16>)
    outs(%c : memref<1x6x6x8xf32>)
  func.return
}"""
    ctx = new_context(everything())
    module = parse(ctx, Source(text))
    module.verify()
    before = str(module)
    ConvertLinalgToCoopmatrixPass().apply(ctx, module)
    assert str(module) == before
