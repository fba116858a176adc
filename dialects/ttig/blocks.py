"""Operations of `ttig` that load by 2D blocks, as Intel's compiler lowers loads to."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    I32,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.tt.access import (
    parse_named,
    parse_operands,
    print_operands,
)
from coopc.dialects.tt.checks import expect_element
from coopc.dialects.tt.descriptors import descriptor_type
from coopc.dialects.tt.elided import ElidedDesc
from coopc.dialects.tt.enums import EnumConstraint, TritonEnum, member
from coopc.dialects.tt.pointers import ACCESSED
from coopc.dialects.tt.types import (
    PtrType,
    TensorDescType,
    is_tensor,
    mask_of,
    pointee_of,
    sizes,
)


class MemoryLayout(TritonEnum):
    """The order of a matrix in memory, seen from the tensor."""

    ROW_MAJOR = 0
    COLUMN_MAJOR = 1


LAYOUT = "memory_layout"
PAD_NAN = "pad_nan"


def parse_layout(parser: Parser) -> dict[str, Attribute]:
    """Parse `{row_major}` or `{column_major, pad_nan}`."""
    members = {each.keyword: each for each in MemoryLayout}
    found: dict[str, Attribute] = {}
    parser.parse_punctuation("{")
    found[LAYOUT] = members[parser.parse_keyword_in(members)].attribute
    if parser.parse_optional_punctuation(",") is not None:
        parser.parse_keyword(PAD_NAN)
        found[PAD_NAN] = UnitAttr()
    parser.parse_punctuation("}")
    return found


def print_layout(printer: Printer, layout: MemoryLayout, *, pad_nan: bool) -> None:
    """Print what `parse_layout` reads."""
    printer.print_string(f" {{{layout.keyword}{', pad_nan' if pad_nan else ''}}}")


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

    def __init__(
        self,
        base: SSAValue,
        surface: tuple[SSAValue, SSAValue, SSAValue],
        position: tuple[SSAValue, SSAValue],
        layout: MemoryLayout,
        result_type: Attribute,
        *,
        pad_nan: bool = False,
    ) -> None:
        super().__init__(
            operands=[base, *surface, *position],
            properties={
                LAYOUT: layout.attribute,
                PAD_NAN: UnitAttr() if pad_nan else None,
            },
            result_types=[result_type],
        )

    @property
    def layout(self) -> MemoryLayout:
        """The order in memory."""
        return member(MemoryLayout, self.memory_layout)

    def verify_(self) -> None:
        """Check the rank and the elements of the result."""
        base = self.base.type
        assert isinstance(base, PtrType), base
        verify_loaded(self.result)
        expect_element(
            "the result", self.result.type, base.pointee, "as base points to"
        )

    @classmethod
    def parse(cls, parser: Parser) -> BlockLoad2DOp:
        """Parse `%base, %width, %height, %pitch[%x, %y] {row_major} {..} : T -> T`."""
        position = parser.pos
        operands = parse_operands(parser, most=4)
        if len(operands) != 4:
            parser.raise_error(
                f"expected base, width, height and pitch, got {len(operands)} operands",
                position,
                parser.pos,
            )
        operands += parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        layout = parse_layout(parser)
        named = parse_named(parser, cls, clauses=False)
        parser.parse_punctuation(":")
        base_type = parser.parse_type()
        parser.parse_punctuation("->")
        result_type = parser.parse_type()
        types = (base_type, i32, i32, i32, i32, i32)
        return cls.build(
            operands=parser.resolve_operands(operands, types, position),
            result_types=[result_type],
            properties=layout | named.properties,
            attributes=named.attributes,
        )

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        printer.print_string(" ")
        printer.print_list(self.operands[:4], printer.print_ssa_value)
        with printer.in_square_brackets():
            printer.print_list(self.operands[4:], printer.print_ssa_value)
        print_layout(printer, self.layout, pad_nan=self.pad_nan is not None)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.base.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


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

    def __init__(
        self,
        ptr: SSAValue,
        pitch: SSAValue,
        masked: tuple[SSAValue, SSAValue] | None,
        layout: MemoryLayout,
        surface: tuple[int, int],
    ) -> None:
        mask, other = ((), ()) if masked is None else ((masked[0],), (masked[1],))
        loaded = pointee_of(ptr.type)
        if loaded is None:
            raise ValueError(f"expected {ACCESSED}, got {ptr.type}")
        super().__init__(
            operands=[ptr, pitch, mask, other],
            properties={
                LAYOUT: layout.attribute,
                "base_width": IntegerAttr(surface[0], i32),
                "base_height": IntegerAttr(surface[1], i32),
            },
            result_types=[loaded],
        )

    @property
    def layout(self) -> MemoryLayout:
        """The order in memory."""
        return member(MemoryLayout, self.memory_layout)

    def verify_(self) -> None:
        """Check that mask, other and result fit the pointers."""
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
            if value is not None and value.type != wanted:
                raise VerifyException(
                    f"expected {name} to be {wanted}, as ptr points to, "
                    f"got {value.type}"
                )

    @classmethod
    def parse(cls, parser: Parser) -> BlockLoad2DFromPtrOp:
        """Parse `%ptr, %pitch, %mask, %other {row_major} {..} : (..) -> T`."""
        position = parser.pos
        operands = parse_operands(parser, most=4)
        layout = parse_layout(parser)
        named = parse_named(parser, cls, clauses=False)
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        values = parser.resolve_operands(operands, type.inputs.data, position)
        return cls.build(
            operands=[values[0], values[1:2], values[2:3], values[3:]],
            result_types=[type.outputs.data],
            properties=layout | named.properties,
            attributes=named.attributes,
        )

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        print_operands(printer, self)
        print_layout(printer, self.layout, pad_nan=False)
        rest = {
            name: attr
            for name, attr in self.properties.items()
            if name not in self.PRINTED_APART
        }
        printer.print_op_attributes(rest | self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)


def verify_loaded(result: SSAValue) -> None:
    """Check that a tensor has two dimensions or more.

    Raises:
        VerifyException: it has fewer.
    """
    type = result.type
    assert is_tensor(type), type
    if len(shape := type.get_shape()) < 2:
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

    def __init__(self, desc: SSAValue, index: int) -> None:
        type = descriptor_type(desc)
        result_type = PtrType.of(type.element) if index == 2 * type.rank else i64
        super().__init__(
            operands=[desc],
            properties={"index": IntegerAttr(index, i32)},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        """Check the number of the field, and its type."""
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
