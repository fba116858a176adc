"""Operations of `ttg` that see a buffer otherwise; nothing moves."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.tt.checks import expect_element, expect_shape
from coopc.dialects.tt.types import sizes
from coopc.dialects.ttg.buffers import memdesc
from coopc.dialects.ttg.shared import MemDescType


@irdl_op_definition
class MemDescTransOp(IRDLOperation):
    """A buffer with its dimensions in another order; nothing moves.

    | value  | shape | order |
    |--------|-------|-------|
    | src    | M x N |       |
    | result | N x M | 1, 0  |

    ```mlir
    #a = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #b = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
    #smem = #ttg.shared_memory
    %x = "test.op"() : () -> !ttg.memdesc<64x32xf16, #a, #smem>
    %y = ttg.memdesc_trans %x {order = array<i32: 1, 0>}
         : !ttg.memdesc<64x32xf16, #a, #smem> -> !ttg.memdesc<32x64xf16, #b, #smem>
    ```
    """

    name = "ttg.memdesc_trans"

    src = operand_def(MemDescType)
    order = prop_def(DenseArrayBase.constr(i32))
    result = result_def(MemDescType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(
        self, src: SSAValue, order: Sequence[int], result_type: MemDescType
    ) -> None:
        super().__init__(
            operands=[src],
            properties={"order": DenseArrayBase.from_list(i32, order)},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        """Check that the order permutes the dimensions."""
        src, result = memdesc(self.src), memdesc(self.result)
        order, shape = self.order.get_values(), src.shape
        if sorted(order) != list(range(len(shape))):
            raise VerifyException(
                f"expected order to permute {len(shape)} dimensions, got {list(order)}"
            )
        wanted = tuple(shape[int(dim)] for dim in order)
        verify_view(result, wanted, src, f"{sizes(shape)} in the order {list(order)}")


@irdl_op_definition
class MemDescIndexOp(IRDLOperation):
    """One of the buffers that the first dimension counts.

    | value  | type                              |
    |--------|-----------------------------------|
    | src    | !ttg.memdesc<B x M x N x T, ..>   |
    | index  | i32                               |
    | result | !ttg.memdesc<M x N x T, ..>       |

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %a, %i = "test.op"() : () -> (!ttg.memdesc<3x64x32xf16, #s, #smem, mutable>, i32)
    %b = ttg.memdesc_index %a[%i] : !ttg.memdesc<3x64x32xf16, #s, #smem, mutable>
         -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ```
    """

    name = "ttg.memdesc_index"

    src = operand_def(MemDescType)
    index = operand_def(i32)
    result = result_def(MemDescType)

    traits = traits_def(Pure())
    assembly_format = "$src `[` $index `]` attr-dict `:` type($src) `->` type($result)"

    def __init__(
        self, src: SSAValue, index: SSAValue, result_type: MemDescType
    ) -> None:
        super().__init__(operands=[src, index], result_types=[result_type])

    def verify_(self) -> None:
        """Check that the first dimension goes."""
        src = memdesc(self.src)
        why = "src without its first dimension"
        verify_view(memdesc(self.result), src.shape[1:], src, why)


@irdl_op_definition
class MemDescSubsliceOp(IRDLOperation):
    """A part of a buffer, from constant offsets on.

    | value  | type                        | unit     |
    |--------|-----------------------------|----------|
    | src    | !ttg.memdesc<M x N x T, ..> |          |
    | offsets|                             | elements |
    | result | !ttg.memdesc<m x n x T, .., M x N> | |

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %a = "test.op"() : () -> !ttg.memdesc<64x32xf16, #s, #smem>
    %b = ttg.memdesc_subslice %a [0, 16] : !ttg.memdesc<64x32xf16, #s, #smem>
         -> !ttg.memdesc<64x16xf16, #s, #smem, 64x32>
    ```
    """

    name = "ttg.memdesc_subslice"

    src = operand_def(MemDescType)
    offsets = prop_def(DenseArrayBase.constr(i32))
    result = result_def(MemDescType)

    traits = traits_def(Pure())
    assembly_format = "$src $offsets attr-dict `:` type($src) `->` type($result)"

    def __init__(
        self, src: SSAValue, offsets: Sequence[int], result_type: MemDescType
    ) -> None:
        super().__init__(
            operands=[src],
            properties={"offsets": DenseArrayBase.from_list(i32, offsets)},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        """Check that the part is inside of the buffer."""
        src, result = memdesc(self.src), memdesc(self.result)
        offsets = [int(offset) for offset in self.offsets.get_values()]
        rank = len(src.shape)
        if len(offsets) != rank or len(result.shape) != rank:
            raise VerifyException(
                f"expected {rank} offsets and sizes, as src has, "
                f"got {len(offsets)} and {len(result.shape)}"
            )
        for dim, (start, part, size) in enumerate(
            zip(offsets, result.shape, src.shape, strict=True)
        ):
            if start < 0 or start + part > size:
                raise VerifyException(
                    f"expected a part of dimension {dim}, 0 to {size}, "
                    f"got {start} to {start + part}"
                )
        verify_view(result, result.shape, src, "")


def verify_view(
    result: MemDescType, shape: Sequence[int], src: MemDescType, why: str
) -> None:
    """Check that a buffer is another one, seen otherwise.

    Raises:
        VerifyException: its shape, its elements or its mutability do not follow.
    """
    expect_shape("the result", result.shaped, shape, why)
    expect_element("the result", result.shaped, src.element, "as src")
    if result.is_mutable != src.is_mutable:
        kind = "mutable" if src.is_mutable else "not mutable"
        raise VerifyException(f"expected the result to be {kind}, as src, got {result}")
