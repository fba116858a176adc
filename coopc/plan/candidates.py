"""The plans that `coopc-tune` tries for a product, the likeliest first.

Which there are is a function of the product and of what multiplies it.  Which is next
follows from what was measured: by turns the first that is left, and the one that is the
nearest to the fastest so far.

Laws (test/unit/plan/test_candidates.py):
  valid     each candidate has a plan, inside of the device's limits
  once      no two have the same plan, and the built-in one is the first
  all       `next_choice` gives each candidate once, then None
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import log2

from coopc.device import ELEMENT_BITS, Device, GemmTiles
from coopc.device.cpu import VECTOR_TILE, WIDE_VECTOR_TILE
from coopc.layout.linear import powers
from coopc.plan.core_gemm import PANEL, is_of_amx
from coopc.plan.gemm import LANE_SHAPE, LANE_SUMS, GemmPlan, Problem, suits_slices
from coopc.plan.tuning import Choice, Engine, built_in_plan, choice_of, plan_by

MOST_GROUP = 256
"""Rows, and columns, of a work-group's tile."""
MOST_STEP = 256
"""Elements of 16 bits along K in a step."""
MOST_SUBGROUPS = 16
"""That a compute unit runs at a time, where each has as many registers as it can."""
BAND = 8
SCHEDULES = ((1, False, 1), (1, False, 2), (2, False, 1), (1, True, 1))
"""Stages, whether B comes in slices, and steps ahead."""


def candidates(problem: Problem, engine: Engine) -> tuple[Choice, ...]:
    """Return all candidates; none where no plan could be another."""
    first = built_in_plan(problem, engine)
    if isinstance(first, str):
        return ()
    plans: dict[GemmPlan, Choice] = {first: choice_of(first, problem, engine)}
    for choice in _choices(problem, engine):
        found = plan_by(choice, problem, engine)
        if not isinstance(found, str) and _fits(found, problem, engine):
            plans.setdefault(found, choice)
    return tuple(plans.values())


def _choices(problem: Problem, engine: Engine) -> Iterator[Choice]:
    if engine.pipeline == "coopc-amx" and is_of_amx(problem):
        yield from _amx_blocks(problem)
    elif engine.pipeline in ("coopc-amx", "coopc-cpu"):
        yield from _vector_blocks(problem, engine)
    else:
        if engine.staged and engine.device is not None:
            yield from map(Choice, _tiles(problem, engine.device))
        yield from _direct_tiles(problem, engine)


def _sizes(size: int | None, least: int, most: int, unit: int = 1) -> list[int]:
    """Return doublings of a least size, in units, up to what covers a size.

    >>> _sizes(20, 8, 256), _sizes(None, 8, 32, unit=8)
    ([8, 16, 32], [1, 2, 4])
    """
    if size is not None:
        most = min(most, least << max(0, (-(-size // least) - 1).bit_length()))
    return [x // unit for x in powers(least, most + 1)]


# --- KHR: several subgroups -----------------------------------------------------------


def _tiles(problem: Problem, device: Device) -> list[GemmTiles]:
    """Return tiles of several subgroups: those of the device, then by their cost."""
    a, b, c = problem.elements
    shapes = device.multiplications(a, b, c, c)
    if not shapes:
        return []
    (m, n), bits = problem.c.shape, ELEMENT_BITS[a]
    rows = _sizes(m, low := min(x.m for x in shapes), MOST_GROUP)
    cols = _sizes(n, min(x.n for x in shapes), MOST_GROUP)
    steps = _sizes(None, min(x.k for x in shapes), MOST_STEP * 16 // bits)
    subgroups = list(product(rows, cols))
    found: dict[GemmTiles, float] = {}
    for group, part, split in product(subgroups, subgroups, (1, 2, 4, 8)):
        if group[0] % part[0] or group[1] % part[1]:
            continue
        if part[0] * part[1] > 2 * LANE_SUMS * device.subgroup_size:
            continue
        for step, (stages, sliced, ahead) in product(steps, SCHEDULES):
            tiles = GemmTiles(
                *(group, part, step, stages),
                sliced=sliced,
                split=split,
                ahead=ahead,
            )
            if tiles.subgroups <= MOST_SUBGROUPS:
                found[tiles] = _cost(tiles, problem, device)
    known = (replace(x, step=x.step * 16 // bits, cost=None) for x in device.gemm_tiles)
    ordered = [*known, *sorted(found, key=lambda x: found[x])]
    many = m is None or m > BAND * low
    return [
        replace(x, band=y)
        for x in ordered
        for y in dict.fromkeys((x.band, BAND * many))
    ]


def _cost(tiles: GemmTiles, problem: Problem, device: Device) -> float:
    """Return about how many picoseconds each element along K takes.

    The weights are fitted to the costs of `gemm_tiles` that were measured on an H100;
    elsewhere they only order what is tried.
    """
    (m, n), (sub_m, sub_n) = tiles.group, tiles.subgroup
    alone = (4 * sub_m * sub_n + 60 * (sub_m + sub_n)) / tiles.split + 15 * (m + n)
    size = ELEMENT_BITS[problem.a.element] // 8
    local = (m + n) * tiles.step * tiles.stages * size
    together = min(
        device.limits.local_bytes // local, MOST_SUBGROUPS // tiles.subgroups
    )
    rows, cols = (x or MOST_GROUP * 16 for x in problem.c.shape)
    groups = -(-rows // m) * -(-cols // n)
    turns = -(-groups // ((device.compute_units or 1) * max(1, together)))
    return turns * alone * (1 + 8 * tiles.split / tiles.step)


def _fits(plan: GemmPlan, problem: Problem, engine: Engine) -> bool:
    """Whether what is at an edge has room in work-group memory, too."""
    if plan.work_items == 1 or engine.device is None:
        return True
    if plan.sliced:
        return suits_slices(problem, plan)
    edge = plan.places * plan.split * plan.depth * plan.width * 4
    local = sum(x.bytes for x in plan.panels)
    return local + edge <= engine.device.limits.local_bytes


# --- one subgroup, and processors -----------------------------------------------------


def _direct_tiles(problem: Problem, engine: Engine) -> Iterator[Choice]:
    a, b, c = problem.elements
    shapes = [LANE_SHAPE]
    if engine.pipeline == "coopc-khr" and engine.device is not None:
        found = engine.device.multiplications(a, b, c, c)
        shapes = [(x.m, x.n, x.k) for x in found] or shapes
    most = 2 * LANE_SUMS * (engine.device.subgroup_size if engine.device else 16)
    for (m, n, k), rows, cols, steps in product(shapes, (1, 2, 4), (1, 2, 4), (1, 2)):
        if rows * m * cols * n <= most:
            yield Choice(tile=(rows * m, cols * n, steps * k))


def _amx_blocks(problem: Problem) -> Iterator[Choice]:
    m, n = problem.c.shape
    rows, cols = (_sizes(x, PANEL, 16 * PANEL, PANEL) for x in (m, n))
    for block in product(reversed(rows), reversed(cols), (64, 32, 128, 16)):
        with suppress(ValueError):  # its sums are too large
            yield Choice(block=block)


def _vector_blocks(problem: Problem, engine: Engine) -> Iterator[Choice]:
    tiles = (engine.tile, WIDE_VECTOR_TILE, (8, 32), (6, 32), VECTOR_TILE, (4, 16))
    m, n = problem.c.shape
    for tile, step in product(dict.fromkeys(tiles), (256, 128, 512, 64)):
        rows = _sizes(m, tile[0], 32 * tile[0], tile[0])
        cols = _sizes(n, tile[1], 64 * tile[1], tile[1])
        for down, across in product(reversed(rows), reversed(cols)):
            yield Choice(block=(down, across, step), registers=tile)


# --- which is next --------------------------------------------------------------------


def next_choice(
    every: Sequence[Choice], measured: Mapping[Choice, float | None]
) -> Choice | None:
    """Return the candidate to measure next; None where none is left.

    Args:
        every: the candidates.
        measured: how long those that were tried took; None for what failed.
    """
    left = [x for x in every if x not in measured]
    times = {x: time for x, time in measured.items() if time is not None}
    if not left or len(measured) % 2 == 0 or not times:
        return left[0] if left else None
    best = min(times, key=lambda x: times[x])
    return min(left, key=lambda x: distance(x, best))


def distance(one: Choice, other: Choice) -> float:
    """Return how many doublings two choices are apart; far if of another kind."""
    ones, others = _numbers(one), _numbers(other)
    if len(ones) != len(others):
        return 1000.0
    return sum(abs(log2(x) - log2(y)) for x, y in zip(ones, others, strict=True))


def _numbers(choice: Choice) -> list[int]:
    if (tiles := choice.tiles) is None:
        return [
            x for y in (choice.tile, choice.block, choice.registers) for x in y or ()
        ]
    flags = (tiles.gaps, tiles.band > 0, tiles.unroll, tiles.sliced)
    numbers = tiles.step, tiles.stages, tiles.split, tiles.ahead
    return [*tiles.group, *tiles.subgroup, *numbers, *(1 + x for x in flags)]
