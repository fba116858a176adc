"""`convert-tt-pointers-to-descriptors`: find the matrices behind pointers.

Before: loads, stores and prefetches of Triton GPU IR through tensors of pointers that
        say `ttig.block_io`, and through block pointers; loads of 2D blocks.
After:  each whose index arithmetic was understood is one of a block of a descriptor,
        with the masks as the sizes of its matrix; what only it needed is gone.
Fails:  never; what is not understood stays, with the reason as `xe.no_matrix`, and as a
        remark with `explain=true`.

Matrices behind pointers: base, rows, columns and pitch out of index arithmetic.

A tensor of pointers with `ttig.block_io`, which is Triton's promise that one stride is
1 and the other one a pitch, points to

    base + start + i * pitch + j

of which the multiples of the pitch in `start` are rows, and the rest is columns.  A
mask that compares rows and columns with sizes is where the matrix ends: what is outside
is not read, and is 0.  Where a mask says nothing of rows or columns nothing is known of
the matrix's size; then the base moves to the tile, and the matrix is the tile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp, SelectOp
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import tt, ttig
from coopc.dialects.tt.types import (
    BLOCK_IO,
    BLOCK_IO_STRIDE,
    Order,
    Padding,
    PtrType,
    TensorDescType,
    bits_of,
    block_io,
    is_tensor,
    pointee_of,
    shape_of,
)
from coopc.ir.facts import ValueFacts, constant_number
from coopc.passes.triton.access_attributes import LANE_BY_LANE, NO_MATRIX, NO_PROMISE
from coopc.passes.triton.affine_tensors import (
    Affine,
    Bounds,
    Indices,
    Masks,
    NotAffine,
    bounds,
    named,
)
from coopc.passes.triton.dead_values import remove_dead
from coopc.passes.triton.materialize import Materializer, place_after
from coopc.passes.triton.polynomial import NOTHING, ONE, Polynomial
from coopc.plan.refusal import Reason, Refusal
from coopc.remarks import remark

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
            if not ValueFacts().is_known_nonnegative(value):
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
    if constant_number(made.strides[col]) != 1:
        col = 1 - col
    if constant_number(made.strides[col]) != 1:
        return None
    return "row_major" if col == 1 else "column_major"


def given_matrix(op: ttig.BlockLoad2DOp, indices: Indices) -> Matrix | Refusal:
    """Return the matrix that a load of 2D blocks names, or why it is none."""
    shape = shape_of(op.result.type)
    if len(shape) != 2:
        return Refusal(Reason.RANK, f"a load of rank {len(shape)}")
    bits = bits_of(op.result.type)
    assert bits is not None, op
    size = Polynomial.number(max(1, bits // 8))
    try:
        width, height, pitch, x, y = (indices.number(x) for x in op.operands[1:])
    except NotAffine as error:
        return Refusal(Reason.UNKNOWN_MEMORY, str(error))
    found: list[Polynomial] = []
    for name, each in (("width", width), ("pitch", pitch)):
        elements, rest = each.divided(size)
        if rest:
            what = f"the {name} is not known to be a multiple of {bits // 8} bytes"
            return Refusal(Reason.WIDTH, what)
        found.append(elements)
    order = order_in(op.layout)
    tile = shape if order == "row_major" else (shape[1], shape[0])
    return Matrix(
        op.base,
        NOTHING,
        (height, found[0]),
        found[1],
        (y, x),
        order,
        (tile[0], tile[1]),
        padding=Padding.ZERO if op.pad_nan is None else Padding.NAN,
    )


Given = ttig.BlockLoad2DFromPtrOp | ttig.BlockLoad2DOp
"""Loads of 2D blocks already, which keep to the rules of those."""


@dataclass(slots=True)
class AccessWriter:
    """Writes the accesses of one function."""

    entry: Block
    made: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    """What has been written already."""

    def rewrite(self, op: AccessOp, matrix: Matrix) -> None:
        """Put an access of a block in the place of one through pointers."""
        writer = Materializer(self.entry, op, self.made)
        desc = self.descriptor(writer, matrix)
        indices = self.indices(writer, op, matrix)
        new: Operation
        match op:
            case tt.LoadOp():
                new = tt.DescriptorLoadOp(
                    desc,
                    indices,
                    op.result.type,
                    cache=op.cache_modifier,
                    evict=op.eviction_policy,
                )
            case tt.StoreOp():
                new = tt.DescriptorStoreOp(desc, indices, op.value)
            case ttig.BlockLoad2DFromPtrOp() | ttig.BlockLoad2DOp():
                new = tt.DescriptorLoadOp(desc, indices, op.result.type)
            case ttig.PrefetchOp():
                new = ttig.DescriptorPrefetchOp(desc, indices, op.cache_modifier)
        new.location = op.location
        new.attributes |= op.attributes
        new.attributes.pop(BLOCK_IO_STRIDE, None)
        if not isinstance(op, Given) and BLOCK_IO not in op.attributes:
            new.attributes[NO_PROMISE] = UnitAttr()
        new.attributes[BLOCK_IO] = StringAttr(matrix.order)
        Rewriter.insert_op(new, InsertPoint.before(op))
        results = list[SSAValue](new.results)
        if isinstance(op, tt.LoadOp | ttig.BlockLoad2DFromPtrOp):
            results = [self.chosen(op, new)]
        Rewriter.replace_op(op, [], results)

    def chosen(
        self, op: tt.LoadOp | ttig.BlockLoad2DFromPtrOp, new: Operation
    ) -> SSAValue:
        """Return what was loaded, and `other` where the mask is false."""
        (loaded,) = new.results
        loaded.name_hint = op.result.name_hint
        if op.mask is None or op.other is None or is_zero(op.other):
            return loaded
        select = SelectOp(op.mask, loaded, op.other)
        select.location = op.location
        Rewriter.insert_op(select, InsertPoint.before(op))
        return select.result

    def descriptor(self, writer: Materializer, matrix: Matrix) -> SSAValue:
        """Return the descriptor of a matrix, made where all of it is known."""
        base = matrix.base
        if matrix.moved:
            by = writer.value(matrix.moved, i64)
            key = ("moved", base, by)
            uses, start = [base, by], base
            base = writer.once(key, uses, lambda: tt.AddPtrOp(start, by))
        sizes = [writer.value(x, i32) for x in matrix.sizes]
        strides = [writer.value(x, i64) for x in (matrix.pitch, ONE)]
        type = base.type
        assert isinstance(type, PtrType), base
        described = TensorDescType.of(type.pointee, matrix.tile)
        uses = [base, *sizes, *strides]
        return writer.once(
            ("descriptor", *uses, described),
            uses,
            lambda: tt.MakeTensorDescriptorOp(
                base, sizes, strides, described, matrix.padding
            ),
        )

    def indices(
        self, writer: Materializer, op: AccessOp, matrix: Matrix
    ) -> list[SSAValue]:
        """Return where the block begins; behind the last row if a flag is false."""
        row, col = (writer.value(x, i32) for x in matrix.starts)
        for flag in matrix.flags:
            behind = writer.value(matrix.sizes[0], i32)
            chosen = SelectOp(flag, row, behind)
            chosen.location = op.location
            Rewriter.insert_op(chosen, place_after([flag, row, behind]))
            row = chosen.result
        return [row, col]


def is_zero(value: SSAValue) -> bool:
    """Whether all bits of a tensor are known to be 0."""
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return False
    constant = owner.value
    return isinstance(constant, DenseIntOrFPElementsAttr) and not any(
        constant.data.data
    )


@dataclass(slots=True)
class Decisions:
    """What is decided about the accesses of a function."""

    promised: bool
    """Whether `ttig.block_io` is believed."""
    indices: Indices = field(default_factory=Indices)
    through: Indices = field(default_factory=lambda: Indices(through=True))

    def of(self, op: AccessOp) -> Matrix | Refusal | None:
        """Return the matrix of an access; None if there is nothing to decide."""
        if isinstance(op, ttig.BlockLoad2DOp):
            return given_matrix(op, self.indices)
        if is_block_pointer(op):
            return block_matrix(op, self.indices)
        # What is a load of 2D blocks already has nothing else that it could become.
        is_block = isinstance(op, ttig.BlockLoad2DFromPtrOp)
        if not is_pointers(op) or not (self.promised or is_block):
            return None
        first = matrix_of(op, self.indices)
        if isinstance(first, Matrix):
            return first
        # What scalar pointers were moved by may be rows and columns, too.
        second = matrix_of(op, self.through)
        return second if isinstance(second, Matrix) else first


def convert(func: tt.FuncOp, explain: bool) -> None:
    """Convert the accesses of a function."""
    decisions = Decisions(LANE_BY_LANE not in func.attributes)
    found: list[tuple[AccessOp, Matrix]] = []
    for op in func.body.walk():
        if not isinstance(op, AccessOp):
            continue
        decided = decisions.of(op)
        if isinstance(decided, Matrix):
            found.append((op, decided))
        elif decided is not None:
            refuse(op, decided, explain)
    if not found:
        return
    writer = AccessWriter(func.body.block)
    for op, matrix in found:
        writer.rewrite(op, matrix)
    remove_dead(func)


def refuse(op: Operation, reason: Refusal, explain: bool) -> None:
    """Write why an access stays as it is."""
    op.attributes[NO_MATRIX] = StringAttr(str(reason))
    if explain:
        remark(op, f"no matrix: {reason}")


@dataclass(frozen=True)
class ConvertTtPointersToDescriptorsPass(ModulePass):
    """Find the matrices behind pointers."""

    name = "convert-tt-pointers-to-descriptors"

    explain: bool = False
    """Whether it is said why accesses stay as they are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert the functions of `op`."""
        for each in op.ops:
            if isinstance(each, tt.FuncOp) and each.body.blocks:
                convert(each, self.explain)
