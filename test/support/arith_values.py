"""Operands for `arith` on a device, and numpy's results to compare with, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Case: TypeAlias = tuple[str, str, Array]
"""The type of the result %r, operations on %a, %b, ..., and what %r is to be."""

INTEGERS = (8, 16, 32, 64)
"""Widths in bits."""
FLOATS = ("f16", "f32", "f64")


def integers(bits: int) -> tuple[Array, Array]:
    """Return pairs of integers: all of some interesting ones, then random ones."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    some = [0, 1, -1, 2, 3, -5, 7, low, low + 1, high, high // 3]
    pairs = [(a, b) for a in some for b in some][:112]
    dtype = f"int{bits}"
    random = np.random.default_rng(0).integers(low, high, (2, 16), dtype, endpoint=True)
    a, b = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    return np.concatenate([a, random[0]]), np.concatenate([b, random[1]])


def floats(type: str) -> tuple[Array, Array]:
    """Return pairs of floats, with zeros, infinities and NaNs of both signs."""
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[type]
    some = [0.0, -0.0, 1.0, -1.5, 3.0, np.inf, -np.inf, np.nan, 2.5, -7.0]
    pairs = [(a, b) for a in some for b in some]
    a, b = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    random = np.random.default_rng(0).normal(0, 8, (2, 28)).astype(dtype)
    return np.concatenate([a, random[0]]), np.concatenate([b, random[1]])


def unsigned(x: Array) -> Array:
    """Return the same bits as unsigned integers."""
    return x.view(x.dtype.str.replace("i", "u"))


def signed(x: Array) -> Array:
    """Return the same bits as signed integers."""
    return x.view(x.dtype.str.replace("u", "i"))


def wrapped(x: Array, dtype: Any) -> Array:
    """Return the low bits of Python's integers, as signed integers of a type."""
    bits = np.dtype(dtype).itemsize * 8
    return signed(np.array([n % (1 << bits) for n in x.tolist()], f"uint{bits}"))


def binary(
    table: Mapping[str, Callable[[Array, Array], Array]], type: str, a: Array, b: Array
) -> dict[str, Case]:
    """Return cases of operations of `arith` on two values of a type."""
    with np.errstate(all="ignore"):
        return {
            name: (type, f"%r = arith.{name} %a, %b : {type}", function(a, b))
            for name, function in table.items()
        }


def same(found: Array, expected: Array, what: str = "") -> None:
    """Check that bits are equal; any NaN is as good as another."""
    if found.dtype.kind == "f":
        both = np.isnan(found) & np.isnan(expected)
        found, expected = np.where(both, 0, found), np.where(both, 0, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected), what)
    np.testing.assert_array_equal(found, expected, what)


def check(
    runner: Any,
    cases: Mapping[str, Case],
    types: Sequence[str],
    arrays: Sequence[Array],
) -> None:
    """Run cases on a device and compare.

    Args:
        runner: what `elementwise(bodies, types, arrays)` runs them on.
        cases: by name.
        types: of %a, %b, ...
        arrays: %a, %b, ... of each work-item.
    """
    bodies = {name: (out, body) for name, (out, body, _) in cases.items()}
    found = runner.elementwise(bodies, types, arrays)
    for name, (_, _, expected) in cases.items():
        same(found[name], expected.astype(found[name].dtype), name)
