"""`coord` under SPV_KHR_cooperative_matrix: a driver says where it has its elements."""

from typing import Any

import numpy as np
import pytest

import coopc
from coopc.compiler import new_context
from coopc.interface_call import pack
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

PIPELINE = "coopc-khr{device=lavapipe}"
TYPES = {"a f16": "f2", "b f16": "f2", "acc f32": "f4", "a i8": "i1", "acc i32": "i4"}
KERNEL = """
func.func @k(%m: memref<8x8x{t}>, %p: memref<8x8xi32>, %q: memref<8x8x{t}>)
    attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %ten = arith.constant 10 : index
  %lane = simt.lane_id : index
  %x = coopmatrix.load %m[%0, %0] row_major : memref<8x8x{t}> -> {matrix}
  %n = coopmatrix.length {matrix} : index
  scf.for %i = %0 to %n step %1 {{
    %r, %c = coopmatrix.coord %x[%i] : {matrix}
    %first = arith.cmpi ult, %r, %4 : index
    scf.if %first {{
      %tens = arith.muli %r, %ten : index
      %sum = arith.addi %tens, %c : index
      %number = arith.index_cast %sum : index to i32
      memref.store %number, %p[%r, %c] : memref<8x8xi32>
      %e = coopmatrix.extract %x[%i] : {matrix}
      memref.store %e, %q[%c, %r] : memref<8x8x{t}>
    }}
  }}
  func.return
}}
"""


@pytest.mark.parametrize("type", TYPES)
def test_coordinates(type: str, lavapipe: Session) -> None:
    """Each lane writes its elements where they belong, in control flow that differs."""
    use, t = type.split()
    matrix = f"!coopmatrix.matrix<8x8x{t}, {use}>"
    text = KERNEL.format(t=t, matrix=matrix)
    dtype: Any = np.dtype(TYPES[type])
    m = np.arange(64).reshape(8, 8).astype(dtype)
    expected = np.zeros((8, 8), np.int32)
    expected[:4] = 10 * np.arange(4)[:, None] + np.arange(8)
    transposed = np.zeros((8, 8), dtype)
    transposed[:, :4] = m[:4].T
    artifact = coopc.compile(text, PIPELINE)
    arrays = [m, np.zeros((8, 8), np.int32), np.zeros_like(m)]
    found = on_vulkan(
        artifact.bytes, pack(artifact.interface[0], arrays, (1, 1, 1)), lavapipe
    ).arrays
    np.testing.assert_array_equal(found[1], expected)
    np.testing.assert_array_equal(found[2], transposed)
    universe = everything()
    source, context = Source(text, "test"), new_context(universe)
    for pipeline in ("", PIPELINE):
        module = parse(context, source)
        Run(context, source).apply(module, read_passes(pipeline, universe.all_passes))
        given = [x.copy() for x in arrays]
        simulate(module, "k", given, grid=(1, 1, 1), subgroup_size=8)
        np.testing.assert_array_equal(given[1], expected, err_msg=pipeline)
        np.testing.assert_array_equal(given[2], transposed, err_msg=pipeline)


PLACES = """
func.func @k(%m: memref<{m}x{n}x{t}>, %p: memref<{m}x{n}xi32>)
    attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %thousand = arith.constant 1000 : index
  %rows = arith.constant {m} : index
  %x = coopmatrix.load %m[%0, %0] row_major : memref<{m}x{n}x{t}> -> {matrix}
  %n = coopmatrix.length {matrix} : index
  scf.for %i = %0 to %n step %1 {{
    %r, %c = coopmatrix.coord %x[%i] : {matrix}
    %inside = arith.cmpi ne, %r, %rows : index
    scf.if %inside {{
      %thousands = arith.muli %r, %thousand : index
      %sum = arith.addi %thousands, %c : index
      %number = arith.index_cast %sum : index to i32
      memref.store %number, %p[%r, %c] : memref<{m}x{n}xi32>
    }}
  }}
  func.return
}}
"""


@pytest.mark.parametrize(
    ("device", "rows", "cols", "element"),
    [
        ("rdna4", 16, 16, "f8E5M2"),
        ("rdna4", 16, 16, "f8E4M3FN"),
        ("any{subgroup-size=32}", 8, 300, "i8"),
        ("any{subgroup-size=32}", 300, 8, "bf16"),
        ("bmg", 5, 32, "i8"),
    ],
    ids=["f8E5M2", "f8E4M3FN", "i8", "bf16", "padding"],
)
def test_places(device: str, rows: int, cols: int, element: str) -> None:
    """Also of numbers that elements do not hold, and not of slots without an element.

    Of no known driver slots are without: the simulator has such, of 5 rows.
    """
    matrix = f"!coopmatrix.matrix<{rows}x{cols}x{element}, a>"
    text = PLACES.format(m=rows, n=cols, t=element, matrix=matrix)
    universe, source = everything(), Source(text, "test")
    context = new_context(universe)
    module = parse(context, source)
    pipeline = f"coopc-khr{{device={device}}}"
    Run(context, source).apply(module, read_passes(pipeline, universe.all_passes))
    code: Any = {"bf16": np.uint16, "i8": np.int8}.get(element, np.uint8)
    found = np.full((rows, cols), -1, np.int32)
    simulate(module, "k", [np.zeros((rows, cols), code), found], grid=(1, 1, 1))
    expected = 1000 * np.arange(rows)[:, None] + np.arange(cols)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("operation", ["rem", "rem signed", "div"])
def test_slots_without_elements_are_not_divided_by(operation: str) -> None:
    matrix = "!coopmatrix.matrix<17x1xi32, acc>"
    text = f"""
    func.func @k(%m: memref<17x16xi32>) attributes {{simt.kernel}} {{
      %0 = arith.constant 0 : index
      %three = arith.constant 3 : i32
      %x = coopmatrix.load %m[%0, %0] row_major : memref<17x16xi32> -> {matrix}
      %y = coopmatrix.fill %three : i32 -> {matrix}
      %z = coopmatrix.{operation} %x, %y : {matrix}
      coopmatrix.store %z, %m[%0, %0] row_major : {matrix}, memref<17x16xi32>
      func.return
    }}
    """
    universe, source = everything(), Source(text, "test")
    context = new_context(universe)
    module = parse(context, source)
    pipeline = "coopc-khr{device=any{subgroup-size=32}}"
    Run(context, source).apply(module, read_passes(pipeline, universe.all_passes))
    numbers = np.arange(17 * 16, dtype=np.int32).reshape(17, 16)
    found = numbers.copy()
    simulate(module, "k", [found], grid=(1, 1, 1))
    expected = numbers // 3 if operation == "div" else numbers % 3
    np.testing.assert_array_equal(found[:, 0], expected[:, 0])
