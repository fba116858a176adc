"""Which kernels of matrices over lanes tests run: the cases, chosen pairwise.

A `Case` has an element type, a subgroup size, sizes, a use, and a variant that picks
among the forms of operations that have many (checked axes, targets of conversions...).
`pairwise_cases` has every two values of these together in some case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias, TypeVar

import numpy as np

T = TypeVar("T")

ELEMENTS = {
    "f16": "f16",
    "bf16": "bf16",
    "f32": "f32",
    "f64": "f64",
    "s8": "i8",
    "u8": "i8",
    "s16": "i16",
    "s32": "i32",
    "s64": "i64",
}
"""Element types by names that say the sign."""
LANES = (4, 8, 16, 32, 64)
USES = ("a", "b", "acc")
VARIANTS = 12
"""A number that 2, 3 and 4 divide, as operations have so many forms."""


@dataclass(frozen=True, slots=True)
class Case:
    """What one kernel is about."""

    element: str
    """A name in `ELEMENTS`."""
    lanes: int
    rows: int
    """M"""
    cols: int
    """N"""
    depth: int
    """K of the product."""
    use: str = "acc"
    """Of the matrix that operations are tried on: a, b or acc."""
    variant: int = 0
    """Which of several forms of an operation are tried, where not all are."""

    def some(self, forms: Sequence[T], count: int) -> list[T]:
        """Return some of several forms, by the variant."""
        return [forms[(self.variant + n) % len(forms)] for n in range(count)]

    @property
    def type(self) -> str:
        """The element type."""
        return ELEMENTS[self.element]

    @property
    def signed(self) -> str:
        """`signed`, or nothing."""
        return "signed " if self.element[0] == "s" else ""

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers."""
        return self.type.startswith("i")


def shapes(lanes: int) -> tuple[tuple[int, int, int], ...]:
    """Return (M, N, K) with what matters: few and many rows, odd N, N = 1, padding."""
    return (
        (lanes, 3, 4),
        (2 * lanes, 2, 3),
        (lanes // 2, 5, 4),
        (1, lanes + 1, 4),
        (lanes, 1, lanes + 1),
        (lanes // 4 + 2, 3, 8),
        (lanes // 2, 8, 4),
        (3, 2, 2 * lanes),
        (lanes - 1, 4, 1),
    )


Choice: TypeAlias = tuple[int, ...]
"""The numbers of an element type, a subgroup size, sizes, a use and a variant."""
Pair: TypeAlias = tuple[int, int, int, int]
"""A position and the number there, and another position and number."""
SIZES = (len(ELEMENTS), len(LANES), len(shapes(4)), len(USES), VARIANTS)
"""How many values each number of a choice has."""
OFFERED = 30
"""From so many choices the best one is taken."""


@cache
def pairwise_cases(count: int = 207) -> tuple[Case, ...]:
    """Return cases that have every two values together, at least `count` of them.

    They are chosen one by one, each with as many new pairs as any of those that a
    fixed sequence of random numbers offers.
    """
    random = np.random.default_rng(0)
    missing = all_pairs()
    chosen: dict[Choice, None] = {}
    while missing or len(chosen) < count:
        wanted = min(missing, default=None)
        offered = [_offer(random, wanted) for _ in range(OFFERED)]
        best = max(offered, key=lambda x: len(pairs(x) & missing))
        chosen[best] = None
        missing -= pairs(best)
    return tuple(case_of(choice) for choice in chosen)


def _offer(random: np.random.Generator, wanted: Pair | None) -> Choice:
    """Return a choice by chance, but for a pair that it is to have."""
    choice = [int(random.integers(size)) for size in SIZES]
    if wanted is not None:
        choice[wanted[0]], choice[wanted[2]] = wanted[1], wanted[3]
    return tuple(choice)


def case_of(choice: Choice) -> Case:
    """Return the case of a choice."""
    element, lanes, shape, use, variant = choice
    sizes = shapes(LANES[lanes])[shape]
    return Case(tuple(ELEMENTS)[element], LANES[lanes], *sizes, USES[use], variant)


def choice_of(case: Case) -> Choice:
    """Return the choice that a case is."""
    return (
        tuple(ELEMENTS).index(case.element),
        LANES.index(case.lanes),
        shapes(case.lanes).index((case.rows, case.cols, case.depth)),
        USES.index(case.use),
        case.variant,
    )


def pairs(choice: Choice) -> set[Pair]:
    """Return every two numbers of a choice, with their positions."""
    return {
        (i, choice[i], j, choice[j])
        for i in range(len(choice))
        for j in range(i + 1, len(choice))
    }


def all_pairs() -> set[Pair]:
    """Return the pairs that there are."""
    return {
        (i, x, j, y)
        for j in range(len(SIZES))
        for i in range(j)
        for x in range(SIZES[i])
        for y in range(SIZES[j])
    }
