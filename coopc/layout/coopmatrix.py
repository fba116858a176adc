r"""The coopmatrix layout: columns of a matrix over the lanes, rows first.

An M x N matrix, S lanes, both M (padded if need be) and S powers of two.  With

    I = min(M, S)                 rows that the lanes hold at a time
    K = M / I = K1 K2             blocks of I rows
    w                             channels: neighbouring columns packed in 32 bits
    U = the least u with  w (S/I) u >= N,    J = w (S/I) U     columns with padding
    V = w K U                     components of a lane

lane p and component v = c + w (w1 + K1 (u + U w2)) hold

    row = p mod I + I (w1 + K1 w2)        0 <= w1 < K1,  0 <= w2 < K2
    col = c + w (floor(p / I) + u S/I)    0 <= c < w,    0 <= u < U

Unpacked (w = 1) this is the source document's L(i, k1, j, k2) = i + k1 I + j I K1 +
k2 I K1 J at p + v S; packed, its A**.  For example 4 x 15 over S = 16 lanes:

    p    0    1    2    3    4    5  ...   11   12    13    14    15
    .x  0,0  1,0  2,0  3,0  0,1  1,1 ...  3,2  0,3   1,3   2,3   3,3
    .y  0,4  1,4  2,4  3,4  0,5  1,5 ...  3,6  0,7   1,7   2,7   3,7
    .z  0,8  1,8  2,8  3,8  0,9  1,9 ...  3,10 0,11  1,11  2,11  3,11
    .w  0,12 1,12 2,12 3,12 0,13 1,13 ... 3,14 -,-   -,-   -,-   -,-

Which K1 and w a matrix has follows from its use and element width:

    a       w = 32 / bits if that divides N, else 1;  K1 = 1
    b       w = 1;  K1 = 16 / bits if K > 1, else 1 (so 2 for bytes with M > S)
    others  w = 1;  K1 = 1

Slips of the document, corrected here: its mask J S/I > N also strikes layouts without
padding, the exact one is `needs_mask` (col >= N, only if J > N); its formula for w has
unbalanced parentheses; for I < S its A** packs neighbouring columns, where the existing
implementation packs columns S/I apart: this is the document's.  The document wants M to
be a power of two; other M are padded to the next one.

Laws (test/unit/layout/test_coopmatrix.py checks each by its name):

    bijection   the places without padding are the elements, each once
    linearised  unpacked, place (p, v) is the element with L(i, k1, j, k2) = p + v S
    combined    owners is the document's combined inverse
    channels    the w components that share 32 bits are neighbours in one row
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from coopc.layout.distribution import Distribution

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray

Use: TypeAlias = Literal["a", "b", "acc", "none"]
"""What a matrix is for, as the dialect spells it."""

ELEMENT_BITS = (8, 16, 32, 64)


def is_power_of_two(value: int) -> bool:
    """Return whether the value is 1, 2, 4, 8, ..."""
    return value > 0 and not value & (value - 1)


def channels(use: Use, cols: int, element_bits: int) -> int:
    """Return w, the neighbouring columns that one lane keeps in one 32-bit channel.

    >>> channels("a", 16, 8), channels("a", 15, 8), channels("acc", 16, 8)
    (4, 1, 1)
    """
    packed = max(1, 32 // element_bits)
    return packed if use == "a" and cols % packed == 0 else 1


@dataclass(frozen=True, slots=True)
class CoopmatrixLayout(Distribution):
    """The coopmatrix layout of one matrix; use and width are already in `w` and `k1`.

    >>> x = CoopmatrixLayout.of(32, 2, element_bits=8, use="b", lanes=16)
    >>> [x.element(0, v) for v in range(x.components)]
    [(0, 0), (16, 0), (0, 1), (16, 1)]
    """

    channels: int = 1
    """w, the columns packed in a channel: a power of two that divides N."""
    k1: int = 1
    """K1, the row blocks that are neighbours in a lane: a divisor of K."""

    def __post_init__(self) -> None:
        Distribution.__post_init__(self)
        if not is_power_of_two(self.lanes):
            raise ValueError(
                f"expected a subgroup size that is a power of two, got {self.lanes}"
            )
        if not is_power_of_two(self.channels) or self.cols % self.channels:
            raise ValueError(
                f"expected a number of channels that is a power of two and divides "
                f"the {self.cols} columns, got {self.channels}"
            )
        if self.k1 < 1 or self.blocks % self.k1:
            raise ValueError(
                f"expected K1 to divide the {self.blocks} row blocks, got {self.k1}"
            )

    @classmethod
    def of(
        cls, rows: int, cols: int, element_bits: int, use: Use, lanes: int
    ) -> CoopmatrixLayout:
        """Return the layout of a matrix of a type.

        Args:
            rows: M, at least 1; padded to a power of two.
            cols: N, at least 1.
            element_bits: 8, 16, 32 or 64.
            use: which decides on channels and on K1.
            lanes: S, the subgroup size, a power of two.

        Raises:
            ValueError: a size is out of range.
        """
        if element_bits not in ELEMENT_BITS:
            raise ValueError(
                f"expected elements of 8, 16, 32 or 64 bits, got {element_bits}"
            )
        k1 = max(1, 16 // element_bits) if use == "b" and rows > lanes else 1
        return cls(rows, cols, lanes, channels(use, cols, element_bits), k1)

    @property
    def padded_rows(self) -> int:
        """M padded to a power of two."""
        return 1 << (self.rows - 1).bit_length()

    @property
    def block_rows(self) -> int:
        """I, the rows that the lanes hold at a time."""
        return min(self.padded_rows, self.lanes)

    @property
    def blocks(self) -> int:
        """K, the blocks of I rows."""
        return self.padded_rows // self.block_rows

    @property
    def lanes_per_row(self) -> int:
        """S / I, the packed columns that the lanes hold at a time."""
        return self.lanes // self.block_rows

    @property
    def steps(self) -> int:
        """U, the packed columns that one lane holds of a row."""
        return -(-self.cols // (self.channels * self.lanes_per_row))

    @property
    def padded_cols(self) -> int:
        """J, the columns with padding, in elements."""
        return self.channels * self.lanes_per_row * self.steps

    @property
    def components(self) -> int:
        """V = w K U, in elements (not in 32-bit channels)."""
        return self.channels * self.blocks * self.steps

    @property
    def needs_mask(self) -> bool:
        """Whether some column is padding: J > N."""
        return self.padded_cols > self.cols

    @property
    def needs_row_mask(self) -> bool:
        """Whether some row is padding: M is not a power of two."""
        return self.padded_rows > self.rows

    def _place(self, lane: IntArray, component: IntArray) -> tuple[IntArray, IntArray]:
        channel, rest = component % self.channels, component // self.channels
        w1, rest = rest % self.k1, rest // self.k1
        u, w2 = rest % self.steps, rest // self.steps
        row = lane % self.block_rows + (w1 + w2 * self.k1) * self.block_rows
        packed_col = lane // self.block_rows + u * self.lanes_per_row
        return row, channel + self.channels * packed_col
