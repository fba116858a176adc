"""Accesses to memory by lanes: each loads and stores what it holds of a matrix.

    %x = memref.load %memory[%p0 + row, %p1 + column]

Padding is masked by the size of the matrix, never by the memref's; `checked` axes by
the memref's.  What is not accessed is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import CHANNEL_BITS, Axis, Layout
from coopc.dialects.narrow import is_integer
from coopc.plan.lane_access import BlockAccess
from coopc.rewrite.lane_builder import INDEX, LaneBuilder, Values
from coopc.rewrite.lane_numbers import Num
from coopc.rewrite.lane_places import Element, digits, element, inside
from coopc.rewrite.lane_values import Held, for_components, get, made, put

_ATOMICS = {
    ("add", "float"): 0,
    ("add", "signed"): 1,
    ("add", "unsigned"): 1,
    ("max", "signed"): 4,
    ("max", "unsigned"): 5,
    ("min", "signed"): 7,
    ("min", "unsigned"): 8,
    ("max", "float"): 13,
    ("min", "float"): 14,
}
"""The numbers of MLIR's AtomicRMWKind: addf, addi, maxs, maxu, mins, minu, and of
floats those that take the number of a number and a NaN."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the elements of one matrix are in memory."""

    b: LaneBuilder
    op: coopmatrix.AccessOp
    held: Held

    def guarded(self, at: Num) -> tuple[SSAValue | bool, Values]:
        """Return whether a component is to be accessed, and its positions."""
        b, x = self.b, self.held.layout
        place = element(b, x, digits(b, x, at))
        positions = self.positions(place)
        return b.both(inside(b, x, place), *self.checks(positions)), positions

    def positions(self, place: Element) -> Values:
        """Return where an element is, in the coordinates of the memref."""
        *leading, first, second = self.op.positions
        rows, cols = self._steps(place)
        return (*leading, self._moved(first, rows), self._moved(second, cols))

    def _steps(self, place: Element) -> tuple[Num, Num]:
        b = self.b
        match self.op.layout.data:
            case Layout.ROW_MAJOR:
                return place.row, place.col
            case Layout.COL_MAJOR:
                return place.col, place.row
            case Layout.PACKED:
                packed = CHANNEL_BITS // self.op.matrix.element_bits
                channel = b.remainder(place.row, packed)
                return b.divided(place.row, packed), b.add(
                    b.times(place.col, packed), channel
                )

    def _moved(self, position: SSAValue, by: Num) -> SSAValue:
        b = self.b
        if by.constant:
            step = b.constant(INDEX, by.constant)
            position = b.pure(arith.AddiOp, position, step)
        return position if by.part is None else b.pure(arith.AddiOp, position, by.part)

    def checks(self, positions: Sequence[SSAValue]) -> list[SSAValue]:
        """Return what has to hold of the positions along the axes that are checked."""
        checked = () if self.op.checked is None else self.op.checked.data
        axes = [Axis.ROWS, Axis.COLS]
        if self.op.layout.data == Layout.COL_MAJOR:
            axes.reverse()
        rank = self.op.memory_type.get_num_dims()
        return [
            # A negative position is a great number without sign.
            self.b.compare("ult", positions[dimension], self.size(dimension))
            for axis, dimension in zip(axes, (rank - 2, rank - 1), strict=True)
            if axis in checked
        ]

    def size(self, dimension: int) -> SSAValue:
        """Return a size of the memref."""
        size = self.op.memory_type.get_shape()[dimension]
        if size != DYNAMIC_INDEX:
            return self.b.constant(INDEX, size)
        number = self.b.constant(INDEX, dimension)
        return self.b.pure(memref.DimOp, self.op.memory, number)


def load(
    b: LaneBuilder,
    op: coopmatrix.LoadOp | coopmatrix.AtomicLoadOp,
    held: Held,
    block: BlockAccess | None,
) -> Values:
    """Return what a lane holds of a matrix in memory."""
    access = Access(b, op, held)
    zero = b.constant(held.element, 0)
    if block is not None:
        return made(b, held, lambda at: _block_read(access, at, zero))

    def one(at: Num) -> SSAValue:
        wanted, positions = access.guarded(at)
        return b.branch(
            wanted, lambda: b.effect(_load(op, positions)).results, (zero,)
        )[0]

    return made(b, held, one)


def store(
    b: LaneBuilder,
    op: coopmatrix.StoreOp | coopmatrix.AtomicStoreOp,
    held: Held,
    values: Values,
    block: BlockAccess | None,
) -> None:
    """Write what a lane holds of a matrix to memory."""
    access = Access(b, op, held)

    def body(places: Sequence[Num], now: Values) -> Values:
        for at in places:
            value = get(b, held, values, at)
            if block is not None:
                _block_write(access, at, value)
                continue
            wanted, positions = access.guarded(at)
            made = _store(op, value, positions)
            b.branch(wanted, lambda made=made: b.effect(made).results)
        return now

    for_components(b, held, (), body)


def update(
    b: LaneBuilder, op: coopmatrix.AtomicUpdateOp, held: Held, values: Values
) -> Values:
    """Update memory by what a lane holds of a matrix; return what was there."""
    access = Access(b, op, held)
    zero = b.constant(held.element, 0)
    kind = IntegerAttr(_atomic_kind(op), i64)

    def body(places: Sequence[Num], now: Values) -> Sequence[SSAValue]:
        for at in places:
            wanted, positions = access.guarded(at)
            made = memref.AtomicRMWOp.build(
                operands=[get(b, held, values, at), op.memory, list(positions)],
                properties={"kind": kind},
                result_types=[held.element],
            )
            mark(made, op)
            now = put(b, held, now, at, _updated(b, wanted, made, zero))
        return now

    return for_components(b, held, held.nothing(b), body)


def _updated(
    b: LaneBuilder, wanted: SSAValue | bool, update: Operation, zero: SSAValue
) -> SSAValue:
    return b.branch(wanted, lambda: b.effect(update).results, (zero,))[0]


def _load(op: coopmatrix.AccessOp, positions: Sequence[SSAValue]) -> Operation:
    found = memref.LoadOp.get(op.memory, positions)
    mark(found, op)
    return found


def _store(
    op: coopmatrix.AccessOp, value: SSAValue, positions: Sequence[SSAValue]
) -> Operation:
    found = memref.StoreOp.get(value, op.memory, positions)
    mark(found, op)
    return found


def mark(
    new: memref.LoadOp | memref.StoreOp | memref.AtomicRMWOp, op: coopmatrix.AccessOp
) -> None:
    """Say of an access to an element how the matrix is accessed."""
    if isinstance(op, coopmatrix.AtomicOp):
        new.attributes[simt.ORDERING] = StringAttr(str(op.ordering.data))
        new.attributes[simt.ORDERING_SCOPE] = StringAttr(str(op.atomic_scope))
    elif isinstance(op, coopmatrix.PlainAccessOp):
        if op.nontemporal is not None:
            new.properties["nontemporal"] = BoolAttr.from_bool(True)
        if op.volatile is not None:
            new.attributes[simt.VOLATILE] = op.volatile


def _atomic_kind(op: coopmatrix.AtomicUpdateOp) -> int:
    name = op.name.removeprefix("coopmatrix.atomic_")
    if not is_integer(op.matrix.element_type):
        return _ATOMICS[name, "float"]
    is_ordered = isinstance(op, coopmatrix.AtomicMaxOp | coopmatrix.AtomicMinOp)
    signed = is_ordered and op.signed is not None
    return _ATOMICS[name, "signed" if signed else "unsigned"]


def _block_place(access: Access, at: Num) -> tuple[SSAValue | bool, Values]:
    """Return whether the lanes access a component, and where that of lane 0 is."""
    b, x = access.b, access.held.layout
    found = digits(b, x, at)
    place = Element(
        b.times(found.block, x.block_rows), b.times(found.step, x.lanes_per_row)
    )
    positions = access.positions(place)
    return b.both(*access.checks(positions)), positions


def _block_read(access: Access, at: Num, zero: SSAValue) -> SSAValue:
    """Return the components that consecutive elements are for the lanes."""
    wanted, positions = _block_place(access, at)
    op, b = access.op, access.b
    read = simt.BlockReadOp(op.memory, positions, access.held.element)
    return b.branch(wanted, lambda: b.effect(read).results, (zero,))[0]


def _block_write(access: Access, at: Num, value: SSAValue) -> None:
    """Write components to consecutive elements."""
    wanted, positions = _block_place(access, at)
    write = simt.BlockWriteOp(value, access.op.memory, positions)
    access.b.branch(wanted, lambda: access.b.effect(write).results)
