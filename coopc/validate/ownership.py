"""Which lane holds which element of a matrix, where a program can tell.

`length`, `extract`, `insert` and `coord` mean something under a distribution only.
Where neither the kernel nor a pass decides it, the driver does, and does not say how:
then a result depends on the driver if it is not the same under each of `OTHERS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType
from coopc.layout.distribution import Distribution
from coopc.sim.matrices import Provider, coopmatrix_layout, row_slices

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray

OBSERVERS = (
    coopmatrix.LengthOp,
    coopmatrix.ExtractOp,
    coopmatrix.InsertOp,
    coopmatrix.CoordOp,
)
"""Operations by which a program can tell."""


def observers(module: ModuleOp) -> Iterator[Operation]:
    """Yield the operations by which a module can tell who holds what."""
    return (op for op in module.walk() if isinstance(op, OBSERVERS))


@dataclass(frozen=True, slots=True)
class Reversed(Distribution):
    """Another distribution with lanes and components in reverse, and padding first."""

    of: Distribution

    @property
    def components(self) -> int:
        """One more than the other has."""
        return self.of.components + 1

    def _place(self, lane: IntArray, component: IntArray) -> tuple[IntArray, IntArray]:
        last = self.of.components
        row, col = self.of.coordinate(
            self.lanes - 1 - lane, np.minimum(last - component, last - 1)
        )
        return np.where(component == 0, self.rows, row), col


def reversed_layout(matrix: MatrixType, lanes: int) -> Distribution:
    """The coopmatrix layout in reverse."""
    found = coopmatrix_layout(matrix, lanes)
    return Reversed(*found.shape, lanes, found)


OTHERS: Mapping[str, Provider] = {
    "row slices": row_slices,
    "the coopmatrix layout reversed": reversed_layout,
}
"""Distributions that a driver might have, beside the simulator's own."""
