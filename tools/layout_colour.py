"""Tables of layouts in colours for terminals: each place in the colour of its lane."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from coopc.layout.picture import colours, hexadecimal
from coopc.tools.layout_output import HEADER

COORDINATES = re.compile(r"\([^()]*\)")
OWNERS = re.compile(r"(?:B\d+:)?T(\d+):\d+")


def print_coloured(text: str, lanes: int) -> None:
    """Print tables on the standard output, which is a terminal.

    Args:
        text: hardware views, tensor views and tables of work-items.
        lanes: of a subgroup.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, soft_wrap=True, highlight=False)
    styles = [f"black on {hexadecimal(colour)}" for colour in colours(lanes)]
    found = Text()
    rule: list[tuple[int, int]] = []
    for line in text.splitlines(keepends=True):
        rule = columns(line) or rule
        coloured = Text(line, "bold" if line.startswith(HEADER) else "")
        for start, end, lane in places(line, lanes, rule):
            coloured.stylize(styles[lane], start, end)
        found.append_text(coloured)
    console.print(found, end="")


def columns(line: str) -> list[tuple[int, int]]:
    """Return where a table's columns are, if the line is the rule above them."""
    if not re.fullmatch(r"=+( =+)+\n?", line):
        return []
    return [match.span() for match in re.finditer("=+", line)][1:]


def places(
    line: str, lanes: int, rule: list[tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and lane of each place in a line.

    Args:
        line: of one of the tables.
        lanes: of a subgroup.
        rule: where the columns of the table of work-items are that the line is in.
    """
    if line.startswith((HEADER, "Warp", "Block", "=")):
        return
    if line.startswith((".", "p ")) and rule:
        for lane, (start, end) in enumerate(rule):
            if "-" not in line[start:end]:  # which is padding
                yield start, end, lane % lanes
    elif owners := [*OWNERS.finditer(line)]:
        for match in owners:
            yield *match.span(), int(match[1]) % lanes
    else:
        for lane, match in enumerate(COORDINATES.finditer(line)):
            yield *match.span(), lane % lanes
