"""Block messages: whether a device takes a block shape, and in which slots it arrives.

A load gives each lane a vector of slots.  How wide a slot is, the compiler decides, not
the program: with bits b and width w of a block and S lanes,

    mode                  slot bits
    plain, transpose      b * max(1, w / S)
    transform             32

so that 16 lanes get 16-bit slots of rows of 16 f16, but 32-bit slots, two neighbours in
each, of rows of 32.  A vector of any other width would be another arrangement of the
elements: nobody can reinterpret one as the other without moving them between lanes.

A block of less than a register, 64 bytes, is padded to one.  `BlockShape.slots` knows
no padding, so a message of several such blocks is refused.

Sources: Intel's graphics compiler, Subgroup2DBlockIoResolution.cpp
(`getOverloadedType`), and 2.40.14 tried on every block that BMG and PVC load, by 16
and by 32 lanes: in these slots none goes through memory.
"""

from collections.abc import Sequence

from coopc.device import BlockIO, BlockKind, BlockShapes, Device
from coopc.plan.block_shape import CHANNEL_BITS, GRF_BYTES, BlockMode, BlockShape

LOAD_KINDS: dict[BlockMode, BlockKind] = {
    BlockMode.PLAIN: "load",
    BlockMode.TRANSFORM: "transform",
    BlockMode.TRANSPOSE: "transpose",
}
"""The instruction that loads in each mode."""

_VERBS = {
    "load": "load",
    "transform": "load and transform",
    "transpose": "load and transpose",
    "prefetch": "prefetch",
    "store": "store",
}


def slot_bits(shape: BlockShape, lanes: int) -> int:
    """Return how wide the slots are in which a block arrives, in bits.

    >>> slot_bits(BlockShape(16, 8, 32), 16), slot_bits(BlockShape(16, 8, 16), 16)
    (32, 16)
    """
    if shape.mode is BlockMode.TRANSFORM:
        return CHANNEL_BITS
    return shape.bits * max(1, shape.width // lanes)


def why_not(
    kind: BlockKind, shape: BlockShape, device: Device, lanes: int
) -> str | None:
    """Return the reason why a device has no such message, or None.

    Args:
        kind: the instruction.
        shape: what it moves.
        device: the device.
        lanes: the subgroup size.
    """
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
    return _uneven(shape, lanes)


def why_not_slots(shape: BlockShape, bits: int, lanes: int) -> str | None:
    """Return the reason why a block has no slots of that width, or None.

    Args:
        shape: what is moved.
        bits: width of a slot that is asked for.
        lanes: the subgroup size.
    """
    if bits == (expected := slot_bits(shape, lanes)):
        return None
    return (
        f"expected pieces of i{expected}, in which {lanes} lanes get {shape}, got "
        f"i{bits}: the elements of a slot would be those of other lanes"
    )


def _uneven(shape: BlockShape, lanes: int) -> str | None:
    """Return why a block does not fill the slots of all lanes, or None."""
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


def _unknown_shape(
    kind: BlockKind, shape: BlockShape, name: str, block_io: BlockIO
) -> str:
    """Return what a device has instead of a shape that it lacks."""
    table: dict[BlockKind, tuple[BlockShapes, ...]] = {
        "load": block_io.load,
        "transform": block_io.transform,
        "transpose": block_io.transpose,
        "prefetch": block_io.prefetch,
        "store": block_io.store,
    }
    entries = [x for x in table[kind] if x.element_bits == shape.bits]
    same = [x for x in entries if x.width == shape.width]
    if not entries:
        widths = sorted({x.element_bits for x in table[kind]})
        has = f"elements of {_any_of(widths)} bits"
    elif not same:
        has = f"rows of {_any_of([x.width for x in entries])} elements"
    else:
        has = "; or ".join(_counts(x) for x in same)
    return f"expected {has}, as {name} can {_VERBS[kind]}, got {shape}"


def _counts(entry: BlockShapes) -> str:
    """Return which blocks of a width there are."""
    many = [count for count in entry.counts if count > 1]
    if entry.heights_if_many is None or not many:
        counts = "1 block" if not many else f"{_any_of(entry.counts)} blocks"
        return f"{counts} of {_any_of(entry.heights)} rows"
    return (
        f"1 block of {_any_of(entry.heights)} rows; or {_any_of(many)} of "
        f"{_any_of(entry.heights_if_many)} rows"
    )


def _any_of(numbers: Sequence[int]) -> str:
    """Return numbers as a phrase."""
    *most, last = map(str, numbers)
    return f"{', '.join(most)} or {last}" if most else last
