"""Passes and targets as a user writes them: `split-coopmatrix{device=lavapipe},cse`.

xDSL reads the text; here its mistakes become diagnostics that point into it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import TypeVar, get_type_hints

from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from coopc.diagnostic import CompileError, Diagnostic, Kind, near_match
from coopc.option_values import repeated, why_not
from coopc.source import Source

_SPACES = re.compile(r'"(?:\\.|[^"\\])*"|\s*[,{}]\s*|^\s+|\s+$')

T = TypeVar("T", bound=ArgSpecConvertible)


def read_specs(source: Source) -> tuple[ArgSpec, ...]:
    """The names and options in `source`, in order.

    Raises:
        CompileError: It is no list of names with options.
    """
    for offset, name in repeated(source.text):
        raise wrong(source, f"expected option {name} once", offset, len(name))
    kept = without_spaces(source.text)
    try:
        return tuple(parse_pipeline("".join(source.text[x] for x in kept)))
    except ArgSpecParseError as error:
        # The exception keeps only the text that xDSL would print.
        lines = str(error).splitlines()
        column = re.search(r":1:(\d+)$", lines[1])
        offset = [*kept, len(source.text)][int(column[1]) - 1] if column else 0
        message = lines[-1].strip() or "expected names with options"
        raise wrong(source, message, offset) from error
    except Exception as error:
        message = "expected the list of options to end"
        raise wrong(source, message, len(source.text)) from error


def without_spaces(text: str) -> list[int]:
    """Where the characters are that xDSL reads: it takes no space around a comma.

    Example:
        >>> text = " canonicalize, p{ tile=8, 16 a=1 } "
        >>> "".join(text[x] for x in without_spaces(text))
        'canonicalize,p{tile=8,16 a=1}'
    """
    dropped: set[int] = set()
    for found in _SPACES.finditer(text):
        if not found[0].startswith('"'):
            dropped |= {x for x in range(*found.span()) if text[x].isspace()}
    return [x for x in range(len(text)) if x not in dropped]


def make(
    source: Source,
    spec: ArgSpec,
    known: Mapping[str, Callable[[], type[T]]],
    what: str,
) -> T:
    """The pass or target (`what`) that `spec`, a part of `source`, names.

    Raises:
        CompileError: There is none of this name, or it does not take these options.
    """
    start = max(0, source.text.find(spec.name))
    if spec.name not in known:
        near = near_match(spec.name, known)
        message = f"unknown {what} '{spec.name}'{near}"
        raise wrong(source, message, start, len(spec.name))
    try:
        made = known[spec.name]()
    except Exception as error:
        message = f"{what} '{spec.name}' cannot be loaded: {error}"
        raise wrong(source, message, start, len(spec.name)) from error
    expected = [field.name for field in fields(made) if field.init]
    types = get_type_hints(made)
    for option, values in spec.normalize_parameter_names().parameters.items():
        if option not in expected:
            message = f"unknown option '{option}' of {spec.name}"
            message += near_match(option, expected) or listed(expected)
            raise wrong(source, message, start, len(spec.name))
        if reason := why_not(values, types[option]):
            written = option.replace("_", "-")
            message = f"option {written} of {spec.name}: {reason}"
            raise wrong(source, message, start, len(spec.name))
    try:
        return made.from_spec(spec)
    except ValueError as error:
        message = f"{spec.name}: {error}"
        raise wrong(source, message, start, len(spec.name)) from error


def listed(expected: Iterable[str]) -> str:
    """What to append to "unknown option ..." if none is near."""
    names = ", ".join(expected)
    return f", expected one of {names}" if names else ", which has none"


def wrong(source: Source, message: str, offset: int, width: int = 1) -> CompileError:
    """The error that `source` has a mistake at `offset`, in characters."""
    return CompileError(Diagnostic(Kind.USAGE, message, source.place(offset, width)))
