"""Operations of Triton on tensor descriptors: a tensor in memory, by blocks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    SameVariadicOperandSize,
    eq,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.traits import ReadsAndWrites
from coopc.dialects.tt.pointers import CachedOp, Clauses
from coopc.dialects.tt.types import (
    CacheModifier,
    ElidedDesc,
    ElidedPtr,
    EnumConstraint,
    EvictionPolicy,
    Keyword,
    Padding,
    PtrType,
    TensorDescType,
    TritonEnum,
    block_io,
    expect_base,
    expect_count,
    expect_element,
    expect_rank,
    expect_shape,
    member,
    shape_of,
    sizes,
)


@irdl_op_definition
class MakeTensorDescriptorOp(IRDLOperation):
    """Describe a tensor in memory, and the block of it that loads take.

    | value   | type                      | unit     |
    |---------|---------------------------|----------|
    | base    | !tt.ptr<T>                |          |
    | shape   | i32 for each dimension    | elements |
    | strides | i64 for each dimension    | elements |
    | result  | !tt.tensordesc<.. T>      |          |

    `padding` says what is read outside of the tensor: 1 is zero, 2 is NaN.

    ```mlir
    %p, %m, %n, %s = "test.op"() : () -> (!tt.ptr<f16>, i32, i32, i64)
    %one = arith.constant 1 : i64
    %d = tt.make_tensor_descriptor %p, [%m, %n], [%s, %one] : <f16>, <64x32xf16>
    ```
    """

    name = "tt.make_tensor_descriptor"

    base = operand_def(PtrType)
    shape = var_operand_def(eq(i32))
    strides = var_operand_def(eq(i64))
    padding = prop_def(EnumConstraint(Padding), default_value=Padding.ZERO.attribute)
    result = result_def(TensorDescType)

    traits = traits_def(Pure())
    irdl_options = (SameVariadicOperandSize(), ParsePropInAttrDict())
    custom_directives = (ElidedPtr, ElidedDesc)
    assembly_format = (
        "$base `,` `[` $shape `]` `,` `[` $strides `]` attr-dict "
        "`:` custom<ElidedPtr>(type($base)) `,` custom<ElidedDesc>(type($result))"
    )

    def __init__(
        self,
        base: SSAValue,
        shape: Sequence[SSAValue],
        strides: Sequence[SSAValue],
        result_type: TensorDescType,
        padding: Padding = Padding.ZERO,
    ) -> None:
        super().__init__(
            operands=[base, shape, strides],
            properties={"padding": padding.attribute},
            result_types=[result_type],
        )

    @property
    def type(self) -> TensorDescType:
        return self.result.type

    @property
    def padding_option(self) -> Padding:
        return member(Padding, self.padding)

    def verify_(self) -> None:
        expect_count("sizes and strides", self.shape, self.type.shape)
        expect_base(self.base, self.type.element)


def descriptor_type(desc: SSAValue) -> TensorDescType:
    """Return the type of a descriptor.

    Raises:
        VerifyException: the value is something else.
    """
    if not isinstance(desc.type, TensorDescType):
        raise VerifyException(f"expected desc to be a !tt.tensordesc, got {desc.type}")
    return desc.type


def block_shape(type: TensorDescType, op: IRDLOperation) -> tuple[int, ...]:
    """Return the shape of the tensor that an operation moves.

    Where `ttig.block_io` says that memory is column-major, the tensor is the block with
    its last two dimensions swapped.
    """
    shape = type.shape
    if block_io(op) == "column_major" and len(shape) >= 2:
        return (*shape[:-2], shape[-1], shape[-2])
    return shape


def verify_block(
    name: str,
    value: SSAValue,
    op: DescriptorLoadOp | DescriptorReduceOp | DescriptorStoreOp,
) -> None:
    """Check that a tensor is a block of a descriptor, at a position.

    Leading dimensions of size 1 can be left out.
    """
    type = descriptor_type(op.desc)
    expect_count("indices", op.indices, type.shape)
    expect_element(name, value.type, type.element, "as desc has")
    wanted = block_shape(type, op)
    missing = len(wanted) - len(shape_of(value.type))
    if missing > 0 and set(wanted[:missing]) == {1}:
        wanted = wanted[missing:]
    expect_shape(name, value.type, wanted, "a block of desc")


@irdl_op_definition
class DescriptorLoadOp(CachedOp):
    """Load the block at some position of the tensor that a descriptor describes.

    | value   | type                        | unit     |
    |---------|-----------------------------|----------|
    | desc    | !tt.tensordesc<M x N x T>   |          |
    | indices | i32 for each dimension      | elements |
    | result  | tensor<M x N x T>           |          |

    What is outside of the tensor is the descriptor's padding.  With `ttig.block_io =
    "column_major"` the result is N x M, the block transposed.

    ```mlir
    %d, %i = "test.op"() : () -> (!tt.tensordesc<64x32xf16>, i32)
    %x = tt.descriptor_load %d[%i, %i] cacheModifier = ca {ttig.block_io = "row_major"}
         : !tt.tensordesc<64x32xf16> -> tensor<64x32xf16>
    ```
    """

    name = "tt.descriptor_load"

    desc = operand_def()
    indices = var_operand_def(eq(i32))
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    custom_directives = (Clauses,)
    assembly_format = (
        "$desc `[` $indices `]` custom<Clauses>($cache, $evict) attr-dict "
        "`:` type($desc) `->` type($result)"
    )

    def __init__(
        self,
        desc: SSAValue,
        indices: Sequence[SSAValue],
        result_type: Attribute,
        *,
        cache: CacheModifier = CacheModifier.NONE,
        evict: EvictionPolicy = EvictionPolicy.EVICT_NORMAL,
    ) -> None:
        super().__init__(
            operands=[desc, indices],
            properties={"cache": cache.attribute, "evict": evict.attribute},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        verify_block("the result", self.result, self)


@irdl_op_definition
class DescriptorStoreOp(IRDLOperation):
    """Store a block to some position of the tensor that a descriptor describes.

    | value   | type                        | unit     |
    |---------|-----------------------------|----------|
    | desc    | !tt.tensordesc<M x N x T>   |          |
    | src     | tensor<M x N x T>           |          |
    | indices | i32 for each dimension      | elements |

    What is outside of the tensor is not written.

    ```mlir
    %d, %i = "test.op"() : () -> (!tt.tensordesc<64x32xf16>, i32)
    %x = "test.op"() : () -> tensor<64x32xf16>
    tt.descriptor_store %d[%i, %i], %x {ttig.block_io = "row_major"}
      : !tt.tensordesc<64x32xf16>, tensor<64x32xf16>
    ```
    """

    name = "tt.descriptor_store"

    desc = operand_def()
    src = operand_def(TensorType)
    indices = var_operand_def(eq(i32))

    traits = traits_def(MemoryWriteEffect())
    assembly_format = (
        "$desc `[` $indices `]` `,` $src attr-dict `:` type($desc) `,` type($src)"
    )

    def __init__(
        self, desc: SSAValue, indices: Sequence[SSAValue], src: SSAValue
    ) -> None:
        super().__init__(operands=[desc, src, indices])

    def verify_(self) -> None:
        verify_block("src", self.src, self)


class Combination(TritonEnum):
    """What becomes of an element in memory and one of a block."""

    ADD = 1
    MIN = 2
    MAX = 3
    INC = 4
    DEC = 5
    AND = 6
    OR = 7
    XOR = 8


@irdl_op_definition
class DescriptorReduceOp(IRDLOperation):
    """Combine a block with what is at some position of a tensor, atomically.

    | value   | type                        | unit     |
    |---------|-----------------------------|----------|
    | desc    | !tt.tensordesc<M x N x T>   |          |
    | src     | tensor<M x N x T>           |          |
    | indices | i32 for each dimension      | elements |

    ```mlir
    %d, %i = "test.op"() : () -> (!tt.tensordesc<64x32xf16>, i32)
    %x = "test.op"() : () -> tensor<64x32xf16>
    tt.descriptor_reduce add, %d[%i, %i], %x
      : !tt.tensordesc<64x32xf16>, tensor<64x32xf16>
    ```
    """

    name = "tt.descriptor_reduce"

    kind = prop_def(EnumConstraint(Combination))
    desc = operand_def()
    src = operand_def(TensorType)
    indices = var_operand_def(eq(i32))

    traits = traits_def(ReadsAndWrites())
    custom_directives = (Keyword,)
    assembly_format = (
        "custom<Keyword>($kind) `,` $desc `[` $indices `]` `,` $src "
        "attr-dict `:` type($desc) `,` type($src)"
    )

    def verify_(self) -> None:
        verify_block("src", self.src, self)


# Operations of Triton on rows of a matrix in memory, each at its own position.


@irdl_op_definition
class DescriptorGatherOp(IRDLOperation):
    """Load rows of a matrix, each at its own position, from one column on.

    | value     | type                      | unit |
    |-----------|---------------------------|------|
    | desc      | !tt.tensordesc<1 x N x T> |      |
    | x_offsets | tensor<M x i32>           | rows |
    | y_offset  | i32                       | elements |
    | result    | tensor<M x N x T>         |      |

    ```mlir
    %d, %y = "test.op"() : () -> (!tt.tensordesc<1x32xf16>, i32)
    %x = "test.op"() : () -> tensor<64xi32>
    %r = tt.descriptor_gather %d[%x, %y]
         : (!tt.tensordesc<1x32xf16>, tensor<64xi32>, i32) -> tensor<64x32xf16>
    ```
    """

    name = "tt.descriptor_gather"

    desc = operand_def()
    x_offsets = operand_def(TensorType)
    y_offset = operand_def(i32)
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    assembly_format = (
        "$desc `[` $x_offsets `,` $y_offset `]` attr-dict "
        "`:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        verify_rows("the result", self.result.type, self.desc, self.x_offsets)


@irdl_op_definition
class DescriptorScatterOp(IRDLOperation):
    """Store rows to a matrix, each to its own position, from one column on.

    | value     | type                      | unit |
    |-----------|---------------------------|------|
    | desc      | !tt.tensordesc<1 x N x T> |      |
    | x_offsets | tensor<M x i32>           | rows |
    | y_offset  | i32                       | elements |
    | src       | tensor<M x N x T>         |      |

    ```mlir
    %d, %y = "test.op"() : () -> (!tt.tensordesc<1x32xf16>, i32)
    %x, %r = "test.op"() : () -> (tensor<64xi32>, tensor<64x32xf16>)
    tt.descriptor_scatter %d[%x, %y], %r
      : !tt.tensordesc<1x32xf16>, tensor<64xi32>, i32, tensor<64x32xf16>
    ```
    """

    name = "tt.descriptor_scatter"

    desc = operand_def()
    x_offsets = operand_def(TensorType)
    y_offset = operand_def(i32)
    src = operand_def(TensorType)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = (
        "$desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict `:` type(operands)"
    )

    def verify_(self) -> None:
        verify_rows("src", self.src.type, self.desc, self.x_offsets)


def verify_rows(
    name: str, type: Attribute, desc: SSAValue, x_offsets: SSAValue
) -> None:
    """Check the tensor that rows of a matrix are gathered into."""
    of = descriptor_type(desc)
    if of.rank != 2 or of.shape[0] != 1:
        raise VerifyException(
            f"expected desc with blocks of one row, got {sizes(of.shape)}"
        )
    expect_rank("x_offsets", x_offsets.type, 1)
    if element_of(x_offsets.type) != i32:
        raise VerifyException(f"expected x_offsets of i32, got {x_offsets.type}")
    expect_element(name, type, of.element, "as desc has")
    rows = shape_of(x_offsets.type)[0]
    why = "a row for each of x_offsets, columns as desc has"
    expect_shape(name, type, (rows, of.shape[1]), why)
