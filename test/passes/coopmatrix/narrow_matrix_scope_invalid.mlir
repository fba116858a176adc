// RUN: coopc-opt %s --split-input-file --verify-diagnostics -p narrow-matrix-scope | filecheck %s

// CHECK: error: coopmatrix.fill: expected a work-group of one subgroup around a matrix of scope workgroup, got 4 subgroups in @several
func.func @several() attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 64, 1, 1>} {
  %f = arith.constant 0.0 : f16
  %x = coopmatrix.fill %f : f16 -> !coopmatrix.matrix<8x8xf16, a, scope = workgroup>
  func.return
}

// -----

// The kernel that calls decides.
// CHECK: error: coopmatrix.add: expected a work-group of one subgroup around a matrix of scope workgroup, got 64 work-items in @unknown without simt.subgroup_size
func.func private @twice(%x: !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>) {
  %y = coopmatrix.add %x, %x : !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  func.return
}
func.func @unknown(%m: memref<8x8xf32>) attributes {simt.kernel, simt.work_group_size = array<i32: 64, 1, 1>} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %m[%0, %0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  func.call @twice(%x) : (!coopmatrix.matrix<8x8xf32, acc, scope = workgroup>) -> ()
  func.return
}

// -----

// CHECK: error: coopmatrix.add: expected a matrix of scope workgroup in a kernel, or in a function that a kernel calls: no kernel says that its work-group is one subgroup
func.func @no_kernel(%x: !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>) {
  %y = coopmatrix.add %x, %x : !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  func.return
}
