"""Integers of `arith` in both flavours, run and compared with numpy to the bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.arith_values import (
    INTEGERS,
    Array,
    binary,
    check,
    integers,
    signed,
    unsigned,
    wrapped,
)


def truncated(a: Array, b: Array) -> Array:
    """The quotient rounded towards zero, in Python's integers."""
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    whole = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
    return np.array(whole, object)


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minui": lambda a, b: signed(np.minimum(unsigned(a), unsigned(b))),
    "maxui": lambda a, b: signed(np.maximum(unsigned(a), unsigned(b))),
}


@pytest.mark.parametrize("bits", INTEGERS)
def test_integer_arithmetic(runner: Any, bits: int):
    a, b = integers(bits)
    type = f"i{bits}"
    check(runner, binary(BINARY, type, a, b), [type] * 2, [a, b])


DIVISION: dict[str, Callable[[Array, Array], Array]] = {
    "divsi": truncated,
    "remsi": lambda a, b: a.astype(object) - truncated(a, b) * b.astype(object),
    "floordivsi": lambda a, b: a.astype(object) // b.astype(object),
    "ceildivsi": lambda a, b: -(-a.astype(object) // b.astype(object)),
    "divui": lambda a, b: unsigned(a).astype(object) // unsigned(b).astype(object),
    "remui": lambda a, b: unsigned(a).astype(object) % unsigned(b).astype(object),
    "ceildivui": lambda a, b: (
        -(-unsigned(a).astype(object) // unsigned(b).astype(object))
    ),
}


@pytest.mark.parametrize("bits", INTEGERS)
def test_division(runner: Any, bits: int):
    a, b = integers(bits)
    # The least integer by -1 does not fit, and by 0 nothing is defined.
    undefined = (b == 0) | ((b == -1) & (a == np.iinfo(a.dtype).min))
    b[undefined] = 3
    type = f"i{bits}"
    cases = binary(DIVISION, type, a, b)
    wrapped_cases = {
        name: (out, body, wrapped(expected, a.dtype))
        for name, (out, body, expected) in cases.items()
    }
    check(runner, wrapped_cases, [type] * 2, [a, b])


SHIFTS: dict[str, Callable[[Array, Array], Array]] = {
    "shli": lambda a, b: a << b,
    "shrsi": lambda a, b: a >> b,
    "shrui": lambda a, b: signed(unsigned(a) >> unsigned(b)),
}


@pytest.mark.parametrize("bits", INTEGERS)
def test_shifts(runner: Any, bits: int):
    a, b = integers(bits)
    b = (b.astype(np.int64) % bits).astype(a.dtype)
    type = f"i{bits}"
    check(runner, binary(SHIFTS, type, a, b), [type] * 2, [a, b])


PREDICATES: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
    "ult": lambda a, b: np.less(unsigned(a), unsigned(b)),
    "ule": lambda a, b: np.less_equal(unsigned(a), unsigned(b)),
    "ugt": lambda a, b: np.greater(unsigned(a), unsigned(b)),
    "uge": lambda a, b: np.greater_equal(unsigned(a), unsigned(b)),
}


@pytest.mark.parametrize("bits", [8, 32, 64])
def test_integer_comparison(runner: Any, bits: int):
    a, b = integers(bits)
    cases = {
        name: ("i1", f"%r = arith.cmpi {name}, %a, %b : i{bits}", function(a, b))
        for name, function in PREDICATES.items()
    }
    check(runner, cases, [f"i{bits}"] * 2, [a, b])


@pytest.mark.parametrize("bits", INTEGERS)
def test_extended(runner: Any, bits: int):
    a, b = integers(bits)
    x, y = (unsigned(each).astype(object) for each in (a, b))
    type = f"i{bits}"
    products = wrapped(a.astype(object) * b.astype(object) >> bits, a.dtype)
    cases = {
        "signed": (type, f"%l, %r = arith.mulsi_extended %a, %b : {type}", products),
        "unsigned": (
            type,
            f"%l, %r = arith.mului_extended %a, %b : {type}",
            wrapped(x * y >> bits, a.dtype),
        ),
        "carry": (
            "i1",
            f"%s, %r = arith.addui_extended %a, %b : {type}, i1",
            (x + y >> bits).astype(bool),
        ),
    }
    check(runner, cases, [type] * 2, [a, b])


BOOLS: dict[str, Callable[[Array, Array], Array]] = {
    "addi": np.logical_xor,
    "subi": np.logical_xor,
    "muli": np.logical_and,
    "andi": np.logical_and,
    "ori": np.logical_or,
    "xori": np.logical_xor,
    "minui": np.logical_and,
    "maxui": np.logical_or,
    "minsi": np.logical_or,
    "maxsi": np.logical_and,
    "cmpi slt,": lambda a, b: a & ~b,
    "cmpi ult,": lambda a, b: ~a & b,
    "cmpi eq,": np.equal,
}


def test_i1(runner: Any):
    a = np.array([0, 0, 1, 1] * 2, bool)
    b = np.array([0, 1, 0, 1] * 2, bool)
    check(runner, binary(BOOLS, "i1", a, b), ["i1", "i1"], [a, b])
