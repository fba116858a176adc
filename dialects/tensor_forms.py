"""Operations around `linalg` as MLIR 22 prints them, which xDSL 0.74 lacks or misreads.

    tensor.parallel_insert_slice %s into %o[..] [..] [..] : tensor<..> into tensor<..>
    bufferization.to_tensor %m restrict : memref<.., strided<..>> to tensor<..>
    bufferization.to_buffer %t : tensor<..> to memref<.., strided<..>>
    bufferization.materialize_in_destination %t in restrict writable %m : .. -> ()

xDSL lets memrefs of `bufferization` have no layout, since it derives their types from
those of the tensors.  Importing this module changes its classes in place.
"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects import bufferization, tensor
from xdsl.dialects.builtin import (
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
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import as_tensor
from coopc.dialects.shaped_arith import accept, verify_with


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

SHAPED = base(TensorType) | base(MemRefType)
for op in (
    bufferization.ToTensorOp,
    bufferization.ToBufferOp,
    bufferization.MaterializeInDestinationOp,
):
    accept(op, memref=SHAPED, tensor=SHAPED, source=SHAPED, dest=SHAPED)
    verify_with(op, check_buffer)

Tensor = Dialect("tensor", [*tensor.Tensor.operations, ParallelInsertSliceOp])
Bufferization = bufferization.Bufferization
