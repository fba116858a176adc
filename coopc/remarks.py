"""Remarks: what passes decided about operations, without failing, for people.

    with remarks_to(found.append):
        Run(ctx, source).apply(module, steps)

Where nobody asks for them they are printed on the standard error, as in `coopc-opt`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

Sink: TypeAlias = Callable[[str], object]
"""Receives remarks, each a line without its end."""


LEFT_OUT = "it is left out"
"""What a remark says of an operation that has no effect any more."""


def print_remark(line: str) -> None:
    print(line, file=sys.stderr)


_sink: ContextVar[Sink] = ContextVar("remarks", default=print_remark)


@contextmanager
def remarks_to(sink: Sink) -> Generator[None]:
    """While this holds, `sink` receives the remarks of this thread, and no other."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)


def current_sink() -> Sink:
    """Return what receives remarks now."""
    return _sink.get()


def remark(op: Operation, text: str, *, by: str | None = None) -> None:
    """Emit a remark about an operation, at its place or else `by` a pass."""
    line = remark_line(op, text) if by is None else f"remark: {by}: {op.name}: {text}"
    _sink.get()(line)


def remark_line(op: Operation, text: str) -> str:
    """The line of a remark: `file:line:column: remark: operation: text`."""
    place = ""
    if isinstance(at := op.location, FileLineColLoc):
        place = f"{at.filename.data}:{at.line.data}:{at.column.data}: "
    return f"{place}remark: {op.name}: {text}"
