"""Accesses to memory by lanes: each loads and stores what it holds of a matrix.

    %x = memref.load %memory[%p0 + row, %p1 + column]

Padding is masked by the size of the matrix, never by the memref's; `checked` axes by
the memref's.  What is not accessed is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects import memref
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.dialects.narrow import is_integer
from coopc.plan.lane_access import BlockAccess
from coopc.rewrite.lane_access import Access
from coopc.rewrite.lane_blocks import read_blocks, write_blocks
from coopc.rewrite.lane_builder import LaneBuilder, Values
from coopc.rewrite.lane_numbers import Num
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
        return read_blocks(access, block)

    def one(at: Num) -> SSAValue:
        wanted, positions = access.guarded(at)
        return b.effect_where(wanted, partial(_load, op, positions), (zero,))[0]

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
    if block is not None:
        write_blocks(access, block, values)
        return

    def body(places: Sequence[Num], now: Values) -> Values:
        for at in places:
            value = get(b, held, values, at)
            wanted, positions = access.guarded(at)
            b.effect_where(wanted, partial(_store, op, value, positions))
        return now

    for_components(b, held, (), body)


def update(
    b: LaneBuilder, op: coopmatrix.AtomicUpdateOp, held: Held, values: Values
) -> Values:
    """Update memory by what a lane holds of a matrix; return what was there."""
    access = Access(b, op, held)
    zero = b.constant(held.element, 0)

    def body(places: Sequence[Num], now: Values) -> Sequence[SSAValue]:
        for at in places:
            wanted, positions = access.guarded(at)
            value = get(b, held, values, at)
            change = partial(_update, op, value, positions)
            (old,) = b.effect_where(wanted, change, (zero,))
            now = put(b, held, now, at, old)
        return now

    return for_components(b, held, held.nothing(b), body)


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


def _update(
    op: coopmatrix.AtomicUpdateOp, value: SSAValue, positions: Sequence[SSAValue]
) -> Operation:
    found = memref.AtomicRMWOp.build(
        operands=[value, op.memory, list(positions)],
        properties={"kind": IntegerAttr(_atomic_kind(op), i64)},
        result_types=[value.type],
    )
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
