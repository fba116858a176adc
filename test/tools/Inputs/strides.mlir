// A copy of a matrix that is stored by columns to one by rows, with gaps between them.
func.func @transposed(%a: memref<6x4xf32, strided<[1, 7]>>, %b: memref<6x4xf32, strided<[9, 1]>>)
    attributes {simt.kernel, simt.grid = affine_map<() -> (1)>} {
  %zero = arith.constant 0 : index
  %x = coopmatrix.load %a[%zero, %zero] row_major
      : memref<6x4xf32, strided<[1, 7]>> -> !coopmatrix.matrix<6x4xf32, acc>
  coopmatrix.store %x, %b[%zero, %zero] row_major
      : !coopmatrix.matrix<6x4xf32, acc>, memref<6x4xf32, strided<[9, 1]>>
  func.return
}
