"""`memref` in any target: accesses to elements, and what memrefs are made of.

Memrefs are known while a module is emitted (`View`), so `subview`, `cast` and
`reinterpret_cast` are arithmetic on their numbers, and no instruction otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i1,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.dialects.narrow import is_vector, kept_dimensions
from coopc.emit.emission import AnyEmission, Ordered
from coopc.emit.view import Form, View, allocated, memref_type, mixed, space_of
from coopc.emit.walker import Handlers, NoForm, element_of
from coopc.passes.generic.expansion import Code
from coopc.plan.atomic_form import (
    ATOMIC_UPDATES,
    WORD,
    Access,
    AtomicForm,
    atomic_form,
)

handlers = Handlers[AnyEmission]()


def hints_of(
    op: memref.LoadOp | memref.StoreOp | vector.LoadOp | vector.StoreOp,
) -> list[str]:
    """What an access says of its memory: Volatile, Nontemporal."""
    nontemporal = bool(op.nontemporal.value.data)
    flags = {"Volatile": simt.VOLATILE in op.attributes, "Nontemporal": nontemporal}
    return [name for name, is_set in flags.items() if is_set]


def alignment_of(op: vector.LoadOp | vector.StoreOp, least: int) -> int:
    """The bytes that divide the address of a vector, at least those of an element."""
    told = op.attributes.get(simt.ALIGNMENT)
    return max(least, told.value.data) if isinstance(told, IntegerAttr) else least


@handlers.on(memref.LoadOp)
def load(e: AnyEmission, op: memref.LoadOp) -> None:
    if simt.ORDERING in op.attributes:
        _atomic_load(e, op)
        return
    view = e.view(op.memref)
    at = e.index.linear(view, e.nums(op.indices))
    e.set(op.res, e.load(view, at, hints_of(op)))


@handlers.on(memref.StoreOp)
def store(e: AnyEmission, op: memref.StoreOp) -> None:
    if simt.ORDERING in op.attributes:
        _atomic_store(e, op)
        return
    view = e.view(op.memref)
    at = e.index.linear(view, e.nums(op.indices))
    e.store(view, at, e.value(op.value), hints_of(op))


# Masked accesses component by component, under a branch each.  So go all of SPIR-V,
# and on spir64 of LLVM IR; x86-64 has instructions.


def masked_load(e: AnyEmission, op: vector.MaskedLoadOp) -> None:
    """The elements that a mask chooses, and components of another vector."""
    view, type = e.view(op.base), op.result.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    masks, others = e.scalars(op.mask), e.scalars(op.pass_thru)
    element, found = element_of(type), list[Any]()
    for plus, (mask, other) in enumerate(zip(masks, others, strict=True)):
        make = partial(e.load, view, e.index.add(at, plus))
        found.append(e.chosen(mask, make, element, other))
    e.set(op.result, e.gathered(type, found))


def masked_store(e: AnyEmission, op: vector.MaskedStoreOp) -> None:
    view = e.view(op.base)
    at = e.index.consecutive(view, e.nums(op.indices), op.value_to_store.type)
    pairs = zip(e.scalars(op.mask), e.scalars(op.value_to_store), strict=True)
    for plus, (condition, value) in enumerate(pairs):
        place = e.index.add(at, plus)
        e.chosen(condition, partial(e.store, view, place, value), view.element)


# What memrefs are made of.


@handlers.on(memref.DimOp)
def dim(e: AnyEmission, op: memref.DimOp) -> None:
    memref_type(op.source)
    view = e.view(op.source)
    at = known_dimension(e.num(op.index), len(view.sizes))
    e.set(op.result, e.index.narrow(view.sizes[at]))


@handlers.on(memref.RankOp)
def rank(e: AnyEmission, op: memref.RankOp) -> None:
    e.set(op.rank, e.index.value(len(e.view(op.source).sizes)))


@handlers.on(memref.AllocaOp)
def alloca(e: AnyEmission, op: memref.AllocaOp) -> None:
    type = memref_type(op.memref)
    named = [e.num(size) for size in op.dynamic_sizes]
    elements, (offset, sizes, strides) = allocated(type, named)
    space, around = space_of(type), op.parent_op()
    if space is simt.MemorySpace.WORKGROUP and not isinstance(around, FuncOp):
        raise NoForm("expected work-group memory to be allocated at function entry")
    alignment = 0 if op.alignment is None else op.alignment.value.data
    view = e.allocate(type, elements, alignment, op.memref.name_hint)
    e.set(op.memref, replace(view, offset=offset, sizes=sizes, strides=strides))


@handlers.on(memref.CastOp, memref.MemorySpaceCastOp)
def cast(e: AnyEmission, op: memref.CastOp | memref.MemorySpaceCastOp) -> None:
    """The same memref as a type that says more or less of it."""
    source, type = e.view(op.source), memref_type(op.dest)
    if (rank := len(source.sizes)) != type.get_num_dims():
        raise NoForm(f"expected a memref of rank {rank}, got {type}")
    strides = e.index.strides(source)
    e.set(op.dest, Form.of(type).view(source, source.offset, source.sizes, strides))


@handlers.on(memref.AssumeAlignmentOp)
def assume_alignment(e: AnyEmission, op: memref.AssumeAlignmentOp) -> None:
    e.set(op.result, e.view(op.memref))


@handlers.on(memref.SubviewOp)
def subview(e: AnyEmission, op: memref.SubviewOp) -> None:
    """Part of a memref: offsets move the first element, strides are multiplied."""
    source, type = e.view(op.source), memref_type(op.result)
    offsets = mixed(op.static_offsets.get_values(), e.nums(op.offsets))
    sizes = mixed(op.static_sizes.get_values(), e.nums(op.sizes))
    steps = mixed(op.static_strides.get_values(), e.nums(op.strides))
    known = e.index.strides(source)
    offset = e.index.linear(source, offsets)
    static, shape = op.static_sizes.get_values(), type.get_shape()
    if len(kept := kept_dimensions(static, shape)) != len(shape):
        raise NoForm(f"expected a result of the sizes {tuple(static)}, got {type}")
    scaled = [e.index.scaled(source, *pair) for pair in zip(known, steps, strict=True)]
    form = replace(Form.of(type), offset=None)
    sizes, strides = ([each[d] for d in kept] for each in (sizes, scaled))
    e.set(op.result, form.view(source, offset, sizes, strides))


@handlers.on(memref.ViewOp)
def view_of_bytes(e: AnyEmission, op: memref.ViewOp) -> None:
    source, type = e.view(op.source), memref_type(op.result)
    if Form.of(type).strides is not None:
        raise NoForm(f"expected a view in row-major order, got {type.layout}")
    start, shift = source.offset, e.num(op.byte_shift)
    if not isinstance(start, int) or not isinstance(shift, int):
        raise NoForm("expected a view that begins at a constant byte")
    offset, rest = divmod(start + shift, e.types.bytes_of(type.element_type))
    if rest:
        raise NoForm(f"expected a view of whole elements, got one from byte {shift}")
    sizes = mixed(type.get_shape(), e.nums(op.sizes))
    view = e.as_elements(source, type.element_type)
    e.set(op.result, replace(view, offset=offset, sizes=tuple(sizes), strides=None))


@handlers.on(memref.ReinterpretCastOp)
def reinterpret_cast(e: AnyEmission, op: memref.ReinterpretCastOp) -> None:
    """Other numbers for the same memory; the offset counts from its beginning."""
    source, form = e.view(op.source), Form.of(op.result.type)
    (offset,) = mixed(op.static_offsets.get_values(), e.nums(op.offsets))
    sizes = mixed(op.static_sizes.get_values(), e.nums(op.sizes))
    steps = mixed(op.static_strides.get_values(), e.nums(op.strides))
    source = replace(source, wide=source.wide or e.is_wide(source, form))
    e.set(op.result, form.view(source, offset, sizes, steps))


@handlers.on(memref.ExtractStridedMetaDataOp)
def metadata(e: AnyEmission, op: memref.ExtractStridedMetaDataOp) -> None:
    source = e.view(op.source)
    base = replace(source, offset=0, sizes=(), strides=None, wide=False)
    e.set(op.base_buffer, base)
    results = (op.offset, *op.sizes, *op.strides)
    numbers = (source.offset, *source.sizes, *e.index.strides(source))
    for result, number in zip(results, numbers, strict=True):
        e.set(result, e.index.narrow(number))


@handlers.on(memref.AllocOp, memref.DeallocOp)
def no_heap(e: AnyEmission, op: memref.AllocOp | memref.DeallocOp) -> None:
    raise NoForm("there is no heap: allocate with memref.alloca")


# What an operation on memrefs must be, by its type and the numbers that are known.


def known_dimension(number: object, rank: int) -> int:
    """A dimension by its number, an int where it is constant.

    Raises:
        NoForm: it varies, or there is no such dimension.
    """
    if not isinstance(number, int):
        raise NoForm("expected a constant dimension, got one that varies")
    if not 0 <= number < rank:
        raise NoForm(f"expected a dimension below {rank}, got {number}")
    return number


# Atomic accesses to one element, by an instruction or by integers.
#
# `memref.atomic_rmw`, and loads and stores that have an ordering (`simt.ordering`).  An
# update without one is relaxed; who sees it as atomic (`simt.ordering_scope`) is the
# device.  `coopc.plan.atomic_form` says what is done by integers, and what the loop is.

AtomicOp: TypeAlias = (
    memref.LoadOp | memref.StoreOp | memref.AtomicRMWOp | simt.CompareExchangeOp
)


def _ordered(e: AnyEmission, op: AtomicOp) -> Ordered:
    """How an operation is ordered: the nearest that the target has."""
    order = Ordering(_text(op, simt.ORDERING, Ordering.RELAXED))
    if order is Ordering.SEQUENTIALLY_CONSISTENT and not e.has_total_order:
        order = _NEAREST.get(type(op), Ordering.ACQUIRE_RELEASE)
    return Ordered(order, Scope(_text(op, simt.ORDERING_SCOPE, Scope.DEVICE)))


_NEAREST: dict[type[Operation], Ordering] = {
    memref.LoadOp: Ordering.ACQUIRE,
    memref.StoreOp: Ordering.RELEASE,
}
"""What of a total order each can have alone."""


def _text(op: Operation, name: str, otherwise: str) -> str:
    found = op.attributes.get(name)
    return found.data if isinstance(found, StringAttr) else otherwise


@dataclass(frozen=True, slots=True)
class AtomicElement:
    """An element that is accessed atomically."""

    view: View[Any, Any]
    at: Any
    """Where it is, in elements from the base."""
    form: AtomicForm
    how: Ordered

    @classmethod
    def of(cls, e: AnyEmission, op: AtomicOp, access: Access) -> AtomicElement:
        """The element that an operation accesses.

        Raises:
            NoForm: it is no number of whole bytes.
        """
        view = e.view(op.memref)
        if is_vector(view.element) or view.element == i1:
            raise NoForm(
                "expected elements of 8, 16, 32 or 64 bits, which can be accessed "
                f"atomically, got {view.element}"
            )
        is_index = isinstance(view.element, IndexType)
        name = f"i{8 * e.types.bytes_of(view.element)}" if is_index else view.element
        form = atomic_form(str(name), access, e.facts.device)
        at = e.index.linear(view, e.nums(op.indices))
        return cls(view, at, form, _ordered(e, op))


def _atomic_load(e: AnyEmission, op: memref.LoadOp) -> None:
    element = AtomicElement.of(e, op, "access")
    if e.is_private(element.view):
        e.set(op.res, e.load(element.view, element.at))
    elif element.form == "native":
        place = e.atomic_place(element.view, element.at)
        e.set(op.res, e.atomic_load(place, element.view.element, element.how))
    else:
        with e.beside() as code:
            word = _Word.of(e, code, element)
            found = word.element_of(word.load(element.how))
            e.set(op.res, e.value(found))


def _atomic_store(e: AnyEmission, op: memref.StoreOp) -> None:
    element = AtomicElement.of(e, op, "access")
    e.writes(element.view)
    if e.is_private(element.view):
        e.store(element.view, element.at, e.value(op.value))
    elif element.form == "native":
        place = e.atomic_place(element.view, element.at)
        e.atomic_store(place, e.value(op.value), element.how)
    else:
        with e.beside() as code:
            word = _Word.of(e, code, element)
            if word.shift is None:
                bits = e.value(word.bits_of(op.value))
                e.atomic_store(word.place, bits, element.how)
            else:
                word.update(element.how, lambda _: op.value)


@handlers.on(memref.AtomicRMWOp)
def atomic_rmw(e: AnyEmission, op: memref.AtomicRMWOp) -> None:
    """The instruction of the kind, or a loop."""
    from coopc.passes.generic.expand_vector import combined

    update = ATOMIC_UPDATES[op.kind.value.data]
    element = AtomicElement.of(e, op, update.access)
    e.writes(element.view)
    if element.form == "native" and not e.is_private(element.view):
        place, value = e.atomic_place(element.view, element.at), e.value(op.value)
        e.set(op.result, e.atomic_update(update, place, value, element.how))
        return
    with e.beside() as code:
        old = _updated(
            e, code, element, lambda old: combined(code, update.name, old, op.value)
        )
        e.set(op.result, e.value(old))


def _updated(
    e: AnyEmission,
    code: Code,
    element: AtomicElement,
    combine: Callable[[SSAValue], SSAValue],
) -> SSAValue:
    """Update an element by what is there; return that."""
    if not e.is_private(element.view):
        return _Word.of(e, code, element).update(element.how, combine)
    old = e.standing(element.view.element, e.load(element.view, element.at))
    e.store(element.view, element.at, e.value(combine(old)))
    return old


def compare_exchange(e: AnyEmission, op: simt.CompareExchangeOp) -> None:
    """The instruction, on an integer of the width, or a loop."""
    element = AtomicElement.of(e, op, "bits")
    e.writes(element.view)
    with e.beside() as code:

        def replaced(old: SSAValue) -> SSAValue:
            integer = IntegerType(8 * e.types.bytes_of(element.view.element))
            one = code.cast(arith.BitcastOp, old, integer)
            other = code.cast(arith.BitcastOp, op.expected, integer)
            same = code(arith.CmpiOp(one, other, "eq"))
            return code(arith.SelectOp(same, op.value, old))

        if element.form == "word" or e.is_private(element.view):
            old = _updated(e, code, element, replaced)
        else:
            word = _Word.of(e, code, element)
            old, new = (e.value(word.bits_of(x)) for x in (op.expected, op.value))
            found, _ = e.compare_exchange(word.place, old, new, element.how)
            old = word.element_of(e.standing(word.type, found))
        e.set(op.result, e.value(old))


@dataclass(frozen=True, slots=True)
class _Word:
    """The integer that stands for an element, or that an element is a part of."""

    e: AnyEmission
    code: Code
    place: Any
    """A pointer to it."""
    type: IntegerType
    element: Attribute
    integer: IntegerType
    """Of the width of the element."""
    shift: SSAValue | None
    """Bits of it below the element, an i32; None where that is all of it."""

    @classmethod
    def of(cls, e: AnyEmission, code: Code, element: AtomicElement) -> _Word:
        view = element.view
        integer = IntegerType(8 * e.types.bytes_of(view.element))
        if element.form != "word":
            place = e.atomic_place(view, element.at, integer)
            return cls(e, code, place, integer, view.element, integer, None)
        place, shift = e.word_place(code, view, element.at)
        return cls(e, code, place, IntegerType(WORD), view.element, integer, shift)

    def load(self, how: Ordered) -> SSAValue:
        found = self.e.atomic_load(self.place, self.type, how)
        return self.e.standing(self.type, found)

    def element_of(self, word: SSAValue) -> SSAValue:
        code = self.code
        if self.shift is not None:
            low = code(arith.ShRUIOp(word, self.shift))
            word = code.cast(arith.TruncIOp, low, self.integer)
        if isinstance(self.element, IndexType):
            return code(arith.IndexCastOp(word, self.element))
        return code.cast(arith.BitcastOp, word, self.element)

    def bits_of(self, element: SSAValue) -> SSAValue:
        if isinstance(self.element, IndexType):
            return self.code(arith.IndexCastOp(element, self.integer))
        return self.code.cast(arith.BitcastOp, element, self.integer)

    def with_element(self, word: SSAValue, element: SSAValue) -> SSAValue:
        code, bits = self.code, self.bits_of(element)
        if self.shift is None:
            return bits
        mask = code.like(word, (1 << self.integer.bitwidth) - 1)
        placed = code(arith.ShLIOp(code(arith.ExtUIOp(bits, self.type)), self.shift))
        hole = code(arith.ShLIOp(mask, self.shift))
        around = code(arith.XOrIOp(hole, code.like(word, -1)))
        return code(arith.OrIOp(code(arith.AndIOp(word, around)), placed))

    def update(self, how: Ordered, combine: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """Emit an atomic update of an element; return the one that was there before.

        `combine` is given the element that is there.
        """
        e = self.e
        first = self.load(Ordered(Ordering.RELAXED, how.scope))
        before, header = e.here(), e.label("exchange")
        again, done = e.label("again"), e.label("exchanged")
        e.jump(header)
        e.begin(header)
        old = Block(arg_types=[self.type]).args[0]
        phi = e.carried(old, e.became[first], before)
        if e.structured:
            body = e.label("combine")
            e.open_loop(done, again)
            e.jump(body)
            e.begin(body)
        else:
            again = header
        new = self.with_element(old, combine(self.element_of(old)))
        found, same = e.compare_exchange(self.place, e.value(old), e.value(new), how)
        seen = e.standing(self.type, found)
        arrives = again if e.structured else e.here()
        e.arrive(phi, e.became[seen], arrives)
        e.branch(same, done, again)
        if e.structured:
            e.begin(again)
            e.jump(header)
        e.begin(done)
        return self.element_of(seen)
