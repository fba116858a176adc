"""Operations of `simt` with which a subgroup reads and writes memory together."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    MemRefType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_integer, is_memref, is_vector
from coopc.dialects.simt.numbers import scalar_type
from coopc.dialects.traits import Collective

BLOCK_LENGTHS = (1, 2, 4, 8, 16)
"""Components of a block read, as SPV_INTEL_subgroups has them."""


@irdl_op_definition
class BlockReadOp(IRDLOperation):
    """Read consecutive elements with the whole subgroup.

    Lane l gets, as component c of its vector, element `position + c * S + l` along the
    last dimension of the memref, S the number of lanes.  A single element is a scalar.

    ```mlir
    %m, %i = "test.op"() : () -> (memref<?xi32, strided<[1]>>, index)
    %v = simt.block_read %m[%i] : memref<?xi32, strided<[1]>> -> vector<4xi32>
    ```
    """

    name = "simt.block_read"

    memory = operand_def(MemRefType)
    positions = var_operand_def(IndexType())
    result = result_def()

    traits = traits_def(Collective(), MemoryReadEffect())

    assembly_format = (
        "$memory `[` $positions `]` attr-dict `:` type($memory) `->` type($result)"
    )

    def __init__(
        self, memory: SSAValue, positions: Sequence[SSAValue], result: Attribute
    ) -> None:
        super().__init__(operands=[memory, positions], result_types=[result])

    def verify_(self) -> None:
        """Check the memref, the positions and the length of the vector."""
        verify_block(self.memory.type, len(self.positions), self.result.type)


@irdl_op_definition
class BlockWriteOp(IRDLOperation):
    """Write consecutive elements with the whole subgroup, as `block_read` reads them.

    ```mlir
    %m, %i, %v = "test.op"() : () -> (memref<?x64xf16>, index, vector<2xf16>)
    simt.block_write %v, %m[%i, %i] : vector<2xf16>, memref<?x64xf16>
    ```
    """

    name = "simt.block_write"

    value = operand_def()
    memory = operand_def(MemRefType)
    positions = var_operand_def(IndexType())

    traits = traits_def(Collective(), MemoryWriteEffect())

    assembly_format = (
        "$value `,` $memory `[` $positions `]` attr-dict "
        "`:` type($value) `,` type($memory)"
    )

    def __init__(
        self, value: SSAValue, memory: SSAValue, positions: Sequence[SSAValue]
    ) -> None:
        super().__init__(operands=[value, memory, positions])

    def verify_(self) -> None:
        """Check the memref, the positions and the length of the vector."""
        verify_block(self.memory.type, len(self.positions), self.value.type)


def verify_block(memory: Attribute, positions: int, value: Attribute) -> None:
    """Check the types and the number of positions of a block read or write."""
    assert is_memref(memory), memory
    if positions != memory.get_num_dims():
        raise VerifyException(
            f"expected {memory.get_num_dims()} positions, one for each dimension of "
            f"the memref, got {positions}"
        )
    strides = memory.get_strides()
    if not strides or strides[-1] != 1:
        raise VerifyException(
            "expected a memref whose last stride is 1: a block is contiguous, "
            f"got {memory}"
        )
    element_type = memory.get_element_type()
    if not _has_blocks(element_type):
        raise VerifyException(
            "expected a memref of f16, bf16, f32, f64 or integers of 8, 16, 32 or 64 "
            f"bits, which blocks have, got {element_type}"
        )
    if scalar_type(value) != element_type:
        raise VerifyException(
            f"expected a value of {element_type}, the element type of the memref, "
            f"got {value}"
        )
    if is_vector(value) and (
        value.get_num_dims() != 1 or value.get_shape()[0] not in BLOCK_LENGTHS
    ):
        *most, last = map(str, BLOCK_LENGTHS)
        raise VerifyException(
            f"expected a vector of rank 1 with {', '.join(most)} or {last} components, "
            f"got {value}"
        )


def _has_blocks(element_type: Attribute) -> bool:
    """Whether blocks of elements of a type can be read and written."""
    if is_integer(element_type):
        return element_type.width.data in (8, 16, 32, 64)
    return isinstance(
        element_type, Float16Type | BFloat16Type | Float32Type | Float64Type
    )
