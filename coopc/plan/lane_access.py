"""Block reads and writes: when consecutive elements of memory are what lanes hold.

A block read (`simt.block_read`, SPV_INTEL_subgroups) gives lane l element p + l.  That
is what component v is in all lanes, if lanes count along what is contiguous in memory:

    I = S, rows contiguous in memory        lane = row, column by column
    I = 1, columns contiguous in memory     lane = column, S columns at a time

and if nothing of it is padding, or checked along the lanes.  A plan is
`BlockAccess`, or a `Refusal` with the reason against one.

>>> x = CoopmatrixLayout.of(16, 8, 32, "acc", lanes=16)
>>> plan_block(x, Memory(rows_last=True, strides=(64, 1), element_bytes=4))
BlockAccess(checked_across=False)
>>> print(plan_block(x, Memory(rows_last=False, strides=(64, 1), element_bytes=4)))
lanes are not along the contiguous dimension: lanes hold 16 rows, columns are contiguous
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from coopc.layout.coopmatrix import CoopmatrixLayout

READ_BYTES = 4
"""What SPV_INTEL_subgroups wants the address of a read to be a multiple of."""
WRITE_BYTES = 16
"""The same of a write."""


class Reason(Enum):
    """Why each element is accessed by itself."""

    SPACE = "only global memory has blocks"
    ATOMIC = "atomic accesses are element by element"
    VOLATILE = "a block is not accessed as volatile or nontemporal"
    PACKED = "lanes hold packed channels, or memory does"
    STRIDE = "no dimension is known to be contiguous"
    LANES = "lanes are not along the contiguous dimension"
    PADDING = "some lanes hold padding"
    CHECKED = "lanes are along a checked axis"
    ALIGNMENT = "the address is not known to be aligned"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there are no blocks, with the numbers."""

    reason: Reason
    detail: str

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}"


@dataclass(frozen=True, slots=True)
class BlockAccess:
    """Each component is one block, that all lanes access together."""

    checked_across: bool
    """Whether the other axis is checked, by a branch that all lanes take."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of an access when compiling."""

    rows_last: bool
    """Whether the rows of the matrix are the last dimension of the memref."""
    strides: tuple[int | None, int | None]
    """Of the last two dimensions, in elements; None where dynamic."""
    element_bytes: int
    alignment: int = 1
    """What the address of element (0, 0) is known to be a multiple of, in bytes."""
    is_write: bool = False
    is_global: bool = True
    is_atomic: bool = False
    is_special: bool = False
    """Whether it is volatile or nontemporal."""
    is_packed: bool = False
    checked_rows: bool = False
    checked_cols: bool = False


def plan_block(x: CoopmatrixLayout, memory: Memory) -> BlockAccess | Refusal:
    """Return how lanes access a matrix by blocks, or why they do not."""
    return (
        _refused_kind(x, memory)
        or _refused_lanes(x, memory)
        or _refused_mask(x, memory)
        or _refused_alignment(x, memory)
        or BlockAccess(memory.checked_cols if memory.rows_last else memory.checked_rows)
    )


def _refused_kind(x: CoopmatrixLayout, memory: Memory) -> Refusal | None:
    if not memory.is_global:
        return Refusal(Reason.SPACE, "the memref is not in global memory")
    if memory.is_atomic:
        return Refusal(Reason.ATOMIC, "it has an ordering")
    if memory.is_special:
        return Refusal(Reason.VOLATILE, "it is one of them")
    if memory.is_packed or x.channels > 1:
        return Refusal(Reason.PACKED, f"{x.channels} columns in a channel of a lane")
    return None


def _refused_lanes(x: CoopmatrixLayout, memory: Memory) -> Refusal | None:
    if memory.strides[1] != 1:
        return Refusal(Reason.STRIDE, f"the last stride is {memory.strides[1] or '?'}")
    wanted = x.lanes if memory.rows_last else 1
    if x.block_rows != wanted:
        what = "rows" if memory.rows_last else "columns"
        return Refusal(
            Reason.LANES, f"lanes hold {x.block_rows} rows, {what} are contiguous"
        )
    return None


def _refused_mask(x: CoopmatrixLayout, memory: Memory) -> Refusal | None:
    if x.needs_mask or x.needs_row_mask:
        padded = f"{x.padded_rows} x {x.padded_cols}"
        return Refusal(Reason.PADDING, f"{x.rows} x {x.cols} is held as {padded}")
    if memory.checked_rows if memory.rows_last else memory.checked_cols:
        return Refusal(Reason.CHECKED, "rows" if memory.rows_last else "columns")
    return None


def _refused_alignment(x: CoopmatrixLayout, memory: Memory) -> Refusal | None:
    wanted = WRITE_BYTES if memory.is_write else READ_BYTES
    size = memory.element_bytes
    steps = {memory.alignment}
    # From component to component: S elements along the lanes, or one row or column.
    if (x.blocks if memory.rows_last else x.steps) > 1:
        steps.add(x.lanes * size)
    if (x.steps if memory.rows_last else x.blocks) > 1:
        pitch = memory.strides[0]
        steps.add(size if pitch is None else pitch * size)
    found = max(size, min(_two_power(step) for step in steps))
    if found < wanted:
        return Refusal(
            Reason.ALIGNMENT, f"to {wanted} bytes, only to {found} in every block"
        )
    return None


def _two_power(number: int) -> int:
    """Return the greatest power of two that divides a number; much for 0."""
    return number & -number if number else 1 << 16
