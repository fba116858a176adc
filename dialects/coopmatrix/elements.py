"""Operations of `coopmatrix` on the elements that a work-item owns, and on all of them.

`length`, `extract`, `insert` and `coord` have a meaning only under a distribution: see
the kernel attribute `coopmatrix.distribution`.  No fold assumes one.  Slots that hold
no element of the matrix (padding) are read as 0, writes to them are dropped, and
`coord` gives (rows, columns) of the matrix, which is out of range.  A slot is a number
from 0 to `length` - 1; another one is undefined behaviour in `extract` and `insert`,
and an undefined result of `coord`.

They may stand in divergent control flow: each work-item runs them by itself.
"""

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.traits import Canonicalized, NamesConstants
from coopc.dialects.coopmatrix.types import MatrixType, matrix_type


@irdl_op_definition
class LengthOp(IRDLOperation):
    """How many slots a work-item has for the elements of a matrix; the same for all.

    ```mlir
    %n = coopmatrix.length !coopmatrix.matrix<7x9xi32, acc> : index
    ```
    """

    name = "coopmatrix.length"

    matrix_type = prop_def(MatrixType)
    result = result_def(IndexType())

    traits = traits_def(Pure(), NamesConstants())

    assembly_format = "qualified($matrix_type) attr-dict `:` type($result)"

    def __init__(self, matrix_type: Attribute) -> None:
        super().__init__(
            properties={"matrix_type": matrix_type}, result_types=[IndexType()]
        )


@irdl_op_definition
class ExtractOp(IRDLOperation):
    """The element in one slot of the work-item; 0 where the slot holds none.

    ```mlir
    %m, %i = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, index)
    %e = coopmatrix.extract %m[%i] : !coopmatrix.matrix<7x9xi32, acc>
    ```
    """

    name = "coopmatrix.extract"

    matrix = operand_def(MatrixType)
    index = operand_def(IndexType())
    result = result_def()

    traits = traits_def(NoMemoryEffect(), NamesConstants(), Canonicalized())

    def __init__(self, matrix: SSAValue, index: SSAValue) -> None:
        super().__init__(
            operands=[matrix, index],
            result_types=[matrix_type(matrix).element_type],
        )

    @classmethod
    def parse(cls, parser: Parser) -> "ExtractOp":
        """Parse `%m[%i] : type`."""
        matrix, index = parse_slot(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parse_matrix_type(parser)
        op = cls(
            parser.resolve_operand(matrix, type),
            parser.resolve_operand(index, IndexType()),
        )
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(" ")
        print_slot(printer, self.matrix, self.index)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.matrix.type)

    def verify_(self) -> None:
        """Check that the result is of the element type."""
        verify_element(self.result, matrix_type(self.matrix))


@irdl_op_definition
class InsertOp(IRDLOperation):
    """A matrix with another element in one slot of the work-item.

    ```mlir
    %m, %i, %e = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, index, i32)
    %n = coopmatrix.insert %e, %m[%i] : !coopmatrix.matrix<7x9xi32, acc>
    ```
    """

    name = "coopmatrix.insert"

    value = operand_def()
    matrix = operand_def(MatrixType)
    index = operand_def(IndexType())
    result = result_def(MatrixType)

    traits = traits_def(NoMemoryEffect(), NamesConstants())

    def __init__(self, value: SSAValue, matrix: SSAValue, index: SSAValue) -> None:
        super().__init__(operands=[value, matrix, index], result_types=[matrix.type])

    @classmethod
    def parse(cls, parser: Parser) -> "InsertOp":
        """Parse `%e, %m[%i] : type`."""
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        matrix, index = parse_slot(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parse_matrix_type(parser)
        op = cls(
            parser.resolve_operand(value, type.element_type),
            parser.resolve_operand(matrix, type),
            parser.resolve_operand(index, IndexType()),
        )
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        print_slot(printer, self.matrix, self.index)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.matrix.type)

    def verify_(self) -> None:
        """Check the types of the value and the result."""
        verify_element(self.value, matrix_type(self.matrix))
        verify_same_type(self.result, self.matrix)


@irdl_op_definition
class CoordOp(IRDLOperation):
    """Which (row, column) of the matrix one slot of the work-item holds.

    ```mlir
    %m, %i = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, index)
    %row, %col = coopmatrix.coord %m[%i] : !coopmatrix.matrix<7x9xi32, acc>
    ```
    """

    name = "coopmatrix.coord"

    matrix = operand_def(MatrixType)
    index = operand_def(IndexType())
    row = result_def(IndexType())
    col = result_def(IndexType())

    traits = traits_def(Pure(), NamesConstants())

    assembly_format = "$matrix `[` $index `]` attr-dict `:` type($matrix)"

    def __init__(self, matrix: SSAValue, index: SSAValue) -> None:
        super().__init__(
            operands=[matrix, index], result_types=[IndexType(), IndexType()]
        )


def verify_element(value: SSAValue, matrix: MatrixType) -> None:
    """Check that a scalar is of the element type of a matrix."""
    if value.type != matrix.element_type:
        raise VerifyException(
            f"expected a scalar of {matrix.element_type}, the element type of the "
            f"matrix, got {value.type}"
        )


def verify_same_type(result: SSAValue, operand: SSAValue) -> None:
    """Check that a result has the type of an operand."""
    if result.type != operand.type:
        raise VerifyException(
            f"expected a result of {operand.type}, the type of the operand, "
            f"got {result.type}"
        )


def parse_slot(parser: Parser) -> tuple[UnresolvedOperand, UnresolvedOperand]:
    """Parse `%m[%i]`."""
    matrix = parser.parse_unresolved_operand()
    with parser.in_square_brackets():
        index = parser.parse_unresolved_operand()
    return matrix, index


def print_slot(printer: Printer, matrix: SSAValue, index: SSAValue) -> None:
    """Print `%m[%i]`."""
    printer.print_ssa_value(matrix)
    with printer.in_square_brackets():
        printer.print_ssa_value(index)


def parse_matrix_type(parser: Parser) -> MatrixType:
    """Parse the type of a matrix."""
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, MatrixType):
        parser.raise_error(f"expected a !coopmatrix.matrix, got {type}", position)
    return type
