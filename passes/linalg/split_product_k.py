"""split-product-k: computes products with few tiles and a long K in parts along K.

Before:  functions of linalg on tensors, as `pad-product-rows` leaves them, or of one
         product of memrefs.
After:   where that is faster, by the costs of the device's tiles, a batch of products
         of parts of K, and a sum of what they are: both are deterministic.
Fails:   never: products of unknown sizes, of a batch, and of devices whose tiles have
         no costs stay.

    %x = tensor.expand_shape %a [[0], [1, 2]] : tensor<16x4096xf16> into tensor<16x4x1024xf16>
    %y = tensor.expand_shape %b [[0, 1], [2]] : .. into tensor<4x1024x4096xf16>
    %p = linalg.generic .. ins(%x, %y) .. -> tensor<4x16x4096xf32>
    %r = linalg.generic .. ["parallel", "parallel", "reduction"] ins(%p) -> tensor<16x4096xf32>
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import bufferization, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NoneAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.device import ELEMENT_BITS, Device, GemmTiles
from coopc.dialects.narrow import memref_type, tensor_type
from coopc.ir.builder import Builder
from coopc.ir.device_option import device_of, element_name
from coopc.ir.transaction import transaction
from coopc.passes.linalg.fuse_linalg import generic, maps_of
from coopc.passes.linalg.match import body_signs, order
from coopc.passes.linalg.pad_product_rows import lifted, product_of
from coopc.passes.linalg.scalars import scalar
from coopc.passes.linalg.whole_functions import is_one_product, replace
from coopc.plan.gemm import estimated_nanoseconds

MOST_PARTS = 16
LEAST_PART = 256
"""Elements along K of a part, at least."""
LAUNCH_NANOSECONDS = 3000.0
"""What the sums take besides their memory: on an H100, a launch behind another one."""
BYTES_PER_NANOSECOND = 1500.0
"""Of the parts of C, written and read on an H100: less than half of a copy's."""
GAIN = 0.85
"""Of the time of one product, the most that parts may take."""


def parts_of(op: linalg.GenericOp, device: Device) -> int:
    """Return in how many parts along K a product is faster; 1 for none."""
    found = product_of(op, device)
    if found is None or found.batch is not None or not _is_contiguous(op):
        return 1
    m, n, k = found.m, found.n, found.k
    size = ELEMENT_BITS[found.elements[2]] // 8

    def time(parts: int) -> float:
        each = estimated_nanoseconds((m, n, k // parts), found.elements, device, parts)
        if parts == 1:
            return GAIN * each
        moved = (2 * parts + 1) * m * n * size
        return each + LAUNCH_NANOSECONDS + moved / BYTES_PER_NANOSECOND

    if not time(1):
        return 1
    known = range(1, min(MOST_PARTS, k // LEAST_PART) + 1)
    return min((x for x in known if k % x == 0), key=time, default=1)
