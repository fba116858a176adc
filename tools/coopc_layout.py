"""coopc-layout: show which lane and register hold which element.

    coopc-layout -t "tensor<256x32xf16>" -l "#ttg.dot_op<{..}>" --use-hw-view
    coopc-layout -t "tensor<256x32xf16>" -i gemm.ttgir --alias-names dot_a,dot_b
    coopc-layout "!coopmatrix.matrix<4x15xf16, acc>" --subgroup-size 16
    coopc-layout "!coopmatrix.matrix<8x8xf16, a>" --compare coopmatrix row_slice
    coopc-layout -t "tensor<32x256xf16>" -l "#ttg.dot_op<{..}>" --plan

The first two print what Triton's `triton-tensor-layout` prints, and take its
spellings (`-use-hw-view`, `-alias-names=`) too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NoReturn, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FixedBitwidthType, NoneAttr, TensorType
from xdsl.ir import Attribute
from xdsl.utils.mlir_lexer import MLIRTokenKind

from coopc import device as devices
from coopc.diagnostic import CompileError, Diagnostic, Kind, Note, Place, near_match
from coopc.dialects.layout import rule_in
from coopc.dialects.narrow import is_tensor
from coopc.explain import usage_errors
from coopc.layout.distribution import Distribution, LayoutDistribution
from coopc.layout.dpas import CHANNEL_BITS, DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import Encoding
from coopc.layout.exchange import ABSENT, ExchangePlan, Shuffle
from coopc.layout.family import (
    Family,
    MatrixSpec,
    Rule,
    check_channel,
    distribution,
    linear_of,
)
from coopc.layout.linear import LinearLayout
from coopc.layout.show import (
    Comparison,
    Paint,
    Placement,
    comparison_text,
    hardware_view,
    plain,
    tensor_view,
    work_item_table,
)
from coopc.layout.strided import StridedLayout
from coopc.parsing import LocatedParser, reading
from coopc.source import Source, read_source
from coopc.tools.driver import (
    ArgumentParser,
    RawHelpFormatter,
    run_tool,
    whole_number,
    write_output,
)
from coopc.tools.help import add_about
from coopc.universe import COOPC_UNIVERSE

TOOL = "coopc-layout"
FORMATS = ("table", "json", "bases", "svg", "png")
Wish: TypeAlias = Literal["cheapest", "fewest"]
"""What a plan of messages is to be: of few instructions, or of few messages."""
WISHES: tuple[Wish, ...] = ("cheapest", "fewest")
ORDERS = ("row_major", "column_major")
"""Which dimension of a tensor is contiguous in memory: the last one, or the other."""
USAGE = f"""\
usage: {TOOL} -t TENSOR (-l LAYOUT | -i FILE [--alias-names NAME,..])
       {TOOL} MATRIX [--distribution NAME|LAYOUT] [--subgroup-size LANES]
       {TOOL} [TENSOR|MATRIX] --compare LAYOUT LAYOUT
       {TOOL} TENSOR [-l LAYOUT | -i FILE] --plan [{"|".join(WISHES)}]
                    [--order {"|".join(ORDERS)}] [--device NAME]
options: [--use-hw-view [--warp NUMBER]] [--format {"|".join(FORMATS)}]
         [-o FILE]"""


# --- Subjects. ---

DEFAULT_LANES = 16
"""The lanes of a subgroup where neither the layout nor the user says."""
MOST_PLACES = 1 << 22
"""More lanes times registers would not fit on any page, or in memory."""
SHORT_NAMES = ("coopmatrix", "row_slice", "dpas")
"""Families that need no `#layout.` before them."""
ALIAS = re.compile(r"^#[\w$.-]+(?=[ \t]*=)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Subject:
    """One layout of one tensor or matrix."""

    name: str
    """The attribute, with its alias where it has one; as `-l` and `-i` announce it."""
    type: str
    """What is laid out; empty where the layout says so itself."""
    layout: LinearLayout | Distribution
    element_bits: int = 32
    """Of what is laid out; as of a word where the layout stands alone."""

    @property
    def title(self) -> str:
        return f"{self.type}\n{self.name}" if self.type else self.name

    @property
    def described(self) -> str:
        return f"{self.name} of {self.type}" if self.type else self.name

    @property
    def subgroup_size(self) -> int:
        if isinstance(self.layout, LinearLayout):
            return self.layout.in_sizes.get("lane", 1)
        return self.layout.lanes

    def linear(self) -> LinearLayout:
        """Return the layout by its bases.

        Raises:
            ValueError: it has none.
        """
        if isinstance(self.layout, LinearLayout):
            return self.layout
        return linear_of(self.layout)

    def placement(self) -> Placement:
        if isinstance(self.layout, LinearLayout):
            return Placement.of_linear(self.layout)
        return Placement.of_distribution(self.layout)

    def distribution(self) -> Distribution:
        """Return the layout over all lanes of a work-group.

        Raises:
            ValueError: it is no matrix's.
        """
        if isinstance(self.layout, LinearLayout):
            return LayoutDistribution.of(self.layout)
        return self.layout


class LayoutParser(LocatedParser):
    def aliases(self) -> dict[str, Attribute]:
        """Return the aliases that the file defines, in order, with their `#`."""
        for match in ALIAS.finditer(self.source.text):
            if match[0] not in self.attribute_aliases:
                self._resume_from(match.start())
                self._parse_alias_def()
        names = [match[0] for match in ALIAS.finditer(self.source.text)]
        return {name: self.attribute_aliases[name] for name in names}

    def only(self) -> Attribute:
        """Return the one attribute or type that the text is."""
        found = self.parse_optional_type()
        if found is None:
            found = self.parse_optional_attribute()
        if found is None:
            self.raise_error(f"expected a type or a layout, got '{self.source.text}'")
        if self._current_token.kind != MLIRTokenKind.EOF:
            self.raise_error("expected the end of the text")
        return found


class LayoutReader:
    """Reads types and layouts, with the aliases of a file.

    Raises:
        CompileError: the file's aliases cannot be read.
    """

    def __init__(self, source: Source | None) -> None:
        self.context = Context(allow_unregistered=True)
        self.context.load_dialect(Builtin)
        for name, factory in COOPC_UNIVERSE.all_dialects.items():
            self.context.register_dialect(name, factory)
        self.known: dict[str, Attribute] = {}
        """The aliases, with their `#`."""
        if source is not None:
            with reading(source, lambda: LayoutParser(self.context, source)) as parser:
                self.known = parser.aliases()

    def read(self, text: str, where: str) -> Attribute:
        """Return the attribute or type that a text is, or the family that it names.

        Raises:
            CompileError: it is none; diagnostics call the text `where`.
        """
        if text in SHORT_NAMES:
            text = f"#layout.{text}"
        source = Source(text, where)
        with reading(source, lambda: LayoutParser(self.context, source)) as parser:
            parser.attribute_aliases |= self.known
            return parser.only()

    def named(self, names: Sequence[str], file: str) -> dict[str, Attribute]:
        """Return the layouts of the file that have a name; all of them for no name.

        Raises:
            CompileError: there is none of that name, or it is no layout.
        """
        layouts = {
            name: attr for name, attr in self.known.items() if rule_in(attr) is not None
        }
        for name in names:
            if f"#{name}" not in self.known:
                near = near_match(f"#{name}", layouts)
                raise unfit(f"expected an alias of the file, got #{name}{near}", file)
            if f"#{name}" not in layouts:
                attr = self.known[f"#{name}"]
                raise unfit(f"expected #{name} to be a layout, got {attr}", file)
        if not layouts:
            raise unfit("expected aliases that are layouts, got none", file)
        return {f"#{name}": layouts[f"#{name}"] for name in names} or layouts


def unfit(message: str, where: str) -> CompileError:
    return CompileError(Diagnostic(Kind.INPUT, message, Place(where)))


def subject_of(
    layout: Attribute, type: Attribute | None, lanes: int | None, name: str = ""
) -> Subject:
    """Lay a type out; without one, the layout must know its own shape.

    Lanes that are None are what the layout says, else `DEFAULT_LANES`; `name` is its
    alias.

    Raises:
        ValueError: the layout does not fit the type or the lanes.
    """
    rule = rule_in(layout)
    if rule is None:
        raise ValueError(f"expected a layout, got {layout}")
    if type is None and isinstance(rule, Family | Encoding):
        raise ValueError(f"expected a tensor or a matrix for {layout}, got none")
    found, bits = _laid_out(rule, type, lanes)
    places = (
        1 << found.in_bits
        if isinstance(found, LinearLayout)
        else found.lanes * found.components
    )
    if places > MOST_PLACES:
        raise ValueError(f"expected at most {MOST_PLACES} places, got {places}")
    announced = f"{name} = {layout}" if name else str(layout)
    if is_tensor(type):
        type = TensorType(type.get_element_type(), type.get_shape())
    subject = Subject(announced, "" if type is None else str(type), found, bits)
    # Families and matrices have the lanes that they are asked for.
    if lanes not in (None, subject.subgroup_size):
        raise ValueError(
            f"expected {subject.subgroup_size} lanes, as the layout has, got {lanes}"
        )
    return subject


def _laid_out(
    rule: Rule, type: Attribute | None, lanes: int | None
) -> tuple[LinearLayout | Distribution, int]:
    """The layout of a type, or of its own shape, and the bits of an element."""
    if type is None:
        assert not isinstance(rule, Family | Encoding), rule
        own = isinstance(rule, StridedLayout)
        return (LayoutDistribution.of(rule) if own else rule), 32
    if not is_tensor(type):
        matrix = _matrix(type)
        bits = matrix.element_bits
    else:
        shape = tuple(type.get_shape())
        if min(shape, default=0) < 1:
            raise ValueError(f"expected a tensor of static sizes, got {type}")
        bits = bits_of(type.get_element_type())
        if isinstance(rule, Encoding | LinearLayout):
            return _of_tensor(rule, shape, bits), bits or 64
        if len(shape) != 2:
            raise ValueError(f"expected a tensor of rank 2, got {len(shape)} in {type}")
        matrix = MatrixSpec(*shape, bits or 32, "none")
    if isinstance(rule, Family):
        lanes = lanes or DEFAULT_LANES
    return distribution(rule, matrix, lanes), bits or 64


def _of_tensor(
    rule: Encoding | LinearLayout, shape: tuple[int, ...], bits: int | None
) -> LinearLayout:
    if isinstance(rule, LinearLayout):
        sizes = tuple(rule.out_sizes.values())
        if sizes != shape:
            raise ValueError(
                f"expected a tensor of {'x'.join(map(str, sizes))}, as the layout is, "
                f"got {'x'.join(map(str, shape))}"
            )
        return rule
    if isinstance(rule, DotOperandEncoding) and isinstance(rule.parent, DpasEncoding):
        check_channel(rule.parent, rule.operand, bits or 0)
    return rule.linear(shape)


def _matrix(type: Attribute) -> MatrixSpec:
    from coopc.dialects.coopmatrix.elements import matrix_of
    from coopc.dialects.coopmatrix.types import MatrixType

    if not isinstance(type, MatrixType):
        raise ValueError(f"expected a tensor or a matrix, got {type}")
    if not type.is_static:
        raise ValueError(f"expected a matrix whose sizes are numbers, got {type}")
    return matrix_of(type)


def bits_of(element: Attribute) -> int | None:
    return element.bitwidth if isinstance(element, FixedBitwidthType) else None


def encoding_of(type: Attribute | None) -> Attribute | None:
    if not is_tensor(type) or isinstance(type.encoding, NoneAttr):
        return None
    return type.encoding


# --- Output. ---

MOST_CELLS = 1 << 15
"""Of a picture: it is written in some seconds, and looked at as a whole."""
LONGEST = 1 << 13
"""Cells in a row or a column of a picture."""
HEADER = "Print layout attribute: "
"""How the line above a layout begins, as in Triton's tool."""


def table(subject: Subject, hardware: bool, warp: int | None, paint: Paint) -> str:
    """Return a layout as text: a view of it, or the table of work-items.

    `warp` is the only subgroup to show of the hardware's view; None is all.
    """
    if not isinstance(subject.layout, LinearLayout):
        return work_item_table(subject.layout, paint)
    if hardware:
        warps = None if warp is None else [warp]
        return hardware_view(subject.layout, warps, paint)
    return tensor_view(subject.layout, paint)


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
    """Return layouts, and how two of them compare, as one object.

        {"layouts": [{"layout": "#ttg.dot_op<{..}>", "type": "tensor<256x32xf16>",
                      "shape": [256, 32],
                      "registers": 64, "lanes": 16, "warps": 32, "blocks": 1,
                      "bases": {"register": [[1, 0], ..], ..},     or null
                      "places": [[[[[0, 0], ..]]]]}]}

    `places` is indexed by block, subgroup, register and lane, and is null for padding.
    Of a comparison it also has

         "comparison": {"kept": 4, "renamed": 2, "moved": 26, "subgroup_size": 8,
                        "moves": [[[0, 1], [0, 1], [1, 0]], ..],
                        "plans": [{"kind": "shuffle", "cost": 62, "words": 3,
                                   "selects": 4,
                                   "steps": [{"select": [1, 0], "else": [0, 1],
                                              "lanes": [[1, 3], ..]},
                                             {"shuffle": [0, 1],
                                              "origins": [null, [1, 0, 3, 2]]}, ..],
                                   "places": [0, 1]}, ..]}

    where a move is the element, its (lane, register) in the first layout and that in
    the second.  A plan is one of `coopc.layout.exchange`, the first the one that is
    followed: each step gives a value for each number, of the values before it.
    `origins` is null for a value that lanes keep, a place is null for padding.
    """
    found: dict[str, Any] = {"layouts": [_layout_json(x) for x in subjects]}
    if comparison is not None:
        found["comparison"] = {
            **{fate.value: count for fate, count in comparison.counts().items()},
            "subgroup_size": subjects[0].subgroup_size,
            "moves": _moves(comparison),
            "plans": [_plan_json(plan) for plan in comparison.plans],
        }
    return json.dumps(found) + "\n"


def _layout_json(subject: Subject) -> dict[str, Any]:
    placement = subject.placement()
    names = None
    with suppress(ValueError):
        linear = subject.linear()
        names = {name: linear.bases(name) for name in linear.in_names}
    return {
        "layout": subject.name,
        "type": subject.type,
        "shape": placement.shape,
        **{f"{name}s": size for name, size in placement.sizes.items()},
        "bases": names,
        "places": placement.lists(),
    }


def _moves(x: Comparison) -> list[list[list[int]]]:
    import numpy as np

    owners = np.stack(x.owners(), axis=-1)  # by layout, row, column: lane, register
    moved = np.argwhere((owners[0] != owners[1]).any(axis=-1))
    return [[[r, c], *owners[:, r, c].tolist()] for r, c in moved.tolist()]


def _plan_json(x: ExchangePlan) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    for step in x.steps:
        if isinstance(step, Shuffle):
            steps.append({"shuffle": step.values, "origins": step.origins})
            continue
        lanes = [[lane for lane, x in enumerate(where) if x] for where in step.where]
        steps.append({"select": step.taken, "else": step.other, "lanes": lanes})
    return {
        "kind": x.kind,
        "cost": x.cost,
        "words": x.words,
        "selects": x.selects,
        "steps": steps,
        "places": [None if place == ABSENT else place for place in x.places],
    }


def in_colours(lanes: int) -> Paint:
    """Return what colours texts of so many lanes, by escapes of terminals."""
    from coopc.layout.picture import colours

    found = [
        ";".join(str(round(255 * part)) for part in colour) for colour in colours(lanes)
    ]
    return lambda text, lane: f"\x1b[30;48;2;{found[lane % lanes]}m{text}\x1b[0m"


# --- The tool. ---


class LayoutArguments(ArgumentParser):
    """The command line; what is wrong with it comes with the usage."""

    def error(self, message: str) -> NoReturn:
        raise CompileError(Diagnostic(Kind.USAGE, message, Place(TOOL), (Note(USAGE),)))


def parser() -> LayoutArguments:
    found = LayoutArguments(
        prog=TOOL,
        description=__doc__,
        usage=USAGE.removeprefix("usage: "),
        formatter_class=RawHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = found.add_argument_group("what is laid out, and how").add_argument
    add("shape", nargs="?", metavar="MATRIX", help="a matrix or tensor type")
    add("-t", dest="tensor", metavar="TENSOR", help="the same, as an option")
    add("-l", dest="layout", help="a layout: an attribute of layout, ttg, or ttig")
    add("-i", dest="file", metavar="FILE", help="a file whose aliases are layouts")
    names = partial(add, action="append", metavar="NAME,..")
    names("--alias-names", default=[], help="only these aliases of the file")
    names("-alias-names", dest="alias_names", help=argparse.SUPPRESS)
    what = f"how a matrix is spread: {', '.join(SHORT_NAMES)}, or any layout"
    add("--distribution", metavar="NAME", help=what)
    what = "lanes, where the layout does not say (default: 16)"
    add("--subgroup-size", type=whole_number(1), metavar="LANES", help=what)
    add = found.add_argument_group("what is shown").add_argument
    view = partial(add, action="store_true", dest="use_hw_view")
    what = "a line for each register of each subgroup, not for each row"
    view("--use-hw-view", help=what)
    view("-use-hw-view", help=argparse.SUPPRESS)
    what = "only this subgroup of the hardware view"
    add("--warp", type=whole_number(), metavar="NUMBER", help=what)
    add("--compare", nargs=2, metavar="LAYOUT", help="where two layouts differ")
    add = found.add_argument_group("2D block load plans").add_argument
    what = "minimize instructions (cheapest, the default) or messages (fewest)"
    add("--plan", nargs="?", choices=WISHES, const="cheapest", help=what)
    what = f"how the tensor is in memory (default: {ORDERS[0]})"
    add("--order", choices=ORDERS, help=what)
    add("--device", metavar="NAME", help="whose messages (default: bmg)")
    add = found.add_argument_group("output").add_argument
    what = f"{'|'.join(FORMATS)} (default: from FILE's suffix, or table)"
    add("--format", choices=FORMATS, metavar="FORMAT", help=what)
    add("-o", dest="output", metavar="FILE", help="where to write")
    about = found.add_argument_group("about the tool").add_argument
    about("-h", "--help", action="help", help="print this, and exit")
    add_about(about, "devices", fits=lambda device: device.block_io is not None)
    return found


class Show:
    def __init__(self, args: Sequence[str] | None):
        self.parser = parser()
        self.args = self.parser.read(args)
        self.check()
        path = self.args.file
        source = None if path is None else read_source(path)
        self.reader = LayoutReader(source)

    def check(self) -> None:
        args = self.args
        if args.shape is not None and args.tensor is not None:
            self.parser.error("expected one type, got two: of -t and without an option")
        if args.layout is not None and args.distribution is not None:
            self.parser.error("expected one of -l and --distribution, got both")
        if args.alias_names and args.file is None:
            self.parser.error("expected a file (-i) for --alias-names, got none")
        for option, given, only, wanted in (
            ("--device", args.device, "--plan", args.plan),
            ("--order", args.order, "--plan", args.plan),
            ("--warp", args.warp, "--use-hw-view", args.use_hw_view),
        ):
            if given is not None and not wanted:
                self.parser.error(f"expected {option} only with {only}, got it without")
        if args.plan and (args.compare or args.use_hw_view):
            other = "--compare" if args.compare else "--use-hw-view"
            self.parser.error(f"expected --plan or {other}, got both")
        self.format = self.format_of(args)
        if args.plan and self.format != "table":
            self.parser.error(
                f"expected --format table of --plan, which is text, got {self.format}"
            )
        if args.compare and self.format == "bases":
            self.parser.error(
                "expected table, json, svg or png of --compare, got bases"
            )

    def format_of(self, args: argparse.Namespace) -> str:
        """Return the format: that of --format, of the name of the file, or a table."""
        suffix = os.path.splitext(args.output or "")[1].removeprefix(".")
        named = suffix if suffix in ("json", "svg", "png") else None
        if args.format is not None and named not in (None, args.format):
            self.parser.error(
                f"expected a file for --format {args.format}, got {args.output}"
            )
        return args.format or named or "table"

    def run(self) -> None:
        """Do what the arguments ask for.

        Raises:
            CompileError: something is wrong with them.
        """
        args, shape = self.args, self.shape()
        if args.plan:
            self.write(self.plans(shape))
            return
        if args.compare:
            subjects = [self.operand(text, shape) for text in args.compare]
            self.compare(subjects)
            return
        subjects = [self.laid_out(x, shape, name) for name, x in self.layouts(shape)]
        if (warp := args.warp) is not None:
            for warps in (x.placement().sizes["warp"] for x in subjects):
                if warp >= warps:
                    message = f"expected --warp below {warps}, got {warp}"
                    raise unfit(message, TOOL)
        match self.format:
            case "json":
                self.write(as_json(subjects))
            case "svg" | "png" as format:
                drawn = self.drawn(subjects, format)
                write_output(args.output, drawn)
            case "bases":
                self.write(self.announced(subjects, lambda x: f"{x.linear()}\n"))
            case _:
                view, paint = args.use_hw_view, plain
                if coloured := args.output in (None, "-") and sys.stdout.isatty():
                    paint = in_colours(max(x.subgroup_size for x in subjects))
                text = self.announced(
                    subjects, lambda x: table(x, view, args.warp, paint)
                )
                self.write(text, coloured)

    def shape(self) -> Attribute | None:
        text = self.args.shape if self.args.tensor is None else self.args.tensor
        where = "MATRIX" if self.args.tensor is None else "-t"
        return None if text is None else self.read(text, where)

    def read(self, text: str, where: str) -> Attribute:
        """Read a type or a layout; what is neither comes with the usage."""
        try:
            return self.reader.read(text, where)
        except CompileError as error:
            if error.diagnostic.place.column == 1:
                known = ""
                if where in ("--distribution", "--compare", "-l"):
                    near = near_match(text, SHORT_NAMES)
                    known = near or f", as in {', '.join(SHORT_NAMES)}"
                self.parser.error(f"{where}: {error.diagnostic.message}{known}")
            raise

    def layout(self, found: Attribute | str, where: str) -> Attribute:
        """A layout, which may be given as text."""
        found = self.read(found, where) if isinstance(found, str) else found
        if rule_in(found) is None:
            self.parser.error(f"{where}: expected a layout, got {found}")
        return found

    def layouts(self, shape: Attribute | None) -> list[tuple[str, Attribute]]:
        args = self.args
        found: list[tuple[str, Attribute]] = []
        if args.file is not None:
            names = [name for each in args.alias_names for name in each.split(",")]
            found += self.reader.named(names, args.file).items()
        text = args.distribution if args.layout is None else args.layout
        if text is not None:
            where = "--distribution" if args.layout is None else "-l"
            found.append(("", self.layout(text, where)))
        if found:
            return found
        if shape is None:
            self.parser.error("expected a type or a layout, got neither")
        return [("", self.default_layout(shape))]

    def plans(self, shape: Attribute | None) -> str:
        args = self.args
        device, order = args.device or "bmg", args.order or ORDERS[0]
        try:
            devices.device(device)
        except ValueError as error:
            self.parser.error(str(error))
        texts: list[str] = []
        for name, layout in self.layouts(shape):
            subject = self.laid_out(layout, shape, name)
            with usage_errors(TOOL, about=name):
                text = planned(subject, layout, shape, order, args.plan, device)
            texts.append(f"{name}: {text}" if name else text)
        return "\n".join(texts)

    def default_layout(self, shape: Attribute) -> Attribute:
        if (encoding := encoding_of(shape)) is not None:
            return encoding
        if shape.name == "coopmatrix.matrix":
            return self.reader.read("coopmatrix", "--distribution")
        if shape.name == "tensor":
            self.parser.error(f"expected a layout (-l or -i) of {shape}, got none")
        return shape  # which may be a layout itself

    def operand(self, text: str, shape: Attribute | None) -> Subject:
        """Return one side of a comparison: a layout, or a type with its own."""
        found = self.read(text, "--compare")
        if found.name == "coopmatrix.matrix" or encoding_of(found) is not None:
            given = self.args.distribution
            layout = (
                self.default_layout(found)
                if given is None
                else self.layout(given, "--distribution")
            )
            return self.laid_out(layout, found)
        return self.laid_out(self.layout(found, "--compare"), shape)

    def laid_out(
        self, layout: Attribute, shape: Attribute | None, name: str = ""
    ) -> Subject:
        """Return a layout of a type; what does not fit is an error."""
        shape = None if shape is layout else shape
        lanes = self.args.subgroup_size
        with usage_errors(TOOL, about=name):
            return subject_of(layout, shape, lanes, name)

    def compare(self, subjects: Sequence[Subject]) -> None:
        a, b = subjects
        if self.format in ("svg", "png"):
            write_output(self.args.output, self.drawn(subjects, self.format))
            return
        if a.subgroup_size != b.subgroup_size:
            raise unfit(
                f"expected two layouts over the same lanes, got {a.subgroup_size} and "
                f"{b.subgroup_size}",
                TOOL,
            )
        # Elements that change their width are exchanged while they are narrow.
        bits = min(a.element_bits, b.element_bits)
        with usage_errors(TOOL):
            pair = a.distribution(), b.distribution()
            found = Comparison.of(*pair, a.subgroup_size, bits)
        if self.format == "json":
            self.write(as_json(subjects, found))
        else:
            names = f"A: {a.described}\nB: {b.described}\n"
            self.write(names + comparison_text(found))

    def announced(
        self, subjects: Sequence[Subject], text: Callable[[Subject], str]
    ) -> str:
        """Return texts of layouts, each under its name where it was given by one."""
        named = self.args.layout is not None or self.args.file is not None
        after = "\n" if self.args.alias_names else ""
        with usage_errors(TOOL):
            return "".join(
                (f"{HEADER}{x.name}\n" if named else "") + text(x) + after
                for x in subjects
            )

    def drawn(self, subjects: Sequence[Subject], format: str) -> bytes:
        try:
            kind = "svg" if format == "svg" else "png"
            warp = self.args.warp or 0
            view = self.args.use_hw_view
            with usage_errors(TOOL):
                return pictures(subjects, kind, view, warp)
        except ImportError as error:
            message = (
                f"expected matplotlib for --format {format}, as in coopc[pictures]"
            )
            raise unfit(f"{message}, got: {error}", TOOL) from error

    def write(self, text: str, coloured: bool = False) -> None:
        if not coloured:
            write_output(self.args.output, text.encode())
            return
        from rich.console import Console
        from rich.text import Text

        # It knows which colours the terminal has.
        console = Console(file=sys.stdout, soft_wrap=True, highlight=False)
        console.print(Text.from_ansi(text), end="")


def planned(
    subject: Subject,
    layout: Attribute,
    shape: Attribute | None,
    order: str,
    wish: Wish,
    device: str,
) -> str:
    """Return the messages that load a tensor, contiguous in memory by one of `ORDERS`.

    Raises:
        ValueError: it is no tensor of rank 2, or no message gives its lanes what they
            hold.
    """
    from coopc.plan.block2d import BlockPlan, display_of
    from coopc.plan.search import Request, plan

    if not is_tensor(shape):
        raise ValueError(f"expected a tensor to plan, got {shape}")
    if not isinstance(subject.layout, LinearLayout):
        raise ValueError(f"expected a linear layout to plan, got {layout}")
    if len(shape.get_shape()) != 2:
        raise ValueError(f"expected a tensor of rank 2, got {shape}")
    if (bits := bits_of(shape.get_element_type())) is None:
        raise ValueError(f"expected elements of a known width, got {shape}")
    operand, channel = _operand(rule_in(layout), bits)
    contiguous = ORDERS[::-1].index(order)
    lanes = subject.subgroup_size
    run = max(1, operand[0] * operand[1] // lanes)
    if wish == "fewest":
        run, channel = 1, 0
    request = Request(subject.layout, contiguous, bits, run=run, channel_bits=channel)
    found = plan(request, devices.device(device).block_io)
    if not isinstance(found, BlockPlan):
        raise ValueError(f"{device} moves it lane by lane: {found}")
    messages = len(found.firsts)
    title = f"{messages} message{'s' * (messages > 1)} of {found.shape}\n\n"
    return title + str(display_of(found, operand))


def _operand(rule: object, bits: int) -> tuple[tuple[int, int], int]:
    """Return the sizes of one operand of DPAS, and the width of its components."""
    match rule:
        case DotOperandEncoding(parent=DpasEncoding() as parent):
            channel = CHANNEL_BITS if rule.op_idx else max(16, bits)
            fits = parent.ops_per_chan * bits == CHANNEL_BITS
            return parent.tile_shape(rule.operand), channel if fits else 0
        case DpasEncoding():
            return rule.tile_shape("c"), 0
        case Encoding() | LinearLayout():
            return (1 << 30, 1 << 30), 0
        case _:
            raise ValueError(f"expected the layout of a tensor, got {rule}")


def main(args: Sequence[str] | None = None) -> int:
    return run_tool(TOOL, lambda: Show(args).run())


if __name__ == "__main__":
    sys.exit(main())
