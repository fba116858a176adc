"""The operations of `simt`."""

from abc import ABC
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerType,
    MemRefType,
    UnitAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
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
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.simt.attributes import (
    Dimension,
    DimensionAttr,
    FenceScope,
    FenceScopeAttr,
    ReduceKind,
    ReduceKindAttr,
    ShuffleMode,
    ShuffleModeAttr,
)

BLOCK_LENGTHS = (1, 2, 4, 8, 16)
"""Components of a block read, as SPV_INTEL_subgroups has them."""


class Synchronises(MemoryEffect):
    """No access moves across it, and it is never removed."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """Return what `op` does to memory."""
        return {
            EffectInstance(MemoryEffectKind.READ),
            EffectInstance(MemoryEffectKind.WRITE),
        }


class Reads(MemoryEffect):
    """It reads memory."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """Return what `op` does to memory."""
        return {EffectInstance(MemoryEffectKind.READ)}


class Writes(MemoryEffect):
    """It writes memory."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """Return what `op` does to memory."""
        return {EffectInstance(MemoryEffectKind.WRITE)}


class DimensionOp(IRDLOperation, ABC):
    """A position or a size along one dimension."""

    dimension = prop_def(DimensionAttr)
    result = result_def(IndexType())

    traits = traits_def(Pure())

    assembly_format = "$dimension attr-dict `:` type($result)"

    def __init__(self, dimension: Dimension) -> None:
        super().__init__(
            properties={"dimension": DimensionAttr(dimension)},
            result_types=[IndexType()],
        )


class IdOp(IRDLOperation, ABC):
    """A position or a size that has no dimensions."""

    result = result_def(IndexType())

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])


@irdl_op_definition
class WorkgroupIdOp(DimensionOp):
    """The position of the work-group in the grid.

    ```mlir
    %x = simt.workgroup_id x : index
    ```
    """

    name = "simt.workgroup_id"


@irdl_op_definition
class NumWorkgroupsOp(DimensionOp):
    """The number of work-groups in the grid.

    ```mlir
    %x = simt.num_workgroups x : index
    ```
    """

    name = "simt.num_workgroups"


@irdl_op_definition
class LocalIdOp(DimensionOp):
    """The position of the work-item in its work-group.

    ```mlir
    %x = simt.local_id x : index
    ```
    """

    name = "simt.local_id"


@irdl_op_definition
class WorkgroupSizeOp(DimensionOp):
    """The number of work-items of a work-group.

    ```mlir
    %x = simt.workgroup_size x : index
    ```
    """

    name = "simt.workgroup_size"


@irdl_op_definition
class SubgroupIdOp(IdOp):
    """The number of the subgroup in its work-group.

    ```mlir
    %x = simt.subgroup_id : index
    ```
    """

    name = "simt.subgroup_id"


@irdl_op_definition
class NumSubgroupsOp(IdOp):
    """The number of subgroups of the work-group.

    ```mlir
    %x = simt.num_subgroups : index
    ```
    """

    name = "simt.num_subgroups"


@irdl_op_definition
class LaneIdOp(IdOp):
    """The number of the lane in its subgroup.

    ```mlir
    %x = simt.lane_id : index
    ```
    """

    name = "simt.lane_id"


@irdl_op_definition
class SubgroupSizeOp(IdOp):
    """The number of lanes of a subgroup.

    ```mlir
    %x = simt.subgroup_size : index
    ```
    """

    name = "simt.subgroup_size"


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Wait for every work-item of the scope, and see what they wrote.

    Every work-item of the scope must execute it.  What was written before it, in global
    and in work-group memory, is seen after it.

    ```mlir
    simt.barrier workgroup
    ```
    """

    name = "simt.barrier"

    scope = prop_def(FenceScopeAttr)

    traits = traits_def(Synchronises())

    assembly_format = "$scope attr-dict"

    def __init__(self, scope: FenceScope = FenceScope.WORKGROUP) -> None:
        super().__init__(properties={"scope": FenceScopeAttr(scope)})


@irdl_op_definition
class BarrierArriveOp(IRDLOperation):
    """The first half of a barrier: say that this work-item is there, and go on.

    Every work-item of the scope must execute it.  What was written before it, in global
    and in work-group memory, is seen after it and its other half.

    ```mlir
    simt.barrier_arrive workgroup
    ```
    """

    name = "simt.barrier_arrive"

    scope = prop_def(FenceScopeAttr)

    traits = traits_def(Synchronises())

    assembly_format = "$scope attr-dict"

    def __init__(self, scope: FenceScope = FenceScope.WORKGROUP) -> None:
        super().__init__(properties={"scope": FenceScopeAttr(scope)})


@irdl_op_definition
class BarrierWaitOp(IRDLOperation):
    """The second half of a barrier: wait for those who have not arrived.

    Every work-item of the scope must execute it.  What was written before it, in global
    and in work-group memory, is seen after it and its other half.

    ```mlir
    simt.barrier_wait workgroup
    ```
    """

    name = "simt.barrier_wait"

    scope = prop_def(FenceScopeAttr)

    traits = traits_def(Synchronises())

    assembly_format = "$scope attr-dict"

    def __init__(self, scope: FenceScope = FenceScope.WORKGROUP) -> None:
        super().__init__(properties={"scope": FenceScopeAttr(scope)})


class LaneOp(IRDLOperation, ABC):
    """An exchange of values between the lanes of a subgroup, all of them active."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

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
        if self.kind.data in bitwise and not isinstance(type, IntegerType):
            raise VerifyException(
                f"expected integers, as {self.kind.data} needs, got {type}"
            )
        ordered = (ReduceKind.MAX, ReduceKind.MIN)
        if self.signed is not None and (
            self.kind.data not in ordered or not isinstance(type, IntegerType)
        ):
            raise VerifyException(
                "expected max or min of integers, which can be signed, "
                f"got {self.kind.data} of {type}"
            )


@irdl_op_definition
class BlockReadOp(IRDLOperation):
    """Read consecutive elements with the whole subgroup.

    Lane l gets, as component c of its vector, element `position + c * S + l` along the
    last dimension of the memref, S the number of lanes.  A single element is a scalar.

    ```mlir
    %m, %i = "test.op"() : () -> (memref<?xi32, strided<[1]>>, index)
    %v = simt.block_read %m[%i] : memref<?xi32, strided<[1]>> -> vector<4xi32>
    ```
    """

    name = "simt.block_read"

    memory = operand_def(MemRefType)
    positions = var_operand_def(IndexType())
    result = result_def()

    traits = traits_def(Reads())

    assembly_format = (
        "$memory `[` $positions `]` attr-dict `:` type($memory) `->` type($result)"
    )

    def __init__(
        self, memory: SSAValue, positions: Sequence[SSAValue], result: Attribute
    ) -> None:
        super().__init__(operands=[memory, positions], result_types=[result])

    def verify_(self) -> None:
        """Check the memref, the positions and the length of the vector."""
        verify_block(self.memory.type, len(self.positions), self.result.type)


@irdl_op_definition
class BlockWriteOp(IRDLOperation):
    """Write consecutive elements with the whole subgroup, as `block_read` reads them.

    ```mlir
    %m, %i, %v = "test.op"() : () -> (memref<?x64xf16>, index, vector<2xf16>)
    simt.block_write %v, %m[%i, %i] : vector<2xf16>, memref<?x64xf16>
    ```
    """

    name = "simt.block_write"

    value = operand_def()
    memory = operand_def(MemRefType)
    positions = var_operand_def(IndexType())

    traits = traits_def(Writes())

    assembly_format = (
        "$value `,` $memory `[` $positions `]` attr-dict "
        "`:` type($value) `,` type($memory)"
    )

    def __init__(
        self, value: SSAValue, memory: SSAValue, positions: Sequence[SSAValue]
    ) -> None:
        super().__init__(operands=[value, memory, positions])

    def verify_(self) -> None:
        """Check the memref, the positions and the length of the vector."""
        verify_block(self.memory.type, len(self.positions), self.value.type)


def scalar_type(type: Attribute) -> Attribute:
    """Return the element type of a vector type; another type as it is."""
    return type.get_element_type() if isinstance(type, VectorType) else type


def verify_number(type: Attribute) -> None:
    """Check that a type is a number's or a vector's."""
    if not isinstance(scalar_type(type), IntegerType | IndexType | AnyFloat):
        raise VerifyException(f"expected a number or a vector of numbers, got {type}")


def verify_block(memory: Attribute, positions: int, value: Attribute) -> None:
    """Check the types and the number of positions of a block read or write."""
    assert isinstance(memory, MemRefType)
    if positions != memory.get_num_dims():
        raise VerifyException(
            f"expected {memory.get_num_dims()} positions, one for each dimension of "
            f"the memref, got {positions}"
        )
    strides = memory.get_strides()
    if not strides or strides[-1] != 1:
        raise VerifyException(
            "expected a memref whose last stride is 1: a block is contiguous, "
            f"got {memory}"
        )
    if scalar_type(value) != memory.get_element_type():
        raise VerifyException(
            f"expected a value of {memory.get_element_type()}, the element type of the "
            f"memref, got {value}"
        )
    if isinstance(value, VectorType) and (
        value.get_num_dims() != 1 or value.get_shape()[0] not in BLOCK_LENGTHS
    ):
        raise VerifyException(
            f"expected a vector of {BLOCK_LENGTHS} components, got {value}"
        )
