// RUN: coopc-opt %s -p 'set-target{device=intel-cpu},distribute-coopmatrix{subgroup-size=4},normalize' | filecheck %s

// Intel's runtime for CPUs gathers what lanes read each at a place of its own: so all
// lanes read all rows of a factor, and each selects its own.
func.func @rows(%a: memref<?x?xf32>, %b: memref<4x16xf32>, %c: !coopmatrix.matrix<4x16xf32, acc>) -> !coopmatrix.matrix<4x16xf32, acc> {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : memref<?x?xf32> -> !coopmatrix.matrix<4x4xf32, a>
  %y = coopmatrix.load %b[%z, %z] row_major : memref<4x16xf32> -> !coopmatrix.matrix<4x16xf32, b>
  %v = coopmatrix.mul_add %x, %y, %c : !coopmatrix.matrix<4x4xf32, a>, !coopmatrix.matrix<4x16xf32, b>, !coopmatrix.matrix<4x16xf32, acc>
  func.return %v : !coopmatrix.matrix<4x16xf32, acc>
}
// CHECK-LABEL: func.func @rows
// CHECK-COUNT-4: vector.load %a[%{{.*}}, %z] : memref<?x?xf32>, vector<4xf32>
// CHECK-COUNT-3: arith.select {{.*}} : vector<4xf32>
// CHECK-COUNT-4: vector.load %b[%{{.*}}, %z] : memref<4x16xf32>, vector<16xf32>
// CHECK-COUNT-3: arith.select {{.*}} : vector<16xf32>
// CHECK-NOT: vector.load

// A tile has as many sums as there are registers, and reads its factors in a loop
// along K.  16 rows of 32 sums are two tiles of 8 rows.  A store to a factor waits.
func.func @product(%a: memref<16x32xf32>, %b: memref<32x32xf32>) attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %o = arith.constant 0.0 : f32
  %x = coopmatrix.load %a[%z, %z] row_major : memref<16x32xf32> -> !coopmatrix.matrix<16x32xf32, a>
  %y = coopmatrix.load %b[%z, %z] row_major : memref<32x32xf32> -> !coopmatrix.matrix<32x32xf32, b>
  %w = coopmatrix.fill %o : f32 -> !coopmatrix.matrix<16x32xf32, acc>
  %v = coopmatrix.mul_add %x, %y, %w : !coopmatrix.matrix<16x32xf32, a>, !coopmatrix.matrix<32x32xf32, b>, !coopmatrix.matrix<16x32xf32, acc>
  coopmatrix.store %v, %a[%z, %z] row_major : !coopmatrix.matrix<16x32xf32, acc>, memref<16x32xf32>
  func.return
}
// CHECK-LABEL: func.func @product
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %c4 step %c1 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-COUNT-8: vector.load %a[{{.*}}] : memref<16x32xf32>, vector<8xf32>
// CHECK-COUNT-16: vector.load %b[{{.*}}] : memref<32x32xf32>, vector<16xf32>
// CHECK-COUNT-32: arith.mulf {{.*}} : vector<16xf32>
// CHECK: scf.for
// CHECK-COUNT-32: arith.mulf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.mulf
// CHECK: simt.barrier subgroup
// CHECK: vector.store
