"""Which arguments a function writes: others need no search for races."""

from __future__ import annotations

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix, simt, tt, ttig, xe

READS: tuple[type[Operation], ...] = (
    coopmatrix.FillOp,
    coopmatrix.LoadOp,
    coopmatrix.PrefetchOp,
    memref.DimOp,
    memref.LoadOp,
    memref.RankOp,
    simt.BlockReadOp,
    tt.DescriptorLoadOp,
    tt.LoadOp,
    ttig.BlockLoad2DFromPtrOp,
    ttig.BlockLoad2DOp,
    ttig.DescriptorPrefetchOp,
    ttig.PrefetchOp,
    vector.LoadOp,
    vector.MaskedLoadOp,
    vector.TransferReadOp,
    xe.BlockLoad2DOp,
    xe.BlockLoadOp,
    xe.BlockPrefetch2DOp,
    xe.PayloadLoadOp,
    xe.PayloadPrefetchOp,
    xe.PayloadSetXOp,
    xe.PayloadSetYOp,
)
"""What accesses memory and does not write."""

VIEWS: tuple[type[Operation], ...] = (
    memref.AssumeAlignmentOp,
    memref.CastOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.ExtractStridedMetaDataOp,
    memref.MemorySpaceCastOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.ViewOp,
    simt.ViewElementsOp,
    tt.AddPtrOp,
    tt.AdvanceOp,
    tt.BitcastOp,
    tt.BroadcastOp,
    tt.ExpandDimsOp,
    tt.MakeTensorDescriptorOp,
    tt.MakeTensorPtrOp,
    tt.ReshapeOp,
    tt.SplatOp,
    tt.UnsplatOp,
    ttig.ExtractDescOp,
    xe.PayloadCreateOp,
)
"""What makes another way to see the same memory."""


def written_arguments(func: FuncOp) -> frozenset[int]:
    """Return the positions of the memrefs that may be written.

    One that goes on to anything else than reads and views is: a call, a loop.
    """
    return frozenset(
        position
        for position, arg in enumerate(func.body.block.args)
        if isinstance(arg.type, MemRefType) and _is_written(arg)
    )


def _is_written(memory: SSAValue) -> bool:
    """Whether memory may be written through a value, or a view of it."""
    return any(
        any(
            _is_written(result)
            for result in use.operation.results
            if not isinstance(result.type, IndexType | IntegerType)
        )
        if isinstance(use.operation, VIEWS)
        else not isinstance(use.operation, READS)
        for use in memory.uses
    )
