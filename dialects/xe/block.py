"""Operations of `xe` that move 2D blocks between memory and the registers of lanes.

A surface is a base, a width and a pitch in bytes and a height in rows, all of them the
same in every lane, as are x (in elements of the block) and y (in rows), which are
signed.  Elements outside the surface are 0 in a load and not written by a store.  What
is placed where is `coopc.plan.block_shape`'s to say.
"""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    IntegerType,
    MemRefType,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from coopc.dialects.traits import Collective, FillsCache
from coopc.dialects.xe.attributes import (
    LOAD_CONTROLS,
    STORE_CONTROLS,
    BlockAttr,
    CacheAttr,
    CacheControl,
)
from coopc.plan.block_shape import BlockMode, BlockShape

MAX_COMPONENTS = 16
"""SPIR-V's longest vector."""
SUBGROUP_SIZES = (8, 16, 32)

_ACCESS = (
    "$base `[` $x `,` $y `]` `surface` `(` $width `,` $height `,` $pitch `)` "
    "`block` $block (`cache` $cache^)? "
)


class BlockOp(IRDLOperation, ABC):
    """What each of them has: a surface, a position, a block and cache controls."""

    base = operand_def(MemRefType)
    x = operand_def(i32)
    y = operand_def(i32)
    width = operand_def(i32)
    height = operand_def(i32)
    pitch = operand_def(i32)
    block = prop_def(BlockAttr)
    cache = opt_prop_def(CacheAttr)

    @classmethod
    def controls(cls) -> tuple[CacheControl, ...]:
        """Return what the caches can do with such an access."""
        return LOAD_CONTROLS

    def verify_(self) -> None:
        """Check the cache controls."""
        verify_cache(self.name, self.cache, self.controls())


@irdl_op_definition
class BlockLoad2DOp(BlockOp):
    """Load a block; each result is a piece, a run of the slots of each lane.

    | value  | what                                                               |
    |--------|--------------------------------------------------------------------|
    | base   | any memref: where the surface begins                               |
    | x, y   | column in elements of the block, row                               |
    | pieces | equal vectors of integers, at most 16 long: a lane's slots in order |

    ```mlir
    %p, %x, %y, %w, %h, %pitch = "test.op"() : () ->
      (memref<f16>, i32, i32, i32, i32, i32)
    %a0, %a1 = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch)
      block <16, 16x16x1> : memref<f16> -> vector<8xi16>, vector<8xi16>
    %b = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch)
      block <16, 16x16x1, transform> cache <l1 = cached, l3 = uncached> :
      memref<f16> -> vector<8xi32>
    ```
    """

    name = "xe.block_load_2d"

    pieces = var_result_def(VectorType)

    traits = traits_def(Collective(), MemoryReadEffect())

    assembly_format = _ACCESS + "attr-dict `:` type($base) `->` type($pieces)"

    def __init__(
        self,
        base: SSAValue,
        position: tuple[SSAValue, SSAValue],
        surface: tuple[SSAValue, SSAValue, SSAValue],
        block: BlockAttr,
        pieces: Sequence[Attribute],
        cache: CacheAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[base, *position, *surface],
            properties={"block": block, "cache": cache},
            result_types=[pieces],
        )

    def verify_(self) -> None:
        """Check that the pieces are what the lanes get."""
        super().verify_()
        verify_pieces(self.block.data, [piece.type for piece in self.pieces])


@irdl_op_definition
class BlockStore2DOp(BlockOp):
    """Store a block; the pieces are the slots of each lane, in order.

    ```mlir
    %p, %x, %y, %w, %h, %pitch = "test.op"() : () ->
      (memref<f32>, i32, i32, i32, i32, i32)
    %c = "test.op"() : () -> vector<8xi32>
    xe.block_store_2d %c into %p[%x, %y] surface(%w, %h, %pitch)
      block <32, 8x16x1> : vector<8xi32> into memref<f32>
    ```
    """

    name = "xe.block_store_2d"

    pieces = var_operand_def(VectorType)

    traits = traits_def(Collective(), MemoryWriteEffect())

    assembly_format = (
        "$pieces `into` " + _ACCESS + "attr-dict `:` type($pieces) `into` type($base)"
    )

    def __init__(
        self,
        pieces: Sequence[SSAValue],
        base: SSAValue,
        position: tuple[SSAValue, SSAValue],
        surface: tuple[SSAValue, SSAValue, SSAValue],
        block: BlockAttr,
        cache: CacheAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[pieces, base, *position, *surface],
            properties={"block": block, "cache": cache},
        )

    @classmethod
    def controls(cls) -> tuple[CacheControl, ...]:
        """Return what the caches can do with a store."""
        return STORE_CONTROLS

    def verify_(self) -> None:
        """Check that the pieces are what the lanes hold, and the block a store's."""
        super().verify_()
        if self.block.data.mode is not BlockMode.PLAIN or self.block.data.count != 1:
            raise VerifyException(
                "expected one plain block, the only kind that can be stored, "
                f"got {self.block.data}"
            )
        verify_pieces(self.block.data, [piece.type for piece in self.pieces])


@irdl_op_definition
class BlockPrefetch2DOp(BlockOp):
    """Bring a block nearer to the registers; a hint without a result.

    ```mlir
    %p, %x, %y, %w, %h, %pitch = "test.op"() : () ->
      (memref<f16>, i32, i32, i32, i32, i32)
    xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %pitch)
      block <16, 32x16x2> cache <l1 = cached, l3 = cached> : memref<f16>
    ```
    """

    name = "xe.block_prefetch_2d"

    traits = traits_def(Collective(), FillsCache())

    assembly_format = _ACCESS + "attr-dict `:` type($base)"

    def __init__(
        self,
        base: SSAValue,
        position: tuple[SSAValue, SSAValue],
        surface: tuple[SSAValue, SSAValue, SSAValue],
        block: BlockAttr,
        cache: CacheAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[base, *position, *surface],
            properties={"block": block, "cache": cache},
        )

    def verify_(self) -> None:
        """Check that nothing is rearranged: nothing arrives."""
        super().verify_()
        if self.block.data.mode is not BlockMode.PLAIN:
            raise VerifyException(
                f"expected a plain block to prefetch, got {self.block.data}"
            )


def verify_cache(
    name: str, cache: CacheAttr | None, allowed: Sequence[CacheControl]
) -> None:
    """Check that an operation of that name can ask that of the caches."""
    for control in cache.levels if cache is not None else ():
        if control not in allowed:
            raise VerifyException(
                f"expected one of {', '.join(allowed)}, which {name} can ask of a "
                f"cache, got {control}"
            )


def verify_pieces(shape: BlockShape, types: Sequence[Attribute]) -> None:
    """Check that pieces are equal vectors of integers that the block fills."""
    first = types[0] if types else None
    if (
        not isa(first, VectorType[IntegerType])
        or first.get_num_dims() != 1
        or first.get_shape()[0] > MAX_COMPONENTS
    ):
        raise VerifyException(
            f"expected pieces that are vectors of at most {MAX_COMPONENTS} integers, "
            f"got {first}"
        )
    for type in types:
        if type != first:
            raise VerifyException(f"expected pieces of one type, {first}, got {type}")
    slot_bits = first.get_element_type().bitwidth
    lane_bits = len(types) * first.get_shape()[0] * slot_bits
    expected = [
        shape.bytes * 8 // lanes
        for lanes in SUBGROUP_SIZES
        if shape.bytes * 8 % lanes == 0
    ]
    if lane_bits not in expected or slot_bits < shape.slot_bits:
        raise VerifyException(
            f"expected {' or '.join(map(str, expected))} bits a lane in slots of at "
            f"least {shape.slot_bits}, which {SUBGROUP_SIZES} lanes get of {shape}, "
            f"got {lane_bits} in slots of {slot_bits}"
        )
