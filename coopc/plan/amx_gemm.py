"""Decide how a multiplication of matrices is blocked for tiles of AMX and for caches.

A panel is 32 rows of A, or 32 columns of B: two tiles.  A step is as much of K as a row
of a tile of A holds, 64 bytes.  Four tiles accumulate the product of a panel of A and
one of B; two hold a step of either: all eight tiles.

A and B are packed first, so that a step of a panel is 2 KiB without gaps.  A block of
C, `rows` panels by `cols` panels, is the work of one work-group, `steps` of K at a
time: its sums stay in the second cache, and so do the panels that it needs.

Law: a block has at most `SUM_BYTES` of sums.
"""

from __future__ import annotations

from dataclasses import dataclass

PANEL = 32
"""Rows or columns of a panel."""
STEP_BYTES = 64
"""Of K, in a row of A."""
UNROLL = 4
"""Steps that the innermost loop is unrolled by."""
SUM_BYTES = 1 << 20
"""Of the sums of a block, at most: half of the second cache."""


ROW_BYTES = 2048
"""From row to row of an A that is not packed, at most."""
WHOLE_BYTES = 512 << 10
"""Of an A that is not packed, at most: larger ones were faster packed."""


@dataclass(frozen=True, slots=True)
class Block:
    """What a work-group computes at a time."""

    rows: int
    """Panels of A."""
    cols: int
    """Panels of B."""
    steps: int
    """Of K."""

    def __post_init__(self) -> None:
        if min(self.rows, self.cols, self.steps) < 1:
            found = f"{self.rows} x {self.cols} panels and {self.steps} steps"
            raise ValueError(f"expected a block of 1 or more of each, got {found}")
        size = self.rows * self.cols * PANEL * PANEL * 4
        if size > SUM_BYTES:
            raise ValueError(
                f"expected at most {SUM_BYTES} bytes of sums in a block, got {size}"
            )


WHOLE = Block(8, 8, 64)
"""The block of large matrices: the best of 12 on an Emerald Rapids Xeon, of 2 MiB of
second cache, for bf16 and i8 of 512 to 4096."""
SHARED = Block(4, 8, 64)
"""The same where threads share them: the best of 8 with 16 threads."""


def block_of(m: int | None, n: int | None, threads: int = 1) -> Block:
    """Return the block of a multiplication.

    Args:
        m: rows of C; None where they are not known.
        n: columns of C.
        threads: that share the blocks; each is to have some.

    >>> block_of(4096, 4096), block_of(512, 512, threads=16)
    (Block(rows=8, cols=8, steps=64), Block(rows=4, cols=4, steps=64))
    """
    whole = SHARED if threads > 1 else WHOLE
    if m is None or n is None:
        return whole
    rows, cols = whole.rows, whole.cols
    across, down = -(-n // PANEL), -(-m // PANEL)
    rows, cols = min(rows, down), min(cols, across)
    while rows * cols > 1 and -(-down // rows) * -(-across // cols) < threads:
        if rows >= cols:
            rows = -(-rows // 2)
        else:
            cols = -(-cols // 2)
    return Block(rows, cols, whole.steps)


def packs_a(
    m: int | None, k: int | None, row_stride: int | None, element_bytes: int
) -> bool:
    """Return whether A is packed, too, and not read as it is.

    Args:
        m: rows of A; None where they are not known.
        k: columns of A.
        row_stride: from row to row, in elements.
        element_bytes: 1 or 2.

    It is where panels and steps of it are not whole, where 16 rows of it would be in
    more than 8 lines of a set of the first cache, which are 4 KiB apart, and where it
    is read often enough.

    >>> packs_a(512, 512, 512, 2), packs_a(500, 512, 512, 2)
    (False, True)
    >>> packs_a(128, 2048, 2048, 2), packs_a(1024, 1024, 1024, 2)
    (True, True)
    """
    if m is None or k is None or row_stride is None:
        return True
    whole = m % PANEL == 0 and k * element_bytes % STEP_BYTES == 0
    rows = row_stride * element_bytes > ROW_BYTES
    return not whole or rows or m * k * element_bytes > WHOLE_BYTES
