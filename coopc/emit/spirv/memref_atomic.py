"""`memref`: atomic accesses to one element.

`memref.atomic_rmw`, and loads and stores that have an ordering (`simt.ordering`).  An
update without one is relaxed; `simt.ordering_scope` is the device without one.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Operation

from coopc.dialects import simt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.emit.atomic_updates import update_of
from coopc.emit.spirv import compare_exchange
from coopc.emit.spirv.address import element_pointer
from coopc.emit.spirv.atomic_updates import UPDATES, combined
from coopc.emit.spirv.compare_exchange import Ordered, word_of
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.view import Num, View
from coopc.emit.structured import Refusal
from coopc.plan.atomics import Access, Form, atomic_form
from coopc.spirv.instruction import Id

handlers = Handlers()

_SCOPES = {
    Scope.CROSS_DEVICE: 0,
    Scope.DEVICE: 1,
    Scope.WORKGROUP: 2,
    Scope.SUBGROUP: 3,
    Scope.INVOCATION: 4,
    Scope.QUEUE_FAMILY: 5,
}
"""Scope in the SPIR-V specification."""

_QUEUE_FAMILY = 5
"""The widest scope that Vulkan has without another capability."""

_ORDERS = {
    Ordering.RELAXED: 0x0,
    Ordering.ACQUIRE: 0x2,
    Ordering.RELEASE: 0x4,
    Ordering.ACQUIRE_RELEASE: 0x8,
    Ordering.SEQUENTIALLY_CONSISTENT: 0x10,
}
"""Memory semantics in the SPIR-V specification."""

PRIVATE = "Function"
"""The storage class of what one work-item has, which Vulkan has no atomics for."""

_ACQUIRES, _RELEASES = 0x2 | 0x8, 0x4 | 0x8
_MAKE_AVAILABLE, _MAKE_VISIBLE = 0x2000, 0x4000
_MEMORIES = {
    "CrossWorkgroup": 0x200,
    "Workgroup": 0x100,
    "StorageBuffer": 0x40,
    "PhysicalStorageBuffer": 0x40,
    "Function": 0x0,
}
"""Which memory an ordering is about, by storage class."""


def is_atomic(op: Operation) -> bool:
    """Whether a load or a store has an ordering."""
    return simt.ORDERING in op.attributes


def atomic_load(e: Emission, op: memref.LoadOp) -> None:
    """OpAtomicLoad."""
    view = e.view(op.memref)
    how = _how(e, op, view)
    positions = e.nums(op.indices)
    form = _form(e, view, "access")
    if view.storage == PRIVATE:
        e.set(op.res, (_of_one(e, view, positions),))
        return
    if form != "native":
        word = word_of(e, view, positions, form)
        e.set(op.res, (compare_exchange.load(e, word, how),))
        return
    place, type = element_pointer(e, view, positions), e.types.in_memory(view.element)
    id = e.emit("OpAtomicLoad", place, how.scope, how.semantics, type=type)
    e.set(op.res, (id,))


def atomic_store(e: Emission, op: memref.StoreOp) -> None:
    """OpAtomicStore."""
    view = e.view(op.memref)
    how = _how(e, op, view)
    positions, value = e.nums(op.indices), e.id(op.value)
    e.whole.written.add(view.base)
    form = _form(e, view, "access")
    if view.storage == PRIVATE:
        e.do("OpStore", element_pointer(e, view, positions), value)
        return
    if form != "native":
        word = word_of(e, view, positions, form)
        compare_exchange.store(e, word, how, value)
        return
    place = element_pointer(e, view, positions)
    e.do("OpAtomicStore", place, how.scope, how.semantics, value)


@handlers.on(memref.AtomicRMWOp)
def update(e: Emission, op: memref.AtomicRMWOp) -> None:
    """The instruction of the kind, or a loop."""
    view = e.view(op.memref)
    how = _how(e, op, view)
    kind = update_of(UPDATES, op.kind.value.data, view.element)
    positions, value = e.nums(op.indices), e.id(op.value)
    e.whole.written.add(view.base)
    form = _form(e, view, kind.access)
    if view.storage == PRIVATE:
        old = _of_one(e, view, positions)
        new = combined(e, kind, view.element, old, value)
        e.do("OpStore", element_pointer(e, view, positions), new)
        e.set(op.result, (old,))
        return
    if form == "native":
        place = element_pointer(e, view, positions)
        type = e.types.in_memory(view.element)
        operands = place, how.scope, how.semantics, value
        e.set(op.result, (e.emit(kind.instruction, *operands, type=type),))
        return
    word = word_of(e, view, positions, form)

    def combine(old: Id) -> Id:
        return combined(e, kind, view.element, old, value)

    e.set(op.result, (compare_exchange.update(e, word, how, combine),))


def _of_one(e: Emission, view: View, positions: Sequence[Num]) -> Id:
    """Load an element that one work-item alone sees, which need not be atomic."""
    place, type = element_pointer(e, view, positions), e.types.in_memory(view.element)
    return e.emit("OpLoad", place, type=type)


def _form(e: Emission, view: View, access: Access) -> Form:
    """How elements of a memref are accessed atomically.

    Raises:
        Refusal: they are no numbers of whole bytes.
    """
    if (bits := e.types.bits(view.element)) < 8:
        raise Refusal(
            "expected elements of 8, 16, 32 or 64 bits, which can be accessed "
            f"atomically, got {view.element}"
        )
    is_index = isinstance(view.element, IndexType)
    name = f"i{bits}" if is_index else str(view.element)
    return atomic_form(name, access, e.facts.device)


def _how(e: Emission, op: Operation, view: View) -> Ordered:
    """The scope and the memory semantics of an access."""
    vulkan = e.facts.vulkan
    scope = _SCOPES[Scope(_text(op, simt.ORDERING_SCOPE, Scope.DEVICE))]
    if vulkan and scope in (0, 1):
        scope = _QUEUE_FAMILY
    order = _ORDERS[Ordering(_text(op, simt.ORDERING, Ordering.RELAXED))]
    if vulkan and order == _ORDERS[Ordering.SEQUENTIALLY_CONSISTENT]:
        # Vulkan has none: what is nearest that the instruction can have.
        order = 0x2 if isinstance(op, memref.LoadOp) else 0x4
        order = 0x8 if isinstance(op, memref.AtomicRMWOp) else order
    if order:
        available = _MAKE_AVAILABLE if order & _RELEASES else 0
        visible = _MAKE_VISIBLE if order & _ACQUIRES else 0
        order |= _MEMORIES[view.storage] | (available | visible if vulkan else 0)
    return Ordered(e.types.enumerant(scope), e.types.enumerant(order))


def _text(op: Operation, name: str, otherwise: str) -> str:
    found = op.attributes.get(name)
    return found.data if isinstance(found, StringAttr) else otherwise
