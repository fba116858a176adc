"""`simt`: positions and sizes, and views of memory."""

from __future__ import annotations

from coopc.dialects import simt
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.memref import view_elements
from coopc.spirv.instruction import Id

handlers = Handlers()
handlers.add(simt.ViewElementsOp, view_elements)

_AXES = {simt.Dimension.X: 0, simt.Dimension.Y: 1, simt.Dimension.Z: 2}


def _axis(e: Emission, op: simt.DimensionOp, name: str) -> None:
    """One component of a built-in vector of three index values."""
    at = _AXES[op.dimension.data]
    vector = e.types.vector(e.types.index, 3)

    def extract() -> Id:
        whole = e.built_in(name, vector)
        return e.emit("OpCompositeExtract", whole, at, type=e.types.index)

    e.set(op.result, (e.once((name, at), extract),))


@handlers.on(simt.WorkgroupIdOp)
def workgroup_id(e: Emission, op: simt.WorkgroupIdOp) -> None:
    """The position of the work-group in the grid."""
    _axis(e, op, "WorkgroupId")


@handlers.on(simt.NumWorkgroupsOp)
def num_workgroups(e: Emission, op: simt.NumWorkgroupsOp) -> None:
    """The number of work-groups in the grid."""
    _axis(e, op, "NumWorkgroups")


@handlers.on(simt.LocalIdOp)
def local_id(e: Emission, op: simt.LocalIdOp) -> None:
    """The position of the work-item in its work-group."""
    _axis(e, op, "LocalInvocationId")


@handlers.on(simt.WorkgroupSizeOp)
def workgroup_size(e: Emission, op: simt.WorkgroupSizeOp) -> None:
    """The number of work-items of a work-group, which a kernel fixes."""
    if e.work_group_size is None:
        _axis(e, op, "WorkgroupSize")
    else:
        size = e.work_group_size[_AXES[op.dimension.data]]
        e.set(op.result, (e.index.id(size),))


@handlers.on(simt.SubgroupIdOp)
def subgroup_id(e: Emission, op: simt.SubgroupIdOp) -> None:
    """The number of the subgroup in its work-group."""
    e.set(op.result, (e.index_built_in("SubgroupId"),))


@handlers.on(simt.NumSubgroupsOp)
def num_subgroups(e: Emission, op: simt.NumSubgroupsOp) -> None:
    """The number of subgroups of the work-group."""
    e.set(op.result, (e.index_built_in("NumSubgroups"),))


@handlers.on(simt.LaneIdOp)
def lane_id(e: Emission, op: simt.LaneIdOp) -> None:
    """The number of the lane in its subgroup."""
    e.set(op.result, (e.index_built_in("SubgroupLocalInvocationId"),))


@handlers.on(simt.SubgroupSizeOp)
def subgroup_size(e: Emission, op: simt.SubgroupSizeOp) -> None:
    """The number of lanes of a subgroup, where a kernel does not fix it."""
    if e.subgroup_size is None:
        e.set(op.result, (e.index_built_in("SubgroupSize"),))
    else:
        e.set(op.result, (e.index.id(e.subgroup_size),))


# --- barriers ------------------------------------------------------------------

_SCOPES = {simt.FenceScope.WORKGROUP: 2, simt.FenceScope.SUBGROUP: 3}
"""Scope in the SPIR-V specification."""

_ACQUIRE, _RELEASE, _ACQUIRE_RELEASE = 0x2, 0x4, 0x8
_WORKGROUP_MEMORY = 0x100
_BUFFERS = {True: 0x40, False: 0x200}
"""UniformMemory, which storage buffers count as; CrossWorkgroupMemory."""
_MAKE_AVAILABLE, _MAKE_VISIBLE = 0x2000, 0x4000


def _semantics(e: Emission, order: int, memory: simt.MemorySpace | None) -> Id:
    """Memory semantics for buffers and work-group memory, or for one of them."""
    bits = order
    if memory is not simt.MemorySpace.GLOBAL:
        bits |= _WORKGROUP_MEMORY
    if memory is not simt.MemorySpace.WORKGROUP:
        bits |= _BUFFERS[e.facts.vulkan]
    if e.facts.vulkan:
        bits |= _MAKE_AVAILABLE | _MAKE_VISIBLE
    return e.types.enumerant(bits)


@handlers.on(simt.BarrierOp)
def barrier(e: Emission, op: simt.BarrierOp) -> None:
    """OpControlBarrier."""
    memory = None if op.memory is None else op.memory.data
    _wait(e, "OpControlBarrier", op.scope.data, _ACQUIRE_RELEASE, memory)


@handlers.on(simt.BarrierArriveOp)
def barrier_arrive(e: Emission, op: simt.BarrierArriveOp) -> None:
    """OpControlBarrierArriveINTEL; elsewhere all of it is in the other half."""
    if has_split_barrier(e):
        _wait(e, "OpControlBarrierArriveINTEL", op.scope.data, _RELEASE)


@handlers.on(simt.BarrierWaitOp)
def barrier_wait(e: Emission, op: simt.BarrierWaitOp) -> None:
    """OpControlBarrierWaitINTEL; elsewhere a whole barrier."""
    if has_split_barrier(e):
        _wait(e, "OpControlBarrierWaitINTEL", op.scope.data, _ACQUIRE)
    else:
        _wait(e, "OpControlBarrier", op.scope.data, _ACQUIRE_RELEASE)


def has_split_barrier(e: Emission) -> bool:
    """Whether the device has SPV_INTEL_split_barrier: Intel's GPUs have."""
    return e.facts.device.family == "xe"


def _wait(
    e: Emission,
    opcode: str,
    scope: simt.FenceScope,
    order: int,
    memory: simt.MemorySpace | None = None,
) -> None:
    number, semantics = e.types.enumerant(_SCOPES[scope]), _semantics(e, order, memory)
    if scope is simt.FenceScope.SUBGROUP and e.facts.device.lockstep:
        e.do("OpMemoryBarrier", number, semantics)
        return
    e.do(opcode, number, number, semantics)
