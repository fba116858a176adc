"""What a user is told when something is wrong: one message, with its place.

    gemm.mlir:12:8: error: expected b to have K = 16 rows, got 8
      %d = coopmatrix.mul_add %a, %b, %c : ...
           ^
    gemm.mlir:3:8: note: b is defined here

A `Diagnostic` is a value.  `CompileError` carries one through Python; nothing else
that coopc raises at a user does.  What turns other exceptions into it is
`coopc.explain`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, auto

from coopc.renamed import canonical_name

MAX_SOURCE_COLUMNS = 120
"""A longer line of source is shown in part, around the caret."""


class Kind(StrEnum):
    """At which step something was wrong."""

    USAGE = auto()
    """The command line, or the call from Python."""
    INPUT = auto()
    """The input cannot be read."""
    PARSE = auto()
    """The input is read, but is no IR."""
    VERIFY = auto()
    """It is IR, but not valid."""
    PASS = auto()
    """A pass cannot do what it was asked to."""
    EMIT = auto()
    """A target cannot say what the IR says."""
    OUTPUT = auto()
    """The output cannot be written."""
    FOREIGN = auto()
    """A mistake in a plug-in, or in xDSL."""
    INTERNAL = auto()
    """A mistake in coopc."""


@dataclass(frozen=True)
class Place:
    """A place in a file, as far as it is known."""

    file: str
    """Its name, as the user gave it."""
    line: int | None = None
    """From 1."""
    column: int | None = None
    """From 1, in characters."""
    text: str | None = None
    """The whole line of source."""
    width: int = 1
    """How many characters the caret marks, at least 1."""

    def __str__(self) -> str:
        known = (part for part in (self.line, self.column) if part is not None)
        return ":".join((self.file or "''", *map(str, known)))

    def excerpt(self) -> Iterable[str]:
        """The line of source and the carets under it; nothing if there is no source."""
        if not self.text or self.column is None:
            return
        text = "".join(c if c.isprintable() or c == "\t" else "?" for c in self.text)
        start = min(self.column - 1, len(text))
        if len(text) > MAX_SOURCE_COLUMNS:
            cut = max(0, start - MAX_SOURCE_COLUMNS // 2)
            end = cut + MAX_SOURCE_COLUMNS
            dots = ("..." if cut else "", "..." if end < len(text) else "")
            text = text[cut:end].join(dots)
            start += len(dots[0]) - cut
        # Tabs stay tabs, so that the caret stands under its character.
        indent = "".join("\t" if c == "\t" else " " for c in text[:start])
        yield f"  {text}"
        yield f"  {indent}{'^' * max(1, min(self.width, len(text) - start))}"


@dataclass(frozen=True)
class Note:
    """What helps to understand a diagnostic."""

    message: str
    place: Place | None = None

    def lines(self) -> Iterable[str]:
        begin = "" if self.place is None else f"{self.place}: "
        yield f"{begin}note: {indented(self.message)}"
        if self.place is not None:
            yield from self.place.excerpt()


@dataclass(frozen=True)
class Diagnostic:
    """One error: where, what was expected and what was found."""

    kind: Kind
    message: str
    place: Place
    """A file and a position in it, or the name of a tool."""
    notes: tuple[Note, ...] = ()

    def lines(self) -> Iterable[str]:
        internal = "internal " if self.kind is Kind.INTERNAL else ""
        yield f"{self.place}: {internal}error: {indented(self.message)}"
        yield from self.place.excerpt()
        for note in self.notes:
            yield from note.lines()

    def __str__(self) -> str:
        return "\n".join(self.lines())


class CompileError(Exception):
    """The one exception that coopc raises at its users."""

    diagnostic: Diagnostic

    def __init__(self, diagnostic: Diagnostic):
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


def indented(message: str) -> str:
    """`message` with its further lines indented, so that it reads as one message."""
    return "\n  ".join(message.rstrip().splitlines())


def either(words: Iterable[object]) -> str:
    """Return words as a phrase.

    >>> either([4, 8, 16])
    '4, 8 or 16'
    """
    *most, last = map(str, words)
    return f"{', '.join(most)} or {last}" if most else last


def near_match(name: str, known: Iterable[str], owner: str = "") -> str:
    """A question to append to "unknown ...": which known name is meant, if one is near.

    `owner` is the pass whose options these are.

    >>> near_match("canonicalise", ["canonicalize", "cse"])
    ", did you mean 'canonicalize'?"
    >>> near_match("add-any-entry", ["add-fallback-entry"])
    ", did you mean 'add-fallback-entry' (renamed)?"
    >>> near_match("x", ["canonicalize", "cse"])
    ''
    """
    from difflib import get_close_matches

    known = list(known)
    scope = f"{owner}." if owner else ""
    new = canonical_name(f"{scope}{name}").removeprefix(scope)
    if new != name and new in known:
        return f", did you mean '{new}' (renamed)?"
    near = get_close_matches(name, known, n=1)
    return f", did you mean '{near[0]}'?" if near else ""
