// RUN: coopc-opt %s -p 'coopc-khr{device="%S/Inputs/blocks.toml"}' -t spirv | filecheck %s
// RUN: not coopc-opt %s -p 'coopc-khr{device=nvidia}' 2>&1 | filecheck %s --check-prefix NONE
// RUN: not coopc-opt %s -p 'coopc-lanes{device=nvidia}' 2>&1 | filecheck %s --check-prefix NONE
// RUN: not coopc-opt %s -p 'coopc-xe{device=bmg}' 2>&1 | filecheck %s --check-prefix NONE
// RUN: not coopc-opt %s -p coopc-amx 2>&1 | filecheck %s --check-prefix NONE

// SPV_ARM_cooperative_matrix_layouts: the stride is the number of blocks in a group.

// CHECK: OpCapability CooperativeMatrixLayoutsARM
// CHECK: OpExtension "SPV_ARM_cooperative_matrix_layouts"
// NONE: error: coopmatrix.load: expected a device with row_blocked matrices of !coopmatrix.matrix<16x16xf16, a>: there is no other way to access interleaved blocks
func.func @k(%a: memref<4x64xf16>, %b: memref<16x16xf16>, %c: memref<4x64xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  // CHECK: %x = OpCooperativeMatrixLoadKHR %{{.*}} %{{.*}} %uint_4202 %uint_2
  %x = coopmatrix.load %a[%0, %0] row_blocked interleave = 2 : memref<4x64xf16> -> !coopmatrix.matrix<16x16xf16, a>
  // CHECK: %y = OpCooperativeMatrixLoadKHR %{{.*}} %{{.*}} %uint_0 %uint_16
  %y = coopmatrix.load %b[%0, %0] row_major : memref<16x16xf16> -> !coopmatrix.matrix<16x16xf16, b>
  // CHECK: %z = OpCooperativeMatrixLoadKHR %{{.*}} %{{.*}} %uint_4203 %uint_4
  %z = coopmatrix.load %c[%0, %0] col_blocked interleave = 4 : memref<4x64xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  %d = coopmatrix.mul_add %x, %y, %z : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  // CHECK: OpCooperativeMatrixStoreKHR %{{.*}} %d %uint_4202 %uint_1
  coopmatrix.store %d, %c[%0, %0] row_blocked : !coopmatrix.matrix<16x16xf32, acc>, memref<4x64xf32>
  func.return
}
