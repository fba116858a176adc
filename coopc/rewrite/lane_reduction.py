"""Reductions of matrices: in each lane, then between lanes by butterflies.

Lane reads lane xor 1, 2, 4, ..: those that have elements of the same row or column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from itertools import product

from xdsl.ir import SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Axis
from coopc.dialects.simt import ShuffleMode
from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.rewrite.lane_arithmetic import Make, neutral, reduction
from coopc.rewrite.lane_places import Digits, component, element, inside
from coopc.rewrite.lane_values import Held, get, put, shuffled


def reduced(
    b: Builder, op: coopmatrix.ReduceOp, held: Held, values: Values, target: Held
) -> Values:
    """Return each row, or each column, of a matrix reduced to one element."""
    signed, kind = op.signed is not None, op.kind.data
    make = reduction(kind, held.element, signed)
    nothing = b.constant(held.element, neutral(kind, held.element, signed))
    x = held.layout

    def own(at: Digits) -> SSAValue:
        """A component of this lane; what changes nothing where it is padding."""
        value = get(b, held, values, component(b, x, at))
        return b.select(inside(b, x, element(b, x, at)), value, nothing)

    if op.axis.data == Axis.ROWS:
        return _rows(b, make, own, x, target)
    return _columns(b, make, own, x, target)


def _combine(b: Builder, make: Make, parts: Sequence[SSAValue]) -> SSAValue:
    return fold(lambda one, other: b.pure(make, one, other), parts)


def _between(b: Builder, make: Make, value: SSAValue, first: int, end: int) -> SSAValue:
    """Reduce over the lanes whose numbers differ in the bits of [first, end)."""
    step = first
    while step < end:
        other = shuffled(b, value, BoundedIndex(step), ShuffleMode.XOR)
        value = b.pure(make, value, other)
        step *= 2
    return value


def _rows(
    b: Builder,
    make: Make,
    own: Callable[[Digits], SSAValue],
    x: CoopmatrixLayout,
    target: Held,
) -> Values:
    """Each lane over its columns, then over the lanes that have columns of one row."""
    found = target.nothing(b)
    for block in range(x.blocks):
        columns = product(range(x.steps), range(x.channels))
        parts = [
            own(Digits(BoundedIndex(c), BoundedIndex(block), BoundedIndex(u)))
            for u, c in columns
        ]
        value = _combine(b, make, parts)
        value = _between(b, make, value, x.block_rows, x.lanes)
        at = component(
            b,
            target.layout,
            Digits(BoundedIndex(), BoundedIndex(block), BoundedIndex()),
        )
        found = put(b, target, found, at, value)
    return found


def _columns(
    b: Builder,
    make: Make,
    own: Callable[[Digits], SSAValue],
    x: CoopmatrixLayout,
    target: Held,
) -> Values:
    """Each lane over its rows, then over the lanes of a column, then to the owners.

    All I lanes of a column have its sum; of the packed columns p + u' S that lane p is
    to get, lane (p mod S/I) I + p / (S/I) offers number p / (S/I) + u' I.
    """
    sums: list[list[SSAValue]] = []
    for channel in range(x.channels):
        of_channel: list[SSAValue] = []
        for u in range(x.steps):
            blocks = (
                Digits(BoundedIndex(channel), BoundedIndex(k), BoundedIndex(u))
                for k in range(x.blocks)
            )
            value = _combine(b, make, [own(at) for at in blocks])
            of_channel.append(_between(b, make, value, 1, x.block_rows))
        sums.append(of_channel)
    found = target.nothing(b)
    lane = b.lane(x.lanes)
    column = b.remainder(lane, x.lanes_per_row)
    row = b.divided(lane, x.lanes_per_row)
    source = b.add(b.times(column, x.block_rows), row)
    mine = b.remainder(lane, x.block_rows)
    for step, channel in product(range(target.layout.steps), range(x.channels)):
        offered = _chosen(b, sums[channel], mine, step * x.block_rows, x.block_rows)
        value = offered if x.block_rows == 1 else shuffled(b, offered, source)
        at = component(
            b,
            target.layout,
            Digits(BoundedIndex(channel), BoundedIndex(), BoundedIndex(step)),
        )
        found = put(b, target, found, at, value)
    return found


def _chosen(
    b: Builder, values: Sequence[SSAValue], at: BoundedIndex, start: int, count: int
) -> SSAValue:
    """Return value number `start + at`, of those that there are."""
    found = values[min(start, len(values) - 1)]
    for number in range(1, min(count, len(values) - start)):
        found = b.select(b.equal(at, number), values[start + number], found)
    return found
