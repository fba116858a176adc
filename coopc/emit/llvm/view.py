"""A memref while it is emitted: a pointer, its sizes and its strides.

A memref is several values, of which those that its type fixes are constants.  Where it
passes through a loop or a call, the pointer and the others do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from coopc.dialects import simt
from coopc.emit.llvm.facts import Facts
from coopc.emit.memrefs import Form, space_of
from coopc.llvm.types import I64, Pointer, Type
from coopc.llvm.values import Value, integer

Num: TypeAlias = int | Value
"""A number of elements: known now, or at run time as an i64."""

_SPACES = {
    simt.MemorySpace.GLOBAL: 1,
    simt.MemorySpace.PRIVATE: 0,
    simt.MemorySpace.WORKGROUP: 3,
}
"""Address spaces of spir64."""


@dataclass(frozen=True, slots=True)
class View:
    """A memref: element (i, j) is `base[offset + i * strides[0] + j * strides[1]]`."""

    base: Value
    element: Attribute
    """The type of an element."""
    offset: Num
    sizes: tuple[Num, ...]
    strides: tuple[Num, ...] | None
    """None for row-major order, where they follow from the sizes."""

    @property
    def space(self) -> int:
        """The address space that it is in."""
        assert isinstance(self.base.type, Pointer), self.base
        return self.base.type.space


def address_space(type: MemRefType, facts: Facts) -> int:
    """The address space of a memref that is an argument; x86-64 has one.

    Raises:
        Refusal: its memory space is no `#simt.memory`.
    """
    space = space_of(type)
    return _SPACES[space] if facts.gpu else 0


def filled(
    form: Form,
    base: Value,
    element: Attribute,
    offset: Callable[[], Num],
    size: Callable[[int], Num],
    stride: Callable[[int], Num],
) -> View:
    """A view of a form with what is left to run time from elsewhere, in this order."""
    return View(base, element, *form.filled(offset, size, stride))


def flat_types(type: MemRefType, facts: Facts) -> list[Type]:
    """The types of the values that a memref is passed as."""
    return [Pointer(address_space(type, facts)), *[I64] * Form.of(type).dynamic]


def flat(view: View, form: Form) -> list[Value]:
    """The values that a memref of a form is passed as."""
    fixed_strides, strides = form.strides or (), view.strides or ()
    pairs = [
        (form.offset, view.offset),
        *zip(form.sizes, view.sizes, strict=True),
        *zip(fixed_strides, strides, strict=True),
    ]
    return [view.base, *(id_of(number) for fixed, number in pairs if fixed is None)]


def from_flat(type: MemRefType, values: Iterator[Value]) -> View:
    """The memref that was passed as some values."""

    def following(_: int = 0) -> Value:
        return next(values)

    return filled(
        Form.of(type), next(values), type.element_type, following, following, following
    )


def id_of(number: Num) -> Value:
    """A number as a value."""
    return integer(I64, number) if isinstance(number, int) else number
