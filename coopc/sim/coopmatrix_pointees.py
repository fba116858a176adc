"""Memory that holds other numbers than a matrix does, or vectors of numbers.

Positions and strides count what the memref holds; from there on a row of a row-major
matrix lies without gaps.  `in_elements` gives such memory one dimension more, along
which the matrix's own elements follow each other.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
from xdsl.ir import Attribute

from coopc.sim.errors import SimulationError
from coopc.sim.memory import Buffer, MemRef
from coopc.sim.values import memory_dtype, number, scalar_of, shape_of


def in_elements(memory: MemRef, element: Attribute) -> MemRef:
    """Return a memref of elements, with one dimension more, as long as the buffer.

    Raises:
        SimulationError: elements are wider than what the memref holds.
    """
    scalar = scalar_of(memory.element_type)
    width = prod(shape_of(memory.element_type))
    buffer = memory.buffer
    if scalar != element:
        buffer, width = _reinterpreted(buffer, scalar, element, width)
    return MemRef(
        buffer,
        element,
        memory.offset * width,
        (*memory.sizes, number(buffer.elements)),
        (*(stride * width for stride in memory.strides), number(1)),
    )


def _reinterpreted(
    buffer: Buffer, scalar: Attribute, element: Attribute, width: int
) -> tuple[Buffer, int]:
    """Return the same bits as elements, and how many one pointee is."""
    before, after = memory_dtype(scalar), memory_dtype(element)
    bytes = before.itemsize * width
    if bytes % after.itemsize:
        raise SimulationError(
            f"expected what a memref holds to be a whole number of {element}, got "
            f"{width} of {scalar}"
        )
    data = np.ascontiguousarray(buffer.data)
    if data.shape[-1] * before.itemsize % after.itemsize:
        raise SimulationError(f"expected a buffer of a whole number of {element}")
    return replace(buffer, data=data.view(after)), bytes // after.itemsize
