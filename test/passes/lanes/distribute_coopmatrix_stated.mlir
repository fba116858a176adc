// RUN: coopc-opt %s -p 'distribute-coopmatrix{stated=true subgroup-size=16}' | filecheck %s

// Only kernels that state the distribution of lanes are distributed: the others are for
// the matrix unit of another engine.

// CHECK-LABEL: @of_lanes
// CHECK-SAME:    simt.subgroup_size = 16
// CHECK-NOT:     !coopmatrix.matrix
func.func @of_lanes(%m: memref<8x16xf32>) attributes {simt.kernel, coopmatrix.distribution = #layout.coopmatrix} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %m[%c0, %c0] row_major : memref<8x16xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  %y = coopmatrix.add %x, %x : !coopmatrix.matrix<8x16xf32, acc>
  coopmatrix.store %y, %m[%c0, %c0] row_major : !coopmatrix.matrix<8x16xf32, acc>, memref<8x16xf32>
  func.return
}

// CHECK-LABEL: @of_matrices
// CHECK-SAME:    attributes {simt.kernel} {
// CHECK:         coopmatrix.add
func.func @of_matrices(%m: memref<8x16xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %m[%c0, %c0] row_major : memref<8x16xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  %y = coopmatrix.add %x, %x : !coopmatrix.matrix<8x16xf32, acc>
  coopmatrix.store %y, %m[%c0, %c0] row_major : !coopmatrix.matrix<8x16xf32, acc>, memref<8x16xf32>
  func.return
}
