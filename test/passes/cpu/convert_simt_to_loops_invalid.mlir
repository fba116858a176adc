// RUN: coopc-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file -p convert-simt-to-loops | filecheck %s

// What is no loop over work-items.

func.func @lanes() attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  func.return
}
// CHECK: expected subgroups of one work-item, as vectorize-subgroup makes them, got 16 lanes

// -----

func.func @barrier() attributes {simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 4>} {
  simt.barrier workgroup
  func.return
}
// CHECK: simt.barrier is not supported between subgroups: one core runs the 4 subgroups of a work-group

// -----

func.func @kernel() attributes {simt.kernel, simt.subgroup_size = 1 : i32} {
  func.return
}
func.func @where() -> index {
  %x = simt.workgroup_id x : index
  func.return %x : index
}
// CHECK: simt.workgroup_id: only a kernel has a position in the grid: expected this operation in a kernel

// -----

func.func @block(%m: memref<16xf32>, %i: index) attributes {simt.kernel, simt.subgroup_size = 1 : i32} {
  %x = simt.block_read %m[%i] : memref<16xf32> -> f32
  func.return
}
// CHECK: expected vectors, as vectorize-subgroup makes them

// -----

func.func @kernel(%m: memref<16xf32>) attributes {simt.kernel} {
  func.return
}
func.func @caller(%m: memref<16xf32>) attributes {simt.kernel} {
  func.call @kernel(%m) : (memref<16xf32>) -> ()
  func.return
}
// CHECK: func.call: a kernel cannot be called here: it becomes a loop over all work-groups
