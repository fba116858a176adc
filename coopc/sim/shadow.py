"""Shadow memory: what is known of a buffer beside its contents.

A cell is some bytes, as many as an element of the buffer has; where a view has narrower
elements, cells are divided.  Known is who accessed a cell last (`races`), whether
anything was written to it (`written`), and how far from the exact number a float is
that it holds a part of (`errors`, in runs that track them).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from xdsl.ir import Attribute

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.races import RaceDetector
from coopc.sim.values import Array

T = TypeVar("T")


@dataclass(slots=True)
class StoredErrors:
    """Bounds of the errors of the floats in memory, by cell."""

    bounds: Array
    types: Array
    """The type of the float that a cell with a bound holds, by its number."""
    numbers: dict[Attribute, int]
    """Of types."""
    is_exact: bool = True
    """Whether no bound was ever greater than 0."""

    @classmethod
    def none(cls, cells: int) -> StoredErrors:
        """Return the bounds of exact numbers."""
        return cls(np.zeros(cells), np.zeros(cells, np.int8), {})

    def refine(self, times: int) -> None:
        """Take each cell as so many smaller ones."""
        self.bounds = np.repeat(self.bounds, times)
        self.types = np.repeat(self.types, times)

    def load(self, cells: Array, type: Attribute) -> tuple[Array, Array]:
        """Return the bounds of elements, and which were stored as another type.

        Args:
            cells: (..., parts), of each element.
            type: that the elements are read as.
        """
        found = self.bounds[cells]
        other = self.types[cells] != self.numbers.get(type, -1)
        lost = ((found > 0) & other).any(axis=-1)
        return np.where(lost, 0.0, found.max(axis=-1)), lost

    def store(self, cells: Array, bounds: Array | None, type: Attribute) -> None:
        """Keep the bounds of elements.

        Args:
            cells: (..., parts), of each element.
            bounds: (...); 0 if it is None.
            type: of the elements.
        """
        if bounds is None or not bounds.any():
            if not self.is_exact:
                self.bounds[cells] = 0.0
            return
        self.is_exact = False
        self.bounds[cells] = bounds[..., None]
        self.types[cells] = self.numbers.setdefault(type, len(self.numbers))


@dataclass(slots=True)
class Shadow:
    """What is known of a buffer."""

    name: str
    """Of the buffer."""
    element_bytes: int
    """Of the buffer's own elements."""
    elements: int
    """That one work-item sees."""
    cell_bytes: int
    """Of a cell."""
    is_shared: bool = False
    """Whether it is memory of a work-group."""
    races: RaceDetector | None = None
    written: Array | None = None
    errors: StoredErrors | None = None

    def cells(self, places: Array, bytes: int) -> Array:
        """Return the cells of some elements: (..., parts).

        Args:
            places: numbers of elements, in the row of all.
            bytes: of an element.
        """
        if bytes < self.cell_bytes:
            self._refine(self.cell_bytes // bytes)
        parts = bytes // self.cell_bytes
        if parts == 1:
            return places[..., None]
        return places[..., None] * parts + np.arange(parts)

    def _refine(self, times: int) -> None:
        """Divide each cell into so many."""
        if self.races is not None:
            self.races.refine(times)
        if self.written is not None:
            self.written = np.repeat(self.written, times)
        if self.errors is not None:
            self.errors.refine(times)
        self.cell_bytes //= times

    def check_written(self, cells: Array, active: Array | None) -> None:
        """Check that something was written to what is read.

        Args:
            cells: (..., parts), of each element.
            active: which elements are read; all if it is None.

        Raises:
            UndefinedBehaviour: nothing was.
        """
        if self.written is None:
            return
        known = self.written[cells].all(axis=-1)
        wrong = ~known if active is None else ~known & active
        if wrong.any():
            first = np.broadcast_to(cells[..., 0], wrong.shape)[wrong].flat[0]
            raise UndefinedBehaviour(
                f"uninitialised memory: expected a store before {self.element(first)} "
                "is read"
            )

    def element(self, cell: int) -> str:
        """Return what a cell is a part of, in words."""
        number = int(cell) * self.cell_bytes // self.element_bytes
        return f"element {number % max(self.elements, 1)} of {self.name}"


@dataclass(slots=True)
class Shadows:
    """What shadows the buffers of a simulation have."""

    waited: Array
    """Which work-groups of the grid may have waited for others: see `races`."""
    finds_races: bool
    tracks_errors: bool

    def of(
        self, data: Array, name: str, *, is_new: bool, axes: int, may_race: bool
    ) -> Shadow | None:
        """Return the shadow of a buffer; None if nothing is to be known of it.

        Args:
            data: its contents.
            name: of the buffer.
            is_new: whether nothing is written there yet.
            axes: how many of the leading axes it has: 1 of a work-group's.
            may_race: whether several work-items see it, and one may write.
        """
        races = may_race and self.finds_races
        if not (races or is_new or self.tracks_errors):
            return None
        cells, bytes = data.size, data.dtype.itemsize
        return Shadow(
            name,
            bytes,
            data.shape[-1],
            bytes,
            axes == 1,
            RaceDetector(cells, self.waited, axes == 1) if races else None,
            np.zeros(cells, np.bool_) if is_new else None,
            StoredErrors.none(cells) if self.tracks_errors else None,
        )
