"""split-coopmatrix: what it decides, and that programs compute what they did before."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16

from coopc.device import (
    BMG,
    DEVICES,
    DG2,
    INTEL_CPU,
    LAVAPIPE,
    NVIDIA,
    Device,
    MatrixShape,
)
from coopc.dialects import coopmatrix
from coopc.passes.coopmatrix.split_coopmatrix import SplitCoopmatrixPass, cut
from coopc.rewrite.matrix_offers import Offers, Product
from coopc.rewrite.matrix_tiling import Refusal, plan_tiling
from coopc.sim.formats import from_bf16, to_bf16
from coopc.sim.simulate import simulate
from coopc.testing.programs import module_of
from coopc.validate.step import first_mismatch

Array = np.ndarray[Any, Any]


def split(module: ModuleOp, device: Device) -> ModuleOp:
    """Cut the matrices of a copy of a module."""
    module = module.clone()
    tiling = plan_tiling(module, device)
    assert not isinstance(tiling, Refusal), tiling.reason
    cut(module, tiling)
    module.verify()
    return module


# --- what a device offers ---


@st.composite
def products(draw: st.DrawFn) -> tuple[Device, Product]:
    """A product of types that a device multiplies, of sizes that may not divide."""
    device = draw(st.sampled_from([x for x in DEVICES.values() if x.matrix_shapes]))
    shapes = [x for x in device.matrix_shapes if x.c == x.result]
    shape = draw(st.sampled_from(shapes))
    sizes = (
        draw(st.sampled_from([1, 2, 3, 4])) * draw(st.sampled_from([size, 1, 4, 8]))
        for size in (shape.m, shape.n, shape.k)
    )
    m, n, k = sizes
    return device, Product(m, n, k, shape.elements)


@given(products())
def test_the_best_offer_takes_the_fewest_multiplications(case: tuple[Device, Product]):
    device, product = case
    counts = {
        product.m // x.m * (product.n // x.n) * (product.k // x.k)
        for x in device.multiplications(*product.elements)
        if product.divides_into(x)
    }
    offers = Offers(device).product(product)
    assert bool(offers) == bool(counts)
    if offers:
        best = offers[0]
        volume = product.m * product.n * product.k
        assert volume // (best.m * best.n * best.k) == min(counts)


def saturating(a: str, b: str, c: str, result: str) -> Device:
    shape = MatrixShape(8, 8, 8, a, b, c, result, saturating=True)
    return replace(LAVAPIPE, matrix_shapes=(shape,))


@pytest.mark.parametrize(
    ("types", "k", "cut"),
    [
        (("u8", "u8", "u32", "u32"), 16, True),
        (("u8", "u8", "s32", "s32"), 16, True),
        (("s8", "u8", "s32", "s32"), 8, True),
        (("s8", "u8", "s32", "s32"), 16, False),
        (("u8", "s8", "s32", "s32"), 16, False),
        (("u8", "u8", "u32", "u16"), 8, True),
        (("u8", "u8", "u32", "u16"), 16, False),
    ],
)
def test_a_saturating_sum_is_cut_only_where_all_products_are_positive(
    types: tuple[str, str, str, str], k: int, cut: bool
):
    offers = Offers(saturating(*types))
    product = Product(8, 8, k, types, saturating=True)
    assert bool(offers.product(product)) == cut
    if not cut:
        assert "several steps along K, and it would saturate at each" in (
            offers.why_no_product(product)
        )


def test_the_sums_between_steps_are_of_the_wider_type():
    """f32 -> f16 in two steps needs f32 -> f32 too, which dg2 and not lavapipe has."""
    mixed = MatrixShape(8, 8, 8, "f16", "f16", "f32", "f16")
    both = replace(LAVAPIPE, matrix_shapes=(*LAVAPIPE.matrix_shapes, mixed))
    alone = replace(LAVAPIPE, matrix_shapes=(mixed,))
    product = Product(8, 8, 16, mixed.elements)
    assert Offers(both).product(product) == (mixed,)
    assert not Offers(alone).product(product)
    assert "the sums between them would be f32" in Offers(alone).why_no_product(product)
    assert Offers(alone).product(replace(product, k=8)) == (mixed,)


def test_channels_of_a_packed_matrix_are_not_split():
    narrow = MatrixShape(8, 8, 1, "f16", "f16", "f32", "f32")
    offers = Offers(replace(LAVAPIPE, matrix_shapes=(narrow, *LAVAPIPE.matrix_shapes)))
    b = coopmatrix.MatrixType.of(16, 8, f16, coopmatrix.Use.B)
    layout = coopmatrix.Layout
    assert offers.matrix(b, frozenset({layout.ROW_MAJOR})) == ((8, 8), (1, 8))
    assert offers.matrix(b, frozenset({layout.PACKED})) == ((8, 8),)


# --- what a program computes ---

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


BODIES = {
    "element by element": """
        %s = coopmatrix.add %x, %y : T
        %p = coopmatrix.mul %s, %x : T
        %q = coopmatrix.max %p, %y : T
        %n = coopmatrix.neg %q : T
        %r = coopmatrix.scale %n, %two : T, f32
        coopmatrix.store %r, %m[%zero, %zero] row_major : T, memref<?x?xf32>
    """,
    "other elements": """
        %h = coopmatrix.convert %x : T -> !coopmatrix.matrix<16x24xf16, acc>
        %a = coopmatrix.abs %h : !coopmatrix.matrix<16x24xf16, acc>
        %w = coopmatrix.convert %a : !coopmatrix.matrix<16x24xf16, acc> -> T
        %b = coopmatrix.bitcast %w : T -> !coopmatrix.matrix<16x24xi32, acc>
        %i = coopmatrix.not %b : !coopmatrix.matrix<16x24xi32, acc>
        %r = coopmatrix.bitcast %i : !coopmatrix.matrix<16x24xi32, acc> -> T
        coopmatrix.store %r, %m[%zero, %zero] row_major : T, memref<?x?xf32>
    """,
    "fill": """
        %r = coopmatrix.fill %two : f32 -> T
        coopmatrix.store %r, %m[%one, %one] col_major : T, memref<?x?xf32>
    """,
    "reduce rows": """
        %r = coopmatrix.reduce add rows %x : T -> !coopmatrix.matrix<16x1xf32, acc>
        coopmatrix.store %r, %m[%one, %one] row_major
          : !coopmatrix.matrix<16x1xf32, acc>, memref<?x?xf32>
    """,
    "reduce columns": """
        %r = coopmatrix.reduce max cols %x : T -> !coopmatrix.matrix<1x24xf32, acc>
        coopmatrix.store %r, %m[%one, %one] row_major
          : !coopmatrix.matrix<1x24xf32, acc>, memref<?x?xf32>
    """,
    "apply": """
        %r = coopmatrix.apply (%i, %j, %v) in %x : T {
          %c24 = arith.constant 24 : index
          %at = arith.muli %i, %c24 : index
          %place = arith.addi %at, %j : index
          %number = arith.index_cast %place : index to i32
          %float = arith.sitofp %number : i32 to f32
          %w = arith.addf %float, %v : f32
          coopmatrix.yield %w : f32
        }
        coopmatrix.store %r, %m[%zero, %zero] row_major : T, memref<?x?xf32>
    """,
    "checks": """
        %low = arith.constant -5 : index
        %r = coopmatrix.load %m[%low, %two_index] row_major checked(rows, cols)
          : memref<?x?xf32> -> T
        coopmatrix.store %r, %m[%two_index, %low] col_major checked(rows, cols)
          : T, memref<?x?xf32>
    """,
    "atomics": """
        %old = coopmatrix.atomic_add %x, %m[%one, %zero] row_major relaxed
          : T, memref<?x?xf32> -> T
        coopmatrix.atomic_store %old, %m[%zero, %one] col_major relaxed
          : T, memref<?x?xf32>
    """,
    "loops and branches": """
        %r, %last = scf.for %k = %zero to %two_index step %one
            iter_args(%v = %x, %p = %one) -> (T, index) {
          %even = arith.cmpi eq, %k, %zero : index
          %w = scf.if %even -> (T) {
            %s = coopmatrix.add %v, %y : T
            scf.yield %s : T
          } else {
            %s = coopmatrix.mul %v, %y : T
            scf.yield %s : T
          }
          %z = arith.select %even, %w, %v : T
          %n = coopmatrix.sub %w, %z : T
          %o = coopmatrix.add %n, %w : T
          scf.yield %o, %k : T, index
        }
        coopmatrix.store %r, %m[%last, %zero] row_major : T, memref<?x?xf32>
    """,
    "while": """
        %r, %n = scf.while (%v = %x, %k = %zero) : (T, index) -> (T, index) {
          %more = arith.cmpi ult, %k, %two_index : index
          scf.condition(%more) %v, %k : T, index
        } do {
        ^bb0(%w: T, %l: index):
          %next = arith.addi %l, %one : index
          %s = coopmatrix.add %w, %y : T
          scf.yield %s, %next : T, index
        }
        coopmatrix.store %r, %m[%zero, %n] row_major : T, memref<?x?xf32>
    """,
    "call": """
        %r = func.call @twice(%x, %y) : (T, T) -> T
        coopmatrix.store %r, %m[%zero, %zero] row_major : T, memref<?x?xf32>
    """,
}


def program(body: str) -> ModuleOp:
    """A kernel that has matrices %x and %y, and memory %m."""
    text = f"""
    func.func @twice(%x: T, %y: T) -> T {{
      %z = coopmatrix.add %x, %y : T
      func.return %z : T
    }}
    func.func @f(%m: memref<?x?xf32>) attributes {{
        simt.kernel, simt.grid = affine_map<(d0, d1) -> (1)>}} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two_index = arith.constant 2 : index
      %two = arith.constant 2.0 : f32
      %x = coopmatrix.load %m[%zero, %one] row_major : memref<?x?xf32> -> T
      %y = coopmatrix.load %m[%one, %zero] col_major : memref<?x?xf32> -> T
      {body}
      func.return
    }}
    """
    return module_of(text.replace("T", "!coopmatrix.matrix<16x24xf32, acc>"))


@pytest.mark.parametrize("device", [LAVAPIPE, NVIDIA], ids=["lavapipe", "nvidia"])
@pytest.mark.parametrize("name", BODIES)
def test_programs_do_the_same(name: str, device: Device):
    module = program(BODIES[name])
    whole = np.random.default_rng(0).integers(-8, 8, (40, 40)).astype(np.float32)
    tiles, before = whole.copy(), whole.copy()
    simulate(module, "f", [whole])
    cut_module = split(module, device)
    simulate(cut_module, "f", [tiles])
    assert first_mismatch(module, cut_module, report=lambda _: None) is None
    assert whole.tobytes() == tiles.tobytes()
    assert whole.tobytes() != before.tobytes()
    shapes = {
        type.shape
        for op in cut_module.walk()
        for type in (*op.operand_types, *op.result_types)
        if isinstance(type, coopmatrix.MatrixType) and 1 not in type.shape
    }
    assert shapes <= set(device.held("acc", "f32"))


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
