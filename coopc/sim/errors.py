"""What the simulator says when a program does something undefined, or unknown to it."""

from __future__ import annotations

from xdsl.ir import Operation

from coopc.explain import file_location


class SimulationError(Exception):
    """A program did what no program may do, or what the simulator does not know.

    The message names the operation once the interpreter has seen the error.
    """

    reason: str
    op: Operation | None

    def __init__(self, reason: str, op: Operation | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.op = op

    def __str__(self) -> str:
        """The operation, the reason, and the place in the source if that is known."""
        if self.op is None:
            return self.reason
        where = ""
        if (place := file_location(self.op.location)) is not None:
            line, column = place.line.data, place.column.data
            where = f", at {place.filename.data}:{line}:{column}"
        return f"{self.op.name}: {self.reason}{where}"


class UndefinedBehaviour(SimulationError):
    """The program has no meaning: an access out of bounds, a divergent barrier, ..."""

    def __init__(self, reason: str, op: Operation | None = None) -> None:
        super().__init__(f"undefined behaviour: {reason}", op)


class TooLong(SimulationError):
    """The program runs more operations than the caller allows."""
