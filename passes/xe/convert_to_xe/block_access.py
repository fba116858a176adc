"""Loads and stores of tensors by 2D block messages, as their plans say.

A message gives each lane slots, which arrive as pieces.  Where a piece is an operand of
DPAS, or a vector of the tensor, it is used as it is; else its elements are shuffled
into order within the lane, and exchanged between lanes where the plan has swaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.arith import AndIOp, CmpiOp, SelectOp
from xdsl.dialects.builtin import IndexType, IntegerType, VectorType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt, tt, xe
from coopc.dialects.tt.types import is_tensor
from coopc.passes.xe.convert_to_xe.byte_pairs import paired, pairs_of
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.payloads import PayloadLoads
from coopc.passes.xe.convert_to_xe.registers import (
    bit_width,
    bitcast,
    elements,
    gathered,
    joined,
    packed,
    unpacked,
    vector_type,
)
from coopc.passes.xe.convert_to_xe.surface import Surface
from coopc.passes.xe.register_layout import MAX_COMPONENTS, Spread, spread_of
from coopc.passes.xe.strided_rows import place
from coopc.plan.block2d import BlockPlan
from coopc.rewrite.one_to_many import Splitter

Values = Sequence[SSAValue]


def plan_of(op: Operation) -> BlockPlan | None:
    """Return the plan that an access has, if it has one."""
    found = op.attributes.get(xe.PLAN)
    return found.data if isinstance(found, xe.PlanAttr) else None


def spread_of_value(value: SSAValue) -> Spread:
    """Return how a tensor is spread."""
    assert is_tensor(value.type), value
    return spread_of(value.type)


def slot_vector(plan: BlockPlan, run: int) -> VectorType:
    """Return the type of the pieces of a message.

    Args:
        plan: of the messages.
        run: elements of the tensor that belong together.
    """
    slots = plan.values * plan.element_bits // plan.slot_bits
    wanted = max(1, run * plan.element_bits // plan.slot_bits)
    return VectorType(IntegerType(plan.slot_bits), [min(slots, wanted, MAX_COMPONENTS)])


@dataclass(slots=True)
class BlockAccess:
    """The rules for accesses that have a plan."""

    entry: Entry
    payloads: PayloadLoads | None = None
    """How loads hold their addresses; None where they do not."""

    def load(self, op: tt.DescriptorLoadOp, s: Splitter, plan: BlockPlan) -> Values:
        """Load a tensor; return its pieces."""
        spread = spread_of_value(op.result)
        surface = Surface(*s.parts(op.desc))
        type = slot_vector(plan, spread.run)
        count = plan.values * plan.element_bits // bit_width(type)
        messages: list[Values] = []
        payloads = self.payloads if plan.row_step == 1 else None
        if payloads is not None and payloads.suits(op, surface, type, count):
            messages = payloads.load(op, s, plan, surface, [type] * count)
            return self.arranged(s, plan, spread, messages)
        for first in plan.firsts:
            y, x = op.indices
            part, at = place(self.entry, s, plan, surface, first, (y, x))
            block = xe.BlockLoad2DOp(
                part.base,
                at,
                part.sizes,
                xe.BlockAttr(plan.shape),
                [type] * count,
            )
            messages.append(s.insert(block).pieces)
        return self.arranged(s, plan, spread, messages)

    def arranged(
        self, s: Splitter, plan: BlockPlan, spread: Spread, messages: Sequence[Values]
    ) -> Values:
        """Return the pieces of a tensor from those of its messages."""
        sources = [plan.sources[register] for register in spread.registers]
        flat = [piece for message in messages for piece in message]
        if spread.packed is not None and flat[0].type == spread.packed:
            direct = direct_pieces(plan, spread.run, sources)
            if direct is not None:
                return [flat[piece] for piece in direct]
        if (pairs := pairs_of(plan, spread)) is not None:
            return paired(self.entry, s, spread, pairs, flat)
        if (slots := whole_slots(plan, spread.run, sources)) is not None:
            count = spread.run * plan.element_bits // plan.slot_bits
            whole = gathered(s, flat, slots, count)
            if spread.packed is not None:
                return joined(s, whole, spread.packed)
            return [x for each in whole for x in elements(s, each, spread.vector)]
        length = min(spread.length, plan.values)
        vector = VectorType(spread.element, [length])
        values = [each for piece in flat for each in split_or_join(s, piece, vector)]
        for lane_bit, value_bit in plan.swaps:
            values = self._swapped(s, values, lane_bit, value_bit, plan.values)
        wanted = [message * plan.values + value for message, value in sources]
        vectors = gathered(s, values, wanted, spread.length)
        return packed(s, spread, vectors)

    def store(
        self, op: tt.DescriptorStoreOp, s: Splitter, plan: BlockPlan
    ) -> Sequence[Values]:
        """Store a tensor."""
        spread = spread_of_value(op.src)
        surface = Surface(*s.parts(op.desc))
        vectors = unpacked(s, spread, s.parts(op.src))
        at = {register: place for place, register in enumerate(spread.registers)}
        held = {plan.sources[register]: place for register, place in at.items()}
        type = slot_vector(plan, spread.run)
        length = min(spread.length, plan.values)
        for message, first in enumerate(plan.firsts):
            wanted = [held[message, value] for value in range(plan.values)]
            chosen = gathered(s, vectors, wanted, length)
            pieces = joined(s, chosen, type)
            y, x = op.indices
            _, corner = place(self.entry, s, plan, surface, first, (y, x))
            s.insert(
                xe.BlockStore2DOp(
                    pieces,
                    surface.base,
                    corner,
                    (surface.width, surface.height, surface.pitch),
                    xe.BlockAttr(plan.shape),
                )
            )
        return ()

    def _swapped(
        self,
        s: Splitter,
        values: Sequence[SSAValue],
        lane_bit: int,
        value_bit: int,
        count: int,
    ) -> list[SSAValue]:
        """Return values of which a lane bit and a bit of their number change places.

        Lanes whose bit is 0 give values whose bit is 1 for those of their neighbour
        whose bit is 0, and the other way round.
        """
        length = vector_type(values[0]).get_shape()[0]
        total = length * len(values)
        low = [x for x in range(total) if not x >> value_bit & 1]
        high = [x | 1 << value_bit for x in low]
        size = min(length, len(low))
        lows, highs = (gathered(s, values, x, size) for x in (low, high))
        upper = self._lane_bit(lane_bit)
        distance = self.entry.number(1 << lane_bit, IndexType())
        new: list[SSAValue] = []
        for x, y in zip(lows, highs, strict=True):
            # A lane with bit 0 gives y and keeps x, one with bit 1 gives x.
            given = s.insert(SelectOp(upper, x, y)).result
            got = self._of_neighbour(s, given, distance)
            new.append(s.insert(SelectOp(upper, got, x)).result)
            new.append(s.insert(SelectOp(upper, y, got)).result)
        where = {number: at for at, number in enumerate(low)}
        wanted: list[int] = []
        for number in range(total):
            bit = number >> value_bit & 1
            vector, at = divmod(where[number & ~(1 << value_bit)], size)
            wanted.append((2 * vector + bit) * size + at)
        assert count <= total
        return gathered(s, new, wanted, length)

    def _of_neighbour(
        self, s: Splitter, value: SSAValue, distance: SSAValue
    ) -> SSAValue:
        """Return what another lane has.

        In integers of 32 bits: Intel's compiler has no shuffle of vectors of f16.
        """
        type = vector_type(value)
        bits = bit_width(type)
        whole = VectorType(i32, [bits // 32])
        if bits % 32:
            whole = VectorType(IntegerType(bits // type.get_shape()[0]), type.shape)
        (given,) = elements(s, value, whole)
        mode = simt.ShuffleMode.XOR
        return bitcast(s, s.insert(simt.ShuffleOp(mode, given, distance)).result, type)

    def _lane_bit(self, bit: int) -> SSAValue:
        """Return whether a bit of the lane's number is 1, an i1."""
        entry = self.entry
        lane, mask = entry.lane(), entry.number(1 << bit)
        masked = entry.once(("lane bit", bit), lambda: AndIOp(lane, mask))
        zero = entry.number(0)
        return entry.once(("lane has", bit), lambda: CmpiOp(masked, zero, "ne"))


def direct_pieces(
    plan: BlockPlan, run: int, sources: Sequence[tuple[int, int]]
) -> list[int] | None:
    """Return which piece of all messages each piece of a tensor is.

    None if some are not whole pieces in order, or lanes exchange elements.
    """
    if plan.swaps:
        return None
    found: list[int] = []
    for start in range(0, len(sources), run):
        message, value = sources[start]
        run_of = [(message, value + each) for each in range(run)]
        if value % run or list(sources[start : start + run]) != run_of:
            return None
        found.append((message * plan.values + value) // run)
    return found


def whole_slots(
    plan: BlockPlan, run: int, sources: Sequence[tuple[int, int]]
) -> list[int] | None:
    """Return which slot of all messages each slot of a tensor's pieces is.

    Then what is in a slot need not be taken apart.  None if some are not whole, or lie
    in two pieces, or lanes exchange elements.
    """
    group = plan.slot_bits // plan.element_bits
    if plan.swaps or group == 1 or run % group or run // group > MAX_COMPONENTS:
        return None
    found: list[int] = []
    for start in range(0, len(sources), group):
        message, value = sources[start]
        slot = [(message, value + each) for each in range(group)]
        if value % group or list(sources[start : start + group]) != slot:
            return None
        found.append((message * plan.values + value) // group)
    return found


def split_or_join(s: Splitter, piece: SSAValue, type: VectorType) -> Values:
    """Return the bits of a piece as vectors of a type that is not longer."""
    return elements(s, piece, type)


def element_types(types: Sequence[Attribute]) -> list[Attribute]:
    """Return the element types of vectors."""
    return [x.get_element_type() for x in types if isinstance(x, VectorType)]
