"""The state of a simulation: who runs, which of them are active, and their memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects.coopmatrix import MatrixType, Ordering, Scope
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import MemorySpace
from coopc.sim.errors import SimulationError, TooLong, UndefinedBehaviour
from coopc.sim.launch import Launch
from coopc.sim.matrices import MatrixTypes
from coopc.sim.memory import (
    AddressSpace,
    Allocation,
    EitherAllocation,
    MemRef,
    chosen_memref,
    linear_index,
)
from coopc.sim.numerics import Numerics
from coopc.sim.undefined import (
    ATOMIC,
    EACH_LANE,
    PLAIN,
    TOGETHER,
    UNCHANGED,
    CellAccess,
    Poison,
    Poisons,
    Shadow,
    Shadows,
)
from coopc.sim.values import (
    AXES,
    GROUP_AXIS,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    memory_dtype,
    number,
    trailing,
)

MAX_ITERATIONS = 100_000
"""Of one loop, in one run of it: what goes on is taken to be infinite."""
WORK_ITEM = (GROUP_AXIS, SUBGROUP_AXIS, LANE_AXIS)
"""The axes of what each work-item has of its own, or of what all do as one."""


ACQUIRING = (
    Ordering.ACQUIRE,
    Ordering.ACQUIRE_RELEASE,
    Ordering.SEQUENTIALLY_CONSISTENT,
)
"""After these a work-item sees what others wrote before they released it."""
_NAMES = {SUBGROUP_AXIS: "subgroups", LANE_AXIS: "lanes"}


def writable(buffer: Allocation) -> Array:
    """Return all elements of a buffer in one row, to be changed.

    Raises:
        SimulationError: it cannot be changed.
    """
    flat = buffer.flat
    if not flat.flags.writeable:
        raise SimulationError(f"{buffer.name} is read only")
    return flat


def _same(x: Array, y: Array) -> Array:
    """Return where two arrays have the same numbers, or NaN both."""
    found: Array = x == y
    if x.dtype.kind == "f" and not found.all():
        found = found | ((x != x) & (y != y))
    return found


class Times(NamedTuple):
    """When something happens: how many barriers were passed before."""

    group: Array
    """Those of each work-group: (G, 1, 1)."""
    subgroup: Array
    """Those of each subgroup: (G, T, 1)."""


@dataclass(slots=True)
class Watch:
    """What is noted of the operations that run, and how many may."""

    ran: set[Operation] | None = None
    """Gets each of them."""
    left: int | None = None
    """How many may run yet."""


@dataclass(slots=True)
class Machine:
    """Work-groups that run in step, an operation at a time."""

    module: ModuleOp
    launch: Launch
    numerics: Numerics
    matrices: MatrixTypes
    groups: InitVar[range]
    """The work-groups of the grid that run."""
    shadows: Shadows
    """What is known of memory beside its contents."""
    globals: dict[str, MemRef]
    """The memory of each `memref.global`, by name."""
    watch: Watch
    space: AddressSpace
    """What the caller's memory is behind addresses."""
    group: Array = field(init=False)
    """Number of each work-group in the grid, x fastest: (G, 1, 1)."""
    subgroup: Array = field(init=False)
    """Number of each subgroup in its work-group: (1, T, 1)."""
    lane: Array = field(init=False)
    """Number of each lane in its subgroup: (1, 1, L)."""
    times: Mapping[MemorySpace, Times] = field(init=False)
    """How many barriers were passed, by the memory that they order."""
    mask: Array | None = None
    """Who is active; all are if it is None."""
    in_element: bool = False
    """Whether the lanes are elements of a matrix for now: no exchange among them."""
    environment: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    """What values are now."""
    depth: int = 0
    """Of regions within each other that run."""
    poisons: Poisons = field(default_factory=Poisons)
    """Which values mean nothing."""
    arrived: dict[str, Array] = field(default_factory=dict[str, Array])
    """Who is between the halves of a split barrier, by its scope."""
    loop_indices: list[Array] = field(default_factory=list[Array])
    """Of the loops of a `linalg` operation, now."""

    def __post_init__(self, groups: range) -> None:
        """Begin with who runs; nobody has passed a barrier."""
        subgroups, lanes = self.launch.subgroups, self.launch.subgroup_size
        self.group = np.arange(groups.start, groups.stop).reshape(-1, 1, 1)
        self.subgroup = np.arange(subgroups).reshape(1, -1, 1)
        self.lane = np.arange(lanes).reshape(1, 1, -1)
        sizes = (len(groups), 1, 1), (len(groups), subgroups, 1)
        self.times = {
            space: Times(*(np.zeros(size, np.int32) for size in sizes))
            for space in (MemorySpace.GLOBAL, MemorySpace.WORKGROUP)
        }

    @property
    def shape(self) -> tuple[int, int, int]:
        """(G, T, L); in the body of `coopmatrix.apply` with elements for lanes."""
        ids = (self.group, self.subgroup, self.lane)
        groups, subgroups, lanes = np.broadcast_shapes(*(id.shape for id in ids))
        return groups, subgroups, lanes

    @property
    def local_id(self) -> Array:
        """Number of each work-item in its work-group: (1, T, L)."""
        return self.subgroup * self.launch.subgroup_size + self.lane

    def note(self, op: Operation) -> None:
        """Note that an operation runs.

        Raises:
            TooLong: more run than may.
        """
        watch = self.watch
        if watch.ran is not None:
            watch.ran.add(op)
        if watch.left is not None:
            watch.left -= 1
            if watch.left < 0:
                raise TooLong("more operations run than are allowed")

    @contextmanager
    def under(self, condition: Array | None) -> Generator[None]:
        """Run with only those active that are, and for which a condition holds."""
        before = self.mask
        self.mask = self.and_active(condition)
        try:
            yield
        finally:
            self.mask = before

    def active(self, axes: int) -> Array | None:
        """Return who is active, with so many axes for the elements of values."""
        return None if self.mask is None else trailing(self.mask, axes)

    def and_active(self, condition: Array | None, axes: int = 0) -> Array | None:
        """Return where a condition, on work-items or elements, holds for the active.

        `axes` are those for the elements, where there is no condition.
        """
        if self.mask is None or condition is None:
            return condition if self.mask is None else self.active(axes)
        return condition & trailing(self.mask, condition.ndim - AXES)

    def uniform_mask(self, *axes: int) -> Array | None:
        """Return who is active, with size 1 along axes on which that is the same.

        Raises:
            UndefinedBehaviour: it is not the same: control flow has diverged; or those
                along the axes are elements of a matrix.
        """
        if axes:
            self.refuse_in_element()
        if (mask := self.mask) is None:
            return None
        for axis in axes:
            if mask.shape[axis] == 1:
                continue
            first = mask.take([0], axis)
            if not (mask == first).all():
                raise UndefinedBehaviour(
                    f"expected uniform control flow, but only some of the "
                    f"{_NAMES[axis]} execute this"
                )
            mask = first
        return mask

    def agreed(self, value: Array, what: str, *axes: int) -> Array:
        """Return a number that is the same along axes, with size 1 along them.

        Raises:
            UndefinedBehaviour: it is not the same.
        """
        for axis in axes:
            if value.shape[axis] == 1:
                continue
            first = value.take([0], axis)
            # NaN is the same as NaN here.
            wrong = (value != first) & ~((value != value) & (first != first))
            self.refuse(wrong, f"expected {what} to be the same for all {_NAMES[axis]}")
            value = first
        return value

    def holder(self, matrix: MatrixType) -> tuple[int, Array]:
        """Return how many work-items hold a matrix, and which of them each one is."""
        match self.matrices.scope(matrix):
            case Scope.WORKGROUP:
                return self.matrices.work_items, self.local_id
            case Scope.INVOCATION:
                return 1, number(0)
            case _:
                return self.launch.subgroup_size, self.lane

    def refuse_in_element(self) -> None:
        """Refuse what lanes do together, where each is an element of a matrix.

        Raises:
            UndefinedBehaviour: in the body of `coopmatrix.apply`.
        """
        if self.in_element:
            raise UndefinedBehaviour(
                "lanes cannot exchange data in the body of coopmatrix.apply"
            )

    def allocate(
        self,
        axes: Sequence[int],
        elements: int,
        type: MemRefType,
        name: str,
        may_race: bool = True,
    ) -> Allocation:
        """Return new memory, full of poison, that is there along the axes given.

        `may_race` says whether work-items have to wait for each other's accesses.

        Raises:
            SimulationError: in the body of `coopmatrix.apply`.
        """
        if self.in_element:
            raise SimulationError("no memory is made in the body of coopmatrix.apply")
        element_type = element_of(type.get_element_type())
        shape = self.shape
        sizes = tuple(shape[axis] if axis in axes else 1 for axis in range(AXES))
        poison = self.numerics.to_memory(
            self.numerics.poison(element_type), element_type
        )
        data = np.full((*sizes, elements), poison, memory_dtype(element_type))
        shadow = self.shadows.of(
            data,
            name,
            is_new=True,
            axes=len(axes),
            may_race=may_race and len(axes) < AXES and self.shape != (1,) * AXES,
        )
        return Allocation(data, name, shadow)

    def places(self, buffer: Allocation, index: Array) -> Array:
        """Return where in the row of all elements each work-item has an element."""
        sizes = buffer.data.shape
        if sizes[:AXES] == (1,) * AXES:
            return index
        axes = index.ndim - AXES
        first = np.zeros((1,) * AXES, dtype=np.int64)
        ids = (self.group - self.group.flat[0], self.subgroup, self.lane)
        for axis in WORK_ITEM:
            first = first * sizes[axis] + (ids[axis] if sizes[axis] > 1 else 0)
        return trailing(first, axes) * buffer.elements + index

    def load(
        self,
        memory: MemRef,
        coordinates: Sequence[Array],
        active: Array | None,
        together: Sequence[int] = (),
        *,
        elements: Array | None = None,
        is_atomic: bool = False,
    ) -> Array:
        """Return the elements at some coordinates; 0 where it is not active.

        Args:
            memory: what is read.
            coordinates: one for each dimension.
            active: which elements are read; all if it is None.
            together: axes along which work-items do it together; with that of the
                work-groups, these do it as one work-item.
            elements: which element of a matrix each one is, if they are of one.
            is_atomic: whether it is atomic.

        Raises:
            UndefinedBehaviour: out of bounds, of what nothing was written to, or in no
                order with a write.
        """
        if isinstance(memory.buffer, AddressSpace | EitherAllocation):
            type, found = memory.element_type, None
            for part, at, here in memory.buffer.parts(memory, coordinates, active):
                given = (part, [at], here, together)
                one = self.load(*given, elements=elements, is_atomic=is_atomic)
                found = one if found is None else np.where(here, one, found)
            return self.numerics.constant(0, type) if found is None else found
        index = linear_index(memory, coordinates, active)
        places = self.places(memory.buffer, index)
        buffer = memory.buffer
        values = self.numerics.from_memory(buffer.flat[places], memory.element_type)
        if (shadow := buffer.shadow) is not None:
            cells = shadow.cells(places, buffer.data.itemsize)
            shadow.check_written(cells, active)
            kind = ATOMIC if is_atomic else PLAIN
            who = (together, elements)
            self._find_races(shadow, cells, active, who, kind, is_write=False)
            if shadow.errors is not None:
                values = self.numerics.with_stored_errors(
                    values, memory.element_type, shadow.errors, cells, active
                )
        if active is None:
            return values
        zero = self.numerics.constant(0, memory.element_type)
        return np.where(active, values, zero.astype(values.dtype))

    def store(
        self,
        memory: MemRef,
        coordinates: Sequence[Array],
        values: Array,
        active: Array | None,
        together: Sequence[int] = (),
        *,
        elements: Array | None = None,
        is_atomic: bool = False,
    ) -> None:
        """Write elements at some coordinates, where it is active; see `load`.

        Of several atomic writes to one place the last one wins.

        Raises:
            UndefinedBehaviour: out of bounds, in no order with another access, or of
                several values to one place.
        """
        if isinstance(memory.buffer, AddressSpace | EitherAllocation):
            for part, at, here in memory.buffer.parts(memory, coordinates, active):
                given = (part, [at], values, here, together)
                self.store(*given, elements=elements, is_atomic=is_atomic)
            return
        index = linear_index(memory, coordinates, active)
        places = self.places(memory.buffer, index)
        buffer, type = memory.buffer, memory.element_type
        stored = self.numerics.to_memory(values, type)
        flat = writable(buffer)
        shadow = buffer.shadow
        if active is not None:
            places, stored, values, active = np.broadcast_arrays(
                places, stored, values, active
            )
        elif places.shape != stored.shape:
            places, stored, values = np.broadcast_arrays(places, stored, values)
        if shadow is not None:
            cells = shadow.cells(places, buffer.data.itemsize)
            kind: int | Array = ATOMIC
            if shadow.races is not None and not is_atomic:
                kind = np.where(_same(flat[places], stored), UNCHANGED, PLAIN)
            self._note_write(shadow, cells, active, (together, elements), kind)
            self._store_errors(shadow, cells, values, type, active)
        if active is not None:
            places, stored = places[active], stored[active]
        flat[places] = stored
        if self.shadows.finds_races and not is_atomic:
            self._check_stored(memory, places, stored, active)

    def update(
        self,
        memory: MemRef,
        coordinates: Sequence[Array],
        values: Array,
        active: Array | None,
        combine: Callable[[Array, Array], Array],
        executions: tuple[int, ...],
        together: Sequence[int] = (),
        elements: Array | None = None,
    ) -> Array:
        """Replace elements by what `combine` makes of them and values; see `load`.

        Each update happens as a whole.  Updates of different places happen together; of
        several updates of one place, the first ones of each place do, then the second
        ones, and so on, in the order of work-items.

        Args:
            memory: what is updated.
            coordinates: one for each dimension.
            values: the second arguments of `combine`.
            active: where it happens; everywhere if None.
            combine: from old elements and values to new elements.
            executions: the shape over which it happens once each.
            together: axes along which work-items do it together.
            elements: which element of a matrix each one is, if they are of one.

        Returns:
            The old elements, 0 where it is not active.
        """
        if isinstance(memory.buffer, AddressSpace | EitherAllocation):
            dtype = self.numerics.value_dtype(memory.element_type)
            found = np.zeros((1,) * AXES, dtype)
            for part, at, here in memory.buffer.parts(memory, coordinates, active):
                more = (part, [at], values, here, combine, executions, together)
                found = np.where(here, self.update(*more, elements), found)
            return found
        index = linear_index(memory, coordinates, active)
        places = self.places(memory.buffer, index)
        chosen = np.True_ if active is None else active
        shape = np.broadcast_shapes(
            places.shape, values.shape, chosen.shape, executions
        )
        places, values, chosen = (
            np.broadcast_to(x, shape).reshape(-1) for x in (places, values, chosen)
        )
        flat, shadow = writable(memory.buffer), memory.buffer.shadow
        type, numerics = memory.element_type, self.numerics
        cells = None if shadow is None else shadow.cells(places, flat.itemsize)
        if shadow is not None and cells is not None:
            here, wanted = cells.reshape(*shape, -1), chosen.reshape(shape)
            shadow.check_written(here, wanted)
            who = (together, elements)
            self._note_write(shadow, here, wanted, who, ATOMIC)
        old = np.zeros(values.shape, numerics.value_dtype(type))
        positions = np.flatnonzero(chosen)
        turns = _turns(places[positions])
        for turn in range(int(turns.max(initial=-1)) + 1):
            now = positions[turns == turn]
            before = numerics.from_memory(flat[places[now]], type)
            errors = None if shadow is None else shadow.errors
            if errors is not None and cells is not None:
                before = numerics.with_stored_errors(
                    before, type, errors, cells[now], None
                )
            old[now] = before
            after = combine(before, values[now])
            flat[places[now]] = numerics.to_memory(after, type)
            if errors is not None and cells is not None:
                errors.store(cells[now], numerics.errors(after, type), type)
        return old.reshape(shape)

    def _check_stored(
        self, memory: MemRef, places: Array, stored: Array, active: Array | None
    ) -> None:
        """Check that memory has what was written there, each number in its place.

        Raises:
            UndefinedBehaviour: something else was written to the same place.
        """
        wrong = ~_same(memory.buffer.flat[places], stored)
        if not wrong.any():
            return
        place = int(places[wrong].flat[0]) % memory.buffer.elements
        if active is not None:
            everywhere = np.zeros(active.shape, np.bool_)
            everywhere[active] = wrong
            wrong = everywhere
        raise UndefinedBehaviour(
            f"conflicting writes: {self.who(wrong)} writes another value to element "
            f"{place} of {memory.buffer.name} than the same operation does elsewhere"
        )

    def _store_errors(
        self,
        shadow: Shadow,
        cells: Array,
        values: Array,
        type: Attribute,
        active: Array | None,
    ) -> None:
        """Note bounds of the errors of what is written, if they are tracked."""
        if shadow.errors is None:
            return
        if active is not None:
            cells, values = cells[active], values[active]
        shadow.errors.store(cells, self.numerics.errors(values, type), type)

    def _note_write(
        self,
        shadow: Shadow,
        cells: Array,
        active: Array | None,
        who: tuple[Sequence[int], Array | None],
        kind: int | Array,
    ) -> None:
        """Note that cells are written; for the arguments see `load`.

        Raises:
            UndefinedBehaviour: in no order with another access.
        """
        if shadow.written is not None:
            shadow.written[cells if active is None else cells[active]] = True
        self._find_races(shadow, cells, active, who, kind, is_write=True)

    def _find_races(
        self,
        shadow: Shadow,
        cells: Array,
        active: Array | None,
        who: tuple[Sequence[int], Array | None],
        kind: int | Array,
        *,
        is_write: bool,
    ) -> None:
        """Note who accesses cells, and when.

        Raises:
            UndefinedBehaviour: in no order with another access.
        """
        if shadow.races is None:
            return
        together, elements = who
        lane, subgroup, first = self.lane, self.subgroup, self.local_id
        if GROUP_AXIS in together:
            first = lane = np.zeros((1,) * AXES, np.int32)
        elif self.launch.subgroup_size > 1 and cells.shape[LANE_AXIS] == 1:
            code = TOGETHER if LANE_AXIS in together else EACH_LANE
            lane = np.full((1,) * AXES, code)
            first = self.subgroup * self.launch.subgroup_size
        if SUBGROUP_AXIS in together and self.launch.subgroups > 1:
            subgroup = np.full((1,) * AXES, TOGETHER)
        space = MemorySpace.WORKGROUP if shadow.is_shared else MemorySpace.GLOBAL
        times = self.times[space]
        subgroup_time = times.subgroup
        if subgroup.shape[SUBGROUP_AXIS] != subgroup_time.shape[SUBGROUP_AXIS]:
            subgroup_time = subgroup_time.max(axis=SUBGROUP_AXIS, keepdims=True)
        if subgroup.shape[SUBGROUP_AXIS] == 1:
            first = first.min(axis=SUBGROUP_AXIS, keepdims=True)
        when = (times.group.copy(), subgroup_time.copy())
        axes = cells.ndim - 1 - AXES
        fields = [trailing(x, axes) for x in (self.group, subgroup, lane, first, *when)]
        if elements is not None and lane.flat[0] == TOGETHER:
            fields[2] = TOGETHER - elements.reshape(*(1,) * AXES, *elements.shape)
        access = CellAccess(cells, active, (*fields, np.asarray(kind)), is_write)
        shadow.races.note(access, shadow.element)

    def acquire(self, buffer: Allocation, ordering: str) -> None:
        """Note who may have waited for other work-groups, by an access to a buffer."""
        if ordering not in ACQUIRING:
            return
        if isinstance(buffer, EitherAllocation):
            self.acquire(buffer.new, ordering)
            self.acquire(buffer.old, ordering)
            return
        is_global = isinstance(buffer, AddressSpace)
        if not is_global and (buffer.shadow is None or buffer.shadow.is_shared):
            return
        here = np.True_ if self.mask is None else self.mask.any(axis=(1, 2))
        groups = self.group.reshape(-1)
        self.shadows.waited[groups[np.broadcast_to(here, groups.shape)]] = True

    def pass_barrier(
        self, whole: bool, here: Array, memory: MemorySpace | None = None
    ) -> None:
        """Note that those who are here have waited for each other.

        Args:
            whole: whether it is a barrier of the work-group.
            here: (G, 1 or T, 1).
            memory: what is seen after it; all memory if it is None.
        """
        for space, times in self.times.items():
            if memory in (None, space):
                time = times.group if whole else times.subgroup
                time += here

    def who(self, wrong: Array) -> str:
        """Return the first work-item with which something is wrong, in words."""
        first = np.argwhere(wrong)[0]
        ids = {"lane": self.lane, "subgroup": self.subgroup, "work-group": self.group}
        sizes = (self.launch.work_groups, self.launch.subgroups)
        found: list[str] = []
        for axis, (name, id) in zip((2, 1, 0), ids.items(), strict=True):
            if axis < LANE_AXIS and sizes[axis] == 1:
                continue
            if wrong.shape[axis] == id.shape[axis] > 1:
                found.append(f"{name} {id.take(first[axis], axis).flat[0]}")
        return " of ".join(found) or "every work-item"

    def poison(self, wrong: Array, reason: str) -> None:
        """Note where the operation that runs now has no result: see `refuse`."""
        wrong = self._wrong(wrong)
        if wrong.any():
            error = UndefinedBehaviour(f"{reason}, by {self.who(wrong)}")
            made = self.poisons.made
            where = wrong if made is None else wrong | made.where
            self.poisons.made = Poison(where, error)

    def refuse(self, wrong: Array, reason: str, found: Array | None = None) -> None:
        """Refuse what is wrong with somebody who is active.

        `found` are the numbers that are wrong, for the message.

        Raises:
            UndefinedBehaviour: it is.
        """
        wrong = self._wrong(wrong)
        if wrong.any():
            if found is not None:
                found = np.broadcast_to(found, wrong.shape)
                reason += f", got {found[wrong].flat[0]}"
            raise UndefinedBehaviour(f"{reason}, by {self.who(wrong)}")

    def _wrong(self, wrong: Array) -> Array:
        """Return what is wrong with those who are active."""
        if self.mask is None or not wrong.any():
            return wrong
        return wrong & trailing(self.mask, wrong.ndim - AXES)

    def merge(self, type: Attribute, condition: Array, new: Any, old: Any) -> Any:
        """Return `new` where a condition holds and `old` elsewhere.

        Of a matrix, each work-item chooses the elements that it owns.
        """
        if new is old:
            return new
        if isinstance(new, MemRef):
            space = None if isinstance(type, MemRefType) else self.space
            return chosen_memref(condition, new, old, space)
        if isinstance(type, MatrixType):
            chosen = self.element_mask(type, condition)
        else:
            chosen = trailing(condition, new.ndim - AXES)
        choices: tuple[Array, Array] = (new, old)
        return np.where(chosen, *choices)

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


def _turns(places: Array) -> Array:
    """Return, for each place, how often it occurs before."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    lengths = np.diff(np.append(starts, ordered.size))
    turns = np.empty_like(order)
    turns[order] = np.arange(ordered.size) - np.repeat(starts, lengths)
    return turns
