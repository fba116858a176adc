"""Elements of a tensor that are picked, or counted, by number."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    I32,
    IntegerAttr,
    IntegerType,
    TensorType,
    UnitAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
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
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of, shaped
from coopc.dialects.tt.checks import (
    expect_element,
    expect_like,
    expect_rank,
)
from coopc.dialects.tt.reductions import verify_axis
from coopc.dialects.tt.types import is_tensor, shape_of


def expect_integers(name: str, type: Attribute) -> None:
    """Check that a tensor has integers.

    Raises:
        VerifyException: it has others.
    """
    if not isinstance(found := element_of(type), IntegerType):
        raise VerifyException(f"expected integers for {name}, got {found}")


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Elements of a tensor, each picked by its number along one dimension.

    `result[i, j] = src[indices[i, j], j]` along dimension 0.  With `efficient_layout`
    the layouts are not to be changed.

    | value           | shape                                        |
    |-----------------|----------------------------------------------|
    | src             | M x N                                        |
    | indices, result | any size along axis, else at most that of src |

    ```mlir
    %x, %i = "test.op"() : () -> (tensor<64x32xf32>, tensor<16x32xi32>)
    %y = tt.gather %x[%i] {axis = 0 : i32}
       : (tensor<64x32xf32>, tensor<16x32xi32>) -> tensor<16x32xf32>
    ```
    """

    name = "tt.gather"

    src = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr[I32])
    efficient_layout = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$src `[` $indices `]` attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self, src: SSAValue, indices: SSAValue, axis: int, result_type: Attribute
    ) -> None:
        super().__init__(
            operands=[src, indices],
            properties={"axis": IntegerAttr(axis, i32)},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        """Check the indices against src, and the result against both."""
        src, indices, result = self.src.type, self.indices.type, self.result.type
        assert is_tensor(src), src
        expect_integers("indices", indices)
        expect_rank("indices", indices, len(src.get_shape()))
        axis = self.axis.value.data
        verify_axis(src, axis)
        pairs = zip(shape_of(indices), src.get_shape(), strict=True)
        for dimension, (size, limit) in enumerate(pairs):
            if dimension != axis and size > limit:
                raise VerifyException(
                    f"expected indices of at most {limit} along dimension {dimension}, "
                    f"as src has, got {size}"
                )
        expect_element("the result", result, src.element_type, "as src")
        expect_like("the result", result, "indices", indices)


@irdl_op_definition
class HistogramOp(IRDLOperation):
    """How often each of 0, 1, 2, .. occurs in a tensor, where a mask is true.

    | value  | type                     |
    |--------|--------------------------|
    | src    | tensor<M x integer>      |
    | mask   | tensor<M x i1>           |
    | result | tensor<bins x integer>   |

    ```mlir
    %x, %m = "test.op"() : () -> (tensor<64xi32>, tensor<64xi1>)
    %y = tt.histogram %x, %m : tensor<64xi32> -> tensor<16xi32>
    ```
    """

    name = "tt.histogram"

    src = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def __init__(
        self, src: SSAValue, mask: SSAValue | None, result_type: Attribute
    ) -> None:
        super().__init__(
            operands=[src, () if mask is None else (mask,)], result_types=[result_type]
        )

    def verify_(self) -> None:
        """Check that numbers are counted, in one dimension."""
        expect_integers("src", self.src.type)
        expect_integers("the result", self.result.type)
        expect_rank("the result", self.result.type, 1)
        if self.mask is not None:
            expect_element("mask", self.mask.type, i1, "true or false")
            expect_like("mask", self.mask.type, "src", self.src.type)

    @classmethod
    def parse(cls, parser: Parser) -> HistogramOp:
        """Parse `%x, %m : type -> type`; the type of the mask follows."""
        src = parser.parse_unresolved_operand()
        mask = None
        if parser.parse_optional_punctuation(",") is not None:
            mask = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        parser.parse_punctuation("->")
        found = cls(
            parser.resolve_operand(src, type),
            None if mask is None else parser.resolve_operand(mask, shaped(type, i1)),
            parser.parse_type(),
        )
        found.attributes |= attributes
        return found

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        operands = [self.src] if self.mask is None else [self.src, self.mask]
        printer.print_string(" ")
        printer.print_list(operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)
