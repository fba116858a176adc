"""Simulation of `xe.block_load`: channels of 32 bits that follow each other."""

from __future__ import annotations

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.dialects import xe
from coopc.dialects.xe.channels import CHANNEL_BYTES
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
        """Read the channels of each lane."""
        memory, offset = args
        assert isinstance(memory, MemRef), memory
        if type(self.machine.numerics) is not Numerics:
            raise SimulationError("errors are not tracked through blocks")
        self.machine.uniform_mask(1, 2)
        size = memory.buffer.data.dtype.itemsize
        start = memory.offset * size + offset.view(np.uint32).astype(np.int64)
        lanes = self.machine.launch.subgroup_size
        places = channel_places(start, op.channels, lanes)
        check_places(memory, places, memory.buffer.data.size * size)
        bytes = memory.buffer.flat.view(np.uint8)
        wanted = places[..., None] + np.arange(CHANNEL_BYTES)
        found = np.ascontiguousarray(bytes[wanted]).view(np.int32)
        return (found[..., 0],)


def channel_places(start: Array, channels: int, lanes: int) -> Array:
    """Return the first byte of each channel: (groups, subgroups, lanes, channels).

    >>> channel_places(np.array([[[64]]]), 2, 4).tolist()
    [[[[64, 80], [68, 84], [72, 88], [76, 92]]]]
    """
    lane, channel = np.arange(lanes)[:, None], np.arange(channels)
    return start[..., None] + CHANNEL_BYTES * (channel * lanes + lane)


def check_places(memory: MemRef, places: Array, total: int) -> None:
    """Check that channels are inside of memory, and aligned.

    Raises:
        UndefinedBehaviour: one is not.
    """
    if (places % CHANNEL_BYTES).any():
        raise UndefinedBehaviour(
            f"expected an offset that is a multiple of {CHANNEL_BYTES} bytes, got "
            f"{places.flat[0]}"
        )
    least, most = places.min(), places.max() + CHANNEL_BYTES
    if least < 0 or most > total:
        raise UndefinedBehaviour(
            f"expected channels inside of {memory}, {total} bytes, got bytes {least} "
            f"to {most}"
        )
