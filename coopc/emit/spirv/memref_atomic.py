"""`memref`: atomic accesses to one element.

`memref.atomic_rmw`, and loads and stores that have an ordering (`simt.ordering`).  An
update without one is relaxed; who sees it as atomic (`simt.scope`) is the device.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from coopc.dialects import simt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.dialects.narrow import is_integer
from coopc.emit.spirv.address import element_pointer
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.view import View
from coopc.emit.structured import Refusal
from coopc.spirv.statement import Id

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

_UPDATES = {
    0: "OpAtomicFAddEXT",
    1: "OpAtomicIAdd",
    2: "OpAtomicExchange",
    4: "OpAtomicSMax",
    5: "OpAtomicUMax",
    7: "OpAtomicSMin",
    8: "OpAtomicUMin",
    11: "OpAtomicOr",
    12: "OpAtomicAnd",
    13: "OpAtomicFMaxEXT",
    14: "OpAtomicFMinEXT",
    15: "OpAtomicXor",
}
"""By the numbers of MLIR's AtomicRMWKind.  The extremes of floats are those that take
the number of a number and a NaN."""


def is_atomic(op: Operation) -> bool:
    """Whether a load or a store has an ordering."""
    return simt.ORDERING in op.attributes


def atomic_load(e: Emission, op: memref.LoadOp) -> None:
    """OpAtomicLoad."""
    view = e.view(op.memref)
    place = element_pointer(e, view, e.nums(op.indices))
    type = _type(e, view)
    id = e.emit("OpAtomicLoad", place, *_how(e, op, view), type=type)
    e.set(op.res, (id,))


def atomic_store(e: Emission, op: memref.StoreOp) -> None:
    """OpAtomicStore."""
    view = e.view(op.memref)
    place = element_pointer(e, view, e.nums(op.indices))
    type, value = _type(e, view), e.id(op.value)
    e.whole.written.add(view.base)
    if not (e.facts.vulkan or is_integer(view.element)):
        # Intel's run-time 2026.2 has no atomic store of f64: "Symbols not found:
        # atomic_xchg(double)".
        whole = e.types.int(e.types.component_bits(type))
        pointer = e.types.pointer(view.storage, whole)
        place = e.emit("OpBitcast", place, type=pointer)
        value = e.emit("OpBitcast", value, type=whole)
    e.do("OpAtomicStore", place, *_how(e, op, view), value)


@handlers.on(memref.AtomicRMWOp)
def update(e: Emission, op: memref.AtomicRMWOp) -> None:
    """The instruction of the kind."""
    view = e.view(op.memref)
    if (opcode := _UPDATES.get(op.kind.value.data)) is None:
        raise Refusal(f"SPIR-V has no atomic update of kind {op.kind.value.data}")
    place = element_pointer(e, view, e.nums(op.indices))
    type = _type(e, view)
    e.whole.written.add(view.base)
    id = e.emit(opcode, place, *_how(e, op, view), e.id(op.value), type=type)
    e.set(op.result, (id,))


def _type(e: Emission, view: View) -> Id:
    """The type of what is accessed atomically.

    Raises:
        Refusal: there are no such atomic instructions.
    """
    element: Attribute = view.element
    if e.types.bits(element) < 32:
        raise Refusal(
            f"expected elements of 32 or 64 bits, which atomic instructions have, "
            f"got {element}"
        )
    return e.types.in_memory(element)


def _how(e: Emission, op: Operation, view: View) -> tuple[Id, Id]:
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
    return e.types.enumerant(scope), e.types.enumerant(order)


def _text(op: Operation, name: str, otherwise: str) -> str:
    found = op.attributes.get(name)
    return found.data if isinstance(found, StringAttr) else otherwise
