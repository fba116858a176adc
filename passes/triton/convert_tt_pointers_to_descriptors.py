"""convert-tt-pointers-to-descriptors: rewrites pointers to tensor descriptors.

Before:  loads, stores and prefetches through tensors of pointers with `ttig.block_io`,
         and through block pointers; loads of 2D blocks.
After:   accesses through descriptors, if the offsets form a 2D block; masks become the
         sizes of the descriptor. Dead arithmetic is removed.
Fails:   never; other accesses are unchanged, with the reason in `xe.no_matrix`, and in
         a remark with `explain=true`.

Loads of `tt.dot` operands need no `ttig.block_io` if index arithmetic shows that one
stride is 1 and the other is a kernel argument or a constant. If both strides are
arguments, the kernel gets the condition that the second is 1. With `known=true`, no
load with a known stride needs it.

Base, rows, columns and pitch are recovered from index arithmetic. `ttig.block_io` is
Triton's promise that one stride is 1 and the other a pitch; such pointers have the form

    base + start + i * pitch + j

Multiples of the pitch in `start` are rows, the remainder is a column.  A mask that
compares rows or columns with sizes gives the bounds of the matrix; elements outside are
not read and are 0.  Without such a mask the size is unknown: then the base moves to the
tile, and the matrix is just that tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp, MaxSIOp, MinSIOp, SelectOp, TruncIOp
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import tt, ttg, ttig
from coopc.ir.builder import Builder, Built
from coopc.ir.facts import ValueFacts, constant_number
from coopc.ir.polynomial import NOTHING, ONE, Polynomial
from coopc.layout.dpas import DotOperandEncoding
from coopc.passes.triton.access_attributes import LANE_BY_LANE, NO_MATRIX, NO_PROMISE
from coopc.passes.triton.affine_tensors import (
    Affine,
    Bounds,
    Indices,
    NotAffine,
    bounds,
    mask_of,
    named,
)
from coopc.passes.triton.dead_values import remove_dead
from coopc.passes.triton.origins import copies_of
from coopc.plan.refusal import Reason, Refusal
from coopc.remarks import remark

PointerOp: TypeAlias = (
    tt.LoadOp | tt.StoreOp | ttig.PrefetchOp | ttig.BlockLoad2DFromPtrOp
)
AccessOp: TypeAlias = PointerOp | ttig.BlockLoad2DOp
Given = ttig.BlockLoad2DFromPtrOp | ttig.BlockLoad2DOp
"""Loads of 2D blocks already, which keep to the rules of those."""

LEAST_BYTES = 64
"""Of a row of a surface."""
MOST_SIZE = (1 << 31) - 1
"""Rows or columns: sizes of descriptors are i32."""


class NoMatrix(Exception):
    """Why pointers are not those of a matrix."""

    def __init__(self, reason: Reason, what: str) -> None:
        super().__init__(what)
        self.refusal = Refusal(reason, what)


@dataclass(frozen=True, slots=True)
class MatrixAccess:
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
    order: tt.MemoryOrder
    tile: tuple[int, int]
    """Rows and columns in memory."""
    flags: tuple[SSAValue, ...] = ()
    """Scalars, i1: where one is false all is outside."""
    padding: tt.Padding = tt.Padding.ZERO
    """What is read outside."""
    unit: Polynomial = ONE
    """The stride of columns: 1, or what the caller is to check that it is."""
    by_mask: bool = False
    """Whether sizes are what a mask compares with, which may be any number."""


def order_in(layout: ttig.MemoryLayout) -> tt.MemoryOrder:
    is_rows = layout is ttig.MemoryLayout.ROW_MAJOR
    return "row_major" if is_rows else "column_major"


def axes_of(order: tt.MemoryOrder) -> tuple[int, int]:
    """Return the dimensions of a tensor that are rows and columns in memory."""
    return (1, 0) if order == "column_major" else (0, 1)


def through_pointers(op: PointerOp, indices: Indices) -> MatrixAccess:
    """Return the matrix that a tensor of pointers is about.

    Raises:
        NoMatrix: it is about none.
        NotAffine: its indices or its mask are not understood.
    """
    is_given = isinstance(op, ttig.BlockLoad2DFromPtrOp)
    order = order_in(op.layout) if is_given else tt.block_io(op)
    if order is None:
        what = "a pointer for each element"
        try:
            indices.of(op.ptr)
        except NotAffine as error:
            what += f": {error}"
        raise NoMatrix(Reason.UNKNOWN_MEMORY, what)
    shape = tt.shape_of(tt.pointee_of(op.ptr.type) or op.ptr.type)
    if len(shape) != 2:
        raise NoMatrix(Reason.RANK, f"a tensor of pointers of rank {len(shape)}")
    found = indices.of(op.ptr)
    limits = (Bounds(), Bounds())
    flags: tuple[SSAValue, ...] = ()
    if op.mask is not None:
        mask = mask_of(op.mask, indices)
        limits, flags = bounds(mask, 2), mask.flags
    row, col = axes_of(order)
    inner = found.steps[col] if NO_PROMISE in op.attributes else ONE
    found = claimed(op, found, row, col)
    base = found.base
    if base is None:
        raise NoMatrix(Reason.UNKNOWN_MEMORY, "pointers that are made of integers")
    pitch = found.steps[row]
    moved, starts = NOTHING, list(found.start.divided(pitch))
    sizes: list[Polynomial] = []
    for number, (dim, unit) in enumerate(((row, pitch), (col, ONE))):
        size = sized(starts[number], limits[dim], number)
        if size is None:
            bits = tt.bits_of(pointee(base))
            assert bits is not None, op
            least = 1 if number == 0 else LEAST_BYTES * 8 // bits
            size = Polynomial.number(max(shape[dim], least))
            moved += starts[number] * unit
            starts[number] = NOTHING
        sizes.append(size)
    return MatrixAccess(
        base,
        moved,
        (sizes[0], sizes[1]),
        pitch,
        (starts[0], starts[1]),
        order,
        (shape[row], shape[col]),
        flags,
        unit=inner,
        by_mask=True,
    )


def claimed(op: PointerOp, pointers: Affine, row: int, col: int) -> Affine:
    """Return pointers by what `ttig.block_io` says of their strides.

    Raises:
        NoMatrix: a stride is another one.
    """
    step = pointers.steps[col]
    if (known := step.constant) is not None:
        if known != 1:
            what = f"a stride of {known} along dimension {col}"
            raise NoMatrix(Reason.STRIDE, what)
    else:
        # A stride that is a value: the attribute says that it is 1.
        if len(step.terms) == 1 and len(step.values) == 1:
            pointers = pointers.where(next(iter(step.values)), ONE)
        if pointers.steps[col] != ONE:
            raise NoMatrix(Reason.STRIDE, f"a stride that is computed, in {op.name}")
    said = op.attributes.get(tt.BLOCK_IO_STRIDE)
    pitch = pointers.steps[row]
    if isinstance(said, IntegerAttr):
        stride = Polynomial.number(said.value.data)
        if pitch != stride and len(pitch.values) == 1:
            pointers = pointers.where(next(iter(pitch.values)), stride)
            pitch = pointers.steps[row]
    if not pitch:
        raise NoMatrix(Reason.PITCH, "all rows are at one address")
    if (known := pitch.constant) is not None and known < 0:
        raise NoMatrix(Reason.PITCH, f"rows are {known} elements apart")
    return pointers


def sized(start: Polynomial, limit: Bounds, number: int) -> Polynomial | None:
    """Return the size of a matrix along a dimension, None where no mask says it.

    Raises:
        NoMatrix: the mask is not that of a matrix from its first row and column on.
    """
    if limit.above is not None and start + limit.above:
        raise NoMatrix(Reason.MASK, "it begins behind the first row or column")
    if limit.below is None:
        if limit.above is not None:
            raise NoMatrix(Reason.MASK, "it has a begin, and no end")
        return None
    if limit.above is None and (value := may_be_negative(start)) is not None:
        raise NoMatrix(Reason.MASK, f"coordinates with {value} may be negative")
    size = start + limit.below
    known = size.constant
    is_argument = len(size.terms) == 1 and all(map(is_kernels, size.values))
    if known is None and not (is_argument and set(size.terms.values()) == {1}):
        part = ("height", "width")[number]
        what = f"the {part} is computed in the kernel, so the caller cannot check it"
        raise NoMatrix(Reason.WIDTH, what)
    return size


def is_kernels(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, Block) and isinstance(owner.parent_op(), tt.FuncOp)


def may_be_negative(number: Polynomial) -> str | None:
    """Return what may make a number negative, for people; None if nothing can."""
    for factors, size in number.terms.items():
        for value in factors:
            if not ValueFacts().is_known_nonnegative(value):
                return named(value)
        if size < 0:
            return str(size)
    return None


def pointee(pointer: SSAValue) -> Attribute:
    assert isinstance(pointer.type, tt.PtrType), pointer
    return pointer.type.pointee


def is_block_pointer(value: SSAValue) -> bool:
    type = value.type
    return isinstance(type, tt.PtrType) and bool(tt.shape_of(type.pointee))


def through_block_pointer(op: PointerOp, indices: Indices) -> MatrixAccess:
    """Return the matrix that a block is of.

    Raises:
        NoMatrix: there is none.
        NotAffine: it is not understood how the pointer moves.
    """
    found = indices.of(op.ptr)
    assert found.base is not None, op
    made = found.base.owner
    if not isinstance(made, tt.MakeTensorPtrOp):
        raise NotAffine("a block pointer comes from " + named(found.base))
    shape = tt.shape_of(made.block)
    if len(shape) != 2:
        raise NoMatrix(Reason.RANK, f"a block pointer of rank {len(shape)}")
    # One dimension has the stride 1; where both have, it is the first in the order.
    col = next(iter(made.order.get_values()))
    if constant_number(made.strides[col]) != 1:
        col = 1 - col
    if constant_number(made.strides[col]) != 1:
        what = "no dimension of the block pointer has the stride 1"
        raise NoMatrix(Reason.STRIDE, what)
    row = 1 - col
    order: tt.MemoryOrder = "row_major" if col == 1 else "column_major"
    number = indices.number
    padding = op.padding_option if isinstance(op, tt.LoadOp) else None
    return MatrixAccess(
        made.base,
        NOTHING,
        (number(made.shape[row]), number(made.shape[col])),
        number(made.strides[row]),
        (found.steps[row], found.steps[col]),
        order,
        (shape[row], shape[col]),
        padding=tt.Padding.ZERO if padding is None else padding,
    )


def of_block_load(op: ttig.BlockLoad2DOp, indices: Indices) -> MatrixAccess:
    """Return the matrix that a load of 2D blocks names.

    Raises:
        NoMatrix: it is none.
        NotAffine: its sizes are not understood.
    """
    shape = tt.shape_of(op.result.type)
    if len(shape) != 2:
        raise NoMatrix(Reason.RANK, f"a load of rank {len(shape)}")
    bits = tt.bits_of(op.result.type)
    assert bits is not None, op
    size = Polynomial.number(max(1, bits // 8))
    width, height, pitch, x, y = (indices.number(x) for x in op.operands[1:])
    found: list[Polynomial] = []
    for name, each in (("width", width), ("pitch", pitch)):
        elements, rest = each.divided(size)
        if rest:
            what = f"the {name} is not known to be a multiple of {bits // 8} bytes"
            raise NoMatrix(Reason.WIDTH, what)
        found.append(elements)
    order = order_in(op.layout)
    row, col = axes_of(order)
    return MatrixAccess(
        op.base,
        NOTHING,
        (height, found[0]),
        found[1],
        (y, x),
        order,
        (shape[row], shape[col]),
        padding=tt.Padding.ZERO if op.pad_nan is None else tt.Padding.NAN,
    )


def matrix_of(
    op: AccessOp, indices: Indices, is_promised: bool
) -> MatrixAccess | Refusal | None:
    """Return the matrix that an access is about, or why it is about none.

    None where nothing is asked: what is a load of 2D blocks already has nothing else
    that it could become, nor has a block pointer; of others `ttig.block_io` must be
    believed.
    """
    try:
        if isinstance(op, ttig.BlockLoad2DOp):
            return of_block_load(op, indices)
        if is_block_pointer(op.ptr):
            return through_block_pointer(op, indices)
        if isinstance(op, Given) or (is_promised and tt.is_tensor(op.ptr.type)):
            return through_pointers(op, indices)
        return None
    except NotAffine as error:
        return Refusal(Reason.UNKNOWN_MEMORY, str(error))
    except NoMatrix as error:
        return error.refusal


def rewrite(op: AccessOp, matrix: MatrixAccess, built: Built) -> None:
    """Put an access of a block in the place of one through pointers.

    What all of them need, such as one descriptor, `normalize` finds.
    """
    b, base = Builder.at(op, built), matrix.base
    if matrix.moved:
        base = b.pure(tt.AddPtrOp, base, matrix.moved.build(b, i64))
    sizes = tuple(
        size_by_mask(b, x) if matrix.by_mask else x.build(b) for x in matrix.sizes
    )
    strides = tuple(x.build(b, i64) for x in (matrix.pitch, matrix.unit))
    type = tt.TensorDescType.of(pointee(base), matrix.tile)
    desc = b.pure(tt.MakeTensorDescriptorOp, base, sizes, strides, type, matrix.padding)
    row, col = (x.build(b) for x in matrix.starts)
    for flag in matrix.flags:
        # Behind the last row if it is false.
        row = b.pure(SelectOp, flag, row, sizes[0])
    new: Operation
    match op:
        case tt.LoadOp():
            new = tt.DescriptorLoadOp(
                desc,
                [row, col],
                op.result.type,
                cache=op.cache_modifier,
                evict=op.eviction_policy,
            )
        case tt.StoreOp():
            new = tt.DescriptorStoreOp(desc, [row, col], op.value)
        case ttig.BlockLoad2DFromPtrOp() | ttig.BlockLoad2DOp():
            new = tt.DescriptorLoadOp(desc, [row, col], op.result.type)
        case ttig.PrefetchOp():
            new = ttig.DescriptorPrefetchOp(desc, [row, col], op.cache_modifier)
    b.effect(new)
    new.attributes |= op.attributes
    new.attributes.pop(tt.BLOCK_IO_STRIDE, None)
    if not isinstance(op, Given) and tt.BLOCK_IO not in op.attributes:
        new.attributes[NO_PROMISE] = UnitAttr()
    new.attributes[tt.BLOCK_IO] = StringAttr(matrix.order)
    results = list[SSAValue](new.results)
    if isinstance(op, tt.LoadOp | ttig.BlockLoad2DFromPtrOp):
        results[0].name_hint = op.result.name_hint
        results = [select_other(op, results[0], b)]
    Rewriter.replace_op(op, [], results)


def size_by_mask(b: Builder, size: Polynomial) -> SSAValue:
    """Return a size as an i32, clamped to 0 .. 2^31 - 1.

    A mask may compare with a negative number or an i64.
    """
    if (known := size.constant) is not None:
        return b.constant(i32, max(0, min(known, MOST_SIZE)))
    is_wide = any(x.type == i64 for x in size.values)
    type = i64 if is_wide else i32
    found = size.build(b, type)
    if may_be_negative(size) is not None:
        found = b.pure(MaxSIOp, found, b.constant(type, 0))
    if is_wide:
        found = b.pure(MinSIOp, found, b.constant(i64, MOST_SIZE))
        found = b.pure(TruncIOp, found, i32)
    return found


def select_other(
    op: tt.LoadOp | ttig.BlockLoad2DFromPtrOp, loaded: SSAValue, b: Builder
) -> SSAValue:
    """Return what a load gives: `other` where its mask is false, if that is not 0."""
    if op.mask is None or op.other is None or is_zero(op.other):
        return loaded
    return b.select(op.mask, loaded, op.other)


def is_zero(value: SSAValue) -> bool:
    """Whether all bits of a tensor are known to be 0."""
    owner = value.owner
    return (
        isinstance(owner, ConstantOp)
        and isinstance(owner.value, DenseIntOrFPElementsAttr)
        and not any(owner.value.data.data)
    )


def is_factor(loaded: SSAValue) -> bool:
    """Whether what is loaded is multiplied, and has no other use in another layout."""
    copies = [x for x, _ in copies_of(loaded) or ()]
    users = [x.operation for x in loaded.uses]
    if not copies and not any(isinstance(x, ttg.ConvertLayoutOp) for x in users):
        copies = [loaded]
    encodings = [tt.encoding_of(x.type) for x in copies]
    return bool(copies) and all(isinstance(x, DotOperandEncoding) for x in encodings)


def is_argument(stride: Polynomial) -> bool:
    """Whether the caller of the kernel can check it."""
    is_one = len(stride.terms) == 1 and set(stride.terms.values()) == {1}
    return is_one and len(stride.values) == 1 and all(map(is_kernels, stride.values))


def known_order(steps: Sequence[Polynomial], factor: bool) -> tt.MemoryOrder | None:
    """Return the order of a matrix in memory by its strides; None if none is known.

    That of a factor must be one that the caller can check; if neither stride is known
    to be 1, that of columns is taken to be.
    """
    units = [dim for dim, step in enumerate(steps) if step == ONE]
    if factor and not units and is_argument(steps[1]):
        units = [1]
    if len(units) != 1:
        return None
    pitch = steps[1 - units[0]]
    if factor and pitch.constant is None and not is_argument(pitch):
        return None
    return "row_major" if units[0] else "column_major"


def promise_known(func: tt.FuncOp, factors: bool) -> None:
    """Say of loads which of their strides is 1, where that is known.

    With `factors`, of those alone that are factors of a product.
    """
    indices = Indices()
    for op in func.body.walk():
        if not isinstance(op, tt.LoadOp) or tt.BLOCK_IO in op.attributes:
            continue
        if not tt.is_tensor(op.ptr.type) or len(tt.shape_of(op.ptr.type)) != 2:
            continue
        if factors and not is_factor(op.result):
            continue
        with suppress(NotAffine):
            order = known_order(indices.of(op.ptr).steps, factors)
            if order is None:
                continue
            if factors:
                op.attributes[NO_PROMISE] = UnitAttr()
            op.attributes[tt.BLOCK_IO] = StringAttr(order)


def convert(func: tt.FuncOp, explain: bool, known: bool) -> None:
    is_promised = LANE_BY_LANE not in func.attributes
    if is_promised:
        promise_known(func, factors=not known)
    indices, through = Indices(), Indices(through=True)
    found: list[tuple[AccessOp, MatrixAccess]] = []
    for op in func.body.walk():
        if not isinstance(op, AccessOp):
            continue
        decided = matrix_of(op, indices, is_promised)
        if isinstance(decided, Refusal):
            # What scalar pointers were moved by may be rows and columns, too.
            second = matrix_of(op, through, is_promised)
            decided = second if isinstance(second, MatrixAccess) else decided
        if isinstance(decided, MatrixAccess):
            found.append((op, decided))
        elif decided is not None:
            op.attributes[NO_MATRIX] = StringAttr(str(decided))
            if explain:
                remark(op, f"no matrix: {decided}")
    built = Built()
    for op, matrix in found:
        rewrite(op, matrix, built)
    if found:
        remove_dead(func)


@dataclass(frozen=True)
class ConvertTtPointersToDescriptorsPass(ModulePass):
    name = "convert-tt-pointers-to-descriptors"

    explain: bool = False
    """Print a remark for each access that stays, with the reason."""
    known: bool = False
    """Also convert loads without `ttig.block_io`, if one stride is known to be 1."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.ops:
            if isinstance(each, tt.FuncOp) and each.body.blocks:
                convert(each, self.explain, self.known)
