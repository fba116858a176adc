"""What a lane holds of a matrix: vectors of components, read and written by number.

V components are one vector, or several of one width; what is left over at the end is
never used.  The widths are powers of two that SPIR-V has, so that a number that is
known at run time picks a component with one instruction a vector.  Vectors of 3 are
not among them: they save nothing, being as large as those of 4, and Intel's CPU
run-time mixes up the lanes' where functions that are not inlined take or return them.

| V  | of at most 16 | of at most 4   |
|----|---------------|----------------|
| 1  | vector<1>     | vector<1>      |
| 3  | vector<4>     | vector<4>      |
| 7  | vector<8>     | 2 x vector<4>  |
| 20 | 2 x vector<16> | 5 x vector<4> |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import ShuffleMode
from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.rewrite.one_to_many import Parts

WIDTHS = (1, 2, 4, 8, 16)
"""Components of the vectors that lanes have, and of a scalar."""

WRITTEN_OUT = 4
"""So many components, or fewer, are not worth a loop."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a lane holds of matrices of one type."""

    layout: CoopmatrixLayout
    element: Attribute
    width: int
    """Components of each vector."""
    count: int
    """Vectors."""

    @classmethod
    def of(cls, layout: CoopmatrixLayout, element: Attribute, max_vector: int) -> Held:
        """Return what a lane holds, in vectors of at most so many components."""
        components = layout.components
        width = next((x for x in WIDTHS if x >= min(components, max_vector)), 16)
        return cls(layout, element, width, -(-components // width))

    @property
    def type(self) -> VectorType:
        """Of each vector."""
        return VectorType(self.element, [self.width])

    @property
    def parts(self) -> Parts:
        """What a matrix becomes."""
        return Parts((self.type,) * self.count)

    def nothing(self, b: Builder) -> Values:
        """Return vectors of zeros."""
        return (b.constant(self.type, 0),) * self.count


def get(
    b: Builder, held: Held, values: Sequence[SSAValue], at: BoundedIndex
) -> SSAValue:
    """Return a component."""
    first, last = at.constant // held.width, at.most // held.width
    last = min(last, held.count - 1)
    place = b.remainder(at, held.width) if first < last else _within(held, first, at)
    found = _extract(b, held, values[first], place)
    number = b.divided(at, held.width)
    for each in range(first + 1, last + 1):
        other = _extract(b, held, values[each], place)
        found = b.select(b.equal(number, each), other, found)
    return found


def put(
    b: Builder, held: Held, values: Sequence[SSAValue], at: BoundedIndex, new: SSAValue
) -> Values:
    """Return vectors of which a component is replaced."""
    first, last = at.constant // held.width, at.most // held.width
    last = min(last, held.count - 1)
    found = list(values)
    if first == last:
        place = _within(held, first, at)
        found[first] = _insert(b, held, values[first], place, new)
        return tuple(found)
    place, number = b.remainder(at, held.width), b.divided(at, held.width)
    for each in range(first, last + 1):
        changed = _insert(b, held, values[each], place, new)
        found[each] = b.select(b.equal(number, each), changed, values[each])
    return tuple(found)


def _within(held: Held, vector: int, at: BoundedIndex) -> BoundedIndex:
    """Return the place in a vector of a component that is in it."""
    return BoundedIndex(
        at.constant - vector * held.width, at.part, at.part_most, at.varies
    )


def _position(b: Builder, held: Held, at: BoundedIndex) -> SSAValue | int:
    known = 0 if held.width == 1 else at.known
    return b.index(at) if known is None else known


def _extract(b: Builder, held: Held, value: SSAValue, at: BoundedIndex) -> SSAValue:
    return b.pure(_extracted, value, _position(b, held, at), held.element)


def _insert(
    b: Builder, held: Held, value: SSAValue, at: BoundedIndex, new: SSAValue
) -> SSAValue:
    return b.pure(_inserted, new, value, _position(b, held, at))


def _extracted(
    value: SSAValue, at: SSAValue | int, element: Attribute
) -> vector.ExtractOp:
    return vector.ExtractOp(value, [at], element)


def _inserted(new: SSAValue, value: SSAValue, at: SSAValue | int) -> vector.InsertOp:
    return vector.InsertOp(new, value, [at])


Body = Callable[[Sequence[BoundedIndex], Values], Sequence[SSAValue]]
"""From some components, and what is carried, to what is carried on."""


def for_components(
    b: Builder, held: Held, carried: Sequence[SSAValue], body: Body
) -> Values:
    """Run a body for all components; return what is carried at the end.

    A round of a loop does one component of each vector, so that a number that is known
    when compiling says which vector that is.
    """
    full, rest = divmod(held.layout.components, held.width)
    values = tuple(carried)
    for length, vectors in ((held.width, range(full)), (rest, range(full, full + 1))):
        if not vectors or length == 0:
            continue

        def round(
            t: BoundedIndex, now: Values, vectors: range = vectors
        ) -> Sequence[SSAValue]:
            places = [b.add(t, BoundedIndex(each * held.width)) for each in vectors]
            return body(places, now)

        if length * len(vectors) <= WRITTEN_OUT:
            for t in range(length):
                values = tuple(round(BoundedIndex(t), values))
        else:
            values = b.loop(length, values, round)
    return values


def made(
    b: Builder,
    held: Held,
    make: Callable[[BoundedIndex], SSAValue],
    start: Values | None = None,
) -> Values:
    """Return vectors of components made one by one; the rest are of `start`."""

    def body(places: Sequence[BoundedIndex], now: Values) -> Sequence[SSAValue]:
        for at in places:
            now = put(b, held, now, at, make(at))
        return now

    return for_components(b, held, start or held.nothing(b), body)


def shuffled(
    b: Builder, value: SSAValue, lane: BoundedIndex, mode: ShuffleMode = ShuffleMode.IDX
) -> SSAValue:
    """Return what another lane has; a broadcast where all read the same one."""
    if mode == ShuffleMode.IDX and not lane.varies:
        return b.pure(simt.BroadcastOp, value, b.index(lane))
    return b.pure(_shuffle, value, b.index(lane), mode)


def _shuffle(value: SSAValue, offset: SSAValue, mode: ShuffleMode) -> Operation:
    return simt.ShuffleOp(mode, value, offset)
