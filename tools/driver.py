"""What coopc's command-line tools share: how a run ends, well or not.

A tool is a function `body(args)` under `run_tool`.  Whatever is wrong reaches the user
as one diagnostic on the standard error and exit status 1; output is written when all
of it is known, and appears whole or not at all.  The parts below the command line are
in the package: `coopc.parsing` (locations), `coopc.xdsl_gaps` (which keeps them through
passes), `coopc.explain` (exceptions to diagnostics) and `coopc.compiler`.
"""

from __future__ import annotations

import argparse
import io
import os
import stat
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from coopc.diagnostic import CompileError, Diagnostic, Kind, Note, Place, near_match
from coopc.explain import REPORT, debugging, summary, wrong_call
from coopc.versions import installed

FAILED = 1
"""The exit status of whatever went wrong."""

INTERRUPTED = 130
"""The exit status after an interrupt from the keyboard, as shells have it."""


class ClosedStream(io.TextIOBase):
    """What stands for a standard stream that was closed before the tool began."""

    def __init__(self, name: str):
        self.stream = name

    @property
    def buffer(self) -> Any:
        """Not there.

        Raises:
            CompileError: Always: whoever wants it wants to read or write.
        """
        message = f"expected {self.stream} to be open, got a closed one"
        raise CompileError(Diagnostic(Kind.INPUT, message, Place(self.stream)))

    def write(self, text: str) -> int:
        return self.buffer


def replace_closed_streams() -> None:
    """Put a `ClosedStream` where Python has None; without errors, they are dropped."""
    streams: Any = sys
    if streams.stdin is None:
        streams.stdin = ClosedStream("the standard input")
    if streams.stdout is None:
        streams.stdout = ClosedStream("the standard output")
    if streams.stderr is None:
        streams.stderr = io.StringIO()


class StoreOnce(argparse.Action):
    """An option that may be given once: of two values, none would be dropped."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, *_: Any
    ) -> None:
        given: set[str] = namespace.__dict__.setdefault("_given", set())
        if self.dest in given and self.option_strings:
            parser.error(f"expected {'/'.join(self.option_strings)} once, got it twice")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class HelpFormatter(argparse.HelpFormatter):
    """Help for 80 columns, in which passes and options are not broken at hyphens."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **{"max_help_position": 30, **kwargs})

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class RawHelpFormatter(HelpFormatter, argparse.RawDescriptionHelpFormatter):
    """The same, with the lines of descriptions as they are."""


class ArgumentParser(argparse.ArgumentParser):
    """An argument parser whose errors are diagnostics."""

    def __init__(self, *args: Any, **kwargs: Any):
        kwargs.setdefault("formatter_class", HelpFormatter)
        super().__init__(*args, **kwargs)
        self.register("action", None, StoreOnce)
        self.register("action", "store", StoreOnce)

    def error(self, message: str) -> NoReturn:
        raise wrong_call(self.prog, message)

    def read(self, args: Sequence[str] | None) -> argparse.Namespace:
        """The values of `args`, by default the command line's.

        Raises:
            CompileError: They are not what the tool takes.
        """
        known, unknown = self.parse_known_args(args)
        if unknown:
            options = (name for act in self._actions for name in act.option_strings)
            near = near_match(unknown[0].partition("=")[0], options)
            self.error(f"unknown argument '{unknown[0]}'{near}")
        return known


def whole_number(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """What reads a whole number of the command line, for arguments of that type."""
    wanted = f"{least} or more" if most is None else f"{least} to {most}"

    def read(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = None
        if found is None or found < least or (most is not None and found > most):
            message = f"expected a number, {wanted}, got '{text}'"
            raise argparse.ArgumentTypeError(message)
        return found

    return read


def run_tool(tool: str, body: Callable[[], int | None]) -> int:
    """Run `body` and return its exit status, 0 for None; exceptions end here."""
    replace_closed_streams()
    try:
        status = body()
        sys.stdout.flush()
    except CompileError as error:
        return report(error.diagnostic)
    except BrokenPipeError:
        drop_output()  # whoever read it has gone
        return FAILED
    except OSError as error:
        message = f"cannot read or write: {error.strerror or error}"
        drop_output()
        return report(Diagnostic(Kind.OUTPUT, message, Place(tool)))
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemoryError as error:
        message = f"out of memory: {error}".removesuffix(": ")
        return report(Diagnostic(Kind.INPUT, message, Place(tool)))
    except Exception as error:
        notes = (Note(REPORT),)
        return report(Diagnostic(Kind.INTERNAL, summary(error), Place(tool), notes))
    return status or 0


def drop_output() -> None:
    """Have what is not written yet go nowhere: Python flushes again when it ends."""
    with suppress(OSError, ValueError):  # where no file is behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report(diagnostic: Diagnostic) -> int:
    """Print `diagnostic`, while its exception is handled; the exit status is 1."""
    if debugging():
        import traceback

        traceback.print_exc()
    print(diagnostic, file=sys.stderr)
    return FAILED


def write_output(path: str | None, content: bytes) -> None:
    """Write `content` to the file at `path`, whole or not at all.

    None and "-" are the standard output; there, bytes that are no text are for
    pipes and files only.

    Raises:
        CompileError: The file cannot be written.
    """
    if path is None or path == "-":
        if sys.stdout.isatty() and b"\0" in content:
            message = "expected a file for binary output (-o), got a terminal"
            raise CompileError(Diagnostic(Kind.OUTPUT, message, Place("<stdout>")))
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        replace_file(os.path.realpath(path), content)
    except OSError as error:
        message = f"cannot write the file: {error.strerror or error}"
        raise CompileError(Diagnostic(Kind.OUTPUT, message, Place(path))) from error


def replace_file(path: str, content: bytes) -> None:
    """Make `content` that of the file at `path` in one step; devices are written to."""
    mode = os.stat(path).st_mode if os.path.exists(path) else None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            file.write(content)
        return
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "xb") as file:
            file.write(content)
        if mode is not None:
            os.chmod(partial, stat.S_IMODE(mode))
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


def versions(tool: str) -> str:
    """What `--version` prints: coopc, what it stands on, and the tools it found."""
    import platform

    from coopc.run.toolchain import version_report

    rows = {
        "xdsl": installed("xdsl"),
        "numpy": installed("numpy"),
        "python": platform.python_version(),
    }
    lines = [f"{tool} {installed('coopc')}"]
    lines += [f"  {name} {number}" for name, number in rows.items()]
    lines += [f"  {line}" for line in version_report()]
    return "\n".join(lines) + "\n"
