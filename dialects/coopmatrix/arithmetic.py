"""Operations of `coopmatrix` that compute: fills, arithmetic, conversions, products."""

from abc import ABC
from collections.abc import Set as AbstractSet
from math import isfinite, isnan
from typing import ClassVar, TypeAlias

from typing_extensions import TypeIs
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
)
from xdsl.interfaces import ConditionallySpeculatableInterface
from xdsl.ir import Attribute, Operation, SSAValue
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
from xdsl.traits import (
    Commutative,
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    NoMemoryEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.constraints import Inferred
from coopc.dialects.coopmatrix.types import (
    Canonicalized,
    FloatElement,
    MatrixType,
    NamesConstants,
    Operand,
    SignedAttr,
    Use,
    matrix_type,
    may_be_equal,
    scope_text,
    unsupported_element,
)
from coopc.dialects.narrow import is_integer, is_memref
from coopc.dialects.traits import Collective
from coopc.rounding import FORMATS, wrap

OPAQUE_POINTERS = ("llvm.ptr", "ptr_xdsl.ptr")
"""Pointers that do not say what they point to, by the names of their types."""


class ReadsIfPointer(MemoryEffect):
    """A fill from a pointer reads memory; a fill from a value is pure."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        if isinstance(op, FillOp) and op.is_pointer:
            return {EffectInstance(MemoryEffectKind.READ)}
        return set()


@irdl_op_definition
class FillOp(IRDLOperation, ConditionallySpeculatableInterface):
    """A matrix of which every element is one value.

    | value  | what                                                               |
    |--------|--------------------------------------------------------------------|
    | value  | a number, or a pointer to one: a memref of rank 0, or an opaque one |
    | result | M x N                                                              |

    A pointer is read once; an opaque one points to an element of the matrix's type.
    Every work-item of the matrix's scope gives the same value.  A number of another
    type is converted, as the operation of `arith` does it:

    | from    | to       | by         | is                                        |
    |---------|----------|------------|-------------------------------------------|
    | index   | any      | index_cast | an i64, and then as from i64              |
    | integer | wider    | extsi      | the same signed number                    |
    | integer | narrower | trunci     | the low bits                              |
    | integer | float    | sitofp     | rounded to nearest, ties to even          |
    | float   | wider    | extf       | the same number                           |
    | float   | narrower | truncf     | rounded to nearest, ties to even          |
    | float   | integer  | fptosi     | rounded towards 0; undefined where that   |
    |         |          |            | does not fit                              |

    f16 and bf16 are converted into each other by way of f32, which holds both.

    ```mlir
    %zero = arith.constant 0.0 : f32
    %c = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<8x16xf32, acc>
    %p = "test.op"() : () -> memref<i32>
    %d = coopmatrix.fill %p : memref<i32> -> !coopmatrix.matrix<7x9xi32, none>
    ```
    """

    name = "coopmatrix.fill"

    value = operand_def()
    result = result_def(MatrixType)

    traits = traits_def(
        Collective(), ReadsIfPointer(), NamesConstants(), Canonicalized()
    )

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[value], result_types=[result])

    @property
    def is_pointer(self) -> bool:
        """Whether the value is to be read from memory."""
        type = self.value.type
        return isinstance(type, MemRefType) or type.name in OPAQUE_POINTERS

    def is_speculatable(self) -> bool:
        return not self.is_pointer

    def verify_(self) -> None:
        type = self.value.type
        if is_memref(type):
            if type.get_num_dims() != 0:
                raise VerifyException(
                    "expected a memref of rank 0, a pointer to the one value, "
                    f"got {type}"
                )
            type = type.get_element_type()
        elif type.name in OPAQUE_POINTERS:
            return
        if not isinstance(type, IndexType) and unsupported_element(type) is not None:
            raise VerifyException(
                "expected an index or a number of a type that matrices hold, or a "
                f"pointer to one, got {self.value.type}"
            )


# Numbers that are known when a matrix program is compiled, and their conversion.
#
# Everything is exact, or rounds once as the operation does; None stands for what is not
# known or undefined.

Number: TypeAlias = FloatAttr | IntegerAttr

INDEX_BITS = 64
"""An index is converted as an integer of this width, in bits."""


def is_number(attr: Attribute) -> TypeIs[Number]:
    return isinstance(attr, FloatAttr | IntegerAttr)


def constant(value: SSAValue) -> Number | None:
    """Return the number that `arith.constant` gives `value`; None for another value."""
    if isinstance(op := value.owner, ConstantOp) and is_number(op.value):
        return op.value
    return None


def fill_constant(matrix: SSAValue) -> Number | None:
    """Return the number that every element of a matrix is, where that is known.

    It is of the matrix's element type.
    """
    if not isinstance(fill := matrix.owner, FillOp) or fill.is_pointer:
        return None
    if (number := constant(fill.value)) is None:
        return None
    return converted(number, matrix_type(matrix).element_type)


def converted(number: Number, type: Attribute, signed: bool = True) -> Number | None:
    """Return `number` as a `fill` or a `convert` makes it a `type`.

    Args:
        number: An integer, an index or a float.
        type: An element type.
        signed: Whether integers are signed, those of the number or else of `type`.
    """
    source: Attribute = number.type
    value = number.value.data
    if isinstance(value, int):
        bits = source.width.data if is_integer(source) else INDEX_BITS
        value = wrap(value, bits, signed)
    if isinstance(type, FloatElement):
        return FloatAttr(FORMATS[type.name].round(value), type)
    if not is_integer(type):
        return None
    bits = type.width.data
    if isinstance(value, float):
        if not isfinite(value) or wrap(int(value), bits, signed) != int(value):
            return None
        value = int(value)
    return IntegerAttr(wrap(value, bits, signed=True), type)


def bitcast(number: Number, type: Attribute) -> Number | None:
    """Return the number whose bits as a `type` are those of `number`; None for NaN."""
    if isinstance(number, FloatAttr):
        if isnan(number.value.data):
            return None
        pattern = int.from_bytes(number.type.pack((number.value.data,)), "little")
    else:
        pattern = number.value.data
    if is_integer(type):
        return IntegerAttr(wrap(pattern, type.width.data, signed=True), type)
    if not isinstance(type, AnyFloat):
        return None
    size_bytes = type.compile_time_size
    pattern = wrap(pattern, 8 * size_bytes, signed=False)
    value = type.unpack(pattern.to_bytes(size_bytes, "little"), 1)[0]
    return None if isnan(value) else FloatAttr(value, type)


# Operations of `coopmatrix` on each element: arithmetic, logic and scaling.
#
# Operands and result have one type.  None of them depends on which work-item holds
# which element.  Integers are signless; where the sign matters, the operation is
# `signed`
# or not.


class ElementwiseOp(IRDLOperation, ABC):
    """An operation on each element; operands and result have one type."""

    T: ClassVar = VarConstraint("T", base(MatrixType))

    result = result_def(T)

    @property
    def matrix(self) -> MatrixType:
        return matrix_type(self.result)

    def verify_integers(self) -> None:
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
        return True

    def verify_(self) -> None:
        if self.signed is not None:
            self.verify_integers()


class DivisionOp(SignedBinaryOp, ABC):
    """A division or its remainder: of integers, not for every divisor.

    Division by 0 is undefined, and so is that of the least signed integer by -1.
    """

    def is_speculatable(self) -> bool:
        pass

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
        expected: Attribute = self.matrix.element_type
        if self.scalar.type != expected:
            raise VerifyException(
                f"expected a scalar of {expected}, the element type of the matrix, "
                f"got {self.scalar.type}"
            )


# Operations of `coopmatrix` on the bits of each element, which is an integer.


class BitwiseOp(BinaryOp, ABC):
    """An operation on the bits of the elements of two matrices."""

    def verify_(self) -> None:
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
        self.verify_integers()


# Operations of `coopmatrix` that give each element, or a matrix, another type.


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
class MulAddOp(IRDLOperation):
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
    low bits.  With `saturating`, the addition of c saturates by the sign of the result.
    The type of the result stands where it is not that of c.

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

    traits = traits_def(Collective(), Pure(), NamesConstants(), Canonicalized())
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

    @property
    def matrices(self) -> dict[Operand, MatrixType]:
        return {
            Operand.A: matrix_type(self.a),
            Operand.B: matrix_type(self.b),
            Operand.C: matrix_type(self.c),
            Operand.RESULT: matrix_type(self.result),
        }

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
        result = matrix_type(self.result).element_type
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
