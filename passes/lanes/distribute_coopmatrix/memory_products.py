"""Products of matrices in memory: held by one lane, or read by all lanes.

A lane that holds whole matrices stores the factors to its stack, because a vector is
indexed by constants only.  It computes some rows and vectors of the result at a time,
by a loop along K whose sums are in registers.

For a compiler that makes vectors of a processor of the values of all lanes
(`Device.subgroup_elements`): it reads a row that all lanes read once, selects it by the
number of the lane without an instruction, and has each lane's vector in registers of
its own.  A product is computed by tiles whose sums fit the registers.  Each tile is a
loop along K that reads its factors anew: in straight code the compiler would share what
it makes of a factor between tiles, and have no registers left.

Where sums are scalars of lanes, and lanes are rows, a column of a is a vector, and an
element of b is one number:

    private[k] = a(row of the lane, k)                for each k
    sum(column) += private[k] b(k, column)            for each k, by a few columns

Memory that is private to a lane keeps a for all columns: all lanes read its elements,
and each selects its own.  The loops have to stay loops: else the compiler adds up all
columns at once, and has no registers left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product as pairs
from typing import TypeGuard

from xdsl.dialects import vector
from xdsl.dialects.builtin import FixedBitwidthType, MemRefType, VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects

from coopc.dialects import coopmatrix, simt
from coopc.ir.builder import BoundedIndex, Builder, Component, Values, allocate
from coopc.ir.control_flow import function_around
from coopc.ir.element_access import Element, access_element, positions_of
from coopc.ir.stack_buffer import StackBuffers
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.lanes.distribute_coopmatrix.fragments import LaneFragment
from coopc.passes.lanes.distribute_coopmatrix.multiply import (
    LaneProduct,
    contracted,
    contracted_sum,
    multiplied,
    multiply_add,
    rounded,
    widened,
)
from coopc.plan.lane_access import RowAccess
from coopc.plan.lane_product import (
    BUDGET,
    ColumnsPlan,
    ProductTile,
    RegisterTile,
    number_of,
    plan_registers,
)

ORIGIN = Element(BoundedIndex(), BoundedIndex())


def read_rows(
    b: Builder,
    op: coopmatrix.AccessOp,
    held: LaneFragment,
    plan: RowAccess,
    start: Element = ORIGIN,
) -> Values:
    """Read a matrix by rows in all lanes, each of which selects its components.

    A tile of it begins at `start`.
    """
    x = held.layout

    def read(row: int, col: int, length: int) -> SSAValue:
        place = b.add(start.row, BoundedIndex(row)), b.add(start.col, BoundedIndex(col))
        positions = positions_of(b, op, Element(*place))
        type = VectorType(held.element, [length])
        return b.effect(vector.LoadOp(op.memory, positions, type)).results[0]

    columns = [(run, at) for run, (_, n) in enumerate(plan.runs) for at in range(n)]
    rows = [[read(row, *run) for run in plan.runs] for row in range(x.rows)]

    def vector_of(lane: int, first: int) -> SSAValue:
        wanted: list[Component | None] = []
        for number in range(first, min(first + held.width, x.components)):
            row, col = x.element(lane, number)
            if col == x.cols:  # padding
                wanted.append(None)
                continue
            run, at = columns[col]
            wanted.append((rows[row][run], at))
        return b.gathered(wanted, held.width, rows[0][0])

    starts = range(0, held.width * held.count, held.width)
    lanes = range(x.lanes)
    return tuple(
        b.selected(tuple(vector_of(p, v) for p in lanes), b.lane(x.lanes))
        for v in starts
    )


def may_read_later(
    load: Operation | Block, op: Operation
) -> TypeGuard[coopmatrix.LoadOp]:
    """Whether it is a load, and an operation behind it finds the same in memory."""
    if not isinstance(load, coopmatrix.LoadOp) or load.parent is not op.parent:
        return False
    between = load.next_op
    while between is not op:
        assert between is not None, load
        effects = get_effects(between)
        if effects is None or any(x.kind != MemoryEffectKind.READ for x in effects):
            return False
        between = between.next_op
    return True


@dataclass(frozen=True, slots=True)
class TiledProduct:
    """A product of matrices in memory, by tiles; a frozen plan."""

    whole: LaneProduct
    part: LaneProduct
    """A tile along K of the product of a tile of the result."""
    tile: ProductTile
    loads: Sequence[coopmatrix.LoadOp]
    """Of the factors."""
    plans: Sequence[RowAccess]
    """How each factor of a tile is read."""


def multiply_tiles(b: Builder, plan: TiledProduct, sums: Values) -> Values:
    """Return the product of what is read here, and sums."""
    tile, (rows, cols) = plan.tile, plan.whole.result.layout.shape
    corners = pairs(range(0, rows, tile.rows), range(0, cols, tile.cols))
    found: list[SSAValue] = []
    for row, col in corners:

        def step(
            t: BoundedIndex, now: Values, row: int = row, col: int = col
        ) -> Values:
            at = b.times(t, tile.depth)
            starts = Element(BoundedIndex(row), at), Element(at, BoundedIndex(col))
            halves = zip(
                plan.loads, (plan.part.a, plan.part.b), plan.plans, starts, strict=True
            )
            x, y = (read_rows(b, *each) for each in halves)
            return multiply_add(b, plan.part, x, y, now, budget=None)

        now = sums[len(found) : len(found) + tile.vectors]
        found += b.loop(plan.whole.a.layout.cols // tile.depth, now, step, name="k")
    return tuple(found)


# By rows, of one lane


def multiply(
    b: Builder,
    product: LaneProduct,
    x: Values,
    y: Values,
    z: Values,
    *,
    most_sums: int,
    buffers: StackBuffers,
) -> Values:
    """Return x y + z: written out, or by loops if one lane holds a long product.

    Registers hold `most_sums` of 32 bits.
    """
    type, result = product.sum_type, product.result
    if not b.unroll and product.plan(BUDGET).step < product.a.layout.cols:
        assert isinstance(type, FixedBitwidthType), type
        most = most_sums * 32 // type.bitwidth
        tile = plan_registers(result.layout, result.width, most)
        if tile is not None:
            return _multiply_rows(b, product, tile, buffers, x, y, z)
    return multiply_add(b, product, x, y, z)


def _multiply_rows(
    b: Builder,
    whole: LaneProduct,
    tile: RegisterTile,
    buffers: StackBuffers,
    x: Values,
    y: Values,
    z: Values,
) -> Values:
    get = buffers.get
    (rows, cols), depth = whole.result.layout.shape, whole.a.layout.cols
    padded = range(whole.result.layout.padded_rows)
    width, type = whole.result.width, whole.sum_type
    x, y, sums = widened(b, whole, x, y, z)
    memory = _RowsMemory(
        b,
        VectorType(type, [width]),
        get(b, (1, len(x) * whole.a.width), type, "left"),
        get(b, (depth, cols), type, "right"),
        get(b, (len(padded), cols), type, "sums"),
    )
    columns, first = range(0, cols, width), BoundedIndex()
    for number, value in enumerate(x):
        memory.store(value, memory.left, first, number * whole.a.width)
    for k, col in pairs(range(depth), columns):
        steps = range(col, col + width)
        numbers = [number_of(whole.b.layout, k, step) for step in steps]
        row = whole.b.picked(b, y, numbers)
        memory.store(row, memory.right, BoundedIndex(k), col)
    places = [(BoundedIndex(row), col) for row, col in pairs(padded, columns)]
    for value, place in zip(sums, places, strict=True):
        memory.store(value, memory.sums, *place)
    rest = rows % tile.rows
    for start in range(0, len(columns), tile.vectors):
        some = columns[start : start + tile.vectors]

        def group(t: BoundedIndex, some: Sequence[int] = some) -> None:
            memory.add(b.times(t, tile.rows), tile.rows, some, depth)

        b.repeat(rows // tile.rows, group, name="i", unroll=False)
        if rest:
            memory.add(BoundedIndex(rows - rest), rest, some, depth)
    found = (memory.load(memory.sums, *place) for place in places)
    return rounded(b, whole, tuple(found), z)


@dataclass(frozen=True, slots=True)
class _RowsMemory:
    """The memory of a product by rows."""

    b: Builder
    long: VectorType
    left: SSAValue
    right: SSAValue
    sums: SSAValue

    def load(self, memory: SSAValue, row: BoundedIndex, col: int) -> SSAValue:
        b = self.b
        at = b.index(row), b.index(BoundedIndex(col))
        return b.effect(vector.LoadOp(memory, at, self.long)).result

    def store(
        self, value: SSAValue, memory: SSAValue, row: BoundedIndex, col: int
    ) -> None:
        b = self.b
        at = b.index(row), b.index(BoundedIndex(col))
        b.effect(vector.StoreOp(value, memory, at))

    def add(
        self, start: BoundedIndex, count: int, columns: Sequence[int], depth: int
    ) -> None:
        """Add products to the sums of some rows and columns, which are in registers."""
        b, long = self.b, self.long
        rows = [b.add(start, BoundedIndex(n)) for n in range(count)]
        starts = [b.times(row, depth) for row in rows]

        def step(k: BoundedIndex, now: Values) -> Values:
            factors = [self.load(self.right, k, col) for col in columns]
            totals, found = iter(now), list[SSAValue]()
            for start in starts:
                at = b.index(BoundedIndex()), b.index(b.add(start, k))
                each = b.broadcast(b.load(self.left, at), long)
                found += [
                    multiplied(b, long.element_type, each, factor, next(totals))
                    for factor in factors
                ]
            return tuple(found)

        places = list(pairs(rows, columns))
        now = tuple(self.load(self.sums, *place) for place in places)
        now = b.loop(depth, now, step, name="k")
        for value, place in zip(now, places, strict=True):
            self.store(value, self.sums, *place)


# By columns

PRIVATE = simt.MemoryAttr(simt.MemorySpace.PRIVATE)


@dataclass(frozen=True, slots=True)
class ColumnsProduct:
    """A product by columns, and where its factors are."""

    whole: LaneProduct
    """A multiplication of floats."""
    plan: ColumnsPlan
    a: coopmatrix.LoadOp
    b: coopmatrix.LoadOp
    """What they read is still in memory."""


def multiply_columns(b: Builder, product: ColumnsProduct, sums: Values) -> Values:
    """Return the product of what is read here, and sums: one component a vector."""
    depth, blocks = product.whole.a.layout.cols, product.plan.result.blocks
    type = MemRefType(product.whole.sum_type, [depth * blocks], memory_space=PRIVATE)
    around = b.block.parent_op()
    assert around is not None, product
    entry = function_around(around).body.block
    steps = _ColumnSteps(b, product, allocate(entry, type, "row"))
    b.repeat(depth, steps.keep, name="k", unroll=False)
    found = list(sums)
    for group, numbers in product.plan.groups:
        now = [b.extract(sums[n], 0) for n in numbers]
        rounds = depth // product.plan.step
        now = b.loop(rounds, now, partial(steps.add, group), name="k", unroll=False)
        for n, value in zip(numbers, now, strict=True):
            found[n] = b.pure(vector.BroadcastOp, value, sums[n].type)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _ColumnSteps:
    """Writes the steps along K."""

    b: Builder
    product: ColumnsProduct
    memory: SSAValue
    """Private: a(row of the lane, k) for each k, for each block of rows."""

    def keep(self, k: BoundedIndex) -> None:
        """Store a column of a."""
        b, x = self.b, self.product.plan.result
        row = b.remainder(b.lane(x.lanes), x.block_rows)
        for block in range(x.blocks):
            start = block * x.block_rows
            rows = map(BoundedIndex, range(start, start + x.block_rows))
            places = [Element(each, k) for each in rows]
            value = self.chosen(row, self.product.a, places)
            b.store(value, self.memory, [self.place(k, block)])

    def add(self, group: range, t: BoundedIndex, now: Values) -> Values:
        """Add what some steps along K give, for a few steps along the columns."""
        b, plan, found = self.b, self.product.plan, list(now)
        x, step = plan.result, plan.step
        own = b.divided(b.lane(x.lanes), x.block_rows)
        for number in range(step):
            k = b.add(b.times(t, step), BoundedIndex(number))
            column = [
                b.load(self.memory, [self.place(k, block)]) for block in range(x.blocks)
            ]
            for at, each in enumerate(group):
                start = each * x.lanes_per_row
                cols = map(BoundedIndex, range(start, start + x.lanes_per_row))
                places = [Element(k, col) for col in cols]
                factor = self.chosen(own, self.product.b, places)
                for place, value in enumerate(column, at * x.blocks):
                    more = b.pure(contracted, value, factor)
                    found[place] = b.pure(contracted_sum, found[place], more)
        return tuple(found)

    def place(self, k: BoundedIndex, block: int) -> SSAValue:
        blocks = self.product.plan.result.blocks
        return self.b.index(self.b.add(self.b.times(k, blocks), BoundedIndex(block)))

    def chosen(
        self, by: BoundedIndex, load: coopmatrix.LoadOp, places: Sequence[Element]
    ) -> SSAValue:
        """Return one of some elements, which all lanes read, by its number."""
        values = tuple(access_element(self.b, load, x)[0] for x in places)
        chosen = self.b.selected(values, by)
        return converted(self.b, chosen, self.product.whole.sum_type)
