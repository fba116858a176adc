"""How a kernel is started: its grid, its work-groups, its subgroups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.func import FuncOp

from coopc.dialects import simt
from coopc.sim.arguments import Argument, grid_sizes

CHUNK_VALUES = 1 << 20
"""How many numbers one value may be, about: so many work-groups run together."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is started."""

    grid: tuple[int, int, int]
    """Work-groups along x, y, z."""
    work_group_size: tuple[int, int, int]
    """Work-items along x, y, z; their product is a multiple of the subgroup size."""
    subgroup_size: int
    """Lanes."""

    @property
    def work_groups(self) -> int:
        """All work-groups of the grid."""
        return prod(self.grid)

    @property
    def subgroups(self) -> int:
        """Subgroups of a work-group."""
        return prod(self.work_group_size) // self.subgroup_size


def launch_of(
    func: FuncOp,
    arguments: Sequence[Argument],
    grid: tuple[int, ...] | None,
    subgroup_size: int,
) -> Launch:
    """Return how a kernel is started; other functions have one work-item.

    Args:
        func: the kernel.
        arguments: its arguments.
        grid: work-groups along x, y, z; what `simt.grid` says if it is None.
        subgroup_size: lanes, where the kernel does not say.

    Raises:
        ValueError: there is no grid, or the work-group has no whole subgroups.
    """
    if simt.KERNEL not in func.attributes:
        return Launch((1, 1, 1), (1, 1, 1), 1)
    kernel = simt.kernel_of(func)
    lanes = kernel.subgroup_size or subgroup_size
    size = kernel.work_group_size
    if simt.WORK_GROUP_SIZE not in func.attributes:
        size = (lanes, 1, 1)
    if prod(size) % lanes:
        raise ValueError(
            f"expected a work-group size that is a multiple of the subgroup size "
            f"{lanes}, got {size}"
        )
    if grid is None:
        if kernel.grid is None:
            raise ValueError(f"expected a grid: @{kernel.name} has no {simt.GRID}")
        grid = kernel.grid.eval(grid_sizes(func, arguments), [])
    x, y, z = (*grid, 1, 1)[:3]
    return Launch((x, y, z), size, lanes)


def chunks(launch: Launch, chunk: int | None) -> Iterator[range]:
    """Yield the work-groups that run together, at most `chunk` if it is given."""
    if chunk is None:
        per_group = launch.subgroups * max(launch.subgroup_size, 256)
        chunk = max(1, CHUNK_VALUES // per_group)
    for start in range(0, launch.work_groups, chunk):
        yield range(start, min(start + chunk, launch.work_groups))
