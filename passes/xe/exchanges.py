"""`ttg.convert_layout`: registers in another order, shuffles, or work-group memory.

Which of them is what the layouts say: within a lane nothing moves but names; within a
subgroup lanes read each other (`coopc.layout.lane_exchange`); what other subgroups have
goes through work-group memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

from xdsl.dialects.arith import AndIOp, CmpiOp, IndexCastOp, SelectOp, XOrIOp
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from coopc.dialects import simt, ttg
from coopc.layout.lane_exchange import LaneExchange, lane_exchange, without_free
from coopc.passes.xe.block_access import spread_of_value
from coopc.passes.xe.entry import Entry
from coopc.passes.xe.group_memory import GroupMemory, row_major, too_large
from coopc.passes.xe.positions import field_value, fields
from coopc.passes.xe.registers import gathered, length_of, packed, unpacked
from coopc.passes.xe.spread import MAX_COMPONENTS, Spread
from coopc.rewrite.one_to_many import Splitter

Values = Sequence[SSAValue]


@cache
def exchange_of(source: Spread, target: Spread) -> LaneExchange | None:
    """Return how lanes exchange elements; None if that is not enough."""
    layouts = without_free(source.layout), without_free(target.layout)
    for spread, layout in zip((source, target), layouts, strict=True):
        if len(spread.registers) != layout.in_sizes["register"]:
            return None
    return lane_exchange(*layouts)


def why_not_convert(op: ttg.ConvertLayoutOp) -> str | None:
    """Return why a tensor cannot get another layout, or None."""
    source, target = spread_of_value(op.src), spread_of_value(op.result)
    if exchange_of(source, target) is not None:
        return None
    count = 1
    for size in source.layout.out_sizes.values():
        count *= size
    return too_large([source.element], count)


@dataclass(slots=True)
class Exchanges:
    """The rule."""

    entry: Entry
    memory: GroupMemory

    def convert(self, op: ttg.ConvertLayoutOp, s: Splitter) -> Sequence[Values]:
        """Give every lane what it wants."""
        source, target = spread_of_value(op.src), spread_of_value(op.result)
        if source == target:
            return [s.parts(op.src)]
        vectors = unpacked(s, source, s.parts(op.src))
        found = exchange_of(source, target)
        if found is None:
            return [packed(s, target, self._through_memory(s, source, target, vectors))]
        return [packed(s, target, self._exchanged(s, found, vectors, target.length))]

    def _through_memory(
        self, s: Splitter, source: Spread, target: Spread, vectors: Values
    ) -> list[SSAValue]:
        """Store, wait, load."""
        count = 1
        for size in source.layout.out_sizes.values():
            count *= size
        memory = self.memory.of(source.element, count)
        self.memory.barrier(s)
        places = row_major(self.entry, source)
        self.memory.store(s, memory, vectors, places, source.layout)
        self.memory.barrier(s)
        return self.memory.load(s, memory, target, row_major(self.entry, target))

    def _exchanged(
        self, s: Splitter, found: LaneExchange, vectors: Values, length: int
    ) -> list[SSAValue]:
        """Offer, shuffle, receive."""
        offered = self._exored(s, vectors, "lane", found.send)
        offered = self._exored(s, offered, "warp", found.choose)
        got: list[SSAValue] = []
        order: list[int] = []
        for turn in dict.fromkeys(found.turns):
            values = [x for x, each in enumerate(found.turns) if each == turn]
            size = min(MAX_COMPONENTS, len(values))
            chosen = gathered(s, offered, [found.offers[x] for x in values], size)
            got += [self._shuffled(s, found, x, turn) for x in chosen]
            order += values
        place = {value: at for at, value in enumerate(order)}
        size = min(MAX_COMPONENTS, len(order))
        sorted_ = gathered(s, got, [place[x] for x in range(len(order))], size)
        received = self._exored(s, sorted_, "lane", found.receive)
        return gathered(s, received, range(len(order)), length)

    def _exored(
        self, s: Splitter, vectors: Values, name: str, masks: Sequence[int]
    ) -> list[SSAValue]:
        """Return registers exored with a mask for each bit of an id that is 1."""
        values: list[SSAValue] = list(vectors)
        size = length_of(values[0])
        for bit, mask in enumerate(masks):
            if mask:
                wanted = [x ^ mask for x in range(len(values) * size)]
                flag = self._bit(name, bit)
                pairs = zip(gathered(s, values, wanted, size), values, strict=True)
                selects = [SelectOp(flag, x, y) for x, y in pairs]
                values = list[SSAValue](s.insert(each).result for each in selects)
        return values

    def _shuffled(
        self, s: Splitter, found: LaneExchange, value: SSAValue, turn: int
    ) -> SSAValue:
        """Return what the lane has that this lane reads."""
        if found.keeps_lanes:
            if turn == 0:
                return value
            mode, lane = simt.ShuffleMode.XOR, self.entry.number(turn, IndexType())
        else:
            mode, lane = simt.ShuffleMode.IDX, self._origin(found.origin, turn)
        return s.insert(simt.ShuffleOp(mode, value, lane)).result

    def _origin(self, origin: Sequence[int], turn: int) -> SSAValue:
        """Return the lane that is read, an index."""
        entry = self.entry
        terms = [
            field_value(entry, "lane", each, len(origin))
            for each in fields(list(origin))
        ]
        if turn or not terms:
            terms.append(entry.number(turn))
        value, *rest = terms
        for term in rest:
            before = value
            value = entry.once(("^", before, term), partial(XOrIOp, before, term))
        return entry.once(("index", value), lambda: IndexCastOp(value, IndexType()))

    def _bit(self, name: str, bit: int) -> SSAValue:
        """Return whether a bit of an id is 1."""
        entry = self.entry
        id = entry.lane() if name == "lane" else entry.subgroup()
        mask, zero = entry.number(1 << bit), entry.number(0)
        masked = entry.once((name, "bit", bit), lambda: AndIOp(id, mask))
        return entry.once((name, "has", bit), lambda: CmpiOp(masked, zero, "ne"))
