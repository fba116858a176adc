"""`gpu.subgroup_mma_*`, and kernels of `gpu.func`, as MLIR prints them.

xDSL 0.74 has no matrices in `gpu`, and reads its functions, ids and barriers
generically only.  `Gpu` is its dialect with these; `convert-gpu-mma-to-coopmatrix`
reads them.  Importing this module changes xDSL's classes in place, since whoever has to
do with an operation finds it by its class.
"""

from collections.abc import Sequence
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
)
from xdsl.ir import (
    Attribute,
    Data,
    Dialect,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
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
    result_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.constraints import Inferred, OfType
from coopc.dialects.in_brackets import InBrackets

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
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_type()
        if not isinstance(type, FunctionType):
            parser.raise_error(f"expected a function type, got {type}", position)
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


# Operations of xDSL that are read generically only.


def parse_dimension(cls: type[Any], parser: Parser) -> Any:
    """An id or a size along x, y or z."""
    name = parser.parse_identifier()
    if name not in ("x", "y", "z"):
        parser.raise_error(f"expected a dimension, x, y or z, got {name}")
    return cls(gpu.DimensionAttr(gpu.DimensionEnum(name)))


def parse_module(cls: type[Any], parser: Parser) -> Any:
    name = parser.parse_symbol_name()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    op = cls(name, parser.parse_region())
    op.attributes.update({} if attributes is None else attributes.data)
    return op


def parse_func(cls: type[gpu.FuncOp], parser: Parser) -> gpu.FuncOp:
    """Parse a function without attributions, which `memref.alloca` says instead."""
    name = parser.parse_symbol_name()
    delimiter = parser.Delimiter.PAREN
    args = parser.parse_comma_separated_list(delimiter, parser.parse_argument)
    for word in ("workgroup", "private"):
        position = parser.pos
        if parser.parse_optional_keyword(word) is not None:
            parser.raise_error(
                f"expected no {word} attributions, which coopc does not read", position
            )
    is_kernel = parser.parse_optional_keyword("kernel") is not None
    found = parser.parse_optional_attr_dict_with_keyword()
    attributes = {} if found is None else dict(found.data)
    type = FunctionType.from_lists([arg.type for arg in args], [])
    op = cls(name.data, type, parser.parse_region(args), is_kernel or None)
    op.attributes.update(attributes)
    complete_func(op)
    return op


def complete_func(self: gpu.FuncOp) -> None:
    """Replace the names that MLIR has for what it says of a kernel by those of xDSL."""
    if (kernel := self.attributes.pop("gpu.kernel", None)) is not None:
        self.properties["kernel"] = kernel
    for name in ("known_block_size", "known_grid_size"):
        for given in (self.properties, self.attributes):
            if (sizes := given.pop(name, None)) is not None:
                self.attributes[f"gpu.{name}"] = sizes


def parse_plain(cls: type[Any], parser: Parser) -> Any:
    """Parse the attributes of an operation without operands."""
    definition = cls.get_irdl_definition()
    return cls.build(
        operands=[[] for _ in definition.operands],
        result_types=[IndexType() for _ in definition.results],
        attributes=parser.parse_optional_attr_dict(),
    )


def print_barrier(self: gpu.BarrierOp, printer: Printer) -> None:
    printer.print_op_attributes(self.attributes)


for op, parse in (
    *((op, parse_dimension) for op in (gpu.ThreadIdOp, gpu.BlockIdOp)),
    *((op, parse_dimension) for op in (gpu.BlockDimOp, gpu.GridDimOp)),
    *((op, parse_plain) for op in (gpu.LaneIdOp, gpu.SubgroupIdOp, gpu.SubgroupSizeOp)),
    *((op, parse_plain) for op in (gpu.NumSubgroupsOp, gpu.ReturnOp, gpu.BarrierOp)),
    (gpu.ModuleOp, parse_module),
    (gpu.FuncOp, parse_func),
):
    setattr(op, "parse", classmethod(parse))  # noqa: B010
setattr(gpu.BarrierOp, "print", print_barrier)  # noqa: B010
setattr(gpu.FuncOp, "complete_generic", complete_func)  # noqa: B010

Gpu = Dialect(
    "gpu",
    [
        *gpu.GPU.operations,
        LoadMatrixOp,
        StoreMatrixOp,
        ComputeOp,
        ConstantMatrixOp,
        ElementwiseOp,
        ExtractOp,
        InsertOp,
    ],
    [
        *gpu.GPU.attributes,
        MmaMatrixType,
        MmaElementwiseAttr,
        BlockMappingAttr,
        ThreadMappingAttr,
    ],
)
