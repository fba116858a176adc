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

func.func @wait() {
  // CHECK: error: gpu.wait: not supported: coopc has no operation for it
  gpu.wait
  func.return
}

// -----

gpu.module @m {
  gpu.func @f(%v: f32, %o: i32) kernel {
    %half = arith.constant 4 : i32
    // CHECK: error: gpu.shuffle: expected a width of the subgroup size, which is not known (simt.subgroup_size, or the option subgroup-size), got 4
    %x, %valid = gpu.shuffle xor %v, %o, %half : f32
    gpu.return
  }
}

// -----

func.func @clusters(%v: f32) {
  // CHECK: error: gpu.subgroup_reduce: expected a reduction of all lanes, got one of clusters
  %x = gpu.subgroup_reduce add %v cluster(size = 4, stride = 2) : (f32) -> f32
  func.return
}

// -----

func.func @kinds(%v: i32) {
  // CHECK: error: gpu.subgroup_reduce: expected floats, as minnumf needs, got i32
  %x = gpu.subgroup_reduce minnumf %v : (i32) -> i32
  func.return
}

// -----

func.func @all(%v: f32) {
  // CHECK: error: gpu.all_reduce: not supported: coopc has no operation for it
  %x = "gpu.all_reduce"(%v) <{op = #gpu<all_reduce_op add>}> ({}) : (f32) -> f32
  func.return
}

// -----

func.func @nan(%v: f32) {
  // CHECK: error: gpu.subgroup_reduce: expected one of add, {{.*}}, got maximumf
  %x = gpu.subgroup_reduce maximumf %v : (f32) -> f32
  func.return
}

// -----

gpu.module @m {
  gpu.func @f() kernel {
    gpu.return
  }
}
gpu.module @n {
  // CHECK: error: gpu.func: expected different names in all modules, got a second @f
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  memref.global "private" constant @g : memref<4xf32> = dense<1.0>
}
gpu.module @n {
  // CHECK: error: gpu.func: expected different names in all modules, got a second @g
  gpu.func @g() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // CHECK: error: gpu.func: expected %w to be a memref of static shape in #gpu.address_space<workgroup>, got memref<4xf32>
  gpu.func @f() workgroup(%w : memref<4xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // CHECK: error: gpu.func: expected %p to be a memref of static shape in #gpu.address_space<private>, got memref<?xf32, #gpu.address_space<private>>
  gpu.func @f() private(%p : memref<?xf32, #gpu.address_space<private>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // CHECK: error: gpu.func: expected %x to be a memref of static shape in #gpu.address_space<private>, got f32
  gpu.func @f() private(%x : f32) kernel {
    gpu.return
  }
}
