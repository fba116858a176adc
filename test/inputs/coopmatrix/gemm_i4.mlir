// C = A * B^T, s4 x u4 -> i32: 32 x 64 a subgroup, 64 of K a step, B stored N x K.  Two
// numbers share a byte.
#grid = affine_map<(m, k, k1, n, m1, n1) -> (n1 ceildiv 64, m ceildiv 32)>

func.func @gemm_i4(%a: memref<?x?xi4>, %b: memref<?x?xi4>, %c: memref<?x?xi32>)
    attributes {simt.kernel, simt.grid = #grid} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile_m = arith.constant 32 : index
  %tile_n = arith.constant 64 : index
  %tile_k = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %tile_m : index
  %col = arith.muli %x, %tile_n : index
  %end = memref.dim %a, %c1 : memref<?x?xi4>
  %init = coopmatrix.fill %zero : i32 -> !coopmatrix.matrix<32x64xi32, acc>
  %sum = scf.for %k = %c0 to %end step %tile_k
      iter_args(%acc = %init) -> (!coopmatrix.matrix<32x64xi32, acc>) {
    %left = coopmatrix.load %a[%row, %k] row_major checked(rows, cols)
        : memref<?x?xi4> -> !coopmatrix.matrix<32x64xi4, a>
    %right = coopmatrix.load %b[%col, %k] col_major checked(rows, cols)
        : memref<?x?xi4> -> !coopmatrix.matrix<64x64xi4, b>
    %next = coopmatrix.mul_add %left, %right, %acc signed(a, c, result)
        : !coopmatrix.matrix<32x64xi4, a>, !coopmatrix.matrix<64x64xi4, b>,
          !coopmatrix.matrix<32x64xi32, acc>
    scf.yield %next : !coopmatrix.matrix<32x64xi32, acc>
  }
  coopmatrix.store %sum, %c[%row, %col] row_major checked(rows, cols)
      : !coopmatrix.matrix<32x64xi32, acc>, memref<?x?xi32>
  func.return
}
