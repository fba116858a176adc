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

Law (test/unit/layout/test_strided.py checks it by its name):

    digits      the coordinates are those of the digits, added
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
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

    @property
    def in_sizes(self) -> dict[str, int]:
        """The size of each input dimension."""
        return {name: prod(size for size, _ in digits) for name, digits in self.ins}

    @property
    def out_sizes(self) -> dict[str, int]:
        """The size of each output dimension."""
        return dict(self.outs)

    @property
    def reached(self) -> int:
        """How many elements have a place."""
        import numpy as np

        sizes = self.in_sizes
        grid = np.indices(tuple(sizes.values()), np.int64, sparse=True)
        number, inside = np.zeros((), np.int64), np.ones((), np.bool_)
        places = self.apply(dict(zip(sizes, grid, strict=True)))
        for coordinate, (_, size) in zip(places.values(), self.outs, strict=True):
            number = number * size + coordinate
            inside = inside & (coordinate < size)
        return np.unique(number[inside]).size

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
