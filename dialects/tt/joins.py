"""Two tensors in one: side by side, as halves of bytes are unpacked, or one behind."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.checks import expect_element, expect_shape
from coopc.dialects.tt.types import is_tensor, shape_of


def expect_pair(name: str, type: Attribute, half: str, of: Attribute) -> None:
    """Check that a tensor has two elements for each one of another.

    Raises:
        VerifyException: it has not.
    """
    if not is_tensor(of) or not is_tensor(type):
        raise VerifyException(f"expected tensors, got {of} and {type}")
    expect_shape(name, type, (*shape_of(of), 2), f"two for each element of {half}")
    expect_element(name, type, element_of(of), f"as {half}")


@irdl_op_definition
class JoinOp(IRDLOperation):
    """Element (.., 0) is of lhs, element (.., 1) of rhs.

    | value    | type        |
    |----------|-------------|
    | lhs, rhs | tensor      |
    | result   | (.., 2)     |

    ```mlir
    %a, %b = "test.op"() : () -> (tensor<16xi8>, tensor<16xi8>)
    %c = tt.join %a, %b : tensor<16xi8> -> tensor<16x2xi8>
    ```
    """

    name = "tt.join"

    lhs = operand_def(VarConstraint("T", AnyAttr()))
    rhs = operand_def(VarConstraint("T", AnyAttr()))
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[result_type])

    def verify_(self) -> None:
        """Check the shape of the result."""
        expect_pair("the result", self.result.type, "lhs", self.lhs.type)


@irdl_op_definition
class SplitOp(IRDLOperation):
    """Elements (.., 0), and elements (.., 1).

    | value      | type        |
    |------------|-------------|
    | src        | (.., 2)     |
    | low, high  | tensor      |

    ```mlir
    %a = "test.op"() : () -> tensor<16x2xf32>
    %b, %c = tt.split %a : tensor<16x2xf32> -> tensor<16xf32>
    ```
    """

    name = "tt.split"

    src = operand_def()
    low = result_def(VarConstraint("T", AnyAttr()))
    high = result_def(VarConstraint("T", AnyAttr()))

    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($low)"

    def __init__(self, src: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type, result_type])

    def verify_(self) -> None:
        """Check the shape of the results."""
        expect_pair("src", self.src.type, "low", self.low.type)


@irdl_op_definition
class CatOp(IRDLOperation):
    """The elements of lhs and rhs in one tensor; a compiler may reorder them.

    | value    | type            |
    |----------|-----------------|
    | lhs, rhs | tensor, (M, ..) |
    | result   | (2 M, ..)       |

    ```mlir
    %a, %b = "test.op"() : () -> (tensor<16xi8>, tensor<16xi8>)
    %c = tt.cat %a, %b : tensor<16xi8> -> tensor<32xi8>
    ```
    """

    name = "tt.cat"

    lhs = operand_def(VarConstraint("T", base(TensorType)))
    rhs = operand_def(VarConstraint("T", base(TensorType)))
    result = result_def(TensorType)

    traits = traits_def(NoMemoryEffect())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[result_type])

    def verify_(self) -> None:
        """Check shape and elements of the result."""
        half, result = self.lhs.type, self.result.type
        expect_element("the result", result, element_of(half), "as lhs")
        size, *rest = shape_of(half)
        expect_shape("the result", result, (2 * size, *rest), "lhs and rhs")
