// RUN: coopc-opt %s -p check-uniformity | filecheck %s

// What all lanes run together may stand wherever all of them come.

// The grid decides: the same for all.

// CHECK: func.func @uniform_loop
func.func @uniform_loop(%m : memref<?x?xf32>, %n : index) attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %x = simt.workgroup_id x : index
  scf.for %i = %x to %n step %one {
    %a = coopmatrix.load %m[%i, %zero] row_major : memref<?x?xf32> -> !coopmatrix.matrix<8x8xf32, acc>
    coopmatrix.store %a, %m[%i, %zero] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  }
  func.return
}

// A subgroup may go its own way with its matrices.

// CHECK: func.func @a_way_per_subgroup
func.func @a_way_per_subgroup(%m : memref<?x?xf32>) attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  %s = simt.subgroup_id : index
  %first = arith.cmpi eq, %s, %zero : index
  scf.if %first {
    %a = coopmatrix.load %m[%s, %zero] row_major : memref<?x?xf32> -> !coopmatrix.matrix<8x8xf32, acc>
    coopmatrix.store %a, %m[%s, %zero] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  }
  func.return
}

// The number of a work-item divided by the subgroup size is that of its subgroup.

// CHECK: func.func @divided
func.func @divided(%m : memref<?x?xf32>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 64, 2>, simt.subgroup_size = 32 : i32} {
  %zero = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = simt.local_id x : index
  %y = simt.local_id y : index
  %row = arith.divui %x, %c32 : index
  %a = coopmatrix.load %m[%row, %y] row_major : memref<?x?xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %a, %m[%row, %y] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  func.return
}

// What one lane has, all lanes get.

// CHECK: func.func @broadcast
func.func @broadcast() attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  %lane = simt.lane_id : index
  %row = simt.broadcast %lane, %zero : index
  %same = arith.cmpi eq, %row, %zero : index
  scf.if %same {
    %sum = simt.reduce add %lane : index
  }
  func.return
}

// Elements are a lane's own affair, and a matrix is still a matrix afterwards.

// CHECK: func.func @elements
func.func @elements(%m : memref<?x?xf32>) attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  %a = coopmatrix.load %m[%zero, %zero] row_major : memref<?x?xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %x = coopmatrix.extract %a[%zero] : !coopmatrix.matrix<8x8xf32, acc>
  %lane = simt.lane_id : index
  %first = arith.cmpi eq, %lane, %zero : index
  %b = scf.if %first -> (!coopmatrix.matrix<8x8xf32, acc>) {
    %c = coopmatrix.insert %x, %a[%zero] : !coopmatrix.matrix<8x8xf32, acc>
    scf.yield %c : !coopmatrix.matrix<8x8xf32, acc>
  } else {
    scf.yield %a : !coopmatrix.matrix<8x8xf32, acc>
  }
  coopmatrix.store %b, %m[%zero, %zero] row_major : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32>
  func.return
}

// Other pairs need not execute a multiplication of a pair.

// CHECK-LABEL: func.func @pairs(
func.func @pairs(%a: vector<4xi32>, %b: vector<8xi32>, %c: vector<8xf32>)
    attributes {simt.kernel, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 32>} {
  %s = simt.subgroup_id : index
  %two = arith.constant 2 : index
  %first = arith.cmpi ult, %s, %two : index
  scf.if %first {
    %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c
      : vector<4xi32>, vector<8xi32>, vector<8xf32>
  }
  func.return
}

// A work-group of one subgroup waits where the subgroup does.

// CHECK-LABEL: func.func @one_subgroup
func.func @one_subgroup(%m : memref<?xf32>) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 16>} {
  %zero = arith.constant 0 : index
  %s = simt.subgroup_id : index
  %first = arith.cmpi eq, %s, %zero : index
  scf.if %first {
    simt.barrier workgroup
  }
  func.return
}
