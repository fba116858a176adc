// C = A B^T of MX matrices: elements of 4 bits, two in a byte, and a scale, a power of
// two, for each 32 of them along K.  A row of scales has one for each block.
//
//   coopc-run examples/mxfp4_gemm.mlir --on vulkan --device lavapipe --check
//
// The products of a block are exact in f16 and their sums in f32, and so is a scale.

func.func @mxfp4_gemm(%a: memref<32x128xf4E2M1FN>, %scale_a: memref<32x4xf8E8M0FNU>,
                      %b: memref<32x128xf4E2M1FN>, %scale_b: memref<32x4xf8E8M0FNU>,
                      %c: memref<32x32xf32>)
    attributes {simt.kernel, simt.grid = affine_map<() -> (2, 2)>} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %16 = arith.constant 16 : index
  %32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %i = arith.muli %x, %16 : index
  %j = arith.muli %y, %16 : index
  %start = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<16x16xf32, acc>
  %sum = scf.for %block = %0 to %4 step %1
      iter_args(%before = %start) -> (!coopmatrix.matrix<16x16xf32, acc>) {
    %k = arith.muli %block, %32 : index
    %a4 = coopmatrix.load %a[%i, %k] row_major
        : memref<32x128xf4E2M1FN> -> !coopmatrix.matrix<16x32xf4E2M1FN, a>
    %b4 = coopmatrix.load %b[%j, %k] col_major
        : memref<32x128xf4E2M1FN> -> !coopmatrix.matrix<32x16xf4E2M1FN, b>
    %a16 = coopmatrix.convert %a4
        : !coopmatrix.matrix<16x32xf4E2M1FN, a> -> !coopmatrix.matrix<16x32xf16, a>
    %b16 = coopmatrix.convert %b4
        : !coopmatrix.matrix<32x16xf4E2M1FN, b> -> !coopmatrix.matrix<32x16xf16, b>
    %product = coopmatrix.mul_add %a16, %b16, %start
        : !coopmatrix.matrix<16x32xf16, a>, !coopmatrix.matrix<32x16xf16, b>,
          !coopmatrix.matrix<16x16xf32, acc>
    %scaled = coopmatrix.apply (%row, %col, %v) in %product
        : !coopmatrix.matrix<16x16xf32, acc> {
      %m = arith.addi %i, %row : index
      %n = arith.addi %j, %col : index
      %s8 = memref.load %scale_a[%m, %block] : memref<32x4xf8E8M0FNU>
      %t8 = memref.load %scale_b[%n, %block] : memref<32x4xf8E8M0FNU>
      %s = arith.extf %s8 : f8E8M0FNU to f32
      %t = arith.extf %t8 : f8E8M0FNU to f32
      %vs = arith.mulf %v, %s : f32
      %w = arith.mulf %vs, %t : f32
      coopmatrix.yield %w : f32
    }
    %after = coopmatrix.add %before, %scaled : !coopmatrix.matrix<16x16xf32, acc>
    scf.yield %after : !coopmatrix.matrix<16x16xf32, acc>
  }
  coopmatrix.store %sum, %c[%i, %j] row_major
      : !coopmatrix.matrix<16x16xf32, acc>, memref<32x32xf32>
  func.return
}
