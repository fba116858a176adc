"""Block reads and writes: when consecutive elements of memory are what lanes hold.

A block read (`simt.block_read`, SPV_INTEL_subgroups) of n components gives lane l, as
component c, element p + c S + l.  That is what some components are in all lanes, if
lanes count along what is contiguous in memory:

    I = S, rows contiguous in memory        lane = row, K blocks of rows in a column
    I = 1, columns contiguous in memory     lane = column, S columns at a time

and if nothing of it is padding, or checked along the lanes.  Components that follow one
another in memory are a *run*:

    K components     the rows of a column
    K U components   all columns, where the next one begins where one ends
    U components     the only row, where I = 1

A run is cut into messages of 8, 4, 2 and 1 components, of 16 too if they are bytes.  A
plan is `BlockAccess`, or a `Refusal` with the reason against one.

>>> x = CoopmatrixLayout.of(32, 8, 32, "acc", lanes=16)
>>> plan_block(x, AccessFacts(rows_last=True, strides=(64, 1), element_bytes=4))
BlockAccess(runs=8, lengths=(2,), checked_across=False, joined=False)
>>> plan_block(x, AccessFacts(True, (32, 1), 4, is_placed=True))
BlockAccess(runs=1, lengths=(8, 8), checked_across=False, joined=True)
>>> print(plan_block(x, AccessFacts(rows_last=False, strides=(64, 1), element_bytes=4)))
lanes are not along the contiguous dimension: lanes hold 16 rows, columns are contiguous

Laws (test/unit/plan/test_lane_access.py): the components of the messages are all of the
matrix's, each once; what lane l has as component c of a message is element p + c S + l.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from math import gcd

from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.plan.refusal import Refusal

READ_BYTES = 4
"""What SPV_INTEL_subgroups wants the address of a read to be a multiple of."""
WRITE_BYTES = 16
"""The same of a write."""
LONGEST, LONGEST_OF_BYTES = 8, 16
"""Components of the longest message."""


class BlockReason(Enum):
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
class BlockAccess:
    """Messages that all lanes access memory by together."""

    runs: int
    """How many runs there are: columns, if each is one."""
    lengths: tuple[int, ...]
    """The components of the messages of each run, in the order of memory."""
    checked_across: bool
    """Whether the other axis is checked, by branches that all lanes take."""
    joined: bool
    """Whether a run goes on from column to column."""

    def __str__(self) -> str:
        lengths = " + ".join(map(str, self.lengths))
        return f"by {self.messages} blocks: {self.runs} x ({lengths}) components"

    @property
    def messages(self) -> int:
        """How many messages there are."""
        return self.runs * len(self.lengths)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where messages begin in a run, in components."""
        return tuple(sum(self.lengths[:n]) for n in range(len(self.lengths)))

    def places(self, x: CoopmatrixLayout) -> Iterator[tuple[int, int]]:
        """Yield the block of rows and the step of each component of the first run."""
        for number in range(sum(self.lengths)):
            yield number % x.blocks, number // x.blocks


@dataclass(frozen=True, slots=True)
class AccessFacts:
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
    is_placed: bool = False
    """Whether shape, strides and offset of the memref are all known."""
    checked_rows: bool = False
    checked_cols: bool = False

    @property
    def checked_across(self) -> bool:
        """Whether the axis is checked that lanes are not along."""
        return self.checked_cols if self.rows_last else self.checked_rows


ROW_ELEMENTS = 64
"""Elements that all lanes access at once as vectors, if these have more than 4: of more
elements Intel's runtime for CPUs takes far longer to compile (one kernel, one run)."""


@dataclass(frozen=True, slots=True)
class RowAccess:
    """Vectors of neighbours in a row, which each lane accesses by itself, or all read.

    Of rows that all read, a lane selects what it holds, also where rows are shared out.
    """

    runs: tuple[tuple[int, int], ...]
    """The first column and the columns of each vector."""
    is_shared: bool = False
    """Whether all lanes read all rows, and each lane selects what it holds."""

    def __str__(self) -> str:
        lengths = " + ".join(str(length) for _, length in self.runs)
        whose = ", which all lanes read" if self.is_shared else ""
        return f"by rows of {lengths} components{whose}"


def plan_rows(
    x: CoopmatrixLayout,
    memory: AccessFacts,
    width: int,
    max_vector: int = 16,
    is_shared: bool = False,
) -> RowAccess | Refusal:
    """Return how lanes access neighbours in a row at once, or why they do not.

    Args:
        x: who holds which element.
        memory: where the elements are.
        width: components of the vectors that lanes hold.
        max_vector: components of the longest vector of the device.
        is_shared: whether all lanes are to read all rows, where they can.
    """
    is_shared = (
        is_shared
        and not (memory.is_write or memory.checked_rows or x.needs_row_mask)
        and x.cols % 2 == 0
    )
    if (x.lanes_per_row > 1 and not is_shared) or memory.rows_last or x.cols == 1:
        return Refusal(BlockReason.LANES, "no lane holds neighbours in memory")
    if memory.is_atomic or memory.is_special or memory.is_packed:
        return Refusal(BlockReason.ATOMIC, "or volatile, or packed")
    if memory.strides[1] != 1:
        return Refusal(BlockReason.STRIDE, "")
    if memory.checked_cols:
        return Refusal(BlockReason.CHECKED, "columns")
    runs: list[tuple[int, int]] = []
    most = max_vector if is_shared else min(max(4, ROW_ELEMENTS // x.lanes), width)
    start, length = 0, most
    while start < x.cols:
        while length > x.cols - start:
            length //= 2
        runs.append((start, length))
        start += length
    return RowAccess(tuple(runs), is_shared)


def plan_block(
    x: CoopmatrixLayout, memory: AccessFacts, max_vector: int = 16
) -> BlockAccess | Refusal:
    """Return how lanes access a matrix by blocks, or why they do not.

    Args:
        x: who holds which element.
        memory: where the elements are.
        max_vector: components of the longest vector of the device.
    """
    if refusal := _refused(x, memory):
        return refusal
    plan = _cut(x, memory, max_vector)
    wanted = WRITE_BYTES if memory.is_write else READ_BYTES
    size = memory.element_bytes
    offsets = [memory.alignment, *(start * x.lanes * size for start in plan.starts)]
    if plan.runs > 1:
        pitch = memory.strides[0]
        offsets.append(size if pitch is None else pitch * size)
    found = max(size, gcd(*offsets) & -gcd(*offsets))
    if found < wanted:
        return Refusal(
            BlockReason.ALIGNMENT, f"to {wanted} bytes, only to {found} in every block"
        )
    return plan


def _cut(x: CoopmatrixLayout, memory: AccessFacts, max_vector: int) -> BlockAccess:
    """Return the messages, whatever is known of the address."""
    longest = LONGEST_OF_BYTES if memory.element_bytes == 1 else LONGEST
    follows = memory.strides[0] == x.lanes * x.blocks and memory.is_placed
    joined = memory.rows_last and follows and not memory.checked_across and x.steps > 1
    one = joined or not memory.rows_last
    run, runs = (x.components, 1) if one else (x.blocks, x.steps)
    lengths: list[int] = []
    length = min(longest, max_vector)
    while run:
        while length > run:
            length //= 2
        lengths.append(length)
        run -= length
    return BlockAccess(runs, tuple(lengths), memory.checked_across, joined)


def _refused(x: CoopmatrixLayout, memory: AccessFacts) -> Refusal | None:
    """Return why there are no blocks, however they would be aligned."""
    what = "rows" if memory.rows_last else "columns"
    if not memory.is_global:
        return Refusal(BlockReason.SPACE, "the memref is not in global memory")
    if memory.is_atomic:
        return Refusal(BlockReason.ATOMIC, "it has an ordering")
    if memory.is_special:
        return Refusal(BlockReason.VOLATILE, "it is one of them")
    if memory.is_packed or x.channels > 1:
        return Refusal(
            BlockReason.PACKED, f"{x.channels} columns in a channel of a lane"
        )
    if memory.strides[1] != 1:
        return Refusal(
            BlockReason.STRIDE, f"the last stride is {memory.strides[1] or '?'}"
        )
    if x.block_rows != (x.lanes if memory.rows_last else 1):
        return Refusal(
            BlockReason.LANES, f"lanes hold {x.block_rows} rows, {what} are contiguous"
        )
    if x.needs_mask or x.needs_row_mask:
        padded = f"{x.padded_rows} x {x.padded_cols}"
        return Refusal(BlockReason.PADDING, f"{x.rows} x {x.cols} is held as {padded}")
    if memory.checked_rows if memory.rows_last else memory.checked_cols:
        return Refusal(BlockReason.CHECKED, what)
    return None
