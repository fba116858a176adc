"""Products on plain lanes, beside a naive kernel on Intel's OpenCL runtime for CPUs.

C = A B of 256 x 256 matrices: by tiles that a subgroup holds, and by work-items that
each add up one element of C in a loop over K.  Both are compiled by coopc and run in
turn; the bounds are half the time of the naive kernel, and 40 kB for the largest tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np

import coopc
from bench.harness import Row
from coopc.compiler import Artifact
from coopc.interface_call import pack
from coopc.run.execute import on_opencl
from coopc.run.opencl import Session

SIZE = 256
SUBGROUPS = (4, 8, 16, 32, 64)
TILES = (16, 32)
ELEMENTS = {"f32": np.float32, "f16": np.float16}
SHARE = 0.5
"""Of the time of the naive kernel, at most."""
MOST_BYTES = 40_000
"""Of a module with a tile of 32 x 32 x 32."""
ROUNDS, REPEATS = 3, 7


def tiled(tile: int, element: str) -> str:
    memory, sums = f"memref<?x?x{element}>", "memref<?x?xf32>"
    a, b = (f"!coopmatrix.matrix<{tile}x{tile}x{element}, {use}>" for use in "ab")
    acc = f"!coopmatrix.matrix<{tile}x{tile}xf32, acc>"
    return f"""
func.func @gemm(%a: {memory}, %b: {memory}, %c: {sums}) attributes {{simt.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.constant {tile} : index
  %zero = arith.constant 0.0 : f32
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %step : index
  %col = arith.muli %x, %step : index
  %end = memref.dim %a, %c1 : {memory}
  %start = coopmatrix.fill %zero : f32 -> {acc}
  %sum = scf.for %k = %c0 to %end step %step iter_args(%now = %start) -> ({acc}) {{
    %p = coopmatrix.load %a[%row, %k] row_major : {memory} -> {a}
    %q = coopmatrix.load %b[%k, %col] row_major : {memory} -> {b}
    %next = coopmatrix.mul_add %p, %q, %now : {a}, {b}, {acc}
    scf.yield %next : {acc}
  }}
  coopmatrix.store %sum, %c[%row, %col] row_major : {acc}, {sums}
  func.return
}}"""


def naive(element: str) -> str:
    memory, sums = f"memref<?x?x{element}>", "memref<?x?xf32>"
    wide = (
        ""
        if element == "f32"
        else f"""
    %v = arith.extf %p : {element} to f32
    %w = arith.extf %q : {element} to f32"""
    )
    v, w = ("%p", "%q") if element == "f32" else ("%v", "%w")
    return f"""
func.func @gemm(%a: {memory}, %b: {memory}, %c: {sums}) attributes {{
    simt.kernel, simt.work_group_size = array<i32: 16, 16>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %c16 = arith.constant 16 : index
  %gx = simt.workgroup_id x : index
  %gy = simt.workgroup_id y : index
  %lx = simt.local_id x : index
  %ly = simt.local_id y : index
  %x = arith.muli %gx, %c16 : index
  %y = arith.muli %gy, %c16 : index
  %col = arith.addi %x, %lx : index
  %row = arith.addi %y, %ly : index
  %end = memref.dim %a, %c1 : {memory}
  %sum = scf.for %k = %c0 to %end step %c1 iter_args(%now = %zero) -> (f32) {{
    %p = memref.load %a[%row, %k] : {memory}
    %q = memref.load %b[%k, %col] : {memory}{wide}
    %product = arith.mulf {v}, {w} fastmath<contract> : f32
    %next = arith.addf %now, %product fastmath<contract> : f32
    scf.yield %next : f32
  }}
  memref.store %sum, %c[%row, %col] : {sums}
  func.return
}}"""


def milliseconds(
    artifact: Artifact, group: int, element: str, session: Session
) -> float:
    """Return the median time of a kernel whose work-groups have squares of C."""
    rng = np.random.default_rng(0)
    shape = SIZE, SIZE
    a, b = (rng.integers(-4, 5, shape).astype(ELEMENTS[element]) for _ in "ab")
    arrays = [a, b, np.zeros(shape, np.float32)]
    grid = SIZE // group, SIZE // group, 1
    call = pack(artifact.interface[0], arrays, grid)
    found = on_opencl(artifact.bytes, call, session, repeats=1 + REPEATS)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    assert np.array_equal(found.arrays[2], expected)
    return median(found.milliseconds[1:])


def measure() -> Iterator[Row]:
    with Session.start() as session:
        for element in ELEMENTS:
            peer = coopc.compile(naive(element), "set-target{device=intel-cpu}")
            for tile in TILES:
                for lanes in SUBGROUPS:
                    pipeline = f"coopc-lanes{{device=intel-cpu subgroup-size={lanes}}}"
                    ours = coopc.compile(tiled(tile, element), pipeline)
                    pairs = [
                        (
                            milliseconds(ours, tile, element, session),
                            milliseconds(peer, 16, element, session),
                        )
                        for _ in range(ROUNDS)
                    ]
                    time, theirs = map(median, zip(*pairs, strict=True))
                    name = f"{element} {tile}^3, {lanes} lanes: {time:.2f} ms"
                    yield Row(f"{name} of {theirs:.2f}", time / theirs, "times", SHARE)
                    size, bound = len(ours.bytes), MOST_BYTES if tile == 32 else None
                    yield Row("  its binary", size, "bytes", bound)
