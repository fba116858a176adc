"""`memref` in any target: accesses to elements, and what memrefs are made of.

Memrefs are known while a module is emitted (`View`), so `subview`, `cast` and
`reinterpret_cast` are arithmetic on their numbers, and no instruction otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from coopc.dialects import simt
from coopc.emit import atomics
from coopc.emit.emission import AnyEmission
from coopc.emit.view import Form, allocated, memref_type, mixed, space_of
from coopc.emit.walker import Handlers, Refusal

handlers = Handlers[AnyEmission](atomics.handlers)


def hints_of(
    op: memref.LoadOp | memref.StoreOp | vector.LoadOp | vector.StoreOp,
) -> list[str]:
    """What an access says of its memory: Volatile, Nontemporal."""
    nontemporal = bool(op.nontemporal.value.data)
    flags = {"Volatile": simt.VOLATILE in op.attributes, "Nontemporal": nontemporal}
    return [name for name, is_set in flags.items() if is_set]


@handlers.on(memref.LoadOp)
def load(e: AnyEmission, op: memref.LoadOp) -> None:
    if simt.ORDERING in op.attributes:
        atomics.load(e, op)
        return
    view = e.view(op.memref)
    at = e.index.linear(view, e.nums(op.indices))
    e.set(op.res, e.load(view, at, hints_of(op)))


@handlers.on(memref.StoreOp)
def store(e: AnyEmission, op: memref.StoreOp) -> None:
    if simt.ORDERING in op.attributes:
        atomics.store(e, op)
        return
    view = e.view(op.memref)
    at = e.index.linear(view, e.nums(op.indices))
    e.store(view, at, e.value(op.value), hints_of(op))


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
    elements, (offset, sizes, strides) = allocated(type)
    space, around = space_of(type), op.parent_op()
    if space is simt.MemorySpace.WORKGROUP and not isinstance(around, FuncOp):
        raise Refusal("expected work-group memory to be allocated at function entry")
    alignment = 0 if op.alignment is None else op.alignment.value.data
    view = e.allocate(type, elements, alignment, op.memref.name_hint)
    e.set(op.memref, replace(view, offset=offset, sizes=sizes, strides=strides))


@handlers.on(memref.CastOp, memref.MemorySpaceCastOp)
def cast(e: AnyEmission, op: memref.CastOp | memref.MemorySpaceCastOp) -> None:
    """The same memref as a type that says more or less of it."""
    source = e.view(op.source)
    form = cast_form(len(source.sizes), memref_type(op.dest))
    strides = e.index.strides(source)
    e.set(op.dest, form.view(source, source.offset, source.sizes, strides))


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
    kept = kept_dimensions(op.static_sizes.get_values(), type)
    scaled = [e.index.scaled(source, *pair) for pair in zip(known, steps, strict=True)]
    form = replace(Form.of(type), offset=None)
    sizes, strides = ([each[d] for d in kept] for each in (sizes, scaled))
    e.set(op.result, form.view(source, offset, sizes, strides))


@handlers.on(memref.ViewOp)
def view_of_bytes(e: AnyEmission, op: memref.ViewOp) -> None:
    source, type = e.view(op.source), memref_type(op.result)
    offset = first_element(source.offset, e.num(op.byte_shift), type, e.types.bytes_of)
    sizes = mixed(type.get_shape(), e.nums(op.sizes))
    view = e.as_elements(source, type.element_type)
    e.set(op.result, replace(view, offset=offset, sizes=tuple(sizes), strides=None))


def view_elements(e: AnyEmission, op: simt.ViewElementsOp) -> None:
    """Numbers of other elements, from a pointer to one of them."""
    source, type = e.view(op.memory), memref_type(op.result)
    known, factor = e.index.strides(source), op.per_pointee
    offset = e.index.mul(e.index.linear(source, e.nums(op.positions)), factor)
    strides = e.index.mul(known[-2], factor), 1
    view = e.as_elements(source, type.element_type)
    sizes = tuple(type.get_shape())
    e.set(op.result, replace(view, offset=offset, sizes=sizes, strides=strides))


@handlers.on(memref.ReinterpretCastOp)
def reinterpret_cast(e: AnyEmission, op: memref.ReinterpretCastOp) -> None:
    """Other numbers for the same memory; the offset counts from its beginning."""
    source, form = e.view(op.source), Form.of(memref_type(op.result))
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
    raise Refusal("there is no heap: allocate with memref.alloca")


# What an operation on memrefs must be, by its type and the numbers that are known.


def first_element(
    offset: object,
    shift: object,
    type: MemRefType,
    bytes_of: Callable[[Attribute], int],
) -> int:
    """The offset of a view of bytes, in its elements.

    Raises:
        Refusal: where it begins varies, or is not aligned, or it is not row-major.
    """
    if Form.of(type).strides is not None:
        raise Refusal(f"expected a view in row-major order, got {type.layout}")
    if not isinstance(offset, int) or not isinstance(shift, int):
        raise Refusal("expected a view that begins at a constant byte")
    first, rest = divmod(offset + shift, bytes_of(type.element_type))
    if rest:
        raise Refusal(f"expected a view of whole elements, got one from byte {shift}")
    return first


def known_dimension(number: object, rank: int) -> int:
    """A dimension by its number, an int where it is constant.

    Raises:
        Refusal: it varies, or there is no such dimension.
    """
    if not isinstance(number, int):
        raise Refusal("expected a constant dimension, got one that varies")
    if not 0 <= number < rank:
        raise Refusal(f"expected a dimension below {rank}, got {number}")
    return number


def cast_form(rank: int, type: MemRefType) -> Form:
    """The form of what a memref of a rank is cast to.

    Raises:
        Refusal: it has another rank.
    """
    if rank != type.get_num_dims():
        raise Refusal(f"expected a memref of rank {rank}, got {type}")
    return Form.of(type)


def kept_dimensions(sizes: Sequence[int], type: MemRefType) -> list[int]:
    """Which dimensions a subview keeps: it may drop those of size 1.

    >>> from xdsl.dialects.builtin import f32
    >>> kept_dimensions((1, 8, 1, 4), MemRefType(f32, (8, 4)))
    [1, 3]

    Raises:
        Refusal: the type has other sizes.
    """
    shape = type.get_shape()
    kept: list[int] = []
    to_drop = len(sizes) - len(shape)
    for dimension, size in enumerate(sizes):
        expected = shape[len(kept)] if len(kept) < len(shape) else None
        if to_drop and size == 1 and expected != 1:
            to_drop -= 1
        else:
            kept.append(dimension)
    if len(kept) != len(shape):
        raise Refusal(f"expected a result of the sizes {tuple(sizes)}, got {type}")
    return kept
