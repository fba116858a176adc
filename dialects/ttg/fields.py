"""The dictionaries of encodings: `<{sizePerThread = [1, 8], order = [1, 0]}>`.

Keys are in any order.  A table says what each is: an integer, a flag, a list of
integers, a list of bases, or an encoding in an attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from xdsl.parser import AttrParser

from coopc.diagnostic import near_match
from coopc.dialects.tt.layouts import encoding_in
from coopc.layout.encoding import Bases, Encoding

Read = Callable[[AttrParser], Any]


def read_integer(parser: AttrParser) -> int:
    """Parse `8`."""
    return parser.parse_integer(allow_boolean=False)


def read_flag(parser: AttrParser) -> bool:
    """Parse `true` or `false`."""
    return parser.parse_boolean()


def read_integers(parser: AttrParser) -> tuple[int, ...]:
    """Parse `[1, 8]`."""
    square = parser.Delimiter.SQUARE
    return tuple(
        parser.parse_comma_separated_list(square, lambda: read_integer(parser))
    )


def read_bases(parser: AttrParser) -> Bases:
    """Parse `[[0, 1], [0, 2]]`."""
    square = parser.Delimiter.SQUARE
    return tuple(
        parser.parse_comma_separated_list(square, lambda: read_integers(parser))
    )


def read_encoding(parser: AttrParser) -> Encoding:
    """Parse an attribute that holds an encoding."""
    position = parser.pos
    found = parser.parse_attribute()
    if (held := encoding_in(found)) is None:
        parser.raise_error(f"expected an encoding, got {found}", position, parser.pos)
    return held


def table_of(read: Read, *keys: str) -> dict[str, Read]:
    """Return a table in which all keys are read alike."""
    return dict.fromkeys(keys, read)


def parse_fields(
    parser: AttrParser,
    name: str,
    table: Mapping[str, Read],
    optional: Collection[str] = (),
) -> dict[str, Any]:
    """Parse a dictionary in angle brackets.

    Args:
        parser: stands before `<`.
        name: of the attribute, for messages.
        table: from each key to what reads its value.
        optional: keys that can be missing.

    Raises:
        ParseError: a key is unknown, there twice, or missing.
    """
    found: dict[str, Any] = {}
    with parser.in_angle_brackets():
        position = parser.pos

        def read_field() -> None:
            start = parser.pos
            key = parser.parse_identifier()
            if key not in table:
                near = near_match(key, table)
                parser.raise_error(f"unknown key '{key}' of {name}{near}", start)
            if key in found:
                parser.raise_error(f"expected {key} once in {name}", start)
            parser.parse_punctuation("=")
            try:
                found[key] = table[key](parser)
            except ValueError as error:
                parser.raise_error(f"{error} in {key} of {name}", start, parser.pos)

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, read_field)
        missing = [key for key in table if key not in found and key not in optional]
        if missing:
            parser.raise_error(f"expected {missing[0]} in {name}", position, parser.pos)
    return found
