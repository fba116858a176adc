// REQUIRES: intel-opencl
// RUN: coopc-run %s --on opencl --device bmg --check | filecheck %s

// A function that is no kernel multiplies matrices for as many lanes as its kernel has.

// CHECK: c against the simulator: the same

func.func private @step(%x: !coopmatrix.matrix<8x16xf16, a>, %y: !coopmatrix.matrix<16x16xf16, b>, %acc: !coopmatrix.matrix<8x16xf32, acc>) -> !coopmatrix.matrix<8x16xf32, acc> {
  %n = coopmatrix.mul_add %x, %y, %acc : !coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<8x16xf32, acc>
  func.return %n : !coopmatrix.matrix<8x16xf32, acc>
}
func.func @main(%a: memref<8x16xf16>, %b: memref<16x16xf16>, %c: memref<8x16xf32>) attributes {simt.kernel, simt.grid = affine_map<() -> (1)>} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %zero = coopmatrix.fill %z : f32 -> !coopmatrix.matrix<8x16xf32, acc>
  %x = coopmatrix.load %a[%c0, %c0] row_major : memref<8x16xf16> -> !coopmatrix.matrix<8x16xf16, a>
  %y = coopmatrix.load %b[%c0, %c0] row_major : memref<16x16xf16> -> !coopmatrix.matrix<16x16xf16, b>
  %n = func.call @step(%x, %y, %zero) : (!coopmatrix.matrix<8x16xf16, a>, !coopmatrix.matrix<16x16xf16, b>, !coopmatrix.matrix<8x16xf32, acc>) -> !coopmatrix.matrix<8x16xf32, acc>
  coopmatrix.store %n, %c[%c0, %c0] row_major : !coopmatrix.matrix<8x16xf32, acc>, memref<8x16xf32>
  func.return
}
