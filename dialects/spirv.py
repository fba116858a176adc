"""Upstream MLIR's `spirv` dialect, as tools of LLVM 22 print it.

xDSL has none.  `_FORMS` lists the operations by the form of their text, which is
upstream's own or the generic one; what an operation takes is verified by `mlir-opt`.
`convert-spirv-to-coopmatrix` reads them, and `-t mlir-spirv` prints such text
(`coopc.spirv.mlir`), in generic form.

```mlir
%p = "test.op"() : () -> !spirv.ptr<f32, StorageBuffer>
%x = spirv.Load "StorageBuffer" %p : f32
%y = spirv.FAdd %x, %x : f32
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnregisteredAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import (
    Attribute,
    Block,
    Data,
    Dialect,
    ParametrizedAttribute,
    Region,
    SSAValue,
    TypeAttribute,
    TypedAttribute,
)
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    RangeOf,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_result_def,
    var_successor_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.hints import isa

from coopc.dialects.constraints import Inferred
from coopc.dialects.narrow import is_vector
from coopc.spirv.mlir import ATTRIBUTES

_OPAQUE = ("vce", "target_env", "resource_limits", "entry_point_abi")
"""Attributes that are kept as text."""


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """`!spirv.ptr<f32, StorageBuffer>`."""

    name = "spirv.ptr"

    pointee: Attribute
    storage: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            parser.parse_punctuation(",")
            return [pointee, StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee)
            printer.print_string(f", {self.storage.data}")


@irdl_attr_definition
class ArrayType(ParametrizedAttribute, TypeAttribute):
    """`!spirv.array<4 x f32, stride=4>`; a stride of 0 is none."""

    name = "spirv.array"

    count: IntAttr
    element: Attribute
    stride: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            count = parser.parse_integer()
            parser.parse_keyword("x")
            return [IntAttr(count), *_element(parser)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.count.data} x ")
            _print_element(printer, self.element, self.stride)


@irdl_attr_definition
class RuntimeArrayType(ParametrizedAttribute, TypeAttribute):
    """`!spirv.rtarray<f32, stride=4>`."""

    name = "spirv.rtarray"

    element: Attribute
    stride: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return _element(parser)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_element(printer, self.element, self.stride)


@irdl_attr_definition
class StructType(ParametrizedAttribute, TypeAttribute):
    """`!spirv.struct<(i32 [0], f32 [4]), Block>`; a member has its decorations."""

    name = "spirv.struct"

    members: ArrayAttr[Attribute]
    notes: ArrayAttr[StringAttr]
    """Of each member, without brackets."""
    ending: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        members: list[Attribute] = []
        notes: list[StringAttr] = []

        def note() -> str:
            found = parser.parse_optional_integer()
            return parser.parse_identifier() if found is None else str(found)

        def member() -> None:
            members.append(parser.parse_type())
            found = parser.parse_optional_comma_separated_list(
                parser.Delimiter.SQUARE, note
            )
            notes.append(StringAttr(", ".join(found or ())))

        with parser.in_angle_brackets():
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, member)
            comma = parser.parse_optional_punctuation(",")
            ending = "" if comma is None else parser.parse_identifier()
        return [ArrayAttr(members), ArrayAttr(notes), StringAttr(ending)]

    def print_parameters(self, printer: Printer) -> None:
        def member(pair: tuple[Attribute, StringAttr]) -> None:
            printer.print_attribute(pair[0])
            if pair[1].data:
                printer.print_string(f" [{pair[1].data}]")

        with printer.in_angle_brackets():
            with printer.in_parens():
                printer.print_list(
                    list(zip(self.members, self.notes, strict=True)), member
                )
            if self.ending.data:
                printer.print_string(f", {self.ending.data}")


@irdl_attr_definition
class CooperativeMatrixType(ParametrizedAttribute, TypeAttribute):
    """`!spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>`."""

    name = "spirv.coopmatrix"

    rows: IntAttr
    cols: IntAttr
    element: Attribute
    scope: StringAttr
    use: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            sizes: list[Attribute] = []
            for _ in range(2):
                sizes.append(IntAttr(parser.parse_shape_dimension(allow_dynamic=False)))
                parser.parse_shape_delimiter()
            found = [*sizes, parser.parse_type()]
            for _ in ("scope", "use"):
                parser.parse_punctuation(",")
                found.append(StringAttr(parser.parse_identifier()))
            return found

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows.data}x{self.cols.data}x")
            printer.print_attribute(self.element)
            printer.print_string(f", {self.scope.data}, {self.use.data}")


def _element(parser: AttrParser) -> list[Attribute]:
    """The element of an array, and its stride."""
    element, stride = parser.parse_type(), 0
    if parser.parse_optional_punctuation(",") is not None:
        parser.parse_keyword("stride")
        parser.parse_punctuation("=")
        stride = parser.parse_integer()
    return [element, IntAttr(stride)]


def _print_element(printer: Printer, element: Attribute, stride: IntAttr) -> None:
    printer.print_attribute(element)
    if stride.data:
        printer.print_string(f", stride={stride.data}")


class Enumerants(Data[str]):
    """An enumerant, or several: `<AcquireRelease|WorkgroupMemory>`."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            return _parse_enumerants(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


def _parse_enumerants(parser: AttrParser) -> str:
    names = [parser.parse_identifier()]
    while parser.parse_optional_punctuation("|") is not None:
        names.append(parser.parse_identifier())
    return "|".join(names)


def _attribute(name: str) -> type[Attribute]:
    """An attribute that is kept as text."""
    kept = type(name, (UnregisteredAttr,), {"name": f"spirv.{name}"})
    return irdl_attr_definition(init=False)(kept)


def _enumeration(name: str) -> type[Enumerants]:
    return irdl_attr_definition(type(name, (Enumerants,), {"name": f"spirv.{name}"}))


_ENUMERANTS = {name: _enumeration(name) for name in ATTRIBUTES}


def _enumerants(name: str) -> BaseAttr[Enumerants]:
    return BaseAttr(_ENUMERANTS[name])


# --- forms of operations -------------------------------------------------------------

_T = VarConstraint("T", AnyAttr())
_U = VarConstraint("U", AnyAttr())
_P = VarConstraint("P", base(PointerType))
_POINTEE = Inferred("P", lambda pointer: pointer.pointee)


def _truth(type: Attribute) -> Attribute:
    return VectorType(i1, type.get_shape()) if is_vector(type) else i1


def _component(type: Attribute) -> Attribute:
    assert is_vector(type), type
    return type.element_type


def _member(type: Attribute) -> Attribute:
    assert isinstance(type, StructType), type
    return type.members.data[0]


class SpirvOp(IRDLOperation):
    """Any operation of the dialect."""

    irdl_options = (ParsePropInAttrDict(),)

    def given(self, name: str) -> Attribute | None:
        """An attribute, which upstream prints as a property."""
        return (self.attributes | self.properties).get(name)


class _Alike(SpirvOp):
    """`spirv.FAdd %a, %b : f32`."""

    arguments = var_operand_def(RangeOf(_T))
    result = result_def(_T)
    assembly_format = "$arguments attr-dict `:` type($result)"


class _Compared(SpirvOp):
    """`spirv.SLessThan %a, %b : i32`."""

    a = operand_def(_T)
    b = operand_def(_T)
    result = result_def(Inferred("T", _truth))
    assembly_format = "$a `,` $b attr-dict `:` type($a)"


class _Tested(SpirvOp):
    """`spirv.IsNan %a : f32`."""

    value = operand_def(_T)
    result = result_def(Inferred("T", _truth))
    assembly_format = "$value attr-dict `:` type($value)"


class _Cast(SpirvOp):
    """`spirv.Bitcast %a : f32 to i32`."""

    value = operand_def()
    result = result_def()
    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"


class _Function(SpirvOp):
    """`spirv.GL.Length %a : vector<4xf32> -> f32`."""

    arguments = var_operand_def()
    result = result_def()
    assembly_format = "$arguments attr-dict `:` type($arguments) `->` type($result)"


class _EachTyped(SpirvOp):
    """`spirv.GL.FMix %a : f32, %b : f32, %c : f32 -> f32`."""

    a = operand_def()
    b = operand_def()
    c = opt_operand_def()
    result = result_def()
    assembly_format = (
        "$a `:` type($a) `,` $b `:` type($b) (`,` $c^ `:` type($c))? attr-dict"
        " `->` type($result)"
    )


class _Uneven(SpirvOp):
    """`spirv.ShiftLeftLogical %a, %b : i32, i8`."""

    a = operand_def(_T)
    b = operand_def()
    result = result_def(_T)
    assembly_format = "$a `,` $b attr-dict `:` type($a) `,` type($b)"


class _Composed(SpirvOp):
    """`spirv.CompositeConstruct %a, %b : (f32, f32) -> vector<2xf32>`."""

    arguments = var_operand_def()
    result = result_def()
    assembly_format = (
        "$arguments attr-dict `:` `(` type($arguments) `)` `->` type($result)"
    )


class _Dot(SpirvOp):
    """`spirv.Dot %a, %b : vector<4xf32> -> f32`."""

    a = operand_def(_T)
    b = operand_def(_T)
    result = result_def()
    assembly_format = "$a `,` $b attr-dict `:` type($a) `->` type($result)"


class _Extended(SpirvOp):
    """`spirv.IAddCarry %a, %b : !spirv.struct<(i32, i32)>`."""

    a = operand_def(Inferred("T", _member))
    b = operand_def(Inferred("T", _member))
    result = result_def(_T)
    assembly_format = "$a `,` $b attr-dict `:` type($result)"


class _Bits(SpirvOp):
    """`spirv.BitFieldSExtract %a, %offset, %count : i32, i32, i32`."""

    value = operand_def(_T)
    offset = operand_def()
    count = operand_def()
    result = result_def(_T)
    assembly_format = (
        "$value `,` $offset `,` $count attr-dict"
        " `:` type($value) `,` type($offset) `,` type($count)"
    )


class _BitsInserted(SpirvOp):
    value = operand_def(_T)
    inserted = operand_def(_T)
    offset = operand_def()
    count = operand_def()
    result = result_def(_T)
    assembly_format = (
        "$value `,` $inserted `,` $offset `,` $count attr-dict"
        " `:` type($value) `,` type($offset) `,` type($count)"
    )


class _Select(SpirvOp):
    condition = operand_def()
    yes = operand_def(_T)
    no = operand_def(_T)
    result = result_def(_T)
    assembly_format = (
        "$condition `,` $yes `,` $no attr-dict `:` type($condition) `,` type($yes)"
    )


class _Typed(SpirvOp):
    """`spirv.Undef : f32`."""

    result = result_def()
    assembly_format = "attr-dict `:` type($result)"


class _Length(SpirvOp):
    cooperative_matrix_type = prop_def()
    result = result_def(i32)
    assembly_format = "attr-dict `:` $cooperative_matrix_type"


# --- memory


class _Atomic(SpirvOp):
    """`spirv.AtomicIAdd <Device> <None> %p, %x : !spirv.ptr<i32, StorageBuffer>`."""

    memory_scope = prop_def(_enumerants("scope"))
    semantics = prop_def(_enumerants("memory_semantics"))
    pointer = operand_def(_P)
    value = opt_operand_def(_POINTEE)
    result = result_def(_POINTEE)
    assembly_format = (
        "$memory_scope $semantics $pointer (`,` $value^)? attr-dict `:` type($pointer)"
    )


class _AtomicCompare(SpirvOp):
    memory_scope = prop_def(_enumerants("scope"))
    equal_semantics = prop_def(_enumerants("memory_semantics"))
    unequal_semantics = prop_def(_enumerants("memory_semantics"))
    pointer = operand_def(_P)
    value = operand_def(_POINTEE)
    comparator = operand_def(_POINTEE)
    result = result_def(_POINTEE)
    assembly_format = (
        "$memory_scope $equal_semantics $unequal_semantics $pointer `,` $value `,`"
        " $comparator attr-dict `:` type($pointer)"
    )


class _Chain(SpirvOp):
    """`spirv.AccessChain %p[%i] : !spirv.ptr<...>, i32 -> !spirv.ptr<...>`."""

    pointer = operand_def()
    indices = var_operand_def()
    result = result_def()
    assembly_format = (
        "$pointer `[` $indices `]` attr-dict"
        " `:` type($pointer) `,` type($indices) `->` type($result)"
    )


class _MatrixLoad(SpirvOp):
    pointer = operand_def()
    stride = operand_def()
    matrix_layout = prop_def(_enumerants("coop_matrix_layout_khr"))
    memory_operand = opt_prop_def(_enumerants("memory_access"))
    alignment = opt_prop_def(IntegerAttr.constr(i32))
    result = result_def()
    assembly_format = (
        "$pointer `,` $stride `,` $matrix_layout (`,` $memory_operand^)?"
        " (`,` $alignment^)? attr-dict"
        " `:` type($pointer) `,` type($stride) `->` type($result)"
    )


class _MatrixStore(SpirvOp):
    pointer = operand_def()
    object = operand_def()
    stride = operand_def()
    matrix_layout = prop_def(_enumerants("coop_matrix_layout_khr"))
    memory_operand = opt_prop_def(_enumerants("memory_access"))
    alignment = opt_prop_def(IntegerAttr.constr(i32))
    assembly_format = (
        "$pointer `,` $object `,` $stride `,` $matrix_layout (`,` $memory_operand^)?"
        " (`,` $alignment^)? attr-dict"
        " `:` type($pointer) `,` type($object) `,` type($stride)"
    )


class _MatrixMultiply(SpirvOp):
    a = operand_def()
    b = operand_def()
    c = operand_def(_T)
    matrix_operands = opt_prop_def(_enumerants("cooperative_matrix_operands_khr"))
    result = result_def(_T)
    assembly_format = (
        "$a `,` $b `,` $c (`,` $matrix_operands^)? attr-dict"
        " `:` type($a) `,` type($b) `->` type($c)"
    )


# --- subgroups and barriers


class _Group(SpirvOp):
    """`spirv.GroupFAdd <Subgroup> <Reduce> %x : f32`."""

    execution_scope = prop_def(_enumerants("scope"))
    group_operation = prop_def(_enumerants("group_operation"))
    value = operand_def(_T)
    result = result_def(_T)
    assembly_format = (
        "$execution_scope $group_operation $value attr-dict `:` type($value)"
    )


class _GroupNonUniform(SpirvOp):
    """`spirv.GroupNonUniformFAdd <Subgroup> <Reduce> %x : f32 -> f32`."""

    execution_scope = prop_def(_enumerants("scope"))
    group_operation = prop_def(_enumerants("group_operation"))
    value = operand_def()
    cluster_size = opt_operand_def()
    result = result_def()
    assembly_format = (
        "$execution_scope $group_operation $value"
        " (`cluster_size` `(` $cluster_size^ `)`)? attr-dict"
        " `:` type($value) (`,` type($cluster_size)^)? `->` type($result)"
    )


class _Shuffle(SpirvOp):
    """`spirv.GroupNonUniformShuffle <Subgroup> %x, %lane : f32, i32`."""

    execution_scope = prop_def(_enumerants("scope"))
    value = operand_def(_T)
    lane = operand_def()
    result = result_def(_T)
    assembly_format = (
        "$execution_scope $value `,` $lane attr-dict `:` type($value) `,` type($lane)"
    )


class _Ballot(SpirvOp):
    execution_scope = prop_def(_enumerants("scope"))
    predicate = opt_operand_def(i1)
    result = result_def()
    assembly_format = "$execution_scope ($predicate^)? attr-dict `:` type($result)"


class _BallotFind(SpirvOp):
    execution_scope = prop_def(_enumerants("scope"))
    value = operand_def()
    result = result_def()
    assembly_format = (
        "$execution_scope $value attr-dict `:` type($value) `,` type($result)"
    )


class _ControlBarrier(SpirvOp):
    execution_scope = prop_def(_enumerants("scope"))
    memory_scope = prop_def(_enumerants("scope"))
    memory_semantics = prop_def(_enumerants("memory_semantics"))
    assembly_format = (
        "$execution_scope `,` $memory_scope `,` $memory_semantics attr-dict"
    )


class _SplitBarrier(SpirvOp):
    execution_scope = prop_def(_enumerants("scope"))
    memory_scope = prop_def(_enumerants("scope"))
    memory_semantics = prop_def(_enumerants("memory_semantics"))
    assembly_format = "$execution_scope $memory_scope $memory_semantics attr-dict"


class _MemoryBarrier(SpirvOp):
    memory_scope = prop_def(_enumerants("scope"))
    memory_semantics = prop_def(_enumerants("memory_semantics"))
    assembly_format = "$memory_scope `,` $memory_semantics attr-dict"


# --- parts of vectors and other composites


class _Shuffled(SpirvOp):
    components = prop_def(base(ArrayAttr))
    a = operand_def()
    b = operand_def()
    result = result_def()
    assembly_format = (
        "$components $a `,` $b attr-dict `:` type($a) `,` type($b) `->` type($result)"
    )


class _ExtractAt(SpirvOp):
    vector = operand_def(_T)
    index = operand_def()
    result = result_def(Inferred("T", _component))
    assembly_format = (
        "$vector `[` $index `]` attr-dict `:` type($vector) `,` type($index)"
    )


class _InsertAt(SpirvOp):
    vector = operand_def(_T)
    component = operand_def(Inferred("T", _component))
    index = operand_def()
    result = result_def(_T)
    assembly_format = (
        "$component `,` $vector `[` $index `]` attr-dict"
        " `:` type($vector) `,` type($index)"
    )


class _Insert(SpirvOp):
    object = operand_def()
    composite = operand_def(_T)
    indices = prop_def(base(ArrayAttr))
    result = result_def(_T)
    assembly_format = (
        "$object `,` $composite `` $indices attr-dict"
        " `:` type($object) `into` type($composite)"
    )


class _Extract(SpirvOp):
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
            found = _part(found, index.value.data)
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


def _part(type: Attribute, index: int) -> Attribute:
    """The type of a part of a composite."""
    match type:
        case StructType():
            return type.members.data[index]
        case ArrayType() | RuntimeArrayType() | CooperativeMatrixType():
            return type.element
        case _:
            return _component(type)


def _print_types(
    printer: Printer, op: SpirvOp, types: Sequence[Attribute], *names: str
) -> None:
    """Print the end of an operation: attributes, but for some names, and types."""
    printer.print_op_attributes(op.attributes, reserved_attr_names=names)
    printer.print_string(" : ")
    printer.print_list(types, printer.print_attribute)


# --- memory


class _Access(SpirvOp):
    """`spirv.Load "Input" %p ["Aligned", 4] : i32`, or a store."""

    pointer = operand_def(base(PointerType))
    object = opt_operand_def()
    memory_access = opt_prop_def(_enumerants("memory_access"))
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
    access = _ENUMERANTS["memory_access"]
    found: dict[str, Attribute] = {"memory_access": access(parser.parse_str_literal())}
    if parser.parse_optional_punctuation(",") is not None:
        found["alignment"] = IntegerAttr(parser.parse_integer(), i32)
    parser.parse_punctuation("]")
    return found


class _Variable(SpirvOp):
    """`spirv.Variable init(%x) : !spirv.ptr<f32, Function>`."""

    initializer = opt_operand_def()
    storage_class = prop_def(_enumerants("storage_class"))
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
        assert isinstance(type, PointerType), type
        storage = _ENUMERANTS["storage_class"](type.storage.data)
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


# --- control flow


class _Branch(SpirvOp):
    target = successor_def()
    arguments = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "$target (`(` $arguments^ `:` type($arguments) `)`)? attr-dict"


class _End(SpirvOp):
    """`spirv.mlir.merge %a, %b : f32, i32`, or a return."""

    arguments = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "($arguments^ `:` type($arguments))? attr-dict"


class _Conditional(SpirvOp):
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


class _Switch(SpirvOp):
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
        assert isinstance(type, IntegerType), type
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


class _Structured(SpirvOp):
    """`spirv.mlir.loop control(Unroll) -> f32 {...}`, or a selection."""

    loop_control = opt_prop_def(_enumerants("loop_control"))
    selection_control = opt_prop_def(_enumerants("selection_control"))
    results_ = var_result_def()
    body = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        chosen, types = "None", list[Attribute]()
        if parser.parse_optional_keyword("control") is not None:
            with parser.in_parens():
                chosen = _parse_enumerants(parser)
        if parser.parse_optional_punctuation("->") is not None:
            types = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_type
            )
        kind = f"{cls.name.split('.')[-1]}_control"
        return cls.create(
            result_types=types,
            properties={kind: _ENUMERANTS[kind](chosen)},
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


class _Call(SpirvOp):
    """`spirv.FunctionCall @f(%a) : (f32) -> f32`."""

    callee = prop_def(base(SymbolRefAttr))
    arguments = var_operand_def()
    result = opt_result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = SymbolRefAttr(parser.parse_symbol_name())
        given = parser.parse_op_args_list()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        at, type = parser.pos, parser.parse_function_type()
        return cls.create(
            operands=parser.resolve_operands(given, type.inputs.data, at),
            result_types=type.outputs.data,
            properties={"callee": callee},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        printer.print_operands(self.operands)
        types = FunctionType.from_lists(self.operand_types, self.result_types)
        _print_types(printer, self, [types])


# --- what stands in a module


class _Module(SpirvOp):
    """`spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {...}`."""

    sym_name = opt_prop_def(base(StringAttr))
    addressing_model = prop_def(_enumerants("addressing_model"))
    memory_model = prop_def(_enumerants("memory_model"))
    vce_triple = opt_prop_def()
    body = region_def()
    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        if (name := parser.parse_optional_symbol_name()) is not None:
            properties["sym_name"] = name
        for model in ("addressing_model", "memory_model"):
            properties[model] = _ENUMERANTS[model](parser.parse_identifier())
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


class _Func(SpirvOp):
    """`spirv.func @f(%x: f32) -> f32 "None" {...}`."""

    sym_name = prop_def(base(StringAttr))
    function_type = prop_def(base(FunctionType))
    function_control = prop_def(_enumerants("function_control"))
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
                "function_control": _ENUMERANTS["function_control"](control),
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


class _GlobalVariable(SpirvOp):
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


class _SpecConstant(SpirvOp):
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


class _Composite(SpirvOp):
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


class _SpecOperation(SpirvOp):
    """`spirv.SpecConstantOperation wraps "spirv.IMul"(%a, %a) : (i32, i32) -> i32`."""

    result = result_def()
    body = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("wraps")
        inner = parser.parse_operation()
        end = OPERATIONS["spirv.mlir.yield"].create(operands=inner.results)
        return cls.create(
            result_types=inner.result_types, regions=[Region(Block([inner, end]))]
        )

    def print(self, printer: Printer) -> None:
        inner = self.body.block.first_op
        assert inner is not None, self
        printer.print_string(f' wraps "{inner.name}"')
        printer.print_op_with_default_format(inner)


class _Reference(SpirvOp):
    """`spirv.mlir.addressof @m : !spirv.ptr<...>`."""

    variable = prop_def(base(SymbolRefAttr))
    result = result_def()
    assembly_format = "$variable attr-dict `:` type($result)"


class _SpecReference(SpirvOp):
    spec_const = prop_def(base(SymbolRefAttr))
    result = result_def()
    assembly_format = "$spec_const attr-dict `:` type($result)"


class _Constant(SpirvOp):
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


class _EntryPoint(SpirvOp):
    """`spirv.EntryPoint "GLCompute" @k, @m`."""

    execution_model = prop_def(_enumerants("execution_model"))
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
                "execution_model": _ENUMERANTS["execution_model"](model),
                "fn": SymbolRefAttr(fn),
                "interface": symbols,
            }
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.execution_model.data}" ')
        printer.print_list([self.fn, *self.interface], printer.print_attribute)


class _ExecutionMode(SpirvOp):
    """`spirv.ExecutionMode @k "LocalSize", 8, 1, 1`."""

    fn = prop_def(base(SymbolRefAttr))
    execution_mode = prop_def(_enumerants("execution_mode"))
    values = prop_def(ArrayAttr[IntegerAttr])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        fn = SymbolRefAttr(parser.parse_symbol_name())
        mode = _ENUMERANTS["execution_mode"](parser.parse_str_literal())
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


# --- the dialect ---------------------------------------------------------------------

_FORMS: dict[type[SpirvOp], str] = {
    _Alike: """
      FAdd FSub FMul FDiv FMod FRem FNegate IAdd ISub IMul SDiv UDiv SMod SRem UMod
      SNegate BitwiseAnd BitwiseOr BitwiseXor Not BitCount BitReverse LogicalAnd
      LogicalOr LogicalNot LogicalEqual LogicalNotEqual
      GL.Acos GL.Acosh GL.Asin GL.Asinh GL.Atan GL.Atanh GL.Ceil GL.Cos GL.Cosh GL.Exp
      GL.Exp2 GL.FAbs GL.FSign GL.Floor GL.Fract GL.InverseSqrt GL.Log GL.Log2
      GL.Normalize GL.Round GL.RoundEven GL.Sin GL.Sinh GL.Sqrt GL.Tan GL.Tanh GL.Cross
      GL.FMax GL.FMin GL.Pow GL.Reflect GL.FClamp GL.Fma GL.FindILsb GL.FindSMsb
      GL.FindUMsb GL.SAbs GL.SSign GL.SClamp GL.UClamp GL.SMax GL.SMin GL.UMax GL.UMin
      CL.acos CL.acosh CL.asin CL.asinh CL.atan CL.atanh CL.ceil CL.cos CL.cosh CL.erf
      CL.exp CL.fabs CL.floor CL.log CL.rint CL.round CL.rsqrt CL.sin CL.sinh CL.sqrt
      CL.tan CL.tanh CL.atan2 CL.fmax CL.fmin CL.pow CL.fma CL.mix CL.s_abs CL.s_max
      CL.s_min CL.u_max CL.u_min
    """,
    _Compared: """
      IEqual INotEqual SGreaterThan SGreaterThanEqual SLessThan SLessThanEqual
      UGreaterThan UGreaterThanEqual ULessThan ULessThanEqual FOrdEqual FOrdGreaterThan
      FOrdGreaterThanEqual FOrdLessThan FOrdLessThanEqual FOrdNotEqual FUnordEqual
      FUnordGreaterThan FUnordGreaterThanEqual FUnordLessThan FUnordLessThanEqual
      FUnordNotEqual Ordered Unordered
    """,
    _Tested: "IsFinite IsInf IsNan",
    _Cast: """
      Bitcast ConvertFToS ConvertFToU ConvertSToF ConvertUToF ConvertPtrToU
      ConvertUToPtr FConvert SConvert UConvert GenericCastToPtr GenericCastToPtrExplicit
      PtrCastToGeneric INTEL.ConvertBF16ToF INTEL.ConvertFToBF16
    """,
    _Function: """
      GL.Distance GL.FrexpStruct GL.Length GL.PackHalf2x16 GL.PackSnorm4x8
      GL.UnpackHalf2x16 GL.UnpackSnorm4x8 INTEL.SubgroupBlockRead
    """,
    _EachTyped: "GL.FMix GL.Ldexp",
    _Uneven: """
      MatrixTimesScalar ShiftLeftLogical ShiftRightArithmetic ShiftRightLogical
    """,
    _Composed: "CompositeConstruct VectorTimesScalar",
    _Dot: "Dot",
    _Extended: "IAddCarry ISubBorrow SMulExtended UMulExtended",
    _Bits: "BitFieldSExtract BitFieldUExtract",
    _BitsInserted: "BitFieldInsert",
    _Select: "Select",
    _Typed: "Undef",
    _Length: "KHR.CooperativeMatrixLength",
    _Atomic: """
      AtomicAnd AtomicExchange AtomicIAdd AtomicIDecrement AtomicIIncrement AtomicISub
      AtomicOr AtomicSMax AtomicSMin AtomicUMax AtomicUMin AtomicXor EXT.AtomicFAdd
    """,
    _AtomicCompare: "AtomicCompareExchange AtomicCompareExchangeWeak",
    _Chain: "AccessChain InBoundsPtrAccessChain PtrAccessChain",
    _MatrixLoad: "KHR.CooperativeMatrixLoad",
    _MatrixStore: "KHR.CooperativeMatrixStore",
    _MatrixMultiply: "KHR.CooperativeMatrixMulAdd",
    _Group: """
      GroupFAdd GroupFMax GroupFMin GroupIAdd GroupSMax GroupSMin GroupUMax GroupUMin
    """,
    _GroupNonUniform: """
      GroupNonUniformBallotBitCount GroupNonUniformBitwiseAnd GroupNonUniformBitwiseOr
      GroupNonUniformBitwiseXor GroupNonUniformFAdd GroupNonUniformFMax
      GroupNonUniformFMin GroupNonUniformFMul GroupNonUniformIAdd GroupNonUniformIMul
      GroupNonUniformLogicalAnd GroupNonUniformLogicalOr GroupNonUniformLogicalXor
      GroupNonUniformSMax GroupNonUniformSMin GroupNonUniformUMax GroupNonUniformUMin
    """,
    _Shuffle: """
      GroupBroadcast GroupNonUniformBroadcast GroupNonUniformShuffle
      GroupNonUniformShuffleDown GroupNonUniformShuffleUp GroupNonUniformShuffleXor
    """,
    _Ballot: "GroupNonUniformBallot GroupNonUniformElect",
    _BallotFind: "GroupNonUniformBallotFindLSB GroupNonUniformBallotFindMSB",
    _ControlBarrier: "ControlBarrier",
    _SplitBarrier: "INTEL.ControlBarrierArrive INTEL.ControlBarrierWait",
    _MemoryBarrier: "MemoryBarrier",
    _Shuffled: "VectorShuffle",
    _ExtractAt: "VectorExtractDynamic",
    _InsertAt: "VectorInsertDynamic",
    _Insert: "CompositeInsert",
    _Extract: "CompositeExtract",
    _Access: "Load Store",
    _Variable: "Variable",
    _Branch: "Branch",
    _End: "Kill Return ReturnValue Unreachable mlir.merge mlir.yield",
    _Conditional: "BranchConditional",
    _Switch: "Switch",
    _Structured: "mlir.loop mlir.selection",
    _Call: "FunctionCall",
    _Module: "module",
    _Func: "func",
    _GlobalVariable: "GlobalVariable",
    _SpecConstant: "SpecConstant",
    _Composite: "SpecConstantComposite",
    _SpecOperation: "SpecConstantOperation",
    _Reference: "mlir.addressof",
    _SpecReference: "mlir.referenceof",
    _Constant: "Constant",
    _EntryPoint: "EntryPoint",
    _ExecutionMode: "ExecutionMode",
}
"""The operations of each form."""


def _operations(form: type[SpirvOp], names: str) -> Iterator[type[SpirvOp]]:
    """The operations of a form, which has one definition."""
    first, *others = (f"spirv.{name}" for name in names.split())
    defined = irdl_op_definition(type(first, (form,), {"name": first}))
    yield defined
    for name in others:
        yield type(name, (defined,), {"name": name})


OPERATIONS = {op.name: op for row in _FORMS.items() for op in _operations(*row)}

Spirv = Dialect(
    "spirv",
    [*OPERATIONS.values()],
    [
        *(PointerType, ArrayType, RuntimeArrayType, StructType),
        CooperativeMatrixType,
        *map(_attribute, _OPAQUE),
        *_ENUMERANTS.values(),
    ],
)
