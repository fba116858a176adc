"""`gpu.subgroup_mma_*`, and kernels of `gpu.func`, as MLIR prints them.

xDSL 0.74 has no matrices, shuffles and reductions of subgroups in `gpu`, and reads its
functions, launches, ids and barriers generically only.  `Gpu` is its dialect with
these; `convert-gpu-mma-to-coopmatrix` reads them.  Importing this module changes xDSL's
classes in place, since whoever has to do with an operation finds it by its class.
"""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

from xdsl.dialects import gpu
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    Data,
    Dialect,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParamAttrConstraint,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coopc.dialects import simt
from coopc.dialects.constraints import Inferred, OfType
from coopc.dialects.in_brackets import InBrackets
from coopc.dialects.narrow import is_integer
from coopc.dialects.shaped_arith import element_of

DIMENSIONS = ("x", "y", "z", *(f"linear_dim_{number}" for number in range(10)))


@irdl_attr_definition
class BlockMappingAttr(InBrackets):
    """Which dimension of the grid a loop of `scf.forall` is."""

    name = "gpu.block"
    VALUES = DIMENSIONS


@irdl_attr_definition
class ThreadMappingAttr(InBrackets):
    """Which dimension of a work-group a loop of `scf.forall` is."""

    name = "gpu.thread"
    VALUES = DIMENSIONS


@irdl_attr_definition
class AddressSpaceAttr(InBrackets):
    """Whose a memref is: everyone's, those of a work-group or a work-item."""

    name = "gpu.address_space"
    VALUES = ("global", "workgroup", "private")


@irdl_attr_definition
class MmaElementwiseAttr(Data[str], SpacedOpaqueSyntaxAttribute):
    """What is computed of each element: `addf`, `maxf`, `negatef`, ..."""

    name = "gpu.mma_element_wise"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return parser.parse_identifier()

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data)


@irdl_attr_definition
class MmaMatrixType(ParametrizedAttribute, TypeAttribute):
    """A matrix: its size, its elements, and which operand it is, `"AOp"` to `"COp"`."""

    name = "gpu.mma_matrix"

    rows: IntAttr
    cols: IntAttr
    element_type: Attribute
    operand: StringAttr

    def verify(self) -> None:
        if self.operand.data not in ("AOp", "BOp", "COp"):
            raise VerifyException(f"expected AOp, BOp or COp, got {self.operand.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            sizes: list[Attribute] = []
            for _ in range(2):
                sizes.append(IntAttr(parser.parse_shape_dimension(allow_dynamic=False)))
                parser.parse_shape_delimiter()
            element = parser.parse_type()
            parser.parse_punctuation(",")
            return [*sizes, element, StringAttr(parser.parse_str_literal())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows.data}x{self.cols.data}x")
            printer.print_attribute(self.element_type)
            printer.print_string(f', "{self.operand.data}"')


@irdl_op_definition
class LoadMatrixOp(IRDLOperation):
    """Rows, or with `transpose` columns, that lie `leadDimension` elements apart."""

    name = "gpu.subgroup_mma_load_matrix"

    memory = operand_def(MemRefType)
    positions = var_operand_def(IndexType())
    result = result_def(MmaMatrixType)
    lead = prop_def(IntegerAttr, prop_name="leadDimension")
    transpose = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$memory `[` $positions `]` attr-dict `:` type($memory) `->` type($result)"
    )


@irdl_op_definition
class StoreMatrixOp(IRDLOperation):
    """The same into memory."""

    name = "gpu.subgroup_mma_store_matrix"

    value = operand_def(MmaMatrixType)
    memory = operand_def(MemRefType)
    positions = var_operand_def(IndexType())
    lead = prop_def(IntegerAttr, prop_name="leadDimension")
    transpose = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$value `,` $memory `[` $positions `]` attr-dict `:` type($value) `,` "
        "type($memory)"
    )


@irdl_op_definition
class ComputeOp(IRDLOperation):
    """`result = a * b + c`."""

    name = "gpu.subgroup_mma_compute"

    a = operand_def(MmaMatrixType)
    b = operand_def(MmaMatrixType)
    c = operand_def(VarConstraint("C", base(MmaMatrixType)))
    result = result_def(VarConstraint("C", base(MmaMatrixType)))
    a_transpose = opt_prop_def(UnitAttr)
    b_transpose = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `->` type($result)"
    )


@irdl_op_definition
class ConstantMatrixOp(IRDLOperation):
    """A matrix of one value."""

    name = "gpu.subgroup_mma_constant_matrix"

    value = operand_def(Inferred("M", lambda matrix: matrix.element_type))
    result = result_def(VarConstraint("M", OfType(MmaMatrixType)))

    assembly_format = "$value attr-dict `:` type($result)"


def parse_function_type(parser: Parser) -> tuple[int, FunctionType]:
    """Parse `: (T) -> T`, and return where the type begins, too."""
    parser.parse_punctuation(":")
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, FunctionType):
        parser.raise_error(f"expected a function type, got {type}", position)
    return position, type


@irdl_op_definition
class ElementwiseOp(IRDLOperation):
    """What `opType` names, of each element."""

    name = "gpu.subgroup_mma_elementwise"

    args = var_operand_def(MmaMatrixType)
    result = result_def(MmaMatrixType)
    kind = prop_def(MmaElementwiseAttr, prop_name="opType")

    @classmethod
    def parse(cls, parser: Parser) -> "ElementwiseOp":
        kind = parser.parse_identifier()
        args = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        position, type = parse_function_type(parser)
        operands = parser.resolve_operands(args, type.inputs.data, position)
        properties: dict[str, Attribute | None] = {"opType": MmaElementwiseAttr(kind)}
        return cls(
            operands=[operands],
            result_types=list(type.outputs.data),
            properties=properties,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_list(self.args, printer.print_operand)
        printer.print_string(" : ")
        types = [value.type for value in self.args]
        printer.print_attribute(FunctionType.from_lists(types, [self.result.type]))


_T = VarConstraint("T", AnyAttr())
_MATRIX = ParamAttrConstraint(MmaMatrixType, (AnyAttr(), AnyAttr(), _T, AnyAttr()))


@irdl_op_definition
class ExtractOp(IRDLOperation):
    """An element that a work-item holds, by its number."""

    name = "gpu.subgroup_mma_extract_thread_local"

    matrix = operand_def(_MATRIX)
    indices = var_operand_def(IndexType())
    result = result_def(_T)

    assembly_format = (
        "$matrix `[` $indices `]` attr-dict `:` type($matrix) `->` type($result)"
    )


@irdl_op_definition
class InsertOp(IRDLOperation):
    """The matrix with another value there."""

    name = "gpu.subgroup_mma_insert_thread_local"

    value = operand_def(_T)
    matrix = operand_def(_MATRIX)
    indices = var_operand_def(IndexType())
    result = result_def(MmaMatrixType)

    assembly_format = (
        "$value `,` $matrix `[` $indices `]` attr-dict"
        " `:` type($value) `,` type($matrix) `->` type($result)"
    )


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[simt.ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """Which lane a lane takes a value from, as in `simt`."""

    name = "gpu.shuffle_mode"


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """The value that another lane has, and whether there is such a lane."""

    name = "gpu.shuffle"

    value = operand_def(VarConstraint("T", AnyAttr()))
    offset = operand_def(i32)
    width = operand_def(i32)
    shuffled = result_def(VarConstraint("T", AnyAttr()))
    valid = result_def(i1)
    mode = prop_def(ShuffleModeAttr)

    assembly_format = (
        "$mode $value `,` $offset `,` $width attr-dict `:` type($shuffled)"
    )


REDUCTIONS = (
    *("add", "mul", "and", "or", "xor", "minui", "minsi", "maxui", "maxsi"),
    *("minnumf", "maxnumf", "minimumf", "maximumf"),
)


@irdl_attr_definition
class ReductionAttr(Data[str], SpacedOpaqueSyntaxAttribute):
    """How two values become one; xDSL has names of older versions."""

    name = "gpu.all_reduce_op"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        start = parser.pos
        if (name := parser.parse_identifier()) not in REDUCTIONS:
            known = ", ".join(REDUCTIONS)
            parser.raise_error(f"expected one of {known}, got {name}", start)
        return name

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data)


@irdl_op_definition
class SubgroupReduceOp(IRDLOperation):
    """The values of all lanes, or of clusters of them, reduced to one."""

    name = "gpu.subgroup_reduce"

    value = operand_def(VarConstraint("T", AnyAttr()))
    result = result_def(VarConstraint("T", AnyAttr()))
    kind = prop_def(ReductionAttr, prop_name="op")
    uniform = opt_prop_def(UnitAttr)
    cluster_size = opt_prop_def(IntegerAttr)
    cluster_stride = opt_prop_def(IntegerAttr)

    def verify_(self) -> None:
        kind, element = self.kind.data, element_of(self.value.type)
        of_floats, of_any = kind.endswith("mf"), ("add", "mul")
        if kind not in of_any and of_floats == is_integer(element):
            wanted = "floats" if of_floats else "integers"
            raise VerifyException(f"expected {wanted}, as {kind} needs, got {element}")

    @classmethod
    def parse(cls, parser: Parser) -> "SubgroupReduceOp":
        kind = ReductionAttr(ReductionAttr.parse_parameter(parser))
        value = parser.parse_unresolved_operand()
        properties: dict[str, Attribute | None] = {"op": kind}
        if parser.parse_optional_keyword("uniform") is not None:
            properties["uniform"] = UnitAttr()
        if parser.parse_optional_keyword("cluster") is not None:
            parser.parse_punctuation("(")
            parser.parse_keyword("size")
            parser.parse_punctuation("=")
            properties["cluster_size"] = IntegerAttr(parser.parse_integer(), i32)
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("stride")
                parser.parse_punctuation("=")
                properties["cluster_stride"] = IntegerAttr(parser.parse_integer(), i32)
            parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict()
        position, type = parse_function_type(parser)
        return cls.build(
            operands=parser.resolve_operands([value], type.inputs.data, position),
            result_types=list(type.outputs.data),
            properties=properties,
            attributes=attributes,
        )


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """The values of all work-items of a work-group reduced to one."""

    name = "gpu.all_reduce"

    value = operand_def(VarConstraint("T", AnyAttr()))
    result = result_def(VarConstraint("T", AnyAttr()))
    kind = opt_prop_def(ReductionAttr, prop_name="op")
    uniform = opt_prop_def(UnitAttr)
    body = region_def()


# Operations of xDSL that are read generically only.

SHARED = "workgroup_attributions"
"""How many of the arguments of a function's block are memory of a work-group."""


def parse_dimension(cls: type[Any], parser: Parser) -> Any:
    """An id or a size along x, y or z."""
    name = parser.parse_identifier()
    if name not in ("x", "y", "z"):
        parser.raise_error(f"expected a dimension, x, y or z, got {name}")
    _parse_bound(parser)
    return cls(gpu.DimensionAttr(gpu.DimensionEnum(name)))


def _parse_bound(parser: Parser) -> None:
    """Parse the bound that an id may have, which says nothing that is needed."""
    if parser.parse_optional_keyword("upper_bound") is not None:
        parser.parse_integer()


def forget_bound(self: Any) -> None:
    """Complete the generic form: without the bound."""
    self.properties.pop("upper_bound", None)


def parse_module(cls: type[Any], parser: Parser) -> Any:
    name = parser.parse_symbol_name()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    op = cls(name, parser.parse_region())
    op.attributes.update({} if attributes is None else attributes.data)
    return op


def parse_func(cls: type[Any], parser: Parser) -> Any:
    """Parse a function; its block takes memory of work-groups and work-items, too."""
    name = parser.parse_symbol_name()
    delimiter = parser.Delimiter.PAREN
    args = parser.parse_comma_separated_list(delimiter, parser.parse_argument)
    memory: dict[str, list[Parser.Argument]] = {}
    for word in ("workgroup", "private"):
        if parser.parse_optional_keyword(word) is not None:
            memory[word] = parser.parse_comma_separated_list(
                delimiter, parser.parse_argument
            )
    is_kernel = parser.parse_optional_keyword("kernel") is not None
    found = parser.parse_optional_attr_dict_with_keyword()
    attributes = {} if found is None else dict(found.data)
    type = FunctionType.from_lists([arg.type for arg in args], [])
    if shared := memory.get("workgroup"):
        attributes[SHARED] = IntegerAttr(len(shared), i64)
    body = parser.parse_region([*args, *chain(*memory.values())])
    op = cls(name.data, type, body, is_kernel or None)
    op.attributes.update(attributes)
    complete_func(op)
    return op


def shared_count(func: gpu.FuncOp) -> int:
    """Return how many memories of a work-group a function's block takes."""
    found = func.attributes.get(SHARED)
    return found.value.data if isinstance(found, IntegerAttr) else 0


def verify_func(self: gpu.FuncOp) -> None:
    """Verify a function, whose block takes memory after the arguments."""
    inputs = self.function_type.inputs.data
    if not self.body.blocks:
        raise VerifyException("expected a function with a body")
    if tuple(self.body.blocks[0].arg_types)[: len(inputs)] != inputs:
        raise VerifyException("expected a block with the arguments of the function")
    memory, shared = len(self.body.blocks[0].args) - len(inputs), shared_count(self)
    if shared > memory:
        what = f"{shared} memories of a work-group"
        raise VerifyException(f"expected {what}, as {SHARED} says, got {memory}")
    if self.kernel is not None and self.function_type.outputs.data:
        raise VerifyException("expected a kernel without results")


def complete_func(self: gpu.FuncOp) -> None:
    """Replace the names that MLIR has for what it says of a kernel by those of xDSL."""
    if (shared := self.properties.pop("workgroup_attributions", None)) is not None:
        self.attributes[SHARED] = shared
    if (kernel := self.attributes.pop("gpu.kernel", None)) is not None:
        self.properties["kernel"] = kernel
    for name in ("known_block_size", "known_grid_size"):
        for given in (self.properties, self.attributes):
            if (sizes := given.pop(name, None)) is not None:
                self.attributes[f"gpu.{name}"] = sizes


def parse_plain(cls: type[Any], parser: Parser) -> Any:
    """Parse the attributes of an operation without operands."""
    definition = cls.get_irdl_definition()
    _parse_bound(parser)
    attributes = parser.parse_optional_attr_dict()
    if definition.results and parser.parse_optional_punctuation(":") is not None:
        parser.parse_type()
    return cls.build(
        operands=[[] for _ in definition.operands],
        result_types=[IndexType() for _ in definition.results],
        attributes=attributes,
    )


def parse_launch(cls: type[Any], parser: Parser) -> Any:
    """Parse a launch, of as many work-groups (`blocks`) of so many work-items."""
    is_async, after = _parse_async(parser)
    kernel, plain = parser.parse_attribute(), parser.parse_unresolved_operand
    sizes: dict[str, list[UnresolvedOperand]] = {}
    for word in ("clusters", "blocks", "threads"):
        if parser.parse_optional_keyword(word) is not None:
            parser.parse_keyword("in")
            paren = parser.Delimiter.PAREN
            sizes[word] = parser.parse_comma_separated_list(paren, plain)
    type: Attribute = IndexType()
    if parser.parse_optional_punctuation(":") is not None:
        type = parser.parse_type()
    memory = None
    if parser.parse_optional_keyword("dynamic_shared_memory_size") is not None:
        memory = parser.resolve_operand(plain(), i32)
    arguments: list[SSAValue] = []
    if parser.parse_optional_keyword("args") is not None:
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, partial(_parse_typed, parser)
        )
    if missing := [word for word in ("blocks", "threads") if word not in sizes]:
        parser.raise_error(f"expected {' and '.join(missing)} of the launch")
    known = {
        word: [parser.resolve_operand(x, type) for x in each]
        for word, each in sizes.items()
    }
    blocks, threads, clusters = map(known.get, ("blocks", "threads", "clusters"))
    op = cls(kernel, blocks, threads, clusters, arguments, is_async, after, memory)
    op.attributes.update(parser.parse_optional_attr_dict())
    return op


def _parse_async(parser: Parser) -> tuple[bool, Sequence[SSAValue]]:
    """Parse whether an operation gives a token, and those that it waits for."""
    is_async = parser.parse_optional_keyword("async") is not None
    found = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_unresolved_operand
    )
    token = gpu.AsyncTokenType()
    return is_async, [parser.resolve_operand(x, token) for x in found or ()]


def _parse_typed(parser: Parser) -> SSAValue:
    """Parse a value and its type."""
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(operand, parser.parse_type())


def parse_wait(cls: type[Any], parser: Parser) -> Any:
    is_async, after = _parse_async(parser)
    return cls.build(
        operands=[after], result_types=[[gpu.AsyncTokenType()] if is_async else []]
    )


def print_barrier(self: gpu.BarrierOp, printer: Printer) -> None:
    printer.print_op_attributes(self.attributes)


for op, parse in (
    *((op, parse_dimension) for op in (gpu.ThreadIdOp, gpu.BlockIdOp)),
    *((op, parse_dimension) for op in (gpu.BlockDimOp, gpu.GridDimOp)),
    (gpu.GlobalIdOp, parse_dimension),
    *((op, parse_plain) for op in (gpu.LaneIdOp, gpu.SubgroupIdOp, gpu.SubgroupSizeOp)),
    *((op, parse_plain) for op in (gpu.NumSubgroupsOp, gpu.ReturnOp, gpu.BarrierOp)),
    (gpu.ModuleOp, parse_module),
    (gpu.FuncOp, parse_func),
    (gpu.LaunchFuncOp, parse_launch),
    (gpu.WaitOp, parse_wait),
):
    setattr(op, "parse", classmethod(parse))  # noqa: B010
    if parse in (parse_dimension, parse_plain):
        setattr(op, "complete_generic", forget_bound)  # noqa: B010
setattr(gpu.FuncOp, "verify_", verify_func)  # noqa: B010
setattr(gpu.BarrierOp, "print", print_barrier)  # noqa: B010
setattr(gpu.FuncOp, "complete_generic", complete_func)  # noqa: B010

Gpu = Dialect(
    "gpu",
    [
        *(op for op in gpu.GPU.operations if op is not gpu.AllReduceOp),
        LoadMatrixOp,
        StoreMatrixOp,
        ComputeOp,
        ConstantMatrixOp,
        ElementwiseOp,
        ExtractOp,
        InsertOp,
        ShuffleOp,
        SubgroupReduceOp,
        AllReduceOp,
    ],
    [
        *(x for x in gpu.GPU.attributes if x is not gpu.AllReduceOpAttr),
        MmaMatrixType,
        MmaElementwiseAttr,
        AddressSpaceAttr,
        ShuffleModeAttr,
        ReductionAttr,
        BlockMappingAttr,
        ThreadMappingAttr,
    ],
)
