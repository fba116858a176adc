"""Operations of `ttig` that fetch into a cache, and that exchange between lanes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i1, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    eq,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.traits import FillsCache, ReadsAndWrites
from coopc.dialects.tt.access import (
    CachedOp,
    parse_accessed,
    parse_named,
    parse_operands,
    print_named,
    print_operands,
    resolve,
)
from coopc.dialects.tt.checks import expect_like
from coopc.dialects.tt.descriptors import (
    descriptor_type,
    parse_indexed,
    print_indexed,
    verify_indices,
)
from coopc.dialects.tt.enums import (
    CacheModifier,
    EnumConstraint,
    EvictionPolicy,
    member,
)
from coopc.dialects.tt.names import block_io
from coopc.dialects.tt.pointers import ACCESSED
from coopc.dialects.tt.types import (
    WORKGROUP,
    PtrType,
    is_tensor,
    mask_of,
    pointee_of,
    sizes,
)


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Fetch what pointers point to into a cache, where a mask is true.

    | value | type                                             |
    |-------|--------------------------------------------------|
    | ptr   | !tt.ptr<T>, tensor of them, or a block pointer   |
    | mask  | i1, in that shape                                |

    ```mlir
    %p, %m = "test.op"() : () -> (tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi1>)
    ttig.prefetch %p, %m {cache = 1 : i32, evict = 1 : i32, isVolatile = false,
      ttig.block_io = "row_major"} : tensor<64x32x!tt.ptr<f16>>
    ```
    """

    name = "ttig.prefetch"

    ptr = operand_def()
    mask = opt_operand_def()
    cache = prop_def(EnumConstraint(CacheModifier))
    evict = prop_def(EnumConstraint(EvictionPolicy))
    is_volatile = prop_def(BoolAttr, prop_name="isVolatile")

    traits = traits_def(FillsCache())

    def __init__(
        self,
        ptr: SSAValue,
        mask: SSAValue | None = None,
        cache: CacheModifier = CacheModifier.NONE,
        evict: EvictionPolicy = EvictionPolicy.EVICT_NORMAL,
    ) -> None:
        super().__init__(
            operands=[ptr, () if mask is None else (mask,)],
            properties={
                "cache": cache.attribute,
                "evict": evict.attribute,
                "isVolatile": IntegerAttr.from_bool(False),
            },
        )

    @property
    def cache_modifier(self) -> CacheModifier:
        """Which caches are filled."""
        return member(CacheModifier, self.cache)

    def verify_(self) -> None:
        """Check that there are pointers, and a mask for what they point to."""
        block_io(self)
        accessed = pointee_of(self.ptr.type)
        if accessed is None:
            raise VerifyException(f"expected ptr to be {ACCESSED}, got {self.ptr.type}")
        if self.mask is not None:
            if element_of(self.mask.type) != i1:
                raise VerifyException(f"expected a mask of i1, got {self.mask.type}")
            expect_like("mask", self.mask.type, "ptr", accessed)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        """Parse `%ptr, %mask {cache = 1 : i32, ..} : type`."""
        operands = parse_operands(parser, most=2)
        named = parse_named(parser, cls, clauses=False)
        parser.parse_punctuation(":")
        type, _ = parse_accessed(parser, ACCESSED)
        values = resolve(parser, operands, (type, mask_of(type)))
        return cls.build(
            operands=[values[:1], values[1:]],
            properties=named.properties,
            attributes=named.attributes,
        )

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        print_operands(printer, self)
        print_named(printer, self, clauses=False)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)


@irdl_op_definition
class DescriptorPrefetchOp(CachedOp):
    """Fetch a block of the tensor that a descriptor describes into a cache.

    | value   | type                        | unit     |
    |---------|-----------------------------|----------|
    | desc    | !tt.tensordesc<M x N x T>   |          |
    | indices | i32 for each dimension      | elements |

    ```mlir
    %d, %i = "test.op"() : () -> (!tt.tensordesc<64x32xf16>, i32)
    ttig.descriptor_prefetch %d[%i, %i] cacheModifier = ca : !tt.tensordesc<64x32xf16>
    ```
    """

    name = "ttig.descriptor_prefetch"

    desc = operand_def()
    indices = var_operand_def(eq(i32))

    traits = traits_def(FillsCache())

    def __init__(
        self,
        desc: SSAValue,
        indices: Sequence[SSAValue],
        cache: CacheModifier = CacheModifier.NONE,
    ) -> None:
        super().__init__(
            operands=[desc, indices], properties={"cache": cache.attribute}
        )

    def verify_(self) -> None:
        """Check the number of indices."""
        block_io(self)
        verify_indices(descriptor_type(self.desc), self.indices)

    @classmethod
    def parse(cls, parser: Parser) -> DescriptorPrefetchOp:
        """Parse `%desc[%i, %j] cacheModifier = ca {..} : type`."""
        desc, indices = parse_indexed(parser)
        named = parse_named(parser, cls, clauses=True)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.build(
            operands=[
                parser.resolve_operand(desc, type),
                [parser.resolve_operand(index, i32) for index in indices],
            ],
            properties=named.properties,
            attributes=named.attributes,
        )

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        print_indexed(printer, self.desc, self.indices)
        print_named(printer, self, clauses=True)
        printer.print_string(" : ")
        printer.print_attribute(self.desc.type)


@irdl_op_definition
class SubGroupTransposeOp(IRDLOperation):
    """Exchange a square between the lanes of a subgroup, through shared memory.

    | value        | type                       |
    |--------------|----------------------------|
    | local_buffer | !tt.ptr<T, 3>              |
    | src, result  | tensor<L x L x T>, L lanes |

    ```mlir
    %p, %x = "test.op"() : () -> (!tt.ptr<f16, 3>, tensor<16x16xf16>)
    %y = ttig.sub_group_transpose %p, %x : tensor<16x16xf16>
    ```
    """

    name = "ttig.sub_group_transpose"

    local_buffer = operand_def(PtrType)
    src = operand_def(VarConstraint("T", AnyAttr()))
    result = result_def(VarConstraint("T", AnyAttr()))

    traits = traits_def(ReadsAndWrites())

    def __init__(self, local_buffer: SSAValue, src: SSAValue) -> None:
        super().__init__(operands=[local_buffer, src], result_types=[src.type])

    def verify_(self) -> None:
        """Check that the tensor is square, and the buffer shared memory for it."""
        type, buffer = self.src.type, self.local_buffer.type
        shape = type.get_shape() if is_tensor(type) else ()
        if len(shape) != 2 or shape[0] != shape[1]:
            raise VerifyException(
                f"expected src of as many rows as columns, got {type}"
            )
        wanted = PtrType.of(element_of(type), WORKGROUP)
        if buffer != wanted:
            raise VerifyException(
                f"expected local_buffer to be {wanted}, for {sizes(shape)} elements, "
                f"got {buffer}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> SubGroupTransposeOp:
        """Parse `%local_buffer, %src {..} : type`."""
        position = parser.pos
        operands = parse_operands(parser, most=2)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        types = (PtrType.of(element_of(type), WORKGROUP), type)
        buffer, src = parser.resolve_operands(operands, types, position)
        transpose = cls(buffer, src)
        transpose.attributes |= attributes
        return transpose

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        print_operands(printer, self)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
