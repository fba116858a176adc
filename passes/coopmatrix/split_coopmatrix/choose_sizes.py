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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

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


@dataclass(slots=True)
class UnionFind:
    """Numbers that are the same number, in classes."""

    parents: list[int] = field(default_factory=list[int])

    def add(self) -> int:
        """Return a new number, in a class of its own."""
        self.parents.append(len(self.parents))
        return len(self.parents) - 1

    def find(self, number: int) -> int:
        """Return the number that stands for the class of a number."""
        parents = self.parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def union(self, one: int, other: int) -> None:
        """Make two classes one, which the lesser representative stands for."""
        one, other = self.find(one), self.find(other)
        self.parents[max(one, other)] = min(one, other)


def choose(constraints: Sequence[Constraint]) -> dict[int, int] | Constraint:
    """Return a size for each axis, or a constraint that the others leave no option."""
    sizes: dict[int, int] = {}
    for group in _components(constraints):
        found = _Search(_merged(group)).run()
        if isinstance(found, Constraint):
            alike = (x for x in group if _key(x) == _key(found))
            return next(alike)
        sizes |= found
    return sizes


def _key(constraint: Constraint) -> tuple[tuple[int, ...], tuple[Option, ...]]:
    return constraint.axes, constraint.options


def _merged(constraints: Iterable[Constraint]) -> list[Constraint]:
    """Return the constraints, those that say the same once, with all their weight."""
    weights: dict[tuple[tuple[int, ...], tuple[Option, ...]], int] = {}
    first: dict[tuple[tuple[int, ...], tuple[Option, ...]], Constraint] = {}
    for constraint in constraints:
        key = _key(constraint)
        first.setdefault(key, constraint)
        weights[key] = weights.get(key, 0) + constraint.weight
    return [replace(first[key], weight=weights[key]) for key in first]


def _components(constraints: Sequence[Constraint]) -> Iterable[list[Constraint]]:
    numbers: dict[int, int] = {}
    classes = UnionFind()
    for constraint in constraints:
        for axis in constraint.axes:
            if axis not in numbers:
                numbers[axis] = classes.add()
            classes.union(numbers[constraint.axes[0]], numbers[axis])
    groups: dict[int, list[Constraint]] = {}
    for constraint in constraints:
        root = classes.find(numbers[constraint.axes[0]])
        groups.setdefault(root, []).append(constraint)
    return groups.values()


class _Search:
    """A search that keeps, of each constraint, the options that the others allow."""

    def __init__(self, constraints: list[Constraint]) -> None:
        self.constraints = constraints
        self.live = [
            tuple(x for x in c.options if _is_consistent(c.axes, x))
            for c in constraints
        ]
        self.domains: dict[int, set[int]] = {}
        self.users: dict[int, list[int]] = {}
        self.trail: list[tuple[int, tuple[Option, ...]]] = []
        self.domain_trail: list[tuple[int, set[int] | None]] = []
        for number, constraint in enumerate(constraints):
            for axis in dict.fromkeys(constraint.axes):
                self.users.setdefault(axis, []).append(number)

    def run(self) -> dict[int, int] | Constraint:
        """Return a size for each axis, or a constraint that cannot be met."""
        conflict = self.narrow(list(range(len(self.constraints))))
        if conflict is not None:
            return self.constraints[conflict]
        order = sorted(
            range(len(self.constraints)), key=lambda x: -self.constraints[x].weight
        )
        frames: list[tuple[int, Iterator[Option], tuple[int, int]]] = []
        place = 0
        while (place := self._next_open(order, place)) < len(order):
            frames.append((place, iter(self.live[order[place]]), self._mark()))
            while frames:
                place, options, mark = frames[-1]
                self._undo(mark)
                if (option := next(options, None)) is None:
                    frames.pop()
                elif (failed := self._fix(order[place], option)) is None:
                    break
                elif conflict is None:
                    conflict = failed
            else:
                assert conflict is not None
                return self.constraints[conflict]
        return {axis: min(domain) for axis, domain in self.domains.items()}

    def _next_open(self, order: list[int], place: int) -> int:
        """Return the first place from `place` on with more than one option."""
        while place < len(order) and len(self.live[order[place]]) == 1:
            place += 1
        return place

    def _fix(self, number: int, option: Option) -> int | None:
        """Leave one option to a constraint; return one that then has none."""
        self._set_live(number, (option,))
        return self.narrow([number])

    def narrow(self, queue: list[int]) -> int | None:
        """Drop options until all are allowed; return a constraint left with none."""
        waiting = set(queue)
        position = 0
        while position < len(queue):
            number = queue[position]
            position += 1
            waiting.discard(number)
            axes = self.constraints[number].axes
            live = tuple(x for x in self.live[number] if self._allows(axes, x))
            if not live:
                return number
            if len(live) < len(self.live[number]):
                self._set_live(number, live)
            for axis in self._narrow_axes(axes, live):
                for other in self.users[axis]:
                    if other != number and other not in waiting:
                        waiting.add(other)
                        queue.append(other)
        return None

    def _narrow_axes(
        self, axes: tuple[int, ...], live: tuple[Option, ...]
    ) -> Iterator[int]:
        """Yield the axes that these options leave fewer sizes."""
        for place, axis in enumerate(axes):
            sizes = {option[place] for option in live}
            old = self.domains.get(axis)
            if old is None or not old <= sizes:
                self.domain_trail.append((axis, old))
                self.domains[axis] = sizes if old is None else old & sizes
                yield axis

    def _allows(self, axes: tuple[int, ...], option: Option) -> bool:
        """Whether every axis can still have the size that an option gives it."""
        return all(
            axis not in self.domains or size in self.domains[axis]
            for axis, size in zip(axes, option, strict=True)
        )

    def _set_live(self, number: int, live: tuple[Option, ...]) -> None:
        self.trail.append((number, self.live[number]))
        self.live[number] = live

    def _mark(self) -> tuple[int, int]:
        return len(self.trail), len(self.domain_trail)

    def _undo(self, mark: tuple[int, int]) -> None:
        lives, domains = mark
        while len(self.trail) > lives:
            number, live = self.trail.pop()
            self.live[number] = live
        while len(self.domain_trail) > domains:
            axis, old = self.domain_trail.pop()
            if old is None:
                del self.domains[axis]
            else:
                self.domains[axis] = old


def _is_consistent(axes: tuple[int, ...], option: Option) -> bool:
    """Whether an axis that stands twice has one size."""
    return len(set(axes)) == len(axes) or len({*zip(axes, option, strict=True)}) == len(
        set(axes)
    )
