"""Simulation of `xe.block_load`: slots that follow each other."""

from __future__ import annotations

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.dialects import xe
from coopc.dialects.xe.channels import ALIGNMENT
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import MemRef
from coopc.sim.values import LANE_AXIS, Array
from coopc.sim.xe import byte_view


@register_impls
class XeChannelFunctions(SimulatorFunctions):
    """Bytes of memory, as they are: bounds of the errors of floats are lost."""

    @impl(xe.BlockLoadOp)
    def load(
        self, interpreter: Interpreter, op: xe.BlockLoadOp, args: PythonValues
    ) -> PythonValues:
        """Read the slots of each lane."""
        memory, offset, *guards = args
        assert isinstance(memory, MemRef), memory
        machine = self.machine
        machine.uniform_mask(LANE_AXIS)
        check_uniform("the offset", offset)
        read = machine.and_active(None)
        for guard in guards:
            check_uniform("the guard", guard)
            read = machine.and_active(guard)
        size = memory.buffer.data.dtype.itemsize
        start = memory.offset * size + offset.view(np.uint32).astype(np.int64)
        width = op.slot_bits // 8
        places = slot_places(start, (op.slots, width), machine.launch.subgroup_size)
        if read is not None:
            read, places = np.broadcast_arrays(read[..., None], places)
            check_places(memory, places[read], width, memory.buffer.data.size * size)
            places = np.where(read, places, 0)
        else:
            check_places(memory, places, width, memory.buffer.data.size * size)
        active = None if read is None else read[..., None]
        wanted = places[..., None] + np.arange(width)
        bytes = machine.load_at(byte_view(memory), wanted, active)
        found = np.ascontiguousarray(bytes).view(np.dtype(f"i{width}"))[..., 0]
        return (found,)


def check_uniform(what: str, value: Array) -> None:
    """Check that the lanes of each subgroup agree on a value.

    Raises:
        UndefinedBehaviour: they do not.
    """
    if (value != value.take([0], LANE_AXIS)).any():
        raise UndefinedBehaviour(f"expected {what} to be the same for all lanes")


def slot_places(start: Array, slots: tuple[int, int], lanes: int) -> Array:
    """Return the first byte of each slot: (groups, subgroups, lanes, slots).

    Args:
        start: where a message begins.
        slots: how many there are of a lane, and the bytes of each.
        lanes: of a subgroup.

    >>> slot_places(np.array([[[64]]]), (2, 4), 4).tolist()
    [[[[64, 80], [68, 84], [72, 88], [76, 92]]]]
    """
    count, width = slots
    lane, slot = np.arange(lanes)[:, None], np.arange(count)
    return start[..., None] + width * (slot * lanes + lane)


def check_places(memory: MemRef, places: Array, width: int, total: int) -> None:
    """Check that slots of some bytes are inside of memory, and the first aligned.

    Raises:
        UndefinedBehaviour: one is not.
    """
    if not places.size:
        return
    first = places.min()
    if first % ALIGNMENT:
        raise UndefinedBehaviour(
            f"expected an offset that is a multiple of {ALIGNMENT} bytes, got {first}"
        )
    least, most = places.min(), places.max() + width
    if least < 0 or most > total:
        raise UndefinedBehaviour(
            f"expected slots inside of {memory}, {total} bytes, got bytes {least} to "
            f"{most}"
        )
