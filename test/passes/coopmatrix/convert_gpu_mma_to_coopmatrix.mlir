// RUN: coopc-opt %s -p convert-gpu-mma-to-coopmatrix,check-dominance | filecheck %s
// RUN: coopc-opt %s -p 'convert-gpu-mma-to-coopmatrix{subgroup-size=8},coopc-khr{device=lavapipe}' -t spirv | filecheck %s --check-prefix SPIRV

// Kernels as mlir-opt prints them.

// CHECK-NOT:  gpu.
// CHECK:      func.func @mm(%a: memref<?x80xf16>, %b: memref<?x80xf16>, %c: memref<?x32xf32>, %k: index)
// CHECK-SAME: simt.kernel
// CHECK-SAME: simt.work_group_size = array<i32: 8, 1, 1>
// CHECK:        %bx = simt.workgroup_id x
// CHECK:        %init = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<16x16xf32, acc>
// CHECK:        %acc = scf.for %i = %c0 to %k step %c16 iter_args(%s = %init) -> (!coopmatrix.matrix<16x16xf32, acc>)
// CHECK-NEXT:     %x = coopmatrix.load %a[%row, %i] row_major : memref<?x80xf16> -> !coopmatrix.matrix<16x16xf16, a>
// CHECK-NEXT:     %y = coopmatrix.load %b[%col, %i] col_major : memref<?x80xf16> -> !coopmatrix.matrix<16x16xf16, b>
// CHECK-NEXT:     %n = coopmatrix.mul_add %x, %y, %s :
// CHECK:        %e = coopmatrix.mul %acc, %acc : !coopmatrix.matrix<16x16xf32, acc>
// CHECK-NEXT:   %h = coopmatrix.load %a[%c0, %c0] row_major :
// CHECK-NEXT:   %w = coopmatrix.convert %h : !coopmatrix.matrix<16x16xf16, acc> -> !coopmatrix.matrix<16x16xf32, acc>
// CHECK-NEXT:   %v = coopmatrix.extract %w[%c0] : !coopmatrix.matrix<16x16xf32, acc>
// CHECK-NEXT:   %u = coopmatrix.insert %v, %e[%c0] : !coopmatrix.matrix<16x16xf32, acc>
// CHECK-NEXT:   simt.barrier workgroup
// CHECK-NEXT:   coopmatrix.store %u, %c[%row, %col] row_major :
// CHECK-NEXT:   func.return
// SPIRV: OpEntryPoint GLCompute %mm "mm"
// SPIRV: OpCooperativeMatrixMulAddKHR
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @mm(%a: memref<?x80xf16>, %b: memref<?x80xf16>, %c: memref<?x32xf32>, %k: index) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %bx = gpu.block_id  x
      %by = gpu.block_id  y
      %row = arith.muli %by, %c16 : index
      %col = arith.muli %bx, %c16 : index
      %zero = arith.constant 0.0 : f32
      %init = gpu.subgroup_mma_constant_matrix %zero : !gpu.mma_matrix<16x16xf32, "COp">
      %acc = scf.for %i = %c0 to %k step %c16 iter_args(%s = %init) -> (!gpu.mma_matrix<16x16xf32, "COp">) {
        %x = gpu.subgroup_mma_load_matrix %a[%row, %i] {leadDimension = 80 : index} : memref<?x80xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
        %y = gpu.subgroup_mma_load_matrix %b[%col, %i] {leadDimension = 80 : index, transpose} : memref<?x80xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
        %n = gpu.subgroup_mma_compute %x, %y, %s {b_transpose} : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
        scf.yield %n : !gpu.mma_matrix<16x16xf32, "COp">
      }
      %e = gpu.subgroup_mma_elementwise  mulf %acc, %acc : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
      %h = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 80 : index} : memref<?x80xf16> -> !gpu.mma_matrix<16x16xf16, "COp">
      %w = gpu.subgroup_mma_elementwise  extf %h : (!gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
      %v = gpu.subgroup_mma_extract_thread_local %w[%c0] : !gpu.mma_matrix<16x16xf32, "COp"> -> f32
      %u = gpu.subgroup_mma_insert_thread_local %v, %e[%c0] : f32, !gpu.mma_matrix<16x16xf32, "COp"> -> !gpu.mma_matrix<16x16xf32, "COp">
      gpu.barrier
      gpu.subgroup_mma_store_matrix %u, %c[%row, %col] {leadDimension = 32 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<?x32xf32>
      gpu.return
    }
  }
}
