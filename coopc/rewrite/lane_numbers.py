"""Numbers that are known in part: a constant, plus what is known at run time.

    7 + %t, %t in [0, 15]

Places in matrices are counted with such numbers: dividing `16 + %t` by 16 gives 1, no
operation, as `%t` is at most 15.  Nothing here is negative.

Laws (test/unit/test_lane_numbers.py): `divided` and `remainder` are those of Python on
every value that the number can have; what `most` says is an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue


@dataclass(frozen=True, slots=True)
class Num:
    """`constant + part`, both at least 0."""

    constant: int = 0
    part: SSAValue | None = None
    """What is known at run time, an index; 0 where there is none."""
    part_most: int = 0
    """The greatest value of the part."""
    varies: bool = False
    """Whether lanes have different values."""

    @property
    def most(self) -> int:
        """The greatest value."""
        return self.constant + self.part_most

    @property
    def known(self) -> int | None:
        """The value, if it is known when compiling."""
        return self.constant if self.part is None else None
