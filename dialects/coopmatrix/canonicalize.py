"""Canonical forms within `coopmatrix`: what is known without knowing who owns what."""

from math import isfinite

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from coopc.dialects.coopmatrix.elements import ExtractOp, InsertOp
from coopc.dialects.coopmatrix.elementwise import (
    AddOp,
    BinaryOp,
    DivOp,
    MulOp,
    NegOp,
    NotOp,
    OrOp,
    ShlOp,
    ShrOp,
    SignedBinaryOp,
    SubOp,
    XorOp,
)
from coopc.dialects.coopmatrix.multiply import FillOp, MulAddOp
from coopc.dialects.coopmatrix.types import matrix_type
from coopc.dialects.coopmatrix.whole import ConvertOp
from coopc.rounding import FORMATS, wrap

Number = FloatAttr | IntegerAttr


def constant(value: SSAValue) -> Number | None:
    """Return the number that `arith.constant` gives `value`; None for another value."""
    if isinstance(op := value.owner, ConstantOp) and isinstance(op.value, Number):
        return op.value
    return None


def fill_constant(value: SSAValue) -> Number | None:
    """Return the number that every element of a matrix is, where that is known."""
    if isinstance(fill := value.owner, FillOp):
        return constant(fill.value)
    return None


def converted(number: Number, type: Attribute) -> Number | None:
    """Return `number` as `coopmatrix.fill` converts it; None where that is undefined.

    Integers count as signed.
    """
    value = number.value.data
    if isinstance(type, AnyFloat) and type.name in FORMATS:
        return FloatAttr(FORMATS[type.name].round(float(value)), type)
    if not isinstance(type, IntegerType):
        return None
    bits = type.width.data
    if isinstance(value, float):
        if not isfinite(value) or not -(1 << bits - 1) <= int(value) < 1 << bits - 1:
            return None
        return IntegerAttr(int(value), type)
    return IntegerAttr(wrap(value, bits, signed=True), type)


class FillOfOtherConstant(RewritePattern):
    """Fill with a constant of another type -> fill with one of the element type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: FillOp, rewriter: PatternRewriter, /) -> None:
        """Replace the constant."""
        element_type = matrix_type(op.result).element_type
        if op.is_pointer or op.value.type == element_type:
            return
        if (number := constant(op.value)) is None:
            return
        if (number := converted(number, element_type)) is None:
            return
        new = ConstantOp(number)
        rewriter.replace(op, (new, FillOp(new.result, op.result.type)))


class MulAddOfZero(RewritePattern):
    """`a * b + c` -> `c`, where a or b holds the integer 0.

    Not for floats: 0 times NaN is NaN, and c + 0 is not c where c is -0.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MulAddOp, rewriter: PatternRewriter, /) -> None:
        """Drop the multiplication."""
        if op.c.type != op.result.type:
            return
        if is_integer(op.a, 0) or is_integer(op.b, 0):
            rewriter.replace(op, (), (op.c,))


class DoubleNegation(RewritePattern):
    """`-(-x)` -> `x`, and `~~x` -> `x`."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Drop both."""
        if not isinstance(op, NegOp | NotOp):
            return
        if isinstance(inner := op.value.owner, type(op)):
            rewriter.replace(op, (), (inner.value,))


NEUTRAL: dict[type[BinaryOp | SignedBinaryOp], int] = {
    AddOp: 0,
    SubOp: 0,
    OrOp: 0,
    XorOp: 0,
    ShlOp: 0,
    ShrOp: 0,
    MulOp: 1,
    DivOp: 1,
}
"""The integer that changes nothing as the right-hand side."""


class IntegerIdentity(RewritePattern):
    """`x + 0`, `x * 1` and their kin -> `x`, for integers."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Drop the operation."""
        if not isinstance(op, BinaryOp | SignedBinaryOp):
            return
        neutral = NEUTRAL.get(type(op))
        if neutral is not None and is_integer(op.rhs, neutral):
            rewriter.replace(op, (), (op.lhs,))


class ConvertToSameType(RewritePattern):
    """A conversion to the type that the value has -> the value."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvertOp, rewriter: PatternRewriter, /) -> None:
        """Drop the conversion."""
        if op.value.type == op.result.type:
            rewriter.replace(op, (), (op.value,))


class ConvertOfConvert(RewritePattern):
    """Two conversions -> one, where the first loses nothing.

    f16 -> f32 -> f16 is nothing, and f16 -> f32 -> bf16 rounds once; but f32 -> f16 ->
    f32 rounds, and stays.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvertOp, rewriter: PatternRewriter, /) -> None:
        """Convert the first value to the last type."""
        if not isinstance(inner := op.value.owner, ConvertOp):
            return
        if (signed := combined_sign(inner, op)) is not None:
            rewriter.replace(op, ConvertOp(inner.value, op.result.type, signed))


class ConvertOfFill(RewritePattern):
    """A conversion of a fill -> a fill of the result's type.

    A fill takes integers as signed, so an unsigned conversion is left alone.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvertOp, rewriter: PatternRewriter, /) -> None:
        """Fill the result with the value of the first fill."""
        if not isinstance(fill := op.value.owner, FillOp) or fill.is_pointer:
            return
        value, result = matrix_type(op.value), matrix_type(op.result)
        if fill.value.type != value.element_type:
            return
        if value.element_type != result.element_type and op.signed is None:
            if isinstance(value.element_type, IntegerType):
                return
            if isinstance(result.element_type, IntegerType):
                return
        rewriter.replace(op, FillOp(fill.value, op.result.type))


class ExtractOfInsert(RewritePattern):
    """The element that was just inserted in a slot -> its value."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ExtractOp, rewriter: PatternRewriter, /) -> None:
        """Use the value that was inserted."""
        if isinstance(insert := op.matrix.owner, InsertOp) and insert.index is op.index:
            rewriter.replace(op, (), (insert.value,))


def is_integer(matrix: SSAValue, value: int) -> bool:
    """Whether every element of `matrix` is known to be the integer `value`."""
    number = fill_constant(matrix)
    return (
        isinstance(number, IntegerAttr)
        and isinstance(matrix_type(matrix).element_type, IntegerType)
        and number.type == matrix_type(matrix).element_type
        and number.value.data == value
    )


def combined_sign(first: ConvertOp, second: ConvertOp) -> bool | None:
    """Return whether the one conversion that does both is signed; None if none does."""
    start = matrix_type(first.value).element_type
    middle = matrix_type(first.result).element_type
    end = matrix_type(second.result).element_type
    if start == middle:
        return second.signed is not None
    if isinstance(start, AnyFloat) and isinstance(middle, AnyFloat):
        return second.signed is not None if is_wider(middle, start) else None
    if not isinstance(start, IntegerType) or not isinstance(middle, IntegerType):
        return None
    if middle.width.data < start.width.data:
        return None
    first_signed, second_signed = first.signed is not None, second.signed is not None
    if isinstance(end, IntegerType) and end.width.data <= middle.width.data:
        return first_signed
    if not first_signed:
        # The extended number is not negative: its sign does not matter any more.
        return False
    return True if second_signed else None


def is_wider(one: AnyFloat, other: AnyFloat) -> bool:
    """Whether float type `one` has every number of `other`."""
    x, y = FORMATS.get(one.name), FORMATS.get(other.name)
    return (
        x is not None
        and y is not None
        and x.fraction_bits >= y.fraction_bits
        and x.max_exponent >= y.max_exponent
    )
