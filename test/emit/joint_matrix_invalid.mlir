// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'spirv{device=bmg}' | filecheck %s

// Checked accesses that are no 2D blocks, and stores that Intel's compiler does not take.

// CHECK: coopmatrix.load: expected 1, 2, 4, 8, 16 or 32 rows, which bmg checks, got 3: legalize-coopmatrix-khr stages it
func.func @rows(%m: memref<64x64xf16>, %i: index) attributes {simt.kernel} {
  %a = coopmatrix.load %m[%i, %i] row_major checked(rows) : memref<64x64xf16> -> !coopmatrix.matrix<3x16xf16, a>
  func.return
}

// -----

// CHECK: coopmatrix.load: the pitch{{.*}} expected a pitch that is a multiple of 16, got 104: legalize-coopmatrix-khr stages it
func.func @pitch(%m: memref<52x52xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major checked(rows) : memref<52x52xf16> -> !coopmatrix.matrix<8x16xf16, a>
  func.return
}

// -----

// CHECK: coopmatrix.load: {{.*}} a column that is a multiple of 1 elements of 16 bits, expected one of 4 bytes: legalize-coopmatrix-khr stages it
func.func @column(%m: memref<64x64xf16>, %i: index) attributes {simt.kernel} {
  %a = coopmatrix.load %m[%i, %i] row_major checked(rows) : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  func.return
}

// -----

// CHECK: coopmatrix.load: expected memory of known sizes, or simt.conditions of them as for 2D blocks, got memref<?x64xf16>: legalize-coopmatrix-khr stages it
func.func @sizes(%m: memref<?x64xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major checked(rows) : memref<?x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
  func.return
}

// -----

// CHECK: coopmatrix.store: expected a row_major matrix of a or acc, as bmg stores no other with checks, got !coopmatrix.matrix<8x16xf32, acc> in col_major: legalize-coopmatrix-khr stages it
func.func @store(%m: memref<64x64xf32>, %z: f32) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %c = coopmatrix.fill %z : f32 -> !coopmatrix.matrix<8x16xf32, acc>
  coopmatrix.store %c, %m[%0, %0] col_major checked(rows) : !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
  func.return
}
