"""Operations of `coopmatrix` on row slices: consecutive elements, row by row."""

from xdsl.dialects.builtin import IndexType, VectorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.elements import (
    parse_slot,
    print_slot,
    verify_same_type,
)
from coopc.dialects.coopmatrix.traits import NamesConstants
from coopc.dialects.coopmatrix.types import MatrixType, matrix_type
from coopc.dialects.narrow import is_vector
from coopc.dialects.traits import Collective


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

    traits = traits_def(Collective(), Pure(), NamesConstants())

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

    traits = traits_def(Collective(), Pure(), NamesConstants())

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
        matrix, offset = parse_slot(parser)
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
        print_slot(printer, self.matrix, self.offset)
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


def verify_row_slice(value: SSAValue, matrix: MatrixType) -> VectorType:
    """Check that a vector is a row slice of a matrix, and return its type."""
    type = value.type
    assert is_vector(type), type
    if (
        type.get_num_dims() != 1
        or type.get_num_scalable_dims() != 0
        or type.get_element_type() != matrix.element_type
    ):
        raise VerifyException(
            f"expected a row slice, a vector of rank 1 and of {matrix.element_type}, "
            f"the element type of the matrix, got {type}"
        )
    return type
