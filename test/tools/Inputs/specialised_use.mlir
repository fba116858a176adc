coopmatrix.spec_constant @use = 0 : i32
func.func @k(%a: memref<8x8xf16>, %b: memref<8x8xf16>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<8x8xf16> -> !coopmatrix.matrix<8x8xf16, a = @use>
  %y = coopmatrix.add %x, %x : !coopmatrix.matrix<8x8xf16, a = @use>
  coopmatrix.store %y, %b[%0, %0] col_major : !coopmatrix.matrix<8x8xf16, a = @use>, memref<8x8xf16>
  func.return
}
