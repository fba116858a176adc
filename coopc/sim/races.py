"""Races: accesses to one place that nothing orders, one of which writes.

Work-items run in step here, on a device they do not: a program that lacks a barrier is
right on the simulator and wrong elsewhere.  So each cell of memory that several
work-items see has a record of the last write and of the last reads, and of when they
were: a time is the number of barriers of the work-group and of the subgroup so far.

Two accesses are ordered if they are by the same lane; by the same subgroup, with a
barrier of the subgroup or of the work-group between; or by the same work-group, with
a barrier of the work-group between.  Nothing orders those of two work-groups, but that
one that acquires by an atomic access to global memory is taken to have waited: the
simulator does not know for whom.

An operation that lanes execute together, such as a load of a matrix, is by none of them
in particular.  In global memory it is ordered with what they did together before, for
programs that update matrices in place; in memory of work-groups it is not.  A program
of Triton is one work-item.  Where its tensors are in lanes, several may load copies of
an element, of which the first one is stored: in global memory the first work-item of a
work-group that has read an element may write it.

What does not depend on the order is no race: two atomic accesses, a write of what is
there already.  The record of such a write is kept: another one may follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.values import Array

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
