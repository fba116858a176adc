"""Simulation of `linalg` on memrefs, by one work-item: what kernels are made from.

The points of the parallel loops take the place of the lanes, so that the body runs once
for each point of the reduction loops, in order.  A matmul of mixed types extends its
operands to the type of the output, integers by their sign, as MLIR does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir.affine import AffineDimExpr

from coopc.dialects.mixed_matmul import BatchMatmulOp
from coopc.sim.affine import evaluate
from coopc.sim.arith import call, convert_number
from coopc.sim.errors import SimulationError
from coopc.sim.interpreter import end_region, implements, run_region
from coopc.sim.machine import Machine
from coopc.sim.memory import MemRef
from coopc.sim.values import Array, number

UNREAD = number(0)
"""In place of an element that nothing uses: there may be nothing yet."""


def points(
    op: LinalgStructuredOperation, operands: Sequence[object]
) -> Iterator[list[Array]]:
    """Yield the indices of loops: the parallel ones all at once, as lanes.

    Raises:
        SimulationError: no memref says how long a loop is.
    """
    kinds = [kind.data for kind in op.get_iterator_types()]
    sizes: dict[int, int] = {}
    for map, operand in zip(op.get_indexing_maps(), operands, strict=True):
        if isinstance(operand, MemRef):
            for expr, size in zip(map.data.results, operand.sizes, strict=True):
                if isinstance(expr, AffineDimExpr):
                    sizes[expr.position] = int(size.flat[0])
    if len(sizes) < len(kinds):
        raise SimulationError("expected memrefs that say how long each loop is")
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


MATMULS = (linalg.MatmulOp, BatchMatmulOp)


@implements(
    *MATMULS,
    linalg.AddOp,
    linalg.CopyOp,
    linalg.ExpOp,
    linalg.FillOp,
    linalg.GenericOp,
    linalg.LogOp,
    linalg.MaxOp,
    linalg.MinOp,
    linalg.MulOp,
    linalg.SelectOp,
    linalg.SqrtOp,
    linalg.SubOp,
)
def structured(
    machine: Machine, op: LinalgStructuredOperation, *operands: MemRef | Array
) -> None:
    """Run the body for each point of the loops.

    Raises:
        SimulationError: there are several work-items.
    """
    maps = [map.data for map in op.get_indexing_maps()]
    count = len(op.inputs)
    read = [
        position < count or isinstance(op, linalg.MatmulOp) or arg.first_use is not None
        for position, arg in enumerate(op.body.block.args)
    ]
    if machine.shape != (1, 1, 1):
        raise SimulationError("no simulation of linalg in kernels")
    machine.in_element = True  # points of loops are lanes
    for point in points(op, operands):
        elements: list[Array] = []
        for operand, map, is_read in zip(operands, maps, read, strict=True):
            if is_read and isinstance(operand, MemRef):
                operand = machine.load(operand, evaluate(map, point), None)
            elements.append(UNREAD if isinstance(operand, MemRef) else operand)
        found = _computed(machine, op, elements, point)
        outputs = zip(operands[count:], maps[count:], found, strict=True)
        for memory, map, value in outputs:
            assert isinstance(memory, MemRef), memory
            machine.store(memory, evaluate(map, point), value, None)
    machine.in_element = False


def _computed(
    machine: Machine,
    op: LinalgStructuredOperation,
    elements: list[Array],
    point: list[Array],
) -> tuple[Array, ...]:
    """Return the new elements of the outputs at one point."""
    types = list(op.body.block.arg_types)
    result = types[-1]
    if isinstance(op, (*MATMULS, linalg.FillOp)):
        elements = [
            value if value is UNREAD else convert_number(machine, value, type, result)
            for value, type in zip(elements, types, strict=True)
        ]
    if isinstance(op, MATMULS):
        # Its body does not verify where the types are mixed.
        a, b, c = elements
        return (call(machine, "add", result, c, call(machine, "mul", result, a, b)),)
    machine.loop_indices = point
    return run_region(machine, op.body, *elements)


implements(linalg.YieldOp)(end_region)


@implements(linalg.IndexOp)
def index(machine: Machine, op: linalg.IndexOp) -> Array:
    return machine.loop_indices[op.dim.value.data]
