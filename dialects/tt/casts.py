"""Operations of Triton on each element: casts, and arithmetic that `arith` lacks."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, IntegerType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.checks import expect_like
from coopc.dialects.tt.enums import (
    EnumConstraint,
    PropagateNan,
    PropagateNanKeyword,
    Rounding,
    RoundingKeyword,
    member,
)
from coopc.dialects.tt.types import PtrType, bits_of

POINTER_BITS = 64


class CastOp(IRDLOperation, ABC):
    """Each element becomes one of another type."""

    src = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])

    def verify_(self) -> None:
        """Check that shape and encoding stay, and what the cast allows."""
        expect_like("the result", self.result.type, "src", self.src.type)
        self.verify_elements(element_of(self.src.type), element_of(self.result.type))

    def verify_elements(self, src: Attribute, result: Attribute) -> None:
        """Check the types of the elements."""
        raise NotImplementedError(self.name)


@irdl_op_definition
class BitcastOp(CastOp):
    """The same bits as another type; a pointer becomes another pointer.

    | value  | type            |
    |--------|-----------------|
    | src    | T, or tensor of |
    | result | as many bits    |

    ```mlir
    %x = "test.op"() : () -> tensor<16x!tt.ptr<i1>>
    %y = tt.bitcast %x : tensor<16x!tt.ptr<i1>> -> tensor<16x!tt.ptr<i8>>
    ```
    """

    name = "tt.bitcast"

    def verify_elements(self, src: Attribute, result: Attribute) -> None:
        """Check that both have as many bits, or are pointers to one address space."""
        if isinstance(src, PtrType) and isinstance(result, PtrType):
            wanted, found = src.address_space.data, result.address_space.data
            if wanted != found:
                raise VerifyException(
                    f"expected a pointer to address space {wanted}, as src, got {found}"
                )
            return
        pointers = isinstance(src, PtrType) or isinstance(result, PtrType)
        if pointers or bits_of(src) != bits_of(result):
            raise VerifyException(
                f"expected as many bits as {src} has, got {result}: "
                f"{bits_of(src) or 'a pointer'} and {bits_of(result) or 'a pointer'}"
            )


@irdl_op_definition
class IntToPtrOp(CastOp):
    """A pointer from its number.

    | value  | type                   |
    |--------|------------------------|
    | src    | i64, or tensor of it   |
    | result | !tt.ptr, in that shape |

    ```mlir
    %x = "test.op"() : () -> i64
    %y = tt.int_to_ptr %x : i64 -> !tt.ptr<f32>
    ```
    """

    name = "tt.int_to_ptr"

    def verify_elements(self, src: Attribute, result: Attribute) -> None:
        """Check that an i64 becomes a pointer."""
        if src != i64 or not isinstance(result, PtrType):
            raise VerifyException(
                f"expected i64 to become a pointer, got {src} to {result}"
            )


@irdl_op_definition
class PtrToIntOp(CastOp):
    """The number of a pointer.

    | value  | type                 |
    |--------|----------------------|
    | src    | !tt.ptr, or tensor   |
    | result | i64, in that shape   |

    ```mlir
    %x = "test.op"() : () -> !tt.ptr<f32>
    %y = tt.ptr_to_int %x : !tt.ptr<f32> -> i64
    ```
    """

    name = "tt.ptr_to_int"

    def verify_elements(self, src: Attribute, result: Attribute) -> None:
        """Check that a pointer becomes an i64."""
        if not isinstance(src, PtrType) or result != i64:
            raise VerifyException(
                f"expected a pointer to become i64, got {src} to {result}"
            )


@irdl_op_definition
class FpToFpOp(CastOp):
    """A float of another format, with a rounding where it gets narrower.

    | value  | type                |
    |--------|---------------------|
    | src    | float, or tensor of |
    | result | float, in its shape |

    ```mlir
    %x = "test.op"() : () -> tensor<16xf32>
    %y = tt.fp_to_fp %x, rounding = rtne : tensor<16xf32> -> tensor<16xf8E5M2>
    ```
    """

    name = "tt.fp_to_fp"

    rounding = opt_prop_def(EnumConstraint(Rounding))

    custom_directives = (RoundingKeyword,)
    assembly_format = (
        "$src attr-dict custom<RoundingKeyword>($rounding) "
        "`:` type($src) `->` type($result)"
    )

    def __init__(
        self, src: SSAValue, result_type: Attribute, rounding: Rounding | None = None
    ) -> None:
        super(CastOp, self).__init__(
            operands=[src],
            properties={"rounding": None if rounding is None else rounding.attribute},
            result_types=[result_type],
        )

    @property
    def rounding_mode(self) -> Rounding | None:
        """How it is rounded, where that is said."""
        return None if self.rounding is None else member(Rounding, self.rounding)

    def verify_elements(self, src: Attribute, result: Attribute) -> None:
        """Check that both are floats, and rounding where one gets narrower."""
        if not isinstance(src, AnyFloat) or not isinstance(result, AnyFloat):
            raise VerifyException(
                f"expected a float to become a float, got {src} to {result}"
            )
        if src.bitwidth > result.bitwidth and self.rounding is None:
            raise VerifyException(
                f"expected a rounding, as {result} is narrower than {src}, got none"
            )


class MathOp(IRDLOperation, ABC):
    """Arithmetic on each element; operands and result are of one type."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Check that the elements are floats."""
        expect_floats(self.results[0].type)


class BinaryMathOp(MathOp, ABC):
    """Arithmetic on the elements of two operands."""

    x = operand_def(MathOp.T)
    y = operand_def(MathOp.T)
    result = result_def(MathOp.T)

    assembly_format = "$x `,` $y attr-dict `:` type($x)"

    def __init__(self, x: SSAValue, y: SSAValue) -> None:
        super().__init__(operands=[x, y], result_types=[x.type])


def expect_floats(type: Attribute) -> None:
    """Check that a type is a float, or a tensor of floats."""
    if not isinstance(element_of(type), AnyFloat):
        raise VerifyException(f"expected floats, got {type}")


@irdl_op_definition
class ClampFOp(MathOp):
    """`min` where x is below, `max` where it is above, x elsewhere.

    | value                | type                |
    |----------------------|---------------------|
    | x, min, max, result  | float, or tensor of |

    ```mlir
    %x, %a, %b = "test.op"() : () -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %y = tt.clampf %x, %a, %b, propagateNan = none : tensor<8xf32>
    ```
    """

    name = "tt.clampf"

    x = operand_def(MathOp.T)
    min = operand_def(MathOp.T)
    max = operand_def(MathOp.T)
    propagate_nan = prop_def(EnumConstraint(PropagateNan), prop_name="propagateNan")
    result = result_def(MathOp.T)

    custom_directives = (PropagateNanKeyword,)
    assembly_format = (
        "$x `,` $min `,` $max `,` custom<PropagateNanKeyword>($propagateNan) "
        "attr-dict `:` type($result)"
    )

    def __init__(
        self, x: SSAValue, min: SSAValue, max: SSAValue, propagate_nan: PropagateNan
    ) -> None:
        super().__init__(
            operands=[x, min, max],
            properties={"propagateNan": propagate_nan.attribute},
            result_types=[x.type],
        )


@irdl_op_definition
class PreciseSqrtOp(MathOp):
    """The square root, correctly rounded.

    | value     | type                |
    |-----------|---------------------|
    | x, result | float, or tensor of |

    ```mlir
    %x = "test.op"() : () -> tensor<8xf32>
    %y = tt.precise_sqrt %x : tensor<8xf32>
    ```
    """

    name = "tt.precise_sqrt"

    x = operand_def(MathOp.T)
    result = result_def(MathOp.T)

    assembly_format = "$x attr-dict `:` type($x)"

    def __init__(self, x: SSAValue) -> None:
        super().__init__(operands=[x], result_types=[x.type])


@irdl_op_definition
class PreciseDivFOp(BinaryMathOp):
    """The quotient, correctly rounded.

    | value        | type                |
    |--------------|---------------------|
    | x, y, result | float, or tensor of |

    ```mlir
    %x, %y = "test.op"() : () -> (f32, f32)
    %z = tt.precise_divf %x, %y : f32
    ```
    """

    name = "tt.precise_divf"


@irdl_op_definition
class MulhiUIOp(BinaryMathOp):
    """The high half of the product of two unsigned integers.

    | value        | type                  |
    |--------------|-----------------------|
    | x, y, result | integer, or tensor of |

    ```mlir
    %x, %y = "test.op"() : () -> (i32, i32)
    %z = tt.mulhiui %x, %y : i32
    ```
    """

    name = "tt.mulhiui"

    def verify_(self) -> None:
        """Check that the elements are integers."""
        if not isinstance(element_of(self.x.type), IntegerType):
            raise VerifyException(f"expected integers, got {self.x.type}")
