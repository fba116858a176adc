"""Elementwise operations and reductions on this processor, against numpy's copy.

Both are bytes that are read and written, over time that one thread computed, of f32
4096 x 4096 in memory, in turn.  numpy's copy stores past the caches.
"""

from collections.abc import Iterator
from time import process_time

import numpy as np

from bench.harness import Row, interleaved, kernel

SIZE = 4096
KERNELS = {
    "scale": ("m, n", ("parallel", "parallel"), "%r = arith.mulf %x, %half : f32"),
    "sums of rows": ("m", ("parallel", "reduction"), "%r = arith.addf %y, %x : f32"),
    "sums of columns": ("n", ("reduction", "parallel"), "%r = arith.addf %y, %x : f32"),
}
"""The map of the result, the loops, and the body."""


def source(name: str) -> str:
    to, kinds, body = KERNELS[name]
    memory = f"memref<{SIZE}x{SIZE}xf32>"
    result = memory if to == "m, n" else f"memref<{SIZE}xf32>"
    return f"""func.func @f(%a: {memory}, %c: {result}) {{
      %half = arith.constant 0.5 : f32
      %zero = arith.constant 0.0 : f32
      linalg.fill ins(%zero : f32) outs(%c : {result})
      linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>,
          affine_map<(m, n) -> ({to})>],
          iterator_types = [{", ".join(f'"{x}"' for x in kinds)}]}}
          ins(%a : {memory}) outs(%c : {result}) {{
      ^bb0(%x: f32, %y: f32):
        {body}
        linalg.yield %r : f32
      }}
      func.return
    }}"""


def measure() -> Iterator[Row]:
    a = np.random.default_rng(0).standard_normal((SIZE, SIZE), np.float32)
    to = np.empty_like(a)
    for name, (map, _, _) in KERNELS.items():
        c = np.zeros(a.shape if map == "m, n" else SIZE, np.float32)
        run = kernel(source(name), [a, c])
        mine, copy = interleaved((run, lambda: np.copyto(to, a)), clock=process_time)
        moved, copied = 1e-9 * (a.nbytes + c.nbytes), 2e-9 * a.nbytes
        yield Row(f"{name}: coopc", moved / mine, "GB/s")
        yield Row(f"{name}: numpy's copy", copied / copy, "GB/s")
        ratio = moved / mine / (copied / copy)
        yield Row(f"{name}: speed / the copy's", ratio, "", least=1.0)
