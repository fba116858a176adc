"""What elementwise operations make of constants is what numpy makes of them."""

from collections.abc import Callable
from fractions import Fraction
from math import isfinite
from operator import add, mul, sub
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix.arithmetic import ElementwiseOp
from coopc.rounding import FORMATS, wrap

BITS = 8
SIGNS = (False, True)

WHOLE: dict[type[ElementwiseOp], np.ufunc] = {
    coopmatrix.AddOp: np.add,
    coopmatrix.SubOp: np.subtract,
    coopmatrix.MulOp: np.multiply,
    coopmatrix.ScaleOp: np.multiply,
    coopmatrix.AndOp: np.bitwise_and,
    coopmatrix.OrOp: np.bitwise_or,
    coopmatrix.XorOp: np.bitwise_xor,
    coopmatrix.MinOp: np.minimum,
    coopmatrix.MaxOp: np.maximum,
}


def kind(signed: bool) -> type[np.int8 | np.uint8]:
    return np.int8 if signed else np.uint8


def numbers(signed: bool) -> range:
    return range(-128, 128) if signed else range(256)


def folded(
    op: type[ElementwiseOp], values: tuple[int, ...], signed: bool
) -> int | None:
    result = op.ALGEBRA.integer_result(values, BITS)
    return None if result is None else wrap(result, BITS, signed)


@pytest.mark.parametrize("op", WHOLE, ids=lambda op: op.name)
@pytest.mark.parametrize("signed", SIGNS, ids=("unsigned", "signed"))
def test_integers(op: type[ElementwiseOp], signed: bool) -> None:
    """All pairs of 8 bits; numpy's wrap around as ours."""
    every = np.array(numbers(signed), dtype=kind(signed))
    expected = WHOLE[op](every[:, None], every[None, :])
    found = [
        [folded(op, (x, y), signed) for y in numbers(signed)] for x in numbers(signed)
    ]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("signed", SIGNS, ids=("unsigned", "signed"))
def test_division(signed: bool) -> None:
    """x = q * y + r, |r| < |y|, r of the sign of x; not by 0, nor -128 / -1."""
    for x in numbers(signed):
        for y in numbers(signed):
            q = coopmatrix.DivOp.ALGEBRA.integer_result((x, y), BITS)
            r = coopmatrix.RemOp.ALGEBRA.integer_result((x, y), BITS)
            if y == 0 or (x, y) == (-128, -1):
                assert q is None
                assert r is None
                continue
            assert q is not None
            assert r is not None
            assert x == q * y + r
            assert abs(r) < abs(y)
            assert r * x >= 0


@pytest.mark.parametrize("signed", SIGNS, ids=("unsigned", "signed"))
def test_shifts(signed: bool) -> None:
    for x in numbers(signed):
        number = np.array(x, kind(signed))
        for y in range(-1, 9):
            left = folded(coopmatrix.ShlOp, (x, y), signed)
            right = folded(coopmatrix.ShrOp, (x, y), signed)
            if not 0 <= y < BITS:
                assert left is None
                assert right is None
                continue
            amount = np.array(y, kind(signed))
            assert left == np.left_shift(number, amount)
            assert right == np.right_shift(number, amount)


def test_unary_integers() -> None:
    every = np.arange(-128, 128).astype(np.int8)
    for op, expected in (
        (coopmatrix.NegOp, np.negative(every)),
        (coopmatrix.AbsOp, np.abs(every)),
        (coopmatrix.NotOp, np.invert(every)),
    ):
        found = [folded(op, (x,), True) for x in every.tolist()]
        np.testing.assert_array_equal(found, expected)


FLOATS: dict[type[ElementwiseOp], Callable[[Any, Any], Any]] = {
    coopmatrix.AddOp: add,
    coopmatrix.SubOp: sub,
    coopmatrix.MulOp: mul,
    coopmatrix.ScaleOp: mul,
}
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64}

f16_numbers = st.floats(width=16, allow_nan=False)


@pytest.mark.parametrize("op", FLOATS, ids=lambda op: op.name)
@pytest.mark.parametrize("name", NUMPY)
@given(f16_numbers, f16_numbers)
def test_floats(op: type[ElementwiseOp], name: str, x: float, y: float) -> None:
    """A result is folded if it is exact, and then it is numpy's, as are zeros."""
    with np.errstate(all="ignore"):
        expected = float(FLOATS[op](NUMPY[name](x), NUMPY[name](y)))
    found = op.ALGEBRA.float_result((x, y), name)
    if found is not None:
        assert np.float64(found).tobytes() == np.float64(expected).tobytes()
    elif isfinite(x) and isfinite(y) and isfinite(expected):
        exact = FLOATS[op](Fraction(x), Fraction(y))
        assert exact != Fraction(expected)


@given(st.sampled_from(sorted(FORMATS)), f16_numbers)
def test_float_signs(name: str, x: float) -> None:
    rounded = FORMATS[name].round(x)
    for op, expected in (
        (coopmatrix.NegOp, np.negative(rounded)),
        (coopmatrix.AbsOp, np.abs(rounded)),
    ):
        found = op.ALGEBRA.float_result((rounded,), name)
        if np.isnan(rounded):  # f8E4M3FN has no infinity
            assert found is None
            continue
        assert found is not None
        assert np.float64(found).tobytes() == np.float64(expected).tobytes()


@pytest.mark.parametrize("op", [*FLOATS, coopmatrix.DivOp], ids=lambda op: op.name)
def test_no_number_stays(op: type[ElementwiseOp]) -> None:
    nan, inf = float("nan"), float("inf")
    for values in ((nan, 1.0), (1.0, nan), (inf, 1.0), (0.0, inf)):
        assert op.ALGEBRA.float_result(values, "f32") is None
    assert coopmatrix.NegOp.ALGEBRA.float_result((nan,), "f32") is None
    assert coopmatrix.NegOp.ALGEBRA.float_result((inf,), "f32") == -inf
