// RUN: coopc-opt %s -t 'spirv{device=lavapipe}' | filecheck %s

// A chain of insertions is one variable; what is read is stored where it is made.

// CHECK-LABEL: %loop = OpFunction
// CHECK:       %x = OpCooperativeMatrixLoadKHR
func.func @loop(%a: memref<8x8xf32>, %r: memref<8x8xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK-NEXT: OpStore %[[SOURCE:.*]] %x
  // CHECK-NEXT: %n = OpCooperativeMatrixLengthKHR
  // CHECK-NEXT: OpStore %[[CHAIN:.*]] %x
  %n = coopmatrix.length !coopmatrix.matrix<8x8xf32, acc> : index
  // CHECK:      OpLoopMerge
  // CHECK:      %[[FROM:.*]] = OpAccessChain %{{.*}} %[[SOURCE]] %i
  // CHECK-NEXT: %e = OpLoad %float %[[FROM]]
  // CHECK:      %[[TO:.*]] = OpAccessChain %{{.*}} %[[CHAIN]] %i
  // CHECK-NEXT: OpStore %[[TO]] %f
  %y = scf.for %i = %0 to %n step %1 iter_args(%m = %x) -> (!coopmatrix.matrix<8x8xf32, acc>) {
    %e = coopmatrix.extract %x[%i] : !coopmatrix.matrix<8x8xf32, acc>
    %f = arith.mulf %e, %e : f32
    %q = coopmatrix.insert %f, %m[%i] : !coopmatrix.matrix<8x8xf32, acc>
    scf.yield %q : !coopmatrix.matrix<8x8xf32, acc>
  }
  // CHECK:      %y = OpLoad %{{.*}} %[[CHAIN]]
  coopmatrix.store %y, %r[%0, %0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// What is still read when a loop has replaced it is no part of the chain.

// CHECK-LABEL: %read_later = OpFunction
func.func @read_later(%a: memref<8x8xf32>, %r: memref<8x8xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %n = coopmatrix.length !coopmatrix.matrix<8x8xf32, acc> : index
  // CHECK: %old = OpPhi %{{.*}} %x_0 %{{.*}} %new %{{.*}}
  // CHECK: OpStore %[[READ:.*]] %old
  // CHECK: OpStore %[[NEW:.*]] %old
  %z = scf.for %k = %0 to %n step %1 iter_args(%old = %x) -> (!coopmatrix.matrix<8x8xf32, acc>) {
    %new = scf.for %i = %0 to %n step %1 iter_args(%m = %old) -> (!coopmatrix.matrix<8x8xf32, acc>) {
      %e = coopmatrix.extract %old[%i] : !coopmatrix.matrix<8x8xf32, acc>
      %f = arith.mulf %e, %e : f32
      %q = coopmatrix.insert %f, %m[%i] : !coopmatrix.matrix<8x8xf32, acc>
      scf.yield %q : !coopmatrix.matrix<8x8xf32, acc>
    }
    coopmatrix.store %old, %r[%0, %0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
    // CHECK: %new = OpLoad %{{.*}} %[[NEW]]
    // CHECK: OpCooperativeMatrixStoreKHR %{{.*}} %old
    scf.yield %new : !coopmatrix.matrix<8x8xf32, acc>
  }
  coopmatrix.store %z, %r[%0, %0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}
