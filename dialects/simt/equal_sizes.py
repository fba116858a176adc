"""Which sizes of a kernel's memrefs are the same: what its callers have to see to.

    simt.equal_sizes = [array<i64: 1, 0, 0, 1>]

says that dimension 0 of argument 1 is as long as dimension 1 of argument 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_memref
from coopc.dialects.simt.attributes import EQUAL_SIZES


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
    found = func.attributes.get(EQUAL_SIZES)
    if found is None:
        return ()
    if not isinstance(found, ArrayAttr):
        raise VerifyException(f"expected {EQUAL_SIZES} to be an array, got {found}")
    types = func.function_type.inputs.data
    return tuple(_read(each, types) for each in cast("ArrayAttr[Attribute]", found))


def equal_sizes_attr(sizes: Iterable[EqualSizes]) -> ArrayAttr[DenseArrayBase]:
    """Return the attribute that says which sizes are the same."""
    return ArrayAttr([DenseArrayBase.from_list(i64, astuple(each)) for each in sizes])


def forget_sizes(func: FuncOp, argument: int) -> None:
    """Say no more of the sizes of an argument, which is to be another memref."""
    sizes = equal_sizes(func)
    kept = [x for x in sizes if argument not in (x.argument, x.like_argument)]
    if kept:
        func.attributes[EQUAL_SIZES] = equal_sizes_attr(kept)
    elif sizes:
        del func.attributes[EQUAL_SIZES]


def _read(attr: Attribute, types: tuple[Attribute, ...]) -> EqualSizes:
    """Return two dimensions of arguments of some types."""
    numbers: tuple[int, ...] = ()
    if isinstance(attr, DenseArrayBase):
        array = cast("DenseArrayBase[IntegerType]", attr)
        if isinstance(array.elt_type, IntegerType):  # pyright: ignore[reportUnnecessaryIsInstance]
            numbers = array.get_values()
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
