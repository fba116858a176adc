"""Operations of `simt` that say where a work-item is, and among how many."""

from abc import ABC

from xdsl.dialects.builtin import IndexType
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from coopc.dialects.simt.attributes import Dimension, DimensionAttr


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
