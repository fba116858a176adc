"""Block pointers, as Triton had them until 2026: a block of a tensor in memory.

They are loaded from and stored to by `tt.load` and `tt.store`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    SameVariadicOperandSize,
    VarConstraint,
    eq,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.tt.elided import ElidedBlockPtr, ElidedPtr
from coopc.dialects.tt.types import PtrType, is_tensor, sizes


@irdl_op_definition
class MakeTensorPtrOp(IRDLOperation):
    """A block pointer, as Triton had them until 2026: a block of a tensor in memory.

    | value   | type                         | unit     |
    |---------|------------------------------|----------|
    | base    | !tt.ptr<T>                   |          |
    | shape   | i64 for each dimension       | elements |
    | strides | i64 for each dimension       | elements |
    | offsets | i32 for each dimension       | elements |
    | result  | !tt.ptr<tensor<.. T>>        |          |

    `order` lists the dimensions, that with the least stride first.

    ```mlir
    %p, %n, %s = "test.op"() : () -> (!tt.ptr<f16>, i64, i64)
    %zero = arith.constant 0 : i32
    %b = tt.make_tensor_ptr %p, [%n, %n], [%n, %s], [%zero, %zero]
         {order = array<i32: 1, 0>} : <tensor<64x32xf16>>
    ```
    """

    name = "tt.make_tensor_ptr"

    base = operand_def(PtrType)
    shape = var_operand_def(eq(i64))
    strides = var_operand_def(eq(i64))
    offsets = var_operand_def(eq(i32))
    order = prop_def(DenseArrayBase.constr(i32))
    result = result_def(PtrType)

    traits = traits_def(Pure())
    irdl_options = (SameVariadicOperandSize(), ParsePropInAttrDict())
    custom_directives = (ElidedBlockPtr,)
    assembly_format = (
        "$base `,` `[` $shape `]` `,` `[` $strides `]` `,` `[` $offsets `]` attr-dict "
        "`:` custom<ElidedBlockPtr>(type($base), type($result))"
    )

    def __init__(
        self,
        base: SSAValue,
        frame: tuple[Sequence[SSAValue], Sequence[SSAValue], Sequence[SSAValue]],
        order: Sequence[int],
        result_type: Attribute,
    ) -> None:
        super().__init__(
            operands=[base, *frame],
            properties={"order": DenseArrayBase.from_list(i32, order)},
            result_types=[result_type],
        )

    @property
    def block(self) -> Attribute:
        """The type of the block."""
        assert isinstance(self.result.type, PtrType), self.result.type
        return self.result.type.pointee

    def verify_(self) -> None:
        """Check that there is a size, a stride and an offset for each dimension."""
        if not is_tensor(self.block):
            raise VerifyException(f"expected a pointer to a tensor, got {self.block}")
        rank = len(self.block.get_shape())
        if len(self.shape) != rank:
            raise VerifyException(
                f"expected {rank} sizes, strides and offsets, the rank of "
                f"{sizes(self.block.get_shape())}, got {len(self.shape)}"
            )
        order = list(self.order.get_values())
        if sorted(order) != list(range(rank)):
            raise VerifyException(
                f"expected order to permute {rank} dimensions, got {order}"
            )
        self.verify_base(self.block.element_type)

    def verify_base(self, element: Attribute) -> None:
        """Check that base points to elements of the block."""
        base = self.base.type
        assert isinstance(base, PtrType), base
        if base.pointee != element:
            raise VerifyException(
                f"expected base to point to {element}, as the block has, "
                f"got {base.pointee}"
            )


@irdl_op_definition
class AdvanceOp(IRDLOperation):
    """A block pointer moved by a number of elements in each dimension.

    | value       | type                   |
    |-------------|------------------------|
    | ptr, result | !tt.ptr<tensor<..>>    |
    | offsets     | i32 for each dimension |

    ```mlir
    %p, %i = "test.op"() : () -> (!tt.ptr<tensor<64x32xf16>>, i32)
    %q = tt.advance %p, [%i, %i] : <tensor<64x32xf16>>
    ```
    """

    name = "tt.advance"

    ptr = operand_def(VarConstraint("P", AnyAttr()))
    offsets = var_operand_def(eq(i32))
    result = result_def(VarConstraint("P", AnyAttr()))

    traits = traits_def(Pure())
    custom_directives = (ElidedPtr,)
    assembly_format = (
        "$ptr `,` `[` $offsets `]` attr-dict `:` custom<ElidedPtr>(type($result))"
    )

    def __init__(self, ptr: SSAValue, offsets: Sequence[SSAValue]) -> None:
        super().__init__(operands=[ptr, offsets], result_types=[ptr.type])

    def verify_(self) -> None:
        """Check that a block pointer has an offset for each dimension."""
        type = self.ptr.type
        if not isinstance(type, PtrType) or not is_tensor(type.pointee):
            raise VerifyException(f"expected ptr to be a block pointer, got {type}")
        shape = type.pointee.get_shape()
        if len(self.offsets) != len(shape):
            raise VerifyException(
                f"expected {len(shape)} offsets, the rank of {sizes(shape)}, "
                f"got {len(self.offsets)}"
            )
