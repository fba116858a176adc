"""Matrices as operands of DPAS: simulated before and after, against numpy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.dialects.simt import conditions
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.sim.numerics import from_bf16, to_bf16
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Order: TypeAlias = Literal["row_major", "col_major", "packed"]


@dataclass(frozen=True)
class Gemm:
    """C += A B of a subgroup, a step of K at a time."""

    element: str = "f16"
    sum: str = "f32"
    m: int = 32
    n: int = 32
    k: int = 32
    a: Order = "row_major"
    b: Order = "row_major"
    c: Order = "row_major"
    signed: str = ""
    lanes: int | None = None
    ragged: bool = True

    @property
    def text(self) -> str:
        """The kernel: a work-group is a subgroup, which computes a tile of C."""
        checked = " checked(rows, cols)" if self.ragged else ""
        a_at = "%row, %k" if self.a == "row_major" else "%k, %row"
        b_at = {"row_major": "%k, %col", "col_major": "%col, %k"}.get(
            self.b, "%k_packed, %col_packed"
        )
        c_at = "%row, %col" if self.c == "row_major" else "%col, %row"
        along = "%c1" if self.a == "row_major" else "%c0"
        w = {"i8": 4}.get(self.element, 2)
        lanes = (
            "" if self.lanes is None else f", simt.subgroup_size = {self.lanes} : i32"
        )
        t, s = self.element, self.sum
        a = f"!coopmatrix.matrix<{self.m}x{self.k}x{t}, a>"
        b = f"!coopmatrix.matrix<{self.k}x{self.n}x{t}, b>"
        c = f"!coopmatrix.matrix<{self.m}x{self.n}x{s}, acc>"
        b_checked = "" if self.b == "packed" else checked
        zero = "0" if s[0] == "i" else "0.0"
        return f"""
        func.func @gemm(%a: memref<?x?x{t}>, %b: memref<?x?x{t}>, %c: memref<?x?x{s}>)
            attributes {{simt.kernel{lanes}}} {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %cm = arith.constant {self.m} : index
          %cn = arith.constant {self.n} : index
          %ck = arith.constant {self.k} : index
          %cw = arith.constant {w} : index
          %zero = arith.constant {zero} : {s}
          %y = simt.workgroup_id y : index
          %x = simt.workgroup_id x : index
          %row = arith.muli %y, %cm : index
          %col = arith.muli %x, %cn : index
          %col_packed = arith.muli %col, %cw : index
          %end = memref.dim %a, {along} : memref<?x?x{t}>
          %init = coopmatrix.fill %zero : {s} -> {c}
          %sum = scf.for %k = %c0 to %end step %ck iter_args(%acc = %init) -> ({c}) {{
            %k_packed = arith.divui %k, %cw : index
            %x0 = coopmatrix.load %a[{a_at}] {self.a}{checked} : memref<?x?x{t}> -> {a}
            %x1 = coopmatrix.load %b[{b_at}] {self.b}{b_checked}
                : memref<?x?x{t}> -> {b}
            %next = coopmatrix.mul_add %x0, %x1, %acc{self.signed} : {a}, {b}, {c}
            scf.yield %next : {c}
          }}
          coopmatrix.store %sum, %c[{c_at}] {self.c}{checked} : {c}, memref<?x?x{s}>
          func.return
        }}"""


@cache
def compiled(text: str, passes: str) -> ModuleOp:
    """Return a program after some passes."""
    universe = everything()
    ctx = new_context(universe)
    source = Source(text, "test")
    found = parse(ctx, source)
    if passes:
        Run(ctx, source).apply(found, read_passes(passes, universe.all_passes))
    return found


def to_xe(device: str, explain: str = "") -> str:
    return f"coopc-xe{{device={device}{explain}}}"


def counts(module: ModuleOp) -> dict[str, int]:
    """Return how often operations of xe and memref stand in a module."""
    found: dict[str, int] = {}
    for op in module.walk():
        if op.dialect_name() in ("xe", "memref", "coopmatrix"):
            found[op.name] = found.get(op.name, 0) + 1
    return found


def stored(numbers: Any, element: str) -> Any:
    """Return numbers as memory has them."""
    types = {"f16": "f2", "f32": "f4", "i8": "i1", "i32": "i4"}
    return to_bf16(numbers) if element == "bf16" else numbers.astype(types[element])


def loaded(numbers: Any, element: str) -> Any:
    """Return what memory holds as numbers."""
    return from_bf16(numbers) if element == "bf16" else numbers


def in_memory(matrix: Any, order: Order, w: int) -> Any:
    """Return a matrix as memory has it."""
    if order == "row_major":
        return matrix
    if order == "col_major":
        return np.ascontiguousarray(matrix.T)
    rows, cols = matrix.shape
    packed = matrix.reshape(rows // w, w, cols).transpose(0, 2, 1)
    return np.ascontiguousarray(packed.reshape(rows // w, cols * w))


def check(x: Gemm, device: str | None, sizes: tuple[int, int, int]) -> None:
    """Run a kernel, as it is or as a device has it, and compare with numpy."""
    m, n, k = sizes
    random = np.random.default_rng(m + n)
    low, high = (0, 9) if x.element == "i8" and "a" not in x.signed else (-4, 5)
    a = random.integers(low, high, (m, k))
    b = random.integers(low, high, (k, n))
    w = 4 if x.element == "i8" else 2
    c = stored(np.full((m, n), 77), x.sum)
    c = in_memory(c, x.c, 1)
    arguments = [
        in_memory(stored(a, x.element), x.a, 1),
        in_memory(stored(b, x.element), x.b, w),
        c,
    ]
    module = compiled(x.text, "" if device is None else to_xe(device))
    grid = (-(-n // x.n), -(-m // x.m))
    simulate(module, "gemm", arguments, grid=grid)
    found = loaded(c, x.sum)
    expected = a @ b
    assert np.array_equal(found, expected if x.c == "row_major" else expected.T)


GEMMS = {
    "f16": Gemm(),
    "f16_f16": Gemm(sum="f16"),
    "bf16": Gemm("bf16"),
    "bf16_bf16": Gemm("bf16", "bf16", k=16),
    "i8": Gemm("i8", "i32", signed=" signed(a, b, c, result)"),
    "u8": Gemm("i8", "i32"),
    "one_dpas": Gemm(m=8, n=16, k=16),
    "odd": Gemm(m=24, n=48, k=48),
    "few_rows": Gemm(m=4, n=16, k=16),
    "a_col": Gemm(a="col_major"),
    "b_col": Gemm(b="col_major"),
    "b_packed": Gemm(b="packed", ragged=False),
    "b_packed_i8": Gemm(
        "i8", "i32", b="packed", ragged=False, signed=" signed(a, b, c, result)"
    ),
    "a_col_i8": Gemm("i8", "i32", a="col_major"),
    "b_col_i8": Gemm("i8", "i32", b="col_major"),
    "c_col": Gemm(c="col_major"),
    "lanes": Gemm(lanes=32),
    "lanes_b_col": Gemm(b="col_major", lanes=32),
    "lanes_a_col": Gemm(a="col_major", lanes=32),
    "lanes_i8": Gemm("i8", "i32", lanes=32),
}


MESSAGES = {
    # loads of a and of b in a step, products, stores; on bmg as on pvc
    "f16": (2, 16, 8),
    "f16_f16": (2, 16, 8),
    "bf16": (2, 16, 8),
    "bf16_bf16": (2, 8, 8),
    "i8": (2, 8, 8),
    "u8": (2, 8, 8),
    "one_dpas": (2, 1, 1),
    "odd": (4 + 4, 27, 9),  # 16 + 8 by 32 + 16, and 32 + 16 by 32 + 16
    "few_rows": (2, 1, 1),
    "a_col": (2 + 1, 16, 8),
    "b_col": (1 + 4, 16, 8),
    "b_packed": (1 + 2, 16, 8),
    "b_packed_i8": (1 + 2, 8, 8),
    "a_col_i8": (2 + 1, 8, 8),  # even rows, odd rows
    "b_col_i8": (1 + 2, 8, 8),
    "c_col": (2, 16, 0),
    "lanes": (2, 16, 8),
    "lanes_b_col": (1 + 4, 16, 8),
    "lanes_a_col": (2 + 1, 16, 8),
    "lanes_i8": (2, 8, 8),
}


@pytest.mark.parametrize("name", GEMMS)
def test_messages(name: str) -> None:
    for device in ("bmg", "pvc"):
        found = counts(compiled(GEMMS[name].text, to_xe(device)))
        names = ("xe.block_load_2d", "xe.dpas", "xe.block_store_2d")
        assert tuple(found.get(x, 0) for x in names) == MESSAGES[name]
        assert not any(x.startswith("coopmatrix") for x in found)


@pytest.mark.parametrize("device", [None, "bmg", "pvc", "dg2"])
@pytest.mark.parametrize("name", GEMMS)
def test_gemm(name: str, device: str | None) -> None:
    x = GEMMS[name]
    if device == "dg2" and x.lanes is not None:
        pytest.skip("dg2 multiplies on 8 lanes")
    if device == "dg2" and x.sum in ("f16", "bf16"):
        expected = f"expected a c of f32, which DPAS adds to, got .*x{x.sum}, acc>"
        with pytest.raises(CompileError, match=expected):
            compiled(x.text, to_xe(device))
        return
    check(x, device, (2 * x.m, 2 * x.n + 32, 3 * x.k))


@pytest.mark.parametrize("device", ["lnl", "ptl"])
def test_other_devices(device: str) -> None:
    check(GEMMS["f16"], device, (80, 112, 96))


RAGGED = [name for name, x in GEMMS.items() if x.ragged]


@pytest.mark.parametrize("name", RAGGED)
def test_ragged(name: str) -> None:
    """Sizes that nothing divides but 16 bytes a row, as surfaces have."""
    x = GEMMS[name]
    check(x, "bmg", (80, 112, 96))
    if "col_major" not in (x.a, x.c):
        check(x, "pvc", (71, 80, 64))


CHAINED = """
func.func @chained(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %bias: memref<?x?xf32>,
                   %out: memref<?x?xf16>, %scale: f32) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %z = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.prefetch %b[%c0, %c0] row_major
      : memref<?x?xf16>, !coopmatrix.matrix<16x16xf16, b>
  %x = coopmatrix.load %a[%c0, %c0] row_major
      : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, a>
  %w = coopmatrix.load %b[%c0, %c0] row_major
      : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
  %p = coopmatrix.load %bias[%c0, %c0] row_major
      : memref<?x?xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  %0 = coopmatrix.mul_add %x, %w, %z : !coopmatrix.matrix<16x16xf16, a>,
      !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  %1 = coopmatrix.add %0, %p : !coopmatrix.matrix<16x16xf32, acc>
  %2 = coopmatrix.max %1, %z : !coopmatrix.matrix<16x16xf32, acc>
  %3 = coopmatrix.scale %2, %scale : !coopmatrix.matrix<16x16xf32, acc>, f32
  %4 = coopmatrix.neg %3 : !coopmatrix.matrix<16x16xf32, acc>
  %left = coopmatrix.convert %4
      : !coopmatrix.matrix<16x16xf32, acc> -> !coopmatrix.matrix<16x16xf16, a>
  %right = coopmatrix.convert %3
      : !coopmatrix.matrix<16x16xf32, acc> -> !coopmatrix.matrix<16x16xf16, b>
  %5 = coopmatrix.mul_add %left, %right, %z : !coopmatrix.matrix<16x16xf16, a>,
      !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  %6 = coopmatrix.convert %5
      : !coopmatrix.matrix<16x16xf32, acc> -> !coopmatrix.matrix<16x16xf16, acc>
  coopmatrix.store %6, %out[%c0, %c0] row_major
      : !coopmatrix.matrix<16x16xf16, acc>, memref<?x?xf16>
  func.return
}"""


@pytest.mark.parametrize("device", [None, "bmg", "dg2"])
def test_products_of_products(device: str | None) -> None:
    """A result is an operand again: on 16 lanes only registers move."""
    random = np.random.default_rng(7)
    # A row of a surface is at least 64 bytes.
    a, b = (random.integers(-2, 3, (16, 32)).astype("f2") for _ in range(2))
    bias = random.integers(-9, 10, (16, 32)).astype("f4")
    out = np.zeros((16, 32), "f2")
    if device == "dg2":
        # Where lanes hold pairs of columns of a, elements would change lanes.
        with pytest.raises(CompileError, match="stay in their lanes"):
            compiled(CHAINED, to_xe(device))
        return
    module = compiled(CHAINED, "" if device is None else to_xe(device))
    simulate(module, "chained", [a, b, bias, out, 0.25], grid=(1, 1))
    x, w = (each[:, :16].astype("f8") for each in (a, b))
    y = 0.25 * np.maximum(x @ w + bias[:, :16], 0)
    assert np.array_equal(out[:, :16], (-y @ y).astype("f2"))
    assert not out[:, 16:].any()


def test_each_function_has_its_own_lanes_and_places() -> None:
    """Matrices go through calls and branches."""
    text = """
    func.func private @twice(%x: !coopmatrix.matrix<24x16xf32, acc>)
        -> !coopmatrix.matrix<24x16xf32, acc> {
      %y = coopmatrix.add %x, %x : !coopmatrix.matrix<24x16xf32, acc>
      func.return %y : !coopmatrix.matrix<24x16xf32, acc>
    }
    func.func @f(%m: memref<24x16xf32>, %c: i1) attributes {simt.kernel} {
      %c0 = arith.constant 0 : index
      %x = coopmatrix.load %m[%c0, %c0] row_major
          : memref<24x16xf32> -> !coopmatrix.matrix<24x16xf32, acc>
      %y = scf.if %c -> (!coopmatrix.matrix<24x16xf32, acc>) {
        %2 = func.call @twice(%x) : (!coopmatrix.matrix<24x16xf32, acc>)
            -> !coopmatrix.matrix<24x16xf32, acc>
        scf.yield %2 : !coopmatrix.matrix<24x16xf32, acc>
      } else {
        scf.yield %x : !coopmatrix.matrix<24x16xf32, acc>
      }
      coopmatrix.store %y, %m[%c0, %c0] row_major
          : !coopmatrix.matrix<24x16xf32, acc>, memref<24x16xf32>
      func.return
    }"""
    for chosen in (False, True):
        memory = np.arange(24 * 16, dtype="f4").reshape(24, 16)
        expected = memory * (2 if chosen else 1)
        simulate(compiled(text, to_xe("bmg")), "f", [memory, chosen], grid=(1, 1))
        assert np.array_equal(memory, expected)


def test_a_pitch_of_run_time() -> None:
    """Rows that do not lie one behind the other: the pitch is a stride."""
    strided = "memref<?x?xf16, strided<[?, 1]>>"
    text = f"""
    func.func @f(%a: {strided}, %b: memref<?x?xf16>) attributes {{simt.kernel}} {{
      %c0 = arith.constant 0 : index
      %x = coopmatrix.load %a[%c0, %c0] row_major checked(rows, cols)
          : {strided} -> !coopmatrix.matrix<16x64xf16, a>
      coopmatrix.store %x, %b[%c0, %c0] row_major checked(rows, cols)
          : !coopmatrix.matrix<16x64xf16, a>, memref<?x?xf16>
      func.return
    }}"""
    memory = np.arange(16 * 80, dtype="f2").reshape(16, 80)
    part = memory[:12, :48]
    out = np.zeros((12, 48), "f2")
    module = compiled(text, to_xe("bmg"))
    assert counts(module)["xe.block_load_2d"] == 2
    (func,) = module.ops
    assert isinstance(func, FuncOp)
    assert any((x.what, x.multiple_of) == ("stride", 8) for x in conditions(func))
    simulate(module, "f", [part, out], grid=(1, 1))
    assert np.array_equal(out, part)


@pytest.mark.parametrize("sizes", [(64, 128, 64), (72, 80, 96)])
def test_linalg(sizes: tuple[int, int, int]) -> None:
    """C += A * B of any size, from one operation."""
    text = """
    func.func @mm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) {
      linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>)
          outs(%c : memref<?x?xf32>)
      func.return
    }"""
    passes = "convert-linalg-to-coopmatrix{tile=32,64,32},coopc-xe"
    module = compiled(text, "set-target{device=bmg flavour=opencl}," + passes)
    assert counts(module)["xe.dpas"] == 32
    m, n, k = sizes
    random = np.random.default_rng(k)
    a = random.integers(-4, 5, (m, k)).astype("f2")
    b = random.integers(-4, 5, (k, n)).astype("f2")
    c = random.integers(-99, 99, (m, n)).astype("f4")
    expected = c + a.astype("f4") @ b.astype("f4")
    simulate(module, "mm", [a, b, c])
    assert np.array_equal(c, expected)


@pytest.mark.parametrize("device", ["bmg", "dg2"])
@pytest.mark.parametrize("sizes", [(7, 5, 3), (33, 41, 35)])
def test_the_second_entry_takes_any_memory(
    device: str, sizes: tuple[int, int, int]
) -> None:
    """Rows of few or of odd numbers of bytes are no surface."""
    x, (m, n, k) = GEMMS["f16"], sizes
    module = compiled(x.text, f"coopc-xe{{device={device} fallback=true}}")
    random = np.random.default_rng(m)
    a, b = random.integers(-4, 5, (m, k)), random.integers(-4, 5, (k, n))
    c = np.full((m, n), 77, "f4")
    name = "gemm.fallback" if device == "bmg" else "gemm"
    grid = (-(-n // x.n), -(-m // x.m))
    simulate(module, name, [a.astype("f2"), b.astype("f2"), c], grid=grid)
    assert np.array_equal(c, a @ b)


@pytest.mark.parametrize(("device", "lanes"), [("dg2", 16), ("dg2", 32)])
def test_products_are_of_the_lanes_that_the_engine_has(device: str, lanes: int) -> None:
    size = f"simt.kernel, simt.subgroup_size = {lanes} : i32"
    text = GEMMS["f16"].text.replace("simt.kernel", size)
    what = "expected a kernel of 8 lanes, which multiply by the DPAS of dg2"
    with pytest.raises(CompileError, match=f"mul_add: {what}, got {lanes}"):
        compiled(text, to_xe(device))
