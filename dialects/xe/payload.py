"""Operations of `xe` on address payloads: blocks whose address stays in a register.

A 2D block message takes its address, the payload, from one register: base, width,
height and pitch of the surface, x and y.  A compiler that sees only the message builds
that register anew where it cannot prove that nothing changed, above all for a prefetch
in a loop.  A payload that the program holds costs one move a step: x or y is set, the
rest stays.

A payload is written in place, like memory: the operations that set x or y write it,
those that use it read it, and two that were made alike are two.
"""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import I32, IntegerAttr, MemRefType, VectorType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.traits import Collective, FillsCache, ReadsAndWrites
from coopc.dialects.xe.attributes import LOAD_CONTROLS, CacheAttr, PayloadType
from coopc.dialects.xe.block import verify_cache, verify_pieces
from coopc.plan.block_shape import BlockMode, BlockShape


@irdl_op_definition
class PayloadCreateOp(IRDLOperation):
    """Make the payload of blocks of a surface, at a position.

    | value  | what                                                               |
    |--------|--------------------------------------------------------------------|
    | base   | any memref: where the surface begins                               |
    | x, y   | column in elements of the block, row                               |
    | result | the payload, of one shape of block                                 |

    ```mlir
    %m, %x, %y, %w, %h, %pitch = "test.op"() : () ->
      (memref<f16>, i32, i32, i32, i32, i32)
    %p = xe.payload_create %m[%x, %y] surface(%w, %h, %pitch)
      : memref<f16> -> !xe.payload<32, 16x8x1, transpose>
    ```
    """

    name = "xe.payload_create"

    base = operand_def(MemRefType)
    x = operand_def(i32)
    y = operand_def(i32)
    width = operand_def(i32)
    height = operand_def(i32)
    pitch = operand_def(i32)
    result = result_def(PayloadType)

    traits = traits_def(Collective(), ReadsAndWrites())

    assembly_format = (
        "$base `[` $x `,` $y `]` `surface` `(` $width `,` $height `,` $pitch `)` "
        "attr-dict `:` type($base) `->` type($result)"
    )

    def __init__(
        self,
        base: SSAValue,
        position: tuple[SSAValue, SSAValue],
        surface: tuple[SSAValue, SSAValue, SSAValue],
        shape: BlockShape,
    ) -> None:
        super().__init__(
            operands=[base, *position, *surface], result_types=[PayloadType(shape)]
        )


class PayloadSetOp(IRDLOperation, ABC):
    """Set where a payload is, along one dimension."""

    payload = operand_def(PayloadType)
    position = operand_def(i32)

    traits = traits_def(Collective(), MemoryWriteEffect())

    assembly_format = "$payload `,` $position attr-dict `:` type($payload)"

    def __init__(self, payload: SSAValue, position: SSAValue) -> None:
        super().__init__(operands=[payload, position])


@irdl_op_definition
class PayloadSetXOp(PayloadSetOp):
    """Set the column of a payload, in elements of its block.

    ```mlir
    %p, %x = "test.op"() : () -> (!xe.payload<16, 32x16x2>, i32)
    xe.payload_set_x %p, %x : !xe.payload<16, 32x16x2>
    ```
    """

    name = "xe.payload_set_x"


@irdl_op_definition
class PayloadSetYOp(PayloadSetOp):
    """Set the row of a payload.

    ```mlir
    %p, %y = "test.op"() : () -> (!xe.payload<16, 32x16x2>, i32)
    xe.payload_set_y %p, %y : !xe.payload<16, 32x16x2>
    ```
    """

    name = "xe.payload_set_y"


@irdl_op_definition
class PayloadLoadOp(IRDLOperation):
    """Load the block at a payload; each result is a piece, as of `block_load_2d`.

    The numbers in brackets are added to x and y for this message alone.

    ```mlir
    %p = "test.op"() : () -> !xe.payload<32, 16x8x1, transpose>
    %b = xe.payload_load %p[8, 16]
      : !xe.payload<32, 16x8x1, transpose> -> vector<8xi32>
    ```
    """

    name = "xe.payload_load"

    payload = operand_def(PayloadType)
    dx = prop_def(IntegerAttr[I32])
    dy = prop_def(IntegerAttr[I32])
    cache = opt_prop_def(CacheAttr)
    pieces = var_result_def(VectorType)

    traits = traits_def(Collective(), MemoryReadEffect())

    assembly_format = (
        "$payload `[` $dx `,` $dy `]` (`cache` $cache^)? attr-dict "
        "`:` type($payload) `->` type($pieces)"
    )

    def __init__(
        self,
        payload: SSAValue,
        offset: tuple[int, int],
        pieces: Sequence[Attribute],
        cache: CacheAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[payload],
            properties={
                "dx": IntegerAttr(offset[0], 32),
                "dy": IntegerAttr(offset[1], 32),
                "cache": cache,
            },
            result_types=[pieces],
        )

    def verify_(self) -> None:
        """Check the cache controls, and that the pieces are what the lanes get."""
        verify_cache(self.name, self.cache, LOAD_CONTROLS)
        verify_pieces(shape_of(self.payload), [piece.type for piece in self.pieces])


@irdl_op_definition
class PayloadPrefetchOp(IRDLOperation):
    """Bring the block at a payload nearer to the registers; a hint without a result.

    The numbers in brackets are added to x and y for this message alone.

    ```mlir
    %p = "test.op"() : () -> !xe.payload<16, 32x16x2>
    xe.payload_prefetch %p[0, 0] cache <l1 = cached, l3 = cached>
      : !xe.payload<16, 32x16x2>
    ```
    """

    name = "xe.payload_prefetch"

    payload = operand_def(PayloadType)
    dx = prop_def(IntegerAttr[I32])
    dy = prop_def(IntegerAttr[I32])
    cache = opt_prop_def(CacheAttr)

    traits = traits_def(Collective(), FillsCache())

    assembly_format = (
        "$payload `[` $dx `,` $dy `]` (`cache` $cache^)? attr-dict `:` type($payload)"
    )

    def __init__(
        self,
        payload: SSAValue,
        offset: tuple[int, int] = (0, 0),
        cache: CacheAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[payload],
            properties={
                "dx": IntegerAttr(offset[0], 32),
                "dy": IntegerAttr(offset[1], 32),
                "cache": cache,
            },
        )

    def verify_(self) -> None:
        """Check the cache controls, and that nothing is rearranged."""
        verify_cache(self.name, self.cache, LOAD_CONTROLS)
        if (shape := shape_of(self.payload)).mode is not BlockMode.PLAIN:
            raise VerifyException(f"expected a plain block to prefetch, got {shape}")


def shape_of(payload: SSAValue) -> BlockShape:
    """Return the shape of the blocks that a payload is for."""
    assert isinstance(payload.type, PayloadType), payload.type
    return payload.type.data
