"""Remarks: what was decided about an operation, for people."""

from __future__ import annotations

import sys

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation


def remark(op: Operation, text: str) -> None:
    """Print a remark about an operation, with its place, to the standard error."""
    place = ""
    if isinstance(at := op.location, FileLineColLoc):
        place = f"{at.filename.data}:{at.line.data}:{at.column.data}: "
    print(f"{place}remark: {op.name}: {text}", file=sys.stderr)
