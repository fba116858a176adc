"""Numbers of every type, one for each of 32 lanes, for tests of scalar operations.

The strategies are Hypothesis's, which such tests need.

| values | made by | in memory |
|---|---|---|
| integers, `i1` to `i64`, `index` | `integers(bits)` | `stored(values, type)` |
| floats, `bf16` among them | `floats(type)` | `as_stored(values, type)` |
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from support.nibbles import halves, packed, signed
from support.small_kernels import lane_kernel
from xdsl.dialects.builtin import ModuleOp

from coopc.dialects import simt
from coopc.dialects.narrow import as_bytes, is_memref
from coopc.rounding import FORMATS
from coopc.sim.numerics import from_bf16, to_bf16
from coopc.sim.simulate import simulate

LANES = 32
WIDTHS = (1, 4, 8, 16, 24, 32, 64)
BITS = {**{f"i{width}": width for width in WIDTHS}, "index": 64}
"""Bits of each type of integer."""
FLOATS = ("f16", "bf16", "f32", "f64")
STORED: dict[str, Any] = {
    "i1": np.bool_,
    "i4": np.uint8,
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
"""The numpy type of each type in memory; of bf16 that of its bits, of i4 of two."""


@cache
def built(body: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> ModuleOp:
    """Return a kernel of 32 lanes, as `lane_kernel` makes it."""
    return lane_kernel(body, inputs, outputs, LANES)


def run(module: ModuleOp, inputs: list[Any], output: Any) -> Any:
    """Return what lanes write, of a kernel with one output of a numpy type."""
    kernel = next(simt.kernels(module))
    memory = as_bytes(kernel.func.body.block.args[-1].type)
    assert is_memref(memory)
    result = np.zeros(memory.get_shape(), output)
    simulate(module, "f", [*inputs, result])
    return result


@st.composite
def integers(draw: st.DrawFn, bits: int) -> Any:
    """As many integers as there are lanes, the extreme ones often."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    one = st.sampled_from([low, high, 0, -1, 1 if high else 0]) | st.integers(low, high)
    return draw(st.lists(one, min_size=LANES, max_size=LANES))


def stored(values: list[int], type: str) -> Any:
    """Return integers as they are in memory; of i1 the lowest bit."""
    if type == "i4":
        return packed(np.array(values))
    bits = [bool(x & 1) for x in values] if type == "i1" else values
    return np.array(bits).astype(STORED[type])


def as_integers(array: Any, type: str) -> list[int]:
    """Return what is in memory as signed integers."""
    if type == "i4":
        array = signed(halves(array))
    return [-int(x) for x in array] if type == "i1" else [int(x) for x in array]


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
    """Return floats as they are in memory."""
    array = np.array(values)
    return to_bf16(array) if type == "bf16" else array.astype(STORED[type])


def as_floats(array: Any, type: str) -> list[float]:
    """Return what is in memory as Python's floats."""
    return [float(x) for x in (from_bf16(array) if type == "bf16" else array)]


def same(found: list[float], expected: list[float]) -> bool:
    """Whether numbers are the same, with the sign of zeros; any NaN is any other."""
    return all(
        (math.isnan(x) and math.isnan(y))
        or (x == y and math.copysign(1, x) == math.copysign(1, y))
        for x, y in zip(found, expected, strict=True)
    )
