"""What `coopc-layout` shows: layouts, read from text and put together with shapes."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from typing_extensions import TypeIs
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FixedBitwidthType, NoneAttr, TensorType
from xdsl.ir import Attribute
from xdsl.utils.mlir_lexer import MLIRTokenKind

from coopc.diagnostic import CompileError, Diagnostic, Kind, Place, near_match
from coopc.dialects.layout import rule_in
from coopc.explain import of_parser
from coopc.layout.distribution import Distribution, LayoutDistribution
from coopc.layout.dpas import DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import Encoding
from coopc.layout.family import Family, MatrixSpec, Rule, check_channel, distribution
from coopc.layout.linear import LinearLayout
from coopc.layout.show import Placement
from coopc.layout.strided import StridedLayout
from coopc.parsing import LocatedParser
from coopc.source import Source
from coopc.universe import COOPC_UNIVERSE

DEFAULT_LANES = 16
"""The lanes of a subgroup where neither the layout nor the user says."""
MOST_PLACES = 1 << 22
"""More lanes times registers would not fit on any page, or in memory."""
SHORT_NAMES = ("coopmatrix", "row_slice", "dpas")
"""Families that need no `#layout.` before them."""
ALIAS = re.compile(r"^#[\w$.-]+(?=[ \t]*=)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Subject:
    """One layout of one tensor or matrix."""

    name: str
    """The attribute, with its alias where it has one; as `-l` and `-i` announce it."""
    type: str
    """What is laid out; empty where the layout says so itself."""
    layout: LinearLayout | Distribution
    element_bits: int = 32
    """Of what is laid out; as of a word where the layout stands alone."""

    @property
    def title(self) -> str:
        return f"{self.type}\n{self.name}" if self.type else self.name

    @property
    def described(self) -> str:
        return f"{self.name} of {self.type}" if self.type else self.name

    @property
    def subgroup_size(self) -> int:
        return lanes_of(self.layout)

    def placement(self) -> Placement:
        if isinstance(self.layout, LinearLayout):
            return Placement.of_linear(self.layout)
        return Placement.of_distribution(self.layout)

    def distribution(self) -> Distribution:
        """Return the layout over all lanes of a work-group.

        Raises:
            ValueError: it is no matrix's.
        """
        if isinstance(self.layout, LinearLayout):
            return LayoutDistribution.of(self.layout)
        return self.layout


class LayoutParser(LocatedParser):
    def aliases(self) -> dict[str, Attribute]:
        """Return the aliases that the file defines, in order, with their `#`."""
        for match in ALIAS.finditer(self.source.text):
            if match[0] not in self.attribute_aliases:
                self._resume_from(match.start())
                self._parse_alias_def()
        names = [match[0] for match in ALIAS.finditer(self.source.text)]
        return {name: self.attribute_aliases[name] for name in names}

    def only(self) -> Attribute:
        """Return the one attribute or type that the text is."""
        found = self.parse_optional_type()
        if found is None:
            found = self.parse_optional_attribute()
        if found is None:
            self.raise_error(f"expected a type or a layout, got '{self.source.text}'")
        if self._current_token.kind != MLIRTokenKind.EOF:
            self.raise_error("expected the end of the text")
        return found


@dataclass(slots=True)
class LayoutReader:
    context: Context
    known: dict[str, Attribute]
    """The aliases of the file of `-i`, with their `#`."""

    @classmethod
    def new(cls, source: Source | None) -> LayoutReader:
        """Return a reader that knows the aliases of a file.

        Raises:
            CompileError: the file's aliases cannot be read.
        """
        context = Context(allow_unregistered=True)
        context.load_dialect(Builtin)
        for name, factory in COOPC_UNIVERSE.all_dialects.items():
            context.register_dialect(name, factory)
        reader = cls(context, {})
        if source is not None:
            with reader.parsing(source) as parser:
                reader.known = parser.aliases()
        return reader

    @contextmanager
    def parsing(self, source: Source) -> Generator[LayoutParser]:
        parser: LayoutParser | None = None
        try:
            parser = LayoutParser(self.context, source)
            parser.attribute_aliases |= self.known
            yield parser
        except CompileError:
            raise
        except Exception as error:
            position = parser.pos if parser is not None else 0
            raise CompileError(of_parser(error, source, position)) from error

    def read(self, text: str, where: str) -> Attribute:
        """Return the attribute or type that a text is, or the family that it names.

        Raises:
            CompileError: it is none; diagnostics call the text `where`.
        """
        if text in SHORT_NAMES:
            text = f"#layout.{text}"
        with self.parsing(Source(text, where)) as parser:
            return parser.only()

    def named(self, names: Sequence[str], file: str) -> dict[str, Attribute]:
        """Return the layouts of the file that have a name; all of them for no name.

        Raises:
            CompileError: there is none of that name, or it is no layout.
        """
        layouts = {
            name: attr for name, attr in self.known.items() if rule_in(attr) is not None
        }
        for name in names:
            if f"#{name}" not in self.known:
                near = near_match(f"#{name}", layouts)
                raise unfit(f"expected an alias of the file, got #{name}{near}", file)
            if f"#{name}" not in layouts:
                attr = self.known[f"#{name}"]
                raise unfit(f"expected #{name} to be a layout, got {attr}", file)
        if not layouts:
            raise unfit("expected aliases that are layouts, got none", file)
        return {f"#{name}": layouts[f"#{name}"] for name in names} or layouts


def unfit(message: str, where: str) -> CompileError:
    return CompileError(Diagnostic(Kind.INPUT, message, Place(where)))


def subject_of(
    layout: Attribute, type: Attribute | None, lanes: int | None, name: str = ""
) -> Subject:
    """Lay a type out; without one, the layout must know its own shape.

    Args:
        layout: an attribute that says where elements are.
        type: a tensor or a matrix.
        lanes: of a subgroup; None is what the layout says, else `DEFAULT_LANES`.
        name: the alias of the layout, with its `#`.

    Raises:
        ValueError: the layout does not fit the type or the lanes.
    """
    rule = rule_in(layout)
    if rule is None:
        raise ValueError(f"expected a layout, got {layout}")
    if type is None and isinstance(rule, Family | Encoding):
        raise ValueError(f"expected a tensor or a matrix for {layout}, got none")
    found = _laid_out(rule, type, lanes)
    places = (
        1 << found.in_bits
        if isinstance(found, LinearLayout)
        else found.lanes * found.components
    )
    if places > MOST_PLACES:
        raise ValueError(f"expected at most {MOST_PLACES} places, got {places}")
    announced = f"{name} = {layout}" if name else str(layout)
    if type is None:
        return Subject(announced, "", found)
    if is_tensor(type):
        bits = bits_of(type.get_element_type()) or 64
    else:
        bits = _matrix(type).element_bits
    return Subject(announced, shape_text(type), found, bits)


def _laid_out(
    rule: Rule, type: Attribute | None, lanes: int | None
) -> LinearLayout | Distribution:
    if type is None:
        return _of_itself(rule, lanes)
    if is_tensor(type):
        shape = tuple(type.get_shape())
        if min(shape, default=0) < 1:
            raise ValueError(f"expected a tensor of static sizes, got {type}")
        bits = bits_of(type.get_element_type())
        if isinstance(rule, Encoding | LinearLayout):
            return _of_tensor(rule, shape, bits, lanes)
        if len(shape) != 2:
            raise ValueError(f"expected a tensor of rank 2, got {len(shape)} in {type}")
        matrix = MatrixSpec(*shape, bits or 32, "none")
    else:
        matrix = _matrix(type)
    if isinstance(rule, Family):
        lanes = lanes or DEFAULT_LANES
    return distribution(rule, matrix, lanes)


def _of_itself(rule: Rule, lanes: int | None) -> LinearLayout | Distribution:
    assert not isinstance(rule, Family | Encoding), rule
    found = LayoutDistribution.of(rule) if isinstance(rule, StridedLayout) else rule
    _check_lanes(found, lanes)
    return found


def _of_tensor(
    rule: Encoding | LinearLayout,
    shape: tuple[int, ...],
    bits: int | None,
    lanes: int | None,
) -> LinearLayout:
    if isinstance(rule, LinearLayout):
        sizes = tuple(rule.out_sizes.values())
        if sizes != shape:
            raise ValueError(
                f"expected a tensor of {'x'.join(map(str, sizes))}, as the layout is, "
                f"got {'x'.join(map(str, shape))}"
            )
        found = rule
    else:
        if isinstance(rule, DotOperandEncoding) and isinstance(
            rule.parent, DpasEncoding
        ):
            check_channel(rule.parent, rule.operand, bits or 0)
        found = rule.linear(shape)
    _check_lanes(found, lanes)
    return found


def lanes_of(layout: LinearLayout | Distribution) -> int:
    if isinstance(layout, LinearLayout):
        return layout.in_sizes.get("lane", 1)
    return layout.lanes


def _check_lanes(layout: LinearLayout | Distribution, lanes: int | None) -> None:
    has = lanes_of(layout)
    if lanes is not None and lanes != has:
        raise ValueError(f"expected {has} lanes, as the layout has, got {lanes}")


def _matrix(type: Attribute) -> MatrixSpec:
    from coopc.dialects.coopmatrix.elements import matrix_of
    from coopc.dialects.coopmatrix.types import MatrixType

    if not isinstance(type, MatrixType):
        raise ValueError(f"expected a tensor or a matrix, got {type}")
    if not type.is_static:
        raise ValueError(f"expected a matrix whose sizes are numbers, got {type}")
    return matrix_of(type)


def is_tensor(type: Attribute | None) -> TypeIs[TensorType]:
    return isinstance(type, TensorType)


def bits_of(element: Attribute) -> int | None:
    return element.bitwidth if isinstance(element, FixedBitwidthType) else None


def shape_text(type: Attribute) -> str:
    if is_tensor(type):
        return str(TensorType(type.get_element_type(), type.get_shape()))
    return str(type)


def encoding_of(type: Attribute | None) -> Attribute | None:
    if not is_tensor(type) or isinstance(type.encoding, NoneAttr):
        return None
    return type.encoding
