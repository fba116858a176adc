"""`arith` and integers of `math` against Python's integers and one-number rounding."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from coopc.rounding import FORMATS, wrap
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.formats import from_bf16, to_bf16
from coopc.sim.simulate import simulate
from coopc.testing.programs import lane_kernel

LANES = 32
WIDTHS = (1, 4, 8, 16, 24, 32, 64)
BITS = {**{f"i{width}": width for width in WIDTHS}, "index": 64}
STORED: dict[str, Any] = {
    "i1": np.bool_,
    "i4": np.int8,
    "i8": np.int8,
    "i16": np.int16,
    "i24": np.int32,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "f64": np.float64,
}


@cache
def built(body: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> ModuleOp:
    """A kernel of 32 lanes."""
    return lane_kernel(body, inputs, outputs, LANES)


few = settings(max_examples=10, deadline=None)
"""Each example is of many numbers, and many operations are tried on it."""


def run(module: ModuleOp, inputs: list[Any], output: Any) -> Any:
    """What lanes write, of a kernel with one output."""
    result = np.zeros(LANES, output)
    simulate(module, "f", [*inputs, result])
    return result


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


@st.composite
def integers(draw: st.DrawFn, bits: int) -> Any:
    """As many integers as there are lanes, the extreme ones often."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    one = st.sampled_from([low, high, 0, -1, 1 if high else 0]) | st.integers(low, high)
    return draw(st.lists(one, min_size=LANES, max_size=LANES))


def stored(values: list[int], type: str) -> Any:
    return np.array([bool(x & 1) for x in values] if type == "i1" else values).astype(
        STORED[type]
    )


def as_integers(array: Any, type: str) -> list[int]:
    return [-int(x) for x in array] if type == "i1" else [int(x) for x in array]


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
    with pytest.raises(UndefinedBehaviour, match=f"arith.{name}.*divisor"):
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


FLOATS = ("f16", "bf16", "f32", "f64")


def floats(type: str) -> st.SearchStrategy[list[float]]:
    """As many floats of a type as there are lanes; half of them any, half simple."""
    format = FORMATS[type]
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, format.greatest]
    one = (
        st.sampled_from(special)
        | st.integers(-100, 100).map(float)
        | st.floats(width=64).map(format.round)
        | st.floats(-1e4, 1e4).map(format.round)
    )
    return st.lists(one, min_size=LANES, max_size=LANES)


def as_stored(values: list[float], type: str) -> Any:
    array = np.array(values)
    return to_bf16(array) if type == "bf16" else array.astype(STORED[type])


def as_floats(array: Any, type: str) -> list[float]:
    return [float(x) for x in (from_bf16(array) if type == "bf16" else array)]


def same(found: list[float], expected: list[float]) -> bool:
    """The same numbers, with the sign of zeros; any NaN is any other."""
    return all(
        (math.isnan(x) and math.isnan(y))
        or (x == y and math.copysign(1, x) == math.copysign(1, y))
        for x, y in zip(found, expected, strict=True)
    )


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


@pytest.mark.parametrize(("source", "result"), [(x, y) for x in FLOATS for y in FLOATS])
@few
@given(st.data())
def test_float_conversions(source: str, result: str, data: st.DataObject) -> None:
    bits = {name: FORMATS[name].bits for name in FLOATS}
    if bits[source] == bits[result]:
        return
    op = "extf" if bits[source] < bits[result] else "truncf"
    xs = data.draw(floats(source))
    module = built(f"%r0 = arith.{op} %x0 : {source} to {result}", (source,), (result,))
    found = run(module, [as_stored(xs, source)], STORED[result])
    assert same(as_floats(found, result), [FORMATS[result].round(x) for x in xs])


def nearest(value: int, type: str) -> float:
    """The float of a type nearest to an integer, by way of no other float."""
    format = FORMATS[type]
    shift = max(abs(value).bit_length() - format.fraction_bits - 1, 0)
    low = abs(value) & ((1 << shift) - 1)
    units = abs(value) >> shift
    half = 1 << (shift - 1) if shift else 1
    units += low > half or (low == half and units & 1)
    rounded = units << shift
    infinite = rounded > int(format.greatest)
    return math.copysign(math.inf if infinite else float(rounded), value)


@pytest.mark.parametrize("source", ["i1", "i8", "i32", "i64"])
@pytest.mark.parametrize("result", FLOATS)
@few
@given(st.data())
def test_integers_to_floats(source: str, result: str, data: st.DataObject) -> None:
    xs = data.draw(integers(BITS[source]))
    for op, is_signed in (("sitofp", True), ("uitofp", False)):
        module = built(
            f"%r0 = arith.{op} %x0 : {source} to {result}", (source,), (result,)
        )
        found = run(module, [stored(xs, source)], STORED[result])
        expected = [nearest(wrap(x, BITS[source], is_signed), result) for x in xs]
        assert same(as_floats(found, result), expected)


@pytest.mark.parametrize("result", ["i4", "i8", "i32", "i64"])
@pytest.mark.parametrize("source", FLOATS)
@few
@given(st.data())
def test_floats_to_integers(source: str, result: str, data: st.DataObject) -> None:
    bits = BITS[result]
    xs = data.draw(floats(source))
    for op, is_signed in (("fptosi", True), ("fptoui", False)):
        low = -(1 << (bits - 1)) if is_signed else 0
        high = low + (1 << bits) - 1
        module = built(
            f"%r0 = arith.{op} %x0 : {source} to {result}", (source,), (result,)
        )
        found = as_integers(
            run(module, [as_stored(xs, source)], STORED[result]), result
        )
        for x, y in zip(xs, found, strict=True):
            inside = math.isfinite(x) and low <= math.trunc(x) <= high
            limit = 0 if math.isnan(x) else high if x > 0 else low
            expected = math.trunc(x) if inside else limit
            assert y == wrap(expected, bits, signed=True)


WIDENINGS = [("i1", "i8"), ("i4", "i32"), ("i8", "i16"), ("i32", "i64")]


@pytest.mark.parametrize(("narrow", "wide"), WIDENINGS)
@few
@given(st.data())
def test_widths(narrow: str, wide: str, data: st.DataObject) -> None:
    xs = data.draw(integers(BITS[wide]))
    low = [wrap(x, BITS[narrow], signed=True) for x in xs]
    cases = {
        f"trunci %x0 : {wide} to {narrow}": (wide, narrow, low),
        f"extsi %x0 : {narrow} to {wide}": (narrow, wide, low),
        f"extui %x0 : {narrow} to {wide}": (
            narrow,
            wide,
            [wrap(x, BITS[narrow], signed=False) for x in xs],
        ),
    }
    for op, (source, result, expected) in cases.items():
        module = built(f"%r0 = arith.{op}", (source,), (result,))
        given = stored(xs if source == wide else low, source)
        assert as_integers(run(module, [given], STORED[result]), result) == expected


@few
@given(integers(64))
def test_index_cast(xs: list[int]) -> None:
    module = built("%r0 = arith.index_cast %x0 : index to i32", ("index",), ("i32",))
    low = run(module, [stored(xs, "index")], np.int32)
    assert as_integers(low, "i32") == [wrap(x, 32, True) for x in xs]
    module = built("%r0 = arith.index_cast %x0 : i32 to index", ("i32",), ("index",))
    assert as_integers(run(module, [low], np.int64), "index") == low.tolist()


@pytest.mark.parametrize(
    ("source", "result"), [("f16", "i16"), ("bf16", "i16"), ("f32", "i32")]
)
@few
@given(st.data())
def test_bitcast(source: str, result: str, data: st.DataObject) -> None:
    xs = as_stored(data.draw(floats(source)), source)
    module = built(
        f"%r0 = arith.bitcast %x0 : {source} to {result}", (source,), (result,)
    )
    bits = run(module, [xs], STORED[result])
    assert (bits == xs.view(STORED[result])).all()
    module = built(
        f"%r0 = arith.bitcast %x0 : {result} to {source}", (result,), (source,)
    )
    assert (run(module, [bits], STORED[source]).view(bits.dtype) == bits).all()


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
    with pytest.raises(UndefinedBehaviour, match="power of 0"):
        run(module, [xs * 0, np.full(LANES, -3, np.int8)], np.int8)


def test_unknown_type_is_named() -> None:
    module = built("%r0 = arith.constant 1.0 : f80", (), ("f80",))
    with pytest.raises(SimulationError, match="f80"):
        simulate(module, "f", [np.zeros(LANES)])
