// RUN: coopc-opt %s -p 'distribute-coopmatrix{subgroup-size=16}' | filecheck %s

// Matrices become vectors of what a lane holds.

// A 4 x 15 matrix is held as 4 x 16: column 15 is padding, by the matrix's own size.
func.func @padding(%m: memref<8x32xf32>) attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %x = coopmatrix.load %m[%z, %z] row_major : memref<8x32xf32> -> !coopmatrix.matrix<4x15xf32, acc>
  coopmatrix.store %x, %m[%z, %z] row_major : !coopmatrix.matrix<4x15xf32, acc>, memref<8x32xf32>
  func.return
}
// CHECK-LABEL: func.func @padding
// CHECK-SAME: coopmatrix.distribution = #layout.coopmatrix
// CHECK: %[[LANE:.*]] = simt.lane_id : index
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: vector.insert {{.*}} into vector<4xf32>
// CHECK-NOT: coopmatrix.load

// One function a shape multiplies.
func.func @product(%a: !coopmatrix.matrix<16x8xf32, a>, %b: !coopmatrix.matrix<8x4xf32, b>, %c: !coopmatrix.matrix<16x4xf32, acc>) -> !coopmatrix.matrix<16x4xf32, acc> {
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<16x8xf32, a>, !coopmatrix.matrix<8x4xf32, b>, !coopmatrix.matrix<16x4xf32, acc>
  func.return %d : !coopmatrix.matrix<16x4xf32, acc>
}
// CHECK-LABEL: func.func @product
// CHECK-SAME: vector<8xf32>
// CHECK: func.call @mul_add_16x4x8_f32_f32_f32_f32
// CHECK: func.func private @mul_add_16x4x8_f32_f32_f32_f32
// CHECK: simt.broadcast
