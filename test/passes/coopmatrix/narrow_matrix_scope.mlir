// RUN: coopc-opt %s -p narrow-matrix-scope,check-dominance | filecheck %s

// A work-group of one subgroup: types change in values, blocks, operations, functions.
// CHECK-LABEL: func.func private @twice(
// CHECK-SAME:  %x: !coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf32, acc>
// CHECK-NEXT:  coopmatrix.add %x, %x : !coopmatrix.matrix<8x8xf32, acc>
func.func private @twice(%x: !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>) -> !coopmatrix.matrix<8x8xf32, acc, scope = workgroup> {
  %y = coopmatrix.add %x, %x : !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  func.return %y : !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
}
// CHECK-LABEL: func.func @k(
// CHECK:       coopmatrix.load {{.*}} -> !coopmatrix.matrix<8x8xf32, acc>
// CHECK:       coopmatrix.length !coopmatrix.matrix<8x8xf32, acc>
// CHECK:       scf.for {{.*}} -> (!coopmatrix.matrix<8x8xf32, acc>)
// CHECK-NEXT:  func.call @twice(%{{.*}}) : (!coopmatrix.matrix<8x8xf32, acc>) -> !coopmatrix.matrix<8x8xf32, acc>
// CHECK-NOT:   scope = workgroup
// CHECK-LABEL: func.func @named(
func.func @k(%m: memref<8x8xf32>) attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 16, 1, 1>} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %x = coopmatrix.load %m[%0, %0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  %n = coopmatrix.length !coopmatrix.matrix<8x8xf32, acc, scope = workgroup> : index
  %y = scf.for %i = %0 to %n step %1 iter_args(%it = %x) -> (!coopmatrix.matrix<8x8xf32, acc, scope = workgroup>) {
    %z = func.call @twice(%it) : (!coopmatrix.matrix<8x8xf32, acc, scope = workgroup>) -> !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
    scf.yield %z : !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
  }
  coopmatrix.store %y, %m[%0, %0] row_major : !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>, memref<8x8xf32>
  func.return
}

// A kernel without sizes is a work-group of one subgroup; a named use stays.
// CHECK:       coopmatrix.fill %{{.*}} : f16 -> !coopmatrix.matrix<8x8xf16, a = @U>
coopmatrix.spec_constant @U = 0 : i32
func.func @named() attributes {simt.kernel} {
  %f = arith.constant 0.0 : f16
  %x = coopmatrix.fill %f : f16 -> !coopmatrix.matrix<8x8xf16, a = @U, scope = workgroup>
  func.return
}

// The other matrices of a work-group of several subgroups stay as they are.
// CHECK-LABEL: func.func @several(
// CHECK:       coopmatrix.fill %{{.*}} : f16 -> !coopmatrix.matrix<8x8xf16, a>
func.func @several() attributes {simt.kernel, simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 64, 1, 1>} {
  %f = arith.constant 0.0 : f16
  %x = coopmatrix.fill %f : f16 -> !coopmatrix.matrix<8x8xf16, a>
  func.return
}
