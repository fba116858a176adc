"""Pointers and what is accessed through them: of elements, blocks and rows.

    tt.store %p, %v, %m             for each element: where m(i, j), *p(i, j) = v(i, j)
    tt.descriptor_load %d[%x, %y]   the same through p(i, j) = base + (x + i) * stride
                                    + y + j, where that is inside of the tensor

A load is a buffer, unless its elements are asked for once, or products load them as
matrices from where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import TypeAlias

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr, i64
from xdsl.dialects.memref import ReinterpretCastOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt, tt
from coopc.dialects.coopmatrix import Axis
from coopc.dialects.narrow import is_integer
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import bits_of
from coopc.dialects.tt.descriptors import Combination
from coopc.dialects.tt.types import Padding, block_io, in_memory, shape_of
from coopc.ir.builder import INDEX, Builder
from coopc.ir.facts import constant_number
from coopc.ir.transaction import Refused
from coopc.passes.triton.convert_tt_to_coopmatrix.carried_values import (
    form_of,
    like,
    parts,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import (
    Flag,
    Rule,
    TtKernel,
    kind_of,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.products import run_statement
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import feeds_products, waits
from coopc.passes.triton.convert_tt_to_coopmatrix.staged_factors import stage
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    FIRST,
    Coordinates,
    MatrixInMemory,
    Pointer,
    Tensor,
    address_of,
    from_memory,
    index,
    is_resized,
    offset,
    to_memory,
)
from coopc.passes.triton.memory import (
    MANY,
    AtomicOp,
    Update,
    cast_memory,
    in_elements,
    update_by,
    update_memory,
)

StoreOp: TypeAlias = (
    tt.StoreOp | tt.DescriptorStoreOp | tt.DescriptorReduceOp | tt.DescriptorScatterOp
)
PointerOp: TypeAlias = tt.LoadOp | tt.StoreOp | AtomicOp
BlockOp: TypeAlias = tt.DescriptorLoadOp | tt.DescriptorStoreOp | tt.DescriptorReduceOp
RowsOp: TypeAlias = tt.DescriptorGatherOp | tt.DescriptorScatterOp
AccessOp: TypeAlias = PointerOp | BlockOp | RowsOp

ROW_BYTES = 16
"""What rows in memory begin at multiples of for devices that want them aligned."""
UPDATES = {
    Combination.ADD: (tt.Update.FADD, tt.Update.ADD, tt.Update.ADD),
    Combination.AND: (None, tt.Update.AND, tt.Update.AND),
    Combination.MAX: (None, tt.Update.MAX, tt.Update.UMAX),
    Combination.MIN: (None, tt.Update.MIN, tt.Update.UMIN),
    Combination.OR: (None, tt.Update.OR, tt.Update.OR),
    Combination.XOR: (None, tt.Update.XOR, tt.Update.XOR),
}
"""The atomic update of a combination: of floats, of signed and of unsigned integers."""

# Pointers


def pointer_of(k: TtKernel, op: Operation) -> Pointer | SSAValue | None:
    """Write an operation on pointers; None for another one."""
    b = k.b
    match op:
        case tt.AddPtrOp():
            start, by = k.pointer(op.ptr), offset(b, k.number(op.offset))
            return replace(start, offset=b.pure(arith.AddiOp, start.offset, by))
        case tt.BitcastOp() if isinstance(pointer := k.values[op.src], Pointer):
            if not is_resized(op):
                return pointer
            address = address_of(b, pointer.base, pointer.offset)
            return pointer_to(k, address, op.result.type)
        case tt.IntToPtrOp():
            return pointer_to(k, k.number(op.src), op.result.type)
        case tt.PtrToIntOp():
            pointer = k.pointer(op.src)
            return address_of(b, pointer.base, pointer.offset)
        case arith.SelectOp() if isinstance(k.values[op.lhs], Pointer):
            form = form_of(k, op.lhs, op.result, op)
            one, other = (parts(k, k.values[x], form) for x in (op.lhs, op.rhs))
            pairs = zip(one, other, strict=True)
            chosen = [b.select(k.number(op.cond), *each) for each in pairs]
            found = like(k, form, iter(chosen))
            assert isinstance(found, Pointer), op
            return found
        case tt.MakeTensorDescriptorOp() | tt.MakeTensorPtrOp():
            is_block = isinstance(op, tt.MakeTensorPtrOp)
            return replace(
                k.pointer(op.base),
                sizes=k.numbers(op.shape),
                strides=k.numbers(op.strides),
                starts=k.numbers(op.offsets) if is_block else (),
                pads_with_nan=not is_block and op.padding_option is Padding.NAN,
            )
        case tt.AdvanceOp():
            old = k.pointer(op.ptr)
            pairs = zip(old.starts, k.numbers(op.offsets), strict=True)
            starts = tuple(b.pure(arith.AddiOp, x, y) for x, y in pairs)
            return replace(old, starts=starts)
        case _:
            return None


def pointer_to(k: TtKernel, address: SSAValue, type: Attribute) -> Pointer:
    """Return a pointer of a type to what is at an address."""
    assert isinstance(type, tt.PtrType), type
    return k.at_address(address, in_memory(type.pointee))


# Elements in memory


@dataclass(frozen=True, slots=True)
class ElementPlace:
    """Where an element is that is accessed if a flag is true."""

    base: SSAValue | None
    """Its memory; without one the offset is an address, if the flag is true."""
    offset: SSAValue
    flag: Flag

    def memory(self, b: Builder, element: Attribute) -> tuple[SSAValue, list[SSAValue]]:
        """Return memory that the element is in, and its indices."""
        if self.base is not None:
            return b.pure(cast_memory, self.base, 0, MANY), [index(b, self.offset)]
        address, type = self.offset, MemRefType(in_memory(element), [])
        if not isinstance(self.flag, bool):
            address = b.select(self.flag, address, b.constant(i64, 0))
        return b.pure(simt.MemoryAtOp, address, type), []


def load(
    k: TtKernel, place: ElementPlace, other: SSAValue | float, element: Attribute
) -> SSAValue:
    """Return an element where its flag is true, else `other`."""
    b, (memory, at) = k.b, place.memory(k.b, element)
    k.reads.add(place.base)
    if not isinstance(other, SSAValue):
        other = b.constant(element, other)
    rest = other if place.flag is True else to_memory(b, other, kind_of(memory))
    new = partial(memref.LoadOp.get, memory, at)
    return from_memory(b, b.effect_where(place.flag, new, [rest])[0], element)


def store(k: TtKernel, place: ElementPlace, value: SSAValue) -> None:
    memory, at = place.memory(k.b, value.type)
    value = to_memory(k.b, value, kind_of(memory))
    k.b.effect_where(place.flag, partial(memref.StoreOp.get, value, memory, at))


def update(k: TtKernel, place: ElementPlace, value: SSAValue, how: Update) -> SSAValue:
    """Update an element where its flag is true; return what was there, or else 0."""
    memory, at = place.memory(k.b, value.type)
    if at:
        memory = in_elements(k.b, memory, value.type)
    new, zero = partial(how, memory, value, at), k.b.constant(value.type, 0)
    return k.b.effect_where(place.flag, new, [zero])[0]


# Accesses


def access(k: TtKernel, op: PointerOp) -> None:
    """Write an access through pointers, of a tensor, a block or one element."""
    target = k.values[op.ptr]
    if isinstance(target, Tensor):
        mask = None if isinstance(op, tt.AtomicCASOp) else op.mask
        tensor_access(k, op, target, None if mask is None else k.tensor(mask))
        return
    assert isinstance(target, Pointer), op
    if not target.sizes:
        scalar_access(k, op, target)
        return
    assert isinstance(op, tt.LoadOp | tt.StoreOp), op
    if isinstance(op, tt.LoadOp) and op.padding is not None:
        is_nan = op.padding_option is Padding.NAN
        target = replace(target, pads_with_nan=is_nan)
    block_access(k, op, target, target.starts, op.boundary_check.get_values())


def accessed(op: AccessOp) -> SSAValue:
    """Return the tensor that is loaded, stored or put in by an update."""
    match op:
        case tt.StoreOp():
            return op.value
        case (
            tt.DescriptorStoreOp() | tt.DescriptorReduceOp() | tt.DescriptorScatterOp()
        ):
            return op.src
        case _:
            return op.results[0]


def tensor_access(
    k: TtKernel,
    op: AccessOp,
    pointers: Tensor,
    mask: Tensor | None,
    other: float = 0,
    matrix: MatrixInMemory | None = None,
) -> None:
    """Write an access of each element of a tensor.

    Args:
        k: the kernel.
        op: the access.
        pointers: where each element is.
        mask: of what is accessed, all without one.
        other: what is loaded elsewhere, if the operation does not say it.
        matrix: what is loaded, if that is a matrix in memory.
    """
    of, base, value = k.elements.of, pointers.base, accessed(op)
    element, shape = element_of(value.type), shape_of(value.type)

    def place(at: Coordinates) -> ElementPlace:
        where = of(pointers, at)
        return ElementPlace(base, where, True if mask is None else of(mask, at))

    def put(at: Coordinates) -> None:
        stored = of(k.tensor(value), at)
        if isinstance(op, tt.DescriptorReduceOp):
            update(k, place(at), stored, reduction(op))
        else:
            store(k, place(at), stored)

    def updated(at: Coordinates) -> SSAValue:
        assert isinstance(op, AtomicOp), op
        by = of(k.tensor(op.val), at)
        how = update_by(op, lambda x: of(k.tensor(x), at))
        return update(k, place(at), by, how)

    def loaded(at: Coordinates) -> SSAValue:
        given = op.other if isinstance(op, tt.LoadOp) else None
        spare = other if given is None else of(k.tensor(given), at)
        return load(k, place(at), spare, element)

    if isinstance(op, StoreOp):
        run_statement(k, op, base, shape, put)
        return
    get = updated if isinstance(op, AtomicOp) else loaded
    if isinstance(op, AtomicOp) and not value.uses:
        run_statement(k, op, base, shape, get)
        return
    if isinstance(op, tt.LoadOp | tt.DescriptorLoadOp) and k.options.block is not None:
        is_factor = matrix is not None and feeds_products(op)
        if is_factor or value in k.repeated or waits(op, k.users):
            found = Tensor(shape, get, None, frozenset({base}))
            k.values[value] = replace(found, matrix=matrix if is_factor else None)
            return
    found = k.buffer(shape, element, value.name_hint or "loaded")
    k.fill(found, get)
    k.values[value] = found


def reduction(op: tt.DescriptorReduceOp) -> Update:
    """Return the update of an element.

    Raises:
        Refused: memory has none.
    """
    kind, element = Combination(op.kind.value.data), element_of(op.src.type)
    assert isinstance(op.desc.type, tt.TensorDescType), op
    number = is_integer(element) + op.desc.type.is_unsigned
    if (found := UPDATES.get(kind, (None, None, None))[number]) is None:
        what = "expected add, or and, max, min, or, xor of integers"
        raise Refused(op, f"{what}, got {kind.name.lower()} of {element}")
    return partial(update_memory, found)


def scalar_access(k: TtKernel, op: PointerOp, target: Pointer) -> None:
    """Write an access of one element: a load by all lanes, else by the first.

    All lanes wait before an update that others may wait for, and after one that
    waits for others.
    """
    b, mask = k.b, None if isinstance(op, tt.AtomicCASOp) else op.mask
    place = ElementPlace(
        target.base, target.offset, True if mask is None else k.number(mask)
    )
    if isinstance(op, tt.LoadOp):
        other = 0 if op.other is None else k.number(op.other)
        k.values[op.result] = load(k, place, other, op.result.type)
        return
    is_first = b.equal(b.lane(k.options.lanes), 0)
    place = replace(place, flag=b.both(place.flag, is_first))
    if isinstance(op, tt.StoreOp):
        store(k, place, k.number(op.value))
        return
    how = update_by(op, k.number)
    if op.order in (tt.Order.RELEASE, tt.Order.ACQ_REL):
        b.effect(simt.BarrierOp())
    found = update(k, place, k.number(op.val), how)
    if op.result.uses:
        k.values[op.result] = b.from_lane(found, FIRST)
    if op.order in (tt.Order.ACQUIRE, tt.Order.ACQ_REL):
        b.effect(simt.BarrierOp())


def descriptor_access(k: TtKernel, op: BlockOp) -> None:
    target, starts = k.pointer(op.desc), k.numbers(op.indices)
    is_turned = block_io(op) == "column_major"
    block_access(k, op, target, starts, range(len(starts)), is_turned)


def rows_access(k: TtKernel, op: RowsOp) -> None:
    """Write an access of parts of rows, within the bounds of the tensor."""
    b, target = k.b, k.pointer(op.desc)
    rows, start = k.tensor(op.x_offsets), k.number(op.y_offset)

    def place(at: Coordinates) -> Coordinates:
        row = offset(b, k.elements.of(rows, at[:1]))
        return row, b.pure(arith.AddiOp, offset(b, start), offset(b, at[1]))

    pointers, mask = in_tensor(k, op, target, place)
    tensor_access(k, op, pointers, mask, nan if target.pads_with_nan else 0)


def in_tensor(
    k: TtKernel,
    op: AccessOp,
    target: Pointer,
    place: Callable[[Coordinates], Coordinates],
    checked: Sequence[int] = (0, 1),
) -> tuple[Tensor, Tensor | None]:
    """Return pointers to elements of a tensor in memory, and which are inside.

    An element is at a `place` of it, in i64, which may be outside in the dimensions
    that are `checked`.
    """
    b, shape = k.b, shape_of(accessed(op).type)

    def pointer(at: Coordinates) -> SSAValue:
        found = target.offset
        for number, stride in zip(place(at), target.strides, strict=True):
            step = b.pure(arith.MuliOp, number, stride)
            found = b.pure(arith.AddiOp, found, step)
        return found

    def inside(at: Coordinates) -> SSAValue:
        where, sizes = place(at), [offset(b, x) for x in target.sizes]
        found = b.both(*(b.compare("ult", where[d], sizes[d]) for d in checked))
        assert isinstance(found, SSAValue), target
        return found

    pointers = Tensor(shape, pointer, base=target.base)
    return pointers, Tensor(shape, inside) if checked else None


def block_access(
    k: TtKernel,
    op: tt.LoadOp | tt.StoreOp | BlockOp,
    target: Pointer,
    starts: Sequence[SSAValue],
    checked: Sequence[int],
    is_turned: bool = False,
) -> None:
    """Write an access of a block of a tensor in memory, within its bounds.

    It begins at `starts`, and may be outside in the dimensions that are `checked`. With
    `is_turned` its dimensions are in the other order in memory.
    """
    b = k.b

    def place(at: Coordinates) -> Coordinates:
        if is_turned:
            at = at[::-1]
        whole = (*[b.constant(INDEX, 0)] * (len(starts) - len(at)), *at)
        pairs = zip(starts, whole, strict=True)
        return tuple(b.pure(arith.AddiOp, offset(b, x), offset(b, y)) for x, y in pairs)

    matrix = None
    if k.options.block is not None and not target.pads_with_nan:
        shape = shape_of(accessed(op).type)[:: -1 if is_turned else 1]
        matrix = matrix_in(k, target, starts, checked, shape)
        if matrix is not None and is_turned:
            matrix = matrix.transposed()
    pointers, mask = in_tensor(k, op, target, place, checked)
    other = nan if target.pads_with_nan else 0
    tensor_access(k, op, pointers, mask, other, matrix)
    if op in k.options.common and op not in k.staged:
        stage(k, op)


def matrix_in(
    k: TtKernel,
    target: Pointer,
    starts: Sequence[SSAValue],
    checked: Sequence[int],
    shape: Sequence[int],
) -> MatrixInMemory | None:
    """Return a block in memory as what matrices are loaded from, if they can be."""
    if len(starts) != 2 or constant_number(target.strides[1]) != 1:
        return None
    b, base = k.b, target.base
    element = kind_of(base)
    layout = StridedLayoutAttr([None, 1], None)
    type = MemRefType(element, [DYNAMIC_INDEX] * 2, layout)
    begin, pitch = index(b, target.offset), index(b, target.strides[0])
    sizes = [index(b, x) for x in target.sizes]
    view = ReinterpretCastOp.from_dynamic(base, [begin], sizes, [pitch, 1], type)
    memory = b.effect(view).results[0]
    aligned: SSAValue | bool = True
    least = ROW_BYTES * 8 // bits_of(element)
    if k.options.aligns_rows and least > 1:
        first = b.pure(arith.AddiOp, begin, index(b, starts[1]))
        both = b.pure(arith.OrIOp, pitch, first)
        rest = b.pure(arith.AndIOp, both, b.constant(INDEX, least - 1))
        aligned = b.compare("eq", rest, b.constant(INDEX, 0))
    places = tuple(index(b, x) for x in starts)
    axes = tuple(
        (Axis.ROWS, Axis.COLS)[dim]
        for dim in checked
        if not is_within(starts[dim], shape[dim], target.sizes[dim])
    )
    return MatrixInMemory(memory, places, axes, aligned)


def is_within(start: SSAValue, size: int, whole: SSAValue) -> bool:
    """Whether a block is inside of memory for sure, along one dimension."""
    first, end = constant_number(start), constant_number(whole)
    return first is not None and end is not None and 0 <= first <= end - size


RULES: Mapping[type[Operation], Rule] = {
    **dict.fromkeys((tt.LoadOp, tt.StoreOp, tt.AtomicCASOp, tt.AtomicRMWOp), access),
    **dict.fromkeys(
        (tt.DescriptorLoadOp, tt.DescriptorReduceOp, tt.DescriptorStoreOp),
        descriptor_access,
    ),
    **dict.fromkeys((tt.DescriptorGatherOp, tt.DescriptorScatterOp), rows_access),
}
