"""Remarks: what was decided about an operation, for people."""

from __future__ import annotations

import sys

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation


def placed(op: Operation, text: str) -> str:
    """Return a remark about an operation, with its place."""
    place = ""
    if isinstance(at := op.location, FileLineColLoc):
        place = f"{at.filename.data}:{at.line.data}:{at.column.data}: "
    return f"{place}remark: {op.name}: {text}"


def remark_second_entry(op: Operation, name: str) -> None:
    """Print what a second entry point is for; its accesses have no remarks."""
    remark(op, f"@{name} moves all of memory lane by lane, and has no conditions")


def remark(op: Operation, text: str) -> None:
    """Print a remark about an operation, with its place, to the standard error."""
    print(placed(op, text), file=sys.stderr)
