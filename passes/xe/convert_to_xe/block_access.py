"""Loads and stores of tensors by 2D block messages, as their plans say.

A message gives each lane slots, which arrive as pieces.  Where a piece is an operand of
DPAS, or a vector of the tensor, it is used as it is; else its elements are shuffled
into order within the lane, and exchanged between lanes where the plan has swaps.

Bytes of two messages side by side: A transposed, of 8-bit elements.

Messages of even and of odd rows bring 32 bits each, four columns of A; DPAS wants the
bytes of a row pairwise, 16 bits a lane.  Four pairs are made at once, by masks:

    x = e0 e1 e2 e3     low  = x & 00ff00ff | y << 8 & ff00ff00      = e0 o0 e2 o2
    y = o0 o1 o2 o3     high = x >> 8 & 00ff00ff | y & ff00ff00      = e1 o1 e3 o3

low bytes first.  Taken apart one by one they would cost Intel's compiler three times as
many instructions.

Messages that take every second row: a surface of their own.

A transposed load of 8-bit elements gives lanes one row of memory each, in 32 bits; A of
DPAS wants two neighbours in each lane.  So one message takes the even rows, one the odd
ones, and nothing is exchanged:

    rows       base    width            height              pitch        x
    even       base    width            (height + 1) / 2    2 pitch      x
    odd        base    pitch + width    height / 2          2 pitch      x + pitch

The odd rows begin in the middle of a row of their surface, as a base is aligned to 64
bytes, which a pitch need not be.  What is left of the matrix is then no longer outside
of the surface: x must not be negative, and y must be even.

Addresses of 2D blocks that a loop keeps in registers: `xe.payload_create` and kin.

In front of the loop a payload is made at the position that does not change; in each
step what changes is set, x or y, one move.  Intel's compiler does this for loads by
itself, mostly, and for prefetches never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.dialects.arith import AddiOp, AndIOp, CmpiOp, OrIOp, SelectOp, ShLIOp, ShRUIOp
from xdsl.dialects.builtin import IndexType, IntegerType, VectorType, i16, i32
from xdsl.dialects.scf import ForOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt, xe
from coopc.ir.control_flow import is_inside
from coopc.ir.split_values import Splitter
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.layout_to_arith import origin
from coopc.passes.xe.convert_to_xe.registers import (
    bit_width,
    bitcast,
    elements,
    gathered,
    joined,
    length_of,
    packed,
    shuffled,
    unpacked,
    vector_type,
)
from coopc.passes.xe.register_layout import MAX_COMPONENTS, RegisterLayout
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_shape import BlockShape
from coopc.plan.prefetch import PrefetchPlan

Payload: TypeAlias = Literal["none", "prefetch", "all"]
Start: TypeAlias = tuple[SSAValue, SSAValue]

MAX_SLOTS = 16
"""Slots of a lane that a load through a payload returns: one vector."""
CACHED = xe.CacheAttr.of(xe.CacheControl.CACHED, xe.CacheControl.CACHED)


@dataclass(frozen=True, slots=True)
class Surface:
    """A matrix in memory: what a descriptor becomes."""

    base: SSAValue
    width: SSAValue
    """In bytes, as the pitch; i32 as all of them."""
    height: SSAValue
    """In rows."""
    pitch: SSAValue

    @property
    def sizes(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Width, height and pitch."""
        return self.width, self.height, self.pitch


BYTES = 4
"""Of a slot."""
EVEN, ODD = 0x00FF00FF, -0x00FF0100
"""Every second byte of 32 bits, the lowest one among them or not, as an i32."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The slots that pieces are made of, counted over all messages."""

    even: tuple[int, ...]
    odd: tuple[int, ...]


def pairs_of(plan: BlockPlan, registers: RegisterLayout) -> Pairs | None:
    """Return of which slots the pairs of a tensor are; None if it is not of pairs."""
    if (plan.element_bits, plan.slot_bits, plan.row_step) != (8, 32, 2):
        return None
    if plan.swaps or registers.packed is None or registers.run % (2 * BYTES):
        return None
    if registers.packed.get_element_type() != i16:
        return None
    sources = [plan.sources[register] for register in registers.distinct]
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
    entry: Entry,
    s: Splitter,
    registers: RegisterLayout,
    pairs: Pairs,
    flat: Sequence[SSAValue],
) -> list[SSAValue]:
    """Return the pieces of a tensor from those of its messages."""
    count = registers.run // (2 * BYTES)
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


Values = Sequence[SSAValue]


def slot_vector(plan: BlockPlan, run: int) -> VectorType:
    """Return the type of the pieces of a message.

    Args:
        plan: of the messages.
        run: elements of the tensor that belong together.
    """
    slots = plan.values * plan.element_bits // plan.slot_bits
    wanted = max(1, run * plan.element_bits // plan.slot_bits)
    return VectorType(IntegerType(plan.slot_bits), [min(slots, wanted, MAX_COMPONENTS)])


@dataclass(frozen=True, slots=True)
class BlockMove:
    """A part of a tensor or a matrix, and the messages that move it."""

    plan: BlockPlan
    registers: RegisterLayout
    """Of the part, whose sizes are powers of two."""
    origin: tuple[int, int] = (0, 0)
    """Its first row and column."""
    offset: tuple[int, int] = (0, 0)
    """The same in memory: from where the tensor or matrix begins."""


@dataclass(slots=True)
class BlockAccess:
    """Accesses that have a plan.

    What is moved is given as its parts, each with a plan; `start` is the row and the
    column in memory where all of it begins, as i32.
    """

    entry: Entry
    payload: Payload = "none"
    """Which addresses loops hold in payloads."""
    immediate_offsets: bool = False
    """Whether one payload does for all messages of a load: offsets cost nothing."""

    def load(
        self,
        s: Splitter,
        whole: RegisterLayout,
        moves: Sequence[BlockMove],
        surface: Surface,
        start: Start,
    ) -> Values:
        """Load a tensor or a matrix; return its pieces."""
        found: dict[tuple[int, ...], SSAValue] = {}
        for move in moves:
            messages = self._messages(s, move, surface, self._moved(start, move))
            pieces = self.arranged(s, move.plan, move.registers, messages)
            found |= zip(first_elements(move), pieces, strict=True)
        return [found[whole.first(piece)] for piece in range(whole.pieces)]

    def _messages(
        self, s: Splitter, move: BlockMove, surface: Surface, start: Start
    ) -> list[Values]:
        """Load what a plan says; return the slots that each message gives."""
        plan = move.plan
        type = slot_vector(plan, move.registers.run)
        types = [type] * (plan.values * plan.element_bits // bit_width(type))
        slots = len(types) * type.get_shape()[0]
        if self.payload == "all" and plan.row_step == 1 and slots <= MAX_SLOTS:
            loop = loop_around(s.op, surface)
            if loop is not None:
                return self._through_payloads(s, plan, surface, start, loop, types)
        found: list[Values] = []
        for first in plan.firsts:
            part, at = place(self.entry, s, plan, surface, first, start)
            shape = xe.BlockAttr(plan.shape)
            block = xe.BlockLoad2DOp(part.base, at, part.sizes, shape, types)
            found.append(s.insert(block).pieces)
        return found

    def store(
        self,
        s: Splitter,
        whole: RegisterLayout,
        pieces: Values,
        moves: Sequence[BlockMove],
        surface: Surface,
        start: Start,
    ) -> None:
        """Store the pieces of a tensor or a matrix."""
        held = {whole.first(at): piece for at, piece in enumerate(pieces)}
        for move in moves:
            plan, part = move.plan, move.registers
            vectors = unpacked(s, part, [held[x] for x in first_elements(move)])
            known = {plan.sources[x]: at for at, x in enumerate(part.distinct)}
            type = slot_vector(plan, part.run)
            length = min(part.length, plan.values)
            for message, first in enumerate(plan.firsts):
                wanted = [known[message, value] for value in range(plan.values)]
                stored = joined(s, gathered(s, vectors, wanted, length), type)
                begin = self._moved(start, move)
                where, at = place(self.entry, s, plan, surface, first, begin)
                shape = xe.BlockAttr(plan.shape)
                s.insert(xe.BlockStore2DOp(stored, where.base, at, where.sizes, shape))

    def prefetch(
        self,
        s: Splitter,
        plan: PrefetchPlan,
        surface: Surface,
        start: Start,
        cache: xe.CacheAttr = CACHED,
    ) -> None:
        """Fetch the share of a subgroup into the caches."""
        loop = None if self.payload == "none" else loop_around(s.op, surface)
        row, col = start
        for register in range(plan.messages):
            at = (
                origin(self.entry, plan.layout, 1, register, col),
                origin(self.entry, plan.layout, 0, register, row),
            )
            if loop is None:
                block = xe.BlockAttr(plan.shape)
                s.insert(
                    xe.BlockPrefetch2DOp(surface.base, at, surface.sizes, block, cache)
                )
                continue
            payload = make_payload(self.entry, s, loop, surface, plan.shape, at)
            s.insert(xe.PayloadPrefetchOp(payload, (0, 0), cache))

    def _moved(self, start: Start, move: BlockMove) -> Start:
        """Return where a part begins in memory."""
        (row, col), (down, right) = start, move.offset
        return self.entry.plus(row, down), self.entry.plus(col, right)

    def _through_payloads(
        self,
        s: Splitter,
        plan: BlockPlan,
        surface: Surface,
        start: Start,
        loop: ForOp,
        types: Sequence[Attribute],
    ) -> list[Values]:
        """Load through payloads that are made in front of a loop."""
        row, col = start
        shift = plan.packed.bit_length() - 1
        found: list[Values] = []
        shared: SSAValue | None = None
        for first in plan.firsts:
            dx, dy = self._offset(plan, first, shift)
            register = first if (dx, dy) == (0, 0) else 0
            if shared is None or (dx, dy) == (0, 0):
                places = (
                    origin(self.entry, plan.layout, plan.cols, register, col, shift),
                    origin(self.entry, plan.layout, plan.rows, register, row),
                )
                shared = make_payload(self.entry, s, loop, surface, plan.shape, places)
            load = xe.PayloadLoadOp(shared, (dx, dy), types)
            found.append(s.insert(load).pieces)
        return found

    def _offset(self, plan: BlockPlan, first: int, shift: int) -> tuple[int, int]:
        """Return what a message adds to the shared payload; 0 where it has its own."""
        corner = plan.origin(first)
        warps = plan.layout.bases("warp") if "warp" in plan.layout.in_names else ()
        bits = [0] * len(corner)
        for basis in warps:
            bits = [x | y for x, y in zip(bits, basis, strict=True)]
        apart = not any(x & y for x, y in zip(bits, corner, strict=True))
        if not self.immediate_offsets or not apart:
            return 0, 0
        return corner[plan.cols] >> shift, corner[plan.rows]

    def arranged(
        self,
        s: Splitter,
        plan: BlockPlan,
        registers: RegisterLayout,
        messages: Sequence[Values],
    ) -> Values:
        """Return the pieces of a tensor from those of its messages."""
        sources = [plan.sources[register] for register in registers.distinct]
        flat = [piece for message in messages for piece in message]
        if registers.packed is not None and flat[0].type == registers.packed:
            direct = direct_pieces(plan, registers.run, sources)
            if direct is not None:
                return [flat[piece] for piece in direct]
        if (pairs := pairs_of(plan, registers)) is not None:
            return paired(self.entry, s, registers, pairs, flat)
        if (slots := whole_slots(plan, registers.run, sources)) is not None:
            count = registers.run * plan.element_bits // plan.slot_bits
            whole = gathered(s, flat, slots, count)
            if registers.packed is not None:
                return joined(s, whole, registers.packed)
            return [x for each in whole for x in elements(s, each, registers.vector)]
        length = min(registers.length, plan.values)
        vector = VectorType(registers.element, [length])
        values = [each for piece in flat for each in elements(s, piece, vector)]
        for lane_bit, value_bit in plan.swaps:
            values = self._swapped(s, values, lane_bit, value_bit, plan.values)
        wanted = [message * plan.values + value for message, value in sources]
        vectors = gathered(s, values, wanted, registers.length)
        return packed(s, registers, vectors)

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


def first_elements(move: BlockMove) -> list[tuple[int, ...]]:
    """Return the first element of each piece of a part, in all of the tensor."""
    part = move.registers
    return [
        tuple(x + y for x, y in zip(move.origin, part.first(piece), strict=True))
        for piece in range(part.pieces)
    ]


def place(
    entry: Entry,
    s: Splitter,
    plan: BlockPlan,
    surface: Surface,
    first: int,
    position: tuple[SSAValue, SSAValue],
) -> tuple[Surface, tuple[SSAValue, SSAValue]]:
    """Return the surface of a message, and x and y in it.

    Args:
        entry: of the kernel.
        s: in front of the access.
        plan: of the messages.
        surface: of the tensor.
        first: the first register of the message.
        position: row and column in memory where the tensor begins.
    """
    row, col = position
    shift, down = plan.packed.bit_length() - 1, plan.row_step.bit_length() - 1
    x = origin(entry, plan.layout, plan.cols, first, col, shift)
    y = origin(entry, plan.layout, plan.rows, first, row, down)
    if plan.row_step == 1:
        return surface, (x, y)
    rest = plan.origin(first)[plan.rows] % plan.row_step
    pitch = _shifted(entry, surface.pitch, down)
    rows = entry.plus(surface.height, plan.row_step - 1 - rest)
    height = entry.divided(rows, down)
    if rest == 0:
        return Surface(surface.base, surface.width, height, pitch), (x, y)
    before = entry.times(surface.pitch, rest)
    width = s.insert(AddiOp(surface.width, before)).result
    elements = entry.divided(before, (plan.shape.bits // 8).bit_length() - 1)
    x = s.insert(AddiOp(x, elements)).result
    return Surface(surface.base, width, height, pitch), (x, y)


def _shifted(entry: Entry, value: SSAValue, bits: int) -> SSAValue:
    """Return a number times two to some power."""
    amount = entry.number(bits)
    return entry.after(value, ("<<", bits), lambda: ShLIOp(value, amount))


def loop_around(op: Operation, surface: Surface) -> ForOp | None:
    """Return the innermost loop that an operation is directly in.

    None where a payload of a surface cannot be made in front of it.
    """
    parent = op.parent_op()
    if not isinstance(parent, ForOp):
        return None
    known = (surface.base, *surface.sizes)
    return parent if not any(is_inside(value, parent) for value in known) else None


def make_payload(
    entry: Entry,
    s: Splitter,
    loop: ForOp,
    surface: Surface,
    shape: BlockShape,
    places: tuple[SSAValue, SSAValue],
) -> SSAValue:
    """Make a payload in front of a loop, and set in it what the loop changes."""
    zero = entry.number(0)
    fixed = [not is_inside(each, loop) for each in places]
    x, y = (each if keep else zero for each, keep in zip(places, fixed, strict=True))
    made = xe.PayloadCreateOp(surface.base, (x, y), surface.sizes, shape)
    made.location = s.op.location
    Rewriter.insert_op(made, InsertPoint.before(loop))
    if not fixed[0]:
        s.insert(xe.PayloadSetXOp(made.result, places[0]))
    if not fixed[1]:
        s.insert(xe.PayloadSetYOp(made.result, places[1]))
    return made.result
