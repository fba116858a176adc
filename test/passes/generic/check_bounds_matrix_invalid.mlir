// RUN: coopc-opt %s -p check-bounds --split-input-file --verify-diagnostics | filecheck %s

// A matrix reaches from its position as far as its sizes say, columns first where it is
// column-major.

func.func @rows(%m : memref<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // CHECK: error: coopmatrix.load: position 0 is out of bounds: expected 0 to 7 in memref<8x16xf32>, got 4 to 11
  %a = coopmatrix.load %m[%c4, %c4] row_major : memref<8x16xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}

// -----

func.func @columns(%m : memref<8x16xf32>, %a : !coopmatrix.matrix<8x16xf32, acc>) {
  %c0 = arith.constant 0 : index
  // CHECK: error: coopmatrix.store: position 0 is out of bounds: expected 0 to 7 in memref<8x16xf32>, got 0 to 15
  coopmatrix.store %a, %m[%c0, %c0] col_major checked(rows) : !coopmatrix.matrix<8x16xf32, acc>, memref<8x16xf32>
  func.return
}
