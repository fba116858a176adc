"""`memref`: atomic updates of one element.

An update without an ordering (`simt.ordering`) is relaxed; who sees it as atomic
(`simt.ordering_scope`) is the device.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from coopc.dialects import simt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.structured import Refusal
from coopc.llvm.function import Typed

handlers = Handlers()

_UPDATES = {
    0: "fadd",
    1: "add",
    2: "xchg",
    4: "max",
    5: "umax",
    7: "min",
    8: "umin",
    11: "or",
    12: "and",
    13: "fmax",
    14: "fmin",
    15: "xor",
}
"""By the numbers of MLIR's AtomicRMWKind.  The extremes of floats are those that take
the number of a number and a NaN."""

_SCOPES = {
    Scope.CROSS_DEVICE: "",
    Scope.DEVICE: "device",
    Scope.WORKGROUP: "workgroup",
    Scope.SUBGROUP: "subgroup",
    Scope.INVOCATION: "singlethread",
}
"""Who sees an update as atomic, as LLVM's SPIR-V back end calls them; everybody where
nothing is said."""

_ORDERS = {
    Ordering.RELAXED: "monotonic",
    Ordering.ACQUIRE: "acquire",
    Ordering.RELEASE: "release",
    Ordering.ACQUIRE_RELEASE: "acq_rel",
    Ordering.SEQUENTIALLY_CONSISTENT: "seq_cst",
}

WORD_BYTES = 4
"""Elements of less have no atomic instructions on GPUs."""


@handlers.on(memref.AtomicRMWOp)
def update(e: Emission, op: memref.AtomicRMWOp) -> None:
    """The instruction of the kind."""
    view = e.view(op.memref)
    if (kind := _UPDATES.get(op.kind.value.data)) is None:
        raise Refusal(f"LLVM IR has no atomic update of kind {op.kind.value.data}")
    align = e.types.bytes_of(view.element)
    if align < WORD_BYTES:
        raise Refusal(
            f"expected elements of 32 or 64 bits to be updated, got {view.element}"
        )
    pointer = e.pointer(view, e.index.linear(view, e.nums(op.indices)))
    value = e.to_memory(view.element, e.value(op.value))
    how = f"{_scope(e, op)}{_order(op)}, align {align}"
    parts = (f"atomicrmw {kind} ", Typed(pointer), ", ", Typed(value), f" {how}")
    e.set(op.result, e.from_memory(view.element, e.f.emit(value.type, *parts)))


def _scope(e: Emission, op: Operation) -> str:
    """Return who sees an update as atomic; a processor has no such scopes."""
    found = _SCOPES.get(Scope(_text(op, simt.ORDERING_SCOPE, Scope.DEVICE)))
    if found is None:
        raise Refusal("expected a scope of OpenCL, got the one of a queue family")
    return f'syncscope("{found}") ' if found and e.facts.gpu else ""


def _order(op: Operation) -> str:
    """Return what other accesses see of an update."""
    return _ORDERS[Ordering(_text(op, simt.ORDERING, Ordering.RELAXED))]


def _text(op: Operation, name: str, otherwise: str) -> str:
    found = op.attributes.get(name)
    return found.data if isinstance(found, StringAttr) else otherwise
