"""Which blocks of memory one 2D block instruction of a Xe device takes.

Facts of the hardware, for the plans to choose from: Intel's graphics compiler
(documentation/igc/SPV_INTEL_2d_block_io/BlockLoadSupportedVariants.md, and 2.40.14
tried on every shape), and SPV_INTEL_2d_block_io for the rules of the surface.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

BlockKind: TypeAlias = Literal["load", "transform", "transpose", "prefetch", "store"]
"""`transform` packs rows into 32-bit channels (VNNI)."""

MAX_BLOCK_WIDTH_BYTES = 64
"""Of one row of a message, all its blocks together."""
LOAD_HEIGHTS = (1, 2, 4, 8, 16, 32)
STORE_HEIGHTS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class BlockShapes:
    element_bits: int
    """8, 16, 32 or 64."""
    width: int
    """Columns of a block, in elements."""
    heights: tuple[int, ...]
    """Rows of a block."""
    counts: tuple[int, ...] = (1,)
    """Blocks, side by side in memory."""
    heights_if_many: tuple[int, ...] | None = None
    """Rows where there is more than one block; None for `heights`."""

    def __post_init__(self) -> None:
        if self.element_bits not in (8, 16, 32, 64):
            raise ValueError(
                f"expected elements of 8, 16, 32 or 64 bits, got {self.element_bits}"
            )
        row_bytes = self.width * max(self.counts) * self.element_bits // 8
        if row_bytes > MAX_BLOCK_WIDTH_BYTES:
            raise ValueError(
                f"expected rows of at most {MAX_BLOCK_WIDTH_BYTES} bytes in all "
                f"blocks, got {row_bytes}"
            )

    def has(self, height: int, count: int) -> bool:
        """Whether `count` blocks of `height` rows are one instruction."""
        heights = self.heights
        if count > 1 and self.heights_if_many is not None:
            heights = self.heights_if_many
        return count in self.counts and height in heights


@dataclass(frozen=True, slots=True)
class BlockIO:
    """The 2D block instructions of a device, and what memory must be like."""

    load: tuple[BlockShapes, ...]
    transform: tuple[BlockShapes, ...]
    transpose: tuple[BlockShapes, ...]
    prefetch: tuple[BlockShapes, ...]
    store: tuple[BlockShapes, ...]
    immediate_offsets: bool
    """Whether x and y offsets cost nothing, or a copy of the payload each."""
    base_alignment: int = 64
    """Of the base address, in bytes; the rest can be moved into x."""
    min_surface_width_bytes: int = 64
    """Bytes of a row of the surface, and of its pitch, at least."""
    width_alignment: int = 4
    """Of a row of the surface, in bytes."""
    max_surface_bytes: int = (1 << 24) - 1
    """Bytes of a row and of the pitch, and rows, at most: fields of 24 bits."""
    pitch_alignment: int = 16
    """Of the pitch, in bytes."""

    def shapes(self, kind: BlockKind) -> tuple[BlockShapes, ...]:
        """The blocks that the instructions of a kind take."""
        return getattr(self, kind)

    def has(
        self, kind: BlockKind, element_bits: int, width: int, height: int, count: int
    ) -> bool:
        """Whether one instruction takes these blocks."""
        return any(
            (x.element_bits, x.width) == (element_bits, width) and x.has(height, count)
            for x in self.shapes(kind)
        )


def _narrow(bits: int, width: int) -> BlockShapes:
    """Blocks of up to 16 bytes a row: where several, each fills a register.

    Single rows of 16 bytes of 8 bits are loaded as one wider block.
    """
    row_bytes = width * bits // 8
    merged = (1,) if (bits, width) == (8, 16) else ()
    many = tuple(x for x in LOAD_HEIGHTS if x in merged or x * row_bytes >= 64)
    return BlockShapes(bits, width, LOAD_HEIGHTS, (1, 2, 4), many)


def _wide(bits: int, heights: tuple[int, ...]) -> tuple[BlockShapes, ...]:
    """Blocks of 32 and of 64 bytes a row."""
    return (
        BlockShapes(bits, 32 * 8 // bits, heights, (1, 2)),
        BlockShapes(bits, 64 * 8 // bits, heights),
    )


_NARROW = (*((8, width) for width in (4, 8, 16)), *((16, width) for width in (2, 4, 8)))
"""Widths of blocks of 8 and 16 bits with rows of up to 16 bytes."""

_WIDE = (*_wide(8, LOAD_HEIGHTS), *_wide(16, LOAD_HEIGHTS))
"""Loads and prefetches of 8 and 16 bits with rows of 32 and 64 bytes."""

_LARGE = (
    *(BlockShapes(32, width, LOAD_HEIGHTS, (1, 2)) for width in (1, 2, 4, 8)),
    BlockShapes(32, 16, LOAD_HEIGHTS),
)
"""Loads and prefetches of 32 bits."""

_LOADS = (
    *(_narrow(bits, width) for bits, width in _NARROW),
    *_WIDE,
    *_LARGE,
    # 64-bit blocks have at least 128 bytes.
    *(
        BlockShapes(64, width, tuple(x for x in LOAD_HEIGHTS if x * width >= 16))
        for width in (1, 2, 4, 8)
    ),
)

_PREFETCHES = (
    *(BlockShapes(bits, width, LOAD_HEIGHTS, (1, 2, 4)) for bits, width in _NARROW),
    *_WIDE,
    *_LARGE,
    *(BlockShapes(64, width, LOAD_HEIGHTS) for width in (1, 2, 4, 8)),
)

_TRANSFORMS = (
    *(BlockShapes(8, width, (4, 8, 16, 32), (1, 2, 4)) for width in (4, 8, 16)),
    *(BlockShapes(16, width, (2, 4, 8, 16, 32), (1, 2, 4)) for width in (2, 4, 8)),
    BlockShapes(16, 16, (2, 4, 8, 16, 32), (1, 2)),
)

_WIDE_TRANSFORMS = (
    *_TRANSFORMS,
    *_wide(8, (4, 8, 16, 32)),
    BlockShapes(16, 32, (2, 4, 8, 16, 32)),
)

_TRANSPOSES = (
    *(BlockShapes(32, width, LOAD_HEIGHTS) for width in (1, 2, 4, 8)),
    *(BlockShapes(64, width, (8,)) for width in (2, 4)),
)

_STORES = tuple(
    BlockShapes(bits, width, STORE_HEIGHTS)
    for bits, widths in (
        (8, (4, 8, 16, 32, 64)),
        (16, (2, 4, 8, 16, 32)),
        (32, (1, 2, 4, 8, 16)),
        (64, (1, 2, 4, 8)),
    )
    for width in widths
)

PVC_BLOCK_IO = BlockIO(
    _LOADS, _TRANSFORMS, _TRANSPOSES, _PREFETCHES, _STORES, immediate_offsets=False
)
XE2_BLOCK_IO = BlockIO(
    _LOADS, _WIDE_TRANSFORMS, _TRANSPOSES, _PREFETCHES, _STORES, immediate_offsets=True
)
