"""The types, attributes and traits of `coopmatrix`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import auto
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I32,
    ArrayAttr,
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NoneAttr,
    Signedness,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.dialects.utils import BitEnumAttribute, EnumAttribute
from xdsl.ir import (
    Attribute,
    Operation,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.printer import Printer
from xdsl.traits import (
    HasCanonicalizationPatternsTrait,
    HasParent,
    Pure,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from coopc.diagnostic import either
from coopc.dialects.narrow import is_integer

if TYPE_CHECKING:
    from coopc.device import Use as DeviceUse
    from coopc.device.model import Specialised


T = TypeVar("T")


class Use(StrEnum):
    """The operand of `d = a * b + c` that a matrix can be."""

    A = auto()
    B = auto()
    ACC = auto()
    """Both c and d."""
    NONE = auto()
    """None of them ("matrix.use.unnecessary"): no multiplication takes it."""


DEVICE_USES: "dict[Use, DeviceUse]" = {Use.A: "a", Use.B: "b", Use.ACC: "acc"}
"""The uses that devices have matrices of."""


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
    ROW_BLOCKED = auto()
    """`mem[p0 + i / 4, p1 + x]`: a row of the memref is a row of blocks of 4 rows of 16
    bytes, which are interleaved; see `PlainAccessOp`."""
    COL_BLOCKED = auto()
    """`mem[p0 + j / w, p1 + x]`: a row of the memref is a column of blocks of 4 rows of
    w elements, 16 bytes."""


BLOCKED = (Layout.ROW_BLOCKED, Layout.COL_BLOCKED)
"""The layouts of SPV_ARM_cooperative_matrix_layouts."""


SCOPE_NUMBERS = {
    Scope.CROSS_DEVICE: 0,
    Scope.DEVICE: 1,
    Scope.WORKGROUP: 2,
    Scope.SUBGROUP: 3,
    Scope.INVOCATION: 4,
    Scope.QUEUE_FAMILY: 5,
}
"""What SPIR-V calls the scopes (3.27 Scope)."""

USE_NUMBERS = {Use.A: 0, Use.B: 1, Use.ACC: 2}
"""What SPIR-V calls the uses that it has."""

LAYOUT_NUMBERS = {Layout.ROW_MAJOR: 0, Layout.COL_MAJOR: 1, Layout.PACKED: 2}
"""What SPIR-V calls the layouts; 2 is PackedINTEL of SPV_INTEL_joint_matrix."""


SizeT = TypeVar("SizeT")


class Axis(StrEnum):
    """The rows or the columns of a *matrix*, whatever its layout in memory."""

    ROWS = auto()
    COLS = auto()


class Reduced(StrEnum):
    """Which elements a reduction makes one of."""

    ROWS = auto()
    """Each row."""
    COLS = auto()
    ALL = auto()
    QUADS = auto()
    """Each 2 x 2, from element (0, 0) on."""

    def window(self, rows: SizeT, cols: SizeT) -> tuple[SizeT | int, SizeT | int]:
        """Return the rows and columns of what becomes one element of M x N.

        >>> Reduced.ROWS.window(8, 16), Reduced.QUADS.window(8, 16)
        ((1, 16), (2, 2))
        """
        if self is Reduced.QUADS:
            return 2, 2
        return 1 if self is Reduced.ROWS else rows, 1 if self is Reduced.COLS else cols


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
class AxisAttr(EnumAttribute[Reduced], SpacedOpaqueSyntaxAttribute):
    """What is `Reduced`, as in `#coopmatrix<axis rows>`."""

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
        # A set has no order: that of the enumeration is printed.
        with printer.in_parens():
            printer.print_string(", ".join(x for x in Axis if x in self.data))

    def verify(self) -> None:
        if not self.data:
            raise VerifyException("expected rows, cols or both to be checked, got none")


@irdl_attr_definition
class SignedAttr(BitEnumAttribute[Operand]):
    """The operands whose integers are signed, as in `signed(a, c, result)`."""

    name = "coopmatrix.signed"
    delimiter_value = Parser.Delimiter.PAREN

    def print_parameter(self, printer: Printer) -> None:
        # A set has no order: that of the enumeration is printed.
        with printer.in_parens():
            printer.print_string(", ".join(x for x in Operand if x in self.data))

    def verify(self) -> None:
        if not self.data:
            raise VerifyException("expected a, b, c or result to be signed, got none")


# The types and attributes of `coopmatrix`: matrices, uses, scopes, memory layouts.

NarrowFloat: TypeAlias = (
    BFloat16Type
    | Float4E2M1FNType
    | Float8E4M3FNType
    | Float8E5M2Type
    | Float8E8M0FNUType
)
"""Floats that are computed in f32."""
FloatElement: TypeAlias = NarrowFloat | Float16Type | Float32Type | Float64Type
ElementType: TypeAlias = FloatElement | IntegerType

ELEMENT_BITS = (4, 8, 16, 32, 64)
"""The widths of integer elements."""

CHANNEL_BITS = 32
"""The channel that narrow elements are packed into (VNNI)."""

Size: TypeAlias = int | str
"""A number of rows or columns, or the name of a specialization constant."""


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
        """Return the type from plain values; a `str` names a specialization constant.

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
        sizes = size_attr(rows), size_attr(cols)
        return MatrixType(
            *sizes, self.element_type, self.use, self.scope, self.use_name
        )

    def with_element(self, element_type: Attribute) -> "MatrixType":
        sizes = self.rows, self.cols
        return MatrixType(*sizes, element_type, self.use, self.scope, self.use_name)

    def with_use(self, use: Use) -> "MatrixType":
        sizes = self.rows, self.cols
        return MatrixType(
            *sizes, self.element_type, UseAttr(use), self.scope, NoneAttr()
        )

    def with_scope(self, scope: ScopeAttr) -> "MatrixType":
        element = self.element_type
        return MatrixType(self.rows, self.cols, element, self.use, scope, self.use_name)

    @property
    def names(self) -> tuple[str, ...]:
        """The specialization constants that the type names."""
        attrs = self.rows, self.cols, self.scope, self.use_name
        return tuple(
            attr.root_reference.data
            for attr in attrs
            if isinstance(attr, SymbolRefAttr)
        )

    def specialised(self, constants: Mapping[str, int]) -> "MatrixType":
        """Return the type with the numbers of constants for their names.

        Raises:
            ValueError: there is no such matrix, or no such constant.
        """
        if self.is_static:
            return self
        if unknown := [name for name in self.names if name not in constants]:
            raise ValueError(f"no coopmatrix.spec_constant is called @{unknown[0]}")
        rows, cols = (constants[x] if isinstance(x, str) else x for x in self.sizes)
        if min(rows, cols) < 1:
            raise ValueError(
                f"expected sizes of at least 1 for {self}, got {rows} x {cols}"
            )
        scope, use = self.scope, self.use.data
        if isinstance(scope, SymbolRefAttr):
            scope = ScopeAttr(chosen(scope, constants, SCOPE_NUMBERS, "a scope"))
        if isinstance(self.use_name, SymbolRefAttr):
            use = chosen(self.use_name, constants, USE_NUMBERS, "a use")
        return MatrixType.of(rows, cols, self.element_type, use, scope.data)

    @property
    def specialises(self) -> "frozenset[Specialised]":
        """What the type names specialization constants for."""
        named: tuple[tuple[Attribute, Specialised], ...] = (
            (self.rows, "sizes"),
            (self.cols, "sizes"),
            (self.scope, "scope"),
            (self.use_name, "use"),
        )
        return frozenset(x for attr, x in named if isinstance(attr, SymbolRefAttr))

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


def chosen(
    name: SymbolRefAttr,
    constants: Mapping[str, int],
    numbers: Mapping[T, int],
    what: str,
) -> T:
    """Return what SPIR-V calls by the number of a constant.

    Raises:
        ValueError: there is no such constant, or SPIR-V calls nothing so.
    """
    if (value := constants.get(name.root_reference.data)) is None:
        raise ValueError(f"no coopmatrix.spec_constant is called {name}")
    for each, number in numbers.items():
        if number == value:
            return each
    raise ValueError(
        f"expected {name} to be {what} of SPIR-V, 0 to {max(numbers.values())}, "
        f"got {value}"
    )


def size_attr(size: Size) -> IntAttr | SymbolRefAttr:
    return IntAttr(size) if isinstance(size, int) else SymbolRefAttr(size)


def size_of(attr: IntAttr | SymbolRefAttr) -> Size:
    return attr.data if isinstance(attr, IntAttr) else attr.root_reference.data


def unsupported_element(attr: Attribute) -> str | None:
    """Say why `attr` is no element type of a matrix; None where it is one."""
    if isinstance(attr, FloatElement):
        return None
    if not is_integer(attr):
        return (
            "expected elements of f4E2M1FN, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, "
            f"f32, f64 or an integer, got {attr}"
        )
    if attr.signedness.data != Signedness.SIGNLESS:
        return f"expected signless integers: operations have the sign, got {attr}"
    if attr.width.data not in ELEMENT_BITS:
        return f"expected integers of {either(ELEMENT_BITS)} bits, got {attr}"
    return None


def matrix_type(value: SSAValue) -> MatrixType:
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


# The operation of `coopmatrix` that names a number which is fixed late.


ONLY_SPIRV = "expected coopc-khr: only modules of SPIR-V are specialized"
"""Why other pipelines refuse a specialization constant."""


@irdl_op_definition
class SpecConstantOp(IRDLOperation):
    """A named number, fixed when a module is specialized, not when it is compiled.

    Matrix types name it where they would have a size or a scope.  `id` is the SpecId
    by which a driver sets it; constants without one get the least that are free, in the
    order of definition.

    ```mlir
    coopmatrix.spec_constant @M = 16 : i32
    coopmatrix.spec_constant @N = 8 : i32 id = 3
    coopmatrix.spec_constant @K = 8 : i32 {equal_to = [@N], multiple_of = 4 : i32}
    %a = "test.op"() : () -> !coopmatrix.matrix<@M x @N x f16, a>
    ```
    """

    name = "coopmatrix.spec_constant"

    sym_name = prop_def(SymbolNameConstraint())
    value = prop_def(IntegerAttr[I32])
    """The default."""
    id = opt_prop_def(IntegerAttr[I32])
    equal_to = opt_prop_def(ArrayAttr[SymbolRefAttr | IntegerAttr[I32]])
    """Constants and numbers that it must be equal to when it is set."""
    multiple_of = opt_prop_def(IntegerAttr[I32])
    """What it must be a multiple of then."""

    traits = traits_def(SymbolOpInterface(), HasParent(ModuleOp))
    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "$sym_name `=` $value `:` `i32` (`id` `=` $id^)? attr-dict"

    def __init__(self, name: str, value: int, id: int | None = None) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "value": IntegerAttr(value, 32),
                "id": None if id is None else IntegerAttr(id, 32),
            }
        )

    def must_equal(self, *others: Size) -> None:
        """Note what the constant must be equal to when it is set."""
        old = () if self.equal_to is None else self.equal_to.data
        new = (
            SymbolRefAttr(x) if isinstance(x, str) else IntegerAttr(x, 32)
            for x in others
        )
        self.equal_to = ArrayAttr(dict.fromkeys((*old, *new)))

    def verify_(self) -> None:
        if self.id is None:
            return
        id = self.id.value.data
        if id < 0:
            raise VerifyException(f"expected an id of 0 or more, got {id}")
        before: Operation | None = self.prev_op
        while before is not None:
            if isinstance(before, SpecConstantOp) and before.id == self.id:
                raise VerifyException(
                    f"id {id} is already used by @{before.sym_name.data}"
                )
            before = before.prev_op


def default_constants(module: Operation) -> dict[str, int]:
    """Return the specialization constants of a module, by name."""
    return {
        op.sym_name.data: op.value.value.data
        for region in module.regions
        for block in region.blocks
        for op in block.ops
        if isinstance(op, SpecConstantOp)
    }


# Traits of `coopmatrix` operations: canonical forms, and names to be defined.

CanonicalForm: TypeAlias = SSAValue | Operation | Sequence[Operation] | None
"""What an operation with one result is replaced by: a value that is there, or new
operations, the last of which has the result; None where it stays."""


class ToCanonicalForm(RewritePattern):
    """Replaces an operation by its canonical form, if it has one."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, CanonicalOp), op
        match op.canonical_form():
            case None:
                pass
            case SSAValue() as value:
                rewriter.replace(op, (), (value,))
            case new:
                rewriter.replace(op, new)


class Canonicalized(HasCanonicalizationPatternsTrait):
    """The operation is a `CanonicalOp`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (ToCanonicalForm(),)


class CanonicalOp(IRDLOperation, ABC):
    """An operation that `canonicalize` replaces where it knows a simpler one.

    What is known holds whichever work-item owns which element.
    """

    traits = traits_def(Canonicalized())

    @abstractmethod
    def canonical_form(self) -> CanonicalForm:
        """Return what computes the same; it changes nothing."""


class NamesConstants(SymbolUserOpInterface):
    """Each constant that a matrix type of the operation names is in its module.

    A size is at least 1, a scope the number that SPIR-V gives one; a use or a layout is
    by default what the operation says.
    """

    def verify(self, op: Operation) -> None:
        for value in (*op.operands, *op.results):
            _verify_names(op, value.type)
        for attr in op.properties.values():
            _verify_names(op, attr)
        if isinstance(op, SpecValueOp) and _is_in_module(op):
            _constant(op, op.constant.root_reference.data, op.name)
        name, layout = (op.properties.get(x) for x in ("layout_name", "layout"))
        if isinstance(name, SymbolRefAttr) and isinstance(layout, LayoutAttr):
            if layout.data not in LAYOUT_NUMBERS:
                raise VerifyException(f"expected no name for the layout {layout.data}")
            _verify_number(op, name, LAYOUT_NUMBERS[layout.data], str(layout.data))


@irdl_op_definition
class SpecValueOp(IRDLOperation):
    """The number of a specialization constant, which is 0 or more.

    Work-group memory has sizes of it: the number is known when a kernel is started.

    ```mlir
    coopmatrix.spec_constant @M = 16 : i32
    %m = coopmatrix.spec_value @M
    %scratch = memref.alloca(%m) : memref<?x8xf16, #simt.memory<workgroup>>
    ```
    """

    name = "coopmatrix.spec_value"

    constant = prop_def(SymbolRefAttr)
    result = result_def(IndexType())

    traits = traits_def(Pure(), NamesConstants())

    assembly_format = "$constant attr-dict"

    def __init__(self, name: str) -> None:
        super().__init__(
            properties={"constant": SymbolRefAttr(name)}, result_types=[IndexType()]
        )


SCOPES = range(6)
"""The numbers of SPIR-V's scopes that a matrix can have."""


def _verify_names(op: Operation, type: Attribute) -> None:
    """Check the names in a type, if it is a matrix's and `op` is in a module."""
    if not isinstance(type, MatrixType) or type.is_static:
        return
    if not _is_in_module(op):
        return
    for name in type.sizes:
        if isinstance(name, str) and (value := _constant(op, name, str(type))) < 1:
            raise VerifyException(
                f"expected @{name} to be at least 1, as a size of {type}, got {value}"
            )
    if isinstance(type.scope, SymbolRefAttr):
        name = type.scope.root_reference.data
        if (value := _constant(op, name, str(type))) not in SCOPES:
            raise VerifyException(
                f"expected @{name} to be one of SPIR-V's scopes, 0 to {SCOPES[-1]}, "
                f"as the scope of {type}, got {value}"
            )
    if isinstance(type.use_name, SymbolRefAttr):
        use = type.use.data
        _verify_number(op, type.use_name, USE_NUMBERS.get(use), str(use))


def _verify_number(
    op: Operation, name: SymbolRefAttr, number: int | None, what: str
) -> None:
    """Check that a constant is by default what stands beside its name."""
    if not _is_in_module(op):
        return
    found = _constant(op, name.root_reference.data, f"{what} = {name}")
    if found != number:
        raise VerifyException(
            f"expected {name} to be {number} by default, which SPIR-V calls {what}, "
            f"got {found}"
        )


def _is_in_module(op: Operation) -> bool:
    return isinstance(op.get_toplevel_object(), ModuleOp)


def _constant(op: Operation, name: str, what: str) -> int:
    found = SymbolTable.lookup_symbol(op, name)
    if isinstance(found, SpecConstantOp):
        return found.value.value.data
    kind = "nothing" if found is None else found.name
    raise VerifyException(
        f"expected a coopmatrix.spec_constant @{name}, which {what} names, got {kind}"
    )
