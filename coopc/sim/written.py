"""Which arguments a function writes: others need no search for races."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

# By name, so that the dialects that a program does not use are not imported.
READS = frozenset(
    (
        "coopmatrix.fill",
        "coopmatrix.load",
        "coopmatrix.prefetch",
        "memref.dim",
        "memref.load",
        "memref.rank",
        "simt.block_read",
        "tt.descriptor_load",
        "tt.load",
        "ttig.2d_block_load",
        "ttig.2d_block_load_from_ptr",
        "ttig.descriptor_prefetch",
        "ttig.prefetch",
        "vector.load",
        "vector.maskedload",
        "vector.transfer_read",
        "xe.block_load",
        "xe.block_load_2d",
        "xe.block_prefetch_2d",
        "xe.payload_load",
        "xe.payload_prefetch",
        "xe.payload_set_x",
        "xe.payload_set_y",
    )
)
"""What accesses memory and does not write."""
VIEWS = frozenset(
    (
        "memref.assume_alignment",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.extract_strided_metadata",
        "memref.memory_space_cast",
        "memref.reinterpret_cast",
        "memref.subview",
        "memref.view",
        "simt.view_elements",
        "tt.addptr",
        "tt.advance",
        "tt.bitcast",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.make_tensor_descriptor",
        "tt.make_tensor_ptr",
        "tt.reshape",
        "tt.splat",
        "tt.unsplat",
        "ttig.extract_desc",
        "xe.payload_create",
    )
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
        if use.operation.name in VIEWS
        else use.operation.name not in READS
        for use in memory.uses
    )
