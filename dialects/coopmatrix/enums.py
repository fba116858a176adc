"""The enumerations of `coopmatrix`, and their attributes."""

from enum import auto

from xdsl.dialects.utils import BitEnumAttribute, EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum


class Use(StrEnum):
    """The operand of `d = a * b + c` that a matrix can be."""

    A = auto()
    B = auto()
    ACC = auto()
    """Both c and d."""
    NONE = auto()
    """None of them ("matrix.use.unnecessary"): no multiplication takes it."""


class Scope(StrEnum):
    """The work-items that hold a matrix together, as SPIR-V names them."""

    CROSS_DEVICE = auto()
    DEVICE = auto()
    QUEUE_FAMILY = auto()
    WORKGROUP = auto()
    SUBGROUP = auto()
    INVOCATION = auto()


class Layout(StrEnum):
    """Where in memory element (i, j) of a matrix at positions (p0, p1) is."""

    ROW_MAJOR = auto()
    """`mem[p0 + i, p1 + j]`"""
    COL_MAJOR = auto()
    """`mem[p0 + j, p1 + i]`"""
    PACKED = auto()
    """VNNI: `mem[p0 + i / w, p1 + j * w + i % w]`, w = 32 / bits of an element."""


USE_NUMBERS = {Use.A: 0, Use.B: 1, Use.ACC: 2}
"""What SPIR-V calls the uses that it has."""

LAYOUT_NUMBERS = {Layout.ROW_MAJOR: 0, Layout.COL_MAJOR: 1, Layout.PACKED: 2}
"""What SPIR-V calls the layouts; 2 is PackedINTEL of SPV_INTEL_joint_matrix."""


class Axis(StrEnum):
    """The rows or the columns of a *matrix*, whatever its layout in memory."""

    ROWS = auto()
    COLS = auto()


class Operand(StrEnum):
    """The matrices of `result = a * b + c`."""

    A = auto()
    B = auto()
    C = auto()
    RESULT = auto()


class Reduction(StrEnum):
    """How two elements become one."""

    ADD = auto()
    MAX = auto()
    MIN = auto()


class Ordering(StrEnum):
    """The memory semantics of an atomic access."""

    RELAXED = auto()
    ACQUIRE = auto()
    RELEASE = auto()
    ACQUIRE_RELEASE = auto()
    SEQUENTIALLY_CONSISTENT = auto()


@irdl_attr_definition
class UseAttr(EnumAttribute[Use], SpacedOpaqueSyntaxAttribute):
    """A `Use`, as in `#coopmatrix<use acc>`."""

    name = "coopmatrix.use"


@irdl_attr_definition
class ScopeAttr(EnumAttribute[Scope], SpacedOpaqueSyntaxAttribute):
    """A `Scope`, as in `#coopmatrix<scope subgroup>`."""

    name = "coopmatrix.scope"


@irdl_attr_definition
class LayoutAttr(EnumAttribute[Layout], SpacedOpaqueSyntaxAttribute):
    """A `Layout`, as in `#coopmatrix<layout row_major>`."""

    name = "coopmatrix.layout"


@irdl_attr_definition
class AxisAttr(EnumAttribute[Axis], SpacedOpaqueSyntaxAttribute):
    """An `Axis`, as in `#coopmatrix<axis rows>`."""

    name = "coopmatrix.axis"


@irdl_attr_definition
class ReductionAttr(EnumAttribute[Reduction], SpacedOpaqueSyntaxAttribute):
    """A `Reduction`, as in `#coopmatrix<reduction add>`."""

    name = "coopmatrix.reduction"


@irdl_attr_definition
class OrderingAttr(EnumAttribute[Ordering], SpacedOpaqueSyntaxAttribute):
    """An `Ordering`, as in `#coopmatrix<ordering relaxed>`."""

    name = "coopmatrix.ordering"


@irdl_attr_definition
class CheckedAttr(BitEnumAttribute[Axis]):
    """The axes along which an access is checked, as in `checked(rows, cols)`."""

    name = "coopmatrix.checked"
    delimiter_value = Parser.Delimiter.PAREN

    def print_parameter(self, printer: Printer) -> None:
        """Print the axes in the order of the enumeration."""
        with printer.in_parens():
            printer.print_string(", ".join(x for x in Axis if x in self.data))

    def verify(self) -> None:
        """Check that there is an axis: without any, the attribute is left out."""
        if not self.data:
            raise VerifyException("expected rows, cols or both to be checked, got none")


@irdl_attr_definition
class SignedAttr(BitEnumAttribute[Operand]):
    """The operands whose integers are signed, as in `signed(a, c, result)`."""

    name = "coopmatrix.signed"
    delimiter_value = Parser.Delimiter.PAREN

    def print_parameter(self, printer: Printer) -> None:
        """Print the operands in the order of the enumeration."""
        with printer.in_parens():
            printer.print_string(", ".join(x for x in Operand if x in self.data))

    def verify(self) -> None:
        """Check that there is an operand: without any, the attribute is left out."""
        if not self.data:
            raise VerifyException("expected a, b, c or result to be signed, got none")
