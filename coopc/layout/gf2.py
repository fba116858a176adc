r"""Linear maps over GF(2) as lists of integers: elimination, rank and solving.

A map from n bits to m bits is given by the images of the n unit vectors, its *columns*,
each an integer of m bits; addition is exclusive or, so

    image(x) = the exclusive or of columns[i] over the set bits i of x

For example the columns 0b001, 0b100, 0b101, 0b010 have rank 3: column 2 is the sum of
columns 0 and 1.  An `Echelon` keeps, for each leading bit, one vector of the span with
that leading bit and the set of columns whose sum it is:

    leading bit 0:  0b001 = column 0           (combination 0b0001)
    leading bit 1:  0b010 = column 3           (combination 0b1000)
    leading bit 2:  0b100 = column 1           (combination 0b0010)

Laws (test/unit/test_layout_gf2.py checks each by its name):

    solution    image(solve(y)) == y for every y in the span, and no dependent column
                (one that earlier columns span) takes part
    projection  solve is linear, on vectors outside of the span too
    rank        2 ** rank images are different
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def image(columns: Sequence[int], value: int) -> int:
    """Return the image of one input.

    >>> bin(image([0b001, 0b100, 0b101], 0b110))
    '0b1'
    """
    result = 0
    for bit, column in enumerate(columns):
        if value >> bit & 1:
            result ^= column
    return result


@dataclass(frozen=True, slots=True)
class Echelon:
    """The span of some columns, with the combination that gives each vector.

    >>> x = Echelon.of([0b001, 0b100, 0b101, 0b010])
    >>> x.rank, bin(x.dependent), bin(x.solve(0b110))
    (3, '0b100', '0b1010')
    """

    pivots: dict[int, tuple[int, int]]
    """Leading bit -> (vector with that leading bit, combination of columns)."""
    dependent: int
    """The set of columns that earlier columns span."""

    @classmethod
    def of(cls, columns: Sequence[int]) -> Echelon:
        """Eliminate the columns, first to last."""
        pivots: dict[int, tuple[int, int]] = {}
        dependent = 0
        for index, column in enumerate(columns):
            vector, combination = column, 1 << index
            while vector and (pivot := pivots.get(vector.bit_length())):
                vector ^= pivot[0]
                combination ^= pivot[1]
            if vector:
                pivots[vector.bit_length()] = vector, combination
            else:
                dependent |= 1 << index
        return cls(pivots, dependent)

    @property
    def rank(self) -> int:
        """The number of independent columns."""
        return len(self.pivots)

    def solve(self, vector: int) -> int:
        """Return a combination of independent columns with that sum.

        A vector outside of the span is first projected on it, along the unit vectors
        of the bits that lead no vector of the span.
        """
        combination = 0
        while vector:
            lead = vector.bit_length()
            pivot = self.pivots.get(lead)
            if pivot is None:
                vector ^= 1 << lead - 1
            else:
                vector ^= pivot[0]
                combination ^= pivot[1]
        return combination

    def spans(self, vector: int) -> bool:
        """Return whether the vector is a sum of columns."""
        while vector and (pivot := self.pivots.get(vector.bit_length())):
            vector ^= pivot[0]
        return not vector
