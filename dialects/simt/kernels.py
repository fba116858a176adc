"""What the attributes of `simt` say of a kernel, checked and as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from math import prod
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from coopc.diagnostic import near_match
from coopc.dialects.narrow import is_integer, is_memref
from coopc.interface import Condition

T = TypeVar("T")

KERNEL = "simt.kernel"
"""On a func.func: it is an entry point (unit)."""
WORK_GROUP_SIZE = "simt.work_group_size"
"""On a kernel: work-items of a work-group along x, y, z (array<i32: ...>)."""
SUBGROUP_SIZE = "simt.subgroup_size"
"""On a kernel: lanes of a subgroup (i32)."""
CONDITIONS = "simt.conditions"
"""On a kernel: what must hold of its arguments (an array of dictionaries, each with
`what`, value, size, stride, offset, address, bytes or memory, `argument`, `dimension`
of a size or a stride, and `multiple_of`, `at_least`, `less_than`, `at_least_argument`,
`apart_from_argument` and `why` where they apply)."""
EQUAL_SIZES = "simt.equal_sizes"
"""On a kernel: which dimensions of its memrefs are equally long (an array of
array<i64: argument, dimension, argument, dimension>)."""
GRID = "simt.grid"
"""On a kernel: an affine map from its sizes to the number of work-groups along x, y, z.

The sizes are the dynamic sizes of its memrefs and its index arguments, in the order of
the arguments."""

# What must hold of a kernel's arguments: what its callers have to see to.
#
#     simt.conditions = [{what = "size", argument = 0, dimension = 1, multiple_of = 16,
#                         why = "whole tiles"}]
#
# says that dimension 1 of argument 0 is a multiple of 16.  The entries are those of
# `coopc.interface.Condition`.  Which sizes are equal is `simt.equal_sizes`.

_NUMBERS = (
    *("argument", "dimension", "multiple_of", "at_least", "less_than"),
    *("at_least_argument", "apart_from_argument"),
)
_TEXTS = ("what", "why")
_OF_SCALARS = "value"
_OF_DIMENSIONS = ("size", "stride")
_OF_MEMORY = ("address", "bytes", "offset")
_OF_TWO = "memory"


def conditions(func: FuncOp) -> tuple[Condition, ...]:
    """Return what must hold of a function's arguments.

    Raises:
        VerifyException: where the attribute says something that is no condition, or
            is about what the argument does not have.
    """
    return _entries(func, CONDITIONS, _read_condition)


def add_conditions(func: FuncOp, new: Iterable[Condition]) -> None:
    """Let more hold of a function's arguments, each condition once."""
    every = dict.fromkeys((*conditions(func), *new))
    if every:
        func.attributes[CONDITIONS] = ArrayAttr(map(_condition_attr, every))


def _condition_attr(condition: Condition) -> DictionaryAttr:
    """Return a condition as an attribute, without what is as by default."""
    found: dict[str, Attribute] = {"what": StringAttr(condition.what)}
    plain = Condition(condition.what, -1)
    for name in _NUMBERS:
        number = getattr(condition, name)
        is_told = name == "dimension" and condition.what in _OF_DIMENSIONS
        if is_told or number != getattr(plain, name):
            found[name] = IntegerAttr(number, i64)
    if condition.why:
        found["why"] = StringAttr(condition.why)
    return DictionaryAttr(found)


def _entries(
    func: FuncOp, name: str, read: Callable[[Attribute, Sequence[Attribute]], T]
) -> tuple[T, ...]:
    """Return what an attribute of a function lists, nothing where there is none."""
    found = func.attributes.get(name, ArrayAttr[Attribute]([]))
    if not isinstance(found, ArrayAttr):
        raise VerifyException(f"expected {name} to be an array, got {found}")
    types = func.function_type.inputs.data
    entries = cast("ArrayAttr[Attribute]", found).data
    return tuple(read(each, types) for each in entries)


def _read_condition(attr: Attribute, types: Sequence[Attribute]) -> Condition:
    if not isinstance(attr, DictionaryAttr):
        raise VerifyException(
            f"expected {CONDITIONS} to hold dictionaries, as in "
            '{what = "size", argument = 0, dimension = 0, multiple_of = 16}, '
            f"got {attr}"
        )
    known: dict[str, Any] = {}
    names = (*_TEXTS, *_NUMBERS)
    for name, value in attr.data.items():
        match value:
            case IntegerAttr(value=number) if name in _NUMBERS:
                known[name] = number.data
            case StringAttr(data=text) if name in _TEXTS:
                known[name] = text
            case _ if name in names:
                wanted = "an integer" if name in _NUMBERS else "a string"
                raise VerifyException(
                    f"expected {name} in {CONDITIONS} to be {wanted}, got {value}"
                )
            case _:
                raise VerifyException(
                    f"expected {CONDITIONS} to have entries of {', '.join(names)}, "
                    f"got {name}{near_match(name, names)}"
                )
    for name in ("what", "argument"):
        if name not in known:
            raise VerifyException(f"expected {name} in a condition, got {attr}")
    condition = Condition(**known)
    if (reason := _why_wrong(condition, types)) is not None:
        raise VerifyException(f"expected {reason} in {CONDITIONS}, got {attr}")
    return condition


def _why_wrong(condition: Condition, types: Sequence[Attribute]) -> str | None:
    """Return what a condition should be of instead, or None."""
    other, apart = condition.at_least_argument, condition.apart_from_argument
    for argument in (condition.argument, other, apart):
        if argument is not None and not 0 <= argument < len(types):
            return f"an argument below {len(types)}"
    type = types[condition.argument]
    is_number = isinstance(type, IndexType) or is_integer(type)
    if other is not None:
        least = types[other]
        if not (isinstance(least, IndexType) or is_integer(least)):
            return "at_least_argument to be an integer"
    if condition.what == _OF_TWO or apart is not None:
        both = () if apart is None else (type, types[apart])
        is_right = condition.what == _OF_TWO and both and all(map(is_memref, both))
        return None if is_right else "the memory of a memref apart from that of another"
    if condition.multiple_of < 1:
        return "a positive multiple_of"
    if condition.what == _OF_SCALARS:
        return None if is_number else "the value of an integer"
    if condition.what in _OF_DIMENSIONS:
        rank = type.get_num_dims() if is_memref(type) else 0
        inside = 0 <= condition.dimension < rank
        return None if inside else f"the {condition.what} of a dimension of a memref"
    if condition.what in _OF_MEMORY:
        return f"the {condition.what} of a memref" if is_number else None
    wanted = (_OF_SCALARS, *_OF_DIMENSIONS, *_OF_MEMORY, _OF_TWO)
    return f"what to be one of {', '.join(wanted)}"


# Which sizes of a kernel's memrefs are the same: what its callers have to see to.
#
#     simt.equal_sizes = [array<i64: 1, 0, 0, 1>]
#
# says that dimension 0 of argument 1 is as long as dimension 1 of argument 0.


@dataclass(frozen=True, slots=True)
class EqualSizes:
    """Two dimensions that are equally long."""

    argument: int
    """The position of a memref among the arguments, from 0."""
    dimension: int
    """Its dimension, from 0."""
    like_argument: int
    """The position of the memref that it is compared with."""
    like_dimension: int
    """The dimension of that one."""


def equal_sizes(func: FuncOp) -> tuple[EqualSizes, ...]:
    """Return which sizes of a function's arguments are the same.

    Raises:
        VerifyException: where the attribute does not name dimensions of memrefs.
    """
    return _entries(func, EQUAL_SIZES, _read_equal_sizes)


def equal_sizes_attr(sizes: Iterable[EqualSizes]) -> ArrayAttr[DenseArrayBase]:
    return ArrayAttr([DenseArrayBase.from_list(i64, astuple(each)) for each in sizes])


def forget_sizes(func: FuncOp, argument: int) -> None:
    """Say no more of the sizes of an argument, which is to be another memref."""
    sizes = equal_sizes(func)
    kept = [x for x in sizes if argument not in (x.argument, x.like_argument)]
    if kept:
        func.attributes[EQUAL_SIZES] = equal_sizes_attr(kept)
    elif sizes:
        del func.attributes[EQUAL_SIZES]


def _read_equal_sizes(attr: Attribute, types: Sequence[Attribute]) -> EqualSizes:
    numbers = _integers(attr) or ()
    if len(numbers) != 4:
        raise VerifyException(
            f"expected {EQUAL_SIZES} to hold argument, dimension, argument, dimension, "
            f"as in array<i64: 1, 0, 0, 1>, got {attr}"
        )
    for argument, dimension in (numbers[:2], numbers[2:]):
        type = types[argument] if 0 <= argument < len(types) else None
        rank = type.get_num_dims() if type is not None and is_memref(type) else 0
        if not 0 <= dimension < rank:
            raise VerifyException(
                f"expected {EQUAL_SIZES} to name dimensions of memrefs, got dimension "
                f"{dimension} of argument {argument}"
            )
    return EqualSizes(*numbers)


# What the attributes of kernels and modules say, checked and as plain values.

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
        return prod(self.work_group_size)

    @property
    def subgroups(self) -> int:
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


def set_sizes(func: FuncOp, lanes: int, work_group_size: Sequence[int]) -> None:
    """Write the lanes of a subgroup, and the work-items along x, y, z, of a kernel."""
    func.attributes[SUBGROUP_SIZE] = IntegerAttr(lanes, i32)
    func.attributes[WORK_GROUP_SIZE] = DenseArrayBase.from_list(i32, work_group_size)


def kernel_sizes(func: FuncOp) -> tuple[KernelSize, ...]:
    """Return the sizes that a kernel's grid depends on, in the order of its operands.

    They are the dynamic sizes of its memrefs and its index arguments, in the order of
    the arguments.  Where two numbers of 4 bits share a byte, a size is that of bytes,
    as the caller's array has it.
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


def verify_kernel(func: FuncOp) -> Kernel:
    """Return what the attributes of a kernel say."""
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
