"""The operation of `coopmatrix` that multiplies matrices."""

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.enums import Operand, SignedAttr, Use
from coopc.dialects.coopmatrix.traits import Canonicalized, NamesConstants
from coopc.dialects.coopmatrix.types import (
    MatrixType,
    matrix_type,
    may_be_equal,
    scope_text,
)
from coopc.dialects.narrow import is_integer
from coopc.dialects.traits import Collective


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
    c = operand_def(MatrixType)
    result = result_def(MatrixType)
    signed = opt_prop_def(SignedAttr)
    saturating = opt_prop_def(UnitAttr)

    traits = traits_def(Collective(), Pure(), NamesConstants(), Canonicalized())

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
        """Whether the integers of `operand` are signed."""
        return self.signed is not None and operand in self.signed.data

    @property
    def matrices(self) -> dict[Operand, MatrixType]:
        """The types of the four matrices."""
        return {
            Operand.A: matrix_type(self.a),
            Operand.B: matrix_type(self.b),
            Operand.C: matrix_type(self.c),
            Operand.RESULT: matrix_type(self.result),
        }

    @classmethod
    def parse(cls, parser: Parser) -> "MulAddOp":
        """Parse `%a, %b, %c signed(a) saturating : A, B, C -> R`."""
        operands = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        signed = None
        if parser.parse_optional_keyword("signed") is not None:
            signed = SignedAttr(SignedAttr.parse_parameter(parser))
        saturating = parser.parse_optional_keyword("saturating") is not None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_type
        )
        if len(types) != 3:
            parser.raise_error(
                f"expected the types of a, b and c, got {len(types)}", position
            )
        result = None
        if parser.parse_optional_punctuation("->") is not None:
            result = parser.parse_type()
        op = cls(
            *parser.resolve_operands(operands, types, position),
            result=result,
            signed=signed,
            saturating=UnitAttr() if saturating else None,
        )
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        if self.signed is not None:
            printer.print_string(" signed")
            self.signed.print_parameter(printer)
        if self.saturating is not None:
            printer.print_string(" saturating")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)
        if self.result.type != self.c.type:
            printer.print_string(" -> ")
            printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        """Check uses, sizes, scopes and signs."""
        matrices = self.matrices
        _verify_uses(matrices)
        _verify_sizes(matrices)
        _verify_scopes(matrices)
        _verify_elements(matrices)
        self._verify_signs()

    def _verify_signs(self) -> None:
        """Check that only integers are signed, and that only they saturate."""
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
    """Check that each matrix is where its use says."""
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
    """Check that all matrices are held by the same work-items."""
    expected = matrices[Operand.A].scope
    for operand, type in matrices.items():
        if type.scope != expected:
            raise VerifyException(
                f"expected {operand} to have the scope of a, {scope_text(expected)}, "
                f"got {scope_text(type.scope)}"
            )


def _verify_elements(matrices: dict[Operand, MatrixType]) -> None:
    """Check that all matrices hold floats, or all hold integers."""
    expected = matrices[Operand.A].element_type
    for operand, type in matrices.items():
        if is_integer(type.element_type) != is_integer(expected):
            kind = "integers" if is_integer(expected) else "floats"
            raise VerifyException(
                f"expected {operand} to hold {kind} as a does, got {type.element_type}"
            )
