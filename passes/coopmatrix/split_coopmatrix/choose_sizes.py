"""Chooses one size for each axis, so that all that share axes get sizes that they have.

An *axis* is a number.  A `Constraint` lists which sizes some axes may have together,
the preferred first; `choose` gives each axis one size, or names a constraint that
cannot be met.  On m x k times k x n and a device that multiplies 16x16x16 and 16x8x16
(axes 0, 1 and 2 are m, n and k), where something else wants n = 8:

>>> product = Constraint((0, 1, 2), ((16, 16, 16), (16, 8, 16)), weight=4)
>>> choose([product, Constraint((1,), ((8,), (4,)))])
{0: 16, 1: 8, 2: 16}
>>> choose([product, Constraint((1,), ((4,),))])
Constraint(axes=(1,), options=((4,),), weight=1)

Constraints that share axes are met together, the heaviest first, each by the first of
its options that leaves an option to the others.  Axes that no constraint names have no
size.

Laws (test/unit/passes/coopmatrix/test_choose_sizes.py): what is chosen meets every
constraint; where a choice exists, one is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.utils.disjoint_set import DisjointSet

Option = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Constraint:
    """Which sizes some axes may have together."""

    axes: tuple[int, ...]
    """An axis may stand here twice: then it has the same size in both places."""
    options: tuple[Option, ...]
    """A size for each of `axes`, the preferred option first."""
    weight: int = 1
    """How much its preference counts."""

    def __post_init__(self) -> None:
        for option in self.options:
            if len(option) != len(self.axes):
                raise ValueError(
                    f"expected a size for each of {len(self.axes)} axes, got {option}"
                )


def choose(constraints: Sequence[Constraint]) -> dict[int, int] | Constraint:
    """Return a size for each axis, or a constraint that the others leave no option."""
    sizes: dict[int, int] = {}
    for group in _components(constraints):
        found = _Search(group).run()
        if isinstance(found, Constraint):
            return found
        sizes |= found
    return sizes


def _components(constraints: Sequence[Constraint]) -> Iterable[list[Constraint]]:
    classes = DisjointSet(list({axis for x in constraints for axis in x.axes}))
    for constraint in constraints:
        for axis in constraint.axes:
            classes.union(constraint.axes[0], axis)
    groups: dict[int, list[Constraint]] = {}
    for constraint in constraints:
        root = classes.find(constraint.axes[0])
        groups.setdefault(root, []).append(constraint)
    return groups.values()


class _Search:
    """A search that keeps, of each constraint, the options that the others allow."""

    def __init__(self, group: Sequence[Constraint]) -> None:
        weights: Counter[tuple[tuple[int, ...], tuple[Option, ...]]] = Counter()
        first: dict[tuple[tuple[int, ...], tuple[Option, ...]], Constraint] = {}
        for constraint in group:
            key = constraint.axes, constraint.options
            first.setdefault(key, constraint)
            weights[key] += constraint.weight
        self.constraints = list(first.values())
        """Those that say the same once."""
        totals = list(weights.values())
        self.order = sorted(range(len(totals)), key=lambda number: -totals[number])
        """The heaviest first."""
        self.live = [
            [x for x in c.options if _is_consistent(c.axes, x)]
            for c in self.constraints
        ]
        """The options of each."""
        self.domains: dict[int, set[int]] = {}
        """The sizes of each axis."""
        self.users: dict[int, list[int]] = {}
        """The constraints on each axis."""
        for number, constraint in enumerate(self.constraints):
            for axis in dict.fromkeys(constraint.axes):
                self.users.setdefault(axis, []).append(number)

    def run(self) -> dict[int, int] | Constraint:
        """Return a size for each axis, or a constraint that cannot be met."""
        conflict = self.narrow(range(len(self.constraints)))
        if conflict is not None:
            return self.constraints[conflict]
        # Places in the order, their options that are left, and what was known there.
        frames: list[
            tuple[int, Iterator[Option], list[list[Option]], dict[int, set[int]]]
        ] = []
        while True:
            start = frames[-1][0] if frames else 0
            opened = (
                place
                for place in range(start, len(self.order))
                if len(self.live[self.order[place]]) > 1
            )
            if (place := next(opened, None)) is None:
                return {axis: min(domain) for axis, domain in self.domains.items()}
            options = iter(self.live[self.order[place]])
            frames.append((place, options, self.live, self.domains))
            while frames:
                place, options, live, domains = frames[-1]
                if (option := next(options, None)) is None:
                    frames.pop()
                    continue
                self.live, self.domains = list(live), dict(domains)
                self.live[self.order[place]] = [option]
                failed = self.narrow([self.order[place]])
                if failed is None:
                    break
                conflict = failed if conflict is None else conflict
            else:
                assert conflict is not None
                return self.constraints[conflict]

    def narrow(self, numbers: Iterable[int]) -> int | None:
        """Drop options until all are allowed; return a constraint left with none."""
        queue = dict.fromkeys(numbers)
        while queue:
            del queue[number := next(iter(queue))]
            axes = self.constraints[number].axes
            live = [
                option
                for option in self.live[number]
                if all(
                    axis not in self.domains or size in self.domains[axis]
                    for axis, size in zip(axes, option, strict=True)
                )
            ]
            if not live:
                return number
            self.live[number] = live
            for place, axis in enumerate(axes):
                sizes = {option[place] for option in live}
                old = self.domains.get(axis)
                if old is None or not old <= sizes:
                    self.domains[axis] = sizes if old is None else old & sizes
                    others = (x for x in self.users[axis] if x != number)
                    queue |= dict.fromkeys(others)
        return None


def _is_consistent(axes: tuple[int, ...], option: Option) -> bool:
    """Whether an axis that stands twice has one size."""
    return len({*zip(axes, option, strict=True)}) == len(set(axes))
