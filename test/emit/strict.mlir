// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' --split-input-file | filecheck %s

// A driver must not assume that there is no NaN: each of these says so by itself.

// CHECK: OpExecutionMode %quotient SignedZeroInfNanPreserve 32
func.func @quotient(%m: memref<4xf32>, %x: f32) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %y = arith.divf %zero, %x : f32
  memref.store %y, %m[%0] : memref<4xf32>
  func.return
}

// -----

// CHECK: OpExecutionMode %rest SignedZeroInfNanPreserve 32
func.func @rest(%m: memref<4xf32>, %x: f32) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %y = arith.remf %x, %x : f32
  memref.store %y, %m[%0] : memref<4xf32>
  func.return
}

// -----

// CHECK: OpExecutionMode %scaled SignedZeroInfNanPreserve 16
func.func @scaled(%m: memref<8x8xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f16
  %x = coopmatrix.load %m[%0, %0] row_major : memref<8x8xf16> -> !coopmatrix.matrix<8x8xf16, acc>
  %y = coopmatrix.scale %x, %zero : !coopmatrix.matrix<8x8xf16, acc>, f16
  coopmatrix.store %y, %m[%0, %0] row_major : !coopmatrix.matrix<8x8xf16, acc>, memref<8x8xf16>
  func.return
}

// -----

// A product of lanes may be contracted: 0 * NaN is NaN all the same.
// CHECK: OpExecutionMode %contracted SignedZeroInfNanPreserve 32
func.func @contracted(%m: memref<4xf32>, %x: f32) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %y = arith.mulf %zero, %x fastmath<contract> : f32
  memref.store %y, %m[%0] : memref<4xf32>
  func.return
}

// -----

// CHECK-NOT: SignedZeroInfNanPreserve
func.func @allowed(%m: memref<4xf32>, %x: f32) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %y = arith.divf %x, %x fastmath<nnan,ninf,nsz,contract> : f32
  memref.store %y, %m[%0] : memref<4xf32>
  func.return
}
