"""The kernel that a nest becomes: its loops over rows, and what a row computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, UnitAttr, VectorType, i32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref, is_vector, memref_type
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import Dimension, ReduceKind
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Size, Values, allocate
from coopc.ir.transaction import Refused
from coopc.passes.linalg.convert_linalg_to_simt.row_problem import (
    lane_loop,
    loads_along,
    stored_reduction,
)
from coopc.passes.linalg.convert_linalg_to_simt.row_reuse import Reuse
from coopc.passes.linalg.convert_linalg_to_simt.row_vectors import (
    Two,
    components_of,
    load_vector,
    store_vector,
    tree_reduced,
)
from coopc.passes.linalg.match import extent, tiles
from coopc.passes.linalg.rows import (
    ALLOCATIONS,
    COMBINERS,
    Index,
    Made,
    Nest,
    Source,
    Statement,
    combiners,
    equal_sizes,
    substituted,
)
from coopc.plan.rows import RowPlan

Memo: TypeAlias = dict[tuple[Source, Index], SSAValue]


def multiply_adds(statement: Statement) -> set[Operation]:
    """Return the float additions that accumulate, with products that feed them."""
    found, sums = set[Operation](), combiners(statement.op) if statement.reduces else []
    for total in sums if not isinstance(sums, str) else []:
        fed = [x.owner for x in total.operands if x.has_one_use()]
        products = [x for x in fed if isinstance(x, arith.MulfOp)]
        if isinstance(total, arith.AddfOp) and products:
            found |= {total, *products}
    return found


@dataclass(slots=True)
class RowKernel:
    """A function while it becomes a kernel."""

    func: FuncOp
    nest: Nest
    plan: RowPlan
    fused: bool
    """Whether products may be fused with the sums that they are added to."""
    reuses: Sequence[Reuse]
    """Values that a statement stores and others load; none where values are vectors."""
    stored_in: dict[SSAValue, SSAValue] = field(init=False)
    """The work-group memory that each of them is stored to."""
    loaded_from: dict[SSAValue, SSAValue] = field(init=False)
    """The work-group memory that each is loaded from instead of being computed."""
    b: Builder = field(init=False)
    point: list[SSAValue] = field(init=False)
    """The values of dimensions: the shared loops, then those of a statement."""
    used: set[Statement] = field(init=False)
    """The statements of which others read what they give."""
    kept: dict[Made, SSAValue] = field(init=False)
    """What the row has reduced."""
    rows: list[SSAValue] = field(default_factory=list[SSAValue])
    """The iterations of a block that are reduced at once; empty without blocks."""
    kept_by_rows: list[dict[Made, SSAValue]] = field(init=False)
    """What each of these rows has reduced: `kept` is that of one."""
    statement: Statement = field(init=False)
    """The statement for which code is written."""
    lane: SSAValue = field(init=False)
    """The number of the work-item, in its work-group or in its only subgroup."""
    sizes: list[Size] = field(init=False)
    """Of the shared loops."""
    part: SSAValue = field(init=False)
    """Which of the work-items that share a row this one is."""
    column: SSAValue = field(init=False)
    """The first row of the work-item, of those that its work-group shares."""
    staged_in: dict[tuple[SSAValue, Index], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Index], SSAValue]
    )
    """The work-group memory that each load is staged in, if it is."""
    step: SSAValue = field(init=False)
    """The column of this memory that is read now."""
    along: int | None = None
    """The dimension along which values are vectors now."""
    in_range: SSAValue | bool = True
    """Whether the work-item has a row of its own: those beyond the last row repeat it,
    and store nothing."""

    def write(self) -> None:
        """Put the kernel in place of operations."""
        *ops, last = self.func.body.block.ops
        plan = self.plan
        self._set_attributes()
        self.b = b = Builder.at(last)
        b.location = self.nest.statements[-1].op.location
        self.kept, self.used = {}, self.nest.used()
        self.sizes = [self._size(x) for x in self.nest.shared]
        zero = b.constant(INDEX, 0)
        self.point = [zero] * len(self.sizes)
        if plan.kind == "subgroup" and plan.items == plan.lanes:
            self.lane = b.pure(simt.LaneIdOp)
        else:
            self.lane = b.pure(simt.LocalIdOp, Dimension.X)
        self.lane.name_hint = "lane"
        if plan.has_one:
            number = self.lane
            if plan.parts > 1:
                of = b.constant(INDEX, plan.neighbours)
                self.part = b.pure(arith.DivUIOp, self.lane, of)
                self.part.name_hint = "part"
                number = b.pure(arith.RemUIOp, self.lane, of)
            by = b.constant(INDEX, plan.width)
            self.column = b.pure(arith.MuliOp, number, by)
            self.column.name_hint = "column"
        self.stored_in, self.loaded_from = {}, {}
        for value in self.reuses:
            lines = [plan.items] if plan.kind == "work-items" else []
            type = self._workgroup_memory(value.element, [value.size, *lines])
            memory = allocate(self.func.body.block, type, "reused")
            self.stored_in[value.first] = memory
            self.loaded_from |= dict.fromkeys(value.others, memory)
        self._over_axes()
        dead = [x for x in ops if x.name.startswith("linalg.")]
        dead += [x for x in ops if isinstance(x, (*ALLOCATIONS, memref.DeallocOp))]
        for op in sorted(dead, key=ops.index, reverse=True):
            Rewriter.erase_op(op)

    def _store_reused(
        self, statement: Statement, value: SSAValue, computed: SSAValue
    ) -> None:
        """Store what was computed for a value of a body, if others load it."""
        if statement is self.statement and value in self.stored_in:
            at = self._place_of_reused()
            self.b.store(computed, self.stored_in[value], at)

    def _load_reused(self, statement: Statement, value: SSAValue) -> SSAValue | None:
        """Load a value of a body that another statement has stored; or None."""
        if statement is not self.statement or value not in self.loaded_from:
            return None
        return self.b.load(self.loaded_from[value], self._place_of_reused())

    def _place_of_reused(self) -> list[SSAValue]:
        """Return where values of this step of the row are stored."""
        step = self.point[len(self.nest.shared)]
        return [step, self.lane] if self.plan.kind == "work-items" else [step]

    # Sizes

    def _size(self, key: object) -> Size:
        """Return how long loops are that a key stands for, where the kernel starts."""
        if (known := self.nest.sizes.known(key)) is not None:
            return known
        for memory, at in self._memory(key):
            return self.b.pure(memref.DimOp, memory, self.b.constant(INDEX, at))
        raise Refused(
            self.nest.statements[0].op,
            "expected loops whose sizes are those of memory from outside",
        )

    def _memory(self, key: object) -> Iterator[tuple[SSAValue, int]]:
        """Yield memory from outside of which a dimension is as long as loops are."""
        for found in self.nest.sizes.all(key):
            match found:
                case (SSAValue() as memory, int(at)) if is_memref(memory.type):
                    if not isinstance(memory.owner, ALLOCATIONS):
                        yield memory, at
                case _:
                    pass

    def _extent(self, key: object) -> AffineExpr:
        """Return a size as an expression of the kernel's."""
        if (known := self.nest.sizes.known(key)) is not None:
            return AffineConstantExpr(known)
        for memory, at in self._memory(key):
            if memory.owner is self.func.body.block:
                return extent(self.func, memory, at)
        raise Refused(
            self.nest.statements[0].op,
            "expected shared loops whose sizes are those of arguments",
        )

    def _set_attributes(self) -> None:
        func, nest, plan = self.func, self.nest, self.plan
        extents = [self._extent(x) for x in nest.shared]
        grid: list[AffineExpr] = []
        for number, axis in enumerate(plan.axes):
            inner = extents[axis[-1]]
            blocked = number == 0 and plan.block > 1
            count = tiles(inner, plan.block) if blocked else inner
            for loop in axis[:-1]:
                one, other = count, extents[loop]
                if isinstance(one, AffineConstantExpr):
                    one, other = other, one
                count = one * other
            grid.append(count)
        if plan.loop is not None:
            grid.insert(plan.axis, tiles(extents[plan.loop], plan.chunk))
        sizes = len(simt.kernel_sizes(func))
        map = AffineMap(sizes, 0, tuple(grid) or (AffineConstantExpr(1),))
        func.attributes |= {simt.KERNEL: UnitAttr(), simt.GRID: AffineMapAttr(map)}
        simt.set_sizes(func, self.plan.lanes, (plan.items,))
        if equal := equal_sizes(func, nest.sizes):
            func.attributes[simt.EQUAL_SIZES] = simt.equal_sizes_attr(equal)

    # The shared loops

    def _over_axes(self) -> None:
        """Say where the work-group is along the axes; then do its rows."""
        b, plan = self.b, self.plan
        free = list(Dimension)
        if plan.loop is not None:
            del free[plan.axis]
        for number, axis in enumerate(plan.axes):
            dimension = free[number]
            rest = b.pure(simt.WorkgroupIdOp, dimension)
            rest.name_hint = f"group_{dimension}"
            for loop in reversed(axis):
                if loop == axis[0]:
                    self.point[loop] = rest
                    continue
                size = self.sizes[loop]
                if number == 0 and loop == axis[-1]:
                    size = b.tiles(size, plan.block)
                by = b.value(size)
                self.point[loop] = b.pure(arith.RemUIOp, rest, by)
                rest = b.pure(arith.DivUIOp, rest, by)
        self._over_serial(list(plan.serial))

    def _over_serial(self, loops: list[int]) -> None:
        if not loops:
            self._over_block()
            return
        loop, *rest = loops

        def one(at: BoundedIndex) -> None:
            self.point[loop] = self.b.index(at)
            self._over_serial(rest)

        self.b.repeat(self.sizes[loop], one, f"d{loop}")

    def _over_block(self) -> None:
        """Do some iterations of the innermost loop of the first axis."""
        b, block = self.b, self.plan.block
        if block == 1:
            self._over_lanes()
            return
        loop, tile = self.plan.axes[0][-1], self.plan.tile
        start = b.pure(arith.MuliOp, self.point[loop], b.constant(INDEX, block))
        span = self._span(start, self.sizes[loop], block)
        if self.plan.staged is not None:
            self._in_tiles(start, span)
            return

        def reduce_rows(count: int, at: SSAValue) -> None:
            first = b.pure(arith.AddiOp, start, at)
            self.rows = [b.plus(first, n) for n in range(count)]
            self.point[loop] = self.rows[0]
            self._over_lanes()

        if tile == 1:
            b.repeat(span, lambda at: reduce_rows(1, b.index(at)), f"d{loop}")
            return
        whole = b.whole_tiles(span, tile)
        b.repeat(whole, lambda at: reduce_rows(tile, b.index(b.times(at, tile))))
        if not isinstance(span, int) or span % tile:
            done = b.pure(arith.MuliOp, b.value(whole), b.constant(INDEX, tile))
            left = b.pure(arith.SubiOp, b.value(span), done)

            def last(at: BoundedIndex) -> None:
                reduce_rows(1, b.pure(arith.AddiOp, done, b.index(at)))

            b.repeat(left, last, f"d{loop}")

    def _in_tiles(self, start: SSAValue, span: Size) -> None:
        """Stage what is loaded in tiles, by rows, and compute it by columns.

        A work-group does `span` iterations of the staged loop.
        """
        b, plan, lanes = self.b, self.plan, self.plan.lanes
        loop, staged = plan.loop, plan.staged
        assert loop is not None, plan
        assert staged is not None, plan
        group = b.pure(simt.WorkgroupIdOp, list(Dimension)[plan.axis])
        first_row = b.pure(arith.MuliOp, group, b.constant(INDEX, lanes))
        loads = loads_along(self.nest, staged, loop)
        for memory, index in loads:
            # Rows begin in different banks, and in different sets of a cache.
            shape = [lanes, lanes + 1]
            type = self._workgroup_memory(memref_type(memory).element_type, shape)
            tile = allocate(self.func.body.block, type, "tile")
            self.staged_in[memory, index] = tile

        def inside(place: SSAValue, end: SSAValue, size: Size) -> SSAValue | bool:
            whole = isinstance(size, int) and size % lanes == 0
            return whole or b.compare("ult", place, end)

        def one(at: BoundedIndex) -> None:
            first = b.pure(arith.AddiOp, start, b.index(b.times(at, lanes)))
            column = b.pure(arith.AddiOp, first, self.lane)
            row = b.pure(arith.AddiOp, first_row, self.lane)
            sizes = self.sizes[loop], self.sizes[staged]
            rows = self._span(first_row, sizes[0], lanes)
            columns = self._span(first, sizes[1], lanes)
            within_row = inside(row, b.value(sizes[0]), sizes[0])
            within_column = inside(column, b.value(sizes[1]), sizes[1])

            def load(number: BoundedIndex) -> None:
                place = b.index(number)
                self.point[staged] = column
                self.point[loop] = b.pure(arith.AddiOp, first_row, place)

                def copy() -> None:
                    for memory, index in loads:
                        at = [self._index(x) for x in index]
                        value, to = b.load(memory, at), self.staged_in[memory, index]
                        b.store(value, to, [place, self.lane])

                b.where(within_column, copy)

            def compute(number: BoundedIndex) -> None:
                self.step = b.index(number)
                self.point[staged] = b.pure(arith.AddiOp, first, self.step)
                self.point[loop] = row
                b.where(within_row, self._row)

            b.repeat(rows, load)
            self._barrier()
            b.repeat(columns, compute)
            self._barrier()

        b.repeat(b.tiles(span, lanes), one, f"d{staged}")

    def _span(self, start: SSAValue, size: Size, most: int) -> Size:
        """Return how many iterations there are from a start on, at most some."""
        b = self.b
        if isinstance(size, int) and size % most == 0:
            return most
        left = b.pure(arith.SubiOp, b.value(size), start)
        return b.pure(arith.MinUIOp, left, b.constant(INDEX, most))

    def _over_lanes(self) -> None:
        """Do the rows of each work-item, or the row of the subgroup."""
        b, plan = self.b, self.plan
        if plan.kind == "subgroup":
            self._row()
            return
        if plan.loop is None:
            zero = b.constant(INDEX, 0)
            b.where(b.compare("eq", self.lane, zero), self._row)
            return
        loop = plan.loop
        dimension = list(Dimension)[plan.axis]
        group = b.pure(simt.WorkgroupIdOp, dimension)
        group.name_hint = f"group_{dimension}"
        start = b.pure(arith.MuliOp, group, b.constant(INDEX, plan.chunk))
        if plan.has_one:
            self._one_row(start)
            return

        span = self._span(start, self.sizes[loop], plan.chunk)

        def over(row: Callable[[], None]) -> None:
            def one(at: SSAValue, _: Values) -> Values:
                self.point[loop] = at
                row()
                return ()

            self._strided(start, span, plan.items, (), one)

        if plan.steps is None:
            over(self._row)
        else:
            self._in_steps(plan.steps, over)

    def _one_row(self, start: SSAValue) -> None:
        """Do the row or vector of each work-item; beyond the last, do this once more.

        So all work-items of the work-group meet where results are combined.
        """
        b, plan, loop = self.b, self.plan, self.plan.loop
        assert loop is not None, plan
        place = b.pure(arith.AddiOp, start, self.column)
        self.point[loop], size = place, self.sizes[loop]
        if not isinstance(size, int) or size % plan.chunk:
            end = b.value(size)
            self.in_range = b.compare("ult", place, end)
            last = b.pure(arith.SubiOp, end, b.constant(INDEX, plan.width))
            self.point[loop] = b.pure(arith.MinUIOp, place, last)
        self.along = loop if plan.width > 1 else None
        self._row()

    def _in_steps(self, steps: int, over: Callable[[Callable[[], None]], None]) -> None:
        """Do some steps of the reduction of all rows, then the next ones.

        What is reduced is where it is stored at the end.
        """
        b, statement = self.b, stored_reduction(self.nest)
        assert statement is not None, self.plan
        b.location, self.statement = statement.op.location, statement
        others = [x for x in self.nest.loops if x is not statement]
        point, shared = self.nest.point(statement), len(self.nest.shared)
        self.point[shared:] = [b.constant(INDEX, 0)]
        stores = [*self.nest.stores]

        def begin() -> None:
            self.kept = {}
            for each in others:
                self._keep(each)
            for made, value in zip(stores, self._start(statement), strict=True):
                self._store(made, value)

        def some(at: BoundedIndex) -> None:
            first = b.index(b.times(at, steps))
            size = self._size((statement.op, self.nest.own(statement)[0]))
            span = self._span(first, size, steps)

            def step(number: BoundedIndex, held: Values) -> Sequence[SSAValue]:
                self.point[shared] = b.pure(arith.AddiOp, first, b.index(number))
                return self._results(statement, point, {}, held)

            def row() -> None:
                self.kept = {}
                for each in others:
                    self._keep(each)
                held = [self._stored(made) for made in stores]
                for made, value in zip(stores, b.loop(span, held, step), strict=True):
                    self._store(made, value)

            over(row)

        over(begin)
        size = self._size((statement.op, self.nest.own(statement)[0]))
        b.repeat(b.tiles(size, steps), some)

    def _strided(
        self,
        start: SSAValue,
        span: Size,
        step: int,
        carried: Sequence[SSAValue],
        body: Callable[[SSAValue, Values], Sequence[SSAValue]],
        number: SSAValue | None = None,
    ) -> Values:
        """Do some iterations, neighbours side by side; the last where there are any.

        Args:
            start: the first one of all.
            span: how many all of them do.
            step: how many do these.
            carried: what the first iteration is given.
            body: an iteration.
            number: which of them this one is; by default that of the work-item or lane.
        """
        b, lane = self.b, self.lane if number is None else number

        def at(number: Size | BoundedIndex) -> SSAValue:
            if not isinstance(number, BoundedIndex):
                number = b.sized(number)
            before = b.pure(arith.AddiOp, start, b.index(b.times(number, step)))
            return b.pure(arith.AddiOp, before, lane)

        full = b.whole_tiles(span, step)
        values: Values = tuple(carried)
        together = self.plan.together
        if isinstance(full, int) and together > 1:
            values = self._together(full, together, values, lambda t, x: body(at(t), x))
        elif full != 0:
            values = b.loop(full, values, lambda t, held: body(at(t), held))
        if isinstance(span, int) and span % step == 0:
            return values
        place = at(full)
        end = b.pure(arith.AddiOp, start, b.value(span))
        before = values
        return b.branch(
            b.compare("ult", place, end), lambda: body(place, before), before
        )

    def _together(
        self,
        count: int,
        together: int,
        values: Values,
        body: Callable[[BoundedIndex, Values], Sequence[SSAValue]],
    ) -> Values:
        """Do iterations, some at a time, whose loads are then in flight together."""
        b = self.b

        def some(t: BoundedIndex, held: Values) -> Values:
            first = b.times(t, together)
            for number in range(together):
                held = tuple(body(b.add(first, BoundedIndex(number)), held))
            return held

        whole = count // together
        values = b.loop(whole, values, some) if whole else values
        for number in range(whole * together, count):
            values = tuple(body(BoundedIndex(number), values))
        return values

    # A row

    def _row(self) -> None:
        """Compute what a row reduces and stores, in order, or rows at once."""
        self.kept_by_rows = [{} for _ in self.rows or (None,)]
        for statement in self.nest.loops:
            self.b.location = statement.op.location
            self.statement = statement
            if statement.reduces:
                self._reduce(statement)
            own = [] if statement.reduces else self.nest.own(statement)
            for _ in self._each_row():
                if own:
                    self._over_own(statement, own, (), partial(self._stores, statement))
                else:
                    self._keep(statement)

    def _each_row(self) -> Iterator[int]:
        """Move to each of the rows that are reduced at once, and yield its number."""
        for number, kept in enumerate(self.kept_by_rows):
            self.kept = kept
            if self.rows:
                self.point[self.plan.axes[0][-1]] = self.rows[number]
            yield number

    def _keep(self, statement: Statement) -> None:
        """Store what is one value of the row, once.

        If nothing else reads it, it is computed there alone: what it reads may be the
        memory that it is stored to.
        """
        stores = [x for x in self.nest.stores if x.by is statement]

        def compute() -> None:
            made = self._results(statement, self.nest.point(statement), {})
            for number, value in enumerate(made):
                self.kept[Made(statement, number)] = value

        is_computed = statement.reduces
        if not is_computed and statement in self.used:
            compute()
            is_computed = True

        def store() -> None:
            if not is_computed:
                compute()
            for made in stores:
                self._store(made, self.kept[made])

        first: SSAValue | bool = True
        if stores and (self.plan.kind == "subgroup" or self.plan.parts > 1):
            one = self.lane if self.plan.kind == "subgroup" else self.part
            first = self.b.compare("eq", one, self.b.constant(INDEX, 0))
        self.b.where(self.b.both(first, self.in_range), store)

    def _store(self, made: Made, value: SSAValue) -> None:
        memory, at = self._place(made)
        index = substituted(made.map, self.nest.point(made.by))
        if self._varies_along(index):
            whole = self._broadcast(value, self.plan.width)
            store_vector(self.b, whole, memory, at)
        else:
            self.b.store(value, memory, at)

    def _broadcast(self, value: SSAValue, width: int) -> SSAValue:
        return self.b.broadcast(value, VectorType(element_of(value.type), [width]))

    def _varies_along(self, index: Index) -> bool:
        """Whether an index is that of a vector now."""
        return self.along is not None and AffineDimExpr(self.along) in index

    def _stored(self, made: Made) -> SSAValue:
        return self.b.load(*self._place(made))

    def _place(self, made: Made) -> tuple[SSAValue, list[SSAValue]]:
        """Return the memory that an output is stored to, and the index there."""
        index = substituted(made.map, self.nest.point(made.by))
        return self.nest.stores[made], [self._index(x) for x in index]

    def _stores(self, statement: Statement, _: Values) -> Values:
        """Store what a statement gives for a point of its own loops."""

        def store() -> None:
            found = self._results(statement, self.nest.point(statement), {})
            for made in self.nest.stores:
                if made.by is statement:
                    self._store(made, found[made.output])

        self.b.where(self.in_range, store)
        return ()

    def _over_own(
        self,
        statement: Statement,
        own: list[int],
        carried: Sequence[SSAValue],
        body: Callable[[Values], Sequence[SSAValue]],
    ) -> Values:
        """Run a body for the loops that are not shared, lanes side by side."""
        b, nest, shared = self.b, self.nest, len(self.nest.shared)
        every = nest.own(statement)
        self.point[shared:] = [b.constant(INDEX, 0)] * len(every)
        plan = self.plan
        together = own and (plan.kind == "subgroup" or plan.parts > 1)
        split_loop = lane_loop(nest, statement) if together else None
        order = sorted(own, key=lambda n: n == split_loop)
        sizes = {n: self._size((statement.op, n)) for n in order}

        def run(loops: list[int], held: Values) -> Sequence[SSAValue]:
            if not loops:
                return body(held)
            loop, *rest = loops
            place = shared + every.index(loop)

            def at(value: SSAValue, held: Values) -> Sequence[SSAValue]:
                self.point[place] = value
                return run(rest, held)

            zero, size = b.constant(INDEX, 0), sizes[loop]
            if loop != split_loop:
                if rest or plan.together == 1 or not isinstance(size, int):
                    return b.loop(size, held, lambda t, held: at(b.index(t), held))
                return self._together(
                    size, plan.together, held, lambda t, held: at(b.index(t), held)
                )
            if plan.parts > 1:
                return self._strided(zero, size, plan.parts, held, at, self.part)
            if plan.width == 1 or not statement.reduces:
                # Lanes store to neighbours: a vector would be stored one by one.
                return self._strided(zero, size, plan.items, held, at)
            assert isinstance(size, int), plan
            width = b.constant(INDEX, plan.width)

            def first(number: SSAValue, held: Values) -> Sequence[SSAValue]:
                return at(b.pure(arith.MuliOp, number, width), held)

            self.along = place
            found = self._strided(zero, size // plan.width, plan.items, held, first)
            self.along = None
            return found

        return tuple(run(order, tuple(carried)))

    def _start(self, statement: Statement) -> list[SSAValue]:
        """Return what a reduction begins with."""
        first, point, memo = (
            statement.inputs,
            self.nest.point(statement),
            dict[Any, SSAValue](),
        )
        return [
            self._value(source, substituted(map, point), memo)
            for source, map in zip(
                statement.sources[first:], statement.maps[first:], strict=True
            )
        ]

    def _reduce(self, statement: Statement) -> None:
        """Reduce what statement does of a row, or of rows at once."""
        nest, first = self.nest, statement.inputs
        point = nest.point(statement)
        start = [x for _ in self._each_row() for x in self._start(statement)]
        own, over_lanes = nest.own(statement), combiners(statement.op)
        plan = self.plan
        apart = own and (plan.kind == "subgroup" or plan.parts > 1)
        by = over_lanes if apart and not isinstance(over_lanes, str) else []
        begin = list(start)
        for number, op in enumerate(by):
            neutral = COMBINERS[op.name][1]
            if neutral is not None:
                begin[number] = self.b.constant(op.results[0].type, neutral)
        width = plan.width if own or self.along is not None else 1
        results = len(statement.maps) - first

        def wide(values: Sequence[SSAValue]) -> list[SSAValue]:
            return [self._broadcast(x, width) if width > 1 else x for x in values]

        def body(held: Values) -> Sequence[SSAValue]:
            found, common = list[SSAValue](), Memo()
            for row in self._each_row():
                memo = dict(common)
                before = held[row * results : (row + 1) * results]
                found += self._results(statement, point, memo, before)
                common = {x: memo[x] for x in memo if self._is_common(*x)}
            return wide(found)

        found = self._over_own(statement, own, wide(begin), body)
        for row in self._each_row():
            for number in range(results):
                value = found[row * results + number]
                if by:
                    old = statement.block.args[first + number]
                    whole = partial(self._barrier, self._reads_stored(statement))
                    value = self._combined(by[number], value, old, start[number], whole)
                self.kept[Made(statement, number)] = value

    def _is_common(self, source: Source, index: Index) -> bool:
        """Whether an element of memory is the same for all rows that are reduced."""
        if isinstance(source, Made) or not self.rows:
            return False
        loop = self.plan.axes[0][-1]
        return not any(loop in x.used_dims() for x in index)

    def _reads_stored(self, statement: Statement) -> bool:
        """Whether a statement reads memory that the kernel stores to."""
        stored = [*self.nest.stores.values()]
        return any(memory in stored for memory, _ in self.nest.reads(statement))

    def _combined(
        self,
        op: Operation,
        value: SSAValue,
        old: SSAValue,
        start: SSAValue,
        barrier: Callable[[], None],
    ) -> SSAValue:
        """Return what all have found of a row, combined, and with what was before.

        Args:
            op: the combiner, in a body.
            value: what this work-item has found.
            old: the argument of the body that is what was before.
            start: what was before.
            barrier: waits until all have read memory that one of them stores to.
        """
        b = self.b

        def two(x: SSAValue, y: SSAValue) -> SSAValue:
            operands = [x if each is old else y for each in op.operands]
            return b.on_vectors(op, operands)[0]

        if self.plan.parts == 1:
            if is_vector(value.type):
                value = tree_reduced(components_of(b, value), two)
            value = self._over_subgroup(op, value)
        found = value
        if self.plan.items > self.plan.lanes or self.plan.parts > 1:
            over = self._over_parts if self.plan.parts > 1 else self._over_subgroups
            found = over(value, two, barrier)
        return found if COMBINERS[op.name][1] is None else two(start, found)

    def _over_subgroup(self, op: Operation, value: SSAValue) -> SSAValue:
        """Return what lanes have found, combined."""
        b, (kind, _) = self.b, COMBINERS[op.name]
        signed = op.name in ("arith.maxsi", "arith.minsi")

        def over_lanes(kind: str, value: SSAValue, signed: bool = False) -> SSAValue:
            new = simt.ReduceOp(ReduceKind(kind), value, signed)
            return b.effect(new).results[0]

        found = over_lanes(kind, value, signed)
        if op.name in ("arith.maximumf", "arith.minimumf"):
            is_nan = b.pure(arith.CmpfOp, value, value, "uno")
            some = over_lanes("or", b.pure(arith.ExtUIOp, is_nan, i32))
            any_nan = b.compare("ne", some, b.constant(i32, 0))
            nan = b.constant(value.type, float("nan"))
            found = b.select(any_nan, nan, found)
        return found

    def _lines(self, element: Attribute, shape: list[int]) -> SSAValue:
        """Return work-group memory for what a row reduces, which nobody reads now."""
        type = self._workgroup_memory(element, shape)
        found = allocate(self.func.body.block, type, "found")
        if self.plan.serial or self.plan.block > 1:
            self._barrier()  # others may still read what the row before has found
        return found

    def _workgroup_memory(self, element: Attribute, shape: list[int]) -> MemRefType:
        space = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
        return MemRefType(element, shape, memory_space=space)

    def _barrier(self, of_all_memory: bool = False) -> None:
        memory = None if of_all_memory else simt.MemorySpace.WORKGROUP
        self.b.effect(simt.BarrierOp(memory=memory))

    def _over_subgroups(
        self, value: SSAValue, two: Two, barrier: Callable[[], None]
    ) -> SSAValue:
        """Return what subgroups have found, combined; each lane of one has the same."""
        b, count = self.b, self.plan.items // self.plan.lanes
        line = self._lines(value.type, [count])
        number, zero = b.pure(simt.SubgroupIdOp), b.constant(INDEX, 0)

        is_first = b.compare("eq", b.pure(simt.LaneIdOp), zero)
        b.where(is_first, lambda: b.store(value, line, [number]))
        barrier()

        def one(at: BoundedIndex, held: Values) -> Sequence[SSAValue]:
            return [two(held[0], b.load(line, [b.index(at)]))]

        return b.loop(count, [b.load(line, [zero])], one, start=1)[0]

    def _over_parts(
        self, value: SSAValue, two: Two, barrier: Callable[[], None]
    ) -> SSAValue:
        """Return what the work-items that share a row have found, combined.

        Each writes what it found to work-group memory, a line for each part.  As many
        work-items as a line has elements, for every `width` lines, combine these in
        place; then those of the first lines combine what is left.
        """
        b, plan = self.b, self.plan
        width, columns = plan.width, plan.neighbours * plan.width
        lines = self._lines(element_of(value.type), [plan.parts, columns])
        zero = b.constant(INDEX, 0)

        def line(part: SSAValue, at: SSAValue) -> SSAValue:
            return b.load(lines, [part, at])

        def put(value: SSAValue, part: SSAValue, at: SSAValue) -> None:
            b.store(value, lines, [part, at])

        if width > 1:
            store_vector(b, value, lines, [self.part, self.column])
        else:
            put(value, self.part, self.column)
        barrier()
        column = b.pure(arith.RemUIOp, self.lane, b.constant(INDEX, columns))
        if width > 1:
            segment = b.pure(arith.DivUIOp, self.lane, b.constant(INDEX, columns))
            first = b.pure(arith.MuliOp, segment, b.constant(INDEX, width))
            sums = [line(b.plus(first, n), column) for n in range(width)]
            put(tree_reduced(sums, two), first, column)
            self._barrier()

        def combine() -> None:
            def one(number: BoundedIndex, held: Values) -> Sequence[SSAValue]:
                return [two(held[0], line(b.index(b.times(number, width)), self.lane))]

            begin = [line(zero, self.lane)]
            (total,) = b.loop(plan.parts // width, begin, one, start=1)
            put(total, zero, self.lane)

        b.where(b.compare("ult", self.lane, b.constant(INDEX, columns)), combine)
        self._barrier()
        if width > 1:
            return load_vector(b, lines, [zero, self.column], width)
        return line(zero, self.column)

    # What is computed of an element

    def _results(
        self, statement: Statement, point: Index, memo: Memo, held: Values = ()
    ) -> list[SSAValue]:
        """Return what a body gives for a point of its loops.

        In `memo` is what is computed in this block already, in `held` what outputs are
        where it is not what they were before.
        """
        block, values = statement.block, dict[SSAValue, SSAValue]()
        for number, argument in enumerate(block.args):
            if argument.first_use is None:
                continue
            if held and number >= statement.inputs:
                values[argument] = held[number - statement.inputs]
                continue
            if (found := self._load_reused(statement, argument)) is None:
                index = substituted(statement.maps[number], point)
                found = self._value(statement.sources[number], index, memo)
                self._store_reused(statement, argument, found)
            values[argument] = found
        for op in block.ops:
            if isinstance(op, linalg.YieldOp):
                return [values.get(x, x) for x in op.operands]
            if isinstance(op, linalg.IndexOp):
                values[op.result] = self._index(point[op.dim.value.data])
                continue
            self._computed(statement, op, values, point)
        raise AssertionError(statement.op)

    def _computed(
        self,
        statement: Statement,
        op: Operation,
        values: dict[SSAValue, SSAValue],
        point: Index,
    ) -> None:
        """Compute what an operation of a body gives, or load it."""
        first = next(iter(op.results), None)
        if first and (found := self._load_reused(statement, first)) is not None:
            values[first] = found
            return
        operands = [values.get(x, x) for x in op.operands]
        if any(is_vector(x.type) for x in operands):
            found = self.b.on_vectors(op, operands)
            values |= dict(zip(op.results, found, strict=True))
            return
        new = op.clone(values)
        if self.fused and op in multiply_adds(self.statement):
            assert isinstance(new, arith.FloatingPointLikeBinaryOperation), new
            flags = [*new.fastmath.data, FastMathFlag.ALLOW_CONTRACT]
            new.fastmath = arith.FastMathFlagsAttr(list(dict.fromkeys(flags)))
        self.b.effect(new)
        for inner in list(new.walk()):
            if isinstance(inner, linalg.IndexOp):
                at = self._index(point[inner.dim.value.data])
                Rewriter.replace_op(inner, [], [at])
        if first:
            self._store_reused(statement, first, values[first])

    def _value(self, source: Source, index: Index, memo: Memo) -> SSAValue:
        """Return an element of what a statement gives, or of memory; or a number."""
        if isinstance(source, Made) and source in self.kept:
            return self.kept[source]
        if (found := memo.get((source, index))) is not None:
            return found
        if isinstance(source, Made):
            point = self.nest.loops_at(source, index)
            made = self._results(source.by, point, memo)
            for number, value in enumerate(made):
                other = Made(source.by, number)
                if other.map == source.map:
                    memo[other, index] = value
            return made[source.output]
        if not isinstance(source.type, MemRefType):
            return source
        if (tile := self.staged_in.get((source, index))) is not None:
            return self.b.load(tile, [self.lane, self.step])
        where = [self._index(x) for x in index]
        if self._varies_along(index):
            found = load_vector(self.b, source, where, self.plan.width)
        else:
            found = self.b.load(source, where)
        memo[source, index] = found
        return found

    def _index(self, expr: AffineExpr) -> SSAValue:
        return self.b.affine(expr, self.point)
