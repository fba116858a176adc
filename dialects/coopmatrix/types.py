"""The types and attributes of `coopmatrix`: matrices, uses, scopes, memory layouts."""

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerType,
    NoneAttr,
    Signedness,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.enums import Scope, ScopeAttr, Use, UseAttr
from coopc.dialects.narrow import is_integer

ElementType: TypeAlias = (
    BFloat16Type | Float16Type | Float32Type | Float64Type | IntegerType
)
FloatElement: TypeAlias = BFloat16Type | Float16Type | Float32Type | Float64Type

ELEMENT_BITS = (4, 8, 16, 32, 64)
"""The widths of integer elements."""

CHANNEL_BITS = 32
"""The channel that narrow elements are packed into (VNNI)."""

Size: TypeAlias = int | str
"""A number of rows or columns, or the name of a specialisation constant."""


@irdl_attr_definition
class MatrixType(ParametrizedAttribute, TypeAttribute):
    """A matrix that the work-items of a scope hold together.

    `!coopmatrix.matrix<8x16xf16, a>` is held by a subgroup;
    `!coopmatrix.matrix<8x16xi32, none, scope = workgroup>` by a work-group.  Sizes and
    the scope may name a `coopmatrix.spec_constant`:
    `!coopmatrix.matrix<@M x @N x f16, a, scope = @S>`.  So may the use,
    `!coopmatrix.matrix<8x8xf16, a = @U>`, which is `a` unless @U is set to another.

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
    """What it is by default where `use_name` is a constant."""
    scope: ScopeAttr | SymbolRefAttr
    use_name: SymbolRefAttr | NoneAttr

    @classmethod
    def of(
        cls,
        rows: Size,
        cols: Size,
        element_type: Attribute,
        use: Use,
        scope: Scope | str = Scope.SUBGROUP,
        use_name: str | None = None,
    ) -> "MatrixType":
        """Return the type from plain values; a `str` names a specialisation constant.

        A `Scope` is a `str` too, and is a scope.
        """
        return MatrixType(
            size_attr(rows),
            size_attr(cols),
            element_type,
            UseAttr(use),
            ScopeAttr(scope) if isinstance(scope, Scope) else SymbolRefAttr(scope),
            NoneAttr() if use_name is None else SymbolRefAttr(use_name),
        )

    @property
    def sizes(self) -> tuple[Size, Size]:
        """The (rows, columns), each a number or the name of a constant."""
        return size_of(self.rows), size_of(self.cols)

    @property
    def is_static(self) -> bool:
        """Whether rows, columns, use and scope are known, not names of constants."""
        return not self.names

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
        sizes = size_attr(rows), size_attr(cols)
        return MatrixType(
            *sizes, self.element_type, self.use, self.scope, self.use_name
        )

    def with_element(self, element_type: Attribute) -> "MatrixType":
        """Return this type with elements of another type."""
        sizes = self.rows, self.cols
        return MatrixType(*sizes, element_type, self.use, self.scope, self.use_name)

    @property
    def names(self) -> tuple[str, ...]:
        """The specialisation constants that the type names."""
        attrs = self.rows, self.cols, self.scope, self.use_name
        return tuple(
            attr.root_reference.data
            for attr in attrs
            if isinstance(attr, SymbolRefAttr)
        )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<8x16xf16, a, scope = workgroup>`."""
        with parser.in_angle_brackets():
            position = parser.pos
            sizes, element_type = _parse_shape(parser)
            if len(sizes) != 2:
                parser.raise_error(
                    f"expected a matrix of rank 2, got {len(sizes)}",
                    position,
                    parser.pos,
                )
            uses = ", ".join(Use)
            parser.parse_punctuation(",", f": the use of the matrix, one of {uses}")
            use = UseAttr(parser.parse_str_enum(Use))
            use_name: SymbolRefAttr | NoneAttr = NoneAttr()
            if parser.parse_optional_punctuation("=") is not None:
                use_name = SymbolRefAttr(parser.parse_symbol_name())
            scope = _parse_scope(parser)
        return *sizes, element_type, use, scope, use_name

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
            if isinstance(self.use_name, SymbolRefAttr):
                printer.print_string(" = ")
                printer.print_symbol_name(self.use_name.root_reference.data)
            if isinstance(self.scope, SymbolRefAttr):
                printer.print_string(", scope = ")
                printer.print_symbol_name(self.scope.root_reference.data)
            elif self.scope.data != Scope.SUBGROUP:
                printer.print_string(f", scope = {self.scope.data}")

    def verify(self) -> None:
        """Check the sizes, the names and the element type."""
        for size, what in zip(self.sizes, ("rows", "columns"), strict=True):
            if isinstance(size, int) and size < 1:
                found = "?" if size == DYNAMIC_INDEX else size
                raise VerifyException(
                    f"expected a static number of {what}, 1 or more: who holds what is "
                    f"decided when a kernel is compiled, got {found}"
                )
        for attr in (self.rows, self.cols, self.scope, self.use_name):
            if isinstance(attr, SymbolRefAttr) and attr.nested_references.data:
                raise VerifyException(
                    f"expected the name of a constant in the module, got {attr}"
                )
        if isinstance(self.use_name, SymbolRefAttr) and self.use.data is Use.NONE:
            raise VerifyException(
                f"expected a use of SPIR-V beside {self.use_name}, a, b or acc, "
                f"got {self.use.data}"
            )
        if reason := unsupported_element(self.element_type):
            raise VerifyException(reason)


def size_attr(size: Size) -> IntAttr | SymbolRefAttr:
    """Return the attribute of a size."""
    return IntAttr(size) if isinstance(size, int) else SymbolRefAttr(size)


def size_of(attr: IntAttr | SymbolRefAttr) -> Size:
    """Return the size that an attribute holds."""
    return attr.data if isinstance(attr, IntAttr) else attr.root_reference.data


def unsupported_element(attr: Attribute) -> str | None:
    """Say why `attr` is no element type of a matrix; None where it is one."""
    if isinstance(attr, FloatElement):
        return None
    if not is_integer(attr):
        return f"expected elements of f16, bf16, f32, f64 or an integer, got {attr}"
    if attr.signedness.data != Signedness.SIGNLESS:
        return f"expected signless integers: operations have the sign, got {attr}"
    if attr.width.data not in ELEMENT_BITS:
        return f"expected integers of {_either(ELEMENT_BITS)} bits, got {attr}"
    return None


def matrix_type(value: SSAValue) -> MatrixType:
    """Return the type of a value that an op definition constrains to be a matrix."""
    assert isinstance(value.type, MatrixType), value.type
    return value.type


def element(type: MatrixType) -> ElementType:
    """Return the element type of a matrix type, as one that has a width."""
    attr: object = type.element_type
    assert isinstance(attr, ElementType), type
    return cast(ElementType, attr)


def scope_text(scope: ScopeAttr | SymbolRefAttr) -> str:
    """Return a scope as it stands in a type: `subgroup`, or the `@S` of a constant."""
    return str(scope) if isinstance(scope, SymbolRefAttr) else str(scope.data)


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
        return SymbolRefAttr(name)
    return ScopeAttr(parser.parse_str_enum(Scope))


def _either(numbers: Sequence[int]) -> str:
    """Return `4, 8 or 16`."""
    *most, last = numbers
    return f"{', '.join(map(str, most))} or {last}"
