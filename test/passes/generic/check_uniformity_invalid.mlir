// RUN: coopc-opt %s -p check-uniformity --split-input-file --verify-diagnostics | filecheck %s

// Not all lanes come to the load.

func.func @some_lanes(%m : memref<?x?xf32>) attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  %lane = simt.lane_id : index
  %first = arith.cmpi eq, %lane, %zero : index
  scf.if %first {
    // CHECK: {{.*}}:11:5: error: coopmatrix.load: expected control flow that is the same for all lanes of the subgroup, got control flow that may differ between lanes
    %a = coopmatrix.load %m[%zero, %zero] row_major : memref<?x?xf32> -> !coopmatrix.matrix<8x8xf32, acc>
    // CHECK: {{.*}}:9:3: note: it depends on this scf.if
  }
  func.return
}

// -----

// Lanes leave the loop one after the other: what they carry out differs too.

func.func @while(%m : memref<?x?xf32>) attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lane = simt.lane_id : index
  %end = scf.while (%i = %zero) : (index) -> index {
    %more = arith.cmpi ult, %i, %lane : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i : index):
    %next = arith.addi %i, %one : index
    scf.yield %next : index
  }
  // CHECK: {{.*}}:34:3: error: coopmatrix.load: expected position 0 to be the same for all lanes of the subgroup, got a value that may differ between lanes
  %a = coopmatrix.load %m[%end, %zero] row_major : memref<?x?xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}

// -----

// A work-group waits for all of its subgroups.

func.func @barrier() attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  %s = simt.subgroup_id : index
  %first = arith.cmpi eq, %s, %zero : index
  scf.if %first {
    // CHECK: {{.*}}:48:5: error: simt.barrier: expected control flow that is the same for all work-items of the work-group, got control flow that differs between subgroups
    simt.barrier workgroup
  }
  func.return
}

// -----

// All lanes give the value that fills a matrix.

func.func @fill() attributes {simt.kernel} {
  %lane = simt.lane_id : index
  // CHECK: {{.*}}:60:3: error: coopmatrix.fill: expected the value to be the same for all lanes of the subgroup
  %a = coopmatrix.fill %lane : index -> !coopmatrix.matrix<8x8xi32, acc>
  func.return
}

// -----

// Not all lanes call the function.

func.func @callee() {
  // CHECK: {{.*}}:70:3: error: simt.barrier: expected control flow that is the same for all lanes of the subgroup
  simt.barrier subgroup
  func.return
}

func.func @caller() attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  %lane = simt.lane_id : index
  %first = arith.cmpi eq, %lane, %zero : index
  scf.if %first {
    func.call @callee() : () -> ()
  }
  // CHECK: {{.*}}:78:3: note: it depends on this scf.if
  func.return
}

// -----

// The subgroups of a work-group are full.

// CHECK: {{.*}}:90:1: error: func.func: expected a work-group size that is a multiple of the subgroup size 32, so that all subgroups are full, got 48 work-items
func.func @full() attributes {simt.kernel, simt.work_group_size = array<i32: 48>, simt.subgroup_size = 32 : i32} {
  func.return
}

// -----

// One address for all lanes: the message adds the lane itself.

func.func @offset(%p: memref<f16>) attributes {simt.kernel, simt.subgroup_size = 8 : i32} {
  %lane = simt.lane_id : index
  %at = arith.index_cast %lane : index to i32
  %a = xe.block_load %p[%at] : memref<f16> -> vector<8xi32>
  func.return
}
// CHECK: xe.block_load: expected the offset to be the same for all lanes of the subgroup, got a value that may differ between lanes

// -----

// Two subgroups multiply together: one of them is not enough.

func.func @one_of_a_pair(%a: vector<4xi32>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 32>} {
  %s = simt.subgroup_id : index
  %one = arith.constant 1 : index
  %first = arith.cmpi ult, %s, %one : index
  scf.if %first {
    %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
      : vector<4xi32>, vector<8xi32>, vector<8xf32>
  }
  func.return
}
// CHECK: xe.split_dpas: expected control flow that is the same for both subgroups of the pair, got control flow that differs between subgroups
