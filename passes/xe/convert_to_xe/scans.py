"""`tt.scan`: inside of each lane, across the lanes of a subgroup, across subgroups.

Along the axis a lane has runs of neighbours; lanes, then subgroups continue a run, and
its next run begins where the last subgroup ends:

    register -> 1, 2    lane -> 4, 8, 16    warp -> 32    register -> 64

A lane combines its run; lanes combine the ends of their runs, those of 1, 2, 4, ...
lanes before them in each step, then take what the lane before them has, and combine it
with all that they have.  What subgroups have goes through work-group memory.  Layouts
of other orders are scanned in work-group memory, twice as far in each step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from coopc.dialects import simt, tt
from coopc.dialects.narrow import length_of
from coopc.dialects.simt import MAX_COMPONENTS
from coopc.ir.builder import INDEX, Builder, Id
from coopc.ir.split_values import Results, Splitter
from coopc.layout.linear import LinearLayout
from coopc.passes.xe.convert_to_xe.group_memory import (
    GroupMemory,
    barrier,
    refuse_too_large,
)
from coopc.passes.xe.convert_to_xe.layout_to_arith import (
    coordinates,
    is_first,
    row_major,
    times,
)
from coopc.passes.xe.convert_to_xe.tensors import (
    combined,
    kept_layout,
    moved,
    number_along,
    refuse_region,
    row_count,
)
from coopc.passes.xe.convert_to_xe.vectors import (
    constant_i32,
    gathered,
    packed,
    splat,
    vectors_of,
)
from coopc.passes.xe.register_layout import RegisterLayout, registers_of

Row = list[SSAValue]
"""A vector of each operand: elements that differ in other dimensions than the axis."""


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """Where the elements along an axis are, in their order."""

    run: int
    """Elements that follow each other in a lane."""
    distance: int
    """From a lane to the next one along the axis."""
    lanes: int
    warps: tuple[int, ...]
    """Bits of the number of a subgroup."""
    runs: int
    """Runs of a lane."""

    @property
    def subgroups(self) -> int:
        return 1 << len(self.warps)

    @property
    def stride(self) -> int:
        """From a run of a lane to its next."""
        return self.run * self.lanes * self.subgroups


def plan_scan(layout: LinearLayout, axis: int) -> ScanPlan | None:
    """Return where elements are; None if their order is another one."""
    places: dict[int, tuple[str, int]] = {}
    for name in ("register", "lane", "warp"):
        for bit, basis in enumerate(layout.bases(name)):
            if not basis[axis]:
                continue
            if sum(map(bool, basis)) > 1 or basis[axis] in places:
                return None
            places[basis[axis]] = name, bit
    order = [places[x] for x in sorted(places)]
    found = re.fullmatch("(r*)(l*)(w*)(r*)", "".join(name[0] for name, _ in order))
    lanes, warps = ([x for at, x in order if at == name] for name in ("lane", "warp"))
    first = lanes[0] if lanes else 0
    if found is None or lanes != [*range(first, first + len(lanes))]:
        return None
    run, _, _, runs = (1 << len(x) for x in found.groups())
    return ScanPlan(run, 1 << first, 1 << len(lanes), tuple(warps), runs)


@dataclass(frozen=True, slots=True)
class Ends:
    """A run of a lane, scanned by itself."""

    rows: list[Row]
    before: Row | None
    """What the lanes before this one in the subgroup come to; None with one lane."""
    last: Row
    """The last element, combined with these."""
    whole: Row
    """What all lanes of the subgroup come to."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan that is written out for each run."""

    op: tt.ScanOp
    plan: ScanPlan
    b: Builder

    @property
    def backwards(self) -> bool:
        return bool(self.op.reverse.value.data)

    def combined(self, before: Row, here: Row) -> Row:
        return combined(self.op, before, here, self.b)

    def chosen(self, flag: SSAValue, one: Row, other: Row) -> Row:
        flags = splat(self.b, flag, length_of(one[0]))
        return [self.b.select(flags, *x) for x in zip(one, other, strict=True)]

    def run(self, row: Sequence[Row]) -> list[Row]:
        """Return the elements of a run, each combined with those before it."""
        found = [row[0]]
        for each in row[1:]:
            found.append(self.combined(found[-1], each))
        return found

    def number(self, name: Id) -> SSAValue:
        """Return which of the lanes or subgroups along the axis this is, an i32."""
        bits, count = self.plan.warps, self.plan.subgroups
        if name == "lane":
            first, count = self.plan.distance.bit_length() - 1, self.plan.lanes
            bits = tuple(range(first, first + count.bit_length() - 1))
        found = number_along(self.b, name, bits)
        if self.backwards:
            found = self.b.pure(arith.SubiOp, constant_i32(self.b, count - 1), found)
        return found

    def is_after(self, number: SSAValue, least: int) -> SSAValue:
        return self.b.compare("sge", number, constant_i32(self.b, least))

    def from_lane(self, row: Row, before: int) -> Row:
        """Return what the lane so many before this one along the axis has."""
        mode = simt.ShuffleMode.DOWN if self.backwards else simt.ShuffleMode.UP
        by = self.b.constant(INDEX, before * self.plan.distance)
        return [self.b.pure(simt.ShuffleOp, mode, x, by) for x in row]

    def across_lanes(self, ends: Row) -> tuple[Row, Row]:
        """Return the ends of runs, combined up to the lane before, and to this one."""
        lane, step = self.number("lane"), 1
        while step < self.plan.lanes:
            new = self.combined(self.from_lane(ends, step), ends)
            ends = self.chosen(self.is_after(lane, step), new, ends)
            step *= 2
        return self.from_lane(ends, 1), ends

    def of_last_lane(self, ends: Row) -> Row:
        """Return what the last lane along the axis has."""
        b, span = self.b, (self.plan.lanes - 1) * self.plan.distance
        if not span:
            return ends
        lane = b.id("lane")
        others = b.pure(arith.AndIOp, lane, constant_i32(b, ~span))
        if not self.backwards:
            others = b.pure(arith.OrIOp, lane, constant_i32(b, span))
        at = b.pure(arith.IndexCastOp, others, INDEX)
        return [b.pure(simt.ShuffleOp, simt.ShuffleMode.IDX, x, at) for x in ends]

    def apply(
        self,
        group: GroupMemory,
        registers: Sequence[RegisterLayout],
        columns: Sequence[Row],
    ) -> list[Row]:
        """Return the vectors of each result."""
        source, axis, plan = registers[0], self.op.axis.value.data, self.plan
        kept = kept_registers(source, axis)
        starts = range(0, plan.runs * plan.stride, plan.stride)
        runs = [[start + x for x in range(plan.run)] for start in starts]
        if self.backwards:
            runs = [each[::-1] for each in runs[::-1]]
        numbers: dict[tuple[int, ...], int] = {}
        vectors: list[Row] = []
        ends: list[list[Ends]] = []
        for at in range(0, len(kept.distinct), kept.length):
            places = [kept.coordinates[x] for x in kept.distinct[at:][: kept.length]]
            ends.append([])
            for run in runs:
                rows: list[Row] = []
                for c in run:
                    elements = [(*x[:axis], c, *x[axis:]) for x in places]
                    first = len(numbers)
                    numbers |= {x: first + n for n, x in enumerate(elements)}
                    wanted = [source.position[x] for x in elements]
                    rows.append(
                        [gathered(self.b, x, wanted, kept.length)[0] for x in columns]
                    )
                ends[-1].append(self.ends_of(self.run(rows)))
        totals = self.of_subgroups(group, kept, registers, ends)
        for each, of_runs in zip(ends, totals, strict=True):
            carried: Row | None = None
            for run, of_all in zip(each, of_runs, strict=True):
                found, carried = self.after(run, of_all, carried)
                vectors += found
        wanted = [numbers[source.coordinates[x]] for x in source.distinct]
        return [
            gathered(self.b, [x[n] for x in vectors], wanted, each.length)
            for n, each in enumerate(registers)
        ]

    def ends_of(self, rows: list[Row]) -> Ends:
        before, end = None, rows[-1]
        if self.plan.lanes > 1:
            before, end = self.across_lanes(end)
        return Ends(rows, before, end, self.of_last_lane(end))

    def of_subgroups(
        self,
        group: GroupMemory,
        kept: RegisterLayout,
        registers: Sequence[RegisterLayout],
        ends: Sequence[Sequence[Ends]],
    ) -> list[list[list[Row]]]:
        """Return for each vector and run what each subgroup has of it, in order."""
        if not self.plan.warps:
            return [[[each.whole] for each in of_runs] for of_runs in ends]
        b, axis, many = self.b, self.op.axis.value.data, self.plan.subgroups
        count = row_count(registers[0], axis)
        total = count * many * self.plan.runs
        refuse_too_large(self.op, [x.element for x in registers], total)
        memories = [group.of(x.element, total, n) for n, x in enumerate(registers)]
        layouts = [replace(kept, element=x.element) for x in registers]
        places = row_major(b, kept)
        own = moved(b, places, times(b, self.number("warp"), count))
        flag = is_first(b, kept_layout(registers[0].layout, axis), self.plan.warps)
        barrier(b)
        for at in range(self.plan.runs):
            there = moved(b, own, constant_i32(b, at * many * count))
            for n, memory in enumerate(memories):
                group.store(b, memory, [x[at].whole[n] for x in ends], there, flag)
        barrier(b)

        def loaded(at: int, subgroup: int) -> list[Row]:
            by = constant_i32(b, (at * many + subgroup) * count)
            found = [
                group.load(b, memory, layout, moved(b, places, by))
                for memory, layout in zip(memories, layouts, strict=True)
            ]
            return [list(x) for x in zip(*found, strict=True)]

        each = [[loaded(at, x) for x in range(many)] for at in range(self.plan.runs)]
        return [
            [[x[number] for x in of_run] for of_run in each]
            for number in range(len(ends))
        ]

    def after(
        self, run: Ends, of_all: Sequence[Row], carried: Row | None
    ) -> tuple[list[Row], Row]:
        """Return the elements of a run, combined with all before, and the last one.

        Subgroups have `of_all`, in order; `carried` is what all runs before come to.
        """
        befores, total = [carried], carried
        for each in of_all:
            total = each if total is None else self.combined(total, each)
            befores.append(total)
        before, has = carried, True if carried is not None else None
        for at, each in enumerate(befores[1:-1], 1):
            assert each is not None, run
            flag = self.is_after(self.number("warp"), at)
            before = each if before is None else self.chosen(flag, each, before)
            has = flag if has is None else has
        assert total is not None, run
        (last,) = self.behind(before, has, [run.last])
        if run.before is not None:
            later = self.is_after(self.number("lane"), 1)
            if before is None:
                before, has = run.before, later
            else:
                (both,) = self.behind(before, has, [run.before])
                before = self.chosen(later, both, before)
                if isinstance(has, SSAValue):
                    has = self.b.pure(arith.OrIOp, has, later)
        return [*self.behind(before, has, run.rows[:-1]), last], total

    def behind(
        self, before: Row | None, has: SSAValue | Literal[True] | None, rows: list[Row]
    ) -> list[Row]:
        """Return rows, combined with one before them, if there is one."""
        if before is None:
            return rows
        found = [self.combined(before, x) for x in rows]
        if isinstance(has, SSAValue):
            pairs = zip(found, rows, strict=True)
            found = [self.chosen(has, one, other) for one, other in pairs]
        return found


def scan(group: GroupMemory, op: tt.ScanOp, b: Splitter) -> Results:
    """Combine each element with all that are before it along an axis."""
    refuse_region(op)
    registers, axis = [registers_of(x) for x in op.srcs], op.axis.value.data
    columns = [list(vectors_of(x, b)) for x in op.srcs]
    plan = plan_scan(registers[0].layout, axis)
    if plan is None:
        found = _through_memory(group, op, registers, columns, b)
    else:
        found = Scan(op, plan, b).apply(group, registers, columns)
    return [packed(b, x, vectors) for x, vectors in zip(registers, found, strict=True)]


def kept_registers(source: RegisterLayout, axis: int) -> RegisterLayout:
    """Return how what is left without an axis is spread."""
    layout = kept_layout(source.layout, axis)
    if not layout.outs:
        layout = LinearLayout.of({x: () for x in layout.in_names}, {})
    found = RegisterLayout(layout, source.element, 1)
    return replace(found, run=min(len(found.distinct), MAX_COMPONENTS))


def _through_memory(
    group: GroupMemory,
    op: tt.ScanOp,
    registers: Sequence[RegisterLayout],
    columns: list[Row],
    b: Builder,
) -> list[Row]:
    """Combine each element with what is before it, twice as far in each step."""
    axis = op.axis.value.data
    first = registers[0]
    sizes = list(first.layout.out_sizes.values())
    refuse_too_large(op, [x.element for x in registers], prod(sizes))
    memories = [
        group.of(x.element, prod(sizes), number) for number, x in enumerate(registers)
    ]
    own, along = row_major(b, first), coordinates(b, first, axis)
    flag, backwards = is_first(b, first.layout), bool(op.reverse.value.data)
    step = 1
    while step < sizes[axis]:
        barrier(b)
        for memory, vectors in zip(memories, columns, strict=True):
            group.store(b, memory, vectors, own, flag)
        barrier(b)
        # An element with none so far before it loads itself, and stays as it is.
        end = splat(
            b, constant_i32(b, sizes[axis] - step if backwards else step), first.length
        )
        has = [b.compare("slt" if backwards else "sge", x, end) for x in along]
        by = step * prod(sizes[axis + 1 :]) * (1 if backwards else -1)
        there = moved(b, own, constant_i32(b, by))
        places = [b.select(*x) for x in zip(has, there, own, strict=True)]
        others = [
            group.load(b, memory, x, places)
            for memory, x in zip(memories, registers, strict=True)
        ]
        for at, is_behind in enumerate(has):
            before, here = ([x[at] for x in each] for each in (others, columns))
            for vectors, new in zip(
                columns, combined(op, before, here, b), strict=True
            ):
                vectors[at] = b.select(is_behind, new, vectors[at])
        step *= 2
    return columns
