"""Operations of `amx` on memory: load and store.

Memory is a memref of rank 2 or more with consecutive elements in its last dimension.
Row r of a tile is `stride` elements after row r - 1: the stride of the last dimension
but one, where it is not given.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.amx.types import TileType, tile_type
from coopc.dialects.narrow import is_memref


def verify_access(
    op: "TileLoadOp | TileStoreOp", tile: TileType, indices: Sequence[SSAValue]
) -> None:
    """Check the memref and the indices of an access against the tile.

    Raises:
        VerifyException: the tile cannot be read from, or written to, the memref.
    """
    memory = op.base.type
    assert is_memref(memory), memory
    rank = memory.get_num_dims()
    if rank < 2 and op.stride is None:
        raise VerifyException(
            f"expected a memref of rank 2 or more, or a stride, got {memory}"
        )
    if len(indices) != rank:
        raise VerifyException(
            f"expected {rank} indices, one for each dimension of the memref, "
            f"got {len(indices)}"
        )
    strides = memory.get_strides()
    if strides is None or (strides and strides[-1] != 1):
        raise VerifyException(
            f"expected a memref with a stride of 1 in its last dimension, got {memory}"
        )
    if memory.element_type != tile.element_type:
        raise VerifyException(
            f"expected a memref of {tile.element_type}, the element type of the tile, "
            f"got {memory.element_type}"
        )


@irdl_op_definition
class TileLoadOp(IRDLOperation):
    """Read a tile from memory.

    | value   | what                                                        |
    |---------|-------------------------------------------------------------|
    | base    | a memref, its last stride 1                                 |
    | indices | where element (0, 0) is                                     |
    | stride  | from row to row, in elements; that of the memref if absent  |
    | result  | R x C                                                       |

    ```mlir
    %m, %i, %s = "test.op"() : () -> (memref<?x?xbf16>, index, index)
    %a = amx.tile_load %m[%i, %i] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    %b = amx.tile_load %m[%i, %i], %s : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    ```
    """

    name = "amx.tile_load"

    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    stride = opt_operand_def(IndexType())
    result = result_def(TileType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$base `[` $indices `]` (`,` $stride^)? attr-dict "
        "`:` type($base) `into` type($result)"
    )

    def __init__(
        self,
        base: SSAValue,
        indices: Sequence[SSAValue],
        result: Attribute,
        stride: SSAValue | None = None,
    ) -> None:
        super().__init__(operands=[base, indices, stride], result_types=[result])

    def verify_(self) -> None:
        """Check the memref and the indices."""
        verify_access(self, tile_type(self.result), self.indices)


@irdl_op_definition
class TileStoreOp(IRDLOperation):
    """Write a tile to memory.

    | value   | what                                                        |
    |---------|-------------------------------------------------------------|
    | base    | a memref, its last stride 1                                 |
    | indices | where element (0, 0) is                                     |
    | val     | R x C                                                       |
    | stride  | from row to row, in elements; that of the memref if absent  |

    ```mlir
    %m, %i, %s = "test.op"() : () -> (memref<?x?xf32>, index, index)
    %c = amx.tile_zero : !amx.tile<16x16xf32>
    amx.tile_store %m[%i, %i], %c : memref<?x?xf32>, !amx.tile<16x16xf32>
    amx.tile_store %m[%i, %i], %c, %s : memref<?x?xf32>, !amx.tile<16x16xf32>
    ```
    """

    name = "amx.tile_store"

    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    val = operand_def(TileType)
    stride = opt_operand_def(IndexType())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "$base `[` $indices `]` `,` $val (`,` $stride^)? attr-dict "
        "`:` type($base) `,` type($val)"
    )

    def __init__(
        self,
        base: SSAValue,
        indices: Sequence[SSAValue],
        val: SSAValue,
        stride: SSAValue | None = None,
    ) -> None:
        super().__init__(operands=[base, indices, val, stride])

    def verify_(self) -> None:
        """Check the memref and the indices."""
        verify_access(self, tile_type(self.val), self.indices)
