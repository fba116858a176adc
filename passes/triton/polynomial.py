"""Integers of a program as polynomials of values: sums of products, by SSA value.

    pid * 64 * lda + step + 3        {(pid, lda): 64, (step,): 1, (): 3}

They are integers without a width: nothing in an index is taken to overflow.  Equal
polynomials are equal numbers; the other way round nobody knows.

Laws (test/unit/passes/xe/test_polynomial.py checks each by its name):

    ring        sums, differences and products are those of the numbers
    divided     (p divided by q) gives r and s with p == q * r + s
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import gcd

from xdsl.ir import SSAValue

Monomial = tuple[SSAValue, ...]
"""Factors, in a fixed order; none for the number 1."""


def _ordered(factors: Iterable[SSAValue]) -> Monomial:
    """Return a product in the one order that it is kept in."""
    return tuple(sorted(factors, key=id))


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A sum of products of values, each with an integer factor that is not 0."""

    terms: Mapping[Monomial, int]

    @classmethod
    def number(cls, value: int) -> Polynomial:
        """Return a constant."""
        return cls({(): value} if value else {})

    @classmethod
    def value(cls, value: SSAValue) -> Polynomial:
        """Return a value by itself."""
        return cls({(value,): 1})

    @property
    def constant(self) -> int | None:
        """The number that it is, None if it has values."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def values(self) -> set[SSAValue]:
        """The values in it."""
        return {value for factors in self.terms for value in factors}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Polynomial) -> Polynomial:
        sums = dict(self.terms)
        for factors, number in other.terms.items():
            sums[factors] = sums.get(factors, 0) + number
        return Polynomial({key: x for key, x in sums.items() if x})

    def __neg__(self) -> Polynomial:
        return Polynomial({key: -x for key, x in self.terms.items()})

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        products: dict[Monomial, int] = {}
        for one, x in self.terms.items():
            for two, y in other.terms.items():
                factors = _ordered((*one, *two))
                products[factors] = products.get(factors, 0) + x * y
        return Polynomial({key: x for key, x in products.items() if x})

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
            left = _without(factors, divisor)
            if left is None or number % size:
                rest[factors] = number
            else:
                quotient[left] = number // size
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


def _without(factors: Monomial, some: Monomial) -> Monomial | None:
    """Return a product divided by another one, None if it is no multiple."""
    left = list(factors)
    for each in some:
        if each not in left:
            return None
        left.remove(each)
    return tuple(left)


NOTHING = Polynomial({})

ONE = Polynomial.number(1)
