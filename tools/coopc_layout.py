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
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NoReturn, TypeAlias

from xdsl.ir import Attribute

from coopc import device as devices
from coopc.diagnostic import CompileError, Diagnostic, Kind, Note, Place, near_match
from coopc.dialects.layout import rule_in
from coopc.layout.dpas import CHANNEL_BITS, DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import Encoding
from coopc.layout.linear import LinearLayout
from coopc.layout.show import Comparison, comparison_text
from coopc.source import read_source
from coopc.tools.driver import (
    ArgumentParser,
    RawHelpFormatter,
    run_tool,
    usage_errors,
    whole_number,
    write_output,
)
from coopc.tools.help import add_list
from coopc.tools.layout_output import (
    FORMATS,
    HEADER,
    as_json,
    bases,
    pictures,
    print_coloured,
    table,
)
from coopc.tools.layout_subjects import (
    SHORT_NAMES,
    LayoutReader,
    Subject,
    bits_of,
    encoding_of,
    is_tensor,
    subject_of,
    unfit,
)

TOOL = "coopc-layout"
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


class LayoutArguments(ArgumentParser):
    """The command line; what is wrong with it comes with the usage."""

    def __init__(self) -> None:
        super().__init__(
            prog=TOOL,
            description=__doc__,
            usage=USAGE.removeprefix("usage: "),
            formatter_class=RawHelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )
        self._add_subjects()
        self._add_views()
        self._add_plan()
        add = self.add_argument_group("output").add_argument
        formats = "|".join(FORMATS)
        add(
            "--format",
            choices=FORMATS,
            metavar="FORMAT",
            help=f"{formats} (default: as FILE is named, or table)",
        )
        add("-o", dest="output", metavar="FILE", help="where to write")
        about = self.add_argument_group("about the tool").add_argument
        about("-h", "--help", action="help", help="print this, and exit")
        add_list(about, "devices", fits=lambda device: device.block_io is not None)

    def _add_subjects(self) -> None:
        add = self.add_argument_group("what is laid out, and how").add_argument
        add("shape", nargs="?", metavar="MATRIX", help="a matrix or tensor type")
        add("-t", dest="tensor", metavar="TENSOR", help="the same, as an option")
        add("-l", dest="layout", help="a layout: an attribute of layout, ttg, or ttig")
        add("-i", dest="file", metavar="FILE", help="a file whose aliases are layouts")
        names = partial(add, action="append", metavar="NAME,..")
        names("--alias-names", default=[], help="only these aliases of the file")
        names("-alias-names", dest="alias_names", help=argparse.SUPPRESS)
        short = ", ".join(SHORT_NAMES)
        add(
            "--distribution",
            metavar="NAME",
            help=f"how a matrix is spread: {short}, or any layout",
        )
        add(
            "--subgroup-size",
            type=whole_number(1),
            metavar="LANES",
            help="lanes, where the layout does not say (default: 16)",
        )

    def _add_views(self) -> None:
        add = self.add_argument_group("what is shown").add_argument
        view = partial(add, action="store_true", dest="use_hw_view")
        view(
            "--use-hw-view",
            help="a line for each register of each subgroup, not for each row",
        )
        view("-use-hw-view", help=argparse.SUPPRESS)
        add(
            "--warp",
            type=whole_number(),
            metavar="NUMBER",
            help="only this subgroup of the hardware view",
        )
        add("--compare", nargs=2, metavar="LAYOUT", help="where two layouts differ")

    def _add_plan(self) -> None:
        add = self.add_argument_group("2D block messages that load it").add_argument
        add(
            "--plan",
            nargs="?",
            choices=WISHES,
            const="cheapest",
            help="those of the fewest instructions (the default), or the fewest ones",
        )
        add(
            "--order",
            choices=ORDERS,
            help=f"how the tensor is in memory (default: {ORDERS[0]})",
        )
        add("--device", metavar="NAME", help="whose messages (default: bmg)")

    def error(self, message: str) -> NoReturn:
        raise CompileError(Diagnostic(Kind.USAGE, message, Place(TOOL), (Note(USAGE),)))


class Show:
    def __init__(self, args: Sequence[str] | None):
        self.parser = LayoutArguments()
        self.args = self.parser.read(args)
        self.check()
        path = self.args.file
        source = None if path is None else read_source(path)
        self.reader = LayoutReader.new(source)

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
        subjects = self.subjects(shape)
        if args.warp is not None:
            self.check_warp(subjects)
        match self.format:
            case "json":
                self.write(as_json(subjects))
            case "svg" | "png" as format:
                drawn = self.drawn(subjects, format)
                write_output(args.output, drawn)
            case "bases":
                self.write(self.announced(subjects, bases))
            case _:
                view = args.use_hw_view
                text = self.announced(subjects, lambda x: table(x, view, args.warp))
                self.write(text, max(x.subgroup_size for x in subjects))

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

    def read_layout(self, text: str, where: str) -> Attribute:
        return self.layout_of(self.read(text, where), where)

    def layout_of(self, found: Attribute, where: str) -> Attribute:
        if rule_in(found) is None:
            self.parser.error(f"{where}: expected a layout, got {found}")
        return found

    def subjects(self, shape: Attribute | None) -> list[Subject]:
        return [self.laid_out(x, shape, name) for name, x in self.layouts(shape)]

    def layouts(self, shape: Attribute | None) -> list[tuple[str, Attribute]]:
        args = self.args
        found: list[tuple[str, Attribute]] = []
        if args.file is not None:
            names = [name for each in args.alias_names for name in each.split(",")]
            found += self.reader.named(names, args.file).items()
        text = args.distribution if args.layout is None else args.layout
        if text is not None:
            where = "--distribution" if args.layout is None else "-l"
            found.append(("", self.read_layout(text, where)))
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
                else self.read_layout(given, "--distribution")
            )
            return self.laid_out(layout, found)
        return self.laid_out(self.layout_of(found, "--compare"), shape)

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

    def check_warp(self, subjects: Sequence[Subject]) -> None:
        for subject in subjects:
            warps = subject.placement().sizes["warp"]
            if self.args.warp >= warps:
                message = f"expected --warp below {warps}, got {self.args.warp}"
                raise unfit(message, TOOL)

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

    def write(self, text: str, lanes: int | None = None) -> None:
        """Write text, in colours if it is a table and goes to a terminal."""
        output = self.args.output
        if lanes is not None and output in (None, "-") and sys.stdout.isatty():
            print_coloured(text, lanes)
        else:
            write_output(output, text.encode())


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

    if not isinstance(subject.layout, LinearLayout):
        raise ValueError(f"expected a tensor to plan, got {shape}")
    bits = _bits_of_matrix(shape)
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


def _bits_of_matrix(shape: Attribute | None) -> int:
    if not is_tensor(shape):
        raise ValueError(f"expected a tensor to plan, got {shape}")
    if len(shape.get_shape()) != 2:
        raise ValueError(f"expected a tensor of rank 2, got {shape}")
    bits = bits_of(shape.get_element_type())
    if bits is None:
        raise ValueError(f"expected elements of a known width, got {shape}")
    return bits


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
