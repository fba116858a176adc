"""Integers of `arith` against Python's."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lane_values import (
    BITS,
    LANES,
    STORED,
    as_integers,
    built,
    integers,
    run,
    stored,
)

from coopc.rounding import wrap
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate

few = settings(max_examples=10, deadline=None)
"""Each example is of many numbers, and many operations are tried on it."""


def tdiv(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda x, y: x + y,
    "subi": lambda x, y: x - y,
    "muli": lambda x, y: x * y,
    "andi": lambda x, y: x & y,
    "ori": lambda x, y: x | y,
    "xori": lambda x, y: x ^ y,
    "minsi": min,
    "maxsi": max,
    "divsi": tdiv,
    "remsi": lambda x, y: x - y * tdiv(x, y),
    "floordivsi": lambda x, y: x // y,
    "ceildivsi": lambda x, y: -(-x // y),
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "minui": min,
    "maxui": max,
    "divui": lambda x, y: x // y,
    "remui": lambda x, y: x % y,
    "ceildivui": lambda x, y: -(-x // y),
}


@pytest.mark.parametrize("type", BITS)
@few
@given(st.data())
def test_integers(type: str, data: st.DataObject) -> None:
    xs, ys = data.draw(integers(BITS[type])), data.draw(integers(BITS[type]))
    for name in (*SIGNED, *UNSIGNED):
        check_integers(name, type, xs, ys)


def check_integers(name: str, type: str, xs: list[int], ys: list[int]) -> None:
    bits, is_signed = BITS[type], name in SIGNED
    if "div" in name or "rem" in name:
        ys = [y or -1 for y in ys]
        if is_signed:
            least = -(1 << (bits - 1))
            xs = [
                0 if (x, y) == (least, -1) else x for x, y in zip(xs, ys, strict=True)
            ]
    module = built(f"%r0 = arith.{name} %x0, %x1 : {type}", (type, type), (type,))
    found = run(module, [stored(xs, type), stored(ys, type)], STORED[type])
    compute = SIGNED.get(name) or UNSIGNED[name]
    pairs = (
        (wrap(x, bits, is_signed), wrap(y, bits, is_signed))
        for x, y in zip(xs, ys, strict=True)
    )
    expected = [wrap(compute(x, y), bits, signed=True) for x, y in pairs]
    assert as_integers(found, type) == expected


@pytest.mark.parametrize("type", [type for type in BITS if type not in ("i1", "i24")])
@few
@given(st.data())
def test_shifts(type: str, data: st.DataObject) -> None:
    bits = BITS[type]
    xs = data.draw(integers(bits))
    amount = st.integers(0, bits - 1)
    ys = data.draw(st.lists(amount, min_size=LANES, max_size=LANES))
    arrays = [stored(xs, type), stored(ys, type)]
    wanted: dict[str, Callable[[int, int], int]] = {
        "shli": lambda x, y: x << y,
        "shrsi": lambda x, y: x >> y,
        "shrui": lambda x, y: wrap(x, bits, signed=False) >> y,
    }
    for name, compute in wanted.items():
        module = built(f"%r0 = arith.{name} %x0, %x1 : {type}", (type, type), (type,))
        expected = [
            wrap(compute(x, y), bits, signed=True) for x, y in zip(xs, ys, strict=True)
        ]
        assert as_integers(run(module, arrays, STORED[type]), type) == expected


@pytest.mark.parametrize("name", ["divsi", "divui", "remsi", "remui", "ceildivsi"])
def test_division_by_zero(name: str) -> None:
    module = built(f"%r0 = arith.{name} %x0, %x1 : i32", ("i32", "i32"), ("i32",))
    ones = np.ones(LANES, np.int32)
    with pytest.raises(UndefinedBehaviour, match=f"arith.{name}.*division by zero"):
        run(module, [ones, ones - 1], np.int32)


def test_least_by_minus_one() -> None:
    module = built("%r0 = arith.divsi %x0, %x1 : i8", ("i8", "i8"), ("i8",))
    ones = np.ones(LANES, np.int8)
    with pytest.raises(UndefinedBehaviour, match="least"):
        run(module, [ones * -128, -ones], np.int8)


@pytest.mark.parametrize("type", ["i8", "i32", "i64"])
@few
@given(st.data())
def test_extended_products(type: str, data: st.DataObject) -> None:
    bits = BITS[type]
    xs, ys = data.draw(integers(bits)), data.draw(integers(bits))
    for name, is_signed in (("mulsi_extended", True), ("mului_extended", False)):
        module = built(
            f"%r0, %r1 = arith.{name} %x0, %x1 : {type}", (type, type), (type, type)
        )
        low, high = np.zeros((2, LANES), STORED[type])
        simulate(module, "f", [stored(xs, type), stored(ys, type), low, high])
        products = [
            wrap(x, bits, is_signed) * wrap(y, bits, is_signed)
            for x, y in zip(xs, ys, strict=True)
        ]
        assert as_integers(low, type) == [wrap(p, bits, True) for p in products]
        assert as_integers(high, type) == [
            wrap(p >> bits, bits, True) for p in products
        ]


@few
@given(integers(32), integers(32))
def test_addui_extended(xs: list[int], ys: list[int]) -> None:
    module = built(
        "%r0, %r1 = arith.addui_extended %x0, %x1 : i32, i1",
        ("i32", "i32"),
        ("i32", "i1"),
    )
    total, carry = np.zeros(LANES, np.int32), np.zeros(LANES, np.bool_)
    simulate(module, "f", [stored(xs, "i32"), stored(ys, "i32"), total, carry])
    for x, y, low, high in zip(xs, ys, total, carry, strict=True):
        whole = wrap(x, 32, False) + wrap(y, 32, False)
        assert (wrap(int(low), 32, False), int(high)) == (
            whole % (1 << 32),
            whole >> 32,
        )


INTEGER_PREDICATES: dict[str, tuple[Callable[[int, int], bool], bool]] = {
    "eq": (lambda x, y: x == y, True),
    "ne": (lambda x, y: x != y, True),
    "slt": (lambda x, y: x < y, True),
    "sle": (lambda x, y: x <= y, True),
    "sgt": (lambda x, y: x > y, True),
    "sge": (lambda x, y: x >= y, True),
    "ult": (lambda x, y: x < y, False),
    "ule": (lambda x, y: x <= y, False),
    "ugt": (lambda x, y: x > y, False),
    "uge": (lambda x, y: x >= y, False),
}


@pytest.mark.parametrize("type", ["i1", "i4", "i32", "index"])
@few
@given(st.data())
def test_cmpi(type: str, data: st.DataObject) -> None:
    bits = BITS[type]
    xs, ys = data.draw(integers(bits)), data.draw(integers(bits))
    arrays = [stored(xs, type), stored(ys, type)]
    for predicate, (compare, is_signed) in INTEGER_PREDICATES.items():
        module = built(
            f"%r0 = arith.cmpi {predicate}, %x0, %x1 : {type}", (type, type), ("i1",)
        )
        assert run(module, arrays, np.bool_).tolist() == [
            compare(wrap(x, bits, is_signed), wrap(y, bits, is_signed))
            for x, y in zip(xs, ys, strict=True)
        ]
