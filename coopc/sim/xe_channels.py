"""Simulation of `xe.block_load`: slots that follow each other."""

from __future__ import annotations

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.dialects import xe
from coopc.dialects.xe.channels import ALIGNMENT
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import MemRef
from coopc.sim.numerics import Numerics
from coopc.sim.values import Array


@register_impls
class XeChannelFunctions(SimulatorFunctions):
    """Bytes of memory, as they are: errors of floats cannot be tracked through them."""

    @impl(xe.BlockLoadOp)
    def load(
        self, interpreter: Interpreter, op: xe.BlockLoadOp, args: PythonValues
    ) -> PythonValues:
        """Read the slots of each lane."""
        memory, offset = args
        assert isinstance(memory, MemRef), memory
        if type(self.machine.numerics) is not Numerics:
            raise SimulationError("errors are not tracked through blocks")
        self.machine.uniform_mask(1, 2)
        size = memory.buffer.data.dtype.itemsize
        start = memory.offset * size + offset.view(np.uint32).astype(np.int64)
        lanes = self.machine.launch.subgroup_size
        width = op.slot_bits // 8
        places = slot_places(start, (op.slots, width), lanes)
        check_places(memory, places, width, memory.buffer.data.size * size)
        bytes = memory.buffer.flat.view(np.uint8)
        wanted = places[..., None] + np.arange(width)
        found = np.ascontiguousarray(bytes[wanted]).view(np.dtype(f"i{width}"))
        return (found[..., 0],)


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
    first = places[..., 0, 0]
    if (first % ALIGNMENT).any():
        raise UndefinedBehaviour(
            f"expected an offset that is a multiple of {ALIGNMENT} bytes, got "
            f"{first.flat[0]}"
        )
    least, most = places.min(), places.max() + width
    if least < 0 or most > total:
        raise UndefinedBehaviour(
            f"expected slots inside of {memory}, {total} bytes, got bytes {least} to "
            f"{most}"
        )
