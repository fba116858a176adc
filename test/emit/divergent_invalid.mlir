// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'spirv{device=dg2}' | filecheck %s
// RUN: coopc-opt %s --split-input-file --verify-diagnostics -t 'llvm-ir{device=dg2}' | filecheck %s

// Emission refuses what not all of a scope come to, whatever passes ran before.

func.func @barrier(%a : memref<?xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %lane = simt.lane_id : index
  %first = arith.cmpi eq, %lane, %c0 : index
  scf.if %first {
    // CHECK: error: simt.barrier: expected control flow that is the same for all work-items of the work-group, got control flow that may differ between lanes
    simt.barrier workgroup
  }
  func.return
}

// -----

func.func @split_dpas(%a : memref<128xi32>, %b : memref<256xi32>, %d : memref<256xi32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 16>} {
  %group = simt.subgroup_id : index
  %c0 = arith.constant 0 : index
  %x = simt.block_read %a[%c0] : memref<128xi32> -> vector<4xi32>
  %y = simt.block_read %b[%c0] : memref<256xi32> -> vector<8xi32>
  %z = simt.block_read %d[%c0] : memref<256xi32> -> vector<8xi32>
  %first = arith.cmpi eq, %group, %c0 : index
  scf.if %first {
    // CHECK: error: xe.split_dpas: expected control flow that is the same for both subgroups of the pair, got control flow that differs between subgroups
    %r = xe.split_dpas s8 x s8 repeat 8 %x, %y, %z : vector<4xi32>, vector<8xi32>, vector<8xi32>
    simt.block_write %r, %d[%c0] : vector<8xi32>, memref<256xi32>
  }
  func.return
}
