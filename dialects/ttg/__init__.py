"""The `ttg` dialect: Triton's encodings of tensors, and shared memory."""

from xdsl.ir import Dialect

from coopc.dialects.ttg.buffers import (
    LocalAllocOp,
    LocalDeallocOp,
    LocalLoadOp,
    LocalStoreOp,
)
from coopc.dialects.ttg.encodings import (
    BlockedEncodingAttr,
    DotOperandEncodingAttr,
    EncodingAttr,
    LinearEncodingAttr,
    SliceEncodingAttr,
)
from coopc.dialects.ttg.exchange import BarrierOp, ConvertLayoutOp, Domain
from coopc.dialects.ttg.shared import (
    MemDescType,
    SharedMemoryAttr,
    SwizzledShared,
    SwizzledSharedAttr,
)
from coopc.dialects.ttg.views import MemDescIndexOp, MemDescSubsliceOp, MemDescTransOp

Ttg = Dialect(
    "ttg",
    [
        BarrierOp,
        ConvertLayoutOp,
        LocalAllocOp,
        LocalDeallocOp,
        LocalLoadOp,
        LocalStoreOp,
        MemDescIndexOp,
        MemDescSubsliceOp,
        MemDescTransOp,
    ],
    [
        BlockedEncodingAttr,
        DotOperandEncodingAttr,
        LinearEncodingAttr,
        MemDescType,
        SharedMemoryAttr,
        SliceEncodingAttr,
        SwizzledSharedAttr,
    ],
)

__all__ = [
    "BarrierOp",
    "BlockedEncodingAttr",
    "ConvertLayoutOp",
    "Domain",
    "DotOperandEncodingAttr",
    "EncodingAttr",
    "LinearEncodingAttr",
    "LocalAllocOp",
    "LocalDeallocOp",
    "LocalLoadOp",
    "LocalStoreOp",
    "MemDescIndexOp",
    "MemDescSubsliceOp",
    "MemDescTransOp",
    "MemDescType",
    "SharedMemoryAttr",
    "SliceEncodingAttr",
    "SwizzledShared",
    "SwizzledSharedAttr",
    "Ttg",
]
