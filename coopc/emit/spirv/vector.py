"""`vector` and `memref`: components in and out of vectors, and elements of memory.

What a vector's parts allow is one instruction a part; the rest goes component by
component.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute

from coopc.dialects.memref_forms import PrefetchOp
from coopc.emit import memref
from coopc.emit.memref import alignment_of, hints_of, masked_load, masked_store
from coopc.emit.spirv.arith import same_bits
from coopc.emit.spirv.emission import Emission, Handlers
from coopc.emit.spirv.types import VECTOR_WIDTHS
from coopc.emit.spirv.view import PHYSICAL, Num, View
from coopc.emit.view import repeats_of
from coopc.emit.walker import NoForm, count_of, element_of, is_i1
from coopc.plan.atomic_form import WORD
from coopc.spirv.instruction import Id

handlers = Handlers(memref.handlers)
handlers.add(vector.MaskedLoadOp, masked_load)
handlers.add(vector.MaskedStoreOp, masked_store)
handlers.add(PrefetchOp, lambda e, op: None)


@handlers.on(vector.BroadcastOp)
def broadcast(e: Emission, op: vector.BroadcastOp) -> None:
    """A scalar in every component, or a vector in every row."""
    type = op.vector.type
    scalars = e.scalars(op.source)
    e.set(op.vector, e.gathered(type, scalars * repeats_of(op)))


@handlers.on(vector.ShuffleOp)
def shuffle(e: Emission, op: vector.ShuffleOp) -> None:
    """Rows of two vectors in another order; -1 is any."""
    type = op.result.type
    rows = op.result.type.get_shape()[0]
    width = count_of(type) // rows
    if width == 1 and all(_is_one_vector(e, v) for v in (op.v1.type, op.v2.type, type)):
        mask = (int(row) % (1 << 32) for row in op.mask.get_values())
        (to,) = e.types.parts(type)
        both = e.value(op.v1), e.value(op.v2)
        e.set(op.result, (e.emit("OpVectorShuffle", *both, *mask, type=to),))
        return
    scalars = [*e.scalars(op.v1), *e.scalars(op.v2)]
    undefined = e.module.undef(e.element(type))
    chosen: list[Id] = []
    for row in op.mask.get_values():
        start = int(row) * width
        chosen += scalars[start : start + width] if row >= 0 else [undefined] * width
    e.set(op.result, e.gathered(type, chosen))


def _is_one_vector(e: Emission, type: Attribute) -> bool:
    widths = e.types.widths(type)
    return len(widths) == 1 and widths[0] > 1


@handlers.on(vector.ExtractOp)
def extract(e: Emission, op: vector.ExtractOp) -> None:
    """A component, or a vector of the last dimensions."""
    static = [int(n) for n in op.static_position.get_values()]
    at, count = e.index.place(op.vector.type, static, e.nums(op.dynamic_position))
    if isinstance(at, int):
        scalars = e.scalars(op.vector, range(at, at + count))
    elif count == 1 and _is_one_vector(e, op.vector.type):
        (part,) = e.parts(op.vector)
        type = e.element(op.result.type)
        e.set(op.result, (e.emit("OpVectorExtractDynamic", part, at, type=type),))
        return
    else:
        scalars: list[Id] = []
        for n in range(count):
            some = e.scalars(op.vector)
            found, wanted = some[0], e.index.add(at, n)
            for number, scalar in enumerate(some):
                found = _if_at(e, wanted, number, scalar, found)
            scalars.append(found)
    e.set(op.result, e.gathered(op.result.type, scalars))


def _if_at(e: Emission, at: Num, number: int, yes: Id, no: Id) -> Id:
    """One of two components, by whether a position that varies is a number."""
    ids = e.index.value(at), e.index.value(number)
    here = e.emit("OpIEqual", *ids, type=e.bool)
    return e.emit("OpSelect", here, yes, no, type=yes.type)


@handlers.on(vector.InsertOp)
def insert(e: Emission, op: vector.InsertOp) -> None:
    """A vector with one component, or its last dimensions at a position, replaced."""
    static = [int(n) for n in op.static_position.get_values()]
    at, count = e.index.place(op.dest.type, static, e.nums(op.dynamic_position))
    new = e.scalars(op.source)
    if isinstance(at, int):
        e.set(op.result, _inserted(e, e.parts(op.dest), at, new))
        return
    if count == 1 and _is_one_vector(e, op.dest.type):
        (part,) = e.parts(op.dest)
        id = e.emit("OpVectorInsertDynamic", part, new[0], at, type=part.type)
        e.set(op.result, (id,))
        return
    scalars = e.scalars(op.dest)
    for plus, scalar in enumerate(new):
        wanted = e.index.add(at, plus)
        scalars = [_if_at(e, wanted, n, scalar, x) for n, x in enumerate(scalars)]
    e.set(op.result, e.gathered(op.result.type, scalars))


def _inserted(
    e: Emission, parts: Sequence[Id], at: int, new: Sequence[Id]
) -> tuple[Id, ...]:
    """The parts of a vector with other components from a position on."""
    found: list[Id] = []
    for part in parts:
        width = e.types.width(part.type)
        first, last = max(at, 0), max(at, 0, min(at + len(new), width))
        some = new[first - at : last - at]
        if len(some) == width > 1:
            part = e.emit("OpCompositeConstruct", *some, type=part.type)
        else:
            for place, one in enumerate(some, first):
                part = (
                    one
                    if width == 1
                    else e.emit("OpCompositeInsert", one, part, place, type=part.type)
                )
        found.append(part)
        at -= width
    return tuple(found)


@handlers.on(vector.BitcastOp)
def bitcast(e: Emission, op: vector.BitcastOp) -> None:
    source, result = op.source.type, op.result.type
    if is_i1(source) or is_i1(result):
        raise NoForm("expected components with a place in memory, got i1")
    element = e.element(result)
    bits, wanted = e.types.bits(element_of(source)), e.types.bits(element_of(result))
    if bits == wanted:
        same_bits(e, op)
        return
    if (found := _as_words(e, op)) is not None:
        e.set(op.result, found)
        return
    atom = min(bits, wanted)
    atoms: list[Id] = []
    for scalar in e.scalars(op.source):
        atoms += split_bits(e, scalar, bits, atom)
    step = wanted // atom
    groups = [atoms[at : at + step] for at in range(0, len(atoms), step)]
    e.set(op.result, e.gathered(result, [joined(e, g, element) for g in groups]))


def _as_words(e: Emission, op: vector.BitcastOp) -> tuple[Id, ...] | None:
    """Integers of 32 bits from parts that are so many each; None for other types."""
    source, result = op.source.type, op.result.type
    bits = e.types.bits(element_of(source))
    sizes = [width * bits for width in e.types.widths(source)]
    allowed = (32, *(32 * width for width in VECTOR_WIDTHS[e.facts.flavour]))
    if element_of(result) != i32 or any(size not in allowed for size in sizes):
        return None
    words: list[Id] = []
    for part, size in zip(e.parts(op.source), sizes, strict=True):
        to = e.types.vector(e.types.u32, size // 32)
        words += e.components(e.emit("OpBitcast", part, type=to))
    return e.gathered(result, words)


def split_bits(e: Emission, scalar: Id, bits: int, atom: int) -> list[Id]:
    """A number as integers of fewer bits, the low ones first."""
    if bits == atom:
        to = e.types.int(atom)
        return [scalar if scalar.type is to else e.emit("OpBitcast", scalar, type=to)]
    half = bits // 2
    pair = e.types.vector(e.types.int(half), 2)
    both = e.emit("OpBitcast", scalar, type=pair)
    found: list[Id] = []
    for at in range(2):
        each = e.emit("OpCompositeExtract", both, at, type=e.types.int(half))
        found += split_bits(e, each, half, atom)
    return found


def joined(e: Emission, atoms: Sequence[Id], to: Id) -> Id:
    """A number from integers of fewer bits, the low ones first."""
    if len(atoms) == 1:
        (one,) = atoms
        return one if one.type is to else e.emit("OpBitcast", one, type=to)
    middle = len(atoms) // 2
    half = e.types.int(e.types.component_bits(to) // 2)
    low, high = joined(e, atoms[:middle], half), joined(e, atoms[middle:], half)
    pair = e.types.vector(half, 2)
    return e.emit(
        "OpBitcast", e.emit("OpCompositeConstruct", low, high, type=pair), type=to
    )


# `vector` and memory: consecutive elements of a memref.
#
# OpenCL accesses them as one vector through a pointer to one.  Vulkan has no pointer to
# a vector in an array of scalars, and does so one by one.  But a buffer can be bound to
# several variables of different types: so Vulkan loads 4, 8 or 16 bytes of one at once,
# as one, two or four words of 32 bits, which are cast to what is wanted, where the
# operation has an attribute `alignment` that says that they are aligned.  Pointers to
# physical storage buffers can be cast: aligned vectors are stored whole there, too.

COUNTS = (1, 2, 4)
"""Words that are loaded at once."""


@handlers.on(vector.LoadOp)
def load(e: Emission, op: vector.LoadOp) -> None:
    view, type = e.view(op.base), op.result.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    hints = hints_of(op)
    if (count := words_of(e, op, view)) is not None:
        e.set(op.result, _load_words(e, type, view, at, count, hints))
        return
    found: list[Id] = []
    for to, width in zip(e.types.parts(type), e.types.widths(type), strict=True):
        if is_whole(e, view, width):
            place, access = _vector_access(e, view, at, to, width, op)
            found.append(e.emit("OpLoad", place, *access, type=to))
        else:
            places = [e.index.add(at, plus) for plus in range(width)]
            some = [e.load(view, place, hints) for place in places]
            one = width == 1
            found.append(
                some[0] if one else e.emit("OpCompositeConstruct", *some, type=to)
            )
        at = e.index.add(at, width)
    e.set(op.result, tuple(found))


@handlers.on(vector.StoreOp)
def store(e: Emission, op: vector.StoreOp) -> None:
    view, type = e.view(op.base), op.vector.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    hints = hints_of(op)
    e.writes(view)
    for part, width in zip(e.parts(op.vector), e.types.widths(type), strict=True):
        if is_whole(e, view, width) or is_physical(e, op, view, width):
            place, access = _vector_access(e, view, at, part.type, width, op)
            e.do("OpStore", place, part, *access)
        else:
            for plus, scalar in enumerate(e.components(part)):
                place = e.index.add(at, plus)
                e.store(view, place, scalar, hints)
        at = e.index.add(at, width)


def is_whole(e: Emission, view: View, width: int) -> bool:
    """Whether a vector is accessed as one: OpenCL's, but those of 3 take the room of 4.

    Vulkan has no pointer to a vector in an array of scalars; a bool has no bits.
    """
    return not e.facts.vulkan and width not in (1, 3) and view.element != i1


def is_physical(e: Emission, op: vector.StoreOp, view: View, width: int) -> bool:
    """Whether a part of a vector is stored through a cast pointer, aligned for that."""
    if view.storage != PHYSICAL or width not in (2, 4) or view.element == i1:
        return False
    return alignment_of(op, 1) % (width * e.types.bytes_of(view.element)) == 0


def _vector_access(
    e: Emission,
    view: View,
    at: Num,
    to: Id,
    width: int,
    op: vector.LoadOp | vector.StoreOp,
) -> tuple[Id, list[str | int | Id]]:
    """Where a part of a vector is, and the operands of an access to it."""
    pointer = e.types.pointer(view.storage, to)
    place = e.emit("OpBitcast", e.pointer(view, at), type=pointer)
    size = e.types.bytes_of(view.element)
    type = op.result.type if isinstance(op, vector.LoadOp) else op.vector.type
    if view.storage == PHYSICAL:
        size *= width
    elif len(e.types.parts(type)) == 1:
        size = alignment_of(op, size)
    return place, e.memory_operands(view, hints_of(op), alignment_bytes=size)


def words_of(e: Emission, op: vector.LoadOp, view: View) -> int | None:
    """How many words a load is; None where it is not done so."""
    type = op.result.type
    element = element_of(type)
    if view.base not in e.whole.bindings and view.storage != PHYSICAL:
        return None
    if element == i1 or (bits := e.types.bits(element)) > WORD:
        return None
    count, rest = divmod(count_of(type) * bits, WORD)
    whole = all(width * bits % WORD == 0 for width in e.types.widths(type))
    if rest or count not in COUNTS or not whole or alignment_of(op, 1) % (4 * count):
        return None
    return count


def _load_words(
    e: Emission, type: Attribute, view: View, at: Num, count: int, hints: list[str]
) -> tuple[Id, ...]:
    """Load some words; `at` is where they begin, in elements."""
    words = e.types.vector(e.types.u32, count)
    pointer = e.types.pointer(view.storage, words)
    if view.storage == PHYSICAL:
        address = e.emit("OpBitcast", e.pointer(view, at), type=pointer)
        access = e.memory_operands(view, hints, alignment_bytes=count * WORD // 8)
    else:
        base = e.whole.buffer_as_words(view.base, count)
        indices = e.index.value(0), _place(e, at, count_of(type))
        address = e.emit("OpAccessChain", base, *indices, type=pointer)
        access = e.memory_operands(view, hints)
    loaded = e.emit("OpLoad", address, *access, type=words)
    found: list[Id] = []
    start, bits = 0, e.types.bits(element_of(type))
    for to, width in zip(e.types.parts(type), e.types.widths(type), strict=True):
        size = width * bits // WORD
        found.append(_part(e, loaded, count, range(start, start + size), to))
        start += size
    return tuple(found)


def _place(e: Emission, at: Num, elements: int) -> Id:
    number = e.index.num(at)
    if isinstance(number, int):
        return e.index.value(number // elements)
    number, shift = e.index.value(number), e.index.value(elements.bit_length() - 1)
    if elements == 1:
        return number
    return e.emit("OpShiftRightLogical", number, shift, type=e.types.index)


def _part(e: Emission, loaded: Id, count: int, chosen: range, to: Id) -> Id:
    found, type = loaded, e.types.vector(e.types.u32, len(chosen))
    if len(chosen) == 1 and count > 1:
        found = e.emit("OpCompositeExtract", loaded, chosen.start, type=type)
    elif len(chosen) < count:
        found = e.emit("OpVectorShuffle", loaded, loaded, *chosen, type=type)
    return found if found.type is to else e.emit("OpBitcast", found, type=to)
