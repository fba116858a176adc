"""Strided layouts: named mixed-radix places to coordinates, for sizes of any kind.

An input dimension is a row of *digits*, minor first; digit d counts 0 .. size - 1 and
moves the coordinates by its stride, so that with ordinary addition

    coordinate = the sum over all digits of value * stride

    value of digit d of input x = floor(x / the sizes of the digits before d) mod size

This is what a linear layout cannot say: sizes that are no powers of two.  Coordinates
at or beyond the outputs' sizes are padding.  For example 4 x 15 elements over 16 lanes,

    lane       digits 4 of stride (1, 0), then 4 of stride (0, 1)
    component  one digit, 4 of stride (0, 4)

                   lane 0   lane 1  ..  lane 4  ..  lane 15
    component 0    (0,0)    (1,0)       (0,1)       (3,3)
    component 3    (0,12)   (1,12)      (0,13)      (3,15) = padding

Where sizes and strides are powers of two and no two digits meet in a bit, addition is
exclusive or and the layout is linear too.

Laws (test/unit/layout/test_strided.py checks each by its name):

    digits      the coordinates are those of the digits, added
    linear      to_linear and from_linear agree with the layout wherever both exist
    coopmatrix  the coopmatrix layout is strided, row slices are after flattening
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from coopc.layout.distribution import Distribution
from coopc.layout.linear import LinearLayout, log2

if TYPE_CHECKING:
    from coopc.layout.coopmatrix import CoopmatrixLayout
    from coopc.layout.distribution import IntArray, Ints

Digit: TypeAlias = tuple[int, tuple[int, ...]]
"""(size, stride in each output)."""


@dataclass(frozen=True, slots=True)
class StridedLayout:
    """A strided layout, a frozen, hashable value.

    >>> x = StridedLayout.of(
    ...     {"lane": [(4, (1, 0)), (4, (0, 1))], "component": [(4, (0, 4))]},
    ...     {"row": 4, "col": 15},
    ... )
    >>> x.at(lane=5, component=2)
    {'row': 1, 'col': 9}
    """

    ins: tuple[tuple[str, tuple[Digit, ...]], ...]
    """Input dimensions: name and digits, minor first."""
    outs: tuple[tuple[str, int], ...]
    """Output dimensions: name and size, any number from 1."""

    def __post_init__(self) -> None:
        for name, size in self.outs:
            if size < 1:
                raise ValueError(f"expected {name} to be at least 1, got {size}")
        for name, digits in self.ins:
            for size, stride in digits:
                if size < 1 or len(stride) != len(self.outs) or min(stride) < 0:
                    raise ValueError(
                        f"expected digits of {name} to have a size of at least 1 and "
                        f"{len(self.outs)} strides of at least 0, got {size}, {stride}"
                    )

    @classmethod
    def of(
        cls, ins: Mapping[str, Sequence[Digit]], outs: Mapping[str, int]
    ) -> StridedLayout:
        """Return the layout with these digits and sizes.

        Raises:
            ValueError: a size or stride is out of range.
        """
        return cls(tuple((n, tuple(d)) for n, d in ins.items()), tuple(outs.items()))

    @classmethod
    def of_coopmatrix(cls, layout: CoopmatrixLayout) -> StridedLayout:
        """Return a coopmatrix layout, with inputs `lane` and `component`."""
        rows, packed, k1 = layout.block_rows, layout.channels, layout.k1
        return cls.of(
            {
                "lane": [(rows, (1, 0)), (layout.lanes_per_row, (0, packed))],
                "component": [
                    (packed, (0, 1)),
                    (k1, (rows, 0)),
                    (layout.steps, (0, packed * layout.lanes_per_row)),
                    (layout.blocks // k1, (rows * k1, 0)),
                ],
            },
            {"row": layout.rows, "col": layout.cols},
        )

    @classmethod
    def from_linear(cls, layout: LinearLayout) -> StridedLayout:
        """Return a linear layout as a strided one.

        Raises:
            ValueError: two bases have a bit in common, so that a sum would carry.
        """
        seen = 0
        for name, bases in layout.ins:
            for basis in bases:
                if basis & seen:
                    raise ValueError(
                        f"expected bases without a common bit, got {name} -> "
                        f"{tuple(layout.unpack(basis))} beside one with it"
                    )
                seen |= basis
        ins = {
            name: [(2, basis) for basis in layout.bases(name)]
            for name in layout.in_names
        }
        return cls.of(ins, layout.out_sizes)

    @property
    def in_sizes(self) -> dict[str, int]:
        """The size of each input dimension."""
        return {name: prod(size for size, _ in digits) for name, digits in self.ins}

    @property
    def out_sizes(self) -> dict[str, int]:
        """The size of each output dimension."""
        return dict(self.outs)

    def to_linear(self) -> LinearLayout:
        """Return the layout as a linear one.

        Raises:
            ValueError: a size is no power of two, digits meet in a bit, or there is
                padding.
        """
        bases: dict[str, list[tuple[int, ...]]] = {}
        for name, digits in self.ins:
            bases[name] = [
                tuple(stride << bit for stride in strides)
                for size, strides in digits
                for bit in range(log2(size, f"a digit of {name}"))
            ]
        layout = LinearLayout.of(bases, self.out_sizes)
        StridedLayout.from_linear(layout)  # raises where a sum would carry
        return layout

    def at(self, **place: int) -> dict[str, int]:
        """Return the coordinates of one place; inputs that are left out are 0."""
        return {name: int(value) for name, value in self.apply(place).items()}

    def apply(self, places: Mapping[str, Ints]) -> dict[str, IntArray]:
        """Return the coordinates of places given by numbers or arrays.

        Raises:
            ValueError: a value is out of range, or a dimension does not exist.
        """
        import numpy as np

        sums = [np.zeros((), dtype=np.int64) for _ in self.outs]
        ins, sizes = dict(self.ins), self.in_sizes
        for name, values in places.items():
            if name not in ins:
                raise ValueError(f"expected an input of {list(ins)}, got {name!r}")
            rest = np.asarray(values, dtype=np.int64)
            if np.any((rest < 0) | (rest >= sizes[name])):
                raise ValueError(
                    f"expected {name} to be at least 0 and below {sizes[name]}, "
                    f"got {rest.min()} to {rest.max()}"
                )
            for size, strides in ins[name]:
                digit, rest = rest % size, rest // size
                sums = [s + digit * k for s, k in zip(sums, strides, strict=True)]
        return dict(zip(self.out_sizes, sums, strict=True))


# Strided layouts as distributions: mixed-radix digits over lanes and components.
#
# A strided layout with inputs `lane` and `component` and two outputs, rows and columns,
# is a distribution where every element has a place.  For example the 4 x 15 elements of
# the docstring of `strided`: lanes 4 of (1, 0), 4 of (0, 1), components 4 of (0, 4):
#
#                    lane 0   lane 1  ..  lane 4  ..  lane 15
#     component 0    (0,0)    (1,0)       (0,1)       (3,3)
#     component 3    (0,12)   (1,12)      (0,13)      padding
#
# There is no formula for the inverse: owners are looked up in the table.  The canonical
# owner is the one of the least component, then of the least lane.  The laws of
# `distribution` hold.

INPUTS = ("lane", "component")
PADDING = -1


@dataclass(frozen=True, slots=True)
class StridedDistribution(Distribution):
    """A strided layout that reaches every element, seen as a distribution.

    >>> columns = StridedLayout.of(
    ...     {"lane": [(2, (0, 1))], "component": [(3, (1, 0))]}, {"row": 3, "col": 2}
    ... )
    >>> StridedDistribution.of(columns).element(1, 2)
    (2, 1)
    """

    layout: StridedLayout
    """Inputs `lane` and `component`, in this order, to two outputs."""

    def __post_init__(self) -> None:
        Distribution.__post_init__(self)
        inputs = [name for name, _ in self.layout.ins]
        if sorted(inputs) != sorted(INPUTS):
            raise ValueError(f"expected inputs {list(INPUTS)}, got {inputs}")
        sizes = tuple(self.layout.out_sizes.values())
        if sizes != self.shape:
            raise ValueError(
                f"expected a matrix of {' x '.join(map(str, sizes))}, as its layout "
                f"is, got {self.rows} x {self.cols}"
            )
        import numpy as np

        held = np.unique(self._numbers())
        reached = held.size - (held[0] == PADDING)
        if reached != self.rows * self.cols:
            raise ValueError(
                f"expected a layout that reaches all {self.rows * self.cols} "
                f"elements, got {reached}"
            )

    @classmethod
    def of(
        cls, layout: StridedLayout, shape: tuple[int, int] | None = None
    ) -> StridedDistribution:
        """Return the distribution of a matrix by a layout.

        Args:
            layout: with inputs `lane` and `component` and two outputs.
            shape: (rows, columns) of the matrix; None is the layout's size.

        Raises:
            ValueError: the inputs or the sizes differ, or an element has no place.
        """
        if len(layout.outs) != 2:
            raise ValueError(
                f"expected a layout with two coordinates, got {list(layout.out_sizes)}"
            )
        rows, cols = shape or layout.out_sizes.values()
        return cls(rows, cols, layout.in_sizes.get("lane", 1), layout)

    @property
    def components(self) -> int:
        """V, the components of a lane."""
        return self.layout.in_sizes["component"]

    def _numbers(self) -> IntArray:
        """Return the number of each place's element, component by component."""
        import numpy as np

        rows, cols = self.table()
        return np.where(rows < self.rows, rows * self.cols + cols, PADDING).ravel()

    def _place(self, lane: IntArray, component: IntArray) -> tuple[IntArray, IntArray]:
        places = {"lane": lane, "component": component}
        row, col = self.layout.apply(places).values()
        return row, col

    def _owner(self, row: IntArray, col: IntArray) -> tuple[IntArray, IntArray]:
        import numpy as np

        elements, first = np.unique(self._numbers(), return_index=True)
        place = first[np.searchsorted(elements, row * self.cols + col)]
        return place % self.lanes, place // self.lanes
