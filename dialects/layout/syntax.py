"""How the parts of layouts are written: numbers by name, bases, digits, sizes.

rows = 4, lanes = 16                       numbers
(lane = [[0, 1], [0, 2]])                  lists by name, here of bases
[4 : [1, 0], 4 : [0, 1]]                   digits: how many, and their stride
4x15                                       the size of a matrix
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias, TypeVar

from xdsl.parser import AttrParser

from coopc.diagnostic import near_match
from coopc.layout.strided import Digit

Item = TypeVar("Item")
Value = TypeVar("Value")

Basis: TypeAlias = tuple[int, ...]


def parse_numbers(parser: AttrParser, names: Sequence[str]) -> dict[str, int]:
    """Parse `a = 1, b = 2`, each name at most once, in any order."""
    found: dict[str, int] = {}

    def item() -> None:
        start = parser.pos
        name = parser.parse_identifier()
        if name not in names:
            known = f"expected one of {', '.join(names)}, got '{name}'"
            parser.raise_error(known + near_match(name, names), start, parser.pos)
        _expect_new(parser, name, found, start)
        parser.parse_punctuation("=")
        found[name] = parser.parse_integer(allow_boolean=False)

    parser.parse_comma_separated_list(parser.Delimiter.NONE, item)
    return found


def parse_shape(parser: AttrParser) -> tuple[int, int]:
    """Parse `4x15`."""
    rows = parser.parse_shape_dimension()
    parser.parse_shape_delimiter()
    return rows, parser.parse_shape_dimension()


def parse_named(parser: AttrParser, value: Callable[[], Value]) -> dict[str, Value]:
    """Parse `(name = value, ...)`, each name once."""
    found: dict[str, Value] = {}

    def item() -> None:
        start = parser.pos
        name = parser.parse_identifier()
        _expect_new(parser, name, found, start)
        parser.parse_punctuation("=")
        found[name] = value()

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, item)
    return found


def _expect_new(
    parser: AttrParser, name: str, found: Collection[str], start: int
) -> None:
    if name in found:
        parser.raise_error(f"expected {name} once, got it twice", start, parser.pos)


def parse_list(parser: AttrParser, item: Callable[[], Item]) -> tuple[Item, ...]:
    """Parse `[item, ...]`."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, item))


def parse_basis(parser: AttrParser) -> Basis:
    """Parse `[1, 0]`."""
    return parse_list(parser, lambda: parser.parse_integer(allow_boolean=False))


def parse_digit(parser: AttrParser) -> Digit:
    """Parse `4 : [1, 0]`."""
    size = parser.parse_integer(allow_boolean=False)
    parser.parse_punctuation(":")
    return size, parse_basis(parser)


def numbers_text(numbers: Mapping[str, int]) -> str:
    """Return `a = 1, b = 2`."""
    return ", ".join(f"{name} = {number}" for name, number in numbers.items())


def basis_text(basis: Sequence[int]) -> str:
    """Return `[1, 0]`."""
    return f"[{', '.join(map(str, basis))}]"


def digit_text(digit: Digit) -> str:
    """Return `4 : [1, 0]`."""
    size, strides = digit
    return f"{size} : {basis_text(strides)}"


def named_text(lists: Mapping[str, Sequence[str]]) -> str:
    """Return `(name = [item, ...], ...)`."""
    parts = (f"{name} = [{', '.join(items)}]" for name, items in lists.items())
    return f"({', '.join(parts)})"
