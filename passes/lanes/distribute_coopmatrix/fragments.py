"""What a lane holds of a matrix: vectors of components, read and written by number.

V components are one vector, or several of one width; what is left over at the end is
never used.  The widths are powers of two that SPIR-V has, so that a number that is
known at run time picks a component with one instruction a vector.  Vectors of 3 are
not among them: they save nothing, being as large as those of 4, and Intel's CPU
runtime mixes up the lanes' where functions that are not inlined take or return them.

| V  | of at most 16 | of at most 4   |
|----|---------------|----------------|
| 1  | vector<1>     | vector<1>      |
| 3  | vector<4>     | vector<4>      |
| 7  | vector<8>     | 2 x vector<4>  |
| 20 | 2 x vector<16> | 5 x vector<4> |

Where a component is, and who has an element, is computed by the formulas of
`coopc.layout.coopmatrix` on bounded indices, so that most of them cost no operation.

Laws (test/unit/passes/lanes/test_lane_places.py): `element` and `owner` are those of
the layout for every lane and component; `component` undoes `digits`; `inside` is False
of padding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.ir.element_access import Element
from coopc.ir.split_values import Parts
from coopc.layout.coopmatrix import CoopmatrixLayout


@dataclass(frozen=True, slots=True)
class Digits:
    """A component as its digits: v = c + w (w1 + K1 (u + U w2))."""

    channel: BoundedIndex
    """c"""
    block: BoundedIndex
    """w1 + K1 w2: which I rows."""
    step: BoundedIndex
    """u"""

    @classmethod
    def known(cls, channel: int = 0, block: int = 0, step: int = 0) -> Digits:
        return cls(BoundedIndex(channel), BoundedIndex(block), BoundedIndex(step))


def digits(b: Builder, x: CoopmatrixLayout, component: BoundedIndex) -> Digits:
    channel = b.remainder(component, x.channels)
    rest = b.divided(component, x.channels)
    w1, rest = b.remainder(rest, x.k1), b.divided(rest, x.k1)
    u, w2 = b.remainder(rest, x.steps), b.divided(rest, x.steps)
    return Digits(channel, b.add(w1, b.times(w2, x.k1)), u)


def component(b: Builder, x: CoopmatrixLayout, at: Digits) -> BoundedIndex:
    w1, w2 = b.remainder(at.block, x.k1), b.divided(at.block, x.k1)
    packed = b.add(at.step, b.times(w2, x.steps))
    packed = b.add(b.times(packed, x.k1), w1)
    return b.add(b.times(packed, x.channels), at.channel)


def element(b: Builder, x: CoopmatrixLayout, at: Digits) -> Element:
    """Return where in the matrix this lane has a component."""
    lane = b.lane(x.lanes)
    i = b.remainder(lane, x.block_rows)
    packed = b.add(b.divided(lane, x.block_rows), b.times(at.step, x.lanes_per_row))
    return Element(
        b.add(i, b.times(at.block, x.block_rows)),
        b.add(at.channel, b.times(packed, x.channels)),
    )


def inside(b: Builder, x: CoopmatrixLayout, at: Element) -> SSAValue | bool:
    """Return whether a component of this lane is an element: not padding."""
    row = b.below(at.row, x.rows) if x.needs_row_mask else True
    col = b.below(at.col, x.cols) if x.needs_mask else True
    return b.both(row, col)


def owner(
    b: Builder, x: CoopmatrixLayout, at: Element
) -> tuple[BoundedIndex, BoundedIndex]:
    """Return the lane that has an element, and as which component."""
    i, block = b.remainder(at.row, x.block_rows), b.divided(at.row, x.block_rows)
    channel, packed = b.remainder(at.col, x.channels), b.divided(at.col, x.channels)
    u, column = b.divided(packed, x.lanes_per_row), b.remainder(packed, x.lanes_per_row)
    lane = b.add(i, b.times(column, x.block_rows))
    return lane, component(b, x, Digits(channel, block, u))


WIDTHS = (1, 2, 4, 8, 16)
"""Components of the vectors that lanes have, and of a scalar."""

WRITTEN_OUT = 4
"""So many components, or fewer, are not worth a loop."""
BUDGET = 128
"""Operations that a loop over components is written out as, at most."""


@dataclass(frozen=True, slots=True)
class LaneFragment:
    """What a lane holds of matrices of one type."""

    layout: CoopmatrixLayout
    element: Attribute
    width: int
    """Components of each vector."""
    count: int
    """Vectors."""

    @classmethod
    def of(
        cls, layout: CoopmatrixLayout, element: Attribute, max_vector: int
    ) -> LaneFragment:
        """Return what a lane holds, in vectors of at most so many components."""
        components = layout.components
        width = next((x for x in WIDTHS if x >= min(components, max_vector)), 16)
        return cls(layout, element, width, -(-components // width))

    @property
    def type(self) -> VectorType:
        return VectorType(self.element, [self.width])

    @property
    def parts(self) -> Parts:
        return Parts((self.type,) * self.count)

    def nothing(self, b: Builder) -> Values:
        return (b.constant(self.type, 0),) * self.count

    def splat(self, b: Builder, scalar: SSAValue) -> Values:
        return (b.pure(vector.BroadcastOp, scalar, self.type),) * self.count

    def place(self, b: Builder, at: BoundedIndex) -> Element:
        """Return where in the matrix this lane has a component."""
        return element(b, self.layout, digits(b, self.layout, at))

    def get(self, b: Builder, values: Values, at: BoundedIndex) -> SSAValue:
        vectors, position = self._where(b, at)
        found = b.extract(values[vectors[0]], position)
        number = b.divided(at, self.width)
        for each in vectors[1:]:
            other = b.extract(values[each], position)
            found = b.select(b.equal(number, each), other, found)
        return found

    def put(
        self, b: Builder, values: Values, at: BoundedIndex, new: SSAValue
    ) -> Values:
        """Return vectors of which a component is replaced."""
        vectors, position = self._where(b, at)
        number = b.divided(at, self.width)
        found = list(values)
        for each in vectors:
            changed = b.insert(values[each], position, new)
            is_there = len(vectors) == 1 or b.equal(number, each)
            found[each] = b.select(is_there, changed, values[each])
        return tuple(found)

    def picked(
        self,
        b: Builder,
        values: Values,
        numbers: Sequence[int | None],
        of: Callable[[SSAValue], SSAValue] = lambda x: x,
        other: SSAValue | None = None,
    ) -> SSAValue:
        """Return components as a vector.

        Args:
            b: the builder.
            values: what lanes hold.
            numbers: of each component of the vector; None where it is not one of these.
            of: from one of the values to that whose components are wanted.
            other: a vector of the components that are not.
        """
        known = [n for n in numbers if n is not None]
        found = other if known else values[0]
        for each in sorted({n // self.width for n in known}):
            value, start = of(values[each]), each * self.width
            mine = [n is not None and n // self.width == each for n in numbers]
            places = [
                n - start if n is not None and own else None
                for n, own in zip(numbers, mine, strict=True)
            ]
            if found is None:
                # What comes later, or is of no use, is anything.
                chosen = [
                    at % self.width if n is None else n for at, n in enumerate(places)
                ]
                is_whole = chosen == list(range(self.width))
                found = value if is_whole else b.blend(value, value, chosen)
                continue
            size = len(numbers)
            chosen = [at if n is None else size + n for at, n in enumerate(places)]
            found = b.blend(found, value, chosen)
        assert found is not None, numbers
        return found

    def _where(self, b: Builder, at: BoundedIndex) -> tuple[range, SSAValue | int]:
        """Return which vectors may have a component, and its position in them."""
        first = at.constant // self.width
        last = min(at.most // self.width, self.count - 1)
        if first == last:
            start = at.constant - first * self.width
            within = BoundedIndex(start, at.part, at.part_most, at.varies)
        else:
            within = b.remainder(at, self.width)
        known = 0 if self.width == 1 else within.known
        return range(first, last + 1), b.index(within) if known is None else known

    def for_components(
        self, b: Builder, carried: Values, body: Body, cost: int = BUDGET
    ) -> Values:
        """Run a body for all components; return what is carried at the end.

        There is no loop where all take no more operations than `BUDGET`, if one
        component takes `cost`.

        A round of a loop does one component of each vector, so that a number that is
        known when compiling says which vector that is.
        """
        components = self.layout.components
        most = max(WRITTEN_OUT, BUDGET // cost)
        return in_rounds(b, components, self.width, carried, body, most)

    def made(
        self,
        b: Builder,
        make: Callable[[BoundedIndex, Values], SSAValue],
        start: Values | None = None,
        cost: int = BUDGET,
    ) -> Values:
        """Return vectors of components made one by one; the rest are of `start`.

        Args:
            b: the builder.
            make: from a component, and the vectors so far, to its value.
            start: what is replaced; zeros if it is None.
            cost: operations of one component.
        """

        def body(places: Sequence[BoundedIndex], now: Values) -> Values:
            for at in places:
                now = self.put(b, now, at, make(at, now))
            return now

        return self.for_components(b, start or self.nothing(b), body, cost)


Body = Callable[[Sequence[BoundedIndex], Values], Values]
"""From some components, and what is carried, to what is carried on."""


def in_rounds(
    b: Builder, count: int, chunk: int, carried: Values, body: Body, written_out: int
) -> Values:
    """Run a body for the numbers below a count; return what is carried at the end.

    A round of a loop does one number of each chunk of so many; where that are not more
    numbers than `written_out`, there is no loop.
    """
    full, rest = divmod(count, chunk)
    values = carried
    for length, chunks in ((chunk, range(full)), (rest, range(full, full + 1))):
        if not chunks or length == 0:
            continue

        def round(t: BoundedIndex, now: Values, chunks: range = chunks) -> Values:
            return body([b.add(t, BoundedIndex(x * chunk)) for x in chunks], now)

        if length * len(chunks) <= written_out:
            for t in range(length):
                values = round(BoundedIndex(t), values)
        else:
            values = b.loop(length, values, round)
    return values
