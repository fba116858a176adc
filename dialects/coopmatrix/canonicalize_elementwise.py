"""Canonical forms of the elementwise operations of `coopmatrix`.

What is known of numbers is known of matrices of one number.  Nothing is folded that
would lose a NaN, an infinity or the sign of a zero: a float times 0 stays.
"""

from math import copysign

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.traits import Commutative

from coopc.dialects.coopmatrix.bitwise import AndOp, NotOp, OrOp, ShlOp, ShrOp, XorOp
from coopc.dialects.coopmatrix.elementwise import (
    AbsOp,
    AddOp,
    BinaryOp,
    DivOp,
    ElementwiseOp,
    MaxOp,
    MinOp,
    MulOp,
    NegOp,
    RemOp,
    ScaleOp,
    SignedBinaryOp,
    SubOp,
    UnaryOp,
)
from coopc.dialects.coopmatrix.fill import FillOp
from coopc.dialects.coopmatrix.folding import folded
from coopc.dialects.coopmatrix.numbers import Number, constant, fill_constant
from coopc.dialects.narrow import is_integer


def is_integers(matrix: SSAValue, value: int) -> bool:
    """Whether every element of `matrix` is known to be the integer `value`."""
    number = fill_constant(matrix)
    return isinstance(number, IntegerAttr) and number.value.data == value


def fill_with(
    number: Number, like: SSAValue, rewriter: PatternRewriter, op: Operation
) -> None:
    """Replace `op` by a fill of the type of `like` with `number`."""
    new = ConstantOp(number)
    rewriter.replace(op, (new, FillOp(new.result, like.type)))


def known(op: Operation) -> tuple[Number, ...] | None:
    """Return the numbers that the operands of `op` are, where all are known."""
    numbers: list[Number] = []
    for operand in op.operands:
        is_scalar = isinstance(op, ScaleOp) and operand is op.scalar
        number = constant(operand) if is_scalar else fill_constant(operand)
        if number is None:
            return None
        numbers.append(number)
    return tuple(numbers)


class ElementwiseOfConstants(RewritePattern):
    """An operation on constant fills -> a fill with its result, if that is exact."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Compute the result."""
        if not isinstance(op, ElementwiseOp) or (numbers := known(op)) is None:
            return
        if (result := folded(op, numbers)) is not None:
            fill_with(result, op.result, rewriter, op)


class ConstantToTheRight(RewritePattern):
    """`constant + x` -> `x + constant`, where the operands may be exchanged."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Exchange the operands."""
        if not isinstance(op, BinaryOp) or not op.has_trait(Commutative):
            return
        if fill_constant(op.lhs) is not None and fill_constant(op.rhs) is None:
            op.operands = (op.rhs, op.lhs)
            rewriter.notify_op_modified(op)


NEUTRAL: dict[type[BinaryOp | SignedBinaryOp], int] = {
    AddOp: 0,
    SubOp: 0,
    OrOp: 0,
    XorOp: 0,
    ShlOp: 0,
    ShrOp: 0,
    MulOp: 1,
    DivOp: 1,
    AndOp: -1,
}
"""The integer that changes nothing as the right-hand side."""

FLOAT_NEUTRAL: dict[type[BinaryOp | SignedBinaryOp], float] = {
    AddOp: -0.0,
    SubOp: 0.0,
    MulOp: 1.0,
    DivOp: 1.0,
}
"""The float that changes nothing as the right-hand side: -0 + 0 would be 0."""


def is_neutral(kind: type[BinaryOp | SignedBinaryOp], number: Number | None) -> bool:
    """Whether `number` changes nothing as the right-hand side of an operation."""
    if isinstance(number, IntegerAttr):
        return number.value.data == NEUTRAL.get(kind)
    if isinstance(number, FloatAttr) and kind in FLOAT_NEUTRAL:
        value, neutral = number.value.data, FLOAT_NEUTRAL[kind]
        return value == neutral and copysign(1, value) == copysign(1, neutral)
    return False


class NeutralElement(RewritePattern):
    """`x + 0` of integers, `x * 1` and their kin -> `x`."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Drop the operation."""
        if not isinstance(op, BinaryOp | SignedBinaryOp):
            return
        if is_neutral(type(op), fill_constant(op.rhs)):
            rewriter.replace(op, (), (op.lhs,))


ABSORBING: dict[type[BinaryOp], int] = {MulOp: 0, AndOp: 0, OrOp: -1}
"""The integer that, as the right-hand side, is also the result."""


class AbsorbingElement(RewritePattern):
    """`x * 0`, `x & 0` and `x | -1` of integers -> the constant."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Use the right-hand side."""
        if not isinstance(op, BinaryOp) or type(op) not in ABSORBING:
            return
        if is_integers(op.rhs, ABSORBING[type(op)]):
            rewriter.replace(op, (), (op.rhs,))


class RemainderOfOne(RewritePattern):
    """`x rem 1` of integers -> 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RemOp, rewriter: PatternRewriter, /) -> None:
        """Fill with 0."""
        if is_integer(type := op.matrix.element_type) and is_integers(op.rhs, 1):
            fill_with(IntegerAttr(0, type), op.result, rewriter, op)


class SameOperands(RewritePattern):
    """`x & x`, `x | x`, `min x, x` and `max x, x` -> `x`; `x - x` and `x ^ x` -> 0.

    Of floats, `x - x` stays: an infinity less itself is NaN.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Drop the operation."""
        if not isinstance(op, BinaryOp | SignedBinaryOp) or op.lhs is not op.rhs:
            return
        if isinstance(op, AndOp | OrOp | MinOp | MaxOp):
            rewriter.replace(op, (), (op.lhs,))
        elif isinstance(op, SubOp | XorOp) and is_integer(
            type := op.matrix.element_type
        ):
            fill_with(IntegerAttr(0, type), op.result, rewriter, op)


class DoubleSign(RewritePattern):
    """`-(-x)` and `~~x` -> `x`; `abs(-x)` and `abs(abs(x))` -> `abs(x)`."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Drop what has no effect."""
        if not isinstance(op, UnaryOp):
            return
        inner = op.value.owner
        if isinstance(op, NegOp | NotOp) and isinstance(inner, type(op)):
            rewriter.replace(op, (), (inner.value,))
        elif isinstance(op, AbsOp) and isinstance(inner, NegOp | AbsOp):
            rewriter.replace(op, AbsOp(inner.value))


class ScaleByConstant(RewritePattern):
    """A matrix scaled by 1 -> the matrix; one of integers scaled by 0 -> 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ScaleOp, rewriter: PatternRewriter, /) -> None:
        """Drop the scaling."""
        number = constant(op.scalar)
        if is_neutral(MulOp, number):
            rewriter.replace(op, (), (op.value,))
        elif isinstance(number, IntegerAttr) and number.value.data == 0:
            rewriter.replace(op, FillOp(op.scalar, op.result.type))


BINARY = (
    ElementwiseOfConstants(),
    ConstantToTheRight(),
    NeutralElement(),
    AbsorbingElement(),
    SameOperands(),
)
UNARY = (ElementwiseOfConstants(), DoubleSign())
SCALE = (ElementwiseOfConstants(), ScaleByConstant())

PATTERNS: dict[type[Operation], tuple[RewritePattern, ...]] = {
    **dict.fromkeys((AddOp, SubOp, MulOp, DivOp, MinOp, MaxOp), BINARY),
    **dict.fromkeys((AndOp, OrOp, XorOp, ShlOp, ShrOp), BINARY),
    RemOp: (*BINARY, RemainderOfOne()),
    **dict.fromkeys((NegOp, AbsOp, NotOp), UNARY),
    ScaleOp: SCALE,
}
"""The patterns of each operation."""
