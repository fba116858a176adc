// RUN: coopc-opt %s -t 'spirv{device="%S/Inputs/every_matrix.toml"}' | filecheck %s

// What SPV_KHR_cooperative_matrix has instructions and operands for.

// CHECK:     OpCapability CooperativeMatrixKHR
// CHECK:     OpExtension "SPV_KHR_cooperative_matrix"

// CHECK-LABEL: %conversions = OpFunction
func.func @conversions(%f: memref<8x8xf32>, %i: memref<8x8xi32>, %b: memref<8x8xi8>,
                       %h: memref<8x8xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %f[%0, %0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %y = coopmatrix.load %i[%0, %0] row_major : memref<8x8xi32> -> !coopmatrix.matrix<8x8xi32, acc>
  %z = coopmatrix.load %b[%0, %0] row_major : memref<8x8xi8> -> !coopmatrix.matrix<8x8xi8, acc>
  // CHECK: OpConvertFToU %{{.*}} %x
  %fu = coopmatrix.convert %x : !coopmatrix.matrix<8x8xf32, acc> -> !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: OpConvertFToS %{{.*}} %x
  %fs = coopmatrix.convert signed %x : !coopmatrix.matrix<8x8xf32, acc> -> !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: %[[SIGNED:.*]] = OpBitcast %{{.*}} %y
  // CHECK: OpConvertSToF %{{.*}} %[[SIGNED]]
  %sf = coopmatrix.convert signed %y : !coopmatrix.matrix<8x8xi32, acc> -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: OpConvertUToF %{{.*}} %y
  %uf = coopmatrix.convert %y : !coopmatrix.matrix<8x8xi32, acc> -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: OpUConvert %{{.*}} %z
  %uu = coopmatrix.convert %z : !coopmatrix.matrix<8x8xi8, acc> -> !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: %[[BYTES:.*]] = OpBitcast %{{.*}} %z
  // CHECK: OpSConvert %{{.*}} %[[BYTES]]
  %ss = coopmatrix.convert signed %z : !coopmatrix.matrix<8x8xi8, acc> -> !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: OpFConvert %{{.*}} %x
  %ff = coopmatrix.convert %x : !coopmatrix.matrix<8x8xf32, acc> -> !coopmatrix.matrix<8x8xf16, acc>
  coopmatrix.store %fu, %i[%0, %0] row_major : !coopmatrix.matrix<8x8xi32, acc>, memref<8x8xi32>
  coopmatrix.store %fs, %i[%0, %0] row_major : !coopmatrix.matrix<8x8xi32, acc>, memref<8x8xi32>
  coopmatrix.store %sf, %f[%0, %0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  coopmatrix.store %uf, %f[%0, %0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  coopmatrix.store %uu, %i[%0, %0] row_major : !coopmatrix.matrix<8x8xi32, acc>, memref<8x8xi32>
  coopmatrix.store %ss, %i[%0, %0] row_major : !coopmatrix.matrix<8x8xi32, acc>, memref<8x8xi32>
  coopmatrix.store %ff, %h[%0, %0] row_major : !coopmatrix.matrix<8x8xf16, acc>, memref<8x8xf16>
  func.return
}

// CHECK-LABEL: %floats = OpFunction
func.func @floats(%f: memref<8x8xf32>, %s: f32) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %f[%0, %0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: OpFNegate %coopmat
  %a = coopmatrix.neg %x : !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: OpFAdd %coopmat
  %b = coopmatrix.add %a, %x : !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: OpFSub %coopmat
  %c = coopmatrix.sub %b, %x : !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: OpFMul %coopmat
  %d = coopmatrix.mul %c, %x : !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: OpFDiv %coopmat
  %e = coopmatrix.div %d, %x : !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: OpMatrixTimesScalar %coopmat{{.*}} %s{{$}}
  %g = coopmatrix.scale %e, %s : !coopmatrix.matrix<8x8xf32, acc>, f32
  coopmatrix.store %g, %f[%0, %0] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}

// CHECK-LABEL: %integers = OpFunction
func.func @integers(%i: memref<8x8xi32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %i[%0, %0] row_major : memref<8x8xi32> -> !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: OpSNegate %coopmat
  %a = coopmatrix.neg %x : !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: OpIAdd %coopmat
  %b = coopmatrix.add %a, %x : !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: OpISub %coopmat
  %c = coopmatrix.sub %b, %x : !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: OpIMul %coopmat
  %d = coopmatrix.mul %c, %x : !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: OpSDiv %coopmat
  %e = coopmatrix.div signed %d, %x : !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: OpUDiv %coopmat
  %g = coopmatrix.div %e, %x : !coopmatrix.matrix<8x8xi32, acc>
  coopmatrix.store %g, %i[%0, %0] row_major : !coopmatrix.matrix<8x8xi32, acc>, memref<8x8xi32>
  func.return
}

// CHECK-LABEL: %saturation = OpFunction
func.func @saturation(%m: memref<8x8xi8>, %i: memref<8x8xi32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major : memref<8x8xi8> -> !coopmatrix.matrix<8x8xi8, a>
  %b = coopmatrix.load %m[%0, %0] row_major : memref<8x8xi8> -> !coopmatrix.matrix<8x8xi8, b>
  %c = coopmatrix.load %i[%0, %0] row_major : memref<8x8xi32> -> !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: OpCooperativeMatrixMulAddKHR %{{.*}} %{{.*}} %{{.*}} %{{.*}} SaturatingAccumulationKHR{{$}}
  %d = coopmatrix.mul_add %a, %b, %c saturating : !coopmatrix.matrix<8x8xi8, a>, !coopmatrix.matrix<8x8xi8, b>, !coopmatrix.matrix<8x8xi32, acc>
  // CHECK: OpCooperativeMatrixMulAddKHR %{{.*}} %{{.*}} %{{.*}} %{{.*}} MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR|MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR|SaturatingAccumulationKHR{{$}}
  %e = coopmatrix.mul_add %a, %b, %d signed(a, b, c, result) saturating : !coopmatrix.matrix<8x8xi8, a>, !coopmatrix.matrix<8x8xi8, b>, !coopmatrix.matrix<8x8xi32, acc>
  coopmatrix.store %e, %i[%0, %0] row_major : !coopmatrix.matrix<8x8xi32, acc>, memref<8x8xi32>
  func.return
}

// What one work-item wrote, made visible to a load, and available after a store.
// CHECK-LABEL: %pointers = OpFunction
func.func @pointers(%m: memref<8x8xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  // CHECK: OpCooperativeMatrixLoadKHR %{{.*}} %uint_0 %uint_8 MakePointerVisible|NonPrivatePointer %uint_5
  %x = coopmatrix.load %m[%0, %0] row_major visible = device : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  // CHECK: OpCooperativeMatrixStoreKHR %{{.*}} %x{{.*}} %uint_0 %uint_8 MakePointerAvailable|NonPrivatePointer %uint_5
  coopmatrix.store %x, %m[%0, %0] row_major available = device : !coopmatrix.matrix<8x8xf32, acc>, memref<8x8xf32>
  func.return
}
