"""Operations of `coopmatrix` on whole matrices: reduce and apply."""

from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import Block, Region, SSAValue
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
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.elements import (
    parse_matrix_type,
    verify_element,
    verify_same_type,
)
from coopc.dialects.coopmatrix.enums import Axis, AxisAttr, Reduction, ReductionAttr
from coopc.dialects.coopmatrix.traits import Canonicalized, NamesConstants
from coopc.dialects.coopmatrix.types import MatrixType, Size, matrix_type
from coopc.dialects.narrow import is_integer
from coopc.dialects.traits import Collective


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

    traits = traits_def(Collective(), Pure(), NamesConstants(), Canonicalized())

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
        if self.kind.data == Reduction.ADD or not is_integer(value.element_type):
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
    use values from outside; each work-item uses its own.  Nothing in it is collective:
    the work-items run it as often as they own elements.

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

    traits = traits_def(
        Collective(),
        RecursiveMemoryEffect(),
        RecursivelySpeculatable(),
        NamesConstants(),
        Canonicalized(),
    )

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
            found = "nothing" if last is None else last.name
            raise VerifyException(
                f"expected a body that ends in coopmatrix.yield, got {found}"
            )
        verify_element(last.value, matrix)
        for op in self.body.walk():
            if op.has_trait(Collective):
                raise VerifyException(
                    f"expected a body that each work-item runs by itself, got "
                    f"{op.name}, which all run together"
                )


def reduced(matrix: MatrixType, axis: Axis) -> MatrixType:
    """Return the type that a reduction of `matrix` along an axis has."""
    rows, cols = matrix.sizes
    sizes: tuple[Size, Size] = (rows, 1) if axis == Axis.ROWS else (1, cols)
    return matrix.with_shape(*sizes)
