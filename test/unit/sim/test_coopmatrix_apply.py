"""Functions of each element of a matrix and of its place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import module_of
from support.small_kernels import on_matrix

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.matrices import row_slices
from coopc.sim.simulate import simulate

few = settings(max_examples=15, deadline=None)
RANDOM = np.random.default_rng(0)
APPLY = """
  %lane = simt.lane_id : index
  %two = arith.constant 2 : index
  %group = simt.subgroup_id : index
  %r = coopmatrix.apply (%i, %j, %v) in %m : {matrix} {
    %a = arith.muli %i, %two : index
    %b = arith.addi %a, %j : index
    %bias = arith.index_cast %b : index to i32
    %mine = arith.index_cast %lane : index to i32
    %late = simt.lane_id : index
    %again = arith.index_cast %late : index to i32
    %s = arith.addi %v, %bias : i32
    %t = arith.muli %mine, %again : i32
    %u = arith.addi %s, %t : i32
    %odd = arith.cmpi ugt, %i, %j : index
    %w = scf.if %odd -> (i32) {
      %x1 = arith.subi %u, %v : i32
      scf.yield %x1 : i32
    } else {
      scf.yield %u : i32
    }
    coopmatrix.yield %w : i32
  }
"""


@pytest.mark.parametrize("scope", ["subgroup", "workgroup"])
@few
@given(st.integers(1, 9), st.integers(1, 9))
def test_apply(scope: str, rows: int, cols: int) -> None:
    """Each element has its row, its column, and what its owner has from outside."""
    lanes, subgroups = 4, (1 if scope == "subgroup" else 3)
    module = on_matrix(
        (rows, cols), "i32", APPLY, scope=scope, lanes=lanes, subgroups=subgroups
    )
    x = RANDOM.integers(0, 99, (rows, cols), np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y], distribution=row_slices)
    row, col = np.indices(x.shape)
    owner = (row * cols + col) % (lanes * subgroups) % lanes
    expected = x + 2 * row + col + owner**2
    assert (y == expected - np.where(row > col, x, 0)).all()


def test_apply_reads_memory_and_other_matrices() -> None:
    body = """
      %k = coopmatrix.add %m, %m : {matrix}
      %r = coopmatrix.apply (%i, %j, %v) in %m : {matrix} {
        %w = memref.load %x[%j, %i] : memref<3x3xf32>
        %s = arith.subf %v, %w : f32
        coopmatrix.yield %s : f32
      }
    """
    x = RANDOM.standard_normal((3, 3)).astype(np.float32)
    y = np.zeros_like(x)
    simulate(on_matrix((3, 3), "f32", body), "f", [x, y])
    assert (y == x - x.T).all()


def test_apply_in_uniform_control_flow_only() -> None:
    body = """
      %lane = simt.lane_id : index
      %first = arith.cmpi eq, %lane, %z : index
      %r = scf.if %first -> ({matrix}) {
        %s = coopmatrix.apply (%i, %j, %v) in %m : {matrix} {
          coopmatrix.yield %v : f32
        }
        scf.yield %s : {matrix}
      } else {
        scf.yield %m : {matrix}
      }
    """
    x = np.zeros((3, 3), np.float32)
    with pytest.raises(
        UndefinedBehaviour, match=r"coopmatrix\.apply.*some of the lanes"
    ):
        simulate(on_matrix((3, 3), "f32", body), "f", [x, x.copy()])


def test_no_exchange_in_apply() -> None:
    matrix = "!coopmatrix.matrix<2x2xf32, acc>"
    module = module_of(
        f"""
        func.func @sum(%v: f32) -> f32 {{
          %s = simt.reduce add %v : f32
          func.return %s : f32
        }}
        func.func @f(%v: f32) attributes {{simt.kernel,
            simt.grid = affine_map<() -> (1)>}} {{
          %m = coopmatrix.fill %v : f32 -> {matrix}
          %r = coopmatrix.apply (%i, %j, %e) in %m : {matrix} {{
            %s = func.call @sum(%e) : (f32) -> f32
            coopmatrix.yield %s : f32
          }}
          func.return
        }}
        """
    )
    with pytest.raises(UndefinedBehaviour, match=r"simt\.reduce.*cannot exchange"):
        simulate(module, "f", [1.0])
