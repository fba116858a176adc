"""`memref`: loads, stores, and what memrefs are made of.

Memrefs are known while the module is emitted (`View`), so `subview`, `cast` and
`reinterpret_cast` are arithmetic on their numbers, and no instruction otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import memref
from xdsl.dialects.builtin import BoolAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from coopc.dialects import simt
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
from coopc.emit.spirv.address import (
    base_pointer,
    element_pointer,
    linear,
    memory_operands,
    strides,
    variable_of,
)
from coopc.emit.spirv.atomics import atomic_load, atomic_store, is_atomic
from coopc.emit.spirv.emission import Emission, Handlers, View, filled, is_wide
from coopc.emit.walker import Refusal
from coopc.spirv.instruction import Id

handlers = Handlers()

ALLOCATED = {
    simt.MemorySpace.GLOBAL: "Function",
    simt.MemorySpace.PRIVATE: "Function",
    simt.MemorySpace.WORKGROUP: "Workgroup",
}
"""The storage class of an alloca: one that does not say where is a work-item's own."""


@handlers.on(memref.LoadOp)
def load(e: Emission, op: memref.LoadOp) -> None:
    """One element."""
    if is_atomic(op):
        atomic_load(e, op)
        return
    view = e.view(op.memref)
    pointer = element_pointer(e, view, e.nums(op.indices))
    type = e.types.in_memory(view.element)
    access = memory_operands(
        e,
        view,
        volatile=simt.VOLATILE in op.attributes,
        nontemporal=is_true(op.nontemporal),
    )
    id = e.emit("OpLoad", pointer, *access, type=type)
    e.set(op.res, (e.from_memory(view.element, id),))


@handlers.on(memref.StoreOp)
def store(e: Emission, op: memref.StoreOp) -> None:
    """One element."""
    if is_atomic(op):
        atomic_store(e, op)
        return
    view = e.view(op.memref)
    pointer = element_pointer(e, view, e.nums(op.indices))
    access = memory_operands(
        e,
        view,
        volatile=simt.VOLATILE in op.attributes,
        nontemporal=is_true(op.nontemporal),
    )
    e.whole.written.add(view.base)
    e.do("OpStore", pointer, e.to_memory(view.element, e.id(op.value)), *access)


def is_true(flag: BoolAttr | None) -> bool:
    """Whether a flag is there and set."""
    return flag is not None and bool(flag.value.data)


@handlers.on(memref.DimOp)
def dim(e: Emission, op: memref.DimOp) -> None:
    """The size of a dimension, which must be known."""
    memref_type(op.source)
    view = e.view(op.source)
    at = known_dimension(e.num(op.index), len(view.sizes))
    e.set(op.result, (e.index.narrow(view.sizes[at]),))


@handlers.on(memref.RankOp)
def rank(e: Emission, op: memref.RankOp) -> None:
    """The number of dimensions."""
    e.set(op.rank, (e.index.id(len(e.view(op.source).sizes)),))


@handlers.on(memref.AllocaOp)
def alloca(e: Emission, op: memref.AllocaOp) -> None:
    """An array in the memory of the work-group or of the work-item."""
    type = memref_type(op.memref)
    elements, numbers = allocated(type)
    storage = ALLOCATED[space_of(type)]
    if storage == "Workgroup" and not isinstance(op.parent_op(), FuncOp):
        raise Refusal("expected work-group memory to be allocated at function entry")
    base = _variable(e, type.element_type, elements, storage, op.memref.name_hint)
    if op.alignment is not None and op.alignment.value.data > 0 and not e.facts.vulkan:
        e.module.decorate(base, "Alignment", op.alignment.value.data)
    e.set(op.memref, View(base, storage, type.element_type, *numbers))


def _variable(
    e: Emission, type: Attribute, elements: int, storage: str, name: str | None
) -> Id:
    """The variable of an array of elements of a type."""
    length = e.module.constant(e.types.u32, elements)
    array = e.module.type("OpTypeArray", e.types.in_memory(type), length)
    pointer = e.types.pointer(storage, array)
    if storage == "Function":
        return e.function.local_variable(pointer, name=name)
    return e.module.variable(pointer, storage, name=name)


@handlers.on(memref.CastOp, memref.MemorySpaceCastOp)
def cast(e: Emission, op: memref.CastOp | memref.MemorySpaceCastOp) -> None:
    """The same memref as a type that says more or less of it."""
    source = e.view(op.source)
    form = cast_form(len(source.sizes), memref_type(op.dest))
    e.set(op.dest, recast(e, source, form))


def recast(e: Emission, source: View, form: Form) -> View:
    """A view in another form of the same memory."""
    known = strides(e, source)
    return filled(
        form,
        source,
        lambda: source.offset,
        lambda d: source.sizes[d],
        lambda d: known[d],
    )


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
    known = strides(e, source)
    offset = e.index.linear(source, offsets)
    kept = kept_dimensions(op.static_sizes.get_values(), type)
    scaled = [e.index.stride(source, *pair) for pair in zip(known, steps, strict=True)]
    form = replace(Form.of(type), offset=None)
    view = filled(
        form,
        source,
        lambda: offset,
        lambda d: sizes[kept[d]],
        lambda d: scaled[kept[d]],
    )
    e.set(op.result, view)


@handlers.on(memref.ViewOp)
def view_of_bytes(e: Emission, op: memref.ViewOp) -> None:
    """Bytes as elements of another type."""
    if e.facts.vulkan:
        raise Refusal(
            "expected memory of one type, as Vulkan casts no pointers, "
            f"got {op.result.type}"
        )
    source, type = e.view(op.source), memref_type(op.result)
    offset = first_element(source.offset, e.num(op.byte_shift), type, e.types.bytes_of)
    pointer = e.types.pointer(source.storage, e.types.in_memory(type.element_type))
    base = e.emit("OpBitcast", source.base, type=pointer)
    sizes = iter(e.nums(op.sizes))
    shape = tuple(next(sizes) if size < 0 else size for size in type.get_shape())
    e.set(op.result, View(base, source.storage, type.element_type, offset, shape, None))


@handlers.on(memref.ReinterpretCastOp)
def reinterpret_cast(e: Emission, op: memref.ReinterpretCastOp) -> None:
    """Other numbers for the same memory; the offset counts from its beginning."""
    source, form = e.view(op.source), Form.of(memref_type(op.result))
    (offset,) = mixed(op.static_offsets.get_values(), e.nums(op.offsets))
    sizes = mixed(op.static_sizes.get_values(), e.nums(op.sizes))
    steps = mixed(op.static_strides.get_values(), e.nums(op.strides))
    at = replace(source, wide=source.wide or is_wide(form, source.storage))
    view = filled(form, at, lambda: offset, lambda d: sizes[d], lambda d: steps[d])
    e.set(op.result, view)


def view_elements(e: Emission, op: simt.ViewElementsOp) -> None:
    """Numbers of other elements, from a pointer to one of them."""
    source, type = e.view(op.memory), memref_type(op.result)
    known, factor = strides(e, source), op.per_pointee
    offset = e.index.mul(linear(e, source, e.nums(op.positions)), factor)
    rows = e.index.mul(known[-2], factor)
    base = _as_elements(e, source, type.element_type)
    sizes = tuple(type.get_shape())
    view = View(base, source.storage, type.element_type, offset, sizes, (rows, 1))
    e.set(op.result, view)


def _as_elements(e: Emission, view: View, element: Attribute) -> Id:
    """The base of a memref as memory of elements of another type."""
    if view.base in e.whole.bindings:
        return variable_of(e, view.base, element, str(element))
    if view.storage == "PhysicalStorageBuffer":
        to = e.types.pointer(view.storage, e.whole.block(element))
        return e.emit("OpBitcast", view.base, type=to)
    if e.facts.vulkan:
        raise Refusal(
            f"expected memory of {element}, the element type of the matrix, got "
            f"{view.element}: Vulkan sees only buffers as elements of another type"
        )
    to = e.types.pointer(view.storage, e.types.in_memory(element))
    return e.emit("OpBitcast", base_pointer(e, view), type=to)


@handlers.on(memref.ExtractStridedMetaDataOp)
def metadata(e: Emission, op: memref.ExtractStridedMetaDataOp) -> None:
    """The numbers of a memref."""
    source = e.view(op.source)
    base = View(source.base, source.storage, source.element, 0, (), None)
    e.set(op.base_buffer, base)
    e.set(op.offset, (e.index.narrow(source.offset),))
    for results, numbers in (
        (op.sizes, source.sizes),
        (op.strides, strides(e, source)),
    ):
        for result, number in zip(results, numbers, strict=True):
            e.set(result, (e.index.narrow(number),))


def _no_heap(e: Emission, op: Operation) -> None:
    raise Refusal("a kernel has no heap: allocate with memref.alloca")


handlers.add(memref.AllocOp, _no_heap)
handlers.add(memref.DeallocOp, _no_heap)
