"""The syntax that Triton's loads, stores and prefetches share.

    tt.load %p, %mask, %other cacheModifier = ca evictionPolicy = evict_first {..} : T

Clauses stand in any order; what they say is in properties, which may stand in the
dictionary instead, as numbers.  Defaults are not printed.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, prop_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from coopc.dialects.tt.enums import (
    CacheModifier,
    EnumConstraint,
    EvictionPolicy,
    TritonEnum,
    member,
    parse_keyword,
)
from coopc.dialects.tt.types import pointee_of

CLAUSES: dict[str, tuple[str, type[TritonEnum]]] = {
    "cacheModifier": ("cache", CacheModifier),
    "evictionPolicy": ("evict", EvictionPolicy),
}
"""From the keyword of a clause to its property and what it can be."""

SEGMENTS = "operandSegmentSizes"
"""What xDSL calls the numbers of operands; it is never printed."""


@dataclass(frozen=True, slots=True)
class Named:
    """Properties and attributes of an operation that is being parsed."""

    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]


def parse_operands(parser: Parser, most: int) -> list[UnresolvedOperand]:
    """Parse `%a, %b, %c`, at least one and at most so many."""
    operands = [parser.parse_unresolved_operand()]
    while (position := parser.pos) and parser.parse_optional_punctuation(","):
        if len(operands) == most:
            parser.raise_error(f"expected at most {most} operands", position)
        operands.append(parser.parse_unresolved_operand())
    return operands


def parse_named(parser: Parser, op: type[IRDLOperation], *, clauses: bool) -> Named:
    """Parse clauses and the attribute dictionary, and tell properties from attributes.

    Args:
        parser: stands behind the operands.
        op: the operation that says which properties there are.
        clauses: whether the operation has clauses.
    """
    properties: dict[str, Attribute] = {}
    while clauses and (found := parser.parse_optional_keyword_in(CLAUSES)) is not None:
        name, enum = CLAUSES[found]
        if name in properties:
            parser.raise_error(f"expected {found} once, got it again")
        parser.parse_punctuation("=")
        properties[name] = parse_keyword(parser, enum)
    known = op.get_irdl_definition().properties
    attributes = parser.parse_optional_attr_dict()
    for name in [name for name in attributes if name in known]:
        properties.setdefault(name, attributes.pop(name))
    attributes.pop(SEGMENTS, None)
    return Named(properties, attributes)


def print_named(printer: Printer, op: IRDLOperation, *, clauses: bool) -> None:
    """Print what `parse_named` reads."""
    printed = {SEGMENTS}
    for keyword, (name, enum) in CLAUSES.items() if clauses else ():
        printed.add(name)
        found = op.properties.get(name)
        if found is not None and found != default_of(op, name):
            assert isinstance(found, IntegerAttr), found
            printer.print_string(f" {keyword} = {enum(found.value.data).keyword}")
    rest = {
        name: attr
        for name, attr in op.properties.items()
        if name not in printed and attr != default_of(op, name)
    }
    printer.print_op_attributes(rest | op.attributes)


def default_of(op: IRDLOperation, name: str) -> Attribute | None:
    """Return what a property is where nothing is said."""
    return op.get_irdl_definition().properties[name].default_value


def print_operands(printer: Printer, op: IRDLOperation) -> None:
    """Print ` %a, %b, %c`."""
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_ssa_value)


class CachedOp(IRDLOperation, ABC):
    """An operation that says what the caches are to do."""

    cache = prop_def(
        EnumConstraint(CacheModifier), default_value=CacheModifier.NONE.attribute
    )
    evict = prop_def(
        EnumConstraint(EvictionPolicy),
        default_value=EvictionPolicy.EVICT_NORMAL.attribute,
    )

    @property
    def cache_modifier(self) -> CacheModifier:
        """What the caches do with the access."""
        return member(CacheModifier, self.cache)

    @property
    def eviction_policy(self) -> EvictionPolicy:
        """What is thrown out early or late."""
        return member(EvictionPolicy, self.evict)


def resolve(
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    types: Sequence[Attribute],
) -> Sequence[SSAValue]:
    """Return the operands as values; there are at least as many types."""
    return parser.resolve_operands(operands, types[: len(operands)], parser.pos)


def parse_accessed(parser: Parser, what: str) -> tuple[Attribute, Attribute]:
    """Parse the type of a pointer, and return it and the type of what it points to."""
    position = parser.pos
    type = parser.parse_type()
    if (pointee := pointee_of(type)) is None:
        parser.raise_error(f"expected {what}, got {type}", position, parser.pos)
    return type, pointee
