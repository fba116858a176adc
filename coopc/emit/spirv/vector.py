"""`vector`: components in and out of vectors, and consecutive elements of memory.

What a vector's parts allow is one instruction a part; the rest goes component by
component.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute

from coopc.dialects.narrow import is_vector
from coopc.emit.spirv import address
from coopc.emit.spirv.address import memory_operands, pointer
from coopc.emit.spirv.arith import (
    is_i1,
    same_bits,
)
from coopc.emit.spirv.emission import Emission, Handlers, Num, View
from coopc.emit.spirv.memref import is_true
from coopc.emit.spirv.types import VECTOR_WIDTHS
from coopc.emit.walker import Refusal, count_of, element_of
from coopc.spirv.instruction import Id

handlers = Handlers()


@handlers.on(vector.BroadcastOp)
def broadcast(e: Emission, op: vector.BroadcastOp) -> None:
    """A scalar in every component, or a vector in every row."""
    type = op.vector.type
    scalars = e.scalars(op.source)
    repeats, rest = divmod(count_of(type), len(scalars))
    last = op.source.type.get_shape() if is_vector(op.source.type) else ()
    if rest or tuple(type.get_shape()[len(type.get_shape()) - len(last) :]) != last:
        raise Refusal(
            f"expected the last sizes of {type} to be those of the source, "
            f"got {op.source.type}"
        )
    e.set(op.vector, e.gathered(type, scalars * repeats))


@handlers.on(vector.ShuffleOp)
def shuffle(e: Emission, op: vector.ShuffleOp) -> None:
    """Rows of two vectors in another order; -1 is any."""
    type = op.result.type
    rows = op.result.type.get_shape()[0]
    width = count_of(type) // rows
    if width == 1 and all(_is_one_vector(e, v) for v in (op.v1.type, op.v2.type, type)):
        mask = (int(row) % (1 << 32) for row in op.mask.get_values())
        (to,) = e.types.parts(type)
        both = e.id(op.v1), e.id(op.v2)
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
    """Whether a vector is one SPIR-V vector."""
    widths = e.types.widths(type)
    return len(widths) == 1 and widths[0] > 1


@handlers.on(vector.ExtractOp)
def extract(e: Emission, op: vector.ExtractOp) -> None:
    """A component, or a vector of the last dimensions."""
    static = [int(n) for n in op.static_position.get_values()]
    at, count = e.index.place(op.vector.type, static, e.nums(op.dynamic_position))
    if isinstance(at, int):
        scalars = e.some_scalars(op.vector, range(at, at + count))
    elif count == 1 and _is_one_vector(e, op.vector.type):
        (part,) = e.parts(op.vector)
        type = e.element(op.result.type)
        e.set(op.result, (e.emit("OpVectorExtractDynamic", part, at, type=type),))
        return
    else:
        scalars = [_chosen(e, e.scalars(op.vector), at, n) for n in range(count)]
    e.set(op.result, e.gathered(op.result.type, scalars))


def _chosen(e: Emission, scalars: Sequence[Id], at: Id, plus: int) -> Id:
    """The component at a position that varies, chosen among all."""
    wanted = e.index.id(e.index.add(at, plus))
    found = scalars[0]
    for number, scalar in enumerate(scalars):
        this = e.emit("OpIEqual", wanted, e.index.id(number), type=e.types.bool)
        found = e.emit("OpSelect", this, scalar, found, type=scalar.type)
    return found


@handlers.on(vector.InsertOp)
def insert(e: Emission, op: vector.InsertOp) -> None:
    """A vector with one component, or its last dimensions at a position, replaced."""
    static = [int(n) for n in op.static_position.get_values()]
    at, count = e.index.place(op.dest.type, static, e.nums(op.dynamic_position))
    new = e.scalars(op.source)
    if isinstance(at, int):
        scalars = e.scalars(op.dest)
        scalars[at : at + count] = new
    elif count == 1 and _is_one_vector(e, op.dest.type):
        (part,) = e.parts(op.dest)
        id = e.emit("OpVectorInsertDynamic", part, new[0], at, type=part.type)
        e.set(op.result, (id,))
        return
    else:
        scalars = _replaced(e, e.scalars(op.dest), at, new)
    e.set(op.result, e.gathered(op.result.type, scalars))


def _replaced(e: Emission, old: Sequence[Id], at: Id, new: Sequence[Id]) -> list[Id]:
    """Components of which those from a position that varies are replaced."""
    found = list(old)
    for plus, scalar in enumerate(new):
        wanted = e.index.id(e.index.add(at, plus))
        for number, before in enumerate(found):
            this = e.emit("OpIEqual", wanted, e.index.id(number), type=e.types.bool)
            found[number] = e.emit("OpSelect", this, scalar, before, type=scalar.type)
    return found


@handlers.on(vector.FMAOp)
def fma(e: Emission, op: vector.FMAOp) -> None:
    """`lhs * rhs + acc`, rounded once."""
    name = "Fma" if e.facts.vulkan else "fma"

    def make(to: Id, *ids: Id) -> Id:
        return e.ext(name, *ids, type=to)

    e.each(op.res, (op.lhs, op.rhs, op.acc), make)


@handlers.on(vector.BitcastOp)
def bitcast(e: Emission, op: vector.BitcastOp) -> None:
    """The bits of a vector, in order, as components of another width."""
    source, result = op.source.type, op.result.type
    if is_i1(source) or is_i1(result):
        raise Refusal("expected components with a place in memory, got i1")
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


@handlers.on(vector.CreateMaskOp)
def create_mask(e: Emission, op: vector.CreateMaskOp) -> None:
    """Which positions are below the sizes given."""
    type = op.mask_vector.type
    assert is_vector(type), type
    shape = type.get_shape()
    bool = e.types.bool
    columns: list[list[Id]] = []
    for size, bound in zip(shape, op.mask_dim_sizes, strict=True):
        end = e.id(bound)
        numbers = (e.index.id(n) for n in range(size))
        columns.append([e.emit("OpSLessThan", n, end, type=bool) for n in numbers])
    found = columns[0]
    for column in columns[1:]:
        found = [e.emit("OpLogicalAnd", a, b, type=bool) for a in found for b in column]
    e.set(op.mask_vector, e.gathered(type, found))


# `vector` and memory: consecutive elements of a memref, some of them masked.
#
# OpenCL accesses them as one vector through a pointer to one.  Vulkan, which has none,
# does so one by one, as do masked accesses, under a branch each.  Vulkan loads 4, 8 or
# 16
# bytes of a buffer at once where the operation has an attribute `alignment` that says
# so:
# see `words`.


@handlers.on(vector.LoadOp)
def load(e: Emission, op: vector.LoadOp) -> None:
    """Consecutive elements."""
    view, type = e.view(op.base), op.result.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    nontemporal = is_true(op.nontemporal)
    if (count := address.of(e, op, view)) is not None:
        e.set(op.result, address.load(e, type, view, at, count, nontemporal))
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
