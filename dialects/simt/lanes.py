"""Operations of `simt` that exchange values between the lanes of a subgroup."""

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_integer
from coopc.dialects.simt.attributes import (
    ReduceKind,
    ReduceKindAttr,
    ShuffleMode,
    ShuffleModeAttr,
)
from coopc.dialects.simt.numbers import scalar_type, verify_number
from coopc.dialects.traits import Collective, ReadsLanes


class LaneOp(IRDLOperation, ABC):
    """An exchange of values between the lanes of a subgroup, all of them active."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    result = result_def(T)

    traits = traits_def(Collective(), ReadsLanes())

    def verify_(self) -> None:
        """Check that values are numbers or vectors of them."""
        verify_number(self.value.type)


@irdl_op_definition
class BroadcastOp(LaneOp):
    """The value that one lane has, in all lanes; `lane` is the same in all of them.

    ```mlir
    %v, %lane = "test.op"() : () -> (f32, index)
    %w = simt.broadcast %v, %lane : f32
    ```
    """

    name = "simt.broadcast"

    value = operand_def(LaneOp.T)
    lane = operand_def(IndexType())

    assembly_format = "$value `,` $lane attr-dict `:` type($value)"

    def __init__(self, value: SSAValue, lane: SSAValue) -> None:
        super().__init__(operands=[value, lane], result_types=[value.type])


@irdl_op_definition
class ShuffleOp(LaneOp):
    """The value that another lane has; undefined where that lane does not exist.

    ```mlir
    %v, %offset = "test.op"() : () -> (i32, index)
    %w = simt.shuffle xor %v, %offset : i32
    ```
    """

    name = "simt.shuffle"

    value = operand_def(LaneOp.T)
    offset = operand_def(IndexType())
    mode = prop_def(ShuffleModeAttr)

    assembly_format = "$mode $value `,` $offset attr-dict `:` type($value)"

    def __init__(self, mode: ShuffleMode, value: SSAValue, offset: SSAValue) -> None:
        super().__init__(
            operands=[value, offset],
            properties={"mode": ShuffleModeAttr(mode)},
            result_types=[value.type],
        )


@irdl_op_definition
class ReduceOp(LaneOp):
    """Values of all lanes reduced to one, which all lanes get.

    The order is open.  `signed` orders integers in `max` and `min`; of a number and a
    NaN they take the number.

    ```mlir
    %v, %n = "test.op"() : () -> (f32, i32)
    %sum = simt.reduce add %v : f32
    %most = simt.reduce max signed %n : i32
    ```
    """

    name = "simt.reduce"

    kind = prop_def(ReduceKindAttr)
    signed = opt_prop_def(UnitAttr)

    assembly_format = "$kind (`signed` $signed^)? $value attr-dict `:` type($value)"

    def __init__(self, kind: ReduceKind, value: SSAValue, signed: bool = False) -> None:
        super().__init__(
            operands=[value],
            properties={
                "kind": ReduceKindAttr(kind),
                "signed": UnitAttr() if signed else None,
            },
            result_types=[value.type],
        )

    def verify_(self) -> None:
        """Check the type against the kind and the sign."""
        super().verify_()
        type = scalar_type(self.value.type)
        bitwise = (ReduceKind.AND, ReduceKind.OR, ReduceKind.XOR)
        if self.kind.data in bitwise and not is_integer(type):
            raise VerifyException(
                f"expected integers, as {self.kind.data} needs, got {type}"
            )
        ordered = (ReduceKind.MAX, ReduceKind.MIN)
        if self.signed is not None and (
            self.kind.data not in ordered or not is_integer(type)
        ):
            raise VerifyException(
                "expected max or min of integers, which can be signed, "
                f"got {self.kind.data} of {type}"
            )
