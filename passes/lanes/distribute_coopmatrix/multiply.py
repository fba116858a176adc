"""Products and reductions by lanes: each computes what it holds of the result.

For M >= S lanes are rows.  Lane p has row p of a, so that the step k of

    d(p, j) = c(p, j) + a(p, 0) b(0, j) + a(p, 1) b(1, j) + ...

needs a broadcast of b(k, j) and no more.  For M < S lanes hold several columns too, and
both come by shuffles.  One function a shape: a loop over what lanes hold, in it one
over k.

Floats are added up in f32, in f64 if any of the four types is f64, by ascending k from
c on, and rounded at the end.  Integers are added up in the type of the result; then c
is added, and only this may saturate.

A reduction is done in each lane, then between lanes by butterflies: a lane reads lane
xor 1, 2, 4, ..., those that have elements of the same row or column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from functools import reduce as fold
from itertools import product, starmap

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Reduced
from coopc.dialects.narrow import is_integer
from coopc.dialects.simt import ShuffleMode
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.element_access import Element
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.passes.coopmatrix.elementwise import (
    Make,
    converted,
    neutral,
    reduction,
)
from coopc.passes.lanes.distribute_coopmatrix.fragments import (
    Digits,
    LaneFragment,
    component,
    digits,
    element,
    inside,
    owner,
)


def reduced(
    b: Builder,
    op: coopmatrix.ReduceOp,
    held: LaneFragment,
    values: Values,
    target: LaneFragment,
) -> Values:
    """Return each row, or each column, of a matrix reduced to one element."""
    make, x = reduction(op), held.layout
    nothing = b.constant(held.element, neutral(op))

    def own(at: Digits) -> SSAValue:
        """A component of this lane; what changes nothing where it is padding."""
        value = held.get(b, values, component(b, x, at))
        return b.select(inside(b, x, element(b, x, at)), value, nothing)

    def line(parts: Iterable[Digits], first: int, end: int) -> SSAValue:
        """Components of this lane, then of those that differ in bits [first, end)."""
        found = fold(partial(b.pure, make), [own(at) for at in parts])
        while first < end:
            other = b.from_lane(found, BoundedIndex(first), ShuffleMode.XOR)
            found = b.pure(make, found, other)
            first *= 2
        return found

    if op.axis.data is Reduced.ALL:
        parts = product(range(x.channels), range(x.blocks), range(x.steps))
        total = line(starmap(Digits.known, parts), 1, x.lanes)
        return _spread(b, target, lambda _, __, ___: total)
    if op.axis.data is Reduced.QUADS:
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
    if op.axis.data is Reduced.COLS:
        sums = [
            [
                line((Digits.known(c, k, u) for k in range(x.blocks)), 1, x.block_rows)
                for u in range(x.steps)
            ]
            for c in range(x.channels)
        ]
        if op.broadcast is None:
            return _columns(b, sums, x, target)
        return _spread(b, target, lambda c, _, u: sums[c][u])
    rows = [
        line(
            (
                Digits.known(c, block, u)
                for u, c in product(range(x.steps), range(x.channels))
            ),
            x.block_rows,
            x.lanes,
        )
        for block in range(x.blocks)
    ]
    return _spread(b, target, lambda _, block, __: rows[block])


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
        offered = _chosen(b, sums[channel], mine, step * x.block_rows, x.block_rows)
        value = offered if x.block_rows == 1 else b.from_lane(offered, source)
        at = component(b, target.layout, Digits.known(channel, step=step))
        found = target.put(b, found, at, value)
    return found


def _chosen(
    b: Builder, values: Sequence[SSAValue], at: BoundedIndex, start: int, count: int
) -> SSAValue:
    """Return value number `start + at`, of those that there are."""
    found = values[min(start, len(values) - 1)]
    for number in range(1, min(count, len(values) - start)):
        found = b.select(b.equal(at, number), values[start + number], found)
    return found


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

    @property
    def sum_type(self) -> Attribute:
        """What products are added up in."""
        types = [held.element for held in (self.a, self.b, self.c, self.result)]
        if is_integer(self.result.element):
            return self.result.element
        return Float64Type() if Float64Type() in types else Float32Type()


def multiply_add(
    b: Builder, product: LaneProduct, x: Values, y: Values, z: Values
) -> Values:
    """Return x y + z."""
    held, type = product.result, product.sum_type

    def first(at: BoundedIndex) -> SSAValue:
        if is_integer(type):
            return b.constant(type, 0)
        return converted(b, product.c.get(b, z, at), type, signed=True)

    def body(places: Sequence[BoundedIndex], now: Values) -> Values:
        def step(k: BoundedIndex, sums: Values) -> list[SSAValue]:
            found: list[SSAValue] = []
            for total, at in zip(sums, places, strict=True):
                pair = _a(b, product, x, at, k), _b(b, product, y, at, k)
                if is_integer(type):
                    new = b.pure(arith.AddiOp, total, b.pure(arith.MuliOp, *pair))
                else:
                    new = b.pure(_contracted_sum, total, b.pure(_contracted, *pair))
                found.append(new)
            return found

        start = [first(at) for at in places]
        sums = b.loop(product.a.layout.cols, start, step, name="k")
        for at, total in zip(places, sums, strict=True):
            now = held.put(b, now, at, _end(b, product, total, z, at))
        return now

    return held.for_components(b, held.nothing(b), body)


_CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])


def _contracted(x: SSAValue, y: SSAValue) -> Operation:
    return arith.MulfOp(x, y, flags=_CONTRACT)


def _contracted_sum(x: SSAValue, y: SSAValue) -> Operation:
    return arith.AddfOp(x, y, flags=_CONTRACT)


def _a(
    b: Builder, product: LaneProduct, x: Values, at: BoundedIndex, k: BoundedIndex
) -> SSAValue:
    """Return a(row, k), row that of a component of the result."""
    held, layout = product.a, product.a.layout
    block = digits(b, product.result.layout, at).block
    packed = b.divided(k, layout.channels)
    step = b.divided(packed, layout.lanes_per_row)
    number = component(b, layout, Digits(b.remainder(k, layout.channels), block, step))
    if layout.lanes_per_row == 1:
        # w (k div w) + k mod w, and no other lane.
        per_block = layout.channels * layout.steps
        value = held.get(b, x, b.add(k, b.times(block, per_block)))
    else:
        row = b.remainder(b.lane(layout.lanes), layout.block_rows)
        column = b.remainder(packed, layout.lanes_per_row)
        lane = b.add(row, b.times(column, layout.block_rows))
        value = b.from_lane(held.get(b, x, number), lane)
    return converted(b, value, product.sum_type, product.signed[0])


def _b(
    b: Builder, product: LaneProduct, y: Values, at: BoundedIndex, k: BoundedIndex
) -> SSAValue:
    """Return b(k, column), column that of a component of the result."""
    held, layout, result = product.b, product.b.layout, product.result.layout
    step = digits(b, result, at).step
    row, block = b.remainder(k, layout.block_rows), b.divided(k, layout.block_rows)
    # The column is `own` + (S/I) `step`, I the rows of the result in a block.
    own = b.divided(b.lane(result.lanes), result.block_rows)
    per_row, columns = layout.lanes_per_row, result.lanes_per_row

    def offered(u: BoundedIndex) -> SSAValue:
        if u.most > (end := layout.steps - 1):
            # Padding asks for columns beyond all.
            least = b.pure(arith.MinUIOp, b.index(u), b.constant(INDEX, end))
            u = BoundedIndex(0, least, end, u.varies)
        return held.get(b, y, component(b, layout, Digits(BoundedIndex(), block, u)))

    if per_row >= columns:
        ratio = per_row // columns
        column = b.add(own, b.times(b.remainder(step, ratio), columns))
        lane = b.add(row, b.times(column, layout.block_rows))
        value = b.from_lane(offered(b.divided(step, ratio)), lane)
    else:
        ratio = columns // per_row
        lane = b.add(row, b.times(b.remainder(own, per_row), layout.block_rows))
        wanted = b.index(b.divided(own, per_row))

        def turn(r: BoundedIndex, now: Values) -> Sequence[SSAValue]:
            found = b.from_lane(offered(b.add(b.times(step, ratio), r)), lane)
            is_wanted = b.compare("eq", wanted, b.index(r))
            return (b.select(is_wanted, found, now[0]),)

        turns = min(ratio, layout.steps)
        (value,) = b.loop(turns, (b.constant(held.element, 0),), turn, name="r")
    return converted(b, value, product.sum_type, product.signed[1])


def _end(
    b: Builder, product: LaneProduct, total: SSAValue, z: Values, at: BoundedIndex
) -> SSAValue:
    """Return a sum as an element of the result; of integers with c added."""
    type = product.result.element
    if not is_integer(type):
        return converted(b, total, type, signed=True)
    c = converted(b, product.c.get(b, z, at), type, product.signed[2])
    found = b.pure(arith.AddiOp, total, c)
    if not product.saturating:
        return found
    if not product.signed[3]:
        wrapped = b.compare("ult", found, c)
        return b.select(wrapped, b.constant(type, -1), found)
    zero, bits = b.constant(type, 0), type.width.data
    # The sum has overflowed if its sign is neither that of one nor that of the other.
    changed = b.pure(
        arith.AndIOp,
        b.pure(arith.XOrIOp, total, found),
        b.pure(arith.XOrIOp, c, found),
    )
    most, least = (
        b.constant(type, n) for n in ((1 << (bits - 1)) - 1, -1 << (bits - 1))
    )
    limit = b.select(b.compare("slt", total, zero), least, most)
    return b.select(b.compare("slt", changed, zero), limit, found)
