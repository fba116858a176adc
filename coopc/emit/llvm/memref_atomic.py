"""`memref`: atomic accesses to one element.

`memref.atomic_rmw`, and loads and stores that have an ordering (`simt.ordering`).  An
update without one is relaxed; who sees it as atomic (`simt.ordering_scope`) is the
device.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, IntegerType, StringAttr
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.dialects.narrow import is_vector
from coopc.emit.atomic_updates import update_of
from coopc.emit.llvm import compare_exchange
from coopc.emit.llvm.atomic_updates import UPDATES, combined
from coopc.emit.llvm.compare_exchange import Ordered, Word, word_of
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.view import View
from coopc.emit.structured import Refusal
from coopc.llvm.module import Typed
from coopc.llvm.values import Value
from coopc.plan.atomics import Access, Form, atomic_form

handlers = Handlers()

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


def is_atomic(op: Operation) -> bool:
    """Whether a load or a store has an ordering."""
    return simt.ORDERING in op.attributes


def atomic_load(e: Emission, op: memref.LoadOp) -> None:
    """`load atomic`, of an integer."""
    word = _word(e, op.memref, op.indices, "access")
    e.set(op.res, compare_exchange.load(e, word, _how(e, op)))


def atomic_store(e: Emission, op: memref.StoreOp) -> None:
    """`store atomic`, of an integer."""
    word = _word(e, op.memref, op.indices, "access")
    compare_exchange.store(e, word, _how(e, op), e.value(op.value))


@handlers.on(memref.AtomicRMWOp)
def update(e: Emission, op: memref.AtomicRMWOp) -> None:
    """The instruction of the kind, or a loop."""
    view, value, how = e.view(op.memref), e.value(op.value), _how(e, op)
    kind = update_of(UPDATES, op.kind.value.data, view.element)
    if _form(e, view, kind.access) != "native":
        word = _word(e, op.memref, op.indices, kind.access)

        def combine(old: Value) -> Value:
            return combined(e, kind, view.element, old, value)

        e.set(op.result, compare_exchange.update(e, word, how, combine))
        return
    pointer = e.pointer(view, e.index.linear(view, e.nums(op.indices)))
    tail = f" {how.scope}{how.order}, align {e.types.bytes_of(view.element)}"
    parts = (f"atomicrmw {kind.instruction} ", Typed(pointer), ", ", Typed(value), tail)
    e.set(op.result, e.f.emit(value.type, *parts))


def _word(
    e: Emission, memory: SSAValue, indices: Sequence[SSAValue], access: Access
) -> Word:
    """The integer for an element that is accessed."""
    view = e.view(memory)
    bits = 8 * e.types.bytes_of(view.element)
    pointer = e.pointer(view, e.index.linear(view, e.nums(indices)))
    form = _form(e, view, access)
    if form == "native":  # the integer, for loads and stores are of integers here
        form = "integer"
    return word_of(e, pointer, e.types.in_memory(view.element), bits, form)


def _form(e: Emission, view: View, access: Access) -> Form:
    """How elements of a memref are accessed atomically.

    Raises:
        Refusal: they are no numbers of whole bytes.
    """
    if is_vector(view.element) or view.element == IntegerType(1):
        raise Refusal(
            "expected elements of 8, 16, 32 or 64 bits, which can be accessed "
            f"atomically, got {view.element}"
        )
    is_index = isinstance(view.element, IndexType)
    return atomic_form("i64" if is_index else str(view.element), access, e.facts.device)


def _how(e: Emission, op: Operation) -> Ordered:
    """The scope and the ordering of an access."""
    return Ordered(_scope(e, op), _order(op))


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
