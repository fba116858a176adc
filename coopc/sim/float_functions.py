"""The functions on floats that operations are made of: one table.

Each says how it is computed on arrays, and how errors of its operands reach the result
(`spread`), for runs that track them: see `coopc.sim.tracked`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from coopc.sim.fused import fused_multiply_add
from coopc.sim.values import Array

Compute: TypeAlias = Callable[..., Array]
Spread: TypeAlias = Callable[[Sequence[Array], Sequence[Array]], Array]
"""From operands and the bounds of their errors to the bound of the result's."""


@dataclass(frozen=True, slots=True)
class FloatFunction:
    """A function of one to three floats of a type to one of that type."""

    name: str
    compute: Compute
    """On arrays of the type, bf16 as f32; of f64 where `wide`."""
    spread: Spread
    wide: bool = False
    """Computed in f64 and then rounded: more exact than any device's library."""
    exact: bool = False
    """The result is an operand, or one without its sign: nothing is rounded."""
    ulps: float = 0.5
    """The greatest error of an implementation, in units in the last place; of library
    functions as in OpenCL C 3.0, table "ULP values for single precision"."""


def _sum_of_errors(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of `x + y`, `x - y`: the sum."""
    return sum(e[1:], e[0])


def _greatest_error(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of a choice between operands: the greatest."""
    found = e[0]
    for other in e[1:]:
        found = np.maximum(found, other)
    return found


def _product(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of `x * y`."""
    return np.abs(x[0]) * e[1] + np.abs(x[1]) * e[0] + e[0] * e[1]


def _product_and_sum(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of `x * y + z`."""
    return _product(x, e) + e[2]


def _quotient(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of `x / y`; unbounded where the error of y reaches zero."""
    room = np.abs(x[1]) - e[1]
    error = (e[0] + np.abs(x[0] / x[1]) * e[1]) / room
    return np.where((e[0] == 0) & (e[1] == 0), 0.0, np.where(room > 0, error, np.inf))


def _by_values(compute: Compute) -> Spread:
    """Of a function that is monotone near x: by its values at x - e and x + e.

    Unbounded where it is not defined there.
    """

    def spread(x: Sequence[Array], e: Sequence[Array]) -> Array:
        here = compute(*x)
        found = np.zeros_like(here)
        for sign in (-1.0, 1.0):
            for position, error in enumerate(e):
                moved = list(x)
                moved[position] = x[position] + sign * error
                change = np.abs(compute(*moved) - here)
                change = np.where(error == 0, 0.0, change)
                found = found + np.where(np.isnan(change), np.inf, change)
        return np.where(np.isnan(here), 0.0, found)

    return spread


def _by_error(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of a function whose slope is at most 1: the error of x."""
    return e[0]


def _by_step(compute: Compute) -> Spread:
    """Of a function to whole numbers: by whether the error reaches a step."""

    def spread(x: Sequence[Array], e: Sequence[Array]) -> Array:
        below, above = compute(x[0] - e[0]), compute(x[0] + e[0])
        return np.where(e[0] == 0, 0.0, np.abs(above - below))

    return spread


def minimum(x: Array, y: Array) -> Array:
    """The smaller one; NaN if one is, and -0 is smaller than +0."""
    return np.where(_zeros(x, y), np.where(np.signbit(x), x, y), np.minimum(x, y))


def maximum(x: Array, y: Array) -> Array:
    """The greater one; NaN if one is, and +0 is greater than -0."""
    return np.where(_zeros(x, y), np.where(np.signbit(x), y, x), np.maximum(x, y))


def min_number(x: Array, y: Array) -> Array:
    """The smaller one; of a number and a NaN, the number."""
    return np.where(_zeros(x, y), np.where(np.signbit(x), x, y), np.fmin(x, y))


def max_number(x: Array, y: Array) -> Array:
    """The greater one; of a number and a NaN, the number."""
    return np.where(_zeros(x, y), np.where(np.signbit(x), y, x), np.fmax(x, y))


def _zeros(x: Array, y: Array) -> Array:
    return (x == 0) & (y == 0)


def _round_away(x: Array) -> Array:
    """Round to the nearest whole number, and away from zero of two."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole)


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


_ERF_SLOPE = 2 / math.sqrt(math.pi)


def _by_erf(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Of erf: its slope is at most 2 / sqrt(pi)."""
    return _ERF_SLOPE * e[0]


def _arithmetic() -> list[FloatFunction]:
    """Return the functions that are rounded exactly."""
    return [
        FloatFunction("add", np.add, _sum_of_errors),
        FloatFunction("sub", np.subtract, _sum_of_errors),
        FloatFunction("mul", np.multiply, _product),
        FloatFunction("div", np.divide, _quotient, ulps=2.5),
        FloatFunction("precise_div", np.divide, _quotient),
        FloatFunction("precise_sqrt", np.sqrt, _by_values(np.sqrt), wide=True),
        FloatFunction("rem", np.fmod, _by_values(np.fmod)),
        FloatFunction("fma", fused_multiply_add, _product_and_sum, wide=True),
        FloatFunction("neg", np.negative, _greatest_error, exact=True),
        FloatFunction("abs", np.abs, _greatest_error, exact=True),
        FloatFunction("copysign", np.copysign, _by_error, exact=True),
        FloatFunction("minimum", minimum, _greatest_error, exact=True),
        FloatFunction("maximum", maximum, _greatest_error, exact=True),
        FloatFunction("minnum", min_number, _greatest_error, exact=True),
        FloatFunction("maxnum", max_number, _greatest_error, exact=True),
    ]


def _to_whole_numbers() -> list[FloatFunction]:
    """Return the functions that round to whole numbers."""
    found: dict[str, Compute] = {
        "ceil": np.ceil,
        "floor": np.floor,
        "trunc": np.trunc,
        "roundeven": np.rint,
        "round": _round_away,
    }
    return [
        FloatFunction(name, compute, _by_step(compute), exact=True)
        for name, compute in found.items()
    ]


def _library() -> list[FloatFunction]:
    """Return the functions of a mathematical library."""
    found: dict[str, tuple[Compute, float]] = {
        "acos": (np.arccos, 4),
        "acosh": (np.arccosh, 4),
        "asin": (np.arcsin, 4),
        "asinh": (np.arcsinh, 4),
        "atan": (np.arctan, 5),
        "atanh": (np.arctanh, 5),
        "atan2": (np.arctan2, 6),
        "cbrt": (np.cbrt, 2),
        "cosh": (np.cosh, 4),
        "exp": (np.exp, 3),
        "exp2": (np.exp2, 3),
        "expm1": (np.expm1, 3),
        "log": (np.log, 3),
        "log10": (np.log10, 3),
        "log1p": (np.log1p, 2),
        "log2": (np.log2, 3),
        "powf": (np.power, 16),
        "rsqrt": (_rsqrt, 2),
        "sinh": (np.sinh, 4),
        "sqrt": (np.sqrt, 3),
        "tan": (np.tan, 5),
        "tanh": (np.tanh, 5),
    }
    functions = [
        FloatFunction(name, compute, _by_values(compute), wide=True, ulps=ulps)
        for name, (compute, ulps) in found.items()
    ]
    functions += [
        FloatFunction("sin", np.sin, _by_error, wide=True, ulps=4),
        FloatFunction("cos", np.cos, _by_error, wide=True, ulps=4),
        FloatFunction("erf", _erf, _by_erf, wide=True, ulps=16),
    ]
    return functions


FLOAT_FUNCTIONS: dict[str, FloatFunction] = {
    function.name: function
    for function in (*_arithmetic(), *_to_whole_numbers(), *_library())
}
