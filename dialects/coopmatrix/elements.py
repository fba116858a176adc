"""Operations of `coopmatrix` on the elements that a work-item owns, and on all of them.

`length`, `extract`, `insert` and `coord` have a meaning only under a distribution: see
the kernel attribute `coopmatrix.distribution`.  No fold assumes one.  Slots that hold
no element of the matrix (padding) are read as 0, writes to them are dropped, and
`coord` gives (rows, columns) of the matrix, which is out of range.
"""

from xdsl.dialects.builtin import IndexType, VectorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import (
    HasCanonicalizationPatternsTrait,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.types import (
    MatrixType,
    element,
    matrix_type,
)


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

    traits = traits_def(Pure())

    assembly_format = "qualified($matrix_type) attr-dict `:` type($result)"

    def __init__(self, matrix_type: Attribute) -> None:
        super().__init__(
            properties={"matrix_type": matrix_type}, result_types=[IndexType()]
        )


class ExtractOpPatterns(HasCanonicalizationPatternsTrait):
    """An element that was just inserted is known."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """Return the patterns."""
        from coopc.dialects.coopmatrix import canonicalize

        return (canonicalize.ExtractOfInsert(),)


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

    traits = traits_def(Pure(), ExtractOpPatterns())

    def __init__(self, matrix: SSAValue, index: SSAValue) -> None:
        super().__init__(
            operands=[matrix, index],
            result_types=[matrix_type(matrix).element_type],
        )

    @classmethod
    def parse(cls, parser: Parser) -> "ExtractOp":
        """Parse `%m[%i] : type`."""
        matrix, index = _parse_slot(parser)
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
        _print_slot(printer, self.matrix, self.index)
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

    traits = traits_def(Pure())

    def __init__(self, value: SSAValue, matrix: SSAValue, index: SSAValue) -> None:
        super().__init__(operands=[value, matrix, index], result_types=[matrix.type])

    @classmethod
    def parse(cls, parser: Parser) -> "InsertOp":
        """Parse `%e, %m[%i] : type`."""
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        matrix, index = _parse_slot(parser)
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
        _print_slot(printer, self.matrix, self.index)
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

    traits = traits_def(Pure())

    assembly_format = "$matrix `[` $index `]` attr-dict `:` type($matrix)"

    def __init__(self, matrix: SSAValue, index: SSAValue) -> None:
        super().__init__(
            operands=[matrix, index], result_types=[IndexType(), IndexType()]
        )


@irdl_op_definition
class ExtractRowSliceOp(IRDLOperation):
    """Consecutive elements of a matrix, in row-major order, from `offset` on.

    | value  | shape                                                           |
    |--------|-----------------------------------------------------------------|
    | matrix | M x N                                                           |
    | offset | index of the first element: row * N + column                    |
    | result | L elements; those beyond the matrix are 0                       |

    ```mlir
    %m, %k = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index)
    %v = coopmatrix.extract_row_slice %m[%k] :
         !coopmatrix.matrix<12x12xi32, none> -> vector<16xi32>
    ```
    """

    name = "coopmatrix.extract_row_slice"

    matrix = operand_def(MatrixType)
    offset = operand_def(IndexType())
    result = result_def(VectorType)

    traits = traits_def(Pure())

    assembly_format = (
        "$matrix `[` $offset `]` attr-dict `:` type($matrix) `->` type($result)"
    )

    def __init__(self, matrix: SSAValue, offset: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[matrix, offset], result_types=[result])

    def verify_(self) -> None:
        """Check the shape and the element type of the slice."""
        verify_row_slice(self.result, matrix_type(self.matrix))


@irdl_op_definition
class InsertRowSliceOp(IRDLOperation):
    """A matrix with other elements, in row-major order, from `offset` on.

    Elements that lie beyond the matrix, or whose bit in `mask` is 0, are dropped.

    ```mlir
    %m, %k = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index)
    %v, %mask = "test.op"() : () -> (vector<16xi32>, vector<16xi1>)
    %n = coopmatrix.insert_row_slice %v, %m[%k] :
         vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
    %o = coopmatrix.insert_row_slice %v, %m[%k] mask %mask : vector<16xi1> :
         vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
    ```
    """

    name = "coopmatrix.insert_row_slice"

    value = operand_def(VectorType)
    matrix = operand_def(MatrixType)
    offset = operand_def(IndexType())
    mask = opt_operand_def(VectorType)
    result = result_def(MatrixType)

    traits = traits_def(Pure())

    def __init__(
        self,
        value: SSAValue,
        matrix: SSAValue,
        offset: SSAValue,
        mask: SSAValue | None = None,
    ) -> None:
        super().__init__(
            operands=[value, matrix, offset, mask], result_types=[matrix.type]
        )

    @classmethod
    def parse(cls, parser: Parser) -> "InsertRowSliceOp":
        """Parse `%v, %m[%k] mask %mask : mask-type : vector-type, matrix-type`."""
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        matrix, offset = _parse_slot(parser)
        mask = None
        if parser.parse_optional_keyword("mask") is not None:
            unresolved = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            mask = parser.resolve_operand(unresolved, parser.parse_type())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value_type = parser.parse_type()
        parser.parse_punctuation(",")
        op = cls(
            parser.resolve_operand(value, value_type),
            parser.resolve_operand(matrix, parser.parse_type()),
            parser.resolve_operand(offset, IndexType()),
            mask,
        )
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        _print_slot(printer, self.matrix, self.offset)
        if self.mask is not None:
            printer.print_string(" mask ")
            printer.print_ssa_value(self.mask)
            printer.print_string(" : ")
            printer.print_attribute(self.mask.type)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        printer.print_attribute(self.matrix.type)

    def verify_(self) -> None:
        """Check the slice, its mask and the result."""
        slice = verify_row_slice(self.value, matrix_type(self.matrix))
        verify_same_type(self.result, self.matrix)
        expected = VectorType(i1, slice.get_shape())
        if self.mask is not None and self.mask.type != expected:
            raise VerifyException(
                f"expected a mask of {expected}, a bit for each element, "
                f"got {self.mask.type}"
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


def verify_row_slice(value: SSAValue, matrix: MatrixType) -> VectorType:
    """Check that a vector is a row slice of a matrix, and return its type."""
    type = value.type
    assert isinstance(type, VectorType)
    if type.get_num_dims() != 1 or type.element_type != matrix.element_type:
        raise VerifyException(
            f"expected a row slice of rank 1 and of {matrix.element_type}, the "
            f"element type of the matrix, got {type}"
        )
    return VectorType(element(matrix), type.get_shape())


def _parse_slot(parser: Parser) -> tuple[UnresolvedOperand, UnresolvedOperand]:
    """Parse `%m[%i]`."""
    matrix = parser.parse_unresolved_operand()
    with parser.in_square_brackets():
        index = parser.parse_unresolved_operand()
    return matrix, index


def _print_slot(printer: Printer, matrix: SSAValue, index: SSAValue) -> None:
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
