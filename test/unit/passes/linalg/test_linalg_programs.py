"""Whole functions of linalg: before and after the passes that make them generic."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.linalg_programs import (
    FOLDER,
    PROGRAMS,
    check,
    entry,
    module_of,
    names,
    text_of,
)
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import coopc
from coopc.passes.generic.inline_calls import InlineCallsPass
from coopc.passes.linalg.generalize_linalg import (
    ARITHMETIC,
    NORMAL,
    GeneralizeLinalgPass,
)
from coopc.passes.linalg.lift_memrefs_to_tensors import LiftMemrefsToTensorsPass
from coopc.passes.linalg.match import matched
from coopc.passes.linalg.unroll_loops import UnrollLoopsPass
from coopc.passes.linalg.whole_functions import whole_functions
from coopc.pipeline import verify
from coopc.run.toolchain import run_filter
from coopc.validate.compare import compare

CASES = [pytest.param(*case, id="-".join(filter(None, case))) for case in names()]
PASSES = (
    InlineCallsPass,
    UnrollLoopsPass,
    LiftMemrefsToTensorsPass,
    GeneralizeLinalgPass,
)
UNCHANGED = {"matmul_accumulate", "matmul_alpha_beta_buffers", "matmul_filled"}
"""One multiplication of memrefs, and what follows it."""


def normal_form(module: ModuleOp) -> ModuleOp:
    for each in PASSES:
        each().apply(Context(), module)
        verify(module)
    return module


def test_each_program_is_in_the_table() -> None:
    assert {path.stem for path in FOLDER.glob("*.mlir")} == PROGRAMS.keys()


@pytest.mark.parametrize(("name", "half"), CASES)
def test_as_given(name: str, half: str | None) -> None:
    module = module_of(text_of(name, half))
    check(name, module, entry(module))


@pytest.mark.parametrize(("name", "half"), CASES)
def test_normal_form(name: str, half: str | None) -> None:
    module = module_of(text_of(name, half))
    given = entry(module).clone()
    normal_form(module)
    check(name, module, given)
    func = entry(module)
    if name in UNCHANGED:
        assert matched(func) is not None
        assert str(func) == str(given)
        return
    assert whole_functions(module) == [func]
    for op in func.body.block.ops:
        assert op.name in NORMAL or op.dialect_name() in ARITHMETIC, op


@pytest.mark.parametrize("name", PROGRAMS)
def test_mlir_reads_it(name: str, tool: Callable[[str], Path]) -> None:
    """What is given, what coopc prints of it, and its normal form."""
    tool("mlir-opt")
    module = module_of(text_of(name))
    printed = str(module)
    forms = text_of(name), printed, str(normal_form(module))
    for form in forms:
        text, message = run_filter("mlir-opt", data=form.encode())
        assert message is None, message
        verify(module_of(text.decode()))


@pytest.mark.parametrize("on", ["vulkan", "cpu"])
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize(
    ("given", "target"), [("2x?", "2x33"), ("2x33", "?x?"), ("2x?", "?x33")]
)
def test_softmax_of_some_sizes(
    given: str, target: str, dimension: int, on: str
) -> None:
    """Its types say different sizes."""
    given, target = f"memref<{given}xf32>", f"memref<{target}xf32>"
    text = f"""
func.func @main(%x: {given}, %y: {target}) {{
  linalg.softmax dimension({dimension}) ins(%x : {given}) outs(%y : {target})
  return
}}"""
    x = np.random.default_rng(0).standard_normal((2, 33)).astype(np.float32)
    powers = np.exp(x.astype(np.float64))
    found = coopc.launch(text, x, np.zeros_like(x), on=on).arrays[-1]
    wanted = powers / powers.sum(dimension, keepdims=True)
    assert compare(found, wanted.astype(np.float32), bound=2.0**-20).ok


@pytest.mark.parametrize("on", ["sim", "vulkan", "cpu"])
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("size", [0, 4])
def test_concat_of_some_sizes(size: int, dimension: int, on: str) -> None:
    """Each of what is concatenated says other sizes; one may have no elements."""
    types = (
        "?x?",
        "3x5" if dimension == 0 else "5x3",
        "?x5" if dimension == 0 else "5x?",
    )
    x, y, z = (f"tensor<{each}xi32>" for each in types)
    text = f"""
func.func @main(%x: {x}, %y: {y}, %z: {z}) -> tensor<?x?xi32> {{
  %r = tensor.concat dim({dimension}) %x, %y, %z : ({x}, {y}, {z}) -> tensor<?x?xi32>
  return %r : tensor<?x?xi32>
}}"""
    shapes = [(n, 5) if dimension == 0 else (5, n) for n in (size, 3, 2)]
    parts = [np.full(shape, at, np.int32) for at, shape in enumerate(shapes)]
    found = coopc.launch(text, *parts, on=on).arrays[-1]
    np.testing.assert_array_equal(found, np.concatenate(parts, dimension))


@pytest.mark.parametrize("on", ["sim", "vulkan", "cpu"])
def test_parts_of_memory_of_any_strides(on: str) -> None:
    """A host that does not know them reads a copy, and writes all of it."""
    whole, part = (
        f"memref<{sizes}xf32, strided<[?, 1], offset: ?>>" for sizes in ("?x?", "3x4")
    )
    text = f"""
func.func @main(%x: {whole}, %y: {whole}) {{
  %s = memref.subview %x[1, 2] [3, 4] [1, 1] : {whole} to {part}
  %t = memref.subview %y[0, 1] [3, 4] [2, 1] : {whole} to {part}
  linalg.add ins(%s, %s : {part}, {part}) outs(%t : {part})
  return
}}"""
    x = np.arange(60, dtype=np.float32).reshape(5, 12)[:, :7]
    y = np.ones((6, 11), np.float32)
    wanted = y.copy()
    wanted[:5:2, 1:5] = 2 * x[1:4, 2:6]
    coopc.launch(text, x, y[:, :9], on=on)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("on", ["vulkan", "cpu"])
@pytest.mark.parametrize("strides", ["5, 1", "?, 1"])
@pytest.mark.parametrize(
    "part", ["collapse_shape %s [[0, 1]]", "extract_slice %s[0, 0] [1, 4] [1, 1]"]
)
def test_views_of_what_is_in_an_argument(part: str, strides: str, on: str) -> None:
    """A shape needs memory without gaps, and a slice strides: a copy, if need be."""
    size = 12 if "collapse" in part else 4
    into = "into" if "collapse" in part else "to"
    memory, result = f"memref<3x4xf32, strided<[{strides}]>>", f"tensor<{size}xf32>"
    text = f"""
func.func @main(%x: tensor<3x4xf32>, %y: {memory}) -> {result} {{
  %e = tensor.empty() : tensor<3x4xf32>
  %s = linalg.add ins(%x, %x : tensor<3x4xf32>, tensor<3x4xf32>)
    outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  %p = tensor.{part} : tensor<3x4xf32> {into} {result}
  %f = tensor.empty() : {result}
  %r = linalg.negf ins(%p : {result}) outs(%f : {result}) -> {result}
  bufferization.materialize_in_destination %s in restrict writable %y
    : (tensor<3x4xf32>, {memory}) -> ()
  return %r : {result}
}}"""
    x, y = np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros((3, 5), np.float32)
    found = coopc.launch(text, x, y[:, :4], on=on).arrays[-1]
    np.testing.assert_array_equal(y[:, :4], 2 * x)
    np.testing.assert_array_equal(found, -2 * x.ravel()[:size])


@pytest.mark.parametrize("on", ["vulkan", "cpu"])
def test_an_argument_is_read_after_what_it_becomes_is_computed(on: str) -> None:
    """In one kernel, which reads it for its last result."""
    type, memory = "tensor<4x6xf32>", "memref<4x6xf32>"
    text = f"""
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
func.func @main(%x: {type}, %y: {memory}) -> {type} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %n = tensor.empty() : {type}
  %d = linalg.add ins(%x, %x : {type}, {type}) outs(%n : {type}) -> {type}
  %s = linalg.reduce {{ arith.addf }} ins(%d : {type}) outs(%f : tensor<4xf32>)
    dimensions = [1]
  %old = bufferization.to_tensor %y restrict writable : {memory} to {type}
  %r = linalg.generic {{indexing_maps = [#ij, #i, #ij],
      iterator_types = ["parallel", "parallel"]}}
      ins(%old, %s : {type}, tensor<4xf32>) outs(%n : {type}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  }} -> {type}
  bufferization.materialize_in_destination %d in restrict writable %y
    : ({type}, {memory}) -> ()
  return %r : {type}
}}"""
    x, y = np.arange(24, dtype=np.float32).reshape(4, 6), np.ones((4, 6), np.float32)
    found = coopc.launch(text, x, y, on=on).arrays[-1]
    np.testing.assert_array_equal(found, 1 + 2 * x.sum(1, keepdims=True) + 0 * x)
    np.testing.assert_array_equal(y, 2 * x)
