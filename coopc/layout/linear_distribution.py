r"""Linear layouts as distributions: a tile of two dimensions over lanes and registers.

A linear layout with two outputs, rows and columns, is a distribution.  Its components
are the values of `register`; its lanes those of all other inputs, flattened, so that

    lane = lane + |lane| (warp + |warp| block)

which is the local linear id of a work-group, or the lane where there is one subgroup.
The matrix may be smaller than the layout: places beyond it are padding.  For example
5 x 8 elements of an 8 x 8 tile with register -> (1,0) (2,0) and lane -> (0,1) (0,2)
(0,4) (4,0), where the second half of the lanes holds row 4 and padding:

                  lane 0 .. 7        lane 8 .. 15
    register 0    (0,0) .. (0,7)     (4,0) .. (4,7)
    register 1    (1,0) .. (1,7)     padding
    register 2    (2,0) .. (2,7)     padding
    register 3    (3,0) .. (3,7)     padding

The laws of `distribution` hold; the canonical owner has all free bits 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from coopc.layout.algebra import pseudo_invert, reshape_ins, transpose_ins
from coopc.layout.distribution import Distribution
from coopc.layout.linear import LinearLayout

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray

REGISTER = "register"


@dataclass(frozen=True, slots=True)
class LinearDistribution(Distribution):
    """A surjective linear layout of rows and columns, seen as a distribution.

    >>> tile = LinearLayout.of(
    ...     {"register": [(1, 0)], "lane": [(0, 1), (0, 2)]}, {"dim0": 2, "dim1": 4}
    ... )
    >>> x = LinearDistribution.of(tile)
    >>> x.lanes, x.components, x.element(3, 1)
    (4, 2, (1, 3))
    """

    layout: LinearLayout
    """Inputs `register` and `lane`, in this order, to two outputs."""

    def __post_init__(self) -> None:
        Distribution.__post_init__(self)
        rows, cols = self.layout.out_sizes.values()
        if self.rows > rows or self.cols > cols:
            raise ValueError(
                f"expected a matrix of {self.rows} x {self.cols} to be within its "
                f"layout, which is of {rows} x {cols}"
            )
        if not self.layout.is_surjective:
            raise ValueError(
                f"expected a layout that reaches every element, got rank "
                f"{self.layout.rank} for {self.layout.out_bits} bits"
            )

    @classmethod
    def of(
        cls, layout: LinearLayout, shape: tuple[int, int] | None = None
    ) -> LinearDistribution:
        """Return the distribution of a matrix by a layout.

        Args:
            layout: its inputs but `register` are flattened in order; it has two
                outputs, rows first.
            shape: (rows, columns) of the matrix; None is the layout's size.

        Raises:
            ValueError: the layout has not two outputs, is too small, or does not reach
                every element.
        """
        if len(layout.outs) != 2:
            raise ValueError(
                f"expected a layout with two coordinates, got {list(layout.out_names)}"
            )
        sizes = layout.in_sizes
        registers = sizes.get(REGISTER, 1)
        lanes = prod(size for name, size in sizes.items() if name != REGISTER)
        if REGISTER in sizes:
            names = (REGISTER, *(n for n in sizes if n != REGISTER))
            layout = transpose_ins(layout, names)
        layout = reshape_ins(layout, {REGISTER: registers, "lane": lanes})
        rows, cols = shape or layout.out_sizes.values()
        return cls(rows, cols, lanes, layout)

    @property
    def components(self) -> int:
        """V, the registers of a lane."""
        return self.layout.in_sizes[REGISTER]

    def _place(self, lane: IntArray, component: IntArray) -> tuple[IntArray, IntArray]:
        """See `Distribution`."""
        row, col = self.layout.apply({REGISTER: component, "lane": lane}).values()
        return row, col

    def _owner(self, row: IntArray, col: IntArray) -> tuple[IntArray, IntArray]:
        """See `Distribution`."""
        names = self.layout.out_names
        places = pseudo_invert(self.layout).apply({names[0]: row, names[1]: col})
        return places["lane"], places[REGISTER]
