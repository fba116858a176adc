"""What coopc-opt can do between passes: print, time, validate."""

from __future__ import annotations

import sys
import time
from io import StringIO
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from coopc.pipeline import Observer

if TYPE_CHECKING:
    from coopc.validate.step import Validator


class PrintIR(Observer):
    """Appends the module after each pass but the last to `output`."""

    def __init__(self, output: list[str | bytes]):
        self.output = output

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        """Print, as xDSL does."""
        if not last:
            text = StringIO()
            Printer(stream=text).print_op(module)
            self.output.append(f"IR after {step.name}:\n{text.getvalue()}\n\n\n\n")


class Time(Observer):
    """Prints how long each pass took, with verification, on the standard error."""

    began_s: float

    def start(self, module: ModuleOp) -> None:
        """Take the time before the first pass."""
        self.began_s = time.perf_counter()

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        """Print the time since the pass before."""
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
        """Keep the module as it is before the first pass."""
        from coopc.validate.step import Validator

        self.validator = Validator(module.clone(), self.seed)

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        """Compare, and keep the module for the next pass."""
        self.validator.check(module.clone(), step)
