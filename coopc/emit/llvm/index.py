"""Arithmetic on numbers of elements, folded where they are known.

Law: adding 0 and multiplying by 0 or 1 emit nothing.  LLVM finds equal sums by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from coopc.emit.llvm.view import Num, View, id_of
from coopc.llvm.function import Function
from coopc.llvm.values import Constant


class Index:
    """Index arithmetic in one function."""

    def __init__(self, function: Function) -> None:
        """Emit into a function."""
        self.function = function

    def num(self, number: Num) -> Num:
        """A number as an int where its value is a constant."""
        if isinstance(number, Constant) and number.number is not None:
            return number.number
        return number

    def add(self, left: Num, right: Num) -> Num:
        """The sum."""
        a, b = self.num(left), self.num(right)
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        return a if b == 0 else self.function.binary("add", id_of(a), id_of(b))

    def mul(self, left: Num, right: Num) -> Num:
        """The product."""
        a, b = self.num(left), self.num(right)
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        return a if b == 1 else self.function.binary("mul", id_of(a), id_of(b))

    def strides(self, view: View) -> tuple[Num, ...]:
        """The strides of a memref, in elements."""
        if view.strides is not None:
            return view.strides
        found: list[Num] = [1]
        for size in reversed(view.sizes[1:]):
            found.insert(0, self.mul(found[0], size))
        return tuple(found[: len(view.sizes)])

    def linear(self, view: View, positions: Sequence[Num]) -> Num:
        """Where an element is, in elements from the base."""
        at = view.offset
        for position, stride in zip(positions, self.strides(view), strict=True):
            at = self.add(at, self.mul(position, stride))
        return at
