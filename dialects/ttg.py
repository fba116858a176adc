"""The `ttg` dialect: Triton's encodings of tensors, and shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import IntFlag

from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    DenseArrayBase,
    IntAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import (
    Attribute,
    Operation,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryAllocEffect,
    MemoryEffect,
    MemoryFreeEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.definitions import dialect_of
from coopc.dialects.encodings import *
from coopc.dialects.narrow import is_tensor, tensor_type
from coopc.dialects.traits import ReadsAndWrites
from coopc.dialects.tt.types import (
    Tensor,
    expect_element,
    expect_permutation,
    expect_shape,
    has_encoding,
    sizes,
)

# Memory that the lanes of a work-group share: its layout, and buffers in it.
#
# #shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 4, order = [1, 0]}>
# #smem = #ttg.shared_memory
# !ttg.memdesc<2x64x32xf16, #shared, #smem, mutable>
# !ttg.memdesc<32x32xf16, #shared, #smem, mutable, 64x32>     a part of 64 x 32


@irdl_attr_definition
class SharedMemoryAttr(ParametrizedAttribute):
    """The memory space of a work-group: `#ttg.shared_memory`."""

    name = "ttg.shared_memory"


@irdl_attr_definition
class MemDescType(ParametrizedAttribute, TypeAttribute):
    """A buffer in shared memory, or a part: `!ttg.memdesc<64x32xf16, #shared, #m>`."""

    name = "ttg.memdesc"

    tensor: Attribute
    """Shape and elements, with the layout in memory as encoding."""
    memory: Attribute
    mutability: StringAttr
    """`mutable`, or nothing."""
    allocation: ArrayAttr[IntAttr]
    """The shape of the buffer that this is a part of."""

    @classmethod
    def of(
        cls,
        tensor: Tensor,
        *,
        mutable: bool = False,
        allocation: Sequence[int] = (),
    ) -> MemDescType:
        """Return the type from a tensor whose encoding is a layout in memory."""
        shape = tuple(allocation) or tensor.get_shape()
        return cls(
            tensor,
            SharedMemoryAttr(),
            StringAttr("mutable" if mutable else ""),
            ArrayAttr([IntAttr(size) for size in shape]),
        )

    @property
    def shaped(self) -> Tensor:
        assert is_tensor(self.tensor), self.tensor
        return self.tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes in elements."""
        return self.shaped.get_shape()

    @property
    def element(self) -> Attribute:
        return self.shaped.element_type

    @property
    def is_mutable(self) -> bool:
        """Whether it can be stored to more than once."""
        return self.mutability.data == "mutable"

    def verify(self) -> None:
        shape, whole = self.shape, [size.data for size in self.allocation.data]
        if not shape or min(shape) < 1:
            raise VerifyException(
                f"expected a buffer with known sizes, got {sizes(shape)}"
            )
        if len(whole) < len(shape) or any(
            part > size for part, size in zip(shape, whole[-len(shape) :], strict=True)
        ):
            raise VerifyException(
                f"expected a part of {sizes(whole)}, got {sizes(shape)}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<64x32xf16, #shared, #smem, mutable, 128x32>`."""
        with parser.in_angle_brackets():
            shape, element = parser.parse_shape()
            parser.parse_punctuation(",")
            encoding = parser.parse_attribute()
            memory: Attribute = NoneAttr()
            mutability, allocation = "", shape or []
            while parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("mutable") is not None:
                    mutability = "mutable"
                elif dimensions := parser.parse_dimension_list():
                    allocation = dimensions
                else:
                    memory = parser.parse_attribute()
        return (
            TensorType(element, shape or [], encoding),
            memory,
            StringAttr(mutability),
            ArrayAttr([IntAttr(size) for size in allocation]),
        )

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_dimension_list(self.shape)
            printer.print_string("x")
            printer.print_attribute(self.element)
            printer.print_string(", ")
            printer.print_attribute(self.shaped.encoding)
            if not isinstance(self.memory, NoneAttr):
                printer.print_string(", ")
                printer.print_attribute(self.memory)
            if self.is_mutable:
                printer.print_string(", mutable")
            if (whole := [size.data for size in self.allocation.data]) != [*self.shape]:
                printer.print_string(", ")
                printer.print_dimension_list(whole)


# Operations of `ttg` on buffers in the memory that a work-group shares.


class AllocEffects(MemoryEffect):
    """An allocation; with an initial value it also writes."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        allocated = MemoryAllocEffect.get_effects(op)
        return {*allocated, *(MemoryWriteEffect.get_effects(op) if op.operands else ())}


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

    def verify_(self) -> None:
        buffer = self.result.type
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

    def verify_(self) -> None:
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

    def verify_(self) -> None:
        buffer = memdesc(self.dst)
        if not buffer.is_mutable:
            raise VerifyException(f"expected dst to be mutable, got {buffer}")
        verify_copy("src", self.src, buffer)


def memdesc(value: SSAValue) -> MemDescType:
    assert isinstance(value.type, MemDescType), value
    return value.type


def verify_copy(name: str, tensor: SSAValue, buffer: MemDescType) -> None:
    """Check that a tensor has the shape and the elements of a buffer."""
    expect_shape(name, tensor.type, buffer.shape, "as the buffer")
    expect_element(name, tensor.type, buffer.element, "as the buffer")


# Operations of `ttg` that see a buffer otherwise; nothing moves.


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

    def verify_(self) -> None:
        src, result = memdesc(self.src), self.result.type
        order, shape = self.order.get_values(), src.shape
        expect_permutation(order, len(shape))
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

    def verify_(self) -> None:
        src = memdesc(self.src)
        why = "src without its first dimension"
        verify_view(self.result.type, src.shape[1:], src, why)


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

    def verify_(self) -> None:
        src, result = memdesc(self.src), self.result.type
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
    """Check that a buffer is another one, seen otherwise."""
    expect_shape("the result", result.shaped, shape, why)
    expect_element("the result", result.shaped, src.element, "as src")
    if result.is_mutable != src.is_mutable:
        kind = "mutable" if src.is_mutable else "not mutable"
        raise VerifyException(f"expected the result to be {kind}, as src, got {result}")


# Operations of `ttg` between lanes: layouts that change, and barriers.


@irdl_op_definition
class ConvertLayoutOp(IRDLOperation, HasFolderInterface):
    """The same tensor with another encoding: elements move between lanes.

    | value  | shape | encoding |
    |--------|-------|----------|
    | src    | M x N | any      |
    | result | M x N | any      |

    ```mlir
    #a = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 4],
                       warpsPerCTA = [4, 1], order = [1, 0]}>
    #b = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 16],
                       warpsPerCTA = [4, 1], order = [1, 0]}>
    %x = "test.op"() : () -> tensor<64x32xf16, #a>
    %y = ttg.convert_layout %x : tensor<64x32xf16, #a> -> tensor<64x32xf16, #b>
    ```
    """

    name = "ttg.convert_layout"

    src = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        src = self.src
        if src.type == self.result.type:
            return (src,)
        if isinstance(src.owner, ConvertLayoutOp):
            first = src.owner.src
            return (first,) if first.type == self.result.type else None
        return None

    def verify_(self) -> None:
        src, result = tensor_type(self.src), self.result.type
        expect_shape("the result", result, src.get_shape(), "as src")
        expect_element("the result", result, src.element_type, "as src")
        if not has_encoding(src) or not has_encoding(result):
            raise VerifyException(
                f"expected src and the result to have encodings, got {src} and {result}"
            )


class Domain(IntFlag):
    """Which accesses a barrier orders."""

    LOCAL = 1
    GLOBAL_READ = 2
    GLOBAL_WRITE = 4
    TENSOR_READ = 8
    TENSOR_WRITE = 16


ALL = 31


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All lanes of the work-group wait for each other, and see what they have written.

    What is ordered: `local` (shared memory), `global_read`, `global_write`,
    `tensor_read`, `tensor_write`, several with `|` between them; `all` or `none`.

    ```mlir
    ttg.barrier local
    ttg.barrier all
    ```
    """

    name = "ttg.barrier"

    domains = prop_def(IntegerAttr[I32], prop_name="addrSpace")

    traits = traits_def(ReadsAndWrites())

    def __init__(self, domains: Domain) -> None:
        super().__init__(properties={"addrSpace": IntegerAttr(int(domains), i32)})

    @property
    def ordered(self) -> Domain:
        return Domain(self.domains.value.data)

    def verify_(self) -> None:
        if not 0 <= (found := self.domains.value.data) <= ALL:
            raise VerifyException(f"expected addrSpace of 0 to {ALL}, got {found}")

    @classmethod
    def parse(cls, parser: Parser) -> BarrierOp:
        """Parse `local|global_read {..}`."""
        known = {str(each.name).lower(): int(each) for each in Domain}
        known |= {"none": 0, "all": ALL}
        found = 0
        while True:
            found |= known[parser.parse_keyword_in(known)]
            if parser.parse_optional_characters("|") is None:
                break
        barrier = cls(Domain(found))
        barrier.attributes |= parser.parse_optional_attr_dict()
        return barrier

    def print(self, printer: Printer) -> None:
        found = self.ordered
        names = [str(each.name).lower() for each in Domain if each in found]
        words = {0: "none", ALL: "all"}.get(int(found), "|".join(names))
        printer.print_string(f" {words}")
        printer.print_op_attributes(self.attributes)


Ttg = dialect_of("ttg", globals())
