"""Integers of `math`, and constants and choices of `arith`."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lane_values import LANES, built, integers, run, stored

from coopc.rounding import wrap
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.simulate import simulate

few = settings(max_examples=10, deadline=None)
"""Each example is of many numbers, and many operations are tried on it."""


def test_constants() -> None:
    body = """
      %a = arith.constant dense<[1.0, -0.0, 0.1, 65504.0]> : vector<4xf16>
      %b = arith.constant dense<-1> : vector<4xi32>
      %r0 = arith.addf %a, %x0 : vector<4xf16>
      %r1 = arith.addi %b, %x1 : vector<4xi32>
    """
    types = ("vector<4xf16>", "vector<4xi32>")
    half, whole = np.zeros((LANES, 4), np.float16), np.zeros((LANES, 4), np.int32)
    halves, wholes = np.ones_like(half), np.ones_like(whole)
    simulate(built(body, types, types), "f", [half, whole, halves, wholes])
    assert (halves == np.array([1, 0, 0.1, 65504], np.float16)).all()
    assert (wholes == -1).all()


def test_select() -> None:
    body = """
      %first = arith.cmpi eq, %lane, %zero : index
      %r0 = arith.select %first, %x0, %x1 : vector<4xi32>
    """
    type = "vector<4xi32>"
    x, y = np.random.default_rng(0).integers(-5, 5, (2, LANES, 4), np.int32)
    found = np.zeros_like(x)
    simulate(built(body, (type, type), (type,)), "f", [x, y, found])
    assert (found[0] == x[0]).all()
    assert (found[1:] == y[1:]).all()


@few
@given(integers(32))
def test_integer_functions(xs: list[int]) -> None:
    wanted: dict[str, Callable[[int], int]] = {
        "absi": abs,
        "ctpop": lambda x: (x & 0xFFFFFFFF).bit_count(),
        "ctlz": lambda x: 32 - (x & 0xFFFFFFFF).bit_length(),
        "cttz": lambda x: ((x & -x).bit_length() - 1) if x else 32,
    }
    for name, compute in wanted.items():
        module = built(f"%r0 = math.{name} %x0 : i32", ("i32",), ("i32",))
        expected = [wrap(compute(x), 32, signed=True) for x in xs]
        assert run(module, [stored(xs, "i32")], np.int32).tolist() == expected


@few
@given(integers(8), st.lists(st.integers(0, 127), min_size=LANES, max_size=LANES))
def test_ipowi(xs: list[int], ys: list[int]) -> None:
    module = built("%r0 = math.ipowi %x0, %x1 : i8", ("i8", "i8"), ("i8",))
    found = run(module, [stored(xs, "i8"), stored(ys, "i8")], np.int8)
    assert found.tolist() == [wrap(x**y, 8, True) for x, y in zip(xs, ys, strict=True)]


def test_ipowi_negative() -> None:
    module = built("%r0 = math.ipowi %x0, %x1 : i8", ("i8", "i8"), ("i8",))
    xs = np.array([1, -1, 2, -2] * 8, np.int8)
    found = run(module, [xs, np.full(LANES, -3, np.int8)], np.int8)
    assert found.tolist() == [1, -1, 0, 0] * 8
    with pytest.raises(UndefinedBehaviour, match="negative power"):
        run(module, [xs * 0, np.full(LANES, -3, np.int8)], np.int8)


def test_unknown_type_is_named() -> None:
    module = built("%r0 = arith.constant 1.0 : f80", (), ("f80",))
    with pytest.raises(SimulationError, match="f80"):
        simulate(module, "f", [np.zeros(LANES)])
