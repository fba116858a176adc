r"""Plans of 2D block messages: which messages bring a tensor into its layout.

A tensor in a linear layout L has, for each warp (a subgroup), registers times lanes
elements.  A plan moves them with messages of one `BlockShape`, one behind the other:
message m is at the origin

    origin(m, warp) = L(register = m's first register, lane = 0, warp)

and its values land where the hardware puts them.  A message is a linear layout too: its
value bits are, low ones first, the elements packed in one element of the message, the
elements of a slot, the slots.  Value bit i of every message is register bit `bits[i]`
of L; the other register bits, where their basis is not zero, number the messages:

    register bits with a zero basis        the same element again: no message
    register bits in `bits`                within a message
    the others                             which message

For example A of f16, 256 x 32, the first operand in the layout document: register bits
(1,0) (2,0) (4,0) (8,0) (16,0) (0,16), all of them within one message of 32 rows and two
blocks of 16 columns; the messages of the warps are 32 rows apart.

A tensor of narrow elements may be read by wider ones: `packed` elements that are
neighbours in memory are one element of the message, if the column where the tensor
begins is a multiple of so many.  With `row_step` s, a message takes every s-th row: its
surface begins at one of the first s rows and has s times the pitch.  With `swaps`, a
lane bit and a value bit of each message change places after it has arrived, by a
butterfly of shuffles: lanes that differ in the bit exchange half of their values.

Laws (test/unit/plan/test_block2d.py checks each by its name):

    placement   every register of every lane and warp is the element that L says
    once        no two messages of a warp have one origin
    covered     the messages of all warps read what L holds, and no more
    device      the device has the message

A plan proves the first two itself, when it is built: the messages are simulated on
(row, column) tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import TypeAlias

from coopc.layout.linear import LinearLayout, powers
from coopc.plan.block_message import CHANNEL_BITS, BlockMode, BlockShape, slot_bits

Place: TypeAlias = tuple[int, int]
"""Row and column."""


@dataclass(frozen=True)
class BlockPlan:
    """The messages that move one tensor, for each warp."""

    layout: LinearLayout
    """From register, lane and warp to the dimensions of the tensor."""
    rows: int
    """The dimension of the tensor that is rows in memory, by number."""
    cols: int
    """The dimension of the tensor that is contiguous in memory, by number."""
    element_bits: int
    """Width of an element of the tensor."""
    shape: BlockShape
    """Of every message."""
    bits: tuple[int, ...]
    """The register bit of each value bit of a message."""
    row_step: int = 1
    """Rows of the tensor from one row of a message to the next, a power of two."""
    swaps: tuple[tuple[int, int], ...] = ()
    """(lane bit, value bit) that change places once a message has arrived."""

    def __post_init__(self) -> None:
        if self.shape.bits % self.element_bits:
            raise ValueError(
                f"expected messages of a multiple of {self.element_bits} bits, "
                f"got {self.shape.bits}"
            )
        self._prove()

    @property
    def lanes(self) -> int:
        return self.layout.in_sizes.get("lane", 1)

    @property
    def registers(self) -> int:
        """Elements of the tensor that one lane holds."""
        return self.layout.in_sizes["register"]

    @property
    def packed(self) -> int:
        """Elements of the tensor in one element of a message."""
        return self.shape.bits // self.element_bits

    @property
    def values(self) -> int:
        """Elements of the tensor that a message gives one lane."""
        return 1 << len(self.bits)

    @property
    def slot_bits(self) -> int:
        """Width of the slots that a message is taken in."""
        return slot_bits(self.shape, self.lanes)

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The first register of each message, in the order of the registers."""
        bases = self.layout.bases("register")
        outer = [
            1 << bit
            for bit, basis in enumerate(bases)
            if bit not in self.bits and any(basis)
        ]
        first: dict[int, int] = {}
        for register in sorted(map(sum, product(*((0, bit) for bit in outer)))):
            first.setdefault(self._places[register], register)
        return tuple(first.values())

    @cached_property
    def _places(self) -> list[int]:
        """The element of each register of lane 0 of warp 0, packed."""
        return self.layout.images("register")

    def origin(self, register: int, warp: int = 0) -> tuple[int, ...]:
        """Return the coordinates in the tensor of the message of a first register."""
        of_warp = self.layout.images("warp")[warp]
        return tuple(self.layout.unpack(self._places[register] ^ of_warp))

    @cached_property
    def sources(self) -> tuple[tuple[int, int], ...]:
        """The (message, value) that each register is, the same in every warp."""
        number = {self._places[first]: x for x, first in enumerate(self.firsts)}
        within = sum(1 << bit for bit in self.bits)
        return tuple(
            (
                number[self._places[register & ~within]],
                sum((register >> bit & 1) << x for x, bit in enumerate(self.bits)),
            )
            for register in range(self.registers)
        )

    def placement(self) -> list[list[Place]]:
        """Return row and column of each value and lane of a message, from its origin.

        They are in elements of the tensor; swaps are done.
        """
        found = placement(self.shape, self.lanes, self.packed, self.row_step)
        for lane_bit, value_bit in self.swaps:
            found = swapped(found, lane_bit, value_bit)
        return found

    def _prove(self) -> None:
        """Compare what the messages bring with the layout, everywhere.

        No origin, of any warp, has a bit in common with a place within a message.  So
        their sum is an exclusive or, and what holds for one warp holds for all.
        """
        bits = [width for _, width in self.layout.outs]
        row_at, col_at = (sum(bits[:x]) for x in (self.rows, self.cols))
        placed = self.placement()
        sizes = len(placed), len(placed[0])
        assert sizes == (self.values, self.lanes), (sizes, self)
        rows, cols = (1 << bits[x] for x in (self.rows, self.cols))
        assert all(r < rows and c < cols for x in placed for r, c in x), self
        within = [[(r << row_at) + (c << col_at) for r, c in x] for x in placed]
        span = 0
        for place in chain(*within):
            span |= place
        outside = [self._places[x] for x in self.firsts] + self.layout.images("warp")
        assert not any(x & span for x in outside), (
            f"{self} does not give sums without carries"
        )
        of_lanes = self.layout.images("lane")
        for register, (message, value) in enumerate(self.sources):
            origin, place = self._places[self.firsts[message]], self._places[register]
            found = [origin ^ x for x in within[value]]
            assert found == [place ^ x for x in of_lanes], (
                f"{self} does not give register {register}"
            )


def swapped(
    places: list[list[Place]], lane_bit: int, value_bit: int
) -> list[list[Place]]:
    """Return what is by value and lane with a bit of both indices exchanged."""

    def at(value: int, lane: int) -> Place:
        differ = (value >> value_bit ^ lane >> lane_bit) & 1
        return places[value ^ differ << value_bit][lane ^ differ << lane_bit]

    return [[at(value, x) for x in range(len(row))] for value, row in enumerate(places)]


def placement(
    shape: BlockShape, lanes: int, packed: int, row_step: int
) -> list[list[Place]]:
    """Return row and column of each value and lane, in elements of the tensor.

    Raises:
        ValueError: the message does not fill the lanes evenly.
    """
    return [
        [(row * row_step, col * packed + x) for row, col in lane_elements]
        for register in shape.slots(lanes, slot_bits(shape, lanes))
        for lane_elements in zip(*register, strict=True)
        for x in range(packed)
    ]


# The display of a plan: where the messages of a tensor bring its elements from.
#
# The layout document shows a load in three steps, each a linear layout into the memory
# of a tensor, (row, column):
#
#     offset       within one operand of DPAS, row after row
#     iteration    the operands that come with one message
#     load         the messages of a subgroup
#
# For example A of f16, 256 x 32, whose only message is of 32 x 32:
#
#     offset=1 -> (0, 1)  ..  offset=64 -> (4, 0)        8 x 16, an operand
#     iteration=1 -> (8, 0)  2 -> (16, 0)  4 -> (0, 16)  32 x 32
#
# Offsets and iterations count slots: where a message packs rows (VNNI) or columns (a
# transposed load of narrow elements), slot (r, c) is the elements from r times the
# factor on.  Loads count elements.
#
# The document's first listing of B has three iterations, of which (16, 0) does not
# exist, and its second has the load along N as (128, 0), which is (N, K) among (K, N);
# here B is in the order of memory throughout, (0, 16) (8, 0) and (0, 128).
#
# Laws (test/unit/plan/test_block2d.py checks each by its name):
#
#     size     with one load the sizes are those of the message, with more the tensor's
#     slots    slot (r, c) of what packs f rows is the rows r f .. r f + f - 1
#     union    what all loads of all subgroups bring is the tensor


@dataclass(frozen=True, slots=True)
class Display:
    """A plan, step by step."""

    offsets: tuple[Place, ...]
    """Bases of the slots of an operand."""
    iterations: tuple[Place, ...]
    """Bases of the operands of a message, in slots."""
    loads: tuple[Place, ...]
    """Bases of the messages of a subgroup, in elements."""
    factors: Place
    """Elements of a slot along rows and columns."""
    operand: Place
    """Slots of an operand."""
    message: Place
    """Slots of a message."""
    tensor: Place
    """Elements of the tensor in memory."""

    @property
    def sizes(self) -> Place:
        """The sizes after loads: of the message, or of the tensor."""
        return self.tensor if self.loads else self.message

    def __str__(self) -> str:
        """Return the text of the document."""
        blocks: list[str] = []
        lines: list[str] = []
        for name, after, bases, (rows, cols) in (
            ("offset", "", self.offsets, self.operand),
            ("iteration", " after adding iterations", self.iterations, self.message),
            ("load", " after adding loads", self.loads, self.sizes),
        ):
            lines += [
                f" {' ' if bit else '-'} {name}={1 << bit} -> {basis}"
                for bit, basis in enumerate(bases)
            ] or [f" - {name} is a size 1 dimension"]
            sizes = f"where out dims are: [dim0 (size {rows}), dim1 (size {cols})]"
            title = f"Block load tile layout{after}:"
            blocks.append("\n".join((title, *lines, sizes)))
        packed = [
            f"where a slot holds {factor} elements along dim{dimension}\n"
            for dimension, factor in enumerate(self.factors)
            if factor > 1
        ]
        return "\n\n".join(blocks) + "\n" + "".join(packed[:1])


def display_of(plan: BlockPlan, operand: tuple[int, int]) -> Display:
    """Return a plan step by step.

    Args:
        plan: of a tensor of rank 2.
        operand: rows and columns of one operand of DPAS, in elements of the tensor.

    Raises:
        ValueError: the tensor is of another rank.
    """
    layout, shape = plan.layout, plan.shape
    if len(layout.outs) != 2:
        raise ValueError(f"expected a tensor of rank 2, got {len(layout.outs)}")
    transformed = shape.mode is BlockMode.TRANSFORM
    factors = (CHANNEL_BITS // shape.bits if transformed else 1, plan.packed)
    step = plan.row_step
    size = (
        min(operand[plan.rows], shape.height * step),
        min(operand[plan.cols], shape.columns * plan.packed),
    )
    registers = [(x[plan.rows], x[plan.cols]) for x in layout.bases("register")]
    within = [registers[bit] for bit in sorted(plan.bits)]
    beyond = [x for x in within if x[0] >= size[0] or x[1] >= size[1]]
    outer = [x for bit, x in enumerate(registers) if bit not in plan.bits and any(x)]
    slots = (size[0] // factors[0], size[1] // factors[1])
    offsets = [(0, col) for col in powers(1, slots[1])]
    offsets += [(row, 0) for row in powers(step, slots[0])]
    rows, cols = layout.out_sizes.values()
    tensor = (rows, cols) if plan.rows == 0 else (cols, rows)
    return Display(
        tuple(offsets),
        tuple((row // factors[0], col // factors[1]) for row, col in beyond),
        tuple(dict.fromkeys(outer)),
        factors,
        slots,
        (
            shape.height * step // factors[0],
            shape.columns * plan.packed // factors[1],
        ),
        tensor,
    )
