"""Where an element of a memref is: arithmetic on its strides, and a pointer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute

from coopc.emit.spirv.emission import PHYSICAL, Emission, ModuleEmission, Num, View
from coopc.emit.walker import Refusal, count_of, element_of
from coopc.spirv.instruction import Id


def buffer(whole: ModuleEmission, element: Attribute, name: str, binding: int) -> Id:
    """The variable of a storage buffer.

    Two memrefs may be the same memory, which the Vulkan memory model assumes they are
    not unless they are decorated so.
    """
    pointer = whole.types.pointer("StorageBuffer", whole.block(element))
    variable = whole.module.variable(pointer, "StorageBuffer", name=name)
    whole.module.decorate(variable, "DescriptorSet", 0)
    whole.module.decorate(variable, "Binding", binding)
    whole.module.decorate(variable, "Aliased")
    whole.buffers.append(variable)
    whole.bindings[variable] = binding
    return variable


def strides(e: Emission, view: View) -> tuple[Num, ...]:
    """The strides of a memref, in elements."""
    return e.index.strides(view)


def linear(e: Emission, view: View, positions: Sequence[Num]) -> Num:
    """Where an element is, in elements from the base."""
    return e.index.linear(view, positions)


def pointer(e: Emission, view: View, at: Num) -> Id:
    """A pointer to an element of a memref's base."""
    element = e.types.in_memory(view.element)
    to = e.types.pointer(view.storage, element)
    pointee = _pointee(view.base)
    if pointee == "OpTypeStruct":
        return e.emit(
            "OpAccessChain", view.base, e.index.id(0), e.index.id(at), type=to
        )
    if pointee == "OpTypeArray":
        return e.emit("OpAccessChain", view.base, e.index.id(at), type=to)
    if e.index.num(at) == 0:
        return view.base
    return e.emit("OpInBoundsPtrAccessChain", view.base, e.index.id(at), type=to)


def _pointee(base: Id) -> str:
    """What a pointer points to: the struct of a buffer, an array, or an element."""
    pointer_type = base.type.definition
    assert pointer_type is not None, base
    pointee = pointer_type.operands[1]
    assert isinstance(pointee, Id), base
    assert pointee.definition is not None, base
    return pointee.definition.facts.name


def base_pointer(e: Emission, view: View) -> Id:
    """A pointer to element 0 of a memref's base."""
    return pointer(e, view, 0)


def element_pointer(e: Emission, view: View, positions: Sequence[Num]) -> Id:
    """A pointer to the element at some positions."""
    return pointer(e, view, linear(e, view, positions))


def memory_operands(
    e: Emission,
    view: View,
    *,
    volatile: bool = False,
    nontemporal: bool = False,
    alignment_bytes: int | None = None,
    available: Id | None = None,
    visible: Id | None = None,
) -> list[str | int | Id]:
    """The memory operands of an access; `available` and `visible` are scopes.

    A physical storage buffer's elements are aligned by their size.
    Vulkan's accesses are private to the work-item unless they say otherwise: where the
    module has barriers, they do, for memory that others see.
    """
    flags: list[str] = []
    literals: list[int | Id] = []
    if alignment_bytes is None and view.storage == PHYSICAL:
        alignment_bytes = e.types.bytes_of(view.element)  # must be said there
    _check_alignment(e, view, alignment_bytes)
    if volatile:
        flags.append("Volatile")
    if alignment_bytes is not None:
        flags.append("Aligned")
        literals.append(alignment_bytes)
    if nontemporal:
        flags.append("Nontemporal")
    shared = available is not None or visible is not None
    for scope, flag in (
        (available, "MakePointerAvailable"),
        (visible, "MakePointerVisible"),
    ):
        if scope is not None:
            flags.append(flag)
            literals.append(scope)
    if e.facts.vulkan and e.whole.synchronises and view.storage != "Function":
        shared = True
    if shared:
        flags.append("NonPrivatePointer")
    return ["|".join(flags), *literals] if flags else []


def _check_alignment(e: Emission, view: View, alignment_bytes: int | None) -> None:
    """Refuse an alignment that SPIR-V has no access to physical storage buffers of."""
    if alignment_bytes is None or view.storage != PHYSICAL:
        return
    element = element_of(view.element)
    if alignment_bytes < (least := e.types.bytes_of(element)):
        raise Refusal(
            f"expected an alignment of at least {least} bytes, the size of {element}, "
            f"as accesses to physical storage buffers need, got {alignment_bytes}"
        )


# Consecutive elements of a buffer as words of 32 bits, which Vulkan loads at once.
#
# Vulkan has no pointer to a vector in an array of smaller elements.  But a buffer can
# be
# bound to several variables of different types: so one more variable is made of the
# same
# binding, an array of `u32`, of two or of four, and the words are cast to what is
# wanted.

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
        pass

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
