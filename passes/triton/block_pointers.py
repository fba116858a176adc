"""Matrices behind block pointers, as Triton had them until 2026."""

from __future__ import annotations

from coopc.dialects import tt
from coopc.dialects.tt.enums import Padding
from coopc.dialects.tt.names import Order
from coopc.dialects.tt.types import PtrType, shape_of
from coopc.passes.triton.affine_tensors import Indices, NotAffine, number_of
from coopc.passes.triton.pointer_matrix import Matrix, PointerOp
from coopc.plan.refusal import Reason, Refusal
from coopc.rewrite.polynomial import NOTHING


def is_block_pointer(op: PointerOp) -> bool:
    """Whether an operation accesses memory through a block pointer."""
    type = op.ptr.type
    return isinstance(type, PtrType) and bool(shape_of(type.pointee))


def block_matrix(op: PointerOp, indices: Indices) -> Matrix | Refusal:
    """Return the matrix that a block is of, or why there is none."""
    try:
        found = indices.block(op.ptr)
    except NotAffine as error:
        return Refusal(Reason.UNKNOWN_MEMORY, str(error))
    made = found.made
    shape = shape_of(made.block)
    if len(shape) != 2:
        return Refusal(Reason.RANK, f"a block pointer of rank {len(shape)}")
    order = contiguous(made)
    if order is None:
        what = "no dimension of the block pointer has the stride 1"
        return Refusal(Reason.STRIDE, what)
    col = 0 if order == "column_major" else 1
    row = 1 - col
    number = indices.number
    return Matrix(
        made.base,
        NOTHING,
        (number(made.shape[row]), number(made.shape[col])),
        number(made.strides[row]),
        (found.offsets[row], found.offsets[col]),
        order,
        (shape[row], shape[col]),
        padding=padding_of(op),
    )


def padding_of(op: PointerOp) -> Padding:
    """Return what is read outside of the tensor."""
    found = op.padding_option if isinstance(op, tt.LoadOp) else None
    return Padding.ZERO if found is None else found


def contiguous(made: tt.MakeTensorPtrOp) -> Order | None:
    """Return which dimension of a block pointer is contiguous: one of stride 1.

    Where both are, it is the one that is said to have the least stride.
    """
    col = next(iter(made.order.get_values()))
    if number_of(made.strides[col]) != 1:
        col = 1 - col
    if number_of(made.strides[col]) != 1:
        return None
    return "row_major" if col == 1 else "column_major"
