"""Upstream MLIR's `spirv` dialect, as far as to read what upstream prints.

xDSL has none.  Operations are those of the grammar of SPIR-V, in generic form, and are
not verified: `mlir-opt` does that.  `convert-spirv-to-coopmatrix` reads them, and
`-t mlir-spirv` prints such text (`coopc.spirv.mlir`, which also names the operations).

```mlir
%p = "test.op"() : () -> !spirv.ptr<f32, StorageBuffer>
%x = "spirv.Load"(%p) : (!spirv.ptr<f32, StorageBuffer>) -> f32
%y = "spirv.FAdd"(%x, %x) : (f32, f32) -> f32
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr, UnregisteredAttr
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, traits_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator

from coopc.spirv.mlir import ATTRIBUTES, operation_names

_TERMINATORS = frozenset(
    f"spirv.{name}"
    for name in (
        *("Branch", "BranchConditional", "Switch", "Return", "ReturnValue"),
        *("Unreachable", "Kill", "mlir.merge", "mlir.yield"),
    )
)


class SpirvOp(Operation):
    """Any operation of the dialect."""

    traits = traits_def()

    def given(self, name: str) -> Attribute | None:
        """An attribute, which upstream prints as a property."""
        return (self.attributes | self.properties).get(name)


class _End(SpirvOp):
    traits = traits_def(IsTerminator())


class _Module(SpirvOp):
    """`spirv.module`, whose own form `-t mlir-spirv` prints, too."""

    name = "spirv.module"

    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> _Module:
        parser.parse_optional_symbol_name()
        for _ in ("addressing model", "memory model"):
            parser.parse_identifier()
        if parser.parse_optional_keyword("requires"):
            parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        if attributes is None:
            return cls.create(regions=[region])
        return cls.create(attributes=attributes.data, regions=[region])


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


def _operation(name: str) -> type[Operation]:
    cls: type[Operation] = _End if name in _TERMINATORS else SpirvOp
    return cast("type[Operation]", type(name, (cls,), {"name": name}))


def _attribute(name: str) -> type[Attribute]:
    """An attribute that is kept as text."""
    kept = type(name, (UnregisteredAttr,), {"name": f"spirv.{name}"})
    return irdl_attr_definition(init=False)(kept)


Spirv = Dialect(
    "spirv",
    [_Module, *map(_operation, operation_names())],
    [
        *(PointerType, ArrayType, RuntimeArrayType, StructType),
        CooperativeMatrixType,
        *map(_attribute, ATTRIBUTES),
    ],
)
