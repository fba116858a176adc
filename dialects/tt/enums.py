"""The enumerations of Triton: numbers in the IR, keywords where they are printed.

    {cache = 2 : i32}          in the generic form, and in attribute dictionaries
    cacheModifier = ca         where an operation's own syntax has it

`Keyword` is the directive that reads and prints the second; `member` reads the first.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import I32, IntegerAttr, i32
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, IRDLOperation, VerificationContext
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


class TritonEnum(IntEnum):
    """An enumeration: the value is the number, the name in lower case the keyword."""

    @property
    def keyword(self) -> str:
        """As it is printed."""
        return self.name.lower()

    @property
    def attribute(self) -> IntegerAttr[I32]:
        """As it is in the IR."""
        return IntegerAttr(self.value, i32)


class CacheModifier(TritonEnum):
    """What the caches do with an access."""

    NONE = 1
    CA = 2
    """Cached at all levels."""
    CG = 3
    """Cached at L3 (of Intel's GPUs; PTX's global level), not at L1."""
    WB = 4
    """Written back at all levels."""
    CS = 5
    """Streaming: likely accessed once."""
    WT = 6
    """Written through."""
    CV = 7
    """Not cached: read again each time."""


class EvictionPolicy(TritonEnum):
    """What is thrown out of a cache early or late."""

    EVICT_NORMAL = 1
    EVICT_FIRST = 2
    EVICT_LAST = 3


class Padding(TritonEnum):
    """What is read outside of a tensor."""

    ZERO = 1
    NAN = 2


class ProgramAxis(TritonEnum):
    """An axis of the grid of programs (work-groups)."""

    X = 0
    Y = 1
    Z = 2


class Rounding(TritonEnum):
    """How a float becomes a narrower one."""

    RTZ = 0
    """Toward zero."""
    RTNE = 1
    """To the nearest, ties to even."""


class PropagateNan(TritonEnum):
    """Whether NaN wins in a comparison."""

    NONE = 0
    ALL = 0xFFFF


class InputPrecision(TritonEnum):
    """With what precision operands of f32 are multiplied."""

    TF32 = 0
    """Rounded to tf32."""
    TF32X3 = 1
    """In three products of tf32."""
    IEEE = 2
    """As f32."""
    BF16X3 = 3
    BF16X6 = 4

    @property
    def keyword(self) -> str:
        """As it is printed: the number of products behind a small x."""
        return self.name.lower()


class ScaledElement(TritonEnum):
    """What operands of a scaled product are, whatever type holds them."""

    E4M3 = 0
    E5M2 = 1
    E2M3 = 2
    E3M2 = 3
    E2M1 = 4
    """Two in a byte."""
    BF16 = 5
    FP16 = 6


Enum = TypeVar("Enum", bound=TritonEnum)


@dataclass(frozen=True)
class EnumConstraint(AttrConstraint[IntegerAttr[I32]]):
    """An i32 that is a member of an enumeration."""

    enum: type[TritonEnum]

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Check one attribute."""
        if attr in {each.attribute for each in self.enum}:
            return
        known = ", ".join(f"{each.value} ({each.keyword})" for each in self.enum)
        raise VerifyException(f"expected an i32 of {known}, got {attr}")

    def mapping_type_vars(
        self, type_var_mapping: object
    ) -> AttrConstraint[IntegerAttr[I32]]:
        """There are no type variables in it."""
        return self


def member(enum: type[Enum], attr: IntegerAttr[I32]) -> Enum:
    """Return the member of an enumeration that a verified attribute is."""
    return enum(attr.value.data)


def parse_keyword(parser: Parser, enum: type[TritonEnum]) -> IntegerAttr[I32]:
    """Parse the keyword of a member."""
    members = {each.keyword: each for each in enum}
    position = parser.pos
    found = parser.parse_identifier()
    if found not in members:
        known = ", ".join(members)
        message = f"expected one of {known}, got {found}"
        parser.raise_error(message, position, position + len(found))
    return members[found].attribute


class Keyword(CustomDirective, ABC):
    """A property that is printed as a keyword."""

    ENUM: ClassVar[type[TritonEnum]]
    BEFORE: ClassVar[tuple[str, str]] = ("", "")
    """The punctuation and the name in front of it; then it is left out by default."""

    attr: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Parse `x`, or `, rounding = rtz` if it is there."""
        comma, name = self.BEFORE
        if name:
            if comma and parser.parse_optional_punctuation(",") is None:
                return
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
        self.attr.set(state, parse_keyword(parser, self.ENUM))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Print what `parse` reads."""
        found = self.attr.get(op)
        if found is None or (self.BEFORE[0] and found == self.attr.default_value):
            return
        assert isinstance(found, IntegerAttr), found
        comma, name = self.BEFORE
        if comma:
            printer.print_string(comma)
        state.print_whitespace(printer)
        if name:
            printer.print_string(f"{name} = ")
        printer.print_string(self.ENUM(found.value.data).keyword)


@irdl_custom_directive
class AxisKeyword(Keyword):
    """`x`."""

    ENUM: ClassVar[type[TritonEnum]] = ProgramAxis
    attr: AttributeVariable


@irdl_custom_directive
class RoundingKeyword(Keyword):
    """`, rounding = rtz`, if there is one."""

    ENUM: ClassVar[type[TritonEnum]] = Rounding
    BEFORE: ClassVar[tuple[str, str]] = (",", "rounding")
    attr: AttributeVariable


@irdl_custom_directive
class PropagateNanKeyword(Keyword):
    """`propagateNan = all`."""

    ENUM: ClassVar[type[TritonEnum]] = PropagateNan
    BEFORE: ClassVar[tuple[str, str]] = ("", "propagateNan")
    attr: AttributeVariable


@irdl_custom_directive
class InputPrecisionKeyword(Keyword):
    """`, inputPrecision = tf32`; ieee is left out."""

    ENUM: ClassVar[type[TritonEnum]] = InputPrecision
    BEFORE: ClassVar[tuple[str, str]] = (",", "inputPrecision")
    attr: AttributeVariable


@irdl_custom_directive
class LhsElementKeyword(Keyword):
    """`lhs = e4m3`."""

    ENUM: ClassVar[type[TritonEnum]] = ScaledElement
    BEFORE: ClassVar[tuple[str, str]] = ("", "lhs")
    attr: AttributeVariable


@irdl_custom_directive
class RhsElementKeyword(Keyword):
    """`rhs = e4m3`."""

    ENUM: ClassVar[type[TritonEnum]] = ScaledElement
    BEFORE: ClassVar[tuple[str, str]] = ("", "rhs")
    attr: AttributeVariable
