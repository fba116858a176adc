r"""Products of matrices by lanes: which element each component needs, and from whom.

Lane p holds, as component v of the result, element (row, column) with

    row = p mod I + I block        column = own + R u,   own = p div I,  R = S / I

and adds up a(row, k) b(k, column).  Both factors are vectors, too: for the components
of one vector of the result,

    a   lane p mod I + I r of *version* r, which has columns k = c + w (r + R step):
        the same r for all of them.  R = 1 is what the lane has itself.
    b   lane k mod I_b + I_b (column mod R_b), the same for all lanes of one `own`: a
        broadcast for each `own`, of which a lane selects its own; where that are more
        than `MOST_SELECTED`, a shuffle.

If one step along K for all vectors takes few operations, the steps are written out: all
of them, or as many as fit the budget in a loop.  Components have to be known in a loop,
too: after each round the columns of a and the blocks of b move up by what was used.

Laws (test/unit/plan/test_lane_product.py): what `of_a` and `of_b` name is the element
that the layouts have there; what is written out is within the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from coopc.layout.coopmatrix import CoopmatrixLayout

BUDGET = 256
"""Operations on vectors that one product is written out as, at most: four times as many
were no faster in a few runs, and took Intel's runtime for CPUs longer to compile."""
TILE_BUDGET, MOST_DEPTH = 64, 16
"""Products of vectors that all tiles of a product are written out as, at most, and
steps along K of a tile."""
LEAST_LANES, MOST_SUMS = 8, 64
"""Lanes of a vector of AVX2, and the sums of eight of them: as many as one processor
has multiply-adds under way."""
LEAST_COLS, MOST_SCALARS, MOST_WRITTEN = 32, 64, 4
"""Columns for which it pays to turn a from rows of lanes to columns; components of the
result that are scalars, at most, and products of them in a round of a loop."""
MANY_SUMS = 256
"""Sums in registers from which on a tile is two vectors wide: with fewer, there are no
registers left for the factors."""
MOST_SELECTED, MOST_SELECTED_SLOW = 4, 16
"""Lanes of one row whose elements are broadcast each; of more they are shuffled.  The
second number is for devices that have slow shuffles."""


@dataclass(frozen=True, slots=True)
class FromLane:
    """Components that one lane offers."""

    lane: int
    """Besides the row: a number that is added to it."""
    numbers: tuple[int | None, ...]
    """Of each component of the result's vector, one of b; None comes from elsewhere."""


@dataclass(frozen=True)
class ProductPlan:
    """How lanes multiply; a frozen value."""

    a: CoopmatrixLayout
    b: CoopmatrixLayout
    result: CoopmatrixLayout
    width: int
    """Components of a vector of the result."""
    most_selected: int
    """Lanes of one row, of more of which b is shuffled."""
    step: int
    """Steps along K that are written out in a round."""

    @property
    def depth(self) -> int:
        """K."""
        return self.a.cols

    @property
    def versions(self) -> int:
        """R, the lanes of one row: each has other columns of a."""
        return self.result.lanes_per_row

    @property
    def dynamic(self) -> int:
        """P: so many neighbouring columns of b are in different lanes."""
        return min(self.versions, self.b.lanes_per_row)

    @property
    def is_selected(self) -> bool:
        """Whether a lane selects among broadcasts, rather than shuffles."""
        return self.versions <= self.most_selected

    @property
    def owns(self) -> tuple[int, ...]:
        """The values of `own` that b is fetched for: all, or with P lanes at a time."""
        return tuple(range(0, self.versions, 1 if self.is_selected else self.dynamic))

    @property
    def vectors(self) -> int:
        """Vectors of the result."""
        return -(-self.result.components // self.width)

    def places(self, vector: int) -> tuple[tuple[int, int], ...]:
        """Return block and step of each component of a vector; the last ones repeat."""
        start, x = vector * self.width, self.result
        some = (min(v, x.components - 1) for v in range(start, start + self.width))
        return tuple(divmod(v, x.steps) for v in some)

    def of_a(self, k: int, vector: int) -> tuple[int, tuple[int, ...]]:
        """Return which version has column k, and as which components."""
        packed, channel = divmod(k, self.a.channels)
        step, version = divmod(packed, self.versions)
        numbers = (
            number_of(self.a, block, step, channel) for block, _ in self.places(vector)
        )
        return version, tuple(numbers)

    def of_b(self, k: int, vector: int, own: int) -> tuple[FromLane, ...]:
        """Return who has the elements of row k for lanes of one `own`.

        The lane is that for row 0 of a block; where `own` stands for P of them, it is
        that of the first one.
        """
        x, found = self.b, dict[int, list[int | None]]()
        for at, (_, u) in enumerate(self.places(vector)):
            step, column = divmod(own + self.versions * u, x.lanes_per_row)
            # Padding asks for columns beyond all.
            step = min(step, x.steps - 1)
            numbers = found.setdefault(column * x.block_rows, [None] * self.width)
            numbers[at] = number_of(x, k // x.block_rows, step)
        return tuple(FromLane(lane, tuple(x)) for lane, x in found.items())

    @cached_property
    def step_cost(self) -> int:
        """Operations on vectors of one step along K."""
        cost = 0
        for vector in range(self.vectors):
            fetched = [x for own in self.owns for x in self.of_b(0, vector, own)]
            cost += 3 + 2 * len(fetched) - 1 + len(self.owns)
        return cost


def plan_product(
    a: CoopmatrixLayout,
    b: CoopmatrixLayout,
    result: CoopmatrixLayout,
    width: int,
    budget: int | None = BUDGET,
    slow_shuffles: bool = False,
) -> ProductPlan:
    """Return how lanes multiply.

    Args:
        a: M x K, who holds which element.
        b: K x N.
        result: M x N.
        width: components of a vector of the result.
        budget: operations that may be written out; None is any number.
        slow_shuffles: as `Device.slow_shuffles`.
    """
    most = MOST_SELECTED_SLOW if slow_shuffles else MOST_SELECTED
    whole = ProductPlan(a, b, result, width, most, a.cols)
    if budget is None or whole.step_cost * a.cols <= budget:
        return whole
    step = a.channels * whole.versions
    while 2 * step * whole.step_cost <= budget:
        step *= 2
    return whole if step >= a.cols else replace(whole, step=step)


@dataclass(frozen=True, slots=True)
class ProductTile:
    """A part of a product whose sums are in registers while it is computed."""

    rows: int
    """A multiple of the rows of a block of the result, or all."""
    cols: int
    depth: int
    """Along K."""
    vectors: int
    """Of the result, one behind the other."""


def plan_tile(
    result: CoopmatrixLayout, depth: int, width: int, most_sums: int
) -> ProductTile | None:
    """Return by which parts a product of matrices in memory is computed, if any.

    Args:
        result: M x N, who holds which element.
        depth: K.
        width: components of a vector of the result.
        most_sums: elements that the registers of a subgroup hold.
    """
    x, per_block = result, result.steps // width
    if x.needs_mask or x.needs_row_mask or x.steps % width:
        return None
    at_once = max(1, most_sums // (x.lanes * width))
    step = min(MOST_DEPTH, TILE_BUDGET // (per_block * x.blocks))
    if step < 4 or depth % step:
        return None
    if at_once < per_block:
        cols = at_once * width * x.lanes_per_row
        return ProductTile(x.block_rows, cols, step, at_once)
    blocks = min(x.blocks, at_once // per_block)
    return ProductTile(blocks * x.block_rows, x.cols, step, blocks * per_block)


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """A part of a product that one lane holds, whose sums stay in registers along K."""

    rows: int
    vectors: int
    """Of a row."""


def plan_registers(
    result: CoopmatrixLayout, width: int, most_sums: int
) -> RegisterTile | None:
    """Return the register tile of a product, if one lane holds it by whole vectors.

    Args:
        result: M x N, who holds which element.
        width: components of a vector of the result.
        most_sums: elements that registers hold.
    """
    if result.lanes > 1 or result.cols % width:
        return None
    vectors = 1 if most_sums < MANY_SUMS else min(2, result.cols // width)
    return RegisterTile(max(1, most_sums // (vectors * width)), vectors)


@dataclass(frozen=True, slots=True)
class ColumnsPlan:
    """A product whose sums are scalars of lanes, a few columns at a time.

    The compiler makes its vectors of the lanes: there are sums of only a few registers,
    where one vector a lane would be one or two registers for each lane.
    """

    result: CoopmatrixLayout
    width: int
    """Steps along the columns that are added up at a time; fewer at the end."""
    step: int
    """Of K, written out in a round."""

    @property
    def groups(self) -> tuple[tuple[range, tuple[int, ...]], ...]:
        """The steps that are added up at a time, and the components of the result."""
        x, blocks = self.result, range(self.result.blocks)
        starts = range(0, x.steps, self.width)
        steps = [range(u, min(u + self.width, x.steps)) for u in starts]
        return tuple(
            (some, tuple(number_of(x, block, u) for u in some for block in blocks))
            for some in steps
        )


def plan_columns(result: CoopmatrixLayout, depth: int) -> ColumnsPlan | None:
    """Return how a product of matrices in memory is added up by scalars, if it is.

    Args:
        result: M x N, who holds which element.
        depth: K.
    """
    x = result
    if x.needs_mask or x.needs_row_mask or x.channels > 1:
        return None
    sums = x.lanes * x.blocks
    if x.lanes < LEAST_LANES or x.cols < LEAST_COLS or sums > MOST_SUMS:
        return None
    if x.components > MOST_SCALARS:
        return None
    width = min(MOST_SUMS // sums, x.steps)
    most = max(1, MOST_WRITTEN // (width * x.blocks))
    step = next(n for n in (4, 2, 1) if depth % n == 0 and n <= most)
    return ColumnsPlan(x, width, step)


def number_of(x: CoopmatrixLayout, block: int, step: int, channel: int = 0) -> int:
    """Return the component of a block of rows, a step along columns, and a channel.

    >>> number_of(CoopmatrixLayout.of(32, 4, 32, "acc", lanes=16), block=1, step=3)
    7
    """
    w2, w1 = divmod(block, x.k1)
    return channel + x.channels * (w1 + x.k1 * (step + x.steps * w2))
