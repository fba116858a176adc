"""Convolutions, a softmax, a transpose and attention on one thread of this processor.

All in f32.  Convolutions against OpenBLAS's product of as many multiplications, packed
by nobody: it has the image as a matrix already, of a row for each pixel and a column
for each element of the window.  The softmax and the transpose against numpy's copy of
the matrix.  Attention, three kernels launched from Python, against its two products by
OpenBLAS.  A launch of a small kernel from Python is mostly the launch.
"""

from collections.abc import Iterator
from pathlib import Path
from time import process_time

import numpy as np

from bench.harness import Row, interleaved, kernel
from coopc.launcher import load
from coopc.remarks import remarks_to

PIXELS, CHANNELS, WINDOW = 56, 64, 3
ROWS, COLUMNS = 4096, 1024
SIDE = 2048
"""Of the square matrix that is transposed."""
HEADS, LENGTH, HEAD = 8, 256, 64
"""Of attention: heads, rows of Q, K and V, and their columns."""
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


def transpose() -> str:
    type = memory((SIDE, SIDE))
    return f"""func.func @f(%x: {type}, %y: {type}) {{
      linalg.transpose ins(%x : {type}) outs(%y : {type}) permutation = [1, 0]
      func.return
    }}"""


def attention() -> str:
    q, s = (f"tensor<{HEADS}x{LENGTH}x{n}xf32>" for n in (HEAD, LENGTH))
    maps = ", ".join(
        f"affine_map<(b, m, n, k) -> (b, {x})>" for x in ("m, k", "n, k", "m, n")
    )
    return f"""func.func @f(%q: {q}, %k: {q}, %v: {q}) -> {q} {{
      %zero = arith.constant 0.0 : f32
      %0 = tensor.empty() : {s}
      %1 = linalg.fill ins(%zero : f32) outs(%0 : {s}) -> {s}
      %2 = linalg.batch_matmul indexing_maps = [{maps}]
          ins(%q, %k : {q}, {q}) outs(%1 : {s}) -> {s}
      %3 = linalg.softmax dimension(2) ins(%2 : {s}) outs(%0 : {s}) -> {s}
      %4 = tensor.empty() : {q}
      %5 = linalg.fill ins(%zero : f32) outs(%4 : {q}) -> {q}
      %6 = linalg.batch_matmul ins(%3, %v : {s}, {q}) outs(%5 : {q}) -> {q}
      func.return %6 : {q}
    }}"""


def beside_copy(
    what: str, text: str, shape: tuple[int, int], rng: np.random.Generator
) -> Iterator[Row]:
    """Measure a program from one matrix to another, and the copy of a matrix."""
    x = rng.standard_normal(shape, np.float32)
    y, to = np.empty_like(x), np.empty_like(x)
    mine, copy = interleaved(
        (kernel(text, [x, y]), lambda: np.copyto(to, x)), clock=process_time
    )
    what = f"{what} {shape[0]}x{shape[1]}"
    yield Row(f"{what}: coopc", 1e3 * mine, "ms")
    yield Row(f"{what}: time / the copy's", mine / copy, "")


def measure() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    operations = 2e-9 * PIXELS**2 * CHANNELS**2 * WINDOW**2
    pixels = rng.standard_normal((PIXELS**2, CHANNELS * WINDOW**2), np.float32)
    weights = rng.standard_normal((CHANNELS * WINDOW**2, CHANNELS), np.float32)
    for name in CONVOLUTIONS:
        text, shapes = convolution(name)
        run = kernel(text, [rng.standard_normal(x, np.float32) for x in shapes])
        mine, product = interleaved(
            (run, lambda: np.matmul(pixels, weights)), clock=process_time
        )
        what = f"3x3, {name}"
        yield Row(f"{what}: coopc", operations / mine, "Gop/s")
        yield Row(f"{what}: OpenBLAS's product", operations / product, "Gop/s")
        yield Row(f"{what}: speed / the product's", product / mine, "", least=0.8)
    yield from beside_copy("softmax", softmax(), (ROWS, COLUMNS), rng)
    yield from beside_copy("transpose", transpose(), (SIDE, SIDE), rng)
    shape = HEADS, LENGTH, HEAD
    q, k, v = (rng.standard_normal(shape, np.float32) for _ in range(3))
    with remarks_to(lambda _: None):
        attend = load(attention(), on="cpu", tiles="none")
        small = load(Path("examples/gemm.mlir"), on="cpu", tiles="none")
    scores, result = np.empty((HEADS, LENGTH, LENGTH), np.float32), np.empty_like(q)

    def products() -> None:
        np.matmul(q, k.swapaxes(1, 2), out=scores)
        np.matmul(scores, v)

    mine, peer = interleaved(
        (lambda: attend.run(q, k, v, result), products), clock=process_time
    )
    what = f"attention {HEADS}x{LENGTH}x{HEAD}"
    yield Row(f"{what}: coopc", 1e3 * mine, "ms")
    yield Row(f"{what}: time / its products' by OpenBLAS", mine / peer, "")
    m, n, k_size = 64, 32, 48
    a, b = np.ones((m, k_size), np.float16), np.ones((k_size, n), np.float16)
    c = np.zeros((m, n), np.float32)
    (mine,) = interleaved((lambda: small.run(a, b, c),), clock=process_time)
    yield Row(f"launch of {m}x{n}x{k_size} from Python", 1e6 * mine, "us")
