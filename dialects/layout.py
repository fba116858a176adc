"""The `layout` dialect: layouts as attributes, and how kernels name the one they use.

An attribute holds the frozen value of `coopc.layout`, so comparing and hashing two
layouts is comparing and hashing those values.

| attribute | what it is | holds |
|---|---|---|
| `#layout.coopmatrix` | the coopmatrix layout of each type | `CoopmatrixFamily` |
| `#layout.coopmatrix<4x15, lanes = 16>` | of one matrix | `CoopmatrixLayout` |
| `#layout.row_slice` | row-major order over the lanes | `RowSliceFamily` |
| `#layout.row_slice<7x9, lanes = 16>` | of one matrix | `RowSlices` |
| `#layout.dpas` | operands of DPAS, by their use | `DpasFamily` |
| `#layout.linear<(..) -> (..)>` | bases over GF(2) | `LinearLayout` |
| `#layout.strided<(..) -> (..)>` | mixed-radix digits | `StridedLayout` |

On a kernel, `coopmatrix.distribution = #layout.row_slice` fixes who owns which element
of every matrix; Triton's encodings can stand there too.  `rule_in` finds the value in
any such attribute, `coopc.dialects.coopmatrix.elements.distribution_of` applies it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Generic, TypeAlias, TypeVar, cast

from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from coopc.diagnostic import near_match
from coopc.dialects.definitions import dialect_of
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.distribution import RowSlices
from coopc.layout.family import (
    RULES,
    CoopmatrixFamily,
    DpasFamily,
    Family,
    RowSliceFamily,
    Rule,
)
from coopc.layout.linear import LinearLayout
from coopc.layout.strided import Digit, StridedLayout

Item = TypeVar("Item")
Value = TypeVar("Value")

Basis: TypeAlias = tuple[int, ...]


def parse_named(
    parser: AttrParser,
    value: Callable[[], Value],
    names: Sequence[str] = (),
    delimiter: AttrParser.Delimiter = AttrParser.Delimiter.PAREN,
) -> dict[str, Value]:
    """Parse `(name = value, ...)`, each name at most once, in any order.

    Without names, any are taken.
    """
    found: dict[str, Value] = {}

    def item() -> None:
        start = parser.pos
        name = parser.parse_identifier()
        if names and name not in names:
            known = f"expected one of {', '.join(names)}, got '{name}'"
            parser.raise_error(known + near_match(name, names), start, parser.pos)
        if name in found:
            parser.raise_error(f"expected {name} once, got it twice", start, parser.pos)
        parser.parse_punctuation("=")
        found[name] = value()

    parser.parse_comma_separated_list(delimiter, item)
    return found


def parse_number(parser: AttrParser) -> int:
    return parser.parse_integer(allow_boolean=False)


def parse_numbers(parser: AttrParser, names: Sequence[str]) -> dict[str, int]:
    """Parse `a = 1, b = 2`, as `parse_named` does."""
    none = parser.Delimiter.NONE
    return parse_named(parser, lambda: parse_number(parser), names, none)


def parse_shape(parser: AttrParser) -> tuple[int, int]:
    """Parse `4x15`."""
    rows = parser.parse_shape_dimension()
    parser.parse_shape_delimiter()
    return rows, parser.parse_shape_dimension()


def parse_list(parser: AttrParser, item: Callable[[], Item]) -> tuple[Item, ...]:
    """Parse `[item, ...]`."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, item))


def parse_basis(parser: AttrParser) -> Basis:
    """Parse `[1, 0]`."""
    return parse_list(parser, lambda: parse_number(parser))


def parse_digit(parser: AttrParser) -> Digit:
    """Parse `4 : [1, 0]`."""
    size = parse_number(parser)
    parser.parse_punctuation(":")
    return size, parse_basis(parser)


def numbers_text(numbers: Mapping[str, int]) -> str:
    """Return `a = 1, b = 2`."""
    return ", ".join(f"{name} = {number}" for name, number in numbers.items())


def list_text(items: Sequence[object]) -> str:
    """Return nested lists of integers, or of their texts.

    >>> list_text(((0, 1), (2, 0)))
    '[[0, 1], [2, 0]]'
    """
    parts = (
        list_text(cast("tuple[object, ...]", x)) if isinstance(x, tuple) else str(x)
        for x in items
    )
    return f"[{', '.join(parts)}]"


def named_text(lists: Mapping[str, Sequence[object]]) -> str:
    """Return `(name = [item, ...], ...)`."""
    parts = (f"{name} = {list_text(items)}" for name, items in lists.items())
    return f"({', '.join(parts)})"


def linear_text(layout: LinearLayout) -> str:
    """Return `(register = [..], ..) -> (dim0 = 4, ..)`."""
    bases = {name: layout.bases(name) for name in layout.in_names}
    return f"{named_text(bases)} -> ({numbers_text(layout.out_sizes)})"


def parse_linear(parser: AttrParser) -> LinearLayout:
    """Parse what `linear_text` returns.

    Raises:
        ValueError: its numbers contradict each other.
    """
    bases = parse_named(parser, lambda: parse_list(parser, lambda: parse_basis(parser)))
    return LinearLayout.of(bases, _parse_outs(parser))


def _parse_outs(parser: AttrParser) -> dict[str, int]:
    parser.parse_punctuation("->")
    return parse_named(parser, lambda: parse_number(parser))


# The attributes of `layout`: each prints and parses a value of `coopc.layout`.

ValueT = TypeVar("ValueT")


class ValueAttr(Data[ValueT], Generic[ValueT]):
    """An attribute around a frozen value, which a subclass reads from `<..>`."""

    bare: ClassVar[Family | None] = None
    """The value of the attribute without `<..>`, where that may be absent."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ValueT:
        """Parse `<..>`, or nothing; a value that contradicts itself is an error."""
        start = parser.pos
        if cls.bare is not None and not parser.parse_optional_punctuation("<"):
            return cast(ValueT, cls.bare)
        if cls.bare is None:
            parser.parse_punctuation("<")
        try:
            value = cls.parse_body(parser)
        except ValueError as error:
            parser.raise_error(str(error), start, parser.pos)
        parser.parse_punctuation(">")
        return value

    def print_parameter(self, printer: Printer) -> None:
        if self.bare is None or self.data != self.bare:
            printer.print_string(f"<{self.body()}>")

    @classmethod
    def parse_body(cls, parser: AttrParser) -> ValueT:
        """Parse what is in `<..>`.

        Raises:
            ValueError: it contradicts itself.
        """
        raise NotImplementedError(cls.__name__)

    def body(self) -> str:
        raise NotImplementedError(type(self).__name__)


@irdl_attr_definition
class CoopmatrixAttr(ValueAttr[CoopmatrixFamily | CoopmatrixLayout]):
    """The coopmatrix layout: `#layout.coopmatrix`, for matrices of every type.

    `#layout.coopmatrix<32x2, lanes = 16, channels = 1, k1 = 2>` is that of one matrix;
    channels and k1 are 1 where they are absent.
    """

    name = "layout.coopmatrix"
    bare = CoopmatrixFamily()

    @classmethod
    def parse_body(cls, parser: AttrParser) -> CoopmatrixLayout:
        shape = parse_shape(parser)
        parser.parse_punctuation(",")
        numbers = parse_numbers(parser, ("lanes", "channels", "k1"))
        return CoopmatrixLayout(*shape, **_with_lanes(numbers))

    def body(self) -> str:
        x = self.data
        assert isinstance(x, CoopmatrixLayout)
        more = {"channels": x.channels, "k1": x.k1}
        numbers = {"lanes": x.lanes} | {n: v for n, v in more.items() if v != 1}
        return f"{x.rows}x{x.cols}, {numbers_text(numbers)}"


@irdl_attr_definition
class RowSliceAttr(ValueAttr[RowSliceFamily | RowSlices]):
    """Row-major order over the lanes: `#layout.row_slice`, for matrices of every type.

    `#layout.row_slice<7x9, lanes = 16>` is that of one matrix.
    """

    name = "layout.row_slice"
    bare = RowSliceFamily()

    @classmethod
    def parse_body(cls, parser: AttrParser) -> RowSlices:
        shape = parse_shape(parser)
        parser.parse_punctuation(",")
        return RowSlices(*shape, **_with_lanes(parse_numbers(parser, ("lanes",))))

    def body(self) -> str:
        x = self.data
        assert isinstance(x, RowSlices)
        return f"{x.rows}x{x.cols}, {numbers_text({'lanes': x.lanes})}"


@irdl_attr_definition
class DpasAttr(ValueAttr[DpasFamily]):
    """Operands of DPAS, for matrices of every type: `#layout.dpas`.

    `#layout.dpas<repeat_count = 4, execution_size = 8>` says the rows of a and acc and
    the columns of b and acc of one DPAS: 8 and the number of lanes, at most 16, where
    they are absent.
    """

    name = "layout.dpas"
    bare = DpasFamily()

    @classmethod
    def parse_body(cls, parser: AttrParser) -> DpasFamily:
        return DpasFamily(**parse_numbers(parser, ("repeat_count", "execution_size")))

    def body(self) -> str:
        numbers = {"repeat_count": self.data.repeat_count}
        if (size := self.data.execution_size) is not None:
            numbers["execution_size"] = size
        return numbers_text(numbers)


@irdl_attr_definition
class LinearAttr(ValueAttr[LinearLayout]):
    """A linear layout: bases of each input, and the sizes of the outputs.

    `#layout.linear<(register = [[1, 1]], lane = [[0, 1]]) -> (dim0 = 2, dim1 = 2)>`
    """

    name = "layout.linear"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> LinearLayout:
        return parse_linear(parser)

    def body(self) -> str:
        return linear_text(self.data)


@irdl_attr_definition
class StridedAttr(ValueAttr[StridedLayout]):
    """A strided layout: digits of each input, and the sizes of the outputs.

    `#layout.strided<(lane = [4 : [1, 0], 4 : [0, 1]]) -> (row = 4, col = 3)>`
    """

    name = "layout.strided"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> StridedLayout:
        digits = parse_named(
            parser, lambda: parse_list(parser, lambda: parse_digit(parser))
        )
        return StridedLayout.of(digits, _parse_outs(parser))

    def body(self) -> str:
        digits = {
            name: [f"{size} : {list_text(strides)}" for size, strides in each]
            for name, each in self.data.ins
        }
        return f"{named_text(digits)} -> ({numbers_text(self.data.out_sizes)})"


def _with_lanes(numbers: dict[str, int]) -> dict[str, int]:
    if "lanes" not in numbers:
        raise ValueError("expected lanes of the matrix, got none")
    return numbers


def rule_in(attr: Attribute) -> Rule | None:
    """Return the value of an attribute that says where elements are, else None.

    So do the attributes of this dialect and Triton's encodings.
    """
    if not isinstance(attr, Data):
        return None
    value = cast("Data[object]", attr).data
    return value if isinstance(value, RULES) else None


Layout = dialect_of("layout", globals())
