"""Operations of `simt` on memory: blocks of a subgroup, other elements, addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.diagnostic import either
from coopc.dialects.narrow import is_integer, is_memref, is_vector, memref_type
from coopc.dialects.traits import Collective, ReadsAndWrites


def scalar_type(type: Attribute) -> Attribute:
    """Return the element type of a vector type; another type as it is."""
    return type.get_element_type() if is_vector(type) else type


# Blocks, which a subgroup reads and writes together.

MAX_COMPONENTS = 16
"""SPIR-V's longest vector."""
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
        verify_block(self.memory.type, len(self.positions), self.result.type)


@irdl_op_definition
class CompareExchangeOp(IRDLOperation):
    """Replace an element of memory by a value if its bits are those expected.

    It is atomic, ordered as `simt.ordering` and `simt.ordering_scope` say, where it
    replaces; the result was there before.

    ```mlir
    %m, %i, %x, %y = "test.op"() : () -> (memref<?xi32>, index, i32, i32)
    %old = simt.compare_exchange %x, %y, %m[%i] : i32, memref<?xi32>
    ```
    """

    name = "simt.compare_exchange"

    T: ClassVar = VarConstraint("T", AnyAttr())

    expected = operand_def(T)
    value = operand_def(T)
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    result = result_def(T)

    traits = traits_def(ReadsAndWrites())

    assembly_format = (
        "$expected `,` $value `,` $memref `[` $indices `]` attr-dict "
        "`:` type($value) `,` type($memref)"
    )

    def __init__(
        self,
        expected: SSAValue,
        value: SSAValue,
        memref: SSAValue,
        indices: Sequence[SSAValue],
    ) -> None:
        operands = [expected, value, memref, indices]
        super().__init__(operands=operands, result_types=[value.type])

    def verify_(self) -> None:
        type = memref_type(self.memref)
        rank = len(type.get_shape())
        if len(self.indices) != rank:
            got = len(self.indices)
            raise VerifyException(f"expected {rank} indices of {type}, got {got}")
        if type.get_element_type() != self.value.type or is_vector(self.value.type):
            what = f"expected an element of {type}, a number"
            raise VerifyException(f"{what}, got {self.value.type}")


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
        verify_block(self.memory.type, len(self.positions), self.value.type)


def verify_positions(memory: MemRefType, positions: int) -> None:
    if positions != (rank := memory.get_num_dims()):
        raise VerifyException(
            f"expected {rank} positions, one for each dimension of the memref, "
            f"got {positions}"
        )


def verify_block(memory: Attribute, positions: int, value: Attribute) -> None:
    assert is_memref(memory), memory
    verify_positions(memory, positions)
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
        raise VerifyException(
            f"expected a vector of rank 1 with {either(BLOCK_LENGTHS)} components, "
            f"got {value}"
        )


def _has_blocks(element_type: Attribute) -> bool:
    if is_integer(element_type):
        return element_type.width.data in (8, 16, 32, 64)
    return isinstance(
        element_type, Float16Type | BFloat16Type | Float32Type | Float64Type
    )


# Memory as elements of another type, and its address.


@irdl_op_definition
class ViewElementsOp(IRDLOperation):
    """Memory from a position on, as elements of another type.

    Element (i, j) of the result is number j of those that follow each other from `i`
    further along the second to last dimension of the memref on: its stride is that of
    the memref, counted in elements, and the last one is 1.  Of a memref of rank 1 the
    result has only j.  What the memref holds, numbers or vectors of them, is a whole
    number of elements.

    ```mlir
    %m, %i = "test.op"() : () -> (memref<8x2xvector<4xf32>>, index)
    %e = simt.view_elements %m[%i, %i] : memref<8x2xvector<4xf32>>
        -> memref<4x8xf32, strided<[8, 1], offset: ?>>
    ```
    """

    name = "simt.view_elements"

    memory = operand_def(MemRefType)
    positions = var_operand_def(IndexType())
    result = result_def(MemRefType)

    traits = traits_def(Pure())

    assembly_format = (
        "$memory `[` $positions `]` attr-dict `:` type($memory) `->` type($result)"
    )

    def __init__(
        self,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        shape: Sequence[int],
        element: Attribute,
    ) -> None:
        old = memref_type(memory)
        layout = StridedLayoutAttr(_strides(old, element), None)
        type = MemRefType(element, shape, layout, old.memory_space)
        super().__init__(operands=[memory, positions], result_types=[type])

    @property
    def per_pointee(self) -> int:
        """How many elements are one of what the memref holds."""
        memory, result = memref_type(self.memory), memref_type(self.result)
        return per_pointee(memory.element_type, result.element_type)

    def verify_(self) -> None:
        memory, result = memref_type(self.memory), memref_type(self.result)
        if len(self.positions) != memory.get_num_dims() or not self.positions:
            raise VerifyException(
                f"expected a memref of rank 1 or more, and a position for each "
                f"dimension, got {memory} and {len(self.positions)}"
            )
        if not per_pointee(memory.element_type, result.element_type):
            raise VerifyException(
                f"expected {memory.element_type} to be a whole number of "
                f"{result.element_type}"
            )
        if not isinstance(memory.layout, NoneAttr | StridedLayoutAttr):
            raise VerifyException(f"expected a memref with strides, got {memory}")
        expected = StridedLayoutAttr(_strides(memory, result.element_type), None)
        if result.layout != expected:
            rank = len(expected.strides)
            raise VerifyException(
                f"expected a result of rank {rank} with the layout {expected}, got "
                f"{result}"
            )
        if result.memory_space != memory.memory_space:
            raise VerifyException(
                f"expected a result in the memory space {memory.memory_space}, got "
                f"{result.memory_space}"
            )


@irdl_op_definition
class AddressOfOp(IRDLOperation):
    """The address of the first element of a memref, in bytes; the caller's memory.

    It is what pointers of the host are to kernels: under Vulkan one of a physical
    storage buffer.

    ```mlir
    %m = "test.op"() : () -> memref<f16>
    %a = simt.address_of %m : memref<f16>
    ```
    """

    name = "simt.address_of"

    memory = operand_def(MemRefType)
    result = result_def(i64)

    traits = traits_def(Pure())

    assembly_format = "$memory attr-dict `:` type($memory)"

    def __init__(self, memory: SSAValue) -> None:
        super().__init__(operands=[memory], result_types=[i64])

    def verify_(self) -> None:
        _verify_addressed(self.memory)


@irdl_op_definition
class MemoryAtOp(IRDLOperation):
    """The memory at an address, a multiple of the size of its elements.

    It is all of the memory that the address is in, as that behind a pointer.

    ```mlir
    %a = "test.op"() : () -> i64
    %m = simt.memory_at %a : memref<f16>
    ```
    """

    name = "simt.memory_at"

    address = operand_def(i64)
    result = result_def(MemRefType)

    traits = traits_def(Pure())

    assembly_format = "$address attr-dict `:` type($result)"

    def __init__(self, address: SSAValue, type: MemRefType) -> None:
        super().__init__(operands=[address], result_types=[type])

    def verify_(self) -> None:
        _verify_addressed(self.result)


OF_MEMORY = (AddressOfOp, CompareExchangeOp, MemoryAtOp, ViewElementsOp)
"""Operations that mean the same without work-items."""


def _verify_addressed(memory: SSAValue) -> None:
    type = memref_type(memory)
    if type.get_num_dims() or not isinstance(type.memory_space, NoneAttr):
        what = "expected a memref of rank 0 in the caller's memory"
        raise VerifyException(f"{what}, got {type}")


def per_pointee(pointee: Attribute, element: Attribute) -> int:
    """Return how many elements what memory holds is; 0 if it is no whole number.

    >>> from xdsl.dialects.builtin import VectorType, f16, f32
    >>> per_pointee(VectorType(f32, [4]), f16), per_pointee(f16, f32)
    (8, 0)
    """
    bits, element_bits = bits_of(pointee), bits_of(element)
    return 0 if bits % element_bits else bits // element_bits


def bits_of(type: Attribute) -> int:
    """Return the width of a number, or of all components of a vector, in bits."""
    width = 1
    if is_vector(type):
        type, width = type.get_element_type(), type.element_count()
    assert isinstance(type, FixedBitwidthType), type
    return width * type.bitwidth


def _strides(memory: MemRefType, element: Attribute) -> list[int | None]:
    """Return the second to last stride of a memref in elements, None if dynamic, and 1.

    Rank 1 has only the 1.
    """
    strides = memory.get_strides()
    assert strides is not None, memory
    factor = per_pointee(memory.element_type, element)
    outer = [None if x in (None, DYNAMIC_INDEX) else x * factor for x in strides[-2:-1]]
    return [*outer, 1]
