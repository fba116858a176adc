"""normalize-tt-descriptors: gives descriptors the form of surfaces.

Before:  Triton GPU IR with descriptors of any rank and padding.
After:   descriptors that the host passes are built in the kernel, from a base, sizes
         and strides that become its arguments. Blocks of rank 2 come from descriptors
         of rank 2, with the leading dimensions in their base. Padding with NaN becomes
         zeros and a select. Reads of descriptor fields are folded. Bases are aligned as
         surfaces require, if that can be proven.
Fails:   never; descriptors that loops carry in several forms are unchanged.

A descriptor that the host passes:

    tt.func @f(%x: !tt.tensordesc<16x64xf32>)

    tt.func @f(%x: !tt.ptr<f32>, %x_shape0: i32, %x_shape1: i32, %x_stride0: i64) {
      tt.make_tensor_descriptor %x, [%x_shape0, %x_shape1], [%x_stride0, %c1]

Its last stride is 1, and elements outside are read as zeros, the default of Triton's
host descriptors.  If arguments %x.shape.0, .. and %x.stride.0, .. follow it, as in
Triton 3.9, they are its sizes and strides.

A base that is not aligned moves to the last aligned address before it:

    base + moved          columns from x on, of width w
    base + (moved - r)    columns from x + r on, of width w + r

where r is `moved` modulo 64 bytes.  This is done only if w and the columns of the tiles
are constants, since other matrices might become wider than their pitch.  If all tiles
are inside of the columns, the width is a constant, w + 64 bytes: nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    TensorType,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import tt, ttig
from coopc.dialects.ttg import SliceEncodingAttr
from coopc.ir.builder import Builder, constant_attr
from coopc.ir.facts import constant_number
from coopc.layout.encodings import SliceEncoding
from coopc.passes.generic.normalize import Sharing
from coopc.passes.triton.access_attributes import LANE_BY_LANE
from coopc.passes.triton.base_alignment import ALIGNED, SURFACE_ALIGNMENT, alignment_of
from coopc.passes.triton.dead_values import remove_dead
from coopc.passes.triton.origins import made_by


def not_a_number(type: TensorType[Attribute]) -> DenseIntOrFPElementsAttr:
    """Return a constant whose elements are all NaN, a quiet one."""
    one: Any = constant_attr(TensorType(type.element_type, [1]), nan)
    return DenseIntOrFPElementsAttr(type, one.data)  # pyright: ignore[reportArgumentType]


def make_host_descriptors(func: tt.FuncOp) -> None:
    """Let a kernel make the descriptors that are its arguments."""
    block = func.body.block
    args = list(block.args)
    if not any(isinstance(arg.type, tt.TensorDescType) for arg in args):
        return
    attributes: list[DictionaryAttr] = []
    for position, arg in enumerate(args):
        attributes.append(DictionaryAttr(dict(func.argument_attributes(position))))
        if not isinstance(type := arg.type, tt.TensorDescType):
            continue
        given = fields_behind(arg, type.rank)
        kinds: list[tuple[str, Attribute]] = [("", tt.PtrType.of(type.element))]
        if not given:
            kinds += [(f"_shape{at}", i32) for at in range(type.rank)]
            kinds += [(f"_stride{at}", i64) for at in range(type.rank - 1)]
        values: list[BlockArgument] = []
        for suffix, kind in kinds:
            value = block.insert_arg(kind, arg.index)
            value.location = arg.location
            value.name_hint = None if arg.name_hint is None else arg.name_hint + suffix
            values.append(value)
        attributes += [DictionaryAttr({})] * (len(values) - 1)
        base, *numbers = [*values, *given[:-1]]
        one = arith.ConstantOp(IntegerAttr(1, i64))
        strides = (*numbers[type.rank :], one.result)
        made = tt.MakeTensorDescriptorOp(base, numbers[: type.rank], strides, type)
        one.location = made.location = arg.location
        Rewriter.insert_op([one, made], InsertPoint.at_start(block))
        arg.replace_all_uses_with(made.result)
        block.erase_arg(arg)
    types = [arg.type for arg in block.args]
    func.function_type = FunctionType.from_lists(types, func.function_type.outputs.data)
    if func.arg_attrs is not None:
        func.arg_attrs = ArrayAttr(attributes)


def fields_behind(arg: BlockArgument, rank: int) -> list[BlockArgument]:
    """Return the arguments that are the sizes and strides of a descriptor, if any."""
    names = [f"{x}.{at}" for x in ("shape", "stride") for at in range(rank)]
    found = list(arg.block.args[arg.index + 1 :][: len(names)])
    wanted = [f"{arg.name_hint}.{name}" for name in names]
    return found if [x.name_hint for x in found] == wanted else []


BlockOp = tt.DescriptorLoadOp | tt.DescriptorStoreOp | ttig.DescriptorPrefetchOp
DescriptorOp = BlockOp | ttig.ExtractDescOp


def flatten(op: BlockOp, made: tt.MakeTensorDescriptorOp) -> tt.MakeTensorDescriptorOp:
    """Make a block of a descriptor of rank 2 of one of a higher rank.

    Leading indices move the base.  Where one is outside the block begins behind the
    last row, so that all of it is outside too.
    """
    count = made.type.rank - 2
    b, base, inside = Builder.at(op), made.base, None
    *leading, row, col = op.indices
    for index, size, stride in zip(leading, made.shape, made.strides, strict=False):
        if constant_number(index) == 0:
            continue
        moved = b.pure(arith.MuliOp, b.pure(arith.ExtSIOp, index, i64), stride)
        base = b.pure(tt.AddPtrOp, base, moved)
        flag = b.compare("ult", index, size)
        inside = flag if inside is None else b.pure(arith.AndIOp, inside, flag)
    type = tt.TensorDescType.of(made.type.element, made.type.shape[count:])
    sizes, strides = made.shape[count:], made.strides[count:]
    flat = tt.MakeTensorDescriptorOp(base, sizes, strides, type, made.padding_option)
    b.effect(flat)
    if inside is not None:
        row = b.pure(arith.SelectOp, inside, row, sizes[0])
    value = [op.src] if isinstance(op, tt.DescriptorStoreOp) else []
    op.operands = [flat.result, *value, row, col]
    return flat


def pad_with_nan(
    op: tt.DescriptorLoadOp, made: tt.MakeTensorDescriptorOp
) -> tt.MakeTensorDescriptorOp:
    """Load zeros outside, and put NaN there afterwards."""
    type = op.result.type
    if not tt.is_tensor(type) or tt.encoding_of(type) is None:
        return made
    if len(type.get_shape()) != 2 or not isinstance(type.element_type, AnyFloat):
        return made
    zero = tt.MakeTensorDescriptorOp(
        made.base, made.shape, made.strides, made.type, tt.Padding.ZERO
    )
    zero.location = made.location
    Rewriter.insert_op(zero, InsertPoint.after(made))
    op.operands[0] = zero.result
    last = op.next_op
    assert last is not None, op
    b = Builder.at(last)
    mask = inside_of(op, made, type, b)
    other = b.pure(arith.ConstantOp, not_a_number(type))
    uses = list(op.result.uses)
    chosen = b.pure(arith.SelectOp, mask, op.result, other)
    for use in uses:
        use.operation.operands[use.index] = chosen
    return zero


def inside_of(
    op: tt.DescriptorLoadOp,
    made: tt.MakeTensorDescriptorOp,
    type: TensorType[Attribute],
    b: Builder,
) -> SSAValue:
    """Return which elements of a block are inside of its matrix."""
    parent, shape = tt.encoding_of(type), type.get_shape()
    assert parent is not None, type
    found: list[SSAValue] = []
    for dim, size in enumerate(shape):
        in_memory = 1 - dim if tt.block_io(op) == "column_major" else dim
        encoding = SliceEncodingAttr(SliceEncoding(1 - dim, parent))
        numbers = TensorType(i32, [size], encoding)
        count = b.pure(tt.MakeRangeOp, 0, size, numbers)
        start = b.pure(tt.SplatOp, op.indices[in_memory], numbers)
        end = b.pure(tt.SplatOp, made.shape[in_memory], numbers)
        # Unsigned, so that what is before the first one is outside, too.
        flags = b.compare("ult", b.pure(arith.AddiOp, start, count), end)
        one = [x if at == dim else 1 for at, x in enumerate(shape)]
        expanded = TensorType(i1, one, type.encoding)
        column = b.pure(tt.ExpandDimsOp, flags, 1 - dim, expanded)
        whole = TensorType(i1, shape, type.encoding)
        found.append(b.pure(tt.BroadcastOp, column, whole))
    return b.pure(arith.AndIOp, *found)


def compensate(made: tt.MakeTensorDescriptorOp, blocks: Sequence[BlockOp]) -> None:
    """Make the base of a descriptor aligned, where that is needed and possible.

    It is of rank 2, and `blocks` are all that is accessed through it.
    """
    width = constant_number(made.shape[-1])
    columns = [constant_number(op.indices[-1]) for op in blocks]
    if width is None or any(x is None or x < 0 for x in columns):
        return
    bits = made.type.element_bits
    found = alignment_of(made.base, bits // 8)
    if found is None or not found.rest:
        return
    unit = SURFACE_ALIGNMENT * 8 // bits
    b = Builder.at(made)
    moved = found.moved.build(b, i64)
    rest = b.pure(arith.AndIOp, moved, b.constant(i64, unit - 1))
    start = b.pure(arith.SubiOp, moved, rest)
    aligned = tt.AddPtrOp(found.base, start)
    aligned.attributes[ALIGNED] = UnitAttr()
    b.effect(aligned)
    shift = b.pure(arith.TruncIOp, rest, i32)
    made.operands[0] = aligned.result
    wider = b.constant(i32, width + unit)
    if any((x or 0) + made.type.shape[-1] > width for x in columns):
        wider = b.pure(arith.AddiOp, b.constant(i32, width), shift)
    made.operands[len(made.shape)] = wider
    for op in blocks:
        column = Builder.at(op).pure(arith.AddiOp, op.indices[-1], shift)
        op.operands[len(op.operands) - 1] = column


def normalize(func: tt.FuncOp) -> bool:
    """Normalize the descriptors that a function accesses; whether there are any."""
    found = [x for x in func.body.walk() if isinstance(x, DescriptorOp)]
    blocks: dict[tt.MakeTensorDescriptorOp, list[BlockOp]] = {}
    for op in found:
        if (made := made_by(op.desc)) is None:
            continue
        if isinstance(op, ttig.ExtractDescOp):
            replace_field(op, made)
            continue
        if made.type.rank > 2 and block_rank(op) == 2:
            made = flatten(op, made)
        if (
            isinstance(op, tt.DescriptorLoadOp)
            and made.padding_option is tt.Padding.NAN
        ):
            made = pad_with_nan(op, made)
        blocks.setdefault(made, []).append(op)
    if LANE_BY_LANE not in func.attributes:
        for made, accesses in blocks.items():
            if made.type.rank == 2:
                compensate(made, accesses)
    return bool(found)


def replace_field(op: ttig.ExtractDescOp, made: tt.MakeTensorDescriptorOp) -> None:
    """Replace the read of a field; sizes have 32 bits."""
    numbers = (*made.shape, *made.strides, made.base)
    index = op.index.value.data
    value = numbers[min(index, len(numbers) - 1)]
    if index < len(made.shape):
        value = Builder.at(op).pure(arith.ExtSIOp, value, i64)
    Rewriter.replace_op(op, [], [value])


def block_rank(op: BlockOp) -> int:
    match op:
        case tt.DescriptorLoadOp():
            type = op.result.type
        case tt.DescriptorStoreOp():
            type = op.src.type
        case ttig.DescriptorPrefetchOp():
            type = op.desc.type
            is_flat = isinstance(type, tt.TensorDescType) and set(type.shape[:-2]) == {
                1
            }
            return 2 if is_flat else -1
    assert tt.is_tensor(type), op
    return len(type.get_shape())


@dataclass(frozen=True)
class NormalizeTtDescriptorsPass(ModulePass):
    name = "normalize-tt-descriptors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if not isinstance(func, tt.FuncOp) or not func.body.blocks:
                continue
            if func.is_kernel and len(func.body.blocks) == 1:
                make_host_descriptors(func)
            if normalize(func):
                Sharing().walk(func.body)  # one descriptor, in front of loops
                remove_dead(func)
