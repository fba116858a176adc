"""Canonical forms of `coopmatrix`: what is known without knowing who owns what."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import copysign, isfinite, isnan
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.traits import Commutative

from coopc.dialects.coopmatrix.arithmetic import (
    AbsOp,
    AddOp,
    AndOp,
    BinaryOp,
    BitcastOp,
    ConvertOp,
    DivOp,
    ElementwiseOp,
    FillOp,
    MaxOp,
    MinOp,
    MulAddOp,
    MulOp,
    NegOp,
    NotOp,
    Number,
    OrOp,
    RemOp,
    ScaleOp,
    ShlOp,
    ShrOp,
    SignedBinaryOp,
    SubOp,
    UnaryOp,
    XorOp,
    bitcast,
    constant,
    converted,
    fill_constant,
)
from coopc.dialects.coopmatrix.elements import (
    ApplyOp,
    ExtractOp,
    InsertOp,
    ReduceOp,
    YieldOp,
)
from coopc.dialects.coopmatrix.types import (
    Axis,
    FloatElement,
    Operand,
    Reduction,
    matrix_type,
)
from coopc.dialects.narrow import is_integer
from coopc.rounding import FORMATS, wrap


def folded(op: Operation, numbers: tuple[Number, ...]) -> Number | None:
    """Return what the elementwise `op` makes of numbers of one element type."""
    element_type: Attribute = numbers[0].type
    if is_integer(element_type):
        bits = element_type.width.data
        signed = "signed" in op.properties or isinstance(op, AbsOp)
        values = tuple(wrap(int(n.value.data), bits, signed) for n in numbers)
        result = integer_result(type(op), values, bits)
        if result is None:
            return None
        return IntegerAttr(wrap(result, bits, signed=True), element_type)
    assert isinstance(element_type, FloatElement), element_type
    values = tuple(float(n.value.data) for n in numbers)
    result = float_result(type(op), values, element_type.name)
    return None if result is None else FloatAttr(result, element_type)


INTEGER_UNARY: Mapping[type[Operation], Callable[[int], int]] = {
    AbsOp: abs,
    NegOp: int.__neg__,
    NotOp: int.__invert__,
}
INTEGER_BINARY: Mapping[type[Operation], Callable[[int, int], int]] = {
    AddOp: int.__add__,
    SubOp: int.__sub__,
    MulOp: int.__mul__,
    ScaleOp: int.__mul__,
    AndOp: int.__and__,
    OrOp: int.__or__,
    XorOp: int.__xor__,
    MinOp: min,
    MaxOp: max,
}


def integer_result(
    kind: type[Operation], values: tuple[int, ...], bits: int
) -> int | None:
    """Return the result before it wraps around; None where it is undefined.

    Args:
        kind: The operation.
        values: Its operands, as it takes them: signed, or not.
        bits: Their width.
    """
    if len(values) == 1:
        return INTEGER_UNARY[kind](values[0])
    x, y = values
    if kind in (DivOp, RemOp):
        return divided(kind, x, y, bits)
    if kind in (ShlOp, ShrOp):
        if not 0 <= y < bits:
            return None
        return x << y if kind is ShlOp else x >> y
    return INTEGER_BINARY[kind](x, y)


def divided(kind: type[Operation], x: int, y: int, bits: int) -> int | None:
    """Return x / y rounded towards 0, or its remainder; None where it is undefined."""
    if y == 0 or (y == -1 and x == -(1 << bits - 1)):
        return None
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return quotient if kind is DivOp else x - quotient * y


FLOAT_BINARY: Mapping[type[Operation], Callable[[Any, Any], Any]] = {
    AddOp: lambda x, y: x + y,
    SubOp: lambda x, y: x - y,
    MulOp: lambda x, y: x * y,
    ScaleOp: lambda x, y: x * y,
}
"""Of floats, which round and keep the sign of 0, and of fractions, which are exact."""


def float_result(
    kind: type[Operation], values: tuple[float, ...], format: str
) -> float | None:
    """Return the result where it is exact in `format`; None elsewhere, as for NaN."""
    if any(isnan(value) for value in values):
        return None
    if kind is NegOp:
        return -values[0]
    if kind is AbsOp:
        return abs(values[0])
    if kind not in FLOAT_BINARY or not all(isfinite(value) for value in values):
        return None
    x, y = values
    result = FLOAT_BINARY[kind](x, y)
    if not isfinite(result) or FORMATS[format].round(result) != result:
        return None
    exact = FLOAT_BINARY[kind](Fraction(x), Fraction(y))
    return result if exact == Fraction(result) else None


# Canonical forms of the elementwise operations of `coopmatrix`.
#
# What is known of numbers is known of matrices of one number.  Nothing is folded that
# would lose a NaN, an infinity or the sign of a zero: a float times 0 stays.


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
        if not isinstance(op, ElementwiseOp) or (numbers := known(op)) is None:
            return
        if (result := folded(op, numbers)) is not None:
            fill_with(result, op.result, rewriter, op)


class ConstantToTheRight(RewritePattern):
    """`constant + x` -> `x + constant`, where the operands may be exchanged."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
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
        if not isinstance(op, BinaryOp | SignedBinaryOp):
            return
        if is_neutral(type(op), fill_constant(op.rhs)):
            rewriter.replace(op, (), (op.lhs,))


ABSORBING: dict[type[BinaryOp], int] = {MulOp: 0, AndOp: 0, OrOp: -1}
"""The integer that, as the right-hand side, is also the result."""


class AbsorbingElement(RewritePattern):
    """`x * 0`, `x & 0` and `x | -1` of integers -> the constant."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, BinaryOp) or type(op) not in ABSORBING:
            return
        if is_integers(op.rhs, ABSORBING[type(op)]):
            rewriter.replace(op, (), (op.rhs,))


class RemainderOfOne(RewritePattern):
    """`x rem 1` of integers -> 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RemOp, rewriter: PatternRewriter, /) -> None:
        if is_integer(type := op.matrix.element_type) and is_integers(op.rhs, 1):
            fill_with(IntegerAttr(0, type), op.result, rewriter, op)


class SameOperands(RewritePattern):
    """`x & x`, `x | x`, `min x, x` and `max x, x` -> `x`; `x - x` and `x ^ x` -> 0.

    Of floats, `x - x` stays: an infinity less itself is NaN.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
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

ELEMENTWISE_PATTERNS: dict[type[Operation], tuple[RewritePattern, ...]] = {
    **dict.fromkeys((AddOp, SubOp, MulOp, DivOp, MinOp, MaxOp), BINARY),
    **dict.fromkeys((AndOp, OrOp, XorOp, ShlOp, ShrOp), BINARY),
    RemOp: (*BINARY, RemainderOfOne()),
    **dict.fromkeys((NegOp, AbsOp, NotOp), UNARY),
    ScaleOp: SCALE,
}
"""The patterns of each operation."""


# Canonical forms within `coopmatrix`: what is known without knowing who owns what.
#
# `PATTERNS` lists them by operation; `canonicalize_elementwise` has those of
# arithmetic.


class FillOfOtherConstant(RewritePattern):
    """Fill with a constant of another type -> fill with one of the element type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: FillOp, rewriter: PatternRewriter, /) -> None:
        if op.value.type == matrix_type(op.result).element_type:
            return
        if (number := fill_constant(op.result)) is not None:
            fill_with(number, op.result, rewriter, op)


class MulAddOfZero(RewritePattern):
    """`a * b + c` -> `c`, where a or b holds the integer 0.

    Not for floats: 0 times NaN is NaN, and c + 0 is not c where c is -0.  Not where c
    would be converted: where it has another type, or saturates by another sign.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MulAddOp, rewriter: PatternRewriter, /) -> None:
        if op.c.type != op.result.type:
            return
        same_sign = op.is_signed(Operand.C) == op.is_signed(Operand.RESULT)
        if op.saturating is not None and not same_sign:
            return
        if is_integers(op.a, 0) or is_integers(op.b, 0):
            rewriter.replace(op, (), (op.c,))


class ConvertToSameType(RewritePattern):
    """A conversion or bitcast to the type that the value has -> the value."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ConvertOp | BitcastOp) and op.value.type == op.result.type:
            rewriter.replace(op, (), (op.value,))


class ConvertOfConvert(RewritePattern):
    """Two conversions -> one, where the first loses nothing, or the second.

    f16 -> f32 -> f16 is nothing, and f16 -> f32 -> bf16 rounds once; but f32 -> f16 ->
    f32 rounds, and stays.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvertOp, rewriter: PatternRewriter, /) -> None:
        if not isinstance(inner := op.value.owner, ConvertOp):
            return
        if (signed := combined_sign(inner, op)) is not None:
            rewriter.replace(op, ConvertOp(inner.value, op.result.type, signed))


class ConvertOfFill(RewritePattern):
    """A conversion of a fill -> a fill of the result's type.

    A fill takes integers as signed, so an unsigned conversion of a value that is not
    known stays, unless it only drops bits.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvertOp, rewriter: PatternRewriter, /) -> None:
        fill = op.value.owner
        if not isinstance(fill, FillOp) or fill.is_pointer:
            return
        value = matrix_type(op.value).element_type
        result = matrix_type(op.result).element_type
        signed = op.signed is not None
        if value == result:
            rewriter.replace(op, FillOp(fill.value, op.result.type))
        elif (number := fill_constant(op.value)) is not None:
            if (number := converted(number, result, signed)) is not None:
                fill_with(number, op.result, rewriter, op)
        elif fill.value.type == value and (signed or drops_bits(value, result)):
            rewriter.replace(op, FillOp(fill.value, op.result.type))


class BitcastOfBitcast(RewritePattern):
    """Two changes of type that keep the bits -> one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BitcastOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(inner := op.value.owner, BitcastOp):
            rewriter.replace(op, BitcastOp(inner.value, op.result.type))


class BitcastOfConstant(RewritePattern):
    """The bits of a constant fill -> a fill; NaN stays, whose bits may be any."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BitcastOp, rewriter: PatternRewriter, /) -> None:
        if (number := fill_constant(op.value)) is None:
            return
        number = bitcast(number, matrix_type(op.result).element_type)
        if number is not None:
            fill_with(number, op.result, rewriter, op)


class ReduceOfOne(RewritePattern):
    """A reduction of rows, or columns, of one element -> the matrix."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReduceOp, rewriter: PatternRewriter, /) -> None:
        if op.value.type == op.result.type:
            rewriter.replace(op, (), (op.value,))


class ReduceOfFill(RewritePattern):
    """The maximum or minimum of one value -> a fill; so the sum of integers.

    Sums of floats stay: their order is open, so how often they round is, too.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReduceOp, rewriter: PatternRewriter, /) -> None:
        fill = op.value.owner
        if not isinstance(fill, FillOp) or fill.is_pointer:
            return
        if op.kind.data != Reduction.ADD:
            rewriter.replace(op, FillOp(fill.value, op.result.type))
            return
        number = fill_constant(op.value)
        count = matrix_type(op.value).sizes[op.axis.data == Axis.ROWS]
        if isinstance(number, IntegerAttr) and isinstance(count, int):
            element_type: Attribute = number.type
            assert is_integer(element_type), element_type
            total = wrap(count * number.value.data, element_type.width.data, True)
            fill_with(IntegerAttr(total, element_type), op.result, rewriter, op)


class ApplyOfNothing(RewritePattern):
    """An `apply` that yields each element as it is -> the matrix."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ApplyOp, rewriter: PatternRewriter, /) -> None:
        body = op.body.block
        only = body.first_op
        if isinstance(only, YieldOp) and only.value is body.args[2]:
            rewriter.replace(op, (), (op.value,))


class ExtractOfInsert(RewritePattern):
    """The element that was just inserted in a slot -> its value.

    The one fold on slots: it is allowed although a slot that holds no element drops
    what is inserted.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ExtractOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(insert := op.matrix.owner, InsertOp) and insert.index is op.index:
            rewriter.replace(op, (), (insert.value,))


def drops_bits(value: Attribute, result: Attribute) -> bool:
    """Whether a conversion between two types does not depend on a sign."""
    if isinstance(value, FloatElement):
        return isinstance(result, FloatElement)
    if not is_integer(value) or not is_integer(result):
        return False
    return result.width.data <= value.width.data


def combined_sign(first: ConvertOp, second: ConvertOp) -> bool | None:
    """Return whether the one conversion that does both is signed; None if none does."""
    start = matrix_type(first.value).element_type
    middle = matrix_type(first.result).element_type
    end = matrix_type(second.result).element_type
    first_signed, second_signed = first.signed is not None, second.signed is not None
    if start == middle:
        return second_signed
    if middle == end:
        return first_signed
    if not is_integer(start):
        return second_signed if is_wider(middle, start) else None
    if not is_integer(middle):
        return first_signed if holds(middle, start.width.data, first_signed) else None
    if middle.width.data < start.width.data:
        # Bits are lost: only the low ones may be asked for.
        narrow = is_integer(end) and end.width.data <= middle.width.data
        return False if narrow else None
    if is_integer(end) and end.width.data <= middle.width.data:
        return first_signed
    if not first_signed:
        # The extended number is not negative: its sign does not matter any more.
        return False
    return True if second_signed else None


def is_wider(one: Attribute, other: Attribute) -> bool:
    """Whether float type `one` has every number of float type `other`."""
    if not isinstance(one, FloatElement) or not isinstance(other, FloatElement):
        return False
    x, y = FORMATS[one.name], FORMATS[other.name]
    return (
        x.fraction_bits >= y.fraction_bits
        and x.max_exponent >= y.max_exponent
        and x.min_exponent <= y.min_exponent
    )


def holds(type: Attribute, bits: int, signed: bool) -> bool:
    """Whether a float type has every integer of `bits` bits."""
    if not isinstance(type, FloatElement):
        return False
    format = FORMATS[type.name]
    # The least signed integer is a power of two.
    return bits - signed <= format.fraction_bits + 1 and bits <= format.max_exponent


PATTERNS: dict[type[Operation], tuple[RewritePattern, ...]] = {
    **ELEMENTWISE_PATTERNS,
    ApplyOp: (ApplyOfNothing(),),
    BitcastOp: (ConvertToSameType(), BitcastOfBitcast(), BitcastOfConstant()),
    ConvertOp: (ConvertToSameType(), ConvertOfConvert(), ConvertOfFill()),
    ExtractOp: (ExtractOfInsert(),),
    FillOp: (FillOfOtherConstant(),),
    MulAddOp: (MulAddOfZero(),),
    ReduceOp: (ReduceOfOne(), ReduceOfFill()),
}
"""The patterns of each operation that has the trait `Canonicalized`."""
