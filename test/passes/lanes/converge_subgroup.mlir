// RUN: coopc-opt %s -p 'set-target{device=intel-cpu},converge-subgroup' --split-input-file | filecheck %s
// RUN: coopc-opt %s -p 'set-target{device=bmg},converge-subgroup' --split-input-file | filecheck %s --check-prefix=GPU

// Lanes below 3 branch before and after the call: the call is not to be made twice.
// GPU-NOT: simt.barrier
func.func @call(%m: memref<8xi32>, %v: i32) {
  %lane = simt.lane_id : index
  %c3 = arith.constant 3 : index
  %in = arith.cmpi ult, %lane, %c3 : index
  scf.if %in {
    memref.store %v, %m[%lane] : memref<8xi32>
  }
  %x = func.call @first(%v) : (i32) -> i32
  scf.if %in {
    memref.store %x, %m[%lane] : memref<8xi32>
  }
  func.return
}
func.func private @first(%v: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %x = simt.broadcast %v, %c0 : i32
  func.return %x : i32
}
// CHECK-LABEL: func.func @call
// CHECK: memref.store
// CHECK: simt.barrier subgroup
// CHECK-NEXT: func.call @first
// CHECK-NOT: simt.barrier

// -----

// The loop is not to become one for each value of %in.
func.func @loop(%m: memref<8xi32>, %v: i32, %w: i32) {
  %lane = simt.lane_id : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %in = arith.cmpi ult, %lane, %c3 : index
  scf.for %t = %c0 to %c3 step %c1 {
    %x = arith.select %in, %v, %w : i32
    memref.store %x, %m[%t] : memref<8xi32>
  }
  func.return
}
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK-NEXT: simt.barrier subgroup
// CHECK-NEXT: arith.select
// CHECK-NOT: simt.barrier
