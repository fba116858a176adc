"""Refusals: why there is no plan, a reason of an enumeration and what was found.

Each planner has its own reasons; `Reason` are those of 2D block messages.  Passes print
a refusal as a remark, and move a tensor lane by lane.
"""

from dataclasses import dataclass
from enum import Enum


class Reason(Enum):
    """Why there is no plan."""

    NO_BLOCK_IO = "the device has no 2D block messages"
    ELEMENT = "no message has elements of this width"
    RANK = "a message has two dimensions"
    LANES_BROADCAST = "several lanes hold the same elements"
    LANES_BATCH = "lanes are distributed over a dimension that messages do not have"
    LANES_ORDER = "no message gives the lanes these elements"
    REGISTERS = "no message gives a lane these registers"
    STORE_TWICE = "several registers or warps hold the same element"
    MASK = "a mask changes within every message that would fit"
    OVERLAP = "the origins of the messages are not multiples of their size"
    STRIDE = "the memory is not contiguous along either dimension"
    PITCH = "the pitch is not valid for a surface"
    WIDTH = "the width is not valid for a surface"
    BASE = "the base address is not valid for a surface"
    POSITION = "the position is not known well enough"
    UNKNOWN_MEMORY = "the pointers are not known to form a 2D block"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no plan.

    >>> str(Refusal(Reason.RANK, "got rank 4"))
    'a message has two dimensions: got rank 4'
    """

    reason: Enum
    """Its value is the rule, for people."""
    detail: str
    """What was found: numbers, for people."""

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}"
