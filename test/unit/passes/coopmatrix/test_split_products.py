"""split-coopmatrix: products of any size and type compute what they did before."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import module_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from coopc.device import (
    BMG,
    DG2,
    INTEL_CPU,
    LAVAPIPE,
    NVIDIA,
    Device,
)
from coopc.dialects import coopmatrix
from coopc.passes.coopmatrix.split_coopmatrix.split_coopmatrix import (
    SplitCoopmatrixPass,
    cut,
    plan_tiling,
)
from coopc.sim.numerics import from_bf16, to_bf16
from coopc.sim.simulate import simulate
from coopc.validate.step import first_mismatch

Array = np.ndarray[Any, Any]


def split(module: ModuleOp, device: Device) -> ModuleOp:
    """Cut the matrices of a copy of a module."""
    module = module.clone()
    cut(module, plan_tiling(module, device))
    module.verify()
    return module


ROWS = ("row_major", "row_major", "row_major")
NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
}


@dataclass(frozen=True)
class Gemm:
    """`d = a * b + c` with `steps` times K columns of a, by one subgroup."""

    m: int
    n: int
    k: int
    steps: int
    types: tuple[str, str, str]
    """Of a, of b, and of c and d."""
    layouts: tuple[str, str, str]
    """Of a, of b, and of c and d."""
    signed: str = ""

    def access(self, which: int) -> str:
        """Positions and layout of an operand at step %t."""
        layout = self.layouts[which]
        along, across = ("%zero", "%k") if which == 0 else ("%k", "%zero")
        if which == 2:
            along = across = "%zero"
        if layout == "packed":
            along = "%kp"
        if layout == "col_major":
            along, across = across, along
        return f"[{along}, {across}] {layout}"

    @property
    def module(self) -> ModuleOp:
        """The kernel."""
        a, b, c = self.types
        types = (
            f"!coopmatrix.matrix<{self.m}x{self.k}x{a}, a>",
            f"!coopmatrix.matrix<{self.k}x{self.n}x{b}, b>",
            f"!coopmatrix.matrix<{self.m}x{self.n}x{c}, acc>",
        )
        memory = f"memref<?x?x{c}>"
        sizes = ", ".join(f"s{i}" for i in range(8))
        return module_of(
            f"""
            func.func @f(%a: memref<?x?x{a}>, %b: memref<?x?x{b}>, %c: {memory},
                %d: {memory}) attributes {{
                  simt.kernel, simt.grid = affine_map<({sizes}) -> (1)>}} {{
            %zero = arith.constant 0 : index
            %one = arith.constant 1 : index
            %n = arith.constant {self.steps} : index
            %size = arith.constant {self.k} : index
            %packed = arith.constant {self.k // self.per_channel} : index
            %x = coopmatrix.load %c{self.access(2)} : {memory} -> {types[2]}
            %r = scf.for %t = %zero to %n step %one
                iter_args(%y = %x) -> ({types[2]}) {{
              %k = arith.muli %t, %size : index
              %kp = arith.muli %t, %packed : index
              %p = coopmatrix.load %a{self.access(0)} : memref<?x?x{a}> -> {types[0]}
              %q = coopmatrix.load %b{self.access(1)} : memref<?x?x{b}> -> {types[1]}
              %z = coopmatrix.mul_add %p, %q, %y {self.signed} : {", ".join(types)}
              scf.yield %z : {types[2]}
            }}
            coopmatrix.store %r, %d{self.access(2)} : {types[2]}, {memory}
            func.return
            }}
            """
        )

    @property
    def per_channel(self) -> int:
        """Elements of b in a channel of 32 bits."""
        return 32 // int(self.types[1].lstrip("bfi"))

    def in_memory(self, which: int, matrix: Array) -> Array:
        """An operand as it lies in memory."""
        if self.layouts[which] == "col_major":
            return np.ascontiguousarray(matrix.T)
        if self.layouts[which] == "packed":
            rows, cols = matrix.shape
            per_channel = self.per_channel
            channels = matrix.reshape(rows // per_channel, per_channel, cols)
            return channels.transpose(0, 2, 1).reshape(rows // per_channel, -1).copy()
        return matrix.copy()


def convert(matrix: Array, type: str) -> Array:
    """Small integers as elements of a type."""
    if type == "bf16":
        return to_bf16(matrix.astype(np.float32))
    return matrix.astype(NUMPY[type])


CASES = [
    (LAVAPIPE, ("f16", "f16", "f32"), ""),
    (LAVAPIPE, ("f16", "f16", "f16"), ""),
    (LAVAPIPE, ("i8", "i8", "i32"), "signed(a, b, c, result)"),
    (LAVAPIPE, ("i8", "i8", "i32"), ""),
    (NVIDIA, ("f16", "f16", "f32"), ""),
    (NVIDIA, ("bf16", "bf16", "f32"), ""),
    (BMG, ("f16", "f16", "f32"), ""),
    (BMG, ("i8", "i8", "i32"), "signed(b, c, result)"),
    (DG2, ("f16", "f16", "f32"), ""),
    (INTEL_CPU, ("i8", "i8", "i32"), "signed(a)"),
]


@st.composite
def gemms(draw: st.DrawFn) -> tuple[Device, Gemm]:
    """A multiplication of sizes that a device's divide."""
    device, types, signed = draw(st.sampled_from(CASES))
    shape = draw(
        st.sampled_from(
            [
                x
                for x in device.matrix_shapes
                if (x.a[1:], x.result[1:]) == (types[0][1:], types[2][1:])
                and x.c == x.result
            ]
        )
    )
    plain = st.sampled_from(("row_major", "col_major"))
    b_layouts = ("row_major", "col_major", "packed")
    factors = [draw(st.integers(1, 3)) for _ in range(3)]
    return device, Gemm(
        shape.m * factors[0],
        shape.n * factors[1],
        shape.k * factors[2],
        draw(st.integers(1, 2)),
        types,
        (draw(plain), draw(st.sampled_from(b_layouts)), draw(plain)),
        signed,
    )


@settings(max_examples=60)
@given(gemms(), st.integers(0, 2**32 - 1))
def test_products_are_the_same_bits(case: tuple[Device, Gemm], seed: int):
    """On small integers, which are exact in every type and every order."""
    device, gemm = case
    rng = np.random.default_rng(seed)
    depth = gemm.k * gemm.steps
    low = -3 if gemm.types[0] != "i8" or gemm.signed else 0
    sizes = ((gemm.m, depth), (depth, gemm.n), (gemm.m, gemm.n))
    whole = [rng.integers(low, 4, size) for size in sizes]
    a, b, c = (
        gemm.in_memory(i, convert(x, gemm.types[i])) for i, x in enumerate(whole)
    )
    results = [np.zeros_like(c), np.zeros_like(c)]
    module = gemm.module
    simulate(module, "f", [a, b, c, results[0]])
    simulate(split(module, device), "f", [a, b, c, results[1]])
    assert results[0].tobytes() == results[1].tobytes()
    found = from_bf16(results[1]) if gemm.types[2] == "bf16" else results[1]
    if gemm.types[0] == "i8":
        signs = [0 if x in gemm.signed else 256 for x in ("a", "b")]
        pairs = zip(whole[:2], signs, strict=True)
        whole[:2] = [np.where(x < 0, x + y, x) for x, y in pairs]
    expected = whole[0] @ whole[1] + whole[2]
    assert (found == gemm.in_memory(2, convert(expected, gemm.types[2]))).all()


@pytest.mark.parametrize(("device", "types", "signed"), CASES)
def test_products_are_within_rounding(
    device: Device, types: tuple[str, str, str], signed: str
):
    """On numbers of all sizes, where the order of a sum shows in its last bits."""
    layouts = ("row_major", "packed", "row_major")
    before = Gemm(48, 32, 64, 2, types, layouts, signed).module
    told: list[str] = []
    found = first_mismatch(before, split(before, device), report=told.append)
    assert found is None, found
    assert not told


def test_a_program_that_fits_is_left_as_it_is():
    module = Gemm(8, 8, 8, 2, ("f16", "f16", "f32"), ROWS).module
    assert str(split(module, LAVAPIPE)) == str(module)


def test_cutting_twice_is_cutting_once():
    module = Gemm(24, 16, 16, 2, ("f16", "f16", "f32"), ROWS).module
    once = split(module, LAVAPIPE)
    assert str(split(once, LAVAPIPE)) == str(once)


def test_the_pass_takes_a_device():
    module = Gemm(16, 16, 16, 1, ("f16", "f16", "f32"), ROWS).module
    SplitCoopmatrixPass("lavapipe").apply(Context(), module)
    found = [op for op in module.walk() if isinstance(op, coopmatrix.MulAddOp)]
    assert len(found) == 8
