"""Operations of upstream MLIR's `spirv` dialect whose text is not declarative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, TypedAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    var_result_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    SuccessorVariable,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from coopc.dialects.narrow import is_integer, is_vector
from coopc.dialects.spirv.types import (
    ENUMERANTS,
    Enumerants,
    PointerType,
    enumerants,
    parse_enumerants,
)


class SpirvOp(IRDLOperation):
    """Any operation of the dialect."""

    irdl_options = (ParsePropInAttrDict(),)

    def given(self, name: str) -> Attribute | None:
        """An attribute, which upstream prints as a property."""
        return (self.attributes | self.properties).get(name)

    def symbol(self, name: str) -> str:
        """What an attribute names, or the operation's own name."""
        found = self.given(name)
        if isinstance(found, SymbolRefAttr):
            return found.root_reference.data
        assert isinstance(found, StringAttr), self
        return found.data

    def enumerants(self, name: str) -> list[str]:
        """The enumerants that an attribute names; none if it is absent."""
        found = self.given(name)
        return found.data.split("|") if isinstance(found, Enumerants) else []

    def numbers(self, name: str) -> list[int]:
        """The integers of an attribute; none if it is absent or of others."""
        found = self.given(name)
        if isa(found, ArrayAttr[IntegerAttr]):
            return [x.value.data for x in found]
        if isa(found, DenseArrayBase[IntegerType]):
            return list(found.get_values())
        if isinstance(found, DenseIntOrFPElementsAttr):
            return list(found.get_values())
        return [found.value.data] if isa(found, IntegerAttr) else []


def name_of(op: Operation) -> str:
    """Return the name of an operation, without the dialect if it is of `spirv`."""
    return op.name.removeprefix("spirv.")


def _print_types(
    printer: Printer, op: SpirvOp, types: Sequence[Attribute], *names: str
) -> None:
    """Print the end of an operation: attributes, but for some names, and types."""
    printer.print_op_attributes(op.attributes, reserved_attr_names=names)
    printer.print_string(" : ")
    printer.print_list(types, printer.print_attribute)


@irdl_custom_directive
class Plain(CustomDirective):
    """An enumerant by its name alone, `Logical`."""

    attr: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.attr.set(state, ENUMERANTS[self.attr.name](self.name(parser)))

    def name(self, parser: Parser) -> str:
        return parser.parse_identifier()

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        found = self.attr.get(op)
        assert isinstance(found, Enumerants), op
        state.print_whitespace(printer)
        printer.print_string(self.text(found.data))

    def text(self, name: str) -> str:
        return name


@irdl_custom_directive
class Quoted(Plain):
    """An enumerant as a string, `"GLCompute"`."""

    attr: AttributeVariable

    def name(self, parser: Parser) -> str:
        return parser.parse_str_literal()

    def text(self, name: str) -> str:
        return f'"{name}"'


@irdl_custom_directive
class Listed(CustomDirective):
    """Symbols, or numbers of 32 bits, without brackets: `@a, @b`."""

    attr: AttributeVariable

    def is_anchorable(self) -> bool:
        return True

    def is_present(self, op: IRDLOperation) -> bool:
        return self.attr.get(op) not in (None, ArrayAttr(()))

    def set_empty(self, state: ParsingState) -> None:
        if not self.attr.is_optional:
            self.attr.set(state, ArrayAttr(()))

    def parse(self, parser: Parser, state: ParsingState) -> None:
        def element() -> Attribute:
            number = parser.parse_optional_integer()
            if number is not None:
                return IntegerAttr(number, i32)
            return SymbolRefAttr(parser.parse_symbol_name())

        found = parser.parse_comma_separated_list(parser.Delimiter.NONE, element)
        self.attr.set(state, ArrayAttr(found))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        found = self.attr.get(op)
        assert isa(found, ArrayAttr[Attribute]), op
        texts = [
            str(each.value.data) if isinstance(each, IntegerAttr) else str(each)
            for each in found
        ]
        state.print_whitespace(printer)
        printer.print_string(", ".join(texts))


@irdl_custom_directive
class PointerTo(CustomDirective):
    """The type of a pointer, whose storage class is an attribute, too."""

    storage: AttributeVariable
    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        type = parser.parse_type()
        if not isinstance(type, PointerType):
            parser.raise_error(f"expected a pointer, got {type}")
        self.type.set(state, (type,))
        self.storage.set(state, ENUMERANTS["storage_class"](type.storage.data))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.type.print(printer, state, op)


class Access(SpirvOp):
    """`spirv.Load "Input" %p ["Aligned", 4] : i32`, or a store.

    A block write stores vectors through a pointer to a component.
    """

    pointer = operand_def(base(PointerType))
    object = opt_operand_def()
    memory_access = opt_prop_def(enumerants("memory_access"))
    alignment = opt_prop_def(base(IntegerAttr))
    result = opt_result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        storage = StringAttr(parser.parse_str_literal())
        given = [parser.parse_unresolved_operand()]
        if is_store := parser.parse_optional_punctuation(",") is not None:
            given.append(parser.parse_unresolved_operand())
        properties = _parse_access(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        pointee: Attribute = type
        if cls.name.endswith("BlockWrite") and is_vector(type):
            pointee = type.element_type
        types = [PointerType(pointee, storage), type]
        return cls.create(
            operands=[*map(parser.resolve_operand, given, types)],
            result_types=() if is_store else (type,),
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        assert isinstance(self.pointer.type, PointerType), self
        printer.print_string(f' "{self.pointer.type.storage.data}" ')
        printer.print_list(self.operands, printer.print_operand)
        if self.memory_access is not None:
            aligned = self.alignment
            number = "" if aligned is None else f", {aligned.value.data}"
            printer.print_string(f' ["{self.memory_access.data}"{number}]')
        accessed = self.result if self.object is None else self.object
        assert accessed is not None, self
        _print_types(printer, self, [accessed.type])


def _parse_access(parser: Parser) -> dict[str, Attribute]:
    if parser.parse_optional_punctuation("[") is None:
        return {}
    access = ENUMERANTS["memory_access"]
    found: dict[str, Attribute] = {"memory_access": access(parser.parse_str_literal())}
    if parser.parse_optional_punctuation(",") is not None:
        found["alignment"] = IntegerAttr(parser.parse_integer(), i32)
    parser.parse_punctuation("]")
    return found


@irdl_custom_directive
class Way(CustomDirective):
    """A block, and what is passed to it: `^a(%x : f32)`."""

    target: SuccessorVariable
    arguments: VariadicOperandVariable
    types: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.target.parse(parser, state)
        if parser.parse_optional_punctuation("(") is None:
            self.arguments.set_empty(state)
            self.types.set_empty(state)
            return
        self.arguments.parse(parser, state)
        parser.parse_punctuation(":")
        self.types.parse(parser, state)
        parser.parse_punctuation(")")

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_block_name(self.target.get(op))
        if arguments := self.arguments.get(op):
            with printer.in_parens():
                printer.print_list(arguments, printer.print_operand)
                printer.print_string(" : ")
                printer.print_list(self.types.get(op), printer.print_attribute)


@irdl_custom_directive
class AnInteger(CustomDirective):
    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        type = parser.parse_type()
        if not is_integer(type):
            parser.raise_error(f"expected an integer, got {type}")
        self.type.set(state, (type,))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.type.print(printer, state, op)


class Structured(SpirvOp):
    """`spirv.mlir.loop control(Unroll) -> f32 {...}`, or a selection."""

    loop_control = opt_prop_def(enumerants("loop_control"))
    selection_control = opt_prop_def(enumerants("selection_control"))
    results_ = var_result_def()
    body = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        chosen, types = "None", list[Attribute]()
        if parser.parse_optional_keyword("control") is not None:
            with parser.in_parens():
                chosen = parse_enumerants(parser)
        if parser.parse_optional_punctuation("->") is not None:
            types = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_type
            )
        kind = f"{cls.name.split('.')[-1]}_control"
        return cls.create(
            result_types=types,
            properties={kind: ENUMERANTS[kind](chosen)},
            regions=[parser.parse_region()],
        )

    def print(self, printer: Printer) -> None:
        control = self.loop_control or self.selection_control
        if control is not None and control.data != "None":
            printer.print_string(f" control({control.data})")
        if self.results:
            printer.print_string(" -> ")
            printer.print_list(self.result_types, printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


class Func(SpirvOp):
    """`spirv.func @f(%x: f32) -> f32 "None" {...}`."""

    sym_name = prop_def(base(StringAttr))
    function_type = prop_def(base(FunctionType))
    function_control = prop_def(enumerants("function_control"))
    linkage_attributes = opt_prop_def()
    body = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_argument
        )
        outputs: list[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            outputs.append(parser.parse_type())
        control = parser.parse_str_literal()
        given = parser.parse_optional_attr_dict_with_keyword()
        inputs = [each.type for each in arguments]
        return cls.create(
            properties={
                "sym_name": name,
                "function_type": FunctionType.from_lists(inputs, outputs),
                "function_control": ENUMERANTS["function_control"](control),
            },
            attributes={} if given is None else given.data,
            regions=[parser.parse_region(arguments)],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            arguments = self.body.blocks[0].args
            printer.print_list(arguments, printer.print_block_argument)
        for type in self.function_type.outputs:
            printer.print_string(" -> ")
            printer.print_attribute(type)
        printer.print_string(f' "{self.function_control.data}"')
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


class SpirvSpecConstant(SpirvOp):
    """`spirv.SpecConstant @n spec_id(0) = 4 : i32`."""

    sym_name = prop_def(base(StringAttr))
    default_value = prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        attributes: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("spec_id") is not None:
            with parser.in_parens():
                attributes["spec_id"] = IntegerAttr(parser.parse_integer(), i32)
        parser.parse_punctuation("=")
        value = parser.parse_attribute()
        properties = {"sym_name": name, "default_value": value}
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if isa(number := self.attributes.get("spec_id"), IntegerAttr):
            printer.print_string(f" spec_id({number.value.data})")
        printer.print_string(" = ")
        printer.print_attribute(self.default_value)


class SpecOperation(SpirvOp):
    """`spirv.SpecConstantOperation wraps "spirv.IMul"(%a, %a) : (i32, i32) -> i32`."""

    result = result_def()
    body = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("wraps")
        inner = parser.parse_operation()
        end = parser.ctx.get_op("spirv.mlir.yield").create(operands=inner.results)
        return cls.create(
            result_types=inner.result_types, regions=[Region(Block([inner, end]))]
        )

    def print(self, printer: Printer) -> None:
        inner = self.body.block.first_op
        assert inner is not None, self
        printer.print_string(f' wraps "{inner.name}"')
        printer.print_op_with_default_format(inner)


class SpirvConstant(SpirvOp):
    """`spirv.Constant 4 : i32`."""

    value = prop_def()
    result = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_attribute()
        if isinstance(value, TypedAttribute):
            type = value.get_type()
        else:
            parser.parse_punctuation(":")
            type = parser.parse_type()
        return cls.create(result_types=[type], properties={"value": value})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        if not isinstance(self.value, TypedAttribute):
            printer.print_string(" : ")
            printer.print_attribute(self.result.type)
