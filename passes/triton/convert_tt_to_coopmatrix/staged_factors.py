"""Factors that subgroups have in common, which their work-group stages.

    %k = tt.descriptor_load %d[%n, 0]        alike for each part of a program

    all lanes: vectors of %k, and of the other such loads of the block, from memory
               barrier; vectors into work-group memory, of longer rows; barrier
    products:  matrices from there

One wait for memory and two for the work-group are all that a block has of these, as
many as it loads.  Rows that are no whole vectors in memory go element by element.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType, VectorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.device import Device
from coopc.dialects import simt, tt
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import bits_of
from coopc.dialects.tt.types import shape_of
from coopc.ir.builder import INDEX, BoundedIndex, Values
from coopc.passes.triton.convert_tt_to_coopmatrix.carried_values import needed
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import (
    WORK_GROUP,
    TtKernel,
    kind_of,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.products import inside, moved
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import (
    between,
    feeds_products,
    writes,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.shared_rounds import (
    VECTOR,
    VECTOR_BITS,
    is_column_major,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    Coordinates,
    MatrixInMemory,
    Tensor,
)

WAIT = simt.FenceScope.WORKGROUP, simt.MemorySpace.WORKGROUP
MOST_VECTORS = 16
"""That a lane copies of a factor, at most."""


def staged_loads(
    ops: Iterable[Operation], work_items: int, device: Device
) -> frozenset[Operation]:
    """Return which of the loads that parts of a program do alike are to be staged.

    None of them, where they take more than three quarters of work-group memory.
    """
    found, size = list[Operation](), 0
    for op in ops:
        is_load = isinstance(op, tt.LoadOp | tt.DescriptorLoadOp)
        if not (is_load and isinstance(op.parent_op(), scf.ForOp)):
            continue
        if len(shape_of(op.results[0].type)) != 2 or not feeds_products(op):
            continue
        rows, pieces = vectors_of(op)
        per_item, rest = divmod(rows * pieces, work_items)
        if 0 < per_item <= MOST_VECTORS and not rest:
            found.append(op)
            size += rows * (pieces + 1) * VECTOR_BITS // 8
    is_small = 4 * size <= 3 * device.limits.local_bytes
    # Memory that holds vectors is read as matrices of their elements.
    return frozenset(found) if device.pointees and is_small else frozenset()


def vectors_of(op: Operation) -> tuple[int, int]:
    """Return the rows in memory of what is loaded, and the vectors of each."""
    (result,) = op.results
    rows, cols = shape_of(result.type)[:: -1 if is_column_major(op) else 1]
    per, rest = divmod(VECTOR_BITS, bits_of(element_of(result.type)))
    return (0, 0) if rest or cols % per else (rows, cols // per)


@dataclass(frozen=True, eq=False, slots=True)
class Staged:
    """A factor that is staged."""

    op: Operation
    tensor: Tensor
    matrix: MatrixInMemory
    vectors: int
    """That a lane copies."""

    @property
    def element(self) -> Attribute:
        return kind_of(self.matrix.memory)

    @property
    def per(self) -> int:
        return VECTOR_BITS // bits_of(self.element)


def stage(k: TtKernel, op: Operation) -> None:
    """Stage what a load, and others of its block, load."""
    loop = op.parent_op()
    assert isinstance(loop, scf.ForOp), op
    group = [
        x
        for x in loop.body.ops
        if x is op
        or (x in k.options.common - k.staged and not any(map(writes, between(op, x))))
    ]
    k.staged.update(group)
    found: list[Staged] = []
    for each in group:
        for before in needed(each.results[0], loop):
            if before is not op:
                k.operation(before)
        tensor = k.tensor(each.results[0])
        if (matrix := tensor.matrix) is not None:
            vectors = prod(vectors_of(each)) // k.options.work_items
            found.append(Staged(each, tensor, matrix, vectors))
    if found:
        copy(k, found)


def copy(k: TtKernel, factors: Sequence[Staged]) -> None:
    """Copy factors into work-group memory, of which products load them then."""
    b, flags = k.b, [x for each in factors for x in inside(k, each.tensor)]
    whole = b.both(*flags)
    copied = [
        (each, place(k, each, BoundedIndex(turn)))
        for each in factors
        for turn in range(each.vectors)
    ]

    def loads() -> Values:
        return tuple(load(k, *x) for x in copied)

    def put() -> Values:
        for (each, at), value in zip(copied, loaded, strict=True):
            b.effect(memref.StoreOp.get(value, memories[each], at))
        return ()

    def put_elements() -> Values:
        for each in factors:

            def of_turn(turn: BoundedIndex, _: Values, each: Staged = each) -> Values:
                k.elements.known.clear()
                at = place(k, each, turn)
                value = gathered(k, each, at)
                b.effect(memref.StoreOp.get(value, memories[each], at))
                return ()

            b.loop(each.vectors, (), of_turn, name="turn")
        return ()

    none = (b.constant(VECTOR, 0),) * len(copied)
    loaded = b.branch(whole, loads, none)
    b.effect(simt.BarrierOp(*WAIT))
    memories = {each: buffer(k, each) for each in factors}
    if isinstance(whole, bool):
        put() if whole else put_elements()
    else:
        b.either(whole, [], put, put_elements)
    b.effect(simt.BarrierOp(*WAIT))
    for each in factors:
        matrix = MatrixInMemory(
            memories[each],
            (),
            is_transposed=each.matrix.is_transposed,
            packed=each.per,
        )
        k.values[each.op.results[0]] = replace(each.tensor, matrix=matrix)


def place(k: TtKernel, factor: Staged, turn: BoundedIndex) -> Coordinates:
    """Return which vector of a factor a lane copies: its row, and which of that."""
    b, (_, pieces), items = k.b, vectors_of(factor.op), k.options.work_items
    item = b.pure(simt.LocalIdOp, simt.Dimension.X)
    lane = BoundedIndex(0, item, items - 1, varies=True)
    if items % pieces:
        number = b.add(b.times(turn, items), lane)
        return b.index(b.divided(number, pieces)), b.index(b.remainder(number, pieces))
    row = b.add(b.times(turn, items // pieces), b.divided(lane, pieces))
    return b.index(row), b.index(b.remainder(lane, pieces))


def buffer(k: TtKernel, factor: Staged) -> SSAValue:
    """Return memory of the work-group for a factor."""
    rows, pieces = vectors_of(factor.op)
    type = MemRefType(VECTOR, [rows, pieces + 1], memory_space=WORK_GROUP)
    new = memref.AllocaOp.build(operands=[[], []], result_types=[type], properties={})
    found = k.b.effect(new).memref
    found.name_hint = factor.op.results[0].name_hint
    return found


def load(k: TtKernel, factor: Staged, at: Coordinates) -> SSAValue:
    """Return a vector of a factor, all of which memory has."""
    b, (row, number) = k.b, at
    col = b.pure(arith.MuliOp, number, b.constant(INDEX, factor.per))
    type = VectorType(factor.element, [factor.per])
    place = moved(k, factor.matrix.starts, (row, col))
    new = vector.LoadOp(factor.matrix.memory, place, type)
    new.attributes[simt.ALIGNMENT] = IntegerAttr(VECTOR_BITS // 8, i64)
    return b.bitcast(b.effect(new).results[0], VECTOR)


def gathered(k: TtKernel, factor: Staged, at: Coordinates) -> SSAValue:
    """Return a vector of a factor, of elements that are loaded one by one."""
    b, (row, number) = k.b, at
    first = b.pure(arith.MuliOp, number, b.constant(INDEX, factor.per))
    found = b.constant(VectorType(factor.element, [factor.per]), 0)
    for place in range(factor.per):
        where = row, b.plus(first, place)
        turned = where[::-1] if factor.matrix.is_transposed else where
        found = b.insert(found, place, k.elements.of(factor.tensor, turned))
    return b.bitcast(found, VECTOR)
