"""What the attributes of kernels and modules say, checked and as plain values."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_memref
from coopc.dialects.simt.attributes import (
    GRID,
    KERNEL,
    SUBGROUP_SIZE,
    TARGET,
    WORK_GROUP_SIZE,
    TargetAttr,
)
from coopc.dialects.simt.conditions import conditions
from coopc.dialects.simt.equal_sizes import EqualSizes, equal_sizes
from coopc.interface import Condition

MAX_SUBGROUP_SIZE = 128
"""Lanes of the widest subgroup that a driver has (Vulkan's maxSubgroupSize)."""
MAX_WORK_ITEMS = (1 << 31) - 1
"""Of a work-group: their numbers are i32."""


@dataclass(frozen=True, slots=True)
class KernelSize:
    """A number that is known when a kernel is called, and that its grid depends on."""

    argument: int
    """The position of the kernel's argument, from 0."""
    dimension: int | None
    """The dynamic dimension of the memref, from 0; None for an index argument."""


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
    """From the kernel's sizes to work-groups: see `GRID` and `kernel_sizes`."""
    equal_sizes: tuple[EqualSizes, ...] = ()
    """Which sizes of its memrefs are the same."""
    conditions: tuple[Condition, ...] = ()
    """What must hold of its arguments otherwise."""

    @property
    def work_items(self) -> int:
        """Work-items of a work-group."""
        return prod(self.work_group_size)

    @property
    def subgroups(self) -> int:
        """Subgroups of a work-group."""
        return self.work_items // self.subgroup_size if self.subgroup_size else 1


def kernels(module: ModuleOp) -> Iterator[Kernel]:
    """Yield the kernels of a module, in order.

    Raises:
        VerifyException: where the attributes of one are wrong: see `kernel_of`.
    """
    for op in module.ops:
        if isinstance(op, FuncOp) and KERNEL in op.attributes:
            yield kernel_of(op)


def kernel_of(func: FuncOp) -> Kernel:
    """Return what the attributes of a kernel say.

    Raises:
        VerifyException: where they are of a wrong type or contradict each other.  It
            is the function's: a tool says where that is.
    """
    try:
        return verify_kernel(func)
    except VerifyException as error:
        func.emit_error(str(error), error)


def kernel_sizes(func: FuncOp) -> tuple[KernelSize, ...]:
    """Return the sizes that a kernel's grid depends on, in the order of its operands.

    They are the dynamic sizes of its memrefs and its index arguments, in the order of
    the arguments.
    """
    sizes: list[KernelSize] = []
    for argument, type in enumerate(func.function_type.inputs):
        if isinstance(type, IndexType):
            sizes.append(KernelSize(argument, None))
        elif is_memref(type):
            sizes += (
                KernelSize(argument, dimension)
                for dimension, size in enumerate(type.get_shape())
                if size == DYNAMIC_INDEX
            )
    return tuple(sizes)


def target_of(module: ModuleOp) -> TargetAttr | None:
    """Return what a module is compiled for, if it says so.

    Raises:
        VerifyException: where the module's attribute is not a target.
    """
    found = module.attributes.get(TARGET)
    if found is None or isinstance(found, TargetAttr):
        return found
    error = VerifyException(
        f"expected {TARGET} to be a flavour and a device, as in "
        f"#simt.target<vulkan, lavapipe>, got {found}"
    )
    module.emit_error(str(error), error)


def verify_kernel(func: FuncOp) -> Kernel:
    """Return what the attributes of a kernel say.

    Raises:
        VerifyException: where they are of a wrong type or contradict each other.
    """
    if not isinstance(found := func.attributes.get(KERNEL), UnitAttr):
        raise VerifyException(f"expected {KERNEL} to be a unit attribute, got {found}")
    if func.is_declaration:
        raise VerifyException("expected a kernel with a body, got a declaration")
    if func.function_type.outputs.data:
        raise VerifyException(
            "expected a kernel without results: it writes to memory, "
            f"got {func.function_type}"
        )
    subgroup_size = _subgroup_size(func)
    work_group_size = _work_group_size(func, subgroup_size)
    if subgroup_size is not None and prod(work_group_size) % subgroup_size:
        raise VerifyException(
            f"expected a work-group size that is a multiple of the subgroup size "
            f"{subgroup_size}, so that all subgroups are full, "
            f"got {prod(work_group_size)} work-items"
        )
    if (items := prod(work_group_size)) > MAX_WORK_ITEMS:
        raise VerifyException(
            f"expected at most {MAX_WORK_ITEMS} work-items in a work-group, got {items}"
        )
    return Kernel(
        func.sym_name.data,
        func,
        work_group_size,
        subgroup_size,
        _grid(func),
        equal_sizes(func),
        conditions(func),
    )


def _subgroup_size(func: FuncOp) -> int | None:
    """Return the subgroup size: a power of two, or nothing."""
    match func.attributes.get(SUBGROUP_SIZE):
        case None:
            return None
        case IntegerAttr(value=value) if (
            1 <= (size := value.data) <= MAX_SUBGROUP_SIZE and size & (size - 1) == 0
        ):
            return size
        case found:
            raise VerifyException(
                f"expected {SUBGROUP_SIZE} to be a power of two up to "
                f"{MAX_SUBGROUP_SIZE}, got {found}"
            )


def _work_group_size(func: FuncOp, subgroup_size: int | None) -> tuple[int, int, int]:
    """Return the work-group size, with ones for the dimensions that are left out."""
    found = func.attributes.get(WORK_GROUP_SIZE)
    if found is None:
        return (subgroup_size or 1, 1, 1)
    sizes = _integers(found)
    if sizes is not None and 1 <= len(sizes) <= 3 and min(sizes) >= 1:
        x, y, z = (*sizes, 1, 1)[:3]
        return x, y, z
    raise VerifyException(
        f"expected {WORK_GROUP_SIZE} to be one to three positive integers, "
        f"as in array<i32: 16, 4>, got {found}"
    )


def _integers(attr: Attribute) -> tuple[int, ...] | None:
    """Return the numbers of an array of integers; None for another attribute."""
    if not isinstance(attr, DenseArrayBase):
        return None
    array = cast("DenseArrayBase[IntegerType]", attr)
    if not isinstance(array.elt_type, IntegerType):  # pyright: ignore[reportUnnecessaryIsInstance]
        return None
    return array.get_values()


def _grid(func: FuncOp) -> AffineMap | None:
    """Return the map from sizes to work-groups."""
    match func.attributes.get(GRID):
        case None:
            return None
        case AffineMapAttr(data=map) if 1 <= len(map.results) <= 3:
            pass
        case found:
            raise VerifyException(
                f"expected {GRID} to be an affine map to one to three numbers of "
                f"work-groups, got {found}"
            )
    if map.num_symbols:
        raise VerifyException(
            f"expected {GRID} to be a map of dimensions only, got {map.num_symbols} "
            "symbols"
        )
    sizes = len(kernel_sizes(func))
    if map.num_dims != sizes:
        raise VerifyException(
            f"expected {GRID} to be a map of {sizes} sizes, the dynamic sizes of the "
            f"kernel's memrefs and its index arguments, got {map.num_dims}"
        )
    return map
