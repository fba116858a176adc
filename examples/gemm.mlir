// C = A * B on matrices of any size that 16 divides: each work-group is one subgroup and
// computes one 16 x 16 tile of C, 16 steps along K at a time; B has as many rows as A has
// columns.  The attributes say what its callers must see to: which sizes are equal, and
// which are multiples of 16.  The device is chosen when the kernel is compiled:
//
//     coopc-run examples/gemm.mlir --on vulkan --check

#grid = affine_map<(m, k0, k1, n, m1, n1) -> (n floordiv 16, m floordiv 16)>

func.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>)
    attributes {simt.kernel, simt.grid = #grid,
                simt.equal_sizes = [array<i64: 1, 0, 0, 1>, array<i64: 2, 0, 0, 0>,
                                    array<i64: 2, 1, 1, 1>],
                simt.conditions = [
                  {what = "size", argument = 0, dimension = 0, multiple_of = 16},
                  {what = "size", argument = 0, dimension = 1, multiple_of = 16},
                  {what = "size", argument = 1, dimension = 1, multiple_of = 16}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %c16 : index
  %col = arith.muli %x, %c16 : index
  %k_end = memref.dim %a, %c1 : memref<?x?xf16>
  %init = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<16x16xf32, acc>
  %sum = scf.for %k = %c0 to %k_end step %c16
      iter_args(%acc = %init) -> (!coopmatrix.matrix<16x16xf32, acc>) {
    %a_tile = coopmatrix.load %a[%row, %k] row_major
        : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, a>
    %b_tile = coopmatrix.load %b[%k, %col] row_major
        : memref<?x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
    %next = coopmatrix.mul_add %a_tile, %b_tile, %acc
        : !coopmatrix.matrix<16x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>,
          !coopmatrix.matrix<16x16xf32, acc>
    scf.yield %next : !coopmatrix.matrix<16x16xf32, acc>
  }
  coopmatrix.store %sum, %c[%row, %col] row_major
      : !coopmatrix.matrix<16x16xf32, acc>, memref<?x?xf32>
  func.return
}
