r"""Placements: the coordinates of all places of a layout, as one array.

Pictures, JSON and comparisons read a layout of any kind through its placement, which is
indexed by block, subgroup, register and lane.  For example 2 x 3 elements as row slices
over 4 lanes, one block, one subgroup and two registers:

    coordinates[0, 0]    lane 0    lane 1    lane 2    lane 3
    register 0           (0,0)     (0,1)     (0,2)     (1,0)
    register 1           (1,1)     (1,2)     (2,0)     (2,1)

(2,0) and (2,1) are padding: they lie beyond the tensor, and say where the formula would
go on.

Laws (test/unit/layout/test_placement.py checks each by its name):

    linear         the coordinates are those of the linear layout
    distribution   the coordinates are those of the distribution, padding beyond it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coopc.layout.encoding import INPUTS, with_inputs

if TYPE_CHECKING:
    from coopc.layout.distribution import BoolArray, Distribution, IntArray
    from coopc.layout.linear import LinearLayout


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where each place of a layout points.

    >>> from coopc.layout.row_slice import RowSlices
    >>> x = Placement.of_distribution(RowSlices(2, 3, lanes=4))
    >>> x.sizes
    {'register': 2, 'lane': 4, 'warp': 1, 'block': 1}
    >>> x.lists()[0][0][1]
    [[1, 1], [1, 2], None, None]
    """

    shape: tuple[int, ...]
    """The sizes of the tensor."""
    coordinates: IntArray
    """By block, subgroup, register, lane and dimension; beyond `shape` is padding."""

    @classmethod
    def of_linear(cls, layout: LinearLayout) -> Placement:
        """Return the placement of a layout with inputs of `encoding.INPUTS`."""
        import numpy as np

        layout = with_inputs(layout)
        tables = [table.transpose(3, 2, 0, 1) for table in layout.table().values()]
        return cls(tuple(layout.out_sizes.values()), np.stack(tables, axis=-1))

    @classmethod
    def of_distribution(cls, x: Distribution) -> Placement:
        """Return the placement of a matrix over the lanes of one subgroup."""
        import numpy as np

        return cls(x.shape, np.stack(x.unclipped_table(), axis=-1)[None, None])

    @property
    def sizes(self) -> dict[str, int]:
        """How many registers, lanes, subgroups and blocks there are."""
        blocks, warps, registers, lanes = self.coordinates.shape[:4]
        return dict(zip(INPUTS, (registers, lanes, warps, blocks), strict=True))

    @property
    def inside(self) -> BoolArray:
        """Which places hold an element, by block, subgroup, register and lane."""
        import numpy as np

        return np.all(self.coordinates < np.array(self.shape), axis=-1)

    @property
    def extent(self) -> tuple[int, ...]:
        """The sizes of the tensor with its padding."""
        import numpy as np

        far = self.coordinates.reshape(-1, len(self.shape)).max(axis=0) + 1
        return tuple(np.maximum(far, self.shape).tolist())

    def lists(self) -> list[Any]:
        """Return the coordinates as lists in lists, with None for padding."""
        values: list[Any] = self.coordinates.tolist()
        inside: list[Any] = self.inside.tolist()
        return [
            [
                [
                    [x if held else None for x, held in zip(xs, helds, strict=True)]
                    for xs, helds in zip(registers, flags, strict=True)
                ]
                for registers, flags in zip(warps, warp_flags, strict=True)
            ]
            for warps, warp_flags in zip(values, inside, strict=True)
        ]
