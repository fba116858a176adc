"""Slots of a matrix that is cut: those of its tiles, in the order of the tiles.

Which element a slot holds is open, so the programs look at all: they do the same with
the whole matrix and with its tiles.
"""

import numpy as np
import pytest
from support.programs import module_of
from xdsl.context import Context

import coopc
from coopc.dialects import coopmatrix
from coopc.interface_call import pack
from coopc.passes.coopmatrix.split_coopmatrix.split_coopmatrix import (
    SplitCoopmatrixPass,
)
from coopc.run import toolchain, vulkan
from coopc.run.execute import on_vulkan
from coopc.sim.simulate import simulate

SHAPES = ((24, 40), (16, 16), (8, 8))
"""15 tiles of 8 x 8, four, and one."""

TEXT = """
func.func @k(%in: memref<64x64xf16>, %scattered: memref<64x64xf16>,
             %doubled: memref<64x64xf16>) attributes {{
    simt.kernel, simt.subgroup_size = {lanes} : i32,
    simt.grid = affine_map<() -> (1)>}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %rows = arith.constant {rows} : index
  %lane = simt.lane_id : index
  %x = coopmatrix.load %in[%0, %0] row_major : memref<64x64xf16> -> T
  %n = coopmatrix.length T : index
  // What each slot holds goes where it is; elements at odd places are doubled.
  %y = scf.for %s = %0 to %n step %1 iter_args(%it = %x) -> (T) {{
    %i, %j = coopmatrix.coord %it[%s] : T
    %e = coopmatrix.extract %it[%s] : T
    %inside = arith.cmpi ult, %i, %rows : index
    scf.if %inside {{
      memref.store %e, %scattered[%i, %j] : memref<64x64xf16>
    }}
    %sum = arith.addi %i, %j : index
    %bit = arith.remui %sum, %2 : index
    %odd = arith.cmpi eq, %bit, %1 : index
    %twice = arith.addf %e, %e : f16
    %new = arith.select %odd, %twice, %e : f16
    %next = coopmatrix.insert %new, %it[%s] : T
    scf.yield %next : T
  }}
  coopmatrix.store %y, %doubled[%0, %0] row_major : T, memref<64x64xf16>
  func.return
}}
"""


def text(shape: tuple[int, int], lanes: int) -> str:
    rows, cols = shape
    matrix = f"!coopmatrix.matrix<{rows}x{cols}xf16, acc>"
    return TEXT.format(rows=rows, lanes=lanes).replace("T", matrix)


def arrays() -> list[np.ndarray]:
    numbers = np.random.default_rng(1).integers(1, 99, (64, 64)).astype(np.float16)
    zeros = np.zeros_like(numbers)
    return [numbers, zeros.copy(), zeros.copy()]


def check(found: list[np.ndarray], shape: tuple[int, int]) -> None:
    """Compare with what the program is to do."""
    given, scattered, doubled = found
    inside = np.zeros((64, 64), bool)
    inside[: shape[0], : shape[1]] = True
    odd = np.add.outer(np.arange(64), np.arange(64)) % 2 == 1
    assert (scattered == np.where(inside, given, 0)).all()
    wanted = np.where(inside, np.where(odd, 2 * given, given), 0)
    assert (doubled == wanted).all()


# 128 lanes share a tile of 64 elements: the slots of some hold none.
@pytest.mark.parametrize("lanes", [8, 128])
@pytest.mark.parametrize(
    ("device", "shape"),
    [*(("lavapipe", x) for x in SHAPES), ("nvidia", (48, 40)), ("nvidia", (16, 8))],
)
def test_same_elements(shape: tuple[int, int], device: str, lanes: int) -> None:
    module, whole = module_of(text(shape, lanes)), arrays()
    simulate(module, "k", whole)
    check(whole, shape)
    cut, tiles = module.clone(), arrays()
    SplitCoopmatrixPass(device).apply(Context(), cut)
    cut.verify()
    simulate(cut, "k", tiles)
    check(tiles, shape)
    types = {
        value.type
        for op in cut.walk()
        for value in op.operands
        if isinstance(value.type, coopmatrix.MatrixType)
    }
    assert len(types) == 1


SLOT_TEXT = """
func.func @k(%in: memref<16x16xf16>, %number: memref<1xi32>, %found: memref<?xf16>,
             %places: memref<?x2xi32>) attributes {
    simt.kernel, simt.subgroup_size = 8 : i32,
    simt.grid = affine_map<(s0, s1) -> (1)>} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %lane = simt.lane_id : index
  %x = coopmatrix.load %in[%0, %0] row_major
    : memref<16x16xf16> -> !coopmatrix.matrix<16x16xf16, acc>
  %given = memref.load %number[%0] : memref<1xi32>
  %uniform = arith.index_cast %given : i32 to index
  %slot = arith.addi %uniform, %lane : index
  %e = coopmatrix.extract %x[%slot] : !coopmatrix.matrix<16x16xf16, acc>
  %i, %j = coopmatrix.coord %x[%slot] : !coopmatrix.matrix<16x16xf16, acc>
  memref.store %e, %found[%lane] : memref<?xf16>
  %row = arith.index_cast %i : index to i32
  %col = arith.index_cast %j : index to i32
  memref.store %row, %places[%lane, %0] : memref<?x2xi32>
  memref.store %col, %places[%lane, %1] : memref<?x2xi32>
  func.return
}
"""


@pytest.mark.parametrize("number", [0, 5, 31, 32, 1000])
def test_dynamic_slot(number: int) -> None:
    """Any slot, of each lane another: the element is where `coord` says it is.

    Lanes have 4 x 8 slots: beyond them there is 0, at (rows, columns).
    """
    module = module_of(SLOT_TEXT)
    SplitCoopmatrixPass("lavapipe").apply(Context(), module)
    given = np.arange(1, 257, dtype=np.float16).reshape(16, 16)
    found, places = np.zeros(8, np.float16), np.zeros((8, 2), np.int32)
    simulate(module, "k", [given, np.array([number], np.int32), found, places])
    for lane, (element, (row, col)) in enumerate(zip(found, places, strict=True)):
        if number + lane < 32:
            assert element == given[row, col]
        else:
            assert (element, row, col) == (0, 16, 16)
    assert len({tuple(place) for place in places}) == min(8, max(1, 33 - number))


@pytest.mark.parametrize("shape", SHAPES)
def test_on_the_driver(shape: tuple[int, int], lavapipe: vulkan.Session) -> None:
    artifact = coopc.compile(text(shape, 8), "coopc-khr{device=lavapipe}")
    assert toolchain.validate_spirv(artifact.bytes, "vulkan1.3") is None
    (interface,) = artifact.interface
    outcome = on_vulkan(artifact.bytes, pack(interface, arrays(), (1, 1, 1)), lavapipe)
    check(list(outcome.arrays), shape)
