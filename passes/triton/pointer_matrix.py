"""Matrices behind pointers: base, rows, columns and pitch out of index arithmetic.

A tensor of pointers with `ttig.block_io`, which is Triton's promise that one stride is
1 and the other one a pitch, points to

    base + start + i * pitch + j

of which the multiples of the pitch in `start` are rows, and the rest is columns.  A
mask that compares rows and columns with sizes is where the matrix ends: what is outside
is not read, and is 0.  Where a mask says nothing of rows or columns nothing is known of
the matrix's size; then the base moves to the tile, and the matrix is the tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

from coopc.dialects import tt, ttig
from coopc.dialects.tt.enums import Padding
from coopc.dialects.tt.names import BLOCK_IO_STRIDE, Order, block_io
from coopc.dialects.tt.types import (
    PtrType,
    bits_of,
    is_tensor,
    pointee_of,
    shape_of,
)
from coopc.passes.triton.affine_tensors import Affine, Indices, NotAffine, named
from coopc.passes.triton.nonnegative import is_natural
from coopc.passes.triton.tensor_masks import Bounds, Masks, bounds
from coopc.plan.refusal import Reason, Refusal
from coopc.rewrite.polynomial import NOTHING, ONE, Polynomial

PointerOp: TypeAlias = (
    tt.LoadOp | tt.StoreOp | ttig.PrefetchOp | ttig.BlockLoad2DFromPtrOp
)
AccessOp: TypeAlias = PointerOp | ttig.BlockLoad2DOp

LEAST_BYTES = 64
"""Of a row of a surface."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix in memory, and where a tile of it begins; in elements and rows."""

    base: SSAValue
    """A scalar pointer."""
    moved: Polynomial
    """From there to the first element."""
    sizes: tuple[Polynomial, Polynomial]
    """Rows, columns."""
    pitch: Polynomial
    starts: tuple[Polynomial, Polynomial]
    """The row and the column where the tile begins."""
    order: Order
    tile: tuple[int, int]
    """Rows and columns in memory."""
    flags: tuple[SSAValue, ...] = ()
    """Scalars, i1: where one is false all is outside."""
    padding: Padding = Padding.ZERO
    """What is read outside."""


def order_of(op: PointerOp) -> Order | None:
    """Return in which order an access says that its matrix is in memory."""
    if isinstance(op, ttig.BlockLoad2DFromPtrOp):
        return order_in(op.layout)
    return block_io(op)


def order_in(layout: ttig.MemoryLayout) -> Order:
    """Return an order by its other name."""
    is_rows = layout is ttig.MemoryLayout.ROW_MAJOR
    return "row_major" if is_rows else "column_major"


def is_pointers(op: PointerOp) -> bool:
    """Whether an operation accesses memory through a tensor of pointers."""
    return is_tensor(op.ptr.type)


def matrix_of(op: PointerOp, indices: Indices) -> Matrix | Refusal:
    """Return the matrix that an access is about, or why it is about none."""
    order = order_of(op)
    if order is None:
        return Refusal(Reason.UNKNOWN_MEMORY, not_promised(op, indices))
    shape = shape_of(pointee_of(op.ptr.type) or op.ptr.type)
    if len(shape) != 2:
        return Refusal(Reason.RANK, f"a tensor of pointers of rank {len(shape)}")
    try:
        pointers = indices.of(op.ptr)
        limits = (Bounds(), Bounds())
        flags: tuple[SSAValue, ...] = ()
        if op.mask is not None:
            mask = Masks(indices).of(op.mask)
            limits, flags = bounds(mask, 2), mask.flags
        return _matrix(op, pointers, limits, flags, order)
    except NotAffine as error:
        return Refusal(Reason.UNKNOWN_MEMORY, str(error))


def not_promised(op: PointerOp, indices: Indices) -> str:
    """Return what is known of pointers without `ttig.block_io`, for people."""
    try:
        indices.of(op.ptr)
    except NotAffine as error:
        return f"a pointer for each element: {error}"
    return "a pointer for each element"


def _matrix(
    op: PointerOp,
    pointers: Affine,
    limits: tuple[Bounds, ...],
    flags: tuple[SSAValue, ...],
    order: Order,
) -> Matrix | Refusal:
    """Return the matrix of affine pointers, or why there is none."""
    col = 0 if order == "column_major" else 1
    row = 1 - col
    found = claimed(op, pointers, row, col)
    if isinstance(found, Refusal):
        return found
    base = found.base
    if base is None:
        return Refusal(Reason.UNKNOWN_MEMORY, "pointers that are made of integers")
    pitch = found.steps[row]
    rows, cols = found.start.divided(pitch)
    shape = shape_of(pointee_of(op.ptr.type) or op.ptr.type)
    moved, starts, sizes = NOTHING, [rows, cols], list[Polynomial]()
    for number, (dim, unit) in enumerate(((row, pitch), (col, ONE))):
        size = sized(op, starts[number], limits[dim], number)
        if isinstance(size, Refusal):
            return size
        if size is None:
            least = 1 if number == 0 else LEAST_BYTES * 8 // element_bits(base)
            size = Polynomial.number(max(shape[dim], least))
            moved += starts[number] * unit
            starts[number] = NOTHING
        sizes.append(size)
    return Matrix(
        base,
        moved,
        (sizes[0], sizes[1]),
        pitch,
        (starts[0], starts[1]),
        order,
        (shape[row], shape[col]),
        flags,
    )


def claimed(op: PointerOp, pointers: Affine, row: int, col: int) -> Affine | Refusal:
    """Return pointers by what `ttig.block_io` says of their strides, or a refusal."""
    step = pointers.steps[col]
    if (known := step.constant) is not None:
        if known != 1:
            what = f"a stride of {known} along dimension {col}"
            return Refusal(Reason.STRIDE, what)
    elif len(step.terms) == 1 and len(step.values) == 1:
        # A stride that is a value: the attribute says that it is 1.
        pointers = pointers.where(next(iter(step.values)), ONE)
        if pointers.steps[col] != ONE:
            return Refusal(Reason.STRIDE, f"a stride that is computed, in {op.name}")
    else:
        return Refusal(Reason.STRIDE, f"a stride that is computed, in {op.name}")
    said = op.attributes.get(BLOCK_IO_STRIDE)
    pitch = pointers.steps[row]
    if isinstance(said, IntegerAttr):
        stride = Polynomial.number(said.value.data)
        if pitch != stride and len(pitch.values) == 1:
            pointers = pointers.where(next(iter(pitch.values)), stride)
            pitch = pointers.steps[row]
    if not pitch:
        return Refusal(Reason.PITCH, "all rows are at one address")
    if (known := pitch.constant) is not None and known < 0:
        return Refusal(Reason.PITCH, f"rows are {known} elements apart")
    return pointers


def sized(
    op: PointerOp, start: Polynomial, limit: Bounds, number: int
) -> Polynomial | Refusal | None:
    """Return the size of a matrix along a dimension, None where no mask says it."""
    if limit.above is not None and start + limit.above:
        return Refusal(Reason.MASK, "it begins behind the first row or column")
    if limit.below is None:
        if limit.above is not None:
            return Refusal(Reason.MASK, "it has a begin, and no end")
        return None
    if limit.above is None and (value := may_be_negative(start)) is not None:
        what = f"coordinates with {value} may be negative"
        return Refusal(Reason.MASK, what)
    size = start + limit.below
    known = size.constant
    is_argument = len(size.terms) == 1 and all(map(is_kernels, size.values))
    if known is None and not (is_argument and set(size.terms.values()) == {1}):
        part = ("height", "width")[number]
        what = f"the {part} is computed in the kernel, nobody can check it before"
        return Refusal(Reason.WIDTH, what)
    return size


def is_kernels(value: SSAValue) -> bool:
    """Whether a value is an argument of a kernel."""
    owner = value.owner
    return isinstance(owner, Block) and isinstance(owner.parent_op(), tt.FuncOp)


def may_be_negative(number: Polynomial) -> str | None:
    """Return what may make a number negative, for people; None if nothing can."""
    for factors, size in number.terms.items():
        for value in factors:
            if not is_natural(value):
                return named(value)
        if size < 0:
            return str(size)
    return None


def element_bits(pointer: SSAValue) -> int:
    """Return the width of what a pointer points to."""
    type = pointer.type
    assert isinstance(type, PtrType), pointer
    width = bits_of(type.pointee)
    assert width is not None, type
    return width
