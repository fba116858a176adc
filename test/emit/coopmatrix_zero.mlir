// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' | filecheck %s
// VALID: lavapipe

// Where the compiler of a device folds arithmetic with a matrix of zeros, it does not see
// that they are.

// It is before the loop that the number of the lane is used, of which lavapipe then knows
// in the loop that it is constant.
// CHECK-LABEL: %sums = OpFunction
// CHECK:      %[[GROUP:.*]] = OpCompositeExtract %uint %{{.*}} 0
// CHECK:      %[[LANE:.*]] = OpLoad %uint %SubgroupLocalInvocationId
// CHECK-NEXT: %[[EITHER:.*]] = OpBitwiseOr %uint %[[GROUP]] %[[LANE]]
// CHECK-NEXT: %[[BIT:.*]] = OpShiftRightLogical %uint %[[EITHER]] %uint_31
// CHECK-NEXT: %[[ZERO:.*]] = OpConvertUToF %float %[[BIT]]
// CHECK-NEXT: OpCompositeConstruct %{{.*}} %[[ZERO]]
// CHECK:      OpLoopMerge
func.func @sums(%a: memref<8x64xf16>, %b: memref<64x8xf16>, %c: memref<8x8xf32>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  %64 = arith.constant 64 : index
  %none = arith.constant 0.0 : f32
  %zero = coopmatrix.fill %none : f32 -> !coopmatrix.matrix<8x8xf32, acc>
  %sum = scf.for %k = %0 to %64 step %8 iter_args(%acc = %zero)
      -> (!coopmatrix.matrix<8x8xf32, acc>) {
    %x = coopmatrix.load %a[%0, %k] row_major
      : memref<8x64xf16> -> !coopmatrix.matrix<8x8xf16, a>
    %y = coopmatrix.load %b[%k, %0] row_major
      : memref<64x8xf16> -> !coopmatrix.matrix<8x8xf16, b>
    %next = coopmatrix.mul_add %x, %y, %acc
      : !coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>,
        !coopmatrix.matrix<8x8xf32, acc>
    scf.yield %next : !coopmatrix.matrix<8x8xf32, acc>
  }
  coopmatrix.store %sum, %c[%0, %0] row_major
    : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}
