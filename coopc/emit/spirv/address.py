"""Where an element of a memref is: arithmetic on its strides, and a pointer."""

from __future__ import annotations

from collections.abc import Sequence

from coopc.emit.elements import element_of
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.view import PHYSICAL, Num, View
from coopc.emit.structured import Refusal
from coopc.spirv.instruction import Id


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
