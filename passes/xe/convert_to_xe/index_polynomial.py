"""Sums and products of indices, taken apart and put together in 32 bits.

    (%i + 1) * %n * 4  +  %k * 16      %i %n : 4    %n : 4    %k : 16

An address is the sum of what is known before a loop and of what changes in it.  Taken
apart, multiplied out and added up from the outermost block inwards, only the latter is
computed in the loop.  Integers wrap around, so that 32 bits of a result need no more
than 32 bits of what it is made of.

Law (`test_index_polynomial.py`): what is built is the value, modulo 2^32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, i32, i64
from xdsl.ir import SSAValue

from coopc.ir.builder import Builder

Monomial = tuple[SSAValue, ...]
"""The factors, each an index or an integer of 32 or 64 bits; none for a constant."""

MOST_TERMS = 16
"""Products of sums that have more terms than this are left as they are."""

_WIDE = (IndexType(), i32, i64)


@dataclass(frozen=True)
class IndexPolynomial:
    """A sum of products of values, with integer coefficients."""

    terms: Mapping[Monomial, int] = field(default_factory=dict[Monomial, int])

    @classmethod
    def constant(cls, number: int) -> IndexPolynomial:
        """Return a number."""
        return cls({(): number} if number else {})

    @classmethod
    def of(cls, value: SSAValue) -> IndexPolynomial:
        """Return a value, as far as it is made of sums and products."""
        match value.owner:
            case arith.ConstantOp(value=IntegerAttr(value=number)):
                return cls.constant(number.data)
            case arith.IndexCastOp() | arith.ExtSIOp() | arith.ExtUIOp() as cast:
                source = cast.operands[0]
                return cls.of(source) if source.type in _WIDE else cls({(value,): 1})
            case arith.AddiOp(lhs=lhs, rhs=rhs):
                return cls.of(lhs) + cls.of(rhs)
            case arith.SubiOp(lhs=lhs, rhs=rhs):
                return cls.of(lhs) + cls.of(rhs) * cls.constant(-1)
            case arith.MuliOp(lhs=lhs, rhs=rhs):
                one, other = cls.of(lhs), cls.of(rhs)
                if len(one.terms) * len(other.terms) <= MOST_TERMS:
                    return one * other
            case arith.ShLIOp(lhs=lhs, rhs=rhs):
                by = cls.of(rhs).known
                if by is not None and 0 <= by < 32:
                    return cls.of(lhs) * cls.constant(1 << by)
            case _:
                pass
        return cls({(value,): 1})

    @property
    def known(self) -> int | None:
        """The number that it is, if it is one."""
        if not self.terms:
            return 0
        return self.terms[()] if list(self.terms) == [()] else None

    def __add__(self, other: IndexPolynomial) -> IndexPolynomial:
        found = dict(self.terms)
        for monomial, factor in other.terms.items():
            found[monomial] = found.get(monomial, 0) + factor
        return IndexPolynomial({key: factor for key, factor in found.items() if factor})

    def __mul__(self, other: IndexPolynomial) -> IndexPolynomial:
        found: dict[Monomial, int] = {}
        for one, factor in self.terms.items():
            for two, times in other.terms.items():
                key = (*one, *two)
                found[key] = found.get(key, 0) + factor * times
        return IndexPolynomial({key: factor for key, factor in found.items() if factor})

    def build(self, b: Builder) -> SSAValue:
        """Return its lower 32 bits, an i32; what is known further out comes first."""
        narrow = {
            monomial: [narrowed(b, value) for value in monomial]
            for monomial in self.terms
        }
        order = sorted(
            (monomial for monomial in self.terms if monomial),
            key=lambda x: max(map(b.depth, narrow[x])),
        )
        terms = [_product(b, narrow[x], self.terms[x]) for x in order]
        constant = self.terms.get((), 0)
        if not terms:
            return b.constant(i32, wrapped(constant))
        # The number goes to what is known first, where nothing is computed again.
        found = terms[0]
        if constant:
            found = b.pure(arith.AddiOp, found, b.constant(i32, wrapped(constant)))
        for term in terms[1:]:
            found = b.pure(arith.AddiOp, found, term)
        return found


def narrowed(b: Builder, value: SSAValue) -> SSAValue:
    """Return the lower 32 bits of an index or an integer."""
    if value.type == i32:
        return value
    if value.type == i64:
        return b.pure(arith.TruncIOp, value, i32)
    return b.pure(arith.IndexCastOp, value, i32)


def _product(b: Builder, values: list[SSAValue], factor: int) -> SSAValue:
    """Return a product: what is known further out is multiplied first."""
    first, *rest = sorted(values, key=b.depth)
    found = first
    if factor != 1:
        found = b.pure(arith.MuliOp, first, b.constant(i32, wrapped(factor)))
    for value in rest:
        found = b.pure(arith.MuliOp, found, value)
    return found


def wrapped(number: int) -> int:
    """Return a number as an i32 with the same lower bits.

    >>> wrapped(5), wrapped((1 << 32) - 2)
    (5, -2)
    """
    half = 1 << 31
    return (number + half) % (1 << 32) - half
