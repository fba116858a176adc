"""Decide how a matrix is cut into tiles of AMX, and which accesses tiles can do.

A tile has at most 16 rows of at most 64 bytes, and a row is whole channels of 4 bytes.
A matrix M x N is cut from its first element on, so only the last tiles are smaller:

    matrix             tiles (rows x columns of the matrix)
    20 x 40 of bf16    16 x 32   16 x 8
                        4 x 32    4 x 8

The `b` of a multiplication is packed: w = 4 / (bytes of an element) rows share a row of
the tile, element (k, n) is at (k / w, n * w + k % w).  Where a channel is not full, it
is padded with zeros, in K alone.

Laws (test/unit/plan/test_amx_tiles.py): every element of a matrix is in one place of
one tile; tiles keep the limits; a's tiles along K are those of b.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from coopc.device.model import Amx

CHANNEL_BYTES = 4
"""What an accumulator takes in at a time; rows of tiles are multiples of it."""
AMX = Amx()


@dataclass(frozen=True, slots=True)
class TileCut:
    """A tile, and the part of a matrix that it holds."""

    row: int
    """The first row of the matrix that it holds; at least 0."""
    col: int
    rows: int
    """Rows of the matrix that it holds, at least 1."""
    cols: int
    element_bytes: int
    """1, 2 or 4."""
    packed: int = 1
    """Rows of the matrix that share a row of the tile: 1, 2 or 4."""

    def __post_init__(self) -> None:
        if self.element_bytes not in (1, 2, 4):
            raise ValueError(
                f"expected elements of 1, 2 or 4 bytes, got {self.element_bytes}"
            )
        if min(self.rows, self.cols) < 1:
            raise ValueError(f"expected a part, got {self.rows} x {self.cols}")

    @property
    def shape(self) -> tuple[int, int]:
        """The (rows, columns) of the tile itself, padding included.

        >>> TileCut(0, 0, 5, 7, 2, packed=2).shape, TileCut(0, 0, 4, 5, 2).shape
        ((3, 14), (4, 6))
        """
        rows, cols = -(-self.rows // self.packed), self.cols * self.packed
        whole = CHANNEL_BYTES // self.element_bytes
        return rows, -(-cols // whole) * whole

    @property
    def is_padded(self) -> bool:
        """Whether the tile has elements that the matrix has not.

        >>> TileCut(0, 0, 5, 7, 2, packed=2).is_padded, TileCut(0, 0, 4, 6, 2).is_padded
        (True, False)
        """
        rows, cols = self.shape
        return rows * cols != self.rows * self.cols

    def place(self, row: int, col: int) -> tuple[int, int]:
        """Return where in the tile an element of its part is.

        >>> TileCut(0, 0, 6, 7, 2, packed=2).place(5, 3)
        (2, 7)
        """
        return row // self.packed, col * self.packed + row % self.packed


@dataclass(frozen=True, slots=True)
class TileGrid:
    """The tiles of a matrix, in row-major order."""

    shape: tuple[int, int]
    """The number of tiles along the rows and along the columns."""
    cuts: tuple[TileCut, ...]

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What the names of the tiles end in, as `_0x1`."""
        rows, cols = self.shape
        return tuple(f"_{p}x{q}" for p in range(rows) for q in range(cols))


def grid(
    rows: int, cols: int, element_bytes: int, is_packed: bool, amx: Amx = AMX
) -> TileGrid:
    """Return how a matrix is cut.

    Args:
        rows: of the matrix, at least 1.
        cols: likewise.
        element_bytes: 1, 2 or 4.
        is_packed: whether it is the b of a multiplication.
        amx: the limits of a tile.

    >>> [(x.row, x.col, x.shape) for x in grid(20, 40, 2, False).cuts]
    [(0, 0, (16, 32)), (0, 32, (16, 8)), (16, 0, (4, 32)), (16, 32, (4, 8))]
    """
    packed = CHANNEL_BYTES // element_bytes if is_packed else 1
    most_rows = amx.rows * packed
    most_cols = amx.row_bytes // element_bytes // packed
    heights = _pieces(rows, most_rows)
    widths = _pieces(cols, most_cols)
    cuts = tuple(
        TileCut(row, col, height, width, element_bytes, packed)
        for row, height in heights
        for col, width in widths
    )
    return TileGrid((len(heights), len(widths)), cuts)


def _pieces(size: int, most: int) -> list[tuple[int, int]]:
    """Return (start, length) of the pieces of at most `most` that make up a size."""
    return [(start, min(most, size - start)) for start in range(0, size, most)]


def why_staged(
    cuts: Sequence[TileCut],
    layout: str,
    inner_stride: int | None,
    is_checked: bool,
) -> str | None:
    """Return why tiles cannot be read from, or written to, memory as it is, or None.

    Args:
        cuts: the tiles.
        layout: in memory: row_major, col_major, packed or in blocks.
        inner_stride: of the memref's last dimension, in elements; None if not known.
        is_checked: whether elements out of bounds are to be left out.

    >>> why_staged(grid(16, 16, 4, False).cuts, "row_major", 1, False)
    >>> why_staged(grid(32, 16, 2, True).cuts, "row_major", 1, False)
    'each row of a tile holds 2 rows of the matrix, but memory is not packed'
    """
    packed = cuts[0].packed
    if layout not in ("row_major", "packed"):
        return "rows of the matrix are not rows in memory"
    if inner_stride != 1:
        found = "dynamic" if inner_stride is None else inner_stride
        return f"elements are not consecutive: the stride is {found}"
    if is_checked:
        return "elements out of bounds are left out"
    if packed > 1 and layout != "packed":
        return (
            f"each row of a tile holds {packed} rows of the matrix, but "
            "memory is not packed"
        )
    if any(cut.is_padded for cut in cuts):
        return f"rows are not multiples of {CHANNEL_BYTES} bytes"
    return None
