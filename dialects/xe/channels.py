"""The operation of `xe` that loads slots of lanes which follow each other in memory."""

from xdsl.dialects.builtin import IntegerType, MemRefType, VectorType, i1, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_integer, is_vector
from coopc.dialects.traits import Collective

BLOCK_LENGTHS = (1, 2, 4, 8)
"""Slots of a lane, as SPV_INTEL_subgroups has them."""
SLOT_BITS = (8, 16, 32)
ALIGNMENT = 4
"""Bytes that every address is a multiple of."""


@irdl_op_definition
class BlockLoadOp(IRDLOperation):
    """Load slots of 8, 16 or 32 bits that follow each other, with the whole subgroup.

    | value  | what                                                             |
    |--------|------------------------------------------------------------------|
    | base   | any memref of global memory: where it begins                     |
    | offset | bytes from there, without sign, a multiple of 4; uniform         |
    | guard  | whether anything is read: else all slots are 0; uniform          |
    | result | 1, 2, 4 or 8 slots a lane: slot c of lane l is c S + l           |

    S is the number of lanes.  It needs no surface: devices without 2D blocks have it,
    too.  An offset of 32 bits is what messages to memory of less than 4 GiB take.

    ```mlir
    %p, %offset, %inside = "test.op"() : () -> (memref<f16>, i32, i1)
    %a = xe.block_load %p[%offset] : memref<f16> -> vector<8xi32>
    %b = xe.block_load %p[%offset] where %inside : memref<f16> -> vector<2xi16>
    ```
    """

    name = "xe.block_load"

    base = operand_def(MemRefType)
    offset = operand_def(i32)
    guard = opt_operand_def(i1)
    result = result_def(VectorType)

    traits = traits_def(Collective(), MemoryReadEffect())

    assembly_format = (
        "$base `[` $offset `]` (`where` $guard^)? attr-dict "
        "`:` type($base) `->` type($result)"
    )

    def __init__(
        self,
        base: SSAValue,
        offset: SSAValue,
        slots: int,
        slot_bits: int = 32,
        guard: SSAValue | None = None,
    ) -> None:
        type = VectorType(IntegerType(slot_bits), [slots])
        super().__init__(operands=[base, offset, guard], result_types=[type])

    @property
    def slots(self) -> int:
        """How many each lane gets."""
        assert is_vector(self.result.type), self.result
        return self.result.type.get_shape()[0]

    @property
    def slot_bits(self) -> int:
        """The width of each."""
        assert is_vector(self.result.type), self.result
        element = self.result.type.get_element_type()
        assert is_integer(element), element
        return element.width.data

    def verify_(self) -> None:
        """Check that each lane gets as many slots as messages have."""
        allowed = [
            VectorType(IntegerType(bits), [length])
            for bits in SLOT_BITS
            for length in BLOCK_LENGTHS
        ]
        if self.result.type not in allowed:
            raise VerifyException(
                "expected a vector of 1, 2, 4 or 8 integers of 8, 16 or 32 bits, which "
                f"block loads give a lane, got {self.result.type}"
            )
