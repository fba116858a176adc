"""Atomic updates by integers, where a target has no instruction for an element.

`coopc.plan.atomics` says when, and what the loop is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coopc.emit.llvm.emission import Emission
from coopc.llvm.module import Typed, arrive
from coopc.llvm.types import I1, I32, I64, Int, Struct, Type
from coopc.llvm.values import Value, integer
from coopc.plan.atomics import WORD, Form

Combine = Callable[[Value], Value]
"""From the element that is there to the one that is to be there."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """How an access is ordered, in LLVM's words."""

    scope: str
    """`syncscope(..) `, or nothing."""
    order: str


@dataclass(frozen=True, slots=True)
class Word:
    """The integer that stands for an element, or that an element is a part of."""

    pointer: Value
    type: Int
    element: Type
    bits: int
    """Of the element."""
    shift: Value | None
    """Bits of it below the element; None where that is all of it."""


def word_of(e: Emission, pointer: Value, element: Type, bits: int, form: Form) -> Word:
    """Emit where the integer for an element is."""
    if form == "integer":
        return Word(pointer, Int(bits), element, bits, None)
    address = e.f.cast("ptrtoint", pointer, I64)
    aligned = e.f.binary("and", address, integer(I64, -4))
    part = e.f.cast("trunc", e.f.binary("and", address, integer(I64, 3)), I32)
    shift = e.f.binary("shl", part, integer(I32, 3))
    place = e.f.cast("inttoptr", aligned, pointer.type)
    return Word(place, Int(WORD), element, bits, shift)


def load(e: Emission, word: Word, how: Ordered) -> Value:
    """Emit the atomic load of an element."""
    return _element(e, word, _load(e, word, how.scope, how.order))


def store(e: Emission, word: Word, how: Ordered, value: Value) -> None:
    """Emit the atomic store of an element."""
    if word.shift is not None:
        update(e, word, how, lambda _: value)
        return
    bits = e.f.cast("bitcast", value, word.type)
    tail = f" {how.scope}{how.order}, align {word.bits // 8}"
    e.f.do("store atomic ", Typed(bits), ", ", Typed(word.pointer), tail)


def update(e: Emission, word: Word, how: Ordered, combine: Combine) -> Value:
    """Emit an atomic update of an element; the element that was there before."""
    first, before = _load(e, word, how.scope, "monotonic"), e.flow.here()
    again, done = e.flow.label("exchange"), e.flow.label("exchanged")
    e.flow.jump(again)
    e.flow.begin(again)
    old, phi = e.f.phi(word.type)
    arrive(phi, first, before)
    new = _with(e, word, old, combine(_element(e, word, old)))
    pair = e.f.emit(
        Struct((word.type, I1)),
        *("cmpxchg ", Typed(word.pointer), ", ", Typed(old), ", ", Typed(new)),
        f" {how.scope}{how.order} monotonic, align {word.type.bits // 8}",
    )
    seen = e.f.emit(word.type, "extractvalue ", Typed(pair), ", 0")
    same = e.f.emit(I1, "extractvalue ", Typed(pair), ", 1")
    arrive(phi, seen, e.flow.here())
    e.flow.branch(same, done, again)
    e.flow.begin(done)
    return _element(e, word, seen)


def _load(e: Emission, word: Word, scope: str, order: str) -> Value:
    tail = f" {scope}{order}, align {word.type.bits // 8}"
    return e.f.emit(word.type, f"load atomic {word.type}, ", Typed(word.pointer), tail)


def _element(e: Emission, word: Word, found: Value) -> Value:
    """An element of what a word is."""
    if word.shift is not None:
        found = e.f.binary("lshr", found, word.shift)
        found = e.f.cast("trunc", found, Int(word.bits))
    return e.f.cast("bitcast", found, word.element)


def _with(e: Emission, word: Word, old: Value, element: Value) -> Value:
    """A word with another element in it."""
    bits = e.f.cast("bitcast", element, Int(word.bits))
    if word.shift is None:
        return bits
    mask = integer(word.type, (1 << word.bits) - 1)
    placed = e.f.binary("shl", e.f.cast("zext", bits, word.type), word.shift)
    hole = e.f.binary("shl", mask, word.shift)
    kept = e.f.binary("and", old, e.f.binary("xor", hole, integer(word.type, -1)))
    return e.f.binary("or", kept, placed)
