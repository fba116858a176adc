"""Accesses to memory by the lanes, element by element, and matrices staged by them.

A checked load whose matrix is inside of memory is a plain load; at the edge the lanes
bring what is there to work-group memory, and zeros for the rest:

    %r = scf.if %inside -> M { load } else { barrier; lanes write; barrier; load }

Atomic accesses: element by element, each by the lane that its turn is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Axis, Layout, matrix_type
from coopc.dialects.narrow import is_vector
from coopc.ir import element_access
from coopc.passes.khr.legalize_coopmatrix_khr.code import Code
from coopc.passes.khr.legalize_coopmatrix_khr.scalar_forms import constant
from coopc.passes.khr.legalize_coopmatrix_khr.scratch import (
    Piece,
    Scratch,
    layouts_of,
    memory_shape,
    places,
)

Step: TypeAlias = int | SSAValue

"""How far something is from a position."""

Pair: TypeAlias = tuple[Step, Step]

"""The same along two dimensions of memory."""


class Access:
    """Where in memory the elements of the matrix of an access are.

    In the packed layout w rows share a place of the first dimension, w elements in a
    channel, and a column is w places of the second.
    """

    def __init__(self, op: coopmatrix.AccessOp) -> None:
        """Read what an access says."""
        self.op = op
        self.memory = op.memory
        self.rank = op.memory_type.get_num_dims()
        *self.lead, self.first, self.second = op.positions
        self.rows, self.cols = op.matrix.shape
        self.layout = op.layout.data
        self.bits = op.matrix.element_bits
        checked = () if op.checked is None else op.checked.data
        self.checked_rows = Axis.ROWS in checked
        self.checked_cols = Axis.COLS in checked

    @property
    def is_checked(self) -> bool:
        """Whether some axis is."""
        return self.checked_rows or self.checked_cols

    def _axes(self, steps: Pair) -> Iterator[tuple[SSAValue, Step, int, bool]]:
        """Position, step, dimension and check of the last two dimensions."""
        checks = [self.checked_rows, self.checked_cols]
        if self.layout is Layout.COL_MAJOR:
            checks.reverse()
        for at, start, step, checked in zip(
            (self.rank - 2, self.rank - 1),
            (self.first, self.second),
            steps,
            checks,
            strict=True,
        ):
            yield start, step, at, checked

    def inside(self, code: Code) -> SSAValue:
        """Insert whether no check fails."""
        conditions: list[SSAValue] = []
        extent = memory_shape(self.layout, self.bits, self.rows, self.cols)
        for start, size, at, checked in self._axes(extent):
            if not checked:
                continue
            end = code.add(start, size)
            size_in_memory = self._size(code, at)
            conditions.append(code.less(code.index(-1), start))
            conditions.append(code.less(end, code.add(size_in_memory, 1)))
        found = code.every(conditions)
        assert found is not None, "an access without checks"
        return found

    def _size(self, code: Code, at: int) -> SSAValue:
        return code.get(memref.DimOp(self.memory, code.index(at)))

    def at(
        self, code: Code, row: SSAValue, col: SSAValue
    ) -> tuple[list[SSAValue], SSAValue | None]:
        """Insert the positions of an element, and whether its checks hold."""
        found: list[SSAValue] = [*self.lead]
        conditions: list[SSAValue] = []
        steps = places(code, self.layout, self.bits, row, col)
        for start, step, at, checked in self._axes(steps):
            place = code.add(start, step)
            found.append(place)
            if checked:
                conditions.append(code.less(code.index(-1), place))
                conditions.append(code.less(place, self._size(code, at)))
        return found, code.every(conditions)


def gather(
    code: Code, access: Access, element: Attribute, row: SSAValue, col: SSAValue
) -> SSAValue:
    """Insert the load of one element from memory, 0 where a check fails."""
    at, ok = access.at(code, row, col)

    def found(code: Code) -> SSAValue:
        return code.get(element_access.load(access.op, at))

    if ok is None:
        return found(code)
    return code.choose(ok, element, found, lambda c: constant(element, 0, c.get))


def scatter(code: Code, access: Access, piece: Piece, scratch: Scratch) -> None:
    """Insert what brings a matrix in work-group memory to memory."""
    if (units := units_of(access.op)) is not None:
        _scatter_units(code, access, units, piece, scratch)
        return

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        at, ok = access.at(code, row, col)

        def store(code: Code) -> None:
            value = piece.load(code, row, col)
            code.do(element_access.store(access.op, value, at))

        code.when(ok, store)

    scratch.each(code, access.rows, access.cols, one)


def fetch(code: Code, op: coopmatrix.LoadOp, piece: Piece, scratch: Scratch) -> None:
    """Insert what brings a matrix from memory to work-group memory, with a barrier."""
    access = Access(op)

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        value = gather(code, access, op.matrix.element_type, row, col)
        piece.store(code, value, row, col)

    scratch.barrier(code)
    if (units := units_of(op)) is not None:
        _fetch_units(code, access, units, piece, scratch)
    else:
        scratch.each(code, access.rows, access.cols, one)


# --- memory of other numbers, or of vectors -----------------------------------------


@dataclass(frozen=True, slots=True)
class Units:
    """What is accessed at a time where a memref holds something else than elements.

    A unit is the wider of an element and of what the memref holds.  A line of the
    matrix, which lies without gaps in memory, is whole units.
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


def units_of(op: coopmatrix.AccessOp) -> Units | None:
    """Return how memory is accessed in which there are no elements of the matrix.

    None where there are.  `why_no_units` must have no objection.
    """
    if not isinstance(op, coopmatrix.PlainAccessOp):
        return None
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


def _unit_at(
    code: Code, access: Access, units: Units, line: SSAValue, unit: SSAValue
) -> Iterator[list[SSAValue]]:
    """Insert the positions of what the memref holds in a unit, in order."""
    first = code.add(access.first, line)
    start = code.add(access.second, code.mul(unit, units.pointees))
    for step in range(units.pointees):
        yield [*access.lead, first, code.add(start, step)]


def _places(
    code: Code, access: Access, units: Units, line: SSAValue, unit: SSAValue
) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Insert the row and the column of each element of a unit, in order."""
    start = code.mul(unit, units.elements)
    for step in range(units.elements):
        along = code.add(start, step)
        by_rows = access.layout is not Layout.COL_MAJOR
        yield (line, along) if by_rows else (along, line)


def _fetch_units(
    code: Code, access: Access, units: Units, piece: Piece, scratch: Scratch
) -> None:
    """Insert what brings a matrix from such memory to work-group memory."""

    def one(code: Code, line: SSAValue, unit: SSAValue) -> None:
        found: list[SSAValue] = []
        for at in _unit_at(code, access, units, line, unit):
            found += _components(code, code.get(element_access.load(access.op, at)))
        elements = _cast(code, found, piece.element, units.elements)
        places = _places(code, access, units, line, unit)
        for value, place in zip(elements, places, strict=True):
            piece.store(code, value, *place)

    scratch.each(code, units.lines, units.per_line, one)


def _scatter_units(
    code: Code, access: Access, units: Units, piece: Piece, scratch: Scratch
) -> None:
    """Insert what brings a matrix from work-group memory to such memory."""
    pointee = access.op.memory_type.element_type

    def one(code: Code, line: SSAValue, unit: SSAValue) -> None:
        places = _places(code, access, units, line, unit)
        found = [piece.load(code, *place) for place in places]
        numbers = _cast(code, found, units.number, units.numbers)
        width = units.numbers // units.pointees
        for step, at in enumerate(_unit_at(code, access, units, line, unit)):
            some = numbers[step * width : (step + 1) * width]
            value = _vector(code, some) if is_vector(pointee) else some[0]
            code.do(element_access.store(access.op, value, at))

    scratch.each(code, units.lines, units.per_line, one)


def _components(code: Code, value: SSAValue) -> list[SSAValue]:
    """Insert the components of a vector; a number is its own."""
    if not is_vector(value.type):
        return [value]
    element = value.type.get_element_type()
    return [
        code.get(vector.ExtractOp(value, [at], element))
        for at in range(value.type.element_count())
    ]


def _vector(code: Code, numbers: list[SSAValue]) -> SSAValue:
    """Insert a vector of numbers."""
    type = VectorType(numbers[0].type, [len(numbers)])
    found = code.get(vector.BroadcastOp(numbers[0], type))
    for at, number in enumerate(numbers[1:], 1):
        found = code.get(vector.InsertOp(number, found, [at]))
    return found


def _cast(
    code: Code, numbers: list[SSAValue], to: Attribute, count: int
) -> list[SSAValue]:
    """Insert the bits of some numbers, in order, as so many of another type."""
    if numbers[0].type == to:
        return numbers
    type = VectorType(to, [count])
    return _components(code, code.get(vector.BitcastOp(_vector(code, numbers), type)))


def staged_load(op: coopmatrix.LoadOp, code: Code, scratch: Scratch) -> SSAValue:
    """Insert a load through work-group memory; a plain one where nothing is amiss."""
    matrix = matrix_type(op.result)

    def slow(code: Code) -> SSAValue:
        piece = scratch.of(matrix)
        fetch(code, op, piece, scratch)
        return scratch.take(code, piece, matrix)

    def fast(code: Code) -> SSAValue:
        new = op.clone()
        new.properties.pop("checked")
        return code.get(new)

    access = Access(op)
    device = scratch.device
    known = op.layout_in_memory in layouts_of(matrix, device)
    if not (access.is_checked and known and device.branched_matrices):
        return slow(code)
    return code.choose(access.inside(code), matrix, fast, slow)


def staged_store(op: coopmatrix.StoreOp, code: Code, scratch: Scratch) -> None:
    """Insert a store through work-group memory; a plain one where nothing is amiss."""
    access = Access(op)

    def slow(code: Code) -> None:
        scatter(code, access, scratch.put(code, op.value), scratch)

    def fast(code: Code) -> None:
        new = op.clone()
        new.properties.pop("checked")
        code.do(new)

    known = op.layout_in_memory in layouts_of(op.matrix, scratch.device)
    if not access.is_checked or not known:
        slow(code)
        return
    code.branch(access.inside(code), fast, slow)


def _access(
    op: coopmatrix.AtomicOp, places: list[SSAValue], value: SSAValue
) -> Operation:
    """One element's access, as ordered as the whole."""
    match op:
        case coopmatrix.AtomicUpdateOp():
            return element_access.update(op, value, places)
        case coopmatrix.AtomicStoreOp():
            return element_access.store(op, value, places)
        case _:
            return element_access.load(op, places)


def staged_atomic(
    op: coopmatrix.AtomicOp,
    code: Code,
    scratch: Scratch,
    given: Piece | None,
    result: Piece | None,
) -> None:
    """Insert an atomic access.

    Args:
        op: the access.
        code: where.
        scratch: the work-group memory of the function.
        given: the elements of the operand, which all lanes see; None of a load.
        result: where those of the result go; may be `given`; None if nothing uses it.
    """
    access = Access(op)
    element = op.matrix.element_type

    def zero(code: Code) -> SSAValue:
        return constant(element, 0, code.get)

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        places, ok = access.at(code, row, col)

        def update(code: Code) -> Operation:
            value = zero(code) if given is None else given.load(code, row, col)
            new = _access(op, places, value)
            code.do(new)
            return new

        if result is None:
            code.when(ok, lambda code: _ignore(update(code)))
        elif ok is None:
            result.store(code, update(code).results[0], row, col)
        else:
            old = code.choose(ok, element, lambda c: update(c).results[0], zero)
            result.store(code, old, row, col)

    scratch.each(code, access.rows, access.cols, one)


def _ignore(_: Operation) -> None:
    return
