// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'spirv{device=dg2}' | filecheck %s
// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'llvm-ir{device=dg2}' | filecheck %s

// Emission refuses what not all of a scope come to, whatever passes ran before.

func.func @barrier(%a : memref<?xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %lane = simt.lane_id : index
  %first = arith.cmpi eq, %lane, %c0 : index
  scf.if %first {
    // CHECK: error: simt.barrier: expected control flow that is the same for all work-items of the work-group, got one that may differ between lanes
    simt.barrier workgroup
  }
  func.return
}

// -----

func.func @split_dpas(%x : vector<4xi32>, %y : vector<8xi32>) -> vector<8xi32> {
  %group = simt.subgroup_id : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : vector<8xi32>
  %first = arith.cmpi eq, %group, %c0 : index
  %r = scf.if %first -> (vector<8xi32>) {
    // CHECK: error: xe.split_dpas: expected control flow that is the same for both subgroups of the pair, got one that differs between subgroups
    %d = xe.split_dpas s8 x s8 repeat 8 %x, %y, %zero : vector<4xi32>, vector<8xi32>, vector<8xi32>
    scf.yield %d : vector<8xi32>
  } else {
    scf.yield %zero : vector<8xi32>
  }
  func.return %r : vector<8xi32>
}

// -----

func.func @matrix(%a : memref<8x8xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %lane = simt.lane_id : index
  %first = arith.cmpi eq, %lane, %c0 : index
  scf.if %first {
    // CHECK: error: coopmatrix.load: expected control flow that is the same for all lanes of the subgroup, got one that may differ between lanes
    %m = coopmatrix.load %a[%c0, %c0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  }
  func.return
}
