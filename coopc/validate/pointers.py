"""Kernels whose memory is behind pointers: Triton's, and what they become.

A pointer says nothing of how much memory there is: each gets the same amount.  Integers
are sizes and pitches, and get numbers as dynamic sizes do, of which the conditions of
the kernel hold: a program that has them says that it is called for no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from coopc.dialects import simt
from coopc.interface import Condition
from coopc.sim.values import bits_of, is_integer

ELEMENTS = 1 << 16
"""That each pointer points to."""
LEAST_BITS = 32
"""Of an integer that is a size."""


def is_pointer(type: Attribute) -> bool:
    """Whether an argument is a pointer: a memref of rank 0."""
    return (
        isa(type, MemRefType)
        and not type.get_shape()
        and isinstance(type.layout, NoneAttr)
    )


def has_pointers(func: FuncOp) -> bool:
    """Whether the memory of a kernel is behind pointers."""
    return simt.KERNEL in func.attributes and any(
        map(is_pointer, func.function_type.inputs)
    )


def is_size(type: Attribute) -> bool:
    """Whether an argument of such a kernel is a size or a pitch."""
    return is_integer(type) and bits_of(type) >= LEAST_BITS


def conditions(func: FuncOp) -> Iterator[tuple[int, Condition]]:
    """Yield the conditions on the sizes of a kernel, by the number of the size."""
    found = func.attributes.get(simt.CONDITIONS)
    if not isinstance(found, ArrayAttr):
        return
    sizes = [n for n, x in enumerate(func.function_type.inputs) if is_size(x)]
    for each in cast("ArrayAttr[Attribute]", found):
        assert isinstance(each, DictionaryAttr), each
        what, argument = each.data["what"], number(each, "argument")
        if argument in sizes and what == StringAttr("value"):
            condition = Condition(
                "value",
                argument or 0,
                multiple_of=number(each, "multiple_of") or 1,
                at_least=number(each, "at_least"),
                less_than=number(each, "less_than"),
                at_least_argument=number(each, "at_least_argument"),
            )
            yield sizes.index(argument), condition


def number(entries: DictionaryAttr, name: str) -> int | None:
    """Return one of the numbers of a condition."""
    found = entries.data.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else None


def are_allowed(func: FuncOp, values: tuple[int, ...]) -> bool:
    """Whether sizes are such as a kernel is called for."""
    if not has_pointers(func):
        return True
    found = conditions(func)
    return are_apart(func, values) and not any(
        condition.violated(values[at]) for at, condition in found
    )


def are_apart(func: FuncOp, values: tuple[int, ...]) -> bool:
    """Whether pitches are no less than widths: else rows would overlap."""
    places = [n for n, x in enumerate(func.function_type.inputs) if is_size(x)]
    for at, condition in conditions(func):
        other = condition.at_least_argument
        if other in places and values[at] < values[places.index(other)]:
            return False
    return True
