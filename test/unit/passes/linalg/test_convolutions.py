"""Convolutions as implicit products: matrices of the device, and nothing copied."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.linalg_programs import conv, text_of
from support.native import tiles_of

import coopc
from coopc.compiler import compile
from coopc.run.arrays import Array

CASES = {
    # Image, window, filters, strides and dilations: those of x differ from those of y.
    "plain": ((1, 6, 18, 16), (3, 3), 16, (1, 1), (1, 1)),
    "ragged": ((2, 5, 9, 20), (2, 3), 13, (1, 1), (1, 1)),
    "strides": ((1, 7, 21, 16), (3, 2), 16, (2, 3), (1, 1)),
    "dilations": ((1, 8, 14, 16), (3, 2), 8, (1, 2), (2, 3)),
    "one": ((2, 3, 9, 24), (1, 1), 16, (1, 1), (1, 1)),
}
PIPELINES = {
    "coopc-khr{device=nvidia}": "coopmatrix.mul_add",
    "coopc-xe{device=bmg}": "xe.dpas",
    "coopc-amx": "amx.tile_mulf",
}


def source(
    case: str, weights: str, pad: int = 0, element: str = "f16", dynamic: bool = False
) -> str:
    """Return a convolution with a bias for each filter and a residual, and ReLU."""
    (n, h, w, c), window, f, strides, dilations = CASES[case]
    rows, cols = (
        (size - (k - 1) * d - 1) // s + 1
        for size, k, s, d in zip((h, w), window, strides, dilations, strict=True)
    )
    ky, kx = window
    filters = f"{f}x{ky}x{kx}x{c}" if weights == "fhwc" else f"{ky}x{kx}x{c}x{f}"
    image, kept = f"{n}x{h - 2 * pad}x{w}x{c}", f"{n}x{rows}x{cols}x{f}"
    padded, x, sizes = "", "%a", ""
    if dynamic:
        image, kept, sizes = f"?x?x?x{c}", f"?x?x?x{f}", "%s0, %s1, %s2"
        for n in range(3):
            padded += f"""
  %n{n} = arith.constant {n} : index
  %s{n} = tensor.dim %r, %n{n} : tensor<{kept}xf32>"""
    whole = image if dynamic else f"{n}x{h}x{w}x{c}"
    if pad:
        x = "%x"
        padded = f"""
  %none = arith.constant 0.0 : f16
  %x = tensor.pad %a low[0, {pad}, 0, 0] high[0, {pad}, 0, 0] {{
  ^bb0(%0: index, %1: index, %2: index, %3: index):
    tensor.yield %none : f16
  }} : tensor<{image}xf16> to tensor<{n}x{h}x{w}x{c}xf16>"""
    steps = ", ".join(
        f"{name} = dense<[{', '.join(map(str, value))}]> : tensor<2xi64>"
        for name, value in (("dilations", dilations), ("strides", strides))
    )
    return f"""
#id = affine_map<(n, y, x, f) -> (n, y, x, f)>
#f = affine_map<(n, y, x, f) -> (f)>
func.func @main(%a: tensor<{image}x{element}>, %b: tensor<{filters}x{element}>,
    %bias: tensor<{f}xf32>, %r: tensor<{kept}xf32>) -> tensor<{kept}xf32> {{
  %zero = arith.constant 0.0 : f32{padded}
  %e = tensor.empty({sizes}) : tensor<{kept}xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<{kept}xf32>) -> tensor<{kept}xf32>
  %c = linalg.conv_2d_nhwc_{weights} {{{steps}}}
    ins({x}, %b :
      tensor<{whole}x{element}>, tensor<{filters}x{element}>)
    outs(%i : tensor<{kept}xf32>) -> tensor<{kept}xf32>
  %d = linalg.generic {{indexing_maps = [#id, #f, #id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%c, %bias, %r : tensor<{kept}xf32>, tensor<{f}xf32>, tensor<{kept}xf32>)
      outs(%e : tensor<{kept}xf32>) {{
  ^bb0(%s: f32, %t: f32, %u: f32, %old: f32):
    %v = arith.addf %s, %t : f32
    %w = arith.addf %v, %u : f32
    %z = arith.maximumf %w, %zero : f32
    linalg.yield %z : f32
  }} -> tensor<{kept}xf32>
  return %d : tensor<{kept}xf32>
}}"""


def check(
    case: str,
    weights: str,
    pad: int = 0,
    element: str = "f16",
    dynamic: bool = False,
    **how: Any,
) -> None:
    """Run a convolution of small integers, which are exact, and compare with numpy."""
    random = np.random.default_rng(0)
    (n, h, w, c), window, f, *steps = CASES[case]

    def integers(*shape: int) -> Array:
        return random.integers(-2, 3, shape)

    image, filters = integers(n, h - 2 * pad, w, c), integers(*window, c, f)
    whole = np.pad(image, ((0, 0), (pad, pad), (0, 0), (0, 0)))
    sums = conv(whole, filters, *steps)
    bias, residual = integers(f), integers(*sums.shape)
    wanted = np.maximum(sums + bias + residual, 0)
    if weights == "fhwc":
        filters = np.ascontiguousarray(filters.transpose(3, 0, 1, 2))
    type = np.float16 if element == "f16" else np.float32
    given = image.astype(type), filters.astype(type)
    rest = bias.astype(np.float32), residual.astype(np.float32)
    text = source(case, weights, pad, element, dynamic)
    outcome = coopc.launch(text, *given, *rest, **how)
    assert (outcome.arrays[-1] == wanted).all()


@pytest.mark.parametrize("weights", ["hwcf", "fhwc"])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_matrices(pipeline: str, weights: str) -> None:
    """Matrix instructions do it in one kernel, and no memory is as large as im2col."""
    text = source("strides", weights)
    assert PIPELINES[pipeline] in compile(text, pipeline, "mlir").text
    if pipeline != "coopc-amx":
        found = json.loads(compile(text, pipeline, "abi-json").text)
        assert len(found["kernels"]) == 1
        assert not any(each["temporaries"] for each in found["sequences"])


@pytest.mark.parametrize("case", CASES)
def test_simulator(case: str) -> None:
    """What becomes of a convolution is what it was."""
    check(case, "hwcf", on="sim")
    check(case, "hwcf", on="sim", pipeline="coopc-khr{device=lavapipe}")


@pytest.mark.parametrize("case", ["ragged", "strides", "dilations"])
@pytest.mark.parametrize("weights", ["hwcf", "fhwc"])
@pytest.mark.parametrize("on", ["vulkan", "cpu"])
def test_engines(on: str, weights: str, case: str) -> None:
    tiles = tiles_of("f16") if on == "cpu" else "auto"
    check(case, weights, on=on, tiles=tiles)


@pytest.mark.parametrize("pipeline", ["nvidia", "lavapipe"])
@pytest.mark.parametrize("case", ["ragged", "strides", "one"])
def test_dynamic_sizes(case: str, pipeline: str) -> None:
    """Those of the image may be known when it runs; it is one kernel still."""
    passes = f"coopc-khr{{device={pipeline}}}"
    text = source(case, "hwcf", dynamic=True)
    assert "coopmatrix.mul_add" in compile(text, passes, "mlir").text
    check(case, "hwcf", dynamic=True, on="sim", pipeline=passes)


@pytest.mark.parametrize("case", ["strides", "one"])
@pytest.mark.parametrize("on", ["vulkan", "cpu"])
def test_dynamic_engines(on: str, case: str) -> None:
    tiles = tiles_of("f16") if on == "cpu" else "auto"
    check(case, "hwcf", dynamic=True, on=on, tiles=tiles)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_f32(pipeline: str) -> None:
    """It goes to the matrix engine in the precision that is asked for."""
    name, _, options = pipeline.removesuffix("}").partition("{")
    passes = f"{name}{{{options} precision=bf16x3}}"
    text = source("one", "hwcf", element="f32")
    assert PIPELINES[pipeline].removesuffix("f") in compile(text, passes, "mlir").text
    assert PIPELINES[pipeline] not in compile(text, pipeline, "mlir").text
    how: dict[str, Any] = {"on": "sim"}
    if name == "coopc-amx":
        how = {"on": "cpu", "tiles": tiles_of("bf16")}
    check("one", "hwcf", element="f32", pipeline=passes, **how)


def test_padding() -> None:
    """A padded image is memory of its own, no larger than that."""
    check("plain", "hwcf", pad=1, on="vulkan")
    pipeline = "coopc-khr{device=lavapipe}"
    found = json.loads(compile(source("plain", "hwcf", 1), pipeline, "abi-json").text)
    (sequence,) = found["sequences"]
    assert [each["elements"] for each in sequence["temporaries"]] == [6 * 18 * 16]


def test_few_channels() -> None:
    """They leave most of a product's K empty: rows do it, and a remark says so."""
    remarks: list[str] = []
    text, pipeline = text_of("conv_i8", None), "coopc-khr{device=nvidia}"
    found = compile(text, pipeline, "mlir", on_remark=remarks.append)
    assert "coopmatrix.mul_add" not in found.text
    assert any("2 channels fill less than half of the K of 32" in x for x in remarks)
