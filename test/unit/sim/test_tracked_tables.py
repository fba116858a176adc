"""Bounds of errors go through every operation that is simulated, or it says why not.

Inputs are exact and so is what the programs compute, but for a first step: a third
times three.  So a bound at the end is that of the first step, which went all the way.
"""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.sim.interpreter import IMPLEMENTATIONS
from coopc.sim.linalg import STRUCTURED
from coopc.sim.numerics import FLOAT_FUNCTIONS
from coopc.sim.simulate import DIALECTS, import_functions, simulate
from coopc.sim.tracked import Inputs
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

INTEGERS = "has no floats"
VIEWS = "gives no elements, but another way to see memory"
AS_LOAD = "reads by the function that tt.load reads by"
FLOW = "gives what its region or the function gives: see the test of control flow"
BODY = "runs its body, as linalg.generic does"
BITS = "moves bits, not floats: where they have a bound, `lost` says so"
KINDS = "tells kinds of floats, which errors do not change"

EXEMPT: dict[str, str] = {
    **dict.fromkeys(
        ("math.isfinite", "math.isinf", "math.isnan", "math.isnormal"), KINDS
    ),
    **dict.fromkeys(
        (
            "simt.compare_exchange",
            *("affine.apply", "affine.min", "amx.tile_muli", "amx.tile_zero"),
            *("arith.addi", "arith.addui_extended", "arith.andi", "arith.ceildivsi"),
            *("arith.ceildivui", "arith.cmpi", "arith.constant", "arith.divsi"),
            *("arith.divui", "arith.extsi", "arith.extui", "arith.floordivsi"),
            *(
                "arith.index_cast",
                "arith.index_castui",
                "arith.maxsi",
                "arith.maxui",
                "arith.minsi",
            ),
            *("arith.minui", "arith.muli", "arith.mulsi_extended"),
            *("arith.mului_extended", "arith.ori", "arith.remsi", "arith.remui"),
            *("arith.shli", "arith.shrsi", "arith.shrui", "arith.sitofp"),
            *("arith.subi", "arith.trunci", "arith.uitofp", "arith.xori"),
            *("cf.assert", "tensor.dim", "tensor.empty"),
            *("coopmatrix.and", "coopmatrix.coord", "coopmatrix.length"),
            *("coopmatrix.not", "coopmatrix.or", "coopmatrix.prefetch"),
            *("coopmatrix.spec_value",),
            *("coopmatrix.shl", "coopmatrix.shr", "coopmatrix.xor", "linalg.index"),
            *("llvm.intr.assume", "math.absi", "math.ctlz", "math.ctpop", "math.cttz"),
            *("math.ipowi", "memref.assume_alignment", "memref.dealloc", "memref.dim"),
            *("memref.prefetch", "memref.rank", "row_slice.length"),
            *("simt.barrier", "simt.barrier_arrive"),
            *("simt.barrier_wait", "simt.lane_id", "simt.local_id"),
            *("simt.num_subgroups", "simt.num_workgroups", "simt.subgroup_id"),
            *("simt.subgroup_size", "simt.workgroup_id", "simt.workgroup_size"),
            *("tt.get_num_programs", "tt.get_program_id", "tt.make_range"),
            *(
                "tt.atomic_poll",
                "tt.histogram",
                "tt.mulhiui",
                "ttg.barrier",
                "ttig.descriptor_prefetch",
            ),
            *("ttg.local_dealloc", "ttig.extract_desc", "ttig.prefetch", "ub.poison"),
            *("vector.create_mask", "xe.block_prefetch_2d", "xe.payload_prefetch"),
            *("xe.payload_add_x", "xe.payload_add_y"),
            *("xe.payload_set_x", "xe.payload_set_y"),
        ),
        INTEGERS,
    ),
    **dict.fromkeys(
        (
            *("memref.cast", "memref.collapse_shape", "memref.expand_shape"),
            *("memref.extract_strided_metadata", "memref.memory_space_cast"),
            *(
                "memref.reinterpret_cast",
                "memref.subview",
                "simt.address_of",
                "simt.memory_at",
                "simt.view_elements",
                "memref.global",
            ),
            *("tt.addptr", "tt.advance", "tt.make_tensor_descriptor"),
            *("tt.int_to_ptr", "tt.ptr_to_int"),
            *("tt.make_tensor_ptr", "xe.payload_create"),
        ),
        VIEWS,
    ),
    **dict.fromkeys(
        (
            *("arith.bitcast", "coopmatrix.bitcast", "tt.bitcast", "vector.bitcast"),
            *("arith.cmpf", "arith.fptosi", "arith.fptoui"),
            *("xe.block_load", "xe.block_load_2d", "xe.block_store_2d"),
            *("xe.payload_load", "xe.dpas", "xe.split_dpas"),
        ),
        BITS,
    ),
    **dict.fromkeys(("ttig.2d_block_load", "ttig.2d_block_load_from_ptr"), AS_LOAD),
    **dict.fromkeys(
        (
            *("coopmatrix.yield", "func.return", "linalg.yield", "scf.condition"),
            *("scf.yield", "tt.return", "tt.reduce.return", "tt.call"),
            "tt.map_elementwise.return",
        ),
        FLOW,
    ),
}

ACC = "!coopmatrix.matrix<4x4xf32, acc>"
A, B = (f"!coopmatrix.matrix<4x4xf32, {use}>" for use in "ab")
SLM = "memref<4x4xf32, #simt.memory<workgroup>>"
OWN = "memref<4xf32>"
TILE = "!amx.tile<4x4xf32>"
HALVES = "!amx.tile<4x8xbf16>"
FUNCTIONS_OF_SEVERAL = {
    *("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf"),
    *("atan2", "copysign", "powf", "remf"),
}

PROGRAMS: dict[str, str] = {
    "vectors": f"""
      %v = vector.broadcast %e : f32 to vector<4xf32>
      %zeros = vector.broadcast %zero : f32 to vector<4xf32>
      %w = vector.shuffle %zeros, %v [4, 5, 6, 7] : vector<4xf32>, vector<4xf32>
      vector.store %w, %own[%z] : {OWN}, vector<4xf32>
      %l = vector.load %own[%z] : {OWN}, vector<4xf32>
      %all = vector.create_mask %c4 : vector<4xi1>
      vector.maskedstore %own[%z], %all, %l : {OWN}, vector<4xi1>, vector<4xf32>
      %k = vector.maskedload %own[%z], %all, %zeros
         : {OWN}, vector<4xi1>, vector<4xf32> into vector<4xf32>
      "vector.transfer_write"(%k, %own, %z) <{{in_bounds = [true],
        operandSegmentSizes = array<i32: 1, 1, 1, 0>,
        permutation_map = affine_map<(d0) -> (d0)>}}>
        : (vector<4xf32>, {OWN}, index) -> ()
      %t = "vector.transfer_read"(%own, %z, %zero) <{{in_bounds = [true],
        operandSegmentSizes = array<i32: 1, 1, 1, 0>,
        permutation_map = affine_map<(d0) -> (d0)>}}>
        : ({OWN}, index, f32) -> vector<4xf32>
      %u = vector.insert %zero, %t[1] : f32 into vector<4xf32>
      %m = vector.reduction <maxnumf>, %u : vector<4xf32> into f32
      %o = vector.fma %u, %u, %zeros : vector<4xf32>
      %n = vector.extract %o[2] : f32 from vector<4xf32>
      %q = arith.minnumf %m, %n : f32
    """,
    "memory": f"""
      memref.store %e, %own[%z] : {OWN}
      %d = memref.alloc() : {OWN}
      vector.store %four, %d[%z] : {OWN}, vector<4xf32>
      vector.store %four, %own[%z] : {OWN}, vector<4xf32>
      memref.store %e, %own[%z] : {OWN}
      "memref.copy"(%own, %d) : ({OWN}, {OWN}) -> ()
      %k = "memref.atomic_rmw"(%zero, %d, %z) <{{kind = 0 : i64}}>
         : (f32, {OWN}, index) -> f32
      %l = memref.load %d[%z] : {OWN}
      %bytes = memref.alloca() : memref<16xi8>
      %view = "memref.view"(%bytes, %z) : (memref<16xi8>, index) -> {OWN}
      memref.store %l, %view[%z] : {OWN}
      %n = memref.load %view[%z] : {OWN}
      %q = arith.minnumf %k, %n : f32
    """,
    "vectors_in_memory": """
      %v = vector.broadcast %e : f32 to vector<4xf32>
      %own4 = memref.alloca() : memref<2xvector<4xf32>>
      memref.store %v, %own4[%z] : memref<2xvector<4xf32>>
      %w = memref.load %own4[%z] : memref<2xvector<4xf32>>
      %q = vector.extract %w[3] : f32 from vector<4xf32>
    """,
    "globals": f"""
      %g = "memref.get_global"() <{{name = @table}}> : () -> {OWN}
      memref.store %e, %g[%z] : {OWN}
      %q = memref.load %g[%z] : {OWN}
    """,
    "lanes": """
      %b = simt.broadcast %e, %z : f32
      %h = simt.shuffle xor %b, %c1 : f32
      %v = vector.broadcast %h : f32 to vector<1xf32>
      %w = simt.exchange %v from #layout.linear<(register = [], lane = [[1], [2]])
         -> (x = 4)> to #layout.linear<(register = [], lane = [[2], [1]]) -> (x = 4)>
         : vector<1xf32> -> vector<1xf32>
      %s = vector.extract %w[0] : f32 from vector<1xf32>
      %r = simt.reduce max %s : f32
      %shared = memref.alloca() : memref<64xf32, #simt.memory<workgroup>>
      simt.block_write %r, %shared[%z] : f32, memref<64xf32, #simt.memory<workgroup>>
      %q = simt.block_read %shared[%z]
         : memref<64xf32, #simt.memory<workgroup>> -> f32
    """,
    "control_flow": """
      %a = scf.for %i = %z to %c4 step %c1 iter_args(%x = %e) -> (f32) {
        %n = arith.negf %x : f32
        scf.yield %n : f32
      }
      %b = scf.if %is0 -> (f32) {
        scf.yield %a : f32
      } else {
        scf.yield %e : f32
      }
      %c, %last = scf.while (%x = %b, %i = %z) : (f32, index) -> (f32, index) {
        %go = arith.cmpi slt, %i, %c4 : index
        scf.condition(%go) %x, %i : f32, index
      } do {
      ^body(%x: f32, %i: index):
        %j = arith.addi %i, %c1 : index
        scf.yield %x, %j : f32, index
      }
      %d = scf.index_switch %lane -> f32
      case 0 {
        scf.yield %c : f32
      }
      default {
        scf.yield %e : f32
      }
      %f = scf.execute_region -> f32 {
        scf.yield %d : f32
      }
      %g = func.call @same(%f) : (f32) -> f32
      %q = arith.select %is0, %g, %e : f32
    """,
    "casts": """
      %w = arith.extf %e : f32 to f64
      %n = arith.truncf %w : f64 to f32
      %o = math.clampf %n to [%zero, %n] : f32
      %q = math.fpowi %o, %one : f32, i32
    """,
    "matrices": f"""
      %m = coopmatrix.fill %e : f32 -> {ACC}
      %zeros = coopmatrix.fill %zero : f32 -> {ACC}
      %ones = coopmatrix.fill %unit : f32 -> {ACC}
      %a = coopmatrix.add %m, %zeros : {ACC}
      %b = coopmatrix.sub %a, %zeros : {ACC}
      %c = coopmatrix.mul %b, %ones : {ACC}
      %d = coopmatrix.div %c, %ones : {ACC}
      %f = coopmatrix.max %d, %zeros : {ACC}
      %g = coopmatrix.neg %f : {ACC}
      %h = coopmatrix.abs %g : {ACC}
      %i = coopmatrix.scale %h, %unit : {ACC}, f32
      %two = coopmatrix.add %ones, %ones : {ACC}
      %j = coopmatrix.rem %i, %two : {ACC}
      %k = coopmatrix.min %j, %two : {ACC}
      %l = coopmatrix.convert %k : {ACC} -> {A}
      %eye = coopmatrix.fill %unit : f32 -> {B}
      %n = coopmatrix.mul_add %l, %eye, %zeros : {A}, {B}, {ACC}
      %o = coopmatrix.apply (%row, %col, %x) in %n : {ACC} {{
        %y = arith.negf %x : f32
        coopmatrix.yield %y : f32
      }}
      %p = coopmatrix.extract_row_slice %o[%z] : {ACC} -> vector<4xf32>
      %s = coopmatrix.insert_row_slice %p, %zeros[%z] : vector<4xf32>, {ACC}
      %flip = coopmatrix.transpose %s : {ACC} -> {ACC}
      %t = coopmatrix.reduce min rows %flip : {ACC} -> !coopmatrix.matrix<4x1xf32, acc>
      %u = coopmatrix.extract %t[%z] : !coopmatrix.matrix<4x1xf32, acc>
      %v = simt.reduce min %u : f32
      %w = coopmatrix.insert %v, %zeros[%z] : {ACC}
      %r = coopmatrix.extract %w[%z] : {ACC}
      %q = simt.reduce min %r : f32
    """,
    "matrices_in_memory": f"""
      %m = coopmatrix.fill %e : f32 -> {ACC}
      %zeros = coopmatrix.fill %zero : f32 -> {ACC}
      %slm = memref.alloca() : {SLM}
      coopmatrix.store %m, %slm[%z, %z] row_major : {ACC}, {SLM}
      simt.barrier workgroup
      %a = coopmatrix.load %slm[%z, %z] row_major : {SLM} -> {ACC}
      simt.barrier workgroup
      coopmatrix.atomic_store %a, %slm[%z, %z] row_major relaxed : {ACC}, {SLM}
      %b = coopmatrix.atomic_add %zeros, %slm[%z, %z] row_major relaxed
         : {ACC}, {SLM} -> {ACC}
      %c = coopmatrix.atomic_max %b, %slm[%z, %z] row_major relaxed
         : {ACC}, {SLM} -> {ACC}
      %d = coopmatrix.atomic_min %c, %slm[%z, %z] row_major relaxed
         : {ACC}, {SLM} -> {ACC}
      %f = coopmatrix.atomic_load %slm[%z, %z] row_major relaxed : {SLM} -> {ACC}
      %g = coopmatrix.min %d, %f : {ACC}
      %t = row_slice.id %g[%z] : {ACC}
      %h = row_slice.extract_element %t : f32
      %u = row_slice.id %zeros[%z] : {ACC}
      row_slice.insert_element %h, %u : f32
      %w = row_slice.insert_to_matrix %u : {ACC}
      %i = coopmatrix.extract_row_slice %w[%z] : {ACC} -> vector<4xf32>
      %q = vector.extract %i[0] : f32 from vector<4xf32>
    """,
    "tiles": f"""
      %four2 = memref.alloca() : memref<4x4xf32>
      %none = arith.truncf %zero : f32 to bf16
      %halves = memref.alloca() : memref<4x8xbf16>
      scf.for %i = %z to %c4 step %c1 {{
        vector.store %four, %four2[%i, %z] : memref<4x4xf32>, vector<4xf32>
        %v = vector.broadcast %none : bf16 to vector<8xbf16>
        vector.store %v, %halves[%i, %z] : memref<4x8xbf16>, vector<8xbf16>
      }}
      %wide = vector.broadcast %e : f32 to vector<16xf32>
      %narrow = avx512.truncf %wide : vector<16xf32> -> vector<16xbf16>
      %first_narrow = vector.extract %narrow[0] : bf16 from vector<16xbf16>
      %again = arith.extf %first_narrow : bf16 to f32
      memref.store %again, %four2[%z, %z] : memref<4x4xf32>
      %row = vector.load %halves[%z, %z] : memref<4x8xbf16>, vector<8xbf16>
      %first = vector.load %four2[%z, %z] : memref<4x4xf32>, vector<4xf32>
      %sums = avx512.dot %row, %row, %first : vector<8xbf16>, vector<4xf32>
      vector.store %sums, %four2[%z, %z] : memref<4x4xf32>, vector<4xf32>
      %t = amx.tile_load %four2[%z, %z] : memref<4x4xf32> into {TILE}
      %h = amx.tile_load %halves[%z, %z] : memref<4x8xbf16> into {HALVES}
      %p = amx.tile_mulf %h, %h, %t : {HALVES}, {HALVES}, {TILE}
      amx.tile_store %four2[%z, %z], %p : memref<4x4xf32>, {TILE}
      %q = memref.load %four2[%z, %z] : memref<4x4xf32>
    """,
}
"""How %q comes from %e, in each lane."""

LINALG = """
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @f(%out: memref<2x2xf32>) {
  BEGIN
  %a = memref.alloc() : memref<2x2xf32>
  %b = memref.alloc() : memref<2x2xf32>
  linalg.fill ins(%e : f32) outs(%a : memref<2x2xf32>)
  linalg.fill ins(%zero : f32) outs(%b : memref<2x2xf32>)
  linalg.OP ins(INS) outs(%out : memref<2x2xf32>)
  func.return
}
"""
OF_PROGRAMS = ("batch_matmul", "fill", "generic", "select")
"""Operations of other programs."""
LINALG_OPS = {
    **dict.fromkeys(("add", "sub", "max"), "%a, %b"),
    **dict.fromkeys(("mul", "min", "matmul"), "%a, %a"),
    **dict.fromkeys(("copy", "exp", "log", "sqrt", "softmax dimension(1)"), "%a"),
}
EXEMPT.update(
    (op.name, BODY)
    for op in STRUCTURED
    if op.name.removeprefix("linalg.") not in (*LINALG_OPS, *OF_PROGRAMS)
)
TENSORS = """
func.func @f(%out: memref<2x2xf32>) {
  BEGIN
  %e0 = bufferization.alloc_tensor() : tensor<2x2xf32>
  %a = linalg.fill ins(%e : f32) outs(%e0 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %z = tensor.splat %zero : tensor<2x2xf32>
  %b = tensor.insert_slice %a into %z[0, 0] [2, 2] [1, 1]
    : tensor<2x2xf32> into tensor<2x2xf32>
  %c = tensor.cast %b : tensor<2x2xf32> to tensor<?x2xf32>
  %d = tensor.collapse_shape %c [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %s = tensor.extract_slice %d[0] [2] [1] : tensor<?xf32> to tensor<2xf32>
  %t = tensor.concat dim(0) %s, %s : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %p = tensor.pad %t low[1] high[1] {
  ^bb0(%k: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<6xf32>
  %c1 = arith.constant 1 : index
  %q = tensor.generate {
  ^bb0(%k: index):
    %y = tensor.extract %p[%c1] : tensor<6xf32>
    tensor.yield %y : f32
  } : tensor<6xf32>
  %x = tensor.extract %q[%c1] : tensor<6xf32>
  %f = tensor.from_elements %x, %x, %x, %zero : tensor<4xf32>
  %c3 = arith.constant 3 : index
  %i = tensor.insert %x into %f[%c3] : tensor<4xf32>
  %g = tensor.expand_shape %i [[0, 1]] output_shape [2, 2]
    : tensor<4xf32> into tensor<2x2xf32>
  %two = arith.constant dense<2> : tensor<2xi64>
  %w = tensor.reshape %g(%two) : (tensor<2x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %m = bufferization.to_buffer %w : tensor<2x2xf32> to memref<2x2xf32>
  %n = bufferization.clone %m : memref<2x2xf32> to memref<2x2xf32>
  %h = bufferization.to_tensor %n : memref<2x2xf32> to tensor<2x2xf32>
  %r = scf.forall (%l) in (2) shared_outs(%o = %z) -> (tensor<2x2xf32>) {
    %v = tensor.extract_slice %h[%l, 0] [1, 2] [1, 1]
      : tensor<2x2xf32> to tensor<1x2xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %v into %o[%l, 0] [1, 2] [1, 1]
        : tensor<1x2xf32> into tensor<2x2xf32>
    }
  }
  bufferization.materialize_in_destination %r in writable %out
    : (tensor<2x2xf32>, memref<2x2xf32>) -> ()
  func.return
}
"""
GENERIC = """
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<2x2xf32>) outs(%b : memref<2x2xf32>) {
  ^body(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  %yes = memref.alloc() : memref<2x2xi1>
  %true = arith.constant true
  linalg.fill ins(%true : i1) outs(%yes : memref<2x2xi1>)
  linalg.select ins(%yes, %b, %a : memref<2x2xi1>, memref<2x2xf32>, memref<2x2xf32>)
      outs(%out : memref<2x2xf32>)
"""

TRITON = """
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#t = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @f(%out: !tt.ptr<f32>, %tmp: !tt.ptr<f32>) {
    BEGIN
    %c0 = arith.constant 0 : i32
    %c16 = arith.constant 16 : i32
    %w1 = arith.constant 1 : i64
    %w16 = arith.constant 16 : i64
    %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
    %units = arith.constant dense<1.0> : tensor<16x16xf32>
    %half = arith.constant dense<0.0625> : tensor<16x16xf16>
    %0 = tt.splat %e : f32 -> tensor<16xf32>
    %1 = tt.expand_dims %0 {axis = 0 : i32} : tensor<16xf32> -> tensor<1x16xf32>
    %2 = tt.broadcast %1 : tensor<1x16xf32> -> tensor<16x16xf32>
    %3 = tt.trans %2 {order = array<i32: 1, 0>} : tensor<16x16xf32> -> tensor<16x16xf32>
    %4 = tt.join %3, %3 : tensor<16x16xf32> -> tensor<16x16x2xf32>
    %5, %6 = tt.split %4 : tensor<16x16x2xf32> -> tensor<16x16xf32>
    %7 = tt.reshape %5 : tensor<16x16xf32> -> tensor<256xf32>
    %8 = tt.reshape %7 : tensor<256xf32> -> tensor<16x16xf32>
    %9 = ttg.convert_layout %8 : tensor<16x16xf32> -> tensor<16x16xf32>
    %10 = tt.precise_sqrt %9 : tensor<16x16xf32>
    %11 = tt.precise_divf %10, %units : tensor<16x16xf32>
    %12 = tt.clampf %11, %zeros, %11, propagateNan = none : tensor<16x16xf32>
    %13 = tt.extern_elementwise %12 {libname = "", libpath = "", pure = true,
      symbol = "__nv_fabsf"} : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %14 = tt.dot %half, %half, %13, inputPrecision = tf32
      : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
    %d = tt.make_tensor_descriptor %tmp, [%c16, %c16], [%w16, %w1] : <f32>, <16x16xf32>
    tt.descriptor_store %d[%c0, %c0], %14 : !tt.tensordesc<16x16xf32>, tensor<16x16xf32>
    %rows = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %e1 = tt.make_tensor_descriptor %tmp, [%c16, %c16], [%w16, %w1] : <f32>, <1x16xf32>
    %g = tt.descriptor_gather %e1[%rows, %c0]
      : (!tt.tensordesc<1x16xf32>, tensor<16xi32>, i32) -> tensor<16x16xf32>
    %ones = arith.constant dense<1.0> : tensor<16x32xbf16>
    %others = arith.constant dense<0.0> : tensor<32x16xbf16>
    %s = tt.dot_scaled %ones, %others, %g lhs = bf16 rhs = bf16 {fastMath = false}
      : tensor<16x32xbf16> * tensor<32x16xbf16> -> tensor<16x16xf32>
    tt.descriptor_scatter %e1[%rows, %c0], %s
      : !tt.tensordesc<1x16xf32>, tensor<16xi32>, i32, tensor<16x16xf32>
    tt.descriptor_reduce add, %d[%c0, %c0], %zeros
      : !tt.tensordesc<16x16xf32>, tensor<16x16xf32>
    %15 = tt.descriptor_load %d[%c0, %c0]
      : !tt.tensordesc<16x16xf32> -> tensor<16x16xf32>
    %16 = "tt.reduce"(%15) <{axis = 1 : i32}> ({
    ^bb0(%x: f32, %y: f32):
      %m = arith.maxnumf %x, %y : f32
      tt.reduce.return %m : f32
    }) : (tensor<16x16xf32>) -> tensor<16xf32>
    %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %q = tt.addptr %p, %r : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %q, %16 : tensor<16x!tt.ptr<f32>>
    %17 = tt.load %q : tensor<16x!tt.ptr<f32>>
    %no = arith.constant dense<0.0> : tensor<16xf32>
    %18 = tt.atomic_rmw fadd, relaxed, gpu, %q, %no
      : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> tensor<16xf32>
    %19 = arith.minnumf %17, %18 : tensor<16xf32>
    %mapped = "tt.map_elementwise"(%19) <{pack = 1 : i32}> ({
    ^bb0(%x: f32):
      %m = arith.negf %x : f32
      tt.map_elementwise.return %m : f32
    }) : (tensor<16xf32>) -> tensor<16xf32>
    %back = arith.negf %mapped : tensor<16xf32>
    %20 = tt.fp_to_fp %back : tensor<16xf32> -> tensor<16xf64>
    %21 = arith.truncf %20 : tensor<16xf64> to tensor<16xf32>
    %22 = tt.cat %21, %21 : tensor<16xf32> -> tensor<32xf32>
    %23 = tt.gather %22[%r] {axis = 0 : i32}
      : (tensor<32xf32>, tensor<16xi32>) -> tensor<16xf32>
    %24 = "tt.scan"(%23) <{axis = 0 : i32, reverse = false}> ({
    ^bb0(%x: f32, %y: f32):
      %m = arith.maxnumf %x, %y : f32
      tt.scan.return %m : f32
    }) : (tensor<16xf32>) -> tensor<16xf32>
    %25 = tt.atomic_cas relaxed, gpu, %q, %no, %24
      : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %26 = tt.expand_dims %25 {axis = 0 : i32} : tensor<16xf32> -> tensor<1x16xf32>
    %b = ttg.local_alloc : () -> !ttg.memdesc<1x16xf32, #s, #smem, mutable>
    ttg.local_store %26, %b
      : tensor<1x16xf32> -> !ttg.memdesc<1x16xf32, #s, #smem, mutable>
    %bt = ttg.memdesc_trans %b {order = array<i32: 1, 0>}
      : !ttg.memdesc<1x16xf32, #s, #smem, mutable>
      -> !ttg.memdesc<16x1xf32, #t, #smem, mutable>
    %27 = ttg.local_load %bt
      : !ttg.memdesc<16x1xf32, #t, #smem, mutable> -> tensor<16x1xf32>
    %28 = "tt.reduce"(%27) <{axis = 0 : i32}> ({
    ^bb0(%x: f32, %y: f32):
      %m = arith.minnumf %x, %y : f32
      tt.reduce.return %m : f32
    }) : (tensor<16x1xf32>) -> tensor<1xf32>
    %29 = tt.unsplat %28 : tensor<1xf32>
    %30 = tt.splat %29 : f32 -> tensor<16xf32>
    tt.store %q, %30 : tensor<16x!tt.ptr<f32>>
    tt.return
  }
}
"""

INEXACT = """
  %unit = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %three = arith.constant 3.0 : f32
  %third = arith.divf %unit, %three : f32
  %e = arith.mulf %third, %three : f32
"""
EXACT = INEXACT.replace("%third, %three", "%unit, %unit")
LANES = """
  %z = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %four = arith.constant dense<0.0> : vector<4xf32>
  %lane = simt.lane_id : index
  %is0 = arith.cmpi eq, %lane, %z : index
  %own = memref.alloca() : memref<4xf32>
  %half = arith.constant 0.5 : f32
  %near = arith.mulf %e, %half : f32
"""


def names(dialect: str) -> set[str]:
    """Return the operations in the tables of a dialect."""
    import_functions(dialect)
    return {op.name for op in IMPLEMENTATIONS if op.dialect_name() == dialect}


def functions() -> dict[str, str]:
    """Return programs for the functions of one, two or three floats."""
    found: dict[str, str] = {}
    for name in names("arith") | names("math") | names("llvm"):
        short = name.partition(".")[2]
        alike = {short, short.removesuffix("f"), short.removeprefix("f")}
        if (
            name in EXEMPT
            or short in ("truncf", "extf")
            or not alike & set(FLOAT_FUNCTIONS)
        ):
            continue
        operand = "%near" if "round" in short else "%e"
        several = 3 if short == "fma" else 2 if short in FUNCTIONS_OF_SEVERAL else 1
        found[name] = f"%q = {name} {', '.join([operand] * several)} : f32"
    return found


def parsed(text: str) -> ModuleOp:
    """Return a module that may have every operation."""
    universe = everything()
    return parse(new_context(universe), Source(text, "test"))


def lanes(body: str, begin: str) -> ModuleOp:
    """Return a kernel that writes the %q of each of four lanes to %out."""
    return parsed(
        f"""
        "memref.global"() <{{sym_name = "table", type = memref<4xf32>,
          sym_visibility = "private", initial_value = dense<0.0> : tensor<4xf32>}}>
          : () -> ()
        func.func @same(%x: f32) -> f32 {{
          func.return %x : f32
        }}
        func.func @f(%out: memref<4xf32>) attributes {{simt.kernel,
            simt.subgroup_size = 4 : i32, simt.grid = affine_map<() -> (1)>}} {{
          {begin}
          {LANES}
          {body}
          memref.store %q, %out[%lane] : memref<4xf32>
          func.return
        }}
        """
    )


def linalg(op: str, begin: str) -> ModuleOp:
    """Return a function of `linalg` on all elements of %out."""
    text = LINALG.replace("BEGIN", begin)
    if op == "generic":
        line = "  linalg.OP ins(INS) outs(%out : memref<2x2xf32>)\n"
        return parsed(text.replace(line, GENERIC))
    given = LINALG_OPS[op]
    types = ", ".join(["memref<2x2xf32>"] * len(given.split(", ")))
    return parsed(text.replace("OP", op).replace("INS", f"{given} : {types}"))


def triton(begin: str) -> ModuleOp:
    return with_functions(parsed(TRITON.replace("BEGIN", begin)))


def programs(begin: str) -> dict[str, tuple[ModuleOp, list[Any]]]:
    """Return all programs that begin like that, with arguments."""
    four, square = (np.zeros(size, np.float32) for size in (4, (2, 2)))
    found: dict[str, tuple[ModuleOp, list[Any]]] = {
        name: (lanes(body, begin), [four.copy()])
        for name, body in (functions() | PROGRAMS).items()
    }
    for op in (*LINALG_OPS, "generic"):
        found[f"linalg.{op}"] = linalg(op, begin), [square.copy()]
    found["tensors"] = parsed(TENSORS.replace("BEGIN", begin)), [square.copy()]
    out, tmp = np.zeros(16, np.float32), np.zeros(256, np.float32)
    batch = LINALG.replace("BEGIN", begin).replace("2x2", "2x2x2")
    batch = batch.replace("OP", "batch_matmul").replace(
        "INS", "%a, %a : memref<2x2x2xf32>, memref<2x2x2xf32>"
    )
    found["batch"] = parsed(batch), [np.zeros((2, 2, 2), np.float32)]
    found["triton"] = triton(begin), [out, tmp]
    return found


def bounds(module: ModuleOp, arguments: list[Any]) -> Any:
    """Return the bounds of what a program leaves in its first argument."""
    run = simulate(module, "f", arguments, track=Inputs.EXACT, grid=(1,))
    return run.errors[0]


def test_bounds_go_all_the_way() -> None:
    used: set[str] = set()
    exact = programs(EXACT)
    for name, (module, arguments) in programs(INEXACT).items():
        used |= {op.name for op in module.walk()}
        least = bounds(*exact[name])
        found = bounds(module, arguments)
        assert (found > least).all(), name
    tables = set[str]().union(*(names(dialect) for dialect in DIALECTS))
    assert tables - used - set(EXEMPT) == set()
    assert set(EXEMPT) <= tables


LOSING = {
    "bits": "%i = arith.bitcast %e : f32 to i32\n%q = arith.bitcast %i : i32 to f32",
    "halves": """
      %v = vector.broadcast %e : f32 to vector<1xf32>
      %h = vector.bitcast %v : vector<1xf32> to vector<2xf16>
      %b = vector.bitcast %h : vector<2xf16> to vector<1xf32>
      %q = vector.extract %b[0] : f32 from vector<1xf32>
    """,
    "whole_numbers": """
      %i = arith.fptosi %e : f32 to i32
      %q = arith.sitofp %i : i32 to f32
    """,
    "comparisons": """
      %c = arith.cmpf olt, %e, %unit : f32
      %q = arith.select %c, %zero, %unit : f32
    """,
    "another_type_in_memory": f"""
      %m = coopmatrix.fill %e : f32 -> {ACC}
      %slm = memref.alloca() : {SLM}
      coopmatrix.store %m, %slm[%z, %z] row_major : {ACC}, {SLM}
      simt.barrier workgroup
      %h = coopmatrix.load %slm[%z, %z] row_major
         : {SLM} -> !coopmatrix.matrix<4x4xf16, acc>
      %x = coopmatrix.extract %h[%z] : !coopmatrix.matrix<4x4xf16, acc>
      %q = arith.extf %x : f16 to f32
    """,
}


@pytest.mark.parametrize("name", LOSING)
def test_what_loses_bounds_says_so(name: str) -> None:
    for begin in (INEXACT, EXACT):
        module = lanes(LOSING[name], begin)
        run = simulate(module, "f", [np.zeros(4, np.float32)], track=Inputs.EXACT)
        assert run.lost_errors == (begin == INEXACT)
