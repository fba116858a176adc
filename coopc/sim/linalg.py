"""Simulation of `linalg` on memrefs and tensors, by one work-item.

The points of the parallel loops take the place of the lanes, so that the body runs once
for each point of the reduction loops, in order.  What a named operation means is its
maps and its body (`coopc.dialects.linalg_forms`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir.affine import AffineDimExpr

from coopc.dialects.linalg_forms import Linalg, SoftmaxOp
from coopc.dialects.narrow import as_tensor
from coopc.passes.linalg.generalize_linalg import softmax_region
from coopc.sim.arith import evaluate
from coopc.sim.errors import SimulationError
from coopc.sim.interpreter import end_region, implements, run_region
from coopc.sim.machine import Machine
from coopc.sim.memory import MemRef, shape_in
from coopc.sim.tensor import load_all, place_in, store_all
from coopc.sim.values import Array, number

UNREAD = number(0)
"""In place of an element that nothing uses: there may be nothing yet."""


def points(
    op: LinalgStructuredOperation, operands: Sequence[MemRef | Array]
) -> Iterator[list[Array]]:
    """Yield the indices of loops: the parallel ones all at once, as lanes.

    Raises:
        SimulationError: no operand says how long a loop is.
    """
    kinds = [kind.data for kind in op.get_iterator_types()]
    sizes: dict[int, int] = {}
    for map, operand in zip(op.get_indexing_maps(), operands, strict=True):
        for expr, size in zip(map.data.results, shape_in(operand), strict=True):
            if isinstance(expr, AffineDimExpr):
                sizes[expr.position] = size
    if len(sizes) < len(kinds):
        raise SimulationError("expected operands that say how long each loop is")
    parallel = [n for n, kind in enumerate(kinds) if kind == IteratorType.PARALLEL]
    others = [n for n in range(len(kinds)) if n not in parallel]
    grid = np.indices([sizes[n] for n in parallel], dtype=np.int64)
    found = [number(0)] * len(kinds)
    for loop, indices in zip(parallel, grid, strict=True):
        found[loop] = indices.reshape(1, 1, -1)
    for point in product(*(range(sizes[n]) for n in others)):
        for loop, index in zip(others, point, strict=True):
            found[loop] = number(index)
        yield list(found)


STRUCTURED = [
    op for op in Linalg.operations if issubclass(op, LinalgStructuredOperation)
]


@implements(*STRUCTURED)
def structured(
    machine: Machine, op: LinalgStructuredOperation, *operands: MemRef | Array
) -> tuple[Array, ...]:
    """Run the body for each point of the loops.

    Raises:
        SimulationError: there are several work-items.
    """
    if machine.shape != (1, 1, 1):
        raise SimulationError("no simulation of linalg in kernels")
    maps = [map.data for map in op.get_indexing_maps()]
    count = len(op.inputs)
    read = [arg.first_use is not None for arg in op.body.block.args]
    now = [*operands[:count], *(_copied(x) for x in operands[count:])]
    machine.in_element = True  # points of loops are lanes
    kinds = {kind.data for kind in op.get_iterator_types()}
    machine.numerics.in_product = IteratorType.REDUCTION in kinds
    for point in points(op, operands):
        elements: list[Array] = []
        for operand, map, is_read in zip(now, maps, read, strict=True):
            if not is_read:
                elements.append(UNREAD)
                continue
            where = evaluate(map, point)
            if isinstance(operand, MemRef):
                elements.append(machine.load(operand, where, None))
            else:
                elements.append(operand[place_in(machine, operand, where)].copy())
        machine.loop_indices = point
        found = run_region(machine, op.body, *elements)
        for target, map, value in zip(now[count:], maps[count:], found, strict=True):
            where = evaluate(map, point)
            if isinstance(target, MemRef):
                machine.store(target, where, value, None)
            else:
                target[place_in(machine, target, where)] = value
    machine.in_element = machine.numerics.in_product = False
    return tuple(x for x in now[count:] if not isinstance(x, MemRef))


def _copied(operand: MemRef | Array) -> MemRef | Array:
    return operand if isinstance(operand, MemRef) else operand.copy()


@implements(SoftmaxOp)
def softmax(
    machine: Machine, op: SoftmaxOp, source: MemRef | Array, target: MemRef | Array
) -> Array | None:
    """Run what `generalize-linalg` makes of it."""
    type = as_tensor(op.input.type)
    if isinstance(source, MemRef):
        source = load_all(machine, source)
    (found,) = run_region(
        machine, softmax_region(type, op.dimension.value.data), source
    )
    if not isinstance(target, MemRef):
        return found
    store_all(machine, target, found)
    return None


implements(linalg.YieldOp)(end_region)


@implements(linalg.IndexOp)
def index(machine: Machine, op: linalg.IndexOp) -> Array:
    return machine.loop_indices[op.dim.value.data]
