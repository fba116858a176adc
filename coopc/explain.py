"""From whatever was raised to the diagnostic that says it to a user.

The only place that does so: `of_parser` for what is raised while text is read, and
`of_step` for checks, passes and targets.
"""

from __future__ import annotations

import os
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
from coopc.xdsl_gaps import blamed, notes_at

DEBUG_VARIABLE = "COOPC_DEBUG"
"""The environment variable that shows the Python traceback of every error."""

REPORT = f"this is a mistake in coopc, please report it; {DEBUG_VARIABLE}=1 shows where"


def debugging() -> bool:
    """Whether the user asked for Python tracebacks."""
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
            message = "expected fewer brackets inside each other"
        case _ if is_ours(error):
            what = (Note(REPORT),)
            return Diagnostic(
                Kind.INTERNAL, summary(error), source.place(position), what
            )
        case _:
            # xDSL's parser meets some malformed text with other exceptions.
            message = f"expected valid text, got {summary(error)}"
    return Diagnostic(Kind.PARSE, message, source.place(position))


def is_ours(error: BaseException) -> bool:
    """Whether `error` is a mistake of a program, not of a text that xDSL has read."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    return isinstance(error, ImportError | NameError) or module.startswith("coopc.")


def summary(error: BaseException) -> str:
    """The class of `error` and its message, if it has one."""
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name


def of_step(error: BaseException, kind: Kind, source: Source, step: str) -> Diagnostic:
    """The diagnostic for what was raised by `step`: a check, a pass or a target."""
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
            message = f"{name}expected fewer operations inside each other"
            return Diagnostic(kind, message, place, notes)
        case MemoryError():
            return Diagnostic(kind, "expected more memory than there is", place, notes)
        case _:
            notes = (*notes, Note(f"in {step}; {REPORT}"))
            return Diagnostic(Kind.INTERNAL, f"{name}{summary(error)}", place, notes)


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
