"""`simt` in any target: views, and what barriers, reductions and blocks are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IndexType, IntegerType, i1
from xdsl.ir import Operation

from coopc.dialects import simt
from coopc.dialects.simt import ReduceKind
from coopc.emit.emission import AnyEmission
from coopc.emit.memref import compare_exchange
from coopc.emit.view import memref_type
from coopc.emit.walker import Handlers, NoForm, count_of, element_of

handlers = Handlers[AnyEmission]()
handlers.add(simt.CompareExchangeOp, compare_exchange)

BUILT_INS: dict[type[simt.DimensionOp | simt.IdOp], tuple[str, str]] = {
    simt.WorkgroupIdOp: ("WorkgroupId", "get_group_id"),
    simt.NumWorkgroupsOp: ("NumWorkgroups", "get_num_groups"),
    simt.LocalIdOp: ("LocalInvocationId", "get_local_id"),
    simt.WorkgroupSizeOp: ("WorkgroupSize", "get_local_size"),
    simt.SubgroupIdOp: ("SubgroupId", "get_sub_group_id"),
    simt.NumSubgroupsOp: ("NumSubgroups", "get_num_sub_groups"),
    simt.LaneIdOp: ("SubgroupLocalInvocationId", "get_sub_group_local_id"),
    simt.SubgroupSizeOp: ("SubgroupSize", "get_sub_group_size"),
}
"""Built-in variables of SPIR-V, and functions of OpenCL."""

SCOPES = {simt.FenceScope.WORKGROUP: 2, simt.FenceScope.SUBGROUP: 3}
"""Scope in the SPIR-V specification."""
SUBGROUP = 3

HALVES: dict[type[simt.WaitingOp], tuple[str, int]] = {
    simt.BarrierOp: ("", 0x8),
    simt.BarrierArriveOp: ("ArriveINTEL", 0x4),
    simt.BarrierWaitOp: ("WaitINTEL", 0x2),
}
"""What OpControlBarrier's name ends in, and its memory semantics: what a work-item
sees of others, or they of it, or both."""
WORKGROUP_MEMORY, CROSS_WORKGROUP_MEMORY = 0x100, 0x200
"""Memory semantics there."""

REDUCTIONS: dict[tuple[ReduceKind, str], str] = {
    (ReduceKind.ADD, "float"): "FAdd",
    (ReduceKind.ADD, "unsigned"): "IAdd",
    (ReduceKind.MUL, "float"): "FMul",
    (ReduceKind.MUL, "unsigned"): "IMul",
    (ReduceKind.MAX, "float"): "FMax",
    (ReduceKind.MAX, "signed"): "SMax",
    (ReduceKind.MAX, "unsigned"): "UMax",
    (ReduceKind.MIN, "float"): "FMin",
    (ReduceKind.MIN, "signed"): "SMin",
    (ReduceKind.MIN, "unsigned"): "UMin",
    (ReduceKind.AND, "unsigned"): "BitwiseAnd",
    (ReduceKind.OR, "unsigned"): "BitwiseOr",
    (ReduceKind.XOR, "unsigned"): "BitwiseXor",
}
"""The ends of opcodes."""


def reduction_of(op: simt.ReduceOp) -> str:
    """The end of the opcode of a reduction.

    Raises:
        NoForm: it is of i1.
    """
    element = element_of(op.value.type)
    if element == i1:
        raise NoForm("expected integers of 8 bits or more, got i1")
    sort = "unsigned" if op.signed is None else "signed"
    if not isinstance(element, IndexType | IntegerType):
        sort = "float"
    return REDUCTIONS[op.kind.data, sort]


def known_size(e: AnyEmission, op: Operation) -> int | None:
    """The size that an operation asks for, if the kernel fixes it."""
    match op:
        case simt.WorkgroupSizeOp() if e.work_group_size is not None:
            return e.work_group_size[op.axis]
        case simt.SubgroupSizeOp():
            return e.subgroup_size
        case _:
            return None


@handlers.on(simt.ViewElementsOp)
def view_elements(e: AnyEmission, op: simt.ViewElementsOp) -> None:
    """Numbers of other elements, from a pointer to one of them."""
    source, type = e.view(op.memory), memref_type(op.result)
    outer, factor = e.index.strides(source)[-2:-1], op.per_pointee
    offset = e.index.mul(e.index.linear(source, e.nums(op.positions)), factor)
    strides = *(e.index.mul(x, factor) for x in outer), 1
    view = e.as_elements(source, type.element_type)
    sizes = tuple(type.get_shape())
    e.set(op.result, replace(view, offset=offset, sizes=sizes, strides=strides))


@handlers.on(simt.AddressOfOp)
def address_of(e: AnyEmission, op: simt.AddressOfOp) -> None:
    """Where a memref begins; from there on anything may be written."""
    view = e.view(op.memory)
    e.writes(view)
    e.set(op.result, e.address(view, e.index.linear(view, ())))


@handlers.on(simt.MemoryAtOp)
def memory_at(e: AnyEmission, op: simt.MemoryAtOp) -> None:
    element = memref_type(op.result).element_type
    e.set(op.result, e.memory_at(e.value(op.address), element))


# A block that has no instruction: each lane accesses its own elements.

Number: TypeAlias = Callable[[Any, type[simt.IdOp]], Any]
"""Gives what an operation says of the subgroup, an index."""


def read_by_lanes(e: AnyEmission, op: simt.BlockReadOp, number: Number) -> None:
    view, type = e.view(op.memory), op.result.type
    places = _places(e, op, count_of(type), number)
    e.set(op.result, e.gathered(type, [e.load(view, place) for place in places]))


def write_by_lanes(e: AnyEmission, op: simt.BlockWriteOp, number: Number) -> None:
    places = _places(e, op, count_of(op.value.type), number)
    for place, scalar in zip(places, e.scalars(op.value), strict=True):
        e.store(e.view(op.memory), place, scalar)


def _places(
    e: AnyEmission,
    op: simt.BlockReadOp | simt.BlockWriteOp,
    count: int,
    number: Number,
) -> list[Any]:
    """Where this lane's elements are: `at + c * S + lane`, S the subgroup size."""
    at = e.index.linear(e.view(op.memory), e.nums(op.positions))
    first = e.index.add(at, number(e, simt.LaneIdOp))
    size = e.subgroup_size or number(e, simt.SubgroupSizeOp)
    return [e.index.add(first, e.index.mul(size, c)) for c in range(count)]
