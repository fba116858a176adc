r"""Comparisons of two layouts of a matrix: where they differ, and the way between them.

For each element the canonical owners are compared; an element is

    kept      in the same register of the same lane
    renamed   in the same lane, in another register
    moved     in another lane

For example 2 x 2 elements by rows (A) and by columns (B) over two lanes:

               lanes of A   lanes of B
    (0,0)      0:0          0:0           kept
    (0,1)      0:1          1:0           moved
    (1,0)      1:0          0:1           moved
    (1,1)      1:1          1:1           kept

How to get from A to B is a plan of `exchange`, the one that `expand-exchanges` follows.

Laws (test/unit/layout/test_comparison.py checks each by its name):

    counts     every element is kept, renamed or moved
    itself     a layout compared with itself keeps everything, and needs no exchange
    back       what moves from A to B moves from B to A
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from coopc.layout.distribution import Distribution
from coopc.layout.exchange import (
    ABSENT,
    WORD_BITS,
    ExchangePlan,
    Select,
    Shuffle,
    Step,
    candidates,
)

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray


class Fate(Enum):
    """What becomes of an element."""

    KEPT = "kept"
    RENAMED = "renamed"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two layouts of the same matrix over the same lanes."""

    source: Distribution
    target: Distribution
    plans: tuple[ExchangePlan, ...]
    """The ways from one to the other, the cheapest first."""

    @classmethod
    def of(
        cls,
        source: Distribution,
        target: Distribution,
        subgroup_size: int | None = None,
        element_bits: int = WORD_BITS,
    ) -> Comparison:
        """Compare two layouts.

        Args:
            source: one.
            target: the other one, of the same shape and over the same lanes.
            subgroup_size: the lanes that shuffles reach; None is all lanes.
            element_bits: of an element, 1 to 64.

        Raises:
            ValueError: shapes or lanes differ, or the subgroup size does not divide
                them.
        """
        found = candidates(source, target, subgroup_size, element_bits)
        return cls(source, target, tuple(sorted(found, key=lambda x: x.cost)))

    def owners(self) -> tuple[IntArray, IntArray]:
        """Return lane and register of each element: each 2 x M x N, source first."""
        import numpy as np

        rows = np.arange(self.source.rows, dtype=np.int64)[:, None]
        cols = np.arange(self.source.cols, dtype=np.int64)
        both = (self.source.owners(rows, cols), self.target.owners(rows, cols))
        return np.stack([lane for lane, _ in both]), np.stack([r for _, r in both])

    def fates(self) -> list[list[Fate]]:
        """Return what becomes of each element, row by row."""
        lanes, registers = self.owners()
        same_lane: list[list[bool]] = (lanes[0] == lanes[1]).tolist()
        same_register: list[list[bool]] = (registers[0] == registers[1]).tolist()
        return [
            [
                (Fate.KEPT if register else Fate.RENAMED) if lane else Fate.MOVED
                for lane, register in zip(*both, strict=True)
            ]
            for both in zip(same_lane, same_register, strict=True)
        ]

    def counts(self) -> dict[Fate, int]:
        """Return how many elements are kept, renamed and moved."""
        fates = [fate for row in self.fates() for fate in row]
        return {fate: fates.count(fate) for fate in Fate}


def comparison_text(x: Comparison) -> str:
    """Return the counts, a cell for each element, and the exchanges.

    A cell is `=` for an element that is kept, else `lane:register>lane:register`.
    """
    a, b, counts = x.source, x.target, x.counts()
    lines = [
        f"{a.rows} x {a.cols} elements over {a.lanes} lanes, "
        f"{a.components} registers in A, {b.components} in B",
        ", ".join(f"{count} {fate.value}" for fate, count in counts.items())
        + "; a cell is lane:register in A > in B, = if kept",
        "",
        *_cells(x),
        "",
        *_plan_lines(x.plans),
    ]
    return "".join(f"{line}\n" for line in lines)


def _cells(x: Comparison) -> Iterator[str]:
    lanes, registers = x.owners()
    places: list[list[list[str]]] = [
        [
            [f"{lane}:{register}" for lane, register in zip(*row, strict=True)]
            for row in zip(lanes[n].tolist(), registers[n].tolist(), strict=True)
        ]
        for n in range(2)
    ]
    body = [
        ["=" if a == b else f"{a}>{b}" for a, b in zip(*both, strict=True)]
        for both in zip(*places, strict=True)
    ]
    width = max(len(cell) for row in body for cell in row)
    for row in body:
        yield " ".join(cell.ljust(width) for cell in row).rstrip()


def _plan_lines(plans: Sequence[ExchangePlan]) -> Iterator[str]:
    best, *others = plans
    yield f"exchange: {_plan_text(best)}"
    for other in others:
        yield f"    also: {_plan_text(other)}"
    for number, step in enumerate(best.steps):
        yield f"step {number}: {'select' if isinstance(step, Select) else 'shuffle'}"
        for line in _step_lines(step, best.subgroup_size):
            yield f"  {line}"
    if best.kind in ("rename", "shuffle"):
        yield f"registers of B: {_numbers(best.places)}"


def _plan_text(x: ExchangePlan) -> str:
    counts = ((x.words, "word"), (x.selects, "select"))
    parts = [f"{count} {name}{'s' * (count > 1)}" for count, name in counts if count]
    return ", ".join((x.kind, *parts, f"cost {x.cost}"))


def _step_lines(step: Step, size: int) -> Iterator[str]:
    """Yield what is done alike, a line each: the new values, and what they are."""
    if isinstance(step, Shuffle):
        kept = [x for x, origins in enumerate(step.origins) if origins is None]
        for origins, new in step.groups().items():
            old = [step.values[x] for x in new]
            yield f"{_numbers(new)} <- {_numbers(old)} of {_origin(origins, size)}"
        if kept:
            yield f"{_numbers(kept)} <- {_numbers([step.values[x] for x in kept])}"
        return
    alike: dict[tuple[bool, ...] | None, list[int]] = {}
    for new, where in enumerate(step.where):
        is_copy = step.taken[new] == step.other[new]
        alike.setdefault(None if is_copy else where, []).append(new)
    for where, new in alike.items():
        taken, other = ([x[n] for n in new] for x in (step.taken, step.other))
        line = f"{_numbers(new)} <- {_numbers(taken)}"
        if where is not None:
            line += f" if {_lanes(where, size)}, else {_numbers(other)}"
        yield line


def _lanes(where: Sequence[bool], size: int) -> str:
    """Return a condition on the number of the lane, or the lanes for which it holds."""
    for bit in range((len(where) - 1).bit_length()):
        if all(x == bool(lane >> bit & 1) for lane, x in enumerate(where)):
            mask = 1 << bit
            return f"lane & {mask}" if mask < size else f"subgroup & {mask // size}"
    return f"lane in {_numbers([lane for lane, x in enumerate(where) if x])}"


def _origin(origins: Sequence[int], size: int) -> str:
    masks = {lane % size ^ origin for lane, origin in enumerate(origins)}
    if len(masks) == 1:
        return f"lane xor {masks.pop()}"
    lanes = dict.fromkeys(origins)
    return f"lane {_numbers(lanes if len(lanes) == 1 else origins)}"


def _numbers(numbers: Iterable[int]) -> str:
    """Return numbers in a row, `-` for padding."""
    return " ".join("-" if n == ABSENT else str(n) for n in numbers)
