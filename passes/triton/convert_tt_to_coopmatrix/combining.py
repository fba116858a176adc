"""Reductions, scans and the like: what regions make of elements, into buffers.

%s = tt.reduce %x {axis}    for each row: its elements combined by all lanes, where
                            there are fewer rows than lanes, else by one lane
%s = tt.scan %x {axis}      for each row: one element after the other, by one lane
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from coopc.dialects import tt
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import ShuffleMode
from coopc.dialects.tt.types import shape_of, without
from coopc.ir.builder import INDEX, BoundedIndex, Values
from coopc.ir.transaction import Refused
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import Flag, Kernel, Rule
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import is_pair
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    FIRST,
    Coordinates,
    Tensor,
    index,
    unflattened,
)
from coopc.passes.triton.memory import update_memory

Put: TypeAlias = Callable[[SSAValue], Coordinates]
"""From a place along the axis to the coordinates of an element."""
Combined: TypeAlias = Callable[[Kernel, tt.ReduceOp, Sequence[Tensor], Put], Values]
"""What a reduction makes of the elements along its axis."""


def elements_at(k: Kernel, srcs: Sequence[Tensor], at: Coordinates) -> Values:
    return tuple(k.elements.of(x, at) for x in srcs)


def buffers(k: Kernel, op: Operation, name: str) -> list[Tensor]:
    """Return a buffer for each result, which is noted."""
    found = [k.buffer(shape_of(x.type), element_of(x.type), name) for x in op.results]
    k.values.update(zip(op.results, found, strict=True))
    return found


def put_all(
    k: Kernel, targets: Sequence[Tensor], at: Coordinates, values: Values
) -> Values:
    """Store an element of each of several tensors; return these."""
    for target, value in zip(targets, values, strict=True):
        k.put(target, at, value)
    return values


def reduce(k: Kernel, op: tt.ReduceOp) -> None:
    """Combine elements along an axis, to tensors or scalars."""
    b, axis, srcs = k.b, op.axis.value.data, k.tensors(op.srcs)
    shape, size = without(srcs[0].shape, axis), srcs[0].shape[axis]
    if is_pair(op) and k.is_loaded(op.srcs[0]):
        k.values[op.results[0]] = pair(k, op, srcs[0])
        return
    is_shared = size % k.engine.lanes == 0
    combined = of_lanes if is_shared else in_turn

    def row(at: Coordinates, combined: Combined = in_turn) -> Values:
        return combined(k, op, srcs, lambda x: (*at[:axis], x, *at[axis:]))

    if not shape:
        k.elements.known.clear()
        found = row((), combined)
        k.values.update(zip(op.results, found, strict=True))
        return
    targets = buffers(k, op, "reduced")

    def of_row(number: BoundedIndex, _: Values) -> Values:
        at = unflattened(b, b.index(number), shape)
        values, is_first = row(at, of_lanes), b.equal(b.lane(k.engine.lanes), 0)
        b.branch(is_first, lambda: put_all(k, targets, at, values))
        return ()

    if not is_shared or prod(shape) >= k.engine.lanes:
        k.fill_each(shape, lambda at: put_all(k, targets, at, row(at)))
        return
    k.barrier()
    k.elements.known.clear()
    b.loop(prod(shape), (), of_row, name="row")
    k.barrier()


def of_lanes(k: Kernel, op: tt.ReduceOp, srcs: Sequence[Tensor], put: Put) -> Values:
    """Combine elements that all lanes share: each its own, then with each other."""
    b, lanes, size = k.b, k.engine.lanes, srcs[0].shape[op.axis.value.data]
    lane = b.lane(lanes)

    def next(t: BoundedIndex, sums: Values) -> Values:
        place = b.index(b.add(b.times(t, lanes), lane))
        here = elements_at(k, srcs, put(place))
        return k.inlined(op, op.combine, (*sums, *here))

    sums = elements_at(k, srcs, put(b.index(lane)))
    sums = b.loop(size // lanes, sums, next, name="part", start=1)
    step = lanes // 2
    while step:
        apart = b.constant(INDEX, step)
        others = [b.shuffle(x, apart, ShuffleMode.XOR) for x in sums]
        sums = k.inlined(op, op.combine, (*sums, *others))
        step //= 2
    return tuple(b.from_lane(x, FIRST) for x in sums)


def in_turn(k: Kernel, op: tt.ReduceOp, srcs: Sequence[Tensor], put: Put) -> Values:
    """Combine elements one after the other."""
    b, size = k.b, srcs[0].shape[op.axis.value.data]

    def next(t: BoundedIndex, sums: Values) -> Values:
        here = elements_at(k, srcs, put(b.index(t)))
        return k.inlined(op, op.combine, (*sums, *here))

    sums = elements_at(k, srcs, put(b.constant(INDEX, 0)))
    return b.loop(size, sums, next, name="at", start=1)


def pair(k: Kernel, op: tt.ReduceOp, src: Tensor) -> Tensor:
    """Return the tensor of pairs combined, each where it is used."""
    axis = op.axis.value.data

    def element(at: Coordinates) -> SSAValue:
        one, other = (
            k.elements.of(src, (*at[:axis], k.b.constant(INDEX, x), *at[axis:]))
            for x in range(2)
        )
        return k.inlined(op, op.combine, (one, other))[0]

    return Tensor(without(src.shape, axis), element, None, src.reads)


def scan(k: Kernel, op: tt.ScanOp) -> None:
    """Combine each element with what is before it."""
    b, axis, srcs = k.b, op.axis.value.data, k.tensors(op.srcs)
    shape, size = without(srcs[0].shape, axis), srcs[0].shape[axis]
    targets = buffers(k, op, "scanned")

    def of_row(at: Coordinates) -> None:
        at = at if shape else ()

        def put(t: BoundedIndex) -> Coordinates:
            place = b.index(t)
            if op.reverse.value.data:
                place = b.pure(arith.SubiOp, b.constant(INDEX, size - 1), place)
            return (*at[:axis], place, *at[axis:])

        def next(t: BoundedIndex, sums: Values) -> Values:
            here = put(t)
            sums = k.inlined(op, op.combine, (*sums, *elements_at(k, srcs, here)))
            return put_all(k, targets, here, sums)

        first = put(FIRST)
        sums = put_all(k, targets, first, elements_at(k, srcs, first))
        b.loop(size, sums, next, name="at", start=1)

    k.fill_each(shape or (1,), of_row)


def map_elementwise(k: Kernel, op: tt.MapElementwiseOp) -> None:
    """Fill tensors with what a region makes of elements, `pack` at a time."""
    b, pack, srcs = k.b, op.pack.value.data, k.tensors(op.srcs)
    *rows, cols = srcs[0].shape
    if cols % pack:
        what = f"rows of a multiple of {pack} elements, which a call takes"
        raise Refused(op, f"expected {what}, got {cols}")
    targets = buffers(k, op, "mapped")

    def call(at: Coordinates) -> None:
        *row, group = at
        first = b.pure(arith.MuliOp, group, b.constant(INDEX, pack))
        places = [(*row, b.plus(first, x)) for x in range(pack)]
        given = [k.elements.of(x, place) for x in srcs for place in places]
        found = iter(k.inlined(op, op.scalar_op, tuple(given)))
        for target in targets:
            for place in places:
                k.put(target, place, next(found))

    k.fill_each((*rows, cols // pack), call)


def histogram(k: Kernel, op: tt.HistogramOp) -> None:
    """Count how many elements are 0, 1, 2, ..."""
    b, src = k.b, k.tensor(op.src)
    mask = None if op.mask is None else k.tensor(op.mask)
    result = k.buffer(shape_of(op.result.type), i32, "counts")
    k.values[op.result], memory = result, result.buffer
    assert memory is not None, op
    k.fill_each(result.shape, lambda at: k.put(result, at, b.constant(i32, 0)))

    def count(at: Coordinates) -> None:
        place = index(b, k.elements.of(src, at))
        flag: Flag = b.compare("ult", place, b.constant(INDEX, result.shape[0]))
        if mask is not None:
            flag = b.both(flag, k.elements.of(mask, at))
        one = b.constant(i32, 1)
        b.effect_where(flag, lambda: update_memory(tt.Update.ADD, memory, one, [place]))

    k.for_each(src.shape, count)
    k.barrier()


RULES: Mapping[type[Operation], Rule] = {
    tt.HistogramOp: histogram,
    tt.MapElementwiseOp: map_elementwise,
    tt.ReduceOp: reduce,
    tt.ScanOp: scan,
}
