// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' | filecheck %s
// VALID: lavapipe

// A matrix each element of which is a specialization constant is a constant itself.

// CHECK: %V = OpSpecConstant %uint 5
// CHECK: %[[X:.*]] = OpSpecConstantComposite %coopmat_uint_{{.*}} %V
// CHECK: OpCooperativeMatrixStoreKHR %{{.*}} %[[X]]

coopmatrix.spec_constant @V = 5 : i32
func.func @k(%o: memref<8x8xi32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %v = coopmatrix.spec_value @V
  %i = arith.index_cast %v : index to i32
  %x = coopmatrix.fill %i : i32 -> !coopmatrix.matrix<8x8xi32, acc>
  coopmatrix.store %x, %o[%0, %0] row_major : !coopmatrix.matrix<8x8xi32, acc>, memref<8x8xi32>
  func.return
}
