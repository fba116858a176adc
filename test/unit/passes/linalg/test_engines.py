"""Programs of linalg on every engine, and the table of them in the documentation."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support.linalg_engines import ENGINES, HEAD, cell, row
from support.linalg_programs import names

import coopc

ALL = os.environ.get("COOPC_LINALG_PROGRAMS") == "all"
"""Whether all programs are run: this takes long."""
DOCUMENT = Path(__file__).parents[4] / "docs" / "linalg.md"
SOME = [
    ("attention_mask", "f16"),
    ("calls", "f16"),
    ("constant_weights", None),
    ("destination_passing", "f16"),
    ("iota", None),
    ("mlp_gelu_dynamic", None),
    ("quantized_named", None),
    ("softmax_columns_buffer", None),
    ("subviews", "bf16"),
]
RUN = [
    *((name, half, "cpu") for name, half in SOME),
    *(("calls", "f16", "khr"), ("layer_norm", None, "khr")),
    *(("mlp_two_layers", "f16", "lanes"), ("two_results", None, "amx")),
    *(("conv_bias_relu", "f16", "xe"), ("subview_row", None, "xe")),
]
EVERY = [(name, half, engine) for name, half in names() for engine in ENGINES]


@pytest.mark.parametrize(("name", "half", "engine"), EVERY if ALL else RUN)
def test_engine(name: str, half: str | None, engine: str) -> None:
    """What an engine takes is what the simulator computes."""
    found = cell(name, half, engine)
    assert found.ran != "wrong", found.reason
    assert ALL or found.ran != "refused", found.reason


def test_counts() -> None:
    """Layers, and attention, are one kernel each."""
    text = DOCUMENT.read_text()
    assert text.startswith(HEAD)
    attentions = ("attention", "attention f16", "attention_causal bf16")
    attentions += ("attention_contract", "attention_jax bf16", "attention_torch f16")
    ones = dict.fromkeys((*attentions, "layer_norm", "linear_silu bf16"), 1)
    for name, count in (ones | {"mlp_two_layers f16": 2}).items():
        assert f"| {name} | {count} |" in text


@pytest.mark.parametrize(("name", "half"), names() if ALL else SOME[:4])
def test_table(name: str, half: str | None) -> None:
    """The documentation says what is made of each program."""
    assert row(name, half) in DOCUMENT.read_text()


@pytest.mark.parametrize("on", ["sim", "cpu", "vulkan"])
def test_without_linalg(on: str) -> None:
    """A function of tensors alone is a copy."""
    text = """
func.func @f(%x: tensor<4x4xf32>) -> tensor<16xf32> {
  %y = tensor.collapse_shape %x [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  return %y : tensor<16xf32>
}"""
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert (coopc.launch(text, x, on=on).arrays[-1] == x.reshape(-1)).all()


@pytest.mark.parametrize("on", ["sim", "cpu", "vulkan"])
def test_arithmetic_alone(on: str) -> None:
    """A function of tensors that has nothing of linalg, and returns an argument."""
    text = """
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = arith.addf %x, %y : tensor<4xf32>
  return %z, %x : tensor<4xf32>, tensor<4xf32>
}"""
    x = np.arange(4, dtype=np.float32)
    *_, found, same = coopc.launch(text, x, x, on=on).arrays
    assert [*found, *same] == [*(x + x), *x]


@pytest.mark.parametrize("on", ["opencl", "cpu", "vulkan"])
def test_row_of_one_element(on: str) -> None:
    """A reduction over one element is done by each lane, and not over lanes."""
    text = """
func.func @f(%x: tensor<1x16xf32>) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %d = tensor.empty() : tensor<1xf32>
  %a = linalg.fill ins(%one : f32) outs(%d : tensor<1xf32>) -> tensor<1xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<1x16xf32>) outs(%a : tensor<1xf32>)
    dimensions = [1]
  %e = tensor.empty() : tensor<f32>
  %b = linalg.fill ins(%one : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %t = linalg.reduce { arith.addf } ins(%s : tensor<1xf32>) outs(%b : tensor<f32>)
    dimensions = [0]
  return %t : tensor<f32>
}"""
    x = np.arange(16, dtype=np.float32).reshape(1, 16)
    assert coopc.launch(text, x, on=on).arrays[-1] == 122
