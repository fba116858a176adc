"""distribute-coopmatrix on the simulator: the same bits before and after."""

import re
from typing import Any

import numpy as np
import pytest
from support.lane_programs import Case, check, pairwise_cases, spread
from support.programs import kernel as program
from support.programs import module_of
from xdsl.utils.exceptions import PassFailedException

import coopc
from coopc.sim.simulate import simulate

CASES = pairwise_cases()[::9]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_before_and_after(case: Case) -> None:
    """Every operation, in loops."""
    check(case)


@pytest.mark.parametrize("options", [{"unroll": True}, {"max_vector": 4}], ids=str)
def test_forms(options: dict[str, Any]) -> None:
    """Loops written out, and short vectors."""
    check(Case("s8", 8, 16, 5, 8, "b"), **options)
    check(Case("f16", 16, 8, 8, 8, "a"), **options)


CHANGED = """simt.barrier subgroup
  memref.store %s, %b[%o, %o] : memref<40x40xf32>
  simt.barrier subgroup"""
PRODUCT = """
func.func @k(%a: memref<40x40xA>, %b: memref<40x40xA>, %c: memref<40x40xC>)
    attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %o = arith.constant 3 : index
  %x = coopmatrix.load %a[%o, %z] row_major : memref<40x40xA> -> AMATRIX
  %y = coopmatrix.load %b[%z, %o] row_major : memref<40x40xA> -> BMATRIX
  %w = coopmatrix.load %c[%z, %z] row_major : memref<40x40xC> -> CMATRIX
  BETWEEN
  %v = coopmatrix.mul_add %x, %y, %w : AMATRIX, BMATRIX, CMATRIX
  coopmatrix.store %v, %c[%z, %z] row_major : CMATRIX, memref<40x40xC>
  func.return
}"""


@pytest.mark.parametrize(
    ("factor", "sum", "between", "loops"),
    [
        ("f32", "f32", "", True),
        ("f16", "f32", "", True),
        ("i8", "i32", "", True),
        ("f16", "f16", "", False),  # rounded once, not after each tile
        ("f32", "f32", CHANGED, False),
    ],
)
@pytest.mark.parametrize("lanes", [4, 16, 64])
def test_products_in_memory(
    lanes: int, factor: str, sum: str, between: str, loops: bool
) -> None:
    """By tiles that read what they multiply, unless it has changed since."""
    text = PRODUCT.replace("BETWEEN", f"%s = arith.constant 3.0 : f32\n  {between}")
    for use in ("A", "B", "C"):
        name, element = ("acc", sum) if use == "C" else (use.lower(), factor)
        matrix = f"!coopmatrix.matrix<32x32x{element}, {name}>"
        text = text.replace(f"{use}MATRIX", matrix)
    text = text.replace("40xA>", f"40x{factor}>").replace("40xC>", f"40x{sum}>")
    pipeline = f"coopc-lanes{{device=intel-cpu subgroup-size={lanes}}}"
    lowered = coopc.compile(text, pipeline, "mlir").text
    bodies = lowered.split("scf.for")[1:]
    assert any(re.search(r"(vector|memref)\.load %a", x) for x in bodies) is loops
    random = np.random.default_rng(0)
    types = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "i32": np.int32}
    shape = 40, 40
    arrays = [random.integers(-4, 5, shape).astype(types[x]) for x in (factor,) * 2]
    arrays.append(random.integers(-4, 5, shape).astype(types[sum]))
    found: list[Any] = []
    for each in (text, lowered):
        copies = [x.copy() for x in arrays]
        simulate(module_of(each), "k", copies, grid=(1, 1, 1), subgroup_size=lanes)
        found.append(copies[-1])
    assert not np.array_equal(found[0], arrays[-1])
    assert np.array_equal(*found)


COLUMNS = """
func.func @k(%a: memref<?x?xA>, %b: memref<?x?xA>, %c: memref<?x?xf32>)
    attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  %step = arith.constant DEPTH : index
  %zero = arith.constant 0.0 : f32
  %end = memref.dim %a, %one : memref<?x?xA>
  %start = coopmatrix.fill %zero : f32 -> CMATRIX
  %sum = scf.for %k = %z to %end step %step iter_args(%now = %start) -> (CMATRIX) {
    %x = coopmatrix.load %a[%z, %k] row_major : memref<?x?xA> -> AMATRIX
    %y = coopmatrix.load %b[%z, %k] col_major : memref<?x?xA> -> BMATRIX
    %v = coopmatrix.mul_add %x, %y, %now : AMATRIX, BMATRIX, CMATRIX
    scf.yield %v : CMATRIX
  }
  coopmatrix.store %sum, %c[%z, %z] row_major : CMATRIX, memref<?x?xf32>
  func.return
}"""


@pytest.mark.parametrize("factor", ["f32", "f16"])
@pytest.mark.parametrize(
    ("lanes", "rows", "cols", "depth"),
    [
        (8, 16, 32, 8),
        (16, 32, 32, 16),
        (16, 8, 48, 7),
        (32, 32, 40, 6),
        (64, 32, 64, 4),
        (64, 4, 64, 1),
    ],
)
def test_products_by_columns(
    lanes: int, rows: int, cols: int, depth: int, factor: str
) -> None:
    """Sums that are scalars of lanes, over all lanes of a row and blocks of rows."""
    text = COLUMNS.replace("xA>", f"x{factor}>").replace("DEPTH", str(depth))
    for use, shape in (
        ("a", (rows, depth)),
        ("b", (depth, cols)),
        ("acc", (rows, cols)),
    ):
        element = "f32" if use == "acc" else factor
        matrix = f"!coopmatrix.matrix<{shape[0]}x{shape[1]}x{element}, {use}>"
        text = text.replace(f"{'C' if use == 'acc' else use.upper()}MATRIX", matrix)
    pipeline = f"coopc-lanes{{device=intel-cpu subgroup-size={lanes}}}"
    lowered = coopc.compile(text, pipeline, "mlir").text
    assert "simt.memory<private>" in lowered
    random, type = np.random.default_rng(0), {"f32": np.float32, "f16": np.float16}
    a, b = (random.integers(-4, 5, (n, 3 * depth)) for n in (rows, cols))
    c = np.zeros((rows, cols), np.float32)
    arrays = [a.astype(type[factor]), b.astype(type[factor]), c]
    simulate(module_of(lowered), "k", arrays, grid=(1, 1, 1), subgroup_size=lanes)
    assert np.array_equal(c, a @ b.T)


@pytest.mark.parametrize("lanes", [4, 16])
def test_product_in_place(lanes: int) -> None:
    """All lanes have read a factor before one stores to it; the simulator would see."""
    text = PRODUCT.replace("BETWEEN", "").replace("%v, %c[%z, %z]", "%v, %a[%o, %z]")
    for use in ("a", "b", "acc"):
        matrix = f"!coopmatrix.matrix<16x16xf32, {use}>"
        text = text.replace(f"{use[-1 if use == 'acc' else 0].upper()}MATRIX", matrix)
    text = text.replace("40xA>", "40xf32>").replace("40xC>", "40xf32>")
    pipeline = f"coopc-lanes{{device=intel-cpu subgroup-size={lanes}}}"
    lowered = coopc.compile(text, pipeline, "mlir").text
    a, b, c = np.random.default_rng(0).integers(-4, 5, (3, 40, 40)).astype(np.float32)
    wanted = a[3:19, :16] @ b[:16, 3:19] + c[:16, :16]
    simulate(module_of(lowered), "k", [a, b, c], grid=(1, 1, 1))
    assert np.array_equal(a[3:19, :16], wanted)


@pytest.mark.parametrize("use", ["acc", "none"])
def test_padding_is_not_stored(use: str) -> None:
    """Stores that no lane does are not even made; `spread` looks for their traces."""
    held, memory = f"!coopmatrix.matrix<17x17xf32, {use}>", "memref<20x20xf32>"
    module = program(
        f"%a: {memory}, %m: i32",
        f"""%zero = arith.constant 0 : index
        %n = arith.index_cast %m : i32 to index
        %x = coopmatrix.load %a[%zero, %zero] row_major : {memory} -> {held}
        %y = coopmatrix.add %x, %x : {held}
        coopmatrix.store %y, %a[%n, %zero] col_major checked(cols) : {held}, {memory}
        %z = coopmatrix.atomic_add %y, %a[%zero, %zero] row_major relaxed
             : {held}, {memory} -> {held}""",
        lanes=8,
    )
    spread(module, 8, unroll=True)
    spread(module, 8)


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("!coopmatrix.matrix<8x8xf32, acc, scope = workgroup>", "got scope workgroup"),
        ("!coopmatrix.matrix<8x8xi4, acc>", "8, 16, 32 or 64 bits, got i4"),
    ],
)
def test_refused(type: str, message: str) -> None:
    """What lanes cannot hold is refused, and nothing is changed."""
    element = "i4" if "i4" in type else "f32"
    module = program(f"%v: {element}", f"%x = coopmatrix.fill %v : {element} -> {type}")
    text = str(module)
    with pytest.raises(PassFailedException, match=message):
        spread(module, 16)
    assert str(module) == text
