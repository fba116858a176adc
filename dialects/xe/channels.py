"""The operation of `xe` that loads channels of 32 bits which follow each other."""

from xdsl.dialects.builtin import MemRefType, VectorType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.traits import Collective

BLOCK_LENGTHS = (1, 2, 4, 8)
"""Channels of a lane, as SPV_INTEL_subgroups has them."""
CHANNEL_BYTES = 4


@irdl_op_definition
class BlockLoadOp(IRDLOperation):
    """Load channels of 32 bits that follow each other, with the whole subgroup.

    | value  | what                                                             |
    |--------|------------------------------------------------------------------|
    | base   | any memref of global memory: where it begins                     |
    | offset | bytes from there, without sign, a multiple of 4; uniform         |
    | result | 1, 2, 4 or 8 channels a lane: channel c of lane l is c S + l     |

    S is the number of lanes.  It needs no surface: devices without 2D blocks have it,
    too.  An offset of 32 bits is what messages to memory of less than 4 GiB take.

    ```mlir
    %p, %offset = "test.op"() : () -> (memref<f16>, i32)
    %a = xe.block_load %p[%offset] : memref<f16> -> vector<8xi32>
    ```
    """

    name = "xe.block_load"

    base = operand_def(MemRefType)
    offset = operand_def(i32)
    result = result_def(VectorType)

    traits = traits_def(Collective(), MemoryReadEffect())

    assembly_format = (
        "$base `[` $offset `]` attr-dict `:` type($base) `->` type($result)"
    )

    def __init__(self, base: SSAValue, offset: SSAValue, channels: int) -> None:
        super().__init__(
            operands=[base, offset], result_types=[VectorType(i32, [channels])]
        )

    @property
    def channels(self) -> int:
        """How many each lane gets."""
        assert isinstance(self.result.type, VectorType), self.result
        return self.result.type.get_shape()[0]

    def verify_(self) -> None:
        """Check that each lane gets as many channels as messages have."""
        allowed = [VectorType(i32, [length]) for length in BLOCK_LENGTHS]
        if self.result.type not in allowed:
            raise VerifyException(
                "expected vectors of 1, 2, 4 or 8 x i32, which block loads give a "
                f"lane, got {self.result.type}"
            )
