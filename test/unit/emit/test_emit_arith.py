"""`arith` in both flavours, run and compared with numpy to the bit."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

Array: TypeAlias = npt.NDArray[Any]

INTEGERS = (8, 16, 32, 64)
FLOATS = ("f16", "f32", "f64")


def integers(bits: int) -> tuple[Array, Array]:
    """Pairs of integers: all of some interesting ones, then random ones."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    some = [0, 1, -1, 2, 3, -5, 7, low, low + 1, high, high // 3]
    pairs = [(a, b) for a in some for b in some][:112]
    dtype = f"int{bits}"
    random = np.random.default_rng(0).integers(low, high, (2, 16), dtype, endpoint=True)
    a, b = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    return np.concatenate([a, random[0]]), np.concatenate([b, random[1]])


def floats(type: str) -> tuple[Array, Array]:
    """Pairs of floats, with zeros, infinities and NaNs of both signs."""
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[type]
    some = [0.0, -0.0, 1.0, -1.5, 3.0, np.inf, -np.inf, np.nan, 2.5, -7.0]
    pairs = [(a, b) for a in some for b in some]
    a, b = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    random = np.random.default_rng(0).normal(0, 8, (2, 28)).astype(dtype)
    return np.concatenate([a, random[0]]), np.concatenate([b, random[1]])


def same(found: Array, expected: Array, what: str = "") -> None:
    """Equal bits; any NaN is as good as another."""
    if found.dtype.kind == "f":
        both = np.isnan(found) & np.isnan(expected)
        found, expected = np.where(both, 0, found), np.where(both, 0, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected), what)
    np.testing.assert_array_equal(found, expected, what)


def unsigned(x: Array) -> Array:
    return x.view(x.dtype.str.replace("i", "u"))


def signed(x: Array) -> Array:
    return x.view(x.dtype.str.replace("u", "i"))


def truncated(a: Array, b: Array) -> Array:
    """The quotient rounded towards zero, in Python's integers."""
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    whole = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
    return np.array(whole, object)


def wrapped(x: Array, dtype: Any) -> Array:
    """Python's integers, with the low bits alone."""
    bits = np.dtype(dtype).itemsize * 8
    return signed(np.array([n % (1 << bits) for n in x.tolist()], f"uint{bits}"))


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


def check(
    runner: Any,
    cases: dict[str, tuple[str, str, Array]],
    types: list[str],
    arrays: list[Array],
) -> None:
    """Check bodies, each with the type of its result and what it is to be."""
    bodies = {name: (out, body) for name, (out, body, _) in cases.items()}
    found = runner.elementwise(bodies, types, arrays)
    for name, (_, _, expected) in cases.items():
        same(found[name], expected.astype(found[name].dtype), name)


def binary(
    table: dict[str, Callable[[Array, Array], Array]], type: str, a: Array, b: Array
) -> dict[str, tuple[str, str, Array]]:
    """Cases of operations on two values of a type."""
    with np.errstate(all="ignore"):
        return {
            name: (type, f"%r = arith.{name} %a, %b : {type}", function(a, b))
            for name, function in table.items()
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


@pytest.mark.parametrize("bits", INTEGERS)
def test_resize(runner: Any, bits: int):
    a, _ = integers(bits)
    cases: dict[str, tuple[str, str, Array]] = {}
    for to in set(INTEGERS) - {bits}:
        ops = ("extsi", "extui") if to > bits else ("trunci",)
        for name in ops:
            x = unsigned(a) if name == "extui" else a
            body = f"%r = arith.{name} %a : i{bits} to i{to}"
            cases[f"{name}{to}"] = (f"i{to}", body, x.astype(f"int{to}"))
    body = f"""
      %x = arith.index_cast %a : i{bits} to index
      %r = arith.index_cast %x : index to i{bits}"""
    narrow = a if bits < 64 else a.astype(np.int32).astype(np.int64)
    cases["index"] = (f"i{bits}", body, narrow)
    if runner.flavour == "opencl":
        cases["index"] = (f"i{bits}", body, a)
    check(runner, cases, [f"i{bits}"], [a])


def test_i1_conversions(runner: Any):
    a = np.array([0, 1] * 4, bool)
    cases = {
        "extsi": ("i32", "%r = arith.extsi %a : i1 to i32", -a.astype(np.int32)),
        "extui": ("i8", "%r = arith.extui %a : i1 to i8", a.astype(np.int8)),
        "sitofp": ("f32", "%r = arith.sitofp %a : i1 to f32", 0.0 - a),
        "uitofp": ("f16", "%r = arith.uitofp %a : i1 to f16", 0.0 + a),
        "trunci": (
            "i1",
            "%n = arith.index_cast %i : index to i32\n%r = arith.trunci %n : i32 to i1",
            np.arange(8) % 2 != 0,
        ),
    }
    check(runner, cases, ["i1"], [a])


@pytest.mark.parametrize("bits", INTEGERS)
def test_integer_and_float(runner: Any, bits: int):
    n = np.arange(-64, 64).astype(f"int{bits}")
    positive = abs(n)
    x = (np.arange(-64, 64) / 4).astype(np.float32)
    cases: dict[str, tuple[str, str, Array]] = {}
    for type in FLOATS:
        widen = "" if type == "f32" else f"%y = arith.extf %c : f32 to {type}\n"
        if type == "f16":
            widen = "%y = arith.truncf %c : f32 to f16\n"
        y = "%y" if widen else "%c"
        for name, of, expected in (
            ("sitofp", "%a", n),
            ("uitofp", "%b", positive),
        ):
            body = f"%r = arith.{name} {of} : i{bits} to {type}"
            cases[f"{name} {type}"] = (type, body, expected)
        body = f"{widen}%r = arith.fptosi {y} : {type} to i{bits}"
        cases[f"fptosi {type}"] = (f"i{bits}", body, np.trunc(x))
        body = f"{widen}%z = math.absf {y} : {type}\n"
        body += f"%r = arith.fptoui %z : {type} to i{bits}"
        cases[f"fptoui {type}"] = (f"i{bits}", body, np.trunc(abs(x)))
    types = [f"i{bits}", f"i{bits}", "f32"]
    check(runner, cases, types, [n, positive, x])


def test_float_widths(runner: Any):
    a = np.random.default_rng(0).normal(0, 100, 64)
    x, y = a.astype(np.float16), a.astype(np.float32)
    cases = {
        "half": ("f16", "%r = arith.truncf %c : f64 to f16", a.astype(np.float16)),
        "halve": ("f16", "%r = arith.truncf %b : f32 to f16", y.astype(np.float16)),
        "float": ("f32", "%r = arith.truncf %c : f64 to f32", y),
        "widen": ("f32", "%r = arith.extf %a : f16 to f32", x.astype(np.float32)),
        "double": ("f64", "%r = arith.extf %b : f32 to f64", y.astype(np.float64)),
        "twice": ("f64", "%r = arith.extf %a : f16 to f64", x.astype(np.float64)),
    }
    check(runner, cases, ["f16", "f32", "f64"], [x, y, a])


def test_bits_and_choice(runner: Any):
    a = np.random.default_rng(0).normal(0, 100, 64).astype(np.float32)
    choose = """
      %z = arith.constant 0.0 : f32
      %c = arith.cmpf olt, %a, %z : f32
      %n = arith.negf %a : f32
      %r = arith.select %c, %n, %a : f32"""
    cases = {
        "bitcast": ("i32", "%r = arith.bitcast %a : f32 to i32", a.view(np.int32)),
        "select": ("f32", choose, abs(a)),
    }
    check(runner, cases, ["f32"], [a])


CONSTANTS: dict[str, tuple[str, Any]] = {
    "-128 : i8": ("i8", -128),
    "9223372036854775807 : i64": ("i64", (1 << 63) - 1),
    "65504.0 : f16": ("f16", 65504.0),
    "0x7F800000 : f32": ("f32", np.inf),
    "-1.5e300 : f64": ("f64", -1.5e300),
    "true": ("i1", True),
}


def test_constants(runner: Any):
    cases = {
        text: (type, f"%r = arith.constant {text}", np.full(8, value))
        for text, (type, value) in CONSTANTS.items()
    }
    check(runner, cases, ["i8"], [np.zeros(8, np.int8)])
