"""Passes and targets as a user writes them: `split-coopmatrix{device=lavapipe}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from xdsl.utils.arg_spec import (
    ArgSpec,
    ArgSpecConvertible,
    ParameterListType,
    ParameterType,
    parse_pipeline,
)
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa

from coopc.diagnostic import CompileError, Diagnostic, Kind, near_match
from coopc.source import Source

_STRINGS = re.compile(r'"(?:\\.|[^"\\])*"')
_BRACES = re.compile(r"\{([^{}]*)\}")
_NAMES = re.compile(r"(?:^|(?<=\s))[A-Za-z0-9_-]+")

KINDS: dict[Any, tuple[str, str]] = {
    bool: ("true or false", "true|false"),
    float: ("a number", "X"),
    int: ("a whole number", "N"),
    str: ("a word", "NAME"),
}
"""The types of options: what they take in words, and as help has it."""


@dataclass(frozen=True)
class Option:
    """An option of a pass or a target: a field of its class."""

    field: str
    """The name of the field."""
    type: Any
    """Its annotation, evaluated."""
    default: ParameterListType | ParameterType | None

    @property
    def name(self) -> str:
        """As users write it."""
        return self.field.replace("_", "-")

    @property
    def usage(self) -> str:
        """The option with what it takes: `unroll=true|false`.

        >>> Option("tile", tuple[int, ...] | None, None).usage
        'tile=N,..'
        >>> Option("payload", Literal["none", "all"], "none").usage
        'payload=none|all'
        """
        kinds = get_args(self.type) if NoneType in get_args(self.type) else (self.type,)
        forms = (_form(kind) for kind in kinds if kind is not NoneType)
        return f"{self.name}={'|'.join(dict.fromkeys(forms))}"

    @property
    def default_text(self) -> str:
        """The default as users write it, empty where there is nothing to write."""
        if self.default is None:
            return ""
        given = self.default if isinstance(self.default, tuple) else (self.default,)
        return ",".join(map(_text, given))


def options_of(made: type[Any]) -> tuple[Option, ...]:
    """Return the options of a pass or a target."""
    types = get_type_hints(made)
    return tuple(
        Option(
            each.name,
            types[each.name],
            None if each.default is MISSING else each.default,
        )
        for each in fields(made)
        if each.init
    )


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
    return KINDS[kind][0]


def _form(kind: Any) -> str:
    """Return what an option takes, as help has it."""
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple:
        return f"{_form(get_args(kind)[0])},.."
    return KINDS[kind][1] if kind in KINDS else str(kind)


def _text(value: ParameterType) -> str:
    """Return a value as it was written."""
    return str(value).lower() if isinstance(value, bool) else str(value)


# Passes and targets as a user writes them: `split-coopmatrix{device=lavapipe},cse`.
#
# xDSL reads the text; here its mistakes become diagnostics that point into it.

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
    options = {option.name: option for option in options_of(made)}
    for written, values in spec.parameters.items():
        option = written.replace("_", "-")
        if option not in options:
            message = f"unknown option '{option}' of {spec.name}"
            message += near_match(option, options, spec.name) or listed(options)
            raise wrong(source, message, start, len(spec.name))
        if reason := why_not(values, options[option].type):
            message = f"option {option} of {spec.name}: {reason}"
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
