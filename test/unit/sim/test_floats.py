"""Floats of `arith` against Python's, rounded once to the type."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lane_values import (
    FLOATS,
    LANES,
    STORED,
    as_floats,
    as_stored,
    built,
    floats,
    run,
    same,
)

from coopc.rounding import FORMATS

few = settings(max_examples=10, deadline=None)
"""Each example is of many numbers, and many operations are tried on it."""


def fdiv(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(x) / np.float64(y))


def smaller(x: float, y: float) -> float:
    if x == y == 0:
        return min(x, y, key=lambda z: math.copysign(1, z))
    return min(x, y)


def minimumf(x: float, y: float) -> float:
    return math.nan if math.isnan(x) or math.isnan(y) else smaller(x, y)


def minnumf(x: float, y: float) -> float:
    return y if math.isnan(x) else x if math.isnan(y) else smaller(x, y)


FLOAT_FUNCTIONS: dict[str, Callable[[float, float], float]] = {
    "addf": lambda x, y: x + y,
    "subf": lambda x, y: x - y,
    "mulf": lambda x, y: x * y,
    "divf": fdiv,
    "minimumf": minimumf,
    "maximumf": lambda x, y: -minimumf(-x, -y),
    "minnumf": minnumf,
    "maxnumf": lambda x, y: -minnumf(-x, -y),
}


@pytest.mark.parametrize("type", FLOATS)
@few
@given(st.data())
def test_floats(type: str, data: st.DataObject) -> None:
    xs, ys = data.draw(floats(type)), data.draw(floats(type))
    arrays = [as_stored(xs, type), as_stored(ys, type)]
    for name, compute in FLOAT_FUNCTIONS.items():
        module = built(f"%r0 = arith.{name} %x0, %x1 : {type}", (type, type), (type,))
        found = run(module, arrays, STORED[type])
        expected = [
            FORMATS[type].round(compute(x, y)) for x, y in zip(xs, ys, strict=True)
        ]
        assert same(as_floats(found, type), expected)


def test_float_overflow_rounds_to_infinity() -> None:
    module = built("%r0 = arith.addf %x0, %x0 : f16", ("f16",), ("f16",))
    found = run(module, [np.full(LANES, 65504, np.float16)], np.float16)
    assert np.isinf(found).all()


ORDERED: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda x, y: x == y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "ne": lambda x, y: x != y,
}


@pytest.mark.parametrize("type", ["f32", "bf16"])
@few
@given(st.data())
def test_cmpf(type: str, data: st.DataObject) -> None:
    xs, ys = data.draw(floats(type)), data.draw(floats(type))
    pairs = list(zip(xs, ys, strict=True))
    unordered = [math.isnan(x) or math.isnan(y) for x, y in pairs]
    wanted = {
        "false": [False] * LANES,
        "true": [True] * LANES,
        "uno": unordered,
        "ord": [not x for x in unordered],
    }
    for name, compare in ORDERED.items():
        plain = [compare(x, y) for x, y in pairs]
        wanted[f"o{name}"] = [
            x and not u for x, u in zip(plain, unordered, strict=True)
        ]
        wanted[f"u{name}"] = [x or u for x, u in zip(plain, unordered, strict=True)]
    arrays = [as_stored(xs, type), as_stored(ys, type)]
    for predicate, expected in wanted.items():
        module = built(
            f"%r0 = arith.cmpf {predicate}, %x0, %x1 : {type}", (type, type), ("i1",)
        )
        assert run(module, arrays, np.bool_).tolist() == expected
