"""What an option of a pass takes, and whether it was given that: `subgroup-size=16`.

xDSL checks types as well, and says them as Python does, without the option's name; and
of an option that is given twice it takes the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from xdsl.utils.arg_spec import ParameterListType, ParameterType
from xdsl.utils.hints import isa

_STRINGS = re.compile(r'"(?:\\.|[^"\\])*"')
_BRACES = re.compile(r"\{([^{}]*)\}")
_NAMES = re.compile(r"(?:^|(?<=\s))[A-Za-z0-9_-]+")

WORDS: dict[Any, str] = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a word",
}


def repeated(text: str) -> Iterator[tuple[int, str]]:
    """Where an option stands a second time for one pass, and its name.

    Example:
        >>> list(repeated("a{x=1 y=2},b{x=1 x=2}"))
        [(17, 'x')]
    """
    bare = _STRINGS.sub(lambda found: "~" * len(found[0]), text)
    for options in _BRACES.finditer(bare):
        seen = set[str]()
        for found in _NAMES.finditer(options[1]):
            name = found[0].replace("-", "_")
            if name in seen:
                yield options.start(1) + found.start(), found[0]
            seen.add(name)


def why_not(values: ParameterListType, type: Any) -> str | None:
    """Return why values are none of the type of an option, or None.

    Args:
        values: what was given, without values for the name alone.
        type: the annotation of the pass's field, evaluated.

    Example:
        >>> why_not((16,), int | None)
        >>> why_not(("x",), int | None)
        'expected a whole number, got x'
        >>> why_not((8, 8), tuple[int, ...])
        >>> why_not((True,), int)
        'expected a whole number, got true'
        >>> why_not((), bool)
        'expected true or false, got none'
    """
    kinds = get_args(type) if NoneType in get_args(type) else (type,)
    if not values and NoneType in kinds:
        return None
    if any(_is_one(values, kind) for kind in kinds):
        return None
    wanted = " or ".join(_words(kind) for kind in kinds if kind is not NoneType)
    return f"expected {wanted}, got {','.join(map(_text, values)) or 'none'}"


def _is_one(values: ParameterListType, kind: Any) -> bool:
    """Whether values are one of a type, or several of them, as its tuples hold."""
    wanted = get_args(kind) if get_origin(kind) is tuple else (kind,)
    if bool not in wanted and any(isinstance(value, bool) for value in values):
        return False
    if len(values) == 1 and isa(values[0], kind):
        return True
    return isa(values, kind)


def _words(kind: Any) -> str:
    """Return what is expected, in words."""
    if get_origin(kind) is Literal:
        *most, last = map(str, get_args(kind))
        return f"{', '.join(most)} or {last}" if most else last
    if get_origin(kind) is tuple:
        return "numbers with commas between them"
    return WORDS[kind]


def _text(value: ParameterType) -> str:
    """Return a value as it was written."""
    return str(value).lower() if isinstance(value, bool) else str(value)
