"""Passes and targets as a user writes them: `split-coopmatrix{device=lavapipe},cse`.

xDSL reads the text; here its mistakes become diagnostics that point into it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from xdsl.utils.arg_spec import (
    ArgSpec,
    ArgSpecConvertible,
    ParameterListType,
    ParameterType,
    PipelineLexer,
    SpecTokenKind,
    parse_pipeline,
)
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa

from coopc.diagnostic import CompileError, Diagnostic, Kind, either, near_match
from coopc.source import Source

_NESTED = re.compile(
    r'"(?:\\.|[^"\\])*"|(?<==)[\w-]+\{[^{}"]*\}|(?<==)[\w./-]+\.(?:toml|json)\b'
)
"""A quoted value, one with options of its own, or the name of a file."""
_SPACES = re.compile(r'"(?:\\.|[^"\\])*"|\s*[,{}]\s*|^\s+|\s+$')

_BEFORE_OPTION = (SpecTokenKind.L_BRACE, SpecTokenKind.SPACE)

KINDS: dict[Any, tuple[str, str]] = {
    bool: ("true or false", "true|false"),
    float: ("a number", "X"),
    int: ("a whole number", "N"),
    str: ("a word", "NAME"),
}
"""The types of options: what they take in words, and as help has it."""

T = TypeVar("T", bound=ArgSpecConvertible)


@dataclass(frozen=True)
class Option:
    """An option of a pass or a target: a field of its class."""

    field: str
    type: Any
    """Its annotation, evaluated."""
    default: ParameterListType | ParameterType | None = None

    @property
    def name(self) -> str:
        return self.field.replace("_", "-")

    @property
    def kinds(self) -> tuple[Any, ...]:
        kinds = get_args(self.type) if self.is_optional else (self.type,)
        return tuple(kind for kind in kinds if kind is not NoneType)

    @property
    def is_optional(self) -> bool:
        """Whether it may be None, which no value says."""
        return NoneType in get_args(self.type)

    @property
    def usage(self) -> str:
        """The option with what it takes.

        >>> Option("use_it", bool).usage
        'use-it=true|false'
        >>> Option("tile", tuple[int, ...] | None).usage
        'tile=N,..'
        >>> Option("payload", Literal["none", "all"]).usage
        'payload=none|all'
        """
        forms = (_described(kind)[1] for kind in self.kinds)
        return f"{self.name}={'|'.join(dict.fromkeys(forms))}"

    @property
    def default_text(self) -> str:
        """The default as users write it, empty where there is nothing to write."""
        if self.default is None:
            return ""
        given = self.default if isinstance(self.default, tuple) else (self.default,)
        return ",".join(map(_text, given))

    def why_not(self, values: ParameterListType) -> str | None:
        """Return why these are no values for it, or None; the name alone has none.

        >>> Option("lanes", int | None).why_not((16,))
        >>> Option("lanes", int | None).why_not(("x",))
        'expected a whole number, got x'
        >>> Option("tile", tuple[int, ...]).why_not((8, 8))
        >>> Option("lanes", int).why_not((True,))
        'expected a whole number, got true'
        >>> Option("unroll", bool).why_not(())
        'expected true or false, got none'
        """
        if not values and self.is_optional:
            return None
        if any(_is_one(values, kind) for kind in self.kinds):
            return None
        wanted = " or ".join(_described(kind)[0] for kind in self.kinds)
        return f"expected {wanted}, got {','.join(map(_text, values)) or 'none'}"


def options_of(made: type[Any]) -> dict[str, Option]:
    """Return the options of a pass or a target by the names that users write."""
    types = get_type_hints(made)
    found = (
        Option(x.name, types[x.name], None if x.default is MISSING else x.default)
        for x in fields(made)
        if x.init
    )
    return {option.name: option for option in found}


def _is_one(values: ParameterListType, kind: Any) -> bool:
    """Whether values are one of a type, or several of them, as its tuples hold."""
    wanted = get_args(kind) if get_origin(kind) is tuple else (kind,)
    if bool not in wanted and any(isinstance(value, bool) for value in values):
        return False
    if len(values) == 1 and isa(values[0], kind):
        return True
    return isa(values, kind)


def _described(kind: Any) -> tuple[str, str]:
    """Return what a type takes: in words, and as help has it."""
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        return either(parts), "|".join(map(str, parts))
    if get_origin(kind) is tuple:
        return "numbers with commas between them", f"{_described(parts[0])[1]},.."
    return KINDS.get(kind, (str(kind), str(kind)))


def _text(value: ParameterType) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_specs(source: Source) -> tuple[tuple[int, ArgSpec], ...]:
    """The names and options in `source`, in order, and where each begins.

    Raises:
        CompileError: It is no list of names with options.
    """
    text, kept = readable(source.text)
    starts: list[int] = []
    try:
        for start, name, is_repeated in _names(text):
            if is_repeated:
                message = f"expected option {name} once"
                raise wrong(source, message, kept[start], len(name))
            starts.append(kept[start])
        specs = tuple(parse_pipeline(text))
    except ArgSpecParseError as error:
        # The exception keeps only the text that xDSL would print.
        lines = str(error).splitlines()
        column = re.search(r":1:(\d+)$", lines[1])
        offset = kept[int(column[1]) - 1] if column else 0
        message = lines[-1].strip() or "expected names with options"
        if message == "Unknown token":
            found = source.text[offset]
            message = f"unexpected {found} outside of quotes"
            if found == '"':
                message = "expected the quotes to end"
        raise wrong(source, message, offset) from error
    except StopIteration as error:
        message = "expected the list of options to end"
        raise wrong(source, message, len(source.text)) from error
    return tuple(zip(starts, specs, strict=True))


def _names(text: str) -> Iterator[tuple[int, str, bool]]:
    """Where names of passes are, and options that stand a second time for one pass.

    >>> [*_names("a{x=1 y=2},b{x=1 x=2}")]
    [(0, 'a', False), (11, 'b', False), (17, 'x', True)]
    """
    lexer, before = PipelineLexer(text), SpecTokenKind.COMMA
    options: set[str] | None = None
    while (token := lexer.lex()).kind is not SpecTokenKind.EOF:
        name = token.span.text
        if token.kind in (SpecTokenKind.L_BRACE, SpecTokenKind.R_BRACE):
            options = set() if token.kind is SpecTokenKind.L_BRACE else None
        elif options is None and before is SpecTokenKind.COMMA:
            yield token.span.start, name, False
        elif options is not None and before in _BEFORE_OPTION:
            if (written := name.replace("-", "_")) in options:
                yield token.span.start, name, True
            options.add(written)
        before = token.kind


def readable(text: str) -> tuple[str, list[int]]:
    """Return a text as xDSL reads it, and where its characters and its end come from.

    xDSL takes no space around a comma, and a value with options, or the name of a file,
    only in quotes:

    >>> readable(" canonicalize, p{ tile=8, 16 device=any{n=1} f=a.toml } ")[0]
    'canonicalize,p{tile=8,16 device="any{n=1}" f="a.toml"}'
    """
    quotes: set[int] = set()
    plain = text
    for found in _NESTED.finditer(text):
        if not found[0].startswith('"'):
            start, end = found.span()
            quotes |= {start, end}
            plain = plain[:start] + "x" * (end - start) + plain[end:]
    dropped: set[int] = set()
    for found in _SPACES.finditer(plain):
        if not found[0].startswith('"'):
            dropped |= {x for x in range(*found.span()) if text[x].isspace()}
    kept: list[tuple[str, int]] = []
    for place, character in enumerate(text):
        if place in quotes:
            kept.append(('"', place))
        if place not in dropped:
            kept.append((character, place))
    if len(text) in quotes:
        kept.append(('"', len(text)))
    return "".join(x for x, _ in kept), [*(place for _, place in kept), len(text)]


def make(
    source: Source,
    spec: ArgSpec,
    known: Mapping[str, Callable[[], type[T]]],
    what: str,
    offset: int = 0,
) -> T:
    """The "pass" or "target" that a part of `source`, from `offset` on, names.

    Raises:
        CompileError: There is none of this name, or it does not take these options.
    """

    def refuse(message: str) -> CompileError:
        return wrong(source, message, offset, len(spec.name))

    if spec.name not in known:
        near = near_match(spec.name, known)
        if not near and what == "target":
            near = f" (have {', '.join(known)})"
        raise refuse(f"unknown {what} '{spec.name}'{near}")
    try:
        made = known[spec.name]()
    except Exception as error:
        raise refuse(f"{what} '{spec.name}' cannot be loaded: {error}") from error
    options = options_of(made)
    for written, values in spec.parameters.items():
        name = written.replace("_", "-")
        if name not in options:
            expected = f"expected one of {', '.join(options)}"
            near = near_match(name, options, owner=spec.name)
            hint = near or f", {expected if options else 'which has none'}"
            raise refuse(f"unknown option '{name}' of {spec.name}{hint}")
        if reason := options[name].why_not(values):
            raise refuse(f"option {name} of {spec.name}: {reason}")
    try:
        return made.from_spec(spec)
    except ValueError as error:
        raise refuse(f"{spec.name}: {error}") from error


def wrong(source: Source, message: str, offset: int, width: int = 1) -> CompileError:
    """The error that `source` has a mistake at `offset`, in characters."""
    return CompileError(Diagnostic(Kind.USAGE, message, source.place(offset, width)))
