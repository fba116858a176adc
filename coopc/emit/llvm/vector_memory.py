"""`vector` and memory: consecutive elements of a memref, some of them masked.

On spir64 masked accesses go component by component, under a branch each.

On x86-64 no masked store of exactly one component is executed.  LLVM 22.1 makes a
truncating store of `llvm.masked.store` of a `trunc`, and where the mask turns out to be
a constant with one bit set, a scalar store of the untruncated component, which
overwrites its neighbours.  It does so for AVX-512, for i8, i16 and i32 from anything
wider; bf16 is i16 here.  Masked loads, other masks and floats are right.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import vector
from xdsl.ir import Attribute

from coopc.emit.elements import count_of
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.view import Num, View
from coopc.llvm.module import Block, arrive
from coopc.llvm.types import I1, I32, I64, Int, Type, component, width
from coopc.llvm.values import Value, integer

handlers = Handlers()


def _in_memory(e: Emission, view: View, type: Attribute) -> Type:
    return e.types.vector(e.types.in_memory(view.element), count_of(type))


@handlers.on(vector.LoadOp)
def load(e: Emission, op: vector.LoadOp) -> None:
    """Consecutive elements; a vector has the alignment of its elements."""
    view, type = e.view(op.base), op.result.type
    pointer = e.pointer(view, e.index.consecutive(view, e.nums(op.indices), type))
    align = e.types.bytes_of(view.element)
    to, metadata = _in_memory(e, view, type), e.temporal(op.nontemporal)
    found = e.f.load(to, pointer, align, metadata=metadata)
    e.set(op.result, e.from_memory(view.element, found))


@handlers.on(vector.StoreOp)
def store(e: Emission, op: vector.StoreOp) -> None:
    """Consecutive elements."""
    view, type = e.view(op.base), op.vector.type
    pointer = e.pointer(view, e.index.consecutive(view, e.nums(op.indices), type))
    value = e.to_memory(view.element, e.value(op.vector))
    align = e.types.bytes_of(view.element)
    e.f.store(value, pointer, align, metadata=e.temporal(op.nontemporal))


@handlers.on(vector.MaskedLoadOp)
def masked_load(e: Emission, op: vector.MaskedLoadOp) -> None:
    """The elements that a mask chooses; the others are those of another vector."""
    view, type = e.view(op.base), op.result.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    mask, other = e.value(op.mask), e.value(op.pass_thru)
    if e.facts.gpu or count_of(type) == 1:
        e.set(op.result, _each_loaded(e, view, at, mask, other))
        return
    to = _in_memory(e, view, type)
    pointer = e.pointer(view, at, inbounds=False)
    align = integer(I32, e.types.bytes_of(view.element))
    arguments = [pointer, align, mask, e.to_memory(view.element, other)]
    found = e.intrinsic("masked.load", to, arguments, [to, pointer.type])
    e.set(op.result, e.from_memory(view.element, found))


def _each_loaded(e: Emission, view: View, at: Num, mask: Value, other: Value) -> Value:
    type, align = e.types.in_memory(view.element), e.types.bytes_of(view.element)
    found: list[Value] = []
    pairs = zip(e.components(mask), e.components(other), strict=True)
    for plus, (chosen, instead) in enumerate(pairs):
        place = e.index.add(at, plus)

        def make(place: Num = place) -> Value:
            loaded = e.f.load(type, e.pointer(view, place), align)
            return e.from_memory(view.element, loaded)

        found.append(_if(e, chosen, make, instead))
    return e.gathered(other.type, found)


@handlers.on(vector.MaskedStoreOp)
def masked_store(e: Emission, op: vector.MaskedStoreOp) -> None:
    """The components that a mask chooses."""
    view, type = e.view(op.base), op.value_to_store.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    mask = e.value(op.mask)
    value = e.to_memory(view.element, e.value(op.value_to_store))
    align = e.types.bytes_of(view.element)
    if e.facts.gpu or count_of(type) == 1:
        pairs = zip(e.components(mask), e.components(value), strict=True)
        for plus, (chosen, scalar) in enumerate(pairs):
            _store_if(e, view, e.index.add(at, plus), chosen, scalar)
        return
    pointer = e.pointer(view, at, inbounds=False)
    arguments = [value, pointer, integer(I32, align), mask]
    done = _store_alone(e, value, pointer, align, mask)
    e.do_intrinsic("masked.store", arguments, [value.type, pointer.type])
    if done is not None:
        e.flow.jump(done)
        e.flow.begin(done)


def _store_alone(
    e: Emission, value: Value, pointer: Value, align: int, mask: Value
) -> Block | None:
    """Store a component that is the only one; return where to go on if it is not.

    None where a component cannot be truncated: nothing is emitted then.
    """
    element = component(value.type)
    if not isinstance(element, Int) or element.bits >= I64.bits:
        return None
    flow, bits = e.flow, Int(width(value.type))
    chosen = e.f.cast("bitcast", mask, bits)
    count = e.intrinsic("ctpop", bits, [chosen])
    alone, several, done = map(flow.label, ("alone", "several", "done"))
    flow.branch(e.f.compare("icmp eq", count, integer(bits, 1)), alone, several)
    flow.begin(alone)
    at = e.intrinsic("cttz", bits, [chosen, integer(I1, 1)])
    at = e.f.cast("zext" if bits.bits < I64.bits else "trunc", at, I64)
    place = e.f.address(element, pointer, at, inbounds=False)
    e.f.store(e.f.extract(value, at), place, align)
    flow.jump(done)
    flow.begin(several)
    return done


def _store_if(e: Emission, view: View, at: Num, chosen: Value, scalar: Value) -> None:
    flow, align = e.flow, e.types.bytes_of(view.element)
    then, done = flow.label("then"), flow.label("done")
    flow.branch(chosen, then, done)
    flow.begin(then)
    e.f.store(scalar, e.pointer(view, at), align)
    flow.jump(done)
    flow.begin(done)


def _if(
    e: Emission, condition: Value, make: Callable[[], Value], other: Value
) -> Value:
    """What `make` emits under a condition, else another value."""
    flow = e.flow
    then, done, before = flow.label("then"), flow.label("done"), flow.here()
    flow.branch(condition, then, done)
    flow.begin(then)
    made = make()
    flow.jump(done)
    flow.begin(done)
    result, phi = e.f.phi(made.type)
    arrive(phi, made, then)
    arrive(phi, other, before)
    return result
