"""Arithmetic on numbers of elements, folded where they are known, for any target.

Law: adding 0 and multiplying by 0 or 1 emit nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from xdsl.ir import Attribute

from coopc.dialects.narrow import is_vector
from coopc.emit.memrefs import mixed
from coopc.emit.structured import Refusal

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
