"""Bytes of two messages side by side: A transposed, of 8-bit elements.

Messages of even and of odd rows bring 32 bits each, four columns of A; DPAS wants the
bytes of a row pairwise, 16 bits a lane.  Four pairs are made at once, by masks:

    x = e0 e1 e2 e3     low  = x & 00ff00ff | y << 8 & ff00ff00      = e0 o0 e2 o2
    y = o0 o1 o2 o3     high = x >> 8 & 00ff00ff | y & ff00ff00      = e1 o1 e3 o3

low bytes first.  Taken apart one by one they would cost Intel's compiler three times as
many instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.arith import AndIOp, OrIOp, ShLIOp, ShRUIOp
from xdsl.dialects.builtin import VectorType, i16
from xdsl.ir import SSAValue

from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.registers import (
    bitcast,
    gathered,
    length_of,
    shuffled,
)
from coopc.passes.xe.register_layout import Spread
from coopc.plan.block2d import BlockPlan
from coopc.rewrite.one_to_many import Splitter

BYTES = 4
"""Of a slot."""
EVEN, ODD = 0x00FF00FF, -0x00FF0100
"""Every second byte of 32 bits, the lowest one among them or not, as an i32."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The slots that pieces are made of, counted over all messages."""

    even: tuple[int, ...]
    odd: tuple[int, ...]


def pairs_of(plan: BlockPlan, spread: Spread) -> Pairs | None:
    """Return of which slots the pairs of a tensor are; None if it is not of pairs."""
    if (plan.element_bits, plan.slot_bits, plan.row_step) != (8, 32, 2):
        return None
    if plan.swaps or spread.packed is None or spread.run % (2 * BYTES):
        return None
    if spread.packed.get_element_type() != i16:
        return None
    sources = [plan.sources[register] for register in spread.registers]
    even: list[int] = []
    odd: list[int] = []
    for start in range(0, len(sources), 2 * BYTES):
        eight = sources[start : start + 2 * BYTES]
        (one, value), (other, _) = eight[:2]
        wanted = [(m, value + x) for x in range(BYTES) for m in (one, other)]
        if value % BYTES or eight != wanted:
            return None
        even.append((one * plan.values + value) // BYTES)
        odd.append((other * plan.values + value) // BYTES)
    return Pairs(tuple(even), tuple(odd))


def paired(
    entry: Entry, s: Splitter, spread: Spread, pairs: Pairs, flat: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return the pieces of a tensor from those of its messages."""
    count = spread.run // (2 * BYTES)
    evens = gathered(s, flat, pairs.even, count)
    odds = gathered(s, flat, pairs.odd, count)
    return [_piece(entry, s, x, y) for x, y in zip(evens, odds, strict=True)]


def _piece(entry: Entry, s: Splitter, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the pairs of some slots, in order."""
    count = length_of(x)
    eight = entry.numbers((8,) * count)
    up = s.insert(ShLIOp(y, eight)).result
    down = s.insert(ShRUIOp(x, eight)).result
    low, high = _mixed(entry, s, x, up), _mixed(entry, s, down, y)
    halves = VectorType(i16, [2 * count])
    low, high = bitcast(s, low, halves), bitcast(s, high, halves)
    mask = [half * 2 * count + at for at in range(2 * count) for half in (0, 1)]
    return shuffled(s, low, high, mask)


def _mixed(entry: Entry, s: Splitter, even: SSAValue, odd: SSAValue) -> SSAValue:
    """Return the even bytes of one vector and the odd ones of another."""
    count = length_of(even)
    masks = [entry.numbers((number,) * count) for number in (EVEN, ODD)]
    one = s.insert(AndIOp(even, masks[0])).result
    other = s.insert(AndIOp(odd, masks[1])).result
    return s.insert(OrIOp(one, other)).result
