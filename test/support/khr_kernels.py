"""Kernels of one subgroup on 8 x 8 matrices, for `coopc-khr` and lavapipe."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Groups: TypeAlias = tuple[int, int, int]
"""Work-groups along x, y, z."""

ONE: Groups = (1, 1, 1)
PIPELINE = "coopc-khr{device=lavapipe}"
F = "!coopmatrix.matrix<8x8xf32, acc>"
INT = "!coopmatrix.matrix<8x8xi32, acc>"
ANY_F, ANY_I = "memref<?x?xf32>", "memref<?x?xi32>"


def kernel(body: str, arguments: str, size: int | None = None) -> str:
    """Return a kernel, @k, whose body may use %0, %1, %4, %8 and %m3.

    Args:
        body: operations, without the return.
        arguments: names and types.
        size: work-items of a work-group, in subgroups of 8; where it is absent, one
            subgroup of the device's size.
    """
    sizes = "" if size is None else f", simt.work_group_size = array<i32: {size}>"
    sizes += "" if size is None else ", simt.subgroup_size = 8 : i32"
    return f"""
func.func @k({arguments}) attributes {{simt.kernel{sizes}}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  %m3 = arith.constant -3 : index
{body}
  func.return
}}
"""


def numbers(rows: int, cols: int, dtype: Any = np.float32) -> Array:
    """Return small numbers, of which all sums are exact."""
    return ((np.arange(rows * cols).reshape(rows, cols) * 7) % 23 - 11).astype(dtype)
