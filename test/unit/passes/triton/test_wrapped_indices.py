"""Index arithmetic that wraps, and masks with any number: matrices only where they are.

Rows of A are at %row * %stride, those below a limit are loaded; the product with B is
stored.  Each pipeline is simulated and compared with numpy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import coopc

Array = npt.NDArray[Any]

KERNEL = """
tt.func public @k(%x: !tt.ptr<f16>, %y: !tt.ptr<f16>, %o: !tt.ptr<f32>, %n: $n) {
  %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %all = arith.constant dense<true> : tensor<16xi1>
  %c16 = arith.constant 16 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf16>
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  $lines
  %i = tt.expand_dims $row {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %k = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %j = tt.expand_dims %r {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %s = tt.splat $stride : i32 -> tensor<16x1xi32>
  %t = tt.splat %c16 : i32 -> tensor<16x1xi32>
  %down = arith.muli %i, %s : tensor<16x1xi32>
  %below = arith.muli %k, %t : tensor<16x1xi32>
  %i2 = tt.broadcast %down : tensor<16x1xi32> -> tensor<16x16xi32>
  %k2 = tt.broadcast %below : tensor<16x1xi32> -> tensor<16x16xi32>
  %j2 = tt.broadcast %j : tensor<1x16xi32> -> tensor<16x16xi32>
  %a_at = arith.addi %i2, %j2 : tensor<16x16xi32>
  %at = arith.addi %k2, %j2 : tensor<16x16xi32>
  %m = tt.expand_dims $mask {axis = 1 : i32} : tensor<16xi1> -> tensor<16x1xi1>
  %mask = tt.broadcast %m : tensor<16x1xi1> -> tensor<16x16xi1>
  %xs = tt.splat %x : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>>
  %ys = tt.splat %y : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>>
  %os = tt.splat %o : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %px = tt.addptr %xs, %a_at : tensor<16x16x!tt.ptr<f16>>, tensor<16x16xi32>
  %py = tt.addptr %ys, %at : tensor<16x16x!tt.ptr<f16>>, tensor<16x16xi32>
  %po = tt.addptr %os, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %a = tt.load %px, %mask, %zero : tensor<16x16x!tt.ptr<f16>>
  %b = tt.load %py : tensor<16x16x!tt.ptr<f16>>
  %d = tt.dot %a, %b, %zeros
      : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
  tt.store %po, %d : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
"""
ROWS = np.arange(16)


def narrow(extension: str, type: str) -> str:
    """Rows from %n on, which wrap in a type of 8 or 16 bits."""
    return f"""
  %from = tt.splat %n : i32 -> tensor<16xi32>
  %sum = arith.addi %r, %from : tensor<16xi32>
  %small = arith.trunci %sum : tensor<16xi32> to tensor<16x{type}>
  %row = arith.{extension} %small : tensor<16x{type}> to tensor<16xi32>"""


BYTES = """
  %bytes = arith.trunci %r : tensor<16xi32> to tensor<16xi8>
  %much = arith.constant dense<120> : tensor<16xi8>
  %wrapped = arith.addi %bytes, %much : tensor<16xi8>
  %wide = arith.extui %wrapped : tensor<16xi8> to tensor<16xi32>
  %row = arith.addi %wide, %r : tensor<16xi32>"""


def compared(predicate: str, type: str = "i32", lines: str = "") -> str:
    return f"""{lines}
  %end = tt.splat %n : {type} -> tensor<16x{type}>
  %in = arith.cmpi {predicate}, {"%long" if lines else "%r"}, %end
      : tensor<16x{type}>"""


LONG = "  %long = arith.extsi %r : tensor<16xi32> to tensor<16xi64>"
STRIDE = "  %stride = arith.{} %n : {} to i32"

Place = Callable[[int], Array]
CASES: dict[str, tuple[str, str, list[int], Place, Place]] = {
    # The type of %n, what is before, its values; the first element and mask of rows.
    "u8": (
        "i32",
        narrow("extui", "i8"),
        [0, 240, 250],
        lambda n: (ROWS + n) % 256 * 16,
        lambda n: ROWS >= 0,
    ),
    "u16": (
        "i32",
        narrow("extui", "i16"),
        [7, 65530],
        lambda n: (ROWS + n) % 65536 * 16,
        lambda n: ROWS >= 0,
    ),
    "sum of bytes": (
        "i32",
        BYTES,
        [0],
        lambda n: (ROWS + 120 + ROWS) * 16,
        lambda n: ROWS >= 0,
    ),
    "signed": (
        "i32",
        compared("slt"),
        [-4, 0, 5, 16, 99, -(1 << 31), (1 << 31) - 1],
        lambda n: ROWS * 16,
        lambda n: n > ROWS,
    ),
    "unsigned": (
        "i32",
        compared("ult"),
        [-4, 0, 5, 16],
        lambda n: ROWS * 16,
        lambda n: n % (1 << 32) > ROWS,
    ),
    "64 bits": (
        "i64",
        compared("slt", "i64", LONG),
        [-(1 << 40), -1, 0, 5, (1 << 32) + 3],
        lambda n: ROWS * 16,
        lambda n: n > ROWS,
    ),
    "constant of 64 bits": (
        "i32",
        f"""{LONG}
  %end = arith.constant dense<3000000000> : tensor<16xi64>
  %in = arith.cmpi slt, %long, %end : tensor<16xi64>""",
        [0],
        lambda n: ROWS * 16,
        lambda n: ROWS >= 0,
    ),
    "stride of 64 bits": (
        "i64",
        STRIDE.format("trunci", "i64"),
        [16, 32, (1 << 32) + 24],
        lambda n: ROWS * (n % (1 << 32)),
        lambda n: ROWS >= 0,
    ),
    "stride of 8 bits": (
        "i8",
        STRIDE.format("extui", "i8"),
        [16, 200],
        lambda n: ROWS * (n % 256),
        lambda n: ROWS >= 0,
    ),
}


def text_of(name: str) -> str:
    type, lines, *_ = CASES[name]
    names = {
        "$n": type,
        "$lines": lines,
        "$row": "%row" if "%row =" in lines else "%r",
        "$stride": "%stride" if "%stride =" in lines else "%c16",
        "$mask": "%in" if "%in =" in lines else "%all",
    }
    found = KERNEL
    for old, new in names.items():
        found = found.replace(old, new)
    return found


@pytest.mark.parametrize(
    "pipeline",
    [
        "coopc-khr{device=lavapipe}",
        "coopc-lanes{device=intel-cpu}",
        "coopc-xe{device=bmg}",
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_rows(name: str, pipeline: str) -> None:
    *_, values, place, mask = CASES[name]
    kernel = coopc.load(text_of(name), on="sim", pipeline=pipeline)
    random = np.random.default_rng(0)
    x = random.integers(-3, 4, 65536 * 16).astype(np.float16)
    y = random.integers(-3, 4, (16, 16)).astype(np.float16)
    for n in values:
        rows = x[place(n)[:, None] + ROWS].astype(np.float32)
        wanted = np.where(mask(n)[:, None], rows, 0) @ y.astype(np.float32)
        kernel.run(x, y, found := np.full((16, 16), 9, np.float32), n, grid=1)
        assert np.array_equal(found, wanted), n
