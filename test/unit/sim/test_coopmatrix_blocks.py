"""Matrices in Arm's interleaved blocks: the layout's sentences, one after the other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import kernel

from coopc.sim.simulate import simulate

TYPES = {"i8": np.int8, "f16": np.float16, "i32": np.int32}


def interleaved(matrix: Any, by_rows: bool, group: int) -> Any:
    """Return memory of a matrix, as SPV_ARM_cooperative_matrix_layouts describes it."""
    rows, cols = matrix.shape
    width = 16 // matrix.itemsize
    # "Each block stores a sub-matrix of 4 rows", "laid out in row-major order".
    blocks = matrix.reshape(rows // 4, 4, cols // width, width).swapaxes(1, 2)
    # "Blocks are laid out in row-major order", or in column-major order.
    lines = blocks if by_rows else blocks.swapaxes(0, 1)
    words = np.ascontiguousarray(lines).reshape(-1).view(np.uint32)
    words = words.reshape(-1, group, 16)
    # "Blocks are interleaved at a 4-byte granularity in groups".
    return np.ascontiguousarray(words.swapaxes(1, 2)).reshape(-1).view(matrix.dtype)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, bool, int, int, int]:
    """An element type, the layout, blocks along rows and columns, and of a group."""
    down, along = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    by_rows = draw(st.booleans())
    blocks = along if by_rows else down
    group = draw(st.sampled_from([x for x in range(1, 5) if blocks % x == 0]))
    return draw(st.sampled_from([*TYPES])), by_rows, down, along, group


@settings(max_examples=30, deadline=None)
@given(cases())
def test_blocks(case: tuple[str, bool, int, int, int]) -> None:
    """What is loaded is stored as it was, and is the matrix that the text describes."""
    element, by_rows, down, along, group = case
    dtype = np.dtype(TYPES[element])
    rows, cols = 4 * down, 16 // dtype.itemsize * along
    lines, length = (down, 4 * cols) if by_rows else (along, rows * cols // along)
    blocked, dense = f"memref<{lines}x{length}x{element}>", f"{rows}x{cols}x{element}"
    layout = f"{'row' if by_rows else 'col'}_blocked interleave = {group}"
    matrix = f"!coopmatrix.matrix<{dense}, acc>"
    module = kernel(
        f"%x: {blocked}, %y: memref<{dense}>, %z: {blocked}",
        f"""
        %0 = arith.constant 0 : index
        %m = coopmatrix.load %x[%0, %0] {layout} : {blocked} -> {matrix}
        coopmatrix.store %m, %y[%0, %0] row_major : {matrix}, memref<{dense}>
        coopmatrix.store %m, %z[%0, %0] {layout} : {matrix}, {blocked}
        """,
        lanes=4,
    )
    expected = np.arange(rows * cols).reshape(rows, cols).astype(dtype)
    x = interleaved(expected, by_rows, group).reshape(lines, length)
    y, z = np.zeros_like(expected), np.zeros_like(x)
    simulate(module, "f", [x, y, z])
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, x)


@pytest.mark.parametrize("by_rows", [True, False])
def test_groups_matter(by_rows: bool) -> None:
    """Blocks of a group share their words, so that the first 8 bytes are of two."""
    matrix = np.arange(64, dtype=np.int32).reshape(8, 8)
    found = [interleaved(matrix, by_rows, group)[:2].tolist() for group in (1, 2)]
    assert found == [[0, 1], [0, 4 if by_rows else 32]]
