"""Between lanes: matrices from one layout to another, and reductions.

An exchange asks, for each component of the target, its owner in the source, and reads
the component from there.  Where the component to read depends on the lane, all of those
that are asked for are offered in turn.

A reduction is done in each lane, then between lanes by butterflies: lane xor 1, 2, 4...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from itertools import product

from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Axis
from coopc.dialects.simt import ShuffleMode
from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.rewrite.lane_arithmetic import Make, neutral, reduction
from coopc.rewrite.lane_places import (
    Digits,
    component,
    digits,
    element,
    inside,
    owner,
)
from coopc.rewrite.lane_values import Held, get, put


def shuffled(
    b: Builder, value: SSAValue, lane: BoundedIndex, mode: ShuffleMode = ShuffleMode.IDX
) -> SSAValue:
    """Return what another lane has; a broadcast where all read the same one."""
    if mode == ShuffleMode.IDX and not lane.varies:
        return b.pure(simt.BroadcastOp, value, b.index(lane))
    return b.pure(_shuffle, value, b.index(lane), mode)


def _shuffle(value: SSAValue, offset: SSAValue, mode: ShuffleMode) -> Operation:
    return simt.ShuffleOp(mode, value, offset)


def is_same_place(source: CoopmatrixLayout, target: CoopmatrixLayout) -> bool:
    """Whether every lane has every element as the same component."""
    import numpy as np

    if source.components != target.components:
        return False
    pairs = zip(source.table(), target.table(), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs)


def exchanged(b: Builder, held: Held, values: Values, target: Held) -> Values:
    """Return a matrix in another layout, of the same element type.

    It is written out: which components are offered is known when compiling.
    """
    offers = _offers(held.layout, target.layout)
    found = target.nothing(b)
    for number, (sent, is_own) in enumerate(offers):
        if not sent:
            continue
        at = BoundedIndex(number)
        if is_own and len(sent) == 1:
            value = get(b, held, values, BoundedIndex(sent[0]))
        else:
            value = _received(b, held, values, target, at, sent)
        found = put(b, target, found, at, value)
    return found


def _offers(
    source: CoopmatrixLayout, target: CoopmatrixLayout
) -> list[tuple[list[int], bool]]:
    """Return for each component what is read, and whether each lane has it itself."""
    import numpy as np

    row, col = target.table()
    is_element = row < target.rows
    result: list[tuple[list[int], bool]] = []
    lanes = np.arange(target.lanes)
    for number in range(target.components):
        real = is_element[number]
        lane, sent = source.owners(row[number][real], col[number][real])
        is_own = bool(np.array_equal(lane, lanes[real]))
        result.append((sorted({int(x) for x in sent}), is_own))
    return result


def _received(
    b: Builder,
    held: Held,
    values: Values,
    target: Held,
    at: BoundedIndex,
    sent: Sequence[int],
) -> SSAValue:
    """Return what the owners have of a component of the target."""
    place = element(b, target.layout, digits(b, target.layout, at))
    lane, wanted = owner(b, held.layout, place)
    # Of padding there may be no owner.
    lane = b.remainder(lane, held.layout.lanes)
    found: SSAValue | None = None
    for number in sent:
        value = shuffled(b, get(b, held, values, BoundedIndex(number)), lane)
        found = (
            value if found is None else b.select(b.equal(wanted, number), value, found)
        )
    assert found is not None
    return found


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
