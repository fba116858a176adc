"""Operations of `coopmatrix` that give each element, or a matrix, another type."""

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.traits import Canonicalized, NamesConstants
from coopc.dialects.coopmatrix.types import MatrixType, matrix_type, scope_text
from coopc.dialects.narrow import is_integer
from coopc.dialects.traits import Collective


@irdl_op_definition
class ConvertOp(IRDLOperation):
    """Convert the elements of a matrix, its use, or both.

    | value  | shape                                                           |
    |--------|-----------------------------------------------------------------|
    | value  | M x N                                                           |
    | result | M x N, of the same scope                                        |

    Floats round to nearest even.  `signed` says whether integers are signed, in the
    value where it has integers, else in the result.  Floats become integers by rounding
    towards zero; what does not fit is undefined.  Integers wrap around.

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    %a = coopmatrix.convert %x :
         !coopmatrix.matrix<8x16xf32, acc> -> !coopmatrix.matrix<8x16xf16, a>
    %i = coopmatrix.convert signed %x :
         !coopmatrix.matrix<8x16xf32, acc> -> !coopmatrix.matrix<8x16xi8, acc>
    ```
    """

    name = "coopmatrix.convert"

    value = operand_def(MatrixType)
    result = result_def(MatrixType)
    signed = opt_prop_def(UnitAttr)

    traits = traits_def(Collective(), Pure(), NamesConstants(), Canonicalized())

    assembly_format = (
        "(`signed` $signed^)? $value attr-dict `:` type($value) `->` type($result)"
    )

    def __init__(
        self, value: SSAValue, result: Attribute, signed: bool = False
    ) -> None:
        super().__init__(
            operands=[value],
            properties={"signed": UnitAttr() if signed else None},
            result_types=[result],
        )

    def verify_(self) -> None:
        """Check sizes, scope and sign."""
        verify_same_shape(self.result, self.value)
        if self.signed is not None and not any(
            is_integer(matrix_type(value).element_type)
            for value in (self.value, self.result)
        ):
            raise VerifyException(
                "expected integers in the value or the result, which can be signed, "
                f"got {matrix_type(self.value).element_type} and "
                f"{matrix_type(self.result).element_type}"
            )


@irdl_op_definition
class BitcastOp(IRDLOperation):
    """Take the bits of each element as another type of the same width.

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    %y = coopmatrix.bitcast %x :
         !coopmatrix.matrix<8x16xf32, acc> -> !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.bitcast"

    value = operand_def(MatrixType)
    result = result_def(MatrixType)

    traits = traits_def(Collective(), Pure(), NamesConstants(), Canonicalized())

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[value], result_types=[result])

    def verify_(self) -> None:
        """Check sizes, scope, use and the width of the elements."""
        verify_same_shape(self.result, self.value)
        value, result = matrix_type(self.value), matrix_type(self.result)
        if value.use != result.use:
            raise VerifyException(
                f"expected a result of use {value.use.data}, as the value has, "
                f"got {result.use.data}"
            )
        if value.element_bits != result.element_bits:
            raise VerifyException(
                f"expected elements of {value.element_bits} bits, as the value has, "
                f"got {result.element_type}"
            )


def verify_same_shape(result: SSAValue, value: SSAValue) -> None:
    """Check that two matrices have the same sizes and scope."""
    expected, found = matrix_type(value), matrix_type(result)
    if found.sizes != expected.sizes:
        raise VerifyException(
            f"expected a result of {_shape(expected)}, as the value has, "
            f"got {_shape(found)}"
        )
    if found.scope != expected.scope:
        raise VerifyException(
            f"expected a result of scope {scope_text(expected.scope)}, as the value "
            f"has, got {scope_text(found.scope)}"
        )


def _shape(matrix: MatrixType) -> str:
    """Return the sizes of a matrix as text."""
    rows, cols = matrix.sizes
    return f"{rows} x {cols}"
