"""split-coopmatrix: programs of every operation compute what they did before."""

import numpy as np
import pytest
from support.programs import module_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from coopc.device import (
    LAVAPIPE,
    NVIDIA,
    Device,
)
from coopc.dialects import coopmatrix
from coopc.passes.coopmatrix.split_coopmatrix.split_coopmatrix import (
    SplitCoopmatrixPass,
)
from coopc.sim.simulate import simulate
from coopc.validate.step import first_mismatch

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
    "reduce with broadcast": """
        %s = coopmatrix.reduce add rows broadcast %x : T -> T
        %t = coopmatrix.reduce min cols broadcast %x : T -> T
        %r = coopmatrix.sub %s, %t : T
        coopmatrix.store %r, %m[%one, %one] row_major : T, memref<?x?xf32>
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
        simt.barrier subgroup
        coopmatrix.store %r, %m[%two_index, %low] col_major checked(rows, cols)
          : T, memref<?x?xf32>
    """,
    "atomics": """
        %old = coopmatrix.atomic_add %x, %m[%one, %zero] row_major relaxed
          : T, memref<?x?xf32> -> T
        simt.barrier subgroup
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
      simt.barrier subgroup
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
    cut_module = module.clone()
    SplitCoopmatrixPass(device.name).apply(Context(), cut_module)
    cut_module.verify()
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
