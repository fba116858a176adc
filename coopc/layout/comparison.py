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

How to get from A to B is an `exchange`.

Laws (test/unit/test_layout_comparison.py checks each by its name):

    counts     every element is kept, renamed or moved
    itself     a layout compared with itself keeps everything, and needs no exchange
    back       what moves from A to B moves from B to A
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from coopc.layout.distribution import Distribution
from coopc.layout.exchange import ABSENT, Exchange, Kind, Round, candidates

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
    exchanges: tuple[Exchange, ...]
    """The ways from one to the other, the cheapest first."""

    @classmethod
    def of(
        cls,
        source: Distribution,
        target: Distribution,
        subgroup_size: int | None = None,
    ) -> Comparison:
        """Compare two layouts.

        Args:
            source: one.
            target: the other one, of the same shape and over the same lanes.
            subgroup_size: the lanes that shuffles reach; None is all lanes.

        Raises:
            ValueError: shapes or lanes differ, or the subgroup size does not divide
                them.
        """
        found = candidates(source, target, subgroup_size)
        if source.lanes == (subgroup_size or source.lanes):
            least = min(map(Exchange.cost, found))
            found += [x for x in turned(source, target) if x.cost() < least]
        return cls(source, target, tuple(sorted(found, key=Exchange.cost)))

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


def turned(source: Distribution, target: Distribution) -> Iterator[Exchange]:
    """Yield the exchange of `lane_exchange`, where both are linear over one subgroup.

    Registers are exored with the lane first and last, a bit of their number at a time.
    """
    import numpy as np

    from coopc.layout.bases import linear_of
    from coopc.layout.lane_exchange import lane_exchange, linear

    try:
        found = lane_exchange(linear_of(source), linear_of(target))
    except ValueError:
        return
    if found is None or found.choose:
        return
    lanes = np.arange(source.lanes)
    sent, origin, filled = (
        linear(columns, lanes) for columns in (found.send, found.origin, found.receive)
    )
    own = np.full((target.components, target.lanes), ABSENT)
    rounds: list[Round] = []
    for number, (offer, turn) in enumerate(zip(found.offers, found.turns, strict=True)):
        reads, fills = origin ^ turn, filled ^ number
        offers = sent ^ offer
        near = reads == lanes
        own[fills[near], lanes[near]] = offers[near]
        if not near.all():
            away = (np.where(near, ABSENT, x).tolist() for x in (reads, fills))
            rounds.append(Round(tuple(offers.tolist()), *map(tuple, away)))
    before, after = (
        sum(any(column >> bit & 1 for column in columns) for bit in range(32))
        for columns in (found.send, found.receive)
    )
    swaps = before * source.components + after * target.components
    rows = tuple(map(tuple, own.tolist()))
    yield Exchange(source, target, Kind.SHUFFLE, rows, tuple(rounds), swaps)


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
        *_exchange_lines(x.exchanges),
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


def _exchange_lines(exchanges: tuple[Exchange, ...]) -> Iterator[str]:
    best, *others = exchanges
    yield f"exchange: {_exchange_text(best)}"
    for other in others:
        yield f"    also: {_exchange_text(other)}"
    if best.kind in (Kind.RENAME, Kind.SHUFFLE):
        yield "own registers, for each register of B a line, for each lane a column:"
        for register, sources in enumerate(best.own):
            yield f"  {register} <- {_row(sources)}"
    for number, step in enumerate(best.rounds):
        yield from _round_lines(number, step)


def _exchange_text(x: Exchange) -> str:
    return f"{x.kind.value}{_rounds_text(x)}, cost {x.cost()}"


def _rounds_text(x: Exchange) -> str:
    count = len(x.rounds)
    return f" in {count} round{'s' if count > 1 else ''}" if count else ""


def _round_lines(number: int, step: Round) -> Iterator[str]:
    mask = step.xor_mask
    yield f"round {number}:" + ("" if mask is None else f" lane xor {mask}")
    yield f"  offers {_row(step.send)}"
    yield f"  reads  {_row(step.origin)}"
    yield f"  fills  {_row(step.receive)}"


def _row(numbers: tuple[int, ...]) -> str:
    """Return a number for each lane, `-` for a lane that takes no part."""
    width = len(str(max(numbers, default=0)))
    return " ".join(f"{'-' if n == ABSENT else n:>{width}}" for n in numbers)
