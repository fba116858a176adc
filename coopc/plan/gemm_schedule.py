"""What a work-group does in a step along K, where A and B come in panels.

A schedule is a list of actions that all work-items do, of tiles and products by their
number: 0 is the first one of the step.  The step of two products with one stage is

    read 1, multiply 0, barrier,               all have read their matrices
    multiply half of 1, store a 1, store b 1, fetch a 2, fetch b 2,
    multiply a quarter of 1, barrier,          all have stored their pieces
    read 2, multiply the last quarter of 1

Work on one product hides the time that others take: the matrices of the next one are
read before it, and parts of the last product of a step are done before its tiles are
replaced, before the new ones are seen, and while they are read.

Laws (test/unit/plan/test_gemm.py):
  reads  a product multiplies the tiles of its place along K, all parts of it once
  races  between two barriers, no tile in work-group memory is both read and written
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from coopc.plan.gemm import SLICES, GemmPlan, Source


@dataclass(frozen=True, slots=True)
class Fetch:
    """Load a tile from memory to registers, behind those of it that are there."""

    of: Source
    tile: int
    """Its number, from the first one of the step on; so in all that follow."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Make columns of the rows of a panel that is turned, before they are stored."""

    of: Source


@dataclass(frozen=True, slots=True)
class Store:
    """Store the tile that has been in registers for longest to work-group memory."""

    of: Source
    tile: int


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy a tile from memory to work-group memory, with zeros beyond the edges."""

    of: Source
    tile: int


@dataclass(frozen=True, slots=True)
class Read:
    """Load the matrices of a product from work-group memory, for when that is next."""

    product: int


@dataclass(frozen=True, slots=True)
class Multiply:
    """Multiply some parts along N of the product whose matrices were read first."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """Wait for the work-group, which then sees what was stored."""


Action: TypeAlias = Fetch | Turn | Store | Copy | Read | Multiply | Barrier
Actions: TypeAlias = tuple[Action, ...]


def edge_schedule(plan: GemmPlan) -> Actions:
    """Return a step along K of a work-group whose tiles reach over an edge."""
    whole = Multiply(0, sum(plan.parts))
    products = range(plan.products)
    if plan.sliced:
        slices = ((Copy("b", x), Barrier(), Read(x), whole) for x in products)
        return Copy("a", 0), *chain(*slices), Barrier()
    each = ((Read(x), whole) for x in products)
    return Copy("a", 0), Copy("b", 0), Barrier(), *chain(*each), Barrier()


def pipelined_schedule(plan: GemmPlan) -> tuple[Actions, Actions]:
    """Return what is before the loop along K inside of memory, and an iteration.

    Between two barriers of a step with slices, one slice is read and that after it is
    stored: behind each barrier but the last, the next matrices are in registers.

    With `late` stores, all loads of a step are issued where it begins, and nothing
    waits for them before its last product: there, A and as many slices of B are stored
    as there is room for, and the other slices in the products of the next step.
    """
    last, count, ahead = plan.products, sum(plan.parts), plan.ahead
    before, between, _ = plan.parts
    whole = Multiply(0, count)
    begun = (Multiply(0, before),) if before else ()
    more = (Multiply(before, before + between),) if between else ()
    rest = Multiply(before + between, count)
    turned = {of: (Turn(of),) if x.turned else () for of, x in plan.panel_of.items()}
    there: list[tuple[Source, int]] = [("a", 0), ("b", 0)]
    held: list[tuple[Source, int]] = [
        (of, tile) for tile in range(1, 1 + ahead) for of in plan.panel_of
    ]
    if plan.late:
        there.extend(("b", x) for x in range(1, SLICES))
        held = [("b", x) for x in range(SLICES, last)]
    elif plan.sliced:
        there, held = [*there, ("b", 1)], [("a", 1), ("b", 2), ("b", 3)]
    begin: Actions = (
        *(Fetch(of, tile) for of, tile in there),
        *chain(*((*turned[of], Store(of, tile)) for of, tile in there)),
        *(Fetch(of, tile) for of, tile in held),
        Barrier(),
        Read(0),
    )
    end: Actions = (*begun, *more, Barrier(), Read(last), rest)
    if plan.late:
        firsts = ((*turned["b"], Store("b", last + x)) for x in range(SLICES))
        others = {x: (*turned["b"], Store("b", x)) for x in range(SLICES, last)}
        return begin, (
            Fetch("a", 1),
            *(Fetch("b", last + x) for x in range(last)),
            *chain(
                *(
                    (Read(x + 1), *others.get(x + 2, ()), whole, Barrier())
                    for x in range(last - 1)
                )
            ),
            *(*turned["a"], Store("a", 1), *chain(*firsts)),
            *end,
        )
    if plan.sliced:
        slices = (
            (
                *(Read(x + 1), *turned["b"], Store("b", x + 2), Fetch("b", x + 4)),
                *(whole, Barrier()),
            )
            for x in range(last - 1)
        )
        return begin, (
            *chain(*slices),
            *turned["a"],
            Store("a", 1),
            Fetch("a", 2),
            *turned["b"],
            Store("b", last + 1),
            Fetch("b", last + 3),
            *end,
        )
    # With one stage only, all have to have read their matrices.
    free = (Barrier(),) if plan.panels[0].copies == 1 else ()
    steps: Iterator[Actions] = (
        (
            *turned["a"],
            *turned["b"],
            *chain(*((Read(step * last + x), whole) for x in range(1, last))),
            *free,
            *begun,
            Store("a", step + 1),
            Store("b", step + 1),
            Fetch("a", step + 1 + ahead),
            Fetch("b", step + 1 + ahead),
            *more,
            Barrier(),
            Read(step * last + last),
            rest,
        )
        for step in range(ahead)
    )
    return begin, (*chain(*steps),)


def slots(slices: int, late: bool = False) -> list[int]:
    """Return in which of three copies of B each slice of a step is.

    Between two barriers, one slice is read and that after it stored; where a step
    begins, its first two are read and the third is stored; in the end, when all of the
    step are read, the second one of the next step is stored, or the first three if they
    are `late`.

    >>> slots(5), slots(5, late=True)
    ([0, 1, 2, 1, 2], [0, 1, 2, 0, 1])
    """
    if late:
        return [number % SLICES for number in range(slices)]
    return [0, 1, *(2 - number % 2 for number in range(2, slices))]


def slot(plan: GemmPlan, of: Source, tile: int) -> int:
    """Return in which copy a tile is, by its number from the very first one on."""
    if of == "b" and plan.sliced:
        return slots(plan.products, plan.late)[tile % plan.products]
    return tile % plan.panels[of == "b"].copies
