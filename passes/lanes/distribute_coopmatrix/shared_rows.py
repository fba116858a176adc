"""Rows of memory that all lanes read, and products of matrices in such memory.

For a compiler that makes vectors of a processor of the vectors of all lanes
(`Device.subgroup_elements`): it reads a row that all lanes read once, selects it by the
number of the lane without an instruction, and has each lane's vector in registers of
its own.  A product is computed by tiles whose sums fit the registers.  Each tile is a
loop along K that reads its factors anew: in straight code the compiler would share what
it makes of a factor between tiles, and have no registers left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as pairs
from typing import TypeGuard

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects

from coopc.dialects import coopmatrix
from coopc.ir.builder import BoundedIndex, Builder, Component, Values
from coopc.ir.element_access import Element, positions_of
from coopc.passes.lanes.distribute_coopmatrix.fragments import LaneFragment
from coopc.passes.lanes.distribute_coopmatrix.multiply import (
    LaneProduct,
    multiply_add,
)
from coopc.plan.lane_access import RowAccess
from coopc.plan.lane_product import ProductTile

ORIGIN = Element(BoundedIndex(), BoundedIndex())


def read_rows(
    b: Builder,
    op: coopmatrix.AccessOp,
    held: LaneFragment,
    plan: RowAccess,
    start: Element = ORIGIN,
) -> Values:
    """Read a matrix by rows in all lanes, each of which selects its components.

    Args:
        b: the builder.
        op: the access.
        held: what lanes hold of the matrix, or of a tile of it.
        plan: the vectors of a row.
        start: where the tile is in the matrix.
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
    return tuple(b.selected(tuple(vector_of(p, v) for p in lanes)) for v in starts)


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
