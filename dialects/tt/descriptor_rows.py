"""Operations of Triton on rows of a matrix in memory, each at its own position."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.checks import expect_element, expect_rank, expect_shape
from coopc.dialects.tt.descriptors import descriptor_type
from coopc.dialects.tt.types import shape_of, sizes


@irdl_op_definition
class DescriptorGatherOp(IRDLOperation):
    """Load rows of a matrix, each at its own position, from one column on.

    | value     | type                      | unit |
    |-----------|---------------------------|------|
    | desc      | !tt.tensordesc<1 x N x T> |      |
    | x_offsets | tensor<M x i32>           | rows |
    | y_offset  | i32                       | elements |
    | result    | tensor<M x N x T>         |      |

    ```mlir
    %d, %y = "test.op"() : () -> (!tt.tensordesc<1x32xf16>, i32)
    %x = "test.op"() : () -> tensor<64xi32>
    %r = tt.descriptor_gather %d[%x, %y]
         : (!tt.tensordesc<1x32xf16>, tensor<64xi32>, i32) -> tensor<64x32xf16>
    ```
    """

    name = "tt.descriptor_gather"

    desc = operand_def()
    x_offsets = operand_def(TensorType)
    y_offset = operand_def(i32)
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    assembly_format = (
        "$desc `[` $x_offsets `,` $y_offset `]` attr-dict "
        "`:` functional-type(operands, results)"
    )

    def __init__(
        self,
        desc: SSAValue,
        x_offsets: SSAValue,
        y_offset: SSAValue,
        result_type: Attribute,
    ) -> None:
        super().__init__(
            operands=[desc, x_offsets, y_offset], result_types=[result_type]
        )

    def verify_(self) -> None:
        """Check rows and columns."""
        verify_rows("the result", self.result.type, self.desc, self.x_offsets)


@irdl_op_definition
class DescriptorScatterOp(IRDLOperation):
    """Store rows to a matrix, each to its own position, from one column on.

    | value     | type                      | unit |
    |-----------|---------------------------|------|
    | desc      | !tt.tensordesc<1 x N x T> |      |
    | x_offsets | tensor<M x i32>           | rows |
    | y_offset  | i32                       | elements |
    | src       | tensor<M x N x T>         |      |

    ```mlir
    %d, %y = "test.op"() : () -> (!tt.tensordesc<1x32xf16>, i32)
    %x, %r = "test.op"() : () -> (tensor<64xi32>, tensor<64x32xf16>)
    tt.descriptor_scatter %d[%x, %y], %r
      : !tt.tensordesc<1x32xf16>, tensor<64xi32>, i32, tensor<64x32xf16>
    ```
    """

    name = "tt.descriptor_scatter"

    desc = operand_def()
    x_offsets = operand_def(TensorType)
    y_offset = operand_def(i32)
    src = operand_def(TensorType)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = (
        "$desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict `:` type(operands)"
    )

    def __init__(
        self,
        desc: SSAValue,
        x_offsets: SSAValue,
        y_offset: SSAValue,
        src: SSAValue,
    ) -> None:
        super().__init__(operands=[desc, x_offsets, y_offset, src])

    def verify_(self) -> None:
        """Check rows and columns."""
        verify_rows("src", self.src.type, self.desc, self.x_offsets)


def verify_rows(
    name: str, type: Attribute, desc: SSAValue, x_offsets: SSAValue
) -> None:
    """Check the tensor that rows of a matrix are gathered into.

    Raises:
        VerifyException: its shape or its elements do not fit.
    """
    of = descriptor_type(desc)
    if of.rank != 2 or of.shape[0] != 1:
        raise VerifyException(
            f"expected desc with blocks of one row, got {sizes(of.shape)}"
        )
    expect_rank("x_offsets", x_offsets.type, 1)
    if element_of(x_offsets.type) != i32:
        raise VerifyException(f"expected x_offsets of i32, got {x_offsets.type}")
    expect_element(name, type, of.element, "as desc has")
    rows = shape_of(x_offsets.type)[0]
    why = "a row for each of x_offsets, columns as desc has"
    expect_shape(name, type, (rows, of.shape[1]), why)
