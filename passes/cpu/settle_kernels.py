"""settle-kernels: kernels say the sizes that they leave to the device.

Before:  kernels with or without simt.subgroup_size and simt.work_group_size
After:   kernels with both: the device's subgroup size, or the one asked for, and one
         subgroup where anything in them depends on subgroups, else as many lanes as
         their work-items fill
Fails:   for a device that coopc does not know, for attributes that are wrong, and for
         kernels of another subgroup size than is asked for
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i32
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.dialects import simt
from coopc.emit.interface import uses_subgroups
from coopc.passes.cpu.vectorize_subgroup.vectorize_subgroup import is_alone


@dataclass(frozen=True)
class SettleKernelsPass(ModulePass):
    """Write the sizes of kernels into their attributes."""

    name = "settle-kernels"

    device: str = "amx"
    """The device whose subgroup size kernels get."""
    subgroup_size: int | None = None
    """Lanes, instead of the device's."""

    def __post_init__(self) -> None:
        size = self.subgroup_size
        if size is not None and (size < 1 or size & (size - 1)):
            raise ValueError(
                f"expected a subgroup size that is a power of two, got {size}"
            )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Settle all kernels of `op`."""
        if self.device not in devices.DEVICES:
            raise PassFailedException(
                f"{self.name}: expected a device, one of "
                f"{', '.join(sorted(devices.DEVICES))}, got {self.device}"
            )
        for kernel in list(simt.kernels(op)):
            lanes, group = self._sizes(kernel, op)
            attributes = kernel.func.attributes
            attributes[simt.SUBGROUP_SIZE] = IntegerAttr(lanes, i32)
            attributes[simt.WORK_GROUP_SIZE] = DenseArrayBase.from_list(i32, group)

    def _sizes(
        self, kernel: simt.Kernel, module: ModuleOp
    ) -> tuple[int, tuple[int, int, int]]:
        """Return the lanes of a kernel, and its work-items along x, y, z."""
        group, said = kernel.work_group_size, kernel.subgroup_size
        if said is not None:
            if self.subgroup_size not in (None, said) and not is_alone(kernel):
                reason = (
                    f"expected a kernel of {self.subgroup_size} lanes, as "
                    f"subgroup-size says, got {simt.SUBGROUP_SIZE} = {said}"
                )
                kernel.func.emit_error(reason, PassFailedException(reason))
            return said, group
        wanted = self.subgroup_size or devices.device(self.device).subgroup_size
        if uses_subgroups(kernel.func, module):
            said = simt.WORK_GROUP_SIZE in kernel.func.attributes
            return wanted, group if said else (wanted, 1, 1)
        return widest(kernel.work_items, wanted), group


def widest(items: int, most: int) -> int:
    """Return the greatest power of two up to `most` that divides a number of items.

    >>> widest(24, 16), widest(1, 16), widest(64, 16)
    (8, 1, 16)
    """
    return min(items & -items, most)
