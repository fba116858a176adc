"""Simulation of `xe`: 2D blocks, and where their elements are in the slots of lanes.

What is undefined on the hardware is an error: surfaces that break its rules, elements
inside of a surface but outside of the memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, i8
from xdsl.ir import Attribute

from coopc.device.block_io import XE2_BLOCK_IO
from coopc.dialects import xe
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.xe import ALIGNMENT, SPLIT_LANES
from coopc.layout.dpas import CHANNEL_BITS, SYSTOLIC_DEPTH, DpasEncoding
from coopc.layout.encodings import Operand
from coopc.plan.block_message import BlockShape, rules
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import implements, nothing
from coopc.sim.machine import Machine
from coopc.sim.memory import MemRef, check_aligned, in_elements
from coopc.sim.numerics import Numerics, from_bf16
from coopc.sim.values import (
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    nibbles,
    trailing,
)

COLUMN_ALIGNMENT = 4
"""Of where a block begins in a row, in bytes."""


class BlockAddress(NamedTuple):
    """A matrix in memory, and the position of a block in it."""

    memory: MemRef
    x: Array
    y: Array
    width: Array
    """In bytes, as the pitch."""
    height: Array
    pitch: Array


@dataclass(eq=False, slots=True)
class Payload:
    """It is written in place."""

    surface: BlockAddress
    shape: BlockShape


implements(xe.BlockPrefetch2DOp, xe.PayloadPrefetchOp)(nothing)


@implements(xe.BlockLoad2DOp)
def block_load_2d(
    machine: Machine, op: xe.BlockLoad2DOp, memory: MemRef, *numbers: Array
) -> tuple[Array, ...]:
    return _loaded(machine, op, op.block.data, BlockAddress(memory, *numbers))


@implements(xe.BlockStore2DOp)
def block_store_2d(machine: Machine, op: xe.BlockStore2DOp, *args: Any) -> None:
    width, _ = xe.slots_of(op.pieces)
    pieces, surface = args[: len(op.pieces)], BlockAddress(*args[len(op.pieces) :])
    places, inside = _places(machine, op.block.data, surface, width)
    whole = np.concatenate(
        [np.broadcast_to(x, (*machine.shape, x.shape[-1])) for x in pieces], axis=-1
    )
    bytes = np.ascontiguousarray(whole)[..., None].view(np.int8)
    active = machine.and_active(inside)
    machine.store(bytes_of(surface.memory), [places], bytes, active)


@implements(xe.PayloadCreateOp)
def create(
    machine: Machine, op: xe.PayloadCreateOp, memory: MemRef, *numbers: Array
) -> Payload:
    return Payload(BlockAddress(memory, *numbers), xe.shape_of(op.result))


@implements(xe.PayloadAddXOp, xe.PayloadAddYOp, xe.PayloadSetXOp, xe.PayloadSetYOp)
def change_position(
    machine: Machine, op: xe.PayloadSetOp, payload: Payload, value: Array
) -> None:
    if op.adds:
        value = getattr(payload.surface, op.field) + value
    payload.surface = payload.surface._replace(**{op.field: value})


@implements(xe.PayloadLoadOp)
def payload_load(
    machine: Machine, op: xe.PayloadLoadOp, payload: Payload
) -> tuple[Array, ...]:
    surface = payload.surface
    x = surface.x + np.int32(op.dx.value.data)
    y = surface.y + np.int32(op.dy.value.data)
    return _loaded(machine, op, payload.shape, surface._replace(x=x, y=y))


def _loaded(
    machine: Machine,
    op: xe.BlockLoad2DOp | xe.PayloadLoadOp,
    shape: BlockShape,
    surface: BlockAddress,
) -> tuple[Array, ...]:
    """Return the pieces of a block, 0 for what is outside of the surface."""
    width, count = xe.slots_of(op.pieces)
    places, inside = _places(machine, shape, surface, width)
    active = machine.and_active(inside)
    bytes = machine.load(bytes_of(surface.memory), [places], active)
    slots = np.ascontiguousarray(bytes).view(f"i{width // 8}")[..., 0]
    return tuple(slots[..., n : n + count] for n in range(0, slots.shape[-1], count))


def _places(
    machine: Machine, shape: BlockShape, surface: BlockAddress, slot: int
) -> tuple[Array, Array]:
    """Return the byte in memory of each byte of the slots, and which are there.

    Both have shape (groups, subgroups, lanes, slots, bytes of a slot).

    Raises:
        UndefinedBehaviour: the surface breaks the rules.
    """
    machine.uniform_mask(SUBGROUP_AXIS, LANE_AXIS)
    check_surface(bytes_of(surface.memory).offset, surface, shape.bits)
    x, y, width, height, pitch = (
        trailing(each.astype(np.int64), 2) for each in surface[1:]
    )
    rows, columns = byte_slots(shape, machine.launch.subgroup_size, slot)
    row, column = y + rows, x * (shape.bits // 8) + columns
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    return row * pitch + column, inside


def check_surface(base: Array, surface: BlockAddress, bits: int) -> None:
    """Check the rules of surfaces, and where a block of elements begins.

    Raises:
        UndefinedBehaviour: one is broken.
    """
    _, x, _, width, height, pitch = surface
    column = x.astype(np.int64) * (bits // 8)
    # A base may be in front of where an argument begins, as far as it is aligned.
    base = np.abs(base)
    numbers = {"base": base, "width": width, "height": height, "pitch": pitch}
    for rule in rules(XE2_BLOCK_IO):  # which are those of all devices
        for number in np.unique(numbers[rule.part]).tolist():
            if (reason := rule.violated(number)) is not None:
                raise UndefinedBehaviour(f"surface: {reason}")
    for holds, what, found in (
        (pitch >= width, "a pitch no less than the width of its surface", pitch),
        (
            column % COLUMN_ALIGNMENT == 0,
            f"a block at a multiple of {COLUMN_ALIGNMENT} bytes in its row",
            column,
        ),
    ):
        if not holds.all():
            got = np.broadcast_to(found, holds.shape)[~holds].flat[0]
            raise UndefinedBehaviour(f"expected {what}, got {got}")


@cache
def byte_slots(shape: BlockShape, lanes: int, slot: int) -> tuple[Array, Array]:
    """Return row and byte column, from x and y on, of each byte of the slots.

    Both have shape (lanes, slots, bytes of a slot).
    """
    slots = np.array(shape.slots(lanes, slot)).swapaxes(0, 1)
    each = shape.bits // 8
    row, column = slots[..., 0], slots[..., 1]
    rows = np.repeat(row, each, axis=-1)
    columns = np.repeat(column * each, each, axis=-1)
    within = np.tile(np.arange(each), row.shape[-1])
    return rows, columns + within


def bytes_of(memory: MemRef) -> MemRef:
    """Return memory as its bytes, in a row."""
    return in_elements(replace(memory, sizes=(), strides=()), i8)


# `xe.block_load`: slots that follow each other.  Bytes of memory move as they are:
# bounds of the errors of floats are lost.


@implements(xe.BlockLoadOp)
def block_load(
    machine: Machine, op: xe.BlockLoadOp, memory: MemRef, offset: Array, *guard: Array
) -> Array:
    machine.uniform_mask(LANE_AXIS)
    offset = machine.agreed(offset, "the offset", LANE_AXIS)
    guard = tuple(machine.agreed(each, "the guard", LANE_AXIS) for each in guard)
    read = machine.and_active(guard[0] if guard else None)
    bytes, width = bytes_of(memory), op.slot_bits // 8
    start = offset.view(np.uint32).astype(np.int64)
    check_aligned(bytes, [start], read, ALIGNMENT)
    places = slot_places(start, (op.slots, width), machine.launch.subgroup_size)
    places = places[..., None] + np.arange(width)
    found = machine.load(bytes, [places], None if read is None else trailing(read, 2))
    return np.ascontiguousarray(found).view(f"i{width}")[..., 0]


def slot_places(start: Array, slots: tuple[int, int], lanes: int) -> Array:
    """Return the first byte of each slot: (groups, subgroups, lanes, slots).

    `slots` is how many there are of a lane, and the bytes of each.

    >>> slot_places(np.array([[[64]]]), (2, 4), 4).tolist()
    [[[[64, 80], [68, 84], [72, 88], [76, 92]]]]
    """
    count, width = slots
    lane, slot = np.arange(lanes)[:, None], np.arange(count)
    return start[..., None] + width * (slot * lanes + lane)


# Simulation of `xe`: DPAS, of one subgroup and of a pair.
#
# The matrices of a subgroup are gathered from its lanes, multiplied, and the result is
# spread again.  Packed operands are bits: they have lost the bounds of their errors,
# and only those of the accumulator and of the product are tracked.  Elements of 4 bits
# are gathered as bytes, and then taken apart: the even ones along K are the low halves.
#
#     split DPAS of subgroups 2 i and 2 i + 1, M = 4, registers of a by number
#
#                         gives   gets of a     multiplies by
#     subgroup 2 i        p q     p q r s       its own b
#     subgroup 2 i + 1    r s     p q r s       its own b
#
# What is undefined on the hardware is an error: lanes, or one of a pair of subgroups,
# that do not execute it.

BYTE_BITS = 8
ROW_BITS = SYSTOLIC_DEPTH * CHANNEL_BITS
"""Of a row of a."""
PAIR = 2
"""Subgroups that share a: 2 i and 2 i + 1."""
TF32_DROPPED = 13
"""The low bits of an f32 that a tf32 has not."""

ELEMENTS: dict[xe.Precision, Attribute] = {
    xe.Precision.F16: Float16Type(),
    xe.Precision.BF16: BFloat16Type(),
    xe.Precision.TF32: Float32Type(),
}


@implements(xe.SplitDpasOp)
def split_dpas(
    machine: Machine, op: xe.SplitDpasOp, a: Array, b: Array, c: Array
) -> Array:
    """Put the rows of a pair together, and let each multiply them."""
    _check_pairs(machine)
    subgroups = machine.launch.subgroups
    groups, _, lanes, rows = a.shape
    halves = np.broadcast_to(a, (groups, subgroups, lanes, rows))
    pairs = halves.reshape(groups, subgroups // PAIR, PAIR, lanes, rows)
    whole = np.concatenate([pairs[:, :, 0], pairs[:, :, 1]], axis=-1)
    return dpas(machine, op, np.repeat(whole, PAIR, axis=SUBGROUP_AXIS), b, c)


def _check_pairs(machine: Machine) -> None:
    """Check that whole pairs of subgroups of 8 lanes execute it.

    Raises:
        UndefinedBehaviour: they do not.
    """
    if (lanes := machine.launch.subgroup_size) != SPLIT_LANES:
        raise UndefinedBehaviour(
            f"expected subgroups of {SPLIT_LANES} lanes for split DPAS, got {lanes}"
        )
    if (subgroups := machine.launch.subgroups) % PAIR:
        raise UndefinedBehaviour(
            f"expected pairs of subgroups for split DPAS, got {subgroups}"
        )
    mask = machine.uniform_mask(LANE_AXIS)
    if mask is None or mask.shape[SUBGROUP_AXIS] == 1:
        return
    alone = mask[:, ::PAIR, 0] != mask[:, 1::PAIR, 0]
    if alone.any():
        first = PAIR * int(np.argwhere(alone)[0, 1])
        raise UndefinedBehaviour(
            f"expected both subgroups of a pair to execute split DPAS, got one of "
            f"{first} and {first + 1}"
        )


@implements(xe.DpasOp)
def dpas(
    machine: Machine, op: xe.DpasOp | xe.SplitDpasOp, a: Array, b: Array, c: Array
) -> Array:
    """Gather the matrices of the subgroup, multiply, and spread the result."""
    machine.uniform_mask(LANE_AXIS)
    precisions, repeat = op.precisions, op.repeat.value.data
    lanes = machine.launch.subgroup_size
    encoding = encoding_of(precisions[0], lanes, repeat)
    # Where lanes hold more rows of a than there are, the last ones mean nothing.
    held = a.shape[-1] * a.dtype.itemsize * BYTE_BITS * lanes // ROW_BITS
    encoding_of_a = encoding_of(precisions[0], lanes, max(repeat, held))
    left = operand(encoding_of_a, "a", a, precisions[0])[..., :repeat, :]
    right = operand(encoding, "b", b, precisions[1])
    addend = matrix(encoding, "c", c)
    type = element_of(op.c.type)
    if precisions[0].is_integer:
        wide = (x.astype(np.int32) for x in (left, right))
        product = np.matmul(*wide) + addend
    else:
        types = (ELEMENTS[precisions[0]], ELEMENTS[precisions[1]], type, type)
        numerics = machine.numerics
        product = numerics.multiply_add((left, right, addend), types)
    rows, cols = tile(encoding, "c")
    return product[:, :, 0][..., rows, cols].swapaxes(-1, -2)


@cache
def encoding_of(precision: xe.Precision, lanes: int, repeat: int) -> DpasEncoding:
    """Return how lanes hold operands, elements of 4 bits two by two."""
    bits = max(precision.bits, BYTE_BITS)
    return DpasEncoding.of(bits, lanes, repeat_count=repeat)


def operand(
    encoding: DpasEncoding, which: Operand, packed: Array, precision: xe.Precision
) -> Array:
    """Return the matrix a or b: (groups, subgroups, 1, rows, columns)."""
    found = matrix(encoding, which, numbers(packed, precision))
    if precision.bits == BYTE_BITS // 2:
        is_signed = precision is xe.Precision.S4
        return nibbles(found, -1 if which == "a" else -2, is_signed)
    return found


def numbers(packed: Array, precision: xe.Precision) -> Array:
    """Return the elements that integers hold, low bits first; of 4 bits, bytes."""
    packed = np.ascontiguousarray(packed)
    match precision:
        case xe.Precision.F16:
            return packed.view(np.float16)
        case xe.Precision.BF16:
            return from_bf16(packed.view(np.uint16))
        case xe.Precision.TF32:
            return Numerics().cut(packed.view(np.float32), TF32_DROPPED)
        case xe.Precision.S8:
            return packed.view(np.int8)
        case xe.Precision.U8 | xe.Precision.S4 | xe.Precision.U4:
            return packed.view(np.uint8)


@cache
def tile(encoding: DpasEncoding, operand: Operand) -> tuple[Array, Array]:
    """Return row and column of each register and lane of an operand."""
    row, column = encoding.tile(operand).table().values()
    return row, column


def matrix(encoding: DpasEncoding, operand: Operand, values: Array) -> Array:
    """Return the matrix that lanes hold: (groups, subgroups, 1, rows, columns)."""
    rows, columns = tile(encoding, operand)
    lanes = rows.shape[1]
    values = np.broadcast_to(values, (*values.shape[:2], lanes, values.shape[-1]))
    shape = (*values.shape[:2], 1, *encoding.tile_shape(operand))
    found = np.zeros(shape, values.dtype)
    found[:, :, 0][..., rows, columns] = values.swapaxes(-1, -2)
    return found
