"""Accesses to single elements of memory that an access to a matrix is made of.

Each says what the whole says: how it is ordered, who sees it; volatile, nontemporal.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.dialects.narrow import is_integer

_KINDS: dict[type[coopmatrix.AtomicOp], tuple[int, int, int]] = {
    coopmatrix.AtomicAddOp: (0, 1, 1),
    coopmatrix.AtomicMaxOp: (13, 4, 5),
    coopmatrix.AtomicMinOp: (14, 7, 8),
}
"""The numbers of MLIR's AtomicRMWKind: of floats, of signed and of unsigned integers.
The extremes of floats are those that take the number of a number and a NaN."""


def load(op: coopmatrix.AccessOp, positions: Sequence[SSAValue]) -> memref.LoadOp:
    """Return the load of one element."""
    found = memref.LoadOp.get(op.memory, positions)
    _mark(found, op)
    return found


def store(
    op: coopmatrix.AccessOp, value: SSAValue, positions: Sequence[SSAValue]
) -> memref.StoreOp:
    """Return the store of one element."""
    found = memref.StoreOp.get(value, op.memory, positions)
    _mark(found, op)
    return found


def update(
    op: coopmatrix.AtomicUpdateOp, value: SSAValue, positions: Sequence[SSAValue]
) -> memref.AtomicRMWOp:
    """Return the update of one element."""
    found = memref.AtomicRMWOp.build(
        operands=[value, op.memory, list(positions)],
        properties={"kind": IntegerAttr(kind_of(op), i64)},
        result_types=[value.type],
    )
    _mark(found, op)
    return found


def kind_of(op: coopmatrix.AtomicUpdateOp) -> int:
    """Return the kind of an update."""
    of_floats, of_signed, of_unsigned = _KINDS[type(op)]
    if not is_integer(op.matrix.element_type):
        return of_floats
    is_ordered = isinstance(op, coopmatrix.AtomicMaxOp | coopmatrix.AtomicMinOp)
    signed = is_ordered and op.signed is not None
    return of_signed if signed else of_unsigned


def _mark(
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
