"""Rules of surfaces: what memory must be like for 2D block messages to be right.

What a kernel knows when it is compiled is checked then; what it is told when it is
called becomes a condition, for the host to check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Literal, TypeAlias

from coopc.device.block_io import BlockIO
from coopc.plan.refusal import Reason, Refusal

Part: TypeAlias = Literal["base", "width", "height", "pitch"]

_REASONS: dict[Part, Reason] = {
    "base": Reason.BASE,
    "width": Reason.WIDTH,
    "height": Reason.WIDTH,
    "pitch": Reason.PITCH,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """What one number of a surface must be."""

    part: Part
    """Which; all are in bytes, but the height, in rows."""
    multiple_of: int = 1
    at_least: int = 0
    less_than: int | None = None

    def violated(self, value: int) -> str | None:
        """Return why a number is not allowed, or None.

        >>> Rule("pitch", 16, 64).violated(100)
        'expected a pitch that is a multiple of 16, got 100'
        """
        if value % self.multiple_of:
            wanted = f"a multiple of {self.multiple_of}"
        elif value < self.at_least:
            wanted = f"at least {self.at_least}"
        elif self.less_than is not None and value >= self.less_than:
            wanted = f"less than {self.less_than}"
        else:
            return None
        return f"expected a {self.part} that is {wanted}, got {value}"

    def in_units(self, size: int) -> Rule:
        """Return the rule for the number in units of some bytes.

        >>> Rule("pitch", 16, 64, 1 << 24).in_units(4)
        Rule(part='pitch', multiple_of=4, at_least=16, less_than=4194304)
        """
        return Rule(
            self.part,
            self.multiple_of // gcd(self.multiple_of, size),
            -(-self.at_least // size),
            None if self.less_than is None else -(-self.less_than // size),
        )


def rules(io: BlockIO, step: int = 1) -> Iterator[Rule]:
    """Yield the rules of a device.

    Args:
        io: its messages.
        step: rows from one row of a message to the next: the pitch is so many times
            that of the matrix.
    """
    most = io.max_bytes + 1
    yield Rule("base", io.base_alignment)
    yield Rule("width", io.width_alignment, io.min_width_bytes, most)
    yield Rule("height", 1, 0, most)
    yield Rule("pitch", io.pitch_alignment, io.min_width_bytes, most // step)


def refuse_surface(io: BlockIO, known: dict[Part, int]) -> Refusal | None:
    """Return why a surface of which some numbers are known is none, or None."""
    for rule in rules(io):
        if rule.part in known and (reason := rule.violated(known[rule.part])):
            return Refusal(_REASONS[rule.part], reason)
    width, pitch = known.get("width"), known.get("pitch")
    if width is not None and pitch is not None and pitch < width:
        detail = f"expected a pitch of at least the width, {width} bytes, got {pitch}"
        return Refusal(Reason.PITCH, detail)
    return None
