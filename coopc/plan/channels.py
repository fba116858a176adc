"""Plans of channels: when what lanes hold is 32 bits after 32 bits of memory.

A block load (`xe.block_load`) gives lane l, as channel c, the 4 bytes at p + 4 (c S +
l), S the number of lanes.  So registers of a matrix come from memory in one message if

    the elements of a channel        follow each other, and begin at a multiple of 4
    the channels of the lanes        follow each other
    those of the next register       follow these, for 1, 2, 4 or 8 registers

Memory is lines of bytes, a pitch apart that need not be known.  An A of 8 x 16 elements
of 16 bits, packed in 8 channels of 8 lanes, is

    tiles of 8 x 16, one line        1 message of 8 channels
    row-major                        8 messages of 1 channel, a pitch apart
    column-major                     no message: a channel is two columns

>>> import numpy as np
>>> row, col = np.indices((2, 4))
>>> elements = np.stack([row, col], -1).reshape(2, 2, 2, 2)  # 2 lanes, pairs of columns
>>> rows = Lines(row_bytes=None, across=0, element_bytes=2)
>>> for message in plan_channels(elements, rows):
...     print(message)
Message(register=0, channels=1, line=0, byte=0)
Message(register=1, channels=1, line=1, byte=0)
>>> plan_channels(elements, Lines(row_bytes=8, across=0, element_bytes=2))
(Message(register=0, channels=2, line=0, byte=0),)
>>> print(plan_channels(elements, Lines(row_bytes=None, across=1, element_bytes=2)))
the elements of a channel do not follow each other in memory: (0, 0) and (0, 1)

Law (`test_plan_channels.py`): the bytes that messages bring are those of the elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

CHANNEL_BYTES = 4
LENGTHS = (8, 4, 2, 1)
"""Channels of a message, the best first."""

Array: TypeAlias = npt.NDArray[Any]


class Reason(Enum):
    """Why there are no such messages."""

    SPACE = "only global memory has blocks"
    SPECIAL = "a block is not accessed as volatile or nontemporal"
    CHECKED = "a block is not checked against the edges of memory"
    POINTEE = "memory holds something else than elements of the matrix"
    STRIDE = "no dimension is known to be contiguous"
    ALIGNMENT = "addresses are not known to be multiples of 4 bytes"
    CHANNEL = "the elements of a channel do not follow each other in memory"
    LANES = "the channels of the lanes do not follow each other in memory"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no plan, with what was found."""

    reason: Reason
    detail: str

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Lines:
    """How a matrix lies in memory, from its first element on."""

    row_bytes: int | None
    """Bytes from line to line; None where they are not known."""
    across: int
    """What a line is: 0 a row of the matrix, 1 a column."""
    element_bytes: int
    packed: int = 1
    """Rows that lie side by side in a line: VNNI; 1 for none."""

    def places(self, elements: Array) -> tuple[Array, Array]:
        """Return line and byte of each element; the last axis is (row, column)."""
        across, along = elements[..., self.across], elements[..., 1 - self.across]
        if self.packed > 1:
            along = along * self.packed + across % self.packed
            across = across // self.packed
        byte = along * self.element_bytes
        if self.row_bytes is None:
            return across, byte
        return np.zeros_like(across), across * self.row_bytes + byte


@dataclass(frozen=True, slots=True)
class Message:
    """One load: registers that follow each other."""

    register: int
    """The first of them."""
    channels: int
    line: int
    """How many lines further on than the first element it begins."""
    byte: int
    """How many bytes further on, in the line."""


def plan_channels(elements: Array, lines: Lines) -> tuple[Message, ...] | Refusal:
    """Return the loads of what lanes hold of a matrix, or why there are none.

    Args:
        elements: (row, column) of what lanes hold, of shape (registers, lanes,
            elements of a channel, 2).
        lines: where they are in memory.
    """
    line, byte = lines.places(elements)
    if (at := _apart(line, byte, lines.element_bytes)) is not None:
        register, lane, which = at
        return _refused(Reason.CHANNEL, elements[register, lane, [0, which]])
    line, byte = line[..., 0], byte[..., 0]
    if (at := _apart(line, byte, CHANNEL_BYTES)) is not None:
        register, lane = at
        return _refused(Reason.LANES, elements[register, [0, lane], 0])
    if (byte[:, 0] % CHANNEL_BYTES).any():
        return Refusal(Reason.ALIGNMENT, f"bytes {byte[:, 0].tolist()}")
    return tuple(_messages(line[:, 0], byte[:, 0], elements.shape[1]))


def _apart(line: Array, byte: Array, step: int) -> tuple[int, ...] | None:
    """Return where the last axis does not go on in steps of bytes; None if it does."""
    count: int = byte.shape[-1]
    steps: Array = np.arange(0, step * count, step)
    apart: Array = (line != line[..., :1]) | (byte != byte[..., :1] + steps)
    found: Array = np.argwhere(apart)
    return tuple(found[0].tolist()) if len(found) else None


def _refused(reason: Reason, pair: Array) -> Refusal:
    one, other = pair.tolist()
    return Refusal(reason, f"{tuple(one)} and {tuple(other)}")


def _messages(line: Array, byte: Array, lanes: int) -> Iterator[Message]:
    """Yield the longest messages there are, from the first register on."""
    register = 0
    while register < len(line):
        length = next(
            length
            for length in LENGTHS
            if _follow(
                line[register:][:length], byte[register:][:length], length, lanes
            )
        )
        yield Message(register, length, int(line[register]), int(byte[register]))
        register += length


def _follow(line: Array, byte: Array, length: int, lanes: int) -> bool:
    """Whether there are so many registers, one after the other in memory."""
    if len(line) < length:
        return False
    wanted = byte[0] + lanes * CHANNEL_BYTES * np.arange(length)
    return bool((line[:length] == line[0]).all() and (byte[:length] == wanted).all())
