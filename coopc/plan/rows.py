"""How loops without a product of matrices are shared among work-items, decided first.

Kernels of this kind have *shared* loops, which nothing is carried around, and perhaps
reductions within them: a *row* is one iteration of the shared loops.

    work-items   each work-item computes a row; those of a work-group are neighbours
                 along one shared loop, along which memory is contiguous
    subgroup     the lanes of a subgroup share the reductions of a row

On a GPU, several work-items of a work-group share the reductions of neighbouring
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
>>> gpu = Sharing(items=1024, units=128)
>>> print(plan_rows(RowProblem((), (), RowReduction(1 << 20, 2)), 32, gpu=gpu))
subgroup: 32 subgroups of 32 lanes, 1 rows a work-group: there is one row
>>> few = RowProblem((4096,), (2,), RowReduction(4096, 0), widths=(8,))
>>> shared = plan_rows(few, lanes=32, gpu=gpu)
>>> shared.neighbours, shared.width, shared.parts
(4, 8, 256)

Laws (test/unit/plan/test_rows.py): each shared loop is on one axis of the grid, serial,
or the one of work-items; an axis has at most one loop whose size is not known; the rows
of a work-group are whole rounds of its neighbours; work-items that share a row are in
one work-group, which has at most as many as the GPU allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Literal

AXES = 3
"""Of a grid."""
LEAST_VECTORS = 4
"""Neighbours of a work-group that each load a vector, at least: vectors of 16 bytes
are 64 bytes of a row of memory."""
UNIT_VECTORS = 8
"""Subgroups of a compute unit whose work-items have vectors of rows, at least."""
LEAST_STEPS = 4
"""Steps of a reduction, at least, of each work-item that shares it."""
UNIT_SUBGROUPS = 32
"""Subgroups that occupy a compute unit of a GPU."""
MOST_SUBGROUPS = 64
"""Subgroups of a compute unit, at most."""
FEW_SUBGROUPS, UNIT_TURNS = 4, 2
"""Subgroups that share a row where those of all rows take so many turns on the units of
a GPU, at most: a product of 4096 x 4096 of f16 and a column took 13.8 us for 15.5 on an
H200.  Sums of rows were as fast, but for those of 65536 rows."""
TOGETHER = 4
"""Steps of a reduction that a work-item of a GPU loads at a time: 16 bytes each were
fastest in fours, for a product of one row on an H200."""
MOST_TILES = 16
"""Tiles that a work-group stages, one after the other, at most."""
UNKNOWN_PARTS = 8
"""How many work-items share rows if a size is not known."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """What a GPU has for rows whose reductions several work-items share."""

    items: int = 0
    """Work-items of a work-group, at most; 0 if rows are not shared."""
    units: int = 0
    """Compute units: there are few rows if not each has a work-group."""
    row_items: int = 0
    """Work-items of a work-group that share one row, at most."""
    cache: int = 0
    """Bytes of a unit's first cache that rows which are read again may take; 0 where it
    does not matter."""


NOT_SHARED = Sharing()


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
    slow: bool = False
    """Whether combining two numbers takes several instructions."""
    again: int = 0
    """Bytes of a row that several statements read."""


@dataclass(frozen=True, slots=True)
class RowProblem:
    sizes: tuple[int | None, ...]
    """Iterations of the shared loops, the outermost first; None if not known."""
    weights: tuple[int, ...]
    """Of each: dimensions of memory that is contiguous along it."""
    reduction: RowReduction | None = None
    widths: tuple[int, ...] = ()
    """Of each shared loop: elements along it that can be loaded at once; 1 without."""
    reuse: tuple[tuple[int, ...], ...] = ()
    """`reuse[i][j]`: how many loads of a reduction step are contiguous along shared
    loop i and do not depend on shared loop j."""
    crossed: tuple[int, int] | None = None
    """Two shared loops, without reductions: all that is stored is contiguous along the
    first, and some of what is loaded along the second one only."""

    def __post_init__(self) -> None:
        widths = len(self.widths) or len(self.sizes)
        if not len(self.sizes) == len(self.weights) == widths:
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
    """Neighbouring rows of a work-item, or steps of a lane, that are one vector.  A
    work-item has no other rows then."""
    parts: int = 1
    """How many work-items of a work-group share the reductions of a row."""
    tile: int = 1
    """Rows of a block that a work-item reduces at once, so that they share loads."""
    staged: int | None = None
    """The shared loop along which some loads are contiguous, but no stores: a
    work-group copies tiles of it to its memory, by rows, and reads their columns.  A
    tile has as many rows and columns as the work-group has lanes."""

    @property
    def together(self) -> int:
        """Steps of a reduction whose loads a work-item has in flight together."""
        several = self.kind == "subgroup" and self.items * self.width > self.lanes
        return TOGETHER if several or self.has_one else 1

    @property
    def has_one(self) -> bool:
        """Whether a work-item has one row or vector of rows, or shares it."""
        return self.kind == "work-items" and (self.parts > 1 or self.width > 1)

    @property
    def neighbours(self) -> int:
        """Work-items of a work-group that have different rows."""
        return self.items // self.parts

    def __post_init__(self) -> None:
        if self.chunk % self.neighbours and self.kind == "work-items":
            raise ValueError(f"expected a chunk of whole rounds, got {self}")
        if self.items % self.lanes or self.items % self.parts:
            raise ValueError(f"expected whole subgroups, and whole rows, got {self}")
        if self.has_one and self.chunk != self.neighbours * self.width:
            raise ValueError(f"expected a row or vector per neighbour, got {self}")
        if self.parts > 1 and self.parts % self.width:
            raise ValueError(f"expected parts that combine vectors, got {self}")

    def __str__(self) -> str:
        who = f"{self.lanes} lanes, {self.block} rows a work-group"
        if self.items > self.lanes:
            who = f"{self.items // self.lanes} subgroups of {who}"
        if self.kind == "work-items":
            who = "1 does all"
            if self.loop is not None:
                rows = self.chunk * self.block
                who = f"{self.neighbours} along shared loop {self.loop}, "
                if self.tile > 1:
                    who += f"{self.tile} rows at once, "
                if self.staged is not None:
                    who += f"tiles along shared loop {self.staged}, "
                if self.width > 1:
                    who += f"vectors of {self.width}, "
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
    gpu: Sharing = NOT_SHARED,
    tile: tuple[int, int] = (1, 1),
    stages: bool = False,
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
            that a vector of them is more of a row of memory, or where lanes reduce
            slowly, so that several vectors are in flight.
        rows_on_x: whether only axis x has room for many work-groups: a loop of
            work-items, of which each does many, is then on another one.
        steps: of a reduction of many rows that is stored, how many all of them do at a
            time.
        gpu: whose work-items share rows, if there are few.
        tile: the most rows to reduce at once, and how many neighbouring work-items do
            so.
        stages: whether loads are staged where stores are contiguous along another loop.
    """
    if stages and (plan := _by_tiles(problem, lanes, each, rows_on_x)) is not None:
        return plan
    if (reason := _why_lanes(problem, lanes)) is not None:
        return _by_subgroups(problem, lanes, block, wide, gpu, reason)
    loop = max(
        range(len(problem.sizes)),
        key=lambda n: (problem.sizes[n] != 1, problem.weights[n], n),
        default=None,
    )
    if loop is None:
        reason = _why_not_lanes(problem, lanes) or "there is one row"
        return RowPlan("work-items", lanes, lanes, None, lanes, 1, (), (), reason)
    found = _shared_by(
        problem, loop, lanes, items * each, block, rows_on_x, gpu
    ) or _by_vectors(problem, loop, lanes, items, each, block, rows_on_x, gpu)
    if found is not None:
        return found
    size, rounds = problem.sizes[loop], each
    outer = _loop_that_shares_loads(problem, loop, tile[0]) if block > 1 else None
    if outer is not None:
        # The lanes of a subgroup are a power of two.
        wide = 1 << (max(1, tile[1] // lanes).bit_length() - 1)
    if problem.reduction is not None and (size is None or size >= lanes * wide):
        lanes, items, rounds = lanes * wide, items * wide, max(1, each // wide)
    if size is not None:
        size = max(1, size)
        items = min(items, -(-size // lanes) * lanes)
        rounds = min(rounds, -(-size // items))
    others = [n for n in range(len(problem.sizes)) if n not in (loop, outer)]
    others += [] if outer is None else [outer]
    axes, serial = _axes(problem, others, AXES - 1)
    if block > 1:
        block = block * max(1, each // rounds) if axes else 1
    at_once = 1
    if outer is not None:
        at_once = _tile(problem.sizes[outer], tile[0])
        block = -(-block // at_once) * at_once
    along = "contiguous memory"
    reason = _why_not_lanes(problem, lanes) or (
        along if problem.weights[loop] else "no loop has contiguous memory"
    )
    axis, chunk, its = int(rows_on_x and bool(axes)), items * rounds, problem.reduction
    in_steps = its is not None and its.stored and rounds > 1 and at_once == 1
    return RowPlan(
        "work-items",
        *(lanes, items, loop, chunk, block, axes, serial, reason, axis),
        steps=steps if in_steps and problem.weights[loop] else None,
        tile=at_once,
    )


def _by_tiles(
    problem: RowProblem, lanes: int, each: int, rows_on_x: bool
) -> RowPlan | None:
    """Return a plan that stages loads in tiles, if loads and stores are crossed."""
    if problem.crossed is None:
        return None
    loop, staged = problem.crossed
    sizes = problem.sizes[loop], problem.sizes[staged]
    if lanes == 1 or any(size is not None and size < lanes for size in sizes):
        return None
    others = [n for n in range(len(problem.sizes)) if n not in problem.crossed]
    unknown = sum(problem.sizes[n] is None for n in (*others, staged))
    # One axis, where it can be: those other than x may have few work-groups.
    axes, serial = _axes(problem, [*others, staged], 1 if unknown < 2 else AXES - 1)
    reason = f"loads are contiguous along shared loop {staged}"
    block = lanes * max(1, min(each, MOST_TILES))
    return RowPlan(
        *("work-items", lanes, lanes, loop, lanes, block, axes, serial, reason),
        axis=int(rows_on_x),
        staged=staged,
    )


def _loop_that_shares_loads(problem: RowProblem, loop: int, most: int) -> int | None:
    """Return the shared loop along which rows are reduced at once, to share loads."""
    if problem.reduction is None or most == 1 or not problem.reuse:
        return None
    found = [
        n
        for n, size in enumerate(problem.sizes)
        if n != loop and problem.reuse[loop][n] and (size is None or size > 1)
    ]
    return max(found, key=lambda n: (problem.reuse[loop][n], n), default=None)


def _tile(size: int | None, most: int) -> int:
    """Return how many rows to reduce at once.

    A divisor of the size above half of `most`, if there is one, or else `most`.
    """
    if size is None:
        return most
    found = range(min(most, size), most // 2, -1)
    return next((x for x in found if size % x == 0), min(most, size))


def _by_subgroups(
    problem: RowProblem, lanes: int, block: int, wide: int, gpu: Sharing, reason: str
) -> RowPlan:
    """Return a plan in which the lanes of a subgroup share a row; see `plan_rows`."""
    axes, serial = _axes(problem, range(len(problem.sizes)), AXES)
    block = block if axes else 1
    its = problem.reduction
    assert its is not None, problem
    least = its.size or lanes * wide
    lanes *= wide if its.slow and least >= lanes * wide else 1
    if its.size is not None and its.size < lanes * its.width:
        its = replace(its, width=1)  # else lanes would be idle
    count = _subgroups(problem, its, lanes, gpu)
    items, block = lanes * count, block if count == 1 else 1
    return RowPlan(
        *("subgroup", lanes, items, None, 1, block, axes, serial, reason),
        width=its.width,
    )


def _shared_by(
    problem: RowProblem,
    loop: int,
    lanes: int,
    rows: int,
    block: int,
    rows_on_x: bool,
    gpu: Sharing,
) -> RowPlan | None:
    """Return a plan in which work-items share rows; None if there are enough rows.

    Args:
        problem: the loops.
        loop: the one along which work-items are neighbours.
        lanes: of a subgroup.
        rows: those of a work-group along the loop if work-items share none.
        block: see `plan_rows`.
        rows_on_x: see `plan_rows`.
        gpu: what it has.
    """
    its, known = problem.reduction, [x for x in problem.sizes if x is not None]
    if its is None or its.sequential or 0 in (its.size, *problem.sizes):
        return None
    rest = [n for n in range(len(problem.sizes)) if n != loop]
    axes, serial = _axes(problem, rest, AXES - 1)
    width = problem.widths[loop] if problem.widths else 1
    neighbours, parts, items = lanes, 1, gpu.items
    if its.size is None or len(known) < len(problem.sizes):
        if block > 1 or axes:  # more work-groups than an axis may have
            return None
        items = min(items, UNKNOWN_PARTS * neighbours)
    else:
        size, others = known[loop], prod(known) // known[loop]
        if others * -(-size // rows) >= gpu.units:
            return None
        least = min(lanes, LEAST_VECTORS if width > 1 else lanes)
        while (
            neighbours > least and others * (size // (neighbours * width)) < gpu.units
        ):
            neighbours //= 2
    steps = its.size or items * LEAST_STEPS
    while 2 * parts * neighbours <= items and 2 * parts * LEAST_STEPS <= steps:
        parts *= 2
    # A work-group combines as many rows as it has work-items, and has whole subgroups.
    if parts < max(2, width) or neighbours * parts % lanes:
        return None
    reason = "contiguous memory" if problem.weights[loop] else "few rows"
    chunk, axis = neighbours * width, int(rows_on_x and bool(axes))
    return RowPlan(
        *("work-items", lanes, neighbours * parts, loop, chunk, 1),
        *(axes, serial, reason, axis),
        width=width,
        parts=parts,
    )


def _by_vectors(
    problem: RowProblem,
    loop: int,
    lanes: int,
    items: int,
    each: int,
    block: int,
    rows_on_x: bool,
    gpu: Sharing,
) -> RowPlan | None:
    """Return a plan in which each work-item reduces a vector of rows, or None.

    That is where a vector has more rows than it would do one by one, so of elements of
    16 bits or less: sums of f16 took 0.5 to 0.75 of the time on an H200.  Sums of f32
    gained 6% or lost 20%, and elementwise operations lost.
    """
    known = [x for x in problem.sizes if x is not None]
    size, width = problem.sizes[loop], problem.widths[loop] if problem.widths else 1
    if not gpu.items or size is None or len(known) < len(problem.sizes):
        return None
    least = max(lanes, gpu.units * lanes * UNIT_VECTORS * size // max(1, prod(known)))
    if problem.reduction is None or width <= each or size // width < least:
        return None
    others = [n for n in range(len(problem.sizes)) if n != loop]
    axes, serial = _axes(problem, others, AXES - 1)
    items = min(items, -(-size // width // lanes) * lanes)
    axis, reason = int(rows_on_x and bool(axes)), "contiguous memory"
    return RowPlan(
        *("work-items", lanes, items, loop, items * width, block if axes else 1),
        *(axes, serial, reason, axis),
        width=width,
    )


def _subgroups(problem: RowProblem, its: RowReduction, lanes: int, gpu: Sharing) -> int:
    """Return how many subgroups share a row.

    More if there are few long rows, or if rows that are read again leave the cache.
    """
    known = [x for x in problem.sizes if x is not None]
    if not gpu.items or len(known) < len(problem.sizes):
        return 1
    steps = UNKNOWN_PARTS * LEAST_STEPS
    if its.size is not None:
        steps = its.size // (lanes * its.width)
    rows, found = prod(known), 1
    turns = FEW_SUBGROUPS * rows / (gpu.units * MOST_SUBGROUPS)
    is_few = gpu.cache > 0 and its.size is not None and turns <= UNIT_TURNS
    few = FEW_SUBGROUPS if is_few else 1

    def leave_cache(subgroups: int) -> bool:
        return MOST_SUBGROUPS // subgroups * its.again > gpu.cache > 0

    while (
        2 * found * lanes <= max(gpu.items, gpu.row_items)
        and 2 * found * LEAST_STEPS <= steps
        and (
            found < few
            or 2 * found * rows <= gpu.units * UNIT_SUBGROUPS
            or leave_cache(found)
        )
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
