"""`vector` and memory: components in and out of vectors, accesses to elements.

A vector of several dimensions is one LLVM vector, row by row.
"""

from __future__ import annotations

from xdsl.dialects import llvm, vector

from coopc.dialects.memref_forms import PrefetchOp
from coopc.emit import memref
from coopc.emit.llvm.arith import same_bits
from coopc.emit.llvm.emission import Emission, Handlers, id_of
from coopc.emit.memref import alignment_of, hints_of
from coopc.emit.view import repeats_of
from coopc.emit.walker import NoForm, count_of
from coopc.llvm.module import Block
from coopc.llvm.values import (
    I1,
    I32,
    I64,
    VOID,
    Float,
    Int,
    Value,
    Vector,
    component,
    integer,
    width,
)

handlers = Handlers(memref.handlers)


@handlers.on(PrefetchOp)
def prefetch(e: Emission, op: PrefetchOp) -> None:
    view = e.view(op.memref)
    at = e.index.linear(view, e.nums(op.indices))
    place = e.pointer(view, at, inbounds=False)
    # True is -1 as an attribute, and 1 here.
    numbers = [abs(x.value.data) for x in (op.is_write, op.locality, op.is_data)]
    arguments = [place, *(integer(I32, x) for x in numbers)]
    e.intrinsic("prefetch", VOID, arguments, [place.type])


@handlers.on(vector.BroadcastOp)
def broadcast(e: Emission, op: vector.BroadcastOp) -> None:
    """A scalar in every component, or a vector in every row."""
    type, source = op.vector.type, e.value(op.source)
    repeats = repeats_of(op)
    if isinstance(source.type, Vector):
        numbers = list(range(source.type.length)) * repeats
        e.set(op.vector, e.shuffled(source, None, numbers))
    else:
        e.set(op.vector, e.splat(source, count_of(type)))


@handlers.on(vector.ShuffleOp)
def shuffle(e: Emission, op: vector.ShuffleOp) -> None:
    """Rows of two vectors in another order; -1 is any."""
    a, b = e.value(op.v1), e.value(op.v2)
    rows = op.result.type.get_shape()[0]
    row = count_of(op.result.type) // rows
    first = width(a.type)
    length = max(first, width(b.type), 2)
    mask: list[int] = []
    for number in map(int, op.mask.get_values()):
        if number < 0:
            mask += [-1] * row
            continue
        at = number * row
        at += length - first if at >= first else 0
        mask += range(at, at + row)
    a, b = (_padded(e, each, length) for each in (a, b))
    e.set(op.result, e.shuffled(a, b, mask))


def _padded(e: Emission, value: Value, length: int) -> Value:
    if not isinstance(value.type, Vector):
        return e.splat(value, length)
    found = value.type.length
    if found == length:
        return value
    return e.shuffled(value, None, [*range(found), *[-1] * (length - found)])


@handlers.on(vector.ExtractOp)
def extract(e: Emission, op: vector.ExtractOp) -> None:
    """A component, or a vector of the last dimensions."""
    static = [int(n) for n in op.static_position.get_values()]
    at, count = e.index.place(op.vector.type, static, e.nums(op.dynamic_position))
    source = e.value(op.vector)
    if not isinstance(source.type, Vector):
        e.set(op.result, source)
    elif isinstance(at, int):
        e.set(op.result, e.shuffled(source, None, range(at, at + count)))
    else:
        places = [id_of(e.index.add(at, n)) for n in range(count)]
        scalars = [e.f.extract(source, place) for place in places]
        e.set(op.result, e.composed(e.type(op.result.type), scalars))


@handlers.on(vector.InsertOp)
def insert(e: Emission, op: vector.InsertOp) -> None:
    """A vector with one component, or its last dimensions at a position, replaced."""
    static = [int(n) for n in op.static_position.get_values()]
    at, _ = e.index.place(op.dest.type, static, e.nums(op.dynamic_position))
    new, found = e.value(op.source), e.value(op.dest)
    if not isinstance(found.type, Vector):
        found = new
    elif isinstance(at, int) and isinstance(new.type, Vector):
        length, count = found.type.length, new.type.length
        mask = [length + n - at if at <= n < at + count else n for n in range(length)]
        found = e.shuffled(found, _padded(e, new, length), mask)
    else:
        for n, scalar in enumerate(e.components(new)):
            found = e.f.insert(found, scalar, id_of(e.index.add(at, n)))
    e.set(op.result, found)


@handlers.on(vector.BitcastOp)
def bitcast(e: Emission, op: vector.BitcastOp) -> None:
    same_bits(e, op)


# `llvm`: reads through an opaque pointer, as a fill by pointer becomes.


@handlers.on(llvm.LoadOp)
def load_pointer(e: Emission, op: llvm.LoadOp) -> None:
    if op.ordering.value.data != 0:
        raise NoForm("expected a load that is not atomic")
    type = op.dereferenced_value.type
    size = e.types.bytes_of(type)
    align = size if op.alignment is None else op.alignment.value.data
    found = e.f.load(e.types.in_memory(type), e.value(op.ptr), align)
    e.set(op.dereferenced_value, e.from_memory(type, found))


# `vector` and memory: consecutive elements of a memref, some of them masked.
#
# On spir64 masked accesses go component by component, under a branch each.
#
# On x86-64 no masked store of exactly one component is executed.  LLVM 22.1 makes a
# truncating store of `llvm.masked.store` of a `trunc`, and where the mask turns out
# to be a constant with one bit set, a scalar store of the untruncated component,
# which overwrites its neighbours.  It does so for AVX-512, for i8, i16 and i32 from
# anything wider; bf16 is i16 here.  Masked loads, other masks and floats are right.


@handlers.on(vector.LoadOp)
def load(e: Emission, op: vector.LoadOp) -> None:
    view, type = e.view(op.base), op.result.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    align = alignment_of(op, e.types.bytes_of(view.element))
    e.set(op.result, e.load(view, at, hints_of(op), count_of(type), align))


@handlers.on(vector.StoreOp)
def store(e: Emission, op: vector.StoreOp) -> None:
    view = e.view(op.base)
    at = e.index.consecutive(view, e.nums(op.indices), op.vector.type)
    align = alignment_of(op, e.types.bytes_of(view.element))
    e.store(view, at, e.value(op.vector), hints_of(op), align)


@handlers.on(vector.MaskedLoadOp)
def masked_load(e: Emission, op: vector.MaskedLoadOp) -> None:
    """The elements that a mask chooses; the others are those of another vector."""
    view, type = e.view(op.base), op.result.type
    if e.facts.gpu or count_of(type) == 1:
        memref.masked_load(e, op)
        return
    at = e.index.consecutive(view, e.nums(op.indices), type)
    mask, other = e.value(op.mask), e.value(op.pass_thru)
    to = e.types.vector(e.types.in_memory(view.element), count_of(type))
    pointer = e.pointer(view, at, inbounds=False)
    align = integer(I32, e.types.bytes_of(view.element))
    arguments = [pointer, align, mask, e.to_memory(view.element, other)]
    found = e.intrinsic("masked.load", to, arguments, [to, pointer.type])
    e.set(op.result, e.from_memory(view.element, found))


@handlers.on(vector.MaskedStoreOp)
def masked_store(e: Emission, op: vector.MaskedStoreOp) -> None:
    view, type = e.view(op.base), op.value_to_store.type
    if e.facts.gpu or count_of(type) == 1:
        memref.masked_store(e, op)
        return
    at = e.index.consecutive(view, e.nums(op.indices), type)
    mask = e.value(op.mask)
    value = e.to_memory(view.element, e.value(op.value_to_store))
    align = e.types.bytes_of(view.element)
    pointer = e.pointer(view, at, inbounds=False)
    arguments = [value, pointer, integer(I32, align), mask]
    done = _store_alone(e, value, pointer, align, mask)
    e.intrinsic("masked.store", VOID, arguments, [value.type, pointer.type])
    if done is not None:
        e.jump(done)
        e.begin(done)


def _store_alone(
    e: Emission, value: Value, pointer: Value, align: int, mask: Value
) -> Block | None:
    """Store a component that is the only one; return where to go on if it is not.

    None where a component cannot be truncated: nothing is emitted then.
    """
    element = component(value.type)
    if not isinstance(element, Int) or element.bits >= I64.bits:
        return None
    bits = Int(width(value.type))
    chosen = e.f.cast("bitcast", mask, bits)
    count = e.intrinsic("ctpop", bits, [chosen])
    alone, several, done = map(e.label, ("alone", "several", "done"))
    e.branch(e.f.compare("icmp eq", count, integer(bits, 1)), alone, several)
    e.begin(alone)
    at = e.intrinsic("cttz", bits, [chosen, integer(I1, 1)])
    at = e.f.cast("zext" if bits.bits < I64.bits else "trunc", at, I64)
    place = e.f.address(element, pointer, at, inbounds=False)
    e.f.store(e.f.extract(value, at), place, align)
    e.jump(done)
    e.begin(several)
    return done


# `vector.reduction`: what `expand-vector` leaves, of which LLVM has one in that order.

_REDUCTIONS = {
    "minui": "umin",
    "minsi": "smin",
    "maxui": "umax",
    "maxsi": "smax",
    "maxnumf": "fmax",
    "minnumf": "fmin",
    "maximumf": "fmaximum",
    "minimumf": "fminimum",
}
"""By their kinds, where they have other names."""


@handlers.on(vector.ReductionOp)
def reduction(e: Emission, op: vector.ReductionOp) -> None:
    """LLVM's reduction; that of sums and products of floats starts from a number."""
    kind, element = str(op.kind.data), op.dest.type
    whole = e.value(op.vector)
    assert isinstance(whole.type, Vector), op
    name, to, arguments = _REDUCTIONS.get(kind, kind), whole.type.element, [whole]
    if kind in ("add", "mul") and isinstance(to, Float):
        name, neutral = f"f{kind}", -0.0 if kind == "add" else 1.0
        start = op.acc and e.value(op.acc)
        arguments = [start or e.types.constant(element, neutral), whole]
    found = e.intrinsic(f"vector.reduce.{name}", to, arguments, [whole.type])
    e.set(op.dest, found)
