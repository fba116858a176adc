// RUN: coopc-opt %s -p check-bounds | filecheck %s

// What may be inside, or may never run, is left alone.

// CHECK: @inside
func.func @inside(%m : memref<8x8xf32>, %v : memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = coopmatrix.load %m[%c0, %c0] row_major : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %b = vector.load %v[%c4] : memref<8xf32>, vector<4xf32>
  func.return
}

// Rows beyond the memref are not read where rows are checked.
// CHECK: @checked
func.func @checked(%m : memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = coopmatrix.load %m[%c4, %c0] row_major checked(rows) : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  %b = coopmatrix.load %m[%c0, %c4] col_major checked(rows) : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}

// CHECK: @maybe
func.func @maybe(%v : memref<8xf32>, %d : memref<?xf32>, %p : i1, %n : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = memref.load %d[%c8] : memref<?xf32>
  scf.if %p {
    %b = memref.load %v[%c8] : memref<8xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.load %v[%c8] : memref<8xf32>
  }
  scf.for %i = %c1 to %c1 step %c1 {
    %b = memref.load %v[%c8] : memref<8xf32>
  }
  func.return
}

// A vec4 is four elements of the matrix.
// CHECK: @vectors
func.func @vectors(%m : memref<8x2xvector<4xf32>>) {
  %c0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%c0, %c0] row_major : memref<8x2xvector<4xf32>> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}
