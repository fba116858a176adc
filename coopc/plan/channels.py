"""Plans of slots: when what lanes hold follows each other in memory.

A block load (`xe.block_load`) gives lane l, as slot c, the s bytes at p + s (c S + l),
S the number of lanes and s 1, 2 or 4.  So registers of a matrix come from memory in one
message if

    the elements of a slot           follow each other
    the slots of the lanes           follow each other, from a multiple of 4 bytes on
    those of other registers         follow these, for 1, 2, 4 or 8 registers

Memory is lines of bytes, a pitch apart that need not be known.  An A of 8 x 16 elements
of 16 bits, packed in 8 channels of 8 lanes, is

    tiles of 8 x 16, one line        1 message of 8 channels
    row-major                        8 messages of 1 channel, a pitch apart
    column-major                     no message: a channel is two columns

and of a row-major B, a channel of which is two rows, slots are of 16 bits: a row of two
tiles side by side is one message of 2 slots.

>>> import numpy as np
>>> row, col = np.indices((2, 4))
>>> elements = np.stack([row, col], -1).reshape(2, 2, 2, 2)  # 2 lanes, pairs of columns
>>> for message in plan_slots(elements, MemoryLines(None, across=0, element_bytes=2)):
...     print(message)
SlotLoad(registers=(0,), line=0, byte=0)
SlotLoad(registers=(1,), line=1, byte=0)
>>> plan_slots(elements, MemoryLines(row_bytes=8, across=0, element_bytes=2))
(SlotLoad(registers=(0, 1), line=0, byte=0),)
>>> print(plan_slots(elements, MemoryLines(None, across=1, element_bytes=2)))
the elements of a slot do not follow each other in memory: (0, 0) and (0, 1)

Law (`test_channels.py`): the bytes that messages bring are those of the elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from coopc.plan.refusal import Refusal

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray

ALIGNMENT = 4
"""Bytes that a message begins at a multiple of."""
LENGTHS = (8, 4, 2, 1)
"""Slots of a message, the best first."""


class ChannelReason(Enum):
    """Why there are no such messages."""

    SPACE = "only global memory has blocks"
    SPECIAL = "a block is not accessed as volatile or nontemporal"
    CHECKED = "a block is not checked against the edges of memory"
    POINTEE = "memory holds something else than elements of the matrix"
    STRIDE = "no dimension is known to be contiguous"
    ALIGNMENT = "addresses are not known to be multiples of 4 bytes"
    SLOT = "the elements of a slot do not follow each other in memory"
    LANES = "the slots of the lanes do not follow each other in memory"
    WIDTH = "no slot is as wide as this"


@dataclass(frozen=True, slots=True)
class MemoryLines:
    """How a matrix lies in memory, from its first element on."""

    row_bytes: int | None
    """Bytes from line to line; None where they are not known."""
    across: int
    """What a line is: 0 a row of the matrix, 1 a column."""
    element_bytes: int
    packed: int = 1
    """Rows that lie side by side in a line: VNNI; 1 for none."""

    def places(self, elements: IntArray) -> tuple[IntArray, IntArray]:
        """Return line and byte of each element; the last axis is (row, column)."""
        across, along = elements[..., self.across], elements[..., 1 - self.across]
        if self.packed > 1:
            along = along * self.packed + across % self.packed
            across = across // self.packed
        byte = along * self.element_bytes
        if self.row_bytes is None:
            return across, byte
        return 0 * across, across * self.row_bytes + byte


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """One load."""

    registers: tuple[int, ...]
    """Which register each of its slots is."""
    line: int
    """How many lines further on than the first element it begins."""
    byte: int
    """How many bytes further on, in the line."""


def plan_slots(
    elements: IntArray, lines: MemoryLines
) -> tuple[SlotLoad, ...] | Refusal:
    """Return the loads of what lanes hold of a matrix, or why there are none.

    Args:
        elements: (row, column) of what lanes hold, of shape (registers, lanes,
            elements of a slot, 2).
        lines: where they are in memory.
    """
    line, byte = lines.places(elements)
    if (at := _apart(line, byte, lines.element_bytes)) is not None:
        register, lane, which = at
        return _refused(ChannelReason.SLOT, elements[register, lane, [0, which]])
    line, byte = line[..., 0], byte[..., 0]
    slot_bytes = elements.shape[2] * lines.element_bytes
    if (at := _apart(line, byte, slot_bytes)) is not None:
        register, lane = at
        return _refused(ChannelReason.LANES, elements[register, [0, lane], 0])
    step = elements.shape[1] * slot_bytes
    found = tuple(_messages(line[:, 0], byte[:, 0], step))
    for message in found:
        if message.byte % ALIGNMENT:
            return Refusal(ChannelReason.ALIGNMENT, f"byte {message.byte} of a line")
    return found


def _apart(line: IntArray, byte: IntArray, step: int) -> tuple[int, ...] | None:
    """Return where the last axis does not go on in steps of bytes; None if it does."""
    import numpy as np

    count: int = byte.shape[-1]
    steps: IntArray = np.arange(0, step * count, step)
    apart: IntArray = (line != line[..., :1]) | (byte != byte[..., :1] + steps)
    found: IntArray = np.argwhere(apart)
    return tuple(found[0].tolist()) if len(found) else None


def _refused(reason: ChannelReason, pair: IntArray) -> Refusal:
    one, other = pair.tolist()
    return Refusal(reason, f"{tuple(one)} and {tuple(other)}")


def _messages(line: IntArray, byte: IntArray, step: int) -> Iterator[SlotLoad]:
    """Yield the longest messages there are, in the order of memory."""
    places = sorted(
        (int(line[register]), int(byte[register]), register)
        for register in range(len(line))
    )
    start = 0
    while start < len(places):
        first = places[start]
        run = 1
        while start + run < len(places) and places[start + run][:2] == (
            first[0],
            first[1] + run * step,
        ):
            run += 1
        length = next(length for length in LENGTHS if length <= run)
        registers = tuple(place[2] for place in places[start : start + length])
        yield SlotLoad(registers, first[0], first[1])
        start += length
