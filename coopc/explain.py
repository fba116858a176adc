"""From whatever was raised to the diagnostic that says it to a user.

The only place that does so: `of_parser` for what is raised while text is read,
`of_step` and `explaining` for checks, passes and targets.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import (
    DiagnosticException,
    MultipleSpansParseError,
    ParseError,
    VerifyException,
)
from xdsl.utils.lexer import Span

from coopc.diagnostic import CompileError, Diagnostic, Kind, Note, Place
from coopc.source import Source
from coopc.xdsl_gaps import blamed, blaming, notes_at

DEBUG_VARIABLE = "COOPC_DEBUG"
"""The environment variable that shows the Python traceback of every error."""

DEBUG = f"{DEBUG_VARIABLE}=1 shows where"
REPORT = f"this is a mistake in coopc, please report it; {DEBUG}"


def debugging() -> bool:
    return os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")


def place_of_span(span: Span[str] | Span[bytes], source: Source) -> Place:
    """Where `span` is; `source` is what was parsed."""
    if span.input.name != source.name:
        # The text of a pipeline, or a string within the text.
        text = str(span.input.content)
        return Source(text, span.input.name).place(span.start, len(span))
    return source.place(span.start, len(span))


def of_parser(error: Exception, source: Source, position: int) -> Diagnostic:
    """The diagnostic for what was raised when `source` was read up to `position`."""
    match error:
        case MultipleSpansParseError():
            notes = tuple(
                Note(
                    message or error.ref_text or "see here", place_of_span(ref, source)
                )
                for ref, message in error.refs
            )
            place = place_of_span(error.span, source)
            return Diagnostic(Kind.PARSE, error.msg, place, notes)
        case ParseError(span=span, msg=message):
            if span.start >= len(source.text) > 0:
                message += ", got the end of the text"
            return Diagnostic(Kind.PARSE, message, place_of_span(span, source))
        case VerifyException():
            position = error.__dict__.get("position", position)
            return Diagnostic(Kind.VERIFY, str(error), source.place(position))
        case RecursionError():
            message = "brackets are nested too deeply"
        case _ if author_of(error) == "xdsl":
            # xDSL meets some malformed text with other exceptions.
            what = error.__dict__.get("operation", "text")
            position = error.__dict__.get("position", position)
            message = f"expected {what} as xDSL reads it: {reason(error)}"
        case _:
            kind, note = blame_for(error)
            place = source.place(position)
            return Diagnostic(kind, summary(error), place, (Note(note),))
    return Diagnostic(Kind.PARSE, message, source.place(position))


def author_of(error: BaseException) -> str:
    """The package whose code raised `error`, itself or in Python's library."""
    library = sys.stdlib_module_names | {"numpy"}
    found = ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in library:
            found = package
    return found


def blame_for(error: BaseException, step: object = None) -> tuple[Kind, str]:
    """Whose mistake an exception is that is no diagnostic, in words."""
    module = "" if step is None else type(step).__module__
    if (author := module.partition(".")[0]) in ("", "xdsl"):
        # What is found after a pass of xDSL may be due to a pattern of coopc's.
        author = "" if isinstance(error, VerifyException) else author_of(error)
        module = module if author == "xdsl" and module else author
    if author in ("", "coopc"):
        return Kind.INTERNAL, REPORT
    return Kind.FOREIGN, f"this is a mistake in {module}, not coopc's; {DEBUG}"


def reason(error: BaseException) -> str:
    """What `error` says, or what was asserted where it says nothing."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, AssertionError) and not str(error) and frames[-1].line:
        return f"it demands {frames[-1].line.removeprefix('assert ').rstrip('(, ')}"
    return summary(error)


def summary(error: BaseException) -> str:
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name


def of_step(
    error: BaseException, kind: Kind, source: Source, what: str, step: object = None
) -> Diagnostic:
    """The diagnostic for what a step, which is `what` in words, raised.

    It is of `kind` where the error says in words what went wrong.
    """
    if isinstance(error, CompileError):
        return error.diagnostic
    place, name = Place(source.name), ""
    if (blame := blamed(error)) is not None:
        op, _ = blame
        place, name = place_of_op(op, source), f"{op.name}: "
    notes = (
        *(Note(note, place_of_op(op, source)) for op, note in notes_at(error)),
        *(Note(note) for note in getattr(error, "__notes__", ())),
    )
    match error:
        case DiagnosticException():
            return Diagnostic(kind, f"{name}{error}", place, notes)
        case ParseError():
            return replace(of_parser(error, source, 0), notes=notes)
        case RecursionError():
            message = f"{name}operations are nested too deeply"
            return Diagnostic(kind, message, place, notes)
        case MemoryError():
            return Diagnostic(kind, "out of memory", place, notes)
        case _:
            kind, note = blame_for(error, step)
            notes = (*notes, Note(f"in {what}; {note}"))
            return Diagnostic(kind, f"{name}{summary(error)}", place, notes)


@contextmanager
def explaining(
    kind: Kind, source: Source, what: str, step: object = None
) -> Generator[None]:
    """Raise whatever a step raises as the `CompileError` of `of_step`."""
    try:
        with blaming():
            yield
    except Exception as error:
        raise CompileError(of_step(error, kind, source, what, step)) from error


def wrong_call(tool: str, message: str) -> CompileError:
    return CompileError(Diagnostic(Kind.USAGE, message, Place(tool)))


@contextmanager
def usage_errors(
    tool: str, *kinds: type[Exception], about: str = ""
) -> Generator[None]:
    """Take a `ValueError`, and exceptions of other kinds, for mistakes of the user."""
    try:
        yield
    except (ValueError, *kinds) as error:
        message = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{error.filename}: {error.strerror}"
        message = f"{about}: {message}" if about else message
        raise wrong_call(tool, message) from error


def place_of_op(op: Operation, source: Source) -> Place:
    """Where `op` was written, as far as it is known."""
    while (location := file_location(op.location)) is None:
        if (parent := op.parent_op()) is None:
            return Place(source.name)
        op = parent
    file = location.filename.data
    line, column = location.line.data, location.column.data
    if file == source.name:
        return source.place_in_line(line, column)
    return Place(file, line, column)


def file_location(location: Attribute) -> FileLineColLoc | None:
    """The first position in a file that `location` names, or None."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return file_location(location.location)
        case CallSiteLoc():
            return file_location(location.callee) or file_location(location.caller)
        case FusedLoc(locations=ArrayAttr() as locations):
            found = (file_location(each) for each in locations)
            return next((each for each in found if each is not None), None)
        case _:
            return None
