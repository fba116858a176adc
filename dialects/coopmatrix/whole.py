"""Operations of `coopmatrix` on whole matrices: convert, bitcast, reduce, apply."""

from xdsl.dialects.builtin import IndexType, IntegerType, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import (
    HasCanonicalizationPatternsTrait,
    HasParent,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.elements import (
    parse_matrix_type,
    verify_element,
    verify_same_type,
)
from coopc.dialects.coopmatrix.types import (
    Axis,
    AxisAttr,
    MatrixType,
    Reduction,
    ReductionAttr,
    Size,
    matrix_type,
)


class ConvertOpPatterns(HasCanonicalizationPatternsTrait):
    """A conversion to the same type is nothing; two in a row may be one."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """Return the patterns."""
        from coopc.dialects.coopmatrix import canonicalize

        return (
            canonicalize.ConvertToSameType(),
            canonicalize.ConvertOfConvert(),
            canonicalize.ConvertOfFill(),
        )


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

    traits = traits_def(Pure(), ConvertOpPatterns())

    assembly_format = (
        "(`signed` $signed^)? $value attr-dict `:` type($value) `->` type($result)"
    )

    def __init__(self, value: SSAValue, result: Attribute, signed: bool = False):
        super().__init__(
            operands=[value],
            properties={"signed": UnitAttr() if signed else None},
            result_types=[result],
        )

    def verify_(self) -> None:
        """Check sizes, scope and sign."""
        verify_same_shape(self.result, self.value)
        if self.signed is not None and not any(
            isinstance(matrix_type(value).element_type, IntegerType)
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

    traits = traits_def(Pure())

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[value], result_types=[result])

    def verify_(self) -> None:
        """Check sizes, scope, use and the width of the elements."""
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


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Reduce each row, or each column, of a matrix to one element.

    | axis | result | element (i, 0) or (0, j)    |
    |------|--------|-----------------------------|
    | rows | M x 1  | of row i, over all columns  |
    | cols | 1 x N  | of column j, over all rows  |

    The order is open: sums of floats are exact only where every order is.  Integers
    wrap around in `add`; `signed` orders them in `max` and `min`.  Of a number and a
    NaN, `max` and `min` take the number.

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    %r = coopmatrix.reduce add rows %x :
         !coopmatrix.matrix<8x16xf32, acc> -> !coopmatrix.matrix<8x1xf32, acc>
    %y = "test.op"() : () -> !coopmatrix.matrix<8x16xi32, acc>
    %s = coopmatrix.reduce max cols signed %y :
         !coopmatrix.matrix<8x16xi32, acc> -> !coopmatrix.matrix<1x16xi32, acc>
    ```
    """

    name = "coopmatrix.reduce"

    value = operand_def(MatrixType)
    result = result_def(MatrixType)
    kind = prop_def(ReductionAttr)
    axis = prop_def(AxisAttr)
    signed = opt_prop_def(UnitAttr)

    traits = traits_def(Pure())

    assembly_format = (
        "$kind $axis (`signed` $signed^)? $value attr-dict "
        "`:` type($value) `->` type($result)"
    )

    def __init__(
        self, kind: Reduction, axis: Axis, value: SSAValue, signed: bool = False
    ) -> None:
        super().__init__(
            operands=[value],
            properties={
                "kind": ReductionAttr(kind),
                "axis": AxisAttr(axis),
                "signed": UnitAttr() if signed else None,
            },
            result_types=[reduced(matrix_type(value), axis)],
        )

    def verify_(self) -> None:
        """Check the result and the sign."""
        value = matrix_type(self.value)
        if self.result.type != (expected := reduced(value, self.axis.data)):
            raise VerifyException(
                f"expected {expected}, one element for each of the {self.axis.data}, "
                f"got {self.result.type}"
            )
        if self.signed is None:
            return
        if self.kind.data == Reduction.ADD or not isinstance(
            value.element_type, IntegerType
        ):
            raise VerifyException(
                "expected max or min of integers, which can be signed, got "
                f"{self.kind.data} of {value.element_type}"
            )


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The new element, at the end of `coopmatrix.apply`.

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x16xf32, acc> {
      coopmatrix.yield %v : f32
    }
    ```
    """

    name = "coopmatrix.yield"

    value = operand_def()

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ApplyOp), Pure()))

    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value])


@irdl_op_definition
class ApplyOp(IRDLOperation):
    """Compute each element anew from its row, its column and its value.

    | value  | what                                                      |
    |--------|-----------------------------------------------------------|
    | value  | M x N                                                     |
    | body   | (row: index, col: index, value: T) -> T, once an element  |
    | result | the type of the value                                     |

    The body runs for the elements of the matrix, not for padding, in any order.  It may
    use values from outside; each work-item uses its own.

    ```mlir
    %x, %zero = "test.op"() : () -> (!coopmatrix.matrix<8x16xf32, acc>, f32)
    %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x16xf32, acc> {
      %below = arith.cmpi ugt, %i, %j : index
      %w = arith.select %below, %v, %zero : f32
      coopmatrix.yield %w : f32
    }
    ```
    """

    name = "coopmatrix.apply"

    value = operand_def(MatrixType)
    result = result_def(MatrixType)
    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, value: SSAValue, body: Region) -> None:
        super().__init__(operands=[value], regions=[body], result_types=[value.type])

    @staticmethod
    def new_block(matrix: MatrixType) -> Block:
        """Return an empty body for matrices of a type."""
        return Block(arg_types=(IndexType(), IndexType(), matrix.element_type))

    @classmethod
    def parse(cls, parser: Parser) -> "ApplyOp":
        """Parse `(%i, %j, %v) in %x : type { ... }`."""
        with parser.in_parens():
            names = [parser.parse_argument(expect_type=False)]
            for _ in range(2):
                parser.parse_punctuation(",")
                names.append(parser.parse_argument(expect_type=False))
        parser.parse_keyword("in")
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        type = parse_matrix_type(parser)
        types = (IndexType(), IndexType(), type.element_type)
        arguments = [name.resolve(of) for name, of in zip(names, types, strict=True)]
        body = parser.parse_region(arguments)
        op = cls(parser.resolve_operand(value, type), body)
        op.attributes = parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_ssa_value)
        printer.print_string(" in ")
        printer.print_ssa_value(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        """Check the body's arguments, what it yields, and the result."""
        verify_same_type(self.result, self.value)
        matrix = matrix_type(self.value)
        expected = (IndexType(), IndexType(), matrix.element_type)
        if self.body.block.arg_types != expected:
            found = ", ".join(str(type) for type in self.body.block.arg_types)
            raise VerifyException(
                f"expected a body of (index, index, {matrix.element_type}): row, "
                f"column and element, got ({found})"
            )
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("expected the body to end in coopmatrix.yield")
        verify_element(last.value, matrix)


def reduced(matrix: MatrixType, axis: Axis) -> MatrixType:
    """Return the type that a reduction of `matrix` along an axis has."""
    rows, cols = matrix.sizes
    sizes: tuple[Size, Size] = (rows, 1) if axis == Axis.ROWS else (1, cols)
    return matrix.with_shape(*sizes)


def verify_same_shape(result: SSAValue, value: SSAValue) -> None:
    """Check that two matrices have the same sizes and scope."""
    expected, found = matrix_type(value), matrix_type(result)
    if found.sizes != expected.sizes:
        raise VerifyException(
            f"expected a result of {_shape(expected)}, as the value has, "
            f"got {_shape(found)}"
        )
    if found.scope != expected.scope:
        raise VerifyException(
            f"expected a result of the scope of the value, {expected}, got {found}"
        )


def _shape(matrix: MatrixType) -> str:
    """Return the sizes of a matrix as text."""
    rows, cols = matrix.sizes
    return f"{rows} x {cols}"
