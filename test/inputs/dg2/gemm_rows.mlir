// C = A * B as in gemm_tiled.mlir, but A and B are row-major, in rows of 4096 elements: 32 x 16
// of C a subgroup, 32 of K a step.  A is loaded row by row, as channels; two rows of B make a
// channel, so its elements are packed in registers.

#grid = affine_map<(a_m, b_k, c_m, c_n) -> (c_n floordiv 64, a_m floordiv 32)>

func.func @gemm(%a: memref<?x4096xf16>, %b: memref<?x4096xf16>, %c: memref<?x?xf32>)
    attributes {simt.kernel, simt.grid = #grid, simt.subgroup_size = 8 : i32,
                simt.work_group_size = array<i32: 32>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %subgroup = simt.subgroup_id : index
  %group_n = simt.workgroup_id x : index
  %group_m = simt.workgroup_id y : index
  %row = arith.muli %group_m, %c32 : index
  %first = arith.muli %group_n, %c4 : index
  %n = arith.addi %first, %subgroup : index
  %col = arith.muli %n, %c16 : index
  %end = memref.dim %b, %c0 : memref<?x4096xf16>
  %init = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<32x16xf32, acc>
  %sum = scf.for %k = %c0 to %end step %c32 iter_args(%acc = %init)
      -> (!coopmatrix.matrix<32x16xf32, acc>) {
    %x = coopmatrix.load %a[%row, %k] row_major
      : memref<?x4096xf16> -> !coopmatrix.matrix<32x32xf16, a>
    %y = coopmatrix.load %b[%k, %col] row_major
      : memref<?x4096xf16> -> !coopmatrix.matrix<32x16xf16, b>
    %next = coopmatrix.mul_add %x, %y, %acc : !coopmatrix.matrix<32x32xf16, a>,
      !coopmatrix.matrix<32x16xf16, b>, !coopmatrix.matrix<32x16xf32, acc>
    scf.yield %next : !coopmatrix.matrix<32x16xf32, acc>
  }
  coopmatrix.store %sum, %c[%row, %col] row_major
    : !coopmatrix.matrix<32x16xf32, acc>, memref<?x?xf32>
  func.return
}
