"""Atomic updates of memory: each happens as a whole, one after the other.

Updates of different places happen together; of several updates of one place, the first
ones of each place do, then the second ones, and so on, in the order of work-items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from coopc.dialects.coopmatrix import Ordering
from coopc.sim.machine import Machine, writable
from coopc.sim.memory import MemRef, linear_index
from coopc.sim.undefined import ATOMIC
from coopc.sim.values import Array

ACQUIRING = (
    Ordering.ACQUIRE,
    Ordering.ACQUIRE_RELEASE,
    Ordering.SEQUENTIALLY_CONSISTENT,
)
"""After these a work-item sees what others wrote before they released it."""


def update(
    machine: Machine,
    memory: MemRef,
    coordinates: Sequence[Array],
    values: Array,
    active: Array | None,
    combine: Callable[[Array, Array], Array],
    executions: tuple[int, ...],
    together: Sequence[int] = (),
) -> Array:
    """Replace elements by what `combine` makes of them and values; return the old ones.

    Args:
        machine: the state.
        memory: what is updated.
        coordinates: one for each dimension.
        values: the second arguments of `combine`.
        active: where it happens; everywhere if None.  Elsewhere the old value is 0.
        combine: from old elements and values to new elements.
        executions: the shape over which it happens once each.
        together: axes along which work-items do it together: see `Machine.store`.
    """
    index = linear_index(memory, coordinates, active)
    places = machine.places(memory.buffer, index)
    chosen = np.True_ if active is None else active
    shape = np.broadcast_shapes(places.shape, values.shape, chosen.shape, executions)
    places, values, chosen = (
        np.broadcast_to(x, shape).reshape(-1) for x in (places, values, chosen)
    )
    flat, shadow = writable(memory.buffer), memory.buffer.shadow
    type, numerics = memory.element_type, machine.numerics
    cells = None if shadow is None else shadow.cells(places, flat.itemsize)
    if shadow is not None and cells is not None:
        here, wanted = cells.reshape(*shape, -1), chosen.reshape(shape)
        shadow.check_written(here, wanted)
        machine.note_write(shadow, here, wanted, together, ATOMIC)
    old = np.zeros(values.shape, numerics.value_dtype(type))
    positions = np.flatnonzero(chosen)
    turns = _turns(places[positions])
    for turn in range(int(turns.max(initial=-1)) + 1):
        now = positions[turns == turn]
        before = numerics.from_memory(flat[places[now]], type)
        errors = None if shadow is None else shadow.errors
        if errors is not None and cells is not None:
            before = numerics.with_stored_errors(before, type, errors, cells[now], None)
        old[now] = before
        after = combine(before, values[now])
        flat[places[now]] = numerics.to_memory(after, type)
        if errors is not None and cells is not None:
            errors.store(cells[now], numerics.errors(after, type), type)
    return old.reshape(shape)


def _turns(places: Array) -> Array:
    """Return, for each place, how often it occurs before."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    lengths = np.diff(np.append(starts, ordered.size))
    turns = np.empty_like(order)
    turns[order] = np.arange(ordered.size) - np.repeat(starts, lengths)
    return turns
