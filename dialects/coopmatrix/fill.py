"""Matrices of one value, and numbers that are known when a program is compiled.

Every conversion of a number is exact, or rounds once as the operation does; None stands
for what is not known or undefined.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import copysign, isfinite, isnan
from typing import Any, TypeAlias

from typing_extensions import TypeIs
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
)
from xdsl.interfaces import ConditionallySpeculatableInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import EffectInstance, MemoryEffect, MemoryReadEffect, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.types import (
    CanonicalForm,
    CanonicalOp,
    FloatElement,
    MatrixType,
    NamesConstants,
    matrix_type,
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
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        reads = isinstance(op, FillOp) and op.is_pointer
        return (MemoryReadEffect if reads else NoMemoryEffect).get_effects(op)


@irdl_op_definition
class FillOp(CanonicalOp, ConditionallySpeculatableInterface):
    """A matrix with all elements equal to one value.

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

    Floats of one width are converted into each other by way of f32, which holds both.
    What f8E4M3FN has no number for, 465 and infinities, becomes NaN: nothing saturates.

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

    traits = traits_def(Collective(), ReadsIfPointer(), NamesConstants())

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

    def canonical_form(self) -> CanonicalForm:
        """Return a fill with a constant of the element type."""
        if self.value.type == self.result.type.element_type:
            return None
        number = fill_constant(self.result)
        return None if number is None else fill_with(number, self.result.type)

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


def fill_with(number: Number, type: Attribute) -> tuple[Operation, Operation]:
    """Return a constant, and the matrix of a type that is filled with it."""
    new = ConstantOp(number)
    return new, FillOp(new.result, type)


def is_integers(matrix: SSAValue, value: int) -> bool:
    """Whether every element of `matrix` is known to be the integer `value`."""
    number = fill_constant(matrix)
    return isinstance(number, IntegerAttr) and number.value.data == value


def is_zero(number: Number | None) -> bool:
    """Whether all bits of a number are known to be 0: those of -0.0 are not."""
    if number is None or number.value.data != 0:
        return False
    return copysign(1.0, number.value.data) > 0


def converted(number: Number, type: Attribute, signed: bool = True) -> Number | None:
    """Return `number` as a `fill` or a `convert` makes it a `type`.

    Integers are signed or not, those of the number or else of `type`.
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


@dataclass(frozen=True, slots=True)
class Algebra:
    """What an operation is on integers, on floats, and for special right-hand sides."""

    of_integers: Callable[..., int]
    """Before the result wraps around."""
    of_floats: Callable[..., Any] | None = None
    """Of floats, which round and keep the sign of 0, and of fractions, which are exact;
    None where nothing is folded."""
    neutral: int | None = None
    """The integer that changes nothing as the right-hand side."""
    float_neutral: float | None = None
    """The float that changes nothing there: -0 + 0 would be 0."""
    absorbing: int | None = None
    """The integer that, as the right-hand side, is also the result."""
    defined: Callable[[int, int, int], bool] | None = None
    """Whether two integers of a width have a result; None if they always do."""

    def is_neutral(self, number: Number | None) -> bool:
        """Whether `number` changes nothing as the right-hand side."""
        match number:
            case IntegerAttr():
                return number.value.data == self.neutral
            case FloatAttr() if self.float_neutral is not None:
                value, neutral = number.value.data, self.float_neutral
                return value == neutral and copysign(1, value) == copysign(1, neutral)
            case _:
                return False

    def integer_result(self, values: Sequence[int], bits: int) -> int | None:
        """Return the result before it wraps around; None where it is undefined.

        Operands are as the operation takes them: signed, or not.
        """
        if self.defined is not None and not self.defined(values[0], values[1], bits):
            return None
        return self.of_integers(*values)

    def float_result(self, values: Sequence[float], format: str) -> float | None:
        """Return the result where it is exact in a format; None elsewhere, or NaN."""
        function = self.of_floats
        if function is None or any(isnan(value) for value in values):
            return None
        result = function(*values)
        if len(values) == 1:  # a sign changes, of an infinity as well
            return result
        if not all(isfinite(value) for value in (*values, result)):
            return None
        from fractions import Fraction

        exact = function(*map(Fraction, values)) == Fraction(result)
        return result if exact and FORMATS[format].round(result) == result else None
