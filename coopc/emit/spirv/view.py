"""A memref while it is emitted: where it is, its sizes and its strides.

A memref never becomes a SPIR-V value.  It is a pointer that is known, and numbers that
are constants where they can be; `subview` and its kin compute new numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute

from coopc.dialects import simt
from coopc.emit.structured import Refusal
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


@dataclass(frozen=True, slots=True)
class Form:
    """What a memref type fixes; None stands for what it leaves to run time."""

    offset: int | None
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None
    """None for row-major order."""

    @classmethod
    def of(cls, type: MemRefType) -> Form:
        """The form of a type.

        Raises:
            Refusal: it has no strides.
        """
        sizes = tuple(None if size < 0 else size for size in type.get_shape())
        match type.layout:
            case NoneAttr():
                return cls(0, sizes, None)
            case StridedLayoutAttr() as layout:
                strides = tuple(layout.get_strides())
                return cls(layout.get_offset(), sizes, strides)
            case other:
                raise Refusal(f"expected a memref with strides, got layout {other}")

    def filled(
        self,
        view: View,
        offset: Callable[[], Num],
        size: Callable[[int], Num],
        stride: Callable[[int], Num],
    ) -> View:
        """A view of this form with what is left to run time from elsewhere.

        Args:
            view: where it is.
            offset: gives the offset.
            size: gives the size of a dimension.
            stride: gives the stride of a dimension.
        """
        return View(
            view.base,
            view.storage,
            view.element,
            offset() if self.offset is None else self.offset,
            tuple(size(d) if n is None else n for d, n in enumerate(self.sizes)),
            None
            if self.strides is None
            else tuple(
                stride(d) if n is None else n for d, n in enumerate(self.strides)
            ),
        )


def space_of(type: MemRefType) -> simt.MemorySpace:
    """Where a memref is.

    Raises:
        Refusal: its memory space is no `#simt.memory`.
    """
    match type.memory_space:
        case NoneAttr():
            return simt.MemorySpace.GLOBAL
        case simt.MemoryAttr() as space:
            return space.data
        case other:
            raise Refusal(f"expected a memory space of #simt.memory, got {other}")
