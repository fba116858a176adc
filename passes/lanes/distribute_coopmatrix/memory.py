"""Accesses to memory by lanes: each its own elements, or all together by blocks.

    %x = memref.load %memory[%p0 + row, %p1 + column]

Padding is masked by the size of the matrix, never by the memref's; `checked` axes by
the memref's.  What is not accessed is 0.

    %m = simt.block_read %memory[%p0, %p1] : memref<8x32xf32> -> vector<2xf32>
    %v = vector.shuffle %now, %m [0, 8, 2, 3, 4, 9, 6, 7]

    %v = vector.load %memory[%p0 + row, %p1] : memref<8x32xf32>, vector<4xf32>

Where a lane holds neighbours in a row, it accesses several at once.

A message of a plan (`coopc.plan.lane_access`) starts at the element of lane 0.  Its
components are moved to where lanes have them, by one shuffle a vector where their
numbers are known, and one by one in loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import gcd

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    StridedLayoutAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Axis, Layout
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.element_access import Element, access_element, checks_of, positions_of
from coopc.ir.facts import ValueFacts
from coopc.passes.lanes.distribute_coopmatrix.fragments import (
    Digits,
    LaneFragment,
    component,
    in_rounds,
    inside,
)
from coopc.plan.lane_access import AccessFacts, BlockAccess, RowAccess
from coopc.plan.lane_product import number_of

PlainAccess = (
    coopmatrix.LoadOp
    | coopmatrix.StoreOp
    | coopmatrix.AtomicLoadOp
    | coopmatrix.AtomicStoreOp
)


ACCESS_COST = 4
"""Operations of an access to one element: its place, and the component."""


# What is known of an access


def memory_of(op: PlainAccess) -> AccessFacts:
    """Return what is known of the memory of an access."""
    type = op.memory_type
    checked = () if op.checked is None else op.checked.data
    is_plain = isinstance(op, coopmatrix.PlainAccessOp)
    where = (*type.get_shape(), *(type.get_strides() or (None,)), type.get_offset())
    return AccessFacts(
        rows_last=op.layout.data == Layout.COL_MAJOR,
        strides=op.matrix_strides,
        element_bytes=op.matrix.element_bits // 8,
        alignment=alignment_of(op),
        is_write=isinstance(op, coopmatrix.StoreOp | coopmatrix.AtomicStoreOp),
        is_global=not isinstance(type.memory_space, simt.MemoryAttr)
        or type.memory_space.data == simt.MemorySpace.GLOBAL,
        is_atomic=not is_plain,
        is_special=is_plain and (op.volatile or op.nontemporal) is not None,
        is_packed=op.layout.data == Layout.PACKED,
        is_placed=all(number not in (None, DYNAMIC_INDEX) for number in where),
        checked_rows=Axis.ROWS in checked,
        checked_cols=Axis.COLS in checked,
    )


def alignment_of(op: coopmatrix.AccessOp) -> int:
    """Return what the address of element (0, 0) is a multiple of, in bytes.

    The access may say it; or the memref is assumed to be aligned, and offset, positions
    and strides are known multiples.
    """
    size = op.matrix.element_bits // 8
    said = size
    if isinstance(op, coopmatrix.PlainAccessOp) and op.alignment is not None:
        said = max(said, op.alignment.value.data)
    owner = op.memory.owner
    if not isinstance(owner, memref.AssumeAlignmentOp):
        return said
    strides = op.memory_type.get_strides()
    assert strides is not None, op.memory_type
    found: int = owner.alignment.value.data
    layout = op.memory_type.layout
    if isinstance(layout, StridedLayoutAttr):
        offset = layout.get_offset()
        found = gcd(found, size * (1 if offset is None else offset))
    for position, stride in zip(op.positions, strides, strict=True):
        step = 1 if stride is None or stride == DYNAMIC_INDEX else stride
        found = gcd(found, size * step * ValueFacts().divisor(position))
    return max(said, found)


def by_elements(
    b: Builder, op: coopmatrix.AccessOp, held: LaneFragment, values: Values = ()
) -> Values:
    """Access memory component by component.

    Args:
        b: the builder.
        op: the access.
        held: what lanes hold of its matrix.
        values: of the matrix; none of a load.

    Returns:
        The matrix that is read; nothing of a store.
    """

    def body(places: Sequence[BoundedIndex], now: Values) -> Values:
        for at in places:
            place = held.place(b, at)
            value = partial(held.get, b, values, at) if values else None
            wanted = inside(b, held.layout, place)
            for found in access_element(b, op, place, value, wanted):
                now = held.put(b, now, at, found)
        return now

    nothing = held.nothing(b) if op.results else ()
    return held.for_components(b, nothing, body, ACCESS_COST)


# Rows


def by_rows(
    b: Builder,
    op: PlainAccess,
    held: LaneFragment,
    plan: RowAccess,
    values: Values = (),
) -> Values:
    """Access memory by vectors of neighbours in a row, as `by_elements` does."""
    x, now = held.layout, held.nothing(b) if op.results else ()
    for block, (start, length) in product(range(x.blocks), plan.runs):
        cols = (divmod(col, x.channels) for col in range(start, start + length))
        numbers = [BoundedIndex(number_of(x, block, *col)) for col in cols]
        place = held.place(b, numbers[0])
        positions = positions_of(b, op, place)
        wanted = b.both(inside(b, x, place), *checks_of(b, op, positions))
        type = VectorType(held.element, [length])
        if values:
            new = _get_all(b, held, values, numbers)
            if length == 1:
                new = b.pure(vector.BroadcastOp, new, type)
            write = partial(vector.StoreOp, new, op.memory, positions)
            b.effect_where(wanted, write)
            continue
        read = partial(vector.LoadOp, op.memory, positions, type)
        (found,) = b.effect_where(wanted, read, (b.constant(type, 0),))
        if length == 1:
            found = b.extract(found, 0)
        now = _put_all(b, held, now, numbers, found)
    return now


# Blocks

WRITTEN_OUT = 8
"""So many messages, or fewer, are not worth a loop."""


def by_blocks(
    b: Builder,
    op: PlainAccess,
    held: LaneFragment,
    plan: BlockAccess,
    values: Values = (),
) -> Values:
    """Access memory by the messages of a plan, as `by_elements` does."""
    x, is_load = held.layout, not values
    places = list(plan.places(x))
    memory = _joined(b, op) if plan.joined else op.memory

    def message(start: int, length: int, run: BoundedIndex, now: Values) -> Values:
        block, first = places[start]
        column = b.times(b.add(run, BoundedIndex(first)), x.lanes_per_row)
        at = Element(BoundedIndex(block * x.block_rows), column)
        positions = positions_of(b, op, at)
        wanted = b.both(*checks_of(b, op, positions))
        if plan.joined:
            positions = (_linear(b, op, start * x.lanes),)
        numbers: list[BoundedIndex] = []
        for block, step in places[start : start + length]:
            steps = b.add(run, BoundedIndex(step))
            own = Digits(BoundedIndex(), BoundedIndex(block), steps)
            numbers.append(component(b, x, own))
        if not is_load:
            value = _get_all(b, held, values, numbers)
            write = partial(simt.BlockWriteOp, value, memory, positions)
            b.effect_where(wanted, write)
            return now
        type = held.element if length == 1 else VectorType(held.element, [length])
        zero = b.constant(type, 0)
        read = partial(simt.BlockReadOp, memory, positions, type)
        (value,) = b.effect_where(wanted, read, (zero,))
        return _put_all(b, held, now, numbers, value)

    def body(runs: Sequence[BoundedIndex], now: Values) -> Values:
        for run in runs:
            for start, length in zip(plan.starts, plan.lengths, strict=True):
                now = message(start, length, run, now)
        return now

    # A round of a loop does one run in each vector, as far as vectors end with runs.
    chunk = 1 if plan.messages <= WRITTEN_OUT else max(1, held.width // x.k1)
    nothing = held.nothing(b) if is_load else ()
    return in_rounds(b, plan.runs, chunk, nothing, body, written_out=0)


def _joined(b: Builder, op: PlainAccess) -> SSAValue:
    """Return a memref as one dimension; all of it is known."""
    type = op.memory_type
    offset, strides = type.get_offset(), type.get_strides()
    assert offset is not None
    assert strides is not None
    ends = zip(type.get_shape(), strides, strict=True)
    size = 1 + sum((n - 1) * (stride or 0) for n, stride in ends)
    layout = StridedLayoutAttr([1], offset)
    flat = MemRefType(type.element_type, [size], layout, type.memory_space)
    return b.pure(_flattened, op.memory, offset, size, flat)


def _flattened(memory: SSAValue, offset: int, size: int, type: Attribute) -> Operation:
    return memref.ReinterpretCastOp.from_dynamic(memory, [offset], [size], [1], type)


def _linear(b: Builder, op: PlainAccess, more: int) -> SSAValue:
    """Return where an element after the first one is, counted in one dimension."""
    strides = op.memory_type.get_strides()
    assert strides is not None
    found: SSAValue | None = None
    first = positions_of(b, op, Element(BoundedIndex(), BoundedIndex()))
    for position, stride in zip(first, strides, strict=True):
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
        return held.put(b, now, numbers[0], value)
    known = [number.known for number in numbers]
    if None in known:
        for at, number in enumerate(numbers):
            new = b.extract(value, at)
            now = held.put(b, now, number, new)
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
        return held.get(b, values, numbers[0])
    known = [number.known for number in numbers]
    vectors = sorted({n // held.width for n in known if n is not None})
    if None in known or len(vectors) > 2:
        found = b.constant(VectorType(held.element, [len(numbers)]), 0)
        for at, number in enumerate(numbers):
            found = b.insert(found, at, held.get(b, values, number))
        return found
    mask = [
        held.width * vectors.index(n // held.width) + n % held.width
        for n in known
        if n is not None
    ]
    return _shuffled(b, held, values[vectors[0]], values[vectors[-1]], mask)


def _shuffled(
    b: Builder, held: LaneFragment, one: SSAValue, other: SSAValue, mask: list[int]
) -> SSAValue:
    """Return components of a vector that lanes hold, and of another vector."""
    whole = list(range(held.width))
    if mask == whole:
        return one
    if other.type == held.type and mask == [held.width + n for n in whole]:
        return other
    return b.blend(one, other, mask)
