"""Types of upstream MLIR's `spirv` dialect, and attributes that are enumerants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import BaseAttr, irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from coopc.spirv.grammar_table import ENUMERATIONS, MASKS


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """`!spirv.ptr<f32, StorageBuffer>`."""

    name = "spirv.ptr"

    pointee: Attribute
    storage: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            parser.parse_punctuation(",")
            return [pointee, StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee)
            printer.print_string(f", {self.storage.data}")


@irdl_attr_definition
class ArrayType(ParametrizedAttribute, TypeAttribute):
    """`!spirv.array<4 x f32, stride=4>`; a stride of 0 is none."""

    name = "spirv.array"

    count: IntAttr
    element: Attribute
    stride: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            count = parser.parse_integer()
            parser.parse_keyword("x")
            return [IntAttr(count), *_element(parser)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.count.data} x ")
            _print_element(printer, self.element, self.stride)


@irdl_attr_definition
class RuntimeArrayType(ParametrizedAttribute, TypeAttribute):
    """`!spirv.rtarray<f32, stride=4>`."""

    name = "spirv.rtarray"

    element: Attribute
    stride: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return _element(parser)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_element(printer, self.element, self.stride)


@irdl_attr_definition
class StructType(ParametrizedAttribute, TypeAttribute):
    """`!spirv.struct<(i32 [0], f32 [4]), Block>`; a member has its decorations."""

    name = "spirv.struct"

    members: ArrayAttr[Attribute]
    notes: ArrayAttr[StringAttr]
    """Of each member, without brackets."""
    ending: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        members: list[Attribute] = []
        notes: list[StringAttr] = []

        def note() -> str:
            found = parser.parse_optional_integer()
            return parser.parse_identifier() if found is None else str(found)

        def member() -> None:
            members.append(parser.parse_type())
            found = parser.parse_optional_comma_separated_list(
                parser.Delimiter.SQUARE, note
            )
            notes.append(StringAttr(", ".join(found or ())))

        with parser.in_angle_brackets():
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, member)
            comma = parser.parse_optional_punctuation(",")
            ending = "" if comma is None else parser.parse_identifier()
        return [ArrayAttr(members), ArrayAttr(notes), StringAttr(ending)]

    def print_parameters(self, printer: Printer) -> None:
        def member(pair: tuple[Attribute, StringAttr]) -> None:
            printer.print_attribute(pair[0])
            if pair[1].data:
                printer.print_string(f" [{pair[1].data}]")

        with printer.in_angle_brackets():
            with printer.in_parens():
                printer.print_list(
                    list(zip(self.members, self.notes, strict=True)), member
                )
            if self.ending.data:
                printer.print_string(f", {self.ending.data}")


@irdl_attr_definition
class CooperativeMatrixType(ParametrizedAttribute, TypeAttribute):
    """`!spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>`."""

    name = "spirv.coopmatrix"

    rows: IntAttr
    cols: IntAttr
    element: Attribute
    scope: StringAttr
    use: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            sizes: list[Attribute] = []
            for _ in range(2):
                sizes.append(IntAttr(parser.parse_shape_dimension(allow_dynamic=False)))
                parser.parse_shape_delimiter()
            found = [*sizes, parser.parse_type()]
            for _ in ("scope", "use"):
                parser.parse_punctuation(",")
                found.append(StringAttr(parser.parse_identifier()))
            return found

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows.data}x{self.cols.data}x")
            printer.print_attribute(self.element)
            printer.print_string(f", {self.scope.data}, {self.use.data}")


def _element(parser: AttrParser) -> list[Attribute]:
    """The element of an array, and its stride."""
    element, stride = parser.parse_type(), 0
    if parser.parse_optional_punctuation(",") is not None:
        parser.parse_keyword("stride")
        parser.parse_punctuation("=")
        stride = parser.parse_integer()
    return [element, IntAttr(stride)]


def _print_element(printer: Printer, element: Attribute, stride: IntAttr) -> None:
    printer.print_attribute(element)
    if stride.data:
        printer.print_string(f", stride={stride.data}")


class Enumerants(Data[str]):
    """An enumerant, or several: `<AcquireRelease|WorkgroupMemory>`."""

    KIND: ClassVar[str]
    """The enumeration of the grammar."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            return parse_enumerants(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


def parse_enumerants(parser: AttrParser) -> str:
    names = [parser.parse_identifier()]
    while parser.parse_optional_punctuation("|") is not None:
        names.append(parser.parse_identifier())
    return "|".join(names)


_NAMES = {
    "CooperativeMatrixLayout": "coop_matrix_layout_khr",
    "CooperativeMatrixOperands": "cooperative_matrix_operands_khr",
    "FPFastMathMode": "fastmath_mode",
}
"""The attributes of enumerations that are not named after these."""


def snake_case(name: str) -> str:
    """Return the name that upstream gives to an attribute.

    >>> snake_case("MemoryAccess")
    'memory_access'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _enumeration(kind: str) -> type[Enumerants]:
    name = f"spirv.{_NAMES.get(kind) or snake_case(kind)}"
    return irdl_attr_definition(type(name, (Enumerants,), {"name": name, "KIND": kind}))


ENUMERANTS = {
    found.name.removeprefix("spirv."): found
    for found in map(_enumeration, (*ENUMERATIONS, *MASKS))
}
"""Attributes by their names in the dialect."""


def enumerants(name: str) -> BaseAttr[Enumerants]:
    return BaseAttr(ENUMERANTS[name])
