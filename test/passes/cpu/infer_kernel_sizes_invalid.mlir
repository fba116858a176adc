// RUN: not coopc-opt %s -p infer-kernel-sizes 2>&1 | filecheck %s

// What depends on lanes needs whole subgroups, those of the device.

// CHECK: func.func: expected a work-group size that is a multiple of 16, so that all subgroups are full, got 8 work-items
func.func @part(%m: memref<?xindex>) attributes {simt.kernel, simt.work_group_size = array<i32: 8>} {
  %lane = simt.lane_id : index
  memref.store %lane, %m[%lane] : memref<?xindex>
  func.return
}
