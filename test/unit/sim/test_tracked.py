"""Bounds of errors hold, against exact fractions; without rounding they are 0."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import kernel
from support.small_kernels import lane_kernel
from xdsl.dialects.builtin import f32

from coopc.sim.simulate import simulate
from coopc.sim.tracked import Inputs, Tracked, errors_of, product_bound

few = settings(max_examples=25, deadline=None)
DTYPES: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def product(types: tuple[str, str], k: int) -> Any:
    """A kernel of one product of 3 x K and K x 4 matrices and a sum."""
    narrow, wide = types
    a, b = (
        f"!coopmatrix.matrix<3x{k}x{narrow}, a>",
        f"!coopmatrix.matrix<{k}x4x{narrow}, b>",
    )
    c = f"!coopmatrix.matrix<3x4x{wide}, acc>"
    return kernel(
        f"%a: memref<3x{k}x{narrow}>, %b: memref<{k}x4x{narrow}>, "
        f"%c: memref<3x4x{wide}>",
        f"""
        %z = arith.constant 0 : index
        %x = coopmatrix.load %a[%z, %z] row_major : memref<3x{k}x{narrow}> -> {a}
        %y = coopmatrix.load %b[%z, %z] row_major : memref<{k}x4x{narrow}> -> {b}
        %s = coopmatrix.load %c[%z, %z] row_major : memref<3x4x{wide}> -> {c}
        %d = coopmatrix.mul_add %x, %y, %s : {a}, {b}, {c}
        %e = coopmatrix.mul_add %x, %y, %d : {a}, {b}, {c}
        coopmatrix.store %e, %c[%z, %z] row_major : {c}, memref<3x4x{wide}>
        """,
    )


def exact(a: Any, b: Any, c: Any) -> list[Fraction]:
    """2 a b + c, without rounding."""
    return [
        Fraction(float(c[row, col]))
        + 2
        * sum(
            Fraction(float(x)) * Fraction(float(y))
            for x, y in zip(a[row], b[:, col], strict=True)
        )
        for row, col in np.ndindex(c.shape)
    ]


@pytest.mark.parametrize(
    "types", [("f16", "f32"), ("f16", "f16"), ("f32", "f32"), ("f64", "f64")]
)
@few
@given(st.integers(1, 20), st.integers(0, 10**6), st.sampled_from([1.0, 1e-3, 30.0]))
def test_bound_holds(types: tuple[str, str], k: int, seed: int, scale: float) -> None:
    random = np.random.default_rng(seed)
    a = (random.standard_normal((3, k)) * scale).astype(DTYPES[types[0]])
    b = random.standard_normal((k, 4)).astype(DTYPES[types[0]])
    c = random.standard_normal((3, 4)).astype(DTYPES[types[1]])
    wanted = exact(a, b, c)
    (_, _, errors) = simulate(
        product(types, k), "f", [a, b, c], track=Inputs.REAL
    ).errors
    assert errors is not None
    assert (errors > 0).all()
    for found, error, expected in zip(c.flat, errors.flat, wanted, strict=True):
        assert abs(Fraction(float(found)) - expected) <= Fraction(float(error))


def test_bound_is_that_of_the_design() -> None:
    """For one product: (K + 2) eps_acc |A| |B| + eps_out |C|."""
    a, b = np.full((1, 4), 3.0), np.full((4, 1), -2.0)
    magnitude, result = np.abs(a) @ np.abs(b), a @ b
    bound = product_bound(4, magnitude, result, 2.0**-24, 2.0**-11)
    assert bound == 6 * 2.0**-24 * 24 + 2.0**-11 * 24


@few
@given(st.integers(1, 20), st.integers(0, 10**6))
def test_exact_inputs_have_no_error(k: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a = random.integers(-2, 3, (3, k)).astype(np.float16)
    b = random.integers(-2, 3, (k, 4)).astype(np.float16)
    c = random.integers(-2, 3, (3, 4)).astype(np.float32)
    module = product(("f16", "f32"), k)
    (_, _, errors) = simulate(module, "f", [a, b, c], track=Inputs.EXACT).errors
    assert errors is not None
    assert (errors == 0).all()


def test_exact_inputs_that_overflow_the_accumulator_have() -> None:
    a, b = np.full((3, 2), 2048.0), np.full((2, 4), 2048.0)
    c = np.full((3, 4), 2.0**25)
    arrays = [x.astype(np.float32) for x in (a, b, c)]
    module = product(("f32", "f32"), 2)
    errors = simulate(module, "f", arrays, track=Inputs.EXACT).errors[2]
    assert errors is not None
    assert (errors > 0).all()


def test_tracking_changes_no_value() -> None:
    random = np.random.default_rng(0)
    a, b = random.standard_normal((3, 7)), random.standard_normal((7, 4))
    c = random.standard_normal((3, 4))
    plain = [x.astype(np.float16) for x in (a, b, c)]
    tracked = [x.copy() for x in plain]
    module = product(("f16", "f16"), 7)
    simulate(module, "f", plain)
    simulate(module, "f", tracked, track=Inputs.REAL)
    assert (plain[2] == tracked[2]).all()


LANES: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "%r0 = arith.addf %x0, %x1 : f32": lambda x, y: x + y,
    "%r0 = arith.subf %x0, %x1 : f32": lambda x, y: x - y,
    "%r0 = arith.mulf %x0, %x1 : f32": lambda x, y: x * y,
    "%r0 = arith.divf %x0, %x1 : f32": lambda x, y: x / y,
    "%r0 = arith.maxnumf %x0, %x1 : f32": max,
    "%r0 = arith.minimumf %x0, %x1 : f32": min,
    "%r0 = math.absf %x0 : f32": lambda x, y: abs(x),
    "%r0 = math.fma %x0, %x1, %x1 : f32": lambda x, y: x * y + y,
    """
    %w = arith.extf %x0 : f32 to f64
    %h = arith.truncf %w : f64 to f16
    %r0 = arith.extf %h : f16 to f32
    """: lambda x, y: x,
}


@pytest.mark.parametrize("body", LANES)
def test_bounds_of_operations(body: str) -> None:
    """After a step that has rounded: (x / 3) op (y * 0.7), exactly and as computed."""
    third, most = np.float32(3), np.float32(0.7)
    text = f"""
      %third = arith.constant 3.0 : f32
      %most = arith.constant 0.7 : f32
      %p0 = arith.divf %x0, %third : f32
      %p1 = arith.mulf %x1, %most : f32
      {body.replace("%x0", "%p0").replace("%x1", "%p1")}
    """
    random = np.random.default_rng(0)
    x, y, found = random.standard_normal((3, 64)).astype(np.float32)
    module = lane_kernel(text, ["f32", "f32"], ["f32"], 64)
    errors = simulate(module, "f", [x, y, found], track=Inputs.REAL).errors[2]
    assert errors is not None
    for a, b, got, error in zip(x, y, found, errors, strict=True):
        p = Fraction(float(a)) / Fraction(float(third))
        q = Fraction(float(b)) * Fraction(float(most))
        assert abs(Fraction(float(got)) - LANES[body](p, q)) <= Fraction(float(error))


LIBRARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "floor": np.floor,
}


@pytest.mark.parametrize("name", LIBRARY)
def test_bounds_of_the_library(name: str) -> None:
    """By f64, whose own error is beyond what these bounds could miss."""
    body = f"""
      %third = arith.constant 3.0 : f32
      %p = arith.divf %x0, %third : f32
      %r0 = math.{name} %p : f32
    """
    x = np.abs(np.random.default_rng(0).standard_normal(64)).astype(np.float32) + 1
    found = np.zeros_like(x)
    module = lane_kernel(body, ["f32"], ["f32"], 64)
    errors = simulate(module, "f", [x, found], track=Inputs.REAL).errors[1]
    assert errors is not None
    assert np.isfinite(errors).all()
    expected = LIBRARY[name](x.astype(np.float64) / 3)
    assert (np.abs(found - expected) <= errors).all()


def test_a_divisor_that_may_be_zero_has_no_bound() -> None:
    body = """
      %tenth = arith.constant 0.1 : f32
      %a = arith.addf %x0, %tenth : f32
      %b = arith.subf %a, %tenth : f32
      %c = arith.subf %b, %x0 : f32
      %r0 = arith.divf %x0, %c : f32
    """
    x = np.full(16, 0.2, np.float32)
    found = np.zeros_like(x)
    module = lane_kernel(body, ["f32"], ["f32"])
    errors = simulate(module, "f", [x, found], track=Inputs.REAL).errors[1]
    assert errors is not None
    assert np.isinf(errors).all()


@few
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-4, 0.5]))
def test_bounds_of_what_is_cut(seed: int, error: float) -> None:
    """Of a number, and of any that is as near to it as its own bound says."""
    random, bits = np.random.default_rng(seed), 13
    tracked = Tracked(Inputs.REAL)
    exactly = random.normal(size=64).astype(np.float32)
    other = (exactly + error * random.uniform(-1, 1, 64)).astype(np.float32)
    off = np.abs(other.astype(np.float64) - exactly)
    found = tracked.cut(other + 1j * off, bits)
    distance = np.abs(tracked.plain(found, f32).astype(np.float64) - exactly)
    assert (distance <= errors_of(found)).all()
    small = np.arange(-64, 64).astype(np.float32)
    assert (tracked.cut(tracked.given(small, f32), bits) == small).all()


def test_what_is_infinite_is_not_off() -> None:
    """As in a softmax, where what is masked is minus infinity."""
    body = """
      %third = arith.constant 3.0 : f32
      %masked = arith.constant 0xFF800000 : f32
      %p = arith.divf %x0, %third : f32
      %below = arith.subf %masked, %p : f32
      %none = math.exp2 %below : f32
      %r0 = arith.addf %p, %none : f32
    """
    x = np.arange(16, dtype=np.float32)
    found = np.zeros_like(x)
    module = lane_kernel(body, ["f32"], ["f32"])
    errors = simulate(module, "f", [x, found], track=Inputs.REAL).errors[1]
    assert errors is not None
    assert (np.abs(found - x.astype(np.float64) / 3) <= errors).all()
    assert (errors <= 1e-5).all()


@pytest.mark.parametrize("op", ["minnumf", "maxnumf", "minimumf", "maximumf"])
def test_zeros_of_which_either_is_right(op: str) -> None:
    """Of 0.0 and -0.0, `minnumf` gives one or the other, and `minimumf` the less."""
    module = kernel(
        "%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>",
        f"""
        %c4 = arith.constant 4 : index
        %id = simt.local_id x : index
        %inside = arith.cmpi ult, %id, %c4 : index
        scf.if %inside {{
          %a = memref.load %x[%id] : memref<4xf32>
          %b = memref.load %y[%id] : memref<4xf32>
          %c = arith.{op} %a, %b : f32
          memref.store %c, %z[%id] : memref<4xf32>
        }}
        """,
    )
    x, y = (np.array(each, np.float32) for each in ([0, 0, -0.0, 1], [0, -0.0, 0, 0]))
    result = simulate(module, "f", [x, y, np.zeros_like(x)], track=Inputs.EXACT)
    found = result.errors[2]
    either = [False] * 4 if found is None else [*(found > 0)]
    assert either == [False, "num" in op, "num" in op, False]
