// RUN: coopc-opt %s -p canonicalize | filecheck %s --check-prefix=DEAD
// RUN: coopc-opt %s -p cse | filecheck %s --check-prefix=SAME
// RUN: coopc-opt %s -p licm,control-flow-hoist | filecheck %s --check-prefix=MOVE

// What vanishes when nothing uses it, what is done once for twice, and what moves out
// of loops and branches: nothing that lanes do together.

// DEAD-LABEL: func.func @unused(
// DEAD-NEXT:  simt.barrier workgroup
// DEAD-NEXT:  simt.barrier_arrive subgroup
// DEAD-NEXT:  simt.barrier_wait subgroup
// DEAD-NEXT:  simt.block_write
// DEAD-NEXT:  func.return
func.func @unused(%m: memref<64xf32>, %f: f32, %i: index) {
  %0 = simt.lane_id : index
  %1 = simt.broadcast %f, %i : f32
  %2 = simt.shuffle xor %f, %i : f32
  %3 = simt.reduce add %f : f32
  %4 = simt.block_read %m[%i] : memref<64xf32> -> f32
  simt.barrier workgroup
  simt.barrier_arrive subgroup
  simt.barrier_wait subgroup
  simt.block_write %f, %m[%i] : f32, memref<64xf32>
  func.return
}

// SAME-LABEL: func.func @twice(
// SAME-NEXT:  %lane = simt.lane_id
// SAME-NEXT:  %sum = simt.reduce add
// SAME-NEXT:  %xor = simt.shuffle xor
// SAME-NEXT:  %up = simt.shuffle up
// SAME-NEXT:  "test.op"(%lane, %lane, %sum, %sum, %xor, %xor, %up)
func.func @twice(%f: f32, %i: index) {
  %lane = simt.lane_id : index
  %lane2 = simt.lane_id : index
  %sum = simt.reduce add %f : f32
  %sum2 = simt.reduce add %f : f32
  %xor = simt.shuffle xor %f, %i : f32
  %xor2 = simt.shuffle xor %f, %i : f32
  %up = simt.shuffle up %f, %i : f32
  "test.op"(%lane, %lane2, %sum, %sum2, %xor, %xor2, %up) : (index, index, f32, f32, f32, f32, f32) -> ()
  func.return
}

// In a branch there may be other lanes.
// SAME-LABEL: func.func @in_a_branch(
// SAME-NEXT:  simt.reduce add
// SAME-NEXT:  scf.if
// SAME-NEXT:    simt.reduce add
func.func @in_a_branch(%f: f32, %b: i1) {
  %0 = simt.reduce add %f : f32
  %1 = scf.if %b -> (f32) {
    %2 = simt.reduce add %f : f32
    scf.yield %2 : f32
  } else {
    scf.yield %f : f32
  }
  "test.op"(%0, %1) : (f32, f32) -> ()
  func.return
}

// Memory changes at a barrier.
// SAME-LABEL: func.func @across_a_barrier(
// SAME-NEXT:  simt.block_read
// SAME-NEXT:  simt.barrier
// SAME-NEXT:  simt.block_read
func.func @across_a_barrier(%m: memref<64xf32>, %i: index) {
  %0 = simt.block_read %m[%i] : memref<64xf32> -> f32
  simt.barrier workgroup
  %1 = simt.block_read %m[%i] : memref<64xf32> -> f32
  "test.op"(%0, %1) : (f32, f32) -> ()
  func.return
}

// MOVE-LABEL: func.func @branch(
// MOVE-NEXT:  scf.if
// MOVE-NEXT:    simt.shuffle
func.func @branch(%f: f32, %b: i1, %i: index) {
  %1 = scf.if %b -> (f32) {
    %2 = simt.shuffle idx %f, %i : f32
    scf.yield %2 : f32
  } else {
    scf.yield %f : f32
  }
  "test.op"(%1) : (f32) -> ()
  func.return
}

// MOVE-LABEL: func.func @loop(
// MOVE-NEXT:  %lane = simt.lane_id
// MOVE-NEXT:  scf.for
// MOVE-NEXT:    simt.reduce
// MOVE-NEXT:    simt.barrier
func.func @loop(%f: f32, %i: index) {
  scf.for %k = %i to %i step %i {
    %lane = simt.lane_id : index
    %sum = simt.reduce add %f : f32
    simt.barrier workgroup
    "test.op"(%lane, %sum) : (index, f32) -> ()
    scf.yield
  }
  func.return
}

// Addresses are numbers: a barrier changes neither them nor where they point.
// SAME-LABEL: func.func @addresses(
// SAME-NEXT:  %a = simt.address_of
// SAME-NEXT:  %there = simt.memory_at
// SAME-NEXT:  simt.barrier
// SAME-NEXT:  "test.op"(%a, %a, %there, %there)
func.func @addresses(%m: memref<f32>) {
  %a = simt.address_of %m : memref<f32>
  %there = simt.memory_at %a : memref<f32>
  simt.barrier workgroup
  %a2 = simt.address_of %m : memref<f32>
  %there2 = simt.memory_at %a2 : memref<f32>
  "test.op"(%a, %a2, %there, %there2) : (i64, i64, memref<f32>, memref<f32>) -> ()
  func.return
}

// DEAD-LABEL: func.func @unused_addresses(
// DEAD-NEXT:  func.return
func.func @unused_addresses(%m: memref<f32>) {
  %a = simt.address_of %m : memref<f32>
  %there = simt.memory_at %a : memref<f32>
  func.return
}

// MOVE-LABEL: func.func @addresses_in_a_loop(
// MOVE-NEXT:  simt.address_of
// MOVE-NEXT:  simt.memory_at
// MOVE-NEXT:  scf.for
func.func @addresses_in_a_loop(%m: memref<f32>, %i: index) {
  scf.for %k = %i to %i step %i {
    %a = simt.address_of %m : memref<f32>
    %there = simt.memory_at %a : memref<f32>
    "test.op"(%there) : (memref<f32>) -> ()
    scf.yield
  }
  func.return
}
