"""Products and reductions by lanes: each computes what it holds of the result.

For M >= S lanes are rows.  Lane p has row p of a, so that the step k of

    d(p, j) = c(p, j) + a(p, 0) b(0, j) + a(p, 1) b(1, j) + ...

needs a broadcast of b(k, j) and no more.  For M < S lanes hold several columns too, and
a comes by shuffles.  `coopc.plan.lane_product` says from where; the j are components of
vectors, which are multiplied and added up as such.

Floats are added up in f32, in f64 if any of the four types is f64, by ascending k from
c on, and rounded at the end.  Integers are added up in the type of the result; then c
is added, and only this may saturate.

A reduction is done in each lane, then between lanes by butterflies: a lane reads lane
xor 1, 2, 4, ..., those that have elements of the same row or column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from functools import reduce as fold
from itertools import product

from xdsl.dialects import arith
from xdsl.dialects.builtin import FixedBitwidthType, Float32Type, Float64Type
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Reduced
from coopc.dialects.narrow import is_integer
from coopc.dialects.shaped_arith import shaped
from coopc.dialects.simt import ShuffleMode
from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.ir.element_access import Element
from coopc.layout.coopmatrix import CoopmatrixLayout, Use
from coopc.passes.coopmatrix.elementwise import Make, converted, neutral, reduction
from coopc.passes.generic.number import Num, saturating_sum
from coopc.passes.lanes.distribute_coopmatrix.fragments import (
    Digits,
    LaneFragment,
    component,
    element,
    inside,
    owner,
)
from coopc.plan.lane_product import BUDGET, ProductPlan, number_of, plan_product


def reduced(
    b: Builder,
    op: coopmatrix.ReduceOp,
    held: LaneFragment,
    values: Values,
    target: LaneFragment,
) -> Values:
    """Return each row, or each column, of a matrix reduced to one element."""
    make, x, axis = reduction(op), held.layout, op.axis.data
    nothing = b.constant(held.element, neutral(op))

    def own(at: Digits) -> SSAValue:
        """A component of this lane; what changes nothing where it is padding."""
        value = held.get(b, values, component(b, x, at))
        return b.select(inside(b, x, element(b, x, at)), value, nothing)

    if axis is Reduced.QUADS:
        found = _spread(b, held, partial(_quad, b, x, make, own))
        if op.broadcast is not None:
            return found
        return gathered(
            b,
            held,
            found,
            target,
            lambda at: Element(b.times(at.row, 2), b.times(at.col, 2)),
        )
    along_row, along_col = axis is not Reduced.COLS, axis is not Reduced.ROWS

    @cache
    def line(channel: int, block: int, step: int) -> SSAValue:
        """Components of this lane, then of lanes whose numbers differ in some bits."""
        parts = product(
            range(x.steps) if along_row else [step],
            range(x.channels) if along_row else [channel],
            range(x.blocks) if along_col else [block],
        )
        own_parts = [own(Digits.known(c, k, u)) for u, c, k in parts]
        found = fold(partial(b.pure, make), own_parts)
        bit = 1 if along_col else x.block_rows
        while bit < (x.lanes if along_row else x.block_rows):
            other = b.from_lane(found, BoundedIndex(bit), ShuffleMode.XOR)
            found, bit = b.pure(make, found, other), 2 * bit
        return found

    if axis is Reduced.COLS and op.broadcast is None:
        steps = range(x.steps)
        sums = [[line(c, 0, u) for u in steps] for c in range(x.channels)]
        return _columns(b, sums, x, target)

    def of_line(channel: int, block: int, step: int) -> SSAValue:
        return line(
            0 if along_row else channel,
            0 if along_col else block,
            0 if along_row else step,
        )

    return _spread(b, target, of_line)


def _quad(
    b: Builder,
    x: CoopmatrixLayout,
    make: Make,
    own: Callable[[Digits], SSAValue],
    channel: int,
    block: int,
    step: int,
) -> SSAValue:
    """Return a component combined with its neighbours in the 2 x 2 around it.

    A neighbour is in another lane, or another component of this one.
    """

    def with_lane(value: SSAValue, bit: int) -> SSAValue:
        other = b.from_lane(value, BoundedIndex(bit), ShuffleMode.XOR)
        return b.pure(make, value, other)

    def column(channel: int, step: int) -> SSAValue:
        if x.block_rows > 1:
            return with_lane(own(Digits.known(channel, block, step)), 1)
        pair = (own(Digits.known(channel, y, step)) for y in (block & ~1, block | 1))
        return b.pure(make, *pair)

    if x.channels > 1:
        return b.pure(make, *(column(y, step) for y in (channel & ~1, channel | 1)))
    if x.lanes_per_row > 1:
        return with_lane(column(channel, step), x.block_rows)
    return b.pure(make, *(column(channel, y) for y in (step & ~1, step | 1)))


def gathered(
    b: Builder,
    held: LaneFragment,
    values: Values,
    target: LaneFragment,
    source: Callable[[Element], Element],
) -> Values:
    """Return a fragment of which each element is some element of another one.

    A lane reads each component of the lane that has it, and keeps the one it needs.
    """

    def one(at: BoundedIndex, _: Values) -> SSAValue:
        lane, wanted = owner(b, held.layout, source(target.place(b, at)))
        found = b.constant(held.element, 0)
        for number in range(held.layout.components):
            here = b.equal(wanted, number)
            if here is not False:
                value = held.get(b, values, BoundedIndex(number))
                found = b.select(here, b.from_lane(value, lane), found)
        return found

    return target.made(b, one)


def _spread(
    b: Builder, target: LaneFragment, value: Callable[[int, int, int], SSAValue]
) -> Values:
    """Return a fragment whose components are chosen by channel, block and step."""
    x, found = target.layout, target.nothing(b)
    for c, block, u in product(range(x.channels), range(x.blocks), range(x.steps)):
        at = component(b, x, Digits.known(c, block, u))
        found = target.put(b, found, at, value(c, block, u))
    return found


def _columns(
    b: Builder, sums: list[list[SSAValue]], x: CoopmatrixLayout, target: LaneFragment
) -> Values:
    """Bring the sums of columns, by channel and step, to their owners.

    All I lanes of a column have its sum; of the packed columns p + u' S that lane p is
    to get, lane (p mod S/I) I + p / (S/I) offers number p / (S/I) + u' I.
    """
    found = target.nothing(b)
    lane = b.lane(x.lanes)
    column = b.remainder(lane, x.lanes_per_row)
    row = b.divided(lane, x.lanes_per_row)
    source = b.add(b.times(column, x.block_rows), row)
    mine = b.remainder(lane, x.block_rows)
    for step, channel in product(range(target.layout.steps), range(x.channels)):
        offered = b.selected(_of_step(sums[channel], step, x.block_rows), mine)
        value = offered if x.block_rows == 1 else b.from_lane(offered, source)
        at = component(b, target.layout, Digits.known(channel, step=step))
        found = target.put(b, found, at, value)
    return found


def _of_step(sums: Sequence[SSAValue], step: int, count: int) -> tuple[SSAValue, ...]:
    """Return those that rows offer in a step, or the last where there are no more."""
    return tuple(sums[step * count :][:count] or sums[-1:])


@dataclass(frozen=True, slots=True)
class LaneProduct:
    """A multiplication: what decides on its function."""

    a: LaneFragment
    b: LaneFragment
    c: LaneFragment
    result: LaneFragment
    signed: tuple[bool, bool, bool, bool]
    """Whether the integers of a, b, c and the result are."""
    saturating: bool
    slow_shuffles: bool

    @property
    def name(self) -> str:
        """Of its function, but for a number that makes it the only one."""
        rows, cols = self.result.layout.shape
        types = "_".join(
            f"{'s' if signed else ''}{held.element}"
            for held, signed in zip(
                (self.a, self.b, self.c, self.result), self.signed, strict=True
            )
        )
        end = "_sat" if self.saturating else ""
        return f"mul_add_{rows}x{cols}x{self.a.layout.cols}_{types}{end}"

    def of_shape(self, rows: int, cols: int, depth: int) -> LaneProduct:
        """Return a product of other sizes; a vector has as many components."""
        lanes = self.result.layout.lanes

        def held(x: LaneFragment, use: Use, rows: int, cols: int) -> LaneFragment:
            assert isinstance(x.element, FixedBitwidthType), x.element
            bits = x.element.bitwidth
            layout = CoopmatrixLayout.of(rows, cols, bits, use, lanes)
            return LaneFragment.of(layout, x.element, x.width)

        return replace(
            self,
            a=held(self.a, "a", rows, depth),
            b=held(self.b, "b", depth, cols),
            c=held(self.c, "acc", rows, cols),
            result=held(self.result, "acc", rows, cols),
        )

    def plan(self, budget: int | None) -> ProductPlan:
        return plan_product(
            self.a.layout,
            self.b.layout,
            self.result.layout,
            self.result.width,
            budget,
            self.slow_shuffles,
        )

    @property
    def sum_type(self) -> Attribute:
        """What products are added up in."""
        types = [held.element for held in (self.a, self.b, self.c, self.result)]
        if is_integer(self.result.element):
            return self.result.element
        return Float64Type() if Float64Type() in types else Float32Type()


def multiply_add(
    b: Builder,
    product: LaneProduct,
    x: Values,
    y: Values,
    z: Values,
    *,
    budget: int | None = BUDGET,
) -> Values:
    """Return x y + z, written out as so many operations; None is any number."""
    plan = product.plan(None if b.unroll else budget)
    x, y, sums = widened(b, product, x, y, z)
    lane, rows = b.lane(plan.result.lanes), plan.result.block_rows
    row = b.remainder(lane, rows)

    def version(r: int, value: SSAValue) -> SSAValue:
        if plan.versions == 1:
            return value
        if not product.slow_shuffles:
            return b.from_lane(value, b.add(row, BoundedIndex(r * rows)))
        lanes = (BoundedIndex(i + r * rows) for i in range(rows))
        return b.selected(tuple(b.from_lane(value, x) for x in lanes), row)

    versions = [tuple(version(r, each) for each in x) for r in range(plan.versions)]
    factors = _Factors(product, plan, tuple(versions), y)
    sums = _Steps(b, plan, b.divided(lane, rows)).all(sums, factors)
    return rounded(b, product, sums, z)


def widened(
    b: Builder, product: LaneProduct, x: Values, y: Values, z: Values
) -> tuple[Values, Values, Values]:
    """Return factors in the type of sums, and what sums begin with."""
    type = product.sum_type
    sums = tuple(
        b.constant(shaped(each.type, type), 0)
        if is_integer(type)
        else converted(b, each, type, signed=True)
        for each in z
    )
    x = tuple(converted(b, each, type, product.signed[0]) for each in x)
    y = tuple(converted(b, each, type, product.signed[1]) for each in y)
    return x, y, sums


def rounded(b: Builder, product: LaneProduct, sums: Values, z: Values) -> Values:
    """Return sums as the result; of integers with z added."""
    return tuple(_end(b, product, *each) for each in zip(sums, z, strict=True))


@dataclass(frozen=True, slots=True)
class _Factors:
    """The elements of a and b that are still to be multiplied, the next ones first."""

    product: LaneProduct
    plan: ProductPlan
    versions: tuple[Values, ...]
    """Of a: what lanes need of the columns of other lanes."""
    b: Values

    @property
    def values(self) -> Values:
        return (*(x for each in self.versions for x in each), *self.b)

    def of(self, values: Values) -> _Factors:
        """Return factors of other values."""
        count = self.product.a.count
        end = count * len(self.versions)
        versions = tuple(values[n : n + count] for n in range(0, end, count))
        return replace(self, versions=versions, b=values[end:])

    def without_columns(self, b: Builder, count: int) -> _Factors:
        """Return what is left of a without its first columns."""
        x = self.plan.a
        by = count // (x.channels * self.plan.versions)
        wanted = {
            number_of(x, block, step, channel): number_of(x, block, step + by, channel)
            for block in range(x.blocks)
            for step in range(x.steps - by)
            for channel in range(x.channels)
        }
        some = (_moved(b, self.product.a, x, wanted) for x in self.versions)
        return replace(self, versions=tuple(some))

    def without_blocks(self, b: Builder, count: int) -> _Factors:
        """Return what is left of b without its first blocks of rows."""
        x = self.plan.b
        wanted = {
            number_of(x, block, step): number_of(x, block + count, step)
            for block in range(x.blocks - count)
            for step in range(x.steps)
        }
        return replace(self, b=_moved(b, self.product.b, self.b, wanted))


def _moved(
    b: Builder, held: LaneFragment, values: Values, wanted: dict[int, int]
) -> Values:
    """Return vectors of which components are others of them; the rest is of no use."""
    return tuple(
        held.picked(
            b, values, [wanted.get(n) for n in range(start, start + held.width)]
        )
        for start in range(0, held.width * held.count, held.width)
    )


@dataclass(frozen=True, slots=True)
class _Steps:
    """Writes the steps along K by a plan."""

    b: Builder
    plan: ProductPlan
    own: BoundedIndex
    """Which of the columns that a row has at a time this lane has."""

    def all(self, sums: Values, factors: _Factors) -> Values:
        plan, rows = self.plan, self.plan.b.block_rows
        depth, step = plan.depth, plan.step
        if step >= depth:
            return self.some(sums, factors, depth)
        if step >= rows:

            def several(_: BoundedIndex, sums: Values, f: _Factors) -> State:
                sums = self.some(sums, f, step)
                f = f.without_columns(self.b, step)
                return sums, f.without_blocks(self.b, step // rows)

            sums, factors = self.loop(depth // step, sums, factors, several)
            return self.some(sums, factors, depth % step)

        def block(_: BoundedIndex, sums: Values, f: _Factors) -> State:
            sums, f = self.block(sums, f, rows)
            return sums, f.without_blocks(self.b, 1)

        sums, factors = self.loop(depth // rows, sums, factors, block)
        return self.block(sums, factors, depth % rows)[0]

    def block(self, sums: Values, factors: _Factors, rows: int) -> State:
        """Add what rows of one block of b give."""
        step = self.plan.step

        def some(t: BoundedIndex, sums: Values, f: _Factors) -> State:
            sums = self.some(sums, f, step, self.b.times(t, step))
            return sums, f.without_columns(self.b, step)

        sums, factors = self.loop(rows // step, sums, factors, some)
        done = BoundedIndex(rows - rows % step)
        return self.some(sums, factors, rows % step, done), factors

    def loop(
        self,
        count: int,
        sums: Values,
        factors: _Factors,
        body: Callable[[BoundedIndex, Values, _Factors], State],
    ) -> State:
        n = len(sums)

        def round(t: BoundedIndex, now: Values) -> Values:
            sums, left = body(t, now[:n], factors.of(now[n:]))
            return (*sums, *left.values)

        found = self.b.loop(count, (*sums, *factors.values), round, name="k")
        return found[:n], factors.of(found[n:])

    def some(
        self,
        sums: Values,
        factors: _Factors,
        count: int,
        row: BoundedIndex = BoundedIndex(),  # noqa: B008
    ) -> Values:
        """Add the products of the next columns and rows; these are `row` on in b."""
        b, type = self.b, factors.product.sum_type
        found: list[SSAValue] = []
        for vector, total in enumerate(sums):  # one by one: fewer are in use at a time
            for k in range(count):
                pair = self.of_a(factors, k, vector), self.of_b(factors, k, row, vector)
                total = multiplied(b, type, *pair, total)
            found.append(total)
        return tuple(found)

    def of_a(self, factors: _Factors, k: int, vector: int) -> SSAValue:
        version, numbers = self.plan.of_a(k, vector)
        return factors.product.a.picked(self.b, factors.versions[version], numbers)

    def of_b(
        self, factors: _Factors, k: int, row: BoundedIndex, vector: int
    ) -> SSAValue:
        b, plan, held = self.b, self.plan, factors.product.b
        rows, found = plan.b.block_rows, None
        start = b.add(row, BoundedIndex(k % rows))
        if not plan.is_selected:
            own = b.remainder(self.own, plan.dynamic)
            start = b.add(start, b.times(own, rows))
        for own in plan.owns:
            value = None
            for each in plan.of_b(k, vector, own):
                lane = b.add(start, BoundedIndex(each.lane))
                value = held.picked(
                    b, factors.b, each.numbers, partial(b.from_lane, lane=lane), value
                )
            assert value is not None, plan
            if found is not None:
                whole = self.own
                if not plan.is_selected:
                    whole = b.divided(whole, plan.dynamic)
                number = own if plan.is_selected else own // plan.dynamic
                value = b.select(b.equal(whole, number), value, found)
            found = value
        assert found is not None, plan
        return found


State = tuple[Values, _Factors]
"""Sums, and what is to be multiplied."""


def multiplied(
    b: Builder, type: Attribute, x: SSAValue, y: SSAValue, total: SSAValue
) -> SSAValue:
    """Return a product added to a sum."""
    if is_integer(type):
        return b.pure(arith.AddiOp, total, b.pure(arith.MuliOp, x, y))
    return b.pure(contracted_sum, total, b.pure(contracted, x, y))


_CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])


def contracted(x: SSAValue, y: SSAValue) -> Operation:
    """Return a product that may be fused with a sum."""
    return arith.MulfOp(x, y, flags=_CONTRACT)


def contracted_sum(x: SSAValue, y: SSAValue) -> Operation:
    """Return a sum that a product may be fused with."""
    return arith.AddfOp(x, y, flags=_CONTRACT)


def _end(b: Builder, product: LaneProduct, total: SSAValue, z: SSAValue) -> SSAValue:
    """Return sums as elements of the result; of integers with c added."""
    element = product.result.element
    if not is_integer(element):
        return converted(b, total, element, signed=True)
    sum, c = Num(b, total), Num(b, converted(b, z, element, product.signed[2]))
    if product.saturating:
        return saturating_sum(sum, c, product.signed[3]).value
    return (sum + c).value
