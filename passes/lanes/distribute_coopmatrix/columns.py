"""Products of matrices in memory whose sums are scalars of lanes.

For a compiler that makes vectors of a processor of the scalars of all lanes, as in
shared_rows.py.  Lanes are rows, so that a column of a is a vector, and an element of b
is one number:

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

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.ir.builder import BoundedIndex, Builder, Values, allocate
from coopc.ir.element_access import Element, access_element
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.lanes.distribute_coopmatrix.multiply import (
    LaneProduct,
    contracted,
    contracted_sum,
)
from coopc.plan.lane_product import ColumnsPlan

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
    steps = _ColumnSteps(b, product, allocate(_entry(b.block), type, "row"))
    b.loop(depth, (), steps.keep, name="k", unroll=False)
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

    def keep(self, k: BoundedIndex, _: Values) -> Values:
        """Store a column of a."""
        b, x = self.b, self.product.plan.result
        row = b.remainder(b.lane(x.lanes), x.block_rows)
        for block in range(x.blocks):
            start = block * x.block_rows
            rows = map(BoundedIndex, range(start, start + x.block_rows))
            places = [Element(each, k) for each in rows]
            value = self.chosen(row, self.product.a, places)
            b.effect(memref.StoreOp.get(value, self.memory, [self.place(k, block)]))
        return ()

    def add(self, group: range, t: BoundedIndex, now: Values) -> Values:
        """Add what some steps along K give, for a few steps along the columns."""
        b, plan, found = self.b, self.product.plan, list(now)
        x, step = plan.result, plan.step
        own = b.divided(b.lane(x.lanes), x.block_rows)
        for number in range(step):
            k = b.add(b.times(t, step), BoundedIndex(number))
            column = [
                b.effect(memref.LoadOp.get(self.memory, [self.place(k, block)])).res
                for block in range(x.blocks)
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
        b = self.b
        found, *others = (access_element(b, load, each)[0] for each in places)
        for number, other in enumerate(others, 1):
            found = b.select(b.equal(by, number), other, found)
        return converted(b, found, self.product.whole.sum_type)


def _entry(block: Block) -> Block:
    """Return the first block of the function that a block is in."""
    while not isinstance(func := block.parent_op(), FuncOp):
        assert func is not None, block
        assert func.parent is not None, func
        block = func.parent
    return func.body.block
