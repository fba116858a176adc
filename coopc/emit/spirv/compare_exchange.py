"""Atomic accesses by integers, where a device has no instruction for an element.

`coopc.plan.atomics` says when, and what the loop is.  An element is seen as an integer:
under OpenCL, and in physical storage buffers, through a pointer that is cast; in other
buffers of Vulkan through another variable of the same binding.  The 32 bits around a
narrow element can reach beyond the end of its memref, not beyond a multiple of 4 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coopc.emit.spirv import words
from coopc.emit.spirv.address import linear, pointer
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.view import PHYSICAL, Num, View
from coopc.emit.structured import Refusal
from coopc.plan.atomics import LOGICAL, WORD, Form
from coopc.spirv.instruction import Id

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


def word_of(e: Emission, view: View, positions: Sequence[Num], form: Form) -> Word:
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
    base = words.variable(e, view.base, 1, bits)
    return e.emit("OpAccessChain", base, e.index.id(0), e.index.id(at), type=to)


def _in_buffer(e: Emission, view: View, at: Num, bits: int) -> tuple[Id, Id]:
    """The word of a narrow element of a buffer, by its number."""
    each = WORD // bits
    number, index = e.index.id(at), e.types.index
    place = e.emit(
        "OpShiftRightLogical", number, e.index.id(each.bit_length() - 1), type=index
    )
    base = words.variable(e, view.base, 1)
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


def load(e: Emission, word: Word, how: Ordered) -> Id:
    """Emit the atomic load of an element."""
    found = e.emit("OpAtomicLoad", word.place, how.scope, how.semantics, type=word.type)
    return _element(e, word, found)


def store(e: Emission, word: Word, how: Ordered, value: Id) -> None:
    """Emit the atomic store of an element."""
    if word.is_whole:
        bits = e.emit("OpBitcast", value, type=word.type)
        e.do("OpAtomicStore", word.place, how.scope, how.semantics, bits)
    else:
        update(e, word, how, lambda _: value)


def update(e: Emission, word: Word, how: Ordered, combine: Combine) -> Id:
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
