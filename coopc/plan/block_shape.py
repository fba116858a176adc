r"""Block shapes: what one 2D block message moves, and where each element ends up.

A subgroup moves `count` blocks of `height` rows and `width` elements that lie side by
side in memory: element (r, c) of the message is at row y + r and column x + c of the
surface, c counted over all blocks.  What a load returns is one sequence G of elements,
spread over registers and lanes: with slots of s elements, register k of lane l holds
G[(k * lanes + l) * s ... + s - 1].  Three modes fill G:

    plain       block after block, row after row                 for b: for r: for c
    transform   f = 32 / bits rows together (VNNI)      for b: for r / f: for c: f rows
    transpose   column after column                              for c: for r

For example 16-bit elements, 2 rows and 4 columns over 4 lanes, 32-bit slots:

    mode        lane 0       lane 1       lane 2       lane 3
    plain       (0,0)(0,1)   (0,2)(0,3)   (1,0)(1,1)   (1,2)(1,3)
    transform   (0,0)(1,0)   (0,1)(1,1)   (0,2)(1,2)   (0,3)(1,3)

and 32-bit elements, 4 rows and 2 columns, transposed, over 4 lanes:

    register 0  (0,0)        (1,0)        (2,0)        (3,0)
    register 1  (0,1)        (1,1)        (2,1)        (3,1)

Elements outside the surface are 0 in a load and not written by a store.

Laws (test/unit/plan/test_block_shape.py checks each by its name):

    cover       G holds each element of the message once
    slots       the slots of all lanes, in order, are G
    element     an element of G by its number is the one that is there
    pairs       a 32-bit slot of a transform holds one column, of f rows from r on

The source is Intel's SPV_INTEL_2d_block_io and, for what is placed where, the layouts
that Triton's Intel back end and Intel's compiler agree on for every DPAS operand.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cache

import numpy as np
from numpy.typing import NDArray

CHANNEL_BITS = 32
ROW_BYTES = 64
"""The most bytes that a message reads of one row, all blocks together."""
BITS = (8, 16, 32, 64)
GRF_BYTES = 64
"""A register of the devices that have 2D block messages."""


class BlockMode(Enum):
    """How a load fills the registers."""

    PLAIN = "plain"
    TRANSFORM = "transform"
    """Rows are interleaved so that 32 bits hold neighbours along a column (VNNI)."""
    TRANSPOSE = "transpose"


@dataclass(frozen=True, slots=True)
class BlockShape:
    """What one 2D block message moves.

    >>> str(BlockShape(16, 32, 16, 2, BlockMode.TRANSFORM))
    '16 bits, 32x16x2, transform'
    """

    bits: int
    """Width of an element: 8, 16, 32 or 64."""
    height: int
    """Rows of a block, a power of two."""
    width: int
    """Elements of a row of one block, a power of two."""
    count: int = 1
    """Blocks side by side: 1, 2 or 4."""
    mode: BlockMode = BlockMode.PLAIN

    def __post_init__(self) -> None:
        if self.bits not in BITS:
            raise ValueError(f"expected elements of {BITS} bits, got {self.bits}")
        for name in ("height", "width", "count"):
            size: int = getattr(self, name)
            if size < 1 or size & (size - 1):
                raise ValueError(
                    f"expected a {name} that is a power of two, got {size}"
                )
        if self.mode is BlockMode.TRANSFORM:
            factor = CHANNEL_BITS // self.bits
            if factor not in (2, 4) or self.height % factor:
                raise ValueError(
                    "expected 8-bit elements in rows of 4, or 16-bit ones in rows of "
                    f"2, which a transform packs, got {self.height} rows of "
                    f"{self.bits} bits"
                )
        if self.mode is BlockMode.TRANSPOSE and self.count != 1:
            raise ValueError(f"expected one block to transpose, got {self.count}")

    def __str__(self) -> str:
        size = f"{self.bits} bits, {self.height}x{self.width}x{self.count}"
        return size if self.mode is BlockMode.PLAIN else f"{size}, {self.mode.value}"

    @property
    def columns(self) -> int:
        """Elements of a row, all blocks together."""
        return self.width * self.count

    @property
    def elements(self) -> int:
        """Elements of the message."""
        return self.height * self.columns

    @property
    def row_bytes(self) -> int:
        """Bytes of a row, all blocks together."""
        return self.columns * self.bits // 8

    @property
    def bytes(self) -> int:
        """Bytes of the message."""
        return self.elements * self.bits // 8

    @property
    def slot_bits(self) -> int:
        """Width of the slots that a load fills in one go: 32 where it packs."""
        return CHANNEL_BITS if self.mode is BlockMode.TRANSFORM else self.bits

    def element(self, index: int) -> tuple[int, int]:
        """Return the (row, column) of an element of G, by its number.

        >>> BlockShape(16, 2, 4, 1, BlockMode.TRANSFORM).element(3)
        (1, 1)
        """
        if self.mode is BlockMode.TRANSPOSE:
            col, row = divmod(index, self.height)
            return row, col
        transformed = self.mode is BlockMode.TRANSFORM
        factor = CHANNEL_BITS // self.bits if transformed else 1
        index, part = divmod(index, factor)
        index, col = divmod(index, self.width)
        block, row = divmod(index, self.height // factor)
        return row * factor + part, block * self.width + col

    def slots(self, lanes: int, slot_bits: int) -> NDArray[np.int64]:
        """Return which elements each slot holds.

        Args:
            lanes: the subgroup size.
            slot_bits: width of a slot, a multiple of `bits`.

        Returns:
            An array of shape (registers, lanes, elements of a slot, 2); the last axis
            is (row, column) in the message.

        Raises:
            ValueError: the slots of all lanes are not filled evenly.
        """
        per_slot = slot_bits // self.bits
        if slot_bits % self.bits or self.elements % (lanes * per_slot):
            raise ValueError(
                f"{self.elements} elements of {self.bits} bits do not fill slots of "
                f"{slot_bits} bits in {lanes} lanes evenly"
            )
        return _sequence(self).reshape(-1, lanes, per_slot, 2)


@cache
def _sequence(shape: BlockShape) -> NDArray[np.int64]:
    """Return G: the (row, column) of each element, in the order of the registers."""
    rows, columns = np.indices((shape.height, shape.columns))
    tags = np.stack([rows, columns], axis=-1)
    if shape.mode is BlockMode.TRANSPOSE:
        ordered = tags.transpose(1, 0, 2)
    else:
        factor = 1
        if shape.mode is BlockMode.TRANSFORM:
            factor = CHANNEL_BITS // shape.bits
        split = tags.reshape(-1, factor, shape.count, shape.width, 2)
        ordered = split.transpose(2, 0, 3, 1, 4)
    sequence = np.ascontiguousarray(ordered.reshape(-1, 2)).astype(np.int64)
    sequence.flags.writeable = False
    return sequence
