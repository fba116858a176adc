"""`memref`: loads, stores, and what memrefs are made of.

`subview`, `cast` and `reinterpret_cast` are arithmetic on the numbers of a memref.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coopc.dialects import simt
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.memref_atomic import atomic_load, atomic_store, is_atomic
from coopc.emit.llvm.view import View, filled, id_of
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
)
from coopc.emit.structured import Refusal
from coopc.llvm.types import Array

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
