// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file -p coopc-amx | filecheck %s

// What a processor with AMX does not run: one diagnostic each, status 1, at the
// operation that it is about.

// Tiles over the limits.
func.func @rows() {
  %z = amx.tile_zero : !amx.tile<17x16xf32>
  func.return
}
// CHECK: expected 1 to 16 rows, which a tile has, got 17

// -----

// Rows of a tile are whole channels.
func.func @row(%m: memref<8x8xf16>, %i: index) {
  %x = amx.tile_load %m[%i, %i] : memref<8x8xf16> into !amx.tile<8x5xf16>
  func.return
}
// CHECK: expected a row of at most 64 bytes, a multiple of 4, got 10

// -----

// Strides: elements of a row are consecutive.
func.func @stride(%m: memref<8x8xf32, strided<[1, 8]>>, %i: index) {
  %x = amx.tile_load %m[%i, %i] : memref<8x8xf32, strided<[1, 8]>> into !amx.tile<8x8xf32>
  func.return
}
// CHECK: expected a memref with a stride of 1 in its last dimension, got memref<8x8xf32, strided<[1, 8]>>

// -----

// Element types that AMX lacks.
func.func @element(%m: memref<8x8xf64>) attributes {simt.kernel} {
  %i = arith.constant 0 : index
  %x = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf64> -> !coopmatrix.matrix<8x8xf64, acc>
  coopmatrix.store %x, %m[%i, %i] row_major : !coopmatrix.matrix<8x8xf64, acc>, memref<8x8xf64>
  func.return
}
// CHECK: expected elements of f32, f16, bf16, i32 or i8, which tiles of AMX hold, got !coopmatrix.matrix<8x8xf64, acc>

// -----

func.func @product(%m: memref<8x8xf32>) attributes {simt.kernel} {
  %i = arith.constant 0 : index
  %a = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, a>
  %b = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, b>
  %c = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x8xf32, a>, !coopmatrix.matrix<8x8xf32, b>, !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %d, %m[%i, %i] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}
// CHECK: AMX multiplies bf16 * bf16 + f32, f16 * f16 + f32 and i8 * i8 + i32, got f32 * f32 + f32 -> f32

// -----

// Matrices that differ between lanes.
func.func @varying(%m: memref<8x8xf32>) attributes {simt.kernel} {
  %i = arith.constant 0 : index
  %lane = simt.lane_id : index
  %x = coopmatrix.load %m[%lane, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %x, %m[%i, %i] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}
// CHECK: expected position 0 to be the same for all lanes of the subgroup, got a value that may differ between lanes

// -----

func.func @chosen(%m: memref<8x8xf32>) attributes {simt.kernel} {
  %i = arith.constant 0 : index
  %lane = simt.lane_id : index
  %p = arith.cmpi eq, %lane, %i : index
  scf.if %p {
    %x = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
    coopmatrix.store %x, %m[%i, %i] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  }
  func.return
}
// CHECK: coopmatrix.load: expected control flow that is the same for all lanes of the subgroup, got control flow that may differ between lanes

// -----

// Barriers in divergent code, and between subgroups that hold matrices of their own.
func.func @divergent(%m: memref<8xf32>) attributes {simt.kernel, simt.work_group_size = array<i32: 16>} {
  %i = arith.constant 0 : index
  %x = simt.local_id x : index
  %p = arith.cmpi eq, %x, %i : index
  scf.if %p {
    simt.barrier workgroup
  }
  func.return
}
// CHECK: simt.barrier: expected control flow that is the same for all work-items of the work-group, got control flow that may differ between lanes

// -----

func.func @between(%m: memref<8x8xf32>) attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %i = arith.constant 0 : index
  %x = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  simt.barrier workgroup
  coopmatrix.store %x, %m[%i, %i] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}
// CHECK: simt.barrier is not supported between subgroups: one core runs the 2 subgroups of a work-group one after the other; use work-groups of one subgroup
