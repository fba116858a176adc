"""Floats of `arith` in both flavours, run and compared with numpy to the bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.arith_values import FLOATS, Array, binary, check, floats

FLOAT: dict[str, Callable[[Array, Array], Array]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
}


@pytest.mark.parametrize("type", FLOATS)
def test_float_arithmetic(runner: Any, type: str):
    a, b = floats(type)
    cases = binary(FLOAT, type, a, b)
    cases["negf"] = (type, f"%r = arith.negf %a : {type}", -a)
    check(runner, cases, [type] * 2, [a, b])


ORDERED: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
    "ne": np.not_equal,
}


@pytest.mark.parametrize("type", FLOATS)
def test_float_comparison(runner: Any, type: str):
    a, b = floats(type)
    nan = np.isnan(a) | np.isnan(b)
    expected = {f"o{name}": f(a, b) & ~nan for name, f in ORDERED.items()}
    expected |= {f"u{name}": f(a, b) | nan for name, f in ORDERED.items()}
    expected |= {"ord": ~nan, "uno": nan, "true": nan | True, "false": nan & False}
    cases = {
        name: ("i1", f"%r = arith.cmpf {name}, %a, %b : {type}", values)
        for name, values in expected.items()
    }
    check(runner, cases, [type] * 2, [a, b])


def zero_ordered(a: Array, b: Array, greater: bool) -> Array:
    """IEEE 754's maximum and minimum: NaN if either is, and -0 below +0."""
    extreme = np.maximum(a, b) if greater else np.minimum(a, b)
    zeros = (a == 0) & (b == 0)
    negative = (
        np.signbit(a) & np.signbit(b) if greater else np.signbit(a) | np.signbit(b)
    )
    signed_zero = np.where(negative, -0.0, 0.0).astype(a.dtype)
    return np.where(zeros, signed_zero, extreme)


EXTREMES: dict[str, Callable[[Array, Array], Array]] = {
    "maximumf": lambda a, b: zero_ordered(a, b, greater=True),
    "minimumf": lambda a, b: zero_ordered(a, b, greater=False),
    # Which zero of two these give is open: + 0.0 makes them the same.
    "maxnumf": lambda a, b: np.fmax(a, b) + a.dtype.type(0.0),
    "minnumf": lambda a, b: np.fmin(a, b) + a.dtype.type(0.0),
}


@pytest.mark.parametrize("type", FLOATS)
def test_float_extremes(runner: Any, type: str):
    a, b = floats(type)
    cases = binary(EXTREMES, type, a, b)
    for name in ("maxnumf", "minnumf"):
        out, body, expected = cases[name]
        body = body.replace("%r", "%x")
        body += f"\n%z = arith.constant 0.0 : {type}"
        body += f"\n%r = arith.addf %x, %z : {type}"
        cases[name] = (out, body, expected)
    check(runner, cases, [type] * 2, [a, b])
