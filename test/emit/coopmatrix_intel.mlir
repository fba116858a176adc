// RUN: coopc-opt %s -t 'spirv{device=bmg}' | filecheck %s
// VALID: bmg

// What Intel's run-times want: packed b, signs of a and b alone, bf16 as integers.

module {
// CHECK-LABEL: %bytes = OpFunction
// CHECK: %b = OpCooperativeMatrixLoadKHR %{{.*}} %{{.*}} %uint_2 %ulong_64{{$}}
// CHECK: %d = OpCooperativeMatrixMulAddKHR %{{.*}} %a %b %c MatrixASignedComponentsKHR{{$}}
func.func @bytes(%m: memref<8x32xi8>, %n: memref<8x64xi8>, %r: memref<8x16xi32>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major
    : memref<8x32xi8> -> !coopmatrix.matrix<8x32xi8, a>
  %b = coopmatrix.load %n[%0, %0] packed
    : memref<8x64xi8> -> !coopmatrix.matrix<32x16xi8, b>
  %c = coopmatrix.load %r[%0, %0] row_major
    : memref<8x16xi32> -> !coopmatrix.matrix<8x16xi32, acc>
  %d = coopmatrix.mul_add %a, %b, %c signed(a, c, result)
    : !coopmatrix.matrix<8x32xi8, a>, !coopmatrix.matrix<32x16xi8, b>,
      !coopmatrix.matrix<8x16xi32, acc>
  coopmatrix.store %d, %r[%0, %0] row_major
    : !coopmatrix.matrix<8x16xi32, acc>, memref<8x16xi32>
  func.return
}

// CHECK-LABEL: %brain = OpFunction
// CHECK: %{{.*}} = OpCooperativeMatrixLoadKHR %coopmat_ushort_{{.*}}
// CHECK: %{{.*}} = OpCooperativeMatrixMulAddKHR %coopmat_float_{{[^ ]*}} %{{[^ ]*}} %{{[^ ]*}} %{{[^ ]*}}{{$}}
func.func @brain(%m: memref<16x16xbf16>, %r: memref<8x16xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %a = coopmatrix.load %m[%0, %0] row_major
    : memref<16x16xbf16> -> !coopmatrix.matrix<8x16xbf16, a>
  %b = coopmatrix.load %m[%0, %0] row_major
    : memref<16x16xbf16> -> !coopmatrix.matrix<16x16xbf16, b>
  %c = coopmatrix.load %r[%0, %0] row_major
    : memref<8x16xf32> -> !coopmatrix.matrix<8x16xf32, acc>
  %d = coopmatrix.mul_add %a, %b, %c : !coopmatrix.matrix<8x16xbf16, a>,
    !coopmatrix.matrix<16x16xbf16, b>, !coopmatrix.matrix<8x16xf32, acc>
  coopmatrix.store %d, %r[%0, %0] row_major
    : !coopmatrix.matrix<8x16xf32, acc>, memref<8x16xf32>
  func.return
}
}
