"""What is computed on elements of matrices, and reductions of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.small_kernels import on_matrix

from coopc.rounding import wrap
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate

RANDOM = np.random.default_rng(0)
BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "shl": lambda x, y: x << (y % 8),
    "div": lambda x, y: x // y,
    "rem": lambda x, y: x % y,
    "min": min,
    "max": max,
    "shr": lambda x, y: x >> (y % 8),
    "div signed": lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
    "rem signed": lambda x, y: abs(x) % abs(y) * (-1 if x < 0 else 1),
    "min signed": min,
    "max signed": max,
    "shr signed": lambda x, y: x >> (y % 8),
}


@pytest.mark.parametrize("name", BINARY)
def test_integers(name: str) -> None:
    rhs = "%b = coopmatrix.bitcast %m : {matrix} -> {matrix}"
    if "sh" in name:
        # Amounts below the width of an element.
        rhs = """
          %seven = arith.constant 7 : i8
          %s = coopmatrix.fill %seven : i8 -> {matrix}
          %b = coopmatrix.and %m, %s : {matrix}
        """
    op, _, signed = name.partition(" ")
    body = f"""
      {rhs}
      %t = coopmatrix.not %m : {{matrix}}
      %r = coopmatrix.{op} {signed} %t, %b : {{matrix}}
    """
    x = np.array([*range(-128, -1), *range(1, 127)], np.int8).reshape(11, 23)
    y = np.zeros_like(x)
    simulate(on_matrix(x.shape, "i8", body), "f", [x, y])
    is_signed = bool(signed) or op not in ("div", "rem", "min", "max", "shr")
    for value, found in zip(x.flat, y.flat, strict=True):
        left = wrap(~int(value), 8, is_signed)
        right = wrap(int(value), 8, is_signed)
        assert found == wrap(BINARY[name](left, right), 8, signed=True)


def test_division_by_zero() -> None:
    module = on_matrix((2, 2), "i32", "%r = coopmatrix.div %m, %m : {matrix}")
    with pytest.raises(UndefinedBehaviour, match=r"coopmatrix\.div.*division by zero"):
        simulate(module, "f", [np.zeros((2, 2), np.int32)] * 2)


FLOAT_BINARY: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rem": np.fmod,
    "min": np.fmin,
    "max": np.fmax,
}


@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_floats(name: str) -> None:
    body = f"""
      %three = arith.constant 3.0 : f16
      %s = coopmatrix.scale %m, %three : {{matrix}}, f16
      %r = coopmatrix.{name} %m, %s : {{matrix}}
    """
    x = RANDOM.standard_normal((3, 5)).astype(np.float16) * np.float16(100)
    x[0] = [np.nan, np.inf, 0, -0.0, 65504]
    y = np.zeros_like(x)
    simulate(on_matrix(x.shape, "f16", body), "f", [x, y])
    with np.errstate(all="ignore"):
        expected = FLOAT_BINARY[name](x, x * np.float16(3))
    assert np.array_equal(y, expected, equal_nan=True)


def test_scale_of_integers() -> None:
    body = """
      %s = arith.constant 100 : i8
      %r = coopmatrix.scale %m, %s : {matrix}, i8
    """
    x = np.arange(-8, 7, dtype=np.int8).reshape(3, 5)
    y = np.zeros_like(x)
    simulate(on_matrix(x.shape, "i8", body), "f", [x, y])
    assert (y == (x.astype(np.int64) * 100).astype(np.int8)).all()


def test_signs() -> None:
    for name, compute in (("neg", np.negative), ("abs", np.abs)):
        for dtype, type in ((np.int8, "i8"), (np.float16, "f16")):
            x = np.array([[-128, -1, 0], [1, 5, 127]], dtype)
            y = np.zeros_like(x)
            module = on_matrix(x.shape, type, f"%r = coopmatrix.{name} %m : {{matrix}}")
            simulate(module, "f", [x, y])
            assert (y == compute(x)).all()
            assert (np.signbit(y) == np.signbit(compute(x))).all()


CONVERSIONS: list[tuple[str, Any, str, str, Callable[[Any], Any]]] = [
    ("f32", np.float32, "f16", "", lambda x: x.astype(np.float16)),
    ("f16", np.float16, "f32", "", lambda x: x.astype(np.float32)),
    ("f32", np.float32, "i8", "signed", lambda x: np.trunc(x).astype(np.int8)),
    ("f32", np.float32, "i32", "", lambda x: np.trunc(x).astype(np.int32)),
    ("i8", np.int8, "f32", "signed", lambda x: x.astype(np.float32)),
    ("i8", np.int8, "f32", "", lambda x: x.view(np.uint8).astype(np.float32)),
    ("i8", np.int8, "i32", "signed", lambda x: x.astype(np.int32)),
    ("i8", np.int8, "i32", "", lambda x: x.view(np.uint8).astype(np.int32)),
    ("i32", np.int32, "i8", "", lambda x: x.astype(np.int8)),
]


@pytest.mark.parametrize(("source", "dtype", "result", "sign", "compute"), CONVERSIONS)
def test_convert(source: str, dtype: Any, result: str, sign: str, compute: Any) -> None:
    """Another use keeps the elements where they are in the matrix."""
    target = f"!coopmatrix.matrix<4x6x{result}, a>"
    body = f"%r = coopmatrix.convert {sign} %m : {{matrix}} -> {target}"
    x = (RANDOM.standard_normal((4, 6)) * 20).astype(dtype)
    if not sign and source == "f32":
        x = np.abs(x)
    expected = compute(x)
    y = np.zeros_like(expected)
    module = on_matrix(x.shape, source, body, result=target)
    simulate(module, "f", [x, y])
    assert (y == expected).all()


def test_bitcast() -> None:
    target = "!coopmatrix.matrix<4x6xi32, acc>"
    body = f"%r = coopmatrix.bitcast %m : {{matrix}} -> {target}"
    x = RANDOM.standard_normal((4, 6)).astype(np.float32)
    y = np.zeros((4, 6), np.int32)
    simulate(on_matrix(x.shape, "f32", body, result=target), "f", [x, y])
    assert (y == x.view(np.int32)).all()


def test_bitcast_of_nibbles() -> None:
    """An i4 is a signed byte in the simulator, and a code of 4 bits in the result."""
    target = "!coopmatrix.matrix<2x8xf4E2M1FN, acc>"
    body = f"%r = coopmatrix.bitcast %m : {{matrix}} -> {target}"
    x = RANDOM.integers(0, 256, (2, 4)).astype(np.uint8)
    y = np.zeros_like(x)
    simulate(on_matrix((2, 8), "i4", body, result=target), "f", [x, y])
    assert (y == x).all()


def test_scale_has_no_sign() -> None:
    """What a sign would make of a power of two is none."""
    body = "%r = coopmatrix.neg %m : {matrix}"
    x = np.arange(256, dtype=np.uint8).reshape(16, 16)
    y = np.zeros_like(x)
    simulate(on_matrix(x.shape, "f8E8M0FNU", body), "f", [x, y])
    assert (y == 0xFF).all()


@pytest.mark.parametrize("broadcast", ["", "broadcast"])
@pytest.mark.parametrize("axis", ["rows", "cols"])
@pytest.mark.parametrize("name", ["add", "max", "min", "max signed", "min signed"])
def test_reduce(name: str, axis: str, broadcast: str) -> None:
    shape = "5x7" if broadcast else "5x1" if axis == "rows" else "1x7"
    target = f"!coopmatrix.matrix<{shape}xi8, acc>"
    kind, _, signed = name.partition(" ")
    words = f"{kind} {axis} {signed} {broadcast}"
    body = f"%r = coopmatrix.reduce {words} %m : {{matrix}} -> {target}"
    x = RANDOM.integers(-128, 128, (5, 7), np.int8)
    plain = x if signed or kind == "add" else x.view(np.uint8)
    computes: dict[str, Any] = {"add": np.sum, "max": np.max, "min": np.min}
    expected = computes[kind](plain, axis=1 if axis == "rows" else 0, keepdims=True)
    y = np.zeros(x.shape if broadcast else expected.shape, np.int8)
    simulate(on_matrix(x.shape, "i8", body, result=target), "f", [x, y])
    assert (y == expected.astype(np.int8)).all()


@pytest.mark.parametrize("broadcast", ["", "broadcast"])
@pytest.mark.parametrize("axis", ["all", "quads"])
@pytest.mark.parametrize("name", ["add", "max", "min signed"])
def test_reduce_windows(name: str, axis: str, broadcast: str) -> None:
    """Of 6 x 10 elements, all or each 2 x 2."""
    rows, cols = (1, 1) if axis == "all" else (3, 5)
    shape = "6x10" if broadcast else f"{rows}x{cols}"
    target = f"!coopmatrix.matrix<{shape}xi8, acc>"
    kind, _, signed = name.partition(" ")
    words = f"{kind} {axis} {signed} {broadcast}"
    body = f"%r = coopmatrix.reduce {words} %m : {{matrix}} -> {target}"
    x = RANDOM.integers(-128, 128, (6, 10), np.int8)
    plain = x if signed or kind == "add" else x.view(np.uint8)
    windows = plain.reshape(rows, 6 // rows, cols, 10 // cols)
    computes: dict[str, Any] = {"add": np.sum, "max": np.max, "min": np.min}
    expected = computes[kind](windows, axis=(1, 3)).astype(np.int8)
    if broadcast:
        expected = expected.repeat(6 // rows, 0).repeat(10 // cols, 1)
    y = np.zeros(expected.shape, np.int8)
    simulate(on_matrix(x.shape, "i8", body, result=target), "f", [x, y])
    assert (y == expected).all()


def test_transpose() -> None:
    target = "!coopmatrix.matrix<7x5xi8, b>"
    body = f"%r = coopmatrix.transpose %m : {{matrix}} -> {target}"
    x = RANDOM.integers(-128, 128, (5, 7), np.int8)
    y = np.zeros((7, 5), np.int8)
    simulate(on_matrix(x.shape, "i8", body, result=target), "f", [x, y])
    assert (y == x.T).all()


def test_reduce_floats() -> None:
    target = "!coopmatrix.matrix<2x1xf16, acc>"
    for kind, expected in (("add", [2048.0, np.nan]), ("max", [2048.0, 3.0])):
        body = f"%r = coopmatrix.reduce {kind} rows %m : {{matrix}} -> {target}"
        x = np.array([[2048, 1, 1], [np.nan, 3, -1]], np.float16)
        y = np.zeros((2, 1), np.float16)
        simulate(on_matrix(x.shape, "f16", body, result=target), "f", [x, y])
        assert np.array_equal(y[:, 0], np.array(expected, np.float16), equal_nan=True)
