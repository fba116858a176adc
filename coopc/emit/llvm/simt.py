"""`simt` on spir64: positions, sizes and barriers, as builtins of OpenCL and SPIR-V.

Views of memory are what any target has.
"""

from __future__ import annotations

from coopc.dialects import simt
from coopc.emit.llvm.emission import PURE, Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.mangling import builtin
from coopc.emit.llvm.memref import view_elements
from coopc.emit.llvm.view import id_of
from coopc.llvm.types import I32, I64
from coopc.llvm.values import Value, integer

handlers = Handlers()
handlers.add(simt.ViewElementsOp, view_elements)

CONVERGENT = "convergent nounwind"
"""Attributes of a function that work-items call together."""

_AXES = {simt.Dimension.X: 0, simt.Dimension.Y: 1, simt.Dimension.Z: 2}


def _axis(e: Emission, op: simt.DimensionOp, name: str) -> None:
    """A function of OpenCL that takes the number of an axis."""
    axis = integer(I32, _AXES[op.dimension.data])
    full = builtin(name, (I32,), unsigned=(0,))
    e.set(op.result, e.call(full, I64, [axis], attributes=PURE))


@handlers.on(simt.WorkgroupIdOp)
def workgroup_id(e: Emission, op: simt.WorkgroupIdOp) -> None:
    """The position of the work-group in the grid."""
    _axis(e, op, "get_group_id")


@handlers.on(simt.NumWorkgroupsOp)
def num_workgroups(e: Emission, op: simt.NumWorkgroupsOp) -> None:
    """The number of work-groups in the grid."""
    _axis(e, op, "get_num_groups")


@handlers.on(simt.LocalIdOp)
def local_id(e: Emission, op: simt.LocalIdOp) -> None:
    """The position of the work-item in its work-group."""
    _axis(e, op, "get_local_id")


@handlers.on(simt.WorkgroupSizeOp)
def workgroup_size(e: Emission, op: simt.WorkgroupSizeOp) -> None:
    """The number of work-items of a work-group, which a kernel fixes."""
    if e.work_group_size is None:
        _axis(e, op, "get_local_size")
    else:
        e.set(op.result, id_of(e.work_group_size[_AXES[op.dimension.data]]))


def of_subgroup(e: Emission, name: str) -> Value:
    """A number of the subgroup as an i32: the names are mangled without parameters."""
    return e.call(builtin(name, ()), I32, [], attributes=PURE)


def _number(e: Emission, op: simt.IdOp, name: str) -> None:
    e.set(op.result, e.f.cast("zext", of_subgroup(e, name), I64))


@handlers.on(simt.SubgroupIdOp)
def subgroup_id(e: Emission, op: simt.SubgroupIdOp) -> None:
    """The number of the subgroup in its work-group."""
    _number(e, op, "get_sub_group_id")


@handlers.on(simt.NumSubgroupsOp)
def num_subgroups(e: Emission, op: simt.NumSubgroupsOp) -> None:
    """The number of subgroups of the work-group."""
    _number(e, op, "get_num_sub_groups")


@handlers.on(simt.LaneIdOp)
def lane_id(e: Emission, op: simt.LaneIdOp) -> None:
    """The number of the lane in its subgroup."""
    _number(e, op, "get_sub_group_local_id")


@handlers.on(simt.SubgroupSizeOp)
def subgroup_size(e: Emission, op: simt.SubgroupSizeOp) -> None:
    """The number of lanes of a subgroup, where a kernel does not fix it."""
    if e.subgroup_size is None:
        _number(e, op, "get_sub_group_size")
    else:
        e.set(op.result, id_of(e.subgroup_size))


# --- barriers ------------------------------------------------------------------

_SCOPES = {simt.FenceScope.WORKGROUP: 2, simt.FenceScope.SUBGROUP: 3}
"""Scope in the SPIR-V specification."""

_ACQUIRE, _RELEASE, _ACQUIRE_RELEASE = 0x2, 0x4, 0x8
_MEMORY = 0x100 | 0x200
"""WorkgroupMemory and CrossWorkgroupMemory."""


@handlers.on(simt.BarrierOp)
def barrier(e: Emission, op: simt.BarrierOp) -> None:
    """OpControlBarrier."""
    _wait(e, "__spirv_ControlBarrier", op.scope.data, _ACQUIRE_RELEASE)


@handlers.on(simt.BarrierArriveOp)
def barrier_arrive(e: Emission, op: simt.BarrierArriveOp) -> None:
    """OpControlBarrierArriveINTEL."""
    _wait(e, "__spirv_ControlBarrierArriveINTEL", op.scope.data, _RELEASE)


@handlers.on(simt.BarrierWaitOp)
def barrier_wait(e: Emission, op: simt.BarrierWaitOp) -> None:
    """OpControlBarrierWaitINTEL."""
    _wait(e, "__spirv_ControlBarrierWaitINTEL", op.scope.data, _ACQUIRE)


def _wait(e: Emission, name: str, scope: simt.FenceScope, order: int) -> None:
    number = integer(I32, _SCOPES[scope])
    semantics = integer(I32, order | _MEMORY)
    arguments = [number, number, semantics]
    e.do(builtin(name, (I32,) * 3), arguments, attributes=CONVERGENT)
