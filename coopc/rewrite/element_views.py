"""Accesses of matrices to memory that holds other numbers, or vectors of numbers.

    coopmatrix.load %m[%i, %j] row_major : memref<8x2xvector<4xf32>> -> 8x8xf32

becomes an access to memory that holds the matrix's elements:

    %e = simt.view_elements %m[%i, %j] : memref<8x2xvector<4xf32>>
        -> memref<8x8xf32, strided<[8, 1], offset: ?>>
    coopmatrix.load %e[%c0, %c0] row_major : memref<8x8xf32, ...> -> 8x8xf32
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Layout
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
