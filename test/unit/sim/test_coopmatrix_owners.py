"""Whose elements of a matrix are: slots, padding, row slices, divergent insertions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import kernel
from support.small_kernels import on_matrix
from xdsl.dialects.builtin import ModuleOp, StringAttr

from coopc.dialects.coopmatrix import DISTRIBUTION
from coopc.layout.distribution import Distribution
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.matrices import Provider, coopmatrix_layout, row_slices
from coopc.sim.simulate import simulate

few = settings(max_examples=15, deadline=None)
RANDOM = np.random.default_rng(0)
DOUBLE_OWNED = """
  %n = coopmatrix.length {matrix} : index
  %one = arith.constant 1 : index
  %lane = simt.lane_id : index
  %who = arith.index_cast %lane : index to i32
  %r = scf.for %k = %z to %n step %one iter_args(%c = %m) -> ({matrix}) {
    %e = coopmatrix.extract %c[%k] : {matrix}
    %row, %col = coopmatrix.coord %c[%k] : {matrix}
    %i = arith.index_cast %row : index to i32
    %j = arith.index_cast %col : index to i32
    %a = arith.addi %e, %e : i32
    %b = arith.muli %i, %j : i32
    %d = arith.addi %a, %b : i32
    %f = arith.muli %d, %d : i32
    %g = arith.addi %f, %who : i32
    %w = coopmatrix.insert %g, %c[%k] : {matrix}
    scf.yield %w : {matrix}
  }
"""


@pytest.mark.parametrize("provider", [coopmatrix_layout, row_slices])
@few
@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from([4, 8, 16]))
def test_owned_elements(provider: Provider, rows: int, cols: int, lanes: int) -> None:
    """Each element is seen by its owner, once, with its coordinates."""
    seen: list[Distribution] = []

    def chosen(matrix: Any, count: int) -> Distribution:
        seen.append(provider(matrix, count))
        return seen[-1]

    module = on_matrix((rows, cols), "i32", DOUBLE_OWNED, lanes=lanes)
    x = RANDOM.integers(0, 99, (rows, cols), np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y], distribution=chosen)
    row = np.arange(rows, dtype=np.int64)[:, None]
    col = np.arange(cols, dtype=np.int64)[None, :]
    owner, _ = seen[0].owners(row, col)
    assert (y == (2 * x + row * col) ** 2 + owner).all()


def test_owned_elements_of_a_work_group() -> None:
    body = DOUBLE_OWNED.replace(
        "%lane = simt.lane_id : index", "%lane = simt.local_id x : index"
    )
    module = on_matrix((5, 7), "i32", body, scope="workgroup", subgroups=3)
    x = RANDOM.integers(0, 99, (5, 7), np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y])
    row, col = np.indices(x.shape)
    assert (y == (2 * x + row * col) ** 2 + (7 * row + col) % 24).all()


def test_padding() -> None:
    """2 x 3 over 4 lanes: lanes 2 and 3 have a slot of padding."""
    body = """
      %one = arith.constant 1 : index
      %lane = simt.lane_id : index
      %e = coopmatrix.extract %m[%one] : {matrix}
      %i, %j = coopmatrix.coord %m[%one] : {matrix}
      %w = coopmatrix.insert %e, %m[%one] : {matrix}
      %ij = arith.addi %i, %j : index
      %s = arith.index_cast %ij : index to i32
      %f = arith.addi %e, %s : i32
      %r = coopmatrix.insert %f, %w[%z] : {matrix}
    """
    module = on_matrix((2, 3), "i32", body, lanes=4)
    x = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y], distribution=row_slices)
    # Lanes 0 and 1 have 5 at (1, 1) and 6 at (1, 2); 0 at (2, 3) is padding.
    assert y.tolist() == [[5 + 2, 6 + 3, 0 + 5], [0 + 5, 5, 6]]


def test_slots_that_nobody_has() -> None:
    module = on_matrix(
        (2, 3),
        "i32",
        "%two = arith.constant 2 : index\n"
        "%e = coopmatrix.extract %m[%two] : {matrix}\n"
        "%r = coopmatrix.insert %e, %m[%z] : {matrix}",
        lanes=4,
    )
    x = np.zeros((2, 3), np.int32)
    with pytest.raises(UndefinedBehaviour, match="slot below 2"):
        simulate(module, "f", [x, x.copy()], distribution=row_slices)


def test_insertion_in_divergent_control_flow() -> None:
    body = """
      %lane = simt.lane_id : index
      %c2 = arith.constant 2 : index
      %nine = arith.constant 9 : i32
      %one = arith.constant 1 : index
      %lane32 = arith.index_cast %lane : index to i32
      %low = arith.cmpi ult, %lane, %c2 : index
      %r = scf.if %low -> ({matrix}) {
        %w = coopmatrix.insert %nine, %m[%z] : {matrix}
        scf.yield %w : {matrix}
      } else {
        %w = coopmatrix.insert %lane32, %m[%one] : {matrix}
        scf.yield %w : {matrix}
      }
    """
    module = on_matrix((2, 4), "i32", body, lanes=4)
    x = np.arange(8, dtype=np.int32).reshape(2, 4)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y], distribution=row_slices)
    # Lanes 0 and 1 changed their first element, lanes 2 and 3 their second one.
    assert y.tolist() == [[9, 9, 2, 3], [4, 5, 2, 3]]


def with_distribution(module: ModuleOp, name: str) -> ModuleOp:
    """The module, its kernel with a distribution."""
    for func in module.ops:
        func.attributes[DISTRIBUTION] = StringAttr(name)
    return module


@pytest.mark.parametrize(("name", "length"), [("coopmatrix", 12), ("row_slices", 9)])
def test_distribution_of_the_kernel(name: str, length: int) -> None:
    """12 x 12 over 16 lanes: M is padded to 16 in one, nothing in the other."""
    body = """
      %n = coopmatrix.length {matrix} : index
      %r = coopmatrix.fill %n : index -> {matrix}
    """
    module = with_distribution(on_matrix((12, 12), "i32", body, lanes=16), name)
    x = np.zeros((12, 12), np.int32)
    simulate(module, "f", [x, x])
    assert (x == length).all()


def test_unknown_distribution() -> None:
    module = on_matrix((2, 2), "i32", "%r = coopmatrix.add %m, %m : {matrix}")
    x = np.zeros((2, 2), np.int32)
    with pytest.raises(SimulationError, match="coopmatrix, row_slices, got"):
        simulate(with_distribution(module, "mine"), "f", [x, x])


@few
@given(st.data())
def test_row_slices(data: st.DataObject) -> None:
    rows, cols = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    length = data.draw(st.integers(1, 6))
    source, target = (data.draw(st.integers(-3, rows * cols + 2)) for _ in range(2))
    masked = data.draw(st.booleans())
    mask = f"mask %k : vector<{length}xi1>" if masked else ""
    body = f"""
      %s = arith.constant {source} : index
      %t = arith.constant {target} : index
      %two = arith.constant 2 : index
      %k = vector.create_mask %two : vector<{length}xi1>
      %v = coopmatrix.extract_row_slice %m[%s] : {{matrix}} -> vector<{length}xi32>
      %r = coopmatrix.insert_row_slice %v, %m[%t] {mask}
           : vector<{length}xi32>, {{matrix}}
    """
    module = on_matrix((rows, cols), "i32", body)
    x = RANDOM.integers(1, 99, (rows, cols), np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y])
    expected = x.reshape(-1).copy()
    for n in range(length):
        inside = 0 <= source + n < x.size
        if 0 <= target + n < x.size and (n < 2 or not masked):
            expected[target + n] = x.flat[source + n] if inside else 0
    assert (y.reshape(-1) == expected).all()


def test_matrices_of_each_work_item() -> None:
    body = """
      %lane = simt.lane_id : index
      %one = coopmatrix.fill %lane : index -> {matrix}
      %two = coopmatrix.add %m, %one : {matrix}
      %n = coopmatrix.length {matrix} : index
      %c1 = arith.constant 1 : index
      %hundred = arith.constant 100 : i32
      %r = coopmatrix.insert %hundred, %two[%c1] : {matrix}
    """
    module = on_matrix((2, 2), "i32", body, scope="invocation", lanes=4)
    x = np.array([[1, 2], [3, 4]], np.int32)
    y = np.zeros_like(x)
    # All lanes write the same place, and nothing says which is the last one.
    with pytest.raises(UndefinedBehaviour, match=r"lane 0 writes another value"):
        simulate(module, "f", [x, y])
    body += """
      coopmatrix.store %r, %all[%lane, %z, %z] row_major
        : {matrix}, memref<4x2x2xi32>
    """
    matrix = "!coopmatrix.matrix<2x2xi32, acc, scope = invocation>"
    module = kernel(
        "%x: memref<2x2xi32>, %all: memref<4x2x2xi32>",
        f"""
        %z = arith.constant 0 : index
        %m = coopmatrix.load %x[%z, %z] row_major : memref<2x2xi32> -> {matrix}
        {body.replace("{matrix}", matrix)}
        """,
        lanes=4,
    )
    found = np.zeros((4, 2, 2), np.int32)
    simulate(module, "f", [x, found])
    assert found.tolist() == [[[1 + n, 100], [3 + n, 4 + n]] for n in range(4)]
