"""The coopmatrix layout in code: where a component is, and who has an element.

The formulas of `coopc.layout.coopmatrix` on numbers that are known in part, so that
most of them cost no operation.

Laws (test/unit/passes/lanes/test_lane_places.py): `element` and `owner` are those of
the layout for every lane and component; `component` undoes `digits`; `inside` is False
of padding.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from coopc.ir.builder import BoundedIndex, Builder
from coopc.layout.coopmatrix import CoopmatrixLayout


@dataclass(frozen=True, slots=True)
class Digits:
    """A component as its digits: v = c + w (w1 + K1 (u + U w2))."""

    channel: BoundedIndex
    """c"""
    block: BoundedIndex
    """w1 + K1 w2: which I rows."""
    step: BoundedIndex
    """u"""


def digits(b: Builder, x: CoopmatrixLayout, component: BoundedIndex) -> Digits:
    """Return the digits of a component."""
    channel = b.remainder(component, x.channels)
    rest = b.divided(component, x.channels)
    w1, rest = b.remainder(rest, x.k1), b.divided(rest, x.k1)
    u, w2 = b.remainder(rest, x.steps), b.divided(rest, x.steps)
    return Digits(channel, b.add(w1, b.times(w2, x.k1)), u)


def component(b: Builder, x: CoopmatrixLayout, at: Digits) -> BoundedIndex:
    """Return the component of some digits."""
    w1, w2 = b.remainder(at.block, x.k1), b.divided(at.block, x.k1)
    packed = b.add(at.step, b.times(w2, x.steps))
    packed = b.add(b.times(packed, x.k1), w1)
    return b.add(b.times(packed, x.channels), at.channel)


@dataclass(frozen=True, slots=True)
class Element:
    """A place in a matrix, maybe beyond it."""

    row: BoundedIndex
    col: BoundedIndex


def element(b: Builder, x: CoopmatrixLayout, at: Digits) -> Element:
    """Return where in the matrix this lane has a component."""
    lane = b.lane(x.lanes)
    i = b.remainder(lane, x.block_rows)
    packed = b.add(b.divided(lane, x.block_rows), b.times(at.step, x.lanes_per_row))
    return Element(
        b.add(i, b.times(at.block, x.block_rows)),
        b.add(at.channel, b.times(packed, x.channels)),
    )


def inside(b: Builder, x: CoopmatrixLayout, at: Element) -> SSAValue | bool:
    """Return whether a component of this lane is an element: not padding."""
    row = b.below(at.row, x.rows) if x.needs_row_mask else True
    col = b.below(at.col, x.cols) if x.needs_mask else True
    return b.both(row, col)


def owner(
    b: Builder, x: CoopmatrixLayout, at: Element
) -> tuple[BoundedIndex, BoundedIndex]:
    """Return the lane that has an element, and as which component."""
    i, block = b.remainder(at.row, x.block_rows), b.divided(at.row, x.block_rows)
    channel, packed = b.remainder(at.col, x.channels), b.divided(at.col, x.channels)
    u, column = b.divided(packed, x.lanes_per_row), b.remainder(packed, x.lanes_per_row)
    lane = b.add(i, b.times(column, x.block_rows))
    return lane, component(b, x, Digits(channel, block, u))
