coopmatrix.spec_constant @M = 8 : i32
coopmatrix.spec_constant @N = 8 : i32
coopmatrix.spec_constant @K = 8 : i32
coopmatrix.spec_constant @L = 8 : i32
coopmatrix.spec_constant @order = 0 : i32
func.func @k(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %x = coopmatrix.load %a[%0, %0] row_major = @order : memref<?x?xf16> -> !coopmatrix.matrix<@M x @K x f16, a>
  %y = coopmatrix.load %b[%0, %0] row_major : memref<?x?xf16> -> !coopmatrix.matrix<@L x @N x f16, b>
  %s = coopmatrix.fill %z : f32 -> !coopmatrix.matrix<@M x @N x f32, acc>
  %r = coopmatrix.mul_add %x, %y, %s : !coopmatrix.matrix<@M x @K x f16, a>, !coopmatrix.matrix<@L x @N x f16, b>, !coopmatrix.matrix<@M x @N x f32, acc>
  coopmatrix.store %r, %c[%0, %0] row_major : !coopmatrix.matrix<@M x @N x f32, acc>, memref<?x?xf32>
  func.return
}
