"""Canonical forms within `coopmatrix`: what is known without knowing who owns what.

`PATTERNS` lists them by operation; `canonicalize_elementwise` has those of arithmetic.
"""

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from coopc.dialects.coopmatrix import canonicalize_elementwise
from coopc.dialects.coopmatrix.canonicalize_elementwise import fill_with, is_integers
from coopc.dialects.coopmatrix.convert import BitcastOp, ConvertOp
from coopc.dialects.coopmatrix.elements import ExtractOp, InsertOp
from coopc.dialects.coopmatrix.enums import Axis, Operand, Reduction
from coopc.dialects.coopmatrix.fill import FillOp
from coopc.dialects.coopmatrix.multiply import MulAddOp
from coopc.dialects.coopmatrix.numbers import (
    bitcast,
    converted,
    fill_constant,
)
from coopc.dialects.coopmatrix.types import FloatElement, matrix_type
from coopc.dialects.coopmatrix.whole import ApplyOp, ReduceOp, YieldOp
from coopc.dialects.narrow import is_integer
from coopc.rounding import FORMATS, wrap


class FillOfOtherConstant(RewritePattern):
    """Fill with a constant of another type -> fill with one of the element type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: FillOp, rewriter: PatternRewriter, /) -> None:
        """Replace the constant."""
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
        """Drop the multiplication."""
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
        """Drop the conversion."""
        if isinstance(op, ConvertOp | BitcastOp) and op.value.type == op.result.type:
            rewriter.replace(op, (), (op.value,))


class ConvertOfConvert(RewritePattern):
    """Two conversions -> one, where the first loses nothing, or the second.

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

    A fill takes integers as signed, so an unsigned conversion of a value that is not
    known stays, unless it only drops bits.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvertOp, rewriter: PatternRewriter, /) -> None:
        """Fill the result with the value of the first fill."""
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
        """Take the bits of the first value."""
        if isinstance(inner := op.value.owner, BitcastOp):
            rewriter.replace(op, BitcastOp(inner.value, op.result.type))


class BitcastOfConstant(RewritePattern):
    """The bits of a constant fill -> a fill; NaN stays, whose bits may be any."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BitcastOp, rewriter: PatternRewriter, /) -> None:
        """Fill the result."""
        if (number := fill_constant(op.value)) is None:
            return
        number = bitcast(number, matrix_type(op.result).element_type)
        if number is not None:
            fill_with(number, op.result, rewriter, op)


class ReduceOfOne(RewritePattern):
    """A reduction of rows, or columns, of one element -> the matrix."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReduceOp, rewriter: PatternRewriter, /) -> None:
        """Drop the reduction."""
        if op.value.type == op.result.type:
            rewriter.replace(op, (), (op.value,))


class ReduceOfFill(RewritePattern):
    """The maximum or minimum of one value -> a fill; so the sum of integers.

    Sums of floats stay: their order is open, so how often they round is, too.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReduceOp, rewriter: PatternRewriter, /) -> None:
        """Fill the result."""
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
        """Drop the loop."""
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
        """Use the value that was inserted."""
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
    **canonicalize_elementwise.PATTERNS,
    ApplyOp: (ApplyOfNothing(),),
    BitcastOp: (ConvertToSameType(), BitcastOfBitcast(), BitcastOfConstant()),
    ConvertOp: (ConvertToSameType(), ConvertOfConvert(), ConvertOfFill()),
    ExtractOp: (ExtractOfInsert(),),
    FillOp: (FillOfOtherConstant(),),
    MulAddOp: (MulAddOfZero(),),
    ReduceOp: (ReduceOfOne(), ReduceOfFill()),
}
"""The patterns of each operation that has the trait `Canonicalized`."""
