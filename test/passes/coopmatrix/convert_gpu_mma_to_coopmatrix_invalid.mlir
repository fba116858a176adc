// RUN: coopc-opt %s --split-input-file --verify-diagnostics -p convert-gpu-mma-to-coopmatrix | filecheck %s

func.func @lead(%a: memref<?x?xf16>, %i: index) {
  // CHECK: error: gpu.subgroup_mma_load_matrix: expected a memref of rank 2 or more with rows 80 elements apart, as leadDimension says, got memref<?x?xf16>
  %x = gpu.subgroup_mma_load_matrix %a[%i, %i] {leadDimension = 80 : index} : memref<?x?xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
  func.return
}

// -----

func.func @max(%c: !gpu.mma_matrix<16x16xf32, "COp">) {
  // CHECK: error: gpu.subgroup_mma_elementwise: expected one of addf, {{.*}}, got maxf
  %x = gpu.subgroup_mma_elementwise maxf %c, %c : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
  func.return
}

// -----

func.func @transposed(%a: !gpu.mma_matrix<16x16xf16, "AOp">, %b: !gpu.mma_matrix<16x16xf16, "BOp">, %c: !gpu.mma_matrix<16x16xf32, "COp">) {
  // CHECK: error: gpu.subgroup_mma_compute: expected a matrix that is loaded with transpose, as the operation says
  %d = gpu.subgroup_mma_compute %a, %b, %c {b_transpose} : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  func.return
}

// -----

func.func @indices(%c: !gpu.mma_matrix<16x16xf32, "COp">, %i: index) -> f32 {
  // CHECK: error: gpu.subgroup_mma_extract_thread_local: expected one index, got 2
  %x = gpu.subgroup_mma_extract_thread_local %c[%i, %i] : !gpu.mma_matrix<16x16xf32, "COp"> -> f32
  func.return %x : f32
}

// -----

func.func @id() -> index {
  // CHECK: error: gpu.global_id: not supported: coopc has no operation for it
  %i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
  func.return %i : index
}
