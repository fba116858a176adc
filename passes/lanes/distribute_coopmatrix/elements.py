"""What lanes do with single elements: slots, coordinates, slices, apply, divisors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Block, Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.element_access import Element
from coopc.passes.lanes.distribute_coopmatrix.fragments import (
    LaneFragment,
    digits,
    element,
    extracted,
    for_components,
    get,
    inserted,
    inside,
    made,
    owner,
    put,
)


def divisors(b: Builder, held: LaneFragment, values: Values) -> Values:
    """Return divisors that are 1 where they are no elements.

    Padding takes part in all arithmetic, as nothing reads it later; but a padding zero
    would divide.
    """
    x = held.layout
    is_full = x.components == held.width * held.count
    if is_full and not (x.needs_mask or x.needs_row_mask):
        return values
    one = b.constant(held.element, 1)

    def divisor(at: BoundedIndex) -> SSAValue:
        place = element(b, x, digits(b, x, at))
        return b.select(inside(b, x, place), get(b, held, values, at), one)

    ones = (b.constant(held.type, 1),) * held.count
    return made(b, held, divisor, ones)


def slot(b: Builder, held: LaneFragment, index: SSAValue) -> BoundedIndex:
    """Return a slot as a number: it is below V, or anything goes."""
    owner = index.owner
    if isinstance(owner, arith.ConstantOp):
        number: int = owner.value.value.data  # pyright: ignore
        if 0 <= number < held.layout.components:
            return BoundedIndex(number)
    return BoundedIndex(0, index, held.layout.components - 1, varies=True)


def extract(
    b: Builder, held: LaneFragment, values: Values, index: SSAValue
) -> SSAValue:
    """Return the element in a slot; 0 of padding."""
    at = slot(b, held, index)
    place = element(b, held.layout, digits(b, held.layout, at))
    zero = b.constant(held.element, 0)
    return b.select(inside(b, held.layout, place), get(b, held, values, at), zero)


def insert(
    b: Builder, held: LaneFragment, values: Values, index: SSAValue, new: SSAValue
) -> Values:
    """Return a matrix with another element in a slot; padding is never read."""
    return put(b, held, values, slot(b, held, index), new)


def coord(b: Builder, held: LaneFragment, index: SSAValue) -> Values:
    """Return row and column of a slot; M and N of padding."""
    x = held.layout
    place = element(b, x, digits(b, x, slot(b, held, index)))
    found = inside(b, x, place)
    pairs = ((place.row, x.rows), (place.col, x.cols))
    return tuple(
        b.select(found, b.index(at), b.constant(INDEX, size)) for at, size in pairs
    )


def extract_row_slice(
    b: Builder, held: LaneFragment, values: Values, offset: SSAValue, result: VectorType
) -> SSAValue:
    """Return consecutive elements in all lanes; 0 beyond the matrix."""
    x, length = held.layout, result.get_shape()[0]
    zero, nothing = b.constant(held.element, 0), b.constant(INDEX, 0)

    def body(t: BoundedIndex, now: Values) -> Sequence[SSAValue]:
        flat = b.pure(arith.AddiOp, offset, b.index(t))
        wanted = b.compare("ult", flat, b.constant(INDEX, x.rows * x.cols))
        # Only what is in the matrix has an owner.
        at = BoundedIndex(0, b.select(wanted, flat, nothing), x.rows * x.cols - 1)
        place = Element(b.divided(at, x.cols), b.remainder(at, x.cols))
        lane, number = owner(b, x, place)
        value = b.from_lane(get(b, held, values, number), lane)
        value = b.select(wanted, value, zero)
        position = t.constant if t.part is None else b.index(t)
        return (b.pure(inserted, value, now[0], position),)

    return b.loop(length, (b.constant(result, 0),), body)[0]


def insert_row_slice(
    b: Builder,
    held: LaneFragment,
    values: Values,
    offset: SSAValue,
    slice: SSAValue,
    mask: SSAValue | None,
) -> Values:
    """Return a matrix with other elements from an offset on."""
    x, type = held.layout, slice.type
    assert isinstance(type, VectorType)
    length = type.get_shape()[0]
    zero = b.constant(INDEX, 0)

    def body(places: Sequence[BoundedIndex], now: Values) -> Sequence[SSAValue]:
        for at in places:
            place = element(b, x, digits(b, x, at))
            flat = b.index(b.add(b.times(place.row, x.cols), place.col))
            number = b.pure(arith.SubiOp, flat, offset)
            within = b.compare("ult", number, b.constant(INDEX, length))
            wanted = b.both(within, inside(b, x, place))
            number = b.select(within, number, zero)
            if mask is not None:
                allowed = b.pure(extracted, mask, number, i1)
                wanted = b.both(wanted, allowed)
            new = b.pure(extracted, slice, number, held.element)
            now = put(b, held, now, at, b.select(wanted, new, get(b, held, now, at)))
        return now

    return for_components(b, held, values, body)


def apply(
    b: Builder,
    op: coopmatrix.ApplyOp,
    held: LaneFragment,
    values: Values,
    distribute: Callable[[Operation], Values | None],
) -> Values:
    """Return what a body makes of the elements; padding stays what it is.

    Args:
        b: the builder.
        op: the operation, whose body is copied for each component that is written out.
        held: what lanes hold of the matrix.
        values: of the matrix.
        distribute: is given each operation of a copy, and replaces those of
            `coopmatrix` by what it returns.
    """
    x = held.layout

    def computed(place: Element, value: SSAValue) -> Values:
        given = (b.index(place.row), b.index(place.col), value)
        return (_copied(b, op.body.block, given, distribute),)

    def body(places: Sequence[BoundedIndex], now: Values) -> Sequence[SSAValue]:
        for at in places:
            place = element(b, x, digits(b, x, at))
            old = get(b, held, now, at)
            wanted = inside(b, x, place)
            new = b.branch(
                wanted, lambda place=place, old=old: computed(place, old), (old,)
            )
            now = put(b, held, now, at, new[0])
        return now

    return for_components(b, held, values, body)


def _copied(
    b: Builder,
    block: Block,
    arguments: Values,
    distribute: Callable[[Operation], Values | None],
) -> SSAValue:
    """Copy the body of an `apply` for some arguments, and return what it yields."""
    found: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    for each in block.ops:
        if isinstance(each, coopmatrix.YieldOp):
            return found.get(each.value, each.value)
        copy = b.effect(each.clone(found))
        for inner in tuple(copy.walk()):
            new = distribute(inner)
            if inner is copy and new is not None:
                found.update(zip(each.results, new, strict=True))
    raise AssertionError(block)
