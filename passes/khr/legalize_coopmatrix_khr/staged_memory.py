"""Loads, stores and atomic accesses by lanes, which take turns at the elements.

Between memory and a matrix in work-group memory.  Where a memref holds other numbers
than the matrix, or vectors of numbers, lanes access units: the wider of an element and
of what the memref holds, whose bits are cast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Layout
from coopc.dialects.narrow import is_vector
from coopc.ir import element_access
from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.ir.element_access import Element, checks_of, moved, positions_of
from coopc.passes.khr.legalize_coopmatrix_khr.shared_memory import (
    SharedBuffer,
    SharedMemory,
    layouts_of,
)


def where_inside(
    b: Builder,
    op: coopmatrix.LoadOp | coopmatrix.StoreOp,
    shared: SharedMemory,
    staged: Callable[[], Values],
) -> Values:
    """Access a matrix as a whole where no check fails, and through `staged` elsewhere.

    Always through `staged` where the device has no access in such a layout, and loads
    where it has no matrices that control flow chooses.
    """
    device = shared.device
    is_load = isinstance(op, coopmatrix.LoadOp)
    if (
        op.checked is None
        or op.layout_in_memory not in layouts_of(op.matrix, device)
        or (is_load and not device.branched_matrices)
    ):
        return staged()

    def whole() -> Values:
        new = op.clone()
        new.properties.pop("checked")
        return tuple(b.effect(new).results)

    # All elements are inside if the first and the last one are.
    conditions: list[SSAValue] = []
    for row, col in ((0, 0), (x - 1 for x in op.matrix.shape)):
        at = Element(BoundedIndex(row), BoundedIndex(col))
        conditions += checks_of(b, op, positions_of(b, op, at))
    inside = b.both(*conditions)
    assert isinstance(inside, SSAValue), op
    return b.either(inside, [x.type for x in op.results], whole, staged)


def gather(b: Builder, op: coopmatrix.LoadOp, at: Element) -> SSAValue:
    """Return an element in memory, 0 where a check fails."""
    positions = positions_of(b, op, at)
    return b.effect_where(
        b.both(*checks_of(b, op, positions)),
        partial(element_access.load, op, positions),
        (b.constant(op.matrix.element_type, 0),),
    )[0]


def fetch(
    b: Builder, op: coopmatrix.LoadOp, buffer: SharedBuffer, shared: SharedMemory
) -> None:
    """Bring a matrix from memory to work-group memory, behind a barrier."""
    shared.barrier(b)
    if (units := units_of(op)) is not None:
        _fetch_units(b, op, units, buffer, shared)
        return
    shared.each(b, buffer.shape, lambda at: buffer.store(b, gather(b, op, at), at))


def scatter(
    b: Builder, op: coopmatrix.StoreOp, buffer: SharedBuffer, shared: SharedMemory
) -> None:
    """Bring a matrix from work-group memory to memory."""
    if (units := units_of(op)) is not None:
        _scatter_units(b, op, units, buffer, shared)
        return

    def one(at: Element) -> None:
        positions = positions_of(b, op, at)

        def store() -> Values:
            b.effect(element_access.store(op, buffer.load(b, at), positions))
            return ()

        b.branch(b.both(*checks_of(b, op, positions)), store)

    shared.each(b, buffer.shape, one)


def staged_atomic(
    b: Builder,
    op: coopmatrix.AtomicOp,
    shared: SharedMemory,
    given: SharedBuffer | None,
    result: SharedBuffer | None,
) -> None:
    """Access memory atomically, element by element.

    Args:
        b: the builder.
        op: the access.
        shared: the work-group memory of the function.
        given: the elements of the operand, which all lanes see; None of a load.
        result: where those of the result go; may be `given`; None if nothing uses it.
    """

    def one(at: Element) -> None:
        positions = positions_of(b, op, at)

        def access() -> Values:
            value = None if given is None else given.load(b, at)
            return tuple(b.effect(_access(op, positions, value)).results)

        zero = b.constant(op.matrix.element_type, 0)
        otherwise = () if result is None else (zero,)
        old = b.branch(b.both(*checks_of(b, op, positions)), access, otherwise)
        if result is not None:
            result.store(b, old[0], at)

    shared.each(b, op.matrix.shape, one)


def _access(
    op: coopmatrix.AtomicOp, positions: Values, value: SSAValue | None
) -> Operation:
    """One element's access, as ordered as the whole."""
    if value is None:
        return element_access.load(op, positions)
    if isinstance(op, coopmatrix.AtomicUpdateOp):
        return element_access.update(op, value, positions)
    return element_access.store(op, value, positions)


# Memory of other numbers, or of vectors


@dataclass(frozen=True, slots=True)
class Units:
    """What is accessed at a time where a memref holds something else than elements.

    A line of the matrix, which lies without gaps in memory, is whole units.
    """

    lines: int
    """Rows of a row-major matrix, columns of a column-major one."""
    per_line: int
    """Units of a line."""
    elements: int
    """Of the matrix in a unit."""
    pointees: int
    """What the memref holds, in a unit."""
    number: Attribute
    """The type of the numbers that the memref holds, or of which vectors."""
    numbers: int
    """Of those in a unit."""


def units_of(op: coopmatrix.PlainAccessOp) -> Units | None:
    """Return how memory is accessed in which there are no elements of the matrix.

    None where there are.  `why_no_units` must have no objection.
    """
    pointee, bits = op.memory_type.element_type, op.matrix.element_bits
    if pointee == op.matrix.element_type:
        return None
    lines, along = op.matrix.shape
    if op.layout.data is Layout.COL_MAJOR:
        lines, along = along, lines
    elements = max(1, op.pointee_bits // bits)
    pointees = max(1, bits // op.pointee_bits)
    number, width = pointee, 1
    if is_vector(pointee):
        number, width = pointee.get_element_type(), pointee.element_count()
    return Units(lines, along // elements, elements, pointees, number, pointees * width)


def why_no_units(op: coopmatrix.AccessOp) -> str:
    """Return why elements of a matrix are not found in memory; empty if they are."""
    if not isinstance(op, coopmatrix.PlainAccessOp):
        return ""
    pointee, element = op.memory_type.element_type, op.matrix.element_type
    if pointee == element:
        return ""
    narrow, wide = sorted((op.pointee_bits, op.matrix.element_bits))
    if wide % narrow:
        return (
            f"expected memory whose {pointee} is a multiple or a part of {element}, "
            f"got {op.pointee_bits} and {op.matrix.element_bits} bits"
        )
    along = op.matrix.shape[op.layout.data is not Layout.COL_MAJOR]
    if along * op.matrix.element_bits % op.pointee_bits:
        return (
            f"expected rows in memory that are whole {pointee}, which the memref "
            f"holds, got {along} of {element}"
        )
    if op.matrix_strides[1] != 1:
        return (
            f"expected a memref of which the last stride is 1, as it holds {pointee}, "
            f"not {element}, got {op.memory_type}"
        )
    return ""


def _unit_positions(
    b: Builder, op: coopmatrix.PlainAccessOp, units: Units, at: Element
) -> Iterator[Values]:
    """Yield the positions of what the memref holds in a unit, in order."""
    *leading, first, second = op.positions
    line, start = moved(b, first, at.row), b.times(at.col, units.pointees)
    for step in range(units.pointees):
        along = b.add(start, BoundedIndex(step))
        yield (*leading, line, moved(b, second, along))


def _unit_elements(
    b: Builder, op: coopmatrix.PlainAccessOp, units: Units, at: Element
) -> Iterator[Element]:
    """Yield the elements of a unit, in order; `at` is its line and number."""
    start = b.times(at.col, units.elements)
    for step in range(units.elements):
        along = b.add(start, BoundedIndex(step))
        by_rows = op.layout.data is not Layout.COL_MAJOR
        yield Element(at.row, along) if by_rows else Element(along, at.row)


def _fetch_units(
    b: Builder,
    op: coopmatrix.LoadOp,
    units: Units,
    buffer: SharedBuffer,
    shared: SharedMemory,
) -> None:
    def one(unit: Element) -> None:
        found: list[SSAValue] = []
        for positions in _unit_positions(b, op, units, unit):
            load = b.effect(element_access.load(op, positions))
            found += _components(b, load.results[0])
        elements = _cast(b, found, buffer.element, units.elements)
        places = _unit_elements(b, op, units, unit)
        for value, at in zip(elements, places, strict=True):
            buffer.store(b, value, at)

    shared.each(b, (units.lines, units.per_line), one)


def _scatter_units(
    b: Builder,
    op: coopmatrix.StoreOp,
    units: Units,
    buffer: SharedBuffer,
    shared: SharedMemory,
) -> None:
    width = units.numbers // units.pointees

    def one(unit: Element) -> None:
        found = [buffer.load(b, at) for at in _unit_elements(b, op, units, unit)]
        numbers = _cast(b, found, units.number, units.numbers)
        for step, positions in enumerate(_unit_positions(b, op, units, unit)):
            some = numbers[step * width : (step + 1) * width]
            is_whole = is_vector(op.memory_type.element_type)
            value = _vector(b, some) if is_whole else some[0]
            b.effect(element_access.store(op, value, positions))

    shared.each(b, (units.lines, units.per_line), one)


def _components(b: Builder, value: SSAValue) -> list[SSAValue]:
    """Return the components of a vector; a number is its own."""
    if not is_vector(value.type):
        return [value]
    element = value.type.get_element_type()
    return [
        b.effect(vector.ExtractOp(value, [at], element)).results[0]
        for at in range(value.type.element_count())
    ]


def _vector(b: Builder, numbers: Sequence[SSAValue]) -> SSAValue:
    type = VectorType(numbers[0].type, [len(numbers)])
    found = b.pure(vector.BroadcastOp, numbers[0], type)
    for at, number in enumerate(numbers[1:], 1):
        found = b.effect(vector.InsertOp(number, found, [at])).results[0]
    return found


def _cast(
    b: Builder, numbers: list[SSAValue], to: Attribute, count: int
) -> list[SSAValue]:
    """Return the bits of some numbers, in order, as so many of another type."""
    if numbers[0].type == to:
        return numbers
    type = VectorType(to, [count])
    return _components(b, b.pure(vector.BitcastOp, _vector(b, numbers), type))
