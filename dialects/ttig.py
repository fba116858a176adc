"""The `ttig` dialect: what Intel's compiler adds to Triton GPU IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    I32,
    BoolAttr,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    eq,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    OperandVariable,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.constraints import Inferred
from coopc.dialects.definitions import dialect_of
from coopc.dialects.encodings import *
from coopc.dialects.narrow import is_tensor, tensor_type
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.traits import FillsCache, ReadsAndWrites
from coopc.dialects.tt.descriptors import descriptor_type
from coopc.dialects.tt.pointers import (
    ACCESSED,
    CachedOp,
    Clauses,
    PointerOp,
    parse_named,
    parse_operands,
    print_rest,
)
from coopc.dialects.tt.types import (
    WORKGROUP,
    CacheModifier,
    ElidedDesc,
    EnumConstraint,
    EvictionPolicy,
    PtrType,
    TensorDescType,
    TritonEnum,
    block_io,
    expect_count,
    expect_element,
    expect_mask,
    expect_type,
    mask_of,
    member,
    pointee_of,
    sizes,
)

# Operations of `ttig` that load by 2D blocks, as Intel's compiler lowers loads to.


class MemoryLayout(TritonEnum):
    """The order of a matrix in memory, seen from the tensor."""

    ROW_MAJOR = 0
    COLUMN_MAJOR = 1


LAYOUT = "memory_layout"
PAD_NAN = "pad_nan"


def parse_layout(parser: Parser) -> dict[str, Attribute]:
    """Parse `{row_major}` or `{column_major, pad_nan}`."""
    members = {each.keyword: each for each in MemoryLayout}
    with parser.in_braces():
        found = {LAYOUT: members[parser.parse_keyword_in(members)].attribute}
        if parser.parse_optional_punctuation(",") is None:
            return {**found}
        parser.parse_keyword(PAD_NAN)
    return {**found, PAD_NAN: UnitAttr()}


def print_layout(printer: Printer, op: BlockLoad2DOp | BlockLoad2DFromPtrOp) -> None:
    pad_nan = ", pad_nan" if PAD_NAN in op.properties else ""
    printer.print_string(f" {{{op.layout.keyword}{pad_nan}}}")


@irdl_custom_directive
class LayoutInMemory(CustomDirective):
    """` {row_major, pad_nan}`."""

    layout: AttributeVariable
    pad_nan: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        state.properties |= parse_layout(parser)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        assert isinstance(op, BlockLoad2DOp), op
        print_layout(printer, op)


@irdl_custom_directive
class Surface(CustomDirective):
    """`%base, %width, %height, %pitch`."""

    base: OperandVariable
    width: OperandVariable
    height: OperandVariable
    pitch: OperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        slots = (self.base, self.width, self.height, self.pitch)
        operands = parse_operands(parser, [slot.name for slot in slots])
        for slot, operand in zip(slots, operands, strict=True):
            slot.set(state, operand)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_list(op.operands[:4], printer.print_ssa_value)


@irdl_op_definition
class BlockLoad2DOp(IRDLOperation):
    """Load a tensor from a matrix in memory by 2D block loads.

    | value        | type              | unit                   |
    |--------------|-------------------|------------------------|
    | base         | !tt.ptr<T>        |                        |
    | width, pitch | i32               | bytes                  |
    | height       | i32               | rows                   |
    | x            | i32               | elements               |
    | y            | i32               | rows                   |
    | result       | tensor<M x N x T> |                        |

    Width, height, pitch, x and y are those of memory: with `column_major` the result is
    what they say, transposed.  What is outside is zero, or NaN with `pad_nan`.

    ```mlir
    %p, %w, %i = "test.op"() : () -> (!tt.ptr<f16>, i32, i32)
    %x = ttig.2d_block_load %p, %w, %i, %w[%i, %i] {row_major, pad_nan}
         : !tt.ptr<f16> -> tensor<64x32xf16>
    ```
    """

    name = "ttig.2d_block_load"

    base = operand_def(PtrType)
    width = operand_def(i32)
    height = operand_def(i32)
    pitch = operand_def(i32)
    x = operand_def(i32)
    y = operand_def(i32)
    memory_layout = prop_def(EnumConstraint(MemoryLayout))
    pad_nan = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    custom_directives = (LayoutInMemory, Surface)
    assembly_format = (
        "custom<Surface>($base, $width, $height, $pitch) `[` $x `,` $y `]` "
        "custom<LayoutInMemory>($memory_layout, $pad_nan) attr-dict "
        "`:` type($base) `->` type($result)"
    )

    @property
    def layout(self) -> MemoryLayout:
        return member(MemoryLayout, self.memory_layout)

    def verify_(self) -> None:
        base = self.base.type
        assert isinstance(base, PtrType), base
        verify_loaded(self.result)
        expect_element(
            "the result", self.result.type, base.pointee, "as base points to"
        )


@irdl_op_definition
class BlockLoad2DFromPtrOp(IRDLOperation):
    """Load a tensor by 2D block loads from where a tensor of pointers points.

    | value   | type                      | unit  |
    |---------|---------------------------|-------|
    | ptr     | tensor<M x N x !tt.ptr<T>> |      |
    | pitch   | i32                       | bytes |
    | mask    | tensor<M x N x i1>        |       |
    | other   | tensor<M x N x T>         |       |
    | result  | tensor<M x N x T>         |       |

    Pointer (i, j) is base + i stride + j, which is not checked.  `base_width` (bytes)
    and `base_height` (rows) are the surface of one load.

    ```mlir
    %p, %pitch = "test.op"() : () -> (tensor<64x32x!tt.ptr<f16>>, i32)
    %x = ttig.2d_block_load_from_ptr %p, %pitch {row_major}
         {base_height = 8 : i32, base_width = 64 : i32}
         : (tensor<64x32x!tt.ptr<f16>>, i32) -> tensor<64x32xf16>
    ```
    """

    name = "ttig.2d_block_load_from_ptr"

    ptr = operand_def(TensorType)
    pitch = operand_def(i32)
    mask = opt_operand_def()
    other = opt_operand_def()
    memory_layout = prop_def(EnumConstraint(MemoryLayout))
    base_width = prop_def(IntegerAttr[I32])
    base_height = prop_def(IntegerAttr[I32])
    result = result_def(TensorType)

    PRINTED_APART: ClassVar = (LAYOUT, "operandSegmentSizes")

    traits = traits_def(MemoryReadEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def layout(self) -> MemoryLayout:
        return member(MemoryLayout, self.memory_layout)

    def verify_(self) -> None:
        loaded = pointee_of(self.ptr.type)
        if loaded is None:
            raise VerifyException(f"expected a tensor of pointers, got {self.ptr.type}")
        if (self.mask is None) != (self.other is None):
            have, lack = ("mask", "other") if self.other is None else ("other", "mask")
            raise VerifyException(f"expected {lack}, as there is {have}, got none")
        verify_loaded(self.result)
        mask_type = mask_of(self.ptr.type)
        for name, value, wanted in (
            ("mask", self.mask, mask_type),
            ("other", self.other, loaded),
            ("the result", self.result, loaded),
        ):
            if value is not None:
                expect_type(name, value.type, wanted, "as ptr points to")

    @classmethod
    def parse(cls, parser: Parser) -> BlockLoad2DFromPtrOp:
        """Parse `%ptr, %pitch, %mask, %other {row_major} {..} : (..) -> T`."""
        position = parser.pos
        operands = parse_operands(parser, ("ptr", "pitch", "mask", "other"), least=2)
        layout = parse_layout(parser)
        properties, attributes = parse_named(parser, cls, clauses=False)
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        values = parser.resolve_operands(operands, type.inputs.data, position)
        return cls.build(
            operands=[values[0], values[1:2], values[2:3], values[3:]],
            result_types=[type.outputs.data],
            properties=layout | properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_layout(printer, self)
        print_rest(printer, self, self.PRINTED_APART)
        printer.print_string(" : ")
        printer.print_operation_type(self)


def verify_loaded(result: SSAValue) -> None:
    """Check that a tensor has two dimensions or more."""
    if len(shape := tensor_type(result).get_shape()) < 2:
        raise VerifyException(
            f"expected a result of rank 2 or more, got {sizes(shape)}"
        )


@irdl_op_definition
class ExtractDescOp(IRDLOperation):
    """One of the numbers of a descriptor of rank r.

    Fields 0 to r - 1 are the shape (i64), r to 2 r - 1 the strides (i64), 2 r is the
    base.

    ```mlir
    %d = "test.op"() : () -> !tt.tensordesc<64x32xf16>
    %columns = ttig.extract_desc %d[1] : <64x32xf16> -> i64
    %base = ttig.extract_desc %d[4] : <64x32xf16> -> !tt.ptr<f16>
    ```
    """

    name = "ttig.extract_desc"

    desc = operand_def(TensorDescType)
    index = prop_def(IntegerAttr[I32])
    result = result_def()

    traits = traits_def(Pure())
    custom_directives = (ElidedDesc,)
    assembly_format = (
        "$desc `[` $index `]` attr-dict `:` custom<ElidedDesc>(type($desc)) "
        "`->` type($result)"
    )

    def verify_(self) -> None:
        type = descriptor_type(self.desc)
        last, index = 2 * type.rank, self.index.value.data
        if not 0 <= index <= last:
            raise VerifyException(
                f"expected field 0 to {last} of a descriptor of rank {type.rank}, "
                f"got {index}"
            )
        wanted = PtrType.of(type.element) if index == last else i64
        if self.result.type != wanted:
            raise VerifyException(
                f"expected field {index} to be {wanted}, got {self.result.type}"
            )


# Operations of `ttig` that fetch into a cache, and that exchange between lanes.


@irdl_op_definition
class PrefetchOp(PointerOp):
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

    HAS_CLAUSES: ClassVar[bool] = False

    ptr = operand_def()
    mask = opt_operand_def()
    cache = prop_def(EnumConstraint(CacheModifier))
    evict = prop_def(EnumConstraint(EvictionPolicy))
    is_volatile = prop_def(BoolAttr, prop_name="isVolatile")

    traits = traits_def(FillsCache())

    @property
    def cache_modifier(self) -> CacheModifier:
        return member(CacheModifier, self.cache)

    def verify_(self) -> None:
        block_io(self)
        accessed = pointee_of(self.ptr.type)
        if accessed is None:
            raise VerifyException(f"expected ptr to be {ACCESSED}, got {self.ptr.type}")
        expect_mask(self.mask, accessed)


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
    custom_directives = (Clauses,)
    assembly_format = (
        "$desc `[` $indices `]` custom<Clauses>($cache, $evict) attr-dict "
        "`:` type($desc)"
    )

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
        block_io(self)
        expect_count("indices", self.indices, descriptor_type(self.desc).shape)


def shared_pointer(type: Attribute) -> PtrType:
    """Return the pointer to memory of the work-group that elements of a tensor take."""
    return PtrType.of(element_of(type), WORKGROUP)


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

    local_buffer = operand_def(Inferred("T", shared_pointer))
    src = operand_def(VarConstraint("T", AnyAttr()))
    result = result_def(VarConstraint("T", AnyAttr()))

    traits = traits_def(ReadsAndWrites())
    assembly_format = "$local_buffer `,` $src attr-dict `:` type($src)"

    def verify_(self) -> None:
        type, buffer = self.src.type, self.local_buffer.type
        shape = type.get_shape() if is_tensor(type) else ()
        if len(shape) != 2 or shape[0] != shape[1]:
            raise VerifyException(
                f"expected src of as many rows as columns, got {type}"
            )
        if buffer != (wanted := shared_pointer(type)):
            raise VerifyException(
                f"expected local_buffer to be {wanted}, for {sizes(shape)} elements, "
                f"got {buffer}"
            )


Ttig = dialect_of("ttig", globals())
