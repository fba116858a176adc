// RUN: coopc-opt %s -p convert-simt-to-loops | filecheck %s

// Kernels become functions that run part of a grid, numbered with x first.

// One work-item a work-group: a loop over work-groups, ids by division.
// CHECK-LABEL: func.func @ids(%m: memref<?xindex>, %groups_x: index, %groups_y: index, %groups_z: index, %first: index, %last: index) {
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %own = memref.alloca() : memref<4xindex>
// CHECK-NEXT:    scf.for %group = %first to %last step %c1 {
// CHECK-NEXT:      [[ROW:%.*]] = arith.divui %group, %groups_x : index
// CHECK-NEXT:      %group_x = arith.remui %group, %groups_x : index
// CHECK-NEXT:      %group_y = arith.remui [[ROW]], %groups_y : index
// CHECK-NEXT:      %group_z = arith.divui [[ROW]], %groups_y : index
// CHECK-NEXT:      memref.store %group_x, %m[%group_y] : memref<?xindex>
// CHECK-NEXT:      memref.store %groups_z, %own[%c0] : memref<4xindex>
// CHECK-NEXT:      memref.store %c1, %own[%group_z] : memref<4xindex>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @ids(%m: memref<?xindex>) attributes {simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 1>} {
  %own = memref.alloca() : memref<4xindex>
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %z = simt.workgroup_id z : index
  %nz = simt.num_workgroups z : index
  %lane = simt.lane_id : index
  %size = simt.subgroup_size : index
  simt.barrier workgroup
  memref.store %x, %m[%y] : memref<?xindex>
  memref.store %nz, %own[%lane] : memref<4xindex>
  memref.store %size, %own[%z] : memref<4xindex>
  func.return
}

// Several: they run one after the other.
// CHECK-LABEL: func.func @items(
// CHECK:         scf.for %group = %first to %last step %c1 {
// CHECK:           scf.for %item = %c0 to %c6 step %c1 {
// CHECK-NEXT:        %x = arith.divui %item, %c1 : index
// CHECK-NEXT:        %x_1 = arith.remui %x, %c3 : index
// CHECK-NEXT:        %y = arith.divui %item, %c3 : index
// CHECK-NEXT:        %y_1 = arith.remui %y, %c2 : index
// CHECK-NEXT:        memref.store %x_1, %m[%y_1] : memref<?xindex>
// CHECK-NEXT:        memref.store %item, %m[%c6] : memref<?xindex>
// CHECK-NEXT:      }
func.func @items(%m: memref<?xindex>) attributes {simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 3, 2>} {
  %x = simt.local_id x : index
  %y = simt.local_id y : index
  %s = simt.subgroup_id : index
  %n = simt.num_subgroups : index
  memref.store %x, %m[%y] : memref<?xindex>
  memref.store %s, %m[%n] : memref<?xindex>
  func.return
}

// What is known of the only lane is known in functions, too.
// CHECK-LABEL: func.func @called(%v: f32) -> f32 {
// CHECK-NEXT:    %lane = arith.constant 0 : index
// CHECK-NEXT:    func.return %v : f32
func.func @called(%v: f32) -> f32 {
  %lane = simt.lane_id : index
  %w = simt.broadcast %v, %lane : f32
  func.return %w : f32
}
