"""Functions of a device's library, compared with those of Python and with series."""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.diagnostic import CompileError

Array = npt.NDArray[Any]
SIZE = 256
TEXT = """
module {
  tt.func public @k(ARGUMENTS, %out: !tt.ptr<T>) {
    %range = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
    LOADS
    %found = tt.extern_elementwise VALUES {libname = "", libpath = "", pure = true,
      symbol = "NAME"} : (TYPES) -> tensor<256xT>
    %base = tt.splat %out : !tt.ptr<T> -> tensor<256x!tt.ptr<T>>
    %to = tt.addptr %base, %range : tensor<256x!tt.ptr<T>>, tensor<256xi32>
    tt.store %to, %found : tensor<256x!tt.ptr<T>>
    tt.return
  }
}
"""
LOAD = """
    %bN = tt.splat %pN : !tt.ptr<T> -> tensor<256x!tt.ptr<T>>
    %aN = tt.addptr %bN, %range : tensor<256x!tt.ptr<T>>, tensor<256xi32>
    %vN = tt.load %aN : tensor<256x!tt.ptr<T>>
"""


def kernel(name: str, count: int, element: str) -> str:
    numbers = [str(n) for n in range(count)]
    made = {
        "ARGUMENTS": ", ".join(f"%p{n}: !tt.ptr<T>" for n in numbers),
        "LOADS": "".join(LOAD.replace("N", n) for n in numbers),
        "VALUES": ", ".join(f"%v{n}" for n in numbers),
        "TYPES": ", ".join(["tensor<256xT>"] * count),
        "NAME": name,
    }
    text = TEXT
    for word, replacement in made.items():
        text = text.replace(word, replacement)
    return text.replace("T>", f"{element}>").replace("xT", f"x{element}")


def run(name: str, on: str, *given: Array) -> Array:
    element = {"f": "f", "i": "i"}[given[0].dtype.kind] + str(8 * given[0].itemsize)
    out = np.zeros_like(given[0])
    copies = [x.copy() for x in given]
    coopc.launch(kernel(name, len(given), element), *copies, out, on=on, grid=1)
    return out


def erfinv(x: float) -> float:
    if abs(x) >= 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    return NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)


def bessel_i(order: int, x: float) -> float:
    """By its power series, whose terms have one sign."""
    term = (x / 2) ** order
    terms = [term]
    for n in range(1, 200):
        term *= (x / 2) ** 2 / (n * (n + order))
        terms.append(term)
    return math.fsum(terms)


def lgamma(x: float) -> float:
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


WIDE = np.concatenate([np.linspace(-9, 9, 249), [0.0, -0.0, 1e-6, 30.0, *[2.0] * 3]])
LARGE = np.concatenate([WIDE[:250], [89.0, -89.0, 88.0, -88.0, 60.0, 50.0]])
UNIT = np.concatenate([np.linspace(-1, 1, 253), [1e-6, -0.999999, 1.5]])
GAMMA = np.concatenate(
    [np.linspace(-4.9, 40, 249), [0.0, -3.0, 1e-4, -1e-6, -1e-10, 1e6, 1e30]]
)
CASES: dict[str, tuple[Callable[[float], float], Array]] = {
    "erfc": (math.erfc, WIDE),
    "erfcx": (lambda x: math.exp(x * x) * math.erfc(x), np.clip(WIDE, -9, 9)),
    "normcdf": (lambda x: math.erfc(-x / math.sqrt(2)) / 2, WIDE),
    "erfinv": (erfinv, UNIT),
    "erfcinv": (
        lambda x: -NormalDist().inv_cdf(x / 2) / math.sqrt(2),
        np.concatenate(
            [np.clip(1 - UNIT, 1e-3, 1.999)[4:], [1e-4, 1e-6, 1e-10, 1e-30]]
        ),
    ),
    "normcdfinv": (
        NormalDist().inv_cdf,
        np.concatenate(
            [np.clip((1 + UNIT) / 2, 1e-3, 0.999)[3:], [1e-5, 1e-10, 1e-30]]
        ),
    ),
    "lgamma": (lgamma, GAMMA),
    "cyl_bessel_i0": (lambda x: bessel_i(0, x), LARGE),
    "cyl_bessel_i1": (lambda x: bessel_i(1, x), LARGE),
}


@pytest.mark.parametrize("on", ["sim", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_functions_of_floats(name: str, on: str) -> None:
    compute, numbers = CASES[name]
    x = numbers.astype(np.float32)
    found = run(f"__nv_{name}f", on, x)
    expected = np.array([compute(float(each)) for each in x])
    np.testing.assert_allclose(found, expected, 2e-5, 3e-6)


@pytest.mark.parametrize("name", ["erfc", "lgamma", "cyl_bessel_i1"])
def test_what_is_no_number(name: str) -> None:
    x = np.full(SIZE, np.nan, np.float32)
    x[:2] = np.inf, -np.inf
    found = run(f"__nv_{name}f", "cpu", x)
    infinite = {
        "erfc": (0, 2),
        "lgamma": (np.inf, np.inf),
        "cyl_bessel_i1": (np.inf, -np.inf),
    }
    assert tuple(found[:2]) == infinite[name]
    assert np.isnan(found[2:]).all()


def test_f64_is_refused() -> None:
    with pytest.raises(CompileError, match="expected f32, of which it is approximated"):
        run("__nv_erfc", "cpu", np.zeros(SIZE))


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_remainders(on: str) -> None:
    random = np.random.default_rng(0)
    x = (random.normal(size=SIZE) * 100).astype(np.float32)
    y = random.normal(size=SIZE).astype(np.float32)
    x[:6] = 2.5, -2.5, 3.5, 1.0, 7.0, np.inf
    y[:6] = 1.0, 1.0, -1.0, np.inf, 0.0, 1.0
    found = run("__nv_remainderf", on, x, y)
    expected = [
        math.nan if b == 0 or math.isinf(a) else math.remainder(a, b)
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(found, np.array(expected, np.float32))


def test_exponents_and_norms() -> None:
    x = np.resize([1.0, 3.0, 0.0, np.inf, -0.3, 1e-40], SIZE).astype(np.float32)
    found = run("__nv_logbf", "cpu", x)
    expected = np.resize([0, 1, -np.inf, np.inf, -2, -133], SIZE)
    np.testing.assert_array_equal(found, expected)
    a, b, c = np.full((3, SIZE), [[2e30], [3e30], [6e30]], np.float32)
    np.testing.assert_allclose(run("__nv_norm3df", "cpu", a, b, c), 7e30, 1e-6)
    np.testing.assert_allclose(run("__nv_rnorm3df", "cpu", a, b, c), 1 / 7e30, 1e-6)


def low(x: int, bits: int = 32) -> int:
    return x % (1 << bits)


def signed_24(x: int) -> int:
    return (low(x, 24) ^ (1 << 23)) - (1 << 23)


INTEGERS: dict[str, Callable[[int, int], int]] = {
    "mulhi": lambda x, y: x * y >> 32,
    "umulhi": lambda x, y: low(x) * low(y) >> 32,
    "mul24": lambda x, y: signed_24(x) * signed_24(y),
    "umul24": lambda x, y: low(x, 24) * low(y, 24),
    "hadd": lambda x, y: x + y >> 1,
    "uhadd": lambda x, y: low(x) + low(y) >> 1,
    "rhadd": lambda x, y: x + y + 1 >> 1,
    "urhadd": lambda x, y: low(x) + low(y) + 1 >> 1,
}
DISTANCES: dict[str, Callable[[int, int], int]] = {
    "sad": lambda x, y: abs(x - y),
    "usad": lambda x, y: abs(low(x) - low(y)),
}
ENDS = np.array([-(1 << 31), -1, (1 << 31) - 1], np.int32)


def integers(count: int) -> Array:
    random = np.random.default_rng(1)
    found = random.integers(-(1 << 31), 1 << 31, (count, SIZE)).astype(np.int32)
    found[:, :3] = ENDS
    return found


@pytest.mark.parametrize("on", ["sim", "cpu"])
@pytest.mark.parametrize("name", INTEGERS)
def test_functions_of_integers(name: str, on: str) -> None:
    x, y = integers(2)
    found = [low(each) for each in run(f"__nv_{name}", on, x, y).tolist()]
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    assert found == [low(INTEGERS[name](*each)) for each in pairs]


@pytest.mark.parametrize("name", DISTANCES)
def test_sums_of_distances(name: str) -> None:
    x, y, z = integers(3)
    found = [low(each) for each in run(f"__nv_{name}", "cpu", x, y, z).tolist()]
    triples = zip(x.tolist(), y.tolist(), z.tolist(), strict=True)
    assert found == [low(DISTANCES[name](a, b) + c) for a, b, c in triples]


def test_high_halves_of_64_bits() -> None:
    random = np.random.default_rng(2)
    x, y = random.integers(-(1 << 63), (1 << 63) - 1, (2, SIZE))
    products = [a * b >> 64 for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert run("__nv_mul64hi", "cpu", x, y).tolist() == products
