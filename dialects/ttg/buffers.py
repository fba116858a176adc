"""Operations of `ttg` on buffers in the memory that a work-group shares."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    MemoryFreeEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.tt.checks import expect_element, expect_shape
from coopc.dialects.ttg.shared import MemDescType


class AllocEffects(MemoryEffect):
    """An allocation; with an initial value it also writes."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """Return what `op` does to memory."""
        effects = {EffectInstance(MemoryEffectKind.ALLOC)}
        if op.operands:
            effects.add(EffectInstance(MemoryEffectKind.WRITE))
        return effects


@irdl_op_definition
class LocalAllocOp(IRDLOperation):
    """Allocate a buffer in shared memory, with an initial value if there is one.

    A buffer that is not mutable has its initial value for good.

    | value  | type                          |
    |--------|-------------------------------|
    | init   | tensor<M x N x T>             |
    | result | !ttg.memdesc<M x N x T, ..>   |

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %x = "test.op"() : () -> tensor<64x32xf16>
    %a = ttg.local_alloc %x : (tensor<64x32xf16>) -> !ttg.memdesc<64x32xf16, #s, #smem>
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ```
    """

    name = "ttg.local_alloc"

    init = opt_operand_def(TensorType)
    result = result_def(MemDescType)

    traits = traits_def(AllocEffects())
    assembly_format = "($init^)? attr-dict `:` functional-type($init, $result)"

    def __init__(self, result_type: MemDescType, init: SSAValue | None = None) -> None:
        super().__init__(
            operands=[() if init is None else (init,)], result_types=[result_type]
        )

    def verify_(self) -> None:
        """Check the initial value, which only a mutable buffer can do without."""
        buffer = memdesc(self.result)
        if self.init is not None:
            verify_copy("init", self.init, buffer)
        elif not buffer.is_mutable:
            raise VerifyException(
                f"expected an initial value, as the buffer is not mutable, in {buffer}"
            )


@irdl_op_definition
class LocalDeallocOp(IRDLOperation):
    """Free a buffer in shared memory.

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ttg.local_dealloc %a : !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ```
    """

    name = "ttg.local_dealloc"

    src = operand_def(MemDescType)

    traits = traits_def(MemoryFreeEffect())
    assembly_format = "$src attr-dict `:` type($src)"

    def __init__(self, src: SSAValue) -> None:
        super().__init__(operands=[src])


@irdl_op_definition
class LocalLoadOp(IRDLOperation):
    """Load a tensor from shared memory.

    | value  | type                          |
    |--------|-------------------------------|
    | src    | !ttg.memdesc<M x N x T, ..>   |
    | result | tensor<M x N x T>             |

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    %x = ttg.local_load %a : !ttg.memdesc<64x32xf16, #s, #smem, mutable>
         -> tensor<64x32xf16>
    ```
    """

    name = "ttg.local_load"

    src = operand_def(MemDescType)
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])

    def verify_(self) -> None:
        """Check that the result is what is in memory."""
        verify_copy("the result", self.result, memdesc(self.src))


@irdl_op_definition
class LocalStoreOp(IRDLOperation):
    """Store a tensor to shared memory.

    | value  | type                                 |
    |--------|--------------------------------------|
    | src    | tensor<M x N x T>                    |
    | dst    | !ttg.memdesc<M x N x T, .., mutable> |

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %x = "test.op"() : () -> tensor<64x32xf16>
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ttg.local_store %x, %a
      : tensor<64x32xf16> -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ```
    """

    name = "ttg.local_store"

    src = operand_def(TensorType)
    dst = operand_def(MemDescType)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$src `,` $dst attr-dict `:` type($src) `->` type($dst)"

    def __init__(self, src: SSAValue, dst: SSAValue) -> None:
        super().__init__(operands=[src, dst])

    def verify_(self) -> None:
        """Check that the buffer is mutable and holds the tensor."""
        buffer = memdesc(self.dst)
        if not buffer.is_mutable:
            raise VerifyException(f"expected dst to be mutable, got {buffer}")
        verify_copy("src", self.src, buffer)


def memdesc(value: SSAValue) -> MemDescType:
    """Return the type of a buffer."""
    assert isinstance(value.type, MemDescType), value
    return value.type


def verify_copy(name: str, tensor: SSAValue, buffer: MemDescType) -> None:
    """Check that a tensor has the shape and the elements of a buffer.

    Raises:
        VerifyException: it has others.
    """
    expect_shape(name, tensor.type, buffer.shape, "as the buffer")
    expect_element(name, tensor.type, buffer.element, "as the buffer")
