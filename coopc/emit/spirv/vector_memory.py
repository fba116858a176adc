"""`vector` and memory: consecutive elements of a memref, some of them masked.

OpenCL accesses them as one vector through a pointer to one.  Vulkan, which has none,
does so one by one, as do masked accesses, under a branch each.  Vulkan loads 4, 8 or 16
bytes of a buffer at once where the operation has an attribute `alignment` that says so:
see `words`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import IntegerType

from coopc.emit.spirv import words
from coopc.emit.spirv.address import memory_operands, pointer
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.memref import is_true
from coopc.emit.spirv.view import Num, View
from coopc.spirv.instruction import Id

handlers = Handlers()


@handlers.on(vector.LoadOp)
def load(e: Emission, op: vector.LoadOp) -> None:
    """Consecutive elements."""
    view, type = e.view(op.base), op.result.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    nontemporal = is_true(op.nontemporal)
    if (count := words.of(e, op, view)) is not None:
        e.set(op.result, words.load(e, type, view, at, count, nontemporal))
        return
    found: list[Id] = []
    for to, width in zip(e.types.parts(type), e.types.widths(type), strict=True):
        found.append(_load_part(e, view, at, to, width, nontemporal))
        at = e.index.add(at, width)
    e.set(op.result, tuple(found))


def _load_part(
    e: Emission, view: View, at: Num, to: Id, width: int, nontemporal: bool
) -> Id:
    if is_whole(e, view, width):
        place = vector_pointer(e, view, at, to)
        access = _access(e, view, nontemporal, width)
        return e.emit("OpLoad", place, *access, type=to)
    element = e.types.in_memory(view.element)
    scalars: list[Id] = []
    for plus in range(width):
        place = pointer(e, view, e.index.add(at, plus))
        access = _access(e, view, nontemporal, 1)
        id = e.emit("OpLoad", place, *access, type=element)
        scalars.append(e.from_memory(view.element, id))
    if width == 1:
        return scalars[0]
    return e.emit("OpCompositeConstruct", *scalars, type=to)


@handlers.on(vector.StoreOp)
def store(e: Emission, op: vector.StoreOp) -> None:
    """Consecutive elements."""
    view, type = e.view(op.base), op.vector.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    nontemporal = is_true(op.nontemporal)
    e.whole.written.add(view.base)
    for part, width in zip(e.parts(op.vector), e.types.widths(type), strict=True):
        if is_whole(e, view, width):
            place = vector_pointer(e, view, at, part.type)
            e.do("OpStore", place, part, *_access(e, view, nontemporal, width))
        else:
            _store_each(e, view, at, e.components(part), nontemporal)
        at = e.index.add(at, width)


def _store_each(
    e: Emission, view: View, at: Num, scalars: Sequence[Id], nontemporal: bool
) -> None:
    """Store components one by one."""
    for plus, scalar in enumerate(scalars):
        place = pointer(e, view, e.index.add(at, plus))
        value = e.to_memory(view.element, scalar)
        e.do("OpStore", place, value, *_access(e, view, nontemporal, 1))


def is_whole(e: Emission, view: View, width: int) -> bool:
    """Whether a vector is accessed as one: OpenCL's, but those of 3 take the room of 4.

    Vulkan has no pointer to a vector in an array of scalars; a bool has no bits.
    """
    one_byte = view.element == IntegerType(1)
    return not e.facts.vulkan and width not in (1, 3) and not one_byte


def vector_pointer(e: Emission, view: View, at: Num, to: Id) -> Id:
    """A pointer to some elements as one vector."""
    place = pointer(e, view, at)
    return e.emit("OpBitcast", place, type=e.types.pointer(view.storage, to))


def _access(
    e: Emission, view: View, nontemporal: bool, width: int
) -> list[str | int | Id]:
    """Memory operands: a vector has the alignment of its elements."""
    size = e.types.bytes_of(view.element) if width > 1 else None
    return memory_operands(e, view, nontemporal=nontemporal, alignment_bytes=size)


@handlers.on(vector.MaskedLoadOp)
def masked_load(e: Emission, op: vector.MaskedLoadOp) -> None:
    """The elements that a mask chooses, and components of another vector."""
    view, type = e.view(op.base), op.result.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    element = e.types.in_memory(view.element)
    found: list[Id] = []
    pairs = zip(e.scalars(op.mask), e.scalars(op.pass_thru), strict=True)
    for plus, (chosen, other) in enumerate(pairs):
        place = e.index.add(at, plus)

        def load(place: Num = place) -> Id:
            access = _access(e, view, False, 1)
            id = e.emit("OpLoad", pointer(e, view, place), *access, type=element)
            return e.from_memory(view.element, id)

        found.append(_if(e, chosen, load, other))
    e.set(op.result, e.gathered(type, found))


@handlers.on(vector.MaskedStoreOp)
def masked_store(e: Emission, op: vector.MaskedStoreOp) -> None:
    """The components that a mask chooses."""
    view = e.view(op.base)
    e.whole.written.add(view.base)
    at = e.index.consecutive(view, e.nums(op.indices), op.value_to_store.type)
    pairs = zip(e.scalars(op.mask), e.scalars(op.value_to_store), strict=True)
    for plus, (chosen, scalar) in enumerate(pairs):
        place = e.index.add(at, plus)

        def store(place: Num = place, scalar: Id = scalar) -> None:
            _store_each(e, view, place, (scalar,), False)

        _if(e, chosen, store, None)


def _if(
    e: Emission, condition: Id, make: Callable[[], Id | None], other: Id | None
) -> Id:
    """What `make` emits under a condition, else another value."""
    flow = e.flow
    then, done, before = flow.label("then"), flow.label("done"), flow.here()
    flow.open_selection(done)
    flow.branch((condition,), then, done)
    flow.begin(then)
    flow.enter()
    made = make()
    flow.leave()
    flow.jump(done)
    flow.begin(done)
    if made is None or other is None:
        return condition
    return e.emit("OpPhi", made, then, other, before, type=made.type)
