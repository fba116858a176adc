"""coopc-opt: run passes over a file of IR, xDSL's and coopc's, and print the result.

xDSL's driver, with coopc's dialects, passes and targets, and with the manners of
`coopc.tools.driver`: located diagnostics, status 1, whole outputs.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import IO, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ShrinkException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from coopc.compiler import emit, new_context, read_target
from coopc.diagnostic import CompileError, Diagnostic, Kind
from coopc.parsing import parse
from coopc.pipeline import Observer, Pipeline, Run, flatten, read_passes
from coopc.source import Source, decode, read_source
from coopc.tools.driver import (
    FAILED,
    ArgumentParser,
    report,
    run_tool,
    whole_number,
    write_output,
    wrong_call,
)
from coopc.universe import PASSES, PIPELINES, TARGETS, everything, pipelines

TOOL = "coopc-opt"
EXTENSIONS = ("mlir", "ttgir", "ttir")
"""Names of files that hold MLIR end in one of these."""


class CoopcOptMain(xDSLOptMain):
    """The driver; `run` does what the arguments ask for."""

    output: list[str | bytes]
    """What will be written, if nothing goes wrong."""
    status: int
    """Not 0 where a piece of the input failed, and the others are written."""

    def __init__(
        self,
        description: str = "Run passes over IR, coopc's and xDSL's, and print the "
        "result, or what a target makes of it.",
        args: Sequence[str] | None = None,
    ):
        # Instead of xDSL's, which looks for universes three times and exits in its own
        # way when something is wrong.
        self.universe = universe = everything()
        self.ctx = new_context(universe)
        self.available_passes = dict(universe.all_passes)
        self.available_targets = dict(universe.all_targets)
        self.available_frontends = {}
        self.output = []
        self.status = 0
        self.register_all_frontends()
        parser = ArgumentParser(
            prog=TOOL,
            description=textwrap.fill(description),
            epilog=what_there_is(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            conflict_handler="resolve",
        )
        self.register_all_arguments(parser)
        self.args = parser.read(args)
        self.ctx.allow_unregistered = self.args.allow_unregistered_dialect
        if self.args.disable_verify:
            # As xDSL does: attributes are verified when they are made.
            Attribute.__post_init__ = unverified

    def register_all_frontends(self) -> None:
        """Register that all files are read by the locating parser."""

        def read(stream: IO[bytes]) -> ModuleOp:
            return self.parse(decode(stream.read(), self.get_input_name()))

        self.available_frontends |= dict.fromkeys(EXTENSIONS, read)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        """Add coopc's arguments to xDSL's."""
        super().register_all_arguments(arg_parser)
        add = arg_parser.add_argument
        add(
            "-t",
            "--target",
            default="mlir",
            help="what to write: mlir (the default), a target of coopc, or of xDSL",
        )
        add(
            "-p",
            "--passes",
            action="append",
            default=[],
            help="passes with options, as in 'set-target{device=bmg},canonicalize'; "
            "those of several -p run in order",
        )
        add(
            "-v",
            "--version",
            action="store_true",
            help="Print the versions of coopc and of the tools it uses, and exit",
        )
        add(
            "--list-pipelines",
            action="store_true",
            help="Print the pipelines with their steps, and exit",
        )
        add(
            "--validate",
            action="store_true",
            help="Compare what each kernel does before and after each pass",
        )
        add(
            "--validate-seed",
            type=whole_number(),
            metavar="N",
            default=0,
            help="Seed of the inputs of --validate (default: 0)",
        )

    def run(self) -> None:
        """Do what the arguments ask for.

        Raises:
            CompileError: Something is wrong with the arguments or the input.
        """
        if self.args.version:
            from coopc.tools.versions import versions

            self.output.append(versions(TOOL))
        elif self.args.list_pipelines:
            self.output += (listed(load()) for load in pipelines().values())
        elif self.args.shrink:
            self.shrink()
        else:
            self.compile()
        write_output(self.args.output_file, b"".join(map(as_bytes, self.output)))

    def compile(self) -> None:
        """Append to the output what becomes of the input."""
        steps = read_passes(",".join(self.args.passes), self.available_passes)
        target = self.read_target()
        self.check_extension()
        source = read_source(self.args.input_file)
        chunks = source.split() if self.args.split_input_file else (source,)
        for number, chunk in enumerate(chunks):
            if number > 0:
                self.output.append("// -----\n")
            try:
                module = self.parse(chunk)
                verify = not self.args.disable_verify
                Run(self.ctx, chunk, verify, self.observers()).apply(module, steps)
                self.output.append(emit(self.ctx, module, target, chunk))
            except CompileError as error:
                if self.is_expected(error.diagnostic):
                    self.output.append(f"{error.diagnostic}\n")
                elif self.args.split_input_file:
                    report(error.diagnostic)
                    self.status = FAILED
                else:
                    raise

    def shrink(self) -> None:
        """Say to Shrink Ray whether the input still raises a `ShrinkException`.

        Raises:
            CompileError: It does not.
        """
        try:
            self.compile()
        except CompileError as error:
            if not isinstance(error.__cause__, ShrinkException):
                raise
            self.output = ["Success, can shrink\n"]
        else:
            raise wrong_call(TOOL, "Failure, can't shrink")

    def read_target(self) -> Target:
        """The target of `-t`, which prints as the arguments say if it is `mlir`."""
        target = read_target(self.args.target, self.universe.all_targets)
        if target.name != "mlir":
            return target
        options: dict[str, Any] = {
            "print_generic_format": self.args.print_op_generic,
            "print_properties_as_attributes": self.args.print_no_properties,
            "print_debuginfo": self.args.print_debuginfo,
            "syntax_highlight": self.args.syntax_highlight,
        }
        return replace(target, **options)

    def check_extension(self) -> None:
        """Check that the input is a file of IR by its name, unless `-f` says so."""
        path: str | None = self.args.input_file
        if path is None or path == "-" or self.args.frontend:
            return
        extension = os.path.splitext(path)[1].removeprefix(".")
        if extension not in self.available_frontends:
            names = ", ".join(f".{name}" for name in self.available_frontends)
            message = f"expected a file named {names} (or -f mlir), got '{path}'"
            raise wrong_call(TOOL, message)

    def parse(self, source: Source) -> ModuleOp:
        """The module in `source`."""
        implicit = not self.args.no_implicit_module
        return parse(self.ctx, source, implicit_module=implicit)

    def observers(self) -> tuple[Observer, ...]:
        """Who looks at the module between passes."""
        if not (
            self.args.print_between_passes
            or self.args.time_passes
            or self.args.validate
        ):
            return ()
        from coopc.tools.observers import PrintIR, Time, Validate

        asked = {
            PrintIR(self.output): self.args.print_between_passes,
            Time(): self.args.time_passes,
            Validate(self.args.validate_seed): self.args.validate,
        }
        return tuple(observer for observer, wanted in asked.items() if wanted)

    def is_expected(self, diagnostic: Diagnostic) -> bool:
        """Whether the arguments say that this diagnostic is what is wanted."""
        match diagnostic.kind:
            case Kind.PARSE:
                return self.args.parsing_diagnostics
            case Kind.VERIFY | Kind.PASS | Kind.EMIT:
                return self.args.verify_diagnostics
            case _:
                return False


def unverified(self: Attribute) -> None:
    """What attributes do when they are made and shall not be verified."""


def what_there_is() -> str:
    """The pipelines, passes and targets of coopc, as the help lists them."""
    names = {
        "pipelines": PIPELINES,
        "passes": [name for name in PASSES if name not in PIPELINES],
        "targets": TARGETS,
    }
    blocks = [
        textwrap.fill(
            f"{what}: {', '.join(of_coopc)}",
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
        for what, of_coopc in names.items()
    ]
    return "\n\n".join([*blocks, "xdsl-opt --help lists those of xDSL."])


def as_bytes(content: str | bytes) -> bytes:
    """`content`, in UTF-8 if it is text."""
    return content.encode("utf-8") if isinstance(content, str) else content


def listed(pipeline: type[Pipeline]) -> str:
    """The name and the steps of `pipeline` without options, a line each."""
    made = pipeline()
    return "\n  ".join((str(made), *map(str, flatten((made,))))) + "\n"


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool on `args`, by default the command line's; return its status."""

    def body() -> int:
        tool = CoopcOptMain(args=args)
        tool.run()
        return tool.status

    return run_tool(TOOL, body)


if __name__ == "__main__":
    sys.exit(main())
