"""The types and attributes of `coopmatrix`: matrices, uses, scopes, memory layouts."""

from collections.abc import Sequence
from enum import auto
from typing import TypeAlias

from xdsl.dialects.builtin import (
    BFloat16Type,
    FlatSymbolRefAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerType,
    Signedness,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.utils import BitEnumAttribute, EnumAttribute
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

ElementType: TypeAlias = (
    BFloat16Type | Float16Type | Float32Type | Float64Type | IntegerType
)
FloatElement: TypeAlias = BFloat16Type | Float16Type | Float32Type | Float64Type

ELEMENT_BITS = (4, 8, 16, 32, 64)
"""The widths of integer elements."""

CHANNEL_BITS = 32
"""The channel that narrow elements are packed into (VNNI)."""


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


@irdl_attr_definition
class SignedAttr(BitEnumAttribute[Operand]):
    """The operands whose integers are signed, as in `signed(a, c, result)`."""

    name = "coopmatrix.signed"
    delimiter_value = Parser.Delimiter.PAREN

    def print_parameter(self, printer: Printer) -> None:
        """Print the operands in the order of the enumeration."""
        with printer.in_parens():
            printer.print_string(", ".join(x for x in Operand if x in self.data))


Size: TypeAlias = int | str
"""A number of rows or columns, or the name of a specialisation constant."""


@irdl_attr_definition
class MatrixType(ParametrizedAttribute, TypeAttribute):
    """A matrix that the work-items of a scope hold together.

    `!coopmatrix.matrix<8x16xf16, a>` is held by a subgroup;
    `!coopmatrix.matrix<8x16xi32, none, scope = workgroup>` by a work-group.  Sizes and
    the scope may name a `coopmatrix.spec_constant`:
    `!coopmatrix.matrix<@M x @N x f16, a, scope = @S>`.

    Which work-item holds which element is open: see `coopmatrix.distribution`.
    """

    name = "coopmatrix.matrix"

    rows: IntAttr | SymbolRefAttr
    """At least 1."""
    cols: IntAttr | SymbolRefAttr
    """At least 1."""
    element_type: Attribute
    """An `ElementType`; integers are signless."""
    use: UseAttr
    scope: ScopeAttr | SymbolRefAttr

    @classmethod
    def of(
        cls,
        rows: Size,
        cols: Size,
        element_type: Attribute,
        use: Use,
        scope: Scope | str = Scope.SUBGROUP,
    ) -> "MatrixType":
        """Return the type from plain values; a `str` names a specialisation constant.

        A `Scope` is a `str` too, and is a scope.
        """
        return MatrixType(
            size_attr(rows),
            size_attr(cols),
            element_type,
            UseAttr(use),
            ScopeAttr(scope) if isinstance(scope, Scope) else FlatSymbolRefAttr(scope),
        )

    @property
    def sizes(self) -> tuple[Size, Size]:
        """The (rows, columns), each a number or the name of a constant."""
        return size_of(self.rows), size_of(self.cols)

    @property
    def is_static(self) -> bool:
        """Whether rows, columns and scope are numbers, not names of constants."""
        return not isinstance(self.scope, SymbolRefAttr) and all(
            isinstance(size, int) for size in self.sizes
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The (rows, columns) of a type whose sizes are numbers."""
        rows, cols = self.sizes
        assert isinstance(rows, int), self
        assert isinstance(cols, int), self
        return rows, cols

    @property
    def element_bits(self) -> int:
        """The width of an element, in bits."""
        return element(self).bitwidth

    def with_shape(self, rows: Size, cols: Size) -> "MatrixType":
        """Return this type with other sizes."""
        return MatrixType(
            size_attr(rows), size_attr(cols), self.element_type, self.use, self.scope
        )

    def with_element(self, element_type: Attribute) -> "MatrixType":
        """Return this type with elements of another type."""
        return MatrixType(self.rows, self.cols, element_type, self.use, self.scope)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<8x16xf16, a, scope = workgroup>`."""
        with parser.in_angle_brackets():
            sizes, element_type = _parse_shape(parser)
            if len(sizes) != 2:
                parser.raise_error(f"expected a matrix of rank 2, got {len(sizes)}")
            parser.parse_punctuation(",")
            use = UseAttr(parser.parse_str_enum(Use))
            scope = _parse_scope(parser)
        return *sizes, element_type, use, scope

    def print_parameters(self, printer: Printer) -> None:
        """Print `<8x16xf16, a>`, with the scope where it is not the subgroup."""
        sizes = self.sizes
        delimiter = "x" if all(isinstance(size, int) for size in sizes) else " x "
        with printer.in_angle_brackets():
            for size in sizes:
                if isinstance(size, int):
                    printer.print_string(str(size))
                else:
                    printer.print_symbol_name(size)
                printer.print_string(delimiter)
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.use.data}")
            if isinstance(self.scope, SymbolRefAttr):
                printer.print_string(", scope = ")
                printer.print_symbol_name(self.scope.root_reference.data)
            elif self.scope.data != Scope.SUBGROUP:
                printer.print_string(f", scope = {self.scope.data}")

    def verify(self) -> None:
        """Check the sizes and the element type."""
        for size in self.sizes:
            if isinstance(size, int) and size < 1:
                raise VerifyException("sizes must be static and positive")
        if reason := unsupported_element(self.element_type):
            raise VerifyException(reason)


def size_attr(size: Size) -> IntAttr | SymbolRefAttr:
    """Return the attribute of a size."""
    return IntAttr(size) if isinstance(size, int) else FlatSymbolRefAttr(size)


def size_of(attr: IntAttr | SymbolRefAttr) -> Size:
    """Return the size that an attribute holds."""
    return attr.data if isinstance(attr, IntAttr) else attr.root_reference.data


def unsupported_element(attr: Attribute) -> str | None:
    """Say why `attr` is no element type of a matrix; None where it is one."""
    if isinstance(attr, FloatElement):
        return None
    if not isinstance(attr, IntegerType):
        return f"expected elements of f16, bf16, f32, f64 or an integer, got {attr}"
    if attr.signedness.data != Signedness.SIGNLESS:
        return f"expected signless integers: the operation has the sign, got {attr}"
    if attr.width.data not in ELEMENT_BITS:
        return f"expected integers of {ELEMENT_BITS} bits, got {attr}"
    return None


def matrix_type(value: SSAValue) -> MatrixType:
    """Return the type of a value that an op definition constrains to be a matrix."""
    assert isinstance(value.type, MatrixType), value.type
    return value.type


def element(type: MatrixType) -> ElementType:
    """Return the element type of a matrix type, as one that has a width."""
    assert isinstance(type.element_type, ElementType), type
    return type.element_type


def may_be_equal(one: Size, other: Size) -> bool:
    """Whether two sizes can be the same: a name may stand for any number."""
    return isinstance(one, str) or isinstance(other, str) or one == other


def _parse_shape(
    parser: AttrParser,
) -> tuple[list[IntAttr | SymbolRefAttr], Attribute]:
    """Parse `8x16xf16` or `@M x @N x f16`."""
    sizes: list[IntAttr | SymbolRefAttr] = []
    while (element_type := parser.parse_optional_type()) is None:
        if (name := parser.parse_optional_symbol_name()) is not None:
            sizes.append(SymbolRefAttr(name))
        else:
            sizes.append(IntAttr(parser.parse_shape_dimension()))
        parser.parse_shape_delimiter()
    return sizes, element_type


def _parse_scope(parser: AttrParser) -> ScopeAttr | SymbolRefAttr:
    """Parse `, scope = workgroup` or `, scope = @S`; the subgroup if it is absent."""
    if parser.parse_optional_punctuation(",") is None:
        return ScopeAttr(Scope.SUBGROUP)
    parser.parse_keyword("scope")
    parser.parse_punctuation("=")
    if (name := parser.parse_optional_symbol_name()) is not None:
        return SymbolRefAttr(StringAttr(name.data))
    return ScopeAttr(parser.parse_str_enum(Scope))
