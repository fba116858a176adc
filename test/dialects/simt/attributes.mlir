// RUN: %roundtrip

// What modules, kernels and memrefs say of where they run.

// CHECK:      builtin.module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
builtin.module attributes {simt.target = #simt.target<vulkan, lavapipe>} {
  // A kernel, the sizes it is run with, and how they give the number of work-groups.
  // CHECK-NEXT: func.func @kernel(%a: memref<?x16xf16>, %n: index) attributes {simt.kernel, simt.work_group_size = array<i32: 16, 4>, simt.subgroup_size = 16 : i32, simt.grid = affine_map<(d0, d1) -> (d0, (d1 ceildiv 16))>}
  func.func @kernel(%a: memref<?x16xf16>, %n: index) attributes {simt.kernel, simt.work_group_size = array<i32: 16, 4>, simt.subgroup_size = 16 : i32, simt.grid = affine_map<(m, n) -> (m, n ceildiv 16)>} {
    func.return
  }
}

// CHECK: builtin.module attributes {simt.target = #simt.target<opencl, intel-cpu>}
builtin.module attributes {simt.target = #simt.target<opencl, intel-cpu>} {}

// A name that is no identifier is quoted; quotes that are not needed are dropped.
// CHECK: builtin.module attributes {simt.target = #simt.target<opencl, "16 lanes">}
builtin.module attributes {simt.target = #simt.target<opencl, "16 lanes">} {}
// CHECK: builtin.module attributes {simt.target = #simt.target<opencl, bmg>}
builtin.module attributes {simt.target = #simt.target<opencl, "bmg">} {}

// CHECK-LABEL: func.func @memory(
// CHECK-SAME: memref<16xf16, #simt.memory<global>>
// CHECK-SAME: memref<16xf16, #simt.memory<workgroup>>
// CHECK-SAME: memref<16xf16, #simt.memory<private>>
func.func @memory(%g: memref<16xf16, #simt.memory<global>>, %w: memref<16xf16, #simt.memory<workgroup>>, %p: memref<16xf16, #simt.memory<private>>) {
  func.return
}

// CHECK: "test.op"() {dim = #simt<dim z>, fence = #simt<fence_scope subgroup>, kind = #simt<reduce_kind xor>, mode = #simt<shuffle_mode up>} : () -> ()
"test.op"() {dim = #simt<dim z>, fence = #simt<fence_scope subgroup>, kind = #simt<reduce_kind xor>, mode = #simt<shuffle_mode up>} : () -> ()
