"""Consecutive elements of a buffer as words of 32 bits, which Vulkan loads at once.

Vulkan has no pointer to a vector in an array of smaller elements.  But a buffer can be
bound to several variables of different types: so one more variable is made of the same
binding, an array of `u32`, of two or of four, and the words are cast to what is wanted.
"""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.builtin import IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute

from coopc.emit.elements import count_of, element_of
from coopc.emit.spirv.address import memory_operands
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.view import Num, View
from coopc.spirv.instruction import Id

ALIGNMENT = "alignment"
"""On a load of a vector: bytes that divide the address of its first element."""
WORD = 32
"""Bits of a word."""
COUNTS = (1, 2, 4)
"""Words that are loaded at once."""


def of(e: Emission, op: vector.LoadOp, view: View) -> int | None:
    """How many words a load is; None where it is not done so."""
    type = op.result.type
    element = element_of(type)
    aligned = op.attributes.get(ALIGNMENT)
    if view.base not in e.whole.bindings or not isinstance(aligned, IntegerAttr):
        return None
    if element == IntegerType(1) or e.types.bits(element) > WORD:
        return None
    count, rest = divmod(count_of(type) * e.types.bits(element), WORD)
    whole = all(width * e.types.bits(element) % WORD == 0 for width in widths(e, type))
    if rest or count not in COUNTS or not whole or aligned.value.data % (4 * count):
        return None
    return count


def widths(e: Emission, type: Attribute) -> tuple[int, ...]:
    """How many components each part of a vector has."""
    return e.types.widths(type)


def load(
    e: Emission, type: Attribute, view: View, at: Num, count: int, nontemporal: bool
) -> tuple[Id, ...]:
    """Load some words; `at` is where they begin, in elements."""
    words = _type(e, count)
    pointer = e.types.pointer(view.storage, words)
    place = _place(e, at, count_of(type))
    chain = (variable(e, view.base, count), e.index.id(0), place)
    address = e.emit("OpAccessChain", *chain, type=pointer)
    access = memory_operands(e, view, nontemporal=nontemporal)
    loaded = e.emit("OpLoad", address, *access, type=words)
    found: list[Id] = []
    start, bits = 0, e.types.bits(element_of(type))
    for to, width in zip(e.types.parts(type), widths(e, type), strict=True):
        size = width * bits // WORD
        found.append(_part(e, loaded, count, range(start, start + size), to))
        start += size
    return tuple(found)


def _type(e: Emission, count: int) -> Id:
    """The type of some words."""
    return e.types.vector(e.types.u32, count)


def _place(e: Emission, at: Num, elements: int) -> Id:
    """Where words begin, in as many."""
    number = e.index.num(at)
    if isinstance(number, int):
        return e.index.id(number // elements)
    shift = e.index.id(elements.bit_length() - 1)
    if elements == 1:
        return number
    return e.emit("OpShiftRightLogical", number, shift, type=e.types.index)


def variable(e: Emission, base: Id, count: int, bits: int = WORD) -> Id:
    """The variable of a buffer as an array of words, or of wider integers."""
    integer = IntegerType(bits)
    element = integer if count == 1 else VectorType(integer, [count])
    return variable_of(e, base, element, f"words{count * bits // WORD}")


def variable_of(e: Emission, base: Id, element: Attribute, what: str) -> Id:
    """The variable of a buffer as an array of elements of another type."""
    known = e.whole.as_words
    base = e.whole.first_variable(base)
    if (base, element) not in known:
        from coopc.emit.spirv.entry import buffer

        name = f"{base.name}_{what}"
        found = buffer(e.whole, element, name, e.whole.bindings[base])
        known[base, element] = found
    return known[base, element]


def _part(e: Emission, loaded: Id, count: int, chosen: range, to: Id) -> Id:
    """Some of the words that were loaded, as another type."""
    found, type = loaded, _type(e, len(chosen))
    if len(chosen) == 1 and count > 1:
        found = e.emit("OpCompositeExtract", loaded, chosen.start, type=type)
    elif len(chosen) < count:
        found = e.emit("OpVectorShuffle", loaded, loaded, *chosen, type=type)
    return found if found.type is to else e.emit("OpBitcast", found, type=to)
