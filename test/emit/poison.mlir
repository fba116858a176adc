// RUN: coopc-opt %s -t 'spirv{device=nvidia}' | filecheck %s
// VALID: nvidia

// A value of `ub.poison` is OpUndef: a number, each part of a vector, a matrix.

// CHECK-DAG: %[[MATRIX:.*]] = OpTypeCooperativeMatrixKHR %half
// CHECK-DAG: %[[NUMBER:.*]] = OpUndef %uint
// CHECK-DAG: %[[VECTOR:.*]] = OpUndef %v4float
// CHECK-DAG: %[[ANY:.*]] = OpUndef %[[MATRIX]]

// CHECK: OpStore %{{.*}} %[[NUMBER]]
// CHECK: OpStore %{{.*}} %[[VECTOR]]
// CHECK: OpCooperativeMatrixStoreKHR %{{.*}} %[[ANY]]
func.func @k(%n: memref<4xi32>, %v: memref<4xvector<4xf32>>, %m: memref<16x16xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %number = ub.poison : i32
  %vector = ub.poison : vector<4xf32>
  %any = ub.poison : !coopmatrix.matrix<16x16xf16, a>
  memref.store %number, %n[%0] : memref<4xi32>
  memref.store %vector, %v[%0] : memref<4xvector<4xf32>>
  coopmatrix.store %any, %m[%0, %0] row_major : !coopmatrix.matrix<16x16xf16, a>, memref<16x16xf16>
  func.return
}
