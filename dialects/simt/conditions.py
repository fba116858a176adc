"""What must hold of a kernel's arguments: what its callers have to see to.

    simt.conditions = [{what = "size", argument = 0, dimension = 1, multiple_of = 16,
                        why = "whole tiles"}]

says that dimension 1 of argument 0 is a multiple of 16.  The entries are those of
`coopc.interface.Condition`.  Which sizes are equal is `simt.equal_sizes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from coopc.diagnostic import near_match
from coopc.dialects.narrow import is_integer, is_memref
from coopc.dialects.simt.attributes import CONDITIONS
from coopc.interface import Condition

_NUMBERS = (
    *("argument", "dimension", "multiple_of", "at_least", "less_than"),
    "at_least_argument",
)
_TEXTS = ("what", "why")
_OF_SCALARS = "value"
_OF_DIMENSIONS = ("size", "stride")
_OF_MEMORY = ("address", "bytes", "offset")


def conditions(func: FuncOp) -> tuple[Condition, ...]:
    """Return what must hold of a function's arguments.

    Raises:
        VerifyException: where the attribute says something that is no condition, or
            is about what the argument does not have.
    """
    found = func.attributes.get(CONDITIONS)
    if found is None:
        return ()
    if not isinstance(found, ArrayAttr):
        raise VerifyException(f"expected {CONDITIONS} to be an array, got {found}")
    types = func.function_type.inputs.data
    return tuple(_read(each, types) for each in cast("ArrayAttr[Attribute]", found))


def _read(attr: Attribute, types: Sequence[Attribute]) -> Condition:
    """Return a condition on arguments of some types."""
    if not isinstance(attr, DictionaryAttr):
        raise VerifyException(
            f"expected {CONDITIONS} to hold dictionaries, as in "
            '{what = "size", argument = 0, dimension = 0, multiple_of = 16}, '
            f"got {attr}"
        )
    known: dict[str, Any] = {}
    for name, value in attr.data.items():
        match value:
            case IntegerAttr(value=number) if name in _NUMBERS:
                known[name] = number.data
            case StringAttr(data=text) if name in _TEXTS:
                known[name] = text
            case _:
                raise VerifyException(_unknown(name, value))
    for name in ("what", "argument"):
        if name not in known:
            raise VerifyException(f"expected {name} in a condition, got {attr}")
    condition = Condition(**known)
    if (reason := _why_wrong(condition, types)) is not None:
        raise VerifyException(f"expected {reason} in {CONDITIONS}, got {attr}")
    return condition


def _unknown(name: str, value: Attribute) -> str:
    """Return what is wrong with an entry of a condition."""
    if name in _NUMBERS:
        return f"expected {name} in {CONDITIONS} to be an integer, got {value}"
    if name in _TEXTS:
        return f"expected {name} in {CONDITIONS} to be a string, got {value}"
    names = (*_TEXTS, *_NUMBERS)
    return (
        f"expected {CONDITIONS} to have entries of {', '.join(names)}, "
        f"got {name}{near_match(name, names)}"
    )


def _why_wrong(condition: Condition, types: Sequence[Attribute]) -> str | None:
    """Return what a condition should be of instead, or None."""
    other = condition.at_least_argument
    for argument in (condition.argument, *(() if other is None else (other,))):
        if not 0 <= argument < len(types):
            return f"an argument below {len(types)}"
    type = types[condition.argument]
    is_number = isinstance(type, IndexType) or is_integer(type)
    if other is not None:
        least = types[other]
        if not (isinstance(least, IndexType) or is_integer(least)):
            return "at_least_argument to be an integer"
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
    wanted = (_OF_SCALARS, *_OF_DIMENSIONS, *_OF_MEMORY)
    return f"what to be one of {', '.join(wanted)}"
