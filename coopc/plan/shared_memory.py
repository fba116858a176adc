"""Which buffers share memory: those that are never needed at the same time.

    share([Lifetime(0, 3, 64), Lifetime(4, 9, 32), Lifetime(2, 6, 16)])

    offset 0    |  64 elements  |  32 elements  |
    offset 64            |    16 elements    |
    time        0        2     3 4          6   9

The largest buffer is placed first, each at the least offset where no buffer that lives
at the same time is.

Laws (test/unit/plan/test_shared_memory.py): buffers that live at the same time do not
overlap; the size is at least what lives at any one time, at most the sum of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lifetime:
    """When a buffer is needed, and how large it is."""

    first: int
    """The time of the first access."""
    last: int
    """That of the last one, which is not before it."""
    size: int
    """In elements, more than 0."""

    def __post_init__(self) -> None:
        if not self.first <= self.last:
            what = "expected a last access that is not before the first"
            raise ValueError(f"{what} at {self.first}, got {self.last}")
        if self.size < 1:
            raise ValueError(f"expected a size of 1 or more, got {self.size}")

    def meets(self, other: Lifetime) -> bool:
        """Whether both are needed at the same time."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class SharedMemoryPlan:
    """Where each buffer is in one memory.

    >>> print(share([Lifetime(0, 3, 64), Lifetime(4, 9, 32), Lifetime(2, 6, 16)]))
    64 elements from 0 in [0, 3], 32 from 0 in [4, 9], 16 from 64 in [2, 6]: 80 of 112
    """

    lifetimes: tuple[Lifetime, ...]
    offsets: tuple[int, ...]
    """Of each in elements."""

    @property
    def size(self) -> int:
        """Of the memory, in elements."""
        return max(map(sum, zip(self.offsets, self._sizes, strict=True)), default=0)

    @property
    def _sizes(self) -> list[int]:
        return [each.size for each in self.lifetimes]

    def is_reused(self, number: int) -> bool:
        """Whether memory of a buffer belongs to another one at another time."""
        first, size = self.offsets[number], self._sizes[number]
        return any(
            other != number and first < offset + length and offset < first + size
            for other, (offset, length) in enumerate(
                zip(self.offsets, self._sizes, strict=True)
            )
        )

    def __str__(self) -> str:
        parts = (
            f"{x.size}{'' if number else ' elements'} from {offset} "
            f"in [{x.first}, {x.last}]"
            for number, (x, offset) in enumerate(
                zip(self.lifetimes, self.offsets, strict=True)
            )
        )
        return f"{', '.join(parts)}: {self.size} of {sum(self._sizes)}"


def share(lifetimes: Sequence[Lifetime], alignment: int = 1) -> SharedMemoryPlan:
    """Return offsets, multiples of an alignment, at which buffers share memory."""
    if alignment < 1:
        raise ValueError(f"expected an alignment of 1 or more, got {alignment}")
    order = sorted(range(len(lifetimes)), key=lambda n: (-lifetimes[n].size, n))
    offsets: dict[int, int] = {}
    for number in order:
        one, offset = lifetimes[number], 0
        taken = sorted(
            (offsets[x], offsets[x] + lifetimes[x].size)
            for x in offsets
            if lifetimes[x].meets(one)
        )
        for begin, end in taken:
            if begin < offset + one.size and offset < end:
                offset = -(-end // alignment) * alignment
        offsets[number] = offset
    return SharedMemoryPlan(
        tuple(lifetimes), tuple(offsets[n] for n in range(len(lifetimes)))
    )
