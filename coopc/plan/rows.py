"""How loops without a product of matrices are shared among work-items, decided first.

Kernels of this kind have *shared* loops, which nothing is carried around, and perhaps
reductions within them: a *row* is one iteration of the shared loops.

    work-items   each work-item computes a row; those of a work-group are neighbours
                 along one shared loop, along which memory is contiguous
    subgroup     the lanes of a subgroup share the reductions of a row

With `shares`, several work-items of a work-group share the reductions of neighbouring
rows, or several subgroups those of a row, if there are too few rows to occupy a GPU;
they combine their results through work-group memory.  A work-item, or a lane, may load
several elements at once.

A subgroup reduces where memory is contiguous along the reduction, as in a sum of the
elements of each row of a matrix, and work-items where it is along a shared loop, as in
a sum of each column.  A row that is shorter than a subgroup is left to one work-item.

>>> columns = RowProblem((None,), (2,), RowReduction(None, 0))
>>> print(plan_rows(columns, lanes=32))
work-items: 256 along shared loop 0, 1024 rows a work-group: contiguous memory
>>> print(plan_rows(RowProblem((None,), (0,), RowReduction(None, 2)), lanes=32))
subgroup: 32 lanes, 1 rows a work-group: memory is contiguous along the reduction
>>> print(plan_rows(RowProblem((64,), (0,), RowReduction(24, 2)), lanes=32).reason)
the reduction has 24 steps, fewer than a subgroup has lanes
>>> print(plan_rows(RowProblem((), (), RowReduction(1 << 20, 2)), 32, shares=1024))
subgroup: 32 of 32 lanes, 1 rows a work-group: there is one row
>>> few = RowProblem((4096,), (2,), RowReduction(4096, 0), widths=(8,))
>>> print(plan_rows(few, lanes=32, shares=1024))
work-items: 4 along shared loop 0, 256 a row, 32 rows a work-group: contiguous memory

Laws (test/unit/plan/test_rows.py): each shared loop is on one axis of the grid, serial,
or the one of work-items; an axis has at most one loop whose size is not known; the rows
of a work-group are whole rounds of its work-items.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

AXES = 3
"""Of a grid."""


@dataclass(frozen=True, slots=True)
class RowReduction:
    """The reductions within a row, as far as lanes may share them."""

    size: int | None
    """Steps of the shortest of the loops that lanes would share; None if one is not
    known."""
    weight: int
    """Dimensions of memory that is contiguous along these loops."""
    sequential: str | None = None
    """Why the steps can only follow one another; None if they combine in any order."""
    stored: bool = False
    """Whether it is one loop, and all that a row does is to store what it gives."""
    width: int = 1
    """Elements along these loops that can be loaded at once."""


@dataclass(frozen=True, slots=True)
class RowProblem:
    sizes: tuple[int | None, ...]
    """Iterations of the shared loops, the outermost first; None if not known."""
    weights: tuple[int, ...]
    """Of each: dimensions of memory that is contiguous along it."""
    reduction: RowReduction | None = None
    widths: tuple[int, ...] = ()
    """Of each shared loop: elements along it that can be loaded at once; 1 without."""

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.weights):
            raise ValueError(f"expected a weight for each shared loop, got {self}")


@dataclass(frozen=True, slots=True)
class RowPlan:
    kind: Literal["work-items", "subgroup"]
    lanes: int
    """Of a subgroup."""
    items: int
    """Work-items of a work-group: of several subgroups, if these share a row."""
    loop: int | None
    """The shared loop along which work-items are neighbours."""
    chunk: int
    """Its iterations that a work-group does: as many each work-item."""
    block: int
    """Iterations of the innermost loop of the axes that a work-group does."""
    axes: tuple[tuple[int, ...], ...]
    """The other shared loops, by axes of the grid, the outermost of an axis first; the
    first axis has the innermost loop."""
    serial: tuple[int, ...]
    """The other shared loops, for which there is no axis."""
    reason: str
    axis: int = 0
    """The axis of the grid that has the loop of work-items; `axes` are the others."""
    steps: int | None = None
    """Of a reduction by work-items: how many all of them do before they go on, so that
    memory is read along its rows; what is reduced is in memory meanwhile.  None for all
    steps of a row."""
    width: int = 1
    """Neighbouring rows of a work-item, or steps of a lane, that are one vector."""
    parts: int = 1
    """How many work-items of a work-group share the reductions of a row."""

    @property
    def neighbours(self) -> int:
        """Work-items of a work-group that have different rows."""
        return self.items // self.parts

    def __post_init__(self) -> None:
        if self.chunk % self.neighbours and self.kind == "work-items":
            raise ValueError(f"expected a chunk of whole rounds, got {self}")

    def __str__(self) -> str:
        who = f"{self.items} lanes, {self.block} rows a work-group"
        if self.items > self.lanes:
            who = f"{self.items // self.lanes} of {self.lanes} lanes, "
            who += f"{self.block} rows a work-group"
        if self.kind == "work-items":
            who = "1 does all"
            if self.loop is not None:
                rows = self.chunk * self.block
                who = f"{self.neighbours} along shared loop {self.loop}, "
                if self.parts > 1:
                    who += f"{self.parts} a row, "
                who += f"{rows} rows a work-group"
        return f"{self.kind}: {who}: {self.reason}"


def plan_rows(
    problem: RowProblem,
    lanes: int,
    items: int = 256,
    each: int = 4,
    block: int = 1,
    wide: int = 1,
    rows_on_x: bool = False,
    steps: int | None = None,
    shares: int = 1,
) -> RowPlan:
    """Return who computes what.

    Args:
        problem: the loops.
        lanes: of a subgroup.
        items: the most work-items of a work-group, a multiple of the lanes.
        each: how many rows a work-item computes at most.
        block: how many iterations of another loop a work-group does, or more where
            `each` is not reached.
        wide: how many times as many lanes a subgroup has where work-items reduce, so
            that a vector of them is more of a row of memory.
        rows_on_x: whether only axis x has room for many work-groups: a loop of
            work-items, of which each does many, is then on another one.
        steps: of a reduction of many rows that is stored, how many all of them do at a
            time.
        shares: the most work-items of a work-group that share rows, if there are few.
    """
    if (reason := _why_lanes(problem, lanes)) is not None:
        axes, serial = _axes(problem, range(len(problem.sizes)), AXES)
        block = block if axes else 1
        assert problem.reduction is not None, problem
        items = lanes * _subgroups(problem, problem.reduction, lanes, shares)
        return RowPlan(
            *("subgroup", lanes, items, None, 1, block, axes, serial, reason),
            width=problem.reduction.width,
        )
    loop = max(
        range(len(problem.sizes)),
        key=lambda n: (problem.sizes[n] != 1, problem.weights[n], n),
        default=None,
    )
    if loop is None:
        reason = _why_not_lanes(problem, lanes) or "there is one row"
        return RowPlan("work-items", lanes, lanes, None, lanes, 1, (), (), reason)
    if (found := _shared_by(problem, loop, lanes, shares, rows_on_x)) is not None:
        return found
    size, rounds = problem.sizes[loop], each
    if problem.reduction is not None and (size is None or size >= lanes * wide):
        lanes, items, rounds = lanes * wide, items * wide, max(1, each // wide)
    if size is not None:
        size = max(1, size)
        items = min(items, -(-size // lanes) * lanes)
        rounds = min(rounds, -(-size // items))
    others = [n for n in range(len(problem.sizes)) if n != loop]
    axes, serial = _axes(problem, others, AXES - 1)
    if block > 1:
        block = block * max(1, each // rounds) if axes else 1
    along = "contiguous memory"
    reason = _why_not_lanes(problem, lanes) or (
        along if problem.weights[loop] else "no loop has contiguous memory"
    )
    axis, chunk, its = int(rows_on_x and bool(axes)), items * rounds, problem.reduction
    together = steps
    if its is None or not its.stored or rounds == 1 or not problem.weights[loop]:
        together = None
    return RowPlan(
        "work-items",
        *(lanes, items, loop, chunk, block, axes, serial, reason, axis, together),
    )


FEW_GROUPS = 128
"""Work-groups that a GPU needs to be busy: of one wave on an H200."""
LEAST_SEGMENT = 4
"""Neighbours of a work-group, at least, that each load a vector: 64 bytes of a row of
memory."""
LEAST_STEPS = 4
"""Steps of a reduction, at least, that each of the work-items does that share it."""
GROUP_SUBGROUPS = 32
"""Subgroups of a work-group, or of work-groups that run side by side, of a busy GPU."""
UNKNOWN_PARTS = 8
"""How many work-items share rows if a size is not known."""


def _shared_by(
    problem: RowProblem, loop: int, lanes: int, shares: int, rows_on_x: bool
) -> RowPlan | None:
    """Return a plan in which work-items share rows, where that makes a GPU busy."""
    its = problem.reduction
    if its is None or its.sequential or 0 in (its.size, *problem.sizes):
        return None
    width = problem.widths[loop] if problem.widths else 1
    neighbours, parts = lanes, 1
    rows = [x for x in problem.sizes if x is not None]
    if its.size is None or len(rows) < len(problem.sizes):
        shares = min(shares, UNKNOWN_PARTS * neighbours)
    elif (count := prod(rows)) >= FEW_GROUPS * shares * width:
        return None
    else:
        least, size = min(lanes, LEAST_SEGMENT if width > 1 else lanes), rows[loop]
        others = count // size
        while (
            neighbours > least and others * (size // (neighbours * width)) < FEW_GROUPS
        ):
            neighbours //= 2
    steps = its.size or shares * LEAST_STEPS
    while 2 * parts * neighbours <= shares and 2 * parts * LEAST_STEPS <= steps:
        parts *= 2
    items = neighbours * parts
    # A work-group combines as many rows as it has work-items, and has whole subgroups.
    if parts < max(2, width) or items % lanes:
        return None
    rest = [n for n in range(len(problem.sizes)) if n != loop]
    axes, serial = _axes(problem, rest, AXES - 1)
    reason = "contiguous memory" if problem.weights[loop] else "few rows"
    chunk, axis = neighbours * width, int(rows_on_x and bool(axes))
    return RowPlan(
        *("work-items", lanes, items, loop, chunk, 1, axes, serial, reason, axis),
        width=width,
        parts=parts,
    )


def _subgroups(problem: RowProblem, its: RowReduction, lanes: int, shares: int) -> int:
    """Return how many subgroups share a row: more if there are few long rows."""
    rows = [x for x in problem.sizes if x is not None]
    if len(rows) < len(problem.sizes):
        return 1
    steps = UNKNOWN_PARTS * LEAST_STEPS
    if its.size is not None:
        steps = its.size // (lanes * its.width)
    busy, found = FEW_GROUPS * GROUP_SUBGROUPS, 1
    while (
        2 * found * lanes <= shares
        and 2 * found * LEAST_STEPS <= steps
        and 2 * found * prod(rows) <= busy
    ):
        found *= 2
    return found


def _why_lanes(problem: RowProblem, lanes: int) -> str | None:
    """Return why a subgroup is to share the reductions of a row, or None."""
    its = problem.reduction
    if its is None or its.sequential or (its.size is not None and its.size < lanes):
        return None
    if not problem.sizes:
        return "there is one row"
    if its.weight > max(problem.weights):
        return "memory is contiguous along the reduction"
    return None


def _why_not_lanes(problem: RowProblem, lanes: int) -> str | None:
    """Return why a subgroup cannot share them, or None."""
    its = problem.reduction
    if its is None:
        return None
    if its.sequential is not None:
        return its.sequential
    if its.size is not None and its.size < lanes:
        return f"the reduction has {its.size} steps, fewer than a subgroup has lanes"
    return None


def _axes(
    problem: RowProblem, loops: list[int] | range, count: int
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Return loops by axes, from the innermost on, and those that are left."""
    axes: list[list[int]] = []
    left = [*loops]
    while left:
        last = axes[-1] if len(axes) == count else []
        if sum(problem.sizes[n] is None for n in (left[-1], *last)) > 1:
            break
        if len(axes) < count:
            axes.append([])
        axes[-1].insert(0, left.pop())
    return tuple(map(tuple, axes)), tuple(left)
