"""`memref`: atomic accesses to one element, by an instruction or by integers.

`memref.atomic_rmw`, and loads and stores that have an ordering (`simt.ordering`).  An
update without one is relaxed; who sees it as atomic (`simt.ordering_scope`) is the
device.  `coopc.plan.atomics` says what is done by integers, and what the loop is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerType, StringAttr, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.dialects.narrow import is_vector
from coopc.emit.emission import AnyEmission, Ordered
from coopc.emit.view import View
from coopc.emit.walker import Handlers, Refusal, check_combining
from coopc.passes.generic.expansion import Code
from coopc.plan.atomics import KINDS, WORD, Access, AtomicForm, atomic_form

handlers = Handlers[AnyEmission]()

AtomicOp: TypeAlias = memref.LoadOp | memref.StoreOp | memref.AtomicRMWOp


def ordered(e: AnyEmission, op: AtomicOp) -> Ordered:
    """How an operation is ordered: the nearest that the target has."""
    order = Ordering(_text(op, simt.ORDERING, Ordering.RELAXED))
    if order is Ordering.SEQUENTIALLY_CONSISTENT and not e.has_total_order:
        order = _NEAREST.get(type(op), Ordering.ACQUIRE_RELEASE)
    return Ordered(order, Scope(_text(op, simt.ORDERING_SCOPE, Scope.DEVICE)))


_NEAREST: dict[type[Operation], Ordering] = {
    memref.LoadOp: Ordering.ACQUIRE,
    memref.StoreOp: Ordering.RELEASE,
}
"""What of a total order each can have alone."""


def _text(op: Operation, name: str, otherwise: str) -> str:
    found = op.attributes.get(name)
    return found.data if isinstance(found, StringAttr) else otherwise


def kind_of(number: int, element: Attribute) -> tuple[str, Access]:
    """The name of a kind of update, and how it accesses memory.

    Raises:
        Refusal: there is no such kind, or it is not one of the elements.
    """
    if (found := KINDS.get(number)) is None:
        raise Refusal(f"expected a kind of atomic update, got {number}")
    check_combining(found[0], element)
    return found


@dataclass(frozen=True, slots=True)
class AtomicElement:
    """An element that is accessed atomically."""

    view: View[Any, Any]
    at: Any
    """Where it is, in elements from the base."""
    form: AtomicForm
    how: Ordered

    @classmethod
    def of(cls, e: AnyEmission, op: AtomicOp, access: Access) -> AtomicElement:
        """The element that an operation accesses.

        Raises:
            Refusal: it is no number of whole bytes.
        """
        view = e.view(op.memref)
        if is_vector(view.element) or view.element == i1:
            raise Refusal(
                "expected elements of 8, 16, 32 or 64 bits, which can be accessed "
                f"atomically, got {view.element}"
            )
        is_index = isinstance(view.element, IndexType)
        name = f"i{8 * e.types.bytes_of(view.element)}" if is_index else view.element
        form = atomic_form(str(name), access, e.facts.device)
        at = e.index.linear(view, e.nums(op.indices))
        return cls(view, at, form, ordered(e, op))


def load(e: AnyEmission, op: memref.LoadOp) -> None:
    element = AtomicElement.of(e, op, "access")
    if e.is_private(element.view):
        e.set(op.res, e.load(element.view, element.at))
    elif element.form == "native":
        place = e.atomic_place(element.view, element.at)
        e.set(op.res, e.atomic_load(place, element.view.element, element.how))
    else:
        with e.beside() as code:
            word = _Word.of(e, code, element)
            found = word.element_of(word.load(element.how))
            e.set(op.res, e.value(found))


def store(e: AnyEmission, op: memref.StoreOp) -> None:
    element = AtomicElement.of(e, op, "access")
    e.writes(element.view)
    if e.is_private(element.view):
        e.store(element.view, element.at, e.value(op.value))
    elif element.form == "native":
        place = e.atomic_place(element.view, element.at)
        e.atomic_store(place, e.value(op.value), element.how)
    else:
        with e.beside() as code:
            word = _Word.of(e, code, element)
            if word.shift is None:
                bits = e.value(word.bits_of(op.value))
                e.atomic_store(word.place, bits, element.how)
            else:
                word.update(element.how, lambda _: op.value)


@handlers.on(memref.AtomicRMWOp)
def update(e: AnyEmission, op: memref.AtomicRMWOp) -> None:
    """The instruction of the kind, or a loop."""
    from coopc.passes.generic.expand_vector import combined

    number = op.kind.value.data
    kind, access = kind_of(number, e.view(op.memref).element)
    element = AtomicElement.of(e, op, access)
    e.writes(element.view)
    if element.form == "native" and not e.is_private(element.view):
        place, value = e.atomic_place(element.view, element.at), e.value(op.value)
        e.set(op.result, e.atomic_update(number, place, value, element.how))
        return
    with e.beside() as code:
        if e.is_private(element.view):
            found = e.load(element.view, element.at)
            old = e.standing(op.value.type, found)
            new = e.value(combined(code, kind, old, op.value))
            e.store(element.view, element.at, new)
        else:
            word = _Word.of(e, code, element)
            old = word.update(
                element.how, lambda old: combined(code, kind, old, op.value)
            )
        e.set(op.result, e.value(old))


@dataclass(frozen=True, slots=True)
class _Word:
    """The integer that stands for an element, or that an element is a part of."""

    e: AnyEmission
    code: Code
    place: Any
    """A pointer to it."""
    type: IntegerType
    element: Attribute
    integer: IntegerType
    """Of the width of the element."""
    shift: SSAValue | None
    """Bits of it below the element, an i32; None where that is all of it."""

    @classmethod
    def of(cls, e: AnyEmission, code: Code, element: AtomicElement) -> _Word:
        view = element.view
        integer = IntegerType(8 * e.types.bytes_of(view.element))
        if element.form != "word":
            place = e.atomic_place(view, element.at, integer)
            return cls(e, code, place, integer, view.element, integer, None)
        place, shift = e.word_place(code, view, element.at)
        return cls(e, code, place, IntegerType(WORD), view.element, integer, shift)

    def load(self, how: Ordered) -> SSAValue:
        found = self.e.atomic_load(self.place, self.type, how)
        return self.e.standing(self.type, found)

    def element_of(self, word: SSAValue) -> SSAValue:
        code = self.code
        if self.shift is not None:
            low = code(arith.ShRUIOp(word, self.shift))
            word = code.cast(arith.TruncIOp, low, self.integer)
        if isinstance(self.element, IndexType):
            return code(arith.IndexCastOp(word, self.element))
        return code.cast(arith.BitcastOp, word, self.element)

    def bits_of(self, element: SSAValue) -> SSAValue:
        if isinstance(self.element, IndexType):
            return self.code(arith.IndexCastOp(element, self.integer))
        return self.code.cast(arith.BitcastOp, element, self.integer)

    def with_element(self, word: SSAValue, element: SSAValue) -> SSAValue:
        code, bits = self.code, self.bits_of(element)
        if self.shift is None:
            return bits
        mask = code.like(word, (1 << self.integer.bitwidth) - 1)
        placed = code(arith.ShLIOp(code(arith.ExtUIOp(bits, self.type)), self.shift))
        hole = code(arith.ShLIOp(mask, self.shift))
        around = code(arith.XOrIOp(hole, code.like(word, -1)))
        return code(arith.OrIOp(code(arith.AndIOp(word, around)), placed))

    def update(self, how: Ordered, combine: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """Emit an atomic update of an element; return the one that was there before.

        Args:
            how: the update is ordered.
            combine: from the element that is there to the one that is to be there.
        """
        e, flow = self.e, self.e.flow
        first = self.load(Ordered(Ordering.RELAXED, how.scope))
        before, header = flow.here(), flow.label("exchange")
        again, done = flow.label("again"), flow.label("exchanged")
        flow.jump(header)
        flow.begin(header)
        old = Block(arg_types=[self.type]).args[0]
        phi = e.phi(old, e.became[first], before)
        if flow.structured:
            body = flow.label("combine")
            flow.open_loop(done, again)
            flow.jump(body)
            flow.begin(body)
        else:
            again = header
        new = self.with_element(old, combine(self.element_of(old)))
        found, same = e.compare_exchange(self.place, e.value(old), e.value(new), how)
        seen = e.standing(self.type, found)
        arrives = again if flow.structured else flow.here()
        flow.arrive(phi, e.became[seen], arrives)
        flow.branch(same, done, again)
        if flow.structured:
            flow.begin(again)
            flow.jump(header)
        flow.begin(done)
        return self.element_of(seen)
