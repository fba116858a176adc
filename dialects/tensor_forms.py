"""Operations around `linalg` as MLIR 22 prints them, which xDSL 0.74 lacks or misreads.

    tensor.parallel_insert_slice %s into %o[..] [..] [..] : tensor<..> into tensor<..>
    tensor.generate %n { ^bb0(%i: index): .. tensor.yield %x : f32 } : tensor<?xf32>
    tensor.reshape %t(%sizes) : (tensor<?x6xf32>, tensor<2xi64>) -> tensor<?x4xf32>
    bufferization.to_tensor %m restrict : memref<.., strided<..>> to tensor<..>
    bufferization.to_buffer %t : tensor<..> to memref<.., strided<..>>
    bufferization.materialize_in_destination %t in restrict writable %m : .. -> ()

xDSL lets memrefs of `bufferization` have no layout, since it derives their types from
those of the tensors, and multiplies dynamic sizes of reshapes.  It does not check that
slices are inside of their tensors, that there is an index for each dimension, or that
collapsed tensors have as many elements.  Importing this module changes its classes in
place.
"""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

from xdsl.dialects import bufferization, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import RecursivelySpeculatable, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import as_tensor
from coopc.dialects.shaped_arith import accept, verify_also, verify_with


@irdl_op_definition
class ParallelInsertSliceOp(IRDLOperation):
    """Set a part of a result of `scf.forall`."""

    name = "tensor.parallel_insert_slice"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    assembly_format = (
        "$source `into` $dest ``"
        "custom<DynamicIndexList>($offsets, $static_offsets)"
        "custom<DynamicIndexList>($sizes, $static_sizes)"
        "custom<DynamicIndexList>($strides, $static_strides)"
        "attr-dict `:` type($source) `into` type($dest)"
    )

    custom_directives: ClassVar[Any] = (DynamicIndexList,)


@irdl_op_definition
class GenerateOp(IRDLOperation):
    """Compute each element of a tensor from its indices."""

    name = "tensor.generate"

    sizes = var_operand_def(IndexType)
    body = region_def("single_block")
    result = result_def(TensorType)

    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    assembly_format = "$sizes $body attr-dict `:` type($result)"

    def verify_(self) -> None:
        type, block = as_tensor(self.result.type), self.body.block
        if (count := type.get_shape().count(DYNAMIC_INDEX)) != len(self.sizes):
            raise VerifyException(f"expected {count} sizes, got {len(self.sizes)}")
        wanted = (IndexType(),) * type.get_num_dims()
        if block.arg_types != wanted:
            raise VerifyException(f"expected {len(wanted)} arguments of index")
        last = block.last_op
        if not isinstance(last, tensor.YieldOp) or [*last.operand_types] != [
            type.element_type
        ]:
            raise VerifyException(f"expected tensor.yield of {type.element_type}")


def check_buffer(op: Any) -> None:
    """Check that a memref and a tensor have one shape and one element type."""
    types: list[Attribute] = [x.type for x in (*op.operands, *op.results)]
    if len({as_tensor(type) for type in types}) > 1:
        shown = ", ".join(map(str, types))
        raise VerifyException(f"expected one shape and element type, got {shown}")


verify_expansion = tensor.ExpandShapeOp.verify_


def verify_expand(self: tensor.ExpandShapeOp) -> None:
    """Verify an expansion; that of rank 0 has no groups, and sizes of 1."""
    self.get_irdl_definition().verify(self)
    source, result = as_tensor(self.src.type), as_tensor(self.result.type)
    if source.get_num_dims():
        return verify_expansion(self)
    sizes = (1,) * result.get_num_dims()
    if result != TensorType(source.element_type, sizes, result.encoding):
        raise VerifyException(f"expected sizes of 1 of {source}, got {result}")
    if self.reassociation or self.static_output_shape.get_values() != sizes:
        raise VerifyException(f"expected [] output_shape {[*sizes]}")


setattr(tensor.ExpandShapeOp, "verify_", verify_expand)  # noqa: B010


def check_reshape(op: Any) -> None:
    """Check that there is a size for each dimension, and as many elements as before."""
    before, sizes, after = (as_tensor(x.type) for x in (op.source, op.shape, op.result))
    if before.element_type != after.element_type:
        raise VerifyException(f"expected elements of one type, got {before}, {after}")
    if sizes.get_shape() != (after.get_num_dims(),):
        raise VerifyException(f"expected a size of each dimension, got {sizes}")
    check_count(before, after)


def check_count(before: TensorType, after: TensorType) -> None:
    """Check that two tensors have as many elements, where both are known."""
    is_known = before.has_static_shape() and after.has_static_shape()
    if is_known and prod(before.get_shape()) != prod(after.get_shape()):
        raise VerifyException(f"expected as many elements as {before}, got {after}")


def check_slice(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> None:
    """Check that a part is inside of a tensor, as far as both are known."""
    whole = op.source if isinstance(op, tensor.ExtractSliceOp) else op.dest
    numbers = zip(
        as_tensor(whole.type).get_shape(),
        op.static_offsets.get_values(),
        op.static_sizes.get_values(),
        op.static_strides.get_values(),
        strict=True,
    )
    for dimension, (length, first, size, step) in enumerate(numbers):
        last = first + (size - 1) * step
        known = DYNAMIC_INDEX not in (length, first, size, step)
        if known and size > 0 and not 0 <= first <= last < length:
            raise VerifyException(
                f"expected a part of {whole.type} along dimension {dimension}, got "
                f"{first} to {last}"
            )


def check_collapse(op: tensor.CollapseShapeOp) -> None:
    check_count(as_tensor(op.src.type), as_tensor(op.result.type))


def check_indices(op: tensor.ExtractOp | tensor.InsertOp) -> None:
    whole = op.tensor if isinstance(op, tensor.ExtractOp) else op.dest
    if len(op.indices) != (rank := as_tensor(whole.type).get_num_dims()):
        raise VerifyException(f"expected {rank} indices, got {len(op.indices)}")


verify_with(tensor.ReshapeOp, check_reshape)
for sliced in (tensor.ExtractSliceOp, tensor.InsertSliceOp):
    verify_also(sliced, check_slice)
for indexed in (tensor.ExtractOp, tensor.InsertOp):
    verify_also(indexed, check_indices)
verify_also(tensor.CollapseShapeOp, check_collapse)

SHAPED = base(TensorType) | base(MemRefType)
for op in (
    bufferization.ToTensorOp,
    bufferization.ToBufferOp,
    bufferization.MaterializeInDestinationOp,
):
    accept(op, memref=SHAPED, tensor=SHAPED, source=SHAPED, dest=SHAPED)
    verify_with(op, check_buffer)

Tensor = Dialect(
    "tensor", [*tensor.Tensor.operations, GenerateOp, ParallelInsertSliceOp]
)
Bufferization = bufferization.Bufferization
