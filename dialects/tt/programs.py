"""Operations of Triton that are about programs: which one, a range, a message."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I32,
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    TensorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.checks import expect_element, expect_rank, expect_shape
from coopc.dialects.tt.enums import (
    AxisKeyword,
    EnumConstraint,
    ProgramAxis,
    member,
)


class ProgramOp(IRDLOperation, ABC):
    """A position or a size along one axis of the grid."""

    axis = prop_def(EnumConstraint(ProgramAxis))
    result = result_def(i32)

    traits = traits_def(Pure())
    custom_directives = (AxisKeyword,)
    assembly_format = "custom<AxisKeyword>($axis) attr-dict `:` type($result)"

    def __init__(self, axis: ProgramAxis) -> None:
        super().__init__(properties={"axis": axis.attribute}, result_types=[i32])

    @property
    def program_axis(self) -> ProgramAxis:
        """The axis."""
        return member(ProgramAxis, self.axis)


@irdl_op_definition
class GetProgramIdOp(ProgramOp):
    """The position of the program (the work-group) in the grid.

    ```mlir
    %x = tt.get_program_id x : i32
    ```
    """

    name = "tt.get_program_id"


@irdl_op_definition
class GetNumProgramsOp(ProgramOp):
    """The number of programs (work-groups) along an axis.

    ```mlir
    %x = tt.get_num_programs y : i32
    ```
    """

    name = "tt.get_num_programs"


@irdl_op_definition
class MakeRangeOp(IRDLOperation):
    """The integers from `start` up to but not including `end`.

    | value  | type        |
    |--------|-------------|
    | result | (end-start) |

    ```mlir
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    ```
    """

    name = "tt.make_range"

    start = prop_def(IntegerAttr[I32])
    end = prop_def(IntegerAttr[I32])
    result = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, start: int, end: int, result_type: Attribute) -> None:
        super().__init__(
            properties={
                "start": IntegerAttr(start, i32),
                "end": IntegerAttr(end, i32),
            },
            result_types=[result_type],
        )

    def verify_(self) -> None:
        """Check that the result holds all integers of the range."""
        start, end = self.start.value.data, self.end.value.data
        if end <= start:
            raise VerifyException(
                f"expected end to be above start = {start}, got {end}"
            )
        expect_rank("the result", self.result.type, 1)
        expect_element("the result", self.result.type, i32, "as a range is")
        why = f"as from {start} to {end}"
        expect_shape("the result", self.result.type, (end - start,), why)


@irdl_op_definition
class PrintOp(IRDLOperation):
    """Print values, each with its position.

    `isSigned` says of each argument whether it is a signed integer.

    ```mlir
    %x = "test.op"() : () -> tensor<16xi32>
    tt.print " x: " {hex = false, isSigned = array<i32: 1>} : %x : tensor<16xi32>
    ```
    """

    name = "tt.print"

    prefix = prop_def(StringAttr)
    hex = prop_def(BoolAttr)
    is_signed = opt_prop_def(DenseArrayBase.constr(i32), prop_name="isSigned")
    args = var_operand_def()

    traits = traits_def(MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$prefix attr-dict (`:` $args^ `:` type($args))?"

    def __init__(
        self, prefix: str, args: Sequence[SSAValue], is_signed: Sequence[bool]
    ) -> None:
        signs = DenseArrayBase.from_list(i32, [int(sign) for sign in is_signed])
        super().__init__(
            operands=[args],
            properties={
                "prefix": StringAttr(prefix),
                "hex": IntegerAttr.from_bool(False),
                "isSigned": signs,
            },
        )

    def verify_(self) -> None:
        """Check that there is a signedness for each argument."""
        signs = None if self.is_signed is None else len(self.is_signed.get_values())
        if signs not in (None, len(self.args)):
            raise VerifyException(
                f"expected isSigned for {len(self.args)} arguments, got {signs}"
            )


@irdl_op_definition
class AssertOp(IRDLOperation):
    """End the program with a message unless every element of a condition is true.

    ```mlir
    %x = "test.op"() : () -> tensor<16xi1>
    tt.assert %x, "positive" : tensor<16xi1>
    ```
    """

    name = "tt.assert"

    condition = operand_def()
    message = prop_def(StringAttr)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition `,` $message attr-dict `:` type($condition)"

    def __init__(self, condition: SSAValue, message: str) -> None:
        super().__init__(
            operands=[condition], properties={"message": StringAttr(message)}
        )

    def verify_(self) -> None:
        """Check that the condition is of i1."""
        if element_of(self.condition.type) != i1:
            raise VerifyException(
                f"expected a condition of i1, got {self.condition.type}"
            )
