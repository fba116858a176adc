"""coopc-opt: run passes over a file of IR, xDSL's and coopc's, and print the result.

It takes what xDSL's driver takes, with coopc's dialects, passes and targets, and with
the manners of `coopc.tools.driver`: located diagnostics, status 1, whole outputs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import ShrinkException
from xdsl.utils.target import Target

from coopc.compiler import caching, compile, emit, new_context, read_target
from coopc.diagnostic import CompileError, Diagnostic, Kind
from coopc.explain import wrong_call
from coopc.parsing import parse
from coopc.pipeline import Observer, Run, read_passes
from coopc.remarks import print_remark
from coopc.source import read_source
from coopc.tools.driver import (
    FAILED,
    ArgumentParser,
    report,
    run_tool,
    whole_number,
    write_output,
)
from coopc.tools.help import LISTS, ListAction, add_about, add_help
from coopc.universe import everything

if TYPE_CHECKING:
    from coopc.validate.step import Validator

TOOL = "coopc-opt"
EXTENSIONS = ("mlir", "ttgir", "ttir")
"""Names of files that hold MLIR end in one of these."""
USAGE = f"""\
{TOOL} [FILE] [-p PASSES] [-t TARGET] [-o FILE] [option..]
       {TOOL} --help [NAME]
       {TOOL} --list {"|".join(LISTS)}"""


class CoopcOpt:
    output: list[str | bytes]
    """What will be written, if nothing goes wrong."""
    status: int
    """Not 0 where a piece of the input failed; the others are printed, to no file."""

    def __init__(self, args: Sequence[str] | None):
        self.args = parser().read(args)
        if self.args.validate_seed is not None and not self.args.validate:
            what = "expected --validate-seed only with --validate, got it without"
            raise wrong_call(TOOL, what)
        # Not as xDSL's driver, which looks for universes three times and exits in its
        # own way when something is wrong.
        self.universe = everything()
        self.ctx = new_context(self.universe)
        self.output = []
        self.status = 0
        self.ctx.allow_unregistered = self.args.allow_unregistered_dialect
        if self.args.disable_verify:
            # As xDSL does: attributes are verified when they are made.
            Attribute.__post_init__ = lambda self: None

    def run(self) -> None:
        """Do what the arguments ask for.

        Raises:
            CompileError: Something is wrong with the arguments or the input.
        """
        if self.args.shrink:
            self.shrink()
        else:
            self.compile()
        is_file = self.args.output_file not in (None, "-")
        if not (self.status and is_file):
            content = b"".join(map(as_bytes, self.output))
            write_output(self.args.output_file, content)

    def compile(self) -> None:
        if caching() and self.is_plain():
            self.check_extension()
            source = read_source(self.args.input_file)
            given = ",".join(self.args.passes), self.args.target
            try:
                found = compile(
                    source.text, *given, name=source.name, on_remark=print_remark
                )
            except CompileError as error:
                if not self.is_expected(error.diagnostic):
                    raise
                self.output.append(f"{error.diagnostic}\n")
            else:
                self.output.append(found.bytes)
            return
        steps = read_passes(",".join(self.args.passes), self.universe.all_passes)
        target = self.read_target()
        self.check_extension()
        source = read_source(self.args.input_file)
        chunks = source.split() if self.args.split_input_file else (source,)
        for number, chunk in enumerate(chunks):
            if number > 0:
                self.output.append("// -----\n")
            try:
                implicit = not self.args.no_implicit_module
                module = parse(self.ctx, chunk, implicit_module=implicit)
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

    def is_plain(self) -> bool:
        """Whether the arguments say no more than what `coopc.compile` is given."""
        more = {"passes", "target", "input_file", "output_file", "frontend"}
        more |= {"verify_diagnostics", "parsing_diagnostics", "_given"}
        given = any(x for name, x in vars(self.args).items() if name not in more)
        return not given and not self.args.target.startswith("mlir")

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
        path: str | None = self.args.input_file
        if path is None or path == "-" or self.args.frontend:
            return
        extension = os.path.splitext(path)[1].removeprefix(".")
        if extension not in EXTENSIONS:
            names = ", ".join(f".{name}" for name in EXTENSIONS)
            message = f"expected a file named {names} (or -f mlir), got '{path}'"
            raise wrong_call(TOOL, message)

    def observers(self) -> tuple[Observer, ...]:
        asked = {
            PrintIR(self.output): self.args.print_between_passes,
            Time(): self.args.time_passes,
            Validate(self.args.validate_seed or 0): self.args.validate,
        }
        return tuple(observer for observer, wanted in asked.items() if wanted)

    def is_expected(self, diagnostic: Diagnostic) -> bool:
        match diagnostic.kind:
            case Kind.PARSE:
                return self.args.parsing_diagnostics
            case Kind.VERIFY | Kind.PASS | Kind.EMIT:
                return self.args.verify_diagnostics
            case _:
                return False


# --- Between passes. ---


class PrintIR(Observer):
    """Appends the module after each pass but the last to `output`."""

    def __init__(self, output: list[str | bytes]):
        self.output = output

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        if not last:
            text = StringIO()
            Printer(stream=text).print_op(module)
            self.output.append(f"IR after {step.name}:\n{text.getvalue()}\n\n\n\n")


class Time(Observer):
    """Prints how long each pass took, with verification, on the standard error."""

    began_s: float

    def start(self, module: ModuleOp) -> None:
        self.began_s = time.perf_counter()

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        now_s = time.perf_counter()
        took_s = now_s - self.began_s
        print(f"Pass {step.name} took {took_s:.4f} seconds", file=sys.stderr)
        self.began_s = now_s


class Validate(Observer):
    """Compares what the kernels do before and after each pass."""

    validator: Validator

    def __init__(self, seed: int):
        self.seed = seed

    def start(self, module: ModuleOp) -> None:
        from coopc.validate.step import Validator

        self.validator = Validator(module.clone(), self.seed)

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        self.validator.check(module.clone(), step)


# --- The command line. ---


def as_bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content


def parser() -> ArgumentParser:
    found = ArgumentParser(
        prog=TOOL,
        usage=USAGE,
        description="Run coopc and xDSL passes on IR, then print it or translate it "
        "to a target.",
        add_help=False,
    )
    add = found.add_argument_group("input").add_argument
    flag = partial(add, action="store_true")
    what = "IR, in a file named .mlir, .ttgir or .ttir (default: the standard input)"
    add("input_file", nargs="?", metavar="FILE", help=what)
    what = "read a file of any name as mlir, ttgir or ttir"
    add("-f", "--frontend", choices=EXTENSIONS, metavar="KIND", help=what)
    what = "process each piece between lines '// -----' by itself"
    flag("--split-input-file", help=what)
    what = "accept operations of dialects that are not known"
    flag("--allow-unregistered-dialect", help=what)
    what = "expect a builtin.module around all operations"
    flag("--no-implicit-module", help=what)

    add = found.add_argument_group("compilation").add_argument
    what = (
        "passes with options, as in 'set-target{device=bmg},canonicalize'; repeated "
        "-p are concatenated"
    )
    add("-p", "--passes", action="append", default=[], help=what)
    what = "what to write, with options, as in 'spirv{device=lavapipe}' (default: mlir)"
    add("-t", "--target", default="mlir", help=what)
    add("-o", "--output-file", metavar="FILE", help="where to write it")

    add = found.add_argument_group("checks").add_argument
    flag = partial(add, action="store_true")
    flag("--validate", help="compare what each kernel does before and after each pass")
    seed, what = whole_number(), "seed of the inputs of --validate (default: 0)"
    add("--validate-seed", type=seed, metavar="N", help=what)
    flag("--disable-verify", help="skip verification of the input and after passes")
    what = "print the error of a verifier, pass or target as output, with status 0"
    flag("--verify-diagnostics", help=what)
    what = "print the error of the parser as output, with status 0"
    flag("--parsing-diagnostics", help=what)
    flag("--time-passes", help="print the time that each pass takes")
    flag(
        "--shrink",
        help="for Shrink Ray: exit with 0 only if a ShrinkException is raised",
    )

    add = found.add_argument_group("IR printing").add_argument
    flag = partial(add, action="store_true")
    flag("--print-between-passes", help="print the IR after each pass")
    flag("--print-op-generic", help="print the generic form")
    flag("--print-no-properties", help="print properties as attributes")
    flag("--print-debuginfo", help="print locations")
    flag("--syntax-highlight", help="print in colour")

    add = found.add_argument_group("about the tool").add_argument
    add_help(add)
    add_about(add, *LISTS)
    # As it was once called.
    once = partial(add, nargs=0, const="pipelines", help=argparse.SUPPRESS)
    once("--list-pipelines", action=ListAction, lists=LISTS)
    return found


def main(args: Sequence[str] | None = None) -> int:
    def body() -> int:
        tool = CoopcOpt(args)
        tool.run()
        return tool.status

    return run_tool(TOOL, body)


if __name__ == "__main__":
    sys.exit(main())
