"""Convolutions and a softmax on one thread of this processor, in f32.

Convolutions against OpenBLAS's product of as many multiplications, packed by nobody: it
has the image as a matrix already, of a row for each pixel and a column for each element
of the window.  The softmax against numpy's copy of the matrix.
"""

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np

from bench.harness import Row, interleaved
from coopc.launcher import LaunchTarget, build
from coopc.remarks import remarks_to
from coopc.run.cpu import Program
from coopc.run.tiles import Tiles
from coopc.source import Source

PIXELS, CHANNELS, WINDOW = 56, 64, 3
ROWS, COLUMNS = 4096, 1024
CONVOLUTIONS = {
    "channels first": ("conv_2d_nchw_fchw", (0, 3, 1, 2), (3, 2, 0, 1)),
    "channels last": ("conv_2d_nhwc_hwcf", (0, 1, 2, 3), (0, 1, 2, 3)),
}
"""The operation, and the dimensions of images and weights, in the order of the last."""


def memory(shape: tuple[int, ...]) -> str:
    return f"memref<{'x'.join(map(str, shape))}xf32>"


def convolution(name: str) -> tuple[str, list[tuple[int, ...]]]:
    """Return a program, and the shapes of its image, weights and result."""
    operation, of_image, of_weights = CONVOLUTIONS[name]
    side = PIXELS + WINDOW - 1
    shapes = [
        tuple(shape[x] for x in order)
        for shape, order in (
            ((1, side, side, CHANNELS), of_image),
            ((WINDOW, WINDOW, CHANNELS, CHANNELS), of_weights),
            ((1, PIXELS, PIXELS, CHANNELS), of_image),
        )
    ]
    x, w, y = map(memory, shapes)
    once = "dense<1> : tensor<2xi64>"
    return (
        f"""func.func @f(%x: {x}, %w: {w}, %y: {y}) {{
      %zero = arith.constant 0.0 : f32
      linalg.fill ins(%zero : f32) outs(%y : {y})
      linalg.{operation} {{dilations = {once}, strides = {once}}}
          ins(%x, %w : {x}, {w}) outs(%y : {y})
      func.return
    }}""",
        shapes,
    )


def softmax() -> str:
    type = memory((ROWS, COLUMNS))
    return f"""func.func @f(%x: {type}, %y: {type}) {{
      linalg.softmax dimension(1) ins(%x : {type}) outs(%y : {type})
      func.return
    }}"""


def runs(text: str, arrays: list[np.ndarray[Any, Any]]) -> Callable[[], object]:
    """Return what runs the only kernel of a program."""
    with remarks_to(lambda _: None):
        built = build(Source(text, "f"), LaunchTarget("cpu", tiles=Tiles.NONE))
    call = built.executable.call(arrays)
    program = Program.of(built.program, Tiles.NONE)
    return program.prepared("f", call.opencl_arguments, call.groups)


def measure() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    operations = 2e-9 * PIXELS**2 * CHANNELS**2 * WINDOW**2
    pixels = rng.standard_normal((PIXELS**2, CHANNELS * WINDOW**2), np.float32)
    weights = rng.standard_normal((CHANNELS * WINDOW**2, CHANNELS), np.float32)
    for name in CONVOLUTIONS:
        text, shapes = convolution(name)
        run = runs(text, [rng.standard_normal(x, np.float32) for x in shapes])
        mine, product = interleaved(
            (run, lambda: np.matmul(pixels, weights)), clock=process_time
        )
        what = f"3x3, {name}"
        yield Row(f"{what}: coopc", operations / mine, "Gop/s")
        yield Row(f"{what}: OpenBLAS's product", operations / product, "Gop/s")
        yield Row(f"{what}: speed / the product's", product / mine, "", least=0.8)
    x = rng.standard_normal((ROWS, COLUMNS), np.float32)
    y, to = np.empty_like(x), np.empty_like(x)
    mine, copy = interleaved(
        (runs(softmax(), [x, y]), lambda: np.copyto(to, x)), clock=process_time
    )
    yield Row(f"softmax {ROWS}x{COLUMNS}: coopc", 1e3 * mine, "ms")
    yield Row(f"softmax {ROWS}x{COLUMNS}: time / the copy's", mine / copy, "")
