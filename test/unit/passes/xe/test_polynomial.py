"""Laws of polynomials of values, and what they look like as operations."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from coopc.passes.triton.materialize import Materializer
from coopc.passes.triton.polynomial import NOTHING, Polynomial

FUNC = FuncOp("f", ((i32, i32, i64), ()))
VALUES: list[SSAValue] = list(FUNC.body.block.args)
NUMBERS = dict(zip(VALUES, (3, 50, -7), strict=True))

terms = st.dictionaries(
    st.lists(st.sampled_from(VALUES), max_size=3).map(
        lambda x: tuple(sorted(x, key=id))
    ),
    st.integers(-64, 64).filter(bool),
    max_size=5,
)
polynomials = terms.map(lambda x: Polynomial(x))


def number(polynomial: Polynomial) -> int:
    return sum(
        size * int(np.prod([NUMBERS[x] for x in factors], dtype=object))
        for factors, size in polynomial.terms.items()
    )


@given(polynomials, polynomials)
def test_ring(one: Polynomial, other: Polynomial) -> None:
    assert number(one + other) == number(one) + number(other)
    assert number(one - other) == number(one) - number(other)
    assert number(one * other) == number(one) * number(other)
    assert one - one == NOTHING
    assert one + other == other + one
    assert hash(one + other) == hash(other + one)


@given(polynomials, polynomials)
def test_divided(one: Polynomial, by: Polynomial) -> None:
    quotient, rest = one.divided(by)
    assert quotient * by + rest == one


@given(polynomials, polynomials)
def test_all_multiples_are_divided(one: Polynomial, by: Polynomial) -> None:
    if len(by.terms) == 1:
        assert (one * by).divided(by) == (one, NOTHING)


@given(polynomials)
def test_where(one: Polynomial) -> None:
    a, b, _ = VALUES
    becomes = Polynomial.value(b) + Polynomial.number(4)
    expected = {**NUMBERS, a: NUMBERS[b] + 4}
    found = one.where(a, becomes)
    assert a not in found.values
    assert number(found) == sum(
        size * int(np.prod([expected[x] for x in factors], dtype=object))
        for factors, size in one.terms.items()
    )


@given(polynomials)
def test_divisor(one: Polynomial) -> None:
    divisor = one.divisor(lambda value: abs(NUMBERS[value]))
    assert number(one) == 0 if divisor == 0 else number(one) % divisor == 0


def test_constant() -> None:
    a, _, _ = VALUES
    assert NOTHING.constant == 0
    assert Polynomial.number(5).constant == 5
    assert Polynomial.value(a).constant is None
    assert (Polynomial.value(a) + Polynomial.number(5)).constant is None


def test_written_once_and_in_order() -> None:
    func = FuncOp("f", ((i32, i32, i64), ()))
    func.body.block.add_op(ReturnOp())
    last = func.body.block.last_op
    assert last is not None
    a, b, c = (Polynomial.value(x) for x in func.body.block.args)
    writer = Materializer(func.body.block, last)
    whole = a * b * Polynomial.number(64) + c + Polynomial.number(3)
    first = writer.value(whole, i32)
    again = writer.value(c + a * b * Polynomial.number(64) + Polynomial.number(3), i32)
    assert first is again
    func.verify()
    names = [op.name for op in func.body.block.ops]
    assert names.count("arith.muli") == 2
    assert names.count("arith.addi") == 2
    assert names.count("arith.trunci") == 1
