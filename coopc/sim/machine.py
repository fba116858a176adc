"""The state of a simulation: who runs, which of them are active, and their memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute

from coopc.dialects.coopmatrix import MatrixType, Scope
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.launch import Launch
from coopc.sim.matrices import Matrices
from coopc.sim.memory import Buffer, MemRef, chosen_memref, linear_index
from coopc.sim.numerics import Numerics
from coopc.sim.races import EACH_LANE, SEVERAL_SUBGROUPS, TOGETHER, Accesses
from coopc.sim.values import (
    AXES,
    GROUP_AXIS,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    choose,
    element_of,
    scalar_of,
    trailing,
)

MAX_ITERATIONS = 100_000
"""Of one loop, in one run of it: what goes on is taken to be infinite."""


@dataclass(slots=True)
class Machine:
    """Work-groups that run in step, an operation at a time."""

    module: ModuleOp
    launch: Launch
    numerics: Numerics
    matrices: Matrices
    group: Array
    """Number of each work-group in the grid, x fastest: (G, 1, 1)."""
    subgroup: Array
    """Number of each subgroup in its work-group: (1, T, 1)."""
    lane: Array
    """Number of each lane in its subgroup: (1, 1, L)."""
    group_time: Array
    """How many barriers each work-group has passed: (G, 1, 1)."""
    subgroup_time: Array
    """How many barriers of its own each subgroup has passed: (G, T, 1)."""
    mask: Array | None = None
    """Who is active; all are if it is None."""
    in_element: bool = False
    """Whether the lanes are elements of a matrix for now: no exchange among them."""
    counts: Counter[str] = field(default_factory=Counter[str])
    """How often each operation was executed, for all work-groups together."""
    globals: dict[str, MemRef] = field(default_factory=dict[str, MemRef])
    """The memory of each `memref.global`, by name."""
    arrived: dict[str, Array] = field(default_factory=dict[str, Array])
    """Who is between the halves of a split barrier, by its scope."""
    find_races: bool = True
    """Whether accesses to work-group memory are noted."""

    @classmethod
    def start(
        cls,
        module: ModuleOp,
        launch: Launch,
        numerics: Numerics,
        matrices: Matrices,
        groups: range,
    ) -> Machine:
        """Return the state in which these work-groups of a grid begin."""
        return cls(
            module,
            launch,
            numerics,
            matrices,
            np.arange(groups.start, groups.stop, dtype=np.int64).reshape(-1, 1, 1),
            np.arange(launch.subgroups, dtype=np.int64).reshape(1, -1, 1),
            np.arange(launch.subgroup_size, dtype=np.int64).reshape(1, 1, -1),
            np.zeros((len(groups), 1, 1), np.int64),
            np.zeros((len(groups), launch.subgroups, 1), np.int64),
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """(G, T, L); in the body of `coopmatrix.apply` with elements for lanes."""
        ids = (self.group, self.subgroup, self.lane)
        groups, subgroups, lanes = np.broadcast_shapes(*(id.shape for id in ids))
        return groups, subgroups, lanes

    @contextmanager
    def under(self, condition: Array | None) -> Generator[None]:
        """Run with only those active that are, and for which a condition holds."""
        before = self.mask
        self.mask = self.and_active(condition)
        try:
            yield
        finally:
            self.mask = before

    def and_active(self, condition: Array | None) -> Array | None:
        """Return where a condition holds and work-items are active."""
        if self.mask is None or condition is None:
            return condition if self.mask is None else self.mask
        return condition & self.mask

    def uniform_mask(self, *axes: int) -> Array | None:
        """Return who is active, with size 1 along axes on which that is the same.

        Raises:
            UndefinedBehaviour: it is not the same: control flow has diverged.
        """
        if (mask := self.mask) is None:
            return None
        for axis in axes:
            if mask.shape[axis] == 1:
                continue
            first = mask.take([0], axis)
            if not (mask == first).all():
                names = {SUBGROUP_AXIS: "subgroups", LANE_AXIS: "lanes"}
                raise UndefinedBehaviour(
                    f"expected uniform control flow, but only some of the "
                    f"{names[axis]} execute this"
                )
            mask = first
        return mask

    def refuse_in_element(self) -> None:
        """Refuse what lanes do together, where each is an element of a matrix.

        Raises:
            UndefinedBehaviour: in the body of `coopmatrix.apply`.
        """
        if self.in_element:
            raise UndefinedBehaviour(
                "expected no exchange between lanes in the body of coopmatrix.apply"
            )

    def allocate(
        self, axes: Sequence[int], elements: int, type: MemRefType, name: str
    ) -> Buffer:
        """Return new memory, full of poison, that is there along the axes given.

        Raises:
            SimulationError: in the body of `coopmatrix.apply`.
        """
        if self.in_element:
            raise SimulationError("no memory is made in the body of coopmatrix.apply")
        element_type = scalar_of(element_of(type))
        shape = self.shape
        sizes = tuple(shape[axis] if axis in axes else 1 for axis in range(AXES))
        poison = self.numerics.to_memory(
            self.numerics.poison(element_type), element_type
        )
        data = np.full(
            (*sizes, elements), poison, self.numerics.memory_dtype(element_type)
        )
        return Buffer(data, name)

    def places(self, buffer: Buffer, index: Array) -> Array:
        """Return where in the row of all elements each work-item has an element."""
        sizes = buffer.data.shape
        if sizes[:AXES] == (1,) * AXES:
            return index
        axes = index.ndim - AXES
        first = np.zeros((1,) * AXES, dtype=np.int64)
        ids = (self.group - self.group.flat[0], self.subgroup, self.lane)
        for axis in (GROUP_AXIS, SUBGROUP_AXIS, LANE_AXIS):
            first = first * sizes[axis] + (ids[axis] if sizes[axis] > 1 else 0)
        return trailing(first, axes) * buffer.elements + index

    def load(
        self,
        memory: MemRef,
        coordinates: Sequence[Array],
        active: Array | None,
        together: Sequence[int] = (),
    ) -> Array:
        """Return the elements at some coordinates; 0 where it is not active.

        Args:
            memory: what is read.
            coordinates: one for each dimension.
            active: which elements are read; all if it is None.
            together: axes along which work-items do it together.
        """
        index = linear_index(memory, coordinates, active)
        places = self.places(memory.buffer, index)
        if (races := memory.buffer.races) is not None:
            units, accesses = self._accesses(memory.buffer, places, active, together)
            races.read(units, accesses)
        found = memory.buffer.flat[places]
        values = self.numerics.from_memory(found, memory.element_type)
        if active is None:
            return values
        return np.where(active, values, values.dtype.type(0))

    def store(
        self,
        memory: MemRef,
        coordinates: Sequence[Array],
        values: Array,
        active: Array | None,
        together: Sequence[int] = (),
    ) -> None:
        """Write elements at some coordinates, where it is active.

        Of several work-items that write to one place the last one wins.

        Args:
            memory: what is written.
            coordinates: one for each dimension.
            values: what is written.
            active: which elements are written; all if it is None.
            together: axes along which work-items do it together.
        """
        index = linear_index(memory, coordinates, active)
        stored = self.numerics.to_memory(values, memory.element_type)
        places = self.places(memory.buffer, index)
        flat = memory.buffer.flat
        if not flat.flags.writeable:
            raise SimulationError(f"{memory.buffer.name} is read only")
        chosen = np.True_ if active is None else active
        places, stored, chosen = np.broadcast_arrays(places, stored, chosen)
        if (races := memory.buffer.races) is not None:
            changed = chosen & (flat[places] != stored)
            units, accesses = self._accesses(memory.buffer, places, changed, together)
            races.write(units, accesses)
        if active is None:
            flat[places] = stored
        else:
            flat[places[chosen]] = stored[chosen]

    def _accesses(
        self,
        buffer: Buffer,
        places: Array,
        active: Array | None,
        together: Sequence[int],
    ) -> tuple[Array, Accesses]:
        """Return which elements are accessed, by whom and when, one after the other."""
        axes = places.ndim - AXES
        lane, subgroup = self.lane, self.subgroup
        if self.launch.subgroup_size > 1 and places.shape[LANE_AXIS] == 1:
            code = TOGETHER if LANE_AXIS in together else EACH_LANE
            lane = np.full((1,) * AXES, code)
        if SUBGROUP_AXIS in together and self.launch.subgroups > 1:
            subgroup = np.full((1,) * AXES, SEVERAL_SUBGROUPS)
        subgroup_time = self.subgroup_time
        if subgroup.shape[SUBGROUP_AXIS] != subgroup_time.shape[SUBGROUP_AXIS]:
            subgroup_time = subgroup_time.max(axis=SUBGROUP_AXIS, keepdims=True)
        columns = (lane, subgroup, self.group_time, subgroup_time)
        chosen = np.True_ if active is None else active
        wide = np.broadcast_arrays(
            places, chosen, *(trailing(column, axes) for column in columns)
        )
        places, *columns = (x[wide[1]] for x in (wide[0], *wide[2:]))
        if buffer.units > 1:
            step = np.arange(buffer.units)
            places = (places[:, None] * buffer.units + step).reshape(-1)
            columns = [np.repeat(column, buffer.units) for column in columns]
        return places, Accesses(*columns)

    def pass_barrier(self, whole: bool, here: Array) -> None:
        """Note that those who are here have waited for each other.

        Args:
            whole: whether it is a barrier of the work-group.
            here: (G, 1 or T, 1).
        """
        time = self.group_time if whole else self.subgroup_time
        time += here

    def merge(self, type: Attribute, condition: Array, new: Any, old: Any) -> Any:
        """Return `new` where a condition holds and `old` elsewhere.

        Of a matrix, each work-item chooses the elements that it owns.

        Raises:
            SimulationError: for memrefs into different memory.
        """
        if new is old:
            return new
        if isinstance(type, MemRefType):
            return chosen_memref(condition, new, old)
        if isinstance(type, MatrixType):
            chosen = self.element_mask(type, condition)
        else:
            chosen = trailing(condition, new.ndim - AXES)
        return choose(chosen, new, old)

    def element_mask(self, type: MatrixType, condition: Array) -> Array:
        """Return, for each element of a matrix, what holds for its owner."""
        scope = self.matrices.scope(type)
        groups, subgroups, lanes = condition.shape
        if scope == Scope.INVOCATION or (
            lanes == 1 and (subgroups == 1 or scope == Scope.SUBGROUP)
        ):
            return trailing(condition, 2)
        owners = self.matrices.ownership(type).lanes
        _, subgroups, lanes = self.shape
        full = np.broadcast_to(condition, (groups, *condition.shape[1:2], lanes))
        if scope == Scope.SUBGROUP:
            return full[:, :, owners][:, :, None]
        full = np.broadcast_to(full, (groups, subgroups, lanes))
        return full.reshape(groups, -1)[:, owners][:, None, None]
