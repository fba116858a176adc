"""The `ttig` dialect: what Intel's compiler adds to Triton GPU IR."""

from xdsl.ir import Dialect

from coopc.dialects.ttig.blocks import (
    BlockLoad2DFromPtrOp,
    BlockLoad2DOp,
    ExtractDescOp,
    MemoryLayout,
)
from coopc.dialects.ttig.encodings import (
    DpasEncodingAttr,
    Subgroup2DBlock,
    Subgroup2DBlockEncodingAttr,
    Warp,
    WarpEncodingAttr,
    attribute_of,
)
from coopc.dialects.ttig.prefetches import (
    DescriptorPrefetchOp,
    PrefetchOp,
    SubGroupTransposeOp,
)

Ttig = Dialect(
    "ttig",
    [
        BlockLoad2DFromPtrOp,
        BlockLoad2DOp,
        DescriptorPrefetchOp,
        ExtractDescOp,
        PrefetchOp,
        SubGroupTransposeOp,
    ],
    [DpasEncodingAttr, Subgroup2DBlockEncodingAttr, WarpEncodingAttr],
)

__all__ = [
    "BlockLoad2DFromPtrOp",
    "BlockLoad2DOp",
    "DescriptorPrefetchOp",
    "DpasEncodingAttr",
    "ExtractDescOp",
    "MemoryLayout",
    "PrefetchOp",
    "SubGroupTransposeOp",
    "Subgroup2DBlock",
    "Subgroup2DBlockEncodingAttr",
    "Ttig",
    "Warp",
    "WarpEncodingAttr",
    "attribute_of",
]
