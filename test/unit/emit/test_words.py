"""Vectors of known alignment, which Vulkan loads as words, against numpy."""

from typing import Any

import numpy as np
import pytest

BYTES = {"i8": 1, "f16": 2, "i32": 4, "f32": 4}
NUMPY = {"i8": np.int8, "f16": np.float16, "i32": np.int32, "f32": np.float32}


@pytest.mark.parametrize("element", BYTES)
@pytest.mark.parametrize("width", [4, 8, 16])
def test_load(runner: Any, element: str, width: int) -> None:
    """Work-item i loads the piece at i, of `width` bytes, and stores its bits."""
    count, words = width // BYTES[element], width // 4
    loaded, stored = f"vector<{count}x{element}>", f"vector<{words}xi32>"
    text = f"""
func.func @k(%a: memref<?x{element}>, %r: memref<?xi32>)
    attributes {{simt.kernel, simt.work_group_size = array<i32: 8>}} {{
  %i = simt.local_id x : index
  %count = arith.constant {count} : index
  %words = arith.constant {words} : index
  %from = arith.muli %i, %count : index
  %to = arith.muli %i, %words : index
  %x = vector.load %a[%from] {{alignment = {width} : i64}}
    : memref<?x{element}>, {loaded}
  %y = vector.bitcast %x : {loaded} to {stored}
  vector.store %y, %r[%to] : memref<?xi32>, {stored}
  func.return
}}
"""
    a = np.random.default_rng(width).integers(0, 120, 8 * width, np.uint8)
    a = a.view(NUMPY[element])
    r = np.zeros(8 * words, np.int32)
    found = runner.run(text, [a, r], (1, 1, 1))[1]
    np.testing.assert_array_equal(found, a.view(np.int32))


@pytest.mark.parametrize("alignment", [4, 16])
def test_the_buffer_is_also_written(runner: Any, alignment: int) -> None:
    """What one variable of a buffer wrote, another one reads after a barrier."""
    if runner.flavour == "opencl":
        pytest.skip("OpenCL has one pointer for both")
    text = f"""
func.func @k(%a: memref<32xi32>, %r: memref<32xi32>)
    attributes {{simt.kernel, simt.work_group_size = array<i32: 8>}} {{
  %i = simt.local_id x : index
  %4 = arith.constant 4 : index
  %7 = arith.constant 7 : index
  %at = arith.muli %i, %4 : index
  %n = arith.index_cast %i : index to i32
  memref.store %n, %a[%at] : memref<32xi32>
  simt.barrier workgroup
  %other = arith.subi %7, %i : index
  %from = arith.muli %other, %4 : index
  %x = vector.load %a[%from] {{alignment = {alignment} : i64}}
    : memref<32xi32>, vector<4xi32>
  vector.store %x, %r[%at] : memref<32xi32>, vector<4xi32>
  func.return
}}
"""
    a, r = np.full(32, 100, np.int32), np.zeros(32, np.int32)
    found = runner.run(text, [a, r], (1, 1, 1))[1]
    expected = np.full((8, 4), 100)
    expected[:, 0] = np.arange(7, -1, -1)
    np.testing.assert_array_equal(found, expected.reshape(-1))
