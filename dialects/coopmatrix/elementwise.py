"""Operations of `coopmatrix` on each element: arithmetic, logic and scaling.

Operands and result have one type.  None of them depends on which work-item holds
which element.  Integers are signless; where the sign matters, the operation is `signed`
or not.
"""

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.interfaces import ConditionallySpeculatableInterface
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
from xdsl.traits import Commutative, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.traits import Canonicalized, NamesConstants
from coopc.dialects.coopmatrix.types import MatrixType, matrix_type
from coopc.dialects.narrow import is_integer
from coopc.dialects.traits import Collective


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
        if not is_integer(found := self.matrix.element_type):
            raise VerifyException(
                f"expected elements that are integers, as {self.name} needs, "
                f"got {found}"
            )


class BinaryOp(ElementwiseOp, ABC):
    """An operation on the elements of two matrices."""

    lhs = operand_def(ElementwiseOp.T)
    rhs = operand_def(ElementwiseOp.T)

    traits = traits_def(Collective(), Pure(), NamesConstants(), Canonicalized())

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])


class SignedBinaryOp(ElementwiseOp, ConditionallySpeculatableInterface, ABC):
    """An operation on the elements of two matrices, whose integers have a sign."""

    lhs = operand_def(ElementwiseOp.T)
    rhs = operand_def(ElementwiseOp.T)
    signed = opt_prop_def(UnitAttr)

    traits = traits_def(
        Collective(), NoMemoryEffect(), NamesConstants(), Canonicalized()
    )

    assembly_format = "(`signed` $signed^)? $lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, signed: bool = False) -> None:
        super().__init__(
            operands=[lhs, rhs],
            properties={"signed": UnitAttr() if signed else None},
            result_types=[lhs.type],
        )

    def is_speculatable(self) -> bool:
        """Whether it may be executed where the program would not."""
        return True

    def verify_(self) -> None:
        """Check that only integers are signed."""
        if self.signed is not None:
            self.verify_integers()


class DivisionOp(SignedBinaryOp, ABC):
    """A division or its remainder: of integers, not for every divisor.

    Division by 0 is undefined, and so is that of the least signed integer by -1.
    """

    def is_speculatable(self) -> bool:
        """Whether it may be executed where the program would not: a known divisor."""
        from coopc.dialects.coopmatrix.numbers import fill_constant

        if not is_integer(type := self.matrix.element_type):
            return True
        divisor = fill_constant(self.rhs)
        if divisor is None or divisor.type != type:
            return False
        return divisor.value.data not in ((0, -1) if self.signed else (0,))


class UnaryOp(ElementwiseOp, ABC):
    """An operation on the elements of one matrix."""

    value = operand_def(ElementwiseOp.T)

    traits = traits_def(Collective(), Pure(), NamesConstants(), Canonicalized())

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

    traits = traits_def(Commutative())


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

    traits = traits_def(Commutative())


@irdl_op_definition
class DivOp(DivisionOp):
    """`lhs / rhs`; integers round towards zero.

    Of integers, x / 0 and the least signed one / -1 are undefined.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.div signed %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.div"


@irdl_op_definition
class RemOp(DivisionOp):
    """The remainder of `lhs / rhs`, with the sign of `lhs`.

    Of integers, x rem 0 and the least signed one rem -1 are undefined.

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

    traits = traits_def(Collective(), Pure(), NamesConstants(), Canonicalized())

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
