"""Operations of `coopmatrix` on each element: arithmetic, logic and scaling.

Operands and result have one type.  None of them depends on which work-item holds
which element.  Integers are signless; where the sign matters, the operation is `signed`
or not.
"""

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.types import MatrixType, matrix_type


class ElementwisePatterns(HasCanonicalizationPatternsTrait):
    """What holds of each element holds of matrices of one value."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """Return the patterns."""
        from coopc.dialects.coopmatrix import canonicalize

        return (canonicalize.DoubleNegation(), canonicalize.IntegerIdentity())


class ElementwiseOp(IRDLOperation, ABC):
    """An operation on each element; operands and result have one type."""

    T: ClassVar = VarConstraint("T", base(MatrixType))

    result = result_def(T)

    @property
    def matrix(self) -> MatrixType:
        """The type of the result."""
        return matrix_type(self.result)

    def verify_integers(self) -> None:
        """Check that the elements are integers."""
        if not isinstance(found := self.matrix.element_type, IntegerType):
            raise VerifyException(
                f"expected elements that are integers, as {self.name} needs, "
                f"got {found}"
            )


class BinaryOp(ElementwiseOp, ABC):
    """An operation on the elements of two matrices."""

    lhs = operand_def(ElementwiseOp.T)
    rhs = operand_def(ElementwiseOp.T)

    traits = traits_def(Pure(), ElementwisePatterns())

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])


class SignedBinaryOp(ElementwiseOp, ABC):
    """An operation on the elements of two matrices, whose integers have a sign."""

    lhs = operand_def(ElementwiseOp.T)
    rhs = operand_def(ElementwiseOp.T)
    signed = opt_prop_def(UnitAttr)

    traits = traits_def(Pure(), ElementwisePatterns())

    assembly_format = "(`signed` $signed^)? $lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, signed: bool = False) -> None:
        super().__init__(
            operands=[lhs, rhs],
            properties={"signed": UnitAttr() if signed else None},
            result_types=[lhs.type],
        )

    def verify_(self) -> None:
        """Check that only integers are signed."""
        if self.signed is not None:
            self.verify_integers()


class UnaryOp(ElementwiseOp, ABC):
    """An operation on the elements of one matrix."""

    value = operand_def(ElementwiseOp.T)

    traits = traits_def(Pure(), ElementwisePatterns())

    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value], result_types=[value.type])


@irdl_op_definition
class AddOp(BinaryOp):
    """`lhs + rhs`; integers wrap around.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xf32, acc>, !coopmatrix.matrix<8x16xf32, acc>)
    %z = coopmatrix.add %x, %y : !coopmatrix.matrix<8x16xf32, acc>
    ```
    """

    name = "coopmatrix.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """`lhs - rhs`; integers wrap around.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xf32, acc>, !coopmatrix.matrix<8x16xf32, acc>)
    %z = coopmatrix.sub %x, %y : !coopmatrix.matrix<8x16xf32, acc>
    ```
    """

    name = "coopmatrix.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """`lhs * rhs`, element by element; integers keep the low bits.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xf32, acc>, !coopmatrix.matrix<8x16xf32, acc>)
    %z = coopmatrix.mul %x, %y : !coopmatrix.matrix<8x16xf32, acc>
    ```
    """

    name = "coopmatrix.mul"


@irdl_op_definition
class DivOp(SignedBinaryOp):
    """`lhs / rhs`; integers round towards zero, and x / 0 is undefined.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.div signed %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.div"


@irdl_op_definition
class RemOp(SignedBinaryOp):
    """The remainder of `lhs / rhs`, with the sign of `lhs`; x rem 0 is undefined.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.rem signed %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.rem"


@irdl_op_definition
class MinOp(SignedBinaryOp):
    """The smaller element; of a number and a NaN, the number.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.min signed %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.min"


@irdl_op_definition
class MaxOp(SignedBinaryOp):
    """The greater element; of a number and a NaN, the number.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.max signed %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.max"


@irdl_op_definition
class AndOp(BinaryOp):
    """Bitwise and of integers.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.and %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.and"

    def verify_(self) -> None:
        """Check that the elements are integers."""
        self.verify_integers()


@irdl_op_definition
class OrOp(BinaryOp):
    """Bitwise or of integers.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.or %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.or"

    def verify_(self) -> None:
        """Check that the elements are integers."""
        self.verify_integers()


@irdl_op_definition
class XorOp(BinaryOp):
    """Bitwise exclusive or of integers.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.xor %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.xor"

    def verify_(self) -> None:
        """Check that the elements are integers."""
        self.verify_integers()


@irdl_op_definition
class ShlOp(BinaryOp):
    """`lhs` shifted left by `rhs` bits, fewer than an element has.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.shl %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.shl"

    def verify_(self) -> None:
        """Check that the elements are integers."""
        self.verify_integers()


@irdl_op_definition
class ShrOp(SignedBinaryOp):
    """`lhs` shifted right by `rhs` bits; `signed` copies the sign bit.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.shr signed %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.shr"

    def verify_(self) -> None:
        """Check that the elements are integers."""
        self.verify_integers()


@irdl_op_definition
class NegOp(UnaryOp):
    """`-value`; integers wrap around, and floats change sign, also 0 and NaN.

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    %y = coopmatrix.neg %x : !coopmatrix.matrix<8x16xf32, acc>
    ```
    """

    name = "coopmatrix.neg"


@irdl_op_definition
class AbsOp(UnaryOp):
    """The magnitude; integers count as signed, and the least one stays as it is.

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    %y = coopmatrix.abs %x : !coopmatrix.matrix<8x16xf32, acc>
    ```
    """

    name = "coopmatrix.abs"


@irdl_op_definition
class NotOp(UnaryOp):
    """Bitwise complement of integers.

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xi32, acc>
    %y = coopmatrix.not %x : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.not"

    def verify_(self) -> None:
        """Check that the elements are integers."""
        self.verify_integers()


@irdl_op_definition
class ScaleOp(ElementwiseOp):
    """Multiply each element by one scalar of the element type.

    ```mlir
    %x, %s = "test.op"() : () -> (!coopmatrix.matrix<8x16xf32, acc>, f32)
    %y = coopmatrix.scale %x, %s : !coopmatrix.matrix<8x16xf32, acc>, f32
    ```
    """

    name = "coopmatrix.scale"

    value = operand_def(ElementwiseOp.T)
    scalar = operand_def()

    traits = traits_def(Pure())

    assembly_format = "$value `,` $scalar attr-dict `:` type($result) `,` type($scalar)"

    def __init__(self, value: SSAValue, scalar: SSAValue) -> None:
        super().__init__(operands=[value, scalar], result_types=[value.type])

    def verify_(self) -> None:
        """Check that the scalar is of the element type."""
        expected: Attribute = self.matrix.element_type
        if self.scalar.type != expected:
            raise VerifyException(
                f"expected a scalar of {expected}, the element type of the matrix, "
                f"got {self.scalar.type}"
            )
