"""Operations of `coopmatrix` that compute: arithmetic, conversions, products.

What is known of numbers is known of matrices of one number, and is a canonical form.
Nothing is folded that would lose a NaN, an infinity or the sign of a zero: a float
times 0 stays.
"""

from abc import ABC
from collections.abc import Callable
from operator import add, mul, neg, sub
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr
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
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.constraints import Inferred
from coopc.dialects.coopmatrix.elements import verify_element
from coopc.dialects.coopmatrix.fill import (
    Algebra,
    FillOp,
    Number,
    bitcast,
    constant,
    converted,
    fill_constant,
    fill_with,
    is_integers,
)
from coopc.dialects.coopmatrix.types import (
    CanonicalForm,
    CanonicalOp,
    FloatElement,
    MatrixType,
    NamesConstants,
    Operand,
    SignedAttr,
    Use,
    matrix_type,
    may_be_equal,
    scope_text,
)
from coopc.dialects.narrow import is_integer
from coopc.dialects.traits import Collective
from coopc.rounding import FORMATS, wrap

# Operations on each element: arithmetic, logic and scaling.
#
# Operands and result have one type.  None of them depends on which work-item holds
# which element.  Integers are signless; where the sign matters, the operation is
# `signed` or not.


ElementwiseT = TypeVar("ElementwiseT", bound="ElementwiseOp")


def elementwise_op_definition(
    algebra: Algebra,
) -> Callable[[type[ElementwiseT]], type[ElementwiseT]]:
    """Define an operation on each element, as `irdl_op_definition` does."""

    def define(cls: type[ElementwiseT]) -> type[ElementwiseT]:
        found = irdl_op_definition(cls)
        found.ALGEBRA = algebra
        return found

    return define


def _quotient(x: int, y: int) -> int:
    """Return x / y rounded towards 0."""
    found = abs(x) // abs(y)
    return found if (x < 0) == (y < 0) else -found


def _remainder(x: int, y: int) -> int:
    return x - _quotient(x, y) * y


def _divides(x: int, y: int, bits: int) -> bool:
    return y != 0 and (x, y) != (-(1 << bits - 1), -1)


def _shifts(x: int, y: int, bits: int) -> bool:
    return 0 <= y < bits


class ElementwiseOp(CanonicalOp, ConditionallySpeculatableInterface, ABC):
    """An operation on each element; operands and result have one type.

    Operations of one form have the example of the class of that form.
    """

    ALGEBRA: ClassVar[Algebra]
    OF_INTEGERS: ClassVar = False
    """Whether elements are integers."""
    T: ClassVar = VarConstraint("T", base(MatrixType))

    result = result_def(T)

    traits = traits_def(Collective(), NoMemoryEffect(), NamesConstants())

    @property
    def matrix(self) -> MatrixType:
        return self.result.type

    def is_speculatable(self) -> bool:
        return True

    def canonical_form(self) -> CanonicalForm:
        """Return what constants become, if that is exact."""
        numbers = [_number(operand) for operand in self.operands]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers):
            return None
        row, element_type = self.ALGEBRA, self.matrix.element_type
        if isinstance(element_type, FloatElement):
            floats = [float(number.value.data) for number in known]
            result = row.float_result(floats, element_type.name)
            found = None if result is None else FloatAttr(result, element_type)
        else:
            signed = "signed" in self.properties or isinstance(self, AbsOp)
            bits = self.matrix.element_bits
            integers = [wrap(int(number.value.data), bits, signed) for number in known]
            whole = row.integer_result(integers, bits)
            found = None if whole is None else self.integer(whole)
        return None if found is None else fill_with(found, self.result.type)

    def integer(self, value: int) -> IntegerAttr:
        """Return an element of the result that an integer wraps around to."""
        type: Attribute = self.matrix.element_type
        assert is_integer(type), type
        return IntegerAttr(wrap(value, type.width.data, signed=True), type)

    def verify_(self) -> None:
        if self.OF_INTEGERS:
            self.verify_integers()

    def verify_integers(self) -> None:
        if not is_integer(found := self.matrix.element_type):
            raise VerifyException(
                f"expected elements that are integers, as {self.name} needs, "
                f"got {found}"
            )


def _number(operand: SSAValue) -> Number | None:
    """Return the number that a scalar, or each element of a matrix, is known to be."""
    is_matrix = isinstance(operand.type, MatrixType)
    return fill_constant(operand) if is_matrix else constant(operand)


class BinaryOp(ElementwiseOp, ABC):
    """An operation on the elements of two matrices.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xf32, acc>, !coopmatrix.matrix<8x16xf32, acc>)
    %z = coopmatrix.add %x, %y : !coopmatrix.matrix<8x16xf32, acc>
    ```
    """

    lhs = operand_def(ElementwiseOp.T)
    rhs = operand_def(ElementwiseOp.T)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])

    def canonical_form(self) -> CanonicalForm:
        """Return what two constants, or a neutral or absorbing one, become.

        A constant goes to the right where the operands may be exchanged.
        """
        if (folded := super().canonical_form()) is not None:
            return folded
        row, right = self.ALGEBRA, fill_constant(self.rhs)
        if right is None and fill_constant(self.lhs) is not None:
            return (
                type(self)(self.rhs, self.lhs) if self.has_trait(Commutative) else None
            )
        if row.is_neutral(right):
            return self.lhs
        if row.absorbing is not None and is_integers(self.rhs, row.absorbing):
            return self.rhs
        if self.lhs is self.rhs:
            return self.of_one_matrix()
        return None

    def of_one_matrix(self) -> CanonicalForm:
        """Return what the operation makes of one matrix, given twice.

        Of floats, `x - x` stays: an infinity less itself is NaN.
        """
        if isinstance(self, AndOp | OrOp | MinOp | MaxOp):
            return self.lhs
        if isinstance(self, SubOp | XorOp) and is_integer(self.matrix.element_type):
            return fill_with(self.integer(0), self.result.type)
        return None


class SignedBinaryOp(BinaryOp, ABC):
    """An operation on the elements of two matrices, whose integers have a sign.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.max signed %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    signed = opt_prop_def(UnitAttr)

    assembly_format = "(`signed` $signed^)? $lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, signed: bool = False) -> None:
        super().__init__(lhs, rhs)
        self.signed = UnitAttr() if signed else None

    def verify_(self) -> None:
        super().verify_()
        if self.signed is not None:
            self.verify_integers()


class DivisionOp(SignedBinaryOp, ABC):
    """A division or its remainder: of integers, not for every divisor.

    Division by 0 is undefined, and so is that of the least signed integer by -1.
    """

    def is_speculatable(self) -> bool:
        if not is_integer(type := self.matrix.element_type):
            return True
        divisor = fill_constant(self.rhs)
        if divisor is None or divisor.type != type:
            return False
        return divisor.value.data not in ((0, -1) if self.signed else (0,))


class UnaryOp(ElementwiseOp, ABC):
    """An operation on the elements of one matrix.

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xi32, acc>
    %z = coopmatrix.neg %x : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    value = operand_def(ElementwiseOp.T)

    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value], result_types=[value.type])

    def canonical_form(self) -> CanonicalForm:
        """Return what a constant becomes, or what a second change of sign undoes.

        `-(-x)` and `~~x` are x; `abs(-x)` and `abs(abs(x))` are `abs(x)`.
        """
        inner = self.value.owner
        if isinstance(self, NegOp | NotOp) and isinstance(inner, type(self)):
            return inner.value
        if isinstance(self, AbsOp) and isinstance(inner, NegOp | AbsOp):
            return AbsOp(inner.value)
        return super().canonical_form()


@elementwise_op_definition(Algebra(int.__add__, add, 0, -0.0))
class AddOp(BinaryOp):
    """`lhs + rhs`; integers wrap around."""

    name = "coopmatrix.add"

    traits = traits_def(Commutative())


@elementwise_op_definition(Algebra(int.__sub__, sub, 0, 0.0))
class SubOp(BinaryOp):
    """`lhs - rhs`; integers wrap around."""

    name = "coopmatrix.sub"


@elementwise_op_definition(Algebra(int.__mul__, mul, 1, 1.0, absorbing=0))
class MulOp(BinaryOp):
    """`lhs * rhs`, element by element; integers keep the low bits."""

    name = "coopmatrix.mul"

    traits = traits_def(Commutative())


@elementwise_op_definition(Algebra(_quotient, None, 1, 1.0, defined=_divides))
class DivOp(DivisionOp):
    """`lhs / rhs`; integers round towards zero.

    Of integers, x / 0 and the least signed one / -1 are undefined.
    """

    name = "coopmatrix.div"


@elementwise_op_definition(Algebra(_remainder, defined=_divides))
class RemOp(DivisionOp):
    """The remainder of `lhs / rhs`, with the sign of `lhs`.

    Of integers, x rem 0 and the least signed one rem -1 are undefined.
    """

    name = "coopmatrix.rem"

    def canonical_form(self) -> CanonicalForm:
        """Return what constants become; of integers, x rem 1 is 0."""
        if is_integers(self.rhs, 1):
            return fill_with(self.integer(0), self.result.type)
        return super().canonical_form()


@elementwise_op_definition(Algebra(min))
class MinOp(SignedBinaryOp):
    """The smaller element; of a number and a NaN, the number."""

    name = "coopmatrix.min"


@elementwise_op_definition(Algebra(max))
class MaxOp(SignedBinaryOp):
    """The greater element; of a number and a NaN, the number."""

    name = "coopmatrix.max"


@elementwise_op_definition(Algebra(int.__neg__, neg))
class NegOp(UnaryOp):
    """`-value`; integers wrap around, and floats change sign, also 0 and NaN."""

    name = "coopmatrix.neg"


@elementwise_op_definition(Algebra(int.__abs__, abs))
class AbsOp(UnaryOp):
    """The absolute value; integers are signed, and the least one stays as it is."""

    name = "coopmatrix.abs"


@elementwise_op_definition(Algebra(int.__mul__, mul, 1, 1.0, absorbing=0))
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

    assembly_format = "$value `,` $scalar attr-dict `:` type($result) `,` type($scalar)"

    def __init__(self, value: SSAValue, scalar: SSAValue) -> None:
        super().__init__(operands=[value, scalar], result_types=[value.type])

    def canonical_form(self) -> CanonicalForm:
        """Return the matrix scaled by 1; integers scaled by 0 are 0."""
        row, number = self.ALGEBRA, constant(self.scalar)
        if row.is_neutral(number):
            return self.value
        if isinstance(number, IntegerAttr) and number.value.data == row.absorbing:
            return FillOp(self.scalar, self.result.type)
        return super().canonical_form()

    def verify_(self) -> None:
        verify_element(self.scalar, self.matrix)


# Operations of `coopmatrix` on the bits of each element, which is an integer.


class BitwiseOp(BinaryOp, ABC):
    """An operation on the bits of the elements of two matrices.

    ```mlir
    %x, %y = "test.op"() : () ->
      (!coopmatrix.matrix<8x16xi32, acc>, !coopmatrix.matrix<8x16xi32, acc>)
    %z = coopmatrix.and %x, %y : !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    OF_INTEGERS: ClassVar = True


@elementwise_op_definition(Algebra(int.__and__, neutral=-1, absorbing=0))
class AndOp(BitwiseOp):
    """Bitwise and of integers."""

    name = "coopmatrix.and"

    traits = traits_def(Commutative())


@elementwise_op_definition(Algebra(int.__or__, neutral=0, absorbing=-1))
class OrOp(BitwiseOp):
    """Bitwise or of integers."""

    name = "coopmatrix.or"

    traits = traits_def(Commutative())


@elementwise_op_definition(Algebra(int.__xor__, neutral=0))
class XorOp(BitwiseOp):
    """Bitwise exclusive or of integers."""

    name = "coopmatrix.xor"

    traits = traits_def(Commutative())


@elementwise_op_definition(Algebra(int.__lshift__, neutral=0, defined=_shifts))
class ShlOp(BitwiseOp):
    """`lhs` shifted left by `rhs` bits, fewer than an element has."""

    name = "coopmatrix.shl"


@elementwise_op_definition(Algebra(int.__rshift__, neutral=0, defined=_shifts))
class ShrOp(SignedBinaryOp):
    """`lhs` shifted right by `rhs` bits; `signed` copies the sign bit."""

    name = "coopmatrix.shr"

    OF_INTEGERS: ClassVar = True


@elementwise_op_definition(Algebra(int.__invert__))
class NotOp(UnaryOp):
    """Bitwise complement of integers."""

    name = "coopmatrix.not"

    OF_INTEGERS: ClassVar = True


# Operations of `coopmatrix` that give each element, or a matrix, another type.


@irdl_op_definition
class ConvertOp(CanonicalOp):
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

    traits = traits_def(Collective(), Pure(), NamesConstants())

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

    def canonical_form(self) -> CanonicalForm:
        """Return the value, one conversion for two, or a fill of the result's type.

        f16 -> f32 -> f16 is nothing, and f16 -> f32 -> bf16 rounds once; but f32 ->
        f16 -> f32 rounds, and stays.
        """
        if self.value.type == self.result.type:
            return self.value
        match self.value.owner:
            case ConvertOp() as inner:
                signed = combined_sign(inner, self)
                if signed is not None:
                    return ConvertOp(inner.value, self.result.type, signed)
            case FillOp(is_pointer=False) as fill:
                return self._of_fill(fill)
            case _:
                pass
        return None

    def _of_fill(self, fill: FillOp) -> CanonicalForm:
        """Return a fill of the result's type.

        A fill takes integers as signed, so an unsigned conversion of a value that is
        not known stays, unless it only drops bits.
        """
        value = matrix_type(self.value).element_type
        result = self.result.type.element_type
        signed = self.signed is not None
        if value == result:
            return FillOp(fill.value, self.result.type)
        if (number := fill_constant(self.value)) is not None:
            number = converted(number, result, signed)
            return None if number is None else fill_with(number, self.result.type)
        if fill.value.type == value and (signed or drops_bits(value, result)):
            return FillOp(fill.value, self.result.type)
        return None

    def verify_(self) -> None:
        verify_same_shape(self.result, self.value)
        if self.signed is not None and not any(
            is_integer(matrix_type(value).element_type)
            for value in (self.value, self.result)
        ):
            raise VerifyException(
                "expected integers in the value or the result, which can be signed, "
                f"got {matrix_type(self.value).element_type} and "
                f"{self.result.type.element_type}"
            )


@irdl_op_definition
class BitcastOp(CanonicalOp):
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

    traits = traits_def(Collective(), Pure(), NamesConstants())

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[value], result_types=[result])

    def canonical_form(self) -> CanonicalForm:
        """Return the value, one change of type for two, or the bits of a constant.

        NaN stays, whose bits may be any.
        """
        type = self.result.type
        if self.value.type == type:
            return self.value
        if isinstance(inner := self.value.owner, BitcastOp):
            return BitcastOp(inner.value, type)
        number = fill_constant(self.value)
        if number is not None:
            number = bitcast(number, self.result.type.element_type)
        return None if number is None else fill_with(number, type)

    def verify_(self) -> None:
        verify_same_shape(self.result, self.value)
        value, result = matrix_type(self.value), self.result.type
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


def drops_bits(value: Attribute, result: Attribute) -> bool:
    """Whether a conversion between two types does not depend on a sign."""
    if isinstance(value, FloatElement):
        return isinstance(result, FloatElement)
    return is_integer(value) and is_integer(result) and holds(value, result, False)


def combined_sign(first: ConvertOp, second: ConvertOp) -> bool | None:
    """Return whether the one conversion that does both is signed; None if none does."""
    start = matrix_type(first.value).element_type
    middle = first.result.type.element_type
    end = second.result.type.element_type
    first_signed, second_signed = first.signed is not None, second.signed is not None
    if start == middle:
        return second_signed
    if middle == end:
        return first_signed
    is_kept = holds(middle, start, first_signed)
    narrows = is_integer(middle) and drops_bits(middle, end)
    if is_integer(start) and narrows:  # to the low bits, if none are added
        return first_signed and is_kept
    if not is_kept:
        return None
    if not is_integer(start):
        return second_signed
    if not is_integer(middle) or not first_signed:
        return first_signed  # an extended number is not negative without sign
    return True if second_signed else None


def holds(type: Attribute, other: Attribute, signed: bool) -> bool:
    """Whether a type has every number of another, which is signed or not."""
    if is_integer(type):
        return is_integer(other) and other.width.data <= type.width.data
    assert isinstance(type, FloatElement), type
    x = FORMATS[type.name]
    if is_integer(other):
        # The least signed integer is a power of two.
        bits = other.width.data
        return bits - signed <= x.fraction_bits + 1 and bits <= x.max_exponent
    assert isinstance(other, FloatElement), other
    y = FORMATS[other.name]
    return (
        x.fraction_bits >= y.fraction_bits
        and x.max_exponent >= y.max_exponent
        and x.min_exponent <= y.min_exponent
    )


def verify_same_shape(result: SSAValue, value: SSAValue) -> None:
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
    rows, cols = matrix.sizes
    return f"{rows} x {cols}"


# The operation of `coopmatrix` that multiplies matrices.


@irdl_custom_directive
class ProductTypes(CustomDirective):
    """` A, B, C -> R`, without the result where it is of the type of c."""

    a: TypeDirective
    b: TypeDirective
    c: TypeDirective
    result: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        position = parser.pos
        types = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_type
        )
        if len(types) != 3:
            parser.raise_error(
                f"expected the types of a, b and c, got {len(types)}", position
            )
        for name, type in zip("abc", types, strict=True):
            if not isinstance(type, MatrixType):
                parser.raise_error(
                    f"expected {name} to be a !coopmatrix.matrix, got {type}", position
                )
        for operand, type in zip((self.a, self.b, self.c), types, strict=True):
            operand.set(state, (type,))
        if parser.parse_optional_punctuation("->") is not None:
            self.result.parse(parser, state)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        printer.print_string(" ")
        printer.print_list(op.operand_types, printer.print_attribute)
        if self.result.get(op) != self.c.get(op):
            printer.print_string(" ->")
            self.result.print(printer, state, op)


@irdl_op_definition
class MulAddOp(CanonicalOp):
    """Multiply two matrices and add a third: `result = a * b + c`.

    | value  | shape | use |
    |--------|-------|-----|
    | a      | M x K | a   |
    | b      | K x N | b   |
    | c      | M x N | acc |
    | result | M x N | acc |

    All four have one scope and may have different element types, all floats or all
    integers.  Integers of the operands that `signed` names are signed, the others
    unsigned: a, b and c are extended to the width of the result, and the product is its
    low bits.  With `saturating`, the addition of c saturates by the sign of the result,
    and a product that does not fit is undefined.  The type of the result stands where
    it is not that of c.

    ```mlir
    %a = "test.op"() : () -> !coopmatrix.matrix<8x32xi8, a>
    %b = "test.op"() : () -> !coopmatrix.matrix<32x16xi8, b>
    %c = "test.op"() : () -> !coopmatrix.matrix<8x16xi32, acc>
    %d = coopmatrix.mul_add %a, %b, %c signed(a, c, result) saturating :
         !coopmatrix.matrix<8x32xi8, a>, !coopmatrix.matrix<32x16xi8, b>,
         !coopmatrix.matrix<8x16xi32, acc>
    %e = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x32xi8, a>,
         !coopmatrix.matrix<32x16xi8, b>, !coopmatrix.matrix<8x16xi32, acc>
         -> !coopmatrix.matrix<8x16xi16, acc>
    ```
    """

    name = "coopmatrix.mul_add"

    a = operand_def(MatrixType)
    b = operand_def(MatrixType)
    c = operand_def(VarConstraint("C", base(MatrixType)))
    result = result_def(base(MatrixType) & Inferred("C", lambda c: c))
    signed = opt_prop_def(SignedAttr)
    saturating = opt_prop_def(UnitAttr)

    traits = traits_def(Collective(), Pure(), NamesConstants())
    custom_directives = (ProductTypes,)

    assembly_format = (
        "$a `,` $b `,` $c (`signed` `` $signed^)? (`saturating` $saturating^)? "
        "attr-dict "
        "`:` custom<ProductTypes>(type($a), type($b), type($c), type($result))"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        result: Attribute | None = None,
        signed: SignedAttr | None = None,
        saturating: UnitAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[a, b, c],
            properties={"signed": signed, "saturating": saturating},
            result_types=[c.type if result is None else result],
        )

    def is_signed(self, operand: Operand) -> bool:
        return self.signed is not None and operand in self.signed.data

    def canonical_form(self) -> CanonicalForm:
        """Return c, where a or b holds the integer 0.

        Not for floats: 0 times NaN is NaN, and c + 0 is not c where c is -0.  Not where
        c would be converted: where it has another type, or saturates by another sign.
        """
        if self.c.type != self.result.type:
            return None
        same_sign = self.is_signed(Operand.C) == self.is_signed(Operand.RESULT)
        if self.saturating is not None and not same_sign:
            return None
        return self.c if is_integers(self.a, 0) or is_integers(self.b, 0) else None

    @property
    def matrices(self) -> dict[Operand, MatrixType]:
        types = (*self.operand_types, self.result.type)
        matrices = (x for x in types if isinstance(x, MatrixType))
        return dict(zip(Operand, matrices, strict=True))

    def verify_(self) -> None:
        matrices = self.matrices
        _verify_uses(matrices)
        _verify_sizes(matrices)
        _verify_scopes(matrices)
        _verify_elements(matrices)
        self._verify_signs()

    def _verify_signs(self) -> None:
        for operand, type in self.matrices.items():
            if self.is_signed(operand) and not is_integer(type.element_type):
                raise VerifyException(
                    f"expected {operand} to hold integers, since it is signed, "
                    f"got {type.element_type}"
                )
        result = self.result.type.element_type
        if self.saturating is not None and not is_integer(result):
            raise VerifyException(
                f"expected a result of integers, which can saturate, got {result}"
            )


def _verify_uses(matrices: dict[Operand, MatrixType]) -> None:
    uses = {
        Operand.A: Use.A,
        Operand.B: Use.B,
        Operand.C: Use.ACC,
        Operand.RESULT: Use.ACC,
    }
    for operand, use in uses.items():
        if (found := matrices[operand].use.data) != use:
            raise VerifyException(f"expected {operand} to have use {use}, got {found}")


def _verify_sizes(matrices: dict[Operand, MatrixType]) -> None:
    """Check that the shapes are M x K, K x N, M x N and M x N."""
    m, k = matrices[Operand.A].sizes
    b_rows, n = matrices[Operand.B].sizes
    if not may_be_equal(b_rows, k):
        raise VerifyException(f"expected b to have K = {k} rows, got {b_rows}")
    for operand in (Operand.C, Operand.RESULT):
        rows, cols = matrices[operand].sizes
        if not (may_be_equal(rows, m) and may_be_equal(cols, n)):
            raise VerifyException(
                f"expected {operand} to be M x N = {m} x {n}, got {rows} x {cols}"
            )


def _verify_scopes(matrices: dict[Operand, MatrixType]) -> None:
    expected = matrices[Operand.A].scope
    for operand, type in matrices.items():
        if type.scope != expected:
            raise VerifyException(
                f"expected {operand} to have the scope of a, {scope_text(expected)}, "
                f"got {scope_text(type.scope)}"
            )


def _verify_elements(matrices: dict[Operand, MatrixType]) -> None:
    expected = matrices[Operand.A].element_type
    for operand, type in matrices.items():
        if is_integer(type.element_type) != is_integer(expected):
            kind = "integers" if is_integer(expected) else "floats"
            raise VerifyException(
                f"expected {operand} to hold {kind} as a does, got {type.element_type}"
            )
