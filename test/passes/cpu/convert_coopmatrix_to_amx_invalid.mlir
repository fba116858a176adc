// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file -p convert-coopmatrix-to-amx | filecheck %s

// What tiles of AMX cannot do: each operation is named, and nothing is changed.

func.func @element(%m: memref<8x8xf64>, %i: index) {
  %x = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf64> -> !coopmatrix.matrix<8x8xf64, acc>
  func.return
}
// CHECK: expected elements of f32, f16, bf16, i32 or i8, which tiles of AMX hold, got !coopmatrix.matrix<8x8xf64, acc>

// -----

func.func @scope(%m: memref<8x8xf32>, %i: index) {
  %x = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  func.return
}
// CHECK: expected a matrix of a subgroup, which is a core, got !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>

// -----

func.func @size(%m: memref<8x8xf32>, %i: index) {
  %x = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<@M x 8 x f32, acc>
  func.return
}
coopmatrix.spec_constant @M = 8 : i32
// CHECK: expected static sizes, to split into tiles, got !coopmatrix.matrix<@M x 8 x f32, acc>

// -----

coopmatrix.spec_constant @M = 8 : i32
// CHECK: coopmatrix.spec_constant: expected coopc-khr: only modules of SPIR-V are specialized

// -----

func.func @formats(%a: !coopmatrix.matrix<8x8xf16, a>) {
  func.return
}
// CHECK: tiles of AMX cannot be passed to functions, or returned, got !coopmatrix.matrix<8x8xf16, a>

// -----

func.func @f32_product(%m: memref<8x8xf32>, %i: index) {
  %a = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, a>
  %b = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, b>
  %c = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x8xf32, a>, !coopmatrix.matrix<8x8xf32, b>, !coopmatrix.matrix<8x8xf32, acc>
  func.return
}
// CHECK: AMX multiplies bf16 * bf16 + f32, f16 * f16 + f32 and i8 * i8 + i32, got f32 * f32 + f32 -> f32

// -----

func.func @saturating(%m: memref<8x8xi8>, %n: memref<8x8xi32>, %i: index) {
  %a = coopmatrix.load %m[%i, %i] row_major : memref<8x8xi8> -> !coopmatrix.matrix<8x8xi8, a>
  %b = coopmatrix.load %m[%i, %i] row_major : memref<8x8xi8> -> !coopmatrix.matrix<8x8xi8, b>
  %c = coopmatrix.load %n[%i, %i] row_major : memref<8x8xi32> -> !coopmatrix.matrix<8x8xi32, acc>
  %d = coopmatrix.mul_add %a, %b, %c signed(result) saturating : !coopmatrix.matrix<8x8xi8, a>, !coopmatrix.matrix<8x8xi8, b>, !coopmatrix.matrix<8x8xi32, acc>
  func.return
}
// CHECK: accumulators of AMX wrap around, they do not saturate

// -----

func.func @volatile(%m: memref<8x8xf32>, %i: index) {
  %c = coopmatrix.load %m[%i, %i] row_major volatile : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}
// CHECK: AMX has no volatile access to memory

// -----

func.func @work_item(%m: memref<8x8xf32>, %i: index) -> f32 {
  %c = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %e = coopmatrix.extract %c[%i] : !coopmatrix.matrix<8x8xf32, acc>
  func.return %e : f32
}
// CHECK: coopmatrix.extract is of one work-item: expected row slices, as resolve-subgroup-wi-call makes them

// -----

func.func @fill(%p: memref<f32>) {
  %c = coopmatrix.fill %p : memref<f32> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}
// CHECK: expected a value of f32, the element type, as resolve-matrix-fill makes it, got memref<f32>

// -----

func.func @stored(%m: memref<8x8xf32>, %t: memref<2x!coopmatrix.matrix<8x8xf32, acc>>, %i: index) {
  %c = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  memref.store %c, %t[%i] : memref<2x!coopmatrix.matrix<8x8xf32, acc>>
  func.return
}
// CHECK: there is no rule for memref.store on tiles, got !coopmatrix.matrix<8x8xf32, acc>

// -----

func.func @reduced(%m: memref<8x8xf32>, %i: index) {
  %c = coopmatrix.load %m[%i, %i] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %d = coopmatrix.reduce add rows %c : !coopmatrix.matrix<8x8xf32, acc> -> !coopmatrix.matrix<8x1xf32, acc>
  func.return
}
// CHECK: coopmatrix.reduce: expected rows broadcast, got rows{{$}}
