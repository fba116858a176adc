"""Operations of `memref` that xDSL 0.74 reads generically only, as MLIR prints them.

    memref.copy %a, %b : memref<4xf32> to memref<4xf32>
    memref.cast %a : memref<?xf32> to memref<4xf32>
    memref.global "private" constant @w : memref<2xf32> = dense<1.0>

One that it refuses where a size is static on one side only, as views have them:

    memref.copy %a, %b : memref<?x2xf32> to memref<16x?xf32>

And one that it lacks:

    memref.prefetch %a[%i], read, locality<3>, data : memref<4xf32>

Importing this module changes xDSL's classes in place, since whoever has to do with an
operation finds it by its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    I32,
    BoolAttr,
    Builtin,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    PropertyDef,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import have_compatible_shape

from coopc.dialects import effects
from coopc.dialects.narrow import as_tensor, is_memref, memref_type
from coopc.dialects.traits import FillsCache
from coopc.xdsl_gaps import DeferredFormat


def set_format(op: type[IRDLOperation], text: str) -> None:
    """Let an operation be read and printed by a format of its own."""
    format = DeferredFormat(text, op.get_irdl_definition())

    def parse(cls: type[IRDLOperation], parser: Parser) -> Any:
        return format.parse(parser, cls)

    def print_op(self: IRDLOperation, printer: Printer) -> None:
        format.print(printer, self)

    setattr(op, "parse", classmethod(parse))  # noqa: B010
    setattr(op, "print", print_op)  # noqa: B010


def parse_global(cls: type[memref.GlobalOp], parser: Parser) -> memref.GlobalOp:
    visibility = parser.parse_optional_str_literal()
    constant = parser.parse_optional_keyword("constant") is not None
    name = parser.parse_symbol_name()
    parser.parse_punctuation(":")
    start = parser.pos
    type = parser.parse_type()
    if not is_memref(type):
        parser.raise_error(f"expected a memref, got {type}", start, parser.pos)
    value: Attribute = UnitAttr()
    has_value = parser.parse_optional_punctuation("=") is not None
    if has_value and parser.parse_optional_keyword("uninitialized") is None:
        value = _parse_value(parser, as_tensor(type))
    attributes = parser.parse_optional_attr_dict()
    op = cls.build(
        properties={
            "sym_name": name,
            "type": type,
            "initial_value": value,
            "sym_visibility": StringAttr(visibility or "public"),
            "constant": UnitAttr() if constant else None,
            "alignment": attributes.pop("alignment", None),
        },
        attributes=attributes,
    )
    return op


def _parse_value(parser: Parser, type: TensorType[Any]) -> Attribute:
    """Parse the elements of a global, whose type the memref gives."""
    if parser.parse_optional_keyword("dense_resource") is None:
        parser.parse_keyword("dense")
        return parser.parse_dense_int_or_fp_elements_attr(type)
    interface = Builtin.get_interface(OpAsmDialectInterface)
    assert interface is not None
    with parser.in_angle_brackets():
        key = parser._parse_dialect_resource_handle("builtin", interface)  # pyright: ignore[reportPrivateUsage]
    return DenseResourceAttr.from_params(key, type)


def print_global(self: memref.GlobalOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_string_literal(self.sym_visibility.data)
    printer.print_string(" constant " if self.constant is not None else " ")
    printer.print_symbol_name(self.sym_name.data)
    printer.print_string(" : ")
    printer.print_attribute(self.type)
    value = self.initial_value
    if isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
        printer.print_string(" = ")
        value.print_without_type(printer)
    elif self.constant is None:
        printer.print_string(" = uninitialized")
    rest: dict[str, Attribute] = dict(self.attributes)
    if self.alignment is not None:
        rest["alignment"] = self.alignment
    printer.print_op_attributes(rest)


def verify_copy(self: memref.CopyOp) -> None:
    source, target = self.source.type, self.destination.type
    if not have_compatible_shape(source, target):
        raise VerifyException(f"expected memrefs of one shape, got {source}, {target}")
    elements = [memref_type(x).element_type for x in self.operands]
    if elements[0] != elements[1]:
        raise VerifyException(
            f"expected memrefs of one element type, got {source}, {target}"
        )


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Prefetch the cache line of an element; a hint, which may be out of bounds.

    `locality` is 3 for the first cache, 2 and 1 for the next ones, and 0 for what is
    used once.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<8x16xf32>, index, index)
    memref.prefetch %memory[%i, %j], read, locality<2>, data : memref<8x16xf32>
    memref.prefetch %memory[%i, %j], write, locality<3>, data : memref<8x16xf32>
    ```
    """

    name = "memref.prefetch"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality = prop_def(IntegerAttr[I32], prop_name="localityHint")
    is_data = prop_def(BoolAttr, prop_name="isDataCache")

    traits = traits_def(FillsCache())

    def __init__(
        self,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        locality: int,
        *,
        is_write: bool = False,
        is_data: bool = True,
    ) -> None:
        flags = {
            "isWrite": BoolAttr.from_bool(is_write),
            "localityHint": IntegerAttr(locality, i32),
            "isDataCache": BoolAttr.from_bool(is_data),
        }
        super().__init__(operands=[memref, indices], properties=flags)

    def verify_(self) -> None:
        rank, count = memref_type(self.memref).get_num_dims(), len(self.indices)
        if rank != count:
            raise VerifyException(
                f"expected {rank} indices, one for each dimension of the memref, "
                f"got {count}"
            )
        if not 0 <= (locality := self.locality.value.data) <= 3:
            raise VerifyException(f"expected a locality of 0 to 3, got {locality}")

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        memory = parser.parse_unresolved_operand()
        found = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )

        def one_of(*words: str) -> str:
            parser.parse_punctuation(",")
            start, word = parser.pos, parser.parse_identifier()
            if word not in words:
                known = " or ".join(words)
                parser.raise_error(f"expected {known}, got {word}", start, parser.pos)
            return word

        access, _ = one_of("read", "write"), one_of("locality")
        with parser.in_angle_brackets():
            locality = parser.parse_integer(allow_boolean=False)
        cache = one_of("data", "instr")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        op = cls(
            parser.resolve_operand(memory, type),
            [parser.resolve_operand(x, IndexType()) for x in found],
            locality,
            is_write=access == "write",
            is_data=cache == "data",
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        access = "write" if self.is_write.value.data else "read"
        cache = "data" if self.is_data.value.data else "instr"
        locality = self.locality.value.data
        printer.print_string(f", {access}, locality<{locality}>, {cache}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)


MemRef = Dialect(
    "memref",
    [*effects.MemRef.operations, PrefetchOp],
    [*effects.MemRef.attributes],
)

set_format(
    memref.CopyOp,
    "$source `,` $destination attr-dict `:` type($source) `to` type($destination)",
)
setattr(memref.CopyOp, "verify_", verify_copy)  # noqa: B010
for op in (memref.CastOp, memref.MemorySpaceCastOp):
    set_format(op, "$source attr-dict `:` type($source) `to` type($dest)")
memref.GlobalOp.get_irdl_definition().properties["initial_value"] = PropertyDef(
    base(UnitAttr) | base(DenseIntOrFPElementsAttr) | base(DenseResourceAttr)
)
setattr(memref.GlobalOp, "parse", classmethod(parse_global))  # noqa: B010
setattr(memref.GlobalOp, "print", print_global)  # noqa: B010
