"""What the attributes of a kernel say, checked and as plain values."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.simt.attributes import (
    GRID,
    KERNEL,
    SUBGROUP_SIZE,
    WORK_GROUP_SIZE,
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel: a function, and how many work-items run it together."""

    name: str
    func: FuncOp
    work_group_size: tuple[int, int, int]
    """Work-items along x, y, z; one subgroup along x where the kernel does not say."""
    subgroup_size: int | None
    """Lanes; None where the kernel leaves it to the device."""
    grid: AffineMap | None
    """From the kernel's sizes to work-groups: see `GRID`."""

    @property
    def work_items(self) -> int:
        """Work-items of a work-group."""
        return prod(self.work_group_size)

    @property
    def subgroups(self) -> int:
        """Subgroups of a work-group."""
        return self.work_items // self.subgroup_size if self.subgroup_size else 1


def kernels(module: ModuleOp) -> Iterator[Kernel]:
    """Yield the kernels of a module, in order."""
    for op in module.ops:
        if isinstance(op, FuncOp) and KERNEL in op.attributes:
            yield kernel_of(op)


def kernel_of(func: FuncOp) -> Kernel:
    """Return what the attributes of a kernel say.

    Raises:
        VerifyException: where they are of a wrong type or contradict each other.
    """
    if not isinstance(found := func.attributes.get(KERNEL), UnitAttr):
        raise VerifyException(f"expected {KERNEL} to be a unit attribute, got {found}")
    subgroup_size = _subgroup_size(func)
    work_group_size = _work_group_size(func, subgroup_size)
    if subgroup_size and prod(work_group_size) % subgroup_size:
        raise VerifyException(
            f"expected a work-group size that is a multiple of the subgroup size "
            f"{subgroup_size}, got {prod(work_group_size)} work-items"
        )
    if func.function_type.outputs.data:
        raise VerifyException(
            f"expected a kernel without results, got {func.function_type}"
        )
    return Kernel(func.sym_name.data, func, work_group_size, subgroup_size, _grid(func))


def _subgroup_size(func: FuncOp) -> int | None:
    """Return the subgroup size: a power of two, or nothing."""
    match func.attributes.get(SUBGROUP_SIZE):
        case None:
            return None
        case IntegerAttr(value=value) if (
            1 <= (size := value.data) <= 128 and size & (size - 1) == 0
        ):
            return size
        case found:
            raise VerifyException(
                f"expected {SUBGROUP_SIZE} to be a power of two up to 128, got {found}"
            )


def _work_group_size(func: FuncOp, subgroup_size: int | None) -> tuple[int, int, int]:
    """Return the work-group size, with ones for the dimensions that are left out."""
    found = func.attributes.get(WORK_GROUP_SIZE)
    if found is None:
        return (subgroup_size or 1, 1, 1)
    if isinstance(found, DenseArrayBase):
        sizes = [int(size) for size in found.get_values()]
        if 1 <= len(sizes) <= 3 and min(sizes) >= 1:
            x, y, z = (*sizes, 1, 1)[:3]
            return x, y, z
    raise VerifyException(
        f"expected {WORK_GROUP_SIZE} to be one to three positive integers, "
        f"as in array<i32: 16, 4>, got {found}"
    )


def _grid(func: FuncOp) -> AffineMap | None:
    """Return the map from sizes to work-groups."""
    match func.attributes.get(GRID):
        case None:
            return None
        case AffineMapAttr(data=map) if 1 <= len(map.results) <= 3:
            return map
        case found:
            raise VerifyException(
                f"expected {GRID} to be an affine map to one to three numbers of "
                f"work-groups, got {found}"
            )
