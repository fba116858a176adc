"""Launch sequences are compared with the functions that they are of."""

import pytest
from support.linalg_programs import PROGRAMS, text_of
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.dialects import simt
from coopc.parsing import parse
from coopc.pipeline import read_passes
from coopc.source import Source
from coopc.universe import everything
from coopc.validate.step import Mismatch, Validator

STEPS = (
    "inline-calls,unroll-loops,lift-memrefs-to-tensors,generalize-linalg,"
    "collapse-linalg,fuse-linalg"
)
SWAP = """
func.func @f(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  %t = memref.alloc() : memref<4x4xf32>
  linalg.copy ins(%a : memref<4x4xf32>) outs(%t : memref<4x4xf32>)
  linalg.copy ins(%b : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  linalg.copy ins(%t : memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  return
}
"""
TENSORS = """
func.func @f(%a: tensor<5x24xf32>, %b: tensor<24x7xf32>) -> (tensor<5x7xf32>, tensor<5x7xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %c = linalg.fill ins(%z : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %r = linalg.matmul ins(%a, %b : tensor<5x24xf32>, tensor<24x7xf32>)
                     outs(%c : tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = linalg.exp ins(%r : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  return %r, %s : tensor<5x7xf32>, tensor<5x7xf32>
}
"""  # noqa: E501


def compared(text: str) -> tuple[Mismatch | None, list[str], ModuleOp, ModuleOp]:
    """What is found, and said, of a program before and after it is outlined."""
    universe = everything()
    ctx = new_context(universe)
    module = parse(ctx, Source(text, "text"))
    for each in read_passes(STEPS, universe.all_passes):
        each.apply(ctx, module)
    before, said = module.clone(), list[str]()
    validator = Validator(before.clone())
    for each in read_passes("outline-linalg-kernels", universe.all_passes):
        each.apply(ctx, module)
    found = validator.mismatch(module.clone(), said.append)
    return found, said, before, module


@pytest.mark.parametrize("text", [SWAP, TENSORS], ids=["memrefs", "tensors"])
def test_sequences_are_compared(text: str) -> None:
    found, said, before, module = compared(text)
    assert found is None
    assert not [line for line in said if line.startswith("@f is")]
    sequence = next(op for op in module.ops if isinstance(op, simt.SequenceOp))
    launch = next(x for x in sequence.body.block.ops if isinstance(x, simt.LaunchOp))
    launch.detach()
    launch.erase()
    wrong = Validator(before).mismatch(module, said.append)
    assert wrong is not None
    assert wrong.function == "f"


def test_what_is_said_of_the_kernels_of_a_sequence() -> None:
    *_, module = compared(SWAP)
    validator, said = Validator(module.clone()), list[str]()
    assert validator.mismatch(module.clone(), said.append) is None
    assert said == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    found, _, _, _ = compared(text_of(name, None))
    assert found is None
