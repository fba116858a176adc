"""A memref while it is emitted: where it is, its sizes and its strides.

A memref never becomes a SPIR-V value.  It is a pointer that is known, and numbers that
are constants where they can be; `subview` and its kin compute new numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute

from coopc.emit.memrefs import Form
from coopc.spirv.statement import Id


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


def filled(
    form: Form,
    at: View,
    offset: Callable[[], Num],
    size: Callable[[int], Num],
    stride: Callable[[int], Num],
) -> View:
    """The memory of a view in a form, with what is left to run time from elsewhere."""
    numbers = form.filled(offset, size, stride)
    return View(at.base, at.storage, at.element, *numbers)
