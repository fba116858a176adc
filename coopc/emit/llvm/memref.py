"""`memref`: loads, stores, and what memrefs are made of.

`subview`, `cast` and `reinterpret_cast` are arithmetic on the numbers of a memref.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import IndexType, IntegerType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.dialects.narrow import is_vector
from coopc.emit.expanded import updated
from coopc.emit.llvm.emission import Emission, Handlers, View, filled, id_of
from coopc.emit.memrefs import (
    Form,
    allocated,
    cast_form,
    first_element,
    kept_dimensions,
    known_dimension,
    memref_type,
    mixed,
    space_of,
    update_of,
)
from coopc.emit.walker import Refusal
from coopc.llvm.module import Typed, arrive
from coopc.llvm.types import I1, I32, I64, Array, Int, Struct, Type
from coopc.llvm.values import Value, integer
from coopc.plan.atomics import WORD, Access, AtomicForm, atomic_form

handlers = Handlers()

WORK_GROUP_SPACE = 3
"""The address space of work-group memory under OpenCL."""


@handlers.on(memref.LoadOp)
def load(e: Emission, op: memref.LoadOp) -> None:
    """One element."""
    if is_atomic(op):
        atomic_load(e, op)
        return
    view = e.view(op.memref)
    pointer = e.pointer(view, e.index.linear(view, e.nums(op.indices)))
    type, align = e.types.in_memory(view.element), e.types.bytes_of(view.element)
    found = e.f.load(type, pointer, align, metadata=e.temporal(op.nontemporal))
    e.set(op.res, e.from_memory(view.element, found))


@handlers.on(memref.StoreOp)
def store(e: Emission, op: memref.StoreOp) -> None:
    """One element."""
    if is_atomic(op):
        atomic_store(e, op)
        return
    view = e.view(op.memref)
    pointer = e.pointer(view, e.index.linear(view, e.nums(op.indices)))
    value = e.to_memory(view.element, e.value(op.value))
    align = e.types.bytes_of(view.element)
    e.f.store(value, pointer, align, metadata=e.temporal(op.nontemporal))


@handlers.on(memref.DimOp)
def dim(e: Emission, op: memref.DimOp) -> None:
    """The size of a dimension, which must be known."""
    memref_type(op.source)
    view = e.view(op.source)
    (number,) = e.nums((op.index,))
    e.set(op.result, id_of(view.sizes[known_dimension(number, len(view.sizes))]))


@handlers.on(memref.RankOp)
def rank(e: Emission, op: memref.RankOp) -> None:
    """The number of dimensions."""
    e.set(op.rank, id_of(len(e.view(op.source).sizes)))


@handlers.on(memref.AllocaOp)
def alloca(e: Emission, op: memref.AllocaOp) -> None:
    """An array of the function, or on spir64 of the work-group."""
    type = memref_type(op.memref)
    elements, numbers = allocated(type)
    array = Array(elements, e.types.in_memory(type.element_type))
    align = _alignment(e, op, e.types.bytes_of(type.element_type))
    hint = op.memref.name_hint
    if space_of(type) is simt.MemorySpace.WORKGROUP:
        if not e.facts.gpu:
            raise Refusal("expected memory of a function: x86-64 has no work-groups")
        if not isinstance(op.parent_op(), FuncOp):
            raise Refusal(
                "expected work-group memory to be allocated at function entry"
            )
        name = f"{e.f.signature.name}.{hint or 'memory'}"
        base = e.module.variable(name, array, WORK_GROUP_SPACE, align)
    else:
        base = e.f.allocate(array, align, hint)
    e.set(op.memref, View(base, type.element_type, *numbers))


def _alignment(e: Emission, op: memref.AllocaOp, element_bytes: int) -> int:
    """The alignment in bytes: what is asked for, else that of a vector register."""
    if op.alignment is not None and op.alignment.value.data > 0:
        return max(element_bytes, op.alignment.value.data)
    return element_bytes if e.facts.gpu else 64


@handlers.on(memref.CastOp, memref.MemorySpaceCastOp)
def cast(e: Emission, op: memref.CastOp | memref.MemorySpaceCastOp) -> None:
    """The same memref as a type that says more or less of it."""
    source = e.view(op.source)
    known = e.index.strides(source)
    view = filled(
        cast_form(len(source.sizes), memref_type(op.dest)),
        source.base,
        source.element,
        lambda: source.offset,
        lambda d: source.sizes[d],
        lambda d: known[d],
    )
    e.set(op.dest, view)


@handlers.on(memref.AssumeAlignmentOp)
def assume_alignment(e: Emission, op: memref.AssumeAlignmentOp) -> None:
    """The same memref."""
    e.set(op.result, e.view(op.memref))


@handlers.on(memref.SubviewOp)
def subview(e: Emission, op: memref.SubviewOp) -> None:
    """Part of a memref: offsets move the first element, strides are multiplied."""
    source, type = e.view(op.source), memref_type(op.result)
    offsets = mixed(op.static_offsets.get_values(), e.nums(op.offsets))
    sizes = mixed(op.static_sizes.get_values(), e.nums(op.sizes))
    steps = mixed(op.static_strides.get_values(), e.nums(op.strides))
    known = e.index.strides(source)
    offset = e.index.linear(source, offsets)
    kept = kept_dimensions(op.static_sizes.get_values(), type)
    scaled = [e.index.mul(a, b) for a, b in zip(known, steps, strict=True)]
    view = filled(
        replace(Form.of(type), offset=None),
        source.base,
        source.element,
        lambda: offset,
        lambda d: sizes[kept[d]],
        lambda d: scaled[kept[d]],
    )
    e.set(op.result, view)


@handlers.on(memref.ViewOp)
def view_of_bytes(e: Emission, op: memref.ViewOp) -> None:
    """Bytes as elements of another type."""
    source, type = e.view(op.source), memref_type(op.result)
    (shift,) = e.nums((op.byte_shift,))
    offset = first_element(source.offset, shift, type, e.types.bytes_of)
    sizes = iter(e.nums(op.sizes))
    shape = tuple(next(sizes) if size < 0 else size for size in type.get_shape())
    e.set(op.result, View(source.base, type.element_type, offset, shape, None))


def view_elements(e: Emission, op: simt.ViewElementsOp) -> None:
    """Numbers of other elements: a pointer says nothing of what it points to."""
    source, type = e.view(op.memory), memref_type(op.result)
    known, factor = e.index.strides(source), op.per_pointee
    offset = e.index.mul(e.index.linear(source, e.nums(op.positions)), factor)
    strides = e.index.mul(known[-2], factor), 1
    shape = tuple(type.get_shape())
    e.set(op.result, View(source.base, type.element_type, offset, shape, strides))


@handlers.on(memref.ReinterpretCastOp)
def reinterpret_cast(e: Emission, op: memref.ReinterpretCastOp) -> None:
    """Other numbers for the same memory; the offset counts from its beginning."""
    source = e.view(op.source)
    (offset,) = mixed(op.static_offsets.get_values(), e.nums(op.offsets))
    sizes = mixed(op.static_sizes.get_values(), e.nums(op.sizes))
    steps = mixed(op.static_strides.get_values(), e.nums(op.strides))
    view = filled(
        Form.of(memref_type(op.result)),
        source.base,
        source.element,
        lambda: offset,
        lambda d: sizes[d],
        lambda d: steps[d],
    )
    e.set(op.result, view)


@handlers.on(memref.ExtractStridedMetaDataOp)
def metadata(e: Emission, op: memref.ExtractStridedMetaDataOp) -> None:
    """The numbers of a memref."""
    source = e.view(op.source)
    e.set(op.base_buffer, View(source.base, source.element, 0, (), None))
    e.set(op.offset, id_of(source.offset))
    pairs = ((op.sizes, source.sizes), (op.strides, e.index.strides(source)))
    for results, numbers in pairs:
        for result, number in zip(results, numbers, strict=True):
            e.set(result, id_of(number))


def _no_heap(e: Emission, op: Operation) -> None:
    raise Refusal("there is no heap: allocate with memref.alloca")


handlers.add(memref.AllocOp, _no_heap)
handlers.add(memref.DeallocOp, _no_heap)


# `llvm`: reads through an opaque pointer, as a fill by pointer becomes.


@handlers.on(llvm.LoadOp)
def load_pointer(e: Emission, op: llvm.LoadOp) -> None:
    """A number that a pointer points to."""
    if op.ordering.value.data != 0:
        raise Refusal("expected a load that is not atomic")
    type = op.dereferenced_value.type
    size = e.types.bytes_of(type)
    align = size if op.alignment is None else op.alignment.value.data
    found = e.f.load(e.types.in_memory(type), e.value(op.ptr), align)
    e.set(op.dereferenced_value, e.from_memory(type, found))


# `memref`: atomic accesses to one element.
#
# `memref.atomic_rmw`, and loads and stores that have an ordering (`simt.ordering`).  An
# update without one is relaxed; who sees it as atomic (`simt.ordering_scope`) is the
# device.

_SCOPES = {
    Scope.CROSS_DEVICE: "",
    Scope.DEVICE: "device",
    Scope.WORKGROUP: "workgroup",
    Scope.SUBGROUP: "subgroup",
    Scope.INVOCATION: "singlethread",
}
"""Who sees an update as atomic, as LLVM's SPIR-V back end calls them; everybody where
nothing is said."""

_ORDERS = {
    Ordering.RELAXED: "monotonic",
    Ordering.ACQUIRE: "acquire",
    Ordering.RELEASE: "release",
    Ordering.ACQUIRE_RELEASE: "acq_rel",
    Ordering.SEQUENTIALLY_CONSISTENT: "seq_cst",
}


def is_atomic(op: Operation) -> bool:
    """Whether a load or a store has an ordering."""
    return simt.ORDERING in op.attributes


def atomic_load(e: Emission, op: memref.LoadOp) -> None:
    """`load atomic`, of an integer."""
    word = _word(e, op.memref, op.indices, "access")
    e.set(op.res, load_in_word(e, word, _how(e, op)))


def atomic_store(e: Emission, op: memref.StoreOp) -> None:
    """`store atomic`, of an integer."""
    word = _word(e, op.memref, op.indices, "access")
    store_in_word(e, word, _how(e, op), e.value(op.value))


@handlers.on(memref.AtomicRMWOp)
def update(e: Emission, op: memref.AtomicRMWOp) -> None:
    """The instruction of the kind, or a loop."""
    view, value, how = e.view(op.memref), e.value(op.value), _how(e, op)
    kind = update_of(op.kind.value.data, view.element)
    if _form(e, view, kind.access) != "native":
        word = _word(e, op.memref, op.indices, kind.access)

        def combine(old: Value) -> Value:
            return updated(e.walker, op, kind, old)

        e.set(op.result, update_in_word(e, word, how, combine))
        return
    pointer = e.pointer(view, e.index.linear(view, e.nums(op.indices)))
    tail = f" {how.scope}{how.order}, align {e.types.bytes_of(view.element)}"
    name = _INSTRUCTIONS[op.kind.value.data]
    parts = (f"atomicrmw {name} ", Typed(pointer), ", ", Typed(value), tail)
    e.set(op.result, e.f.emit(value.type, *parts))


def _word(
    e: Emission, memory: SSAValue, indices: Sequence[SSAValue], access: Access
) -> Word:
    """The integer for an element that is accessed."""
    view = e.view(memory)
    bits = 8 * e.types.bytes_of(view.element)
    pointer = e.pointer(view, e.index.linear(view, e.nums(indices)))
    form = _form(e, view, access)
    if form == "native":  # the integer, for loads and stores are of integers here
        form = "integer"
    return word_of(e, pointer, e.types.in_memory(view.element), bits, form)


def _form(e: Emission, view: View, access: Access) -> AtomicForm:
    """How elements of a memref are accessed atomically.

    Raises:
        Refusal: they are no numbers of whole bytes.
    """
    if is_vector(view.element) or view.element == IntegerType(1):
        raise Refusal(
            "expected elements of 8, 16, 32 or 64 bits, which can be accessed "
            f"atomically, got {view.element}"
        )
    is_index = isinstance(view.element, IndexType)
    return atomic_form("i64" if is_index else str(view.element), access, e.facts.device)


def _how(e: Emission, op: Operation) -> Ordered:
    """The scope and the ordering of an access."""
    return Ordered(_scope(e, op), _order(op))


def _scope(e: Emission, op: Operation) -> str:
    """Return who sees an update as atomic; a processor has no such scopes."""
    found = _SCOPES.get(Scope(_text(op, simt.ORDERING_SCOPE, Scope.DEVICE)))
    if found is None:
        raise Refusal("expected a scope of OpenCL, got the one of a queue family")
    return f'syncscope("{found}") ' if found and e.facts.gpu else ""


def _order(op: Operation) -> str:
    """Return what other accesses see of an update."""
    return _ORDERS[Ordering(_text(op, simt.ORDERING, Ordering.RELAXED))]


def _text(op: Operation, name: str, otherwise: str) -> str:
    found = op.attributes.get(name)
    return found.data if isinstance(found, StringAttr) else otherwise


# Atomic updates by integers, where a target has no instruction for an element.
#
# `coopc.plan.atomics` says when, and what the loop is.

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


def word_of(
    e: Emission, pointer: Value, element: Type, bits: int, form: AtomicForm
) -> Word:
    """Emit where the integer for an element is."""
    if form == "integer":
        return Word(pointer, Int(bits), element, bits, None)
    address = e.f.cast("ptrtoint", pointer, I64)
    aligned = e.f.binary("and", address, integer(I64, -4))
    part = e.f.cast("trunc", e.f.binary("and", address, integer(I64, 3)), I32)
    shift = e.f.binary("shl", part, integer(I32, 3))
    place = e.f.cast("inttoptr", aligned, pointer.type)
    return Word(place, Int(WORD), element, bits, shift)


def load_in_word(e: Emission, word: Word, how: Ordered) -> Value:
    """Emit the atomic load of an element."""
    return _element(e, word, _load(e, word, how.scope, how.order))


def store_in_word(e: Emission, word: Word, how: Ordered, value: Value) -> None:
    """Emit the atomic store of an element."""
    if word.shift is not None:
        update_in_word(e, word, how, lambda _: value)
        return
    bits = e.f.cast("bitcast", value, word.type)
    tail = f" {how.scope}{how.order}, align {word.bits // 8}"
    e.f.do("store atomic ", Typed(bits), ", ", Typed(word.pointer), tail)


def update_in_word(e: Emission, word: Word, how: Ordered, combine: Combine) -> Value:
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


_INSTRUCTIONS = {
    0: "fadd",
    1: "add",
    2: "xchg",
    4: "max",
    5: "umax",
    7: "min",
    8: "umin",
    11: "or",
    12: "and",
    13: "fmax",
    14: "fmin",
    15: "xor",
}
"""By the number of a kind, where there is one."""
