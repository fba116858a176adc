"""Types whose dialect and name an operation's syntax leaves out: `<f16>`.

    tt.make_tensor_descriptor .. : <f16>, <64x32xf16>

stands for `!tt.ptr<f16>, !tt.tensordesc<64x32xf16>`, which is read too.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from coopc.dialects.tt.types import PtrType, TensorDescType, is_tensor


class ElidedType(CustomDirective, ABC):
    """One type, of a kind that the operation knows."""

    KIND: ClassVar[type[ParametrizedAttribute]]

    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Parse `<f16>` or `!tt.ptr<f16>`."""
        self.type.set(state, (parse_elided(parser, self.KIND),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Print `<f16>`."""
        (found,) = self.type.get(op)
        state.print_whitespace(printer)
        print_elided(printer, found)


def parse_elided(parser: Parser, kind: type[ParametrizedAttribute]) -> Attribute:
    """Parse a type of one kind, with its name or without it."""
    position = parser.pos
    named = parser.parse_optional_type()
    if named is None:
        return kind.new(kind.parse_parameters(parser))
    if not isinstance(named, kind):
        message = f"expected a type !{kind.name}, got {named}"
        parser.raise_error(message, position, parser.pos)
    return named


def print_elided(printer: Printer, type: Attribute) -> None:
    """Print the parameters of a type without its name."""
    assert isinstance(type, ParametrizedAttribute), type
    type.print_parameters(printer)


@irdl_custom_directive
class ElidedPtr(ElidedType):
    """A pointer."""

    KIND: ClassVar[type[ParametrizedAttribute]] = PtrType
    type: TypeDirective


@irdl_custom_directive
class ElidedDesc(ElidedType):
    """A tensor descriptor."""

    KIND: ClassVar[type[ParametrizedAttribute]] = TensorDescType
    type: TypeDirective


@irdl_custom_directive
class ElidedBlockPtr(CustomDirective):
    """A block pointer, from which the type of a pointer to its elements follows."""

    base: TypeDirective
    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Parse `<tensor<64x32xf16>>`."""
        position = parser.pos
        found = parse_elided(parser, PtrType)
        if not isinstance(found, PtrType) or not is_tensor(found.pointee):
            parser.raise_error(
                f"expected a pointer to a tensor, got {found}", position, parser.pos
            )
        self.type.set(state, (found,))
        base = PtrType(found.pointee.element_type, found.address_space)
        self.base.set(state, (base,))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Print `<tensor<64x32xf16>>`."""
        (found,) = self.type.get(op)
        state.print_whitespace(printer)
        print_elided(printer, found)
