"""Simulation of `tt`, `ttg` and `ttig`: tensors whole, one of each work-group.

Encodings say where elements are, not what they are: nothing here looks at them.  There
is nothing to exchange between lanes, and nobody to wait for.  A scalar pointer is a
memref of rank 0, a tensor of pointers one whose offset is a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    Float4E2M1FNType,
    Float8E8M0FNUType,
    Float32Type,
    IntegerType,
    MemRefType,
    bf16,
    f16,
    f32,
)
from xdsl.ir import Attribute, Operation, Region

from coopc.dialects import tt, ttg, ttig
from coopc.dialects.coopmatrix import Ordering
from coopc.dialects.llvm_assume import AssumeOp
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.descriptors import descriptor_type
from coopc.rounding import FORMATS
from coopc.sim.arith import FLOATS, call, cast, element_type, floats, high_product
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import end_region, forward, implements, nothing, run_region
from coopc.sim.machine import WORK_ITEM, Machine
from coopc.sim.memory import MemRef, whole, with_dynamic
from coopc.sim.numerics import decoded
from coopc.sim.scf import call as call_function
from coopc.sim.simt import address, check_address, coordinate, replacement
from coopc.sim.values import (
    AXES,
    GROUP_AXIS,
    Array,
    bits_of,
    components,
    is_float,
    memory_dtype,
    nibbles,
    number,
    shape_of,
    trailing,
    unsigned,
    with_steps,
    wrapped,
)
from coopc.sim.xe import TF32_DROPPED

# Programs.

implements(tt.ReturnOp, tt.ReduceReturnOp, tt.ScanReturnOp, tt.MapElementwiseReturnOp)(
    end_region
)
# Functions are those of `func` by then.
implements(tt.CallOp)(call_function)


@implements(tt.GetProgramIdOp)
def program_id(machine: Machine, op: tt.GetProgramIdOp) -> Array:
    grid = machine.launch.grid
    return coordinate(machine.group, op.program_axis, grid).astype(np.int32)


@implements(tt.GetNumProgramsOp)
def num_programs(machine: Machine, op: tt.GetNumProgramsOp) -> Array:
    return number(machine.launch.grid[op.program_axis]).astype(np.int32)


@implements(AssumeOp)
def assume(machine: Machine, op: AssumeOp, holds: Array) -> None:
    """Check a promise (`tl.assume`), wherever somebody makes it."""
    machine.refuse(~holds, "expected the assumption to be true, got false")


@implements(tt.MakeRangeOp)
def make_range(machine: Machine, op: tt.MakeRangeOp) -> Array:
    found = np.arange(op.start.value.data, op.end.value.data, dtype=np.int32)
    return found.reshape((1,) * AXES + found.shape)


# Shapes, of tensors and of tensors of pointers.


def moved(pointer: MemRef, offset: Array) -> MemRef:
    """Return pointers into the same memory."""
    return replace(pointer, offset=offset, sizes=(), strides=())


def to_shape(op: Any, value: Array, shape: tuple[int, ...]) -> Array:
    """Return the elements in row-major order as a tensor of another shape."""
    return value.reshape(value.shape[:AXES] + shape)


SHAPES: dict[type[Operation], Callable[[Any, Array, tuple[int, ...]], Array]] = {
    tt.SplatOp: lambda op, x, shape: np.broadcast_to(
        trailing(x, len(shape)), x.shape + shape
    ),
    tt.BroadcastOp: lambda op, x, shape: np.broadcast_to(x, x.shape[:AXES] + shape),
    tt.TransOp: lambda op, x, shape: x.transpose(
        (*range(AXES), *(AXES + dim for dim in op.permutation))
    ),
    **dict.fromkeys((tt.ExpandDimsOp, tt.ReshapeOp, tt.UnsplatOp), to_shape),
}
"""From the operation, a tensor and the shape of the result to the result."""


@implements(*SHAPES)
def change_shape(
    machine: Machine, op: Operation, value: Array | MemRef
) -> Array | MemRef:
    change, shape = SHAPES[type(op)], shape_of(op.results[0].type)
    if isinstance(value, MemRef):
        return moved(value, change(op, value.offset, shape))
    return change(op, value, shape)


@implements(tt.JoinOp)
def join(machine: Machine, op: tt.JoinOp, *args: Array) -> Array:
    return np.stack(np.broadcast_arrays(*args), axis=-1)


@implements(tt.SplitOp)
def split(machine: Machine, op: tt.SplitOp, value: Array) -> tuple[Array, Array]:
    return value[..., 0], value[..., 1]


@implements(tt.CatOp)
def cat(machine: Machine, op: tt.CatOp, *args: Array) -> Array:
    return np.concatenate(np.broadcast_arrays(*args), axis=AXES)


@implements(tt.GatherOp)
def gather(machine: Machine, op: tt.GatherOp, src: Array, indices: Array) -> Array:
    """Pick elements by number.

    Raises:
        UndefinedBehaviour: there is no element of a number.
    """
    axis = AXES + op.axis.value.data
    size = src.shape[axis]
    if ((indices < 0) | (indices >= size)).any():
        raise UndefinedBehaviour(f"expected indices of 0 to {size - 1}")
    shape = np.broadcast_shapes(src.shape[:AXES], indices.shape[:AXES])
    indices = np.broadcast_to(indices, shape + indices.shape[AXES:])
    kept = (slice(0, n) for n in indices.shape[AXES:axis])
    rest = (slice(0, n) for n in indices.shape[axis + 1 :])
    src = np.broadcast_to(src, shape + src.shape[AXES:])
    src = src[..., *kept, slice(None), *rest]
    return np.take_along_axis(src, indices.astype(np.int64), axis)


@implements(tt.HistogramOp)
def histogram(machine: Machine, op: tt.HistogramOp, src: Array, *mask: Array) -> Array:
    """Count the elements that are 0, 1, 2, ..; others, and masked ones, are not."""
    bins = np.arange(shape_of(op.result.type)[0])
    values, *masks = (
        x.reshape(*x.shape[:AXES], -1, 1) for x in np.broadcast_arrays(src, *mask)
    )
    found = values == bins
    for each in masks:
        found &= each
    return wrapped(found.sum(AXES), element_of(op.result.type))


# Products, reductions and arithmetic that `arith` lacks.


@implements(tt.FpToFpOp)
def fp_to_fp(machine: Machine, op: tt.FpToFpOp, value: Array) -> Array:
    """Give a float in another format; of f8, at most its greatest number."""
    source, result = element_type(op.src), element_type(op.result)
    wide, narrow = FORMATS.get(source.name), FORMATS.get(result.name)
    numerics = machine.numerics
    if wide and narrow and narrow.bits == 8 and wide.greatest > narrow.greatest:
        for name, end in (("maximum", -narrow.greatest), ("minimum", narrow.greatest)):
            value = numerics.call(name, source, value, numerics.constant(end, source))
    found = cast(machine, op, value)
    if op.rounding_mode is not tt.Rounding.RTZ:
        return found
    back = numerics.convert(found, result, source)
    ends = [numerics.call("abs", source, x) for x in (back, value)]
    one, other = numerics.compared(ends[0], ends[1], source)
    integer = IntegerType(bits_of(result))
    bits = numerics.bitcast(found, result, integer)
    return numerics.bitcast(np.where(one > other, bits - 1, bits), integer, result)


@implements(tt.DotOp)
def dot(machine: Machine, op: tt.DotOp, a: Array, b: Array, c: Array) -> Array:
    """Multiply; f32 as tf32 where that is asked for."""
    of_a, of_b, of_c, of_d = map(element_type, (op.a, op.b, op.c, op.d))
    if not is_float(of_d):
        wide = (x.astype(c.dtype) for x in (a, b))
        return wrapped(np.matmul(*wide) + c, of_d)
    numerics = machine.numerics
    if isinstance(of_a, Float32Type) and op.precision is tt.InputPrecision.TF32:
        a, b = (numerics.cut(x, TF32_DROPPED) for x in (a, b))
    return numerics.multiply_add((a, b, c), (of_a, of_b, of_c, of_d))


@implements(tt.DotScaledOp)
def dot_scaled(
    machine: Machine, op: tt.DotScaledOp, a: Array, b: Array, c: Array, *scales: Array
) -> Array:
    """Multiply factors by their scales in f32, round them, multiply these."""
    kinds = [tt.member(tt.ScaledElement, x) for x in (op.a_elem_type, op.b_elem_type)]
    floats: Attribute = f16 if tt.ScaledElement.FP16 in kinds else bf16
    numerics, left = machine.numerics, list(scales)
    factors: list[Array] = []
    for is_right, (value, operand, scale, pack) in enumerate(
        ((a, op.a, op.a_scale, op.lhs_k_pack), (b, op.b, op.b_scale, op.rhs_k_pack))
    ):
        kind, type, axis = (
            kinds[is_right],
            element_type(operand),
            -2 if is_right else -1,
        )
        if kind is tt.ScaledElement.E2M1:
            packed = axis if pack is None or pack.value.data else -3 - axis
            codes = nibbles(value.astype(np.uint8), packed, is_signed=False)
            value = numerics.given(decoded(codes, Float4E2M1FNType.name), f32)
        elif kind in (*tt.F8, tt.ScaledElement.BF16, tt.ScaledElement.FP16):
            of = tt.F8.get(kind, type)
            value = value if of == type else numerics.bitcast(value, type, of)
            value = numerics.convert(value, of, f32)
        else:
            raise SimulationError(f"{kind.name.lower()} is not simulated")
        if scale is not None:
            powers = decoded(left.pop(0).astype(np.uint8), Float8E8M0FNUType.name)
            powers = np.repeat(powers, value.shape[axis] // powers.shape[-1], -1)
            powers = powers.swapaxes(-1, -2) if is_right else powers
            value = numerics.call("mul", f32, value, numerics.given(powers, f32))
        factors.append(numerics.convert(value, f32, floats))
    types = floats, floats, element_type(op.c), element_type(op.d)
    return numerics.multiply_add((factors[0], factors[1], c), types)


def by_element(machine: Machine, region: Region, *args: Array) -> tuple[Array, ...]:
    """Run a region for each element of tensors of one shape, as if each were a lane.

    Results have a row per program if the region captures values that differ between
    programs.
    """
    shape = args[0].shape
    rows = [x.reshape(shape[0], 1, -1) for x in args]
    before = machine.lane, machine.in_element
    machine.lane = np.arange(rows[0].shape[2]).reshape(1, 1, -1)
    machine.in_element = True
    try:
        found = np.broadcast_arrays(*run_region(machine, region, *rows), rows[0])
    finally:
        machine.lane, machine.in_element = before
    return tuple(x.reshape(-1, *shape[1:]) for x in found[:-1])


def of_programs(machine: Machine, args: Sequence[Array]) -> list[Array]:
    """Return tensors broadcast to one shape, with a row per program."""
    values = np.broadcast_arrays(*args)
    return [np.broadcast_to(x, (len(machine.group), *x.shape[1:])) for x in values]


@implements(tt.ReduceOp)
def reduce(machine: Machine, op: tt.ReduceOp, *args: Array) -> tuple[Array, ...]:
    """Combine along an axis, halves with each other."""
    axis, values = AXES + op.axis.value.data, of_programs(machine, args)
    while (size := values[0].shape[axis]) > 1:
        half = size // 2
        low = [x.take(range(half), axis) for x in values]
        high = [x.take(range(half, 2 * half), axis) for x in values]
        found = by_element(machine, op.combine, *low, *high)
        rest = [x.take(range(2 * half, size), axis) for x in values]
        pairs = zip(found, rest, strict=True)
        values = [np.concatenate(pair, axis) for pair in pairs]
    return tuple(x.take(0, axis) for x in values)


@implements(tt.ScanOp)
def scan(machine: Machine, op: tt.ScanOp, *args: Array) -> tuple[Array, ...]:
    """Combine along an axis, each element with what is before it."""
    axis, values = AXES + op.axis.value.data, of_programs(machine, args)
    if is_reversed := bool(op.reverse.value.data):
        values = [np.flip(x, axis) for x in values]
    sums = tuple(x.take([0], axis) for x in values)
    found = [[x] for x in sums]
    for at in range(1, values[0].shape[axis]):
        new = [x.take([at], axis) for x in values]
        sums = by_element(machine, op.combine, *sums, *new)
        for parts, sum in zip(found, sums, strict=True):
            parts.append(sum)
    whole = [np.concatenate(parts, axis) for parts in found]
    return tuple(np.flip(x, axis) if is_reversed else x for x in whole)


@implements(tt.MapElementwiseOp)
def map_elementwise(
    machine: Machine, op: tt.MapElementwiseOp, *args: Array
) -> tuple[Array, ...]:
    """Run the region for `pack` elements in a row at a time, each a lane for now."""
    pack, shape = op.pack.value.data, shape_of(op.results[0].type)
    values = np.broadcast_arrays(*args)
    rows = [x.reshape(x.shape[0], 1, -1, pack) for x in values]
    given = [x[..., at] for x in rows for at in range(pack)]
    found = by_element(machine, op.scalar_op, *given)
    parts = [np.stack(found[n : n + pack], -1) for n in range(0, len(found), pack)]
    return tuple(x.reshape(*x.shape[:2], 1, *shape) for x in parts)


@implements(tt.BitcastOp)
def bitcast(
    machine: Machine, op: tt.BitcastOp, value: Array | MemRef
) -> Array | MemRef:
    """Take the bits as another type; pointers stay."""
    if isinstance(value, MemRef):
        return value
    types = element_type(op.src), element_type(op.result)
    return machine.numerics.bitcast(value, *types)


@implements(tt.ClampFOp)
def clampf(
    machine: Machine, op: tt.ClampFOp, x: Array, low: Array, high: Array
) -> Array:
    """Keep between two numbers: NaN is NaN where it propagates, else the least."""
    is_kept = tt.member(tt.PropagateNan, op.propagate_nan) is tt.PropagateNan.ALL
    at_least, at_most = ("maximum", "minimum") if is_kept else ("maxnum", "minnum")
    numerics, type = machine.numerics, element_type(op.result)
    return numerics.call(at_most, type, numerics.call(at_least, type, x, low), high)


FLOATS.update({tt.PreciseSqrtOp: "precise_sqrt", tt.PreciseDivFOp: "precise_div"})
implements(tt.PreciseSqrtOp, tt.PreciseDivFOp)(floats)


@implements(tt.MulhiUIOp)
def mulhiui(machine: Machine, op: tt.MulhiUIOp, *args: Array) -> Array:
    type = element_type(op.result)
    x, y = (unsigned(arg, type) for arg in args)
    return wrapped(high_product(x, y, bits_of(type)), type)


@implements(tt.ExternElementwiseOp)
def library_function(
    machine: Machine, op: tt.ExternElementwiseOp, *args: Array
) -> Array:
    if (found := tt.function_of(op.symbol.data)) is None:
        raise SimulationError(f"expected a known function, got {op.symbol.data}")
    return machine.numerics.call(FLOATS[found], element_type(op.results[0]), *args)


# Memory through pointers and descriptors.

UPDATES: dict[tt.Update, tuple[str, bool]] = {
    tt.Update.FADD: ("add", True),
    tt.Update.UMAX: ("max", False),
    tt.Update.UMIN: ("min", False),
    tt.Update.EXCH: ("assign", True),
}
"""What an update does that has another name, and whether integers are signed."""


@dataclass(frozen=True, eq=False, slots=True)
class TensorInMemory:
    """What a descriptor describes, or a block pointer is a block of."""

    tensor: MemRef
    padding: tt.Padding = tt.Padding.ZERO
    """What is read outside."""
    starts: tuple[Array, ...] = ()
    """Where the block of a block pointer begins."""


@dataclass(frozen=True, eq=False, slots=True)
class TensorPart:
    """Elements of a tensor in memory: a block of it, or parts of rows."""

    tensor: MemRef
    places: Sequence[Array]
    inside: Array
    """Which of them are inside of the tensor."""
    is_turned: bool = False
    """Whether rows are columns of what is accessed."""

    def read(self, machine: Machine, type: Attribute, padding: tt.Padding) -> Array:
        """Read elements of a type; outside is zero, or NaN."""
        found = read(machine, self.tensor, self.places, self.inside)
        if padding is tt.Padding.NAN:
            nan = machine.numerics.constant(float("nan"), element_of(type))
            found = np.where(self.inside, found, nan)
        found = found.swapaxes(-1, -2) if self.is_turned else found
        return found.reshape(found.shape[:AXES] + shape_of(type))

    def in_memory(self, value: Array) -> Array:
        """Return a tensor in the shape that it has in memory."""
        value = value.swapaxes(-1, -2) if self.is_turned else value
        return value.reshape(value.shape[:AXES] + self.inside.shape[AXES:])


def tensor_at(base: MemRef, shape: Sequence[Array], strides: Sequence[Array]) -> MemRef:
    """Return a tensor in memory, by numbers of any width, in elements."""
    sizes, steps = (tuple(x.astype(np.int64) for x in y) for y in (shape, strides))
    return replace(base, sizes=sizes, strides=steps)


def part_at(
    tensor: MemRef,
    places: Sequence[Array],
    checked: Sequence[int] | None = None,
    is_turned: bool = False,
) -> TensorPart:
    """Return the elements at coordinates.

    They may be outside along dimensions that are checked, all if these are None.

    Raises:
        UndefinedBehaviour: some are outside where that is not checked.
    """
    rank = places[0].ndim - AXES
    inside = np.ones((1,) * places[0].ndim, np.bool_)
    for axis, (place, size) in enumerate(zip(places, tensor.sizes, strict=True)):
        within = (place >= 0) & (place < trailing(size, rank))
        if checked is not None and axis not in checked and not within.all():
            raise UndefinedBehaviour(
                f"expected a block inside its tensor along dimension {axis}, "
                "which boundaryCheck does not list"
            )
        inside = inside & within
    return TensorPart(tensor, places, inside, is_turned)


def block_at(starts: Sequence[Array], shape: Sequence[int]) -> list[Array]:
    """Return the coordinates of the elements of a block."""
    return with_steps([x.astype(np.int64) for x in starts], shape)


def part_of(op: Operation, found: TensorInMemory, where: Sequence[Array]) -> TensorPart:
    """Return what is accessed through a block pointer or a descriptor.

    `where` are indices of a descriptor's block, or rows and a column.
    """
    match op:
        case tt.LoadOp() | tt.StoreOp():
            block = tt.pointee_of(op.ptr.type)
            assert block is not None, op
            places = block_at(found.starts, shape_of(block))
            return part_at(found.tensor, places, op.boundary_check.get_values())
        case tt.DescriptorGatherOp(desc=desc) | tt.DescriptorScatterOp(desc=desc):
            cols, (rows, col) = descriptor_type(desc).shape[1], where
            (along,) = block_at([col], (cols,))
            along = along.reshape(*along.shape[:AXES], 1, cols)
            return part_at(found.tensor, [rows.astype(np.int64)[..., None], along])
        case _:
            places = block_at(where, descriptor_type(op.operands[0]).shape)
            is_turned = tt.block_io(op) == "column_major"
            return part_at(found.tensor, places, is_turned=is_turned)


def read(
    machine: Machine, memory: MemRef, places: Sequence[Array], mask: Array | None
) -> Array:
    """Read where a mask is true, as one work-item; elsewhere is 0."""
    allowed = machine.and_active(mask, memory.offset.ndim - AXES)
    return machine.load(memory, places, allowed, WORK_ITEM)


def write(
    machine: Machine,
    memory: MemRef,
    places: Sequence[Array],
    value: Array,
    mask: Array | None,
) -> None:
    """Write where a mask is true, as one work-item."""
    allowed = machine.and_active(mask, memory.offset.ndim - AXES)
    machine.store(memory, places, value, allowed, WORK_ITEM)


@implements(tt.AddPtrOp)
def addptr(machine: Machine, op: tt.AddPtrOp, pointer: MemRef, offset: Array) -> MemRef:
    return moved(pointer, pointer.offset + offset.astype(np.int64))


@implements(tt.IntToPtrOp)
def int_to_ptr(machine: Machine, op: tt.IntToPtrOp, value: Array) -> MemRef:
    pointer = element_type(op.result)
    assert isinstance(pointer, tt.PtrType), op
    element = tt.in_memory(pointer.pointee)
    check_address(machine, value, element)
    offset = value // memory_dtype(element).itemsize
    return MemRef(machine.space, element, offset, (), ())


@implements(tt.PtrToIntOp)
def ptr_to_int(machine: Machine, op: tt.PtrToIntOp, pointer: MemRef) -> Array:
    return address(machine, pointer)


@implements(tt.LoadOp)
def load(
    machine: Machine,
    op: tt.LoadOp,
    pointer: MemRef | TensorInMemory,
    mask: Array | None = None,
    other: Array | None = None,
) -> Array:
    if isinstance(pointer, TensorInMemory):
        padding = op.padding_option or tt.Padding.ZERO
        return part_of(op, pointer, ()).read(machine, op.result.type, padding)
    found = read(machine, pointer, (), mask)
    found = _as(machine, found, pointer.element_type, element_type(op.result))
    return found if mask is None or other is None else np.where(mask, found, other)


@implements(tt.StoreOp)
def store(
    machine: Machine,
    op: tt.StoreOp,
    pointer: MemRef | TensorInMemory,
    value: Array,
    mask: Array | None = None,
) -> None:
    if isinstance(pointer, TensorInMemory):
        part = part_of(op, pointer, ())
        write(machine, part.tensor, part.places, value, part.inside)
        return
    value = _as(machine, value, element_type(op.value), pointer.element_type)
    write(machine, pointer, (), value, mask)


@implements(tt.AtomicRMWOp)
def atomic_rmw(
    machine: Machine,
    op: tt.AtomicRMWOp,
    pointer: MemRef,
    value: Array,
    mask: Array | None = None,
) -> Array:
    """Update where the mask is true, one element after the other."""
    type, kept = element_type(op.result), pointer.element_type
    name, is_signed = UPDATES.get(op.kind, (op.kind.name.lower(), True))

    def combine(old: Array, value: Array) -> Array:
        old = _as(machine, old, kept, type)
        new = call(machine, name, type, old, value, is_signed=is_signed)
        return _as(machine, new, type, kept)

    return _updated(machine, op, pointer, value, mask, combine, op.order)


@implements(tt.AtomicCASOp)
def atomic_cas(
    machine: Machine, op: tt.AtomicCASOp, pointer: MemRef, expected: Array, value: Array
) -> Array:
    """Replace what is equal bit for bit, one element after the other."""
    type, kept = element_type(op.result), pointer.element_type
    expected, value = (_as(machine, x, type, kept) for x in (expected, value))
    pairs, replaced = replacement(machine, kept, expected, value)
    return _updated(machine, op, pointer, pairs, None, replaced, op.order)


@implements(tt.AtomicPollOp)
def atomic_poll(
    machine: Machine,
    op: tt.AtomicPollOp,
    pointer: MemRef,
    expected: Array,
    timeout: Array | None = None,
) -> Array:
    """Look once: programs run one after the other, so that nothing changes meanwhile.

    Raises:
        UndefinedBehaviour: it waits forever.
    """
    allowed = machine.and_active(None, pointer.offset.ndim - AXES)
    found = machine.load(pointer, (), allowed, WORK_ITEM, is_atomic=True)
    seen = found == expected
    if timeout is None:
        machine.refuse(
            ~seen, "expected a program before this one to store what it waits for"
        )
    if op.order is tt.Order.ACQUIRE:
        machine.acquire(pointer.buffer, Ordering.ACQUIRE)
    return seen


def _updated(
    machine: Machine,
    op: tt.AtomicRMWOp | tt.AtomicCASOp,
    pointer: MemRef,
    value: Array,
    mask: Array | None,
    combine: Callable[[Array, Array], Array],
    order: tt.Order | None,
) -> Array:
    """Update memory, and return what was there as the type of the result."""
    executions = machine.shape[:1] + (1,) * (pointer.offset.ndim - 1)
    allowed = machine.and_active(mask, pointer.offset.ndim - AXES)
    old = machine.update(pointer, (), value, allowed, combine, executions, WORK_ITEM)
    if order in (tt.Order.ACQUIRE, tt.Order.ACQ_REL):
        machine.acquire(pointer.buffer, Ordering.ACQUIRE)
    return _as(machine, old, pointer.element_type, element_type(op.result))


def _as(machine: Machine, value: Array, source: Attribute, result: Attribute) -> Array:
    """Return what memory holds as what a pointer that was cast points to.

    Raises:
        SimulationError: elements have another width.
    """
    if source == result:
        return value
    widths = [tt.bits_of(x) or 0 for x in (source, result)]
    if widths in ([1, 8], [8, 1]):
        return wrapped(value, result)
    if widths[0] != widths[1]:
        raise SimulationError(
            f"expected elements of {source} through a pointer, got {result}"
        )
    return machine.numerics.bitcast(value, source, result)


@implements(tt.MakeTensorDescriptorOp, tt.MakeTensorPtrOp)
def make_tensor(
    machine: Machine,
    op: tt.MakeTensorDescriptorOp | tt.MakeTensorPtrOp,
    base: MemRef,
    *rest: Array,
) -> TensorInMemory:
    rank, padding = len(op.shape), tt.Padding.ZERO
    if isinstance(op, tt.MakeTensorDescriptorOp):
        padding = op.padding_option
    tensor = tensor_at(base, rest[:rank], rest[rank : 2 * rank])
    return TensorInMemory(tensor, padding, rest[2 * rank :])


@implements(tt.AdvanceOp)
def advance(
    machine: Machine, op: tt.AdvanceOp, pointer: TensorInMemory, *steps: Array
) -> TensorInMemory:
    pairs = zip(pointer.starts, steps, strict=True)
    return replace(pointer, starts=tuple(x + y.astype(np.int64) for x, y in pairs))


@implements(tt.DescriptorLoadOp, tt.DescriptorGatherOp)
def descriptor_load(
    machine: Machine, op: Operation, found: TensorInMemory, *where: Array
) -> Array:
    part = part_of(op, found, where)
    return part.read(machine, op.results[0].type, found.padding)


@implements(tt.DescriptorStoreOp, tt.DescriptorScatterOp)
def descriptor_store(
    machine: Machine,
    op: tt.DescriptorStoreOp | tt.DescriptorScatterOp,
    found: TensorInMemory,
    *operands: Array,
) -> None:
    at = [*op.operands[1:]].index(op.src)
    part = part_of(op, found, operands[:at] + operands[at + 1 :])
    value = part.in_memory(operands[at])
    write(machine, part.tensor, part.places, value, part.inside)


@implements(tt.DescriptorReduceOp)
def descriptor_reduce(
    machine: Machine,
    op: tt.DescriptorReduceOp,
    found: TensorInMemory,
    value: Array,
    *indices: Array,
) -> None:
    """Update a block, as far as it is inside of the tensor."""
    part, type = part_of(op, found, indices), element_type(op.src)
    name = tt.Combination(op.kind.value.data).name
    is_signed = not descriptor_type(op.desc).is_unsigned
    combine = partial(call, machine, name.lower(), type, is_signed=is_signed)
    value, allowed = part.in_memory(value), machine.and_active(part.inside)
    executions = machine.shape[:1] + (1,) * (part.inside.ndim - 1)
    machine.update(
        part.tensor, part.places, value, allowed, combine, executions, WORK_ITEM
    )


# `ttg` and `ttig`: layouts, shared memory, loads of 2D blocks.

implements(ttg.ConvertLayoutOp)(forward)
implements(ttg.BarrierOp, ttig.PrefetchOp, ttig.DescriptorPrefetchOp)(nothing)


@implements(ttg.LocalAllocOp)
def local_alloc(machine: Machine, op: ttg.LocalAllocOp, *value: Array) -> MemRef:
    """Give memory of each work-group, with a tensor in it if there is one."""
    tensor = op.result.type.tensor
    type = MemRefType(element_of(tensor), shape := shape_of(tensor))
    # An operation of the work-group waits for those before it.
    buffer = machine.allocate((GROUP_AXIS,), prod(shape), type, "shared memory", False)
    found = whole(buffer, type, with_dynamic(shape))
    for each in value:
        local_store(machine, op, each, found)
    return found


@implements(ttg.LocalDeallocOp)
def local_dealloc(machine: Machine, op: ttg.LocalDeallocOp, shared: MemRef) -> None:
    if (shadow := shared.buffer.shadow) is not None and shadow.written is not None:
        shadow.written[...] = False


@implements(ttg.LocalStoreOp)
def local_store(machine: Machine, op: Operation, value: Array, shared: MemRef) -> None:
    places = components(value.shape[AXES:])
    machine.store(shared, places, value, machine.active(len(places)), WORK_ITEM)


@implements(ttg.LocalLoadOp)
def local_load(machine: Machine, op: ttg.LocalLoadOp, shared: MemRef) -> Array:
    places = components(shape_of(op.result.type))
    return machine.load(shared, places, machine.active(len(places)), WORK_ITEM)


@implements(ttg.MemDescTransOp)
def memdesc_trans(machine: Machine, op: ttg.MemDescTransOp, shared: MemRef) -> MemRef:
    """Give the same memory with its dimensions in another order."""
    order = [int(dim) for dim in op.order.get_values()]
    sizes, strides = (
        tuple(x[n] for n in order) for x in (shared.sizes, shared.strides)
    )
    return replace(shared, sizes=sizes, strides=strides)


@implements(ttig.ExtractDescOp)
def extract_desc(
    machine: Machine, op: ttig.ExtractDescOp, found: TensorInMemory
) -> Array | MemRef:
    tensor = found.tensor
    fields = (*tensor.sizes, *tensor.strides, moved(tensor, tensor.offset))
    return fields[op.index.value.data]


@implements(ttig.BlockLoad2DOp)
def block_load_2d(
    machine: Machine, op: ttig.BlockLoad2DOp, base: MemRef, *numbers: Array
) -> Array:
    size, type = (tt.bits_of(op.result.type) or 8) // 8, op.result.type
    width, height, pitch, x, y = (number.astype(np.int64) for number in numbers)
    sizes, strides = (height, width // size), (pitch // size, np.ones_like(pitch))
    is_turned = op.layout is ttig.MemoryLayout.COLUMN_MAJOR
    places = block_at((y, x), shape_of(type)[:: -1 if is_turned else 1])
    part = part_at(tensor_at(base, sizes, strides), places, is_turned=is_turned)
    padding = tt.Padding.ZERO if op.pad_nan is None else tt.Padding.NAN
    return part.read(machine, type, padding)


@implements(ttig.BlockLoad2DFromPtrOp)
def block_load_2d_from_ptr(
    machine: Machine, op: Any, pointer: MemRef, pitch: Array, *rest: Array
) -> Array:
    """Read what pointers point to; the pitch says no more than they do."""
    return load(machine, op, pointer, *rest)
