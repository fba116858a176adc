"""`memref`: atomic accesses to one element.

`memref.atomic_rmw`, and loads and stores that have an ordering (`simt.ordering`).  An
update without one is relaxed; `simt.ordering_scope` is the device without one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Operation

from coopc.dialects import simt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.emit.expanded import updated
from coopc.emit.memrefs import update_of
from coopc.emit.spirv import address
from coopc.emit.spirv.address import element_pointer, linear, pointer
from coopc.emit.spirv.emission import PHYSICAL, Emission, Handlers, Num, View
from coopc.emit.walker import Refusal
from coopc.plan.atomics import LOGICAL, WORD, Access, AtomicForm, atomic_form
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
        e.set(op.res, (load_in_word(e, word, how),))
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
        store_in_word(e, word, how, value)
        return
    place = element_pointer(e, view, positions)
    e.do("OpAtomicStore", place, how.scope, how.semantics, value)


@handlers.on(memref.AtomicRMWOp)
def update(e: Emission, op: memref.AtomicRMWOp) -> None:
    """The instruction of the kind, or a loop."""
    view = e.view(op.memref)
    how = _how(e, op, view)
    kind = update_of(op.kind.value.data, view.element)
    positions, value = e.nums(op.indices), e.id(op.value)
    e.whole.written.add(view.base)
    form = _form(e, view, kind.access)
    if view.storage == PRIVATE:
        old = _of_one(e, view, positions)
        (new,) = updated(e.walker, op, kind, (old,))
        e.do("OpStore", element_pointer(e, view, positions), new)
        e.set(op.result, (old,))
        return
    if form == "native":
        place = element_pointer(e, view, positions)
        type = e.types.in_memory(view.element)
        operands = place, how.scope, how.semantics, value
        opcode = _INSTRUCTIONS[op.kind.value.data]
        e.set(op.result, (e.emit(opcode, *operands, type=type),))
        return
    word = word_of(e, view, positions, form)

    def combine(old: Id) -> Id:
        (new,) = updated(e.walker, op, kind, (old,))
        return new

    e.set(op.result, (update_in_word(e, word, how, combine),))


def _of_one(e: Emission, view: View, positions: Sequence[Num]) -> Id:
    """Load an element that one work-item alone sees, which need not be atomic."""
    place, type = element_pointer(e, view, positions), e.types.in_memory(view.element)
    return e.emit("OpLoad", place, type=type)


def _form(e: Emission, view: View, access: Access) -> AtomicForm:
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


# Atomic accesses by integers, where a device has no instruction for an element.
#
# `coopc.plan.atomics` says when, and what the loop is.  An element is seen as an
# integer:
# under OpenCL, and in physical storage buffers, through a pointer that is cast; in
# other
# buffers of Vulkan through another variable of the same binding.  The 32 bits around a
# narrow element can reach beyond the end of its memref, not beyond a multiple of 4
# bytes.

Combine = Callable[[Id], Id]
"""From the element that is there to the one that is to be there."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """How an access is ordered."""

    scope: Id
    semantics: Id


@dataclass(frozen=True, slots=True)
class Word:
    """The integer that stands for an element, or that an element is a part of."""

    place: Id
    """A pointer to it."""
    type: Id
    """Its type."""
    element: Id
    """The type of the element."""
    shift: Num
    """Bits of it below the element."""

    @property
    def is_whole(self) -> bool:
        """Whether the element is all of it."""
        return isinstance(self.shift, int) and self.shift == 0


def word_of(
    e: Emission, view: View, positions: Sequence[Num], form: AtomicForm
) -> Word:
    """Emit where the integer for an element is.

    Raises:
        Refusal: the element's memory cannot be seen as integers.
    """
    element, at = e.types.in_memory(view.element), linear(e, view, positions)
    bits = e.types.component_bits(element)
    logical = e.facts.vulkan and view.storage != PHYSICAL
    if logical and view.base not in e.whole.bindings:
        raise Refusal(
            f"expected elements that {e.facts.device.name} has atomic instructions "
            f"for, got {view.element}: {LOGICAL}"
        )
    if form == "integer":
        return Word(_whole(e, view, at, bits, logical), e.types.int(bits), element, 0)
    find = _in_buffer if logical else _at_address
    place, shift = find(e, view, at, bits)
    return Word(place, e.types.u32, element, shift)


def _whole(e: Emission, view: View, at: Num, bits: int, logical: bool) -> Id:
    """A pointer to an element as an integer."""
    to = e.types.pointer(view.storage, e.types.int(bits))
    if not logical:
        return e.emit("OpBitcast", pointer(e, view, at), type=to)
    base = address.variable(e, view.base, 1, bits)
    return e.emit("OpAccessChain", base, e.index.id(0), e.index.id(at), type=to)


def _in_buffer(e: Emission, view: View, at: Num, bits: int) -> tuple[Id, Id]:
    """The word of a narrow element of a buffer, by its number."""
    each = WORD // bits
    number, index = e.index.id(at), e.types.index
    place = e.emit(
        "OpShiftRightLogical", number, e.index.id(each.bit_length() - 1), type=index
    )
    base = address.variable(e, view.base, 1)
    to = e.types.pointer(view.storage, e.types.u32)
    word = e.emit("OpAccessChain", base, e.index.id(0), place, type=to)
    part = e.emit("OpBitwiseAnd", number, e.index.id(each - 1), type=index)
    return word, e.emit("OpIMul", part, e.index.id(bits), type=index)


def _at_address(e: Emission, view: View, at: Num, bits: int) -> tuple[Id, Id]:
    """The word of a narrow element, by its address."""
    whole = e.types.int(64)
    address = e.emit("OpConvertPtrToU", pointer(e, view, at), type=whole)
    low, high = (e.module.constant(whole, x) for x in (3, 2**64 - 4))
    to = e.types.pointer(view.storage, e.types.u32)
    aligned = e.emit("OpBitwiseAnd", address, high, type=whole)
    word = e.emit("OpConvertUToPtr", aligned, type=to)
    part = e.emit("OpBitwiseAnd", address, low, type=whole)
    number = e.emit("OpUConvert", part, type=e.types.u32)
    return word, e.emit("OpIMul", number, e.types.enumerant(8), type=e.types.u32)


def load_in_word(e: Emission, word: Word, how: Ordered) -> Id:
    """Emit the atomic load of an element."""
    found = e.emit("OpAtomicLoad", word.place, how.scope, how.semantics, type=word.type)
    return _element(e, word, found)


def store_in_word(e: Emission, word: Word, how: Ordered, value: Id) -> None:
    """Emit the atomic store of an element."""
    if word.is_whole:
        bits = e.emit("OpBitcast", value, type=word.type)
        e.do("OpAtomicStore", word.place, how.scope, how.semantics, bits)
    else:
        update_in_word(e, word, how, lambda _: value)


def update_in_word(e: Emission, word: Word, how: Ordered, combine: Combine) -> Id:
    """Emit an atomic update of an element; the element that was there before."""
    relaxed, flow = e.types.enumerant(0), e.flow
    first = e.emit("OpAtomicLoad", word.place, how.scope, relaxed, type=word.type)
    before, header = flow.here(), flow.label("exchange")
    body, again, done = (flow.label(x) for x in ("combine", "again", "exchanged"))
    flow.jump(header)
    flow.begin(header)
    old = e.emit("OpPhi", first, before, type=word.type)
    e.do("OpLoopMerge", done, again, "None")
    flow.jump(body)
    flow.begin(body)
    new = _with(e, word, old, combine(_element(e, word, old)))
    seen = e.emit(
        "OpAtomicCompareExchange",
        *(word.place, how.scope, how.semantics, relaxed, new, old),
        type=word.type,
    )
    same = e.emit("OpIEqual", seen, old, type=e.types.bool)
    flow.branch((same,), done, again)
    flow.begin(again)
    flow.arrive((old,), (seen,), again)
    flow.jump(header)
    flow.begin(done)
    return _element(e, word, seen)


def _element(e: Emission, word: Word, found: Id) -> Id:
    """An element of what a word is."""
    bits = e.types.component_bits(word.element)
    if not word.is_whole:
        shift = e.index.id(word.shift)
        found = e.emit("OpShiftRightLogical", found, shift, type=word.type)
        found = e.emit("OpUConvert", found, type=e.types.int(bits))
    if found.type is word.element:
        return found
    return e.emit("OpBitcast", found, type=word.element)


def _with(e: Emission, word: Word, old: Id, element: Id) -> Id:
    """A word with another element in it."""
    bits = e.types.component_bits(word.element)
    integer = e.types.int(bits)
    if element.type is not integer:
        element = e.emit("OpBitcast", element, type=integer)
    if word.is_whole:
        return element
    shift, mask = e.index.id(word.shift), e.types.enumerant((1 << bits) - 1)
    wide = e.emit("OpUConvert", element, type=word.type)
    placed = e.emit("OpShiftLeftLogical", wide, shift, type=word.type)
    hole = e.emit("OpShiftLeftLogical", mask, shift, type=word.type)
    around = e.emit("OpNot", hole, type=word.type)
    kept = e.emit("OpBitwiseAnd", old, around, type=word.type)
    return e.emit("OpBitwiseOr", kept, placed, type=word.type)


_INSTRUCTIONS = {
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
"""By the number of a kind, where there is one."""
