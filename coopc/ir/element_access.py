"""Accesses to single elements of memory that an access to a matrix is made of.

Each says what the whole says: how it is ordered, who sees it; volatile, nontemporal.

Accesses of matrices to memory that holds other numbers, or vectors of numbers.

    coopmatrix.load %m[%i, %j] row_major : memref<8x2xvector<4xf32>> -> 8x8xf32

becomes an access to memory that holds the matrix's elements:

    %e = simt.view_elements %m[%i, %j] : memref<8x2xvector<4xf32>>
        -> memref<8x8xf32, strided<[8, 1], offset: ?>>
    coopmatrix.load %e[%c0, %c0] row_major : memref<8x8xf32, ...> -> 8x8xf32
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, StringAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Layout
from coopc.dialects.narrow import is_integer
from coopc.dialects.simt import per_pointee


def has_other_pointees(op: Operation) -> bool:
    """Whether an operation is an access to memory of what the matrix does not hold."""
    if not isinstance(op, coopmatrix.PlainAccessOp):
        return False
    return op.memory_type.element_type != op.matrix.element_type


def why_no_view(op: Operation) -> str | None:
    """Return why memory cannot be seen as the elements of a matrix; None if it can."""
    if not isinstance(op, coopmatrix.PlainAccessOp) or not has_other_pointees(op):
        return None
    pointee, element = op.memory_type.element_type, op.matrix.element_type
    if per_pointee(pointee, element):
        return None
    return (
        f"expected memory that holds a whole number of {element}, the element type of "
        f"the matrix, in each element, got {op.memory_type}"
    )


def view_elements(root: Operation) -> None:
    """Let all accesses in `root` be to memory that holds the elements of matrices.

    Nothing in it is refused by `why_no_view`, and all sizes are numbers.
    """
    for op in tuple(root.walk()):
        if isinstance(op, coopmatrix.PlainAccessOp) and has_other_pointees(op):
            _view(op)


def _view(op: coopmatrix.PlainAccessOp) -> None:
    rows, cols = op.matrix.shape
    by_rows = op.layout.data is Layout.ROW_MAJOR
    shape = (rows, cols) if by_rows else (cols, rows)
    view = simt.ViewElementsOp(op.memory, op.positions, shape, op.matrix.element_type)
    zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
    for new in (view, zero):
        new.location = op.location
        Rewriter.insert_op(new, InsertPoint.before(op))
    value = [op.value] if isinstance(op, coopmatrix.StoreOp) else []
    op.operands = [*value, view.result, zero.result, zero.result]


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
