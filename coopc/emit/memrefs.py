"""Memrefs as both emitters see them: what a type fixes, and what is left to run time.

A memref never becomes one value of a target.  It is a pointer, an offset, sizes and
strides, of which those that its type fixes are constants; `Form` says which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref, is_vector
from coopc.emit.walker import Refusal, check_combining
from coopc.plan.atomics import Access

Number = TypeVar("Number")
"""A number of elements at run time, as a target has it."""


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

    @property
    def dynamic(self) -> int:
        """How many numbers are left to run time."""
        return (self.offset, *self.sizes, *(self.strides or ())).count(None)

    def filled(
        self,
        offset: Callable[[], Number],
        size: Callable[[int], Number],
        stride: Callable[[int], Number],
    ) -> tuple[int | Number, tuple[int | Number, ...], tuple[int | Number, ...] | None]:
        """Offset, sizes and strides: what is left to run time asked for, in this order.

        Args:
            offset: gives the offset.
            size: gives the size of a dimension.
            stride: gives the stride of a dimension.
        """
        first = offset() if self.offset is None else self.offset
        sizes = tuple(size(d) if n is None else n for d, n in enumerate(self.sizes))
        if self.strides is None:
            return first, sizes, None
        strides = (stride(d) if n is None else n for d, n in enumerate(self.strides))
        return first, sizes, tuple(strides)


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


def memref_type(value: SSAValue) -> MemRefType:
    """The type of a memref.

    Raises:
        Refusal: it has no rank.
    """
    if not is_memref(value.type):
        raise Refusal(f"expected a memref with a rank, got {value.type}")
    return value.type


Numbers = tuple[int, tuple[int, ...], tuple[int, ...] | None]
"""Offset, sizes and strides of a memref that are all constant."""


def allocated(type: MemRefType) -> tuple[int, Numbers]:
    """The elements of the array that an allocation is, and where the memref is there.

    >>> from xdsl.dialects.builtin import f32
    >>> allocated(MemRefType(f32, (2, 3)))
    (6, (0, (2, 3), None))
    >>> allocated(MemRefType(f32, (2, 3), StridedLayoutAttr((1, 4), 5)))
    (15, (5, (2, 3), (1, 4)))

    Raises:
        Refusal: its size is not constant, or an element would be before its start.
    """
    form, shape = Form.of(type), tuple(type.get_shape())
    if form.dynamic:
        raise Refusal(f"expected an allocation of a constant size, got {type}")
    if form.strides is None:
        return max(1, type.element_count()), (0, shape, None)
    offset, *strides = (0 if n is None else n for n in (form.offset, *form.strides))
    if min((offset, *strides)) < 0:
        raise Refusal(f"expected strides that are not negative, got {type.layout}")
    ends = zip(shape, strides, strict=True)
    last = sum((size - 1) * stride for size, stride in ends if size)
    return offset + last + 1, (offset, shape, tuple(strides))


def first_element(
    offset: object,
    shift: object,
    type: MemRefType,
    bytes_of: Callable[[Attribute], int],
) -> int:
    """The offset of a view of bytes, in its elements.

    Raises:
        Refusal: where it begins varies, or is not aligned, or it is not row-major.
    """
    if Form.of(type).strides is not None:
        raise Refusal(f"expected a view in row-major order, got {type.layout}")
    if not isinstance(offset, int) or not isinstance(shift, int):
        raise Refusal("expected a view that begins at a constant byte")
    first, rest = divmod(offset + shift, bytes_of(type.element_type))
    if rest:
        raise Refusal(f"expected a view of whole elements, got one from byte {shift}")
    return first


def known_dimension(number: object, rank: int) -> int:
    """A dimension by its number, an int where it is constant.

    Raises:
        Refusal: it varies, or there is no such dimension.
    """
    if not isinstance(number, int):
        raise Refusal("expected a constant dimension, got one that varies")
    if not 0 <= number < rank:
        raise Refusal(f"expected a dimension below {rank}, got {number}")
    return number


def cast_form(rank: int, type: MemRefType) -> Form:
    """The form of what a memref of a rank is cast to.

    Raises:
        Refusal: it has another rank.
    """
    if rank != type.get_num_dims():
        raise Refusal(f"expected a memref of rank {rank}, got {type}")
    return Form.of(type)


def mixed(static: Sequence[int], dynamic: Iterable[Number]) -> list[int | Number]:
    """Numbers of which some are attributes and the others operands.

    >>> mixed((4, DYNAMIC_INDEX, 1), ["%n"])
    [4, '%n', 1]
    """
    given = iter(dynamic)
    return [next(given) if n == DYNAMIC_INDEX else n for n in static]


def kept_dimensions(sizes: Sequence[int], type: MemRefType) -> list[int]:
    """Which dimensions a subview keeps: it may drop those of size 1.

    >>> from xdsl.dialects.builtin import f32
    >>> kept_dimensions((1, 8, 1, 4), MemRefType(f32, (8, 4)))
    [1, 3]

    Raises:
        Refusal: the type has other sizes.
    """
    shape = type.get_shape()
    kept: list[int] = []
    to_drop = len(sizes) - len(shape)
    for dimension, size in enumerate(sizes):
        expected = shape[len(kept)] if len(kept) < len(shape) else None
        if to_drop and size == 1 and expected != 1:
            to_drop -= 1
        else:
            kept.append(dimension)
    if len(kept) != len(shape):
        raise Refusal(f"expected a result of the sizes {tuple(sizes)}, got {type}")
    return kept


# Arithmetic on numbers of elements, folded where they are known, for any target.
#
# Law: adding 0 and multiplying by 0 or 1 emit nothing.

Given = TypeVar("Given")
"""A number at run time, as a target has it."""
Given_co = TypeVar("Given_co", covariant=True)
Found = TypeVar("Found")
"""What a computed number is there, one of those."""


class Strided(Protocol[Given_co]):
    """The numbers of a memref."""

    @property
    def offset(self) -> int | Given_co:
        """Of the first element from the base, in elements."""
        ...

    @property
    def sizes(self) -> tuple[int | Given_co, ...]:
        """Elements along each dimension."""
        ...

    @property
    def strides(self) -> tuple[int | Given_co, ...] | None:
        """Elements from one to the next; None for row-major order."""
        ...


class IndexArithmetic(ABC, Generic[Given, Found]):
    """Index arithmetic in one function."""

    @abstractmethod
    def num(self, number: int | Given | Found) -> int | Found:
        """A number as an int where its value is a constant."""

    @abstractmethod
    def emit_sum(self, left: int | Found, right: int | Found) -> Found:
        """Emit an addition."""

    @abstractmethod
    def emit_product(self, left: int | Found, right: int | Found) -> Found:
        """Emit a multiplication."""

    def add(self, left: int | Given | Found, right: int | Given | Found) -> int | Found:
        """The sum."""
        a, b = self.num(left), self.num(right)
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        return a if b == 0 else self.emit_sum(a, b)

    def mul(self, left: int | Given | Found, right: int | Given | Found) -> int | Found:
        """The product."""
        a, b = self.num(left), self.num(right)
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        return a if b == 1 else self.emit_product(a, b)

    def strides(self, view: Strided[Given]) -> tuple[int | Given | Found, ...]:
        """The strides of a memref, in elements."""
        if view.strides is not None:
            return view.strides
        found: list[int | Given | Found] = [1]
        for size in reversed(view.sizes[1:]):
            found.insert(0, self.mul(found[0], size))
        return tuple(found[: len(view.sizes)])

    def linear(
        self, view: Strided[Given], positions: Sequence[int | Given | Found]
    ) -> int | Given | Found:
        """Where an element is, in elements from the base."""
        at: int | Given | Found = view.offset
        for position, stride in zip(positions, self.strides(view), strict=True):
            at = self.add(at, self.mul(position, stride))
        return at

    def consecutive(
        self,
        view: Strided[Given],
        positions: Sequence[int | Given | Found],
        type: Attribute,
    ) -> int | Given | Found:
        """Where the first component of a vector is; in memory the others follow it.

        Raises:
            Refusal: they do not.
        """
        assert is_vector(type), type
        if type.get_num_dims() != 1:
            raise Refusal(f"expected a vector of one dimension, got {type}")
        last = self.strides(view)[-1:] or (1,)
        if self.num(last[0]) != 1:
            raise Refusal("expected a memref whose last stride is 1")
        return self.linear(view, positions)

    def place(
        self,
        type: Attribute,
        static: Sequence[int],
        dynamic: Iterable[int | Given | Found],
    ) -> tuple[int | Found, int]:
        """Where a position is in the components of a vector, and how many it names.

        Raises:
            Refusal: a position that is known is not in the vector.
        """
        assert is_vector(type), type
        shape = type.get_shape()
        at: int | Found = 0
        for size, position in zip(shape, mixed(static, dynamic), strict=False):
            if isinstance(position, int) and not 0 <= position < size:
                raise Refusal(f"expected a position below {size}, got {position}")
            at = self.add(self.mul(at, size), position)
        named = 1
        for size in shape[len(static) :]:
            at = self.mul(at, size)
            named *= size
        return at, named


# What each kind of atomic update is, by the numbers of MLIR's AtomicRMWKind.
#
# The extremes of floats 13 and 14 are those that take the number of a number and a NaN,
# 3 and 6 those that take the NaN.


@dataclass(frozen=True, slots=True)
class Update:
    """A kind of update."""

    name: str
    """In MLIR."""
    access: Access
    """What `coopc.plan.atomics` decides by."""


KINDS: dict[int, Update] = {
    0: Update("addf", "add"),
    1: Update("addi", "add"),
    2: Update("assign", "bits"),
    3: Update("maximumf", "other"),
    4: Update("maxs", "min_max"),
    5: Update("maxu", "min_max"),
    6: Update("minimumf", "other"),
    7: Update("mins", "min_max"),
    8: Update("minu", "min_max"),
    9: Update("mulf", "other"),
    10: Update("muli", "other"),
    11: Update("ori", "bits"),
    12: Update("andi", "bits"),
    13: Update("maxnumf", "min_max"),
    14: Update("minnumf", "min_max"),
    15: Update("xori", "bits"),
}
"""By the number of a kind."""


def update_of(kind: int, element: Attribute) -> Update:
    """The update of a kind, by its number.

    Raises:
        Refusal: there is no such kind, or it is not one of the elements.
    """
    if (found := KINDS.get(kind)) is None:
        raise Refusal(f"expected a kind of atomic update, got {kind}")
    check_combining(found.name, element)
    return found
