"""Operations of upstream MLIR's `spirv` dialect whose text is not declarative."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
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
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Region, SSAValue, TypedAttribute
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
    traits_def,
    var_operand_def,
    var_result_def,
    var_successor_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.hints import isa

from coopc.dialects.narrow import is_integer, is_vector
from coopc.dialects.spirv.types import (
    ENUMERANTS,
    ArrayType,
    CooperativeMatrixType,
    PointerType,
    RuntimeArrayType,
    StructType,
    enumerants,
    parse_enumerants,
)


class SpirvOp(IRDLOperation):
    """Any operation of the dialect."""

    irdl_options = (ParsePropInAttrDict(),)

    def given(self, name: str) -> Attribute | None:
        """An attribute, which upstream prints as a property."""
        return (self.attributes | self.properties).get(name)


class Extract(SpirvOp):
    """`spirv.CompositeExtract %v[1 : i32] : vector<4xf32>`."""

    composite = operand_def()
    indices = prop_def(ArrayAttr[IntegerAttr])
    result = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        composite = parser.parse_unresolved_operand()
        indices = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = found = parser.parse_type()
        if not isa(indices, ArrayAttr[IntegerAttr]):
            parser.raise_error("expected an array of indices")
        for index in indices:
            if (part := _part(found, index.value.data)) is None:
                parser.raise_error(
                    f"expected a composite with a part {index.value.data}"
                )
            found = part
        return cls.create(
            operands=[parser.resolve_operand(composite, type)],
            result_types=[found],
            properties={"indices": indices},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.composite)
        printer.print_attribute(self.indices)
        _print_types(printer, self, [self.composite.type])


def _part(type: Attribute, index: int) -> Attribute | None:
    """The type of a part of a composite, if it has it."""
    match type:
        case StructType() if index < len(type.members):
            return type.members.data[index]
        case ArrayType() | RuntimeArrayType() | CooperativeMatrixType():
            return type.element
        case _:
            return type.element_type if is_vector(type) else None


def _print_types(
    printer: Printer, op: SpirvOp, types: Sequence[Attribute], *names: str
) -> None:
    """Print the end of an operation: attributes, but for some names, and types."""
    printer.print_op_attributes(op.attributes, reserved_attr_names=names)
    printer.print_string(" : ")
    printer.print_list(types, printer.print_attribute)


class Access(SpirvOp):
    """`spirv.Load "Input" %p ["Aligned", 4] : i32`, or a store."""

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
        types = [PointerType(type, storage), type]
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
        _print_types(printer, self, [self.pointer.type.pointee])


def _parse_access(parser: Parser) -> dict[str, Attribute]:
    if parser.parse_optional_punctuation("[") is None:
        return {}
    access = ENUMERANTS["memory_access"]
    found: dict[str, Attribute] = {"memory_access": access(parser.parse_str_literal())}
    if parser.parse_optional_punctuation(",") is not None:
        found["alignment"] = IntegerAttr(parser.parse_integer(), i32)
    parser.parse_punctuation("]")
    return found


class Variable(SpirvOp):
    """`spirv.Variable init(%x) : !spirv.ptr<f32, Function>`."""

    initializer = opt_operand_def()
    storage_class = prop_def(enumerants("storage_class"))
    result = result_def(base(PointerType))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        given: list[UnresolvedOperand] = []
        if parser.parse_optional_keyword("init") is not None:
            with parser.in_parens():
                given.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not isinstance(type, PointerType):
            parser.raise_error(f"expected a pointer, got {type}")
        storage = ENUMERANTS["storage_class"](type.storage.data)
        return cls.create(
            operands=[parser.resolve_operand(each, type.pointee) for each in given],
            result_types=[type],
            properties={"storage_class": storage},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.initializer is not None:
            printer.print_string(" init(")
            printer.print_operand(self.initializer)
            printer.print_string(")")
        _print_types(printer, self, [self.result.type])


class Conditional(SpirvOp):
    """`spirv.BranchConditional %c [3, 4], ^a(%x : f32), ^b`."""

    arguments = var_operand_def()
    operandSegmentSizes = opt_prop_def()
    branch_weights = opt_prop_def(ArrayAttr[IntegerAttr])
    targets = var_successor_def()
    traits = traits_def(IsTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {}
        weights = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_integer
        )
        if weights is not None:
            numbers = [IntegerAttr(weight, i32) for weight in weights]
            properties["branch_weights"] = ArrayAttr(numbers)
        ways: list[tuple[Block, Sequence[SSAValue]]] = []
        for _ in range(2):
            parser.parse_punctuation(",")
            ways.append(_parse_way(parser))
        sizes = [1, *(len(given) for _, given in ways)]
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
        return cls.create(
            operands=[
                parser.resolve_operand(condition, i1),
                *(value for _, given in ways for value in given),
            ],
            successors=[block for block, _ in ways],
            properties=properties,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        if self.branch_weights is not None:
            weights = [str(each.value.data) for each in self.branch_weights]
            printer.print_string(f" [{', '.join(weights)}]")
        rest = iter(self.operands[1:])
        _, *sizes = _sizes(self.operandSegmentSizes)
        for block, size in zip(self.successors, sizes, strict=True):
            printer.print_string(", ")
            _print_way(printer, block, list(islice(rest, size)))


class Switch(SpirvOp):
    """`spirv.Switch %i : i32, [default: ^a, 1: ^b(%x : f32)]`."""

    arguments = var_operand_def()
    operandSegmentSizes = opt_prop_def()
    case_operand_segments = opt_prop_def()
    literals = opt_prop_def(base(DenseIntOrFPElementsAttr))
    targets = var_successor_def()
    traits = traits_def(IsTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unresolved = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not is_integer(type):
            parser.raise_error(f"expected an integer, got {type}")
        selector = parser.resolve_operand(unresolved, type)
        parser.parse_punctuation(",")

        def case() -> tuple[int | None, tuple[Block, Sequence[SSAValue]]]:
            is_default = parser.parse_optional_keyword("default") is not None
            number = None if is_default else parser.parse_integer()
            parser.parse_punctuation(":")
            return number, _parse_way(parser)

        found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, case)
        literals = [number for number, _ in found if number is not None]
        default, *sizes = [len(given) for _, (_, given) in found]
        segments = [1, default, sum(sizes)]
        properties: dict[str, Attribute] = {
            "operandSegmentSizes": DenseArrayBase.from_list(i32, segments),
            "case_operand_segments": DenseArrayBase.from_list(i32, sizes),
        }
        if literals:
            shaped = VectorType(type, [len(literals)])
            dense = DenseIntOrFPElementsAttr.from_list(shaped, literals)
            properties["literals"] = dense
        return cls.create(
            operands=[selector, *(x for _, (_, given) in found for x in given)],
            successors=[block for _, (block, _) in found],
            properties=properties,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)
        printer.print_string(", [")
        rest = iter(self.operands[1:])
        sizes = [
            _sizes(self.operandSegmentSizes)[1],
            *_sizes(self.case_operand_segments),
        ]
        numbers = () if self.literals is None else self.literals.get_values()
        names = ["default", *map(str, numbers)]
        ways = list(zip(names, self.successors, sizes, strict=True))
        with printer.indented():
            for at, (name, block, size) in enumerate(ways):
                printer.print_string(",\n" if at else "\n")
                printer.print_string(f"{name}: ")
                _print_way(printer, block, list(islice(rest, size)))
        printer.print_string("\n]")


def _sizes(attribute: Attribute | None) -> list[int]:
    assert isa(attribute, DenseArrayBase[IntegerType]), attribute
    return list(attribute.get_values())


def _parse_way(parser: Parser) -> tuple[Block, Sequence[SSAValue]]:
    """A block, and what is passed to it."""
    block = parser.parse_successor()
    if parser.parse_optional_punctuation("(") is None:
        return block, ()
    given = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return block, parser.resolve_operands(given, types, parser.pos)


def _print_way(printer: Printer, block: Block, given: Sequence[SSAValue]) -> None:
    printer.print_block_name(block)
    if given:
        with printer.in_parens():
            printer.print_list(given, printer.print_operand)
            printer.print_string(" : ")
            printer.print_list([x.type for x in given], printer.print_attribute)


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


class Module(SpirvOp):
    """`spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {...}`."""

    sym_name = opt_prop_def(base(StringAttr))
    addressing_model = prop_def(enumerants("addressing_model"))
    memory_model = prop_def(enumerants("memory_model"))
    vce_triple = opt_prop_def()
    body = region_def()
    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        if (name := parser.parse_optional_symbol_name()) is not None:
            properties["sym_name"] = name
        for model in ("addressing_model", "memory_model"):
            properties[model] = ENUMERANTS[model](parser.parse_identifier())
        if parser.parse_optional_keyword("requires"):
            properties["vce_triple"] = parser.parse_attribute()
        given = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            attributes={} if given is None else given.data,
            properties=properties,
            regions=[parser.parse_region()],
        )

    def print(self, printer: Printer) -> None:
        if self.sym_name is not None:
            printer.print_string(" ")
            printer.print_symbol_name(self.sym_name.data)
        models = f"{self.addressing_model.data} {self.memory_model.data}"
        printer.print_string(f" {models}")
        if self.vce_triple is not None:
            printer.print_string(" requires ")
            printer.print_attribute(self.vce_triple)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


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


class GlobalVariable(SpirvOp):
    """`spirv.GlobalVariable @m bind(0, 1) {aliased} : !spirv.ptr<...>`."""

    sym_name = prop_def(base(StringAttr))
    type = prop_def(base(PointerType))
    initializer = opt_prop_def(base(SymbolRefAttr))
    descriptor_set = opt_prop_def(base(IntegerAttr))
    binding = opt_prop_def(base(IntegerAttr))
    built_in = opt_prop_def(base(StringAttr))
    linkage_attributes = opt_prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        if parser.parse_optional_keyword("initializer") is not None:
            with parser.in_parens():
                properties["initializer"] = SymbolRefAttr(parser.parse_symbol_name())
        if parser.parse_optional_keyword("bind") is not None:
            numbers = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_integer
            )
            for key, number in zip(("descriptor_set", "binding"), numbers, strict=True):
                properties[key] = IntegerAttr(number, i32)
        if parser.parse_optional_keyword("built_in") is not None:
            with parser.in_parens():
                properties["built_in"] = StringAttr(parser.parse_str_literal())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        properties["type"] = parser.parse_type()
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.initializer is not None:
            printer.print_string(f" initializer({self.initializer})")
        if self.descriptor_set is not None and self.binding is not None:
            places = self.descriptor_set.value.data, self.binding.value.data
            printer.print_string(f" bind({places[0]}, {places[1]})")
        if self.built_in is not None:
            printer.print_string(f' built_in("{self.built_in.data}")')
        _print_types(printer, self, [self.type])


class SpecConstant(SpirvOp):
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


class Composite(SpirvOp):
    """`spirv.SpecConstantComposite @v (@a, @b) : vector<2xi32>`."""

    sym_name = prop_def(base(StringAttr))
    type = prop_def()
    constituents = prop_def(ArrayAttr[SymbolRefAttr])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        parts = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_symbol_name
        )
        parser.parse_punctuation(":")
        symbols = ArrayAttr([SymbolRefAttr(part) for part in parts])
        return cls.create(
            properties={
                "sym_name": name,
                "type": parser.parse_type(),
                "constituents": symbols,
            }
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.constituents, printer.print_attribute)
        _print_types(printer, self, [self.type])


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


class Constant(SpirvOp):
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


class EntryPoint(SpirvOp):
    """`spirv.EntryPoint "GLCompute" @k, @m`."""

    execution_model = prop_def(enumerants("execution_model"))
    fn = prop_def(base(SymbolRefAttr))
    interface = prop_def(ArrayAttr[SymbolRefAttr])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        model = parser.parse_str_literal()
        fn, *interface = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_symbol_name
        )
        symbols = ArrayAttr([SymbolRefAttr(name) for name in interface])
        return cls.create(
            properties={
                "execution_model": ENUMERANTS["execution_model"](model),
                "fn": SymbolRefAttr(fn),
                "interface": symbols,
            }
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.execution_model.data}" ')
        printer.print_list([self.fn, *self.interface], printer.print_attribute)


class ExecutionMode(SpirvOp):
    """`spirv.ExecutionMode @k "LocalSize", 8, 1, 1`."""

    fn = prop_def(base(SymbolRefAttr))
    execution_mode = prop_def(enumerants("execution_mode"))
    values = prop_def(ArrayAttr[IntegerAttr])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        fn = SymbolRefAttr(parser.parse_symbol_name())
        mode = ENUMERANTS["execution_mode"](parser.parse_str_literal())
        values: list[IntegerAttr] = []
        while parser.parse_optional_punctuation(",") is not None:
            values.append(IntegerAttr(parser.parse_integer(), i32))
        properties = {"fn": fn, "execution_mode": mode, "values": ArrayAttr(values)}
        return cls.create(properties=properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.fn)
        values = [str(each.value.data) for each in self.values]
        mode = f'"{self.execution_mode.data}"'
        printer.print_string(f" {', '.join([mode, *values])}")
