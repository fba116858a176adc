r"""2D block messages: what one moves, which slots it fills, which surfaces it reads.

A subgroup moves `count` blocks of `height` rows and `width` elements that lie side by
side in memory: element (r, c) of the message is at row y + r and column x + c of the
surface, c counted over all blocks.  What a load returns is one sequence G of elements,
spread over registers and lanes: with slots of s elements, register k of lane l holds
G[(k * lanes + l) * s ... + s - 1].  Three modes fill G:

    plain       block after block, row after row                 for b: for r: for c
    transform   f = 32 / bits rows together (VNNI)      for b: for r / f: for c: f rows
    transpose   column after column                              for c: for r

For example 16-bit elements, 2 rows and 4 columns over 4 lanes, 32-bit slots:

    mode        lane 0       lane 1       lane 2       lane 3
    plain       (0,0)(0,1)   (0,2)(0,3)   (1,0)(1,1)   (1,2)(1,3)
    transform   (0,0)(1,0)   (0,1)(1,1)   (0,2)(1,2)   (0,3)(1,3)

and 32-bit elements, 4 rows and 2 columns, transposed, over 4 lanes:

    register 0  (0,0)        (1,0)        (2,0)        (3,0)
    register 1  (0,1)        (1,1)        (2,1)        (3,1)

Elements outside the surface are 0 in a load and not written by a store.

How wide a slot is, the compiler decides, not the program: with bits b and width w of a
block and S lanes,

    mode                  slot bits
    plain, transpose      b * max(1, w / S)
    transform             32

so that 16 lanes get 16-bit slots of rows of 16 f16, but 32-bit slots, two neighbours in
each, of rows of 32.  A vector of any other width would be another arrangement of the
elements: nobody can reinterpret one as the other without moving them between lanes.

A block of less than a register, 64 bytes, is padded to one.  `BlockShape.slots` knows
no padding, so a message of several such blocks is refused.

Laws (test/unit/plan/test_block_message.py checks each by its name):

    cover       G holds each element of the message once
    slots       the slots of all lanes, in order, are G
    element     an element of G by its number is the one that is there
    pairs       a 32-bit slot of a transform holds one column, of f rows from r on

Sources: Intel's SPV_INTEL_2d_block_io; for what is placed where, the layouts that
Triton's Intel back end and Intel's compiler agree on for every DPAS operand; for slots
Intel's graphics compiler, Subgroup2DBlockIoResolution.cpp (`getOverloadedType`), and
2.40.14 tried on every block that BMG and PVC load, by 16 and by 32 lanes: in these
slots none goes through memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from math import gcd
from typing import Literal, TypeAlias

from coopc.device import BlockIO, BlockKind, BlockShapes, Device
from coopc.diagnostic import either
from coopc.interface import Condition
from coopc.plan.refusal import Reason, Refusal

CHANNEL_BITS = 32
BITS = (8, 16, 32, 64)
GRF_BYTES = 64
"""A register of the devices that have 2D block messages."""


class BlockMode(Enum):
    """How a load fills the registers."""

    PLAIN = "plain"
    TRANSFORM = "transform"
    """Rows are interleaved so that 32 bits hold neighbours along a column (VNNI)."""
    TRANSPOSE = "transpose"


@dataclass(frozen=True, slots=True)
class BlockShape:
    """What one 2D block message moves.

    >>> str(BlockShape(16, 32, 16, 2, BlockMode.TRANSFORM))
    '16 bits, 32x16x2, transform'
    """

    bits: int
    """Width of an element: 8, 16, 32 or 64."""
    height: int
    """Rows of a block, a power of two."""
    width: int
    """Elements of a row of one block, a power of two."""
    count: int = 1
    """Blocks side by side: 1, 2 or 4."""
    mode: BlockMode = BlockMode.PLAIN

    def __post_init__(self) -> None:
        if self.bits not in BITS:
            raise ValueError(f"expected elements of {BITS} bits, got {self.bits}")
        for name in ("height", "width", "count"):
            size: int = getattr(self, name)
            if size < 1 or size & (size - 1):
                raise ValueError(
                    f"expected a {name} that is a power of two, got {size}"
                )
        if self.mode is BlockMode.TRANSFORM:
            factor = CHANNEL_BITS // self.bits
            if factor not in (2, 4) or self.height % factor:
                raise ValueError(
                    "expected 8-bit elements in rows of 4, or 16-bit ones in rows of "
                    f"2, which a transform packs, got {self.height} rows of "
                    f"{self.bits} bits"
                )
        if self.mode is BlockMode.TRANSPOSE and self.count != 1:
            raise ValueError(f"expected one block to transpose, got {self.count}")

    def __str__(self) -> str:
        size = f"{self.bits} bits, {self.height}x{self.width}x{self.count}"
        return size if self.mode is BlockMode.PLAIN else f"{size}, {self.mode.value}"

    @property
    def columns(self) -> int:
        """Elements of a row, all blocks together."""
        return self.width * self.count

    @property
    def elements(self) -> int:
        return self.height * self.columns

    @property
    def row_bytes(self) -> int:
        """Bytes of a row, all blocks together."""
        return self.columns * self.bits // 8

    @property
    def bytes(self) -> int:
        return self.elements * self.bits // 8

    @property
    def slot_bits(self) -> int:
        """Width of the narrowest slots that a load fills: 32 where it packs."""
        return CHANNEL_BITS if self.mode is BlockMode.TRANSFORM else self.bits

    def element(self, index: int) -> tuple[int, int]:
        """Return the (row, column) of an element of G, by its number.

        >>> BlockShape(16, 2, 4, 1, BlockMode.TRANSFORM).element(3)
        (1, 1)
        """
        return _sequence(self)[index]

    def slots(self, lanes: int, slot_bits: int) -> list[list[list[tuple[int, int]]]]:
        """Return which elements each slot holds.

        Args:
            lanes: the subgroup size.
            slot_bits: width of a slot, a multiple of `bits`.

        Returns:
            By register, lane and element of a slot the (row, column) in the message.

        Raises:
            ValueError: the slots of all lanes are not filled evenly.
        """
        per_slot = slot_bits // self.bits
        if slot_bits % self.bits or self.elements % (lanes * per_slot):
            raise ValueError(
                f"{self.elements} elements of {self.bits} bits do not fill slots of "
                f"{slot_bits} bits in {lanes} lanes evenly"
            )
        sequence = _sequence(self)
        slots = [
            [*sequence[x : x + per_slot]] for x in range(0, len(sequence), per_slot)
        ]
        return [slots[x : x + lanes] for x in range(0, len(slots), lanes)]


@cache
def _sequence(shape: BlockShape) -> tuple[tuple[int, int], ...]:
    """Return G: the (row, column) of each element, in the order of the registers."""
    rows, cols, height = range(shape.height), range(shape.width), shape.height
    if shape.mode is BlockMode.TRANSPOSE:
        return tuple((row, col) for col in cols for row in rows)
    factor = CHANNEL_BITS // shape.bits if shape.mode is BlockMode.TRANSFORM else 1
    return tuple(
        (row + part, block * shape.width + col)
        for block in range(shape.count)
        for row in range(0, height, factor)
        for col in cols
        for part in range(factor)
    )


LOAD_KINDS: dict[BlockMode, BlockKind] = {
    BlockMode.PLAIN: "load",
    BlockMode.TRANSFORM: "transform",
    BlockMode.TRANSPOSE: "transpose",
}
"""The instruction that loads in each mode."""


def slot_bits(shape: BlockShape, lanes: int) -> int:
    """Return how wide the slots are in which a block arrives, in bits.

    >>> slot_bits(BlockShape(16, 8, 32), 16), slot_bits(BlockShape(16, 8, 16), 16)
    (32, 16)
    """
    if shape.mode is BlockMode.TRANSFORM:
        return shape.slot_bits
    return shape.slot_bits * max(1, shape.width // lanes)


def why_no_message(
    kind: BlockKind, shape: BlockShape, device: Device, lanes: int
) -> str | None:
    """Return the reason why a device has no such message, or None."""
    if device.block_io is None:
        return f"{device.name} has no 2D block messages"
    if device.dpas is not None and lanes < device.dpas.lanes:
        return (
            f"expected a subgroup of {device.dpas.lanes} or more lanes, which "
            f"{device.name} has, got {lanes}"
        )
    if not device.block_io.has(
        kind, shape.bits, shape.width, shape.height, shape.count
    ):
        return _unknown_shape(kind, shape, device.name, device.block_io)
    if kind == "prefetch":
        return None
    block_bytes = shape.bytes // shape.count
    row_bytes = lanes * slot_bits(shape, lanes) // 8
    if block_bytes % row_bytes:
        return (
            f"expected a block of a multiple of {row_bytes} bytes, a slot of each of "
            f"{lanes} lanes, got {block_bytes} of {shape}"
        )
    if shape.count > 1 and block_bytes < GRF_BYTES and shape.height > 1:
        return (
            f"expected blocks of at least {GRF_BYTES} bytes, a register, where there "
            f"are {shape.count}, got {block_bytes} of {shape}"
        )
    return None


def why_not_slots(shape: BlockShape, bits: int, slots: int, lanes: int) -> str | None:
    """Return the reason why a block does not arrive in such slots, or None.

    A lane gets `slots` of so many bits, in all pieces.
    """
    if bits != (expected := slot_bits(shape, lanes)):
        return (
            f"expected pieces of i{expected}, in which {lanes} lanes get {shape}, got "
            f"i{bits}: the elements of a slot would be those of other lanes"
        )
    if slots != (expected := shape.bytes * 8 // (lanes * bits)):
        return (
            f"expected {expected} slots of {bits} bits, which each of {lanes} lanes "
            f"gets of {shape}, got {slots}"
        )
    return None


def _unknown_shape(
    kind: BlockKind, shape: BlockShape, name: str, block_io: BlockIO
) -> str:
    """Return what a device has instead of a shape that it lacks."""
    table = block_io.shapes(kind)
    entries = [x for x in table if x.element_bits == shape.bits]
    same = [x for x in entries if x.width == shape.width]
    if not entries:
        widths = sorted({x.element_bits for x in table})
        has = f"elements of {either(widths)} bits"
    elif not same:
        has = f"rows of {either([x.width for x in entries])} elements"
    else:
        has = "; or ".join(_counts(x) for x in same)
    verb = f"load and {kind}" if kind in ("transform", "transpose") else kind
    return f"expected {has}, as {name} can {verb}, got {shape}"


def _counts(entry: BlockShapes) -> str:
    """Return which blocks of a width there are."""
    many = [count for count in entry.counts if count > 1]
    if entry.heights_if_many is None or not many:
        counts = "1 block" if not many else f"{either(entry.counts)} blocks"
        return f"{counts} of {either(entry.heights)} rows"
    return (
        f"1 block of {either(entry.heights)} rows; or {either(many)} of "
        f"{either(entry.heights_if_many)} rows"
    )


# Surfaces: what memory must be like for messages to be right.  What a kernel knows when
# it is compiled is checked then; what it is told when it is called becomes a condition,
# for the host to check.

Part: TypeAlias = Literal["base", "width", "height", "pitch"]

_REASONS: dict[Part, Reason] = {
    "base": Reason.BASE,
    "width": Reason.WIDTH,
    "height": Reason.WIDTH,
    "pitch": Reason.PITCH,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """What one number of a surface must be."""

    part: Part
    """Which; all are in bytes, but the height, in rows."""
    multiple_of: int = 1
    at_least: int = 0
    less_than: int | None = None

    def violated(self, value: int) -> str | None:
        """Return why a number is not allowed, or None.

        >>> Rule("pitch", 16, 64).violated(100)
        'expected a pitch that is a multiple of 16, got 100'
        """
        if value % self.multiple_of:
            wanted = f"a multiple of {self.multiple_of}"
        elif value < self.at_least:
            wanted = f"at least {self.at_least}"
        elif self.less_than is not None and value >= self.less_than:
            wanted = f"less than {self.less_than}"
        else:
            return None
        return f"expected a {self.part} that is {wanted}, got {value}"

    def follows_from(self, condition: Condition) -> bool:
        """Whether a number that meets a condition, in the same unit, is allowed.

        >>> Rule("pitch", 8, 32).follows_from(Condition("size", 0, 1, 16, at_least=32))
        True
        """
        most, below = self.less_than, condition.less_than
        return (
            condition.multiple_of % self.multiple_of == 0
            and (condition.at_least or 0) >= self.at_least
            and (most is None or (below is not None and below <= most))
        )

    def in_units(self, size: int) -> Rule:
        """Return the rule for the number in units of some bytes.

        >>> Rule("pitch", 16, 64, 1 << 24).in_units(4)
        Rule(part='pitch', multiple_of=4, at_least=16, less_than=4194304)
        """
        return Rule(
            self.part,
            self.multiple_of // gcd(self.multiple_of, size),
            -(-self.at_least // size),
            None if self.less_than is None else -(-self.less_than // size),
        )


def rules(io: BlockIO, step: int = 1) -> Iterator[Rule]:
    """Yield the rules of a device.

    Args:
        io: its messages.
        step: rows from one row of a message to the next: the pitch is so many times
            that of the matrix.
    """
    most = io.max_surface_bytes + 1
    yield Rule("base", io.base_alignment)
    yield Rule("width", io.width_alignment, io.min_surface_width_bytes, most)
    yield Rule("height", 1, 0, most)
    yield Rule("pitch", io.pitch_alignment, io.min_surface_width_bytes, most // step)


def refuse_surface(io: BlockIO, known: dict[Part, int]) -> Refusal | None:
    """Return why a surface of which some numbers are known is none, or None."""
    for rule in rules(io):
        if rule.part in known and (reason := rule.violated(known[rule.part])):
            return Refusal(_REASONS[rule.part], reason)
    width, pitch = known.get("width"), known.get("pitch")
    if width is not None and pitch is not None and pitch < width:
        detail = f"expected a pitch of at least the width, {width} bytes, got {pitch}"
        return Refusal(Reason.PITCH, detail)
    return None
