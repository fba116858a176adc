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

What a prefetch adds in each step is added in place: with a move, a position that is
the next value of the loop's counter costs two instructions more.  For loads a move is
one instruction shorter: Intel's compiler waits for them before it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from xdsl.dialects.arith import AddiOp, AndIOp, OrIOp, SelectOp, ShLIOp, ShRUIOp
from xdsl.dialects.builtin import IntegerType, VectorType, i16, i32
from xdsl.dialects.scf import ForOp
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt, xe
from coopc.dialects.narrow import length_of, vector_type
from coopc.dialects.simt import MAX_COMPONENTS, bits_of
from coopc.ir.builder import INDEX, Builder, Component
from coopc.ir.control_flow import is_inside
from coopc.ir.polynomial import Polynomial
from coopc.passes.xe.channel_plans import ChannelPlan
from coopc.passes.xe.convert_to_xe.layout_to_arith import (
    IndexSums,
    divided,
    has_bit,
    plus,
    times,
)
from coopc.passes.xe.convert_to_xe.vectors import (
    concatenated,
    constant_i32,
    elements,
    gathered,
    joined,
    numbers,
    packed,
    unpacked,
)
from coopc.passes.xe.register_layout import RegisterLayout
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import CHANNEL_BITS, BlockShape
from coopc.plan.channels import SlotLoad
from coopc.plan.prefetch import PrefetchPlan

Payload: TypeAlias = Literal["none", "prefetch", "all"]
Start: TypeAlias = tuple[SSAValue, SSAValue]
Values: TypeAlias = Sequence[SSAValue]

MAX_SLOTS = 16
"""Slots of a lane that a load through a payload returns: one vector."""
CACHED = xe.CacheAttr((xe.CacheControl.CACHED, xe.CacheControl.CACHED))


@dataclass(frozen=True, slots=True)
class SurfaceValues:
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


def paired(
    b: Builder, plan: BlockPlan, registers: RegisterLayout, flat: Values
) -> list[SSAValue] | None:
    """Return the pieces of a tensor from those of its messages, if it is of pairs."""
    if (plan.element_bits, plan.slot_bits, plan.row_step) != (8, 32, 2):
        return None
    if plan.swaps or registers.packed is None or registers.run % (2 * BYTES):
        return None
    if registers.packed.get_element_type() != i16:
        return None
    sources = [plan.sources[register] for register in registers.distinct]
    slots: tuple[list[int], list[int]] = [], []  # of even and of odd rows
    for start in range(0, len(sources), 2 * BYTES):
        eight = sources[start : start + 2 * BYTES]
        (one, value), (other, _) = eight[:2]
        wanted = [(m, value + x) for x in range(BYTES) for m in (one, other)]
        if value % BYTES or eight != wanted:
            return None
        for message, some in zip((one, other), slots, strict=True):
            some.append((message * plan.values + value) // BYTES)
    count = registers.run // (2 * BYTES)
    evens, odds = (gathered(b, flat, some, count) for some in slots)
    return [_piece(b, x, y) for x, y in zip(evens, odds, strict=True)]


def _piece(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the pairs of some slots, in order."""
    count = length_of(x)
    eight = numbers(b, [8] * count)
    low = _mixed(b, x, b.pure(ShLIOp, y, eight))
    high = _mixed(b, b.pure(ShRUIOp, x, eight), y)
    halves = VectorType(i16, [2 * count])
    mask = [half * 2 * count + at for at in range(2 * count) for half in (0, 1)]
    return b.blend(b.bitcast(low, halves), b.bitcast(high, halves), mask)


def _mixed(b: Builder, even: SSAValue, odd: SSAValue) -> SSAValue:
    """Return the even bytes of one vector and the odd ones of another."""
    count = length_of(even)
    one = b.pure(AndIOp, even, numbers(b, [EVEN] * count))
    other = b.pure(AndIOp, odd, numbers(b, [ODD] * count))
    return b.pure(OrIOp, one, other)


def slot_vector(plan: BlockPlan, run: int) -> VectorType:
    """Return the type of the pieces of a message.

    A run is of elements of the tensor that belong together.
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


@dataclass(frozen=True, slots=True)
class BlockMessages:
    """Accesses that have a plan.

    What is moved is given as its parts, each with a plan; `start` is the row and the
    column in memory where all of it begins, as i32.
    """

    payload: Payload = "none"
    """Which addresses loops hold in payloads."""
    immediate_offsets: bool = False
    """Whether one payload does for all messages of a load: offsets cost nothing."""
    known: IndexSums = field(default_factory=IndexSums)

    def load(
        self,
        b: Builder,
        whole: RegisterLayout,
        moves: Sequence[BlockMove],
        surface: SurfaceValues,
        start: Start,
    ) -> Values:
        """Load a tensor or a matrix; return its pieces."""
        found: dict[tuple[int, ...], SSAValue] = {}
        for move in moves:
            messages = self._messages(
                b, move, surface, self.moved(b, start, move.offset)
            )
            pieces = arranged(b, move.plan, move.registers, messages)
            found |= zip(first_elements(move), pieces, strict=True)
        return [found[whole.first(piece)] for piece in range(whole.pieces)]

    def _messages(
        self, b: Builder, move: BlockMove, surface: SurfaceValues, start: Start
    ) -> list[Values]:
        """Load what a plan says; return the slots that each message gives."""
        plan = move.plan
        type = slot_vector(plan, move.registers.run)
        types = [type] * (plan.values * plan.element_bits // bits_of(type))
        slots = len(types) * type.get_shape()[0]
        if self.payload == "all" and plan.row_step == 1 and slots <= MAX_SLOTS:
            loop = loop_around(b, surface)
            if loop is not None:
                return self._through_payloads(b, plan, surface, start, loop, types)
        places = [self._place(b, plan, surface, first, start) for first in plan.firsts]
        shape = xe.BlockAttr(plan.shape)
        return [
            b.effect(xe.BlockLoad2DOp(x.base, at, x.sizes, shape, loaded=types)).results
            for x, at in places
        ]

    def store(
        self,
        b: Builder,
        whole: RegisterLayout,
        pieces: Values,
        moves: Sequence[BlockMove],
        surface: SurfaceValues,
        start: Start,
    ) -> None:
        held = {whole.first(at): piece for at, piece in enumerate(pieces)}
        for move in moves:
            plan, part = move.plan, move.registers
            vectors = unpacked(b, part, [held[x] for x in first_elements(move)])
            known = {plan.sources[x]: at for at, x in enumerate(part.distinct)}
            type = slot_vector(plan, part.run)
            length = min(part.length, plan.values)
            for message, first in enumerate(plan.firsts):
                wanted = [known[message, value] for value in range(plan.values)]
                stored = joined(b, gathered(b, vectors, wanted, length), type)
                begin = self.moved(b, start, move.offset)
                where, at = self._place(b, plan, surface, first, begin)
                shape = xe.BlockAttr(plan.shape)
                b.effect(
                    xe.BlockStore2DOp(where.base, at, where.sizes, shape, stored=stored)
                )

    def prefetch(
        self,
        b: Builder,
        plan: PrefetchPlan,
        surface: SurfaceValues,
        start: Start,
        cache: xe.CacheAttr = CACHED,
    ) -> None:
        """Fetch the share of a subgroup into the caches."""
        loop = None if self.payload == "none" else loop_around(b, surface)
        row, col = start
        for register in range(plan.messages):
            at = (
                self.known.origin(b, plan.layout, 1, register, col),
                self.known.origin(b, plan.layout, 0, register, row),
            )
            if loop is not None:
                payload = make_payload(b, loop, surface, plan.shape, at, grows=True)
                b.effect(xe.PayloadPrefetchOp(payload, (0, 0), cache))
                continue
            shape = xe.BlockAttr(plan.shape)
            b.effect(
                xe.BlockPrefetch2DOp(surface.base, at, surface.sizes, shape, cache)
            )

    def _through_payloads(
        self,
        b: Builder,
        plan: BlockPlan,
        surface: SurfaceValues,
        start: Start,
        loop: ForOp,
        types: Sequence[Attribute],
    ) -> list[Values]:
        """Load through payloads that are made in front of a loop."""
        shift = plan.packed.bit_length() - 1
        found: list[Values] = []
        shared: SSAValue | None = None
        for first in plan.firsts:
            dx, dy = self._offset(plan, first, shift)
            register = first if (dx, dy) == (0, 0) else 0
            if shared is None or (dx, dy) == (0, 0):
                at = self._origin(b, plan, register, start)
                shared = make_payload(b, loop, surface, plan.shape, at)
            load = xe.PayloadLoadOp(shared, (dx, dy), result_types=[types])
            found.append(b.effect(load).results)
        return found

    def _offset(self, plan: BlockPlan, first: int, shift: int) -> tuple[int, int]:
        """Return what a message adds to the shared payload; 0 where it has its own."""
        corner = plan.origin(first)
        bits = [0] * len(corner)
        for basis in plan.layout.bases("warp"):
            bits = [x | y for x, y in zip(bits, basis, strict=True)]
        apart = not any(x & y for x, y in zip(bits, corner, strict=True))
        if not self.immediate_offsets or not apart:
            return 0, 0
        return corner[plan.cols] >> shift, corner[plan.rows]

    def moved(self, b: Builder, start: Start, offset: tuple[int, int]) -> Start:
        """Return where in memory a part begins."""
        (row, col), (down, right) = start, offset
        return self.known.plus(b, row, down), self.known.plus(b, col, right)

    def _origin(
        self, b: Builder, plan: BlockPlan, register: int, start: Start
    ) -> tuple[SSAValue, SSAValue]:
        """Return x and y of the message that begins with a register."""
        (row, col), layout = start, plan.layout
        shift, down = (x.bit_length() - 1 for x in (plan.packed, plan.row_step))
        return (
            self.known.origin(b, layout, plan.cols, register, col, shift),
            self.known.origin(b, layout, plan.rows, register, row, down),
        )

    def _place(
        self, b: Builder, plan: BlockPlan, surface: SurfaceValues, first: int, at: Start
    ) -> tuple[SurfaceValues, Start]:
        """Return the surface of a message, and x and y in it.

        The tensor begins at row and column `at`, the message with the register `first`.
        """
        step = plan.row_step
        x, y = self._origin(b, plan, first, at)
        if step == 1:
            return surface, (x, y)
        down = step.bit_length() - 1
        rest = plan.origin(first)[plan.rows] % step
        pitch = b.pure(ShLIOp, surface.pitch, constant_i32(b, down))
        height = divided(b, plus(b, surface.height, step - 1 - rest), down)
        if rest == 0:
            return SurfaceValues(surface.base, surface.width, height, pitch), (x, y)
        before = times(b, surface.pitch, rest)
        width = b.pure(AddiOp, surface.width, before)
        elements = divided(b, before, (plan.shape.bits // 8).bit_length() - 1)
        part = SurfaceValues(surface.base, width, height, pitch)
        return part, (b.pure(AddiOp, x, elements), y)


def arranged(
    b: Builder, plan: BlockPlan, registers: RegisterLayout, messages: Sequence[Values]
) -> Values:
    """Return the pieces of a tensor from those of its messages."""
    sources = [plan.sources[register] for register in registers.distinct]
    flat = [piece for message in messages for piece in message]
    run = registers.run
    if not plan.swaps and flat[0].type == registers.packed:
        direct = whole_runs(sources, plan.values, run)
        if direct is not None:
            return [flat[piece] for piece in direct]
    if (pairs := paired(b, plan, registers, flat)) is not None:
        return pairs
    # Whole slots need not be taken apart.
    group = plan.slot_bits // plan.element_bits
    slots = None
    if (
        not plan.swaps
        and group > 1
        and not run % group
        and run <= group * MAX_COMPONENTS
    ):
        slots = whole_runs(sources, plan.values, group)
    if slots is not None:
        whole = gathered(b, flat, slots, run // group)
        if registers.packed is not None:
            return joined(b, whole, registers.packed)
        return [x for each in whole for x in elements(b, each, registers.vector)]
    length = min(registers.length, plan.values)
    vector = VectorType(registers.element, [length])
    values = [each for piece in flat for each in elements(b, piece, vector)]
    for lane_bit, value_bit in plan.swaps:
        values = _swapped(b, values, lane_bit, value_bit)
    wanted = [message * plan.values + value for message, value in sources]
    return packed(b, registers, gathered(b, values, wanted, registers.length))


def _swapped(
    b: Builder, values: Values, lane_bit: int, value_bit: int
) -> list[SSAValue]:
    """Return values of which a lane bit and a bit of their number change places.

    Lanes whose bit is 0 give values whose bit is 1 for those of their neighbour
    whose bit is 0, and the other way round.
    """
    length = length_of(values[0])
    total = length * len(values)
    low = [x for x in range(total) if not x >> value_bit & 1]
    high = [x | 1 << value_bit for x in low]
    size = min(length, len(low))
    lows, highs = (gathered(b, values, x, size) for x in (low, high))
    upper = has_bit(b, lane_bit)
    new: list[SSAValue] = []
    for x, y in zip(lows, highs, strict=True):
        # A lane with bit 0 gives y and keeps x, one with bit 1 gives x.
        got = _of_neighbour(b, b.pure(SelectOp, upper, x, y), 1 << lane_bit)
        new.append(b.pure(SelectOp, upper, got, x))
        new.append(b.pure(SelectOp, upper, y, got))
    where = {number: at for at, number in enumerate(low)}
    wanted: list[int] = []
    for number in range(total):
        bit = number >> value_bit & 1
        vector, at = divmod(where[number & ~(1 << value_bit)], size)
        wanted.append((2 * vector + bit) * size + at)
    return gathered(b, new, wanted, length)


def _of_neighbour(b: Builder, value: SSAValue, distance: int) -> SSAValue:
    """Return what another lane has.

    In integers of 32 bits: Intel's compiler has no shuffle of vectors of f16.
    """
    type, bits = vector_type(value), bits_of(value.type)
    whole = VectorType(i32, [bits // 32])
    if bits % 32:
        whole = VectorType(IntegerType(bits // type.get_shape()[0]), type.shape)
    (given,) = elements(b, value, whole)
    by = b.constant(INDEX, distance)
    return b.bitcast(b.pure(simt.ShuffleOp, simt.ShuffleMode.XOR, given, by), type)


def whole_runs(
    sources: Sequence[tuple[int, int]], values: int, length: int
) -> list[int] | None:
    """Return which run of all messages each run of a tensor's registers is.

    None if some are not whole runs of that length, in order.

    `sources` says of each register in which message it is, and as which value; a
    message has `values` of them.
    """
    found: list[int] = []
    for start in range(0, len(sources), length):
        message, value = sources[start]
        run = [(message, value + each) for each in range(length)]
        if value % length or list(sources[start : start + length]) != run:
            return None
        found.append((message * values + value) // length)
    return found


def first_elements(move: BlockMove) -> list[tuple[int, ...]]:
    """Return the first element of each piece of a part, in all of the tensor."""
    part = move.registers
    return [
        tuple(x + y for x, y in zip(move.origin, part.first(piece), strict=True))
        for piece in range(part.pieces)
    ]


def loop_around(b: Builder, surface: SurfaceValues) -> ForOp | None:
    """Return the innermost loop that an access is directly in.

    None where a payload of a surface cannot be made in front of it.
    """
    parent = b.block.parent_op()
    if not isinstance(parent, ForOp):
        return None
    known = (surface.base, *surface.sizes)
    return parent if not any(is_inside(value, parent) for value in known) else None


def make_payload(
    b: Builder,
    loop: ForOp,
    surface: SurfaceValues,
    shape: BlockShape,
    places: tuple[SSAValue, SSAValue],
    grows: bool = False,
) -> SSAValue:
    """Make a payload in front of a loop, and change in it what the loop changes.

    The builder is in front of the access, in the loop. With `grows`, what grows by the
    same number is added in place.
    """
    before = Builder.at(loop, b.built)
    before.location = b.location
    starts: list[SSAValue] = []
    changes: list[tuple[type[xe.PayloadSetOp], SSAValue]] = []
    operations = (
        (xe.PayloadSetXOp, xe.PayloadAddXOp),
        (xe.PayloadSetYOp, xe.PayloadAddYOp),
    )
    for place, (set_to, add) in zip(places, operations, strict=True):
        growth = growing(place, loop) if grows else None
        if not is_inside(place, loop):
            starts.append(place)
        elif growth is None:
            starts.append(constant_i32(before, 0))
            changes.append((set_to, place))
        else:
            start, step = growth
            starts.append((start - step).build(before))
            changes.append((add, step.build(before)))
    x, y = starts
    made = xe.PayloadCreateOp(surface.base, (x, y), surface.sizes, shape)
    before.effect(made)
    for change, number in changes:
        b.effect(change(made.result, number))
    return made.result


def growing(place: SSAValue, loop: ForOp) -> tuple[Polynomial, Polynomial] | None:
    """Return where a position is in the first step of a loop, and by how much it grows.

    None if it is no sum of a multiple of the counter and what the loop does not change.
    """
    counter = loop.body.block.args[0]
    times, rest = Polynomial.of(place).divided(Polynomial.value(counter))
    known = (*times.values, *rest.values, loop.lb, loop.step)
    if not times or any(is_inside(x, loop) for x in known):
        return None
    start = times * Polynomial.of(loop.lb) + rest
    return start, times * Polynomial.of(loop.step)


# Loads of slots that follow each other

ChannelPlace: TypeAlias = Callable[[SlotLoad], tuple[SSAValue, SSAValue | None]]
"""From a message to its offset from the base, in bytes, and whether it is inside."""


def load_channels(
    b: Builder,
    plan: ChannelPlan,
    registers: RegisterLayout,
    base: SSAValue,
    place: ChannelPlace,
    name: str | None,
) -> list[SSAValue]:
    """Load a tensor or a matrix; return its pieces."""
    slots: dict[int, Component] = {}
    for message in plan.messages:
        offset, guard = place(message)
        load = xe.BlockLoadOp(
            base, offset, len(message.registers), plan.slot_bits, guard
        )
        load.result.name_hint = name
        b.effect(load)
        slots |= {x: (load.result, at) for at, x in enumerate(message.registers)}
    type = registers.packed or registers.vector
    return [
        b.bitcast(
            _slots_vector(b, [slots[x] for x in range(at, at + plan.slots)]), type
        )
        for at in range(0, len(slots), plan.slots)
    ]


def _slots_vector(b: Builder, slots: Sequence[Component]) -> SSAValue:
    """Return slots as one vector of channels, or of what they are."""
    bits = bits_of(vector_type(slots[0][0]).get_element_type())
    parts: list[SSAValue] = []
    for start in range(0, len(slots), MAX_COMPONENTS):
        chosen = slots[start : start + MAX_COMPONENTS]
        some = b.gathered(chosen, len(chosen), chosen[0][0])
        if bits != CHANNEL_BITS:
            channels = length_of(some) * bits // CHANNEL_BITS
            some = b.bitcast(some, VectorType(i32, [channels]))
        parts.append(some)
    return concatenated(b, parts)
