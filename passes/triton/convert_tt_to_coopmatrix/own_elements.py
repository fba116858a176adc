"""Buffers of which each lane accesses its own elements alone, in private memory.

    memref.store %x, %buffer[lane + 8 * t]     16384 elements, which 8 lanes share
    memref.store %x, %own[t]                   2048 elements of each lane

So a row that has no room in work-group memory is stored as a GPU spills registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import AllocaOp, LoadOp, StoreOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from coopc.dialects import simt
from coopc.dialects.simt import bits_of
from coopc.ir.builder import INDEX, Builder
from coopc.ir.polynomial import Polynomial
from coopc.passes.generic.share_workgroup_memory import WORK_GROUP, memory_type

Access: TypeAlias = LoadOp | StoreOp

MOST_PRIVATE_BYTES = 128 << 10
"""Of a lane: a quarter of what CUDA has at most as local memory of a thread."""


@dataclass(frozen=True, slots=True)
class OwnElements:
    """A buffer of a work-group of one subgroup, and what accesses it."""

    op: AllocaOp
    accesses: tuple[Access, ...]

    @classmethod
    def of(cls, op: AllocaOp, lanes: int) -> OwnElements | None:
        """Return a buffer if each lane has every `lanes`-th element of its rows."""
        type = memory_type(op)
        if type.memory_space != WORK_GROUP or op.dynamic_sizes:
            return None
        if not type.get_shape() or type.get_shape()[-1] % lanes:
            return None
        accesses: list[Access] = []
        for use in op.memref.uses:
            access = use.operation
            if not isinstance(access, Access) or access.memref is not op.memref:
                return None
            if not is_own(access.indices[-1], lanes):
                return None
            accesses.append(access)
        return cls(op, tuple(accesses))

    @property
    def bytes(self) -> int:
        """Of the work-group."""
        type = memory_type(self.op)
        return type.element_count() * bits_of(type.element_type) // 8

    def move(self, lanes: int) -> None:
        """Put the elements of each lane in private memory."""
        type, b = memory_type(self.op), Builder.at(self.op)
        *rows, size = type.get_shape()
        private = MemRefType(type.element_type, [*rows, size // lanes])
        new = b.effect(
            AllocaOp.build(operands=[[], []], result_types=[private], properties={})
        )
        new.memref.name_hint = self.op.memref.name_hint
        for access in self.accesses:
            b, (*at, last) = Builder.at(access), access.indices
            at.append(b.pure(arith.DivUIOp, last, b.constant(INDEX, lanes)))
            replace_access(access, new.memref, at)
        Rewriter.erase_op(self.op)


def replace_access(access: Access, memory: SSAValue, at: Sequence[SSAValue]) -> None:
    is_load = isinstance(access, LoadOp)
    given = [] if is_load else [access.value]
    new = access.__class__.build(
        operands=[*given, memory, at],
        result_types=[x.type for x in access.results],
        properties=dict(access.properties),
        attributes=dict(access.attributes),
    )
    new.location = access.location
    Rewriter.replace_op(access, new)


def is_own(index: SSAValue, lanes: int) -> bool:
    """Whether an index is that of the lane, and a multiple of the number of lanes."""
    terms, numbers = Polynomial.of(index).terms, list[int]()
    for factors, number in terms.items():
        if len(factors) == 1 and isinstance(factors[0].owner, simt.LaneIdOp):
            numbers.append(number)
        elif number % lanes:
            return False
    return numbers == [1]


def own_elements(func: FuncOp, lanes: int) -> bool:
    """Move buffers to private memory where lanes have their own elements.

    A work-group is one subgroup. Return whether there are such buffers, which have
    room in private memory.
    """
    allocations = [x for x in func.walk() if isinstance(x, AllocaOp)]
    found = [x for op in allocations if (x := OwnElements.of(op, lanes)) is not None]
    size = sum(each.bytes for each in found) // lanes
    if not 0 < size <= MOST_PRIVATE_BYTES:
        return False
    for each in found:
        each.move(lanes)
    return True
