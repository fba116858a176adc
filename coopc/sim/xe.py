"""Simulation of `xe`: 2D blocks, and where their elements are in the slots of lanes.

What is undefined on the hardware is an error: surfaces that break its rules, elements
inside of a surface but outside of the memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from xdsl.dialects.builtin import i8
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import SSAValue

from coopc.dialects import xe
from coopc.dialects.narrow import is_vector
from coopc.plan.block_shape import BlockShape
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import MemRef
from coopc.sim.values import Array, number, trailing

BASE_ALIGNMENT = 64
"""Of a surface, in bytes."""
LEAST_BYTES = 64
"""Of a row and of the pitch."""
MOST = 1 << 24
"""Bytes of a row and of the pitch, and rows, less than this."""
PITCH_ALIGNMENT = 16
COLUMN_ALIGNMENT = 4
"""Of where a block begins in a row, in bytes."""


@dataclass(eq=False, slots=True)
class Address:
    """A payload: it is written in place."""

    memory: MemRef
    x: Array
    y: Array
    width: Array
    """In bytes, as the pitch."""
    height: Array
    pitch: Array
    shape: BlockShape


@register_impls
class XeFunctions(SimulatorFunctions):
    """Blocks and payloads; a prefetch does nothing."""

    @impl(xe.BlockLoad2DOp)
    def load(
        self, interpreter: Interpreter, op: xe.BlockLoad2DOp, args: PythonValues
    ) -> PythonValues:
        """Read the slots of each lane."""
        width, count = piece_of(op.pieces)
        places, inside = self._places(op.block.data, args[:6], width)
        return split(self._read(args[0], places, inside), width, count)

    @impl(xe.BlockStore2DOp)
    def store(
        self, interpreter: Interpreter, op: xe.BlockStore2DOp, args: PythonValues
    ) -> PythonValues:
        """Write the slots of each lane."""
        width, _ = piece_of(op.pieces)
        pieces, rest = args[: len(op.pieces)], args[len(op.pieces) :]
        places, inside = self._places(op.block.data, rest, width)
        shape = self.machine.shape
        whole = np.concatenate(
            [np.broadcast_to(x, (*shape, x.shape[-1])) for x in pieces], axis=-1
        )
        bytes = np.ascontiguousarray(whole)[..., None].view(np.uint8)
        places, inside, bytes = np.broadcast_arrays(places, inside, bytes)
        memory, active = byte_view(rest[0]), self._active(inside)
        places = np.where(active, places, 0)
        self.machine.store_at(memory, places, bytes.view(np.int8), active)
        return ()

    @impl(xe.BlockPrefetch2DOp)
    def prefetch(
        self, interpreter: Interpreter, op: xe.BlockPrefetch2DOp, args: PythonValues
    ) -> PythonValues:
        """Do nothing that a program sees."""
        return ()

    @impl(xe.PayloadCreateOp)
    def create(
        self, interpreter: Interpreter, op: xe.PayloadCreateOp, args: PythonValues
    ) -> PythonValues:
        """Remember an address."""
        memory, x, y, width, height, pitch = args
        shape = xe.shape_of(op.result)
        return (Address(memory, x, y, width, height, pitch, shape),)

    @impl(xe.PayloadSetXOp)
    def set_x(
        self, interpreter: Interpreter, op: xe.PayloadSetXOp, args: PythonValues
    ) -> PythonValues:
        """Write the column."""
        args[0].x = args[1]
        return ()

    @impl(xe.PayloadSetYOp)
    def set_y(
        self, interpreter: Interpreter, op: xe.PayloadSetYOp, args: PythonValues
    ) -> PythonValues:
        """Write the row."""
        args[0].y = args[1]
        return ()

    @impl(xe.PayloadLoadOp)
    def load_payload(
        self, interpreter: Interpreter, op: xe.PayloadLoadOp, args: PythonValues
    ) -> PythonValues:
        """Read the slots of each lane."""
        address: Address = args[0]
        x = address.x + np.int32(op.dx.value.data)
        y = address.y + np.int32(op.dy.value.data)
        surface = (address.width, address.height, address.pitch)
        width, count = piece_of(op.pieces)
        places, inside = self._places(
            address.shape, (address.memory, x, y, *surface), width
        )
        return split(self._read(address.memory, places, inside), width, count)

    @impl(xe.PayloadPrefetchOp)
    def prefetch_payload(
        self, interpreter: Interpreter, op: xe.PayloadPrefetchOp, args: PythonValues
    ) -> PythonValues:
        """Do nothing that a program sees."""
        return ()

    def _read(self, memory: MemRef, places: Array, inside: Array) -> Array:
        """Return bytes of memory, 0 for those outside; see `_places`."""
        active = self._active(inside)
        here = np.where(active, places, 0)
        found = self.machine.load_at(byte_view(memory), here, active)
        return found.view(np.uint8)

    def _active(self, inside: Array) -> Array:
        """Return which bytes are accessed."""
        mask = self.machine.mask
        return inside if mask is None else inside & trailing(mask, 2)

    def _places(
        self, shape: BlockShape, args: PythonValues, slot: int
    ) -> tuple[Array, Array]:
        """Return the byte in memory of each byte of the slots, and which are there.

        Both have shape (groups, subgroups, lanes, slots, bytes of a slot).

        Raises:
            UndefinedBehaviour: the surface breaks the rules, or is no memory.
        """
        memory, x, y, width, height, pitch = args
        assert isinstance(memory, MemRef), memory
        self.machine.uniform_mask(1, 2)
        size = memory.buffer.data.itemsize
        start = memory.offset * size
        check_surface(start, width, height, pitch)
        check_column(x, shape.bits)
        rows, columns = byte_slots(shape, self.machine.launch.subgroup_size, slot)
        extra = (..., *(None,) * 2)
        row = y.astype(np.int64)[extra] + rows
        column = x.astype(np.int64)[extra] * (shape.bits // 8) + columns
        wide, high = width[extra], height[extra]
        inside = (row >= 0) & (row < high) & (column >= 0) & (column < wide)
        places = start[extra] + row * pitch.astype(np.int64)[extra] + column
        places, inside = np.broadcast_arrays(places, inside)
        least, most = places[inside].min(initial=0), places[inside].max(initial=0)
        total = memory.buffer.data.size * size
        if least < 0 or most >= total:
            raise UndefinedBehaviour(
                f"expected a surface inside of {memory}, {total} bytes, got bytes "
                f"{least} to {most}"
            )
        return places, inside


def check_surface(base: Array, width: Array, height: Array, pitch: Array) -> None:
    """Check the rules of surfaces.

    Raises:
        UndefinedBehaviour: one is broken.
    """
    rules = (
        (base % BASE_ALIGNMENT == 0, "a base aligned to 64 bytes", base),
        (width >= LEAST_BYTES, "a width of at least 64 bytes", width),
        (width < MOST, "a width of less than 2^24 bytes", width),
        (height < MOST, "less than 2^24 rows", height),
        (pitch >= width, "a pitch that is no less than the width", pitch),
        (pitch < MOST, "a pitch of less than 2^24 bytes", pitch),
        (pitch % PITCH_ALIGNMENT == 0, "a pitch that is a multiple of 16 bytes", pitch),
    )
    for holds, what, found in rules:
        if not holds.all():
            raise UndefinedBehaviour(
                f"expected a surface with {what}, got {found[~holds].flat[0]}"
                if holds.shape == found.shape
                else f"expected a surface with {what}"
            )


def check_column(x: Array, bits: int) -> None:
    """Check that blocks begin at a column that they may begin at.

    Raises:
        UndefinedBehaviour: one does not.
    """
    bytes = x.astype(np.int64) * (bits // 8)
    if (amiss := bytes[bytes % COLUMN_ALIGNMENT != 0]).size:
        raise UndefinedBehaviour(
            f"expected a block at a multiple of {COLUMN_ALIGNMENT} bytes in its row, "
            f"got {amiss.flat[0]}"
        )


@cache
def byte_slots(shape: BlockShape, lanes: int, slot: int) -> tuple[Array, Array]:
    """Return row and byte column, from x and y on, of each byte of the slots.

    Both have shape (lanes, slots, bytes of a slot).
    """
    slots = shape.slots(lanes, slot).swapaxes(0, 1)
    each = shape.bits // 8
    row, column = slots[..., 0], slots[..., 1]
    rows = np.repeat(row, each, axis=-1)
    columns = np.repeat(column * each, each, axis=-1)
    within = np.tile(np.arange(each), row.shape[-1])
    return rows, columns + within


def byte_view(memory: MemRef) -> MemRef:
    """Return memory as its bytes, in a row."""
    buffer = replace(memory.buffer, data=memory.buffer.data.view(np.int8))
    return MemRef(buffer, i8, number(0), (number(buffer.elements),), (number(1),))


def piece_of(pieces: tuple[SSAValue, ...] | list[SSAValue]) -> tuple[int, int]:
    """Return the width of a slot in bits, and the slots of a piece."""
    type = pieces[0].type
    assert is_vector(type), type
    width = getattr(type.get_element_type(), "bitwidth", 0)
    return width, type.get_shape()[0]


def split(bytes: Array, width: int, count: int) -> tuple[Array, ...]:
    """Return the pieces that bytes are, as integers."""
    whole = np.ascontiguousarray(bytes).view(np.dtype(f"i{width // 8}"))[..., 0]
    return tuple(whole[..., at : at + count] for at in range(0, whole.shape[-1], count))
