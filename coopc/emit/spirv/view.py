"""A memref while it is emitted: where it is, its sizes and its strides.

A memref never becomes a SPIR-V value.  It is a pointer that is known, and numbers that
are constants where they can be; `subview` and its kin compute new numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from operator import mul
from typing import TypeAlias

from xdsl.ir import Attribute

from coopc.emit.memrefs import Form
from coopc.spirv.instruction import Id


class Later:
    """A number that is emitted at the entry of the function, if anything uses it."""

    def __init__(self, make: Callable[[], Id]) -> None:
        """Keep the function that emits it."""
        self._make = make
        self._id: Id | None = None

    def get(self) -> Id:
        """The number."""
        if self._id is None:
            self._id = self._make()
        return self._id


PHYSICAL = "PhysicalStorageBuffer"
"""The storage class of buffers that are addresses."""

Num: TypeAlias = int | Id | Later
"""A number of elements: known now, or at run time as an index."""


@dataclass(frozen=True, slots=True)
class View:
    """A memref: element (i, j) is `base[offset + i * strides[0] + j * strides[1]]`."""

    base: Id
    """A variable, or under OpenCL a pointer to an element."""
    storage: str
    """The storage class of the elements."""
    element: Attribute
    """The type of an element."""
    offset: Num
    sizes: tuple[Num, ...]
    strides: tuple[Num, ...] | None
    """None for row-major order, where they follow from the sizes."""
    wide: bool = False
    """Whether the number of an element may need more bits than an index has."""


def is_wide(form: Form, storage: str) -> bool:
    """Whether the number of an element may need more bits than an index has.

    >>> is_wide(Form(0, (70000, 70000), None), PHYSICAL)
    True
    """
    if storage != PHYSICAL:
        return False
    if form.dynamic:
        return True
    numbers = (form.offset, *form.sizes, *(form.strides or ()))
    offset, *rest = (abs(number or 0) for number in numbers)
    sizes, strides = rest[: len(form.sizes)], rest[len(form.sizes) :]
    reach = sum(map(mul, sizes, strides)) if strides else prod(sizes)
    return offset + reach >= 1 << 31


def filled(
    form: Form,
    at: View,
    offset: Callable[[], Num],
    size: Callable[[int], Num],
    stride: Callable[[int], Num],
) -> View:
    """The memory of a view in a form, with what is left to run time from elsewhere."""
    numbers = form.filled(offset, size, stride)
    return View(at.base, at.storage, at.element, *numbers, wide=at.wide)
