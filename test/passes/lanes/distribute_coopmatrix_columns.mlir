// RUN: coopc-opt %s -p 'set-target{device=intel-cpu},distribute-coopmatrix{subgroup-size=16},normalize' --split-input-file | filecheck %s

// Wide sums of 16 lanes or more are scalars.  A lane keeps its row of the first factor,
// of which all lanes read a column at a time; then each loop adds up 4 columns.
func.func @columns(%a: memref<16x8xf32>, %b: memref<8x32xf32>, %c: memref<16x32xf32>) attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %o = arith.constant 0.0 : f32
  %x = coopmatrix.load %a[%z, %z] row_major : memref<16x8xf32> -> !coopmatrix.matrix<16x8xf32, a>
  %y = coopmatrix.load %b[%z, %z] row_major : memref<8x32xf32> -> !coopmatrix.matrix<8x32xf32, b>
  %w = coopmatrix.fill %o : f32 -> !coopmatrix.matrix<16x32xf32, acc>
  %v = coopmatrix.mul_add %x, %y, %w : !coopmatrix.matrix<16x8xf32, a>, !coopmatrix.matrix<8x32xf32, b>, !coopmatrix.matrix<16x32xf32, acc>
  coopmatrix.store %v, %c[%z, %z] row_major : !coopmatrix.matrix<16x32xf32, acc>, memref<16x32xf32>
  func.return
}
// CHECK-LABEL: func.func @columns
// CHECK: %row = memref.alloca() : memref<8xf32, #simt.memory<private>>
// CHECK: scf.for %[[K:.*]] = %z to %c8 step %c1 {
// CHECK-COUNT-16: memref.load %a[%{{.*}}, %[[K]]] : memref<16x8xf32>
// CHECK-COUNT-15: arith.select {{.*}} : f32
// CHECK: memref.store %{{.*}}, %row[%[[K]]]
// CHECK-NEXT: } {simt.unroll = false}
// CHECK: scf.for %[[K1:.*]] = %z to %c8 step %c1 iter_args({{.*}}) -> (f32, f32, f32, f32) {
// CHECK-NEXT: %[[A:.*]] = memref.load %row[%[[K1]]]
// CHECK-NEXT: %[[B:.*]] = memref.load %b[%[[K1]], %z] : memref<8x32xf32>
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[A]], %[[B]] fastmath<contract> : f32
// CHECK-NEXT: arith.addf %{{.*}}, %[[P]] fastmath<contract> : f32
// CHECK-COUNT-3: arith.mulf
// CHECK: } {simt.unroll = false}
// CHECK-COUNT-28: arith.mulf
// CHECK-NOT: arith.mulf

// -----

// Sums that are used otherwise, too, are vectors as before.
func.func @other(%a: memref<16x8xf16>, %b: memref<8x32xf16>, %c: !coopmatrix.matrix<16x32xf32, acc>) -> !coopmatrix.matrix<16x32xf32, acc> {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : memref<16x8xf16> -> !coopmatrix.matrix<16x8xf16, a>
  %y = coopmatrix.load %b[%z, %z] row_major : memref<8x32xf16> -> !coopmatrix.matrix<8x32xf16, b>
  %v = coopmatrix.mul_add %x, %y, %c : !coopmatrix.matrix<16x8xf16, a>, !coopmatrix.matrix<8x32xf16, b>, !coopmatrix.matrix<16x32xf32, acc>
  %w = coopmatrix.neg %v : !coopmatrix.matrix<16x32xf32, acc>
  func.return %w : !coopmatrix.matrix<16x32xf32, acc>
}
// CHECK-LABEL: func.func @other
// CHECK-NOT: memory<private>
// CHECK: arith.mulf {{.*}} : vector<16xf32>
