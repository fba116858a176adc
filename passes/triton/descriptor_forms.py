"""Descriptors in the forms that surfaces have: rank 2, zeros outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.arith import (
    AddiOp,
    AndIOp,
    CmpiOp,
    ConstantOp,
    ExtSIOp,
    MuliOp,
    SelectOp,
)
from xdsl.dialects.builtin import (
    AnyFloat,
    TensorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import tt, ttig
from coopc.dialects.tt.enums import Padding
from coopc.dialects.tt.layouts import encoding_of
from coopc.dialects.tt.names import block_io
from coopc.dialects.tt.types import TensorDescType, is_tensor
from coopc.dialects.ttg import SliceEncodingAttr
from coopc.layout.encodings import SliceEncoding
from coopc.passes.triton.materialize import place_after
from coopc.passes.xe.convert_to_xe.entry import constant_of
from coopc.passes.xe.convert_to_xe.registers import not_a_number

BlockOp = tt.DescriptorLoadOp | tt.DescriptorStoreOp | ttig.DescriptorPrefetchOp


@dataclass(slots=True)
class Writing:
    """Puts operations somewhere, with the location of another one."""

    near: Operation
    where: InsertPoint

    @classmethod
    def before(cls, op: Operation) -> Writing:
        """Write before an operation."""
        return cls(op, InsertPoint.before(op))

    def value(self, new: Operation) -> SSAValue:
        """Insert an operation and return its result."""
        new.location = self.near.location
        Rewriter.insert_op(new, self.where)
        return new.results[0]


def flatten(
    op: BlockOp, made: tt.MakeTensorDescriptorOp
) -> tuple[BlockOp, tt.MakeTensorDescriptorOp]:
    """Make a block of a descriptor of rank 2 of one of a higher rank.

    Leading indices move the base.  Where one is outside the block begins behind the
    last row, so that all of it is outside too.
    """
    count = made.type.rank - 2
    outside = place_after([*op.indices[:count], *made.operands])
    before = Writing(op, outside)
    base, inside = _moved(before, op, made, count)
    type = TensorDescType.of(made.type.element, made.type.shape[count:])
    sizes, strides = made.shape[count:], made.strides[count:]
    flat = tt.MakeTensorDescriptorOp(base, sizes, strides, type, made.padding_option)
    before.value(flat)
    row, col = op.indices[count:]
    if inside is not None:
        row = Writing.before(op).value(SelectOp(inside, row, sizes[0]))
    new = _at(op, flat.result, [row, col])
    new.location = op.location
    new.attributes |= op.attributes
    Rewriter.replace_op(op, new, new.results)
    return new, flat


def _moved(
    before: Writing, op: BlockOp, made: tt.MakeTensorDescriptorOp, count: int
) -> tuple[SSAValue, SSAValue | None]:
    """Return the base at the first indices, and whether these are inside, if not 0."""
    base, inside = made.base, None
    for dim in range(count):
        index, size, stride = op.indices[dim], made.shape[dim], made.strides[dim]
        if constant_of(index) == 0:
            continue
        wide = before.value(ExtSIOp(index, i64))
        base = before.value(tt.AddPtrOp(base, before.value(MuliOp(wide, stride))))
        flag = before.value(CmpiOp(index, size, "ult"))
        inside = flag if inside is None else before.value(AndIOp(inside, flag))
    return base, inside


def _at(op: BlockOp, descriptor: SSAValue, indices: Sequence[SSAValue]) -> BlockOp:
    """Return the same operation on another descriptor, of rank 2."""
    match op:
        case tt.DescriptorLoadOp():
            return tt.DescriptorLoadOp(
                descriptor,
                indices,
                op.result.type,
                cache=op.cache_modifier,
                evict=op.eviction_policy,
            )
        case tt.DescriptorStoreOp():
            return tt.DescriptorStoreOp(descriptor, indices, op.src)
        case ttig.DescriptorPrefetchOp():
            return ttig.DescriptorPrefetchOp(descriptor, indices, op.cache_modifier)


def pad_with_nan(op: tt.DescriptorLoadOp, made: tt.MakeTensorDescriptorOp) -> None:
    """Load zeros outside, and put NaN there afterwards."""
    type = op.result.type
    if not is_tensor(type) or encoding_of(type) is None:
        return
    if len(type.get_shape()) != 2 or not isinstance(type.element_type, AnyFloat):
        return
    zero = tt.MakeTensorDescriptorOp(
        made.base, made.shape, made.strides, made.type, Padding.ZERO
    )
    zero.location = made.location
    Rewriter.insert_op(zero, InsertPoint.after(made))
    op.operands[0] = zero.result
    last = op.next_op
    assert last is not None, op
    before = Writing.before(last)
    mask = inside_of(op, made, type, before.value)
    other = before.value(ConstantOp(not_a_number(type)))
    uses = list(op.result.uses)
    chosen = before.value(SelectOp(mask, op.result, other))
    for use in uses:
        use.operation.operands[use.index] = chosen


def inside_of(
    op: tt.DescriptorLoadOp,
    made: tt.MakeTensorDescriptorOp,
    type: TensorType[Attribute],
    value: Callable[[Operation], SSAValue],
) -> SSAValue:
    """Return which elements of a block are inside of its matrix."""
    shape = type.get_shape()
    found: SSAValue | None = None
    for dim, size in enumerate(shape):
        in_memory = 1 - dim if block_io(op) == "column_major" else dim
        flags = along(type, dim, value, op.indices[in_memory], made.shape[in_memory])
        one = [x if at == dim else 1 for at, x in enumerate(shape)]
        expanded = TensorType(i1, one, type.encoding)
        column = value(tt.ExpandDimsOp(flags, 1 - dim, expanded))
        whole = TensorType(i1, shape, type.encoding)
        wide = value(tt.BroadcastOp(column, whole))
        found = wide if found is None else value(AndIOp(found, wide))
        assert size == one[dim], op
    assert found is not None, op
    return found


def along(
    type: TensorType[Attribute],
    dim: int,
    value: Callable[[Operation], SSAValue],
    index: SSAValue,
    limit: SSAValue,
) -> SSAValue:
    """Return which coordinates of a block are inside along one dimension."""
    parent = encoding_of(type)
    assert parent is not None, type
    size = type.get_shape()[dim]
    encoding = SliceEncodingAttr(SliceEncoding(1 - dim, parent))
    numbers = TensorType(i32, [size], encoding)
    count = value(tt.MakeRangeOp(0, size, numbers))
    start = value(tt.SplatOp(index, numbers))
    end = value(tt.SplatOp(limit, numbers))
    # Unsigned, so that what is before the first one is outside, too.
    return value(CmpiOp(value(AddiOp(start, count)), end, "ult"))
