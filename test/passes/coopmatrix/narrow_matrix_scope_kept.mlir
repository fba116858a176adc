// RUN: coopc-opt %s --split-input-file -p narrow-matrix-scope | filecheck %s

// A work-group of several subgroups keeps its scope.
// CHECK-LABEL: func.func @several
// CHECK:       coopmatrix.fill {{.*}} -> !coopmatrix.matrix<8x8xf16, a, scope = workgroup>
func.func @several() attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 64, 1, 1>} {
  %f = arith.constant 0.0 : f16
  %x = coopmatrix.fill %f : f16 -> !coopmatrix.matrix<8x8xf16, a, scope = workgroup>
  func.return
}

// -----

// So does one of an unknown number, and a function that it calls.
// CHECK-LABEL: func.func private @twice(
// CHECK-SAME:  %x: !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>)
// CHECK-NEXT:  coopmatrix.add %x, %x : !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
// CHECK-LABEL: func.func @unknown(
// CHECK:       func.call @twice(%x) : (!coopmatrix.matrix<8x8xf32, acc, scope = workgroup>) -> ()
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

// And a function that no kernel calls.
// CHECK-LABEL: func.func @no_kernel(
// CHECK:       coopmatrix.add %x, %x : !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
func.func @no_kernel(%x: !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>) {
  %y = coopmatrix.add %x, %x : !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  func.return
}
