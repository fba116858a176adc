"""What is undefined: poison, races between work-items, and memory nobody wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.values import AXES, Array, trailing

ELEMENTWISE = ("arith", "math")
"""Dialects whose operations go through each element, but for divisions."""

DIVISIONS: tuple[type[Operation], ...] = (
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.DivSIOp,
    arith.DivUIOp,
    arith.FloorDivSIOp,
    arith.RemSIOp,
    arith.RemUIOp,
)

# By name, so that a program without them does not import their dialects.
MOVES = frozenset(
    (
        "tt.broadcast",
        "tt.cat",
        "tt.expand_dims",
        "tt.join",
        "tt.reshape",
        "tt.splat",
        "tt.split",
        "tt.trans",
        "tt.unsplat",
        "ttg.convert_layout",
        "vector.broadcast",
        "vector.extract",
        "vector.insert",
        "vector.shuffle",
    )
)
"""What gives elements of its operands; where is said by those that are indices."""


@dataclass(frozen=True, slots=True)
class Poison:
    """The part of a value that means nothing."""

    where: Array
    """Broadcasts to the value."""
    error: UndefinedBehaviour
    """What is wrong where it was made."""


@dataclass(slots=True)
class Poisons:
    """The values that are poison now, in part."""

    values: dict[SSAValue, Poison] = field(default_factory=dict[SSAValue, Poison])
    made: Poison | None = None
    """By the operation that runs now."""

    def through(
        self,
        op: Operation,
        environment: Mapping[SSAValue, Any],
        run: Callable[[Mapping[SSAValue, Any]], tuple[Any, ...]],
        mask: Array | None,
    ) -> tuple[Poison | None, ...]:
        """Return the poison of each result of an operation that has some as operand.

        Args:
            op: the operation.
            environment: what values are.
            run: gives the results of the operation for other values of its operands.
            mask: who is active.

        Raises:
            UndefinedBehaviour: the operation observes it.
        """
        found = [self.values[x] for x in op.operands if x in self.values]
        if not found:
            return (None,) * len(op.results)
        error = found[0].error
        if isinstance(op, arith.SelectOp):
            where = self._selected(op, environment)
            return (Poison(where, error) if where.any() else None,)
        if op.name in MOVES and not any(
            isinstance(x.type, IndexType) and x in self.values for x in op.operands
        ):
            wheres = run({x: self._where(x, environment[x]) for x in _moved(op)})
            return tuple(Poison(where.astype(np.bool_), error) for where in wheres)
        where = found[0].where
        for other in found[1:]:
            where = where | other.where
        if op.dialect_name() in ELEMENTWISE and not isinstance(op, DIVISIONS):
            return (Poison(where, error),) * len(op.results)
        if mask is not None:
            where = where & trailing(mask, where.ndim - AXES)
        if where.any():
            raise error
        return (None,) * len(op.results)

    def settle(self, op: Operation, spread: tuple[Poison | None, ...]) -> None:
        """Keep the poison of the results of an operation that has run."""
        made, self.made = self.made, None
        for result, poison in zip(op.results, spread, strict=True):
            if made is not None:
                made.error.op = op
                where = made.where if poison is None else made.where | poison.where
                poison = Poison(where, made.error)
            if poison is None:
                self.values.pop(result, None)
            else:
                self.values[result] = poison

    def _where(self, value: SSAValue, array: Array) -> Array:
        """Return which part of a value is poison, as an array of its shape."""
        poison = self.values.get(value)
        where = np.False_ if poison is None else poison.where
        shape = np.broadcast_shapes(array.shape, where.shape)
        return np.broadcast_to(where, shape)

    def _selected(
        self, op: arith.SelectOp, environment: Mapping[SSAValue, Any]
    ) -> Array:
        """Return which part of the result of a select is poison."""
        condition, x, y = op.operands
        chosen: Array = environment[condition]
        wheres = [self._where(each, environment[each]) for each in (x, y)]
        axes = max(where.ndim for where in wheres) - chosen.ndim
        where = np.where(trailing(chosen, axes), *wheres)
        if condition in self.values:
            where = where | trailing(self.values[condition].where, axes)
        return where


def _moved(op: Operation) -> list[SSAValue]:
    """Return the operands whose elements an operation gives."""
    return [x for x in op.operands if not isinstance(x.type, IndexType)]


# Races: accesses to one place that nothing orders, one of which writes.
#
# Work-items run in step here, on a device they do not: a program that lacks a barrier
# is
# right on the simulator and wrong elsewhere.  So each cell of memory that several
# work-items see has a record of the last write and of the last reads, and of when they
# were: a time is the number of barriers of the work-group and of the subgroup so far.
#
# Two accesses are ordered if they are by the same lane; by the same subgroup, with a
# barrier of the subgroup or of the work-group between; or by the same work-group, with
# a barrier of the work-group between.  Nothing orders those of two work-groups, but
# that
# one that acquires by an atomic access to global memory is taken to have waited: the
# simulator does not know for whom.
#
# An operation that lanes execute together, such as a load of a matrix, is by none of
# them
# in particular.  In global memory it is ordered with what they did together before, for
# programs that update matrices in place; in memory of work-groups it is not.  A program
# of Triton is one work-item.  Where its tensors are in lanes, several may load copies
# of
# an element, of which the first one is stored: in global memory the first work-item of
# a
# work-group that has read an element may write it.
#
# What does not depend on the order is no race: two atomic accesses, a write of what is
# there already.  The record of such a write is kept: another one may follow.

SEVERAL = -1
"""In place of a lane, a subgroup or a work-group: several of them did it."""
EACH_LANE = -2
"""In place of a lane: every one of the subgroup does it, on its own."""
TOGETHER = -3
"""In place of a lane or a subgroup: they all do it together."""

Name: TypeAlias = Callable[[int], str]

UNCHANGED, PLAIN, ATOMIC = 0, 1, 2
"""Kinds of accesses: a write of what was there already, another one, an atomic one."""


@dataclass(frozen=True, slots=True)
class Accesses:
    """Some accesses: by whom, when and of which kind, arrays of one shape."""

    group: Array
    """In the grid, or `SEVERAL`."""
    subgroup: Array
    """In its work-group, or `SEVERAL`, or `TOGETHER`."""
    lane: Array
    """In its subgroup, or one of the numbers above."""
    first: Array
    """The lowest work-item of the work-group among them."""
    group_time: Array
    """Barriers of the work-group so far; -1 before there was any access."""
    subgroup_time: Array
    """Barriers of the subgroup so far."""
    kind: Array

    @classmethod
    def none(cls, cells: int) -> Accesses:
        """Return records of no access."""
        return cls(*(np.full(cells, -1, np.int32) for _ in range(7)))

    def at(self, places: Array) -> Accesses:
        """Return the records of some cells."""
        return Accesses(*(x[places] for x in self.columns))

    def put(self, places: Array, accesses: Accesses) -> None:
        """Replace the records of some cells."""
        for column, values in zip(self.columns, accesses.columns, strict=True):
            column[places] = values

    def repeated(self, times: int) -> Accesses:
        """Return the records of the parts of each cell."""
        return Accesses(*(np.repeat(x, times) for x in self.columns))

    @property
    def columns(self) -> tuple[Array, ...]:
        """The fields."""
        return (
            self.group,
            self.subgroup,
            self.lane,
            self.first,
            self.group_time,
            self.subgroup_time,
            self.kind,
        )

    def unordered(self, now: Accesses, waited: Array) -> Array:
        """Return which of these are not ordered before later ones, whoever they are.

        Args:
            now: the later ones.
            waited: which work-groups of the grid may have waited for others.
        """
        elsewhere = (self.group != now.group) | (now.group < 0)
        other = (self.subgroup != now.subgroup) | (now.subgroup < 0)
        at_once = self.subgroup_time == now.subgroup_time
        inside = (self.group_time == now.group_time) & (other | at_once)
        outside = (self.group_time >= 0) & ~(waited[now.group] & (now.group >= 0))
        return np.where(elsewhere, outside, inside)

    def same_lane(self, now: Accesses, together: bool) -> Array:
        """Return which of these are by the one lane that later ones are by.

        Args:
            now: the later ones.
            together: whether those who do things together count as one.
        """
        mine = (self.group == now.group) & (self.subgroup == now.subgroup)
        one = (now.subgroup >= 0) & (now.lane >= 0)
        if together:
            one = one | ((now.subgroup != SEVERAL) & (now.lane == TOGETHER))
        return mine & (self.lane == now.lane) & one & (now.group >= 0)

    def merged(self, now: Accesses, where: Array) -> Accesses:
        """Return later accesses, and where it is said these with them, as one."""
        elsewhere = where & (self.group != now.group)
        other = where & (elsewhere | (self.subgroup != now.subgroup))
        lane = other | (where & (self.lane != now.lane))
        return Accesses(
            np.where(elsewhere, SEVERAL, now.group),
            np.where(other, SEVERAL, now.subgroup),
            np.where(lane, SEVERAL, now.lane),
            np.where(where, np.minimum(self.first, now.first), now.first),
            now.group_time,
            now.subgroup_time,
            now.kind,
        )


@dataclass(frozen=True, slots=True)
class Access:
    """An operation on cells, before it is taken apart."""

    cells: Array
    """(..., parts)."""
    active: Array | None
    """Which elements are accessed, of the shape before the parts; all if it is None."""
    columns: tuple[Array, ...]
    """The fields of `Accesses`, which broadcast to the elements."""
    is_write: bool

    def refined(self, times: int) -> Access:
        """Return the operation on the parts of each cell."""
        cells = self.cells[..., None] * times + np.arange(times)
        return replace(self, cells=cells.reshape(*self.cells.shape[:-1], -1))

    def accesses(self) -> tuple[Array, Accesses]:
        """Return which cells are accessed, by whom and when, one after the other."""
        active = np.True_ if self.active is None else self.active
        shape = np.broadcast_shapes(
            self.cells.shape[:-1],
            active.shape,
            *(column.shape for column in self.columns),
        )
        parts = self.cells.shape[-1]
        chosen = np.broadcast_to(active, shape)
        cells = np.broadcast_to(self.cells, (*shape, parts))[chosen].reshape(-1)
        columns = (
            np.broadcast_to(column, shape)[chosen].astype(np.int32)
            for column in self.columns
        )
        return cells, Accesses(*(np.repeat(x, parts) for x in columns))


class RaceDetector:
    """The records of one piece of memory.

    Of cells that are accessed once there is nothing to compare: such accesses are kept
    as they are until another one is to the same cells.
    """

    def __init__(self, cells: int, waited: Array, is_shared: bool) -> None:
        self.waited = waited
        """Which work-groups of the grid may have waited for others."""
        self.is_shared = is_shared
        """Whether it is memory of work-groups."""
        self._touched = np.zeros(cells, np.bool_)
        self._kept: list[Access] = []
        self._is_recording = False

    def refine(self, times: int) -> None:
        """Take each cell as so many smaller ones."""
        self._touched = np.repeat(self._touched, times)
        self._kept = [access.refined(times) for access in self._kept]
        if not self._is_recording:
            return
        self.writes = self.writes.repeated(times)
        self.reads = self.reads.repeated(times)
        self._scratch = np.repeat(self._scratch, times)

    def note(self, access: Access, name: Name) -> None:
        """Note an operation.

        Args:
            access: the operation.
            name: of a cell, for messages.

        Raises:
            UndefinedBehaviour: nothing orders it after another one to the same cell.
        """
        if not self._is_recording:
            found = self._touched[access.cells]
            if access.active is not None:
                found = found & access.active[..., None]
            if not found.any():
                self._touch(access)
                self._kept.append(access)
                return
            self._record(name)
        (self._write if access.is_write else self._read)(*access.accesses(), name)

    def _touch(self, access: Access) -> None:
        """Note which cells were accessed."""
        if access.active is None:
            self._touched[access.cells] = True
            return
        active = access.active[..., None]
        cells, active = np.broadcast_arrays(access.cells, active)
        self._touched[cells[active]] = True

    def _record(self, name: Name) -> None:
        """Begin to keep records, of what was noted so far too."""
        if self._is_recording:
            return
        self._is_recording = True
        cells = self._touched.size
        self.writes, self.reads = Accesses.none(cells), Accesses.none(cells)
        self._scratch = np.empty(cells, np.int32)
        for access in self._kept:
            (self._write if access.is_write else self._read)(*access.accesses(), name)
        self._kept.clear()

    def _read(self, places: Array, now: Accesses, name: Name) -> None:
        """Note that cells are read.

        Args:
            places: numbers of cells, one for each access.
            now: who reads them, and when.
            name: of a cell, for messages.

        Raises:
            UndefinedBehaviour: one was written, and no barrier was since.
        """
        places, now = self._one_each(places, now)
        before = self.writes.at(places)
        # What every lane has written, each of them may read.
        own = (before.group == now.group) & (before.subgroup == now.subgroup)
        own = (
            own
            & (before.lane == EACH_LANE)
            & ((now.lane >= 0) | (now.lane == EACH_LANE))
        )
        wrong = (
            before.unordered(now, self.waited) & ~self._same_lane(before, now) & ~own
        )
        wrong = wrong & (before.kind != UNCHANGED) & ~_both_atomic(before, now)
        if wrong.any():
            raise _race(("reads", "wrote"), places, wrong, (before, now), name)
        reads = self.reads.at(places)
        since = reads.unordered(now, self.waited) & ~self._same_lane(reads, now)
        merged = reads.merged(now, since)
        kind = np.where(since, np.minimum(reads.kind, now.kind), now.kind)
        self.reads.put(places, replace(merged, kind=kind))

    def _write(self, places: Array, now: Accesses, name: Name) -> None:
        """Note that cells are written; for the arguments see `_read`.

        Raises:
            UndefinedBehaviour: one was written or read, and no barrier was since.
        """
        places, now = self._one_each(places, now)
        changed = now.kind != UNCHANGED
        reads = self.reads.at(places)
        wrong = reads.unordered(now, self.waited) & ~self._same_lane(reads, now)
        wrong = wrong & changed & ~_both_atomic(reads, now)
        if not self.is_shared:
            wrong = wrong & ~_by_first(reads, now)
        if wrong.any():
            raise _race(("writes", "read"), places, wrong, (reads, now), name)
        before = self.writes.at(places)
        since = before.unordered(now, self.waited) & ~self._same_lane(before, now)
        wrong = since & changed & ~_both_atomic(before, now)
        if wrong.any():
            raise _race(("writes", "wrote"), places, wrong, (before, now), name)
        merged = before.merged(now, since)
        kind = np.where(since, np.maximum(before.kind, now.kind), now.kind)
        self.writes.put(places, replace(merged, kind=kind))

    def _same_lane(self, before: Accesses, now: Accesses) -> Array:
        """Return which accesses are by the lane that made those before."""
        return before.same_lane(now, together=not self.is_shared)

    def _one_each(self, places: Array, accesses: Accesses) -> tuple[Array, Accesses]:
        """Return one access for each cell: of several ones, by all of them together."""
        number = np.arange(places.size, dtype=np.int32)
        self._scratch[places] = number
        if (self._scratch[places] == number).all():
            return places, accesses
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        accesses = accesses.at(order)

        def merged(values: Array) -> Array:
            least, most = (f.reduceat(values, starts) for f in (np.minimum, np.maximum))
            return np.where(least == most, least, SEVERAL)

        group, subgroup, lane, first, group_time, subgroup_time, kind = accesses.columns
        one = merged(group)
        part = np.where(one == SEVERAL, SEVERAL, merged(subgroup))
        return ordered[starts], Accesses(
            one,
            part,
            np.where(part == SEVERAL, SEVERAL, merged(lane)),
            np.minimum.reduceat(first, starts),
            np.maximum.reduceat(group_time, starts),
            np.maximum.reduceat(subgroup_time, starts),
            np.maximum.reduceat(kind, starts),
        )


def _race(
    verbs: tuple[str, str],
    places: Array,
    wrong: Array,
    accesses: tuple[Accesses, Accesses],
    name: Name,
) -> UndefinedBehaviour:
    """Return what is said of accesses that are not ordered.

    Args:
        verbs: what is done now, what was done before.
        places: numbers of cells.
        wrong: which of them are accessed in no order.
        accesses: those before and those now.
        name: of a cell.
    """
    first = int(np.flatnonzero(wrong)[0])
    before, now = accesses
    group, other = int(now.group[first]), int(before.group[first])
    apart = group != other or group < 0
    new, old = (_who(each, first, apart) for each in (now, before))
    problem = "race between work-groups" if apart else "race: expected a barrier"
    does = verbs[0] if group >= 0 else verbs[0].removesuffix("s")
    kinds = {int(each.kind[first]) for each in accesses}
    if ATOMIC in kinds and len(kinds) > 1:
        problem = f"atomic mixed with plain access, {problem}"
    return UndefinedBehaviour(
        f"{problem}: {new} {does} {name(int(places[first]))}, which {old} {verbs[1]}"
    )


def _by_first(reads: Accesses, now: Accesses) -> Array:
    """Return which writes are by the first work-item of those that have read."""
    same = (reads.group == now.group) & (reads.first == now.first)
    return same & (now.group >= 0) & (now.lane >= 0)


def _both_atomic(before: Accesses, now: Accesses) -> Array:
    """Return which accesses are atomic, and those before them too."""
    return (before.kind == ATOMIC) & (now.kind == ATOMIC)


def _who(accesses: Accesses, position: int, with_group: bool) -> str:
    """Return who makes an access, in words."""
    group, subgroup, lane = (
        int(x[position]) for x in (accesses.group, accesses.subgroup, accesses.lane)
    )
    if group < 0:
        return "several work-groups"
    where = f" of work-group {group}" if with_group else ""
    if subgroup < 0:
        return f"work-group {group}" if with_group else "the work-group"
    who = f"subgroup {subgroup}"
    return (who if lane < 0 else f"lane {lane} of {who}") + where


# Shadow memory: what is known of a buffer beside its contents.
#
# A cell is some bytes, as many as an element of the buffer has; where a view has
# narrower
# elements, cells are divided.  Known is who accessed a cell last (`races`), whether
# anything was written to it (`written`), and how far from the exact number a float is
# that it holds a part of (`errors`, in runs that track them).

T = TypeVar("T")


@dataclass(slots=True)
class StoredErrors:
    """Bounds of the errors of the floats in memory, by cell."""

    bounds: Array
    types: Array
    """The type of the float that a cell with a bound holds, by its number."""
    numbers: dict[Attribute, int]
    """Of types."""
    is_exact: bool = True
    """Whether no bound was ever greater than 0."""

    @classmethod
    def none(cls, cells: int) -> StoredErrors:
        """Return the bounds of exact numbers."""
        return cls(np.zeros(cells), np.zeros(cells, np.int8), {})

    def refine(self, times: int) -> None:
        """Take each cell as so many smaller ones."""
        self.bounds = np.repeat(self.bounds, times)
        self.types = np.repeat(self.types, times)

    def load(self, cells: Array, type: Attribute) -> tuple[Array, Array]:
        """Return the bounds of elements, and which were stored as another type.

        Args:
            cells: (..., parts), of each element.
            type: that the elements are read as.
        """
        found = self.bounds[cells]
        other = self.types[cells] != self.numbers.get(type, -1)
        lost = ((found > 0) & other).any(axis=-1)
        return np.where(lost, 0.0, found.max(axis=-1)), lost

    def store(self, cells: Array, bounds: Array | None, type: Attribute) -> None:
        """Keep the bounds of elements.

        Args:
            cells: (..., parts), of each element.
            bounds: (...); 0 if it is None.
            type: of the elements.
        """
        if bounds is None or not bounds.any():
            if not self.is_exact:
                self.bounds[cells] = 0.0
            return
        self.is_exact = False
        self.bounds[cells] = bounds[..., None]
        self.types[cells] = self.numbers.setdefault(type, len(self.numbers))


@dataclass(slots=True)
class Shadow:
    """What is known of a buffer."""

    name: str
    """Of the buffer."""
    element_bytes: int
    """Of the buffer's own elements."""
    elements: int
    """That one work-item sees."""
    cell_bytes: int
    """Of a cell."""
    is_shared: bool = False
    """Whether it is memory of a work-group."""
    races: RaceDetector | None = None
    written: Array | None = None
    errors: StoredErrors | None = None

    def cells(self, places: Array, bytes: int) -> Array:
        """Return the cells of some elements: (..., parts).

        Args:
            places: numbers of elements, in the row of all.
            bytes: of an element.
        """
        if bytes < self.cell_bytes:
            self._refine(self.cell_bytes // bytes)
        parts = bytes // self.cell_bytes
        if parts == 1:
            return places[..., None]
        return places[..., None] * parts + np.arange(parts)

    def _refine(self, times: int) -> None:
        """Divide each cell into so many."""
        if self.races is not None:
            self.races.refine(times)
        if self.written is not None:
            self.written = np.repeat(self.written, times)
        if self.errors is not None:
            self.errors.refine(times)
        self.cell_bytes //= times

    def check_written(self, cells: Array, active: Array | None) -> None:
        """Check that something was written to what is read.

        Args:
            cells: (..., parts), of each element.
            active: which elements are read; all if it is None.

        Raises:
            UndefinedBehaviour: nothing was.
        """
        if self.written is None:
            return
        known = self.written[cells].all(axis=-1)
        wrong = ~known if active is None else ~known & active
        if wrong.any():
            first = np.broadcast_to(cells[..., 0], wrong.shape)[wrong].flat[0]
            raise UndefinedBehaviour(
                f"uninitialised memory: expected a store before {self.element(first)} "
                "is read"
            )

    def element(self, cell: int) -> str:
        """Return what a cell is a part of, in words."""
        number = int(cell) * self.cell_bytes // self.element_bytes
        return f"element {number % max(self.elements, 1)} of {self.name}"


@dataclass(slots=True)
class Shadows:
    """What shadows the buffers of a simulation have."""

    waited: Array
    """Which work-groups of the grid may have waited for others: see `races`."""
    finds_races: bool
    tracks_errors: bool

    def of(
        self, data: Array, name: str, *, is_new: bool, axes: int, may_race: bool
    ) -> Shadow | None:
        """Return the shadow of a buffer; None if nothing is to be known of it.

        Args:
            data: its contents.
            name: of the buffer.
            is_new: whether nothing is written there yet.
            axes: how many of the leading axes it has: 1 of a work-group's.
            may_race: whether several work-items see it, and one may write.
        """
        races = may_race and self.finds_races
        if not (races or is_new or self.tracks_errors):
            return None
        cells, bytes = data.size, data.dtype.itemsize
        return Shadow(
            name,
            bytes,
            data.shape[-1],
            bytes,
            axes == 1,
            RaceDetector(cells, self.waited, axes == 1) if races else None,
            np.zeros(cells, np.bool_) if is_new else None,
            StoredErrors.none(cells) if self.tracks_errors else None,
        )


# Which arguments a function writes: others need no search for races.

# By name, so that the dialects that a program does not use are not imported.
READS = frozenset(
    (
        "coopmatrix.fill",
        "coopmatrix.load",
        "coopmatrix.prefetch",
        "memref.dim",
        "memref.load",
        "memref.rank",
        "simt.block_read",
        "tt.descriptor_load",
        "tt.load",
        "ttig.2d_block_load",
        "ttig.2d_block_load_from_ptr",
        "ttig.descriptor_prefetch",
        "ttig.prefetch",
        "vector.load",
        "vector.maskedload",
        "vector.transfer_read",
        "xe.block_load",
        "xe.block_load_2d",
        "xe.block_prefetch_2d",
        "xe.payload_load",
        "xe.payload_prefetch",
        "xe.payload_set_x",
        "xe.payload_set_y",
    )
)
"""What accesses memory and does not write."""
VIEWS = frozenset(
    (
        "memref.assume_alignment",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.extract_strided_metadata",
        "memref.memory_space_cast",
        "memref.reinterpret_cast",
        "memref.subview",
        "memref.view",
        "simt.view_elements",
        "tt.addptr",
        "tt.advance",
        "tt.bitcast",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.make_tensor_descriptor",
        "tt.make_tensor_ptr",
        "tt.reshape",
        "tt.splat",
        "tt.unsplat",
        "ttig.extract_desc",
        "xe.payload_create",
    )
)
"""What makes another way to see the same memory."""


def written_arguments(func: FuncOp) -> frozenset[int]:
    """Return the positions of the memrefs that may be written.

    One that goes on to anything else than reads and views is: a call, a loop.
    """
    return frozenset(
        position
        for position, arg in enumerate(func.body.block.args)
        if isinstance(arg.type, MemRefType) and _is_written(arg)
    )


def _is_written(memory: SSAValue) -> bool:
    """Whether memory may be written through a value, or a view of it."""
    return any(
        any(
            _is_written(result)
            for result in use.operation.results
            if not isinstance(result.type, IndexType | IntegerType)
        )
        if use.operation.name in VIEWS
        else use.operation.name not in READS
        for use in memory.uses
    )
