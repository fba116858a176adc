"""What `coopc-layout` writes: tables, in colours for terminals, JSON, bases, pictures.

The JSON is one object:

    {"layouts": [{"layout": "#ttg.dot_op<{..}>", "type": "tensor<256x32xf16>",
                  "shape": [256, 32],
                  "registers": 64, "lanes": 16, "warps": 32, "blocks": 1,
                  "bases": {"register": [[1, 0], ..], ..},     or null
                  "places": [[[[[0, 0], ..]]]]}]}

`places` is indexed by block, subgroup, register and lane, and is null for padding.  Of
a comparison it also has

     "comparison": {"kept": 4, "renamed": 2, "moved": 26, "subgroup_size": 8,
                    "moves": [[[0, 1], [0, 1], [1, 0]], ..],
                    "plans": [{"kind": "shuffle", "cost": 62, "words": 3, "selects": 4,
                               "steps": [{"select": [1, 0], "else": [0, 1],
                                          "lanes": [[1, 3], ..]},
                                         {"shuffle": [0, 1],
                                          "origins": [null, [1, 0, 3, 2]]}, ..],
                               "places": [0, 1]}, ..]}

where a move is the element, its (lane, register) in the first layout and that in the
second.  A plan is one of `coopc.layout.exchange`, the first the one that is followed:
each step gives a value for each number, of the values before it.  `origins` is null for
a value that lanes keep, a place is null for padding.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

from coopc.layout.exchange import ABSENT, ExchangePlan, Shuffle, Step
from coopc.layout.family import linear_of
from coopc.layout.linear import LinearLayout
from coopc.layout.show import (
    Comparison,
    hardware_view,
    tensor_view,
    work_item_table,
)
from coopc.tools.layout_subjects import Subject

Format: TypeAlias = Literal["table", "json", "bases", "svg", "png"]
FORMATS: tuple[Format, ...] = ("table", "json", "bases", "svg", "png")
MOST_CELLS = 1 << 15
"""Of a picture: it is written in some seconds, and looked at as a whole."""
LONGEST = 1 << 13
"""Cells in a row or a column of a picture."""
HEADER = "Print layout attribute: "
"""How the line above a layout begins, as in Triton's tool."""
COORDINATES = re.compile(r"\([^()]*\)")
OWNERS = re.compile(r"(?:B\d+:)?T(\d+):\d+")


def table(subject: Subject, hardware: bool, warp: int | None) -> str:
    """Return a layout as text: a view of it, or the table of work-items.

    `warp` is the only subgroup to show of the hardware's view; None is all.
    """
    if not isinstance(subject.layout, LinearLayout):
        return work_item_table(subject.layout)
    if hardware:
        return hardware_view(subject.layout, None if warp is None else [warp])
    return tensor_view(subject.layout)


def bases(subject: Subject) -> str:
    """Return the bases of a layout, a line each.

    Raises:
        ValueError: it has none.
    """
    return f"{_linear(subject)}\n"


def _linear(subject: Subject) -> LinearLayout:
    if isinstance(subject.layout, LinearLayout):
        return subject.layout
    return linear_of(subject.layout)


def pictures(
    subjects: Sequence[Subject],
    format: Literal["svg", "png"],
    hardware: bool,
    warp: int,
) -> bytes:
    """Return pictures of layouts, below each other.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: a picture is too large.
    """
    from coopc.layout.picture import hardware_picture, render, tensor_picture

    drawn = [
        hardware_picture(
            x.placement(),
            f"{x.title}\nsubgroup {warp} of {x.placement().sizes['warp']}",
            warp,
        )
        if hardware
        else tensor_picture(x.placement(), x.title)
        for x in subjects
    ]
    for picture in drawn:
        rows, cols = picture.lanes.shape
        if rows * cols > MOST_CELLS or max(rows, cols) > LONGEST:
            raise ValueError(
                f"expected at most {MOST_CELLS} elements to draw, and {LONGEST} in a "
                f"row or a column, got {rows} x {cols}: tables and JSON hold more"
            )
    return render(drawn, format)


def as_json(subjects: Sequence[Subject], comparison: Comparison | None = None) -> str:
    found: dict[str, Any] = {"layouts": [_layout_json(x) for x in subjects]}
    if comparison is not None:
        found["comparison"] = _comparison_json(comparison, subjects[0].subgroup_size)
    return json.dumps(found) + "\n"


def _layout_json(subject: Subject) -> dict[str, Any]:
    placement = subject.placement()
    try:
        linear = _linear(subject)
    except ValueError:
        names = None
    else:
        names = {name: linear.bases(name) for name in linear.in_names}
    return {
        "layout": subject.name,
        "type": subject.type,
        "shape": placement.shape,
        **{f"{name}s": size for name, size in placement.sizes.items()},
        "bases": names,
        "places": placement.lists(),
    }


def _comparison_json(x: Comparison, subgroup_size: int) -> dict[str, Any]:
    lanes, registers = (array.tolist() for array in x.owners())
    moves = [
        [[row, col], [lanes[0][row][col], registers[0][row][col]], there]
        for row in range(x.source.rows)
        for col in range(x.source.cols)
        for there in ([lanes[1][row][col], registers[1][row][col]],)
        if there != [lanes[0][row][col], registers[0][row][col]]
    ]
    return {
        **{fate.value: count for fate, count in x.counts().items()},
        "subgroup_size": subgroup_size,
        "moves": moves,
        "plans": [_plan_json(plan) for plan in x.plans],
    }


def _plan_json(x: ExchangePlan) -> dict[str, Any]:
    return {
        "kind": x.kind,
        "cost": x.cost,
        "words": x.words,
        "selects": x.selects,
        "steps": [_step_json(step) for step in x.steps],
        "places": [None if place == ABSENT else place for place in x.places],
    }


def _step_json(step: Step) -> dict[str, Any]:
    if isinstance(step, Shuffle):
        return {"shuffle": step.values, "origins": step.origins}
    lanes = [[lane for lane, x in enumerate(where) if x] for where in step.where]
    return {"select": step.taken, "else": step.other, "lanes": lanes}


def print_coloured(text: str, lanes: int) -> None:
    """Print views and tables of work-items, of so many lanes, on a terminal."""
    from rich.console import Console
    from rich.text import Text

    from coopc.layout.picture import colours, hexadecimal

    console = Console(file=sys.stdout, soft_wrap=True, highlight=False)
    styles = [f"black on {hexadecimal(colour)}" for colour in colours(lanes)]
    found = Text()
    rule: list[tuple[int, int]] = []
    for line in text.splitlines(keepends=True):
        rule = table_columns(line) or rule
        coloured = Text(line, "bold" if line.startswith(HEADER) else "")
        for start, end, lane in places(line, lanes, rule):
            coloured.stylize(styles[lane], start, end)
        found.append_text(coloured)
    console.print(found, end="")


def table_columns(line: str) -> list[tuple[int, int]]:
    """Return where a table's columns are, if the line is the rule above them."""
    if not re.fullmatch(r"=+( =+)+\n?", line):
        return []
    return [match.span() for match in re.finditer("=+", line)][1:]


def places(
    line: str, lanes: int, rule: list[tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and lane of each place in a line of one of the tables.

    `rule` is where the columns of the table of work-items are that the line is in.
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
