"""Accesses to memory by lanes: each loads and stores what it holds of a matrix.

    %x = memref.load %memory[%p0 + row, %p1 + column]

Padding is masked by the size of the matrix, never by the memref's; `checked` axes by
the memref's.  What is not accessed is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.ir import SSAValue

from coopc.dialects import coopmatrix
from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.plan.lane_access import BlockAccess
from coopc.rewrite import element_access
from coopc.rewrite.lane_access import Access
from coopc.rewrite.lane_blocks import read_blocks, write_blocks
from coopc.rewrite.lane_values import Held, for_components, get, made, put


def load(
    b: Builder,
    op: coopmatrix.LoadOp | coopmatrix.AtomicLoadOp,
    held: Held,
    block: BlockAccess | None,
) -> Values:
    """Return what a lane holds of a matrix in memory."""
    access = Access(b, op, held)
    zero = b.constant(held.element, 0)
    if block is not None:
        return read_blocks(access, block)

    def one(at: BoundedIndex) -> SSAValue:
        wanted, positions = access.guarded(at)
        return b.effect_where(
            wanted, partial(element_access.load, op, positions), (zero,)
        )[0]

    return made(b, held, one)


def store(
    b: Builder,
    op: coopmatrix.StoreOp | coopmatrix.AtomicStoreOp,
    held: Held,
    values: Values,
    block: BlockAccess | None,
) -> None:
    """Write what a lane holds of a matrix to memory."""
    access = Access(b, op, held)
    if block is not None:
        write_blocks(access, block, values)
        return

    def body(places: Sequence[BoundedIndex], now: Values) -> Values:
        for at in places:
            value = get(b, held, values, at)
            wanted, positions = access.guarded(at)
            b.effect_where(wanted, partial(element_access.store, op, value, positions))
        return now

    for_components(b, held, (), body)


def update(
    b: Builder, op: coopmatrix.AtomicUpdateOp, held: Held, values: Values
) -> Values:
    """Update memory by what a lane holds of a matrix; return what was there."""
    access = Access(b, op, held)
    zero = b.constant(held.element, 0)

    def body(places: Sequence[BoundedIndex], now: Values) -> Sequence[SSAValue]:
        for at in places:
            wanted, positions = access.guarded(at)
            value = get(b, held, values, at)
            change = partial(element_access.update, op, value, positions)
            (old,) = b.effect_where(wanted, change, (zero,))
            now = put(b, held, now, at, old)
        return now

    return for_components(b, held, held.nothing(b), body)
