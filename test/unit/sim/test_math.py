"""Functions of `math` against Python's, rounded once to the type."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from support.small_kernels import lane_kernel

from coopc.rounding import FORMATS
from coopc.sim.simulate import simulate

LANES = 64
SPECIAL = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 1.0, -1.0, 10.0, 3.0]
POINTS = np.concatenate([np.linspace(-4, 4, LANES - len(SPECIAL)), SPECIAL])

ANYWHERE: dict[str, Callable[[float], float]] = {
    "absf": abs,
    "asinh": math.asinh,
    "atan": math.atan,
    "cbrt": math.cbrt,
    "ceil": math.ceil,
    "cos": math.cos,
    "cosh": math.cosh,
    "erf": math.erf,
    "erfc": math.erfc,
    "exp": math.exp,
    "exp2": math.exp2,
    "expm1": math.expm1,
    "floor": math.floor,
    "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
    "roundeven": round,
    "sin": math.sin,
    "sinh": math.sinh,
    "tan": math.tan,
    "tanh": math.tanh,
    "trunc": math.trunc,
}
BELOW_ONE = {"acos": math.acos, "asin": math.asin, "atanh": math.atanh}
POSITIVE: dict[str, Callable[[float], float]] = {
    "log": math.log,
    "log10": math.log10,
    "log1p": math.log1p,
    "log2": math.log2,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sqrt": math.sqrt,
}
FUNCTIONS = ANYWHERE | BELOW_ONE | POSITIVE | {"acosh": math.acosh}
TWO: dict[str, Callable[[float, float], float]] = {
    "atan2": math.atan2,
    "copysign": math.copysign,
    "powf": math.pow,
}


def points(name: str, dtype: type[np.floating]) -> np.ndarray:
    values = POINTS
    if name in BELOW_ONE:
        values = POINTS / 12
    if name in POSITIVE:
        values = np.abs(POINTS) + 0.125
    if name == "acosh":
        values = np.abs(POINTS) + 1
    return values.astype(dtype)


@pytest.mark.parametrize("type", ["f16", "f32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_operand(name: str, type: str) -> None:
    dtype = np.float16 if type == "f16" else np.float32
    x = points(name, dtype)
    found = np.zeros_like(x)
    simulate(
        lane_kernel(f"%r0 = math.{name} %x0 : {type}", [type], [type], LANES),
        "f",
        [x, found],
    )
    expected = [FORMATS[type].round(float(FUNCTIONS[name](float(each)))) for each in x]
    assert found.tolist() == expected


@pytest.mark.parametrize("name", TWO)
def test_two_operands(name: str) -> None:
    x, y = np.abs(POINTS).astype(np.float32) + 1, POINTS[::-1].astype(np.float32)
    found = np.zeros_like(x)
    body = f"%r0 = math.{name} %x0, %x1 : f32"
    simulate(lane_kernel(body, ["f32", "f32"], ["f32"], LANES), "f", [x, y, found])
    assert found.tolist() == [
        FORMATS["f32"].round(TWO[name](float(a), float(b)))
        for a, b in zip(x, y, strict=True)
    ]


def test_outside_of_the_domain() -> None:
    x = np.array([-1.0, 0.0], np.float32).repeat(8)
    found = np.zeros_like(x)
    simulate(lane_kernel("%r0 = math.log %x0 : f32", ["f32"], ["f32"]), "f", [x, found])
    assert np.isnan(found[:8]).all()
    assert (found[8:] == -np.inf).all()


def test_fpowi() -> None:
    x = np.full(16, -1.5, np.float32)
    n = np.arange(-8, 8, dtype=np.int32)
    found = np.zeros_like(x)
    body = "%r0 = math.fpowi %x0, %x1 : f32, i32"
    simulate(lane_kernel(body, ["f32", "i32"], ["f32"]), "f", [x, n, found])
    assert found.tolist() == [FORMATS["f32"].round((-1.5) ** int(k)) for k in n]


def test_fma_rounds_once() -> None:
    """The sum is 2^-70 below the middle between two f32, which f64 does not see."""
    x = np.full(16, 2.0**-24 * (1 + 2.0**-23), np.float32)
    y = np.full(16, 1 - 2.0**-23, np.float32)
    z = np.full(16, 1 + 2.0**-23, np.float32)
    found = np.zeros_like(x)
    body = "%r0 = math.fma %x0, %x1, %x2 : f32"
    simulate(lane_kernel(body, ["f32"] * 3, ["f32"]), "f", [x, y, z, found])
    assert (found == z).all()


def test_fma() -> None:
    # 1 + 2^-23 squared is 1 + 2^-22 + 2^-46: only a fused operation keeps the rest.
    x = np.full(16, 1 + 2.0**-23, np.float32)
    z = np.full(16, -(1 + 2.0**-22), np.float32)
    found = np.zeros_like(x)
    body = "%r0 = math.fma %x0, %x0, %x1 : f32"
    simulate(lane_kernel(body, ["f32", "f32"], ["f32"]), "f", [x, z, found])
    assert (found == 2.0**-46).all()
