"""Operations of `memref` that xDSL 0.74 reads generically only, as MLIR prints them.

    memref.copy %a, %b : memref<4xf32> to memref<4xf32>
    memref.cast %a : memref<?xf32> to memref<4xf32>
    memref.global "private" constant @w : memref<2xf32> = dense<1.0>

Importing this module changes xDSL's classes in place, since whoever has to do with an
operation finds it by its class.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

from coopc.dialects import effects
from coopc.dialects.narrow import as_tensor, is_memref
from coopc.xdsl_gaps import DeferredFormat

MemRef = effects.MemRef


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
        parser.parse_keyword("dense")
        shaped: TensorType[Any] = as_tensor(type)
        value = parser.parse_dense_int_or_fp_elements_attr(shaped)
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


def print_global(self: memref.GlobalOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_string_literal(self.sym_visibility.data)
    printer.print_string(" constant " if self.constant is not None else " ")
    printer.print_symbol_name(self.sym_name.data)
    printer.print_string(" : ")
    printer.print_attribute(self.type)
    value = self.initial_value
    if isinstance(value, DenseIntOrFPElementsAttr):
        # Its type is that of the memref: the last part, which is left out.
        text, type = str(value), f" : {value.type}"
        printer.print_string(f" = {text.removesuffix(type)}")
    elif self.constant is None:
        printer.print_string(" = uninitialized")
    rest: dict[str, Attribute] = dict(self.attributes)
    if self.alignment is not None:
        rest["alignment"] = self.alignment
    printer.print_op_attributes(rest)


set_format(
    memref.CopyOp,
    "$source `,` $destination attr-dict `:` type($source) `to` type($destination)",
)
for op in (memref.CastOp, memref.MemorySpaceCastOp):
    set_format(op, "$source attr-dict `:` type($source) `to` type($dest)")
setattr(memref.GlobalOp, "parse", classmethod(parse_global))  # noqa: B010
setattr(memref.GlobalOp, "print", print_global)  # noqa: B010
