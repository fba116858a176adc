"""`math` in both flavours, run and compared with numpy."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from coopc.diagnostic import CompileError

Array: TypeAlias = npt.NDArray[Any]

VULKAN_SINE = 2.0**-11
"""The absolute error that Vulkan allows sin and cos in [-pi, pi], the least precise of
the functions here (Vulkan, "Precision and Operation of SPIR-V Instructions")."""

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "absf": np.abs,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "roundeven": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
OF_POSITIVE: dict[str, Callable[[Array], Array]] = {
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
}
OF_UNIT: dict[str, Callable[[Array], Array]] = {
    "acos": np.arccos,
    "asin": np.arcsin,
    "atanh": lambda x: np.arctanh(0.9 * x),
}
EXACT = ("absf", "ceil", "floor", "roundeven", "round", "trunc", "copysign")


def close(found: Array, expected: Array, what: str) -> None:
    """Within twice Vulkan's error of sin; exact functions to the bit."""
    if what in EXACT:
        np.testing.assert_array_equal(found, expected, what)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected), what)
        return
    bound = 2 * VULKAN_SINE
    np.testing.assert_allclose(found, expected, bound, bound, err_msg=what)


@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
def test_functions(runner: Any, type: str):
    if type == "f64" and runner.flavour == "vulkan":
        pytest.skip("GLSL.std.450 has these of f16 and f32")
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[type]
    x = np.linspace(-1.5, 1.5, 64).astype(dtype)
    x[:4] = 0.5, -0.5, 0.0, -0.0
    positive = np.linspace(0.01, 4, 64).astype(dtype)
    unit = np.linspace(-1, 1, 64).astype(dtype)
    bodies: dict[str, tuple[str, str]] = {}
    expected: dict[str, Array] = {}
    for functions, name, array in (
        (FUNCTIONS, "%a", x),
        (OF_POSITIVE, "%b", positive),
        (OF_UNIT, "%c", unit),
    ):
        for op, function in functions.items():
            expected[op] = function(array.astype(np.float64)).astype(dtype)
            body = f"%r = math.{op} {name} : {type}"
            if op == "atanh":
                body = f"%s = arith.constant 0.9 : {type}\n"
                body += f"%q = arith.mulf {name}, %s : {type}\n"
                body += f"%r = math.atanh %q : {type}"
            bodies[op] = (type, body)
    found = runner.elementwise(bodies, [type] * 3, [x, positive, unit])
    for op, values in expected.items():
        close(found[op], values, op)


def test_small_arguments(runner: Any):
    """Where exp(x) - 1 and log(1 + x) lose all digits."""
    x = np.array([1e-10, -1e-10, 1e-6, 3e-8, 0.0, 50.0, 1e-3, 88.0], np.float32)
    bodies = {
        "expm1": ("f32", "%r = math.expm1 %a : f32"),
        "log1p": ("f32", "%r = math.log1p %a : f32"),
    }
    found = runner.elementwise(bodies, ["f32"], [x])
    wide = x.astype(np.float64)
    np.testing.assert_allclose(found["expm1"], np.expm1(wide), 1e-4)
    np.testing.assert_allclose(found["log1p"], np.log1p(wide), 1e-4)


def test_two_operands(runner: Any):
    a = np.linspace(-4, 4, 64).astype(np.float32)
    b = np.linspace(3, -3, 64).astype(np.float32)
    n = np.arange(-32, 32, dtype=np.int32) % 7 - 3
    bodies = {
        "atan2": ("f32", "%r = math.atan2 %a, %b : f32"),
        "copysign": ("f32", "%r = math.copysign %a, %b : f32"),
        "powf": ("f32", "%x = math.absf %a : f32\n%r = math.powf %x, %b : f32"),
        "fpowi": ("f32", "%r = math.fpowi %a, %c : f32, i32"),
        "fma": ("f32", "%r = math.fma %a, %b, %a : f32"),
    }
    found = runner.elementwise(bodies, ["f32", "f32", "i32"], [a, b, n])
    x, y = a.astype(np.float64), b.astype(np.float64)
    for op, values in {
        "atan2": np.arctan2(x, y),
        "copysign": np.copysign(x, y),
        "powf": np.abs(x) ** y,
        "fpowi": x**n,
        "fma": x * y + x,
    }.items():
        close(found[op], values.astype(np.float32), op)


@pytest.mark.parametrize("type", ["f16", "f32"])
def test_angles_at_the_origin(runner: Any, type: str):
    """As C's `atan2`: GLSL's is undefined where both are 0."""
    y, x = np.meshgrid([0.0, -0.0, 1.0, -2.0], [0.0, -0.0, 3.0, -4.0])
    given = [np.resize(z, 64).astype({"f16": "e", "f32": "f"}[type]) for z in (y, x)]
    bodies = {"atan2": (type, f"%r = math.atan2 %a, %b : {type}")}
    found = runner.elementwise(bodies, [type] * 2, given)["atan2"]
    np.testing.assert_allclose(found, np.arctan2(*given), 2e-3)


@pytest.mark.parametrize("type", ["f16", "f32"])
def test_powers_of_all_kinds(runner: Any, type: str):
    """As C's `pow`: GLSL's is undefined of negative numbers, and of 0 to that of 0."""
    dtype = {"f16": np.float16, "f32": np.float32}[type]
    each = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -3.0, np.inf, -np.inf, np.nan]
    to = [*each, 3.0, -0.5, 7.0, 1e9 if type == "f32" else 6e4]
    x, y = (np.resize(z, 192).astype(dtype) for z in np.meshgrid(each, to))
    found = runner.elementwise(
        {"powf": (type, f"%r = math.powf %a, %b : {type}")}, [type] * 2, [x, y]
    )["powf"]
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    np.testing.assert_allclose(found, expected, 2e-3 if type == "f16" else 1e-5)
    ends = (found == 0) | np.isinf(found)
    np.testing.assert_array_equal(np.signbit(found[ends]), np.signbit(expected[ends]))


@pytest.mark.parametrize("type", ["f16", "f32"])
def test_constant_powers(runner: Any, type: str):
    """Of whole numbers, exactly where that is a float."""
    dtype = {"f16": np.float16, "f32": np.float32}[type]
    each = [-3, -2, -1, -0.0, 0, 0.5, 1, 2, 3, np.inf, -np.inf, np.nan]
    x = np.resize(each, 32).astype(dtype)
    bodies: dict[str, tuple[str, str]] = {}
    for n in range(-2, 9):
        body = f"%n = arith.constant {n} : i32\n%r = math.fpowi %a, %n : {type}, i32"
        bodies[f"fpowi {n}"] = type, body
        body = f"%n = arith.constant {n}.0 : {type}\n%r = math.powf %a, %n : {type}"
        bodies[f"powf {n}"] = type, body
    for what, values in runner.elementwise(bodies, [type], [x]).items():
        with np.errstate(all="ignore"):
            expected = (x.astype(np.float64) ** int(what.split()[1])).astype(dtype)
        if what.endswith("-2"):
            np.testing.assert_allclose(
                values, expected, 1e-3 if type == "f16" else 1e-6
            )
        else:
            np.testing.assert_array_equal(values, expected, what)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_bits(runner: Any, bits: int):
    low = -(1 << (bits - 1))
    some = [0, 1, -1, low, low + 1, 2, 12, 1 << (bits - 2)]
    a = np.array(some * 2, f"int{bits}")
    bodies = {
        name: (f"i{bits}", f"%r = math.{name} %a : i{bits}")
        for name in ("ctlz", "cttz", "ctpop", "absi")
    }
    found = runner.elementwise(bodies, [f"i{bits}"], [a])
    words = [n % (1 << bits) for n in a.tolist()]
    leading = [bits - n.bit_length() for n in words]
    trailing = [(n & -n).bit_length() - 1 if n else bits for n in words]
    np.testing.assert_array_equal(found["ctlz"], leading)
    np.testing.assert_array_equal(found["cttz"], trailing)
    np.testing.assert_array_equal(found["ctpop"], [n.bit_count() for n in words])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found["absi"], np.abs(a))


def test_erfc(runner: Any):
    """Also where it is small, to what OpenCL allows, and Vulkan of `exp` of x^2."""
    a = np.linspace(-5, 9, 61).astype(np.float32)
    a[:5] = 0.0, -0.0, 1e-30, -1e-6, 1.0
    edges = np.array([np.inf, -np.inf, np.nan], np.float32)
    bodies = {"erfc": ("f32", "%r = math.erfc %a : f32")}
    both = np.concatenate([a, edges])
    found = runner.elementwise(bodies, ["f32"], [both])["erfc"]
    expected = np.array([math.erfc(x) for x in a.tolist()])
    units = 16 + (2 * a**2 if runner.flavour == "vulkan" else 0)
    assert (np.abs(found[:61] / expected - 1) <= units * 2.0**-23).all()
    np.testing.assert_array_equal(found[:2], 1)
    np.testing.assert_array_equal(found[61:], [0, 2, np.nan])


def test_erf(runner: Any):
    a = np.linspace(-7, 7, 64).astype(np.float32)
    a[:8] = 0.0, -0.0, 1e-30, -1e-6, 1.0, np.inf, -np.inf, np.nan
    bodies = {"erf": ("f32", "%r = math.erf %a : f32")}
    found = runner.elementwise(bodies, ["f32"], [a])["erf"]
    expected = np.array([math.erf(x) for x in a.tolist()])
    np.testing.assert_allclose(found, expected, 1e-6)  # of the result
    np.testing.assert_array_equal(np.signbit(found[:7]), np.signbit(a[:7]))
    body = "%e = math.erf %a : f32\n%n = arith.constant 1.0 : f32"
    body += "\n%r = arith.addf %n, %e : f32"
    more = np.concatenate([a, np.linspace(-4.5, 4.5, 64, dtype=np.float32)])
    sums = runner.elementwise({"sum": ("f32", body)}, ["f32"], [more])["sum"]
    expected = [1 + math.erf(x) for x in more.tolist()]
    np.testing.assert_allclose(sums, expected, rtol=0, atol=2.0**-22)
    if runner.flavour == "vulkan":
        wide = {"erf": ("f64", "%r = math.erf %a : f64")}
        with pytest.raises(CompileError, match=r"GLSL.std.450 has no erf"):
            runner.elementwise(wide, ["f64"], [a.astype(np.float64)])
