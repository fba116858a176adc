"""`tt.atomic_rmw`: each element is updated once, by the first lane that has it.

    %old = tt.atomic_rmw fadd, relaxed, gpu, %p, %x, %m
    scf.if %first and %m { memref.atomic_rmw .. }    for each element of a lane

What was there before goes through work-group memory to the other lanes that have the
element; where nobody asks for it, nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.arith import AndIOp
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt, tt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.dialects.tt.types import is_tensor
from coopc.ir.builder import INDEX, Builder
from coopc.ir.split_values import Splitter
from coopc.ir.transaction import Refused
from coopc.passes.xe.convert_to_xe.group_memory import GroupMemory, barrier, too_large
from coopc.passes.xe.convert_to_xe.layout_to_arith import is_first_of_all
from coopc.passes.xe.convert_to_xe.pointers import memory_of
from coopc.passes.xe.convert_to_xe.scalar_access import by_the_first
from coopc.passes.xe.convert_to_xe.tensor_memory import TensorMemory
from coopc.passes.xe.convert_to_xe.vectors import packed
from coopc.passes.xe.register_layout import RegisterLayout, registers_of

Values = Sequence[SSAValue]

KINDS: Mapping[tt.Update, int] = {
    tt.Update.FADD: 0,
    tt.Update.ADD: 1,
    tt.Update.EXCH: 2,
    tt.Update.MAX: 4,
    tt.Update.UMAX: 5,
    tt.Update.MIN: 7,
    tt.Update.UMIN: 8,
    tt.Update.OR: 11,
    tt.Update.AND: 12,
    tt.Update.XOR: 15,
}
"""The numbers of MLIR's AtomicRMWKind."""

ORDERS = {
    tt.Order.RELAXED: Ordering.RELAXED,
    tt.Order.ACQUIRE: Ordering.ACQUIRE,
    tt.Order.RELEASE: Ordering.RELEASE,
    tt.Order.ACQ_REL: Ordering.ACQUIRE_RELEASE,
}
SCOPES = {
    tt.SyncScope.CTA: Scope.WORKGROUP,
    tt.SyncScope.GPU: Scope.DEVICE,
    tt.SyncScope.SYS: Scope.CROSS_DEVICE,
}


def _why_not_layout(op: tt.AtomicRMWOp) -> str | None:
    """Return why no lane is the first with an element, or cannot tell the others."""
    registers = registers_of(op.val)
    layout = registers.layout
    free = layout.free_masks()
    for name in layout.in_names:
        zero = sum(1 << at for at, x in enumerate(layout.bases(name)) if not any(x))
        if name != "register" and zero != free[name]:
            return (
                "expected elements that several lanes have to be the same by zero "
                f"bases, got {op.val.type}"
            )
    if op.result.uses and is_shared(registers):
        return too_large([registers.element], elements_of(registers))
    return None


def elements_of(registers: RegisterLayout) -> int:
    """Return how many elements a tensor has."""
    return prod(registers.layout.out_sizes.values())


def is_shared(registers: RegisterLayout) -> bool:
    """Whether several lanes have an element."""
    layout = registers.layout
    names = [x for x in ("lane", "warp") if x in layout.in_names]
    return any(not any(basis) for name in names for basis in layout.bases(name))


@dataclass(slots=True)
class Atomics:
    """The rule."""

    memory: TensorMemory
    group: GroupMemory

    def update(self, op: tt.AtomicRMWOp, s: Splitter, b: Builder) -> Sequence[Values]:
        """Update what a tensor of pointers points to, or one element for all lanes."""
        if not is_tensor(op.ptr.type):
            _refuse_cast(op, op.ptr, op.result.type)
            return [(self._scalar(op, s, b),)]
        registers = registers_of(op.val)
        target, places = self.memory.through_pointers(op, s, b)
        _refuse_cast(op, self.memory.base(op), registers.element)
        if (reason := _why_not_layout(op)) is not None:
            raise Refused(op, reason)
        places = by_the_first(b, registers, places)
        change = partial(_change, op, target)
        elements = self.memory.elements
        found = elements.update(b, registers, s.parts(op.val), places, change)
        if op.result.uses and is_shared(registers):
            found = self.group.exchanged(b, found, registers, registers)
        return [packed(b, registers, found)]

    def _scalar(self, op: tt.AtomicRMWOp, s: Splitter, b: Builder) -> SSAValue:
        """Update one element, the first lane for all."""
        (target,) = s.parts(op.ptr)
        flag = is_first_of_all(b)
        chosen = flag if op.mask is None else b.pure(AndIOp, flag, op.mask)
        zero = b.constant(op.val.type, 0)
        (before,) = b.effect_where(chosen, lambda: rmw(op, target, [], op.val), [zero])
        if not op.result.uses:
            return before
        memory, first = self.group.of(before.type, 1), b.constant(INDEX, 0)
        barrier(b)
        b.effect_where(flag, lambda: memref.StoreOp.get(before, memory, [first]))
        barrier(b)
        return b.effect(memref.LoadOp.get(memory, [first])).results[0]


def _refuse_cast(op: tt.AtomicRMWOp, base: SSAValue, wanted: Attribute) -> None:
    """Refuse to update memory that holds something else."""
    if (kept := memory_of(base)) != wanted:
        what = f"expected memory of {wanted} to be updated, got {kept}, which was cast"
        raise Refused(op, what)


def _change(
    op: tt.AtomicRMWOp, target: SSAValue, value: SSAValue, place: Values
) -> Operation:
    return rmw(op, target, place, value)


def rmw(
    op: tt.AtomicRMWOp, target: SSAValue, place: Values, value: SSAValue
) -> memref.AtomicRMWOp:
    """Return the update of one element."""
    attributes: dict[str, Attribute] = {
        simt.ORDERING: StringAttr(ORDERS[op.order]),
        simt.ORDERING_SCOPE: StringAttr(SCOPES[op.sync_scope]),
    }
    return memref.AtomicRMWOp.create(
        operands=[value, target, *place],
        result_types=[value.type],
        properties={"kind": IntegerAttr(KINDS[op.kind], i64)},
        attributes=attributes,
    )
