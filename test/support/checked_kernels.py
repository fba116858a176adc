"""Kernels with checked accesses to 16 x 16 matrices, partly outside of memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SIZE = 16
POSITIONS = ((0, 0), (-3, 5), (7, -2), (40, 0))
"""Inside, before the first row, before the first column, and all outside."""


@dataclass(frozen=True)
class CheckedKernel:
    """A load and a store, of one layout or of two."""

    load: str
    store: str
    at: tuple[int, int]
    """Where the matrix is loaded from; it is stored to where it would be mirrored."""

    def __str__(self) -> str:
        return f"{self.load}-{self.store}-{self.at[0]},{self.at[1]}"

    @property
    def text(self) -> str:
        memory, matrix = "memref<?x?xf32>", "!coopmatrix.matrix<16x16xf32, acc>"
        row, col = self.at
        return f"""
func.func @k(%a: {memory}, %r: {memory}) attributes {{simt.kernel}} {{
  %i = arith.constant {row} : index
  %j = arith.constant {col} : index
  %x = coopmatrix.load %a[%i, %j] {self.load} checked(rows, cols) : {memory} -> {matrix}
  coopmatrix.store %x, %r[%j, %i] {self.store} checked(rows, cols) : {matrix}, {memory}
  func.return
}}
"""

    @property
    def arrays(self) -> tuple[Array, Array]:
        """What is loaded from, and what is stored to; neither is whole tiles."""
        of = np.arange(1, 1 + 19 * 21, dtype=np.float32).reshape(19, 21)
        return of, -of[:13, :18].copy()

    @property
    def expected(self) -> Array:
        """What the second array is afterwards."""
        source, target = self.arrays
        row, col = self.at
        for i, j in product(range(SIZE), repeat=2):
            p, q = (i, j) if self.load == "row_major" else (j, i)
            inside = 0 <= row + p < source.shape[0] and 0 <= col + q < source.shape[1]
            value = source[row + p, col + q] if inside else 0
            p, q = (i, j) if self.store == "row_major" else (j, i)
            if 0 <= col + p < target.shape[0] and 0 <= row + q < target.shape[1]:
                target[col + p, row + q] = value
        return target


LAYOUTS = "row_major", "col_major"
CHECKED = [CheckedKernel(*x) for x in product(LAYOUTS, LAYOUTS, POSITIONS)]


def with_tensor_addressing(folder: Path) -> str:
    """Write the file of a device that has it, and return the option for pipelines."""
    file = folder / "tensors.toml"
    file.write_text(
        'version = 1\nextends = "nvidia"\nmatrix2 = ["tensor addressing"]\n'
    )
    return f'device="{file}"'
