"""What memory behind Triton's pointers becomes, and its atomic updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import (
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    i64,
)
from xdsl.dialects.memref import AtomicRMWOp, ReinterpretCastOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt, tt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.dialects.narrow import memref_type
from coopc.ir.builder import INDEX, Builder

MANY = 1 << 40
"""Elements that memory behind a pointer has, as far as anybody knows."""

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


def cast_memory(base: SSAValue, offset: SSAValue | int, size: int | None) -> Operation:
    """Return memory from an offset on: of rank 1 and some size, or of rank 0."""
    sizes = [] if size is None else [size]
    strides = [1 for _ in sizes]
    is_plain = size is not None and offset == 0
    layout = NoneAttr() if is_plain else StridedLayoutAttr(strides, None)
    type = MemRefType(memref_type(base).get_element_type(), sizes, layout)
    return ReinterpretCastOp.from_dynamic(base, [offset], sizes, strides, type)


def in_elements(b: Builder, memory: SSAValue, element: Attribute) -> SSAValue:
    """Return memory of rank 1 as elements of a type that has as many bits."""
    if memref_type(memory).get_element_type() == element:
        return memory
    return b.pure(
        simt.ViewElementsOp, memory, (b.constant(INDEX, 0),), (MANY,), element
    )


AtomicOp: TypeAlias = tt.AtomicRMWOp | tt.AtomicCASOp
Update: TypeAlias = Callable[[SSAValue, SSAValue, Sequence[SSAValue]], Operation]
"""From memory, a value and a place there to the update of one element."""


def update_by(op: AtomicOp, of: Callable[[SSAValue], SSAValue]) -> Update:
    """Return the update of an element; `of` gives what it needs of other tensors."""
    expected = of(op.cmp) if isinstance(op, tt.AtomicCASOp) else None

    def update(
        target: SSAValue, value: SSAValue, place: Sequence[SSAValue]
    ) -> Operation:
        new: Operation
        if isinstance(op, tt.AtomicRMWOp):
            new = update_memory(op.kind, target, value, place)
        else:
            assert expected is not None, op
            new = simt.CompareExchangeOp(expected, value, target, place)
        new.attributes[simt.ORDERING] = StringAttr(ORDERS[op.order])
        new.attributes[simt.ORDERING_SCOPE] = StringAttr(SCOPES[op.sync_scope])
        return new

    return update


def update_memory(
    kind: tt.Update, target: SSAValue, value: SSAValue, place: Sequence[SSAValue]
) -> AtomicRMWOp:
    """Return an update of one element in whatever order with other accesses."""
    return AtomicRMWOp.create(
        operands=[value, target, *place],
        result_types=[value.type],
        properties={"kind": IntegerAttr(KINDS[kind], i64)},
    )
