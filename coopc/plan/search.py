"""The search for a plan: every message of the device, and the cheapest that fits.

A message fits where its lanes hold what the layout says, and each of its value bits is
a register bit of the layout, whichever one: the order of the register bases does not
matter.  One lane bit may be amiss if a swap with a value bit puts it right.  Of the
messages that fit, the cheapest is taken by an estimate of instructions: a message costs
what its payload costs, registers that are not where DPAS wants its operands cost a move
each, and those that are swapped four instructions a pair.  Only the one that is taken
becomes a `BlockPlan`, and proves itself.

So B transposed comes in one message for each operand of DPAS, 8 for 32 x 256 of f16 and
not 4: two operands in one message interleave their registers, and Intel's compiler cuts
such messages in two to save the moves.  And tf32 A transposed comes in blocks of 8 x 8,
as K of one DPAS is 8: of 16 x 8 half would have to change lanes, and a step of a kernel
of 32 x 64 would take 129 instructions on BMG, not 53.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from itertools import product

from coopc.device.block_io import BlockIO, BlockShapes
from coopc.layout.linear import LinearLayout, powers
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import BITS, GRF_BYTES, BlockMode, BlockShape, slot_bits
from coopc.plan.refusal import Reason, Refusal

Basis = tuple[int, int]
"""Row and column, in elements of the tensor."""

ROW_STEPS = (1, 2)
NEARER: dict[Enum, int] = {
    Reason.LANES_ORDER: 0,
    Reason.REGISTERS: 1,
    Reason.OVERLAP: 2,
    Reason.MASK: 2,
    Reason.POSITION: 3,
}
"""How near a message is that fails for a reason; the nearest is what is reported."""
GRF_BITS = 512
MOST_PACKED = max(BITS) // min(BITS)
"""Elements of a tensor in one element of a message."""


@dataclass(frozen=True)
class Request:
    """A tensor that is to be moved."""

    layout: LinearLayout
    """From register, lane and warp to the dimensions of the tensor."""
    contiguous: int
    """The dimension of the tensor that is contiguous in memory, by number."""
    element_bits: int
    """Width of an element."""
    store: bool = False
    """Whether it is stored, not loaded."""
    run: int = 1
    """Registers of one operand of DPAS, which are to be a piece of a message."""
    channel_bits: int = 0
    """Width of the components of such an operand; 0 where there is none."""
    column: int = MOST_PACKED
    """A power of two that the column where the tensor begins is a multiple of; so many
    neighbours can be one element of a message."""
    constancy: tuple[int | None, ...] = ()
    """For each dimension how many elements in a row a mask is the same for, a power of
    two; None or absent where nothing is masked."""

    @property
    def rank(self) -> int:
        """Dimensions of the tensor."""
        return len(self.layout.outs)

    @property
    def row_dimension(self) -> int:
        """The dimension that is rows in memory: the other one of the last two."""
        return 2 * self.rank - 3 - self.contiguous

    def basis(self, coordinates: tuple[int, ...]) -> Basis | None:
        """Return a basis as (row, column); None where it leaves the two dimensions."""
        row, col = coordinates[self.row_dimension], coordinates[self.contiguous]
        others = sum(map(bool, coordinates)) - bool(row) - bool(col)
        return None if others else (row, col)

    @cached_property
    def bases(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Those of registers, lanes and warps; none of what the layout lacks."""
        return {x: self.layout.bases(x) for x in ("register", "lane", "warp")}

    @cached_property
    def lanes(self) -> list[Basis | None]:
        """What the lane bits are."""
        return [self.basis(basis) for basis in self.bases["lane"]]

    @cached_property
    def registers(self) -> dict[Basis, int]:
        """The register bit of each basis that is a row or column, the first one."""
        registers: dict[Basis, int] = {}
        for bit, coordinates in enumerate(self.bases["register"]):
            basis = self.basis(coordinates)
            if basis is None:
                registers[-1 - bit, 0] = bit  # of another dimension: its own messages
            elif any(basis):
                registers.setdefault(basis, bit)
        return registers


@dataclass(frozen=True, slots=True)
class Fit:
    """A message that fits, and how."""

    shape: BlockShape
    row_step: int
    bits: tuple[int, ...]
    """The register bit of each value bit, after the swaps."""
    swaps: tuple[tuple[int, int], ...]
    messages: int
    """How many messages a warp needs."""


@lru_cache(maxsize=1024)
def plan(request: Request, io: BlockIO | None) -> BlockPlan | Refusal:
    """Return the cheapest plan for a tensor, or the reason why there is none."""
    if refusal := refuse_early(request, io):
        return refusal
    assert io is not None
    nearest = Refusal(
        Reason.LANES_ORDER,
        f"lanes hold {_show(request.lanes)}, (row, column) of memory",
    )
    best: tuple[float, Fit] | None = None
    for shape, step in candidates(request, io):
        found = fit(request, shape, step)
        if isinstance(found, Refusal):
            if NEARER[found.reason] > NEARER[nearest.reason]:
                nearest = found  # the first of its kind is the smallest message
        elif found is not None:
            cost = estimate(found, request, io)
            if best is None or cost < best[0]:
                best = cost, found
    return nearest if best is None else built(request, best[1])


def built(request: Request, found: Fit) -> BlockPlan:
    """Return the plan with a message that fits, which proves itself."""
    return BlockPlan(
        request.layout,
        request.row_dimension,
        request.contiguous,
        request.element_bits,
        found.shape,
        found.bits,
        found.row_step,
        found.swaps,
    )


def refuse_early(request: Request, io: BlockIO | None) -> Refusal | None:
    """Return why no message can fit, where that is plain without trying them."""
    if io is None:
        return Refusal(Reason.NO_BLOCK_IO, "it moves tensors lane by lane")
    if request.rank not in (2, 3):
        return Refusal(Reason.RANK, f"a tensor of rank {request.rank}")
    if request.contiguous not in (request.rank - 1, request.rank - 2):
        return Refusal(Reason.STRIDE, f"dimension {request.contiguous} is contiguous")
    if request.element_bits not in (8, 16, 32, 64):
        return Refusal(Reason.ELEMENT, f"elements of {request.element_bits} bits")
    for basis in request.bases["lane"]:
        if not any(basis):
            return Refusal(Reason.LANES_BROADCAST, f"lane basis {basis}")
        if request.basis(basis) is None:
            return Refusal(Reason.LANES_BATCH, f"lane basis {basis}")
    if request.store:
        free = {x: mask for x, mask in request.layout.free_masks().items() if mask}
        if free:
            several = " and ".join(
                f"{1 << mask.bit_count()} {x}s" for x, mask in free.items()
            )
            return Refusal(Reason.STORE_TWICE, f"{several} hold each element")
    return None


def candidates(request: Request, io: BlockIO) -> Iterator[tuple[BlockShape, int]]:
    """Yield the messages of the device that could move elements of this width."""
    bits = request.element_bits
    # Neighbours can be one wider element, where a lane holds them together.
    wide = tuple(x for x in (16, 32, 64) if x > bits)
    if request.store:
        yield from ((x, 1) for x in shapes(io.store, BlockMode.PLAIN, (bits, *wide)))
        return
    yield from ((x, 1) for x in shapes(io.load, BlockMode.PLAIN, (bits,)))
    yield from ((x, 1) for x in shapes(io.transform, BlockMode.TRANSFORM, (bits,)))
    wider = tuple(x for x in (32, 64) if x >= bits)
    transposes = shapes(io.transpose, BlockMode.TRANSPOSE, wider)
    yield from product(transposes, ROW_STEPS)
    yield from ((x, 1) for x in shapes(io.load, BlockMode.PLAIN, wide))


def shapes(
    table: tuple[BlockShapes, ...], mode: BlockMode, bits: tuple[int, ...]
) -> Iterator[BlockShape]:
    """Yield the messages of a table that have elements of one of these widths."""
    for row in table:
        if row.element_bits in bits:
            for height, count in product(row.heights, row.counts):
                if row.has(height, count):
                    yield BlockShape(row.element_bits, height, row.width, count, mode)


@lru_cache(maxsize=4096)
def message_bases(
    shape: BlockShape, lanes: int, packed: int, row_step: int
) -> tuple[tuple[Basis, ...], tuple[Basis, ...]] | None:
    """Return what the lane bits and the value bits of a message are.

    None where the message does not fill the lanes evenly, or its blocks are padded.
    """
    if shape.count > 1 and shape.bytes < shape.count * GRF_BYTES:
        return None
    slot = slot_bits(shape, lanes)
    if shape.bytes // shape.count * 8 % (lanes * slot):
        return None
    per_slot = slot // shape.bits
    first, end = lanes * per_slot, shape.elements

    def at(index: int) -> Basis:
        row, col = shape.element(index)
        return row * row_step, col * packed

    # The elements packed in one, the elements of a slot, the slots of a lane.
    values = [(0, x) for x in powers(1, packed)]
    values += [at(x) for x in powers(1, per_slot)]
    values += [at(first * x) for x in powers(1, end // first)]
    return tuple(at(x * per_slot) for x in powers(1, lanes)), tuple(values)


def fit(request: Request, shape: BlockShape, row_step: int) -> Fit | Refusal | None:
    """Return how a message fits, or why it does not; None where its lanes are others.

    From row to row of the message there are `row_step` rows of the tensor.
    """
    lanes, registers = request.lanes, request.registers
    packed = shape.bits // request.element_bits
    found = message_bases(shape, 1 << len(lanes), packed, row_step)
    if found is None:
        return None
    swaps = () if list(found[0]) == lanes else swap(list(found[0]), found[1], lanes)
    if swaps is None or (swaps and request.store):
        return None
    values = list(found[1])
    for lane_bit, value_bit in swaps:
        values[value_bit] = found[0][lane_bit]
    missing = [basis for basis in values if basis not in registers]
    # The steps between rows are messages of their own: they must be registers.
    missing += [(x, 0) for x in powers(1, row_step) if (x, 0) not in registers]
    if missing:
        return Refusal(Reason.REGISTERS, f"{shape} needs {_show(missing)}")
    bits = tuple(registers[basis] for basis in values)
    if refusal := masked(request, shape, row_step) or overlapping(
        request, shape, row_step, bits
    ):
        return refusal
    if refusal := unaligned(shape, packed, request.column):
        return refusal
    outer = [bit for bit in registers.values() if bit not in bits]
    return Fit(shape, row_step, bits, swaps, 1 << len(outer))


def swap(
    have: list[Basis], values: tuple[Basis, ...], want: list[Basis | None]
) -> tuple[tuple[int, int], ...] | None:
    """Return the one swap that gives the lanes what they are to hold, if any."""
    amiss = [bit for bit, (x, y) in enumerate(zip(have, want, strict=True)) if x != y]
    if len(amiss) != 1 or (wanted := want[amiss[0]]) not in values:
        return None
    assert wanted is not None
    return ((amiss[0], values.index(wanted)),)


def masked(request: Request, shape: BlockShape, row_step: int) -> Refusal | None:
    """Return why a mask does not allow a message."""
    packed = shape.bits // request.element_bits
    sizes = {
        request.row_dimension: shape.height * row_step,
        request.contiguous: shape.columns * packed,
    }
    for dimension, size in sizes.items():
        if dimension < len(request.constancy):
            constant = request.constancy[dimension]
            if constant is not None and constant % size:
                return Refusal(
                    Reason.MASK,
                    f"{size} elements of dimension {dimension} in {shape}, the mask "
                    f"is the same for {constant}",
                )
    return None


def overlapping(
    request: Request, shape: BlockShape, row_step: int, bits: tuple[int, ...]
) -> Refusal | None:
    """Return why messages do not begin at multiples of their size.

    Then an origin and a place within a message would not simply add up, and columns
    would not be aligned to 4 bytes, as messages have them.
    """
    outer = [x for bit, x in enumerate(request.bases["register"]) if bit not in bits]
    rows = (shape.height - 1) * row_step
    cols = shape.columns * shape.bits // request.element_bits - 1
    for basis in (*outer, *request.bases["warp"]):
        row, col = basis[request.row_dimension], basis[request.contiguous]
        if row & rows or col & cols:
            return Refusal(Reason.OVERLAP, f"{shape} at row {row}, column {col}")
    return None


def unaligned(shape: BlockShape, packed: int, column: int) -> Refusal | None:
    """Return why messages cannot begin at a column, which they count in their elements.

    Args:
        shape: of the messages.
        packed: elements of the tensor in one of theirs.
        column: what the column is known to be a multiple of.
    """
    if column % packed == 0:
        return None
    what = f"a column that is a multiple of {column}, as far as is known"
    return Refusal(Reason.POSITION, f"{what}, expected {packed} for {shape}")


def estimate(found: Fit, request: Request, io: BlockIO) -> float:
    """Return about how many instructions a plan takes."""
    payload = 1 if io.immediate_offsets else 3
    cost = found.messages * (1.0 + payload) + found.row_step - 1
    lanes = request.layout.in_sizes["lane"]
    bits = found.messages * (1 << len(found.bits)) * lanes * request.element_bits
    registers = bits / GRF_BITS
    run = range(min(request.run.bit_length() - 1, len(found.bits)))
    channel = request.channel_bits
    if any(found.bits[bit] != bit for bit in run) or (
        channel and slot_bits(found.shape, lanes) != channel
    ):
        cost += registers
    return cost + 2 * registers * len(found.swaps)


def _show(bases: list[Basis | None] | list[Basis]) -> str:
    return " ".join(str(basis).replace(" ", "") for basis in bases)
