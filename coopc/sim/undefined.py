"""What is undefined: poison, races between work-items, and memory nobody wrote."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects

from coopc.dialects import effects
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.values import AXES, Array, trailing

ELEMENTWISE = ("arith", "math")
"""Dialects whose operations go through each element, but for divisions."""

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
        inputs: Sequence[Any],
        run: Callable[..., tuple[Any, ...]],
        mask: Array | None,
    ) -> tuple[Poison | None, ...]:
        """Return the poison of each result of an operation, by that of its operands.

        `inputs` are what these are, and `run` gives the results for others.

        Raises:
            UndefinedBehaviour: the operation observes it.
        """
        none = (None,) * len(op.results)
        if not self.values:
            return none
        found = [self.values[x] for x in op.operands if x in self.values]
        if not found:
            return none
        error = found[0].error
        is_select = isinstance(op, arith.SelectOp)
        says_where = [
            value is op.operands[0] if is_select else isinstance(value.type, IndexType)
            for value in op.operands
        ]
        poisoned = [
            x in self.values for x in itertools.compress(op.operands, says_where)
        ]
        if is_select or (op.name in MOVES and not any(poisoned)):
            # Where the elements go, so does their poison.
            triples = zip(op.operands, inputs, says_where, strict=True)
            moved = [x if says else self._where(value, x) for value, x, says in triples]
            parts = [part.astype(np.bool_) for part in run(*moved)]
            if any(poisoned):
                chosen = self.values[op.operands[0]].where
                parts = [x | trailing(chosen, x.ndim - chosen.ndim) for x in parts]
            return tuple(Poison(x, error) if x.any() else None for x in parts)
        where = found[0].where
        for other in found[1:]:
            where = where | other.where
        if op.dialect_name() in ELEMENTWISE and not isinstance(op, effects.DIVISIONS):
            return (Poison(where, error),) * len(op.results)
        if mask is not None:
            where = where & trailing(mask, where.ndim - AXES)
        if where.any():
            raise error
        return none

    def settle(self, op: Operation, spread: Sequence[Poison | None]) -> None:
        """Keep the poison of the results of an operation that has run."""
        made, self.made = self.made, None
        if made is None and not self.values and not any(spread):
            return
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


# Races: accesses to one place that nothing orders, one of which writes.
#
# Work-items run in step here, on a device they do not: a program that lacks a barrier
# is right on the simulator and wrong elsewhere.  So each cell of memory that several
# work-items see has a record of the last write and of the last reads, and of when they
# were: a time is the number of barriers of the work-group and of the subgroup so far.
#
# Two accesses are ordered if they are by the same lane; by the same subgroup, with a
# barrier of the subgroup or of the work-group between; or by the same work-group, with
# a barrier of the work-group between.  Nothing orders those of two work-groups, but
# that one that acquires by an atomic access to global memory is taken to have waited:
# the simulator does not know for whom.
#
# An operation that lanes execute together, such as a load of a matrix, is by none of
# them in particular.  In global memory it is ordered with what they did together before
# to the same element of a matrix of the same type, which the same lane has: programs
# update matrices in place.  In memory of work-groups it is not.  A program of Triton is
# one work-item.  Where its tensors are in lanes, several may load copies of an element,
# of which the first one is stored: in global memory the first lane of a subgroup that
# has read an element may write it, if no other subgroup has read it.
#
# What does not depend on the order is no race: two atomic accesses, a write of what is
# there already.  The record of such a write is kept: another one may follow.

SEVERAL = -1
"""In place of a lane, a subgroup or a work-group: several of them did it."""
EACH_LANE = -2
"""In place of a lane: every one of the subgroup does it, on its own."""
TOGETHER = -3
"""In place of a lane or a subgroup: all do it together.  TOGETHER minus the number of
an element stands for the lane that holds it."""

Name: TypeAlias = Callable[[int], str]

UNCHANGED, PLAIN, ATOMIC = 0, 1, 2
"""Kinds of accesses: a write of what was there already, another one, an atomic one."""

RECORD = np.dtype(
    [
        ("group", np.int32),  # in the grid, or SEVERAL
        ("subgroup", np.int32),  # in its work-group, or SEVERAL, or TOGETHER
        ("lane", np.int32),  # in its subgroup, or one of the numbers above
        ("first", np.int32),  # the lowest work-item of the work-group among them
        ("group_time", np.int32),  # barriers of the work-group so far; at first -1
        ("subgroup_time", np.int32),  # barriers of the subgroup so far
        ("kind", np.int32),
    ]
)
"""An access: by whom, when and of which kind."""


def _same_subgroup(before: Array, now: Array) -> Array:
    same = before["group"] == now["group"]
    return same & (before["subgroup"] == now["subgroup"])


def _merged(before: Array, now: Array, where: Array, kind: np.ufunc) -> Array:
    """Return records of later accesses, and of earlier ones with them `where` told."""
    found = now.copy()
    different = np.zeros_like(where)
    for name in ("group", "subgroup", "lane"):
        different = different | (where & (before[name] != now[name]))
        found[name][different] = SEVERAL
    for name, merge in (("first", np.minimum), ("kind", kind)):
        found[name] = np.where(where, merge(before[name], now[name]), now[name])
    return found


def _one_of_each(cells: Array, records: Array) -> tuple[Array, Array]:
    """Return one record for each cell: of several ones, by all of them together."""
    order = np.argsort(cells, kind="stable")
    ordered, records = cells[order], records[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    found = records[starts]
    several = np.zeros(found.shape, np.bool_)
    for name in ("group", "subgroup", "lane"):
        least = np.minimum.reduceat(records[name], starts)
        most = np.maximum.reduceat(records[name], starts)
        several = several | (least != most) | (least == SEVERAL)
        found[name] = np.where(several, SEVERAL, least)
    found["first"] = np.minimum.reduceat(records["first"], starts)
    for name in ("group_time", "subgroup_time", "kind"):
        found[name] = np.maximum.reduceat(records[name], starts)
    return ordered[starts], found


@dataclass(frozen=True, slots=True)
class CellAccess:
    """An operation on cells, before it is taken apart."""

    cells: Array
    """(..., parts)."""
    active: Array | None
    """Which elements are accessed, of the shape before the parts; all if it is None."""
    fields: tuple[Array, ...]
    """Those of a `RECORD`, which broadcast to the elements."""
    is_write: bool

    def refined(self, times: int) -> CellAccess:
        cells = self.cells[..., None] * times + np.arange(times)
        return replace(self, cells=cells.reshape(*self.cells.shape[:-1], -1))

    def touched(self) -> Array:
        """Return the cells that are accessed, by whomever."""
        if self.active is None:
            return self.cells
        cells, active = np.broadcast_arrays(self.cells, self.active[..., None])
        return cells[active]

    def records(self) -> tuple[Array, Array]:
        """Return which cells are accessed, by whom and when, one after the other."""
        active = np.True_ if self.active is None else self.active
        shapes = (active.shape, *(field.shape for field in self.fields))
        shape = np.broadcast_shapes(self.cells.shape[:-1], *shapes)
        parts = self.cells.shape[-1]
        chosen = np.broadcast_to(active, shape)
        cells = np.broadcast_to(self.cells, (*shape, parts))[chosen].reshape(-1)
        records = np.empty(np.count_nonzero(chosen), RECORD)
        assert RECORD.names is not None
        for name, values in zip(RECORD.names, self.fields, strict=True):
            records[name] = np.broadcast_to(values, shape)[chosen]
        return cells, np.repeat(records, parts)


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
        self._kept: list[CellAccess] = []
        self._is_recording = False

    def refine(self, times: int) -> None:
        """Take each cell as so many smaller ones."""
        self._touched = np.repeat(self._touched, times)
        self._kept = [access.refined(times) for access in self._kept]
        if self._is_recording:
            self.writes = np.repeat(self.writes, times)
            self.reads = np.repeat(self.reads, times)
            self._scratch = np.repeat(self._scratch, times)

    def note(self, access: CellAccess, name: Name) -> None:
        """Note an operation; `name` gives that of a cell, for messages.

        Raises:
            UndefinedBehaviour: nothing orders it after another one to the same cell.
        """
        if self._is_recording:
            self._record(access, name)
            return
        cells = access.touched()
        self._kept.append(access)
        if not self._touched[cells].any():
            self._touched[cells] = True
            return
        self._is_recording = True
        self.writes, self.reads = np.full((2, self._touched.size), -1, RECORD)
        self._scratch = np.empty(self._touched.size, np.int32)
        for kept in self._kept:
            self._record(kept, name)
        self._kept.clear()

    def _record(self, access: CellAccess, name: Name) -> None:
        """Check an operation against the records, and note it there.

        Raises:
            UndefinedBehaviour: nothing orders it after another one to the same cell.
        """
        cells, now = access.records()
        number = np.arange(cells.size, dtype=np.int32)
        self._scratch[cells] = number
        if (self._scratch[cells] != number).any():
            cells, now = _one_of_each(cells, now)
        (self._write if access.is_write else self._read)(cells, now, name)

    def _read(self, cells: Array, now: Array, name: Name) -> None:
        before = self.writes[cells]
        # What every lane has written, each of them may read.
        own = _same_subgroup(before, now) & (before["lane"] == EACH_LANE)
        own = own & ((now["lane"] >= 0) | (now["lane"] == EACH_LANE))
        wrong = self._is_race(before, now) & (before["kind"] != UNCHANGED) & ~own
        if wrong.any():
            raise _race(("reads", "wrote"), cells, wrong, (before, now), name)
        reads = self.reads[cells]
        since = self._is_since(reads, now)
        self.reads[cells] = _merged(reads, now, since, np.minimum)

    def _write(self, cells: Array, now: Array, name: Name) -> None:
        changed = now["kind"] != UNCHANGED
        reads, before = self.reads[cells], self.writes[cells]
        wrong = self._is_race(reads, now) & changed
        if not self.is_shared:
            # The first of the lanes that have read may write.
            own = _same_subgroup(reads, now) & (reads["first"] == now["first"])
            wrong = wrong & ~(own & (now["group"] >= 0) & (now["lane"] >= 0))
        if wrong.any():
            raise _race(("writes", "read"), cells, wrong, (reads, now), name)
        wrong = self._is_race(before, now) & changed
        if wrong.any():
            raise _race(("writes", "wrote"), cells, wrong, (before, now), name)
        since = self._is_since(before, now)
        self.writes[cells] = _merged(before, now, since, np.maximum)

    def _is_since(self, before: Array, now: Array) -> Array:
        """Return which accesses are by others, with nothing that orders them before."""
        group = now["group"]
        elsewhere = (before["group"] != group) | (group < 0)
        other = (before["subgroup"] != now["subgroup"]) | (now["subgroup"] < 0)
        at_once = before["subgroup_time"] == now["subgroup_time"]
        inside = (before["group_time"] == now["group_time"]) & (other | at_once)
        outside = (before["group_time"] >= 0) & ~(self.waited[group] & (group >= 0))
        one = (now["subgroup"] >= 0) & (now["lane"] >= 0)
        if not self.is_shared:
            # Those who do things together count as one lane.
            one = one | ((now["subgroup"] != SEVERAL) & (now["lane"] <= TOGETHER))
        same = _same_subgroup(before, now) & (before["lane"] == now["lane"])
        return np.where(elsewhere, outside, inside) & ~(same & one & (group >= 0))

    def _is_race(self, before: Array, now: Array) -> Array:
        """Return which accesses are not ordered, and not both of them atomic."""
        atomic = (before["kind"] == ATOMIC) & (now["kind"] == ATOMIC)
        return self._is_since(before, now) & ~atomic


def _race(
    verbs: tuple[str, str],
    cells: Array,
    wrong: Array,
    records: tuple[Array, Array],
    name: Name,
) -> UndefinedBehaviour:
    """Return what is said of accesses that are not ordered.

    The verbs are those of what is done now, then of what was done before; the records
    are the other way round.
    """
    first = int(np.flatnonzero(wrong)[0])
    before, now = (each[first] for each in records)
    group = int(now["group"])
    apart = group != int(before["group"]) or group < 0
    new, old = (_who(each, apart) for each in (now, before))
    problem = "race between work-groups" if apart else "race: expected a barrier"
    does = verbs[0] if group >= 0 else verbs[0].removesuffix("s")
    kinds = {int(before["kind"]), int(now["kind"])}
    if ATOMIC in kinds and len(kinds) > 1:
        problem = f"atomic mixed with plain access, {problem}"
    how = ""
    if not apart and now["lane"] < TOGETHER and before["lane"] < 0:
        how = " as another element, or of another type of matrix"
    place = name(int(cells[first]))
    return UndefinedBehaviour(
        f"{problem}: {new} {does} {place}, which {old} {verbs[1]}{how}"
    )


def _who(record: Any, with_group: bool) -> str:
    """Return who makes an access, in words."""
    group, subgroup, lane = (int(record[x]) for x in ("group", "subgroup", "lane"))
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
# narrower elements, cells are divided.  Known is who accessed a cell last (`races`),
# whether anything was written to it (`written`), and how far from the exact number a
# float is that it holds a part of (`errors`, in runs that track them).  Elements have
# cells of shape (..., parts); those that are not `active` are not accessed.


@dataclass(slots=True)
class StoredErrors:
    """Bounds of the errors of the floats in memory, by cell."""

    bounds: Array
    types: Array
    """The type of the float that a cell with a bound holds, by its number."""
    numbers: dict[Attribute, int] = field(default_factory=dict[Attribute, int])
    """Of types."""
    is_exact: bool = True
    """Whether no bound was ever greater than 0."""

    def refine(self, times: int) -> None:
        """Take each cell as so many smaller ones."""
        self.bounds = np.repeat(self.bounds, times)
        self.types = np.repeat(self.types, times)

    def load(self, cells: Array, type: Attribute) -> tuple[Array, Array]:
        """Return the bounds of elements, and which were stored as another type."""
        found = self.bounds[cells]
        other = self.types[cells] != self.numbers.get(type, -1)
        lost = ((found > 0) & other).any(axis=-1)
        return np.where(lost, 0.0, found.max(axis=-1)), lost

    def store(self, cells: Array, bounds: Array | None, type: Attribute) -> None:
        """Keep the bounds of elements, (...), which are 0 if it is None."""
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
        """Return the cells of elements of some bytes, by their numbers among all."""
        if (times := self.cell_bytes // bytes) > 1:
            # Each cell is divided into so many.
            for records in (self.races, self.errors):
                if records is not None:
                    records.refine(times)
            if self.written is not None:
                self.written = np.repeat(self.written, times)
            self.cell_bytes //= times
        parts = bytes // self.cell_bytes
        if parts == 1:
            return places[..., None]
        return places[..., None] * parts + np.arange(parts)

    def check_written(self, cells: Array, active: Array | None) -> None:
        """Check that something was written to what is read.

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
        self,
        data: Array,
        name: str,
        *,
        axes: int,
        may_race: bool,
        is_new: bool = False,
    ) -> Shadow | None:
        """Return the shadow of a buffer; None if nothing is to be known of it.

        It has `axes` of the leading axes: 1 if it is a work-group's.  It `may_race` if
        several work-items see it and one may write; nothing is written there yet if it
        `is_new`.
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
            StoredErrors(np.zeros(cells), np.zeros(cells, np.int8))
            if self.tracks_errors
            else None,
        )


# Which arguments a function writes: others need no search for races.

PAYLOADS = frozenset(("xe.payload_create", "xe.payload_set_x", "xe.payload_set_y"))
"""What changes a payload, not the memory that it is the address of."""
AT_ADDRESSES = frozenset(("simt.memory_at", "tt.int_to_ptr"))
"""What gives memory by a number."""


def written_arguments(func: FuncOp) -> frozenset[int]:
    """Return the positions of the memrefs that may be written.

    One that goes on to anything else than reads and views is: a call, a loop.  All are
    where memory at addresses is accessed.
    """
    by_address = any(op.name in AT_ADDRESSES for op in func.walk())
    return frozenset(
        position
        for position, arg in enumerate(func.body.blocks[0].args)
        if isinstance(arg.type, MemRefType) and (by_address or _is_written(arg))
    )


def _is_written(memory: SSAValue) -> bool:
    """Whether memory may be written through a value, or a view of it."""
    for use in memory.uses:
        op = use.operation
        known = get_effects(op)
        if known is None or op.regions or op.has_trait(IsTerminator):
            return True
        kinds = {effect.kind for effect in known}
        if MemoryEffectKind.WRITE in kinds and op.name not in PAYLOADS:
            return True
        if MemoryEffectKind.READ in kinds and op.name not in PAYLOADS:
            continue  # its results are elements
        if any(
            _is_written(result)
            for result in op.results
            if not isinstance(result.type, IndexType | IntegerType)
        ):
            return True
    return False
