// RUN: coopc-opt %s -p 'distribute-coopmatrix{subgroup-size=1 block-access=false},normalize' | filecheck %s
// RUN: coopc-opt %s -p 'distribute-coopmatrix{subgroup-size=1 block-access=false sums=384},normalize' | filecheck %s --check-prefix WIDE

// One lane that has whole matrices multiplies them through memory of its own, a few rows
// and vectors at a time: 6 x 16 sums are 12 registers of AVX2. Two rows are left over.
// CHECK-LABEL: func.func @one(
// CHECK:         %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x32xf32>
// CHECK:         scf.for %i = %{{.*}} to %c5 step
// CHECK-COUNT-6:   vector.load %[[SUMS]][%{{.*}}] : memref<32x32xf32>, vector<16xf32>
// CHECK:           scf.for %k = %{{.*}} to %c32 step %{{.*}} iter_args(
// CHECK:             vector.load
// CHECK-COUNT-6:     vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK-NOT:         vector.shuffle
// CHECK-COUNT-6:   vector.store %{{.*}}, %[[SUMS]]
// CHECK:         } {simt.unroll = false}
// CHECK-COUNT-2:   vector.load %[[SUMS]][%{{.*}}] : memref<32x32xf32>, vector<16xf32>
// CHECK:         scf.for %{{.*}} to %c32 step
// AVX-512 has registers for twelve rows of two vectors.
// WIDE-LABEL: func.func @one(
// WIDE:         scf.for %i = %{{.*}} to %c2 step
// WIDE-COUNT-24:  vector.load %{{.*}} : memref<32x32xf32>, vector<16xf32>
// WIDE:           scf.for %k
func.func @one(%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%c0, %c0] row_major : memref<32x32xf32> -> !coopmatrix.matrix<32x32xf32, a>
  %y = coopmatrix.load %b[%c0, %c0] row_major : memref<32x32xf32> -> !coopmatrix.matrix<32x32xf32, b>
  %z = coopmatrix.load %c[%c0, %c0] row_major : memref<32x32xf32> -> !coopmatrix.matrix<32x32xf32, acc>
  %d = coopmatrix.mul_add %x, %y, %z : !coopmatrix.matrix<32x32xf32, a>, !coopmatrix.matrix<32x32xf32, b>, !coopmatrix.matrix<32x32xf32, acc> -> !coopmatrix.matrix<32x32xf32, acc>
  coopmatrix.store %d, %c[%c0, %c0] row_major : !coopmatrix.matrix<32x32xf32, acc>, memref<32x32xf32>
  func.return
}

// A short product is written out.
// CHECK-LABEL: func.func @short(
// CHECK-NOT:     memref.alloca
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @short(%a: memref<4x4xf32>, %b: memref<4x16xf32>, %c: memref<4x16xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%c0, %c0] row_major : memref<4x4xf32> -> !coopmatrix.matrix<4x4xf32, a>
  %y = coopmatrix.load %b[%c0, %c0] row_major : memref<4x16xf32> -> !coopmatrix.matrix<4x16xf32, b>
  %z = coopmatrix.load %c[%c0, %c0] row_major : memref<4x16xf32> -> !coopmatrix.matrix<4x16xf32, acc>
  %d = coopmatrix.mul_add %x, %y, %z : !coopmatrix.matrix<4x4xf32, a>, !coopmatrix.matrix<4x16xf32, b>, !coopmatrix.matrix<4x16xf32, acc> -> !coopmatrix.matrix<4x16xf32, acc>
  coopmatrix.store %d, %c[%c0, %c0] row_major : !coopmatrix.matrix<4x16xf32, acc>, memref<4x16xf32>
  func.return
}
