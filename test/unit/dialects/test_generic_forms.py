"""What mlir-opt prints: the generic form, which leaves properties out, and locations.

Also the scalars and tensors of rank 0 that xDSL does not verify.
"""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.linalg_programs import PROGRAMS, module_of, text_of
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

import coopc
from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.dialects.simt import KERNEL, WORK_GROUP_SIZE
from coopc.pipeline import verify
from coopc.run.toolchain import run_filter
from coopc.universe import everything

M, V = "memref<4x6xf32>", "memref<4xf32>"
SECOND = "<{dimensions = array<i64: 1>}>"
UNSIZED = [
    ("map", "%v, %v", "", f"{V}, {V}", f"ins(%v : {V}) outs(%v : {V})"),
    ("map", "%v", "", V, f"outs(%v : {V})"),
    ("reduce", "%m, %v", SECOND, f"{M}, {V}", f"ins(%m : {M}) outs(%v : {V})"),
    (
        "reduce",
        "%m, %m, %v, %v",
        SECOND,
        f"{M}, {M}, {V}, {V}",
        f"ins(%m, %m : {M}, {M}) outs(%v, %v : {V}, {V})",
    ),
    ("broadcast", "%v, %m", SECOND, f"{V}, {M}", f"ins(%v : {V}) outs(%m : {M})"),
]


@pytest.mark.parametrize(("name", "operands", "rest", "types", "printed"), UNSIZED)
def test_sizes_of_segments(
    name: str, operands: str, rest: str, types: str, printed: str
) -> None:
    """Which operands are outputs follows from their number."""
    count = len(types.split(", "))
    args = ", ".join(f"%x{n}: f32" for n in range(count))
    yielded = "%x0, %x1" if count == 4 else "%x0"
    text = f"""
func.func @f(%m: {M}, %v: {V}) {{
  "linalg.{name}"({operands}) {rest} ({{
  ^bb0({args}):
    linalg.yield {yielded} : {", ".join(["f32"] * len(yielded.split(", ")))}
  }}) : ({types}) -> ()
  return
}}"""
    with pytest.raises((VerifyException, ValueError)):  # the gap
        Parser(new_context(everything()), text).parse_module().verify()
    module = module_of(text)
    verify(module)
    assert f"linalg.{name} {printed}" in str(module)


@pytest.mark.parametrize("name", PROGRAMS)
def test_generic_form(name: str, tool: Callable[[str], Path]) -> None:
    tool("mlir-opt")
    given = text_of(name).encode()
    text, message = run_filter("mlir-opt", "--mlir-print-op-generic", data=given)
    assert message is None, message
    verify(module_of(text.decode()))


IMAGE, WEIGHTS = "memref<1x2x6x6xf32>", "memref<3x2x3x3xf32>"
OUT = "memref<1x3x4x4xf32>"
DEFINITIONS = f"""
func.func @f(%m: {M}, %v: {V}, %i: {IMAGE}, %w: {WEIGHTS}, %o: {OUT},
    %a: memref<4x4xi8>, %c: memref<4x4xi32>) {{
  linalg.reduce ins(%m : {M}) outs(%v : {V}) dimensions = [1] (%x: f32, %y: f32) {{
    %s = arith.mulf %x, %x : f32
    %t = arith.addf %s, %y : f32
    linalg.yield %t : f32
  }}
  linalg.map ins(%v : {V}) outs(%v : {V}) (%x: f32, %y: f32) {{
    %s = arith.mulf %x, %x : f32
    linalg.yield %s : f32
  }}
  linalg.conv_2d_nchw_fchw ins(%i, %w : {IMAGE}, {WEIGHTS}) outs(%o : {OUT})
  linalg.matmul {{cast = #linalg.type_fn<cast_unsigned>}}
    ins(%a, %a : memref<4x4xi8>, memref<4x4xi8>) outs(%c : memref<4x4xi32>)
  linalg.copy {{cast = #linalg.type_fn<cast_unsigned>}}
    ins(%a : memref<4x4xi8>) outs(%c : memref<4x4xi32>)
  return
}}
func.func @g(%a: tensor<4xf32>, %n: index) -> tensor<4xf32> {{
  %r = scf.forall (%i) = (0) to (%n) step (2) shared_outs(%o = %a) -> (tensor<4xf32>) {{
    %s = tensor.extract_slice %a[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {{
      tensor.parallel_insert_slice %s into %o[%i] [1] [1]
        : tensor<1xf32> into tensor<4xf32>
    }}
  }}
  return %r : tensor<4xf32>
}}
gpu.module @kernels {{
  gpu.func @k(%a: {V}) kernel attributes {{known_block_size = array<i32: 8, 1, 1>}} {{
    %z = arith.constant 0.0 : f32
    %m = gpu.subgroup_mma_constant_matrix %z : !gpu.mma_matrix<16x16xf32, "COp">
    %n = gpu.subgroup_mma_elementwise addf %m, %m
      : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">)
      -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.return
  }}
}}"""


@pytest.mark.parametrize("flag", ["--mlir-print-op-generic", "--mlir-print-debuginfo"])
def test_forms_are_equal(flag: str, tool: Callable[[str], Path]) -> None:
    tool("mlir-opt")
    plain, message = run_filter("mlir-opt", data=DEFINITIONS.encode())
    assert message is None, message
    given, message = run_filter("mlir-opt", flag, data=DEFINITIONS.encode())
    assert message is None, message
    with pytest.raises((ParseError, VerifyException)):  # the gap
        Parser(new_context(everything()), given.decode()).parse_module().verify()
    assert without_names(given) == without_names(plain)


def without_names(text: bytes) -> str:
    """What is printed of a module; the generic form of `gpu.func` has a count of 0."""
    printed = str(module_of(text.decode()))
    printed = printed.replace("workgroup_attributions = 0 : i64, ", "")
    return re.sub(r"%\w+", "%", printed)


def test_generic_kernel() -> None:
    """The attribute of a kernel, and the properties of its operations, are read."""
    matrix = '!gpu.mma_matrix<16x16xf32, "COp">'
    text = f"""
"gpu.module"() <{{sym_name = "kernels"}}> ({{
  "gpu.func"() <{{function_type = (memref<16x16xf32>) -> (),
      known_block_size = array<i32: 8, 1, 1>}}> ({{
  ^bb0(%a: memref<16x16xf32>):
    %z = "arith.constant"() <{{value = 0 : index}}> : () -> index
    %m = "gpu.subgroup_mma_load_matrix"(%a, %z, %z) <{{leadDimension = 16 : index}}>
      : (memref<16x16xf32>, index, index) -> {matrix}
    %n = "gpu.subgroup_mma_elementwise"(%m, %m)
      <{{opType = #gpu<mma_element_wise addf>}}> : ({matrix}, {matrix}) -> {matrix}
    "gpu.return"() : () -> ()
  }}) {{gpu.kernel, sym_name = "k", workgroup_attributions = 0 : i64}} : () -> ()
}}) : () -> ()"""
    lowered = coopc.compile(text, "convert-gpu-mma-to-coopmatrix", "mlir").text
    for wanted in (
        KERNEL,
        f"{WORK_GROUP_SIZE} = array<i32: 8, 1, 1>",
        "coopmatrix.add",
    ):
        assert wanted in lowered


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_scalars(on: str) -> None:
    """A scalar goes with each element, and a tensor of rank 0 can be expanded."""
    text = """
func.func @f(%x: tensor<3x5xf32>)
    -> (tensor<1x1xf32>, tensor<3x5xf16>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %c = arith.constant 2.5 : f32
  %e = tensor.empty() : tensor<f32>
  %h = tensor.empty() : tensor<3x5xf16>
  %p = linalg.copy ins(%c : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %q = tensor.expand_shape %p [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  %r = linalg.copy ins(%c : f32) outs(%h : tensor<3x5xf16>) -> tensor<3x5xf16>
  %s = linalg.sub ins(%c, %x : f32, tensor<3x5xf32>) outs(%x : tensor<3x5xf32>)
    -> tensor<3x5xf32>
  %t = linalg.negf ins(%c : f32) outs(%x : tensor<3x5xf32>) -> tensor<3x5xf32>
  return %q, %r, %s, %t
    : tensor<1x1xf32>, tensor<3x5xf16>, tensor<3x5xf32>, tensor<3x5xf32>
}"""
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    *_, expanded, narrow, difference, negated = coopc.launch(text, x, on=on).arrays
    assert expanded.shape == (1, 1)
    assert (expanded == 2.5).all()
    assert (narrow == 2.5).all()
    assert (difference == 2.5 - x).all()
    assert (negated == -2.5).all()


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_unsigned_copy(on: str) -> None:
    text = """
func.func @f(%x: tensor<3xi8>, %y: tensor<3xi32>) -> tensor<3xi32> {
  %r = linalg.copy {cast = #linalg.type_fn<cast_unsigned>}
    ins(%x : tensor<3xi8>) outs(%y : tensor<3xi32>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}"""
    x = np.array([-1, 0, 1], np.int8)
    *_, found = coopc.launch(text, x, np.zeros(3, np.int32), on=on).arrays
    assert [*found] == [255, 0, 1]


@pytest.mark.parametrize(
    ("sizes", "result", "message"),
    [
        ("[1, 2]", "tensor<1x2xf32>", "expected sizes of 1 of tensor<f32>, got"),
        ("[1]", "tensor<1xf16>", "expected sizes of 1 of tensor<f32>, got"),
        ("[1]", "tensor<1x1xf32>", r"expected \[\] output_shape \[1, 1\]"),
    ],
)
def test_expansions_of_rank_0(sizes: str, result: str, message: str) -> None:
    text = f"""
func.func @f(%x: tensor<f32>) {{
  %y = tensor.expand_shape %x [] output_shape {sizes} : tensor<f32> into {result}
  return
}}"""
    with pytest.raises(CompileError, match=message):
        coopc.compile(text, "canonicalize", "mlir")
