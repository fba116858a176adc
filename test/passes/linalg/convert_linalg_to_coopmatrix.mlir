// RUN: coopc-opt %s -p "convert-linalg-to-coopmatrix{tile=32,16,8}" | filecheck %s

// Sizes that the tile divides need no checks; the grid is a number of tiles.

// CHECK-LABEL: func.func @static
// CHECK-SAME:  simt.kernel, simt.grid = affine_map<() -> (3, 2)>} {
func.func @static(%a: memref<64x40xf16>, %b: memref<40x48xf16>, %c: memref<64x48xf32>) {
  // CHECK:      %row = arith.muli %group_y, %c32 : index
  // CHECK:      %col = arith.muli %group_x, %c16 : index
  // CHECK:      %init = coopmatrix.load %c[%row, %col] row_major : memref<64x48xf32> -> !coopmatrix.matrix<32x16xf32, acc>
  // CHECK-NEXT: %sum = scf.for %k = %c0 to %c40 step %c8 iter_args(%acc = %init)
  // CHECK-NEXT:   %a_tile = coopmatrix.load %a[%row, %k] row_major : memref<64x40xf16> -> !coopmatrix.matrix<32x8xf16, a>
  // CHECK-NEXT:   %b_tile = coopmatrix.load %b[%k, %col] row_major : memref<40x48xf16> -> !coopmatrix.matrix<8x16xf16, b>
  // CHECK-NEXT:   %next = coopmatrix.mul_add %a_tile, %b_tile, %acc :
  // CHECK:      coopmatrix.store %sum, %c[%row, %col] row_major :
  linalg.matmul ins(%a, %b : memref<64x40xf16>, memref<40x48xf16>) outs(%c : memref<64x48xf32>)
  func.return
}

// Sizes that are not known, or that the tile does not divide, are checked, axis by axis.

// CHECK-LABEL: func.func @ragged
// CHECK-SAME:  simt.grid = affine_map<(d0, d1, d2) -> (4, (d2 ceildiv 32))>
// The rows of B are the columns of A, and those of C the rows of A.
// CHECK-SAME:  simt.equal_sizes = [array<i64: 1, 0, 0, 1>, array<i64: 2, 0, 0, 0>]
func.func @ragged(%a: memref<?x24xf16>, %b: memref<?x50xf16>, %c: memref<?x50xf32>) {
  // CHECK: coopmatrix.load %c[%row, %col] row_major checked(rows, cols)
  // CHECK: coopmatrix.load %a[%row, %k] row_major checked(rows) :
  // CHECK: coopmatrix.load %b[%k, %col] row_major checked(rows, cols)
  linalg.matmul ins(%a, %b : memref<?x24xf16>, memref<?x50xf16>) outs(%c : memref<?x50xf32>)
  func.return
}

// A fill of the output is the first accumulator; C is then not read.

// CHECK-LABEL: func.func @filled
func.func @filled(%a: memref<32x8xi8>, %b: memref<8x16xi8>, %c: memref<32x16xi32>) {
  // CHECK:     %zero = arith.constant 0 : i32
  // CHECK:     %init = coopmatrix.fill %zero : i32 -> !coopmatrix.matrix<32x16xi32, acc>
  // CHECK-NOT: coopmatrix.load %c
  // CHECK:     coopmatrix.mul_add %a_tile, %b_tile, %acc signed(a, b, c, result)
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<32x16xi32>)
  linalg.matmul ins(%a, %b : memref<32x8xi8>, memref<8x16xi8>) outs(%c : memref<32x16xi32>)
  func.return
}

// Transposed operands are column major, whatever the order of the loops and of the sum.

#kn = affine_map<(k, n, m) -> (k, m)>
#nk = affine_map<(k, n, m) -> (n, k)>
#nm = affine_map<(k, n, m) -> (n, m)>

// CHECK-LABEL: func.func @transposed
func.func @transposed(%a: memref<8x32xf16>, %b: memref<16x8xf16>, %c: memref<16x32xf32>) {
  // CHECK: coopmatrix.load %c[%col, %row] col_major :
  // CHECK: coopmatrix.load %a[%k, %row] col_major : memref<8x32xf16> -> !coopmatrix.matrix<32x8xf16, a>
  // CHECK: coopmatrix.load %b[%col, %k] col_major : memref<16x8xf16> -> !coopmatrix.matrix<8x16xf16, b>
  // CHECK: coopmatrix.store %sum, %c[%col, %row] col_major :
  linalg.generic {indexing_maps = [#kn, #nk, #nm], iterator_types = ["reduction", "parallel", "parallel"]} ins(%a, %b : memref<8x32xf16>, memref<16x8xf16>) outs(%c : memref<16x32xf32>) {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %ye, %xe : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// A batch is the third dimension of the grid; unsigned and signed integers mix.

#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#bkn = affine_map<(b, m, n, k) -> (b, k, n)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>

// CHECK-LABEL: func.func @batched
// CHECK-SAME:  simt.grid = affine_map<(d0, d1, d2) -> (1, 1, d2)>
func.func @batched(%a: memref<?x32x8xi8>, %b: memref<?x8x16xi8>, %c: memref<?x32x16xi32>) {
  // CHECK: coopmatrix.load %a[%batch, %row, %k] row_major :
  // CHECK: coopmatrix.load %b[%batch, %k, %col] row_major :
  // CHECK: coopmatrix.mul_add %a_tile, %b_tile, %acc signed(b) :
  linalg.generic {indexing_maps = [#bmk, #bkn, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : memref<?x32x8xi8>, memref<?x8x16xi8>) outs(%c : memref<?x32x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %xe = arith.extui %x : i8 to i32
    %ye = arith.extsi %y : i8 to i32
    %p = arith.muli %xe, %ye : i32
    %s = arith.addi %p, %z : i32
    linalg.yield %s : i32
  }
  func.return
}

// Other functions stay as they are.

// CHECK-LABEL: func.func @other
// CHECK-NEXT:    func.return
func.func @other() {
  func.return
}

// Without columns there is no group of work-items, and rows have no pitch.

// CHECK-LABEL: func.func @no_columns
// CHECK-SAME:  simt.grid = affine_map<() -> (0, 1)>
func.func @no_columns(%a: memref<4x8xf16>, %b: memref<8x0xf16>, %c: memref<4x0xf32>) {
  // CHECK: coopmatrix.store {{.*}} memref<4x0xf32>
  linalg.matmul ins(%a, %b : memref<4x8xf16>, memref<8x0xf16>) outs(%c : memref<4x0xf32>)
  func.return
}
