"""Accesses to memory by lanes: each its own elements, or all together by blocks.

    %x = memref.load %memory[%p0 + row, %p1 + column]

Padding is masked by the size of the matrix, never by the memref's; `checked` axes by
the memref's.  What is not accessed is 0.

    %m = simt.block_read %memory[%p0, %p1] : memref<8x32xf32> -> vector<2xf32>
    %v = vector.shuffle %now, %m [0, 8, 2, 3, 4, 9, 6, 7]

A message of a plan (`coopc.plan.lane_access`) starts at the element of lane 0.  Its
components are moved to where lanes have them, by one shuffle a vector where their
numbers are known, and one by one in loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    MemRefType,
    StridedLayoutAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.ir import element_access
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.element_access import Element, checks_of, positions_of
from coopc.passes.lanes.distribute_coopmatrix.fragments import (
    Digits,
    LaneFragment,
    component,
    digits,
    element,
    extracted,
    for_components,
    get,
    inserted,
    inside,
    made,
    put,
)
from coopc.plan.lane_access import BlockAccess


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """Where the elements of one matrix are in memory."""

    b: Builder
    op: coopmatrix.AccessOp
    held: LaneFragment

    def guarded(self, at: BoundedIndex) -> tuple[SSAValue | bool, Values]:
        """Return whether a component is to be accessed, and its positions."""
        b, x = self.b, self.held.layout
        place = element(b, x, digits(b, x, at))
        positions = positions_of(b, self.op, place)
        checks = checks_of(b, self.op, positions)
        return b.both(inside(b, x, place), *checks), positions


WRITTEN_OUT = 8
"""So many messages, or fewer, are not worth a loop."""


@dataclass(frozen=True, slots=True)
class BlockMessage:
    """One block, that lanes access together."""

    memory: SSAValue
    positions: Values
    """Of the element that lane 0 has as the first component."""
    wanted: SSAValue | bool
    """Whether it is to be accessed."""
    type: Attribute
    """A scalar or a vector."""
    numbers: Sequence[BoundedIndex]
    """Where lanes have the components."""


def read_blocks(access: LaneAccess, plan: BlockAccess) -> Values:
    b, held = access.b, access.held

    def body(run: BoundedIndex, now: Values) -> Values:
        for message in _messages(access, plan, run):
            place = message.memory, message.positions, message.type
            zero = b.constant(message.type, 0)
            read = partial(simt.BlockReadOp, *place)
            (value,) = b.effect_where(message.wanted, read, (zero,))
            now = _put_all(b, held, now, message.numbers, value)
        return now

    return _for_runs(b, held, plan, held.nothing(b), body)


def write_blocks(access: LaneAccess, plan: BlockAccess, values: Values) -> None:
    b, held = access.b, access.held

    def body(run: BoundedIndex, now: Values) -> Values:
        for message in _messages(access, plan, run):
            value = _get_all(b, held, values, message.numbers)
            place = message.memory, message.positions
            b.effect_where(message.wanted, partial(simt.BlockWriteOp, value, *place))
        return now

    _for_runs(b, held, plan, (), body)


def _for_runs(
    b: Builder,
    held: LaneFragment,
    plan: BlockAccess,
    carried: Values,
    body: Callable[[BoundedIndex, Values], Values],
) -> Values:
    """Run a body for all runs; return what is carried at the end.

    A round of a loop does one run in each vector, as far as vectors end with runs.
    """
    values = carried
    if plan.messages <= WRITTEN_OUT:
        for number in range(plan.runs):
            values = body(BoundedIndex(number), values)
        return values
    chunk = max(1, held.width // held.layout.k1)
    full, rest = divmod(plan.runs, chunk)
    for length, chunks in ((chunk, range(full)), (rest, range(full, full + 1))):

        def round(t: BoundedIndex, now: Values, chunks: range = chunks) -> Values:
            for each in chunks:
                now = body(b.add(t, BoundedIndex(each * chunk)), now)
            return now

        if chunks and length:
            values = b.loop(length, values, round)
    return values


def _messages(
    access: LaneAccess, plan: BlockAccess, run: BoundedIndex
) -> Iterator[BlockMessage]:
    """Yield the messages of a run."""
    b, held, x = access.b, access.held, access.held.layout
    places = list(plan.places(x))
    memory = _joined(access) if plan.joined else access.op.memory
    for start, length in zip(plan.starts, plan.lengths, strict=True):
        block, step = places[start]
        column = b.times(b.add(run, BoundedIndex(step)), x.lanes_per_row)
        positions = positions_of(
            b, access.op, Element(BoundedIndex(block * x.block_rows), column)
        )
        wanted = b.both(*checks_of(b, access.op, positions))
        if plan.joined:
            first = positions_of(b, access.op, Element(BoundedIndex(), BoundedIndex()))
            positions = (_linear(access, first, start * x.lanes),)
        numbers = [
            component(
                b,
                x,
                Digits(
                    BoundedIndex(), BoundedIndex(block), b.add(run, BoundedIndex(step))
                ),
            )
            for block, step in places[start : start + length]
        ]
        type = held.element if length == 1 else VectorType(held.element, [length])
        yield BlockMessage(memory, positions, wanted, type, numbers)


def _joined(access: LaneAccess) -> SSAValue:
    """Return a memref as one dimension; all of it is known."""
    type = access.op.memory_type
    offset, strides = type.get_offset(), type.get_strides()
    assert offset is not None
    assert strides is not None
    ends = zip(type.get_shape(), strides, strict=True)
    size = 1 + sum((n - 1) * (stride or 0) for n, stride in ends)
    layout = StridedLayoutAttr([1], offset)
    flat = MemRefType(type.element_type, [size], layout, type.memory_space)
    return access.b.pure(_flattened, access.op.memory, offset, size, flat)


def _flattened(memory: SSAValue, offset: int, size: int, type: Attribute) -> Operation:
    return memref.ReinterpretCastOp.from_dynamic(memory, [offset], [size], [1], type)


def _linear(access: LaneAccess, positions: Values, more: int) -> SSAValue:
    """Return where an element is, counted in one dimension."""
    b, strides = access.b, access.op.memory_type.get_strides()
    assert strides is not None
    found: SSAValue | None = None
    for position, stride in zip(positions, strides, strict=True):
        factor = b.constant(INDEX, stride or 0)
        step = position if stride == 1 else b.pure(arith.MuliOp, position, factor)
        found = step if found is None else b.pure(arith.AddiOp, found, step)
    assert found is not None
    return b.pure(arith.AddiOp, found, b.constant(INDEX, more)) if more else found


# From messages to what lanes hold, and back


def _put_all(
    b: Builder,
    held: LaneFragment,
    now: Values,
    numbers: Sequence[BoundedIndex],
    value: SSAValue,
) -> Values:
    """Return vectors of which the components of a message are replaced."""
    if len(numbers) == 1:
        return put(b, held, now, numbers[0], value)
    known = [number.known for number in numbers]
    if None in known:
        for at, number in enumerate(numbers):
            now = put(b, held, now, number, b.pure(extracted, value, at, held.element))
        return now
    found = list(now)
    for each in range(held.count):
        mask = list(range(held.width))
        for at, number in enumerate(known):
            assert number is not None
            if number // held.width == each:
                mask[number % held.width] = held.width + at
        found[each] = _shuffled(b, held, found[each], value, mask)
    return tuple(found)


def _get_all(
    b: Builder, held: LaneFragment, values: Values, numbers: Sequence[BoundedIndex]
) -> SSAValue:
    """Return some components, as the value of a message."""
    if len(numbers) == 1:
        return get(b, held, values, numbers[0])
    known = [number.known for number in numbers]
    vectors = sorted({n // held.width for n in known if n is not None})
    if None in known or len(vectors) > 2:
        found = b.constant(VectorType(held.element, [len(numbers)]), 0)
        for at, number in enumerate(numbers):
            found = b.pure(inserted, get(b, held, values, number), found, at)
        return found
    mask = [
        held.width * vectors.index(n // held.width) + n % held.width
        for n in known
        if n is not None
    ]
    return _shuffled(b, held, values[vectors[0]], values[vectors[-1]], mask)


def _shuffled(
    b: Builder, held: LaneFragment, one: SSAValue, other: SSAValue, mask: Sequence[int]
) -> SSAValue:
    """Return components of a vector that lanes hold, and of another vector."""
    whole = list(range(held.width))
    if list(mask) == whole:
        return one
    if other.type == held.type and list(mask) == [held.width + n for n in whole]:
        return other
    return b.pure(_shuffle, one, other, tuple(mask), held.element)


def _shuffle(
    one: SSAValue, other: SSAValue, mask: Sequence[int], element: Attribute
) -> Operation:
    type = VectorType(element, [len(mask)])
    numbers = DenseArrayBase.from_list(i64, mask)
    return vector.ShuffleOp(one, other, numbers, result_type=type)


def load(
    b: Builder,
    op: coopmatrix.LoadOp | coopmatrix.AtomicLoadOp,
    held: LaneFragment,
    block: BlockAccess | None,
) -> Values:
    access = LaneAccess(b, op, held)
    zero = b.constant(held.element, 0)
    if block is not None:
        return read_blocks(access, block)

    def one(at: BoundedIndex) -> SSAValue:
        wanted, positions = access.guarded(at)
        return b.effect_where(
            wanted, partial(element_access.load, op, positions), (zero,)
        )[0]

    return made(b, held, one)


def store(
    b: Builder,
    op: coopmatrix.StoreOp | coopmatrix.AtomicStoreOp,
    held: LaneFragment,
    values: Values,
    block: BlockAccess | None,
) -> None:
    access = LaneAccess(b, op, held)
    if block is not None:
        write_blocks(access, block, values)
        return

    def body(places: Sequence[BoundedIndex], now: Values) -> Values:
        for at in places:
            value = get(b, held, values, at)
            wanted, positions = access.guarded(at)
            b.effect_where(wanted, partial(element_access.store, op, value, positions))
        return now

    for_components(b, held, (), body)


def update(
    b: Builder, op: coopmatrix.AtomicUpdateOp, held: LaneFragment, values: Values
) -> Values:
    """Update memory by what a lane holds of a matrix; return what was there."""
    access = LaneAccess(b, op, held)
    zero = b.constant(held.element, 0)

    def body(places: Sequence[BoundedIndex], now: Values) -> Sequence[SSAValue]:
        for at in places:
            wanted, positions = access.guarded(at)
            value = get(b, held, values, at)
            change = partial(element_access.update, op, value, positions)
            (old,) = b.effect_where(wanted, change, (zero,))
            now = put(b, held, now, at, old)
        return now

    return for_components(b, held, held.nothing(b), body)
