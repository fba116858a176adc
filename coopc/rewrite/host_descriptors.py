"""Tensor descriptors that the host makes: the kernel makes them of what it passes.

    tt.func @f(%x: !tt.tensordesc<16x64xf32>)

    tt.func @f(%x: !tt.ptr<f32>, %x_shape0: i32, %x_shape1: i32, %x_stride0: i64) {
      tt.make_tensor_descriptor %x, [%x_shape0, %x_shape1], [%x_stride0, %c1]

The last stride of a descriptor is 1, and what is outside of it is read as zeros, as
descriptors of Triton's hosts have it unless they say otherwise.
"""

from __future__ import annotations

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import tt
from coopc.dialects.tt.types import PtrType, TensorDescType


def make_host_descriptors(func: tt.FuncOp) -> None:
    """Let a kernel make the descriptors that are its arguments."""
    block = func.body.block
    args = list(block.args)
    if not any(isinstance(arg.type, TensorDescType) for arg in args):
        return
    attributes: list[DictionaryAttr] = []
    for position, arg in enumerate(args):
        attributes.append(DictionaryAttr(dict(func.argument_attributes(position))))
        if isinstance(arg.type, TensorDescType):
            added = _make(arg, arg.type)
            attributes += [DictionaryAttr({})] * added
    types = [arg.type for arg in block.args]
    func.function_type = FunctionType.from_lists(types, func.function_type.outputs.data)
    if func.arg_attrs is not None:
        func.arg_attrs = ArrayAttr(attributes)


def _make(arg: BlockArgument, type: TensorDescType) -> int:
    """Make one descriptor at the entry; return how many arguments there are more."""
    block, name = arg.block, arg.name_hint
    numbers: list[tuple[str, Attribute]] = [
        *((f"shape{at}", i32) for at in range(type.rank)),
        *((f"stride{at}", i64) for at in range(type.rank - 1)),
    ]
    base = block.insert_arg(PtrType.of(type.element), arg.index)
    base.location, base.name_hint = arg.location, name
    values: list[BlockArgument] = []
    for suffix, kind in numbers:
        value = block.insert_arg(kind, base.index + 1 + len(values))
        value.location = arg.location
        value.name_hint = None if name is None else f"{name}_{suffix}"
        values.append(value)
    one = ConstantOp(IntegerAttr(1, i64))
    strides = (*values[type.rank :], one.result)
    made = tt.MakeTensorDescriptorOp(base, values[: type.rank], strides, type)
    one.location = made.location = arg.location
    Rewriter.insert_op([one, made], InsertPoint.at_start(block))
    arg.replace_all_uses_with(made.result)
    block.erase_arg(arg)
    return len(numbers)
