"""What is done to each element by assembly, or by the operations of a region."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I32,
    BoolAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    lazy_traits_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.tt.checks import expect_like
from coopc.dialects.tt.externs import PureOrNot


def expect_alike(values: Sequence[SSAValue]) -> None:
    """Check that values have the shape and the encoding of the first one.

    Raises:
        VerifyException: they have not.
    """
    for at, value in enumerate(values):
        expect_like(f"value {at}", value.type, "the first", values[0].type)


@irdl_op_definition
class ElementwiseInlineAsmOp(IRDLOperation):
    """Assembly that is applied to `packed_element` elements at a time.

    | value          | type                      |
    |----------------|---------------------------|
    | args, results  | tensors of one shape      |

    ```mlir
    %x = "test.op"() : () -> tensor<64xi8>
    %y = tt.elementwise_inline_asm "mov $0, $1"
         {constraints = "=r,r", packed_element = 4 : i32, pure = true}
         %x : tensor<64xi8> -> tensor<64xi8>
    ```
    """

    name = "tt.elementwise_inline_asm"

    asm_string = prop_def(StringAttr)
    constraints = prop_def(StringAttr)
    pure = prop_def(BoolAttr)
    packed_element = prop_def(IntegerAttr[I32])
    args = var_operand_def()
    results_ = var_result_def()

    traits = traits_def(PureOrNot())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$asm_string attr-dict ($args^ `:` type($args))? `->` type($results_)"
    )

    def __init__(
        self,
        asm_string: str,
        constraints: str,
        args: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        *,
        pure: bool = True,
        packed_element: int = 1,
    ) -> None:
        super().__init__(
            operands=[args],
            properties={
                "asm_string": StringAttr(asm_string),
                "constraints": StringAttr(constraints),
                "pure": IntegerAttr.from_bool(pure),
                "packed_element": IntegerAttr(packed_element, i32),
            },
            result_types=[result_types],
        )

    def verify_(self) -> None:
        """Check that operands and results have one shape."""
        if not self.results_:
            raise VerifyException("expected a result or more, got none")
        expect_alike([*self.results_, *self.args])


@irdl_op_definition
class MapElementwiseOp(IRDLOperation):
    """A region of scalars that is applied to `pack` elements of each tensor at a time.

    | value          | type                      |
    |----------------|---------------------------|
    | srcs, results  | tensors of one shape      |

    ```mlir
    %x = "test.op"() : () -> tensor<64xi32>
    %y = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({
    ^bb0(%a: i32):
      %b = arith.addi %a, %a : i32
      tt.map_elementwise.return %b : i32
    }) : (tensor<64xi32>) -> tensor<64xi32>
    ```
    """

    name = "tt.map_elementwise"

    srcs = var_operand_def(TensorType)
    pack = prop_def(IntegerAttr[I32])
    results_ = var_result_def(TensorType)
    scalar_op = region_def()

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        srcs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        scalar_op: Region,
        pack: int = 1,
    ) -> None:
        super().__init__(
            operands=[srcs],
            properties={"pack": IntegerAttr(pack, i32)},
            result_types=[result_types],
            regions=[scalar_op],
        )

    def verify_(self) -> None:
        """Check that tensors have one shape."""
        if not self.srcs:
            raise VerifyException("expected a tensor to map, got none")
        expect_alike([*self.srcs, *self.results_])


@irdl_op_definition
class MapElementwiseReturnOp(IRDLOperation):
    """The end of the region of `tt.map_elementwise`: the elements of the results.

    ```mlir
    %x = "test.op"() : () -> tensor<64xi32>
    %y = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({
    ^bb0(%a: i32):
      tt.map_elementwise.return %a : i32
    }) : (tensor<64xi32>) -> tensor<64xi32>
    ```
    """

    name = "tt.map_elementwise.return"

    result = var_operand_def()

    traits = lazy_traits_def(
        lambda: (IsTerminator(), HasParent(MapElementwiseOp), ReturnLike(), Pure())
    )
    assembly_format = "attr-dict ($result^ `:` type($result))?"

    def __init__(self, *result: SSAValue) -> None:
        super().__init__(operands=[result])
