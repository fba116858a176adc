"""`simt` in any target: positions, sizes, barriers, blocks, reductions, views.

A target says in a `Lanes` what its instructions and builtins are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from xdsl.dialects.builtin import IndexType, IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import ReduceKind
from coopc.emit.emission import AnyEmission
from coopc.emit.memref import (
    address_of,
    compare_exchange,
    memory_at,
    view_elements,
)
from coopc.emit.walker import Handlers, Refusal, count_of, element_of

E = TypeVar("E", bound=AnyEmission)

SCOPES = {simt.FenceScope.WORKGROUP: 2, simt.FenceScope.SUBGROUP: 3}
"""Scope in the SPIR-V specification."""
SUBGROUP = 3

ACQUIRE, RELEASE, ACQUIRE_RELEASE = 0x2, 0x4, 0x8
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
        Refusal: it is of i1.
    """
    element = element_of(op.value.type)
    if element == i1:
        raise Refusal("expected integers of 8 bits or more, got i1")
    sort = "unsigned" if op.signed is None else "signed"
    if not isinstance(element, IndexType | IntegerType):
        sort = "float"
    return REDUCTIONS[op.kind.data, sort]


class Lanes(ABC, Generic[E]):
    """What work-items, subgroups and lanes are in a target."""

    def handlers(self) -> Handlers[E]:
        found = Handlers[E]()
        found.add(simt.ViewElementsOp, view_elements)
        found.add(simt.AddressOfOp, address_of)
        found.add(simt.MemoryAtOp, memory_at)
        found.add(simt.CompareExchangeOp, compare_exchange)
        positions = simt.WorkgroupIdOp, simt.NumWorkgroupsOp, simt.LocalIdOp
        found.on(*positions)(self._position)
        found.on(simt.WorkgroupSizeOp)(self._workgroup_size)
        numbers = simt.SubgroupIdOp, simt.NumSubgroupsOp, simt.LaneIdOp
        found.on(*numbers)(self._number)
        found.on(simt.SubgroupSizeOp)(self._subgroup_size)
        found.on(simt.BarrierOp)(self._barrier)
        found.on(simt.BarrierArriveOp)(self._arrive)
        found.on(simt.BarrierWaitOp)(self._wait)
        found.on(simt.BlockReadOp)(self._block_read)
        found.on(simt.BlockWriteOp)(self._block_write)
        found.on(simt.BroadcastOp)(self.broadcast)
        found.on(simt.ShuffleOp)(self.shuffle)
        found.on(simt.ReduceOp)(self.reduce)
        return found

    @abstractmethod
    def position(self, e: E, op: type[Operation], axis: int) -> Any:
        """What an operation gives along an axis, an index."""

    @abstractmethod
    def number(self, e: E, op: type[Operation]) -> Any:
        """What an operation says of the subgroup, an index."""

    @abstractmethod
    def has_split_barrier(self, e: E) -> bool:
        """Whether the device has SPV_INTEL_split_barrier."""

    @abstractmethod
    def synchronize(
        self,
        e: E,
        half: str,
        scope: simt.FenceScope,
        order: int,
        memory: simt.MemorySpace | None = None,
    ) -> None:
        """OpControlBarrier, or a half of it: Arrive, Wait."""

    @abstractmethod
    def has_block_io(self, e: E, view: Any, type: Attribute) -> bool:
        """Whether one instruction reads or writes a block."""

    @abstractmethod
    def block_read(self, e: E, view: Any, at: Any, type: Attribute) -> Any:
        """A block that has an instruction."""

    @abstractmethod
    def block_write(self, e: E, view: Any, at: Any, value: SSAValue) -> None:
        """The same the other way."""

    @abstractmethod
    def broadcast(self, e: E, op: simt.BroadcastOp) -> None:
        """The value of one lane."""

    @abstractmethod
    def shuffle(self, e: E, op: simt.ShuffleOp) -> None:
        """The value of another lane."""

    @abstractmethod
    def reduce(self, e: E, op: simt.ReduceOp) -> None:
        """The values of all lanes as one."""

    def _position(self, e: E, op: simt.DimensionOp) -> None:
        e.set(op.result, self.position(e, type(op), op.axis))

    def _workgroup_size(self, e: E, op: simt.WorkgroupSizeOp) -> None:
        if e.work_group_size is None:
            self._position(e, op)
        else:
            size = e.work_group_size[op.axis]
            e.set(op.result, e.index.value(size))

    def _number(self, e: E, op: simt.IdOp) -> None:
        e.set(op.result, self.number(e, type(op)))

    def _subgroup_size(self, e: E, op: simt.SubgroupSizeOp) -> None:
        e.set(op.result, e.index.value(self._lanes(e)))

    def _lanes(self, e: E) -> Any:
        """The number of lanes of a subgroup, where a kernel does not fix it."""
        return e.subgroup_size or self.number(e, simt.SubgroupSizeOp)

    def _barrier(self, e: E, op: simt.BarrierOp) -> None:
        memory = None if op.memory is None else op.memory.data
        self.synchronize(e, "", op.scope.data, ACQUIRE_RELEASE, memory)

    def _arrive(self, e: E, op: simt.BarrierArriveOp) -> None:
        """Where there are no halves, all of it is in the other."""
        if self.has_split_barrier(e):
            self.synchronize(e, "Arrive", op.scope.data, RELEASE)

    def _wait(self, e: E, op: simt.BarrierWaitOp) -> None:
        if self.has_split_barrier(e):
            self.synchronize(e, "Wait", op.scope.data, ACQUIRE)
        else:
            self.synchronize(e, "", op.scope.data, ACQUIRE_RELEASE)

    # Consecutive elements by the whole subgroup: an instruction in global memory alone,
    # else each lane accesses its own.

    def _block_read(self, e: E, op: simt.BlockReadOp) -> None:
        view, type = e.view(op.memory), op.result.type
        at = e.index.linear(view, e.nums(op.positions))
        if self.has_block_io(e, view, type):
            e.set(op.result, self.block_read(e, view, at, type))
            return
        places = self._places(e, at, count_of(type))
        e.set(op.result, e.gathered(type, [e.load(view, place) for place in places]))

    def _block_write(self, e: E, op: simt.BlockWriteOp) -> None:
        view, type = e.view(op.memory), op.value.type
        e.writes(view)
        at = e.index.linear(view, e.nums(op.positions))
        if self.has_block_io(e, view, type):
            self.block_write(e, view, at, op.value)
            return
        places = self._places(e, at, count_of(type))
        for place, scalar in zip(places, e.scalars(op.value), strict=True):
            e.store(view, place, scalar)

    def _places(self, e: E, at: Any, count: int) -> list[Any]:
        """Where this lane's elements are: `at + c * S + lane`, S the subgroup size."""
        lane, size = self.number(e, simt.LaneIdOp), self._lanes(e)
        first = e.index.add(at, lane)
        return [e.index.add(first, e.index.mul(size, c)) for c in range(count)]
