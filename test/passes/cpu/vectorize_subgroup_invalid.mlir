// RUN: coopc-opt %s --split-input-file --verify-diagnostics -p vectorize-subgroup | filecheck %s

// CHECK: row_slice.insert_element: expected a token to be used in the block that it is made in
func.func @nested(%c: i1, %v: i32) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %mat = "test.op"() : () -> !coopmatrix.matrix<12x12xi32, none>
  %lane = simt.lane_id : index
  %id = row_slice.id %mat[%lane] : !coopmatrix.matrix<12x12xi32, none>
  scf.if %c {
    row_slice.insert_element %v, %id : i32
  }
  func.return
}

// -----

// CHECK: coopmatrix.length: expected row_slice operations, as resolve-matrix-wi-slice makes
func.func @length() attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %n = coopmatrix.length !coopmatrix.matrix<12x12xi32, none> : index
  func.return
}

// -----

// CHECK: simt.shuffle: expected control flow that is the same for all lanes
func.func @shuffle(%v: i32) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %lane = simt.lane_id : index
  %c1 = arith.constant 1 : index
  %c = arith.cmpi ult, %lane, %c1 : index
  scf.if %c {
    %w = simt.shuffle xor %v, %c1 : i32
  }
  func.return
}

// -----

// CHECK: scf.index_switch: expected a region without simt.lane_id of each lane
func.func @region(%i: index) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  scf.index_switch %i
  case 1 {
    %lane = simt.lane_id : index
    scf.yield
  }
  default {
    scf.yield
  }
  func.return
}

// -----

// CHECK: func.func: expected a subgroup size, simt.subgroup_size of the kernel or vectorize-subgroup{subgroup-size=..}, got neither
func.func @size() attributes {simt.kernel} {
  func.return
}

// -----

// CHECK: expected all matrices to be held by a work-group, got !coopmatrix.matrix<4x4xi32, acc>
func.func @scopes() attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 32>} {
  %m = "test.op"() : () -> !coopmatrix.matrix<4x4xi32, acc, scope = workgroup>
  %n = "test.op"() : () -> !coopmatrix.matrix<4x4xi32, acc>
  func.return
}

// -----

// The elements that a lane owns are not known here, so nor is whose number is meant.
func.func @apply(%m: !coopmatrix.matrix<4x4xi32, acc>) attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %lane = simt.lane_id : index
  %l = arith.index_cast %lane : index to i32
  // CHECK: coopmatrix.apply: expected a region without arith.addi of each lane
  %n = coopmatrix.apply (%i, %j, %v) in %m : !coopmatrix.matrix<4x4xi32, acc> {
    %w = arith.addi %v, %l : i32
    coopmatrix.yield %w : i32
  }
  func.return
}

// -----

// A function is vectorized once, for all that call it.

// CHECK: func.func: expected callers of one subgroup size and one work-group size, got 16 work-items in subgroups of 16 and 32 work-items in subgroups of 16
func.func private @called() {
  func.return
}
func.func @one() attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  func.call @called() : () -> ()
  func.return
}
func.func @two() attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 32>} {
  func.call @called() : () -> ()
  func.return
}

// -----

// Matrices of work-groups are spread alike.

// CHECK: func.func: expected kernels of one subgroup size and one work-group size, as a work-item stands for a work-group, got 64 work-items in subgroups of 16 and 32 work-items in subgroups of 16
func.func @small(%m: !coopmatrix.matrix<4x4xi32, acc, scope = workgroup>) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 32>} {
  %n = coopmatrix.add %m, %m : !coopmatrix.matrix<4x4xi32, acc, scope = workgroup>
  func.return
}
func.func @great(%m: !coopmatrix.matrix<4x4xi32, acc, scope = workgroup>) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 64>} {
  %n = coopmatrix.add %m, %m : !coopmatrix.matrix<4x4xi32, acc, scope = workgroup>
  func.return
}
