// C = A * B, f16 x f16 -> f32: 32 x 64 a subgroup, 32 of K a step, any sizes.
#grid = affine_map<(m, k, k1, n, m1, n1) -> (n1 ceildiv 64, m ceildiv 32)>

func.func @gemm_axb(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>)
    attributes {simt.kernel, simt.grid = #grid} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile_m = arith.constant 32 : index
  %tile_n = arith.constant 64 : index
  %tile_k = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %tile_m : index
  %col = arith.muli %x, %tile_n : index
  %end = memref.dim %a, %c1 : memref<?x?xf16>
  %init = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<32x64xf32, acc>
  %sum = scf.for %k = %c0 to %end step %tile_k
      iter_args(%acc = %init) -> (!coopmatrix.matrix<32x64xf32, acc>) {
    %left = coopmatrix.load %a[%row, %k] row_major checked(rows, cols)
        : memref<?x?xf16> -> !coopmatrix.matrix<32x32xf16, a>
    %right = coopmatrix.load %b[%k, %col] row_major checked(rows, cols)
        : memref<?x?xf16> -> !coopmatrix.matrix<32x64xf16, b>
    %next = coopmatrix.mul_add %left, %right, %acc
        : !coopmatrix.matrix<32x32xf16, a>, !coopmatrix.matrix<32x64xf16, b>,
          !coopmatrix.matrix<32x64xf32, acc>
    scf.yield %next : !coopmatrix.matrix<32x64xf32, acc>
  }
  coopmatrix.store %sum, %c[%row, %col] row_major checked(rows, cols)
      : !coopmatrix.matrix<32x64xf32, acc>, memref<?x?xf32>
  func.return
}
