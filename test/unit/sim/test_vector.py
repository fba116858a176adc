"""Vectors against numpy."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nibbles import packed
from support.programs import module_of
from support.small_kernels import lane_kernel

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate

few = settings(max_examples=20, deadline=None)
RANDOM = np.random.default_rng(0)


def run(body: str, inputs: dict[str, Any], output: str, dtype: Any) -> Any:
    """What 16 lanes write, given the arrays of the inputs by their types."""
    shape = [int(x) for x in output.partition("<")[2].split("x")[:-1]]
    found = np.zeros((16, *shape), dtype)
    module = lane_kernel(body, [x.strip() for x in inputs], [output])
    simulate(module, "f", [*inputs.values(), found])
    return found


def test_broadcast() -> None:
    x = RANDOM.integers(0, 99, 16, np.int32)
    found = run(
        "%r0 = vector.broadcast %x0 : i32 to vector<3xi32>",
        {"i32": x},
        "vector<3xi32>",
        np.int32,
    )
    assert (found == x[:, None]).all()
    x = RANDOM.integers(0, 99, (16, 1, 3), np.int32)
    found = run(
        "%r0 = vector.broadcast %x0 : vector<1x3xi32> to vector<2x3xi32>",
        {"vector<1x3xi32>": x},
        "vector<2x3xi32>",
        np.int32,
    )
    assert (found == np.broadcast_to(x, (16, 2, 3))).all()


def test_extract_and_insert() -> None:
    x = RANDOM.integers(0, 99, (16, 2, 3), np.int32)
    i = RANDOM.integers(0, 3, 16)
    body = """
      %row = vector.extract %x0[1] : vector<3xi32> from vector<2x3xi32>
      %e = vector.extract %row[%x1] : i32 from vector<3xi32>
      %f = vector.extract %x0[0, 2] : i32 from vector<2x3xi32>
      %s = arith.addi %e, %f : i32
      %t = vector.insert %s, %x0[0, %x1] : i32 into vector<2x3xi32>
      %r0 = vector.insert %row, %t[1] : vector<3xi32> into vector<2x3xi32>
    """
    inputs = {"vector<2x3xi32>": x, "index": i}
    found = run(body, inputs, "vector<2x3xi32>", np.int32)
    lanes = np.arange(16)
    expected = x.copy()
    expected[lanes, 0, i] = x[lanes, 1, i] + x[:, 0, 2]
    assert (found == expected).all()
    i[3] = 3
    with pytest.raises(UndefinedBehaviour, match=r"vector\.extract.*below 3, got 3"):
        run(body, inputs, "vector<2x3xi32>", np.int32)


def test_shuffle() -> None:
    x = RANDOM.standard_normal((16, 2, 3)).astype(np.float32)
    y = RANDOM.standard_normal((16, 1, 3)).astype(np.float32)
    body = (
        "%r0 = vector.shuffle %x0, %x1 [2, 0, -1, 2] : vector<2x3xf32>, vector<1x3xf32>"
    )
    inputs = {"vector<2x3xf32>": x, "vector<1x3xf32>": y}
    found = run(body, inputs, "vector<4x3xf32>", np.float32)
    assert (found[:, 0] == y[:, 0]).all()
    assert (found[:, 1] == x[:, 0]).all()
    assert np.isnan(found[:, 2]).all()
    assert (found[:, 3] == y[:, 0]).all()


BITCASTS: list[tuple[str, Any, str, Any]] = [
    ("vector<4xi8>", np.int8, "vector<1xi32>", np.int32),
    ("vector<2xf16>", np.float16, "vector<1xi32>", np.int32),
    ("vector<2xi32>", np.int32, "vector<4xf16>", np.float16),
    ("vector<2x4xi16>", np.int16, "vector<2x2xf32>", np.float32),
    ("vector<2xi64>", np.int64, "vector<4xi32>", np.int32),
    ("vector<2xf32>", np.float32, "vector<2xi32>", np.int32),
    ("vector<2xbf16>", np.uint16, "vector<1xi32>", np.int32),
]


@pytest.mark.parametrize(("source", "dtype", "result", "result_dtype"), BITCASTS)
def test_bitcast(source: str, dtype: Any, result: str, result_dtype: Any) -> None:
    shape = [16, *(int(x) for x in source.partition("<")[2].split("x")[:-1])]
    bytes = RANDOM.integers(
        0, 120, (*shape[:-1], shape[-1] * dtype().itemsize), np.uint8
    )
    x = bytes.view(dtype)
    body = f"%r0 = vector.bitcast %x0 : {source} to {result}"
    found = run(body, {source: x}, result, result_dtype)
    assert (found.view(np.uint8) == bytes).all()


def test_bitcast_of_nibbles() -> None:
    x = RANDOM.integers(-8, 8, (16, 8), np.int8)
    body = "%r0 = vector.bitcast %x0 : vector<8xi4> to vector<1xi32>"
    found = run(body, {"vector<8xi4>": packed(x)}, "vector<1xi32>", np.int32)
    weights = 16 ** np.arange(8, dtype=np.int64)
    expected = ((x.astype(np.int64) % 16) * weights).sum(-1).astype(np.uint32)
    assert (found[:, 0].view(np.uint32) == expected).all()


@few
@given(st.integers(-1, 5), st.integers(-1, 4))
def test_create_mask(rows: int, cols: int) -> None:
    body = f"""
      %m = arith.constant {rows} : index
      %n = arith.constant {cols} : index
      %r0 = vector.create_mask %m, %n : vector<4x3xi1>
    """
    found = run(body, {}, "vector<4x3xi1>", np.bool_)
    row, col = np.indices((4, 3))
    assert (found == ((row < rows) & (col < cols))).all()


REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: x.sum(-1),
    "mul": lambda x: x.prod(-1),
    "minsi": lambda x: x.min(-1),
    "maxsi": lambda x: x.max(-1),
    "minui": lambda x: x.view(np.uint32).min(-1).view(np.int32),
    "maxui": lambda x: x.view(np.uint32).max(-1).view(np.int32),
    "and": lambda x: np.bitwise_and.reduce(x, -1),
    "or": lambda x: np.bitwise_or.reduce(x, -1),
    "xor": lambda x: np.bitwise_xor.reduce(x, -1),
}


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reduction(kind: str) -> None:
    x = RANDOM.integers(-(2**31), 2**31, (16, 5), np.int32)
    body = f"%r0 = vector.reduction <{kind}>, %x0 : vector<5xi32> into i32"
    found = run(body, {"vector<5xi32>": x}, "i32", np.int32)
    assert (found == REDUCTIONS[kind](x).astype(np.int32)).all()


def test_float_reductions() -> None:
    x = RANDOM.standard_normal((16, 4)).astype(np.float16)
    x[0, 2] = np.nan
    cases: dict[str, Any] = {
        "maxnumf": np.fmax.reduce(x, -1),
        "minnumf": np.fmin.reduce(x, -1),
        "maximumf": x.max(-1),
        "minimumf": x.min(-1),
    }
    for kind, expected in cases.items():
        body = f"%r0 = vector.reduction <{kind}>, %x0 : vector<4xf16> into f16"
        found = run(body, {"vector<4xf16>": x}, "f16", np.float16)
        assert np.array_equal(found, expected, equal_nan=True)


def test_reduction_starts_with_the_accumulator() -> None:
    x = np.tile(np.array([1.0, 1.0], np.float16), (16, 1))
    body = """
      %acc = arith.constant 2048.0 : f16
      %r0 = vector.reduction <add>, %x0, %acc : vector<2xf16> into f16
    """
    # Each addition of 1 to 2048 rounds to 2048.
    assert (run(body, {"vector<2xf16>": x}, "f16", np.float16) == 2048).all()


def fma_of(type: str, dtype: Any, *arrays: Any) -> Any:
    module = module_of(
        f"""
        func.func @f(%x: memref<64x{type}>, %y: memref<64x{type}>,
                     %z: memref<64x{type}>, %r: memref<64x{type}>) {{
          %c0 = arith.constant 0 : index
          %a = vector.load %x[%c0] : memref<64x{type}>, vector<64x{type}>
          %b = vector.load %y[%c0] : memref<64x{type}>, vector<64x{type}>
          %c = vector.load %z[%c0] : memref<64x{type}>, vector<64x{type}>
          %d = vector.fma %a, %b, %c : vector<64x{type}>
          vector.store %d, %r[%c0] : memref<64x{type}>, vector<64x{type}>
          func.return
        }}
        """
    )
    found = np.zeros(64, dtype)
    simulate(module, "f", [*arrays, found])
    return found


@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
def test_fma_rounds_once(type: str) -> None:
    dtype = np.dtype(f"float{type[1:]}").type
    random = np.random.default_rng(1)
    x, y, z = random.standard_normal((3, 64)).astype(dtype)
    # Products that the addition cancels: what a second rounding would spoil.
    z[:32] = -(x[:32].astype(np.float64) * y[:32].astype(np.float64)).astype(dtype)
    # A sum that is just above the middle between two numbers.
    x[0], y[0], z[0] = 1 + np.finfo(dtype).eps, 1 + np.finfo(dtype).eps, 2**-0.5
    found = fma_of(type, dtype, x, y, z)
    for a, b, c, d in zip(x, y, z, found, strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        here = Fraction(float(d))
        for other in (np.nextafter(d, dtype(np.inf)), np.nextafter(d, dtype(-np.inf))):
            assert abs(exact - here) <= abs(exact - Fraction(float(other)))


MEMORY = np.arange(60, dtype=np.int32).reshape(5, 12)


def transfer(text: str, *, mask: str = "") -> Any:
    """A function that reads a vector, %v, of %x and writes it to %y."""
    return module_of(
        f"""
        func.func @f(%x: memref<5x12xi32>, %i: index, %j: index,
                     %n: index, %y: memref<2x4xi32>) {{
          %c0 = arith.constant 0 : index
          %pad = arith.constant -1 : i32
          {mask}
          {text}
          vector.store %v, %y[%c0, %c0] : memref<2x4xi32>, vector<2x4xi32>
          func.return
        }}
        """
    )


def test_load_of_two_dimensions() -> None:
    module = transfer("%v = vector.load %x[%i, %j] : memref<5x12xi32>, vector<2x4xi32>")
    y = np.zeros((2, 4), np.int32)
    simulate(module, "f", [MEMORY, 1, 5, 0, y])
    assert (y == MEMORY[1:3, 5:9]).all()
    with pytest.raises(UndefinedBehaviour, match=r"vector\.load"):
        simulate(module, "f", [MEMORY, 1, 9, 0, y])


@few
@given(st.integers(-2, 4), st.integers(-4, 11), st.integers(0, 4))
def test_transfer_read(i: int, j: int, n: int) -> None:
    mask = """
      %two = arith.constant 2 : index
      %m = vector.create_mask %two, %n : vector<2x4xi1>
    """
    module = transfer(
        "%v = vector.transfer_read %x[%i, %j], %pad, %m "
        ": memref<5x12xi32>, vector<2x4xi32>",
        mask=mask,
    )
    y = np.zeros((2, 4), np.int32)
    simulate(module, "f", [MEMORY, i, j, n, y])
    for row, col in np.ndindex(2, 4):
        inside = 0 <= i + row < 5 and 0 <= j + col < 12 and col < n
        assert y[row, col] == (MEMORY[i + row, j + col] if inside else -1)


def test_transfer_read_that_permutes() -> None:
    module = transfer(
        "%v = vector.transfer_read %x[%i, %j], %pad {in_bounds = [true, true], "
        "permutation_map = affine_map<(r, c) -> (c, r)>} "
        ": memref<5x12xi32>, vector<2x4xi32>"
    )
    y = np.zeros((2, 4), np.int32)
    simulate(module, "f", [MEMORY, 1, 3, 0, y])
    assert (y == MEMORY[1:5, 3:5].T).all()
    with pytest.raises(UndefinedBehaviour, match=r"vector\.transfer_read"):
        simulate(module, "f", [MEMORY, 2, 3, 0, y])


def test_transfer_write() -> None:
    module = module_of(
        """
        func.func @f(%y: memref<3x4xi32>, %i: index) {
          %c0 = arith.constant 0 : index
          %v = arith.constant dense<7> : vector<2x4xi32>
          vector.transfer_write %v, %y[%i, %c0] : vector<2x4xi32>, memref<3x4xi32>
          func.return
        }
        """
    )
    y = np.zeros((3, 4), np.int32)
    simulate(module, "f", [y, 2])
    assert y.tolist() == [[0] * 4, [0] * 4, [7] * 4]


def test_masked_accesses() -> None:
    module = module_of(
        """
        func.func @f(%x: memref<6xi32>, %n: index, %y: memref<6xi32>) {
          %c3 = arith.constant 3 : index
          %m = vector.create_mask %n : vector<4xi1>
          %p = arith.constant dense<-5> : vector<4xi32>
          %v = vector.maskedload %x[%c3], %m, %p
            : memref<6xi32>, vector<4xi1>, vector<4xi32> into vector<4xi32>
          vector.maskedstore %y[%c3], %m, %v
            : memref<6xi32>, vector<4xi1>, vector<4xi32>
          %e = vector.extract %v[3] : i32 from vector<4xi32>
          %c0 = arith.constant 0 : index
          memref.store %e, %y[%c0] : memref<6xi32>
          func.return
        }
        """
    )
    x, y = np.arange(6, dtype=np.int32), np.full(6, 9, np.int32)
    simulate(module, "f", [x, 2, y])
    assert y.tolist() == [-5, 9, 9, 3, 4, 9]
    with pytest.raises(UndefinedBehaviour, match="maskedload"):
        simulate(module, "f", [x, 4, y])
