"""Kernels with matrices, compiled and run on this processor: with tiles and without.

Where the processor has no AMX, its tiles are emulated.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.native import best_or_emulated, run_native
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.interface_call import Given
from coopc.parsing import parse
from coopc.pipeline import Run, flatten
from coopc.pipelines import CoopcAmxPass, CoopcCpuPass
from coopc.run.tiles import Tiles
from coopc.sim.numerics import to_bf16
from coopc.source import Source
from coopc.universe import everything

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

Array = np.ndarray[Any, Any]
INPUTS = Path(__file__).parents[3] / "inputs"


@pytest.fixture(params=["amx", "cpu"])
def how(request: pytest.FixtureRequest) -> tuple[Any, Tiles]:
    """The passes, and where tiles are."""
    if request.param == "cpu":
        return flatten([CoopcCpuPass()]), Tiles.NONE
    tiles = best_or_emulated()
    if tiles is Tiles.NONE:
        pytest.skip("the AMX emulator needs a C compiler")
    return flatten([CoopcAmxPass()]), tiles


def read(text: str) -> ModuleOp:
    return parse(new_context(everything()), Source(text, "test"))


def run(
    text: str, arguments: Sequence[Given], how: tuple[Any, Tiles], **more: Any
) -> list[Array]:
    steps, tiles = how
    module = read(text)
    program = module.clone()
    Run(new_context(everything()), Source(text, "test")).apply(program, steps)
    return run_native(module, program, arguments, tiles, **more)


def test_fill_scale_store(how: tuple[Any, Tiles]) -> None:
    text = (INPUTS / "fill_scale_store.mlir").read_text()
    (found,) = run(text, [np.zeros((7, 9), np.int32), 123_456_789, -77], how)
    expected = (np.full((7, 9), 123_456_789) * -77).astype(np.int32)
    np.testing.assert_array_equal(found, expected)


SIZES = [
    (4, 5, 4, 1),
    (12, 12, 16, 1),
    (7, 9, 16, 1),
    (5, 5, 16, 1),
    (4, 5, 8, 1),
    (1, 1, 16, 1),
]
"""Rows, columns, lanes and subgroups; the last two have tails, as 7 x 9 has."""
GROUPS = [(12, 12, 16, 2), (12, 12, 16, 3), (7, 9, 16, 2), (7, 9, 8, 3), (5, 5, 4, 3)]
"""The same of work-groups that share a matrix."""

COORDINATES = """
!m = !coopmatrix.matrix<{rows}x{cols}xi32, acc{scope}>
func.func @f(%a: memref<{rows}x{cols}xi32>, %b: memref<{rows}x{cols}xi32>)
    attributes {{simt.kernel, simt.subgroup_size = {lanes} : i32,
      simt.work_group_size = array<i32: {items}>,
      simt.grid = affine_map<() -> (1)>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant 1000 : i32
  %m = coopmatrix.load %a[%c0, %c0] row_major : memref<{rows}x{cols}xi32> -> !m
  %n = coopmatrix.length !m : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%it = %m) -> (!m) {{
    %e = coopmatrix.extract %it[%i] : !m
    %row, %col = coopmatrix.coord %it[%i] : !m
    %x = arith.index_cast %row : index to i32
    %y = arith.index_cast %col : index to i32
    %xk = arith.muli %x, %k : i32
    %xy = arith.addi %xk, %y : i32
    %s = arith.addi %e, %xy : i32
    %next = coopmatrix.insert %s, %it[%i] : !m
    scf.yield %next : !m
  }}
  coopmatrix.store %r, %b[%c0, %c0] row_major : !m, memref<{rows}x{cols}xi32>
  func.return
}}
"""


@pytest.mark.parametrize(("rows", "cols", "lanes", "subgroups"), SIZES + GROUPS)
def test_elements_and_coordinates(
    rows: int, cols: int, lanes: int, subgroups: int, how: tuple[Any, Tiles]
) -> None:
    scope = ", scope = workgroup" if subgroups > 1 else ""
    items = lanes * subgroups
    text = COORDINATES.format(
        rows=rows, cols=cols, lanes=lanes, items=items, scope=scope
    )
    a = np.arange(rows * cols, dtype=np.int32).reshape(rows, cols) * 1_000_000
    row, col = np.indices((rows, cols), dtype=np.int32)
    _, found = run(text, [a, np.zeros_like(a)], how)
    np.testing.assert_array_equal(found, a + row * 1000 + col)


SLOTS = """
!m = !coopmatrix.matrix<4x5xf32, none>
func.func @f(%a: memref<4x5xf32>, %e: memref<5x4xf32>)
    attributes {simt.kernel, simt.subgroup_size = 4 : i32,
      simt.grid = affine_map<() -> (1)>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %lane = simt.lane_id : index
  %m = coopmatrix.load %a[%c0, %c0] row_major : memref<4x5xf32> -> !m
  %n = coopmatrix.length !m : index
  scf.for %i = %c0 to %n step %c1 {
    %v = coopmatrix.extract %m[%i] : !m
    memref.store %v, %e[%i, %lane] : memref<5x4xf32>
  }
  func.return
}
"""


def test_row_slices_of_the_mapping(how: tuple[Any, Tiles]) -> None:
    """4 x 5 over four lanes: row slice i is elements 4i to 4i + 3."""
    a = np.arange(20, dtype=np.float32).reshape(4, 5)
    _, found = run(SLOTS, [a, np.zeros((5, 4), np.float32)], how)
    np.testing.assert_array_equal(found, a.reshape(5, 4))


OUTSIDE = """
!m = !coopmatrix.matrix<4x5xi32, none>
func.func @f(%a: memref<4x5xi32>, %b: memref<4x5xi32>, %c: memref<1x4xi32>, %k: i32)
    attributes {simt.kernel, simt.subgroup_size = 4 : i32,
      simt.grid = affine_map<() -> (1)>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %given = arith.index_cast %k : i32 to index
  %known = arith.constant OFFSET : index
  %m = coopmatrix.load %a[%c0, %c0] row_major : memref<4x5xi32> -> !m
  %v = coopmatrix.extract_row_slice %m[%given] : !m -> vector<4xi32>
  vector.store %v, %c[%c0, %c0] : memref<1x4xi32>, vector<4xi32>
  %ones = arith.constant dense<[7, 8, 9, 10]> : vector<4xi32>
  %x = coopmatrix.fill %zero : i32 -> !m
  %n = coopmatrix.insert_row_slice %ones, %x[%known] : vector<4xi32>, !m
  coopmatrix.store %n, %b[%c0, %c0] row_major : !m, memref<4x5xi32>
  func.return
}
"""


@pytest.mark.parametrize("offset", [-5, -4, -3, -1, 0, 17, 19, 20])
def test_row_slices_half_outside(offset: int, how: tuple[Any, Tiles]) -> None:
    """What is before the matrix or behind it is 0, and not written."""
    a = np.arange(1, 21, dtype=np.int32).reshape(4, 5)
    text = OUTSIDE.replace("OFFSET", str(offset))
    _, inserted, slice = run(
        text, [a, np.ones_like(a), np.ones((1, 4), np.int32), offset], how
    )
    around = np.pad(a.ravel(), 5)[offset + 5 : offset + 9]
    np.testing.assert_array_equal(slice.ravel(), around)
    expected = np.zeros(30, np.int32)
    expected[offset + 5 : offset + 9] = [7, 8, 9, 10]
    np.testing.assert_array_equal(inserted.ravel(), expected[5:25])


BY_PLACE = """
!m = !coopmatrix.matrix<9x5xf32, acc>
func.func @f(%a: memref<9x5xf32>, %b: memref<9x5xf32>, %s: f32)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
      simt.grid = affine_map<() -> (1)>} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%c0, %c0] row_major : memref<9x5xf32> -> !m
  %r = coopmatrix.apply (%i, %j, %v) in %x : !m {
    %below = arith.cmpi ugt, %i, %j : index
    %w = arith.select %below, %v, %s : f32
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %y = arith.addf %w, %f : f32
    coopmatrix.yield %y : f32
  }
  coopmatrix.store %r, %b[%c0, %c0] row_major : !m, memref<9x5xf32>
  func.return
}
"""


def test_apply_by_row_and_column(how: tuple[Any, Tiles]) -> None:
    """Elements differ by their place: that is nothing that lanes differ in."""
    a = np.arange(45, dtype=np.float32).reshape(9, 5)
    row, col = np.indices(a.shape)
    _, found = run(BY_PLACE, [a, np.zeros_like(a), np.float32(-1)], how)
    np.testing.assert_array_equal(found, np.where(row > col, a, -1) + row)


LANES = """
func.func @f(%a: memref<48xi32>, %b: memref<48x6xi32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
      simt.work_group_size = array<i32: 16>, simt.grid = affine_map<() -> (3)>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c16 = arith.constant 16 : index
  %c47 = arith.constant 47 : index
  %group = simt.workgroup_id x : index
  %local = simt.local_id x : index
  %subgroup = simt.subgroup_id : index
  %start = arith.muli %group, %c16 : index
  %i = arith.addi %start, %local : index
  %v = memref.load %a[%i] : memref<48xi32>
  memref.store %v, %b[%i, %c0] : memref<48x6xi32>
  %p = simt.broadcast %v, %c3 : i32
  memref.store %p, %b[%i, %c1] : memref<48x6xi32>
  %q = simt.shuffle xor %v, %c1 : i32
  memref.store %q, %b[%i, %c2] : memref<48x6xi32>
  %r = simt.reduce add %v : i32
  memref.store %r, %b[%i, %c3] : memref<48x6xi32>
  %s = arith.index_cast %subgroup : index to i32
  memref.store %s, %b[%i, %c4] : memref<48x6xi32>
  %j = arith.subi %c47, %i : index
  %w = memref.load %a[%j] : memref<48xi32>
  memref.store %w, %b[%i, %c5] : memref<48x6xi32>
  func.return
}
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ids_and_exchanges(how: tuple[Any, Tiles], threads: int) -> None:
    """Ids, broadcast, shuffle, reduce; consecutive and gathered elements."""
    a = np.random.default_rng(1).integers(-1000, 1000, 48).astype(np.int32)
    _, found = run(LANES, [a, np.zeros((48, 6), np.int32)], how, threads=threads)
    subgroups = a.reshape(6, 8)
    expected = np.stack(
        [
            a,
            np.repeat(subgroups[:, 3], 8),
            subgroups.reshape(6, 4, 2)[:, :, ::-1].reshape(48),
            np.repeat(subgroups.sum(1), 8),
            np.arange(48) // 8 % 2,
            a[::-1],
        ],
        axis=1,
    )
    np.testing.assert_array_equal(found, expected)


NAMES = """
func.func @erff(%x: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %y = arith.addf %x, %two : f32
  func.return %y : f32
}
func.func @"slots.expf"(%x: f32) -> f32 {
  %three = arith.constant 3.0 : f32
  %y = arith.subf %x, %three : f32
  %z = math.erf %y : f32
  func.return %z : f32
}
func.func @expf(%m: memref<16xf32>, %out: memref<16xf32>) attributes {
    simt.kernel, simt.subgroup_size = 16 : i32, simt.grid = affine_map<() -> (1)>} {
  %lane = simt.lane_id : index
  %x = memref.load %m[%lane] : memref<16xf32>
  %y = math.exp %x : f32
  %z = func.call @erff(%y) : (f32) -> f32
  %r = func.call @"slots.expf"(%z) : (f32) -> f32
  memref.store %r, %out[%lane] : memref<16xf32>
  func.return
}
"""


def test_names_of_the_c_library() -> None:
    """What a kernel calls is not what the C library has of the same name."""
    how = flatten([CoopcCpuPass()]), Tiles.NONE
    given = [np.zeros(16, np.float32), np.ones(16, np.float32)]
    assert not run(NAMES, given, how)[1].any()  # erf(exp(0) + 2 - 3)


OWN_SLOTS = """
!m = !coopmatrix.matrix<7x9xi8, acc>
func.func @f(%a: memref<7x9xi8>, %out: memref<16xi8>) attributes {
    simt.kernel, simt.subgroup_size = 16 : i32, simt.grid = affine_map<() -> (1)>,
    coopmatrix.distribution = #layout.row_slice} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i8
  %lane = simt.lane_id : index
  %m = coopmatrix.load %a[%c0, %c0] row_major : memref<7x9xi8> -> !m
  %i = arith.remui %lane, %c4 : index
  %e = coopmatrix.extract %m[%i] : !m
  memref.store %e, %out[%lane] : memref<16xi8>
  %j = arith.subi %c3, %i : index
  %x = arith.addi %e, %one : i8
  %n = coopmatrix.insert %x, %m[%j] : !m
  coopmatrix.store %n, %a[%c0, %c0] row_major : !m, memref<7x9xi8>
  func.return
}
"""


def test_slots_that_differ_between_lanes(how: tuple[Any, Tiles]) -> None:
    """Beyond the matrix, lane 15 has 0 in slot 3, and keeps nothing there."""
    a, out = np.arange(63, dtype=np.int8).reshape(7, 9), np.full(16, -1, np.int8)
    found = run(OWN_SLOTS, [a, out], how)
    slots = np.append(a.ravel(), np.int8(0)).reshape(4, 16)
    lanes = np.arange(16)
    elements = slots[lanes % 4, lanes]
    np.testing.assert_array_equal(found[1], elements)
    slots[3 - lanes % 4, lanes] = elements + 1
    np.testing.assert_array_equal(found[0], slots.ravel()[:63].reshape(7, 9))


GEMM = """
!a = !coopmatrix.matrix<16x{step}x{element}, a>
!b = !coopmatrix.matrix<{step}x32x{element}, b>
!c = !coopmatrix.matrix<16x32x{sum}, acc>
func.func @f(%a: memref<?x?x{element}>, %b: memref<?x?x{element}>,
    %c: memref<?x?x{sum}>) attributes {{simt.kernel, simt.grid = affine_map<
      (m, k, k1, n, m1, n1) -> (n1 floordiv 32, m floordiv 16)>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %step = arith.constant {step} : index
  %zero = arith.constant {zero} : {sum}
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %c16 : index
  %col = arith.muli %x, %c32 : index
  %k = memref.dim %a, %c1 : memref<?x?x{element}>
  %init = coopmatrix.fill %zero : {sum} -> !c
  %r = scf.for %i = %c0 to %k step %step iter_args(%s = %init) -> (!c) {{
    %p = coopmatrix.load %a[%row, %i] row_major : memref<?x?x{element}> -> !a
    %q = coopmatrix.load %b[%i, %col] row_major : memref<?x?x{element}> -> !b
    %t = coopmatrix.mul_add %p, %q, %s {signed} : !a, !b, !c
    scf.yield %t : !c
  }}
  coopmatrix.store %r, %c[%row, %col] row_major : !c, memref<?x?x{sum}>
  func.return
}}
"""


@pytest.mark.parametrize("element", ["bf16", "i8"])
def test_loops_with_b_packed_once(element: str, how: tuple[Any, Tiles]) -> None:
    """A kernel of loops over matrices; with tiles, B is packed by a stage before.

    Without columns of A there is nothing to add, without rows nothing to do.
    """
    whole = element == "i8"
    text = GEMM.format(
        element=element,
        sum="i32" if whole else "f32",
        zero="0" if whole else "0.0",
        step=64 if whole else 32,
        signed="signed(a, b, c, result)" if whole else "",
    )
    rng = np.random.default_rng(3)
    for m, k in [(48, 128), (48, 0), (0, 128)][: 3 if whole else 1]:
        pair = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, 64))
        a, b = (x.astype(np.int8) if whole else to_bf16(x.astype("f4")) for x in pair)
        c = np.ones((m, 64), np.int32 if whole else np.float32)
        found = run(text, [a, b, c], how, threads=2)
        np.testing.assert_array_equal(found[2], pair[0] @ pair[1])


CROWD = """
!a = !coopmatrix.matrix<{size}x64x{element}, a>
!b = !coopmatrix.matrix<64x{size}x{element}, b>
!c = !coopmatrix.matrix<{size}x{size}x{sum}, acc>
func.func @f(%a: memref<{size}x128x{element}>, %b: memref<128x{size}x{element}>,
    %c: memref<{size}x{size}x{sum}>)
    attributes {{simt.kernel, simt.grid = affine_map<() -> (1)>}} {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 128 : index
  %init = coopmatrix.load %c[%c0, %c0] row_major : memref<{size}x{size}x{sum}> -> !c
  %r = scf.for %i = %c0 to %end step %c64 iter_args(%s = %init) -> (!c) {{
    %p = coopmatrix.load %a[%c0, %i] row_major : memref<{size}x128x{element}> -> !a
    %q = coopmatrix.load %b[%i, %c0] row_major : memref<128x{size}x{element}> -> !b
    %t = coopmatrix.mul_add %p, %q, %s {signed} : !a, !b, !c
    scf.yield %t : !c
  }}
  coopmatrix.store %r, %c[%c0, %c0] row_major : !c, memref<{size}x{size}x{sum}>
  func.return
}}
"""


@pytest.mark.parametrize("size", [48, 50, 96])
@pytest.mark.parametrize("element", ["bf16", "i8"])
def test_more_tiles_than_registers(element: str, size: int) -> None:
    """9 to 36 sums live at once; of one shape, which LLVM spills, and of several."""
    if (tiles := best_or_emulated()) is Tiles.NONE:
        pytest.skip("the AMX emulator needs a C compiler")
    whole = element == "i8"
    text = CROWD.format(
        size=size,
        element=element,
        sum="i32" if whole else "f32",
        signed="signed(a, b, c, result)" if whole else "",
    )
    rng = np.random.default_rng(4)
    a, b = rng.integers(-4, 5, (size, 128)), rng.integers(-4, 5, (128, size))
    given = [x.astype(np.int8) if whole else to_bf16(x.astype("f4")) for x in (a, b)]
    c = np.ones((size, size), np.int32 if whole else np.float32)
    found = run(text, [*given, c], (flatten([CoopcAmxPass()]), tiles))
    np.testing.assert_array_equal(found[2], a @ b + 1)


SHARED = """
func.func @f(%a: memref<32xi32>, %b: memref<32xi32>)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32,
      simt.grid = affine_map<() -> (2)>} {
  %c16 = arith.constant 16 : index
  %c15 = arith.constant 15 : index
  %m = memref.alloca() : memref<16xi32, #simt.memory<workgroup>>
  %x = simt.local_id x : index
  %g = simt.workgroup_id x : index
  %s = arith.muli %g, %c16 : index
  %i = arith.addi %s, %x : index
  %v = memref.load %a[%i] : memref<32xi32>
  memref.store %v, %m[%x] : memref<16xi32, #simt.memory<workgroup>>
  simt.barrier workgroup
  %r = arith.subi %c15, %x : index
  %w = memref.load %m[%r] : memref<16xi32, #simt.memory<workgroup>>
  memref.store %w, %b[%i] : memref<32xi32>
  func.return
}
"""


@pytest.mark.parametrize("lanes", [16, 4])
def test_memory_of_a_work_group(how: tuple[Any, Tiles], lanes: int) -> None:
    """It is that of the function; subgroups that wait run together."""
    a = np.arange(32, dtype=np.int32)
    text = SHARED.replace(
        "simt.subgroup_size = 16 : i32",
        f"simt.subgroup_size = {lanes} : i32, simt.work_group_size = array<i32: 16>",
    )
    _, found = run(text, [a, np.zeros_like(a)], how)
    np.testing.assert_array_equal(found, a.reshape(2, 16)[:, ::-1].reshape(32))
