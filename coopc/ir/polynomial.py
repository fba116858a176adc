"""Integers of a program as polynomials of values: sums of products, by SSA value.

    pid * 64 * lda + step + 3        {(pid, lda): 64, (step,): 1, (): 3}

Polynomials are integers without a width; equal ones are equal numbers.  `build` writes
one as operations of 32 or 64 bits, which need no more bits of what they are made of,
since integers wrap around.  It adds and multiplies what is known before a loop first,
so that only what changes in the loop is computed there.

Laws (test/unit/ir/test_polynomial.py checks each by its name):

    ring        sums, differences and products are those of the numbers
    divided     (p divided by q) gives r and s with p == q * r + s
    build       what is built has the lower bits of the value
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from math import gcd

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i32, i64
from xdsl.ir import SSAValue

from coopc.dialects.narrow import is_integer
from coopc.ir.builder import Builder

Monomial = tuple[SSAValue, ...]
"""Factors, in any order; none for the number 1."""

MOST_TERMS = 16
"""Products of sums that have more terms than this are left as they are."""

_WIDE = (IndexType(), i32, i64)


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A sum of products of values, each with an integer factor that is not 0."""

    terms: Mapping[Monomial, int] = field(default_factory=dict[Monomial, int])

    @classmethod
    def sum(cls, terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
        """Return a sum of terms, of which several may have the same factors."""
        found: dict[Monomial, int] = {}
        for factors, number in terms:
            if factors not in found:
                count = Counter(factors)
                same = (x for x in found if Counter(x) == count)
                factors = next(same, factors)
            found[factors] = found.get(factors, 0) + number
        return cls({factors: number for factors, number in found.items() if number})

    @classmethod
    def number(cls, value: int) -> Polynomial:
        return cls({(): value} if value else {})

    @classmethod
    def value(cls, value: SSAValue) -> Polynomial:
        return cls({(value,): 1})

    @classmethod
    def of(cls, value: SSAValue) -> Polynomial:
        """Return an index or an integer, as far as it is made of sums and products.

        Only its lower 32 bits are those of the value.
        """
        match value.owner:
            case arith.ConstantOp(value=IntegerAttr(value=number)):
                return cls.number(number.data)
            case arith.IndexCastOp() | arith.ExtSIOp() | arith.ExtUIOp() as cast:
                source = cast.operands[0]
                return cls.of(source) if source.type in _WIDE else cls.value(value)
            case arith.AddiOp(lhs=lhs, rhs=rhs):
                return cls.of(lhs) + cls.of(rhs)
            case arith.SubiOp(lhs=lhs, rhs=rhs):
                return cls.of(lhs) - cls.of(rhs)
            case arith.MuliOp(lhs=lhs, rhs=rhs):
                one, other = cls.of(lhs), cls.of(rhs)
                if len(one.terms) * len(other.terms) <= MOST_TERMS:
                    return one * other
            case arith.ShLIOp(lhs=lhs, rhs=rhs):
                by = cls.of(rhs).constant
                if by is not None and 0 <= by < 32:
                    return cls.of(lhs) * cls.number(1 << by)
            case _:
                pass
        return cls.value(value)

    @property
    def constant(self) -> int | None:
        """The number that it is, None if it has values."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def values(self) -> set[SSAValue]:
        return {value for factors in self.terms for value in factors}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and not (self - other).terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.values()))

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial.sum((*self.terms.items(), *other.terms.items()))

    def __neg__(self) -> Polynomial:
        return Polynomial({key: -x for key, x in self.terms.items()})

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        return Polynomial.sum(
            ((*one, *two), x * y)
            for one, x in self.terms.items()
            for two, y in other.terms.items()
        )

    def where(self, value: SSAValue, becomes: Polynomial) -> Polynomial:
        """Return it with a value replaced."""
        found = NOTHING
        for factors, number in self.terms.items():
            product = Polynomial.number(number)
            for factor in factors:
                is_it = factor is value
                product *= becomes if is_it else Polynomial.value(factor)
            found += product
        return found

    def divided(self, by: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Return quotient and rest of the terms that a single product divides.

        The rest has the terms that it does not divide; all, if `by` is a longer sum.
        """
        if len(by.terms) != 1:
            return NOTHING, self
        ((divisor, size),) = by.terms.items()
        quotient: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for factors, number in self.terms.items():
            if number % size or Counter(divisor) - Counter(factors):
                rest[factors] = number
            else:
                left = (Counter(factors) - Counter(divisor)).elements()
                quotient[tuple(left)] = number // size
        return Polynomial(quotient), Polynomial(rest)

    def divisor(self, of: Callable[[SSAValue], int]) -> int:
        """Return a number that it is a multiple of; 0 if it is 0.

        Args:
            of: a number that a value is known to be a multiple of.
        """
        sizes = (
            reduce(lambda x, value: x * of(value), factors, number)
            for factors, number in self.terms.items()
        )
        return reduce(gcd, sizes, 0)

    def build(self, b: Builder, type: IntegerType = i32) -> SSAValue:
        """Return its lower bits as an integer of 32 or 64 bits."""

        def number(value: int) -> SSAValue:
            half = 1 << type.bitwidth - 1
            return b.constant(type, (value + half) % (2 * half) - half)

        # First what is known before loops, in this order: Intel's compiler keeps it.
        sorted_factors = (
            (sorted((resized(b, x, type) for x in factors), key=b.depth), times)
            for factors, times in self.terms.items()
            if factors
        )
        products: list[SSAValue] = []
        for (found, *rest), times in sorted(
            sorted_factors, key=lambda term: b.depth(term[0][-1])
        ):
            for factor in ([] if times == 1 else [number(times)]) + rest:
                found = b.pure(arith.MuliOp, found, factor)
            products.append(found)
        # The number goes to what is known first, where nothing is computed again.
        if () in self.terms or not products:
            products.insert(1, number(self.terms.get((), 0)))
        return reduce(lambda x, y: b.pure(arith.AddiOp, x, y), products)


def resized(b: Builder, value: SSAValue, type: IntegerType) -> SSAValue:
    """Return an index or an integer with the bits of another; a wider one is signed."""
    if value.type == type:
        return value
    if not is_integer(value.type):
        return b.pure(arith.IndexCastOp, value, type)
    grows = value.type.bitwidth < type.bitwidth
    return b.pure(arith.ExtSIOp if grows else arith.TruncIOp, value, type)


NOTHING = Polynomial()

ONE = Polynomial.number(1)
