// RUN: coopc-opt %s -p 'coopc-khr{device="%S/Inputs/workgroup.toml"}' -t spirv | filecheck %s
// RUN: coopc-opt %s -p 'coopc-khr{device="%S/Inputs/workgroup.toml"}' -t abi-json | filecheck %s --check-prefix NEEDS
// RUN: coopc-opt %s -p 'coopc-khr{device=nvidia}' -t spirv | filecheck %s
// RUN: not coopc-opt %s -p 'coopc-khr{device=rdna3}' 2>&1 | filecheck %s --check-prefix NONE

// Matrices that four subgroups hold together: a device lists the size of such work-groups,
// and of what sizes those of the matrices are multiples.

// CHECK-DAG: %[[A:.*]] = OpTypeCooperativeMatrixKHR %half %uint_2 %uint_64 %uint_32 %uint_0
// CHECK-DAG: %[[B:.*]] = OpTypeCooperativeMatrixKHR %half %uint_2 %uint_32 %uint_64 %uint_1
// CHECK-DAG: %[[C:.*]] = OpTypeCooperativeMatrixKHR %float %uint_2 %uint_64 %uint_64 %uint_2

// NEEDS: "cooperativeMatrixWorkgroupScope",
// NEEDS-NEXT: "cooperativeMatrixFlexibleDimensions"
// NEEDS: "m": 64,
// NEEDS: "scope": "workgroup"

// NONE: error: coopmatrix.mul_add: expected a matrix of scope subgroup, whose lanes share work-group memory here, got !coopmatrix.matrix<64x32xf16, a, scope = workgroup>; rdna3 has matrices of scope subgroup

!a = !coopmatrix.matrix<64x32xf16, a, scope = workgroup>
!b = !coopmatrix.matrix<32x64xf16, b, scope = workgroup>
!c = !coopmatrix.matrix<64x64xf32, acc, scope = workgroup>
func.func @k(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %k: index)
    attributes {simt.kernel, simt.work_group_size = array<i32: 128>, simt.subgroup_size = 32 : i32} {
  %0 = arith.constant 0 : index
  %32 = arith.constant 32 : index
  %f = arith.constant 0.0 : f32
  %z = coopmatrix.fill %f : f32 -> !c
  // CHECK-NOT: OpControlBarrier
  // CHECK: %x = OpCooperativeMatrixLoadKHR %[[A]]
  // CHECK: %y = OpCooperativeMatrixLoadKHR %[[B]]
  // CHECK: %t = OpCooperativeMatrixMulAddKHR %[[C]] %x %y %s
  %d = scf.for %i = %0 to %k step %32 iter_args(%s = %z) -> (!c) {
    %x = coopmatrix.load %a[%0, %i] row_major : memref<?x?xf16> -> !a
    %y = coopmatrix.load %b[%i, %0] row_major : memref<?x?xf16> -> !b
    %t = coopmatrix.mul_add %x, %y, %s : !a, !b, !c
    scf.yield %t : !c
  }
  // CHECK: %h = OpFNegate %[[C]] %s
  %h = coopmatrix.neg %d : !c
  coopmatrix.store %h, %c[%0, %0] row_major : !c, memref<?x?xf32>
  func.return
}
