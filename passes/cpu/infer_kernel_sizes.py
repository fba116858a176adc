"""infer-kernel-sizes: sets subgroup and work-group sizes that kernels leave open.

Before:  kernels with or without simt.subgroup_size and simt.work_group_size.
After:   kernels with both: the subgroup size of the device or of the option, and a
         work-group of one subgroup if anything in the kernel depends on subgroups, else
         as many lanes as its work-items fill.
Fails:   for unknown devices, invalid attributes, kernels whose subgroup size differs
         from the option, and work-groups with a part of a subgroup.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import simt
from coopc.emit.interface import uses_subgroups
from coopc.ir.device_option import device_of
from coopc.passes.cpu.vectorize_subgroup.vectorize_subgroup import (
    check_subgroup_size,
    is_alone,
)


@dataclass(frozen=True)
class InferKernelSizesPass(ModulePass):
    name = "infer-kernel-sizes"

    device: str = "amx"
    """The device whose subgroup size kernels get."""
    subgroup_size: int | None = None
    """Subgroup size, instead of the device's."""

    def __post_init__(self) -> None:
        check_subgroup_size(self.subgroup_size)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lanes_of_device = device_of(self.device, op, self.name).subgroup_size
        for kernel in list(simt.kernels(op)):
            lanes, group = self._sizes(kernel, op, lanes_of_device)
            simt.set_sizes(kernel.func, lanes, group)

    def _sizes(
        self, kernel: simt.Kernel, module: ModuleOp, lanes_of_device: int
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
        wanted = self.subgroup_size or lanes_of_device
        if uses_subgroups(kernel.func, module):
            if simt.WORK_GROUP_SIZE not in kernel.func.attributes:
                return wanted, (wanted, 1, 1)
            if kernel.work_items % wanted:
                reason = (
                    f"expected a work-group size that is a multiple of {wanted}, so "
                    f"that all subgroups are full, got {kernel.work_items} work-items"
                )
                kernel.func.emit_error(reason, PassFailedException(reason))
            return wanted, group
        return widest(kernel.work_items, wanted), group


def widest(items: int, most: int) -> int:
    """Return the greatest power of two up to `most` that divides a number of items.

    >>> widest(24, 16), widest(1, 16), widest(64, 16)
    (8, 1, 16)
    """
    return min(items & -items, most)
