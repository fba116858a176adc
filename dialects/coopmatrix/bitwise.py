"""Operations of `coopmatrix` on the bits of each element, which is an integer."""

from abc import ABC

from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Commutative

from coopc.dialects.coopmatrix.elementwise import BinaryOp, SignedBinaryOp, UnaryOp


class BitwiseOp(BinaryOp, ABC):
    """An operation on the bits of the elements of two matrices."""

    def verify_(self) -> None:
        """Check that the elements are integers."""
        self.verify_integers()


@irdl_op_definition
class AndOp(BitwiseOp):
    """Bitwise and of integers.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.and %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.and"

    traits = traits_def(Commutative())


@irdl_op_definition
class OrOp(BitwiseOp):
    """Bitwise or of integers.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.or %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.or"

    traits = traits_def(Commutative())


@irdl_op_definition
class XorOp(BitwiseOp):
    """Bitwise exclusive or of integers.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.xor %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.xor"

    traits = traits_def(Commutative())


@irdl_op_definition
class ShlOp(BitwiseOp):
    """`lhs` shifted left by `rhs` bits, fewer than an element has.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.shl %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.shl"


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
