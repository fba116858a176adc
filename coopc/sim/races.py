"""Races in work-group memory: accesses that no barrier orders, one of which writes.

Work-items run in step here, on a device they do not: a program that lacks a barrier is
right on the simulator and wrong elsewhere.  So each element of work-group memory has a
record of the last write and of the last reads, and of when they were: a time is the
number of barriers of the work-group and of the subgroup so far.  Two accesses are
ordered if a barrier of the work-group is between them, or one of the subgroup and they
are by the same subgroup, or if they are by the same lane.  An operation that lanes
execute together, such as a load of a matrix, is by none of them in particular.

A write that changes nothing is no access.  Atomic accesses are not looked at, nor is
memory that is not a work-group's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.values import Array

EACH_LANE = -2
"""Every lane of a subgroup does it, on its own."""
TOGETHER = -3
"""The lanes of a subgroup do it together, or several lanes did it."""
SEVERAL_SUBGROUPS = -2
"""A matrix of the work-group, or several subgroups."""


@dataclass(frozen=True, slots=True)
class Accesses:
    """Some accesses: by whom and when, arrays of one shape."""

    lane: Array
    """A lane, or one of the numbers above."""
    subgroup: Array
    """In its work-group, or the number above."""
    group_time: Array
    """Barriers of the work-group so far; -1 before there was any access."""
    subgroup_time: Array
    """Barriers of the subgroup so far."""

    @classmethod
    def none(cls, elements: int) -> Accesses:
        """Return records of no access."""
        return cls(*(np.full(elements, -1, np.int64) for _ in range(4)))

    def at(self, places: Array) -> Accesses:
        """Return the records of some elements."""
        return Accesses(*(x[places] for x in self._columns))

    def put(self, places: Array, accesses: Accesses) -> None:
        """Replace the records of some elements."""
        for column, values in zip(self._columns, accesses._columns, strict=True):
            column[places] = values

    @property
    def _columns(self) -> tuple[Array, Array, Array, Array]:
        return self.lane, self.subgroup, self.group_time, self.subgroup_time

    def unordered(self, now: Accesses) -> Array:
        """Return which of these are not ordered before later ones, whoever they are."""
        other = (self.subgroup != now.subgroup) | (now.subgroup < 0)
        at_once = self.subgroup_time == now.subgroup_time
        return (self.group_time == now.group_time) & (other | at_once)

    def same_lane(self, now: Accesses) -> Array:
        """Return which of these are by the one lane that later ones are by."""
        mine = (self.subgroup == now.subgroup) & (now.subgroup >= 0)
        return mine & (self.lane == now.lane) & (now.lane >= 0)


class RaceDetector:
    """The records of one piece of work-group memory."""

    def __init__(self, elements: int, name: str) -> None:
        self.name = name
        self.writes = Accesses.none(elements)
        self.reads = Accesses.none(elements)

    def read(self, places: Array, now: Accesses) -> None:
        """Note that elements are read.

        Args:
            places: numbers of elements, one for each access.
            now: who reads them, and when.

        Raises:
            UndefinedBehaviour: one was written, and no barrier was since.
        """
        places, now = _one_each(places, now)
        before = self.writes.at(places)
        # What every lane has written, each of them may read.
        own = (before.subgroup == now.subgroup) & (before.lane == EACH_LANE)
        own = own & (now.lane != TOGETHER)
        wrong = before.unordered(now) & ~before.same_lane(now) & ~own
        self._refuse("reads", "wrote", places, wrong, before, now)
        reads = self.reads.at(places)
        since = reads.unordered(now) & ~reads.same_lane(now)
        several = since & (reads.subgroup != now.subgroup)
        merged = Accesses(
            np.where(since, TOGETHER, now.lane),
            np.where(several, SEVERAL_SUBGROUPS, now.subgroup),
            now.group_time,
            now.subgroup_time,
        )
        self.reads.put(places, merged)

    def write(self, places: Array, now: Accesses) -> None:
        """Note that elements are changed; for the arguments see `read`.

        Raises:
            UndefinedBehaviour: one was written or read, and no barrier was since.
        """
        places, now = _one_each(places, now)
        for verb, records in (("wrote", self.writes), ("read", self.reads)):
            before = records.at(places)
            wrong = before.unordered(now) & ~before.same_lane(now)
            self._refuse("writes", verb, places, wrong, before, now)
        self.writes.put(places, now)

    def _refuse(
        self,
        does: str,
        did: str,
        places: Array,
        wrong: Array,
        before: Accesses,
        now: Accesses,
    ) -> None:
        """Refuse accesses that are not ordered."""
        if not wrong.any():
            return
        first = int(np.flatnonzero(wrong)[0])
        raise UndefinedBehaviour(
            f"expected a barrier: {_who(now, first)} {does} element "
            f"{int(places[first])} of {self.name}, which {_who(before, first)} {did}"
        )


def _one_each(places: Array, accesses: Accesses) -> tuple[Array, Accesses]:
    """Return one access for each element: of several ones, by all of them together."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    if starts.size == places.size:
        return places, accesses
    accesses = accesses.at(order)

    def merged(values: Array, several: int) -> Array:
        least, most = (f.reduceat(values, starts) for f in (np.minimum, np.maximum))
        return np.where(least == most, least, several)

    return ordered[starts], Accesses(
        merged(accesses.lane, TOGETHER),
        merged(accesses.subgroup, SEVERAL_SUBGROUPS),
        np.maximum.reduceat(accesses.group_time, starts),
        np.maximum.reduceat(accesses.subgroup_time, starts),
    )


def _who(accesses: Accesses, position: int) -> str:
    """Return who makes an access, in words."""
    subgroup, lane = accesses.subgroup[position], accesses.lane[position]
    if subgroup < 0:
        return "the work-group"
    return f"subgroup {subgroup}" if lane < 0 else f"lane {lane} of subgroup {subgroup}"
