"""Conversions, choices and constants of `arith` in both flavours, to the bit."""

from typing import Any

import numpy as np
import pytest
from support.arith_values import FLOATS, INTEGERS, Array, check, integers, unsigned


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
        "rounded": (
            "f32",
            "%h = arith.truncf %b : f32 to f16\n%r = arith.extf %h : f16 to f32",
            y.astype(np.float16),
        ),
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
