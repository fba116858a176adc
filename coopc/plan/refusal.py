"""Refusals: why a tensor is not moved by 2D block messages, one reason each.

A refusal is a value with an enumerated reason and the numbers in it; passes print it as
a remark, and move the tensor lane by lane.
"""

from enum import Enum

from coopc.plan.because import Because


class Reason(Enum):
    """Why there is no plan."""

    NO_BLOCK_IO = "the device has no 2D block messages"
    ELEMENT = "no message has elements of this width"
    RANK = "a message has two dimensions"
    LANES_BROADCAST = "several lanes hold the same elements"
    LANES_BATCH = "lanes are spread over a dimension that a message does not have"
    LANES_ORDER = "no message gives the lanes these elements"
    REGISTERS = "no message gives a lane these registers"
    STORE_TWICE = "several registers or warps hold the same element"
    MASK = "a mask changes within every message that would fit"
    OVERLAP = "the origins of the messages are no multiples of their size"
    STRIDE = "the memory is not contiguous along either dimension"
    PITCH = "the pitch breaks the rules of surfaces"
    WIDTH = "the width breaks the rules of surfaces"
    BASE = "the base address breaks the rules of surfaces"
    POSITION = "too little is known of the position"
    UNKNOWN_MEMORY = "nothing says that the addresses are a matrix"


class Refusal(Because[Reason]):
    """Why there is no plan, with the numbers."""

    __slots__ = ()
