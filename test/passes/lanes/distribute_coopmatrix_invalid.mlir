// RUN: coopc-opt %s --split-input-file -p 'distribute-coopmatrix{subgroup-size=16}' --verify-diagnostics | filecheck %s
// RUN: not coopc-opt %s -p 'distribute-coopmatrix{subgroup-size=12}' 2>&1 | filecheck %s --check-prefix TWELVE
// RUN: not coopc-opt %s -p 'distribute-coopmatrix{subgroup-size=16 max-vector=5}' 2>&1 | filecheck %s --check-prefix FIVE
// RUN: not coopc-opt %s -p 'distribute-coopmatrix{subgroup-size=1 sums=0}' 2>&1 | filecheck %s --check-prefix SUMS
// RUN: not coopc-opt %root/examples/gemm.mlir -p distribute-coopmatrix 2>&1 | filecheck %s --check-prefix NONE
// RUN: not coopc-opt %root/examples/gemm.mlir -p 'coopc-lanes{device=lavapipe subgroup-size=16}' 2>&1 | filecheck %s --check-prefix LACKS
// RUN: not coopc-opt %root/examples/gemm.mlir -p 'coopc-lanes{device=bmg subgroup-size=8}' 2>&1 | filecheck %s --check-prefix BMG

// What cannot be spread over lanes: where, and in which words.

// TWELVE: error: distribute-coopmatrix: expected a subgroup size that is a power of two up to 64, got 12
// FIVE: error: distribute-coopmatrix: expected vectors of at most 4, 8 or 16 components, got 5
// SUMS: error: distribute-coopmatrix: expected 1 accumulator or more, got 0
// NONE: error: distribute-coopmatrix: expected a subgroup size, distribute-coopmatrix{subgroup-size=..}, simt.subgroup_size on a kernel, or simt.target on the module, got none
// LACKS: error: distribute-coopmatrix: expected subgroups of 8 lanes, as lavapipe has them, got 16
// BMG: error: distribute-coopmatrix: expected subgroups of 16 or 32 lanes, as bmg has them, got 8

coopmatrix.spec_constant @M = 16 : i32
func.func @late(%v: f32) {
  // CHECK: error: coopmatrix.fill: expected sizes that are numbers, as lanes need, got !coopmatrix.matrix<@M x 8 x f32, acc> with @M
  %x = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<@M x 8 x f32, acc>
  func.return
}

// -----

func.func @scope(%v: f32) {
  // CHECK: error: coopmatrix.fill: expected a matrix that a subgroup holds, got scope workgroup
  %x = coopmatrix.fill %v : f32 -> !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  func.return
}

// -----

func.func @width(%v: i4) {
  // CHECK: error: coopmatrix.fill: expected elements of 8, 16, 32 or 64 bits, got i4
  %x = coopmatrix.fill %v : i4 -> !coopmatrix.matrix<8x8xi4, acc>
  func.return
}

// -----

// CHECK: error: func.func: expected coopmatrix.distribution to be #layout.coopmatrix, which lanes hold matrices in, got #layout.row_slice
func.func @slices() attributes {simt.kernel, coopmatrix.distribution = #layout.row_slice} {
  func.return
}

// -----

// CHECK: error: func.func: expected a kernel of 16 lanes, the subgroup size asked for, got 8
func.func @lanes() attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  func.return
}

// -----

// CHECK: error: func.func: expected a work-group size that is a multiple of 16, so that all subgroups are full, got 24 work-items
func.func @full() attributes {simt.kernel, simt.work_group_size = array<i32: 24>, simt.grid = affine_map<() -> (1)>} {
  func.return
}

// -----

func.func @body(%x: !coopmatrix.matrix<8x8xf32, acc>) {
  %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x8xf32, acc> {
    // CHECK: error: coopmatrix.apply: coopmatrix.neg is collective
    %z = coopmatrix.neg %x : !coopmatrix.matrix<8x8xf32, acc>
    coopmatrix.yield %v : f32
  }
  func.return
}

// -----

func.func @slot(%x: !coopmatrix.matrix<16x16xf32, acc>) {
  %c16 = arith.constant 16 : index
  // CHECK: error: coopmatrix.extract: expected a slot below 16, the number of slots of !coopmatrix.matrix<16x16xf32, acc> per lane, over 16 lanes, got 16
  %e = coopmatrix.extract %x[%c16] : !coopmatrix.matrix<16x16xf32, acc>
  func.return
}

// -----

func.func @negative(%x: !coopmatrix.matrix<16x16xf32, acc>, %e: f32) {
  %minus = arith.constant -1 : index
  // CHECK: error: coopmatrix.insert: expected a slot below 16, {{.*}}, got -1
  %y = coopmatrix.insert %e, %x[%minus] : !coopmatrix.matrix<16x16xf32, acc>
  func.return
}

// -----

func.func @narrower(%m: memref<8x16xf32>) {
  %c0 = arith.constant 0 : index
  // CHECK: error: coopmatrix.load: expected memory that holds a whole number of f64, the element type of the matrix, in each element, got memref<8x16xf32>
  %x = coopmatrix.load %m[%c0, %c0] row_major : memref<8x16xf32> -> !coopmatrix.matrix<8x8xf64, acc>
  func.return
}
