"""Arithmetic on numbers, or on vectors of numbers, written as expressions.

    ((word + up) >> 16) | quiet

`>>` moves in zeros.  A number of Python becomes a constant of the other one's type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, SSAValue

from coopc.dialects.narrow import is_integer
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.passes.coopmatrix.elementwise import Inserts, Make, converted


@dataclass(frozen=True, slots=True)
class Num:
    """A number, or a vector of numbers, and what inserts operations on it."""

    b: Inserts
    value: SSAValue
    flags: tuple[arith.FastMathFlagsAttr, ...] = ()
    """What `+`, `-`, `*` and `/` of floats may relax; nothing if it is empty."""

    def like(self, number: float) -> Num:
        """Return a constant of the type of this number."""
        return replace(self, value=self.b.constant(self.value.type, number))

    def apply(self, make: Make, *others: Operand) -> Num:
        """Return what an operation makes of this number and others."""
        return self._made(make, self.value, *map(self._operand, others))

    def compare(self, predicate: str, other: Operand) -> Num:
        """Return an i1, by a predicate of `arith.cmpi` or `arith.cmpf`."""
        make = arith.CmpfOp if self._is_float else arith.CmpiOp
        return self._made(make, self.value, self._operand(other), predicate)

    def select(self, yes: Num, no: Operand) -> Num:
        """Return one of two numbers, by an i1."""
        return yes._made(arith.SelectOp, self.value, yes.value, yes._operand(no))

    def cast(self, make: Make, element: Attribute) -> Num:
        """Return the number cast to another type, if it has another."""
        type = self.value.type
        if element_of(type) == element:
            return self
        return self._made(make, self.value, shaped(type, element))

    def bits(self, element: Attribute) -> Num:
        return self.cast(arith.BitcastOp, element)

    def to(self, element: Attribute, signed: bool = True) -> Num:
        """Return the number converted to another type."""
        return replace(self, value=converted(self.b, self.value, element, signed))

    def __add__(self, other: Operand) -> Num:
        return self._either(arith.AddiOp, arith.AddfOp, other)

    def __sub__(self, other: Operand) -> Num:
        return self._either(arith.SubiOp, arith.SubfOp, other)

    def __rsub__(self, other: float) -> Num:
        return self.like(other) - self

    def __mul__(self, other: Operand) -> Num:
        return self._either(arith.MuliOp, arith.MulfOp, other)

    def __truediv__(self, other: Operand) -> Num:
        return self._made(arith.DivfOp, self.value, self._operand(other), *self.flags)

    def __and__(self, other: Operand) -> Num:
        return self.apply(arith.AndIOp, other)

    def __or__(self, other: Operand) -> Num:
        return self.apply(arith.OrIOp, other)

    def __xor__(self, other: Operand) -> Num:
        return self.apply(arith.XOrIOp, other)

    def __lshift__(self, other: Operand) -> Num:
        return self.apply(arith.ShLIOp, other)

    def __rshift__(self, other: Operand) -> Num:
        return self.apply(arith.ShRUIOp, other)

    @property
    def _is_float(self) -> bool:
        return isinstance(element_of(self.value.type), AnyFloat)

    def _operand(self, other: Operand) -> SSAValue:
        return other.value if isinstance(other, Num) else self.like(other).value

    def _either(self, of_integers: Make, of_floats: Make, other: Operand) -> Num:
        make, flags = (of_floats, self.flags) if self._is_float else (of_integers, ())
        return self._made(make, self.value, self._operand(other), *flags)

    def _made(self, make: Make, *operands: Any) -> Num:
        return replace(self, value=self.b.pure(make, *operands))


Operand: TypeAlias = "Num | float"


def nums(b: Inserts, *values: SSAValue) -> list[Num]:
    return [Num(b, value) for value in values]


def saturating_sum(one: Num, other: Num, signed: bool) -> Num:
    """Return the sum of two integers of one type, or the nearest one that it has."""
    found = one + other
    if not signed:
        return found.compare("ult", other).select(found.like(-1), found)
    element = element_of(one.value.type)
    assert is_integer(element), element
    bits = element.width.data
    # It has overflowed if its sign is neither that of one nor that of the other.
    changed = (one ^ found) & (other ^ found)
    least, most = found.like(-1 << (bits - 1)), found.like((1 << (bits - 1)) - 1)
    limit = one.compare("slt", 0).select(least, most)
    return changed.compare("slt", 0).select(limit, found)
